"""Cells so fine that every grid under consideration is made of whole ones, and messages as ranges of them.

The grids of 2, 4, 8, … partitions nest where the numbers of a dimension divide evenly; a dimension of 1,000 numbers in 16
partitions has partitions of 63 numbers, in 32 of 32, and these do not.  So an axis is cut wherever any of the grids cuts
it: at most 120 places for the grids up to 64.  Which partition of which grid a cell lies in is then a look-up, exact for
every grid, and messages need to be grouped by their cells only once.

A message is described by its *layout*, in words the same for all alike: "0" if something in it travels in no space, and
for each space its number and how many boxes; the ranges of cells come in the same order, as 16-bit numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from weft.interest.spaces import Space, Spaces
from weft.review.kernels.standing import boxed

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Partitions of a dimension that are tried."""

Ints = npt.NDArray[np.int64]


class CutAxis:
    """One dimension, cut at every border of the grids given by their numbers of partitions."""

    def __init__(self, size: int, counts: Iterable[int]) -> None:
        self.size = size
        found: set[int] = {0}
        for count in counts:
            found.update(range(0, size, -(-size // count)))
        self.cuts: Ints = np.array(sorted(found), dtype=np.int64)

    def cells(self, numbers: npt.ArrayLike) -> Ints:
        """The cell that each number lies in; what lies outside the dimension is in the cell next to it."""
        inside = np.clip(np.asarray(numbers, dtype=np.int64), 0, self.size - 1)
        return np.searchsorted(self.cuts, inside, side="right") - 1

    def partitions(self, count: int) -> Ints:
        """For each cell the partition it lies in, if there are so many."""
        return self.cuts // -(-self.size // count)


class Cells:
    """The axes of all spaces of an object model."""

    def __init__(self, spaces: Spaces, counts: Mapping[tuple[int, int], Iterable[int]] | None = None) -> None:
        """`counts`: more numbers of partitions, by space number and place of the dimension."""
        more = counts or {}
        names = list(spaces.model.dimensions)
        self.names = {
            space.number: tuple(names[one.number - 1] for one in space.dimensions) for space in spaces.all
        }
        self.axes = {
            space.number: [
                CutAxis(one.size, (*SIZES, *more.get((space.number, at), ())))
                for at, one in enumerate(space.dimensions)
            ]
            for space in spaces.all
        }

    def whole(self, space: int) -> Ints:
        """The box of a whole space: (dimensions, 2), the last cell included."""
        return np.array([(0, len(axis.cuts) - 1) for axis in self.axes[space]], dtype=np.int64).reshape(-1, 2)

    def box(self, space: int, bounds: Mapping[str, tuple[int, int]]) -> Ints:
        """A region in a space, by the full names of dimensions and half-open; what is not named has its full range."""
        made = self.whole(space)
        for at, name in enumerate(self.names[space]):
            if name in bounds:
                lower, upper = bounds[name]
                axis = self.axes[space][at]
                made[at] = axis.cells([lower, max(upper - 1, lower)])
        return made

    def home(self, names: Sequence[str]) -> int:
        """The space that a box of these dimensions is of: the smallest that has them all; 0 if none has."""
        wanted = set(names)
        fitting = [number for number, those in self.names.items() if wanted <= set(those)]
        return min(fitting, key=lambda number: (len(self.names[number]), number), default=0)

    def pieces(self, names: Sequence[str]) -> list[tuple[int, int]]:
        """Where boxes begin and end in a row of dimensions: where one comes again, or one that no space has beside the others."""
        starts: list[int] = []
        inside: list[str] = []
        for at, name in enumerate(names):
            if not starts or name in inside or not self.home((*inside, name)):
                starts.append(at)
                inside = []
            inside.append(name)
        return list(pairwise([*starts, len(names)]))


@dataclass(frozen=True)
class Layout:
    """What messages of one class, with the same attributes and as many boxes, have in common."""

    default: bool
    """Something in it travels in no space: everybody listens to that."""
    boxes: tuple[tuple[int, tuple[int, ...]], ...]
    """Of each box its space, and for each dimension of that the place of its bounds in the row; -1: the full range."""

    @property
    def text(self) -> str:
        counts: dict[int, int] = {}
        for space, _ in self.boxes:
            counts[space] = counts.get(space, 0) + 1
        parts = ["0"] if self.default else []
        return ";".join(parts + [f"{space}:{count}" for space, count in counts.items()])


def parse_layout(text: str) -> tuple[bool, list[int]]:
    """Whether something is in no space, and the spaces of the boxes, one after the other."""
    parts = text.split(";") if text else []
    spaces = [part.split(":") for part in parts if part != "0"]
    return "0" in parts, [int(space) for space, count in spaces for _ in range(int(count))]


def spaces_of(spaces: Spaces, name: str, items: Sequence[str]) -> list[Space | None]:
    """Where each item of a message of a class travels, or an interaction as a whole; None is the default space."""
    if name in spaces.model.interaction_classes:
        return [spaces.of_interaction(name)]
    return [spaces.of_attribute(name, item) for item in items]


def layout_of(
    cells: Cells,
    spaces: Spaces,
    name: str,
    items: Sequence[str],
    dimensions: Sequence[str],
    owned: Sequence[int] = (),
) -> Layout:
    """`dimensions`: those of the row, box after box; `owned`: its column `boxes`, by which each item has its own."""
    travels = spaces_of(spaces, name, items)
    made: dict[tuple[int, tuple[int, ...]], None] = {}
    for place, space in enumerate(travels):
        if space is None:
            continue
        if not owned:
            own = [places for number, places in _boxes(cells, dimensions) if number == space.number]
        elif owned[place] < 0:
            continue  # in regions that are nowhere
        else:  # a box has the dimensions of all items
            boxes = boxed((dimension, at) for at, dimension in enumerate(dimensions))
            mine = (box for number, box in enumerate(boxes) if owned[place] >> number & 1)
            own = [tuple(box.get(one, -1) for one in cells.names[space.number]) for box in mine]
        for places in own or [(-1,) * len(space.dimensions)]:
            made[space.number, places] = None
    return Layout(None in travels, tuple(sorted(made, key=lambda one: one[0])))


def _boxes(cells: Cells, dimensions: Sequence[str]) -> list[tuple[int, tuple[int, ...]]]:
    """Of each box in a row its space, and where the bounds of the space's dimensions are."""
    found = []
    for start, end in cells.pieces(dimensions):
        places = {dimensions[at]: at for at in range(start, end)}
        space = cells.home(tuple(places))
        if space:
            found.append((space, tuple(places.get(name, -1) for name in cells.names[space])))
    return found


def ranges_of(cells: Cells, layout: Layout, lower: Ints, upper: Ints) -> Ints:
    """The ranges of cells of messages of one layout: (messages, 2 × dimensions of all boxes); bounds are (messages, places)."""
    columns = []
    count = len(lower)
    for space, places in layout.boxes:
        for axis, place in zip(cells.axes[space], places, strict=True):
            if place < 0:
                columns += [np.zeros(count, np.int64), np.full(count, len(axis.cuts) - 1, np.int64)]
            else:
                low = lower[:, place]
                columns += [axis.cells(low), axis.cells(np.maximum(upper[:, place] - 1, low))]
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0), np.int64)
