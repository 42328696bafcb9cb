"""The preemptive dispatcher: processes by priority (S3-9, S3-21)."""

from __future__ import annotations

import mmap
import os
import random
import signal
import threading
import time
from contextlib import closing, suppress
from typing import Any

import pytest

from channel.contract import BOUND, LEVELS, Bench, Notes, Observer, Scene
from weft.channel import (
    DISCARD_OLDEST,
    FULL,
    DispatchRecord,
    Event,
    LocalLinks,
    Schedule,
    Urgency,
    WaterMarks,
    on,
)
from weft.host.dispatch import OneThread, Preemptive, RealTimeChannel, Standing, standing_for
from weft.host.dispatch.standing import take
from weft.model.errors import ChannelError

A, B = 16, 17
PROCESSES = Bench(
    "preemptive",
    lambda: Preemptive(realtime=False, patience=None),
    ordered=False,
    hosted=True,
    elsewhere=True,
)


def shared() -> Any:
    """Bytes that all processes see."""
    return mmap.mmap(-1, 4096)


@pytest.mark.parametrize("realtime", [True, False], ids=["SCHED_FIFO where allowed", "best effort"])
def test_a_busy_consumer_does_not_delay_a_more_urgent_one(realtime: bool) -> None:
    """S3-9: the low one computes until the high one has run, so under any dispatcher that lets it finish first neither ever
    would; one core for all, so that the machine has to interrupt it.  The record shows the one within the other."""
    seen = shared()
    record = DispatchRecord()
    dispatcher = Preemptive(realtime=realtime, patience=None)
    channel = RealTimeChannel("test", dispatcher, schedule=Schedule(LEVELS), record=record)
    supplier = channel.supply((1, A), (1, B))

    def low(events: Any) -> None:
        supplier.push(Event(B, 1))
        until = time.process_time() + BOUND
        while not seen[0] and time.process_time() < until:
            pass

    def high(events: Any) -> None:
        seen[0] = 1

    channel.consume(low, on(A), name="low", rt_info="p3.0")
    channel.consume(high, on(B), name="high", rt_info="p0.0")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with channel, channel.urgently():
            for _ in range(5):
                seen[0] = 0
                supplier.push(Event(A, 1))
                assert channel.wait_idle(2 * BOUND)
    finally:
        os.sched_setaffinity(0, cores)
    begun, ended = record.of("dispatch", name="low"), record.of("done", name="low")
    inner = list(zip(record.of("dispatch", name="high"), record.of("done", name="high"), strict=True))
    assert len(begun) == len(ended) == len(inner) == 5
    for begin, end, (urgent_begin, urgent_end) in zip(begun, ended, inner, strict=True):
        assert begin.mono_ns < urgent_begin.mono_ns <= urgent_end.mono_ns < end.mono_ns


def die(how: str) -> None:
    if how == "exit":
        os._exit(3)
    if how == "leave":
        raise SystemExit(4)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    "how, says", [("exit", "exit status 3"), ("leave", "exit status 4"), ("kill", "SIGKILL")]
)
def test_a_process_that_dies_is_replaced_and_its_push_reported(how: str, says: str) -> None:
    """S3-21: who, with what, and how; everything else is carried out once."""
    with closing(Scene(PROCESSES)) as scene:
        scene.consumer("bad", "p1.0", react=lambda events: die(how) if events[0].payload == 1 else None)
        scene.consumer("equal", "p1.0")
        scene.consumer("other", "p2.0")
        for number in range(4):
            scene.push(number)
        scene.finish()
        for name in ("equal", "other", "bad"):
            assert [payload for who, payload in scene.order if who == name] == [0, 1, 2, 3]
        (failed,) = scene.observer.failed
        assert failed[:2] == ("bad", 1)
        assert "ConsumerDied" in failed[2]
        assert says in failed[2]
        assert "the process of priority 1" in failed[2]
        assert scene.observer.dropped == [("bad", 1)]
        assert scene.dispatcher.restarts == 1


