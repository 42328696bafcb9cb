"""The preemptive dispatcher: a process for each preemption priority, under SCHED_FIFO where the machine allows it (S3-9).

The queues stay with the channel.  A worker is given one push at a time, straight from the supplier's thread if it is free, else
when its answer to the last one comes; so order, water marks and disconnection are exact, and when a worker dies it is known which
push died with it: that one is reported as failed and discarded, and all others are carried out by the worker that follows.
What runs when is the machine's scheduler's business, which interrupts a less urgent worker at any instruction.

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

from weft.channel import DISCARD_OLDEST, Event, PushWork, WaterMarks
from weft.channel.proxies import ProxyPushSupplier
from weft.host.dispatch import messages
from weft.host.dispatch.desks import PATIENCE, ConsumerDied, Desk, HostDispatcher
from weft.host.dispatch.nursery import Born, Died, Nursery
from weft.host.dispatch.standing import channel_standing, realtime_standing, standing_for, take
from weft.model.errors import ChannelError

BIRTH = 10.0  # seconds that the start waits for its processes at most
STILLBORN = 3  # workers of a desk that end one after another with nothing done: no more are tried


class _ProcessDesk(Desk):
    def __init__(self, priority: int, aged: bool) -> None:
        super().__init__(priority, aged)
        self.priority = priority
        self.end: socket.socket | None = None  # to its worker
        self.pid = 0
        self.frames = messages.Frames()
        self.unsent = b""
        self.ending = False  # its worker has died, and what that said before is read
        self.unread = False  # the worker died without having looked at what it was sent
        self.known: set[int] = set()  # consumers it was sent
        self.behind = 0  # how much waited behind what runs
        self.fruitless = 0  # workers that ended with nothing done
        self.broken = ""


class Preemptive(HostDispatcher[_ProcessDesk]):
    """`realtime`: ask for SCHED_FIFO.  Consumers that are connected before the start may be anything, those that come later
    must be picklable: a function of a module, or an object of a class of a module."""

    def __init__(
        self,
        marks: WaterMarks | None = None,
        patience: float | None = PATIENCE,
        realtime: bool = True,
    ) -> None:
        super().__init__(marks, patience, realtime)
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
            if not hasattr(os, "pidfd_open"):
                raise ChannelError(
                    "processes by priority need Linux; use OneThread or ThreadPerConsumer here"
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

    def expect(self, priorities: set[int]) -> None:
        """Their processes are there when the start is over, so that the first push of each does not wait for a birth."""
        aged = self.marks is not None and self.marks.when_full == DISCARD_OLDEST
        for priority in sorted(priorities):
            self._desks.setdefault(priority, _ProcessDesk(priority, aged))

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
        """The process of each preemption priority that has one."""
        with self.lock:
            return {desk.priority: desk.pid for desk in self._desks.values() if desk.pid}

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

    def _new_desk(self, key: Hashable, work: PushWork, aged: bool) -> _ProcessDesk:
        return _ProcessDesk(work.preemption, aged)

    def _in_order(self) -> list[_ProcessDesk]:
        return sorted(self._desks.values(), key=lambda desk: desk.priority)

    def _serve(self, desk: _ProcessDesk) -> None:
        if desk.running is not None or desk.ending:
            return
        if desk.broken:
            self._give_up([desk], desk.broken)
            return
        if desk.end is None:
            self._engage(desk)
        work = self._take(desk)
        while work is not None and not self._hand(desk, work):
            work = self._take(desk)
        self._settle()

    def _wake(self) -> None:
        with suppress(OSError):
            os.write(self._wake_out, b"x")

    def _engage(self, desk: _ProcessDesk) -> None:
        if self._nursery is None:
            raise ChannelError("the channel was stopped")
        desk.end = self._nursery.bear(desk.priority, standing_for(desk.priority, self.fifo))
        desk.end.setblocking(False)
        desk.frames = messages.Frames()
        desk.unsent = b""
        desk.unread = False
        desk.known = set()
        self._selector.register(desk.end, selectors.EVENT_READ, desk)

    def _hand(self, desk: _ProcessDesk, work: PushWork) -> bool:
        """Could it be sent?"""
        receiver = work.receiver
        assert isinstance(receiver, ProxyPushSupplier)
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
                self._send_rest(key.data)
            if events & selectors.EVENT_READ:
                self._read(key.data)

    def _send_rest(self, desk: _ProcessDesk) -> None:
        self._send(desk, desk.unsent)
        if not desk.unsent and desk.end is not None:
            self._selector.modify(desk.end, selectors.EVENT_READ, desk)

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
            if kind == messages.PUSH:
                self._take_push(desk, body)
            else:
                self._take_done(desk, body)
        return True

    def _take_push(self, desk: _ProcessDesk, body: bytes) -> None:
        try:
            self._pushed(*pickle.loads(body))
        except Exception as error:
            if desk.running is not None:
                desk.running.receiver.failed(desk.running.events, error)

    def _take_done(self, desk: _ProcessDesk, body: bytes) -> None:
        begin, end, spent, error = messages.read_done(body)
        work = desk.running
        assert work is not None
        desk.fruitless = 0
        work.begun = True
        work.starts(begin, desk.behind)
        self._ends(desk)
        if error:
            raised = pickle.loads(error)
            work.error = raised
            work.receiver.failed(work.events, raised)
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
        if desk.running is not None and not desk.unread:
            self._lost(desk, news.how())
        else:
            desk.fruitless += 1
            if desk.running is not None:
                self._take_back(desk)
        if desk.fruitless >= STILLBORN:
            desk.broken = (
                f"the process of priority {desk.key} {news.how()}, {STILLBORN} times with nothing done"
            )
        if not self.closing:
            self.restarts += 1
            if desk.queue.length:
                self._serve(desk)
        self._settle()

    def _take_back(self, desk: _ProcessDesk) -> None:
        """It never began; its place in the queue is as before."""
        work = desk.running
        assert work is not None
        self._ends(desk)
        desk.queue.put(work)
        self._pending += 1

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
        text = f"the process of priority {desk.key} {how}, after {now - desk.since:.3f} s with {work.receiver.name}"
        work.receiver.failed(work.events, ConsumerDied(text))
        work.discard(now, f"its process {how}")
        self._settle()


def _no_suppliers(number: int, event: Event, now: float) -> None:
    raise ChannelError(f"a consumer pushed to supplier {number}, which the channel does not know")
