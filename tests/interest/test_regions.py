"""Extents and regions (S2-1, S2-2, S2-20) against sets of points."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.interest import DEFAULT_REGION, NOWHERE, WHOLE, Extent, Region, closed

TOP = 6  # dimensions 0 to 2 have the numbers 0 to TOP - 1


def ranges(shortest: int) -> st.SearchStrategy[tuple[int, int]]:
    pairs = st.tuples(st.integers(0, TOP), st.integers(0, TOP))
    return pairs.filter(lambda pair: pair[1] - pair[0] >= shortest)


half_open_ranges = st.dictionaries(st.integers(0, 2), ranges(1))
closed_ranges = st.dictionaries(st.integers(0, 2), ranges(0))
extents = st.builds(Extent, half_open_ranges) | st.builds(closed, closed_ranges)
regions = st.builds(Region, st.lists(extents, max_size=3))


def points(extent: Extent) -> set[tuple[int, ...]]:
    """Every point of the box, in all three dimensions; the full range is one wider than any closed upper bound."""
    each = [range(*(extent.bounds(dimension) or (0, TOP + 1))) for dimension in range(3)]
    return set(product(*each))


@given(extents, extents)
def test_extents_overlap_when_they_share_a_point(one: Extent, other: Extent) -> None:
    """S2-2: a dimension that is not named has its full range."""
    assert one.overlaps(other) == other.overlaps(one) == bool(points(one) & points(other))


@given(regions, regions)
def test_regions_overlap_when_they_share_a_point(one: Region, other: Region) -> None:
    """S2-2: any extent of the one and any of the other."""
    here = set[tuple[int, ...]]().union(*map(points, one.extents))
    there = set[tuple[int, ...]]().union(*map(points, other.extents))
    assert one.overlaps(other) == bool(here & there)


@given(regions)
def test_the_default_region_overlaps_all_but_nothing(region: Region) -> None:
    """S2-1."""
    assert DEFAULT_REGION.overlaps(region) == bool(region.extents)
    assert not NOWHERE.overlaps(region)
    assert DEFAULT_REGION.overlaps(DEFAULT_REGION)


def test_touching_ranges_overlap_only_where_they_are_closed() -> None:
    """S2-20."""
    assert not Extent({0: (0, 5)}).overlaps(Extent({0: (5, 9)}))
    assert closed({0: (0, 5)}).overlaps(closed({0: (5, 9)}))
    assert not closed({0: (0, 4)}).overlaps(closed({0: (5, 9)}))
    assert closed({0: (5, 5)}) == Extent({0: (5, 6)})


@pytest.mark.parametrize("bounds", [(5, 5), (5, 4)])
def test_an_empty_range_is_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"dimension 2: nothing lies in \[5, "):
        Extent({0: (0, 1), 2: bounds})


@given(half_open_ranges, half_open_ranges)
def test_extents_compare_by_value(one: dict[int, tuple[int, int]], other: dict[int, tuple[int, int]]) -> None:
    assert (Extent(one) == Extent(other)) == (one == other)
    assert hash(Extent(one)) == hash(Extent(dict(reversed(list(one.items())))))
    assert Extent(one).ranges() == one
    assert Region([Extent(one), Extent(other)]) == Region([Extent(other), Extent(one), Extent(one)])
    assert Extent(one) != one
    assert WHOLE.bounds(0) is None


def test_values_show_what_they_are() -> None:
    region = Region([Extent({1: (2, 3), 0: (0, 9)}), WHOLE])
    assert repr(region) == "Region(Extent({0: 0..9, 1: 2..3}), Extent({}))"