def test_a_process_that_hangs_is_killed_and_reported() -> None:
    """S3-21: looked at long after, so that nobody else can be taken for hanging."""
    begun_out, begun_in = os.pipe()
    never = threading.Event()
    bench = Bench(
        "hanging",
        lambda: Preemptive(realtime=False, patience=3600.0),
        ordered=False,
        hosted=True,
        elsewhere=True,
    )

    def hang(events: Any) -> None:
        os.write(begun_in, b"x")
        never.wait()

    with closing(Scene(bench)) as scene:
        scene.consumer("stuck", "p1.0", react=lambda events: hang(events) if events[0].payload == 0 else None)
        scene.consumer("other", "p2.0", kind=B)
        scene.begin()
        scene.push(0)
        os.read(begun_out, 1)
        with scene.inside():
            later = scene.dispatcher.clock() + 3601
            assert scene.dispatcher.look(later - 3602) is not None
            assert scene.observer.hung == []
            scene.dispatcher.look(later)
            scene.dispatcher.look(later)
        for number in (1, 2):
            scene.push(number)
            scene.push(number, kind=B)
        scene.finish()
        assert scene.observer.hung == [("stuck", 0)]
        assert scene.observer.dropped == [("stuck", 0)]
        assert [payload for who, payload in scene.order if who == "stuck"] == [0, 1, 2]
        assert [payload for who, payload in scene.order if who == "other"] == [1, 2]
    os.close(begun_out)
    os.close(begun_in)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 103))]
)
def test_whatever_dies_each_push_is_carried_out_once_or_discarded(seed: int) -> None:
    """The contract, with processes that die by themselves and are killed by others, in the middle of anything."""
    chance = random.Random(seed)
    doomed = {number for number in range(60) if chance.random() < 0.1}
    with closing(Scene(PROCESSES)) as scene:
        for name, urgency in (("one", "p1.0"), ("other", "p2.0")):
            scene.consumer(
                name,
                urgency,
                react=lambda events: die("exit") if events[0].payload in doomed else None,
            )
        scene.begin()
        for number in range(60):
            scene.push(number)
            if chance.random() < 0.1:
                for pid in scene.dispatcher.processes().values():
                    with suppress(ProcessLookupError):  # it may have died of an event meanwhile
                        os.kill(pid, signal.SIGKILL)
        scene.finish()
        for name in ("one", "other"):
            noted = [payload for who, payload in scene.order if who == name]
            dropped = [payload for who, payload in scene.observer.dropped if who == name]
            assert len(set(noted)) == len(noted), "twice"
            assert set(noted) | set(dropped) == set(range(60))
            assert sorted(noted) == noted
            assert doomed <= set(dropped)
            failed = [payload for who, payload, _ in scene.observer.failed if who == name]
            assert failed == dropped


def test_full_queues_discard_before_they_are_handed_over() -> None:
    """S3-21: water marks are exact, since the queue is the channel's."""
    gate_out, gate_in = os.pipe()
    bench = Bench(
        "marked",
        lambda: Preemptive(WaterMarks(2, 0, DISCARD_OLDEST), patience=None, realtime=False),
        ordered=False,
        hosted=True,
        elsewhere=True,
    )
    with closing(Scene(bench)) as scene:
        scene.consumer("one", "p1.0", react=lambda events: os.read(gate_out, 1) and None)
        scene.begin()
        for number in range(6):
            scene.push(number)
        os.write(gate_in, b"x" * 6)
        scene.finish()
        assert [payload for _, payload in scene.order] == [0, 4, 5]
        assert [payload for _, payload in scene.observer.dropped] == [1, 2, 3]
    os.close(gate_out)
    os.close(gate_in)


def test_a_push_larger_than_the_line_arrives() -> None:
    notes = Notes()
    channel = RealTimeChannel("test", Preemptive(realtime=False))
    channel.consume(lambda events: notes.add(len(events[0].payload)), on(A))
    with channel:
        supplier = channel.supply((1, A))
        for megabytes in (3, 0, 7):
            supplier.push(Event(A, 1, bytes(megabytes * 10**6)))
        assert channel.wait_idle(BOUND)
    assert notes.all() == [3_000_000, 0, 7_000_000]
    notes.close()


def test_events_that_cannot_be_sent_are_reported() -> None:
    with closing(Scene(PROCESSES)) as scene:
        scene.consumer("one", "p1.0")
        scene.begin()
        scene.push(threading.Lock())
        scene.push("fine")
        scene.finish()
        assert scene.order == [("one", "fine")]
        (failed,) = scene.observer.failed
        assert "cannot be sent to the process of its priority" in failed[2]
        assert len(scene.observer.dropped) == 1


