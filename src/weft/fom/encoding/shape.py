"""Shapes: what is known about a type of fixed size before any value is seen.

A shape is a tree of records and lists with leaves.  One leaf is one argument of `struct.pack`.  Laying a shape
out gives one format string with its padding, so a record of records of numbers costs one `pack`.

The alignment rules of IEEE 1516.2 (4.14.10 in 2025): every type has an octet boundary, a power of two; a value
begins at a multiple of its boundary, counted from the beginning of the encoded value; a record's or an array's
boundary is the largest among its parts; there is padding before a part, never after the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from struct import Struct
from typing import Any

from weft.fom.encoding.misfit import Step

# More leaves than this in one format gain nothing over separate calls, and a model that doubles a record at
# every level must not double the generated code with it.
MOST_LEAVES = 64


@dataclass(frozen=True, slots=True)
class Leaf:
    """One packed value.  `pack` and `unpack` translate between the user's value and what struct takes."""

    code: str
    size: int
    boundary: int
    order: str  # ">", "<" or "" where byte order means nothing
    expects: str
    python_type: str
    low: int | None = None
    high: int | None = None
    pack: Callable[..., Any] | None = None
    unpack: Callable[..., object] | None = None

    @property
    def leaves(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Named fields.

    A `partial` one stands for some neighbouring fields of a record: it does not judge the others, and it begins
    wherever its first field does.
    """

    fields: tuple[tuple[str, Shape], ...]
    boundary: int
    partial: bool = False

    @property
    def leaves(self) -> int:
        return max(1, sum(shape.leaves for _, shape in self.fields))


@dataclass(frozen=True, slots=True)
class ListShape:
    element: Shape
    count: int
    boundary: int

    @property
    def leaves(self) -> int:
        return self.element.leaves * self.count


Shape = Leaf | RecordShape | ListShape


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a leaf lies within its block."""

    path: tuple[Step, ...]
    leaf: Leaf
    offset: int


@dataclass(frozen=True, slots=True)
class Block:
    """A shape laid out: one `Struct`, and where each leaf lies."""

    shape: Shape
    struct: Struct
    spots: tuple[Spot, ...]


def record_shape(fields: tuple[tuple[str, Shape], ...], *, partial: bool = False) -> RecordShape:
    boundary = 1 if partial else max((shape.boundary for _, shape in fields), default=1)
    return RecordShape(fields, boundary, partial)


def realigned(shape: Shape, boundary: int) -> Shape:
    """The same shape beginning at a coarser boundary (the alternatives of a variant record)."""
    return replace(shape, boundary=boundary)


def orders(shape: Shape) -> set[str]:
    """The byte orders in a shape; two of them cannot share a format string."""
    if isinstance(shape, Leaf):
        return {shape.order} - {""}
    if isinstance(shape, ListShape):
        return orders(shape.element)
    return set[str]().union(*(orders(part) for _, part in shape.fields))


def fusable(shape: Shape) -> bool:
    return shape.leaves <= MOST_LEAVES and len(orders(shape)) < 2


def lay_out(shape: Shape, start: int = 0) -> Block:
    """Lay a shape out from offset `start`; padding before it is included."""
    layout = _Layout(start)
    layout.place(shape, ())
    order = next(iter(orders(shape)), ">")
    return Block(shape, Struct(order + "".join(layout.codes)), tuple(layout.spots))


class _Layout:
    def __init__(self, start: int) -> None:
        self.start = self.offset = start
        self.codes: list[str] = []
        self.spots: list[Spot] = []

    def align(self, boundary: int) -> None:
        gap = -self.offset % boundary
        if gap:
            self.codes.append(f"{gap}x")
            self.offset += gap

    def place(self, shape: Shape, path: tuple[Step, ...]) -> None:
        self.align(shape.boundary)
        if isinstance(shape, Leaf):
            self.spots.append(Spot(path, shape, self.offset - self.start))
            self.codes.append(shape.code)
            self.offset += shape.size
        else:
            for step, part in parts(shape):
                self.place(part, (*path, step))


def parts(shape: RecordShape | ListShape) -> Iterator[tuple[Step, Shape]]:
    if isinstance(shape, RecordShape):
        yield from shape.fields
    else:
        for index in range(shape.count):
            yield index, shape.element
