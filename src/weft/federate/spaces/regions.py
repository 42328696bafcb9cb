"""Regions as HLA 1.3 has them: several extents in one routing space, with closed bounds (S2-1, S2-20).

Below, each extent is a region of IEEE 1516 with half-open bounds: [a, b] is [a, b + 1).  Bounds travel in 32 bits, so the upper
bound of a dimension is at most 2^32 - 1, and its numbers end one below the 0xffffffff of HLA 1.3.  In such a dimension the
two highest numbers, 0xfffffffe and 0xffffffff, are therefore taken as one.  Nothing that should be delivered is lost by
that; two regions of which one ends at the former and the other begins at the latter overlap although they should not.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.federate.spaces.names import NamedSpace
from weft.model.errors import InvalidRangeBound, InvalidRegion, RegionDoesNotContainSpecifiedDimension
from weft.model.handles import DimensionHandle, RegionHandle
from weft.model.records import RangeBounds

MIN_EXTENT = 0
MAX_EXTENT = 0xFFFFFFFF


class Axis(NamedTuple):
    """A dimension of a space, as the RTI has it."""

    handle: DimensionHandle
    upper_bound: int

    @property
    def top(self) -> int:
        """The highest number, which HLA 1.3 counts in."""
        return MAX_EXTENT if self.upper_bound == MAX_EXTENT else self.upper_bound - 1

    def half_open(self, lower: int, upper: int) -> RangeBounds:
        last = self.upper_bound - 1
        return RangeBounds(min(lower, last), min(upper, last) + 1)


class RoutingRegion:
    """Made by `RoutingSpaces.create_region`.  Extents are numbered from 0, dimensions by their handles in the space, from 1.

    Every extent begins with the full range.  What is set counts when `notify_about_region_modification` is called.
    """

    def __init__(
        self,
        space: NamedSpace,
        axes: tuple[Axis, ...],
        handles: tuple[RegionHandle, ...],
        default: bool = False,
    ) -> None:
        self.space = space
        self.handles = handles  # of the regions that it is for the RTI, one for each extent
        self.default = default
        extents = len(handles) if not default else int(bool(axes))
        self._axes = axes
        self._lowers = [[MIN_EXTENT] * len(axes) for _ in range(extents)]
        self._uppers = [[axis.top for axis in axes] for _ in range(extents)]

    def get_space_handle(self) -> int:
        return self.space.number

    def get_number_of_extents(self) -> int:
        return len(self._lowers)

    def get_range_lower_bound(self, extent: int, dimension: int) -> int:
        return self._lowers[self._extent(extent)][self._place(dimension)]

    def get_range_upper_bound(self, extent: int, dimension: int) -> int:
        return self._uppers[self._extent(extent)][self._place(dimension)]

    def set_range_lower_bound(self, extent: int, dimension: int, bound: int) -> None:
        self._set(self._lowers, extent, dimension, bound)

    def set_range_upper_bound(self, extent: int, dimension: int, bound: int) -> None:
        """The bound belongs to the range."""
        self._set(self._uppers, extent, dimension, bound)

    def half_open(self) -> list[tuple[RegionHandle, DimensionHandle, RangeBounds]]:
        """What is to be set for the RTI; InvalidRangeBound if some range is upside down."""
        self.require_own("be modified")
        found = []
        for extent, handle in enumerate(self.handles):
            for place, axis in enumerate(self._axes):
                lower, upper = self._lowers[extent][place], self._uppers[extent][place]
                if lower > upper:
                    raise InvalidRangeBound(
                        f"[{lower}, {upper}] is no range: extent {extent} of a region in {self.space.name}, "
                        f"dimension {self.space.dimensions[place]}"
                    )
                found.append((handle, axis.handle, axis.half_open(lower, upper)))
        return found

    def require_own(self, to_do: str) -> None:
        if self.default:
            raise InvalidRegion(f"the default region of {self.space.name} cannot {to_do}; create a region")

    def _set(self, bounds: list[list[int]], extent: int, dimension: int, bound: int) -> None:
        self.require_own("be modified")
        row, place = bounds[self._extent(extent)], self._place(dimension)
        top = self._axes[place].top
        if type(bound) is not int or not MIN_EXTENT <= bound <= top:
            raise InvalidRangeBound(
                f"{bound!r} is no bound in dimension {self.space.dimensions[place]} of {self.space.name}: "
                f"whole numbers from {MIN_EXTENT} to {top:#x}"
            )
        row[place] = bound

    def _extent(self, extent: int) -> int:
        if type(extent) is not int or not 0 <= extent < len(self._lowers):
            raise InvalidRegion(
                f"there is no extent {extent!r} in a region of {len(self._lowers)}; they are numbered from 0"
            )
        return extent

    def _place(self, dimension: int) -> int:
        if type(dimension) is not int or not 1 <= dimension <= len(self._axes):
            raise RegionDoesNotContainSpecifiedDimension(
                f"{dimension!r} is no dimension of {self.space.name}; ask get_dimension_handle for one"
            )
        return dimension - 1

    def __repr__(self) -> str:
        if self.default:
            return f"<default region of {self.space.name}>"
        ranges = [
            ", ".join(f"{name}={lower:#x}..{upper:#x}" for name, lower, upper in zip(*rows, strict=True))
            for rows in zip(
                [self.space.dimensions] * len(self._lowers), self._lowers, self._uppers, strict=True
            )
        ]
        return f"<region of {self.space.name}: {'; '.join(ranges)}>"
