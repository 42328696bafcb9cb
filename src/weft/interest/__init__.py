"""Who gets it: what federates declared, regions of data distribution, and who is therefore concerned.

`weft.interest.matching` is the engine behind regions: which boxes overlap, of many at once or while they move.
"""

from weft.interest.ddm_settings import STRATEGIES, DdmSettings, read_ddm_settings
from weft.interest.declarations import Declarations, Declared, Wish, stronger
from weft.interest.listeners import Listeners
from weft.interest.regions import DEFAULT_REGION, NOWHERE, WHOLE, Bounds, Extent, Region, closed
from weft.interest.spaces import Space, SpaceDimension, Spaces
from weft.interest.strategies import StaticGridPartitioned, Strategy, make_strategy

__all__ = [
    "DEFAULT_REGION",
    "NOWHERE",
    "STRATEGIES",
    "WHOLE",
    "Bounds",
    "DdmSettings",
    "Declarations",
    "Declared",
    "Extent",
    "Listeners",
    "Region",
    "Space",
    "SpaceDimension",
    "Spaces",
    "StaticGridPartitioned",
    "Strategy",
    "Wish",
    "closed",
    "make_strategy",
    "read_ddm_settings",
    "stronger",
]
