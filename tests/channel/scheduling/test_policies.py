"""Policies: exchanged while a channel runs, without losing an event (S3-23), and those that interrupt by dynamic keys (S3-9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from channel.simulation import responses
from weft.channel import (
    EARLIEST_DEADLINE_FIRST,
    FULL,
    MAXIMUM_URGENCY_FIRST,
    NO_DISPATCHING,
    RATE_MONOTONIC,
    Cooperative,
    DispatchRecord,
    Event,
    EventChannel,
    RtInfo,
    Schedule,
    SimulatedProcessor,
    SingleThreaded,
    Urgency,
    WaterMarks,
    all_of,
    interval,
    on,
    plan,
)
from weft.channel.scheduling.schedule import tasks_of
from weft.model.errors import ScheduleError

A, B = 16, 17
NAMES = ("a", "b", "c", "d")
INFOS = [
    RtInfo("a", worst=1.0, period=4.0, criticality=1),
    RtInfo("b", worst=2.0, period=7.0, criticality=4),
    RtInfo("c", worst=0.5, period=4.0, criticality=4, importance=4),
    RtInfo("d", worst=3.0, period=20.0, criticality=0),
]


def noting(found: list[Any], name: str) -> Any:
    return lambda events: found.append((name, events[0].payload))


class Own:
    """A scheduler of one's own: by name, backwards."""

    def urgency(self, rt_info: str) -> Urgency:
        return Urgency(-NAMES.index(rt_info))


POLICIES: tuple[Any, ...] = (
    plan(INFOS, RATE_MONOTONIC).table(),
    plan(INFOS, EARLIEST_DEADLINE_FIRST).table(),
    plan(INFOS, EARLIEST_DEADLINE_FIRST, preemptive=False).table(),
    plan(INFOS, MAXIMUM_URGENCY_FIRST).table(),
    Own(),
)

moves = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, len(NAMES) - 1)),
        st.tuples(st.just("run"), st.integers(1, 3)),
        st.tuples(st.just("switch"), st.integers(0, len(POLICIES) - 1)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(moves, st.sampled_from((SingleThreaded, Cooperative)), st.data())
def test_every_event_once_in_the_order_of_the_policy_of_its_moment(
    done: list[tuple[str, int]], kind: Any, data: st.DataObject
) -> None:
    """S3-23: random events, and policies exchanged at random moments.  Whenever something is dispatched, it is what the policy
    that holds then puts first of all that waits, by its time of push; and in the end nothing was lost or repeated."""
    channel = EventChannel("test", FULL, kind(), POLICIES[0])
    found: list[tuple[str, int]] = []
    for name in NAMES:
        channel.consume(noting(found, name), on(16 + NAMES.index(name)), rt_info=name, now=0.0)
    supplier = channel.supply((1, 0))
    waiting: list[tuple[str, int, float]] = []  # name, number, when
    wanted: list[tuple[str, int]] = []
    policy, now, pushed = POLICIES[0], 0.0, 0

    def first() -> tuple[str, int, float]:
        def place(one: tuple[str, int, float]) -> Any:
            urgency = policy.urgency(one[0])
            return urgency.preemption, urgency.key(one[2]), urgency.sub, one[1]

        return min(waiting, key=place)

    for word, what in [*done, ("run", 1000)]:
        if word == "push":
            now += data.draw(st.sampled_from((0.0, 0.5, 3.0)))
            supplier.push(Event(16 + what, 1, pushed), now=now)
            waiting.append((NAMES[what], pushed, now))
            pushed += 1
        elif word == "switch":
            policy = POLICIES[what]
            channel.reschedule(policy)
            assert channel.pending() == len(waiting)
        else:
            for _ in range(min(what, len(waiting))):
                one = first()
                waiting.remove(one)
                wanted.append(one[:2])
                assert channel.run_one()
                assert found == wanted
    assert not channel.run_one()
    assert sorted(number for _, number in found) == list(range(pushed))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 4)), min_size=1, max_size=8),
    st.lists(st.one_of(st.none(), st.integers(0, len(POLICIES) - 1)), max_size=30),
)
def test_consumers_in_the_middle_of_their_steps_lose_nothing(
    jobs: list[tuple[str, int]], switches: list[int | None]
) -> None:
    """S3-23: each step may exchange the policy; all consumers come to their end once, and each step is done by the one that
    the policy of the moment lets run: none that is more urgent by preemption priority waits."""
    channel = EventChannel("test", FULL, Cooperative(), POLICIES[0])
    policy: list[Any] = [POLICIES[0]]
    plans = list(switches)
    left = {number: steps for number, (_, steps) in enumerate(jobs)}

    def consumer(events: Any) -> Iterator[None]:
        number = events[0].payload
        for _ in range(jobs[number][1]):
            mine = policy[0].urgency(jobs[number][0]).preemption
            others = [policy[0].urgency(jobs[one][0]).preemption for one, more in left.items() if more]
            assert mine == min(others)
            left[number] -= 1
            switch = plans.pop() if plans else None
            if switch is not None:
                policy[0] = POLICIES[switch]
                channel.reschedule(policy[0])
            yield

    for name in NAMES:
        channel.consume(consumer, on(16 + NAMES.index(name)), rt_info=name, now=0.0)
    supplier = channel.supply((1, 0))
    for number, (name, _) in enumerate(jobs):
        supplier.push(Event(16 + NAMES.index(name), 1, number), now=float(number))
    channel.run_pending()
    assert set(left.values()) == {0}
    assert channel.pending() == 0
    assert [proxy.failures for proxy in channel.consumers()] == [0] * len(NAMES)


