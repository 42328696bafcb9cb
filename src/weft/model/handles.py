"""Handles: how federates name things.

A handle is opaque to a federate: it can be compared, hashed, kept as a key and turned to bytes with `encode()`.
It is a subclass of `bytes` for two reasons.  Any HLA 4 RTI chooses its own handle bytes and a client must keep
them as they are; and the hash of `bytes` is computed once and in C, which matters because every message looks
up several handles.

The handles this RTI makes are four-byte big-endian numbers that start at 1.
"""

from __future__ import annotations

from typing import Self


class Handle(bytes):
    """Base of all handles; never empty when valid."""

    __slots__ = ()

    @classmethod
    def of(cls, number: int) -> Self:
        """The handle this RTI gives to the thing with that number."""
        return cls(number.to_bytes(4, "big"))

    @property
    def number(self) -> int:
        """The handle as a number: what the `normalize…` services return."""
        return int.from_bytes(self, "big")

    def encode(self) -> bytes:
        """The bytes other federates can decode to an equal handle."""
        return bytes(self)

    @classmethod
    def decode(cls, data: bytes) -> Self:  # type: ignore[override]  # the standard's name, not text decoding
        return cls(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.number})"

    __str__ = __repr__


class FederateHandle(Handle):
    __slots__ = ()


class ObjectClassHandle(Handle):
    __slots__ = ()


class AttributeHandle(Handle):
    __slots__ = ()


class InteractionClassHandle(Handle):
    __slots__ = ()


class ParameterHandle(Handle):
    __slots__ = ()


class ObjectInstanceHandle(Handle):
    __slots__ = ()


class DimensionHandle(Handle):
    __slots__ = ()


class RegionHandle(Handle):
    __slots__ = ()


class TransportationTypeHandle(Handle):
    __slots__ = ()


class MessageRetractionHandle(Handle):
    __slots__ = ()
