"""The elements of an array, without its count.

Elements of one leaf go through one `struct` call; octets and characters are bytes and text; all others go one
by one, aligned between.  A count read from the wire is checked against the bytes that are left before anything
is allocated (`check_room`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sized
from dataclasses import dataclass
from typing import Any

from weft.fom.encoding import basic
from weft.fom.encoding.codec import PADS, Codec
from weft.fom.encoding.explain import why_not_packed
from weft.fom.encoding.misfit import Misfit, inside, wanted
from weft.fom.encoding.shape import Leaf

# Elements that take no octets (tokens, empty records) say nothing about how many there can be.
MOST_EMPTY_ELEMENTS = 0xFFFF


@dataclass(frozen=True, slots=True)
class Elements:
    """How to count, append and read the elements of an array."""

    ready: Callable[..., tuple[int, Any]]  # the value's element count, and what `write` takes
    write: Callable[[bytearray, Any], None]
    read: Callable[[bytes, int, int], tuple[Any, int]]  # data, position, count
    boundary: int
    least: int  # octets an element takes at least
    python_type: str

    def check_room(self, count: int, left: int) -> None:
        """Refuse a count that the bytes left cannot hold, before believing it."""
        if count * self.least > left:
            raise Misfit(f"{count} elements need {count * self.least} bytes or more, {max(left, 0)} left")
        self.check_emptiness(count)

    def check_emptiness(self, count: int) -> None:
        if self.least == 0 and count > MOST_EMPTY_ELEMENTS:
            raise Misfit(f"{count} elements without any octets; at most {MOST_EMPTY_ELEMENTS} are taken")


def elements_of(element: Codec) -> Elements:
    leaf = element.shape
    if leaf is basic.ASCII_CHARACTER:
        return _strings(basic.ascii_octets, basic.ascii_text, 1, "str")
    if leaf is basic.UNICODE_CHARACTER:
        return _strings(basic.utf16_octets, basic.utf16_text, 2, "str")
    if leaf is basic.OCTET:
        return _strings(basic.octet_string, bytes, 1, "bytes")
    if isinstance(leaf, Leaf) and leaf.size == leaf.boundary:
        return _leaves(leaf)
    return _others(element)


def _strings(
    encode: Callable[[object], bytes], decode: Callable[[bytes], object], width: int, python_type: str
) -> Elements:
    def ready(value: object) -> tuple[int, bytes]:
        data = encode(value)
        return len(data) // width, data

    def write(out: bytearray, data: bytes) -> None:
        out += data

    def read(data: bytes, position: int, count: int) -> tuple[object, int]:
        end = position + count * width
        return decode(data[position:end]), end

    return Elements(ready, write, read, width, width, python_type)


def _leaves(leaf: Leaf) -> Elements:
    order, code, size = leaf.order or ">", leaf.code, leaf.size
    convert, restore = leaf.pack, leaf.unpack

    def layout(count: int) -> str:
        # "3d" is three doubles, but "3s" is one string of three.
        return order + code * count if code.endswith("s") else f"{order}{count}{code}"

    def write(out: bytearray, value: Collection[object]) -> None:
        try:
            out += struct.pack(layout(len(value)), *(map(convert, value) if convert else value))
        except Exception as error:
            raise _first_misfit(leaf, value, error) from None

    def read(data: bytes, position: int, count: int) -> tuple[list[object], int]:
        values = struct.unpack_from(layout(count), data, position)
        return list(values) if restore is None else _restored(values, restore), position + count * size

    return Elements(counted, write, read, leaf.boundary, size, f"list[{leaf.python_type}]")


def _restored(values: tuple[object, ...], restore: Callable[[object], object]) -> list[object]:
    restored: list[object] = []
    try:
        restored.extend(map(restore, values))
    except Exception as error:
        raise inside(error, len(restored)) from None
    return restored


def _first_misfit(leaf: Leaf, value: Collection[object], error: Exception) -> Exception:
    for index, item in enumerate(value):
        found = why_not_packed(leaf, item)
        if found:
            return inside(found, index)
    return error


def _others(element: Codec) -> Elements:
    boundary, size = element.octet_boundary, element.static_size
    mask = 0 if size is not None and size % boundary == 0 else boundary - 1

    def write(out: bytearray, value: Collection[object]) -> None:
        write_one, index = element.write, 0
        try:
            for index, item in enumerate(value):
                if mask and index:
                    out += PADS[-len(out) & mask]
                write_one(out, item)
        except Exception as error:
            raise inside(error, index) from None

    def read(data: bytes, position: int, count: int) -> tuple[list[object], int]:
        read_one, index, items = element.read, 0, []
        try:
            for index in range(count):
                if mask and index:
                    position = position + mask & ~mask
                item, position = read_one(data, position)
                items.append(item)
        except Exception as error:
            raise inside(error, index) from None
        return items, position

    return Elements(counted, write, read, boundary, element.min_size, f"list[{element.python_type}]")


def counted(value: Sized) -> tuple[int, object]:
    if isinstance(value, str | bytes | Mapping):
        raise wanted("a list", value)
    try:
        return len(value), value
    except TypeError:
        raise wanted("a list", value) from None
