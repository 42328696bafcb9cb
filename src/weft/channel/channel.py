"""The real-time event channel: suppliers and consumers, and between them filtering, correlation and dispatching.

Pure: the current time goes in with every push and every look at the timers, and whoever owns the thread runs what waits.  Not
for several threads at once; a host that has them takes care that one at a time is in a channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.channel.configuration import FULL, Candidate, Configuration, candidates, connected
from weft.channel.core import Core, Judge
from weft.channel.dispatchers import Immediate, SingleThreaded
from weft.channel.event import Event, Events
from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier
from weft.channel.pulling import CAPACITY, ProxyPullConsumer, ProxyPullSupplier, PullSupplier
from weft.channel.qos import ConsumerQos, Dependency, Publication, SupplierQos, depends, publishes
from weft.channel.scheduling.admission import AdmissionControl
from weft.channel.scheduling.urgency import Urgency
from weft.channel.subscriptions import Pattern
from weft.model.errors import AdmissionRefused, ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import (
        ChannelObserver,
        Dispatcher,
        PushConsumer,
        PushSupplier,
        Scheduler,
        SubscriptionObserver,
    )
    from weft.channel.record import Record


class ConsumerAdmin:
    """Makes the channel's ends of consumers."""

    def __init__(self, channel: EventChannel) -> None:
        self._channel = channel

    def obtain_push_supplier(self) -> ProxyPushSupplier:
        return self._channel.new_proxy_supplier()

    def obtain_pull_supplier(self) -> ProxyPullSupplier:
        return self._channel.new_pull_supplier()


class SupplierAdmin:
    """Makes the channel's ends of suppliers."""

    def __init__(self, channel: EventChannel) -> None:
        self._channel = channel

    def obtain_push_consumer(self) -> ProxyPushConsumer:
        return self._channel.new_proxy_consumer()

    def obtain_pull_consumer(self) -> ProxyPullConsumer:
        return self._channel.new_pull_consumer()


