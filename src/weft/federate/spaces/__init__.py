"""Routing spaces of HLA 1.3, above the regions of today's standard."""

from weft.federate.spaces.regions import RoutingRegion
from weft.federate.spaces.spaces import RoutingSpaces

__all__ = ["RoutingRegion", "RoutingSpaces"]
