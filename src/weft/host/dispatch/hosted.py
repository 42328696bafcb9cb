"""What users do with a channel that has a clock and may have threads and processes, whoever its lock belongs to: the channel,
and the ends of suppliers and consumers that they hold."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from weft.channel import (
    ConsumerQos,
    Dependency,
    Dispatcher,
    Event,
    EventChannel,
    Events,
    ProxyPullSupplier,
    PullSupplier,
    PushSupplier,
    SupplierQos,
    depends,
    interval,
    publishes,
)
from weft.channel.pulling import CAPACITY, Polling
from weft.host.dispatch import worker
from weft.host.dispatch.running import Consumer, Running
from weft.host.dispatch.standing import Standing
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Scheduler
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
        self,
        *pairs: tuple[int, int],
        supplier: PushSupplier | None = None,
        name: str = "",
        rt_info: str = "",
        best_effort: bool = False,
    ) -> RealTimeSupplier:
        """A supplier of these (source, type) pairs, connected, in one call."""
        return self.connect_supplier(
            supplier, publishes(*pairs, name=name, rt_info=rt_info, best_effort=best_effort)
        )

    def connect_supplier(self, supplier: PushSupplier | None, qos: SupplierQos) -> RealTimeSupplier:
        with self.held():
            return RealTimeSupplier(self, *self._running.connect_supplier(supplier, qos))

    # The pull model

    def pulled(
        self, *registrations: Dependency, name: str = "", rt_info: str = "", capacity: int = CAPACITY
    ) -> RealTimePullConsumer:
        """A consumer that pulls, connected, in one call; events are kept for it, whatever the dispatcher does."""
        with self.held() as channel:
            proxy = channel.pulled(
                *registrations, name=name, rt_info=rt_info, capacity=capacity, now=time.monotonic()
            )
            proxy.buffer.arrived = self._arrived
            return RealTimePullConsumer(self, proxy)

    def pull_from(
        self,
        supplier: PullSupplier | Callable[[], Event | None],
        *pairs: tuple[int, int],
        every: float,
        name: str = "",
        rt_info: str = "",
    ) -> RealTimePullSupplier:
        """A supplier that is asked for events every so many seconds, where consumers of that RT_Info run."""
        pushing = self.supply(*pairs, name=name, rt_info=rt_info)
        try:
            polling = _OneAsks(supplier, pushing.name, _Pushing(pushing))
            timer = self.consume(polling, interval(every), name=f"pull of {pushing.name}", rt_info=rt_info)
        except ChannelError:
            pushing.disconnect()
            raise
        return RealTimePullSupplier(pushing, timer)

    @abstractmethod
    def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Does it come true, in that time?  Asked whenever something was kept for a consumer that pulls."""

    @abstractmethod
    def _arrived(self) -> None:
        """With the lock: something was kept for a consumer that pulls."""

    # Dispatching

    def reschedule(self, schedule: Scheduler | None) -> None:
        """Replaces the run-time scheduler without losing an event, as `EventChannel.reschedule`."""
        with self.held():
            self._running.reschedule(schedule)

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


class RealTimePullConsumer:
    """A consumer that pulls."""

    def __init__(self, host: Hosted, proxy: ProxyPullSupplier) -> None:
        self._host = host
        self.proxy = proxy

    @property
    def name(self) -> str:
        return self.proxy.proxy.name

    def try_pull(self) -> Events | None:
        """The events of one push, the most urgent first; None if there is none."""
        with self._host.held():
            return self.proxy.try_pull(time.monotonic())

    def pull(self, timeout: float | None = None) -> Events | None:
        """The same, and waits until there is one; None if there was none in that time."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            found = self.try_pull()
            if found is not None:
                return found
            left = None if until is None else max(0.0, until - time.monotonic())
            if not self._host.wait_until(lambda: self.proxy.buffer.length > 0, left):
                return None

    def disconnect(self) -> None:
        """What is kept for it is dropped."""
        with self._host.held():
            self.proxy.disconnect_pull_supplier()


class RealTimePullSupplier:
    """A supplier that is pulled."""

    def __init__(self, pushing: RealTimeSupplier, timer: RealTimeConsumer) -> None:
        self._pushing = pushing
        self.timer = timer

    @property
    def name(self) -> str:
        return self._pushing.name

    def disconnect(self) -> None:
        """It is not asked again.  What it has given is still delivered."""
        self.timer.disconnect()
        self._pushing.disconnect()


class _OneAsks(Polling):
    """A supplier is asked by one thread at a time: one that finds another at it leaves it to that one."""

    def __init__(
        self, supplier: PullSupplier | Callable[[], Event | None], name: str, push: _Pushing
    ) -> None:
        super().__init__(supplier, name, push)
        self._asked = threading.Lock()

    def __call__(self, events: Events) -> None:
        if self._asked.acquire(blocking=False):
            try:
                super().__call__(events)
            finally:
                self._asked.release()

    def __getstate__(self) -> dict[str, object]:
        """On its way to another process, which has a lock of its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._asked = threading.Lock()


class _Pushing:
    """What a pull supplier gave goes the way of a supplier, also from the process of a consumer."""

    def __init__(self, supplier: RealTimeSupplier) -> None:
        self._supplier = supplier

    def __call__(self, event: Event, now: float) -> None:
        self._supplier.push(event)


class RealTimeConsumer:
    """A consumer that is connected; its `proxy` has the counts."""

    def __init__(self, host: Hosted, proxy: ProxyPushSupplier) -> None:
        self._host = host
        self.proxy = proxy

    @property
    def name(self) -> str:
        return self.proxy.name

    def register(self, dependency: Dependency) -> int:
        """One more registration; its number, for `cancel`."""
        with self._host.held():
            return self.proxy.register(dependency, time.monotonic())

    def cancel(self, number: int) -> None:
        with self._host.held():
            self.proxy.cancel(number)

    def suspend(self) -> None:
        with self._host.held():
            self.proxy.suspend()

    def resume(self) -> None:
        with self._host.held():
            self.proxy.resume(time.monotonic())

    def disconnect(self) -> None:
        """No push begins after this; one that runs goes on."""
        with self._host.held():
            self.proxy.disconnect_push_supplier()
            self._host._running.consumer_gone(self.proxy)


class RealTimeSupplier:
    """A supplier that is connected.  Consumers may use it wherever they run: in another process it sends to the channel's."""

    def __init__(self, host: Hosted, number: int, proxy: ProxyPushConsumer) -> None:
        self._host = host
        self._number = number
        self._proxy = proxy

    @property
    def name(self) -> str:
        return self._proxy.name

    def push(self, event: Event) -> None:
        """To all consumers that want it; if the channel is joined to others, there too.

        Then it has left this process when the call returns, or leaves within half a millisecond if it follows closely on
        another; the call waits while a node that wants the event does not take what it was sent."""
        here = worker.current()
        if here is not None:
            self._proxy.check(event)
            here.push(self._number, event)
            return
        self._host.push(self._proxy, event)

    def disconnect(self) -> None:
        with self._host.held():
            self._proxy.disconnect_push_consumer()
            self._host._running.supplier_gone(self._number)

    def __reduce__(self) -> tuple[type[_SupplierElsewhere], tuple[int, str]]:
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
