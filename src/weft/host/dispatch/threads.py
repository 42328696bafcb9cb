"""Dispatchers with threads: one for all, by priority, a pool for each priority, or one for each consumer (S3-9, S3-21, S3-23).

One interpreter runs one thread at a time, so threads keep consumers from waiting for one another's waiting, not for one
another's computing.  What has to interrupt a computation needs processes (see `processes`).
"""

from __future__ import annotations

import threading
from bisect import insort
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from weft.channel import PushWork, WaterMarks, WorkQueue
from weft.host.dispatch.desks import PATIENCE, D, Desk, HostDispatcher, may_begin
from weft.host.dispatch.standing import FIRST_LEVEL, Standing, standing_for, take
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushSupplier


class WithThreads(HostDispatcher[D]):
    """How a thread serves a desk."""

    def _spawn(self, name: str, loop: Callable[[], None], level: int = FIRST_LEVEL) -> None:
        """A thread that runs `loop`, with the lock."""
        thread = threading.Thread(target=self._serving, args=(loop, level), name=name, daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        thread.start()
        self._threads.append(thread)

    def _serving(self, loop: Callable[[], None], level: int) -> None:
        if self.realtime:
            take(Standing(True, level))
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
            self._desk(work).queue.put_back(
                work
            )  # of its priority now, which another schedule may have changed
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
        return self.cooperative and running is not None and self._is_overtaken(running)

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
        return self._successor is not None or self._is_overtaken(work)

    def _is_overtaken(self, work: PushWork) -> bool:
        return self._first(work.preemption) is not None or self._desk(work).queue.overtakes(work)

    def _first(self, below: int | None) -> Desk | None:
        """The most urgent desk that has work, of those more urgent than a priority."""
        for priority in self._priorities:
            if below is not None and priority >= below:
                return None
            desk = self._desks.get(priority)
            if desk is not None and desk.queue.length:
                return desk
        return None


class _PoolDesk(Desk):
    """One thread of a pool; all of a pool share the queue, and the condition on which they wait for work."""

    def __init__(
        self, priority: int, seat: int, aged: bool, work: threading.Condition, queue: WorkQueue
    ) -> None:
        super().__init__((priority, seat), aged, queue)
        self.priority = priority
        self.seat = seat
        self.work = work
        self.has_thread = False


class ThreadPools(WithThreads[_PoolDesk]):
    """A pool of `size` threads for each preemption priority (S3-9): consumers of a priority wait for one another only when all
    its threads are busy.  The work of a priority begins in order, and with more than one thread may end in another.

    `realtime`: threads stand as their priorities say, where the machine allows it; one interpreter runs one at a time."""

    def __init__(
        self,
        size: int = 4,
        marks: WaterMarks | None = None,
        patience: float | None = PATIENCE,
        realtime: bool = False,
    ) -> None:
        if size < 1:
            raise ChannelError(f"a pool needs at least 1 thread, not {size}")
        super().__init__(marks, patience, realtime)
        self.size = size
        self._pools: dict[int, list[_PoolDesk]] = {}

    def _key(self, work: PushWork) -> Hashable:
        return work.preemption, 0

    def _new_desk(self, key: Hashable, work: PushWork, aged: bool) -> _PoolDesk:
        desk = _PoolDesk(work.preemption, 0, aged, threading.Condition(self.lock), WorkQueue(aged))
        self._pools[work.preemption] = [desk]
        return desk

    def _in_order(self) -> list[_PoolDesk]:
        return [desk for priority in sorted(self._pools) for desk in self._pools[priority]]

    def _serve(self, desk: _PoolDesk) -> None:
        """By a thread that waits, or by one more."""
        pool = self._pools[desk.priority]
        free = [one for one in pool if one.has_thread and one.running is None]
        if len(free) < desk.queue.length:
            self._hire(pool)
        desk.work.notify()

    def _hire(self, pool: list[_PoolDesk]) -> None:
        first = pool[0]
        chosen = first
        if first.has_thread:
            if len(pool) >= self.size:
                return
            chosen = _PoolDesk(first.priority, len(pool), False, first.work, first.queue)
            pool.append(chosen)
            self._desks[chosen.key] = chosen
        chosen.has_thread = True
        name = f"weft channel priority {chosen.priority}, thread {chosen.seat}"
        level = standing_for(chosen.priority, fifo=True).level
        self._spawn(name, lambda: self._loop(chosen, pool), level)

    def _wake(self) -> None:
        for pool in self._pools.values():
            pool[0].work.notify_all()

    def _loop(self, desk: _PoolDesk, pool: list[_PoolDesk]) -> None:
        while not self.closing:
            running = [one.running for one in pool if one.running is not None]
            work = self._take(desk) if may_begin(desk.queue, running) else None
            if work is not None:
                self._carry_out(desk, work)
            else:
                self._settle()
                desk.work.wait()


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
