"""Event channels that are joined to others and dispatch by threads or processes (S3-9, S3-13, S3-21; issue 7, items 3 and 6).

Nothing here sleeps: consumers and tests wait for one another.  What consumers in other processes want to say, they note."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from channel.contract import BOUND, LEVELS, Notes, Observer
from host.dispatch.test_dispatch_processes import shared
from host.dispatch.test_dispatch_threads import Gate
from host.event_channel.test_channel_process import Ear, Mouth, opened
from host.in_process.test_own_node import PAIR, file, running
from support.event_channel_process import KIND, Peer
from support.node_processes import write_file
from support.server_in_thread import WAIT, eventually
from weft.channel import (
    FULL,
    NO_CORRELATION,
    DispatchRecord,
    Event,
    Schedule,
    SingleThreaded,
    WaterMarks,
    deadline,
    on,
)
from weft.host.dispatch import HostDispatcher, OneThread, Preemptive, ThreadPerConsumer
from weft.model.errors import ChannelError

__all__ = ["file"]  # a fixture

A, B = 16, 17
THREADS: list[Callable[..., Any]] = [OneThread, ThreadPerConsumer]
MAKES: list[Callable[..., Any]] = [*THREADS, lambda **more: Preemptive(realtime=False, **more)]
everywhere = pytest.mark.parametrize("make", MAKES, ids=["one thread", "thread per consumer", "preemptive"])
in_threads = pytest.mark.parametrize("make", THREADS, ids=["one thread", "thread per consumer"])


@pytest.fixture
def notes() -> Iterator[Notes]:
    made = Notes()
    with contextlib.closing(made):
        yield made


def noted(notes: Notes, count: int) -> list[Any]:
    assert eventually(lambda: len(notes.all()) >= count), notes.all()
    return notes.all()


@everywhere
def test_events_come_and_answers_of_consumers_go(file: Path, notes: Notes, make: Callable[..., Any]) -> None:
    """Each once and in order; consumers hold no mutex, may push wherever they run, and what they push reaches other nodes."""
    two = opened(file, "S2", dispatcher=make())
    answer = two.supply((2, B), name="answer")
    mutex = running(file, "S2").drive

    def push(events: Any) -> None:
        notes.add((events[0].payload, events[0].origin, os.getpid() == here and mutex.is_held))
        answer.push(Event(B, 2, events[0].payload))

    here = os.getpid()
    two.consume(push, on(A), name="far")
    with opened(file, "S1") as one, two:
        mouth, ear = Mouth(one), Ear(one, on(B))
        mouth.waits()
        for number in range(50):
            mouth.say(number)
        ear.hears(49)
        assert ear.got == list(range(50))
        assert two.wait_idle(BOUND)
        assert notes.all() == [(number, "S1", False) for number in range(50)]
        assert one.discarded() == two.discarded() == {}


@in_threads
def test_a_consumer_that_hangs_does_not_stop_the_links(file: Path, make: Callable[..., Any]) -> None:
    """S3-21: it is reported; events come and wait, others leave, and subscriptions follow changes meanwhile."""
    observer, gate = Observer(), Gate()
    heard = threading.Event()
    observer.hanging = lambda *what: heard.set()  # type: ignore[method-assign]
    with (
        opened(file, "S1") as one,
        opened(file, "S2", dispatcher=make(patience=0.05), observer=observer) as two,
    ):
        two.consume(gate, on(A), name="stuck")
        mouth = Mouth(one)
        mouth.waits()
        mouth.say(0)
        assert gate.begun.wait(BOUND)
        assert heard.wait(BOUND)
        for number in range(1, 100):
            mouth.say(number)
        ear, back = Ear(one, on(B)), Mouth(two, (2, B))
        back.waits()
        back.supplier.push(Event(B, 2, "back"))
        ear.hears("back")
        other = Mouth(one, (1, B + 1))
        late = two.consume(lambda events: None, on(B + 1))
        other.waits()
        late.disconnect()
        other.waits(wanted=False)
        assert two.wait(WAIT, until=lambda: two.dispatcher.pending() == 99)
        gate.open.set()
        assert two.wait(WAIT, until=lambda: len(gate.got) == 100)
        assert gate.got == list(range(100))


def test_a_preemptive_consumer_of_a_remote_supplier_interrupts(file: Path) -> None:
    """S3-9 with both events from another node: the busy one computes until the urgent one has run; the record shows it."""
    seen = shared()
    record = DispatchRecord()
    two = opened(file, "S2", dispatcher=Preemptive(patience=None), schedule=Schedule(LEVELS), record=record)
    begun = two.supply((2, B + 1), name="low has begun")

    def low(events: Any) -> None:
        begun.push(Event(B + 1, 2))
        until = time.process_time() + BOUND
        while not seen[0] and time.process_time() < until:
            pass

    def high(events: Any) -> None:
        seen[0] = 1

    two.consume(low, on(A), name="low", rt_info="p3.0")
    two.consume(high, on(B), name="high", rt_info="p0.0")
    with opened(file, "S1") as one, two, two.urgently():
        mouth, ear = Mouth(one, (1, A), (1, B)), Ear(one, on(B + 1))
        attendant = running(file, "S2").drive._attendant.native_id
        assert isinstance(two.dispatcher, Preemptive)
        assert (os.sched_getscheduler(attendant or 0) != os.SCHED_OTHER) == two.dispatcher.fifo
        mouth.waits()
        mouth.say(None)
        assert one.wait(WAIT, until=lambda: ear.got == [None])
        mouth.say(None, B)
        assert two.wait(2 * BOUND, until=lambda: len(record.of("done", name="low")) == 1)
    (begin,), (end,) = record.of("dispatch", name="low"), record.of("done", name="low")
    (urgent,) = record.of("dispatch", name="high")
    assert begin.mono_ns < urgent.mono_ns < end.mono_ns
    assert [one.priority for one in record.of("dispatch") if not one.name.startswith("gateway")] == [3, 0]
    assert len(record.of("done", name="gateway to S1")) == 1


@pytest.mark.parametrize("make", [OneThread, MAKES[-1]], ids=["one thread", "preemptive"])
def test_with_a_second_process(tmp_path: Path, make: Callable[..., Any], monkeypatch: Any) -> None:
    """Events of another process are answered by consumers that run in threads or processes, and the answers arrive there."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
    path = write_file(tmp_path, PAIR)
    peer = Peer(tmp_path, "S2")
    channel = opened(path, "S1", dispatcher=make())
    answer = channel.supply((2, KIND), name="answer")

    def push(events: Any) -> None:
        if events[0].origin == "S2":
            answer.push(Event(KIND, 2, -events[0].payload))

    channel.consume(push, on(KIND), name="answers")
    try:
        with channel:
            peer.has("ready")
            assert channel.wait(WAIT, until=lambda: channel.linked() == ("S2",))
            number = 1
            while not peer.hears(f"S1 {-number}", 0.2):  # until it has heard what is wanted here
                number += 1
                peer.push(number)
            for count in range(1000, 1020):
                peer.push(count)
            assert peer.hears("S1 -1019", WAIT)
            got = [one for one in peer.got() if one.startswith("S1 -10") and len(one) == len("S1 -1000")]
            assert got == [f"S1 {-count}" for count in range(1000, 1020)]
    finally:
        peer.end()
        weft.stop_node()


