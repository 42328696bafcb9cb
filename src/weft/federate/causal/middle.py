"""Beneath the causal ambassador: the RTI's ambassador, and when callbacks of the federate run."""

from __future__ import annotations

import sys
import threading
import time as clock
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from weft.federate.ambassador import RTIambassador
from weft.federate.awaited import Awaited
from weft.federate.callbacks import FederateAmbassador
from weft.federate.causal.seat import Seat
from weft.federate.causal.work import Call
from weft.host import NodeHost
from weft.ordering.group_tags import write_stamp, write_text_stamp

LAST_CALLBACKS = ("federate_resigned", "connection_lost")


class CausalFederateAmbassador(FederateAmbassador):
    """What the RTI calls back; it hands on to the user's ambassador."""

    def __init__(self, hear: Callable[[str, tuple[object, ...]], None], user: FederateAmbassador) -> None:
        self._hear = hear
        self._user = user

    def __getattr__(self, name: str) -> object:
        return getattr(self._user, name)


def _heard(method: str) -> Callable[..., None]:
    def hear(self: CausalFederateAmbassador, *arguments: object) -> None:
        self._hear(method, arguments)

    hear.__name__ = method
    return hear


for _method in [name for name in vars(FederateAmbassador) if not name.startswith("_")]:
    setattr(CausalFederateAmbassador, _method, _heard(_method))


class Middle(RTIambassador):
    """What the services stand on, which are in `services` and `ambassador`."""

    def __init__(
        self,
        host: NodeHost | None = None,
        *,
        above: RTIambassador | None = None,
        text: bool = False,
        classes: Iterable[str] | None = None,
        destinations: Literal["all", "tables"] = "all",
        carrier: Literal["tag", "envelope"] = "tag",
    ) -> None:
        if carrier not in ("tag", "envelope"):
            raise ValueError(f'the carrier of stamps is the "tag" or an "envelope", not {carrier!r}')
        if destinations not in ("all", "tables"):
            raise ValueError(f'destinations are "all" or by "tables", not {destinations!r}')
        if host is not None and above is not None:
            raise ValueError("give a host or an ambassador, not both: the ambassador knows its host")
        self._rti: RTIambassador = RTIambassador(host) if above is None else above
        self._envelope = carrier == "envelope"
        self._tables = destinations == "tables"
        self._write = write_text_stamp if text else write_stamp
        self._awaited = Awaited()  # nothing: the ambassador below knows what is pending
        self._classes = None if classes is None else frozenset(classes)
        self._user: FederateAmbassador | None = None
        self._immediate = False
        self._open_for_callbacks = True
        self._lock = threading.RLock()
        self._seat: Seat | None = None
        self._last: Seat | None = None  # for the counts
        self._ready: deque[Call] = deque()
        self._limit = 0  # how many callbacks may run now
        self._chosen: dict[tuple[type[object], object], bool] = {}  # handles of another RTI may be equal

    def _hear(self, method: str, arguments: tuple[object, ...]) -> None:
        """The RTI calls back."""
        with self._lock:
            seat = self._seat
            if seat is None:
                self._ready.append((method, arguments))
            else:
                self._ready += seat.hear(method, arguments)
                if method in LAST_CALLBACKS:
                    self._seat = None
        if self._immediate:
            while self._ready:
                try:
                    self._call_back()
                except Exception:
                    hook_arguments = (*sys.exc_info(), threading.current_thread())
                    threading.excepthook(threading.ExceptHookArgs(hook_arguments))
        elif self._ready and self._limit > 0:
            self._call_back()

    def _call_back(self) -> None:
        self._limit -= 1
        method, arguments = self._ready.popleft()
        getattr(self._user, method)(*arguments)

    def _run_one(self, seconds: float) -> tuple[bool, bool]:
        """Run one callback of the federate, waiting for it at most so long: was there one, and does the RTI have more?"""
        if self._ready and self._open_for_callbacks:
            with self._within_callback():
                self._call_back()
            return True, False
        if not self._open_for_callbacks:
            return False, self._rti.evoke_callback(seconds)
        end = self._now() + seconds if seconds > 0.0 else 0.0
        self._limit = 1
        try:
            while True:
                left = max(0.0, end - self._now()) if seconds > 0.0 else 0.0
                more = self._rti.evoke_callback(left)
                if self._limit < 1:
                    return True, more
                if not more and left <= 0.0:
                    with self._lock:
                        if self._seat is not None:
                            self._seat.idle()
                    return False, False
        finally:
            self._limit = 0

    @contextmanager
    def _within_callback(self) -> Iterator[None]:
        """The RTI has made this call before; that we make it only now changes nothing for the federate."""
        self._limit = 1
        self._rti._calling_back = threading.get_ident()
        try:
            yield
        finally:
            self._rti._calling_back = 0
            self._limit = 0

    def evoke_callback(self, approximate_minimum_time_in_seconds: float) -> bool:
        """As for `RTIambassador`; what still waits may turn out to be the middleware's own."""
        _, more = self._run_one(max(0.0, approximate_minimum_time_in_seconds))
        return more or self._has_more()

    def evoke_multiple_callbacks(
        self, approximate_minimum_time_in_seconds: float, approximate_maximum_time_in_seconds: float
    ) -> bool:
        started = self._now()
        minimum = started + approximate_minimum_time_in_seconds
        maximum = started + max(approximate_minimum_time_in_seconds, approximate_maximum_time_in_seconds)
        more = False
        while self._open_for_callbacks:
            ran, more = self._run_one(max(0.0, minimum - self._now()))
            if not ran or self._now() >= maximum:
                break
        return self._open_for_callbacks and (more or self._has_more())

    def _has_more(self) -> bool:
        if self._ready:
            return self._open_for_callbacks
        connection = getattr(self._rti, "_connection", None)
        return self._open_for_callbacks and connection is not None and connection.pending()

    def enable_callbacks(self) -> None:
        self._rti.enable_callbacks()
        self._open_for_callbacks = True

    def disable_callbacks(self) -> None:
        self._rti.disable_callbacks()
        self._open_for_callbacks = False

    def _now(self) -> float:
        connection = getattr(self._rti, "_connection", None)
        return clock.monotonic() if connection is None else connection.now()
