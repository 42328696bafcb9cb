"""The preemptive dispatcher: a process for each preemption priority, under SCHED_FIFO where the machine allows it (S3-9).

The queues stay with the channel.  A worker is given one push at a time, straight from the supplier's thread if it is free, else
when its answer to the last one comes; so order, water marks and disconnection are exact, and when a worker dies it is known which
push died with it: that one is reported as failed and discarded, and all others are carried out by the worker that follows.
What runs when is the machine's scheduler's business, which interrupts a less urgent worker at any instruction.

A priority may have several workers, a pool.  With fixed priorities they run side by side.  Where an earlier key interrupts
(earliest deadline first, maximum urgency first), a push that goes before all that run begins in another worker, which stands a
level above theirs; the others wait in the queue.  Levels need SCHED_FIFO: best effort, the two share the processor.

A consumer that has not come back for `patience` seconds is reported as hanging, and its process is killed.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import socket
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress

from weft.channel import DISCARD_OLDEST, Event, PushWork, WaterMarks, WorkQueue
from weft.channel.proxies import ProxyPushSupplier
from weft.host import system
from weft.host.dispatch import messages
from weft.host.dispatch.desks import PATIENCE, ConsumerDied, Desk, HostDispatcher, may_begin
from weft.host.dispatch.nursery import Born, Died, Nursery
from weft.host.dispatch.standing import (
    Standing,
    channel_standing,
    move,
    realtime_standing,
    standing_for,
    take,
)
from weft.model.errors import ChannelError

DEPTH = 4  # processes of a priority in which an earlier key interrupts
BIRTH = 10.0  # seconds that the start waits for its processes at most
STILLBORN = 3  # workers of a desk that end one after another with nothing done: no more are tried


class _ProcessDesk(Desk):
    """A worker and the queue of its priority, which it shares with the others of a pool."""

    def __init__(self, priority: int, seat: int, aged: bool, queue: WorkQueue | None = None) -> None:
        super().__init__((priority, seat), aged, queue)
        self.priority = priority
        self.seat = seat
        self.end: socket.socket | None = None  # to its worker
        self.pid = 0
        self.standing: Standing | None = None  # of its worker
        self.frames = messages.Frames()
        self.unsent = b""
        self.ending = False  # its worker has died, and what that said before is read
        self.unread = False  # the worker died without having looked at what it was sent
        self.known: set[int] = set()  # consumers it was sent
        self.behind = 0  # how much waited behind what runs
        self.fruitless = 0  # workers that ended with nothing done
        self.broken = ""


class Preemptive(HostDispatcher[_ProcessDesk]):
    """`realtime`: ask for SCHED_FIFO.  `workers`: processes for each priority; unless said otherwise one, and DEPTH where an
    earlier key interrupts.  Consumers that are connected before the start may be anything, those that come later must be
    picklable: a function of a module, or an object of a class of a module."""

    def __init__(
        self,
        marks: WaterMarks | None = None,
        patience: float | None = PATIENCE,
        realtime: bool = True,
        workers: int | None = None,
    ) -> None:
        if workers is not None and workers < 1:
            raise ChannelError(f"a priority needs at least 1 process, not {workers}")
        super().__init__(marks, patience, realtime)
        self.workers = workers
        self._levels = workers or 1  # of SCHED_FIFO for each priority
        self._pools: dict[int, list[_ProcessDesk]] = {}
        self.fifo = False
        self.restarts = 0
        self._nursery: Nursery | None = None
        self._listener: threading.Thread | None = None
        self._wake_in = self._wake_out = -1
        self._inherited: set[int] = set()
        self._parcels: dict[int, bytes] = {}  # consumers that came later, as they are sent
        self._pushed: Callable[[int, Event, float], None] = _no_suppliers

    def hear(self, pushed: Callable[[int, Event, float], None]) -> None:
        """Who takes what consumers push: number of the supplier, event, when."""
        self._pushed = pushed

    def start(self, consumers: list[ProxyPushSupplier]) -> None:
        with self.lock:
            if self.started:
                return
            if not system.FORKED_WORKERS:
                raise ChannelError(
                    "processes by priority need Linux; use OneThread, ThreadPools or ThreadPerConsumer here"
                )
            self.fifo = self.realtime and realtime_standing().fifo
            self._selector = selectors.DefaultSelector()
            self._wake_in, self._wake_out = os.pipe()
            self._inherited = {one.number for one in consumers}
            self._nursery = Nursery({one.number: one.call for one in consumers}, self.fifo)
            self._selector.register(self._nursery, selectors.EVENT_READ, None)
            self._selector.register(self._wake_in, selectors.EVENT_READ, None)
            self._listener = threading.Thread(
                target=self._listen, name="weft channel dispatcher", daemon=True
            )
            self._listener.start()
            self._threads.append(self._listener)
            for desk in self._desks.values():
                if desk.end is None:
                    self._engage(desk)
            self._births.wait_for(
                lambda: self.closing or all(desk.pid for desk in self._desks.values()), BIRTH
            )
        super().start(consumers)

    def attach(self, lock: threading.RLock) -> None:
        super().attach(lock)
        self._births = threading.Condition(lock)

    def expect(self, priorities: dict[int, bool]) -> None:
        """Their processes are there when the start is over, so that the first push of each does not wait for a birth."""
        self._levels = self.workers or (DEPTH if any(priorities.values()) else 1)
        for priority in sorted(priorities):
            pool = self._pool(priority)
            while len(pool) < self._most(priorities[priority]):
                self._add(pool)
            if self.started and not self.closing:
                for desk in pool:
                    if desk.end is None and not desk.broken:
                        self._engage(desk)
        for pool in self._pools.values():
            for desk in pool:
                self._place(desk, 0)
            self._relevel(pool)

    def _most(self, interrupts: bool) -> int:
        return self.workers or (DEPTH if interrupts else 1)

    def _pool(self, priority: int) -> list[_ProcessDesk]:
        pool = self._pools.get(priority)
        if pool is None:
            aged = self.marks is not None and self.marks.when_full == DISCARD_OLDEST
            pool = self._pools[priority] = [_ProcessDesk(priority, 0, aged)]
            self._desks[priority, 0] = pool[0]
        return pool

    def _add(self, pool: list[_ProcessDesk]) -> _ProcessDesk:
        desk = _ProcessDesk(pool[0].priority, len(pool), False, pool[0].queue)
        pool.append(desk)
        self._desks[desk.key] = desk
        return desk

    def connected(self, consumer: ProxyPushSupplier) -> None:
        if self.started and not consumer.is_gateway:
            self._parcel(consumer)

    def _parcel(self, consumer: ProxyPushSupplier) -> bytes:
        """A consumer that the nursery did not know, as it is sent."""
        parcel = self._parcels.get(consumer.number)
        if parcel is None:
            try:
                parcel = messages.packed(messages.CONSUMER, (consumer.number, consumer.consumer))
            except Exception as error:
                raise ChannelError(
                    f"{consumer.name} cannot be sent to the process of its priority ({error}); connect it before the channel "
                    "is started, or make it a function or an object of a class of a module"
                ) from error
            self._parcels[consumer.number] = parcel
        return parcel

    def disconnected(self, consumer: ProxyPushSupplier) -> None:
        self._parcels.pop(consumer.number, None)

    def processes(self) -> dict[int, int]:
        """The process of each preemption priority that has one; of a pool, the first."""
        with self.lock:
            return {desk.priority: desk.pid for desk in reversed(self._in_order()) if desk.pid}

    def close(self, timeout: float) -> None:
        super().close(timeout)
        with self.lock:
            for desk in self._desks.values():
                if desk.running is not None:  # it was given its time
                    self._kill(desk)
                    self._lost(desk, "was ended with the channel")
                self._forget_end(desk)
            nursery, self._nursery = self._nursery, None
            self._wake()
        if nursery is not None:
            if self._listener is not None:
                self._listener.join()
            nursery.close()
            self._selector.close()
            os.close(self._wake_in)
            os.close(self._wake_out)

    def take_over(self, work: list[PushWork]) -> None:
        """What has begun goes on here, to its end: what it has done so far is in this process."""
        super().take_over([one for one in work if not one.begun])
        for one in work:
            if one.begun:
                one.complete()

    # Desks

    def _key(self, work: PushWork) -> Hashable:
        return work.preemption, 0

    def _new_desk(self, key: Hashable, work: PushWork, aged: bool) -> _ProcessDesk:
        return self._pool(work.preemption)[0]

    def _in_order(self) -> list[_ProcessDesk]:
        return [desk for priority in sorted(self._pools) for desk in self._pools[priority]]

    def _serve(self, desk: _ProcessDesk) -> None:
        """By workers of its pool that are free, as long as what comes first may begin."""
        pool = self._pools[desk.priority]
        broken = next((one.broken for one in pool if one.broken), "")
        if broken:
            self._give_up(pool, broken)
            return
        queue = desk.queue
        while queue.length and may_begin(queue, [one.running for one in pool if one.running is not None]):
            free = self._free(pool, queue)
            if free is None:
                break
            if free.end is None:
                self._engage(free)
            work = self._take(free)
            while work is not None and not self._hand(free, work):
                work = self._take(free)
        self._relevel(pool)
        self._settle()

    def _free(self, pool: list[_ProcessDesk], queue: WorkQueue) -> _ProcessDesk | None:
        """A worker that has nothing to do; one more, if there may be."""
        for desk in pool:
            if desk.running is None and not desk.ending:
                return desk
        first = queue.first()
        most = self._most(first is not None and first.interrupts)
        return self._add(pool) if len(pool) < most else None

    def _relevel(self, pool: list[_ProcessDesk]) -> None:
        """Of those that run, who goes before whom."""
        if not self.fifo or self._levels == 1:
            return
        running = [one for one in pool if one.running is not None and one.running.interrupts]
        running.sort(key=lambda one: _order(one.running))
        for behind, desk in enumerate(running):
            self._place(desk, behind)

    def _place(self, desk: _ProcessDesk, behind: int) -> None:
        wanted = standing_for(desk.priority, self.fifo, self._levels, behind)
        if self.fifo and desk.pid and desk.standing != wanted:
            desk.standing = wanted
            move(wanted, desk.pid)

    def _wake(self) -> None:
        with suppress(OSError):
            os.write(self._wake_out, b"x")

    def _engage(self, desk: _ProcessDesk) -> None:
        if self._nursery is None:
            raise ChannelError("the channel was stopped")
        desk.standing = standing_for(desk.priority, self.fifo, self._levels)
        desk.end = self._nursery.bear((desk.priority, desk.seat), desk.standing)
        desk.end.setblocking(False)
        desk.frames = messages.Frames()
        desk.unsent = b""
        desk.unread = False
        desk.known = set()
        self._selector.register(desk.end, selectors.EVENT_READ, desk)

    def _hand(self, desk: _ProcessDesk, work: PushWork) -> bool:
        """Could it be sent?"""
        receiver = work.receiver
        number = receiver.number
        try:
            data = messages.packed(messages.WORK, (number, work.events))
            if number not in self._inherited and number not in desk.known:
                data = self._parcel(receiver) + data
        except Exception as error:
            self.discarded += 1
            if not isinstance(error, ChannelError):
                error = ChannelError(
                    f"events for {receiver.name} cannot be sent to the process of its priority: {error}"
                )
            receiver.failed(work.events, error)
            work.discard(self.clock(), "it cannot be sent to another process")
            return False
        desk.known.add(number)
        desk.behind = desk.queue.length
        self._begins(desk, work, self.clock())
        self._send(desk, data)
        return True

    def _send(self, desk: _ProcessDesk, data: bytes) -> None:
        """What does not fit now goes when there is room; a worker that has ended is heard of otherwise."""
        assert desk.end is not None
        try:
            sent = desk.end.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            desk.unread = True
            return
        desk.unsent = data[sent:]
        if desk.unsent:
            both = selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(desk.end, both, desk)
            self._wake()

    def _hangs(self, desk: _ProcessDesk, now: float) -> None:
        self._kill(desk)

    def _kill(self, desk: _ProcessDesk) -> None:
        with suppress(ProcessLookupError):
            if desk.pid:
                os.kill(desk.pid, signal.SIGKILL)

    # The thread that listens to workers and to the nursery

    def _listen(self) -> None:
        take(channel_standing(self.fifo))
        self._own.add(threading.get_ident())
        while True:
            ready = self._selector.select()
            with self.lock:
                for key, events in ready:
                    self._heard(key, events)
                self.attended()
                if self.closing and all(desk.running is None for desk in self._desks.values()):
                    return

    def _heard(self, key: selectors.SelectorKey, events: int) -> None:
        if key.fileobj == self._wake_in:
            os.read(self._wake_in, 4096)
        elif key.data is None:
            self._news()
        elif key.fileobj is key.data.end:
            if events & selectors.EVENT_WRITE:
                self._send(key.data, key.data.unsent)
                if not key.data.unsent:
                    self._selector.modify(key.data.end, selectors.EVENT_READ, key.data)
            if events & selectors.EVENT_READ:
                self._read(key.data)

    def _read(self, desk: _ProcessDesk) -> bool:
        """Was there anything?"""
        assert desk.end is not None
        try:
            data = desk.end.recv(262_144)
        except BlockingIOError:
            return False
        except OSError:  # what it was sent last is still in the line
            desk.unread = True
            data = b""
        if not data:  # how it ended, the nursery says
            with suppress(KeyError):
                self._selector.unregister(desk.end)
            return False
        for kind, body in desk.frames.feed(data):
            if kind == messages.DONE:
                self._take_done(desk, body)
                continue
            try:
                self._pushed(*pickle.loads(body))
            except Exception as error:
                if desk.running is not None:
                    desk.running.receiver.failed(desk.running.events, error)
        return True

    def _take_done(self, desk: _ProcessDesk, body: bytes) -> None:
        begin, end, spent, raised = messages.read_done(body)
        work = desk.running
        assert work is not None
        desk.fruitless = 0
        work.begun = True
        work.starts(begin, desk.behind)
        self._ends(desk)
        if raised:
            error = work.error = pickle.loads(raised)
            work.receiver.failed(work.events, error)
        work.account(end - spent, end)
        work.finished()
        if desk.queue.length:
            self._serve(desk)
        self._settle()

    # Births and deaths

    def _news(self) -> None:
        nursery = self._nursery
        if nursery is None:
            return
        news = nursery.news()
        if isinstance(news, Born):
            desk = self._desks[news.desk]
            desk.pid = news.pid
            self._relevel(self._pools[desk.priority])
            self._births.notify_all()
        elif isinstance(news, Died):
            self._bereaved(self._desks[news.desk], news)
        else:
            self._selector.unregister(nursery)
            self._orphaned()

    def _bereaved(self, desk: _ProcessDesk, news: Died) -> None:
        desk.ending = True
        while desk.end is not None and self._read(desk):
            pass
        desk.ending = False
        self._forget_end(desk)
        home = desk
        if desk.running is not None and not desk.unread:
            self._lost(desk, news.how())
        else:
            desk.fruitless += 1
            work = desk.running
            if work is not None:  # it never began; its place in the queue is as before
                self._ends(desk)
                home = self._desk(work)  # of its priority now, which another schedule may have changed
                home.queue.put(work)
                self._pending += 1
        if desk.fruitless >= STILLBORN:
            desk.broken = (
                f"the process of priority {desk.priority} {news.how()}, {STILLBORN} times with nothing done"
            )
        if not self.closing:
            self.restarts += 1
            for one in (desk, home):
                if one.queue.length:
                    self._serve(one)
        self._settle()

    def _orphaned(self) -> None:
        """Without the nursery no worker can follow another."""
        for desk in self._desks.values():
            self._kill(desk)
            self._forget_end(desk)
            desk.broken = "the process that starts others has gone"
            if desk.running is not None:
                self._lost(desk, "was ended because the process that starts others has gone")
            self._give_up([desk], desk.broken)

    def _forget_end(self, desk: _ProcessDesk) -> None:
        if desk.end is not None:
            with suppress(KeyError):
                self._selector.unregister(desk.end)
            desk.end.close()
        desk.end = None
        desk.pid = 0

    def _lost(self, desk: _ProcessDesk, how: str) -> None:
        """The push that ran is reported: it may have been carried out in part, and is not tried again."""
        work = desk.running
        assert work is not None
        now = self.clock()
        work.begun = True
        work.starts(desk.since, desk.behind)
        self._ends(desk)
        self.discarded += 1
        text = f"the process of priority {desk.priority} {how}, after {now - desk.since:.3f} s with {work.receiver.name}"
        work.receiver.failed(work.events, ConsumerDied(text))
        work.discard(now, f"its process {how}")
        self._settle()


def _order(work: PushWork | None) -> tuple[float, int, int]:
    return (0.0, 0, 0) if work is None else (work.key, work.sub, work.number)


def _no_suppliers(number: int, event: Event, now: float) -> None:
    raise ChannelError(f"a consumer pushed to supplier {number}, which the channel does not know")