class EventChannel:
    """`boot` tells processes of a channel of the same name apart, for gateways.  Without a schedule all are equally urgent; with
    an `AdmissionControl` whoever connects is judged first.
    `record` is told of every push and dispatch (see `record`); it needs a dispatcher with a clock."""

    def __init__(
        self,
        name: str,
        configuration: Configuration = FULL,
        dispatcher: Dispatcher | None = None,
        schedule: Scheduler | None = None,
        observer: ChannelObserver | None = None,
        boot: int = 0,
        record: Record | None = None,
    ) -> None:
        if not name:
            raise ChannelError("a channel must have a name")
        chosen = _dispatcher(configuration, dispatcher)
        _check_record(record, chosen)
        self._core = Core(name, boot, configuration, chosen, _is_direct(chosen), schedule, observer, record)
        self._core.judge = self._judge(schedule)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def boot(self) -> int:
        return self._core.boot

    @property
    def configuration(self) -> Configuration:
        return self._core.configuration

    @property
    def dispatcher(self) -> Dispatcher:
        return self._core.dispatcher

    @property
    def schedule(self) -> Scheduler | None:
        return self._core.schedule

    # Who takes part

    def for_consumers(self) -> ConsumerAdmin:
        return ConsumerAdmin(self)

    def for_suppliers(self) -> SupplierAdmin:
        return SupplierAdmin(self)

    def new_proxy_supplier(self) -> ProxyPushSupplier:
        self._require_alive()
        return ProxyPushSupplier(self._core)

    def new_proxy_consumer(self) -> ProxyPushConsumer:
        self._require_alive()
        return ProxyPushConsumer(self._core)

    def new_pull_supplier(self) -> ProxyPullSupplier:
        self._require_alive()
        return ProxyPullSupplier(self._core)

    def new_pull_consumer(self) -> ProxyPullConsumer:
        self._require_alive()
        return ProxyPullConsumer(self._core)

    def pulled(
        self,
        *registrations: Dependency,
        name: str = "",
        rt_info: str = "",
        capacity: int = CAPACITY,
        now: float,
    ) -> ProxyPullSupplier:
        """A consumer that pulls (`try_pull`), connected, in one call."""
        proxy = self.new_pull_supplier()
        proxy.connect_pull_consumer(depends(*registrations, name=name, rt_info=rt_info), now, capacity)
        return proxy

    def pull_from(
        self,
        supplier: PullSupplier | Callable[[], Event | None],
        *pairs: tuple[int, int],
        every: float | None = None,
        name: str = "",
        rt_info: str = "",
        now: float,
    ) -> ProxyPullConsumer:
        """A supplier that is pulled, connected, in one call (see `pulling`)."""
        proxy = self.new_pull_consumer()
        qos = publishes(*pairs, name=name, rt_info=rt_info)
        proxy.connect_pull_supplier(supplier, qos, now, every, rt_info)
        return proxy

    def consume(
        self,
        consumer: PushConsumer | Callable[[Events], object],
        *registrations: Dependency,
        name: str = "",
        rt_info: str = "",
        now: float,
    ) -> ProxyPushSupplier:
        """A consumer, connected, in one call."""
        return self.connect_consumer(consumer, depends(*registrations, name=name, rt_info=rt_info), now)

    def connect_consumer(
        self, consumer: PushConsumer | Callable[[Events], object], qos: ConsumerQos, now: float
    ) -> ProxyPushSupplier:
        proxy = self.new_proxy_supplier()
        proxy.connect_push_consumer(consumer, qos, now)
        return proxy

    def supply(
        self,
        *pairs: tuple[int, int],
        supplier: PushSupplier | None = None,
        name: str = "",
        rt_info: str = "",
        best_effort: bool = False,
    ) -> ProxyPushConsumer:
        """A supplier of these (source, type) pairs, connected, in one call."""
        return self.connect_supplier(
            supplier, publishes(*pairs, name=name, rt_info=rt_info, best_effort=best_effort)
        )

    def connect_supplier(self, supplier: PushSupplier | None, qos: SupplierQos) -> ProxyPushConsumer:
        proxy = self.new_proxy_consumer()
        proxy.connect_push_supplier(supplier, qos)
        return proxy

    def consumers(self) -> list[ProxyPushSupplier]:
        """In the order in which they connected."""
        return list(self._core.consumers)

    def suppliers(self) -> list[ProxyPushConsumer]:
        return list(self._core.suppliers)

    def observe(self, observer: SubscriptionObserver) -> None:
        """It is told at once what is wanted, and then of every change."""
        self._core.observers.append(observer)
        observer.wants_changed(self.wanted(), frozenset())

    def ignore(self, observer: SubscriptionObserver) -> None:
        self._core.observers.remove(observer)

    def wanted(self) -> frozenset[Pattern]:
        """What the consumers want, gateways left out."""
        return frozenset(self._core.wanted_here.counts)

    # Time

    def next_due(self) -> float | None:
        """When `expire` should be called; None if no timer runs."""
        return self._core.timers.next_due()

    def expire(self, now: float) -> int:
        """Timeouts that are due go to their consumers, at their urgency; how many."""
        return self._core.expire(now)

    # Dispatching

    def must_yield(self) -> bool:
        """Asked by a consumer that runs: does something of a higher preemption priority wait?"""
        return self._core.dispatcher.must_yield()

    def pending(self) -> int:
        """How many pushes wait."""
        return self._core.dispatcher.pending()

    def run_one(self) -> bool:
        """Carry out the most urgent push; was there any?"""
        return self._core.dispatcher.run_one()

    def run_pending(self) -> int:
        """Until nothing waits, also at a dispatcher that takes over meanwhile; how many."""
        count = 0
        while self._core.dispatcher.run_one():
            count += 1
        return count

    # Changes at run time

    def reconfigure(
        self, configuration: Configuration, now: float, dispatcher: Dispatcher | None = None
    ) -> None:
        """Replaces modules without losing an event (S3-12); during a push, as soon as that has ended.

        Work that waits moves to the new dispatcher, in order.  Groups keep what they have as long as the channel correlates;
        when it no longer does, each consumer gets what its groups waited with, in one push.  Timers run on."""
        self._require_alive()
        core = self._core
        chosen = dispatcher
        if chosen is None and configuration.dispatching == core.configuration.dispatching:
            chosen = core.dispatcher
        chosen = _dispatcher(configuration, chosen)
        _check_record(core.record, chosen)
        core.later(lambda: self._replace(configuration, chosen, now))

    def _replace(self, configuration: Configuration, dispatcher: Dispatcher, now: float) -> None:
        core = self._core
        old = core.configuration
        core.configuration = configuration
        if dispatcher is not core.dispatcher:
            before = core.dispatcher
            core.dispatcher = dispatcher
            core.direct = _is_direct(dispatcher)
            dispatcher.take_over(before.hand_over(dispatcher))
        if (old.filtering, old.correlation) != (configuration.filtering, configuration.correlation):
            released = [(proxy, proxy.recompile()) for proxy in self.consumers()]
            for proxy, held in released:
                if held and proxy.connected:
                    proxy.release(held, now)
            core.settle()

    def reschedule(self, schedule: Scheduler | None) -> None:
        """Replaces the run-time scheduler without losing an event (S3-23); during a push, as soon as that has ended.

        From then on everything goes by the new one, work that waits too: its deadlines and keys count from its push.  What runs
        is interrupted, if it can be, by what the new schedule has before it.  The new schedule must know all operations that
        consumers and suppliers are connected as."""
        self._require_alive()
        if isinstance(schedule, AdmissionControl):
            self._admit(schedule, Candidate("what is connected", "", (), ()))
        if schedule is not None:
            for proxy in self.consumers():
                for name in sorted(proxy.rt_infos()):
                    schedule.urgency(name)
        self._core.later(lambda: self._exchange(schedule))

    def urgency(self, rt_info: str) -> Urgency:
        """As the schedule that holds says."""
        return self._core.urgency(rt_info)

    def _exchange(self, schedule: Scheduler | None) -> None:
        self._core.reschedule(schedule)
        self._core.judge = self._judge(schedule)
        self._rank()

    def _rank(self) -> None:
        """Everything by the schedule that holds now."""
        core = self._core
        for proxy in self.consumers():
            proxy.rerank()
        core.subscriptions.stale_all()
        core.dispatcher.rerank(lambda work: core.urgency_now(work.rt_info))

    def _judge(self, schedule: Scheduler | None) -> Judge | None:
        if not isinstance(schedule, AdmissionControl):
            return None

        def judge(
            name: str,
            rt_info: str,
            registrations: tuple[Dependency, ...],
            publications: tuple[Publication, ...],
        ) -> None:
            asks = Candidate(name, rt_info, registrations, publications)
            if asks.rt_infos():
                self._admit(schedule, asks)
                self._core.reschedule(schedule)  # at once: it is about to be looked up
                self._core.later(self._rank)

        return judge

    def _admit(self, control: AdmissionControl, asks: Candidate) -> None:
        """Or refuse it; then nothing has changed."""
        core = self._core
        names = {name for one in candidates(self) for name in one.rt_infos()} | asks.rt_infos()
        verdict = control.judge(asks.name, connected(self, control.needed(sorted(names), asks.name), asks))
        if not verdict.fits:
            if control.refuse:
                raise AdmissionRefused(f"channel {core.name}: {verdict}")
            if core.observer is not None:
                core.observer.admitted_late(asks.name, str(verdict))
        control.adopt(verdict)

    def destroy(self) -> None:
        """Consumers and suppliers are disconnected, and what waits is dropped."""
        if self._core.destroyed:
            return
        for consumer in self.consumers():
            consumer.disconnect_push_supplier()
        for supplier in self.suppliers():
            supplier.disconnect_push_consumer()
        self._core.destroyed = True

    def _require_alive(self) -> None:
        if self._core.destroyed:
            raise ChannelError(f"channel {self._core.name} was destroyed")


def _dispatcher(configuration: Configuration, dispatcher: Dispatcher | None) -> Dispatcher:
    if dispatcher is None:
        return SingleThreaded() if configuration.dispatching else Immediate()
    if configuration.dispatching == isinstance(dispatcher, Immediate):
        has = "has" if configuration.dispatching else "has no"
        raise ChannelError(
            f"the configuration {has} dispatching, which does not fit {type(dispatcher).__name__}"
        )
    return dispatcher


def _check_record(record: Record | None, dispatcher: Dispatcher) -> None:
    if record is not None and getattr(dispatcher, "clock", None) is None:
        raise ChannelError(
            f"a channel with a record needs a dispatcher with a clock; give {type(dispatcher).__name__} one"
        )


def _is_direct(dispatcher: Dispatcher) -> bool:
    """Without a clock, pushes need not even pass the dispatcher."""
    return isinstance(dispatcher, Immediate) and dispatcher.clock is None
