"""Who gets it: what federates declared, regions of data distribution, and who is therefore concerned; also as of a logical time.

`weft.interest.matching` is the engine behind regions: which boxes overlap, of many at once or while they move.
For regions that change as of a logical time (docs/explanation/ddm-sync.md) read `distribution` first, then `cells` above it.
"""

from weft.interest.cells import CellAxis, CellInterest, CellUpdate, Grid, Modified, Placed, Subscribed
from weft.interest.ddm_settings import STRATEGIES, DdmSettings, read_ddm_settings
from weft.interest.declarations import AttributeWish, Declarations, Declared, stronger
from weft.interest.distribution import DistributionList, Logged, Outcome
from weft.interest.distribution_lists import DistributionLists
from weft.interest.regions import DEFAULT_REGION, NOWHERE, WHOLE, Bounds, Extent, Region, closed
from weft.interest.spaces import Space, SpaceDimension, Spaces
from weft.interest.spacetime import SpaceTime
from weft.interest.strategies import StaticGridPartitioned, make_strategy
from weft.interest.strategy import Strategy, strategy_names

Axis = CellAxis
"""The name under which docs/explanation/ddm-sync.md has it."""

__all__ = [
    "DEFAULT_REGION",
    "NOWHERE",
    "STRATEGIES",
    "WHOLE",
    "AttributeWish",
    "Axis",
    "Bounds",
    "CellAxis",
    "CellInterest",
    "CellUpdate",
    "DdmSettings",
    "Declarations",
    "Declared",
    "DistributionList",
    "DistributionLists",
    "Extent",
    "Grid",
    "Logged",
    "Modified",
    "Outcome",
    "Placed",
    "Region",
    "Space",
    "SpaceDimension",
    "SpaceTime",
    "Spaces",
    "StaticGridPartitioned",
    "Strategy",
    "Subscribed",
    "closed",
    "make_strategy",
    "read_ddm_settings",
    "strategy_names",
    "stronger",
]