class Awkward(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_awkward(events: Any) -> None:
    raise Awkward(1, 2)


def test_consumers_that_come_later_must_be_importable() -> None:
    """Those before the start are inherited, closures and all."""
    observer = Observer()
    with RealTimeChannel("test", Preemptive(realtime=False), observer=observer) as channel:
        captured = 3
        with pytest.raises(ChannelError, match="closure cannot be sent to the process of its priority"):
            channel.consume(lambda events: captured, on(A), name="closure")
        channel.consume(f"{__name__}:raise_awkward", on(A), name="named")
        channel.consume(raise_awkward, on(A), name="function")
        channel.supply((1, A)).push(Event(A, 1, "x"))
        assert channel.wait_idle(BOUND)
    assert sorted(who for who, _, _ in observer.failed) == ["function", "named"]
    assert all("1 and 2" in text for _, _, text in observer.failed)


class Relay:
    """A consumer with a supplier, sent to another process as a whole."""

    def __init__(self, supplier: Any) -> None:
        self.supplier = supplier

    def push(self, events: Any) -> None:
        self.supplier.push(Event(B, 1, events[0].payload))


def test_a_consumer_that_was_sent_can_push() -> None:
    notes = Notes()
    channel = RealTimeChannel("test", Preemptive(realtime=False))
    channel.consume(lambda events: notes.add(events[0].payload), on(B), name="last")
    with channel:
        channel.consume(Relay(channel.supply((1, B))), on(A), name="relay")
        channel.supply((1, A)).push(Event(A, 1, "passed on"))
        assert channel.wait_idle(BOUND)
    assert notes.all() == ["passed on"]
    notes.close()


def test_what_a_supplier_may_not_push_is_its_error_in_every_process() -> None:
    observer = Observer()
    channel = RealTimeChannel("test", Preemptive(realtime=False), observer=observer)
    supplier = channel.supply((1, A), name="radar")
    channel.consume(lambda events: supplier.push(Event(B, 1)), on(A), name="one")
    channel.consume(lambda events: channel.supply((1, B)), on(A), name="two")
    with channel:
        supplier.push(Event(A, 1))
        assert channel.wait_idle(BOUND)
    texts = {who: text for who, _, text in observer.failed}
    assert "which it has not published" in texts["one"]
    assert "only suppliers can be used" in texts["two"]


def test_it_takes_over_and_hands_over_while_the_channel_runs() -> None:
    """S3-12."""
    notes = Notes()
    with RealTimeChannel("test", OneThread(), schedule=Schedule(LEVELS)) as channel:
        channel.consume(lambda events: notes.add(events[0].payload), on(A), rt_info="p1.0")
        supplier = channel.supply((1, A))
        for number in range(60):
            supplier.push(Event(A, 1, number))
            if number == 20:
                channel.reconfigure(FULL, Preemptive(realtime=False))
            if number == 40:
                channel.reconfigure(FULL, OneThread())
        assert channel.wait_idle(BOUND)
    assert sorted(notes.all()) == list(range(60))
    notes.close()


def test_gateways_stay_in_the_channels_process() -> None:
    """Their links cannot be sent: two channels are joined here, and each dispatches in processes."""
    notes = Notes()
    links = LocalLinks()
    near = RealTimeChannel("near", Preemptive(realtime=False))
    far = RealTimeChannel("far", Preemptive(realtime=False))
    far.consume(lambda events: notes.add((events[0].payload, os.getpid())), on(A), name="far")
    with near, far:

        def carried() -> int:
            with near.held(), far.held():
                return links.deliver(near.now())

        with near.held() as one, far.held() as other:
            links.join(one, other, near.now())
        near.supply((1, A)).push(Event(A, 1, "across"))
        assert near.wait_idle(BOUND)
        assert carried() == 1
        assert far.wait_idle(BOUND)
        assert isinstance(far.dispatcher, Preemptive)
        assert isinstance(near.dispatcher, Preemptive)
        (worker,) = far.dispatcher.processes().values()
        assert near.dispatcher.processes() == {}
    assert notes.all() == [("across", worker)]
    notes.close()


def test_overruns_count_what_was_used_not_what_was_waited() -> None:
    """S3-11: the time in which others ran is not the consumer's."""
    observer = Observer()
    schedule = Schedule({"waits": Urgency(0, worst=30.0), "computes": Urgency(1, worst=1e-6)})
    channel = RealTimeChannel("test", Preemptive(realtime=False), schedule=schedule, observer=observer)
    channel.consume(lambda events: sum(range(10_000)), on(A), name="computes", rt_info="computes")
    channel.consume(lambda events: None, on(A), name="waits", rt_info="waits")
    with channel:
        channel.supply((1, A)).push(Event(A, 1))
        assert channel.wait_idle(BOUND)
    assert [who for who, _, _ in observer.overruns] == ["computes"]


def test_no_process_is_left_behind() -> None:
    channel = RealTimeChannel("test", Preemptive(realtime=False), schedule=Schedule(LEVELS))
    channel.consume(lambda events: None, on(A), rt_info="p0.0")
    channel.consume(lambda events: None, on(A), rt_info="p1.0")
    with channel:
        assert isinstance(channel.dispatcher, Preemptive)
        pids = channel.dispatcher.processes()
        channel.supply((1, A)).push(Event(A, 1))
        assert channel.wait_idle(BOUND)
        assert channel.dispatcher.processes() == pids
        assert sorted(pids) == [0, 1]
    for pid in pids.values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_channel_is_stopped_though_a_consumer_never_comes_back() -> None:
    observer = Observer()
    channel = RealTimeChannel("test", Preemptive(realtime=False, patience=None), observer=observer)
    begun_out, begun_in = os.pipe()

    def forever(events: Any) -> None:
        os.write(begun_in, b"x")
        while True:
            pass

    channel.consume(forever, on(A), name="forever")
    channel.start()
    channel.supply((1, A)).push(Event(A, 1, "x"))
    os.read(begun_out, 1)
    assert channel.stop(timeout=0.05) == ["forever"]
    assert observer.dropped == [("forever", "x")]
    os.close(begun_out)
    os.close(begun_in)


# What the machine's scheduler is told


def test_lower_numbers_stand_higher() -> None:
    """S3-8."""
    levels = [standing_for(number, fifo=True).level for number in range(300)]
    assert levels[0] == 80
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels[:80])) == 80
    assert min(levels) == 1
    niceness = [standing_for(number, fifo=False).level for number in range(300)]
    assert niceness[0] == 0
    assert niceness == sorted(niceness)
    assert max(niceness) == 19
    assert str(standing_for(1, True)) == "SCHED_FIFO 79"
    assert str(standing_for(1, False)) == "nice 5"