def test_groups_keep_what_they_have_and_timers_run_on() -> None:
    """S3-23: a policy is exchanged between the events of a conjunction; the push goes by the new one."""
    channel = EventChannel(
        "test", FULL, schedule=Schedule({"x": Urgency(5), "y": Urgency(4), "t": Urgency(3)})
    )
    order: list[Any] = []
    channel.consume(lambda events: order.append("group"), all_of(on(A), on(B)), rt_info="x", now=0.0)
    channel.consume(lambda events: order.append("plain"), on(B), rt_info="y", now=0.0)
    channel.consume(lambda events: order.append(events[0].created), interval(1.0), rt_info="t", now=0.0)
    supplier = channel.supply((1, A), (1, B))
    supplier.push(Event(A, 1), now=0.0)
    channel.reschedule(Schedule({"x": Urgency(0), "y": Urgency(1), "t": Urgency(2)}))
    supplier.push(Event(B, 1), now=0.5)
    channel.expire(1.0)
    channel.run_pending()
    assert order == ["group", "plain", 1.0]


def test_a_schedule_that_does_not_know_an_operation_is_refused_and_nothing_changes() -> None:
    channel = EventChannel("test", FULL, schedule=Schedule({"x": Urgency(1), "y": Urgency(0)}))
    order: list[str] = []
    channel.consume(lambda events: order.append("x"), on(A), rt_info="x", now=0.0)
    channel.consume(lambda events: order.append("y"), on(A), rt_info="y", now=0.0)
    channel.supply((1, A)).push(Event(A, 1), now=0.0)
    with pytest.raises(ScheduleError, match="the schedule has no operation y"):
        channel.reschedule(Schedule({"x": Urgency(0)}))
    channel.run_pending()
    assert order == ["y", "x"]


def test_during_a_push_the_policy_is_exchanged_when_it_has_ended() -> None:
    """S3-23: the consumers of one push all see the same policy."""
    channel = EventChannel("test", NO_DISPATCHING, schedule=Schedule({"x": Urgency(0)}))
    seen: list[int] = []
    proxy = channel.consume(lambda events: channel.reschedule(None), on(A), rt_info="x", now=0.0)
    channel.consume(lambda events: seen.append(len(channel.consumers())), on(A), now=0.0)
    supplier = channel.supply((1, A))
    supplier.push(Event(A, 1), now=0.0)
    assert seen == [2]
    assert proxy.failures == 0


