"""Finding out who connects, beside the event loop, and more slowly for those who guess.

A password is made to take long to check, and a guard of one's own may ask a directory: neither is to keep federates waiting
that are joined.  So a thread of its own asks the guard, one federate at a time, and the call to connect is answered then.

Whoever fails is made to wait.  The first few failures cost nothing (somebody mistypes, a password was changed); after that an
address has one attempt at a time, and each failure doubles how long the next one waits.  A name waits too, whatever address
it is tried from, but only a little: otherwise strangers could keep its owner out.  What waits and what is remembered is bounded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from weft.host.server.guard import Guard, user_of
from weft.model.errors import InvalidCredentials
from weft.model.records import Credentials

_FREE: Final = 3  # failures that cost nothing
_FIRST: Final = 0.25  # seconds after the next one; then twice as long for each
_FORGIVEN: Final = 600.0  # seconds without a failure
_KEPT: Final = 4096  # addresses, and names, that are remembered
_ADDRESS: Final = 30.0  # seconds that an address waits at most
_NAME: Final = 2.0  # and a name
_ABREAST: Final = 8  # attempts of an address that are under way, as long as it has not failed
_PATIENT: Final = 4  # attempts of an address that may wait, once it has

Answer = Callable[[str, Exception | None], None]
"""What is called with who it is, or why not."""


class Penalties:
    """How long those wait who failed before."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._failures: dict[str, tuple[int, float]] = {}  # how many, and when the last; the oldest first

    def failed(self, who: str, now: float) -> None:
        count = self.count(who, now)
        self._failures.pop(who, None)
        self._failures[who] = (count + 1, now)
        if len(self._failures) > _KEPT:
            del self._failures[next(iter(self._failures))]

    def count(self, who: str, now: float) -> int:
        count, last = self._failures.get(who, (0, now))
        return 0 if now - last > _FORGIVEN else count

    def is_known(self, who: str, now: float) -> bool:
        return self.count(who, now) >= _FREE

    def wait(self, who: str, now: float) -> float:
        """Seconds until the next attempt may be looked at."""
        count = self.count(who, now)
        if count < _FREE:
            return 0.0
        last = self._failures[who][1]
        return max(0.0, last + min(self._most, _FIRST * 2.0 ** min(count - _FREE, 32)) - now)


class Attempt(NamedTuple):
    address: str
    credentials: Credentials
    secure: bool
    answer: Answer


class Admission:
    def __init__(self, guard: Guard, report: Callable[[str], None]) -> None:
        self._guard = guard
        self._report = report
        self._addresses = Penalties(_ADDRESS)
        self._names = Penalties(_NAME)
        self._waiting: dict[str, deque[Attempt]] = {}
        self._running: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._pool = ThreadPoolExecutor(1, "weft-guard")
        self._closed = False

    def ask(self, address: str, credentials: Credentials, secure: bool, answer: Answer) -> None:
        """`answer` is called later, in the loop's thread."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(address, deque())
        if self._addresses.is_known(address, loop.time()) and len(waiting) >= _PATIENT:
            why = "too many attempts to connect from this address have failed; try again in a minute"
            loop.call_soon(answer, "", InvalidCredentials(why))
            return
        waiting.append(Attempt(address, credentials, secure, answer))
        self._go_on(address)

    def close(self) -> None:
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _go_on(self, address: str) -> None:
        self._timers.pop(address, None)
        loop = asyncio.get_running_loop()
        waiting = self._waiting.get(address)
        now = loop.time()
        abreast = 1 if self._addresses.is_known(address, now) else _ABREAST
        while waiting and self._running.get(address, 0) < abreast and not self._closed:
            name = user_of(waiting[0].credentials)
            wait = max(self._addresses.wait(address, now), self._names.wait(name, now) if name else 0.0)
            if wait > 0:
                self._timers[address] = loop.call_later(wait, self._go_on, address)
                return
            self._look_at(loop, waiting.popleft())
        if not waiting:
            self._waiting.pop(address, None)

    def _look_at(self, loop: asyncio.AbstractEventLoop, attempt: Attempt) -> None:
        self._running[attempt.address] = self._running.get(attempt.address, 0) + 1
        found = loop.run_in_executor(self._pool, self._guard.admit, attempt.credentials, attempt.secure)
        found.add_done_callback(lambda future: self._done(attempt, future))

    def _done(self, attempt: Attempt, future: asyncio.Future[str]) -> None:
        address = attempt.address
        left = self._running.get(address, 1) - 1
        if left:
            self._running[address] = left
        else:
            self._running.pop(address, None)
        if future.cancelled() or self._closed:
            return
        error = future.exception()
        if isinstance(error, InvalidCredentials):
            now = asyncio.get_running_loop().time()
            self._addresses.failed(address, now)
            name = user_of(attempt.credentials)
            if name:
                self._names.failed(name, now)
            count = self._addresses.count(address, now)
            wait = self._addresses.wait(address, now)
            slower = f"; failure {count}, the next attempt waits {wait:g} s" if wait else ""
            self._report(f"a federate from {address} was not admitted: {error}{slower}")
        if error is None:
            attempt.answer(future.result(), None)
        else:
            attempt.answer("", error if isinstance(error, Exception) else RuntimeError(repr(error)))
        if address not in self._timers:
            self._go_on(address)
