"""Thrift's compact protocol, as far as headers and footers of Parquet need it: a value is its type and its bytes."""

from __future__ import annotations

from collections.abc import Sequence

INT32_TYPE, INT64_TYPE, TEXT_TYPE, LIST_TYPE, STRUCT_TYPE = 5, 6, 8, 9, 12


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def zigzag(number: int) -> bytes:
    return varint((number << 1) ^ (number >> 63))


def int32_of(number: int) -> tuple[int, bytes]:
    return INT32_TYPE, zigzag(number)


def int64_of(number: int) -> tuple[int, bytes]:
    return INT64_TYPE, zigzag(number)


def text_of(text: bytes) -> tuple[int, bytes]:
    return TEXT_TYPE, varint(len(text)) + text


def listed(kind: int, parts: Sequence[bytes]) -> tuple[int, bytes]:
    count = len(parts)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)
    return LIST_TYPE, head + b"".join(parts)


def struct_of(*fields: tuple[int, tuple[int, bytes]]) -> bytes:
    """Fields by rising number."""
    out = bytearray()
    before = 0
    for number, (kind, content) in fields:
        out.append((number - before) << 4 | kind)
        out += content
        before = number
    out.append(0)
    return bytes(out)
