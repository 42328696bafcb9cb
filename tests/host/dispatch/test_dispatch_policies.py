"""Policies and pools under threads and processes (S3-9, S3-23)."""

from __future__ import annotations

import mmap
import os
import random
import threading
import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from channel.contract import BOUND, Notes
from support.server_in_thread import eventually
from weft.channel import (
    EARLIEST_DEADLINE_FIRST,
    MAXIMUM_URGENCY_FIRST,
    RATE_MONOTONIC,
    Event,
    RtInfo,
    Schedule,
    Urgency,
    on,
    plan,
)
from weft.host.dispatch import OneThread, Preemptive, RealTimeChannel, ThreadPerConsumer, ThreadPools
from weft.host.dispatch.processes import DEPTH
from weft.host.dispatch.standing import FIRST_LEVEL
from weft.model.errors import ChannelError

A, B, C = 16, 17, 18
INFOS = [
    RtInfo("a", worst=0.001, period=0.1, criticality=1),
    RtInfo("b", worst=0.002, period=0.2, criticality=4),
    RtInfo("c", worst=0.001, period=0.4, criticality=2),
]
TABLES = [
    plan(INFOS, policy).table() for policy in (RATE_MONOTONIC, EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST)
]
TABLES.append(Schedule({name: Urgency(place) for place, name in enumerate("cab")}))
DISPATCHERS: dict[str, Any] = {
    "one thread": lambda: OneThread(patience=None),
    "one thread, cooperative": lambda: OneThread(cooperative=True, patience=None),
    "thread pools": lambda: ThreadPools(3, patience=None),
    "thread per consumer": lambda: ThreadPerConsumer(patience=None),
    "processes": lambda: Preemptive(realtime=False, patience=None),
    "pools of processes": lambda: Preemptive(realtime=False, patience=None, workers=2),
}


@pytest.mark.parametrize("kind", DISPATCHERS)
def test_no_event_is_lost_or_repeated_when_policies_are_exchanged(kind: str) -> None:
    """S3-23: two threads push, a third exchanges the policy again and again; each consumer gets every event once."""
    dispatcher = DISPATCHERS[kind]()
    channel = RealTimeChannel("test", dispatcher, schedule=TABLES[0])
    count = 60
    with closing(Notes()) as notes:

        def consumer(name: str) -> Any:
            def steps(events: Any) -> Any:
                yield
                notes.add((name, events[0].payload))

            return steps

        for name, type in zip("abc", (A, B, C), strict=True):
            channel.consume(consumer(name), on(type), name=name, rt_info=name)
        supplier = channel.supply((1, 0))

        def push(first: int) -> None:
            for number in range(first, first + count):
                supplier.push(Event((A, B, C)[number % 3], 1, number))

        with channel:
            pushers = [threading.Thread(target=push, args=(first,)) for first in (0, count)]
            for pusher in pushers:
                pusher.start()
            chosen = random.Random(23)
            switches = 0
            while switches < 20 or any(pusher.is_alive() for pusher in pushers):
                channel.reschedule(chosen.choice(TABLES))
                switches += 1
            for pusher in pushers:
                pusher.join()
            assert channel.wait_idle(BOUND), dispatcher.running()
        wanted = Counter({("abc"[number % 3], number): 1 for number in range(2 * count)})
        assert Counter(notes.all()) == wanted
    assert dispatcher.discarded == 0


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_what_waits_is_carried_out_in_the_order_of_the_policy_that_holds(number: int) -> None:
    """S3-23: pushed under one policy and dispatched under another, by one thread."""
    channel = RealTimeChannel("test", OneThread(patience=None), schedule=TABLES[0])
    order: list[str] = []

    def consumer(name: str) -> Any:
        return lambda events: order.append(name)

    for name in "bca":
        channel.consume(consumer(name), on(A), name=name, rt_info=name)
    channel.supply((1, A)).push(Event(A, 1))
    channel.reschedule(TABLES[number])
    with channel:
        assert channel.wait_idle(BOUND)
    assert "".join(order) == ("abc", "abc", "bca", "cab")[number]


