"""Dispatchers with threads: one for all, by priority, or one for each consumer (S3-9, S3-21).

One interpreter runs one thread at a time, so threads keep consumers from waiting for one another's waiting, not for one
another's computing.  What has to interrupt a computation needs processes (see `processes`).
"""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from weft.channel import PushWork, WaterMarks
from weft.host.dispatch.desks import PATIENCE, D, Desk, HostDispatcher
from weft.host.dispatch.standing import FIRST_LEVEL, Standing, take

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushSupplier


class WithThreads(HostDispatcher[D]):
    """How a thread serves a desk."""

    def _spawn(self, name: str, loop: Callable[[], None]) -> None:
        """A thread that runs `loop`, with the lock."""
        thread = threading.Thread(target=self._serving, args=(loop,), name=name, daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        thread.start()
        self._threads.append(thread)

    def _serving(self, loop: Callable[[], None]) -> None:
        if self.realtime:
            take(Standing(True, FIRST_LEVEL))
        with self.lock:
            self._own.add(threading.get_ident())
            try:
                loop()
            finally:
                self._own.discard(threading.get_ident())

    def _interrupts(self, work: PushWork) -> bool:
        return False

    def _carry_out(self, desk: D, work: PushWork) -> None:
        """Called with the lock, which is given back while the consumer runs."""
        before = self.clock()
        if not work.begun:
            work.starts(before, desk.queue.length)
        self._begins(desk, work, before)
        while True:
            self.lock.release()
            try:
                finished = _advance(work)
            finally:
                self.lock.acquire()
            if finished or self._interrupts(work):
                break
        work.account(before, self.clock())
        self._ends(desk)
        if finished:
            work.finished()
        elif self._successor is not None:
            self._successor.take_over([work])
        else:
            desk.queue.put_back(work)
            self._pending += 1
        self._settle()
        self.attended()


class OneThread(WithThreads[Desk]):
    """By priority, in one thread.  Cooperative: a consumer may be interrupted where it allows it (see `weft.channel`)."""

    def __init__(
        self,
        marks: WaterMarks | None = None,
        cooperative: bool = False,
        patience: float | None = PATIENCE,
        realtime: bool = False,
    ) -> None:
        super().__init__(marks, patience, realtime)
        self.cooperative = cooperative
        self._priorities: list[int] = []
        self._running: PushWork | None = None

    def attach(self, lock: threading.RLock) -> None:
        super().attach(lock)
        self._work = threading.Condition(lock)

    def start(self, consumers: list[ProxyPushSupplier]) -> None:
        with self.lock:
            self._spawn("weft channel dispatcher", self._loop)
        super().start(consumers)

    def must_yield(self) -> bool:
        running = self._running
        return self.cooperative and running is not None and self._first(running.preemption) is not None

    def _new_desk(self, key: Hashable, work: PushWork, aged: bool) -> Desk:
        insort(self._priorities, work.preemption)
        return Desk(key, aged)

    def _in_order(self) -> list[Desk]:
        return [self._desks[priority] for priority in self._priorities]

    def _serve(self, desk: Desk) -> None:
        self._work.notify()

    def _wake(self) -> None:
        self._work.notify_all()

    def _loop(self) -> None:
        while not self.closing:
            first = self._first(None)
            if first is None:
                self._work.wait()
                continue
            work = self._take(first)
            if work is None:
                self._settle()
                continue
            self._running = work
            try:
                self._carry_out(first, work)
            finally:
                self._running = None

    def _interrupts(self, work: PushWork) -> bool:
        if not self.cooperative:
            return False
        return self._successor is not None or self._first(work.preemption) is not None

    def _first(self, below: int | None) -> Desk | None:
        """The most urgent desk that has work, of those more urgent than a priority."""
        for priority in self._priorities:
            if below is not None and priority >= below:
                return None
            desk = self._desks.get(priority)
            if desk is not None and desk.queue.length:
                return desk
        return None


class _OwnDesk(Desk):
    def __init__(self, key: Hashable, aged: bool, work: PushWork, lock: threading.RLock) -> None:
        super().__init__(key, aged)
        self.name = work.receiver.name
        self.work = threading.Condition(lock)
        self.gone = False
        self.has_thread = False


class ThreadPerConsumer(WithThreads[_OwnDesk]):
    """A thread and a queue for each consumer: one that waits or hangs delays nobody else (S3-21).

    Between consumers there is no order; the work of one comes by dynamic key, sub-priority and arrival."""

    def __init__(self, marks: WaterMarks | None = None, patience: float | None = PATIENCE) -> None:
        super().__init__(marks, patience, realtime=False)

    def disconnected(self, consumer: ProxyPushSupplier) -> None:
        with self.lock:
            desk = self._desks.pop(consumer, None)
            if desk is not None:
                self._desks[desk] = desk  # until its thread has ended
                desk.gone = True
                desk.work.notify_all()

    def _key(self, work: PushWork) -> Hashable:
        return work.receiver

    def _new_desk(self, key: Hashable, work: PushWork, aged: bool) -> _OwnDesk:
        return _OwnDesk(key, aged, work, self.lock)

    def _in_order(self) -> list[_OwnDesk]:
        return list(self._desks.values())

    def _serve(self, desk: _OwnDesk) -> None:
        if not desk.has_thread:
            desk.has_thread = True
            self._spawn(f"weft channel {desk.name}", lambda: self._loop(desk))
        desk.work.notify()

    def _wake(self) -> None:
        for desk in self._desks.values():
            desk.work.notify_all()

    def _loop(self, desk: _OwnDesk) -> None:
        while not self.closing:
            work = self._take(desk) if desk.queue.length else None
            if work is not None:
                self._carry_out(desk, work)
            elif desk.gone:
                break
            else:
                self._settle()
                desk.work.wait()
        self._desks.pop(desk, None)
        self._settle()


def _advance(work: PushWork) -> bool:
    """One step.  What would end a thread (SystemExit) ends the push and no more."""
    try:
        return work.advance()
    except BaseException as error:
        failure = RuntimeError(f"the consumer raised {error!r}")
        work.error = failure
        work.receiver.failed(work.events, failure)
        return True
