"""An event channel in real time: any number of threads may use it, timers run by themselves, and consumers are dispatched by
threads or processes (docs/channel.md, "In real time").

The clock is the monotonic clock of the machine.  One lock guards the channel; consumers run without it, except where there is no
dispatching: then they run in the thread of the supplier, one at a time.

A thread of its own looks at the timers, at the time they are due and not before; between two looks it sleeps until then.
"""

from __future__ import annotations

import importlib
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from weft.channel import (
    FULL,
    ChannelObserver,
    Configuration,
    ConsumerQos,
    Dependency,
    Event,
    EventChannel,
    Events,
    Happening,
    Immediate,
    PushConsumer,
    PushSupplier,
    Record,
    SupplierQos,
    depends,
    publishes,
)
from weft.channel.qos import leaves
from weft.channel.urgency import UNSCHEDULED
from weft.host.dispatch import worker
from weft.host.dispatch.desks import HostDispatcher
from weft.host.dispatch.processes import Preemptive
from weft.host.dispatch.standing import Standing, channel_standing, raised, take
from weft.host.dispatch.threads import OneThread
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Scheduler
    from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier

Consumer = PushConsumer | Callable[[Events], Any] | str
"""A string is an entry point: "module:function"."""


class RealTimeConsumer:
    """A consumer that is connected; its `proxy` has the counts."""

    def __init__(self, channel: RealTimeChannel, proxy: ProxyPushSupplier) -> None:
        self._channel = channel
        self.proxy = proxy

    @property
    def name(self) -> str:
        return self.proxy.name

    def register(self, dependency: Dependency) -> int:
        with self._channel.entered():
            return self.proxy.register(dependency, self._channel.now())

    def cancel(self, number: int) -> None:
        with self._channel.entered():
            self.proxy.cancel(number)

    def suspend(self) -> None:
        with self._channel.entered():
            self.proxy.suspend()

    def resume(self) -> None:
        with self._channel.entered():
            self.proxy.resume(self._channel.now())

    def disconnect(self) -> None:
        """No push begins after this; one that runs goes on."""
        with self._channel.entered():
            self.proxy.disconnect_push_supplier()
            self._channel.gone(self.proxy)


class RealTimeSupplier:
    """A supplier that is connected.  Consumers may use it wherever they run: in another process it sends to the channel's."""

    def __init__(self, channel: RealTimeChannel, number: int, proxy: ProxyPushConsumer) -> None:
        self._channel = channel
        self._number = number
        self._proxy = proxy

    @property
    def name(self) -> str:
        return self._proxy.name

    def push(self, event: Event) -> None:
        here = worker.current()
        if here is not None:
            self._proxy.check(event)
            here.push(self._number, event)
            return
        self._channel.push(self._proxy, event)

    def disconnect(self) -> None:
        with self._channel.entered():
            self._proxy.disconnect_push_consumer()

    def __reduce__(self) -> tuple[Any, ...]:
        """With a consumer that is sent to another process."""
        return _SupplierElsewhere, (self._number, self.name)


