"""The pull model of the CORBA event service (S3-2): consumers that fetch events when they have time, suppliers that are asked.

A *pull consumer* registers as any other, and correlation and filtering are the same.  What is decided for it is not dispatched
but kept for it, in the order that the schedule gives, until it pulls; it runs in its own time, so nothing measures how long it
takes.  At most `capacity` pushes are kept: of more, the oldest are discarded, counted and told.

A *pull supplier* is asked for events by the channel: every so many seconds, as an operation of the schedule like any consumer,
or, if no time is given, whenever a pull consumer finds nothing.  It answers with an event, or with None if it has none now.
What it gives goes the way of everything that is pushed, to consumers of both kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from weft.channel.event import Event, Events
from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier
from weft.channel.qos import ConsumerQos, SupplierQos, depends, interval
from weft.channel.work import PullBuffer
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.core import Core

CAPACITY: Final = 1024
AT_ONCE: Final = 1024  # events that a supplier is asked for at most, before others have their turn


class PullSupplier(Protocol):
    """A plain function without arguments will do as well."""

    def pull(self) -> Event | None:
        """The next event; None: there is none now."""


class ProxyPullSupplier:
    """The channel's end of a consumer that pulls."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.proxy = ProxyPushSupplier(core)
        self.buffer = PullBuffer(CAPACITY)

    def connect_pull_consumer(self, qos: ConsumerQos, now: float, capacity: int = CAPACITY) -> None:
        """From now on; events that it is registered for are kept for it."""
        if capacity < 1:
            raise ChannelError(f"{qos.name or 'a consumer'} can keep {capacity} pushes; at least 1")
        self.buffer = PullBuffer(capacity)
        self.proxy.connect_push_consumer(_pulls, qos, now)
        self.proxy.buffer = self.buffer

    def try_pull(self, now: float) -> Events | None:
        """The events of one push, the most urgent first; None if there is none."""
        if not self.proxy.connected:
            raise ChannelError(
                f"{self.proxy.name or 'this proxy'} is not connected to channel {self._core.name}"
            )
        core = self._core
        if core.timers.is_due(now):
            core.expire(now)
        work = self.buffer.take()
        if work is None:
            for poll in list(core.pollers):
                poll(now)
            work = self.buffer.take()
        if work is None:
            return None
        work.starts(now, self.buffer.length)
        work.missed_by(now)
        return work.events

    def pending(self) -> int:
        """How many pushes are kept."""
        return self.buffer.length

    def disconnect_pull_supplier(self) -> None:
        """What is kept for it is dropped."""
        self.proxy.disconnect_push_supplier()
        self.buffer.clear()


class Polling:
    """Asks a pull supplier, as a consumer of timeouts does its work; what it has is handed to `push`."""

    def __init__(
        self,
        supplier: PullSupplier | Callable[[], Event | None],
        name: str,
        push: Callable[[Event, float], None],
    ) -> None:
        pull = getattr(supplier, "pull", supplier)
        if not callable(pull):
            raise ChannelError(f"{name} is no pull supplier: it has no pull and cannot be called")
        self._pull: Callable[[], Event | None] = pull
        self._push = push
        self.name = name

    def __call__(self, events: Events) -> None:
        self.poll(events[0].created)

    def poll(self, now: float) -> int:
        """Until it has no more; how many it had."""
        for count in range(AT_ONCE):
            event = self._pull()
            if event is None:
                return count
            if not isinstance(event, Event):
                raise ChannelError(
                    f"{self.name} was pulled and gave {event!r}; a pull supplier gives an Event or None"
                )
            self._push(event, now)
        return AT_ONCE


class ProxyPullConsumer:
    """The channel's end of a supplier that is pulled."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.proxy = ProxyPushConsumer(core)
        self.timer: ProxyPushSupplier | None = None  # gets the timeouts at which it is asked
        self._polling: Polling | None = None

    def connect_pull_supplier(
        self,
        supplier: PullSupplier | Callable[[], Event | None],
        qos: SupplierQos,
        now: float,
        every: float | None = None,
        rt_info: str = "",
    ) -> None:
        """Asked `every` so many seconds, as that operation of the schedule; None: when a pull consumer finds nothing."""
        core = self._core
        name = qos.name or "a pull supplier"
        polling = Polling(supplier, name, self.proxy.push)
        timed = None if every is None else depends(interval(every), name=f"pull of {name}", rt_info=rt_info)
        self.proxy.connect_push_supplier(None, qos)
        self._polling = polling
        if timed is None:
            core.pollers.append(self._poll_safely)
            return
        self.timer = ProxyPushSupplier(core)
        try:
            self.timer.connect_push_consumer(polling, timed, now)
        except Exception:
            self.proxy.disconnect_push_consumer()
            raise

    def pull(self, now: float) -> int:
        """Ask it at once; how many events it had."""
        if self._polling is None or not self.proxy.connected:
            raise ChannelError(
                f"{self.proxy.name or 'this proxy'} is not connected to channel {self._core.name}"
            )
        return self._polling.poll(now)

    def _poll_safely(self, now: float) -> None:
        """A supplier that raises hurts no consumer; the observer is told."""
        try:
            self.pull(now)
        except Exception as error:
            if self._core.observer is not None:
                self._core.observer.consumer_failed(self.proxy.name, (), error)

    def disconnect_pull_consumer(self) -> None:
        """It is not asked again.  What it has given is still delivered."""
        self.proxy.disconnect_push_consumer()
        if self.timer is not None:
            self.timer.disconnect_push_supplier()
        elif self._poll_safely in self._core.pollers:
            self._core.pollers.remove(self._poll_safely)


def _pulls(events: Events) -> None:
    raise AssertionError("a pull consumer is not pushed")
