"""Fixed and variable arrays of IEEE 1516.2."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from weft.fom.encoding.blocks import block_codec
from weft.fom.encoding.codec import PADS, Codec
from weft.fom.encoding.elements import Elements, elements_of
from weft.fom.encoding.misfit import Misfit, finished, short_of
from weft.fom.encoding.shape import Leaf, ListShape, fusable

LONGEST = 0x7FFFFFFF
"""The count of a variable array is an HLAinteger32BE."""

_COUNT = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many elements an array may have."""

    low: int = 0
    high: int = LONGEST

    def check(self, count: int) -> None:
        if self.low <= count <= self.high:
            return
        if self.low == self.high:
            raise Misfit(f"expected {self.low} elements, got {count}")
        limit = f"at least {self.low}" if count < self.low else f"at most {self.high}"
        raise Misfit(f"expected {limit} elements, got {count}")


def fixed_array_codec(name: str, element: Codec, count: int) -> Codec:
    """An HLAfixedArray: elements with padding between them."""
    elements = elements_of(element)
    if elements.python_type in ("str", "bytes"):
        return block_codec(name, _string_leaf(elements, count), elements.python_type)
    if element.shape is not None:
        shape = ListShape(element.shape, count, element.shape.boundary)
        if fusable(shape):
            return block_codec(name, shape, elements.python_type)
    return _long_array(name, element, elements, count)


def _long_array(name: str, element: Codec, elements: Elements, count: int) -> Codec:
    bounds = Bounds(count, count)

    def write(out: bytearray, value: object) -> None:
        got, items = elements.ready(value)
        bounds.check(got)
        elements.write(out, items)

    def read(data: bytes, position: int) -> tuple[object, int]:
        elements.check_room(count, len(data) - position)
        return elements.read(data, position, count)

    return Codec(
        name,
        write,
        read,
        boundary=elements.boundary,
        python_type=elements.python_type,
        static_size=_static_size(element, count),
        min_size=elements.least * count,
        loose_end=element.loose_end,
    )


def _static_size(element: Codec, count: int) -> int | None:
    size = element.static_size
    if size is None or count == 0:
        return 0 if count == 0 else None
    stride = size + -size % element.octet_boundary
    return stride * (count - 1) + size


def _string_leaf(elements: Elements, count: int) -> Leaf:
    size = count * elements.least
    bounds = Bounds(count, count)

    def pack(value: object) -> bytes:
        got, data = elements.ready(value)
        bounds.check(got)
        return bytes(data)

    def unpack(data: bytes) -> object:
        return elements.read(data, 0, count)[0]

    raw = elements.python_type == "bytes"
    expects = f"{count} {'octets' if raw else 'characters'}"
    code = f"{size}s"
    restore = None if raw else unpack
    return Leaf(code, size, elements.boundary, "", expects, elements.python_type, pack=pack, unpack=restore)


def variable_array_codec(name: str, element: Codec, bounds: Bounds) -> Codec:
    """An HLAvariableArray: a count, padding to the element's boundary, elements with padding between them.

    An empty array is its count alone: padding comes before an element, never after the last part.
    """
    elements = elements_of(element)
    if elements.python_type in ("str", "bytes"):
        return _string_codec(name, elements, bounds)
    mask = elements.boundary - 1 if elements.boundary > 4 else 0

    def write(out: bytearray, value: object) -> None:
        count, items = elements.ready(value)
        bounds.check(count)
        elements.check_emptiness(count)
        out += _COUNT.pack(count)
        if count and mask:
            out += PADS[-len(out) & mask]
        elements.write(out, items)

    def read(data: bytes, position: int) -> tuple[object, int]:
        count, position = _read_count(bounds, data, position)
        if count and mask:
            position = position + mask & ~mask
        elements.check_room(count, len(data) - position)
        return elements.read(data, position, count)

    return Codec(
        name,
        write,
        read,
        boundary=max(4, elements.boundary),
        python_type=elements.python_type,
        min_size=4,
        loose_end=element.loose_end,
    )


def _read_count(bounds: Bounds, data: bytes, position: int) -> tuple[int, int]:
    if position + 4 > len(data):
        raise short_of(4, len(data) - position)
    count = int.from_bytes(data[position : position + 4], "big", signed=True)
    if count < 0:
        raise Misfit(f"the count is {count}")
    bounds.check(count)
    return count, position + 4


def _string_codec(name: str, elements: Elements, bounds: Bounds) -> Codec:
    """Text and opaque data are the most frequent arrays of all, and need no element-wise care."""
    ready, width, restore = elements.ready, elements.least, elements.read
    pack_count = _COUNT.pack

    def encode(value: object) -> bytes:
        try:
            count, data = ready(value)
            bounds.check(count)
        except Exception as error:
            raise finished(error, name) from None
        return pack_count(count) + bytes(data)

    def write(out: bytearray, value: object) -> None:
        count, data = ready(value)
        bounds.check(count)
        out += pack_count(count)
        out += data

    def read(data: bytes, position: int) -> tuple[object, int]:
        count, position = _read_count(bounds, data, position)
        if count * width > len(data) - position:
            raise short_of(count * width, len(data) - position)
        return restore(data, position, count)

    return Codec(name, write, read, boundary=4, python_type=elements.python_type, min_size=4, encode=encode)