def test_what_was_interrupted_is_not_discarded() -> None:
    """S3-21: by an earlier key of its own priority, while the oldest go for want of room."""
    table = plan([RtInfo("x", period=10.0), RtInfo("y", period=1.0)], EARLIEST_DEADLINE_FIRST).table()
    channel = EventChannel("test", FULL, Cooperative(WaterMarks(2, 0, "discard oldest")), table)
    noted: list[Any] = []
    supplier = channel.supply((1, A), (1, B))

    def slow(events: Any) -> Iterator[None]:
        noted.append(("begins", events[0].payload))
        supplier.push(Event(B, 1, 0), now=0.0)
        yield
        noted.append(("ends", events[0].payload))

    def quick(events: Any) -> None:
        noted.append(events[0].payload)
        if events[0].payload == 0:  # the other waits, begun: of the rest the oldest has to go
            for number in range(1, 4):
                supplier.push(Event(B, 1, number), now=0.0)

    channel.consume(slow, on(A), rt_info="x", now=0.0)
    channel.consume(quick, on(B), rt_info="y", now=0.0)
    supplier.push(Event(A, 1, "long"), now=0.0)
    channel.run_pending()
    assert noted == [("begins", "long"), 0, 3, ("ends", "long")]


# Policies that interrupt, against schedules played tick by tick

PERIODS = (4, 5, 6, 8, 10, 12)


@st.composite
def operations(draw: st.DrawFn) -> list[RtInfo]:
    found = []
    for number in range(draw(st.integers(1, 4))):
        period = draw(st.sampled_from(PERIODS))
        worst = draw(st.integers(1, max(1, period // 2)))
        found.append(
            RtInfo(f"t{number}", float(worst), period=float(period), criticality=draw(st.integers(0, 2)))
        )
    assume(sum(info.worst / info.period for info in found) <= 1)
    return found


@settings(max_examples=80, deadline=None)
@given(operations(), st.sampled_from((EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST)))
def test_a_simulated_processor_interrupts_as_the_policy_says(infos: list[RtInfo], policy: str) -> None:
    """S3-9: earliest deadline first and maximum urgency first that preempt; the response time of every push is that of the
    brute-force schedule."""
    made = plan(infos, policy)
    record = DispatchRecord()
    worst = {info.name: info.worst for info in infos}
    processor = SimulatedProcessor(lambda work: worst[work.operation], preemptive=True)
    channel = EventChannel("test", FULL, processor, made.table(), record=record)
    for info in infos:
        channel.consume(lambda events: None, interval(info.period), rt_info=info.name, now=0.0)
    until = 60
    processor.run(channel, float(until))
    seconds = 10**9
    tasks = [
        type(task)(
            task.name, task.worst // seconds, (task.deadline // seconds,), task.deadline // seconds, task.priority, task.sub
        )
        for task in tasks_of(made)
    ]  # fmt: skip
    lead = {one.info.name: round(one.lead or 0.0) for one in made.operations}
    played = responses(
        tasks,
        [[task.deadline] for task in tasks],
        until,
        True,
        key=lambda task, now: (now + lead[task.name], task.sub),
        within=True,
    )
    for task in tasks:
        done = record.of("done", operation=task.name)
        took = [one.mono_ns // seconds - (one.deadline_ns // seconds - task.deadline) for one in done]
        assert took == played[task.name][: len(took)]
        assert len(took) >= len(played[task.name]) - 1
    if made.schedulable:
        assert not record.of("miss")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from((*NAMES, "switch")), st.integers(0, len(POLICIES) - 1)),
        max_size=25,
    ),
    st.booleans(),
)
def test_a_processor_never_idles_for_an_exchange_of_policies(
    done: list[tuple[int, str, int]], preemptive: bool
) -> None:
    """S3-23: at any moment, also while something runs or was interrupted: all is done once, each for its time, and the processor
    is idle for as long as it would be if it took one after the other."""
    record = DispatchRecord()
    cost = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 5.0}
    processor = SimulatedProcessor(lambda work: cost[work.rt_info], preemptive)
    channel = EventChannel("test", FULL, processor, POLICIES[0], record=record)
    found: list[int] = []
    for name in NAMES:
        channel.consume(
            lambda events: found.append(events[0].payload), on(16 + NAMES.index(name)), rt_info=name, now=0.0
        )
    supplier = channel.supply((1, 0))
    free, idle, pushed, now = 0.0, 0.0, 0, 0.0
    for wait, word, policy in done:
        now += wait
        processor.run(channel, now)
        if word == "switch":
            channel.reschedule(POLICIES[policy])
        else:
            supplier.push(Event(16 + NAMES.index(word), 1, pushed), now=now)
            idle += max(0.0, now - free)
            free = max(now, free) + cost[word]
            pushed += 1
    end = max(free, now)
    processor.run(channel, end)
    assert sorted(found) == list(range(pushed))
    assert processor.idle == pytest.approx(idle + end - free)
    assert len(record.of("dispatch")) == len(record.of("done")) == pushed