class _SupplierElsewhere:
    """What is left of a supplier in the process of a consumer that was sent there."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self.name = name

    def push(self, event: Event) -> None:
        here = worker.current()
        if here is None:
            raise ChannelError(f"{self.name} can push from here only while a consumer of its channel runs")
        here.push(self._number, event)


class RealTimeChannel:
    """Use it as a context: it is started on entry, after consumers and suppliers have connected or before, and stopped on exit.

    dispatcher: OneThread (the default), ThreadPerConsumer or Preemptive; Immediate where the configuration has no dispatching.
    observer: hears what goes wrong, from any thread, one call at a time.
    """

    def __init__(
        self,
        name: str,
        dispatcher: HostDispatcher | Immediate | None = None,
        configuration: Configuration = FULL,
        schedule: Scheduler | None = None,
        observer: ChannelObserver | None = None,
        record: Record | None = None,
        boot: int = 0,
    ) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._dispatcher = _suitable(name, dispatcher, configuration)
        self._schedule = schedule
        self._attach(self._dispatcher)
        heard = None if observer is None else _OneAtATime(observer, self._lock)
        record = None if record is None else _harmless(record)
        self._channel = EventChannel(name, configuration, self._dispatcher, schedule, heard, boot, record)
        self._suppliers: dict[int, ProxyPushConsumer] = {}
        self._sleeps_until: float | None = 0.0  # None: until it is woken
        self._timekeeper: threading.Thread | None = None
        self._timeless = False  # timers do not run any more
        self._stopped = False
        self._retiring: list[threading.Thread] = []  # those that wait for old dispatchers to end

    # Who takes part

    @property
    def name(self) -> str:
        return self._channel.name

    @property
    def dispatcher(self) -> Any:
        return self._dispatcher

    def now(self) -> float:
        return time.monotonic()

    def consume(
        self, consumer: Consumer, *registrations: Dependency, name: str = "", rt_info: str = ""
    ) -> RealTimeConsumer:
        """A consumer, connected, in one call."""
        return self.connect_consumer(consumer, depends(*registrations, name=name, rt_info=rt_info))

    def connect_consumer(self, consumer: Consumer, qos: ConsumerQos) -> RealTimeConsumer:
        with self.entered() as channel:
            proxy = channel.connect_consumer(_resolved(consumer), qos, self.now())
            try:
                if isinstance(self._dispatcher, HostDispatcher):
                    self._dispatcher.connected(proxy)
            except ChannelError:
                proxy.disconnect_push_supplier()
                raise
            return RealTimeConsumer(self, proxy)

    def supply(
        self, *pairs: tuple[int, int], supplier: PushSupplier | None = None, name: str = "", rt_info: str = ""
    ) -> RealTimeSupplier:
        """A supplier of these (source, type) pairs, connected, in one call."""
        return self.connect_supplier(supplier, publishes(*pairs, name=name, rt_info=rt_info))

    def connect_supplier(self, supplier: PushSupplier | None, qos: SupplierQos) -> RealTimeSupplier:
        with self.entered() as channel:
            proxy = channel.connect_supplier(supplier, qos)
            number = len(self._suppliers) + 1
            self._suppliers[number] = proxy
            return RealTimeSupplier(self, number, proxy)

    @contextmanager
    def entered(self) -> Iterator[EventChannel]:
        """The channel itself, for whatever else is to be done with it; nobody else is in it meanwhile."""
        self._require_here()
        with self._lock:
            yield self._channel
            self._retime()

    def push(self, proxy: ProxyPushConsumer, event: Event) -> None:
        with self._lock:
            self._push(proxy, event, time.monotonic())

    def gone(self, proxy: ProxyPushSupplier) -> None:
        if isinstance(self._dispatcher, HostDispatcher):
            self._dispatcher.disconnected(proxy)

    # Running

    def start(self) -> None:
        """Timers and consumers run from now on.  With Preemptive: processes are started, so it is best done before there are
        other threads."""
        self._require_here()
        with self._lock:
            if self._timekeeper is not None or self._stopped:
                raise ChannelError(f"channel {self.name} was started already")
            self._start_dispatcher()
            self._timekeeper = threading.Thread(
                target=self._keep_time, name=f"weft channel {self.name} timers", daemon=True
            )
            self._timekeeper.start()

    def stop(self, drain: bool = True, timeout: float = 10.0) -> list[str]:
        """No push is taken any more.  `drain`: what waits is carried out first; otherwise, and after the time, it is given up
        and reported.  Who had not come back by then."""
        self._require_here()
        with self._lock:
            if self._stopped:
                return []
            self._stopped = True
        until = self.now() + timeout
        self._stop_timekeeper(timeout)
        left: list[str] = []
        host = self._dispatcher
        if isinstance(host, HostDispatcher):
            if drain and host.started and not host.wait_idle(timeout):
                left = [name for name, _ in host.running()]
            host.close(max(0.1, until - self.now()))
            left = left or [name for name, _ in host.running()]
        for retiring in self._retiring:
            retiring.join(max(0.1, until - self.now()))
        with self._lock:
            self._channel.destroy()
        return left

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Until nothing waits and nobody runs; False if that took too long."""
        self._require_here()
        if isinstance(self._dispatcher, HostDispatcher):
            return self._dispatcher.wait_idle(timeout)
        return True

    def urgently(self) -> AbstractContextManager[Standing]:
        """The calling thread stands with those of the channel meanwhile, above all consumers (see docs/channel.md)."""
        return raised(isinstance(self._dispatcher, Preemptive) and self._dispatcher.fifo)

    def must_yield(self) -> bool:
        """Asked by a consumer that runs: does something of a higher preemption priority wait?"""
        return worker.current() is None and self._dispatcher.must_yield()

    def pending(self) -> int:
        return self._dispatcher.pending()

    def reconfigure(
        self, configuration: Configuration, dispatcher: HostDispatcher | Immediate | None = None
    ) -> None:
        """Replaces modules without losing an event, as `EventChannel.reconfigure`.  The old dispatcher ends when those who run
        have come back."""
        with self.entered() as channel:
            old = self._dispatcher
            if dispatcher is None and configuration.dispatching == channel.configuration.dispatching:
                dispatcher = old
            new = _suitable(self.name, dispatcher, configuration)
            if new is not old:
                self._attach(new)
            channel.reconfigure(configuration, self.now(), new)
            self._dispatcher = new
            if new is not old and self._timekeeper is not None:
                self._start_dispatcher()
            if new is not old and isinstance(old, HostDispatcher):
                self._retire(old)

    def _retire(self, dispatcher: HostDispatcher) -> None:
        """With the lock: whoever stops the channel finds it among those it joins."""
        retiring = threading.Thread(
            target=_retire, args=(dispatcher,), name=f"weft channel {self.name} retires", daemon=True
        )
        retiring.start()
        self._retiring.append(retiring)

    def __enter__(self) -> RealTimeChannel:
        self.start()
        return self

    def __exit__(self, *why: object) -> None:
        self.stop(drain=why[0] is None)

    # Inside

    def _require_here(self) -> None:
        if worker.current() is not None:
            raise ChannelError(
                f"in the process of a consumer only suppliers can be used; channel {self.name} itself belongs to another process"
            )

    def _attach(self, dispatcher: HostDispatcher | Immediate) -> None:
        if isinstance(dispatcher, HostDispatcher):
            dispatcher.attach(self._lock)
        if isinstance(dispatcher, Preemptive):
            dispatcher.hear(self._pushed_elsewhere)

    def _start_dispatcher(self) -> None:
        if isinstance(self._dispatcher, HostDispatcher):
            self._dispatcher.expect(self._priorities())
            self._dispatcher.start(self._channel.consumers())
            if self._timekeeper is not None and self._timekeeper.ident is not None:
                self._dispatcher.never_waits(self._timekeeper.ident)

    def _priorities(self) -> set[int]:
        """Of all that the consumers are registered for."""
        found: set[int] = set()
        for consumer in [one for one in self._channel.consumers() if not one.is_gateway]:
            for leaf in [leaf for one in consumer.asked() for leaf in leaves(one)]:
                rt_info = leaf.rt_info or consumer.rt_info
                if self._schedule is None or not rt_info:
                    found.add(UNSCHEDULED.preemption)
                else:
                    found.add(self._schedule.urgency(rt_info).preemption)
        return found

    def _pushed_elsewhere(self, number: int, event: Event, now: float) -> None:
        self._push(self._suppliers[number], event, now)

    def _push(self, proxy: ProxyPushConsumer, event: Event, now: float) -> None:
        if self._stopped and not self._from_consumer():
            raise ChannelError(f"channel {self.name} was stopped; {proxy.name} cannot push any more")
        proxy.push(event, now)
        self._retime()

    def _from_consumer(self) -> bool:
        """What consumers push while the rest is drained is taken."""
        host = self._dispatcher
        return isinstance(host, HostDispatcher) and host.is_own_thread()

    def _retime(self) -> None:
        """Wakes the timekeeper if it would sleep too long."""
        due = self._channel.next_due()
        if due is not None and (self._sleeps_until is None or due < self._sleeps_until):
            self._sleeps_until = due
            self._changed.notify()

    def _keep_time(self) -> None:
        host = self._dispatcher
        if isinstance(host, HostDispatcher):
            host.never_waits(threading.get_ident())
            if host.realtime:
                take(channel_standing(True))
        with self._lock:
            while not self._timeless:
                now = self.now()
                self._channel.expire(now)
                due = _earlier(self._channel.next_due(), self._look(now))
                self._sleeps_until = due
                self._changed.wait(None if due is None else max(0.0, due - self.now()))

    def _look(self, now: float) -> float | None:
        """Who hangs; when to look again, which is at least once in the patience of the dispatcher."""
        host = self._dispatcher
        if not isinstance(host, HostDispatcher) or host.patience is None:
            return None
        next_look = host.look(now)
        return now + host.patience if next_look is None else next_look

    def _stop_timekeeper(self, timeout: float) -> None:
        with self._lock:
            self._timeless = True
            self._changed.notify_all()
        keeper = self._timekeeper
        if keeper is not None and keeper is not threading.current_thread():
            keeper.join(timeout)