@in_threads
def test_whoever_attends_to_the_links_never_waits_for_room(file: Path, make: Callable[..., Any]) -> None:
    """S3-21: of full queues with WAIT, a thread that pushes here waits; what comes from other nodes is admitted and counted."""
    gate = Gate()
    with opened(file, "S1") as one, opened(file, "S2", dispatcher=make(marks=WaterMarks(2))) as two:
        two.consume(gate, on(A), name="slow")
        mouth, near = Mouth(one), two.supply((2, A))
        mouth.waits()
        mouth.say(0)
        assert gate.begun.wait(BOUND)
        for number in range(1, 10):
            mouth.say(number)
        # This thread drives, and does not wait for room.
        host = two.dispatcher
        assert isinstance(host, HostDispatcher)
        assert two.wait(WAIT, until=lambda: host.pending() == 9)
        assert (host.overfull, host.waits) == (7, 0)
        waits = threading.Thread(target=lambda: near.push(Event(A, 2, "near")))
        waits.start()
        assert two.wait(WAIT, until=lambda: host.waits == 1)
        back, ear = Mouth(two, (2, B)), Ear(one, on(B))
        back.waits()
        back.supplier.push(Event(B, 2, "meanwhile"))
        ear.hears("meanwhile")
        gate.open.set()
        waits.join(BOUND)
        assert two.wait(WAIT, until=lambda: len(gate.got) == 11)
        assert gate.got == [*range(10), "near"]


