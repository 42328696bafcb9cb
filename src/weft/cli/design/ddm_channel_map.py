"""Where in a space which channel is, under any strategy: its cells, found from what the strategy itself says.

A grid says how it divides a space.  Of other strategies, also those that somebody has added, it is found out: along each
dimension the places where the channels of a slice change are searched for by halving.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Final, NamedTuple

from weft.interest import (
    DEFAULT_REGION,
    Bounds,
    Extent,
    Region,
    Space,
    StaticGridPartitioned,
    Strategy,
    strategy_names,
)
from weft.model.errors import SettingsError

MOST: Final = 256
"""Pieces of a space of one dimension; more cannot be told apart in a picture."""
MOST_OF_MANY: Final = 64
"""The same of each dimension where there are several."""


def chosen_strategies(given: Sequence[str] | None) -> list[str]:
    """Those that were named on a command line, or all; `all` stands for all."""
    known = list(strategy_names())
    for name in given or ():
        if name not in (*known, "all"):
            raise SettingsError(
                f"--strategy {name}: there is no such strategy; there are: {', '.join(known)}"
            )
    return known if not given or "all" in given else list(given)


class ChannelCell(NamedTuple):
    """Half-open bounds in each dimension of the space, and the channels of what happens there."""

    bounds: tuple[Bounds, ...]
    channels: tuple[int, ...]


class ChannelMap:
    """`cuts` has, for each dimension, where its pieces begin, and where the last one ends."""

    def __init__(self, strategy: Strategy, space: Space) -> None:
        self._strategy = strategy
        self.space = space
        self.whole = tuple(sorted(strategy.update_channels(space, DEFAULT_REGION)))
        self.cuts = _grid_cuts(strategy, space) or _found_cuts(strategy, space)
        self.pieces = tuple(len(cuts) - 1 for cuts in self.cuts)
        # Too many to be drawn: then there is one piece.
        most = MOST if len(self.pieces) < 2 else MOST_OF_MANY
        self.left_off = tuple(count > most for count in self.pieces)
        self.cuts = [
            [cuts[0], cuts[-1]] if many else cuts for cuts, many in zip(self.cuts, self.left_off, strict=True)
        ]

    def cells(self) -> Iterator[ChannelCell]:
        for bounds in product(*(pairwise(cuts) for cuts in self.cuts)):
            yield ChannelCell(bounds, self.channels(bounds))

    def channels(self, bounds: tuple[Bounds, ...]) -> tuple[int, ...]:
        numbers = [dimension.number for dimension in self.space.dimensions]
        box = Extent(dict(zip(numbers, bounds, strict=True)))
        return tuple(sorted(self._strategy.update_channels(self.space, Region((box,)))))


def _grid_cuts(strategy: Strategy, space: Space) -> list[list[int]]:
    if not isinstance(strategy, StaticGridPartitioned):
        return []
    grid = strategy.grids[space.number]
    return [
        sorted({min(place * size, dimension.size) for place in range(count + 1)} | {dimension.size})
        for dimension, count, size in zip(space.dimensions, grid.counts, grid.sizes, strict=True)
    ]


def _found_cuts(strategy: Strategy, space: Space) -> list[list[int]]:
    found = []
    for dimension in space.dimensions:
        number = dimension.number
        cuts = {0, dimension.size}
        _search(strategy, space, number, 0, dimension.size, cuts)
        found.append(sorted(cuts))
    return found


def _search(strategy: Strategy, space: Space, number: int, begin: int, end: int, cuts: set[int]) -> None:
    """The channels of a part are among those of the whole: where both have the same there is nothing to find."""
    whole = _slice(strategy, space, number, begin, end)
    if end - begin < 2 or len(cuts) > MOST + 2 or len(whole) < 2:
        return
    middle = (begin + end) // 2
    left, right = _slice(strategy, space, number, begin, middle), _slice(strategy, space, number, middle, end)
    before = _slice(strategy, space, number, middle - 1, middle)
    if before != _slice(strategy, space, number, middle, middle + 1):
        cuts.add(middle)
    first, last = (
        _slice(strategy, space, number, begin, begin + 1),
        _slice(strategy, space, number, end - 1, end),
    )
    if left != first or left != before:
        _search(strategy, space, number, begin, middle, cuts)
    if right != last or right != _slice(strategy, space, number, middle, middle + 1):
        _search(strategy, space, number, middle, end, cuts)


def _slice(strategy: Strategy, space: Space, number: int, begin: int, end: int) -> frozenset[int]:
    return strategy.update_channels(space, Region((Extent({number: (begin, end)}),)))
