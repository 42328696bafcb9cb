"""Desks: what the host's dispatchers have in common.

A desk is a queue of work and whoever serves it: a thread, or a process.  Desks of a pool share their queue.  All state is guarded
by one lock, which is the channel's: whoever pushes holds it, whoever serves a desk takes it to fetch work and to report, and
consumers run without it.

* Water marks hold for each desk.  "Wait" makes the thread of the supplier wait, without the lock, until there is room.  A thread
  of the dispatcher itself never waits, since it may be the one that makes room: what it pushes is admitted and counted.
* A gateway is no consumer that takes its time: it hands an event to a link, under the lock, as all that is said between gateways
  is.  So it is called at once, in the push, and nothing that waits or hangs here keeps an event from leaving.
* A consumer that has not come back for `patience` seconds is reported as hanging, once for each push.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from weft.channel import DISCARD_NEWEST, DISCARD_OLDEST, PushWork, WaterMarks, WorkQueue
from weft.channel.dispatchers import check_marks
from weft.channel.proxies import ProxyPushSupplier
from weft.channel.record import DROP
from weft.channel.scheduling.urgency import Urgency

if TYPE_CHECKING:
    from weft.channel import Dispatcher

PATIENCE = 10.0


class ConsumerDied(Exception):
    """The process in which a consumer ran ended in the middle, or was ended because the consumer hung."""


class Desk:
    def __init__(self, key: Hashable, aged: bool, queue: WorkQueue | None = None) -> None:
        self.key = key
        self.queue = WorkQueue(aged) if queue is None else queue
        self.running: PushWork | None = None
        self.since = 0.0  # when that began
        self.reported = False  # as hanging


D = TypeVar("D", bound=Desk)


class HostDispatcher(ABC, Generic[D]):
    """Queues, who may enter them, and who is told.  What derives from it serves the desks."""

    def __init__(self, marks: WaterMarks | None, patience: float | None, realtime: bool) -> None:
        if marks is not None:
            check_marks(marks)
        self.marks = marks
        self.patience = patience
        self.realtime = realtime
        self.clock = time.monotonic
        self.discarded = 0
        self.overfull = 0
        self.waits = 0  # how often a supplier had to wait
        self.started = False
        self.closing = False
        self._desks: dict[Hashable, D] = {}
        self._arrived = 0
        self._pending = 0
        self._busy = 0  # desks in which a consumer runs
        self._own: set[int] = set()  # threads of the dispatcher
        self._successor: Dispatcher | None = None
        self._threads: list[threading.Thread] = []
        self.replaced = threading.Event()  # by another dispatcher
        self.attended: Callable[[], None] = nothing  # with the lock: a thread here has done something
        self.may_wait: Callable[[], bool] = always  # may the thread that pushes wait for room?
        self.attach(threading.RLock())

    # For whoever owns the channel

    def attach(self, lock: threading.RLock) -> None:
        """The lock of the channel; before anything else."""
        self.lock = lock
        self._room = threading.Condition(lock)
        self._idle = threading.Condition(lock)

    def start(self, consumers: list[ProxyPushSupplier]) -> None:
        """What waits is carried out from now on.  `consumers`: those connected so far."""
        with self.lock:
            self.started = True
            for desk in list(self._desks.values()):
                self._serve(desk)

    def expect(self, priorities: dict[int, bool]) -> None:
        """Before the start, and when there is another schedule: the preemption priorities of the consumers connected so far, and
        whether an earlier key interrupts within each."""

    def connected(self, consumer: ProxyPushSupplier) -> None:
        """A consumer has come after the start."""

    def disconnected(self, consumer: ProxyPushSupplier) -> None:
        """A consumer has gone."""

    def never_waits(self, thread: int) -> None:
        """A thread that everything depends on, and that does not wait for room."""
        self._own.add(thread)

    def is_own_thread(self) -> bool:
        return threading.get_ident() in self._own

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Until nothing waits and nobody runs; False if that took too long."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._pending and not self._busy, timeout)

    def close(self, timeout: float) -> None:
        """No more work comes; threads and processes end.  What waits is given up and reported."""
        with self.lock:
            self.closing = True
            self._give_up(list(self._desks.values()), "the channel was stopped")
            self._wake()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def look(self, now: float) -> float | None:
        """Report who hangs; when to look again."""
        if self.patience is None:
            return None
        next_look: float | None = None
        for desk in list(self._desks.values()):
            if desk.running is None or desk.reported:
                continue
            at = desk.since + self.patience
            if at <= now:
                desk.reported = True
                desk.running.receiver.hangs(desk.running.events, now - desk.since)
                self._hangs(desk, now)
            elif next_look is None or at < next_look:
                next_look = at
        return next_look

    def running(self) -> list[tuple[str, float]]:
        """Who runs, and for how long."""
        with self.lock:
            now = self.clock()
            found = [(desk.running, desk.since) for desk in self._desks.values()]
            return [(work.receiver.name, now - since) for work, since in found if work is not None]

    # As a dispatcher

    def dispatch(self, work: PushWork) -> None:
        if _is_for_gateway(work):
            self._at_once(work)
            return
        desk = self._desk(work)
        marks = self.marks
        full = marks is not None and desk.queue.length >= marks.high and not self._make_room(desk, marks)
        if self._successor is not None:  # it may have come while the supplier waited
            self._successor.dispatch(work)
            return
        if self.closing or full:
            self.discarded += 1
            work.discard(self.clock(), "the channel was stopped" if self.closing else "the queue is full")
            return
        self._put(desk, work)
        if self.started:
            self._serve(desk)

    def must_yield(self) -> bool:
        return False

    def pending(self) -> int:
        return self._pending

    def run_one(self) -> bool:
        return False

    def hand_over(self, successor: Dispatcher) -> list[PushWork]:
        self._successor = successor
        self.replaced.set()
        found: list[PushWork] = []
        for desk in self._in_order():
            while desk.queue.length:
                work = self._take(desk)
                if work is not None:
                    found.append(work)
        self._settle()
        return found

    def take_over(self, work: list[PushWork]) -> None:
        self._successor = None
        self.replaced.clear()
        for one in work:
            if _is_for_gateway(one):
                self._at_once(one)
                continue
            desk = self._desk(one)
            if one.begun and desk.queue.begun is None:
                self._arrived += 1
                one.number = self._arrived
                self._pending += 1
                desk.queue.put_back(one)
            else:
                self._put(desk, one)
            if self.started:
                self._serve(desk)

    def rerank(self, urgency: Callable[[PushWork], Urgency]) -> None:
        for desk in list(self._desks.values()):
            if desk.running is not None:
                desk.running.rank(urgency(desk.running))
        for desk in self._in_order():
            for work in desk.queue.drain():
                work.rank(urgency(work))
                now_at = desk if self._key(work) == desk.key else self._desk(work)
                if work.begun:
                    now_at.queue.put_back(work)
                else:
                    now_at.queue.put(work)
        if self.started:
            for desk in list(self._desks.values()):
                if desk.queue.length:
                    self._serve(desk)

    def _at_once(self, work: PushWork) -> None:
        before = self.clock()
        if not work.begun:
            work.starts(before, 0)
        work.complete()
        work.account(before, self.clock())
        work.finished()

    # For those who serve desks; all with the lock

    def _key(self, work: PushWork) -> Hashable:
        return work.preemption

    @abstractmethod
    def _new_desk(self, key: Hashable, work: PushWork, aged: bool) -> D: ...

    @abstractmethod
    def _serve(self, desk: D) -> None:
        """There is work in it."""

    @abstractmethod
    def _wake(self) -> None:
        """All that serve look again."""

    def _hangs(self, desk: D, now: float) -> None:
        """The consumer that runs there hangs, which was reported."""

    @abstractmethod
    def _in_order(self) -> list[D]:
        """All desks, the most urgent first."""

    def _desk(self, work: PushWork) -> D:
        key = self._key(work)
        desk = self._desks.get(key)
        if desk is None:
            aged = self.marks is not None and self.marks.when_full == DISCARD_OLDEST
            desk = self._new_desk(key, work, aged)
            self._desks[key] = desk
        return desk

    def _put(self, desk: D, work: PushWork) -> None:
        self._arrived += 1
        work.number = self._arrived
        desk.queue.put(work)
        self._pending += 1

    def _take(self, desk: D) -> PushWork | None:
        """The first whose consumer is still connected; None if there is none."""
        queue = desk.queue
        found: PushWork | None = None
        while queue.length and found is None:
            work = queue.take()
            self._pending -= 1
            if work.receiver.connected:
                found = work
            else:
                work.receiver.happened(DROP, work, self.clock(), 0, "disconnected")
        if self.marks is not None and queue.length <= self.marks.low:
            self._room.notify_all()
        return found

    def _begins(self, desk: D, work: PushWork, now: float) -> None:
        desk.running = work
        desk.since = now
        desk.reported = False
        self._busy += 1

    def _ends(self, desk: D) -> None:
        desk.running = None
        self._busy -= 1

    def _settle(self) -> None:
        if not self._pending and not self._busy:
            self._idle.notify_all()

    def _give_up(self, desks: list[D], why: str) -> None:
        for desk in desks:
            while desk.queue.length:
                work = self._take(desk)
                if work is not None:
                    self.discarded += 1
                    work.discard(self.clock(), why)
        self._room.notify_all()
        self._settle()

    def _make_room(self, desk: D, marks: WaterMarks) -> bool:
        """Is there room for one more?"""
        if marks.when_full == DISCARD_NEWEST:
            return False
        if marks.when_full == DISCARD_OLDEST:
            oldest = desk.queue.discard_oldest()
            if oldest is None:
                return False
            self._pending -= 1
            self.discarded += 1
            oldest.discard(self.clock(), "the queue is full")
            return True
        if self.is_own_thread() or not self.started or not self.may_wait():
            self.overfull += 1
            return True
        self.waits += 1
        while desk.queue.length >= marks.high and not self.closing:
            self._room.wait_for(lambda: desk.queue.length <= marks.low or self.closing)
        return not self.closing


def may_begin(queue: WorkQueue, running: list[PushWork]) -> bool:
    """Of a pool: may the first of its queue begin beside those that run?

    Work of fixed priorities may.  Where keys are dynamic, only what goes before all that run does: it interrupts them, and
    another would only take a place that something more urgent may need."""
    first = queue.first()
    if first is None:
        return False
    return not first.interrupts or all(queue.overtakes(one) for one in running)


def _is_for_gateway(work: PushWork) -> bool:
    return work.receiver.is_gateway


def nothing() -> None:
    pass


def always() -> bool:
    return True
