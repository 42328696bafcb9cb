"""Into which tiles a space is cut, so that each has about as much work as a task should have.

Rules:

- Tiles are disjoint and together are the whole space.  A box is in every tile that it touches.
- A pair that overlaps belongs to the tile that has the lower corner of its intersection: its *reference tile*.  Both boxes
  touch that one, and only there is the pair reported.

Theory.  The tree is grown from a sample of the boxes: the tile with too many is cut in two at the median of where its boxes
begin, in the dimension in which fewest boxes touch both halves.  So tiles are small where boxes are many, and long boxes do
not get a copy in every tile unless they lie across all dimensions.  Where no cut helps (all boxes are alike, or lie over one
another), the tile stays as it is and its boxes are dealt out into a × b *blocks*: each of a parts of the updates meets
each of b parts of the subscriptions.  Also a tile of few boxes but very many pairs is dealt out.  So work is bounded
whatever the boxes are; what is not, is the number of pairs itself.

Which tile a pair belongs to is decided by single bits: both boxes touch the tile, so the corner lies in it unless, in some
dimension, both begin before the tile does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weft.interest.matching.sweep import Boxes

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

GAIN = 0.8
"""A cut must leave at most so much of the boxes in the larger half."""
TRIED = 600
"""Of a tile's sample so many of each side are compared, all with all, to guess at its pairs."""


class TaskLimits(NamedTuple):
    """Of the work of one task, about."""

    boxes: int
    pairs: int


@dataclass(frozen=True)
class Tile:
    """A leaf of the tree."""

    begins: tuple[tuple[int, int], ...]
    """Dimensions in which the tile does not begin at the beginning of the space, and where it does begin."""
    first: int
    """The number of its first block among the works of all tiles."""
    blocks: tuple[int, int]

    @property
    def works(self) -> int:
        return self.blocks[0] * self.blocks[1]


@dataclass(frozen=True)
class TileCut:
    """Below it what touches numbers before `at` in that dimension, and what touches `at` or numbers behind it."""

    dimension: int
    at: int
    low: Tiling
    high: Tiling


Tiling = Tile | TileCut


class Sample(NamedTuple):
    """Some boxes of one side, none of them empty, by their first and last numbers; `times`: how many each stands for."""

    lowers: Ints
    lasts: Ints
    times: float

    def take(self, places: Ints | Bools) -> Sample:
        return Sample(self.lowers[:, places], self.lasts[:, places], self.times)

    @property
    def boxes(self) -> float:
        return float(self.lowers.shape[1] * self.times)


def sampled(boxes: Boxes, closed: bool, times: float = 1.0) -> Sample:
    lasts = boxes.uppers if closed else boxes.uppers - 1
    full: Bools = np.logical_and.reduce(boxes.lowers <= lasts, axis=0)
    return Sample(boxes.lowers, lasts, times).take(full)


# Growing the tree


def tiling_of(updates: Sample, subscriptions: Sample, limits: TaskLimits) -> Tiling:
    return _Grower(limits).grown((updates, subscriptions), ())


class _Grower:
    def __init__(self, limits: TaskLimits) -> None:
        self.limits = limits
        self.works = 0

    def grown(self, sides: tuple[Sample, Sample], begins: tuple[tuple[int, int], ...]) -> Tiling:
        if sum(side.boxes for side in sides) > self.limits.boxes:
            cut = _best_cut(sides)
            if cut is not None:
                dimension, at = cut
                low, high = (tuple(_half(side, *cut, upper) for side in sides) for upper in (False, True))
                behind = (*(one for one in begins if one[0] != dimension), (dimension, at))
                return TileCut(
                    dimension,
                    at,
                    self.grown((low[0], low[1]), begins),
                    self.grown((high[0], high[1]), behind),
                )
        tile = Tile(begins, self.works, _blocks(sides, self.limits))
        self.works += tile.works
        return tile


def _half(side: Sample, dimension: int, at: int, upper: bool) -> Sample:
    return side.take(side.lasts[dimension] >= at if upper else side.lowers[dimension] < at)


