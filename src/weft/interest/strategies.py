"""Strategies of data distribution: which channels an update is sent on, and which ones a subscriber listens to.

Every strategy keeps one law: *the channels of overlapping regions meet*.  Whoever wants an update therefore hears it, and
the callbacks are the same with every strategy.  They differ in what else is heard, and dropped at the receiver.

    Simple                   one channel for everything                                                       S2-6
    StaticSpacePartitioned   one channel for each routing space                                               S2-7
    StaticGridPartitioned    one channel for each partition of each space, used again beyond a maximum       S2-8 … S2-11
    Exact                    one channel for each space, and the sender knows the regions of all who listen: it sends to
                             those whose regions overlap, and to nobody else
    AdaptivePartitioned      as many partitions as pay, where the traffic is; they change while it runs (`interest.adaptive`)

Others may bring more: `interest.strategy` says how, and what one must offer.

Channel 0 is the default space's; every federate listens to it.  Simple needs no second one, but numbers its only channel 1
as the others number theirs.  Each channel has a reliable and a best-effort side, under the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from weft.interest.adaptive import AdaptivePartitioned
from weft.interest.ddm_settings import MAX_PARTITIONS, DdmSettings
from weft.interest.guarded import GuardedStrategy
from weft.interest.regions import Extent, Region
from weft.interest.spaces import Space, Spaces
from weft.interest.strategy import (
    ADAPTIVE,
    DEFAULT_CHANNELS,
    EXACT,
    GRID,
    NO_CHANNELS,
    SIMPLE,
    SPACE,
    Channels,
    Strategy,
)
from weft.model.errors import SettingsError


class Simple:
    """S2-6: no filtering at the sender at all; for debugging, and to compare with."""

    name = SIMPLE
    matches_at_sender = False

    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        self.partitions = self.channels = 1

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        return _ONLY if region.extents else NO_CHANNELS


_ONLY: Channels = frozenset((1,))


class StaticSpacePartitioned:
    """S2-7: the channel of a space has its number.  Works for federates that use no regions, by the FED file alone."""

    name = SPACE
    matches_at_sender = False

    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        self.partitions = self.channels = len(spaces.all)
        self._of = {space.number: frozenset((space.number,)) for space in spaces.all}

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        if not region.extents:
            return NO_CHANNELS
        return DEFAULT_CHANNELS if space is None else self._of[space.number]


class Exact(StaticSpacePartitioned):
    """Nothing unwanted is sent; the price is that regions and their moves are known at every sender."""

    name = EXACT
    matches_at_sender = True


class StaticGridPartitioned:
    """S2-8 … S2-11: the partitions of all spaces are numbered through from 1, the first dimension of a space fastest."""

    name = GRID
    matches_at_sender = False

    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        self.grids: dict[int, PartitionGrid] = {}
        first = 1
        for space in spaces.all:
            grid = PartitionGrid(space, settings.partitions_of(space), first)
            self.grids[space.number] = grid
            first += grid.count
            if first - 1 > MAX_PARTITIONS:
                raise SettingsError(
                    f"the spaces up to {space.name} have {first - 1} partitions, and more than {MAX_PARTITIONS} serve "
                    "nobody: lower NumPartitionsPerDimension or the NumPartitions of its dimensions"
                )
        self.partitions = first - 1
        self.channels = min(self.partitions, settings.max_channels)

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        if space is None:
            return DEFAULT_CHANNELS if region.extents else NO_CHANNELS
        grid = self.grids[space.number]
        found: set[int] = set()
        for extent in region.extents:
            grid.add_channels(extent, self.channels, found)
            if len(found) == self.channels:
                break
        return frozenset(found)

    def update_partitions(self, space: Space | None, region: Region) -> frozenset[int]:
        """The partitions that the region touches, of which several may share a channel."""
        if space is None:
            return frozenset()
        grid = self.grids[space.number]
        found: set[int] = set()
        for extent in region.extents:
            grid.add_channels(extent, self.partitions, found)
        return frozenset(found)


class PartitionGrid:
    """The partitions of one space: `first` is the number of the first one."""

    def __init__(self, space: Space, counts: Sequence[int], first: int) -> None:
        self.space = space
        self.first = first
        self.counts = tuple(counts)
        self.sizes = tuple(
            -(-dimension.size // count) for dimension, count in zip(space.dimensions, counts, strict=True)
        )
        self.steps: list[int] = []
        self.count = 1
        for count in counts:
            self.steps.append(self.count)
            self.count *= count

    def ranges(self, extent: Extent) -> list[range]:
        """The partitions an extent passes through, in each dimension (S2-10, with the last number as upper bound)."""
        found = []
        for dimension, count, size in zip(self.space.dimensions, self.counts, self.sizes, strict=True):
            lower, upper = self.space.bounds(extent, dimension)
            found.append(range(min(lower // size, count - 1), min((upper - 1) // size, count - 1) + 1))
        return found

    def add_channels(self, extent: Extent, channels: int, found: set[int]) -> None:
        """The channels of an extent: partition p has channel ((p - 1) mod channels) + 1 (S2-9)."""
        ranges = self.ranges(extent)
        if not ranges:  # a space without dimensions is one partition
            found.add((self.first - 1) % channels + 1)
            return
        along, *others = ranges
        for places in product(*others):
            start = self.first - 1 + along[0]
            start += sum(place * step for place, step in zip(places, self.steps[1:], strict=True))
            found.update(p % channels + 1 for p in range(start, start + min(len(along), channels)))
            if len(found) == channels:
                return


MakeStrategy = Callable[[Spaces, DdmSettings], Strategy]
"""Makes a strategy; a class of them does."""

_MADE: dict[str, MakeStrategy] = {
    SIMPLE: Simple,
    SPACE: StaticSpacePartitioned,
    GRID: StaticGridPartitioned,
    EXACT: Exact,
    ADAPTIVE: AdaptivePartitioned,
}


def make_strategy(spaces: Spaces, settings: DdmSettings) -> Strategy:
    """The strategy that the settings ask for; the same for the whole federation (S2-4)."""
    return _MADE.get(settings.strategy, GuardedStrategy)(spaces, settings)
