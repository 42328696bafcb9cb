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
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, ParamSpec

from weft.channel import (
    AdmissionControl,
    ChannelObserver,
    Configuration,
    ConsumerQos,
    Dispatcher,
    Event,
    EventChannel,
    Events,
    Happening,
    PushConsumer,
    PushSupplier,
    Record,
    SupplierQos,
)
from weft.channel.qos import leaves
from weft.host.dispatch import worker
from weft.host.dispatch.desks import D, HostDispatcher, always, nothing
from weft.host.dispatch.processes import Preemptive
from weft.host.dispatch.standing import Standing, channel_standing, raised, take
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Scheduler
    from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier

P = ParamSpec("P")
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
        self._attach(dispatcher)
        heard = None if observer is None else _OneAtATime(observer, lock)
        record = None if record is None else _harmless(record)
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
        if isinstance(self.channel.schedule, AdmissionControl):  # which has another plan now
            self._expect()
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
        with self.lock:
            self._timeless = True
            self._changed.notify_all()
        keeper = self._timekeeper
        if keeper is not None and keeper is not threading.current_thread():
            keeper.join(timeout)
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
            retiring = threading.Thread(
                target=_retire, args=(old,), name=f"weft channel {self.title} retires", daemon=True
            )
            retiring.start()
            self._retiring.append(retiring)  # with the lock: whoever stops the channel finds it

    def reschedule(self, schedule: Scheduler | None) -> None:
        """With the lock."""
        self.channel.reschedule(schedule)
        self._expect()

    def _expect(self) -> None:
        """Priorities may be others than they were."""
        if self.started and isinstance(self.dispatcher, HostDispatcher):
            self.dispatcher.expect(self._priorities())

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

    def _priorities(self) -> dict[int, bool]:
        """Of all that the consumers are registered for, and whether an earlier key interrupts in them."""
        found: dict[int, bool] = {}
        dispatched = [one for one in self.channel.consumers() if not one.is_gateway and one.buffer is None]
        for consumer in dispatched:
            for leaf in [leaf for one in consumer.asked() for leaf in leaves(one)]:
                rt_info = leaf.rt_info or consumer.rt_info
                urgency = self.channel.urgency(rt_info)
                found[urgency.preemption] = found.get(urgency.preemption, False) or urgency.interrupts
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
                times = [at for at in (self.channel.next_due(), self._look(now)) if at is not None]
                due = min(times, default=None)
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


def _harmless(record: Record) -> Record:
    """The same for a record."""

    def told(happening: Happening) -> None:
        try:
            record(happening)
        except Exception:
            traceback.print_exc()

    return told


class _OneAtATime(ChannelObserver):
    """An observer that several threads talk to; one that fails does not take a thread of the channel with it."""

    def __init__(self, observer: ChannelObserver, lock: threading.RLock) -> None:
        self._observer = observer
        self._lock = lock

    def _tell(self, hear: Callable[P, None], *what: P.args, **more: P.kwargs) -> None:
        with self._lock:
            try:
                hear(*what, **more)
            except Exception:
                traceback.print_exc()

    def consumer_failed(self, consumer: str, events: Events, error: Exception) -> None:
        self._tell(self._observer.consumer_failed, consumer, events, error)

    def overran(self, consumer: str, spent: float, worst: float) -> None:
        self._tell(self._observer.overran, consumer, spent, worst)

    def missed(self, consumer: str, events: Events, late: float) -> None:
        self._tell(self._observer.missed, consumer, events, late)

    def discarded(self, consumer: str, events: Events) -> None:
        self._tell(self._observer.discarded, consumer, events)

    def admitted_late(self, who: str, why: str) -> None:
        self._tell(self._observer.admitted_late, who, why)

    def hanging(self, consumer: str, events: Events, seconds: float) -> None:
        self._tell(self._observer.hanging, consumer, events, seconds)
