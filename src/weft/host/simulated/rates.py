"""Work at several rates on one processor, on virtual time: what dispatching makes of deadlines, without a real clock (S3-14).

The channel is the real one, and its dispatcher a `SimulatedProcessor`, on which each push takes a fixed time.

Work comes in pairs, as in the paper's time lines: a supplier that a timer wakes and that pushes one event when it is done, and a
consumer of that event.  Both are to be done before the timer goes off again.  The same pairs give the same rows, always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from weft.channel import (
    FIRST_TYPE,
    After,
    Event,
    EventChannel,
    Events,
    Happening,
    ProxyPushSupplier,
    RtInfo,
    SimulatedProcessor,
    interval,
    on,
    plan,
)
from weft.channel.record import DISPATCH, DONE, MISS, NANO, PUSH
from weft.model.errors import SettingsError
from weft.recorder.timeline import Row

_SUPPLIER: Final = "supplier"
_CONSUMER: Final = "consumer"  # as long


class Pair(NamedTuple):
    """A supplier and a consumer `hertz` times a second; their times on the processor in seconds."""

    number: int
    hertz: float
    supplier: float
    consumer: float


PAPER: Final = (Pair(2, 40, 0.001, 0.004), Pair(1, 20, 0.001, 0.009), Pair(0, 10, 0.002, 0.038))
"""Three rates that fit with preemption (80 % of the processor), though the slowest consumer runs longer than the fastest
period."""


def simulate(pairs: Sequence[Pair], seconds: float, preemptive: bool, node: str = "processor") -> list[Row]:
    """The rows of that long; what has begun by then is still done."""
    if not pairs or seconds <= 0:
        raise SettingsError("a simulation of rates needs at least one pair, and a time longer than 0 s")
    operations = list(_operations(pairs))
    costs = {one.name: one.worst for one in operations}
    processor = SimulatedProcessor(lambda work: costs[work.operation], preemptive)
    told: list[Happening] = []
    schedule = plan(operations, preemptive=preemptive).table()
    channel = EventChannel(node, dispatcher=processor, schedule=schedule, record=told.append)
    woken = [_connect(channel, processor, pair) for pair in pairs]
    processor.run(channel, seconds - 1 / NANO)  # a timer that is due then does not go off
    for supplier in woken:
        supplier.suspend()
    channel.run_pending()
    return pair_rows(told, node)


def _connect(channel: EventChannel, processor: SimulatedProcessor, pair: Pair) -> ProxyPushSupplier:
    """Who is woken by a timer."""
    kind, source = FIRST_TYPE + pair.number, pair.number + 1
    supplier, consumer = _names(pair)
    proxy = channel.supply((source, kind), name=supplier, rt_info=supplier)

    def push(events: Events) -> None:
        proxy.push(Event(kind, source), processor.now)

    channel.consume(_nothing, on(kind), name=consumer, rt_info=consumer, now=0.0)
    return channel.consume(push, interval(1 / pair.hertz), name=supplier, rt_info=supplier, now=0.0)


def pair_rows(told: Iterable[Happening], node: str) -> list[Row]:
    """What a channel told of pairs, by time.  The deadline of a consumer is that of the supplier which woke it, not a period
    after the push."""
    rows: list[Row] = []
    due: dict[str, list[int]] = {}  # by pair: the deadlines of its supplier so far
    begun: dict[str, int] = {}  # how often each has begun

    def add(kind: str, one: Happening, deadline: int | None) -> None:
        queue = one.queue if kind == DISPATCH else None
        rows.append(
            Row(
                kind, one.mono_ns, one.name, node, len(rows) + 1, one.name, one.priority, one.sub_priority,
                deadline, queue,
            )
        )  # fmt: skip

    for one in [one for one in told if one.kind != MISS]:
        role, pair = one.name[:8], one.name[8:]
        if one.kind == DISPATCH:
            begun[one.name] = begun.get(one.name, 0) + 1
            if role == _SUPPLIER:
                due.setdefault(pair, []).append(one.deadline_ns)
        deadline = None if one.kind == PUSH else due[pair][begun[one.name] - 1]
        add(one.kind, one, deadline)
        if one.kind == DONE and deadline is not None and one.mono_ns > deadline:
            add(MISS, one, deadline)
    return rows


def _names(pair: Pair) -> tuple[str, str]:
    return f"{_SUPPLIER}{pair.number}", f"{_CONSUMER}{pair.number}"


def _operations(pairs: Sequence[Pair]) -> Iterator[RtInfo]:
    for pair in pairs:
        supplier, consumer = _names(pair)
        yield RtInfo(supplier, worst=pair.supplier, period=1 / pair.hertz)
        yield RtInfo(consumer, worst=pair.consumer, dependencies=(After(supplier),))


def _nothing(events: Events) -> None:
    """A consumer only takes its time."""
