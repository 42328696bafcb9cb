"""The off-line scheduler against schedules played tick by tick (S3-10)."""

from __future__ import annotations

from math import lcm
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
    After,
    AfterAll,
    AfterAny,
    Event,
    EventChannel,
    Every,
    RtInfo,
    all_of,
    any_of,
    deadline,
    interval,
    on,
    parse_schedule,
    plan,
    recorded,
    write_schedule,
)
from weft.channel.scheduling.analysis import (
    Task,
    busy_period,
    class_delay,
    fixed_delay,
    meets_deadlines_first,
    response_time,
    utilisation,
    within_hyperbolic,
    within_liu_layland,
)
from weft.channel.scheduling.rt_info import streams
from weft.channel.scheduling.schedule import Policy, analysed
from weft.channel.scheduling.schedule_file import parse_draft
from weft.model.errors import ScheduleError
from weft.model.records import Source

PERIODS = (4, 5, 6, 8, 10, 12)
A, B, C = 16, 17, 18


@st.composite
def task_sets(draw: st.DrawFn, distinct: bool = False) -> list[Task]:
    count = draw(st.integers(1, 4))
    tasks = []
    for number in range(count):
        period = draw(st.sampled_from(PERIODS))
        worst = draw(st.integers(1, max(1, period // 2)))
        priority = number if distinct else draw(st.integers(0, 2))
        tasks.append(Task(f"t{number}", worst, (period,), period, priority, number))
    assume(utilisation(tasks) <= 1)
    return tasks


def together(tasks: list[Task]) -> list[list[int]]:
    return [[0] * len(task.streams) for task in tasks]


def hyper(tasks: list[Task]) -> int:
    return lcm(*[period for task in tasks for period in task.streams])


@settings(max_examples=60, deadline=None)
@given(task_sets(distinct=True))
def test_response_times_are_exact_for_different_priorities(tasks: list[Task]) -> None:
    """S3-10: the worst case is when all are triggered together, and it is what the iteration says."""
    played = responses(tasks, together(tasks), hyper(tasks), preemptive=True)
    for task in tasks:
        found = response_time(task, tasks, preemptive=True)
        if found is None:
            assert max(played[task.name]) > task.deadline
        else:
            assert found == played[task.name][0] == max(played[task.name])


@settings(max_examples=60, deadline=None)
@given(task_sets(), st.booleans(), st.data())
def test_response_times_are_never_exceeded(tasks: list[Task], preemptive: bool, data: st.DataObject) -> None:
    """Equal priorities, run to completion, any releases: an upper bound."""
    offsets = [[data.draw(st.integers(0, task.deadline))] for task in tasks]
    played = responses(tasks, offsets, 2 * hyper(tasks), preemptive)
    for task in tasks:
        found = response_time(task, tasks, preemptive)
        if found is not None and all(response_time(one, tasks, preemptive) is not None for one in tasks):
            assert max(played[task.name], default=0) <= found


@settings(max_examples=60, deadline=None)
@given(task_sets(distinct=True))
def test_the_utilisation_bounds_promise_only_what_holds(tasks: list[Task]) -> None:
    """Rate monotonic, within Liu and Layland's bound or the hyperbolic one: no deadline is missed."""
    ranked = sorted(tasks, key=lambda task: task.deadline)
    tasks = [Task(one.name, one.worst, one.streams, one.deadline, at, 0) for at, one in enumerate(ranked)]
    if within_liu_layland(tasks):
        assert within_hyperbolic(tasks)
    if within_hyperbolic(tasks):
        assert all(response_time(task, tasks, preemptive=True) is not None for task in tasks)


@settings(max_examples=50, deadline=None)
@given(task_sets(), st.data())
def test_deadlines_first_keeps_what_it_promises(tasks: list[Task], data: st.DataObject) -> None:
    """Jeffay's conditions are sufficient, for any releases; the queue does not interrupt."""
    tasks = [Task(one.name, one.worst, one.streams, one.deadline, 0, one.sub) for one in tasks]
    assume(all(meets_deadlines_first(tasks).values()))
    offsets = [[data.draw(st.integers(0, task.deadline))] for task in tasks]
    played = responses(
        tasks, offsets, 2 * hyper(tasks), False, key=lambda task, now: (now + task.deadline, task.sub)
    )
    for task in tasks:
        assert max(played[task.name], default=0) <= task.deadline


@st.composite
def task_sets_of_streams(draw: st.DrawFn) -> list[Task]:
    """Operations with one or two series of triggers, whose deadline is before the next of both together."""
    tasks = []
    for number in range(draw(st.integers(1, 3))):
        periods = tuple(draw(st.lists(st.sampled_from(PERIODS), min_size=1, max_size=2)))
        together = int(1 / sum(1 / period for period in periods))
        tasks.append(Task(f"t{number}", draw(st.integers(1, 3)), periods, together, 0, number))
    assume(utilisation(tasks) <= 1)
    return tasks


@settings(max_examples=80, deadline=None)
@given(task_sets_of_streams())
def test_deadlines_first_that_interrupts_is_exact(tasks: list[Task]) -> None:
    """S3-10: all deadlines are met when all are triggered together, which is the worst, if and only if the analysis says so."""
    played = responses(
        tasks,
        together(tasks),
        hyper(tasks),
        True,
        key=lambda task, now: (now + task.deadline, task.sub),
        within=True,
    )
    met = all(max(played[task.name]) <= task.deadline for task in tasks)
    assert met == all(meets_deadlines_first(tasks, preemptive=True).values())


@settings(max_examples=60, deadline=None)
@given(task_sets_of_streams(), st.data())
def test_deadlines_first_without_interruption_keeps_what_it_promises(
    tasks: list[Task], data: st.DataObject
) -> None:
    """S3-10: also where several series trigger an operation, whose deadline is sooner then than any period."""
    assume(all(meets_deadlines_first(tasks).values()))
    offsets = [[data.draw(st.integers(0, period)) for period in task.streams] for task in tasks]
    played = responses(
        tasks, offsets, 2 * hyper(tasks), False, key=lambda task, now: (now + task.deadline, task.sub)
    )
    for task in tasks:
        assert max(played[task.name], default=0) <= task.deadline


@settings(max_examples=60, deadline=None)
@given(task_sets(), st.booleans())
def test_a_response_time_is_the_sum_of_what_explains_it(tasks: list[Task], preemptive: bool) -> None:
    """S3-10: own work, blocking and interference add up, within the deadline and beyond."""
    for task in tasks:
        for delay, found in (
            (fixed_delay(task, tasks, preemptive), response_time(task, tasks, preemptive)),
            (class_delay(task, tasks, preemptive), busy_period(task, tasks, preemptive)),
        ):
            if delay.response is None:
                assert found is None
                continue
            whole = delay.own + delay.blocked + sum(one.nanoseconds for one in delay.interferences)
            assert whole == delay.response
            assert found == (delay.response if delay.response <= task.deadline else None)


def test_deadlines_first_says_who_blocks_too_long() -> None:
    """A long operation that cannot be interrupted makes a short one miss its deadline."""
    short, long = Task("short", 1, (4,), 4, 0, 0), Task("long", 5, (20,), 20, 0, 1)
    assert meets_deadlines_first([short, long]) == {"short": True, "long": False}
    played = responses(
        [short, long], [[1], [0]], 20, False, key=lambda task, now: (now + task.deadline, task.sub)
    )
    assert max(played["short"]) > 4


@settings(max_examples=50, deadline=None)
@given(task_sets(), st.booleans(), st.data())
def test_busy_periods_bound_every_order_within_a_class(
    tasks: list[Task], preemptive: bool, data: st.DataObject
) -> None:
    """Maximum urgency first: whatever comes first in a class, nobody waits longer."""
    offsets = [[data.draw(st.integers(0, task.deadline))] for task in tasks]
    played = responses(
        tasks, offsets, 2 * hyper(tasks), preemptive, key=lambda task, now: now + task.deadline - task.worst
    )
    for task in tasks:
        found = busy_period(task, tasks, preemptive)
        if found is not None:
            assert max(played[task.name], default=0) <= found


# Priorities


def test_30_hz_stands_above_15_hz() -> None:
    """S3-10 [V]."""
    made = plan([RtInfo("slow", worst=0.001, period=1 / 15), RtInfo("fast", worst=0.001, period=1 / 30)])
    assert made["fast"].priority < made["slow"].priority
    assert [one.info.name for one in made.operations] == ["fast", "slow"]
    assert made.schedulable


def test_e1_before_e2_by_sub_priority() -> None:
    """S3-8 [V]: the same rate; what is depended on first, then the more important."""
    made = plan(
        [
            RtInfo("E2", period=0.1, importance=1),
            RtInfo("E1", period=0.1, importance=3),
            RtInfo("after E1", importance=4, dependencies=(After("E1"),)),
        ]
    )
    assert {one.priority for one in made.operations} == {0}
    assert [one.info.name for one in made.operations] == ["E1", "E2", "after E1"]
    assert [one.sub_priority for one in made.operations] == [0, 1, 2]


def test_periods_pass_along_dependencies() -> None:
    """S3-10: any of several add up, all of several are as slow as the slowest, calls multiply."""
    infos = [
        RtInfo("ten", period=0.1),
        RtInfo("twenty", period=0.05),
        RtInfo("either", dependencies=(After("ten"), After("twenty"))),
        RtInfo("both", dependencies=(AfterAll((After("ten"), After("twenty"))),)),
        RtInfo("twice", dependencies=(After("ten", 2),)),
        RtInfo("chain", dependencies=(AfterAny((After("both"), Every(0.2))),)),
        RtInfo("own", period=1.0, dependencies=(After("ten"),)),
        RtInfo("pool", period=0.1, threads=3),
        RtInfo("never"),
    ]
    made = plan(infos)
    rates = {one.info.name: round(1 / one.period) if one.period else 0 for one in made.operations}
    assert rates == {
        "ten": 10, "twenty": 20, "either": 30, "both": 10, "twice": 20, "chain": 15, "own": 1, "pool": 30, "never": 0,
    }  # fmt: skip
    assert made.operations[-1].info.name == "never"
    assert streams(infos)["either"] == (0.1, 0.05)


def test_a_circle_is_reported_with_its_members() -> None:
    infos = [
        RtInfo("a", dependencies=(After("b"),)),
        RtInfo("b", dependencies=(AfterAll((After("c"),)),)),
        RtInfo("c", dependencies=(After("a"),)),
    ]
    with pytest.raises(ScheduleError, match="in a circle: a → b → c → a"):
        plan(infos)


@pytest.mark.parametrize(
    "infos, words",
    [
        (
            [RtInfo("a", dependencies=(After("bee"),)), RtInfo("been")],
            "which does not exist; did you mean been",
        ),
        ([RtInfo("a"), RtInfo("a")], "two operations a"),
        ([RtInfo("a", worst=-1.0)], "worst must be a time"),
        ([RtInfo("a", criticality=5)], "criticality must be 0"),
        ([RtInfo("a", threads=-1)], "threads must be at least 0"),
        ([RtInfo("")], "no name"),
        ([RtInfo("a", dependencies=(After("b", 0),)), RtInfo("b")], "at least 1"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(infos: list[RtInfo], words: str) -> None:
    with pytest.raises(ScheduleError, match=words):
        plan(infos)


def test_a_policy_that_does_not_exist() -> None:
    with pytest.raises(ScheduleError, match="there is no policy 'fair'"):
        plan([], "fair")


def test_preemption_makes_the_difference() -> None:
    """S3-14: 40, 20 and 10 Hz at a load that fits only where urgent consumers interrupt."""
    infos = [
        RtInfo("40 Hz", worst=0.008, period=0.025),
        RtInfo("20 Hz", worst=0.012, period=0.050),
        RtInfo("10 Hz", worst=0.030, period=0.100),
    ]
    preemptive, single = plan(infos), plan(infos, preemptive=False)
    assert preemptive.schedulable
    assert preemptive.utilisation == pytest.approx(0.86)
    assert not preemptive.within_liu_layland  # the exact analysis says more
    assert not single.schedulable
    assert not single["40 Hz"].meets_deadline


def test_maximum_urgency_first_is_by_criticality() -> None:
    infos = [
        RtInfo("fast", worst=0.001, period=0.01, criticality=1),
        RtInfo("critical", worst=0.002, period=0.1, criticality=4),
    ]
    made = plan(infos, MAXIMUM_URGENCY_FIRST)
    assert made["critical"].priority < made["fast"].priority
    assert made["critical"].lead == pytest.approx(0.098)
    assert made.schedulable
    first = plan(infos, EARLIEST_DEADLINE_FIRST)
    assert {one.priority for one in first.operations} == {0}
    assert first["fast"].lead == pytest.approx(0.01)
    assert first.schedulable


# The configuration run


def test_a_configuration_run_finds_who_triggers_whom() -> None:
    """S3-10: suppliers and consumers connect, and the graph, the periods and the priorities follow."""
    infos = [RtInfo(name, worst=0.001) for name in ("fuse", "warn", "log", "tick")]
    infos += [RtInfo("radar", worst=0.001, period=1 / 30), RtInfo("ins", worst=0.001, period=1 / 15)]
    channel = EventChannel("configuration run")
    channel.supply((1, A), name="radar", rt_info="radar")
    channel.supply((2, B), name="ins", rt_info="ins")
    channel.supply((3, C), name="without RT_Info")
    channel.consume(print, any_of(all_of(on(A), on(B)), deadline(1.0)), rt_info="fuse", now=0.0)
    channel.consume(print, on(A, rt_info="warn"), on(0, 2, rt_info="log"), on(C), now=0.0)
    channel.consume(print, interval(0.5, rt_info="tick"), now=0.0)
    made = plan(recorded(channel, infos))
    rates = {one.info.name: round(1 / one.period) for one in made.operations}
    assert rates == {"radar": 30, "warn": 30, "ins": 15, "fuse": 15, "log": 15, "tick": 2}
    assert made["radar"].priority == made["warn"].priority == 0
    assert made["radar"].sub_priority < made["warn"].sub_priority
    with pytest.raises(ScheduleError, match="names the operation tick, of which there is no RT_Info"):
        recorded(channel, [info for info in infos if info.name != "tick"])


# The file


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            RtInfo,
            name=st.text("abcäö. \"'\\[]=\n", min_size=1, max_size=8),
            worst=st.floats(0, 0.1),
            typical=st.floats(0, 0.1),
            cached=st.floats(0, 0.1),
            period=st.floats(0.001, 10),
            criticality=st.integers(0, 4),
            importance=st.integers(0, 4),
            quantum=st.floats(0, 1),
        ),
        max_size=5,
        unique_by=lambda info: info.name,
    ),
    st.sampled_from((RATE_MONOTONIC, EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST)),
    st.booleans(),
)
def test_a_schedule_file_says_what_was_planned(infos: list[RtInfo], policy: str, preemptive: bool) -> None:
    made = plan(infos, policy, preemptive)
    read = parse_schedule(Source("schedule.toml", write_schedule(made).encode()))
    assert read.policy == policy
    assert read.preemptive == preemptive
    assert read.schedulable == made.schedulable
    for one, other in zip(made.operations, read.operations, strict=True):
        assert (one.info.name, one.priority, one.sub_priority) == (
            other.info.name, other.priority, other.sub_priority,
        )  # fmt: skip
        assert (one.lead, one.response) == (other.lead, other.response)
        assert other.info.period == pytest.approx(one.period)
        assert (one.info.worst, one.info.criticality) == (other.info.worst, other.info.criticality)


triggers = st.recursive(
    st.one_of(
        st.builds(After, st.sampled_from(("a", "b")), st.integers(1, 3)),
        st.builds(Every, st.floats(0.001, 10)),
    ),
    lambda parts: st.one_of(
        st.builds(AfterAll, st.lists(parts, min_size=1, max_size=3).map(tuple)),
        st.builds(AfterAny, st.lists(parts, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(triggers, max_size=3), st.integers(0, 3), st.sampled_from((0.0, 0.25)))
def test_a_file_can_be_planned_anew(parts: list[Any], threads: int, own: float) -> None:
    """S3-10: what triggers what is kept whole, so that a plan of the file is the plan that was written."""
    infos = [
        RtInfo("a", worst=0.001, period=0.3),
        RtInfo("b", worst=0.002, period=0.7),
        RtInfo("c", worst=0.003, period=own, threads=threads, dependencies=tuple(parts)),
    ]
    made = plan(infos, EARLIEST_DEADLINE_FIRST)
    draft = parse_draft(Source("s.toml", write_schedule(made).encode()))
    assert sorted(draft.infos, key=lambda info: info.name) == infos
    assert plan(draft.infos, draft.policy, draft.preemptive) == made
    assert draft.decided is not None
    assert analysed(draft.decided) == made


def test_a_draft_has_no_priorities() -> None:
    draft = parse_draft(Source("s.toml", b"[operations.a]\nperiod = 0.1\n"))
    assert (draft.policy, draft.preemptive, draft.decided) == (RATE_MONOTONIC, True, None)
    with pytest.raises(ScheduleError, match=r"`weft schedule plan` gives all of them theirs"):
        parse_draft(Source("s.toml", b"[operations.a]\npriority = 0\n"))


def test_a_policy_of_ones_own() -> None:
    """S3-23: which operations share a priority, and a dynamic key; such a plan is not kept in a file."""
    shortest = Policy("shortest first", lambda info, period: info.worst)
    infos = [
        RtInfo("long", worst=0.01, period=0.1),
        RtInfo("short", worst=0.002, period=1.0),
        RtInfo("never", worst=0.001),
    ]
    made = plan(infos, shortest)
    assert [one.info.name for one in made.operations] == ["short", "long", "never"]
    assert made["long"].response == pytest.approx(0.012)
    with pytest.raises(ScheduleError, match="the policy 'shortest first' is not kept in a file"):
        write_schedule(made)
    by_key = plan(infos, Policy("by key", lambda info, period: 0.0, lambda info, period: period / 2))
    assert by_key["long"].lead == pytest.approx(0.05)
    assert by_key["long"].response == by_key["short"].response == pytest.approx(0.012)


GOOD = 'policy = "rate monotonic"\n[operations.a]\nworst = 0.1\npriority = 0\nsub_priority = 0\n'


@pytest.mark.parametrize(
    "text, place, words",
    [
        ("policy = ", "s.toml:1", "Invalid value"),
        ('policy = "fair"\n', "s.toml:1", "policy must be one of rate monotonic"),
        ("", "s.toml", "policy must be one of"),
        (GOOD + "[operations.b]\nsub_priority = 1\n", "s.toml:6", "operation b has no priority"),
        (GOOD.replace("= 0.1", '= "x"'), "s.toml:3", "worst must be a number"),
        (
            GOOD.replace("priority = 0\nsub", "priority = -1\nsub"),
            "s.toml:4",
            "priority must be a whole number",
        ),
        (GOOD + "color = 3\n", "s.toml:6", "operation a has no key 'color'"),
        (GOOD + 'after = ["z"]\n', "s.toml:6", "runs after z, which is not in the file"),
        (GOOD + "after = 3\n", "s.toml:6", "after must be a list"),
        (GOOD + "criticality = 7\n", "s.toml:2", "criticality must be 0"),
        (GOOD + "[colors]\n", "s.toml:6", "there is no key 'colors'"),
        ('policy = "rate monotonic"\noperations = 3\n', "s.toml:2", "operations are tables"),
        ('policy = "rate monotonic"\npreemptive = 1\n', "s.toml:2", "preemptive must be true or false"),
        (GOOD + "meets_deadline = 1\n", "s.toml:6", "meets_deadline must be true or false"),
        (GOOD + "after = [3]\n", "s.toml:6", "3 triggers nothing; write a name"),
        (GOOD + "after = [{all = []}]\n", "s.toml:6", "triggers nothing"),
        (GOOD + "after = [{every = 0}]\n", "s.toml:6", "every must be longer"),
        (GOOD + 'after = [{after = "a", calls = 0}]\n', "s.toml:6", "calls must be a whole number"),
        (GOOD + 'after = [{any = ["aa"]}]\n', "s.toml:6", "which is not in the file; did you mean a?"),
        (GOOD + 'after = ["a"]\n', "s.toml:2", "in a circle: a → a"),
        ('policy = "rate monotonic"\n[operations]\na = 3\n', "s.toml:3", "operation a must be a table"),
    ],
)
def test_errors_of_a_file_name_file_and_line(text: str, place: str, words: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(Source("s.toml", text.encode()))
    assert caught.value.place == place
    assert words in str(caught.value)


def test_a_file_that_is_not_text() -> None:
    with pytest.raises(ScheduleError, match="not UTF-8"):
        parse_schedule(Source("s.toml", b"\xff\xfe"))


def test_a_channel_runs_by_the_table() -> None:
    """From the plan through the file to the order of pushes."""
    made = plan([RtInfo("slow", period=1 / 15), RtInfo("fast", period=1 / 30)])
    table = parse_schedule(Source("s.toml", write_schedule(made).encode())).table()
    channel = EventChannel("test", FULL, schedule=table)
    order: list[Any] = []
    channel.consume(lambda events: order.append("slow"), on(A), rt_info="slow", now=0.0)
    channel.consume(lambda events: order.append("fast"), on(A), rt_info="fast", now=0.0)
    channel.supply((1, A)).push(Event(A, 1), now=0.0)
    channel.run_pending()
    assert order == ["fast", "slow"]
    with pytest.raises(ScheduleError, match="no operation fats; did you mean fast"):
        channel.consume(print, on(A), rt_info="fats", now=0.0)


def test_a_group_is_as_urgent_as_the_most_urgent_of_its_events() -> None:
    """S3-10: several RT_Infos in one conjunction."""
    made = plan([RtInfo("slow", period=1.0), RtInfo("fast", period=0.1), RtInfo("middle", period=0.5)])
    channel = EventChannel("test", FULL, schedule=made.table())
    order: list[str] = []
    channel.consume(lambda events: order.append("middle"), on(B, rt_info="middle"), now=0.0)
    channel.consume(
        lambda events: order.append("group"), all_of(on(A, rt_info="fast"), on(B, rt_info="slow")), now=0.0
    )
    supplier = channel.supply((1, A), (1, B))
    for kind in (A, B):
        supplier.push(Event(kind, 1), now=0.0)
    channel.run_pending()
    assert order == ["group", "middle"]
    assert channel.configuration != NO_DISPATCHING
