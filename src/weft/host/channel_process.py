"""An event channel of this process, joined to those of the same name in other processes, with a real clock (docs/channel.md).

The process is a node of the fabric (`weft.host.own_node`), which brings links and an event loop.  All that belongs to the channel
is touched only by the thread that holds the mutex of its node: consumers are called one at a time, by the thread that pushes, by
the one that waits, or, when there is neither, by the attendant.  A consumer may push, register, connect: it holds the mutex.  It
must not wait, and a long one keeps the links of its process from being attended to; give such a one a dispatcher that has
processes of its own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from weft.channel import (
    FULL,
    ChannelObserver,
    Configuration,
    Dependency,
    Dispatcher,
    Event,
    EventChannel,
    Events,
    Gateway,
    ProxyPushConsumer,
    ProxyPushSupplier,
    PushConsumer,
    PushSupplier,
    Schedule,
)
from weft.host.own_node import OwnNode
from weft.model.errors import ChannelError

_NEVER = float("inf")
_AT_ONCE = 1 << 16  # bytes that wait for no more of a burst: the link is to know how much waits on it


class ProcessSupplier:
    """The channel's end of a supplier."""

    def __init__(self, host: ProcessChannel, proxy: ProxyPushConsumer) -> None:
        self._host = host
        self._proxy = proxy

    @property
    def name(self) -> str:
        return self._proxy.name

    def push(self, event: Event) -> None:
        """To all consumers that want it, here and elsewhere.  It has left this process when the call returns, or leaves within
        half a millisecond if it follows closely on another.  Waits while a node that wants it does not take what it was sent."""
        self._host.push(self._proxy, event)

    def disconnect(self) -> None:
        with self._host.held():
            self._proxy.disconnect_push_consumer()


class ProcessConsumer:
    """The channel's end of a consumer."""

    def __init__(self, host: ProcessChannel, proxy: ProxyPushSupplier) -> None:
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
        with self._host.held():
            self.proxy.disconnect_push_supplier()


