"""The scalar types of proto3 that the Federate Protocol uses: how each is read, written, and what it is when absent."""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import NamedTuple

from weft.model.time import LogicalTimeFactory
from weft.wire.codec.values import ENUM_EXCEPTIONS, ENUMS
from weft.wire.protobuf import BYTES, FIXED64, VARINT, Malformed, varint

Time = LogicalTimeFactory | None
Reader = Callable[[bytes, int, int, Time], object]  # of data[start:end]
Writer = Callable[[object], bytes]

DOUBLE = struct.Struct("<d")


class Scalar(NamedTuple):
    """`read` is for what has a length, `convert` for what is a varint; `write` gives no bytes for what is left out."""

    wire_type: int
    default: object
    write: Writer
    read: Reader
    convert: Callable[[int], object]


@cache
def scalar(kind: str) -> Scalar | None:
    """The scalar of that name, enumerations included; None if it is none."""
    if kind in ENUMS:
        convert = _enum_reader(ENUMS[kind])
        return Scalar(VARINT, convert(0), _enum_writer(ENUMS[kind]), _unread, convert)
    return _SCALARS.get(kind)


# --- reading --------------------------------------------------------------------------------------------------


def _unread(data: bytes, start: int, end: int, time: Time) -> object:
    raise AssertionError("a field that is no bytes")


def _read_string(data: bytes, start: int, end: int, time: Time) -> str:
    try:
        return str(data[start:end], "utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"is not UTF-8: {error.reason}") from None


def _enum_reader(kind: type[Enum]) -> Callable[[int], Enum]:
    members = {member.value: member for member in kind}
    exception_name = ENUM_EXCEPTIONS.get(kind.__name__, "RTIinternalError")

    def convert(number: int) -> Enum:
        member = members.get(number)
        if member is None:
            raise Malformed(f"{number} is no {kind.__name__}", exception_name)
        return member

    return convert


# --- writing --------------------------------------------------------------------------------------------------


def _write_uint32(value: object) -> bytes:
    if not isinstance(value, int) or not 0 <= value <= 0xFFFF_FFFF:
        raise ValueError(f"{value!r} is no number from 0 to 2^32-1")
    return varint(value) if value else b""


def _write_double(value: object) -> bytes:
    content = DOUBLE.pack(value)
    return content if any(content) else b""


def _write_string(value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value.encode()


def _write_bytes(value: object) -> bytes:
    if not isinstance(value, bytes):  # as at a node in the same process
        raise TypeError(f"{value!r} is not bytes")
    return bytes(value)


def _enum_writer(kind: type[Enum]) -> Writer:
    def write(value: object) -> bytes:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return varint(value.value) if value.value else b""

    return write


_SCALARS = {
    "bool": Scalar(VARINT, False, lambda value: b"\1" if value else b"", _unread, bool),
    "uint32": Scalar(VARINT, 0, _write_uint32, _unread, lambda number: number & 0xFFFF_FFFF),
    "double": Scalar(FIXED64, 0.0, _write_double, _unread, bool),
    "string": Scalar(BYTES, "", _write_string, _read_string, bool),
    "bytes": Scalar(BYTES, b"", _write_bytes, lambda data, start, end, time: data[start:end], bool),
}
