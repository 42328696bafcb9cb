"""Work at several rates on one processor, on virtual time: what dispatchers make of deadlines, without a real clock (S3-14).

The channel and its dispatchers are the real ones.  Each consumer takes a fixed time on the processor.  It is a generator that
yields whenever a timer goes off, which is the only thing that can make something else ready while it runs:

* under the real `Cooperative` dispatcher that is full preemption by priority, since it may be interrupted whenever that matters;
* under the real `SingleThreaded` dispatcher the generator runs to its end, and everybody else waits.

Work comes in pairs, as in the paper's time lines: a supplier that a timer wakes and that pushes one event when it is done, and a
consumer of that event.  Both are to be done before the timer goes off again.  The same pairs give the same rows, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from weft.channel import (
    FIRST_TYPE,
    After,
    Cooperative,
    Dependency,
    Event,
    EventChannel,
    Events,
    ProxyPushSupplier,
    RtInfo,
    SingleThreaded,
    Timeout,
    interval,
    on,
    plan,
)
from weft.model.errors import SettingsError
from weft.recorder.timeline import Row

NANO: Final = 10**9


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
    return _Processor(pairs, preemptive, node).run(round(seconds * NANO))


class _Processor:
    def __init__(self, pairs: Sequence[Pair], preemptive: bool, node: str) -> None:
        self.rows: list[Row] = []
        self._node = node
        self._now = 0  # nanoseconds
        self._fired = 0.0  # the time for which a timer went off last, whose float is not always that of _now
        self._until = 0  # timers that are due then or later do not go off
        self._schedule = plan(_operations(pairs), preemptive=preemptive).table()
        dispatcher = Cooperative(clock=self.clock) if preemptive else SingleThreaded(clock=self.clock)
        self._channel = EventChannel(node, dispatcher=dispatcher, schedule=self._schedule)
        self._woken: list[ProxyPushSupplier] = []  # by timers
        for pair in pairs:
            self._connect(pair)

    def clock(self) -> float:
        return max(self._now / NANO, self._fired)

    def run(self, until: int) -> list[Row]:
        self._until = until
        while True:
            self._fire()
            if self._channel.run_one():
                continue
            due = self._next_due()
            if due is None:
                return self.rows
            self._now = due

    def _next_due(self) -> int | None:
        due = self._channel.next_due()
        if due is None or round(due * NANO) >= self._until:
            return None
        return round(due * NANO)

    def _fire(self) -> None:
        """All timers that are due, each at its own time: nobody was too busy to look at them."""
        while True:
            due = self._next_due()
            if due is None or due > self._now:
                return
            exact = self._channel.next_due()
            assert exact is not None
            self._fired = max(self._fired, exact)
            self._channel.expire(exact)

    def _spend(self, most: int) -> int:
        """Time passes, until a timer goes off at the latest; how much."""
        due = self._next_due()
        spent = most if due is None else min(most, due - self._now)
        self._now += spent
        if spent < most:
            self._fire()
        return spent

    def _stop_timers(self) -> None:
        while self._woken:
            self._woken.pop().cancel(1)

    # Who takes part

    def _connect(self, pair: Pair) -> None:
        kind, source, period = FIRST_TYPE + pair.number, pair.number + 1, 1 / pair.hertz
        supplier, consumer = _names(pair)
        proxy = self._channel.supply((source, kind), name=supplier, rt_info=supplier)

        def push(woken: Event) -> None:
            self._note("push", supplier, None)
            self._fire()
            if self._now >= self._until:
                self._stop_timers()  # a push looks at them as well
            proxy.push(Event(kind, source, created=_release(woken)), self.clock())

        self._woken.append(self._consume(supplier, pair.supplier, period, push, interval(period)))
        self._consume(consumer, pair.consumer, period, _nothing, on(kind))

    def _consume(
        self, name: str, cost: float, period: float, act: Callable[[Event], None], wanted: Dependency
    ) -> ProxyPushSupplier:
        def work(events: Events) -> Iterator[None]:
            deadline = round((_release(events[0]) + period) * NANO)
            self._note("dispatch", name, deadline)
            left = round(cost * NANO)
            while left:
                left -= self._spend(left)
                if left:
                    yield
            act(events[0])
            self._note("done", name, deadline)
            if self._now > deadline:
                self._note("miss", name, deadline)

        return self._channel.consume(work, wanted, name=name, rt_info=name, now=0.0)

    def _note(self, kind: str, name: str, deadline: int | None) -> None:
        urgency = self._schedule.urgency(name)
        queue = self._channel.pending() if kind == "dispatch" else None
        self.rows.append(
            Row(
                kind, self._now, name, self._node, len(self.rows) + 1, name, urgency.preemption, urgency.sub,
                deadline, queue,
            )
        )  # fmt: skip


def _names(pair: Pair) -> tuple[str, str]:
    return f"supplier{pair.number}", f"consumer{pair.number}"


def _operations(pairs: Sequence[Pair]) -> Iterator[RtInfo]:
    for pair in pairs:
        supplier, consumer = _names(pair)
        yield RtInfo(supplier, worst=pair.supplier, period=1 / pair.hertz)
        yield RtInfo(consumer, worst=pair.consumer, dependencies=(After(supplier),))


def _release(event: Event) -> float:
    """From when on its deadline counts: a timeout's own time, or that of the timeout behind an event."""
    return event.payload.due if isinstance(event.payload, Timeout) else event.created


def _nothing(event: Event) -> None:
    """A consumer only takes its time."""
