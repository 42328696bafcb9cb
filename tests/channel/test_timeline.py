"""Paper 003's time line (S3-14): 40, 20 and 10 Hz, on a simulated processor, asserted from the record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.simulation import responses
from weft.channel import (
    DispatchRecord,
    Event,
    EventChannel,
    RtInfo,
    Schedule,
    SchedulePlan,
    SimulatedProcessor,
    Urgency,
    interval,
    on,
    plan,
)
from weft.channel.scheduling.analysis import Task

RATES = (40, 20, 10)
SUPPLIER = 0.0005
COSTS = {40: 0.006, 20: 0.010, 10: 0.034}  # seconds: 78 % of the processor, with the suppliers 82 %
TYPES = {40: 16, 20: 17, 10: 18}


def operations() -> list[RtInfo]:
    found = []
    for rate in RATES:
        found.append(RtInfo(f"supplier {rate}", worst=SUPPLIER, period=1 / rate))
        found.append(RtInfo(f"consumer {rate}", worst=COSTS[rate], period=1 / rate))
    return found


def time_line(preemptive: bool, seconds: float) -> tuple[DispatchRecord, SimulatedProcessor, SchedulePlan]:
    """Suppliers get timeouts and push; each consumer gets the events of one supplier."""
    planned = plan(operations(), preemptive=preemptive)
    worst = {one.name: one.worst for one in operations()}
    processor = SimulatedProcessor(lambda work: worst[work.operation], preemptive)
    record = DispatchRecord()
    channel = EventChannel("time line", dispatcher=processor, schedule=planned.table(), record=record)
    for rate in RATES:
        proxy = channel.supply((rate, TYPES[rate]), name=f"supplier {rate}", rt_info=f"supplier {rate}")

        def supply(events: Any, proxy: Any = proxy, rate: int = rate) -> None:
            proxy.push(Event(TYPES[rate], rate), processor.now)

        name = f"supplier {rate}"
        channel.consume(supply, interval(1 / rate), name=name, rt_info=name, now=0.0)
        name = f"consumer {rate}"
        channel.consume(lambda events: None, on(TYPES[rate]), name=name, rt_info=name, now=0.0)
    processor.run(channel, seconds)
    return record, processor, planned


def test_preemptive_meets_all_deadlines() -> None:
    """Figure 12; and what is less urgent is really interrupted."""
    record, processor, planned = time_line(preemptive=True, seconds=10.0)
    assert planned.schedulable
    assert record.of("miss") == []
    assert min(record.laxities()) >= 0
    for rate in RATES:
        assert min(end_to_end(record, rate)) >= 0
        assert len(record.of("done", name=f"consumer {rate}")) == pytest.approx(10 * rate, abs=1)
    slow = list(
        zip(record.of("dispatch", name="consumer 10"), record.of("done", name="consumer 10"), strict=False)
    )
    fast = record.of("dispatch", name="consumer 40")
    assert any(begin.mono_ns < one.mono_ns < end.mono_ns for begin, end in slow for one in fast)
    assert 0.8 < 1 - processor.idle / 10.0 < 0.86


def test_single_threaded_misses_at_the_same_load() -> None:
    """Figure 13: negative laxity of the fastest, because the slowest holds the processor too long; and nobody else misses."""
    record, _, planned = time_line(preemptive=False, seconds=10.0)
    assert not planned.schedulable
    missed = record.of("miss")
    assert missed
    assert {one.name for one in missed} == {"supplier 40"}
    assert not planned["supplier 40"].meets_deadline
    assert len(missed) == sum(laxity < 0 for laxity in record.laxities())
    assert min(end_to_end(record, 40)) < 0 <= min(end_to_end(record, 10))


def end_to_end(record: DispatchRecord, rate: int) -> list[int]:
    """Laxity of the consumer as the figures have it: within the period in which its supplier was to push."""
    due = [one.deadline_ns for one in record.of("dispatch", name=f"supplier {rate}")]
    ended = [one.mono_ns for one in record.of("done", name=f"consumer {rate}")]
    return [deadline - end for deadline, end in zip(due, ended, strict=False)]


def test_a_run_is_the_same_every_time() -> None:
    assert list(time_line(True, 3.0)[0]) == list(time_line(True, 3.0)[0])


times = st.tuples(st.integers(1, 6), st.integers(4, 24))  # worst, period


@settings(max_examples=150)
@given(st.lists(times, min_size=1, max_size=4), st.booleans())
def test_it_runs_as_a_processor_that_is_simulated_tick_by_tick(
    shapes: list[tuple[int, int]], preemptive: bool
) -> None:
    """Against the tick-by-tick simulation that also checks the analysis; each operation of a priority of its own."""
    if sum(worst / period for worst, period in shapes) > 1:
        shapes = shapes[:1] if shapes[0][0] <= shapes[0][1] else [(1, 4)]
    ranked = sorted(shapes, key=lambda shape: shape[1])
    tasks = [
        Task(f"{place}", worst, (period,), period, place, 0) for place, (worst, period) in enumerate(ranked)
    ]
    until = 96
    expected = responses(tasks, [[task.deadline] for task in tasks], until, preemptive)
    worst = {task.name: float(task.worst) for task in tasks}
    processor = SimulatedProcessor(lambda work: worst[work.operation], preemptive)
    record = DispatchRecord()
    schedule = _fixed(tasks)
    channel = EventChannel("ticks", dispatcher=processor, schedule=schedule, record=record)
    for task in tasks:
        channel.consume(
            lambda events: None, interval(float(task.deadline)), name=task.name, rt_info=task.name, now=0.0
        )
    processor.run(channel, until - 1.0)
    for proxy in channel.consumers():
        proxy.suspend()
    channel.run_pending()
    for task in tasks:
        found = [(task.deadline * 10**9 - laxity) // 10**9 for laxity in record.laxities(name=task.name)]
        assert found == expected[task.name]


micros = st.integers(100, 10_000)


@given(st.lists(micros, min_size=1, max_size=4), st.integers(0, 10**6), st.booleans())
def test_nothing_overruns_or_misses_by_rounding(costs: list[int], begin: int, preemptive: bool) -> None:
    """All are released together, take exactly their worst cases, and need all the time there is: the last ends at its deadline,
    to the nanosecond.  Sums of such times in floats differ in their last bits, which were taken for overruns."""
    worst = {f"{place}": cost / 10**6 for place, cost in enumerate(costs)}
    period = sum(costs) / 10**6
    urgencies = [
        Urgency(place, worst=cost, within=period, operation=name)
        for place, (name, cost) in enumerate(worst.items())
    ]
    processor = SimulatedProcessor(lambda work: worst[work.operation], preemptive)
    record = DispatchRecord()
    schedule = Schedule(dict(zip(worst, urgencies, strict=True)))
    channel = EventChannel("exact", dispatcher=processor, schedule=schedule, record=record)
    for name in worst:
        channel.consume(lambda events: None, interval(period), name=name, rt_info=name, now=begin / 10**6)
    processor.run(channel, begin / 10**6 + 50 * period)
    assert record.of("overrun", "miss") == []
    assert set(record.laxities(name=list(worst)[-1])) == {0}
    assert processor.idle == pytest.approx(begin / 10**6 + period)


def _fixed(tasks: list[Task]) -> Schedule:
    return Schedule({task.name: Urgency(task.priority, within=float(task.deadline)) for task in tasks})


def test_time_that_passes_without_work_is_idle() -> None:
    processor = SimulatedProcessor(lambda work: 0.25, preemptive=True)
    channel = EventChannel("idle", dispatcher=processor)
    channel.consume(lambda events: None, interval(1.0), now=0.0)
    processor.run(channel, 4.5)
    assert processor.now == 4.5
    assert processor.idle == 3.5
