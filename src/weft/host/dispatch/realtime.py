"""An event channel in real time: any number of threads may use it, timers run by themselves, and consumers are dispatched by
threads or processes (docs/explanation/realtime.md).

The clock is the monotonic clock of the machine.  One lock guards the channel; consumers run without it, except where there is no
dispatching: then they run in the thread of the supplier, one at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.channel import (
    FULL,
    ChannelObserver,
    Configuration,
    Dispatcher,
    Event,
    EventChannel,
    Immediate,
    Record,
)
from weft.host.dispatch.desks import HostDispatcher
from weft.host.dispatch.hosted import Hosted
from weft.host.dispatch.running import Around, Running, fresh
from weft.host.dispatch.threads import OneThread
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Scheduler
    from weft.channel.proxies import ProxyPushConsumer


class RealTimeChannel(Hosted):
    """Use it as a context: it is started on entry, after consumers and suppliers have connected or before, and stopped on exit.

    dispatcher: OneThread (the default), ThreadPools, ThreadPerConsumer or Preemptive; Immediate where there is no dispatching.
    observer: hears what goes wrong, from any thread, one call at a time.
    """

    def __init__(
        self,
        name: str,
        dispatcher: Dispatcher | None = None,
        configuration: Configuration = FULL,
        schedule: Scheduler | None = None,
        observer: ChannelObserver | None = None,
        record: Record | None = None,
        boot: int = 0,
    ) -> None:
        chosen = _suitable(name, dispatcher, configuration)
        self._lock = threading.RLock()
        self._kept = threading.Condition(self._lock)  # for a consumer that pulls
        self._running = Running(
            name, self._lock, Around(self._push), chosen, configuration, schedule, observer, record, boot
        )

    @property
    def name(self) -> str:
        return self._running.channel.name

    def now(self) -> float:
        return time.monotonic()

    @contextmanager
    def held(self) -> Iterator[EventChannel]:
        self._running.require_here()
        with self._lock:
            yield self._running.channel
            self._running.retime()

    def push(self, proxy: ProxyPushConsumer, event: Event) -> None:
        with self._lock:
            self._push(proxy, event, time.monotonic())

    def _push(self, proxy: ProxyPushConsumer, event: Event, now: float) -> None:
        running = self._running
        if running.stopped:
            running.require_running(proxy)
        proxy.push(event, now)
        running.retime()

    def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        with self._kept:
            return self._kept.wait_for(lambda: condition() or self._running.stopped, timeout) and condition()

    def _arrived(self) -> None:
        self._kept.notify_all()

    # Running

    def start(self) -> None:
        """Timers and consumers run from now on.  With Preemptive: processes are started, so it is best done before there are
        other threads."""
        self._running.start()

    def stop(self, drain: bool = True, timeout: float = 10.0) -> list[str]:
        """No push is taken any more.  `drain`: what waits is carried out first; otherwise, and after the time, it is given up
        and reported.  Who had not come back by then."""
        running = self._running
        running.require_here()
        if not running.refuse():
            return []
        left = running.stop(drain, timeout)
        with self._lock:
            running.channel.destroy()
            self._kept.notify_all()
        return left

    def reconfigure(self, configuration: Configuration, dispatcher: Dispatcher | None = None) -> None:
        """Replaces modules without losing an event, as `EventChannel.reconfigure`.  The old dispatcher ends when those who run
        have come back."""
        with self.held() as channel:
            if dispatcher is None and configuration.dispatching == channel.configuration.dispatching:
                dispatcher = self.dispatcher
            self._running.reconfigure(configuration, _suitable(self.name, dispatcher, configuration))

    def __enter__(self) -> RealTimeChannel:
        self.start()
        return self

    def __exit__(self, *why: object) -> None:
        self.stop(drain=why[0] is None)


def _suitable(name: str, dispatcher: Dispatcher | None, configuration: Configuration) -> Dispatcher:
    if dispatcher is None:
        return OneThread() if configuration.dispatching else Immediate(time.monotonic)
    if isinstance(dispatcher, HostDispatcher):
        return fresh(name, dispatcher)
    if isinstance(dispatcher, Immediate):
        return dispatcher
    raise ChannelError(
        f"channel {name} runs in real time and {type(dispatcher).__name__} has no thread; use OneThread, "
        "ThreadPools, ThreadPerConsumer or Preemptive"
    )
