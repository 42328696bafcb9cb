"""What the event channel costs, in one process.

* `latency`: from just before a supplier's push to the moment the first and the last consumer are called; 1, 2 and 10 suppliers,
  1, 5, 10 and 20 consumers that each want the events of all suppliers (S3-16).  Whoever pushed drains what waits.
* `costs`: CPU of a push to one consumer, and of each further one.
* `filtering`: a push to one consumer among 10 and among 100,000 subscriptions of others, when its route is known, and when a
  change has made it stale.

Floor: the consumer, called by itself.  Figures have flat names ("latency 2 10 single last p99") so that rounds can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.channel import (
    FULL,
    NO_DISPATCHING,
    Cooperative,
    Event,
    EventChannel,
    SingleThreaded,
    on,
)
from weft_benchmarks.runner import cpu_per_turn

SUPPLIERS = (1, 2, 10)
CONSUMERS = (1, 5, 10, 20)
EVENTS = 2_000  # of each measurement, by all suppliers together
TURNS = 20_000
FEW = 10
MANY = 100_000
KIND = 16
LOCAL = "local"


@dataclass(frozen=True)
class Stage:
    """Where consumers are and how they are dispatched: a channel to push on, and what lets the consumers run.

    Other places (remote) and dispatchers (preemptive) belong to the host; they are added to STAGES as they come."""

    where: str
    dispatch: str
    channel: Callable[[], EventChannel]
    drain: Callable[[EventChannel], Any]


STAGES = [
    Stage(LOCAL, "none", lambda: EventChannel("bench", NO_DISPATCHING), lambda channel: None),
    Stage(LOCAL, "single", lambda: EventChannel("bench", FULL, SingleThreaded()), EventChannel.run_pending),
    Stage(LOCAL, "cooperative", lambda: EventChannel("bench", FULL, Cooperative()), EventChannel.run_pending),
]


class Stamp:
    """A consumer that notes when it is called."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def push(self, events: Any) -> None:
        self.times.append(time.perf_counter_ns())


class Count:
    def __init__(self) -> None:
        self.count = 0

    def push(self, events: Any) -> None:
        self.count += 1


def spread(name: str, taken: list[int]) -> dict[str, float]:
    """Nanoseconds in, microseconds out."""
    ordered = sorted(taken)
    at = {
        "min": 0,
        "median": len(ordered) // 2,
        "p99": min(len(ordered) - 1, len(ordered) * 99 // 100),
        "max": len(ordered) - 1,
    }
    found = {f"{name} {word}": ordered[place] / 1000 for word, place in at.items()}
    return {**found, f"{name} avg": sum(ordered) / len(ordered) / 1000}


def latency() -> dict[str, float]:
    found: dict[str, float] = spread("floor", _floor())
    for stage in STAGES:
        for suppliers in SUPPLIERS:
            for consumers in CONSUMERS:
                first, last = _latency(stage, suppliers, consumers)
                name = f"latency {suppliers} {consumers} {stage.where} {stage.dispatch}"
                found |= spread(f"{name} first", first) | spread(f"{name} last", last)
    return found


def _latency(stage: Stage, suppliers: int, consumers: int) -> tuple[list[int], list[int]]:
    channel = stage.channel()
    stamps: list[Stamp | Count] = [
        Stamp(),
        *[Count() for _ in range(consumers - 2)],
        *[Stamp() for _ in range(consumers > 1)],
    ]
    for consumer in stamps:
        channel.consume(consumer, on(KIND), now=0.0)
    proxies = [channel.supply((source, KIND)) for source in range(1, suppliers + 1)]
    events = [Event(KIND, source) for source in range(1, suppliers + 1)]
    begun: list[int] = []
    drain = stage.drain
    for turn in range(EVENTS + EVENTS // 10):
        number = turn % suppliers
        proxy, event = proxies[number], events[number]
        begun.append(time.perf_counter_ns())
        proxy.push(event, 0.0)
        drain(channel)
    first, last = stamps[0], stamps[-1]
    if not isinstance(first, Stamp) or not isinstance(last, Stamp) or len(last.times) != len(begun):
        raise RuntimeError(f"the last of {consumers} consumers got {len(begun)} events wrongly")
    warm = EVENTS // 10
    return _between(begun, first.times)[warm:], _between(begun, last.times)[warm:]


def _between(begun: list[int], ended: list[int]) -> list[int]:
    return [end - begin for begin, end in zip(begun, ended, strict=True)]


def _floor() -> list[int]:
    consumer = Stamp()
    push = consumer.push
    events = (Event(KIND, 1),)
    begun: list[int] = []
    for _ in range(EVENTS):
        begun.append(time.perf_counter_ns())
        push(events)
    return _between(begun, consumer.times)


def costs() -> dict[str, float]:
    found: dict[str, float] = {}
    event = Event(KIND, 1)
    for stage in STAGES:
        taken = {}
        for consumers in (1, 11):
            channel = stage.channel()
            for _ in range(consumers):
                channel.consume(Count(), on(KIND), now=0.0)
            taken[consumers] = cpu_per_turn(_pusher(stage, channel, event), TURNS) * 1e6
        name = f"cost {stage.where} {stage.dispatch}"
        found |= {f"{name} one": taken[1], f"{name} further": (taken[11] - taken[1]) / 10}
    call = Count().push
    events = (event,)
    found["cost floor"] = cpu_per_turn(lambda: call(events), TURNS * 5) * 1e6
    return found


def _pusher(stage: Stage, channel: EventChannel, event: Event) -> Callable[[], None]:
    push = channel.supply((event.source, event.type)).push
    drain = stage.drain
    if stage.dispatch == "none":
        return lambda: push(event, 0.0)

    def turn() -> None:
        push(event, 0.0)
        drain(channel)

    return turn


def filtering() -> dict[str, float]:
    return _among(FEW) | _among(MANY)


def _among(others: int) -> dict[str, float]:
    channel = EventChannel("bench", NO_DISPATCHING)
    consumer = Count()
    for number in range(others - 1):
        channel.consume(consumer, on(KIND + 1 + number % 1000, 2 + number // 1000), now=0.0)
    mine = channel.consume(consumer, on(KIND, 1), now=0.0)
    push = channel.supply((1, KIND)).push
    event = Event(KIND, 1)

    def change() -> None:
        mine.suspend()
        mine.resume(0.0)
        push(event, 0.0)

    found = {
        f"filtering {others} known": cpu_per_turn(lambda: push(event, 0.0), TURNS) * 1e6,
        f"filtering {others} changed": cpu_per_turn(change, max(1, TURNS // 4)) * 1e6,
    }
    if not consumer.count:
        raise RuntimeError("the consumer got nothing")
    return found