def _retire(dispatcher: HostDispatcher) -> None:
    """When nobody hands it work any more and those who run have come back."""
    dispatcher.replaced.wait()
    dispatcher.wait_idle()
    dispatcher.close(1.0)


def _harmless(record: Record) -> Record:
    """A record that fails does not take a thread of the channel with it."""

    def told(happening: Happening) -> None:
        try:
            record(happening)
        except Exception:
            traceback.print_exc()

    return told


class _OneAtATime(ChannelObserver):
    """An observer that several threads talk to; one that fails does not take them with it."""

    def __init__(self, observer: ChannelObserver, lock: Any) -> None:
        self._observer = observer
        self._lock = lock

    def _tell(self, hear: Callable[..., None], *what: Any) -> None:
        with self._lock:
            try:
                hear(*what)
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

    def hanging(self, consumer: str, events: Events, seconds: float) -> None:
        self._tell(self._observer.hanging, consumer, events, seconds)


def _suitable(
    name: str, dispatcher: HostDispatcher | Immediate | None, configuration: Configuration
) -> HostDispatcher | Immediate:
    if dispatcher is None:
        return OneThread() if configuration.dispatching else Immediate(time.monotonic)
    if isinstance(dispatcher, HostDispatcher):
        if dispatcher.started and dispatcher.closing:
            raise ChannelError(f"channel {name}: {type(dispatcher).__name__} was closed; make a new one")
        return dispatcher
    if isinstance(dispatcher, Immediate):
        return dispatcher
    raise ChannelError(
        f"channel {name} runs in real time and {type(dispatcher).__name__} has no thread; use OneThread, "
        "ThreadPerConsumer or Preemptive"
    )


def _resolved(consumer: Consumer) -> PushConsumer | Callable[[Events], Any]:
    if not isinstance(consumer, str):
        return consumer
    module, colon, function = consumer.partition(":")
    if not colon:
        raise ChannelError(f"{consumer!r} is no entry point; write it as module:function")
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ChannelError(f"the entry point {consumer!r} does not exist: {error}") from error
    return found  # type: ignore[no-any-return]


def _earlier(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
