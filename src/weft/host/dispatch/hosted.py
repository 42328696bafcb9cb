"""What users do with a channel that has a clock and may have threads and processes, whoever its lock belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from weft.channel import (
    ConsumerQos,
    Dependency,
    Dispatcher,
    Event,
    EventChannel,
    PushSupplier,
    SupplierQos,
    depends,
    publishes,
)
from weft.host.dispatch.ends import RealTimeConsumer, RealTimeSupplier
from weft.host.dispatch.running import Consumer, Running
from weft.host.dispatch.standing import Standing

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier


class Hosted(ABC):
    _running: Running

    @property
    def dispatcher(self) -> Dispatcher:
        return self._running.dispatcher

    @abstractmethod
    def held(self) -> AbstractContextManager[EventChannel]:
        """The event channel itself, while nobody else touches it; what that leads to is done at the end."""

    @abstractmethod
    def push(self, proxy: ProxyPushConsumer, event: Event) -> None:
        """For the ends of suppliers."""

    # Who takes part

    def consume(
        self, consumer: Consumer, *registrations: Dependency, name: str = "", rt_info: str = ""
    ) -> RealTimeConsumer:
        """A consumer, connected, in one call; what it wants is asked for at other nodes, too, if the channel is joined to any."""
        return self.connect_consumer(consumer, depends(*registrations, name=name, rt_info=rt_info))

    def connect_consumer(self, consumer: Consumer, qos: ConsumerQos) -> RealTimeConsumer:
        with self.held():
            return RealTimeConsumer(self, self._running.connect_consumer(consumer, qos))

    def supply(
        self, *pairs: tuple[int, int], supplier: PushSupplier | None = None, name: str = "", rt_info: str = ""
    ) -> RealTimeSupplier:
        """A supplier of these (source, type) pairs, connected, in one call."""
        return self.connect_supplier(supplier, publishes(*pairs, name=name, rt_info=rt_info))

    def connect_supplier(self, supplier: PushSupplier | None, qos: SupplierQos) -> RealTimeSupplier:
        with self.held():
            return RealTimeSupplier(self, *self._running.connect_supplier(supplier, qos))

    def consumer_gone(self, proxy: ProxyPushSupplier) -> None:
        self._running.consumer_gone(proxy)

    def supplier_gone(self, number: int) -> None:
        self._running.supplier_gone(number)

    # Dispatching

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Until nothing waits here and nobody runs; False if that took too long."""
        return self._running.wait_idle(timeout)

    def urgently(self) -> AbstractContextManager[Standing]:
        """The calling thread stands with those of the channel meanwhile, above all consumers (see
        docs/explanation/realtime.md)."""
        return self._running.urgently()

    def must_yield(self) -> bool:
        """Asked by a consumer that runs: does something of a higher preemption priority wait?"""
        return self._running.must_yield()

    def pending(self) -> int:
        """How many pushes wait."""
        return self._running.channel.pending()
