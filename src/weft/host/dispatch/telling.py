"""Observers and records that several threads talk to; one that fails does not take a thread of the channel with it."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import ParamSpec

from weft.channel import ChannelObserver, Events, Happening, Record

P = ParamSpec("P")


def harmless(record: Record) -> Record:
    def told(happening: Happening) -> None:
        try:
            record(happening)
        except Exception:
            traceback.print_exc()

    return told


class OneAtATime(ChannelObserver):
    def __init__(self, observer: ChannelObserver, lock: threading.RLock) -> None:
        self._observer = observer
        self._lock = lock

    def _tell(self, hear: Callable[P, None], *what: P.args, **more: P.kwargs) -> None:
        with self._lock:
            try:
                hear(*what, **more)
            except Exception:
                traceback.print_exc()

    def consumer_failed(self, consumer: str, events: Events, error: Exception) -> None:
        self._tell(self._observer.consumer_failed, consumer, events, error)

    def overran(self, consumer: str, spent: float, worst: float) -> None:
        self._tell(self._observer.overran, consumer, spent, worst)

    def missed(self, consumer: str, events: Events, late: float) -> None:
        self._tell(self._observer.missed, consumer, events, late)

    def discarded(self, consumer: str, events: Events) -> None:
        self._tell(self._observer.discarded, consumer, events)

    def hanging(self, consumer: str, events: Events, seconds: float) -> None:
        self._tell(self._observer.hanging, consumer, events, seconds)
