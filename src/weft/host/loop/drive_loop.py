"""The event loop of `loop.drive`: asyncio's own, with a selector that gives up the mutex while it waits.

Both are subclasses of asyncio's, so this module cannot be compiled; what every packet passes through is in the driver.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Protocol, TypeVarTuple

from weft.host import system

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

    from weft.host.loop.drive import Drive

    _SystemSelector = selectors.DefaultSelector
else:
    _SystemSelector = selectors.SelectSelector if system.PORTABLE else selectors.DefaultSelector


Ts = TypeVarTuple("Ts")


class LoopTimer(Protocol):
    """As asyncio has them; `when()` would be a call more in every pass."""

    _when: float


class Selector(_SystemSelector):
    """Gives up the mutex while it waits, and waits no longer than the driver may."""

    def __init__(self, drive: Drive) -> None:
        super().__init__()
        self._drive = drive

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._drive.wait_for_events(super().select, timeout)

    def register(
        self, fileobj: FileDescriptorLike, events: int, data: object = None
    ) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        self._look_again()
        return key

    def modify(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        key = super().modify(fileobj, events, data)
        self._look_again()
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        key = super().unregister(fileobj)
        self._look_again()
        return key

    def _look_again(self) -> None:
        """Other threads change what is waited for; only epoll hears of that while it waits."""
        if not system.EPOLL and self._drive.asleep:
            self._drive.loop.wake()


class DrivenLoop(asyncio.SelectorEventLoop):
    """Wakes its driver for what other threads give it to do, with the mutex held."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._scheduled: list[LoopTimer] = []  # asyncio's own: timers, as a heap …
        self._ready: deque[asyncio.Handle]  # … what is to be done in the next pass …
        self._selector: Selector  # … and its selector
        super().__init__(Selector(drive))
        self.set_debug(False)  # which would have one thread only
        self._thread_id: int | None = None

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self._drive.asleep:
            self.wake()
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if self._drive.asleep:
            self.wake()
        return super().call_at(when, callback, *args, context=context)

    def wake(self) -> None:
        self._write_to_self()  # type: ignore[attr-defined]

    def run_once(self) -> None:
        """A pass in asyncio's own way: by a queue, with a look at all timers."""
        self._run_once()  # type: ignore[attr-defined]

    def epoll(self) -> select.epoll | None:
        """The system's own selector, where that is epoll; else None."""
        if not system.EPOLL:
            return None
        found: select.epoll = self._selector._selector  # type: ignore[attr-defined]
        return found

    def handle_all(self) -> None:
        """Wait for connections, until the next timer, and handle at once what they bring."""
        timers = self._scheduled
        for key, mask in self._selector.select(timers[0]._when - time.monotonic() if timers else None):
            self._handle_key(key, mask)

    def handle_one(self, fd: int, event: int) -> None:
        """What epoll says of one connection."""
        key = self._selector.get_map().get(fd)
        if key is not None:
            # As in asyncio: a connection that broke can be read and written, to find out.
            mask = (selectors.EVENT_WRITE if event & ~1 else 0) | (selectors.EVENT_READ if event & ~4 else 0)
            self._handle_key(key, mask & key.events)

    def _handle_key(self, key: selectors.SelectorKey, mask: int) -> None:
        reader, writer = key.data
        if mask & selectors.EVENT_READ and reader is not None and not reader._cancelled:
            self._handle(reader)
        if mask & selectors.EVENT_WRITE and writer is not None and not writer._cancelled:
            self._handle(writer)

    def _handle(self, handle: asyncio.Handle) -> None:
        try:
            handle._callback(*handle._args)  # type: ignore[attr-defined]
        except Exception as error:
            self.failed(error)

    def failed(self, error: Exception) -> None:
        self.call_exception_handler({"message": "a connection failed", "exception": error})

    def abandon(self) -> None:
        """In a forked child: connections are its parent's alone, which others see closed when the parent closes them.

        The numbers stay taken, lest what still has them close something else; and so does epoll's, which both would share."""
        null = os.open(os.devnull, os.O_RDWR)
        epoll = self.epoll()
        own = [] if epoll is None else [epoll.fileno()]
        for fd in {*self._selector.get_map(), *self._transports, *own}:  # type: ignore[attr-defined]
            os.dup2(null, fd, inheritable=False)
        os.close(null)

    # --- connections that are read without a transport ----------------------------------------------------------

    def read_directly(self, fd: int, read: Callable[[], None]) -> None:
        """From now on `read` is called when there is something to read, and not the transport, whose reading is paused."""
        self._add_reader(fd, read)  # type: ignore[attr-defined]
        self._drive.readers[fd] = read

    def _remove_reader(self, fd: object) -> bool:
        """Also when a transport is closed, or goes on to read by itself."""
        if isinstance(fd, int):
            self._drive.readers.pop(fd, None)
        found: bool = super()._remove_reader(fd)  # type: ignore[misc]
        return found