def deadlines_first() -> Schedule:
    return plan(
        [RtInfo("late", worst=1.0, period=100.0), RtInfo("soon", worst=1.0, period=10.0)],
        EARLIEST_DEADLINE_FIRST,
    ).table()


@pytest.mark.parametrize("realtime", [True, False], ids=["SCHED_FIFO where allowed", "best effort"])
def test_an_earlier_deadline_interrupts_in_processes(realtime: bool) -> None:
    """S3-9: one preemption priority, one core; the one with the later deadline computes until the other has run, which it never
    would if it had to end first."""
    seen = mmap.mmap(-1, 4096)
    channel = RealTimeChannel(
        "test", Preemptive(realtime=realtime, patience=None), schedule=deadlines_first()
    )
    supplier = channel.supply((1, A), (1, B))

    def late(events: Any) -> None:
        supplier.push(Event(B, 1))
        until = time.process_time() + BOUND
        while not seen[0] and time.process_time() < until:
            pass
        seen[1] += seen[0]

    def soon(events: Any) -> None:
        seen[0] = 1

    channel.consume(late, on(A), name="late", rt_info="late")
    channel.consume(soon, on(B), name="soon", rt_info="soon")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with channel, channel.urgently():
            for _ in range(3):
                seen[0] = 0
                supplier.push(Event(A, 1))
                assert channel.wait_idle(2 * BOUND)
    finally:
        os.sched_setaffinity(0, cores)
    assert seen[1] == 3


def test_the_earlier_deadline_stands_above_the_later_one() -> None:
    """S3-9: while both run, the levels of their processes say who goes first; the later one was at the top before."""
    dispatcher = Preemptive(patience=None)
    channel = RealTimeChannel("test", dispatcher, schedule=deadlines_first())
    supplier = channel.supply((1, A), (1, B))
    seen = mmap.mmap(-1, 4096)

    def wait(place: int) -> Any:
        def consumer(events: Any) -> None:
            seen[place] = 1
            assert eventually(lambda: seen[9])

        return consumer

    channel.consume(wait(0), on(A), name="late", rt_info="late")
    channel.consume(wait(1), on(B), name="soon", rt_info="soon")
    with channel:
        if not dispatcher.fifo:
            seen[9] = 1
            pytest.skip("SCHED_FIFO is not allowed here")
        supplier.push(Event(A, 1))
        assert eventually(lambda: seen[0])
        supplier.push(Event(B, 1))
        assert eventually(lambda: seen[1])
        with dispatcher.lock:
            running = {
                one.running.receiver.name: one for one in dispatcher._in_order() if one.running is not None
            }
            levels = {name: os.sched_getparam(one.pid).sched_priority for name, one in running.items()}
        seen[9] = 1
        assert channel.wait_idle(BOUND)
    assert levels == {"soon": FIRST_LEVEL, "late": FIRST_LEVEL - 1}


