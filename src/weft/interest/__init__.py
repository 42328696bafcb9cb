"""Who gets it: what federates declared, regions of data distribution, and who is therefore concerned; also as of a logical time.

`declarations` is declaration management, `regions` what regions are.  For regions that change as of a logical time
(docs/ddm-sync.md) read `distribution` first, then `cells` above it and `receiving` at the other end.
"""

from weft.interest.cells import Axis, CellInterest, CellUpdate, Grid, Modified, Placed, Subscribed
from weft.interest.declarations import Declarations, Declared, Wish, stronger
from weft.interest.distribution import DistributionList, Logged, Outcome
from weft.interest.distribution_lists import DistributionLists
from weft.interest.receiving import Receiver
from weft.interest.regions import DEFAULT_REGION, NOWHERE, WHOLE, Bounds, Extent, Region, closed
from weft.interest.spacetime import SpaceTime

__all__ = [
    "DEFAULT_REGION",
    "NOWHERE",
    "WHOLE",
    "Axis",
    "Bounds",
    "CellInterest",
    "CellUpdate",
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
    "Receiver",
    "Region",
    "SpaceTime",
    "Subscribed",
    "Wish",
    "closed",
    "stronger",
]
