"""What every dispatcher must do, whatever its threads or processes (S3-8, S3-9).

A dispatcher is tested through a *bench*: how to make one, and how to wait until it has done all that it was given.  The three
dispatchers of `weft.channel` are drained by calling `run_one`; one with threads of its own waits for them, within a bound.
`ordered` says whether it keeps all priorities in one order: with a thread or a process for each priority, only what is equal in
priority is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.channel import (
    FULL,
    NO_DISPATCHING,
    Cooperative,
    Dispatcher,
    Event,
    EventChannel,
    Immediate,
    Schedule,
    SingleThreaded,
    Urgency,
    on,
)

A = 16


@dataclass(frozen=True)
class Bench:
    name: str
    make: Callable[[], Dispatcher]
    finish: Callable[[EventChannel], None]
    queues: bool = True  # does work wait?
    ordered: bool = True
    cooperative: bool = False


def drained(channel: EventChannel) -> None:
    channel.run_pending()


BENCHES = [
    Bench("none", Immediate, drained, queues=False, ordered=False),
    Bench("single", SingleThreaded, drained),
    Bench("cooperative", Cooperative, drained, cooperative=True),
]


class Observer:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.failed: list[tuple[str, Any, str]] = []
        self.overruns: list[tuple[str, float, float]] = []
        self.dropped: list[tuple[str, Any]] = []
        self.late: list[tuple[str, Any, float]] = []
        self.hung: list[tuple[str, Any]] = []

    def consumer_failed(self, consumer: str, events: Any, error: Exception) -> None:
        self.failed.append((consumer, events[0].payload, repr(error)))

    def overran(self, consumer: str, spent: float, worst: float) -> None:
        self.overruns.append((consumer, spent, worst))

    def missed(self, consumer: str, events: Any, late: float) -> None:
        self.late.append((consumer, events[0].payload, late))

    def discarded(self, consumer: str, events: Any) -> None:
        self.dropped.append((consumer, events[0].payload))

    def hanging(self, consumer: str, events: Any, seconds: float) -> None:
        self.hung.append((consumer, events[0].payload))


LEVELS = {f"p{priority}.{sub}": Urgency(priority, sub) for priority in range(4) for sub in range(3)}


class Scene:
    """A channel with one supplier, on a dispatcher, with consumers by urgency that note what they get."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.observer = Observer()
        self.dispatcher = bench.make()
        configuration = FULL if bench.queues else NO_DISPATCHING
        self.channel = EventChannel(
            "contract", configuration, self.dispatcher, Schedule(LEVELS), self.observer
        )
        self.supplier = self.channel.supply((0, 0))
        self.order: list[tuple[str, Any]] = []

    def consumer(
        self, name: str, urgency: str, kind: int = A, react: Callable[[Any], Any] | None = None
    ) -> Any:
        def push(events: Any) -> Any:
            self.order.append((name, events[0].payload))
            return react(events) if react is not None else None

        return self.channel.consume(push, on(kind), name=name, rt_info=urgency, now=0.0)

    def push(self, payload: Any = None, kind: int = A) -> None:
        self.supplier.push(Event(kind, 1, payload), now=0.0)

    def finish(self) -> None:
        self.bench.finish(self.channel)
