"""The event channel in real time, with threads (S3-9, S3-21).  Nothing here sleeps: consumers and tests wait for one another."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import pytest

from channel.contract import BENCHES, BOUND, LEVELS, Bench, Observer, Scene
from weft.channel import (
    DISCARD_NEWEST,
    DISCARD_OLDEST,
    FULL,
    NO_CORRELATION,
    NO_DISPATCHING,
    DispatchRecord,
    Event,
    Happening,
    Schedule,
    SingleThreaded,
    Urgency,
    WaterMarks,
    all_of,
    deadline,
    interval,
    on,
)
from weft.host.dispatch import HostDispatcher, OneThread, RealTimeChannel, ThreadPerConsumer
from weft.model.errors import ChannelError

A, B = 16, 17
IN_THREADS = [bench for bench in BENCHES if bench.hosted and bench.queues and not bench.elsewhere]


def channel_with(dispatcher: Any, observer: Any = None, **more: Any) -> RealTimeChannel:
    return RealTimeChannel("test", dispatcher, schedule=Schedule(LEVELS), observer=observer, **more)


class Gate:
    """A consumer that says when it has begun and goes on when it may."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()
        self.got: list[Any] = []

    def push(self, events: Any) -> None:
        self.begun.set()
        assert self.open.wait(BOUND)
        self.got.append(events[0].payload)