def test_processes_stand_as_their_priorities_say() -> None:
    """In the processes themselves: SCHED_FIFO where the machine allows it, niceness where not."""
    notes = Notes()

    def standing(events: Any) -> None:
        fifo = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
        level = os.sched_getparam(0).sched_priority if fifo else os.getpriority(os.PRIO_PROCESS, 0)
        notes.add((fifo, level))

    for realtime in (True, False):
        dispatcher = Preemptive(realtime=realtime)
        channel = RealTimeChannel("test", dispatcher, schedule=Schedule(LEVELS))
        for priority in (1, 3):
            channel.consume(standing, on(A + priority), rt_info=f"p{priority}.0")
        with channel:
            supplier = channel.supply((1, 0))
            for priority in (1, 3):
                supplier.push(Event(A + priority, 1))
                assert channel.wait_idle(BOUND)
        expected = []
        for priority in (1, 3):
            fifo, level = standing_for(priority, dispatcher.fifo)
            expected.append((fifo, level if fifo else min(19, os.getpriority(os.PRIO_PROCESS, 0) + level)))
        assert notes.all()[-2:] == expected
        assert realtime or not dispatcher.fifo
    notes.close()


def test_who_may_not_stand_high_stands_as_he_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*what: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    asked: list[Any] = []
    monkeypatch.setattr(os, "setpriority", lambda *what: asked.append(what[2]))
    monkeypatch.setattr(os, "getpriority", lambda *what: 0)
    assert take(standing_for(2, fifo=True)) == Standing(False, 10)
    assert take(Standing(True, 90)) == Standing(False, 0)
    assert asked == [10]