def test_deadlines_first_uses_the_whole_processor() -> None:
    """S3-9, S3-15: 100 % and no deadline missed, where rate monotonic priorities miss one; and without preemption neither can."""
    infos = [RtInfo("short", 2.0, period=4.0), RtInfo("long", 3.0, period=6.0)]
    missed = {}
    for policy in (RATE_MONOTONIC, EARLIEST_DEADLINE_FIRST):
        for preemptive in (True, False):
            made = plan(infos, policy, preemptive)
            record = DispatchRecord()
            processor = SimulatedProcessor(lambda work: work.worst, preemptive)
            channel = EventChannel("test", FULL, processor, made.table(), record=record)
            for info in infos:
                channel.consume(lambda events: None, interval(info.period), rt_info=info.name, now=0.0)
            processor.run(channel, 240.0)
            missed[policy, preemptive] = len(record.of("miss")) > 0
            assert made.schedulable != missed[policy, preemptive] or not preemptive
    assert missed[RATE_MONOTONIC, True]
    assert not missed[EARLIEST_DEADLINE_FIRST, True]


def test_a_cooperative_consumer_yields_to_an_earlier_deadline() -> None:
    """S3-9: between two steps, within one preemption priority; where the schedule is not preemptive it runs on."""
    infos = [RtInfo("x", period=10.0), RtInfo("y", period=1.0)]
    for preemptive, wanted in ((True, ["x1", "y", "x2"]), (False, ["x1", "x2", "y"])):
        table = plan(infos, EARLIEST_DEADLINE_FIRST, preemptive).table()
        channel = EventChannel("test", FULL, Cooperative(), table)
        noted: list[Any] = []
        supplier = channel.supply((1, A), (1, B))

        def slow(events: Any, channel: Any = channel, noted: Any = noted, supplier: Any = supplier) -> Any:
            noted.append("x1")
            assert not channel.must_yield()
            supplier.push(Event(B, 1), now=0.0)
            noted.append(channel.must_yield())
            yield
            noted.append("x2")

        channel.consume(slow, on(A), rt_info="x", now=0.0)
        channel.consume(noting(noted, "y"), on(B), rt_info="y", now=0.0)
        supplier.push(Event(A, 1), now=0.0)
        channel.run_pending()
        assert noted[1] is preemptive
        assert [one for one in noted if isinstance(one, str)] == [one for one in wanted if one != "y"]
        assert noted.index(("y", None)) == (2 if preemptive else 3)
