"""Clause 8.20: a smaller lookahead holds only as time advances; a row tells what a federate promises by it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.kernel.timing import Timing

FLOATS = st.floats(0, 1e12, allow_nan=False).map(lambda number: round(number, 3))


@given(FLOATS, FLOATS, FLOATS)
def test_time_and_lookahead_add_up_to_the_promise(time: float, lookahead: float, floor: float) -> None:
    timing = Timing()
    timing.lookahead, timing.floor = lookahead, (floor, 0)
    assert time + timing.lookahead_from(time) == max(time + lookahead, floor)


@given(*[st.integers(0, 1 << 60)] * 3)
def test_also_of_whole_numbers(time: int, lookahead: int, floor: int) -> None:
    timing = Timing()
    timing.lookahead, timing.floor = lookahead, (floor, 0)
    assert time + timing.lookahead_from(time) == max(time + lookahead, floor)
