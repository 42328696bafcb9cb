"""The ends of suppliers and consumers that users hold, of a channel that has a clock and may have threads and processes."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from weft.channel import Dependency, Event, EventChannel
from weft.host.dispatch import worker
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier


class EndsHost(Protocol):
    """The channel they belong to."""

    def held(self) -> AbstractContextManager[EventChannel]:
        """The event channel itself, while nobody else touches it."""

    def push(self, proxy: ProxyPushConsumer, event: Event, /) -> None: ...

    def consumer_gone(self, proxy: ProxyPushSupplier, /) -> None: ...

    def supplier_gone(self, number: int, /) -> None: ...


class RealTimeConsumer:
    """A consumer that is connected; its `proxy` has the counts."""

    def __init__(self, host: EndsHost, proxy: ProxyPushSupplier) -> None:
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
            self._host.consumer_gone(self.proxy)


class RealTimeSupplier:
    """A supplier that is connected.  Consumers may use it wherever they run: in another process it sends to the channel's."""

    def __init__(self, host: EndsHost, number: int, proxy: ProxyPushConsumer) -> None:
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
            self._host.supplier_gone(self._number)

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
