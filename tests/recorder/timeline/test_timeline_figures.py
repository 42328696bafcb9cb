"""From rows to lanes and figures (issue 7 item 8; S3-14, S3-15), against the rules read literally."""

from __future__ import annotations

import pytest
from hypothesis import given

from recorder.timeline.reference import expected
from recorder.timeline.rows import random_rows, run_of
from weft.recorder.timeline import (
    Activation,
    Row,
    TimelineLane,
    TimeWindow,
    busy,
    cut,
    endings,
    extent,
    figures,
    figures_by_priority,
    lanes,
    rows_of,
    share_processor,
)


@given(random_rows())
def test_lanes_are_what_the_rules_say(rows: list[Row]) -> None:
    """S3-14: activations with begin, end and deadline, misses and overruns, also where rows are missing or contradict."""
    found = lanes(rows)
    assert {(lane.node, lane.name) for lane in found} == {(row.node, row.name) for row in rows}
    for lane in found:
        wanted = expected(rows, lane.node, lane.name)
        got = sorted(
            (_known(one.begin), _known(one.end), one.missed, one.overran) for one in lane.activations
        )
        assert got == sorted(
            (_known(run.begin), _known(run.end), run.miss, run.overrun) for run in wanted.runs
        )
        assert len(lane.misses()) == wanted.misses()
        assert (lane.overruns, lane.until) == (wanted.overruns, wanted.until)


@given(random_rows())
def test_figures_are_what_the_rules_say(rows: list[Row]) -> None:
    """S3-15: laxity min, avg and max, misses and busy time of each consumer; priorities add up to the same."""
    found = lanes(rows)
    window = extent(found)
    assert window is not None
    assert window.length <= 30
    total = 0
    for lane in found:
        assert len(cut(lane, window).activations) == len(lane.activations)
        wanted, got = expected(rows, lane.node, lane.name), figures(lane, window)
        ended = [run for run in wanted.runs if run.end is not None]
        laxities = wanted.laxities()
        assert got.runs == len(ended)
        assert got.unfinished == len(wanted.runs) - len(ended)
        assert got.misses == wanted.misses()
        assert (got.laxity is None) == (not laxities)
        if got.laxity is not None:
            assert got.laxity == (min(laxities), sum(laxities) / len(laxities), max(laxities))
        assert got.busy == sum(run.end - run.begin for run in ended if run.begin is not None and run.end)
        total += got.misses
    priorities = figures_by_priority(found, window)
    assert sum(one.misses for one in priorities.values()) == total
    assert sum(one.overruns for one in priorities.values()) == sum(row.kind == "overrun" for row in rows)
    assert sum(one.busy for one in priorities.values()) == sum(figures(lane, window).busy for lane in found)


@given(random_rows())
def test_one_processor_runs_whoever_began_last(rows: list[Row]) -> None:
    """Nanosecond by nanosecond: one of those that have begun and not ended runs, the last that began; nobody else."""
    found = lanes(rows)
    share_processor(found)
    spans = [
        one for lane in found for one in lane.activations if one.begin is not None and one.end is not None
    ]
    for now in range(31):
        ready = [one for one in spans if one.first <= now < one.last(0)]
        runs = [one for one in spans if any(begin <= now < end for begin, end in one.parts)]
        assert len(runs) == min(1, len(ready))
        for one in runs:
            assert all((one.first, -one.last(0)) >= (other.first, -other.last(0)) for other in ready)


@given(random_rows())
def test_a_window_divides_what_was_busy(rows: list[Row]) -> None:
    """Two windows side by side have together what the whole has."""
    found = lanes(rows)
    whole = TimeWindow(0, 30)
    for lane in found:
        parts = [busy(cut(lane, one).activations, one) for one in (TimeWindow(0, 11), TimeWindow(11, 30))]
        assert sum(parts) == busy(lane.activations, whole)


def test_preempted_parts() -> None:
    """A long run of low priority with two urgent ones inside has three parts (figure 12)."""
    rows = [*run_of("slow", 0, 100, 200, 2), *run_of("fast", 20, 30, 45, 0), *run_of("fast", 60, 70, 85, 0)]
    found = {lane.name: lane for lane in lanes(rows)}
    assert list(found) == ["fast", "slow"]
    (slow,) = found["slow"].activations
    assert list(slow.parts) == [(0, 100)]
    share_processor(found.values())
    assert list(slow.parts) == [(0, 20), (30, 60), (70, 100)]
    assert figures(found["slow"], TimeWindow(0, 100)).utilisation == 0.8