@in_threads
def test_timers_run_by_themselves(file: Path, make: Callable[..., Any]) -> None:
    fired = threading.Event()
    with opened(file, "S1", dispatcher=make()) as one:
        ear = Ear(one, deadline(0.01))
        assert one.wait(WAIT, until=lambda: bool(ear.got))
        one.consume(lambda events: fired.set(), deadline(0.01))
        assert fired.wait(BOUND)


# --- the end ------------------------------------------------------------------------------------------------------


@in_threads
def test_closed_while_busy(file: Path, make: Callable[..., Any]) -> None:
    """What waits is carried out, and what consumers push meanwhile leaves; suppliers and other nodes are not heard any more."""
    gate = Gate()
    with opened(file, "S1") as one:
        two = opened(file, "S2", dispatcher=make())
        answer, near = two.supply((2, B)), two.supply((2, A))

        def push(events: Any) -> None:
            gate.push(events)
            answer.push(Event(B, 2, events[0].payload))

        two.consume(push, on(A), name="busy")
        two.start()
        mouth, ear = Mouth(one), Ear(one, on(B))
        mouth.waits()
        for number in range(3):
            mouth.say(number)
        assert gate.begun.wait(BOUND)
        assert two.wait(WAIT, until=lambda: two.dispatcher.pending() == 2)
        closing = threading.Thread(target=two.close)
        closing.start()
        assert eventually(lambda: two._joined.is_deaf)
        mouth.say("too late")
        with pytest.raises(
            ChannelError, match="channel test of S2 was stopped; a supplier without a name cannot"
        ):
            near.push(Event(A, 2, "too late, too"))
        gate.open.set()
        closing.join(BOUND)
        assert not closing.is_alive()
        ear.hears(2)
        assert ear.got == gate.got == [0, 1, 2]
        mouth.waits(wanted=False)
        assert two.stop() == []
        with pytest.raises(ChannelError, match="channel test of S2 was closed; open it again"):
            near.push(Event(A, 2))


def test_closed_though_a_consumer_does_not_come_back(file: Path, notes: Notes) -> None:
    """Who is said; the node goes on, and the channel can be opened again.  A process is ended, a thread cannot be."""
    gate, observer = Gate(), Observer()
    with opened(file, "S1") as one:
        mouth = Mouth(one)
        two = opened(file, "S2", dispatcher=ThreadPerConsumer())
        two.consume(gate, on(A), name="stuck")
        two.start()
        mouth.waits()
        mouth.say(0)
        assert gate.begun.wait(BOUND)
        assert two.stop(timeout=0.01) == ["stuck"]
        gate.open.set()

        never = threading.Event()
        again = opened(file, "S2", dispatcher=Preemptive(realtime=False), observer=observer)

        def push(events: Any) -> None:
            notes.add("begun")
            never.wait()

        again.consume(push, on(A), name="stuck")
        again.start()
        mouth.waits()
        mouth.say(1)
        noted(notes, 1)
        assert again.stop(drain=False, timeout=0.1) == []  # it is not there any more
        assert [(who, payload) for who, payload, _ in observer.failed] == [("stuck", 1)]
        mouth.waits(wanted=False)


@everywhere
def test_the_node_is_stopped_below_it(file: Path, make: Callable[..., Any]) -> None:
    """Threads and processes still end (the fixture counts), and a push says why it cannot be."""
    two = opened(file, "S2", dispatcher=make())
    supplier = two.supply((2, B))
    two.consume(lambda events: None, on(A))
    with two:
        supplier.push(Event(B, 2))
        weft.stop_node()
        with pytest.raises(ChannelError, match="node S2 of this process cannot go on"):
            supplier.push(Event(B, 2))


