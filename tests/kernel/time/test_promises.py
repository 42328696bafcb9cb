"""Clause 8.20: a smaller lookahead holds only as time advances; a row tells what a federate promises by it."""

from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from weft.kernel.state.time_state import Timing

FLOATS = st.floats(0, 1e12, allow_nan=False).map(lambda number: round(number, 3))


@example(17179869184.608, 0.0, 292057776129.273)
@given(FLOATS, FLOATS, FLOATS)
def test_time_and_lookahead_add_up_to_the_promise(time: float, lookahead: float, floor: float) -> None:
    timing = Timing()
    timing.lookahead, timing.floor = lookahead, (floor, 0)
    found, promise = timing.lookahead_from(time), max(time + lookahead, floor)
    # Where two floats are half a step apart no third adds up to the promise: never more of it is told than was promised.
    assert time + found == promise or time + found < promise < time + math.nextafter(found, math.inf)


@given(*[st.integers(0, 1 << 60)] * 3)
def test_also_of_whole_numbers(time: int, lookahead: int, floor: int) -> None:
    timing = Timing()
    timing.lookahead, timing.floor = lookahead, (floor, 0)
    assert time + timing.lookahead_from(time) == max(time + lookahead, floor)
