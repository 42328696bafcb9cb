"""A federate ambassador that writes down every callback, and can be told to do more than that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from weft import FederateAmbassador

CALLBACKS = [name for name in vars(FederateAmbassador) if not name.startswith("_")]

Call = tuple[str, tuple[Any, ...]]


class Recorder(FederateAmbassador):
    """`calls` holds (method, arguments) in the order of delivery; `on[method]` runs inside that callback."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.on: dict[str, Callable[..., Any]] = {}
        self._news = threading.Condition()

    def _heard(self, method: str, arguments: tuple[Any, ...]) -> None:
        with self._news:
            self.calls.append((method, arguments))
            self._news.notify_all()
        action = self.on.get(method)
        if action is not None:
            action(*arguments)

    def take(self) -> list[Call]:
        """What was heard since the last time."""
        with self._news:
            heard, self.calls = self.calls, []
            return heard

    def wait_for(self, method: str, times: int = 1, seconds: float = 20.0) -> None:
        """Until the method was called so often; for the IMMEDIATE model, where another thread calls back."""
        with self._news:
            arrived = self._news.wait_for(lambda: self.count(method) >= times, seconds)
        assert arrived, f"{method} came {self.count(method)} times in {seconds} s, not {times}"

    def count(self, method: str) -> int:
        return sum(called == method for called, _ in self.calls)

    def of(self, method: str) -> list[tuple[Any, ...]]:
        return [arguments for called, arguments in self.calls if called == method]


def _recording(method: str) -> Callable[..., None]:
    def record(self: Recorder, *arguments: Any) -> None:
        self._heard(method, arguments)

    record.__name__ = method
    return record


for _method in CALLBACKS:
    setattr(Recorder, _method, _recording(_method))
