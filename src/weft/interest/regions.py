"""Ranges, extents and regions as plain values, and when two of them overlap (S2-1, S2-2, S2-20).

    range    [lower, upper) on one dimension: whole numbers, upper not included
    extent   one range for each of some dimensions, a box; a dimension it does not name has its full range
    region   a set of extents

Two extents overlap when their ranges overlap in every dimension that both name; two regions overlap when any extent of
the one overlaps any extent of the other.

There is one way of keeping bounds, half-open as in IEEE 1516.  HLA 1.3 (RTI-NG) has closed bounds; since bounds are whole
numbers, [lower, upper] is [lower, upper + 1), and `closed` says it so.  Touching half-open ranges therefore do not
overlap, touching closed ones do.  A range without any number in it is refused when it is made, so an overlap needs two
comparisons and no third case.

Dimensions are numbers here: the number of a DimensionHandle, or the place of a dimension in its routing space.  What
IEEE 1516 calls a region (one box) is an `Extent` here, and a set of them, as services take it, is a `Region`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Bounds = tuple[int, int]


class Extent:
    """A box; compares by value.  `dimensions` is sorted, and `lowers` and `uppers` are in its order."""

    __slots__ = ("_hash", "dimensions", "lowers", "uppers")

    def __init__(self, ranges: Mapping[int, Bounds]) -> None:
        """From half-open bounds for each dimension."""
        self.dimensions: tuple[int, ...] = tuple(sorted(ranges))
        self.lowers: tuple[int, ...] = tuple([ranges[dimension][0] for dimension in self.dimensions])
        self.uppers: tuple[int, ...] = tuple([ranges[dimension][1] for dimension in self.dimensions])
        for place, dimension in enumerate(self.dimensions):
            lower, upper = self.lowers[place], self.uppers[place]
            if lower >= upper:
                raise ValueError(f"dimension {dimension}: nothing lies in [{lower}, {upper})")
        self._hash = hash((self.dimensions, self.lowers, self.uppers))

    def bounds(self, dimension: int) -> Bounds | None:
        """Half-open; None where the extent has the full range."""
        if dimension not in self.dimensions:
            return None
        place = self.dimensions.index(dimension)
        return self.lowers[place], self.uppers[place]

    def ranges(self) -> dict[int, Bounds]:
        """Half-open bounds for each dimension that the extent names."""
        return dict(zip(self.dimensions, zip(self.lowers, self.uppers, strict=True), strict=True))

    def overlaps(self, other: Extent) -> bool:
        if self.dimensions == other.dimensions:
            lowers, uppers = self.lowers, self.uppers
            other_lowers, other_uppers = other.lowers, other.uppers
            for place in range(len(lowers)):
                if lowers[place] >= other_uppers[place] or other_lowers[place] >= uppers[place]:
                    return False
            return True
        for place, dimension in enumerate(self.dimensions):
            if dimension in other.dimensions:
                there = other.dimensions.index(dimension)
                if self.lowers[place] >= other.uppers[there] or other.lowers[there] >= self.uppers[place]:
                    return False
        return True

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Extent)
            and self.dimensions == other.dimensions
            and self.lowers == other.lowers
            and self.uppers == other.uppers
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        ranges = ", ".join(
            f"{dimension}: {lower}..{upper}"
            for dimension, lower, upper in zip(self.dimensions, self.lowers, self.uppers, strict=True)
        )
        return f"Extent({{{ranges}}})"


def closed(ranges: Mapping[int, Bounds]) -> Extent:
    """An extent from closed bounds, as HLA 1.3 has them: [lower, upper]."""
    return Extent({dimension: (lower, upper + 1) for dimension, (lower, upper) in ranges.items()})


class Region:
    """A set of extents; compares by value, whatever the order of its extents."""

    __slots__ = ("extents",)

    def __init__(self, extents: Iterable[Extent]) -> None:
        self.extents: frozenset[Extent] = frozenset(extents)

    def overlaps(self, other: Region) -> bool:
        for extent in self.extents:
            for there in other.extents:
                if extent.overlaps(there):
                    return True
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self.extents == other.extents

    def __hash__(self) -> int:
        return hash(self.extents)

    def __repr__(self) -> str:
        return f"Region({', '.join(sorted(map(repr, self.extents)))})"


WHOLE = Extent({})
"""Has the full range of every dimension, and so overlaps every extent."""

DEFAULT_REGION = Region((WHOLE,))
"""What who names no region stands for: in a routing space all of it, and without one the overall default region."""

NOWHERE = Region(())
"""No extent: overlaps nothing, not even the default region."""
