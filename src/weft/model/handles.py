"""Handles: how federates name things.

A handle is opaque to a federate: it can be compared, hashed, kept as a key and turned to bytes with `encode()`.
It is a subclass of `bytes` for two reasons.  Every HLA 4 RTI chooses its own handle bytes and a client must keep
them as they are; and the hash of `bytes` is computed once and in C, which matters because every message looks
up several handles.

The handles this RTI makes are four bytes, big-endian: the kind of the thing in the first four bits, then a number that
starts at 1.  Handles of different kinds are therefore never equal, and one passed in the wrong place is noticed.
"""

from __future__ import annotations

from typing import ClassVar, Self

HANDLE_BYTES = 4
_NUMBER_BITS = 28
_NUMBER_MASK = (1 << _NUMBER_BITS) - 1
_LENGTH = HANDLE_BYTES.to_bytes(4, "big")


class Handle(bytes):
    """Base of all handles; never empty when valid."""

    __slots__ = ()
    kind: ClassVar[int] = 15

    @classmethod
    def of(cls, number: int) -> Self:
        """The handle this RTI gives to the thing with that number."""
        return cls((cls.kind << _NUMBER_BITS | number).to_bytes(4, "big"))

    @property
    def number(self) -> int:
        """The handle as a number: what the `normalize…` services return."""
        return int.from_bytes(self, "big") & _NUMBER_MASK

    def is_between(self, first: int, last: int) -> bool:
        """Is this a handle made by this RTI, of this kind, with a number in that range?"""
        return first <= self.number <= last and self == type(self).of(self.number)

    def encode(self) -> bytes:
        """The bytes other federates can decode to an equal handle."""
        return bytes(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:  # type: ignore[override]  # the standard's name, not text decoding
        """The handle of these bytes: those of `encode`, or those with their length in front, as the MOM's values have them."""
        if len(data) == 2 * HANDLE_BYTES and data[:HANDLE_BYTES] == _LENGTH and 0 < cls.kind == data[4] >> 4:
            data = data[HANDLE_BYTES:]
        return cls(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.number})"

    __str__ = __repr__


class FederateHandle(Handle):
    __slots__ = ()
    kind = 8


class ObjectClassHandle(Handle):
    __slots__ = ()
    kind = 1


class AttributeHandle(Handle):
    __slots__ = ()
    kind = 2


class InteractionClassHandle(Handle):
    __slots__ = ()
    kind = 3


class ParameterHandle(Handle):
    __slots__ = ()
    kind = 4


class ObjectInstanceHandle(Handle):
    __slots__ = ()
    kind = 5


class DimensionHandle(Handle):
    __slots__ = ()
    kind = 6


class RegionHandle(Handle):
    __slots__ = ()
    kind = 7


class TransportationTypeHandle(Handle):
    __slots__ = ()
    kind = 0  # Java clients have the bytes 00000001 (HLAreliable) and 00000002 (HLAbestEffort) built in


class MessageRetractionHandle(Handle):
    __slots__ = ()
    kind = 9