def _best_cut(sides: tuple[Sample, Sample]) -> tuple[int, int] | None:
    """The one with which the larger half is smallest; None where none helps."""
    total = sum(side.boxes for side in sides)
    best, chosen = GAIN * total, None
    for dimension in range(len(sides[0].lowers)):
        starts = np.sort(np.concatenate([side.lowers[dimension] for side in sides]))
        behind = starts[starts > starts[0]]
        if not len(behind):
            continue
        at = int(max(starts[len(starts) // 2], behind[0]))
        halves = [sum(_half(side, dimension, at, upper).boxes for side in sides) for upper in (False, True)]
        if max(halves) < best or (max(halves) == best and chosen is not None and sum(halves) < total):
            best, chosen = max(halves), (dimension, at)
    return chosen


def _blocks(sides: tuple[Sample, Sample], limits: TaskLimits) -> tuple[int, int]:
    """How many parts of each side, so that a part of the one and a part of the other are work for a task."""
    boxes = [side.boxes for side in sides]
    if not all(boxes):
        return 1, 1
    most = [max(1, int(one)) for one in boxes]
    parts = [max(1, min(most[at], round(2 * boxes[at] / limits.boxes))) for at in (0, 1)]
    pairs = _pairs(sides) / limits.pairs
    while parts[0] * parts[1] < pairs and (parts[0] < most[0] or parts[1] < most[1]):
        larger = 0 if boxes[0] / parts[0] >= boxes[1] / parts[1] else 1
        if parts[larger] >= most[larger]:
            larger = 1 - larger
        parts[larger] = min(most[larger], parts[larger] * 2)
    return parts[0], parts[1]


def _pairs(sides: tuple[Sample, Sample]) -> float:
    """A guess."""
    some = [
        side.take(np.arange(side.lowers.shape[1])[:: max(1, side.lowers.shape[1] // TRIED)]) for side in sides
    ]
    found = np.ones((some[0].lowers.shape[1], some[1].lowers.shape[1]), np.bool_)
    for dimension in range(len(some[0].lowers)):
        found &= some[0].lowers[dimension][:, None] <= some[1].lasts[dimension][None, :]
        found &= some[1].lowers[dimension][None, :] <= some[0].lasts[dimension][:, None]
    return float(found.mean()) * sides[0].boxes * sides[1].boxes if found.size else 0.0


# Using it


def tiles(tiling: Tiling) -> list[Tile]:
    """In the order of their works."""
    return [tiling] if isinstance(tiling, Tile) else [*tiles(tiling.low), *tiles(tiling.high)]


def by_work(tiling: Tiling, boxes: Sample, numbers: Ints, side: int) -> Iterator[tuple[int, Ints]]:
    """For each work the places of the boxes that take part in it; `side`: 0 for updates.  `numbers` deal boxes out evenly."""
    for tile, places in _touched(tiling, boxes, np.arange(boxes.lowers.shape[1])):
        mine, others = tile.blocks[side], tile.blocks[1 - side]
        for block in range(mine):
            chosen = places if mine == 1 else places[numbers[places] % mine == block]
            if not len(chosen):
                continue
            for other in range(others):
                here, there = (block, other) if side == 0 else (other, block)
                yield tile.first + here * tile.blocks[1] + there, chosen


def _touched(tiling: Tiling, boxes: Sample, places: Ints) -> Iterator[tuple[Tile, Ints]]:
    if not len(places):
        return
    if isinstance(tiling, Tile):
        yield tiling, places
        return
    yield from _touched(tiling.low, boxes, places[boxes.lowers[tiling.dimension][places] < tiling.at])
    yield from _touched(tiling.high, boxes, places[boxes.lasts[tiling.dimension][places] >= tiling.at])


def starts_inside(tile: Tile, lowers: Ints) -> Ints:
    """A bit for each dimension in which the tile begins somewhere: does the box begin in it, and not before?"""
    found = np.zeros(lowers.shape[1], np.int64)
    for bit, (dimension, at) in enumerate(tile.begins):
        found |= (lowers[dimension] >= at).astype(np.int64) << bit
    return found


def belongs(tile: Tile, updates: Ints, subscriptions: Ints) -> Bools:
    """Which pairs are the tile's own, by the bits of both boxes."""
    found: Bools = (updates | subscriptions) == (1 << len(tile.begins)) - 1
    return found


def tile_of(all_tiles: Sequence[Tile], work: int) -> Tile:
    return next(tile for tile in all_tiles if tile.first <= work < tile.first + tile.works)