def test_what_has_no_end_is_neither_lost_nor_counted() -> None:
    """A crash: the activation stays, has missed once its deadline is over, and has no busy time."""
    rows = [*run_of("hangs", 10, None, 20), *run_of("other", 10, 50, None), Row("push", 60, "radar")]
    found = {lane.name: lane for lane in lanes(rows)}
    lane = found["hangs"]
    got = figures(lane, TimeWindow(0, 60))
    assert (got.runs, got.unfinished, got.misses, got.busy, got.laxity) == (0, 1, 1, 0, None)
    (miss,) = lane.misses()
    assert (miss.at, miss.deadline, miss.activation) == (60, 20, lane.activations[0])


def test_a_miss_of_a_push_that_never_ran() -> None:
    """A row alone is a miss of its own."""
    rows = [Row("miss", 30, "fuse", priority=1, deadline_ns=25, detail="its process died")]
    (lane,) = lanes(rows)
    assert [(miss.at, miss.deadline, miss.detail) for miss in lane.misses()] == [(30, 25, "its process died")]
    assert (lane.role, lane.priority) == ("consumer", 1)


def test_rows_told_late_are_put_in_their_place() -> None:
    """Processes tell of what they did later than others: time orders the rows, not the sequence."""
    rows = [
        Row("done", 20, "a", seq=1, deadline_ns=30),
        Row("dispatch", 50, "a", seq=2, deadline_ns=80),
        Row("dispatch", 10, "a", seq=3, deadline_ns=30),
        Row("done", 60, "a", seq=4, deadline_ns=80),
    ]
    (lane,) = lanes(rows)
    assert [(one.begin, one.end, one.laxity) for one in lane.activations] == [(10, 20, 10), (50, 60, 20)]


def test_machines_are_brought_together_by_wall_clock() -> None:
    """Monotonic clocks begin when a machine does; nodes of one machine keep their exact times."""
    second = 10**9
    rows = [
        Row("dispatch", 5 * second, "x", "A", epoch_ns=1_000 * second),
        Row("done", 6 * second, "x", "A", epoch_ns=1_001 * second, deadline_ns=7 * second),
        Row("dispatch", 6 * second + 1, "y", "B", epoch_ns=1_001 * second + 400),
        Row("dispatch", 500 * second, "z", "C", epoch_ns=1_002 * second),
        Row("done", 501 * second, "z", "C", epoch_ns=1_003 * second, deadline_ns=500 * second),
    ]
    by_name = {lane.name: lane for lane in lanes(rows)}
    x, y, z = (by_name[name] for name in "xyz")
    assert x.machine == y.machine != z.machine
    assert y.activations[0].first - x.activations[0].first == second + 1
    assert z.activations[0].first - x.activations[0].first == 2 * second
    assert [lane.activations[0].laxity for lane in (x, z)] == [second, -second]


def test_a_node_that_did_not_stop() -> None:
    """`start` without `stop`: it crashed or still runs.  Neither: nobody can say.  Rows that were not kept are counted."""
    rows = [Row("start", 0, node="A"), Row("push", 4, "a", "A"), Row("start", 1, node="B"), Row("stop", 9, node="B"),
            Row("push", 3, "c", "C"), Row("dropped", 2, node="C", queue=7), Row("dropped", 3, node="C", queue=1)]  # fmt: skip
    assert [tuple(one) for one in endings(rows)] == [("A", 4, False, 0), ("B", 9, True, 0), ("C", 3, None, 8)]
    assert [lane.name for lane in lanes(rows)] == ["a", "c"]


def test_rows_from_columns_with_gaps() -> None:
    """Columns that an older version did not have, values that do not apply, and 0 for no deadline."""
    (row,) = rows_of(
        {"kind": ["done"], "mono_ns": [7], "name": [None], "deadline_ns": [0], "priority": [None]}
    )
    assert row == Row("done", 7, "", deadline_ns=None, priority=None)
    assert rows_of({"kind": [], "mono_ns": []}) == []


def test_nothing_has_no_extent() -> None:
    assert extent([]) is None
    assert extent([TimelineLane("n", "idle")]) is None


@pytest.mark.parametrize(
    ("begin", "end", "deadline", "until", "late"),
    [
        (0, 5, 5, 9, False),
        (0, 6, 5, 9, True),
        (0, None, 5, 5, False),
        (0, None, 5, 6, True),
        (0, 9, None, 9, False),
    ],
)
def test_on_the_dot_is_in_time(
    begin: int, end: int | None, deadline: int | None, until: int, late: bool
) -> None:
    assert Activation(begin, end, deadline=deadline).is_late(until) == late


def _known(time: int | None) -> int:
    return -1 if time is None else time
