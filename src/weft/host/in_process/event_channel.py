"""An event channel of this process, joined to those of the same name in other processes, with a real clock
(docs/explanation/channel.md).

The process is a node of the fabric (`in_process.mesh_node`), which brings links and an event loop.  All that belongs to the
channel
is touched only by the thread that holds the mutex of its node.  There are two ways to run it:

    by the loop       (SingleThreaded, Cooperative, Immediate) consumers are called with the mutex, one at a time, by the thread
                      that pushes, by the one that waits, or, when there is neither, by the attendant.  A consumer may push,
                      register, connect.  It must not wait, and a long one keeps the links of its process from being attended to.
    by itself         (the dispatchers of `weft.host.dispatch`: OneThread, Preemptive …) consumers are called without the mutex,
                      in the threads or processes of the dispatcher, which take it to fetch work and to report.  They may take
                      their time: what comes over the links is put into queues, what leaves does so in the push.

The dispatcher's lock *is* the mutex, so there is no order of locks to be kept; the driver gives it up while it sleeps.  Whoever
drives never waits for room in a queue, since links depend on it: only a thread that pushes, and for that takes the mutex itself.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from weft.channel import (
    FULL,
    ChannelObserver,
    Configuration,
    Dispatcher,
    Event,
    EventChannel,
    Gateway,
    Immediate,
    ProxyPushConsumer,
    Record,
    SingleThreaded,
)
from weft.host.dispatch import HostDispatcher
from weft.host.dispatch.hosted import Hosted
from weft.host.dispatch.running import Around, Running, fresh
from weft.host.dispatch.standing import channel_standing, take
from weft.host.in_process.mesh_node import OwnNode
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Scheduler

_NEVER = float("inf")
_AT_ONCE = 1 << 16  # bytes that wait for no more of a burst: the link is to know how much waits on it


class ProcessChannel(Hosted):
    """Make one with `weft.open_channel`.  With a dispatcher that has threads or processes, use it as a context: it is started on
    entry, after consumers have connected or before, and closed on exit."""

    def __init__(
        self,
        name: str,
        node: OwnNode,
        configuration: Configuration = FULL,
        dispatcher: Dispatcher | None = None,
        schedule: Scheduler | None = None,
        observer: ChannelObserver | None = None,
        peers: Iterable[str] | None = None,
        rt_info: str = "",
        record: Record | None = None,
    ) -> None:
        self.name = name
        self._node = node
        self._drive = node.drive
        self._by_itself = isinstance(dispatcher, HostDispatcher)
        self._due = _NEVER  # when the loop looks at the timers next
        self._closed = False
        self._waiting = 0  # threads that wait for something here
        self._patient: set[int] = set()  # threads that may wait for room in a queue
        chosen = _suitable(name, dispatcher, configuration, record)
        around = Around(self._pushed_elsewhere, self._attended, self._is_patient)
        with self._drive.mutex:
            links = node.channels
            self._has_room = links.has_room
            self._running = Running(
                node.name, self._drive.mutex, around, chosen, configuration, schedule, observer, record,
                links.next_epoch(), f"{name} of {node.name}",
            )  # fmt: skip
            self._channel = self._running.channel
            self._joined = links.join(name, self._channel, time.monotonic(), peers, rt_info)
            self._joined.settled = self._settle
            node.flush()

    @property
    def node(self) -> str:
        return self._node.name

    # --- taking part ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[EventChannel]:
        self._running.require_here()
        if self._drive.is_held:
            self._require_open()
            yield self._channel
            return
        with self._drive.mutex:
            self._require_open()
            yield self._channel
            self._settle()
            self._node.flush()
            self._notify()

    def _require_open(self) -> None:
        if self._node.failure:
            raise ChannelError(
                f"channel {self.name}: node {self._node.name} of this process cannot go on: {self._node.failure}"
            )
        if self._closed:
            raise ChannelError(f"channel {self.name} of {self._node.name} was closed; open it again")

    def push(self, proxy: ProxyPushConsumer, event: Event) -> None:
        drive = self._drive
        if drive.is_held:  # by a consumer, or whoever else is told something: who called it does the rest
            self._check(proxy)
            self._hand_in(proxy, event, time.monotonic())
            refused = self._joined.refused
        else:
            me = threading.get_ident()
            drive.mutex.acquire()
            try:
                self._check(proxy)
                if not proxy.best_effort and not self._is_room():
                    drive.until(self._is_room, self._node.patience)
                self._patient.add(me)
                now = time.monotonic()
                self._hand_in(proxy, event, now)
                self._see_to(now)
                refused = self._joined.refused
            finally:
                self._patient.discard(me)
                drive.mutex.release()
        if refused is not None:
            raise refused

    def _check(self, proxy: ProxyPushConsumer) -> None:
        if self._closed or self._node.failure:
            self._require_open()
        if self._running.stopped:
            self._running.require_running(proxy)

    def _hand_in(self, proxy: ProxyPushConsumer, event: Event, now: float) -> None:
        self._joined.refused = None
        proxy.push(event, now)

    def _pushed_elsewhere(self, proxy: ProxyPushConsumer, event: Event, now: float) -> None:
        """By a consumer in a process of its own; nobody waits, since all consumers depend on the thread that says so."""
        self._check(proxy)
        self._hand_in(proxy, event, now)
        self._see_to(now)
        if self._joined.refused is not None:
            raise self._joined.refused

    def _see_to(self, now: float) -> None:
        """What was pushed is carried out, and leaves; whoever waits for it looks again."""
        self._settle()
        links = self._node.channels
        if links.gathered < _AT_ONCE:
            self._node.pushed(now)
        else:
            links.gathered = 0
            self._node.flush()
        self._notify()

    def _attended(self) -> None:
        """By a thread of the dispatcher: consumers have run, and observers were told, who may have pushed."""
        if not self._node.failure:
            self._see_to(time.monotonic())

    def _is_patient(self) -> bool:
        return threading.get_ident() in self._patient

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
        if self._by_itself:
            self._running.retime()
            return
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
        """Let events come, for so long, or until that is so: was it?  Unless the dispatcher has threads or processes, consumers
        are called in this thread.

        `until` is asked whenever something has come or a consumer has ended, and must be quick."""
        self._running.require_here()
        drive = self._drive
        if drive.is_held:
            raise ChannelError(f"channel {self.name}: a consumer may not wait; it holds up what it waits for")
        asked = until or (lambda: False)
        with drive.mutex:
            self._require_open()
            self._require_started()
            self._node.flush()
            self._waiting += 1
            try:
                drive.until(lambda: bool(asked()) or bool(self._node.failure), seconds)
                return asked()
            finally:
                self._waiting -= 1

    def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        return self.wait(timeout, until=condition)

    def _arrived(self) -> None:
        self._notify()

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

    def lost(self) -> dict[str, int]:
        """For each node, how many of its best-effort events have not come over the link from there, as far as is known."""
        return {node: side.lost for node, side in self._joined.sides.items() if side.lost}

    # --- dispatchers with threads or processes (docs/explanation/realtime.md) ---------------------------------------------------

    def start(self) -> None:
        """Timers and consumers run from now on; before, what comes waits.  With Preemptive: processes are started.

        Nothing to do where the loop runs the channel: it does from the beginning."""
        if self._by_itself:
            if self._drive.is_held:
                raise ChannelError(
                    f"channel {self.name}: a consumer cannot start it; let another thread do so"
                )
            self._running.start()
            if isinstance(self.dispatcher, HostDispatcher) and self.dispatcher.realtime:
                take(channel_standing(True), self._drive.attendant)

    def _require_started(self) -> None:
        if self._by_itself and not self._running.started:
            raise ChannelError(
                f"channel {self.name} of {self._node.name} dispatches by {type(self.dispatcher).__name__}, which has not been "
                "started: call start(), or use the channel as a context, after consumers have connected"
            )

    def wait_idle(self, timeout: float | None = None) -> bool:
        self._require_started()
        return super().wait_idle(timeout)

    def reconfigure(self, configuration: Configuration, dispatcher: Dispatcher | None = None) -> None:
        """Replaces modules without losing an event, as `EventChannel.reconfigure`."""
        with self.held() as channel:
            if dispatcher is None and configuration.dispatching == channel.configuration.dispatching:
                dispatcher = self.dispatcher
            chosen = _suitable(self.name, dispatcher, configuration, None)
            if isinstance(chosen, HostDispatcher) != self._by_itself:
                raise ChannelError(
                    f"channel {self.name} of {self._node.name} cannot go from {type(self.dispatcher).__name__} to "
                    f"{type(chosen).__name__}: one has threads or processes and the other has not; close the channel and open "
                    "it anew"
                )
            self._running.reconfigure(configuration, chosen)

    # --- the end ----------------------------------------------------------------------------------------------------

    def stop(self, drain: bool = True, timeout: float = 10.0) -> list[str]:
        """Nothing more is taken, from suppliers here or from other nodes.  `drain`: what waits is carried out first, and what
        consumers push meanwhile leaves; otherwise, and after the time, it is given up and reported.  Then other nodes are told,
        and consumers and suppliers here are disconnected.  Who had not come back by then.

        The node goes on (`weft.stop_node`)."""
        running = self._running
        running.require_here()
        if self._closed:
            return []
        if not isinstance(self.dispatcher, HostDispatcher):
            self._leave()
            return []
        if self._drive.is_held or self.dispatcher.is_own_thread():
            raise ChannelError(
                f"channel {self.name}: a consumer cannot close it, for it would wait for itself; let another thread do so"
            )
        if not running.refuse():
            return []
        self._joined.is_deaf = True
        left = running.stop(drain, timeout)
        self._leave()
        return left

    def close(self, drain: bool = True) -> None:
        """As `stop`, and the log says who had not come back."""
        left = self.stop(drain)
        if left:
            self._node.channels.tell(
                self._joined, f"closed though these had not come back: {', '.join(left)}"
            )

    def _leave(self) -> None:
        if not self._node.failure:
            with self.held() as channel:
                self._node.channels.leave(self._joined, time.monotonic())
                channel.destroy()
        self._closed = True

    def __enter__(self) -> ProcessChannel:
        self.start()
        return self

    def __exit__(self, *why: object) -> None:
        self.close(drain=why[0] is None)


def _suitable(
    name: str, dispatcher: Dispatcher | None, configuration: Configuration, record: Record | None
) -> Dispatcher:
    if isinstance(dispatcher, HostDispatcher):
        return fresh(name, dispatcher)
    if dispatcher is None:
        clock = None if record is None else time.monotonic
        return SingleThreaded(clock=clock) if configuration.dispatching else Immediate(clock)
    return dispatcher