@pytest.mark.parametrize("bench", [bench for bench in BENCHES if bench.hosted], ids=lambda bench: bench.name)
def test_suppliers_in_many_threads(bench: Bench) -> None:
    """Each consumer gets everything once, and what one supplier pushed in its order."""
    with closing(Scene(bench)) as scene:
        scene.consumer("one", "p1.0")
        scene.consumer("other", "p2.0")
        scene.begin()

        def supply(source: int) -> None:
            supplier = scene.host.supply((source, A))
            for number in range(100):
                supplier.push(Event(A, source, (source, number)))

        threads = [threading.Thread(target=supply, args=(source,)) for source in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        scene.finish()
        for name in ("one", "other"):
            got = [payload for who, payload in scene.order if who == name]
            assert len(got) == 400
            for source in range(1, 5):
                assert [one for one in got if one[0] == source] == [(source, number) for number in range(100)]


def test_timers_run_by_themselves() -> None:
    """S3-6: at the consumer's urgency, and the k-th timeout is k periods after the start."""
    enough = threading.Event()
    got: list[Any] = []

    def tick(events: Any) -> None:
        got.append(events[0].payload)
        if len(got) == 5:
            enough.set()

    with channel_with(OneThread()) as channel:
        before = channel.now()
        channel.consume(tick, interval(0.002))
        assert enough.wait(BOUND)
        now = channel.now()
    first = got[0].due - 0.002
    assert before <= first <= got[-1].due <= now
    for timeout in got:
        periods = (timeout.due - first) / 0.002
        assert periods == pytest.approx(round(periods), abs=1e-6)


def test_a_watchdog_that_is_armed_early_wakes_the_timekeeper() -> None:
    """It sleeps until a far timeout when a nearer one comes."""
    heard = threading.Event()
    with channel_with(OneThread(patience=None)) as channel:
        channel.consume(lambda events: None, interval(3600.0))
        consumer = channel.consume(lambda events: heard.set(), all_of(on(A), on(B)))
        consumer.register(deadline(0.001))
        assert heard.wait(BOUND)


def test_a_full_queue_makes_the_supplier_wait() -> None:
    """S3-21: its thread, until no more than the low mark is left; nothing is lost."""
    dispatcher = OneThread(WaterMarks(3, 1))
    gate = Gate()
    with channel_with(dispatcher) as channel:
        channel.consume(gate, on(A), rt_info="p1.0")
        supplier = channel.supply((1, A))
        waits = threading.Event()
        released = threading.Event()
        lengths: list[int] = []

        def supply() -> None:
            for number in range(8):
                supplier.push(Event(A, 1, number))
                lengths.append(channel.pending())
            released.set()

        class Room(threading.Condition):
            def wait(self, timeout: float | None = None) -> bool:
                waits.set()
                return super().wait(timeout)

        with channel.held():
            dispatcher._room = Room(dispatcher.lock)
        thread = threading.Thread(target=supply)
        thread.start()
        assert gate.begun.wait(BOUND)
        assert waits.wait(BOUND)
        assert not released.is_set()
        assert 2 <= channel.pending() <= 3  # above the low mark, whether the first was taken before or after
        gate.open.set()
        assert released.wait(BOUND)
        thread.join()
        assert channel.wait_idle(BOUND)
    assert gate.got == list(range(8))
    assert dispatcher.waits >= 1
    assert max(lengths) <= 3


@pytest.mark.parametrize(
    "when_full, kept, dropped",
    [(DISCARD_OLDEST, [0, 4, 5, 6], [1, 2, 3]), (DISCARD_NEWEST, [0, 1, 2, 3], [4, 5, 6])],
)
@pytest.mark.parametrize("kind", [OneThread, ThreadPerConsumer])
def test_a_full_queue_discards_and_counts(
    kind: Any, when_full: str, kept: list[int], dropped: list[int]
) -> None:
    """S3-21."""
    dispatcher = kind(WaterMarks(3, 0, when_full))
    gate = Gate()
    observer = Observer()
    with channel_with(dispatcher, observer) as channel:
        channel.consume(gate, on(A), name="one", rt_info="p1.0")
        supplier = channel.supply((1, A))
        supplier.push(Event(A, 1, 0))
        assert gate.begun.wait(BOUND)
        for number in range(1, 7):
            supplier.push(Event(A, 1, number))
        gate.open.set()
        assert channel.wait_idle(BOUND)
    assert gate.got == kept
    assert observer.dropped == [("one", number) for number in dropped]
    assert dispatcher.discarded == 3


def test_a_consumer_that_fills_a_queue_cannot_wait_for_itself() -> None:
    dispatcher = OneThread(WaterMarks(2))
    got: list[int] = []
    with channel_with(dispatcher) as channel:
        supplier = channel.supply((1, A), (1, B))

        def flood(events: Any) -> None:
            for number in range(5):
                supplier.push(Event(A, 1, number))

        channel.consume(lambda events: got.append(events[0].payload), on(A), rt_info="p1.0")
        channel.consume(flood, on(B), rt_info="p1.0")
        supplier.push(Event(B, 1))
        assert channel.wait_idle(BOUND)
    assert got == [0, 1, 2, 3, 4]
    assert dispatcher.overfull == 3


def test_a_consumer_that_hangs_is_reported_and_with_a_thread_for_each_hurts_nobody() -> None:
    """S3-21: who, with which events."""
    reported = threading.Event()

    class Hears(Observer):
        def hanging(self, consumer: str, events: Any, seconds: float) -> None:
            super().hanging(consumer, events, seconds)
            if consumer == "stuck":
                reported.set()

    observer = Hears()
    gate = Gate()
    served = threading.Semaphore(0)
    with channel_with(ThreadPerConsumer(patience=0.01), observer) as channel:
        stuck = channel.consume(gate, on(A), name="stuck", rt_info="p0.0")
        channel.consume(lambda events: served.release(), on(A), name="fine", rt_info="p1.0")
        supplier = channel.supply((1, A))
        for number in range(3):
            supplier.push(Event(A, 1, number))
        for _ in range(3):
            assert served.acquire(timeout=BOUND)
        assert reported.wait(BOUND)
        assert isinstance(channel.dispatcher, HostDispatcher)
        assert "stuck" in [name for name, _ in channel.dispatcher.running()]
        assert ("stuck", 0) in observer.hung
        gate.open.set()
        assert channel.wait_idle(BOUND)
        assert stuck.proxy.hung >= 1
    assert gate.got == [0, 1, 2]


def test_cooperative_lets_the_urgent_come_between() -> None:
    """S3-9 [V] RTU, with a real thread: it asks, and what came meanwhile goes first."""
    order: list[str] = []
    with channel_with(OneThread(cooperative=True)) as channel:
        supplier = channel.supply((1, A), (1, B))

        def long(events: Any) -> Any:
            order.append("begins")
            assert not channel.must_yield()
            supplier.push(Event(B, 1))
            assert channel.must_yield()
            yield
            order.append("ends")

        channel.consume(long, on(A), rt_info="p2.0")
        channel.consume(lambda events: order.append("urgent"), on(B), rt_info="p1.0")
        supplier.push(Event(A, 1))
        assert channel.wait_idle(BOUND)
    assert order == ["begins", "urgent", "ends"]


def test_what_would_end_a_thread_ends_the_push_only() -> None:
    observer = Observer()
    got: list[int] = []

    def leave(events: Any) -> None:
        raise SystemExit(3)

    with channel_with(OneThread(), observer) as channel:
        channel.consume(leave, on(A), name="leaves", rt_info="p0.0")
        channel.consume(lambda events: got.append(events[0].payload), on(A), rt_info="p1.0")
        supplier = channel.supply((1, A))
        supplier.push(Event(A, 1, 1))
        supplier.push(Event(A, 1, 2))
        assert channel.wait_idle(BOUND)
    assert got == [1, 2]
    assert [who for who, _, _ in observer.failed] == ["leaves", "leaves"]


# Stopping


def test_stopping_carries_out_what_waits_and_refuses_the_rest() -> None:
    gate = Gate()
    channel = channel_with(OneThread())
    channel.consume(gate, on(A), rt_info="p1.0")
    supplier = channel.supply((1, A), name="radar")
    channel.start()
    for number in range(3):
        supplier.push(Event(A, 1, number))
    assert gate.begun.wait(BOUND)
    gate.open.set()
    assert channel.stop() == []
    assert gate.got == [0, 1, 2]
    with pytest.raises(ChannelError, match="channel test was stopped; radar cannot push any more"):
        supplier.push(Event(A, 1, 3))
    assert channel.stop() == []


def test_stopping_names_who_does_not_come_back() -> None:
    gate = Gate()
    observer = Observer()
    channel = channel_with(OneThread(), observer)
    channel.consume(gate, on(A), name="stuck", rt_info="p1.0")
    supplier = channel.supply((1, A))
    channel.start()
    supplier.push(Event(A, 1, 0))
    supplier.push(Event(A, 1, 1))
    assert gate.begun.wait(BOUND)
    assert channel.stop(timeout=0.01) == ["stuck"]
    assert observer.dropped == [("stuck", 1)]
    gate.open.set()
    assert channel.wait_idle(BOUND)


def test_it_is_started_once_and_needs_a_dispatcher_with_threads() -> None:
    with channel_with(OneThread()) as channel, pytest.raises(ChannelError, match="was started already"):
        channel.start()
    with pytest.raises(ChannelError, match="SingleThreaded has no thread; use OneThread"):
        channel_with(SingleThreaded())
    with pytest.raises(ChannelError, match="'json' is no entry point"):
        channel_with(OneThread()).consume("json", on(A))
    with pytest.raises(ChannelError, match="'json:nothing' does not exist"):
        channel_with(OneThread()).consume("json:nothing", on(A))


# Changing


@pytest.mark.parametrize("bench", IN_THREADS, ids=lambda bench: bench.name)
def test_dispatchers_are_replaced_without_losing_an_event(bench: Bench) -> None:
    """S3-12."""
    got: list[Any] = []
    with channel_with(OneThread()) as channel:
        channel.consume(lambda events: got.append(events[0].payload), on(A), rt_info="p1.0")
        supplier = channel.supply((1, A))
        for number in range(100):
            supplier.push(Event(A, 1, number))
            if number == 30:
                channel.reconfigure(FULL, bench.make())
            if number == 60:
                channel.reconfigure(NO_DISPATCHING)
            if number == 80:
                channel.reconfigure(NO_CORRELATION, bench.make())
        assert channel.wait_idle(BOUND)
    assert sorted(got) == list(range(100))


def test_a_consumer_may_replace_the_dispatcher_that_runs_it() -> None:
    got: list[Any] = []
    first = OneThread()
    channel = channel_with(first)

    def change(events: Any) -> None:
        got.append(events[0].payload)
        if events[0].payload == 1:
            channel.reconfigure(FULL, ThreadPerConsumer())

    channel.consume(change, on(A), rt_info="p1.0")
    supplier = channel.supply((1, A))
    for number in range(4):
        supplier.push(Event(A, 1, number))
    with channel:
        assert first.replaced.wait(BOUND)
        assert channel.wait_idle(BOUND)
    assert sorted(got) == [0, 1, 2, 3]
    assert first.closing


def test_an_observer_or_a_record_that_fails_takes_nobody_with_it(capfd: pytest.CaptureFixture[str]) -> None:
    got: list[Any] = []

    class Fails(Observer):
        def consumer_failed(self, consumer: str, events: Any, error: Exception) -> None:
            raise RuntimeError("the observer failed")

    def record(happening: Happening) -> None:
        raise RuntimeError("the record failed")

    def consumer(events: Any) -> None:
        got.append(events[0].payload)
        raise ValueError

    with channel_with(OneThread(), Fails(), record=record) as channel:
        channel.consume(consumer, on(A), rt_info="p1.0")
        supplier = channel.supply((1, A))
        supplier.push(Event(A, 1, 1))
        supplier.push(Event(A, 1, 2))
        assert channel.wait_idle(BOUND)
    assert got == [1, 2]
    said = capfd.readouterr().err
    assert "the observer failed" in said
    assert "the record failed" in said


def test_consumers_are_changed_while_it_runs() -> None:
    got: list[Any] = []
    with channel_with(ThreadPerConsumer()) as channel:
        consumer = channel.consume(lambda events: got.append(events[0].payload), on(A), rt_info="p1.0")
        supplier = channel.supply((1, A), (1, B))

        def push(kind: int, payload: str) -> None:
            supplier.push(Event(kind, 1, payload))
            assert channel.wait_idle(BOUND)

        push(A, "first")
        number = consumer.register(on(B))
        push(B, "registered")
        consumer.cancel(number)
        push(B, "cancelled")
        consumer.suspend()
        push(A, "suspended")
        consumer.resume()
        push(A, "resumed")
        consumer.disconnect()
        push(A, "disconnected")
        supplier.disconnect()
    assert got == ["first", "registered", "resumed"]


# The record


@pytest.mark.parametrize("bench", IN_THREADS, ids=lambda bench: bench.name)
def test_every_push_and_dispatch_is_recorded(bench: Bench) -> None:
    """With times that fit together, priorities and operations."""
    record = DispatchRecord()
    with closing(Scene(bench, record=record)) as scene:
        scene.consumer("one", "p1.2")
        for number in range(3):
            scene.push(number)
        scene.finish()
    pushes = record.of("push")
    begun, done = record.of("dispatch"), record.of("done")
    assert len(pushes) == len(begun) == len(done) == 3
    for push, begin, end in zip(pushes, begun, done, strict=True):
        assert push.mono_ns <= begin.mono_ns <= end.mono_ns
        assert begin[2:6] == ("one", "p1.2", 1, 2)
    assert [one.queue for one in begun] == [2, 1, 0]


def test_misses_and_overruns_are_recorded_and_reported() -> None:
    """S3-11: here everything is too late and too long."""
    record = DispatchRecord()
    observer = Observer()
    schedule = Schedule({"op": Urgency(3, 1, worst=1e-9, within=1e-9)})
    with RealTimeChannel("test", OneThread(), schedule=schedule, observer=observer, record=record) as channel:
        consumer = channel.consume(lambda events: None, on(A), name="one", rt_info="op")
        channel.supply((1, A)).push(Event(A, 1, "x"))
        assert channel.wait_idle(BOUND)
    assert [(who, payload) for who, payload, _ in observer.late] == [("one", "x")]
    assert [who for who, _, _ in observer.overruns] == ["one"]
    assert consumer.proxy.misses == consumer.proxy.overruns == 1
    kinds = [one.kind for one in record]
    assert sorted(kinds) == ["dispatch", "done", "miss", "overrun", "push"]
    miss: Happening = record.of("miss")[0]
    assert miss.mono_ns > miss.deadline_ns > 0
    assert record.laxities() == [miss.deadline_ns - miss.mono_ns]