def test_processes_stand_as_the_schedule_that_holds_says() -> None:
    """S3-23: priorities have several levels each while an earlier key interrupts, and one otherwise."""
    dispatcher = Preemptive(patience=None)
    channel = RealTimeChannel("test", dispatcher, schedule=TABLES[0])
    for name in "abc":
        channel.consume(print, on(A), name=name, rt_info=name)
    with channel:
        if not dispatcher.fifo:
            pytest.skip("SCHED_FIFO is not allowed here")

        def levels() -> dict[int, int]:
            assert eventually(lambda: all(one.pid for one in dispatcher._in_order()))
            found = {one.priority: one.pid for one in dispatcher._in_order()}
            return {priority: os.sched_getparam(pid).sched_priority for priority, pid in found.items()}

        one_each = {priority: FIRST_LEVEL - priority for priority in range(3)}
        several = {priority: FIRST_LEVEL - DEPTH * priority for priority in range(3)}
        assert levels() == one_each
        channel.reschedule(TABLES[2])
        assert levels() == several
        channel.reschedule(TABLES[3])
        assert levels() == one_each


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_consumers_of_a_priority_run_side_by_side_in_a_pool(kind: str) -> None:
    """S3-23: two that wait for one another; with one thread or process for the priority neither would end."""
    dispatcher: Any = (
        ThreadPools(2, patience=None)
        if kind == "threads"
        else Preemptive(realtime=False, patience=None, workers=2)
    )
    channel = RealTimeChannel("test", dispatcher, schedule=Schedule({"x": Urgency(1)}))
    seen = mmap.mmap(-1, 4096)

    def meet(place: int) -> Any:
        def consumer(events: Any) -> None:
            seen[place] = 1
            assert eventually(lambda: seen[1 - place])
            seen[2 + place] = 1

        return consumer

    channel.consume(meet(0), on(A), name="one", rt_info="x")
    channel.consume(meet(1), on(A), name="other", rt_info="x")
    supplier = channel.supply((1, A))
    with channel:
        supplier.push(Event(A, 1))
        assert channel.wait_idle(2 * BOUND)
    assert seen[2:4] == b"\1\1"


def test_a_pool_has_no_more_threads_than_it_may_have() -> None:
    """S3-23: the size is a setting; the rest waits, in order."""
    dispatcher = ThreadPools(2, patience=None)
    channel = RealTimeChannel("test", dispatcher, schedule=Schedule({"x": Urgency(1), "y": Urgency(0)}))
    go = threading.Event()
    begun: list[int] = []
    most: list[int] = []

    def slow(events: Any) -> None:
        begun.append(events[0].payload)
        most.append(len(dispatcher.running()))
        go.wait(BOUND)

    urgent = threading.Event()
    channel.consume(slow, on(A), rt_info="x")
    channel.consume(lambda events: urgent.set(), on(B), rt_info="y")
    supplier = channel.supply((1, A), (1, B))
    with channel:
        for number in range(6):
            supplier.push(Event(A, 1, number))
        supplier.push(Event(B, 1))  # another priority, another pool
        assert urgent.wait(BOUND)
        with dispatcher.lock:
            assert dispatcher.pending() >= 4
        go.set()
        assert channel.wait_idle(BOUND)
    assert sorted(begun) == list(range(6))
    assert begun[:1] in ([0], [1])
    assert max(most) <= 3


def test_in_a_pool_an_earlier_deadline_does_not_wait_and_a_later_one_does() -> None:
    """S3-9: threads of one priority, deadlines first."""
    dispatcher = ThreadPools(3, patience=None)
    channel = RealTimeChannel("test", dispatcher, schedule=deadlines_first())
    noted: list[str] = []
    late, soon, go = threading.Event(), threading.Event(), threading.Event()

    def slow(events: Any) -> None:
        noted.append(events[0].payload)
        late.set()
        go.wait(BOUND)

    def quick(events: Any) -> None:
        noted.append("soon")
        soon.set()

    channel.consume(slow, on(A), rt_info="late")
    channel.consume(quick, on(B), rt_info="soon")
    supplier = channel.supply((1, A), (1, B))
    with channel:
        supplier.push(Event(A, 1, "first"))
        assert late.wait(BOUND)
        supplier.push(Event(A, 1, "second"))  # its deadline is later: it would only take a thread
        supplier.push(Event(B, 1))
        assert soon.wait(BOUND)
        assert noted == ["first", "soon"]
        go.set()
        assert channel.wait_idle(BOUND)
    assert noted == ["first", "soon", "second"]


def test_a_pool_of_none_is_refused() -> None:
    with pytest.raises(ChannelError, match="a pool needs at least 1 thread, not 0"):
        ThreadPools(0)
    with pytest.raises(ChannelError, match="a priority needs at least 1 process, not 0"):
        Preemptive(workers=0)