class ProcessChannel:
    """Make one with `weft.open_channel`."""

    def __init__(
        self,
        name: str,
        node: OwnNode,
        configuration: Configuration = FULL,
        dispatcher: Dispatcher | None = None,
        schedule: Schedule | None = None,
        observer: ChannelObserver | None = None,
        peers: Iterable[str] | None = None,
        rt_info: str = "",
    ) -> None:
        self.name = name
        self._node = node
        self._drive = node.drive
        self._due = _NEVER  # when the timers are looked at next
        self._closed = False
        self._waiting = 0  # threads that wait for something here
        with self._locked():
            links = node.channels
            self._has_room = links.has_room
            boot = links.next_epoch()
            self._channel = EventChannel(node.name, configuration, dispatcher, schedule, observer, boot)
            self._joined = links.join(name, self._channel, time.monotonic(), peers, rt_info)
            self._joined.settled = self._settle
            node.flush()

    @property
    def node(self) -> str:
        return self._node.name

    # --- taking part ------------------------------------------------------------------------------------------------

    def supply(
        self, *pairs: tuple[int, int], supplier: PushSupplier | None = None, name: str = "", rt_info: str = ""
    ) -> ProcessSupplier:
        """A supplier of these (source, type) pairs."""
        with self.held() as channel:
            return ProcessSupplier(
                self, channel.supply(*pairs, supplier=supplier, name=name, rt_info=rt_info)
            )

    def consume(
        self,
        consumer: PushConsumer | Callable[[Events], Any],
        *registrations: Dependency,
        name: str = "",
        rt_info: str = "",
    ) -> ProcessConsumer:
        """A consumer; what it wants is asked for at the other nodes, too."""
        with self.held() as channel:
            now = time.monotonic()
            return ProcessConsumer(
                self, channel.consume(consumer, *registrations, name=name, rt_info=rt_info, now=now)
            )

    @contextlib.contextmanager
    def held(self) -> Iterator[EventChannel]:
        """The event channel itself, while nobody else touches it; what that leads to is done at the end."""
        if self._drive.is_held:
            self._require_open()
            yield self._channel
            return
        with self._locked():
            self._require_open()
            yield self._channel
            self._settle()
            self._node.flush()
            self._notify()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._drive.mutex.acquire()
        try:
            yield
        finally:
            self._drive.mutex.release()

    def _require_open(self) -> None:
        if self._node.failure:
            raise ChannelError(
                f"channel {self.name}: node {self._node.name} of this process cannot go on: {self._node.failure}"
            )
        if self._closed:
            raise ChannelError(f"channel {self.name} of {self._node.name} was closed; open it again")

    def push(self, proxy: ProxyPushConsumer, event: Event) -> None:
        joined = self._joined
        drive = self._drive
        is_inner = drive.is_held  # a consumer pushes: whoever called it does the rest
        if not is_inner:
            drive.mutex.acquire()
        try:
            if self._closed or self._node.failure:
                self._require_open()
            if not is_inner and not self._is_room():
                drive.until(self._is_room, self._node.patience)
            now = time.monotonic()
            joined.refused = None
            proxy.push(event, now)
            if not is_inner:
                self._settle()
                self._leave(now)
                self._notify()
            refused = joined.refused
        finally:
            if not is_inner:
                drive.mutex.release()
        if refused is not None:
            raise refused

    def _leave(self, now: float) -> None:
        links = self._node.channels
        if links.gathered < _AT_ONCE:
            self._node.pushed(now)
        else:
            links.gathered = 0
            self._node.flush()

    def _notify(self) -> None:
        """What another thread waits for may have come."""
        if self._waiting:
            self._drive.notify()

    def _is_room(self) -> bool:
        """Who was not waited for in vain before is waited for."""
        has_room = self._has_room
        for side in self._joined.sides.values():
            if side.gateway is not None and not side.is_crowded and not has_room(side.node):
                return False
        return True

    # --- time -------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """What waits is carried out, and the timers are looked at when they are due."""
        channel = self._channel
        channel.run_pending()
        due = channel.next_due()
        if due is not None and due < self._due:
            self._due = due
            self._drive.loop.call_at(due, self._expire)

    def _expire(self) -> None:
        now = time.monotonic()
        if self._closed or now < self._due:
            return  # an earlier one has seen to it, and another is set
        self._due = _NEVER
        self._channel.expire(now)
        self._settle()

    def wait(self, seconds: float | None = None, until: Callable[[], bool] | None = None) -> bool:
        """Let events come, and consumers be called, in this thread; for so long, or until that is so: was it?

        `until` is asked whenever something has come, and must be quick."""
        drive = self._drive
        if drive.is_held:
            raise ChannelError(f"channel {self.name}: a consumer may not wait; it holds up what it waits for")
        asked = until or _no
        with self._locked():
            self._require_open()
            self._node.flush()
            self._waiting += 1
            try:
                drive.until(lambda: bool(asked()) or bool(self._node.failure), seconds)
                return asked()
            finally:
                self._waiting -= 1

    # --- who is there -----------------------------------------------------------------------------------------------

    def linked(self) -> tuple[str, ...]:
        """The nodes to whose channel there is a link just now."""
        return self._joined.linked()

    def gateways(self) -> list[Gateway]:
        """Those of the links that are up; each says what is wanted beyond it (`counts`), and how many events it has sent."""
        return list(self._joined.border.gateways.values())

    def reaches(self) -> dict[str, tuple[str, ...]]:
        """The nodes that have this channel and can be reached, each with the way there."""
        with self.held():
            return self._joined.border.known()

    def discarded(self) -> dict[str, int]:
        """For each node that did not take its events, how many it has lost."""
        return {node: side.discarded for node, side in self._joined.sides.items() if side.discarded}

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Other nodes are told; consumers and suppliers here are disconnected.  The node goes on (`weft.stop_node`)."""
        if self._closed or self._node.failure:
            return
        with self.held() as channel:
            self._node.channels.leave(self._joined, time.monotonic())
            channel.destroy()
        self._closed = True

    def __enter__(self) -> ProcessChannel:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _no() -> bool:
    return False
