"""The paper's time lines on virtual time (S3-14): 40, 20 and 10 Hz, preemptive and single-threaded, judged from the rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channel.simulation import responses
from weft.channel.record import NANO
from weft.channel.scheduling.analysis import Task
from weft.host.simulated.rates import PAPER, Pair, simulate
from weft.model.errors import SettingsError
from weft.recorder.timeline import Figures, Row, extent, figures, lanes, share_processor

MILLI = NANO // 1000


def known(rows: list[Row]) -> dict[str, Figures]:
    found = lanes(rows)
    share_processor(found)
    window = extent(found)
    assert window is not None
    return {lane.name: figures(lane, window) for lane in found}


def test_preemptive_meets_all_deadlines_where_single_threaded_does_not() -> None:
    """S3-14, from the rows: the same load; figure 12 without a miss, figure 13 with negative laxity of the fastest."""
    preemptive, single = (simulate(PAPER, 1.0, preemptive) for preemptive in (True, False))
    assert not [row for row in preemptive if row.kind == "miss"]
    for one in known(preemptive).values():
        assert one.laxity is not None
        assert one.laxity.least >= 0
        assert one.misses == one.unfinished == 0

    missed = {row.name for row in single if row.kind == "miss"}
    assert missed == {"supplier2", "consumer2"}
    by_name = known(single)
    for name, one in by_name.items():
        assert one.laxity is not None
        assert (one.laxity.least < 0) == (one.misses > 0) == (name in missed)


@pytest.mark.parametrize("preemptive", [True, False])
def test_all_that_is_released_is_done(preemptive: bool) -> None:
    """39, 19 and 9 periods begin and end within a second; suppliers push once each; the load is what was asked for."""
    rows = simulate(PAPER, 1.0, preemptive)
    by_name = known(rows)
    for pair in PAPER:
        count = round(pair.hertz) - 1
        supplier, consumer = by_name[f"supplier{pair.number}"], by_name[f"consumer{pair.number}"]
        assert (supplier.runs, supplier.pushes, consumer.runs) == (count, count, count)
        assert consumer.busy == count * round(pair.consumer * NANO)
        assert supplier.busy == count * round(pair.supplier * NANO)
    assert rows == simulate(PAPER, 1.0, preemptive), "the same pairs give the same rows"
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))


def test_the_slow_consumer_is_interrupted_by_the_fast_ones() -> None:
    """Figure 12: consumer0 runs in parts, consumer2 never does; figure 13: nobody does."""
    for preemptive in (True, False):
        found = lanes(simulate(PAPER, 1.0, preemptive))
        share_processor(found)
        parts = {lane.name: {len(one.parts) for one in lane.activations} for lane in found}
        assert parts["consumer2"] == {1}
        assert (min(parts["consumer0"]) > 1) == preemptive


@given(
    st.lists(
        st.tuples(st.sampled_from([8, 10, 12, 20, 24, 40]), st.integers(1, 3), st.integers(1, 9)),
        min_size=1, max_size=3,
    ),
    st.booleans(),
)  # fmt: skip
def test_response_times_are_those_of_a_schedule_tick_by_tick(
    drawn: list[tuple[int, int, int]], preemptive: bool
) -> None:
    """The simulated processor, against a schedule worked out millisecond by millisecond."""
    pairs = [
        Pair(at, 1000 / period, supplier / 1000, consumer / 1000)
        for at, (period, supplier, consumer) in enumerate(drawn)
    ]
    rows = simulate(pairs, 0.12, preemptive)
    tasks, offsets = [], []
    for role, cost in (("supplier", 1), ("consumer", 2)):
        for at, one in enumerate(drawn):
            named = next(row for row in rows if row.name == f"{role}{at}") if any(
                row.name == f"{role}{at}" for row in rows
            ) else None  # fmt: skip
            if named is not None:
                assert named.priority is not None
                assert named.sub_priority is not None
                tasks.append(
                    Task(named.name, one[cost], (one[0],), one[0], named.priority, named.sub_priority)
                )
                offsets.append([one[0]])
    wanted = responses(tasks, offsets, 120, preemptive)
    for lane in lanes(rows):
        period = drawn[int(lane.name[-1])][0] * MILLI
        ended = [
            one.last(0) - (one.deadline - period) for one in lane.activations if one.deadline is not None
        ]
        assert sorted(ended) == sorted(time * MILLI for time in wanted[lane.name])


@pytest.mark.parametrize(("pairs", "seconds"), [((), 1.0), (PAPER, 0.0)])
def test_nothing_to_simulate_is_refused(pairs: tuple[Pair, ...], seconds: float) -> None:
    with pytest.raises(SettingsError, match="at least one pair"):
        simulate(pairs, seconds, preemptive=True)
