"""The object model and the regions of the paper on strategies (S2-10 … S2-14), with its hexadecimal numbers repaired."""

from __future__ import annotations

from weft.fom import merge, parse_module, parse_rid
from weft.interest import (
    DdmSettings,
    Region,
    Space,
    Spaces,
    Strategy,
    closed,
    make_strategy,
    read_ddm_settings,
)
from weft.model.records import Source

FED = b"""\
(FED (Federation paper) (FEDversion v1.3)
 (spaces
  (space 1D (dimension x))
  (space 2D (dimension x) (dimension y))
  (space 3D (dimension x) (dimension y) (dimension z)))
 (objects
  (class ObjectRoot
   (attribute privilegeToDelete reliable timestamp)
   (class A (attribute x reliable receive 1D))
   (class B (attribute x reliable receive 2D) (attribute y reliable receive 2D))))
 (interactions (class InteractionRoot reliable receive)))
"""

GRID_OF_TWO = b"""\
(RTI (Federation (DataDistribution
  (StrategyToUse StaticGridPartitioned)
  (Options (StaticGridPartitionedStrategyOptions (NumPartitionsPerDimension 2))))))
"""

Closed = dict[str, tuple[int, int]]

REGIONS: dict[str, tuple[str, list[Closed]]] = {
    "R1D-1": ("1D", [{"x": (0xF, 0xFF)}]),
    "R1D-2": ("1D", [{"x": (0x80001111, 0xFFFF0000)}]),
    "R1D-3": ("1D", [{"x": (0xF, 0x8FFF0000)}]),
    "R2D-1": ("2D", [{"x": (0x0, 0x10), "y": (0x0, 0x10)}]),
    "R2D-2": ("2D", [{"x": (0x10, 0x8FFF0000), "y": (0x8FFF0000, 0xFFFF0000)}]),
    "R2D-3": ("2D", [
        {"x": (0x0, 0x10), "y": (0x0, 0x10)},
        {"x": (0x8FFF0000, 0xFFFF0000), "y": (0x8FFF0000, 0xFFFF0000)},
    ]),
    "R2D-4": ("2D", [{"x": (0x0, 0xFFFFFFFF), "y": (0x0, 0xFFFFFFFF)}]),
    "R2D-5": ("2D", [{"x": (0x0, 0x09), "y": (0x8FFF0000, 0xFFFF0000)}]),
}  # fmt: skip


def spaces_of(fed: bytes = FED) -> Spaces:
    return Spaces(merge([parse_module(Source("paper.fed", fed))]))


def settings_of(rid: bytes, spaces: Spaces) -> DdmSettings:
    return read_ddm_settings(parse_rid(Source("paper.rid", rid)), spaces)


def strategy_of(rid: bytes, spaces: Spaces) -> Strategy:
    return make_strategy(spaces, settings_of(rid, spaces))


def region_in(space: Space, extents: list[Closed]) -> Region:
    numbers = {dimension.name: dimension.number for dimension in space.dimensions}
    return Region(closed({numbers[name]: bounds for name, bounds in extent.items()}) for extent in extents)


def paper_region(spaces: Spaces, name: str) -> tuple[Space, Region]:
    space = spaces.by_name[REGIONS[name][0]]
    return space, region_in(space, REGIONS[name][1])
