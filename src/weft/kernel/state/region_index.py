"""An index of the regions that somebody subscribes with: which of them may overlap a given extent, in logarithmic time.

Where a federate subscribes with few regions, comparing with each is faster; `ddm.matching` asks here from a certain
number on.

The index has the dimensions of the first region that came into it, four at most.  A region that lacks one of them has its full
range there, and dimensions that the index does not have are not looked at: so what is found is all that overlaps and perhaps
more, and whoever asks compares again.
"""

from __future__ import annotations

from typing import Final

from weft.interest import Extent
from weft.interest.matching.tree import BoxTree
from weft.model.handles import RegionHandle

MANY: Final = 16
"""Regions of one subscription, from which on the index is asked."""

_DIMENSIONS: Final = 4
_HIGHEST: Final = (1 << 63) - 1
_REMEMBERED: Final = 256


class RegionIndex:
    def __init__(self) -> None:
        self._dimensions: tuple[int, ...] = ()
        self._tree: BoxTree | None = None
        self._found: dict[Extent, frozenset[RegionHandle]] = {}

    def place(self, region: RegionHandle, extent: Extent) -> None:
        if self._tree is None:
            self._dimensions = extent.dimensions[:_DIMENSIONS]
            self._tree = BoxTree(max(1, len(self._dimensions)))
        if region in self._tree:
            self._tree.move(region, self._box(extent))
        else:
            self._tree.insert(region, self._box(extent))
        self._found.clear()

    def remove(self, region: RegionHandle) -> None:
        if self._tree is not None and region in self._tree:
            self._tree.remove(region)
            self._found.clear()

    def __contains__(self, region: object) -> bool:
        return self._tree is not None and region in self._tree

    def near(self, extent: Extent) -> frozenset[RegionHandle]:
        """All that overlap the extent, and perhaps others."""
        found = self._found.get(extent)
        if found is None:
            tree = self._tree
            names = [] if tree is None else tree.overlapping(self._box(extent))
            found = frozenset([name for name in names if isinstance(name, RegionHandle)])
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            self._found[extent] = found  # many ask the same: one for each member
        return found

    def _box(self, extent: Extent) -> tuple[int, ...]:
        if not self._dimensions:
            return 0, _HIGHEST
        lowers, uppers = [], []
        for dimension in self._dimensions:
            lower, upper = extent.bounds(dimension) or (0, _HIGHEST)
            lowers.append(lower)
            uppers.append(upper)
        return (*lowers, *uppers)
