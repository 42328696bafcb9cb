"""Schedules from measured operations: dependencies, priorities, response times that no simulation exceeds (issue 8, 3)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.channel import parse_schedule, write_schedule
from weft.cli.analyse.tune import _schedule
from weft.model.records import Source
from weft.review.advice.advice import ScheduleAdvice
from weft.review.advice.schedule import (
    Job,
    Measured,
    advise,
    as_recorded,
    dependencies,
    rt_infos,
    simulate,
)

MS = 1_000_000


def measured(name: str, period_ms: int, worst_ms: float, runs: int = 101, priority: int = 0) -> Measured:
    last = (runs - 1) * period_ms * MS
    return Measured(name, runs, worst_ms * MS / 2, round(worst_ms * MS), 0, last, priority)


def test_rates_give_priorities() -> None:
    """S3-10: 30 Hz above 15 Hz, whatever the run had."""
    plan = advise([measured("slow", 66, 5, priority=0), measured("fast", 33, 2, priority=1)], {})
    assert [one.info.name for one in plan.operations] == ["fast", "slow"]
    assert plan["fast"].priority < plan["slow"].priority
    assert plan["fast"].response == 0.002
    assert plan["slow"].response == 0.007
    recorded = as_recorded([measured("slow", 66, 5, priority=0), measured("fast", 33, 2, priority=1)], plan)
    assert recorded == {"slow": (0.005, True), "fast": (0.007, True)}


def test_causes_become_dependencies_where_they_explain_the_rate() -> None:
    one, two, other = (
        measured("one", 10, 1),
        measured("two", 5, 1, runs=202),
        measured("other", 20, 1, runs=51),
    )
    causes = {("one", "two"): 202, ("one", "other"): 20}
    made = {info.name: info for info in rt_infos([one, two, other], dependencies([one, two, other], causes))}
    assert [(part.operation, part.calls) for part in made["two"].dependencies] == [("one", 2)]  # type: ignore[union-attr]
    assert made["two"].period == 0
    assert made["other"].dependencies == ()  # 20 of its 51 runs had that cause
    assert made["other"].period == 0.020


def test_circles_of_causes_do_not_stop_the_plan() -> None:
    one, two = measured("one", 10, 1), measured("two", 10, 1)
    plan = advise([one, two], {("one", "two"): 101, ("two", "one"): 101})
    assert plan.schedulable
    assert {one.info.dependencies for one in plan.operations} == {()}


def test_an_operation_that_ran_once_has_no_period() -> None:
    plan = advise([measured("often", 10, 1), measured("once", 10, 1, runs=1)], {})
    assert plan["once"].period == 0
    assert plan.operations[-1].info.name == "once"


operations = st.lists(
    st.tuples(st.sampled_from((2, 3, 5, 7, 10, 20)), st.floats(0.1, 4), st.integers(0, 3)),
    min_size=1,
    max_size=5,
)


@given(operations, st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_simulation_takes_longer_than_the_analysis_says(
    drawn: list[tuple[int, float, int]], preemptive: bool
) -> None:
    """All triggered at once and then by their periods; exact where priorities differ and preempt."""
    known = [
        measured(f"op{at}", period, worst, priority=old) for at, (period, worst, old) in enumerate(drawn)
    ]
    plan = advise(known, {}, preemptive)
    jobs = [
        Job(one.operation, at * round(one.period_ns), one.worst_ns)
        for one in known
        for at in range(-(-60 * MS // round(one.period_ns)))
    ]
    ranks = {one.info.name: (one.priority, one.sub_priority) for one in plan.operations}
    found = simulate(jobs, ranks, preemptive)
    alone = len({one.priority for one in plan.operations}) == len(known)
    for one in plan.operations:
        if one.response is not None:
            longest = round(one.response * 1e9)
            assert found[one.info.name] <= longest
            if preemptive and alone:
                assert found[one.info.name] == longest
    recorded = as_recorded(known, plan, preemptive)
    old = {one.operation: (one.priority or 0, 0) for one in known}
    before = simulate(jobs, old, preemptive)
    for name, (response, meets) in recorded.items():
        if meets and response is not None and list(old.values()).count(old[name]) == 1:
            assert before[name] <= round(response * 1e9)


@given(operations)
@settings(max_examples=20, deadline=None)
def test_the_file_is_one(drawn: list[tuple[int, float, int]]) -> None:
    plan = advise([measured(f"op{at}", period, worst) for at, (period, worst, _) in enumerate(drawn)], {})
    again = parse_schedule(Source("schedule.toml", write_schedule(plan).encode()))
    assert [one.info.name for one in again.operations] == [one.info.name for one in plan.operations]
    for one in plan.operations:
        now, then = again.table().urgency(one.info.name), plan.table().urgency(one.info.name)
        assert (now.preemption, now.sub, now.worst) == (then.preemption, then.sub, then.worst)


def test_advice_begins_with_what_was_missed_and_with_the_dispatcher_that_was_used() -> None:
    """A run that missed eight deadlines because nothing interrupts is not told that all are met."""
    missing = replace(measured("fast", 25, 2, priority=0), misses=8)
    both = [missing, measured("slow", 100, 38, priority=1)]
    used, other = advise(both, {}, preemptive=False), advise(both, {})
    advice = ScheduleAdvice(used, both, as_recorded(both, used, False), {}, "", False, other)
    said = advice.data()
    assert (said["misses_recorded"], said["schedulable"], said["dispatcher_interrupts"]) == (8, False, False)
    assert said["dispatcher"] == "Preemptive()"
    text = "\n".join(_schedule(said))
    assert "8 deadlines were missed as recorded" in text
    assert "all deadlines are met" not in text
    assert "use the dispatcher Preemptive() instead" in text
    with_it = ScheduleAdvice(other, both, as_recorded(both, other), {}, "", True)
    assert with_it.data()["dispatcher"] == ""