# --- changes, and what goes wrong ---------------------------------------------------------------------------------


def test_dispatchers_are_replaced_at_run_time(file: Path) -> None:
    """S3-12: nothing is lost, from one with threads to another; not to one that the loop runs."""
    gate = Gate()
    with opened(file, "S1") as one, opened(file, "S2", dispatcher=OneThread()) as two:
        two.consume(gate, on(A), name="slow")
        mouth = Mouth(one)
        mouth.waits()
        for number in range(5):
            mouth.say(number)
        assert two.wait(WAIT, until=lambda: two.dispatcher.pending() == 4)
        two.reconfigure(NO_CORRELATION, ThreadPerConsumer())
        gate.open.set()
        mouth.say(5)
        assert two.wait(WAIT, until=lambda: len(gate.got) == 6)
        assert sorted(gate.got) == list(range(6))
        with pytest.raises(
            ChannelError, match=r"cannot go from ThreadPerConsumer to SingleThreaded.*open it anew"
        ):
            two.reconfigure(FULL, SingleThreaded())


def test_what_is_wrong_is_said(file: Path, notes: Notes) -> None:
    """Who, where, and what to do."""
    observer = Observer()
    two = opened(file, "S2", dispatcher=Preemptive(realtime=False), observer=observer)
    supplier = two.supply((2, B), name="mouth")
    with pytest.raises(
        ChannelError, match="test of S2 dispatches by Preemptive, which has not been started: call start"
    ):
        two.wait(0)

    def push(events: Any) -> None:
        try:
            two.wait(0)
        except ChannelError as error:
            notes.add(str(error))
        supplier.push(Event(B, 2, {1}))

    two.consume(push, on(A), name="asks")
    with opened(file, "S1") as one, two:
        mouth, ear = Mouth(one), Ear(one, on(B))
        mouth.waits()
        assert two.wait(WAIT, until=lambda: bool(two.gateways()[0].counts))
        mouth.say(0)
        assert two.wait(WAIT, until=lambda: bool(observer.failed))
        assert noted(notes, 1)[0].startswith("in the process of a consumer only suppliers can be used")
        ((who, _, why),) = observer.failed[:1]
        assert (who, ear.got) == ("gateway to S1", [])
        assert "mouth pushed an event of type 17 from source 2 that cannot go to other nodes" in why
        with pytest.raises(ChannelError, match="late cannot be sent to the process of its priority"):
            two.consume(lambda events: None, on(A), name="late")
    with pytest.raises(ChannelError, match="Preemptive was closed; make a new one"):
        opened(file, "S2", dispatcher=two.dispatcher)
    with opened(file, "S2", dispatcher=OneThread()) as again:
        said: list[str] = []

        def close(events: Any) -> None:
            try:
                again.close()
            except ChannelError as error:
                said.append(str(error))

        again.consume(close, on(B))
        again.supply((2, B)).push(Event(B, 2))
        assert again.wait(WAIT, until=lambda: bool(said))
        assert said == [
            "channel test: a consumer cannot close it, for it would wait for itself; let another thread do so"
        ]


def test_a_forked_child_has_no_links(file: Path) -> None:
    """Others are to see a connection closed when its process closes it, whatever that has forked; and a child must not touch
    the epoll that it shares with its parent, who goes on as before."""
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        loop = running(file, "S1").drive.loop
        epoll = loop.epoll()
        assert epoll is not None
        files = {*loop._selector.get_map(), epoll.fileno()}
        assert len(files) >= 4  # the listener, a connection, the loop's own
        child = os.fork()
        if child == 0:
            links = [os.readlink(f"/proc/self/fd/{fd}") for fd in files]
            loop.remove_reader(loop._ssock)  # type: ignore[attr-defined]
            os._exit(0 if set(links) == {os.devnull} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        mouth.say("as before")
        ear.hears("as before")
