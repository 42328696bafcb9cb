"""Every overlapping pair of two sets of boxes, at once: strip and sweep, in numpy.

Rules:

- Bounds are whole numbers of 64 bits, half-open or closed.  An empty box (lower ≥ upper, or > where closed) overlaps
  nothing.
- The answer holds every overlapping pair once, in no particular order.

Theory.  On one dimension two boxes overlap exactly when one of them starts inside the other: either the subscription
starts in [u.lower, u.last], or the update starts in (s.lower, s.last].  With the boxes of one side sorted by where they
start, each of these is a contiguous run, found by two binary searches.  So one dimension is *swept*, exactly.

All other dimensions are cut into strips about as wide as a box.  A *cell* is one strip of each of them, and a box has a
copy in every cell it touches.  The runs are sought within a cell (the cell's number is the upper part of the sort key),
and what they hold are *candidates*; those are tested in the other dimensions.  A pair that shares several cells is
reported in one of them only, the one with the lower corner of its intersection: there, in every dimension, at least one
of the two starts in the strip.

- `first` of a copy is where the partner may start in a dimension for the pair to be reported here: anywhere (0) if the
  copy itself starts in this strip, else from the start of the strip.  With unsigned numbers
  `partner.lower - first <= last - first` says in one comparison that the partner starts neither too early nor too late.

Only the order of bounds matters.  They are moved to start at 0, and where that is too wide for 32 bits (or the key for
63) they are replaced by their ranks.

Candidates are expanded in pieces that stay in the processor's cache; that is worth a factor of three.  A box that is long
in several dimensions could have a great many copies, so strips are widened until copies are few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

STRIP_PER_BOX = 2.0  # a strip is at least so many times as wide as the mean box: candidates against copies
PIECE = 1 << 16  # candidates looked at together
CELL_BITS = 16  # cells are numbered in 16 bits, which numpy sorts by radix
COPIES_PER_BOX = 3.0  # per dimension that is cut into strips


@dataclass(frozen=True)
class Boxes:
    """Bounds of many boxes; both arrays have one row per dimension and one column per box."""

    lowers: Array
    uppers: Array

    def __post_init__(self) -> None:
        if self.lowers.ndim != 2 or self.lowers.shape != self.uppers.shape or not len(self.lowers):
            raise ValueError(
                f"lower and upper bounds must have one row per dimension, not {self.lowers.shape} and {self.uppers.shape}"
            )

    @property
    def dimensions(self) -> int:
        return len(self.lowers)

    def __len__(self) -> int:
        return int(self.lowers.shape[1])


class Pairs(NamedTuple):
    """Places of boxes; `updates[i]` overlaps `subscriptions[i]`."""

    updates: Array
    subscriptions: Array


class _Dimension(NamedTuple):
    """Both sides in one dimension: where boxes start and where they end (included), from 0 up, in at most 32 bits."""

    lowers: tuple[Array, Array]
    lasts: tuple[Array, Array]
    width: int  # one more than the largest number

    def mean(self) -> float:
        lengths = [last - lower for lower, last in zip(self.lowers, self.lasts, strict=True)]
        return float(sum(int(length.sum()) for length in lengths)) / sum(map(len, lengths)) + 1.0


class _Copies(NamedTuple):
    """One side, a row per copy, sorted by cell and then by where the box starts in the swept dimension."""

    starts: Array  # cell and lower bound, in one number
    ends: Array  # cell and last number
    lowers: list[Array]  # of the other dimensions
    lasts: list[Array]
    first: list[Array]
    boxes: Array  # the place of the box among those given


def match_boxes(updates: Boxes, subscriptions: Boxes, closed: bool = False) -> Pairs:
    """All pairs that overlap."""
    parts = list(match_in_pieces(updates, subscriptions, closed))
    if not parts:
        return Pairs(np.empty(0, np.int32), np.empty(0, np.int32))
    return Pairs(*(np.concatenate(side) for side in zip(*parts, strict=True)))


def match_in_pieces(updates: Boxes, subscriptions: Boxes, closed: bool = False) -> Iterator[Pairs]:
    """The same, for whoever has no room for all at once."""
    if updates.dimensions != subscriptions.dimensions:
        raise ValueError(f"boxes of {updates.dimensions} and of {subscriptions.dimensions} dimensions")
    sides = [_kept(boxes, closed) for boxes in (updates, subscriptions)]
    if not all(len(kept) for kept, _, _ in sides):
        return
    dimensions = [
        _moved([lowers[d] for _, lowers, _ in sides], [lasts[d] for _, _, lasts in sides])
        for d in range(updates.dimensions)
    ]
    swept, *others = sorted(dimensions, key=lambda dimension: dimension.mean() / dimension.width)
    shifts = _strips(others, sum(len(kept) for kept, _, _ in sides))
    here, there = (_copies(side, kept, swept, others, shifts) for side, (kept, _, _) in enumerate(sides))
    yield from (Pairs(mine, theirs) for mine, theirs in _run(here, there, "left"))
    yield from (Pairs(mine, theirs) for theirs, mine in _run(there, here, "right"))


def _kept(boxes: Boxes, closed: bool) -> tuple[Array, Array, Array]:
    """The places of the boxes that are not empty, their lower bounds and the last number in each dimension."""
    lowers, uppers = boxes.lowers, boxes.uppers
    full = np.all(lowers <= uppers if closed else lowers < uppers, axis=0)
    kept = np.flatnonzero(full).astype(np.int32)
    if len(kept) < len(boxes):
        lowers, uppers = lowers[:, kept], uppers[:, kept]
    lowers, lasts = lowers.astype(np.int64, copy=False), uppers.astype(np.int64, copy=False)
    return kept, lowers, lasts if closed else lasts - 1


def _moved(lowers: Sequence[Array], lasts: Sequence[Array]) -> _Dimension:
    """The same order of bounds, in numbers from 0 up."""
    least = min(int(array.min()) for array in lowers)
    most = max(int(array.max()) for array in lasts)
    if most - least < 1 << 32:
        return _Dimension(
            (lowers[0] - least, lowers[1] - least), (lasts[0] - least, lasts[1] - least), most - least + 1
        )
    values, ranks = np.unique(np.concatenate([*lowers, *lasts]), return_inverse=True)
    cuts = np.cumsum([len(lowers[0]), len(lowers[1]), len(lasts[0])])
    a, b, c, d = np.split(ranks.astype(np.int64), cuts)
    return _Dimension((a, b), (c, d), len(values))


def _strips(others: Sequence[_Dimension], boxes: int) -> list[int]:
    """For each dimension the number of bits in the width of a strip."""
    most_cells = min(CELL_BITS, max(1, boxes.bit_length()))
    each = most_cells // max(1, len(others))
    shifts = [
        max(
            math.ceil(math.log2(STRIP_PER_BOX * dimension.mean())),
            (dimension.width - 1).bit_length() - each,
            0,
        )
        for dimension in others
    ]
    while _count(others, shifts) > boxes * COPIES_PER_BOX ** len(others):
        shifts = [shift + 1 for shift in shifts]
    return shifts


def _count(others: Sequence[_Dimension], shifts: Sequence[int]) -> float:
    """How many copies these strips would mean."""
    total = 0.0
    for side in (0, 1):
        copies = np.ones(len(others[0].lowers[side])) if others else np.ones(0)
        for dimension, shift in zip(others, shifts, strict=True):
            copies *= (dimension.lasts[side] >> shift) - (dimension.lowers[side] >> shift) + 1
        total += float(copies.sum())
    return total


def _copies(
    side: int, kept: Array, swept: _Dimension, others: Sequence[_Dimension], shifts: Sequence[int]
) -> _Copies:
    order = np.argsort(swept.lowers[side])
    rows = np.empty((len(order), 2 + 2 * len(others)), np.uint32)
    for d, dimension in enumerate((swept, *others)):
        rows[:, 2 * d] = dimension.lowers[side]
        rows[:, 2 * d + 1] = dimension.lasts[side]
    rows = rows.take(order, axis=0)
    places, strips = _spread(rows, shifts)
    cells = np.zeros(len(places), np.uint32)
    for dimension, shift, strip in zip(others, shifts, strips, strict=True):
        cells *= np.uint32((dimension.width - 1 >> shift) + 1)
        cells += strip
    if others:
        by_cell = np.argsort(cells.astype(np.uint16), kind="stable")
        places, cells = places.take(by_cell), cells.take(by_cell)
        rows = rows.take(places, axis=0)
    keys = cells.astype(np.int64)
    keys *= swept.width
    lowers = [rows[:, 2 * d].copy() for d in range(1, len(others) + 1)]
    lasts = [rows[:, 2 * d + 1].copy() for d in range(1, len(others) + 1)]
    first = []
    for d, shift in enumerate(shifts):
        begin = strips[d].take(by_cell)
        begin <<= np.uint32(shift)
        begin[lowers[d] >= begin] = 0
        first.append(begin)
    boxes = kept.take(order.take(places))
    return _Copies(keys + rows[:, 0], keys + rows[:, 1], lowers, lasts, first, boxes)


def _spread(rows: Array, shifts: Sequence[int]) -> tuple[Array, list[Array]]:
    """A row's place for each of its copies, and the copies' strips in each dimension."""
    places = np.arange(len(rows), dtype=np.int32)
    strips: list[Array] = []
    for d, shift in enumerate(shifts, 1):
        begin = rows[:, 2 * d] >> np.uint32(shift)
        counts = (rows[:, 2 * d + 1] >> np.uint32(shift)) - begin
        counts += np.uint32(1)
        if strips:
            begin, counts = begin.take(places), counts.take(places)
        begin -= np.cumsum(counts, dtype=np.uint32) - counts  # modulo 2^32, as the sum below
        strip = np.repeat(begin, counts)
        strip += np.arange(len(strip), dtype=np.uint32)
        strips = [np.repeat(earlier, counts) for earlier in strips]
        strips.append(strip)
        places = np.repeat(places, counts)
    return places, strips


def _run(here: _Copies, there: _Copies, side: str) -> Iterator[tuple[Array, Array]]:
    """Pairs in which the box of `there` starts inside the one of `here`; equal starts count where side is "left"."""
    begin = np.searchsorted(there.starts, here.starts, "left" if side == "left" else "right")
    counts = np.searchsorted(there.starts, here.ends, "right") - begin
    ends = np.cumsum(counts)
    total = int(ends[-1])
    offsets = begin - ends + counts
    cuts = np.searchsorted(ends, np.arange(PIECE, total, PIECE), "right").tolist()
    spans = [last - first for last, first in zip(here.lasts, here.first, strict=True)]
    for i, j in zip([0, *cuts], [*cuts, len(counts)], strict=True):
        before = int(ends[i - 1]) if i else 0
        if j > i and ends[j - 1] > before:
            mine = np.repeat(np.arange(i, j), counts[i:j])
            theirs = np.arange(before, int(ends[j - 1]))
            theirs += offsets.take(mine)
            for d, span in enumerate(spans):
                starts = there.lowers[d].take(theirs)
                starts -= here.first[d].take(mine)
                good = starts <= span.take(mine)
                good &= there.lasts[d].take(theirs) >= here.lowers[d].take(mine)
                found = np.flatnonzero(good)
                mine, theirs = mine.take(found), theirs.take(found)
            yield here.boxes.take(mine), there.boxes.take(theirs)
