"""Which strategy to advise, and the RID file that sets it up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from weft.interest.cell_settings import write_cell_settings
from weft.interest.ddm_settings import (
    EXACT,
    GRID,
    LAST_MULTICAST,
    MULTICAST,
    OFF,
    SIMPLE,
    SPACE,
    SYNCHRONIZED,
    DdmSettings,
)
from weft.interest.spaces import Space, Spaces
from weft.review.advice.cells import SIZES
from weft.review.advice.grid import partitions

MOST_CHANNELS = 65_535  # that a RID file may ask for
ALL_SHAPES = 64
"""Grids of a space of different numbers in each dimension: if there are no more, all are tried."""
SLACK = 0.01
"""Of what can be saved at all: a coarser grid is taken if it saves so much less, at most."""


def candidates(spaces: Spaces, base: DdmSettings) -> list[DdmSettings]:
    """What is tried of all spaces alike: Exact, Simple, one channel for each space, and grids up to 64.

    Exact is none with groups: it would send to single nodes what they are for."""
    plain = replace(base, partitions=1, overrides={}, unknown=())
    names = (SIMPLE, SPACE) if base.best_effort == MULTICAST else (EXACT, SIMPLE, SPACE)
    made = [replace(plain, strategy=name) for name in names]
    for size in SIZES:
        grid = replace(plain, strategy=GRID, partitions=size)
        if partitions(grid, spaces) <= most_channels(base):
            made.append(_with_channels(grid, spaces))
    return made


def most_channels(base: DdmSettings) -> int:
    """That a RID file may ask for, and with groups, that there are addresses for."""
    if base.best_effort == MULTICAST:
        return min(MOST_CHANNELS, int(LAST_MULTICAST) - int(base.base_address))
    return MOST_CHANNELS


def _with_channels(grid: DdmSettings, spaces: Spaces) -> DdmSettings:
    """As many channels as partitions, and with groups as many addresses: none is used twice."""
    channels = max(1, partitions(grid, spaces))
    last = max(grid.max_address, grid.base_address + channels) if grid.best_effort == MULTICAST else None
    return replace(grid, max_channels=channels, max_address=last or grid.max_address)


def shapes(space: Space, most: int) -> list[tuple[int, ...]]:
    """Numbers of partitions for the dimensions of a space: all combinations, or those that differ a little in one dimension."""
    dimensions = len(space.dimensions)
    if len(SIZES) ** dimensions <= ALL_SHAPES:
        made = list(product(SIZES, repeat=dimensions))
    else:
        made = [
            tuple(other if at == place else size for at in range(dimensions))
            for size in SIZES
            for place in range(dimensions)
            for other in (1, size // 2, size, 2 * size)
            if other in SIZES
        ]
    limits = [one.size for one in space.dimensions]
    return [
        shape
        for shape in dict.fromkeys(made)
        if math.prod(shape) <= most
        and all(count == 1 or count <= limit for count, limit in zip(shape, limits, strict=True))
    ]


def with_shapes(base: DdmSettings, spaces: Spaces, chosen: Mapping[int, tuple[int, ...]]) -> DdmSettings:
    """A grid with a number of partitions for each dimension of each space; spaces that are not named have one partition."""
    overrides = {
        (space.name.lower(), dimension.name.lower()): count
        for space in spaces.all
        if space.number in chosen
        for dimension, count in zip(space.dimensions, chosen[space.number], strict=True)
        if count != 1
    }
    return _with_channels(replace(base, strategy=GRID, partitions=1, overrides=overrides, unknown=()), spaces)


def one_by_one(
    base: DdmSettings, spaces: Spaces, used: Sequence[int]
) -> dict[int, list[tuple[tuple[int, ...], DdmSettings]]]:
    """For each space that carries something, its grids while all other spaces have one partition."""
    most = (most_channels(base) - len(spaces.all)) // max(1, len(used))
    return {
        space.number: [
            (shape, with_shapes(base, spaces, {space.number: shape})) for shape in shapes(space, most)
        ]
        for space in spaces.all
        if space.number in used and space.dimensions
    }


@dataclass(frozen=True)
class Tried:
    """A setting, and what the messages would cost with it: sent, copies, casts, received, wanted, unwanted."""

    setting: DdmSettings
    totals: Mapping[str, int]
    partitions: int

    def cost(self) -> int:
        """Messages between nodes; with groups, datagrams and the receptions that serve nobody."""
        if self.setting.best_effort == MULTICAST:
            return self.totals["casts"] + self.totals["unwanted"]
        return self.totals["copies"]


EFFORT = {SIMPLE: 0, SPACE: 1, GRID: 2, EXACT: 3}


def best(tried: Sequence[Tried]) -> Tried:
    """The least effort among those that save nearly as much as can be saved."""
    return min(_good(tried), key=lambda one: (EFFORT[one.setting.strategy], one.partitions, one.cost()))


def best_shape(tried: Sequence[tuple[tuple[int, ...], Tried]]) -> tuple[int, ...]:
    good = _good([one for _, one in tried])
    return min((one.partitions, one.cost(), shape) for shape, one in tried if one in good)[2]


def _good(tried: Sequence[Tried]) -> list[Tried]:
    least, most = (of(one.cost() for one in tried) for of in (min, max))
    return [one for one in tried if one.cost() <= least + SLACK * (most - least)]


def better(old: Tried, new: Tried) -> Tried:
    """A change has to pay: what the run had is kept if it costs no more; groups and links cannot be compared."""
    comparable = old.setting.best_effort == new.setting.best_effort
    return old if comparable and old.cost() <= new.cost() else new


def describe(setting: DdmSettings, spaces: Spaces) -> str:
    """In a few words."""
    if setting.strategy != GRID:
        return setting.strategy
    if not setting.overrides:
        return f"{GRID}, {setting.partitions} in each dimension"
    shown = [
        f"{space.name} {'×'.join(map(str, setting.partitions_of(space)))}"
        for space in spaces.all
        if space.dimensions and any(count > 1 for count in setting.partitions_of(space))
    ]
    return f"{GRID}, {', '.join(shown)}"


def write_rid(setting: DdmSettings, spaces: Spaces, comments: Sequence[str] = ()) -> str:
    """As the text of a file that `weft.interest.read_ddm_settings` takes."""
    lines = [f";; {comment}" for comment in comments]
    lines += ["(RTI", "  (DataDistribution", f"    (StrategyToUse {setting.strategy})", "    (Options"]
    inner = [f"(BestEffortChannelType {setting.best_effort})", f"(ReliableChannelType {setting.reliable})"]
    if setting.tbound:
        inner.append(f"(TboundAhead {setting.tbound!r})")
    inner += write_cell_settings(setting.cells)
    if setting.declarations != OFF:
        inner.append(f"({SYNCHRONIZED} {setting.declarations})")
    if setting.strategy == GRID:
        inner += _grid_options(setting, spaces)
    lines += [f"      {line}" for line in inner]
    lines[-1] += "))"
    lines += ["  (Networking", "    (MulticastOptions",
              f"      (BaseAddress {setting.base_address})", f"      (MaxAddress {setting.max_address}))))"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _grid_options(setting: DdmSettings, spaces: Spaces) -> list[str]:
    lines = [
        "(StaticGridPartitionedStrategyOptions",
        f"  (NumPartitionsPerDimension {setting.partitions})",
        f"  (MaxNumberOfDataChannelsToUse {setting.max_channels})",
    ]
    options = []
    for space in spaces.all:
        own = [
            f"({dimension.name} (NumPartitions {setting.overrides[space.name.lower(), dimension.name.lower()]}))"
            for dimension in space.dimensions
            if (space.name.lower(), dimension.name.lower()) in setting.overrides
        ]
        if own:
            options.append(f"({space.name} (DimensionOptions {' '.join(own)}))")
    if options:
        lines.append("  (SpaceOptions")
        lines += [f"    {option}" for option in options]
        lines[-1] += ")"
    lines[-1] += ")"
    return lines
