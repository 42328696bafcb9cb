"""Timers against a sorted list, and timeouts in dependencies against the definition, on a virtual clock (S3-6)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from channel.reference import Occurrence, pushes
from weft.channel import (
    DEADLINE_TIMEOUT,
    INTERVAL_TIMEOUT,
    NO_DISPATCHING,
    Event,
    EventChannel,
    Events,
    Schedule,
    Timer,
    Timers,
    Urgency,
    all_of,
    any_of,
    deadline,
    interval,
    on,
)
from weft.channel.qos import AllOf, AnyOf, Deadline, Dependency, Interval

A, B = 16, 17


class Listed:
    """Timers as a list that is searched; times are whole numbers."""

    def __init__(self) -> None:
        self.timers: list[list[Any]] = []  # due, number, name, period
        self.count = 0

    def schedule(self, due: int, name: int, period: int) -> None:
        self.count += 1
        self.timers.append([due, self.count, name, period])

    def cancel(self, name: int) -> None:
        self.timers = [one for one in self.timers if one[2] != name]

    def expire(self, now: int) -> list[tuple[int, int]]:
        fired = []
        while self.timers and min(self.timers)[0] <= now:
            first = min(self.timers)
            missed = 0
            if first[3]:
                missed = (now - first[0]) // first[3]
                first[0] += (missed + 1) * first[3]
            else:
                self.timers.remove(first)
            fired.append((first[2], missed))
        return fired


actions = st.one_of(
    st.tuples(st.just("schedule"), st.integers(1, 20), st.sampled_from((0, 0, 1, 3, 7))),
    st.tuples(st.just("cancel"), st.integers(0, 30), st.just(0)),
    st.tuples(st.just("move"), st.integers(0, 30), st.integers(1, 20)),
    st.tuples(st.just("pass"), st.integers(0, 15), st.just(0)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(actions, max_size=60))
def test_timers_are_a_sorted_list(done: list[tuple[str, int, int]]) -> None:
    """S3-6: schedule, cancel, move and expire, in any order."""
    timers, listed = Timers(), Listed()
    made: list[Timer] = []
    fired: list[tuple[int, int]] = []
    now = 0

    def note(timer: Timer, at: float) -> None:
        fired.append((made.index(timer), timer.missed))

    for word, first, second in done:
        if word == "schedule":
            listed.schedule(now + first, len(made), second)
            made.append(timers.schedule(now + first, note, second))
        elif word == "pass":
            now += first
            fired.clear()
            count = timers.expire(now)
            assert fired == listed.expire(now)
            assert count == len(fired)
        elif first < len(made) and (word == "cancel" or not made[first].period):
            listed.cancel(first)
            if word == "cancel":
                timers.cancel(made[first])
            else:
                listed.schedule(now + second, first, 0)
                timers.move(made[first], now + second)
        assert len(timers) == len(listed.timers)
        assert timers.next_due() == (min(listed.timers)[0] if listed.timers else None)


@given(st.floats(1e-4, 10.0), st.floats(0, 1e6))
def test_a_periodic_timer_does_not_drift(period: float, begin: float) -> None:
    """S3-6: the thousandth time is where it belongs, to the last bit, however late each was looked at."""
    timers = Timers()
    dues: list[float] = []
    timers.schedule(begin + period, lambda timer, now: dues.append(timer.fired), period)
    timer_begin = (begin + period) - period
    while len(dues) < 1000:
        due = timers.next_due()
        assert due is not None
        timers.expire(due + period * 0.4 * (len(dues) % 2))
    exact = [float(Fraction(timer_begin) + count * Fraction(period)) for count in range(1, 1001)]
    assert all(abs(due - right) <= 4e-16 * abs(right) * 2 for due, right in zip(dues, exact, strict=True))


def test_rearmed_watchdogs_leave_nothing_behind() -> None:
    """S3-6: the heap has one entry for each timer, however often it was moved."""
    timers = Timers()
    made = [timers.schedule(float(number + 1), lambda timer, now: None) for number in range(100)]
    for turn in range(10_000):
        timers.move(made[turn % 100], 100.0 + turn)
    assert len(timers) == 100
    for timer in made:
        timers.cancel(timer)
        timers.cancel(timer)
    assert len(timers) == 0
    assert timers.next_due() is None


# Timeouts in dependencies

seconds = st.integers(1, 6)
timed_leaves = st.one_of(
    st.sampled_from((A, B)).map(on),
    seconds.map(lambda found: interval(float(found))),
    seconds.map(lambda found: deadline(float(found))),
)
timed = st.recursive(
    timed_leaves,
    lambda parts: st.lists(parts, min_size=1, max_size=3).flatmap(
        lambda found: st.sampled_from((all_of(*found), any_of(*found)))
    ),
    max_leaves=5,
)


def places(part: Dependency, where: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Dependency]]:
    if isinstance(part, AllOf | AnyOf):
        return [one for number, below in enumerate(part.parts) for one in places(below, (*where, number))]
    return [(where, part)] if isinstance(part, Interval | Deadline) else []


class Simulated:
    """One registration, second by second, as the definition has it: a watchdog is armed when the registration begins to wait and
    whenever it fires; after it has expired it rests until the registration fires."""

    def __init__(self, dependency: Dependency) -> None:
        self.dependency = dependency
        self.history: list[Occurrence] = []
        self.due: dict[tuple[int, ...], int | None] = {}
        self.leaves = dict(places(dependency))
        self.order: dict[tuple[int, ...], int] = {}
        self.count = 0
        for where in self.leaves:
            self.arm(where, 0)

    def arm(self, where: tuple[int, ...], now: int) -> None:
        self.due[where] = now + int(self.leaves[where].seconds)  # type: ignore[union-attr]
        self.count += 1
        self.order[where] = self.count

    def occur(self, what: Occurrence, now: int) -> None:
        before = len(pushes([self.dependency], self.history))
        self.history.append(what)
        if len(pushes([self.dependency], self.history)) > before:
            for where, leaf in self.leaves.items():
                if isinstance(leaf, Deadline):
                    self.arm(where, now)

    def second(self, now: int) -> None:
        while True:
            late = [
                (due, self.order[where], where)
                for where, due in self.due.items()
                if due is not None and due <= now
            ]
            if not late:
                return
            _, _, where = min(late)
            leaf = self.leaves[where]
            self.due[where] = now + int(leaf.seconds) if isinstance(leaf, Interval) else None
            self.occur(Occurrence(leaf=(0, *where)), now)


@settings(max_examples=150, deadline=None)
@given(timed, st.lists(st.sampled_from((A, B, 0, 0)), max_size=20))
def test_timeouts_in_groups_are_what_the_definition_says(dependency: Dependency, arrivals: list[int]) -> None:
    """S3-6: intervals and deadlines anywhere in a dependency, with events between."""
    channel = EventChannel("test", NO_DISPATCHING)
    found: list[list[Any]] = []
    channel.consume(lambda events: found.append([event.type for event in events]), dependency, now=0.0)
    supplier = channel.supply((1, A), (1, B))
    simulated = Simulated(dependency)
    for now, kind in enumerate(arrivals, 1):
        channel.expire(float(now))
        simulated.second(now)
        if kind:
            supplier.push(Event(kind, 1), now=float(now))
            simulated.occur(Occurrence(1, kind), now)
    leaves = {(0, *where): leaf for where, leaf in simulated.leaves.items()}

    def shown(at: int) -> int:
        one = simulated.history[at]
        if one.leaf is None:
            return one.type
        return INTERVAL_TIMEOUT if isinstance(leaves[one.leaf], Interval) else DEADLINE_TIMEOUT

    assert found == [[shown(at) for at in push] for push in pushes([dependency], simulated.history)]


def test_a_watchdog_of_a_conjunction() -> None:
    """S3-20 [V]: an I/O façade waits for all its sensors, and is told when they do not come in time."""
    channel = EventChannel("avionics", NO_DISPATCHING)
    found: list[Events] = []
    channel.consume(found.append, any_of(all_of(on(A, 1), on(A, 2), on(A, 3)), deadline(0.1)), now=0.0)
    sensors = channel.supply((1, A), (2, A), (3, A))
    for source, now in ((1, 0.01), (2, 0.02), (3, 0.03)):
        sensors.push(Event(A, source), now=now)
    assert [len(events) for events in found] == [3]
    assert channel.next_due() == 0.13  # armed anew when it fired
    sensors.push(Event(A, 1), now=0.05)
    assert channel.expire(0.13) == 1
    (missed,) = found[1]
    assert missed.type == DEADLINE_TIMEOUT
    assert missed.payload.due == 0.13
    sensors.push(Event(A, 2), now=0.14)
    sensors.push(Event(A, 3), now=0.15)
    assert [event.source for event in found[2]] == [1, 2, 3]  # the first was not forgotten


def test_a_late_host_hides_no_missed_deadline() -> None:
    """S3-6: what is due before a push comes before it, though nobody has called `expire`."""
    channel = EventChannel("test", NO_DISPATCHING)
    kinds: list[int] = []
    channel.consume(lambda events: kinds.append(events[0].type), any_of(on(A), deadline(1.0)), now=0.0)
    supplier = channel.supply((1, A))
    supplier.push(Event(A, 1), now=0.5)
    supplier.push(Event(A, 1), now=1.75)
    assert kinds == [A, DEADLINE_TIMEOUT, A]
    assert channel.next_due() == 2.75


def test_missed_periods_are_counted_not_repeated() -> None:
    channel = EventChannel("test", NO_DISPATCHING)
    found: list[Events] = []
    channel.consume(found.append, interval(1.0), now=10.0)
    channel.expire(13.5)
    assert [(events[0].payload.missed, events[0].created) for events in found] == [(2, 13.0)]
    assert channel.next_due() == 14.0


def test_timeouts_have_the_urgency_of_their_consumer() -> None:
    """S3-6: dispatched at the consumer's priority, not before all others."""
    schedule = Schedule({"urgent": Urgency(0), "slow": Urgency(5)})
    channel = EventChannel("test", schedule=schedule)
    order: list[str] = []
    channel.consume(lambda events: order.append("slow"), interval(1.0), name="slow", rt_info="slow", now=0.0)
    channel.consume(lambda events: order.append("urgent"), on(A, rt_info="urgent"), now=0.0)
    channel.expire(1.0)
    channel.supply((1, A)).push(Event(A, 1), now=1.0)
    channel.run_pending()
    assert order == ["urgent", "slow"]
