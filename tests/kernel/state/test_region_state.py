"""A region that changes as of a logical time (S4-19) is at every time what the last change up to then has made of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.interest import Extent
from weft.kernel.state.region_state import OwnedRegion
from weft.model.handles import DimensionHandle, FederateHandle, RegionHandle

DIMENSION = DimensionHandle.of(1)
COMMITS = st.tuples(st.none() | st.integers(0, 9), st.integers(0, 5))  # as of when, and to where


@given(st.lists(COMMITS, max_size=12), st.none() | st.integers(0, 9))
def test_a_timeline_is_a_table_of_all_times(commits: list[tuple[int | None, int]], past: int | None) -> None:
    """Against such a table.  A commit without a time holds at all times; what is past is not asked for any more."""
    region = OwnedRegion(RegionHandle.of(1), FederateHandle.of(1), (DIMENSION,), {DIMENSION: (0, 10)})
    table: dict[int, int | None] = dict.fromkeys(range(11))
    last: int | None = None
    for time, place in commits:
        bounds = ((place, place + 1),)
        if time is None:
            differs = region.timeline is not None or last != place
            assert region.commit(bounds) is differs
            table = dict.fromkeys(table, place)
        else:
            region.commit_at(bounds, time)
            later = [at for at in sorted(changes_of(region)) if at > time]
            until = later[0] if later else 11
            table.update(dict.fromkeys(range(time, until), place))
        last = place
    if past is not None:
        region.reclaim((past, 0))
    for time in range(0 if past is None else past, 11):
        assert region.at(time) == extent(table[time])
        if table[time] is not None:
            assert extent(table[time]) in region.ever()
    assert region.extent == extent(last)


def changes_of(region: OwnedRegion) -> list[int]:
    assert region.timeline is not None
    return [int(time) for time in region.timeline.times]


def extent(place: int | None) -> Extent | None:
    return None if place is None else Extent({DIMENSION.number: (place, place + 1)})
