"""An event channel, its dispatcher, and the thread that looks at its timers: what runs by itself under one lock.

Whose lock that is, its owner decides: a channel on its own has one of its own (`realtime`), a channel that is joined to others
has its node's (`in_process.event_channel`), so that there is one lock and no order of locks to be kept.  Whoever is in the
channel holds it; consumers run without it, except where there is no dispatching.

The *timekeeper* looks at the timers at the time they are due and not before, and at who hangs; between two looks it sleeps.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

from weft.channel import (
    ChannelObserver,
    Configuration,
    ConsumerQos,
    Dispatcher,
    Event,
    EventChannel,
    Events,
    PushConsumer,
    PushSupplier,
    Record,
    SupplierQos,
)
from weft.channel.qos import leaves
from weft.channel.scheduling.urgency import UNSCHEDULED
from weft.host.dispatch import worker
from weft.host.dispatch.desks import D, HostDispatcher, always, nothing
from weft.host.dispatch.processes import Preemptive
from weft.host.dispatch.standing import Standing, channel_standing, raised, take
from weft.host.dispatch.telling import OneAtATime, harmless
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Scheduler
    from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier

Consumer = PushConsumer | Callable[[Events], object] | str
"""A string is an entry point: "module:function"."""


class Around(NamedTuple):
    """What the owner of the channel does about it; all is called with the lock."""

    pushed: Callable[[ProxyPushConsumer, Event, float], None]  # a consumer in a process of its own has
    attended: Callable[[], None] = nothing  # a thread of the channel has done something
    may_wait: Callable[[], bool] = always  # may the calling thread wait for room in a queue?


class Running:
    def __init__(
        self,
        name: str,
        lock: threading.RLock,
        around: Around,
        dispatcher: Dispatcher,
        configuration: Configuration,
        schedule: Scheduler | None,
        observer: ChannelObserver | None,
        record: Record | None,
        boot: int = 0,
        title: str = "",
    ) -> None:
        """`title`: as what users know it, if that is not its name."""
        self.title = title or name
        self.lock = lock
        self.dispatcher = dispatcher
        self.stopped = False
        self._around = around
        self._changed = threading.Condition(lock)
        self._schedule = schedule
        self._attach(dispatcher)
        heard = None if observer is None else OneAtATime(observer, lock)
        record = None if record is None else harmless(record)
        self.channel = EventChannel(name, configuration, dispatcher, schedule, heard, boot, record)
        self._suppliers: dict[int, ProxyPushConsumer] = {}
        self._numbered = 0  # suppliers so far
        self._sleeps_until: float | None = 0.0  # None: until it is woken
        self._timekeeper: threading.Thread | None = None
        self._timeless = False  # timers do not run any more
        self._retiring: list[threading.Thread] = []  # those that wait for old dispatchers to end

    @property
    def started(self) -> bool:
        return self._timekeeper is not None

    def require_here(self) -> None:
        if worker.current() is not None:
            raise ChannelError(
                f"in the process of a consumer only suppliers can be used; channel {self.title} itself belongs to "
                "another process"
            )

    # Who takes part; with the lock

    def connect_consumer(self, consumer: Consumer, qos: ConsumerQos) -> ProxyPushSupplier:
        proxy = self.channel.connect_consumer(_resolved(consumer), qos, time.monotonic())
        try:
            if isinstance(self.dispatcher, HostDispatcher):
                self.dispatcher.connected(proxy)
        except ChannelError:
            proxy.disconnect_push_supplier()
            raise
        return proxy

    def consumer_gone(self, proxy: ProxyPushSupplier) -> None:
        if isinstance(self.dispatcher, HostDispatcher):
            self.dispatcher.disconnected(proxy)

    def connect_supplier(
        self, supplier: PushSupplier | None, qos: SupplierQos
    ) -> tuple[int, ProxyPushConsumer]:
        """With the number by which consumers in other processes know it."""
        proxy = self.channel.connect_supplier(supplier, qos)
        self._numbered += 1
        self._suppliers[self._numbered] = proxy
        return self._numbered, proxy

    def supplier_gone(self, number: int) -> None:
        self._suppliers.pop(number, None)

    def require_running(self, proxy: ProxyPushConsumer) -> None:
        """What consumers push while the rest is drained is taken."""
        host = self.dispatcher
        if self.stopped and not (isinstance(host, HostDispatcher) and host.is_own_thread()):
            raise ChannelError(f"channel {self.title} was stopped; {proxy.name} cannot push any more")

    def retime(self) -> None:
        """Wakes the timekeeper if it would sleep too long."""
        due = self.channel.next_due()
        if due is not None and (self._sleeps_until is None or due < self._sleeps_until):
            self._sleeps_until = due
            self._changed.notify()

    def must_yield(self) -> bool:
        return worker.current() is None and bool(self.dispatcher.must_yield())

    def urgently(self) -> AbstractContextManager[Standing]:
        return raised(isinstance(self.dispatcher, Preemptive) and self.dispatcher.fifo)

    # Its life; without the lock

    def start(self) -> None:
        self.require_here()
        with self.lock:
            if self.started or self.stopped:
                raise ChannelError(f"channel {self.title} was started already")
            self._start_dispatcher()
            self._timekeeper = threading.Thread(
                target=self._keep_time, name=f"weft channel {self.title} timers", daemon=True
            )
            self._timekeeper.start()

    def wait_idle(self, timeout: float | None = None) -> bool:
        self.require_here()
        return not isinstance(self.dispatcher, HostDispatcher) or self.dispatcher.wait_idle(timeout)

    def refuse(self) -> bool:
        """No more is taken from suppliers; False if that was so already."""
        with self.lock:
            was, self.stopped = self.stopped, True
            return not was

    def stop(self, drain: bool, timeout: float) -> list[str]:
        """Who had not come back by then; the channel itself is still to be destroyed."""
        until = time.monotonic() + timeout
        self._stop_timekeeper(timeout)
        left: list[str] = []
        host = self.dispatcher
        if isinstance(host, HostDispatcher):
            if drain and host.started and not host.wait_idle(timeout):
                left = [name for name, _ in host.running()]
            host.close(max(0.1, until - time.monotonic()))
            left = left or [name for name, _ in host.running()]
        for retiring in self._retiring:
            retiring.join(max(0.1, until - time.monotonic()))
        return left

    def reconfigure(self, configuration: Configuration, dispatcher: Dispatcher) -> None:
        """With the lock.  The old dispatcher ends when those who run have come back."""
        old, new = self.dispatcher, dispatcher
        if new is not old:
            self._attach(new)
        self.channel.reconfigure(configuration, time.monotonic(), new)
        self.dispatcher = new
        if new is not old and self.started:
            self._start_dispatcher()
        if new is not old and isinstance(old, HostDispatcher):
            self._retire(old)

    def _retire(self, dispatcher: HostDispatcher[D]) -> None:
        """With the lock: whoever stops the channel finds it among those it joins."""
        retiring = threading.Thread(
            target=_retire, args=(dispatcher,), name=f"weft channel {self.title} retires", daemon=True
        )
        retiring.start()
        self._retiring.append(retiring)

    # Inside

    def _attach(self, dispatcher: Dispatcher) -> None:
        if isinstance(dispatcher, HostDispatcher):
            dispatcher.attach(self.lock)
            dispatcher.attended = self._around.attended
            dispatcher.may_wait = self._around.may_wait
        if isinstance(dispatcher, Preemptive):
            dispatcher.hear(self._pushed_elsewhere)

    def _pushed_elsewhere(self, number: int, event: Event, now: float) -> None:
        proxy = self._suppliers.get(number)
        if proxy is None:
            raise ChannelError(
                f"a consumer pushed an event of type {event.type} from source {event.source} to a supplier that has disconnected"
            )
        self._around.pushed(proxy, event, now)

    def _start_dispatcher(self) -> None:
        host = self.dispatcher
        if isinstance(host, HostDispatcher):
            host.expect(self._priorities())
            host.start(self.channel.consumers())
            if self._timekeeper is not None and self._timekeeper.ident is not None:
                host.never_waits(self._timekeeper.ident)

    def _priorities(self) -> set[int]:
        """Of all that the consumers are registered for."""
        found: set[int] = set()
        for consumer in [one for one in self.channel.consumers() if not one.is_gateway]:
            for leaf in [leaf for one in consumer.asked() for leaf in leaves(one)]:
                rt_info = leaf.rt_info or consumer.rt_info
                if self._schedule is None or not rt_info:
                    found.add(UNSCHEDULED.preemption)
                else:
                    found.add(self._schedule.urgency(rt_info).preemption)
        return found

    def _keep_time(self) -> None:
        host = self.dispatcher
        if isinstance(host, HostDispatcher):
            host.never_waits(threading.get_ident())
            if host.realtime:
                take(channel_standing(True))
        with self.lock:
            while not self._timeless:
                now = time.monotonic()
                self.channel.expire(now)
                due = _earlier(self.channel.next_due(), self._look(now))
                self._sleeps_until = due
                self._around.attended()
                self._changed.wait(None if due is None else max(0.0, due - time.monotonic()))

    def _look(self, now: float) -> float | None:
        """Who hangs; when to look again, which is at least once in the patience of the dispatcher."""
        host = self.dispatcher
        if not isinstance(host, HostDispatcher) or host.patience is None:
            return None
        next_look = host.look(now)
        return now + host.patience if next_look is None else next_look

    def _stop_timekeeper(self, timeout: float) -> None:
        with self.lock:
            self._timeless = True
            self._changed.notify_all()
        keeper = self._timekeeper
        if keeper is not None and keeper is not threading.current_thread():
            keeper.join(timeout)


def fresh(name: str, dispatcher: HostDispatcher[D]) -> HostDispatcher[D]:
    """Refuses one that has had its life."""
    if dispatcher.started and dispatcher.closing:
        raise ChannelError(f"channel {name}: {type(dispatcher).__name__} was closed; make a new one")
    return dispatcher


def _retire(dispatcher: HostDispatcher[D]) -> None:
    """When nobody hands it work any more and those who run have come back."""
    dispatcher.replaced.wait()
    dispatcher.wait_idle()
    dispatcher.close(1.0)


def _resolved(consumer: Consumer) -> PushConsumer | Callable[[Events], object]:
    if not isinstance(consumer, str):
        return consumer
    module, colon, function = consumer.partition(":")
    if not colon:
        raise ChannelError(f"{consumer!r} is no entry point; write it as module:function")
    try:
        found: PushConsumer | Callable[[Events], object] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ChannelError(f"the entry point {consumer!r} does not exist: {error}") from error
    return found


def _earlier(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
