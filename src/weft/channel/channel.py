"""The real-time event channel: suppliers and consumers, and between them filtering, correlation and dispatching.

Pure: the current time goes in with every push and every look at the timers, and whoever owns the thread runs what waits.  Not
for several threads at once; a host that has them takes care that one at a time is in a channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.channel.configuration import FULL, Configuration
from weft.channel.core import Core
from weft.channel.dispatchers import Immediate, SingleThreaded
from weft.channel.event import Events
from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier
from weft.channel.qos import ConsumerQos, Dependency, SupplierQos, depends, publishes
from weft.channel.subscriptions import Pattern
from weft.model.errors import ChannelError

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


class SupplierAdmin:
    """Makes the channel's ends of suppliers."""

    def __init__(self, channel: EventChannel) -> None:
        self._channel = channel

    def obtain_push_consumer(self) -> ProxyPushConsumer:
        return self._channel.new_proxy_consumer()


class EventChannel:
    """`boot` tells processes of a channel of the same name apart, for gateways.  Without a schedule all are equally urgent.
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
        self, *pairs: tuple[int, int], supplier: PushSupplier | None = None, name: str = "", rt_info: str = ""
    ) -> ProxyPushConsumer:
        """A supplier of these (source, type) pairs, connected, in one call."""
        return self.connect_supplier(supplier, publishes(*pairs, name=name, rt_info=rt_info))

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
        answer: bool = self._core.dispatcher.must_yield()
        return answer

    def pending(self) -> int:
        """How many pushes wait."""
        answer: int = self._core.dispatcher.pending()
        return answer

    def run_one(self) -> bool:
        """Carry out the most urgent push; was there any?"""
        answer: bool = self._core.dispatcher.run_one()
        return answer

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
