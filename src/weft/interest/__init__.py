"""Who gets it: what federates declared, regions of data distribution, and who is therefore concerned."""

from weft.interest.declarations import Declarations, Declared, Wish
from weft.interest.regions import DEFAULT_REGION, NOWHERE, WHOLE, Bounds, Extent, Region, closed

__all__ = [
    "DEFAULT_REGION",
    "NOWHERE",
    "WHOLE",
    "Bounds",
    "Declarations",
    "Declared",
    "Extent",
    "Region",
    "Wish",
    "closed",
]
