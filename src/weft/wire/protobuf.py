"""The protobuf wire format, as far as the Federate Protocol uses it.

A message is a run of fields, each `tag value`: the tag is the varint `number << 3 | wire type`.  Wire types here are
VARINT (bool, uint32, enumerations), FIXED64 (double) and BYTES (string, bytes, messages: a varint length, then so
many bytes).

All functions work on `data[position:end]` without copying it, and raise `Malformed` when it makes no sense; the
reader of messages turns that into a `WireError` that names the message and the field.
"""

from __future__ import annotations

from typing import Final

from weft.model.errors import WeftError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

_MAX_TAG = (1 << 32) - 1


class WireError(WeftError):
    """Bytes from a peer are not what the protocol says, or a value cannot be put on the wire.

    `exception_name` is the HLA exception that answers a call with such bytes.
    """

    def __init__(self, message: str, exception_name: str = "RTIinternalError") -> None:
        super().__init__(message)
        self.exception_name = exception_name


class Malformed(Exception):
    """What is wrong with a piece of data, before it is known to which field it belongs."""

    def __init__(self, reason: str, exception_name: str = "RTIinternalError") -> None:
        super().__init__(reason)
        self.exception_name = exception_name


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The number at `position`, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            raise Malformed("the data ends inside a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
    raise Malformed("a number is longer than ten bytes")


def read_tag(data: bytes, position: int, end: int) -> tuple[int, int]:
    tag, position = read_varint(data, position, end)
    if tag > _MAX_TAG or tag < 8:
        raise Malformed(f"{tag >> 3} is no field number")
    return tag, position


def read_length(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Where a field of wire type BYTES starts and ends."""
    length, position = read_varint(data, position, end)
    if length > end - position:
        raise Malformed(f"{length} bytes are announced and {end - position} are left")
    return position, position + length


def skip(wire_type: int, data: bytes, position: int, end: int) -> int:
    """The position after a field nobody knows."""
    if wire_type == VARINT:
        return read_varint(data, position, end)[1]
    if wire_type == BYTES:
        return read_length(data, position, end)[1]
    if wire_type not in (FIXED64, FIXED32):
        raise Malformed(f"wire type {wire_type} is not used in this protocol")
    position += 8 if wire_type == FIXED64 else 4
    if position > end:
        raise Malformed("the data ends inside a fixed-size number")
    return position


def varint(value: int) -> bytes:
    """A number from 0 to 2^64-1 on the wire."""
    if value < 0x80:
        return _SHORT[value]
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


_SHORT = [bytes([value]) for value in range(0x80)]
