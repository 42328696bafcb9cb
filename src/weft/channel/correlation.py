"""Correlation (S3-5): which events a consumer gets together.

The law.  Every part of a dependency takes in events and now and then *fires* with a set of them:

* on(…) fires with each event that it matches; a timeout with each event of its own timer.
* any_of(…) offers an event to all its parts.  When some of them fire, it fires, with the events of all of those.
* all_of(…) offers an event to the parts that have not fired yet.  A part that fires keeps what it fired with; it is not offered
  anything more (the first is kept).  When all parts have fired, all_of fires with what they kept, and all parts wait again.
* A registration fires when its outermost part does.  A consumer is any_of(its registrations): it is pushed at most once for an
  event, with the events of all registrations that fired, each event once, in the order of arrival.

So a group is cleared by its own firing and by nothing else: in any_of(all_of(a, b), all_of(c, d)) a pending c survives the push
of a and b.  The option `clear_all` of a consumer clears all its groups with every push.

How it is done.  A dependency is compiled to a tree of nodes.  For each pair of source and type the channel works out once which
leaves match (see `subscriptions`), and from these the *steps*: the part of the tree that the event can reach at all.  Offering an
event walks the steps only, so its cost does not depend on how much else the consumer waits for.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Final

from weft.channel.event import ANY, DEADLINE_TIMEOUT, INTERVAL_TIMEOUT, Event, Timeout
from weft.channel.qos import AllOf, Deadline, Dependency, Interval, On
from weft.channel.scheduling.urgency import Urgency
from weft.channel.timers import Timer, Timers


class Arrival:
    """An event that a consumer waits with, and the leaf that let it in; arrivals of a consumer are numbered."""

    __slots__ = ("event", "leaf", "number")

    def __init__(self, number: int, event: Event) -> None:
        self.number = number
        self.event = event
        self.leaf: LeafNode | None = None


class CorrelationStep:
    """A node that an event can reach, and how it goes on from there."""

    __slots__ = ("node", "steps")

    def __init__(self, node: CorrelationNode) -> None:
        self.node = node
        self.steps: list[CorrelationStep] = []


class CorrelationNode(metaclass=ABCMeta):
    def __init__(self) -> None:
        self.parent: CorrelationNode | None = None
        self.place = 0  # among the parts of its parent

    @abstractmethod
    def offer(self, step: CorrelationStep, number: int, event: Event) -> list[Arrival] | None:
        """What it fires with, or None."""

    @abstractmethod
    def clear(self) -> None: ...

    @abstractmethod
    def held(self) -> list[Arrival]:
        """What the groups in it wait with."""


class LeafNode(CorrelationNode):
    def __init__(self, registration: Registration, number: int, urgency: Urgency) -> None:
        super().__init__()
        self.registration = registration
        self.number = number  # from left to right in its registration
        self.urgency = urgency
        self.source = ANY
        self.type = ANY

    def offer(self, step: CorrelationStep, number: int, event: Event) -> list[Arrival] | None:
        arrival = Arrival(number, event)
        arrival.leaf = self
        return [arrival]

    def clear(self) -> None:
        pass

    def held(self) -> list[Arrival]:
        return []


class TimerLeaf(LeafNode):
    """Its timer runs while the registration is active; the host of the timers is given when it starts."""

    def __init__(
        self, registration: Registration, number: int, urgency: Urgency, seconds: float, periodic: bool
    ) -> None:
        super().__init__(registration, number, urgency)
        self.seconds = seconds
        self.periodic = periodic
        self.timer: Timer | None = None
        self.step: CorrelationStep | None = None  # the way from the root, worked out once

    def start(self, timers: Timers, now: float) -> None:
        if self.timer is None:
            period = self.seconds if self.periodic else 0.0
            self.timer = timers.schedule(now + self.seconds, self.expired, period)
        else:
            timers.move(self.timer, now + self.seconds)

    def stop(self, timers: Timers) -> None:
        if self.timer is not None:
            timers.cancel(self.timer)

    def expired(self, timer: Timer, now: float) -> None:
        kind = INTERVAL_TIMEOUT if self.periodic else DEADLINE_TIMEOUT
        content = Timeout(timer.fired, self.seconds, timer.missed)
        if self.step is None:
            self.step = steps_to([self])
        self.registration.owner.timed_out(self, Event(kind, ANY, content, timer.fired), now)


class AnyNode(CorrelationNode):
    def __init__(self, parts: list[CorrelationNode]) -> None:
        super().__init__()
        self.parts = parts
        _adopt(self, parts)

    def offer(self, step: CorrelationStep, number: int, event: Event) -> list[Arrival] | None:
        found: list[Arrival] | None = None
        for below in step.steps:
            got = below.node.offer(below, number, event)
            if got is not None:
                found = got if found is None else found + got
        return found

    def clear(self) -> None:
        for part in self.parts:
            part.clear()

    def held(self) -> list[Arrival]:
        return [one for part in self.parts for one in part.held()]


class AllNode(CorrelationNode):
    def __init__(self, parts: list[CorrelationNode]) -> None:
        super().__init__()
        self.parts = parts
        self.kept: list[list[Arrival] | None] = [None] * len(parts)
        self.missing = len(parts)
        _adopt(self, parts)

    def offer(self, step: CorrelationStep, number: int, event: Event) -> list[Arrival] | None:
        kept = self.kept
        for below in step.steps:
            node = below.node
            if kept[node.place] is None:
                got = node.offer(below, number, event)
                if got is not None:
                    kept[node.place] = got
                    self.missing -= 1
        if self.missing:
            return None
        found: list[Arrival] = []
        for got in kept:
            if got is not None:
                found.extend(got)
        self.open()
        return found

    def open(self) -> None:
        self.kept = [None] * len(self.parts)
        self.missing = len(self.parts)

    def clear(self) -> None:
        self.open()
        for part in self.parts:
            part.clear()

    def held(self) -> list[Arrival]:
        own = [one for got in self.kept if got is not None for one in got]
        return own + [one for part in self.parts for one in part.held()]


class Owner(metaclass=ABCMeta):
    """Whose registrations these are: the channel's end of a consumer, or a group of messages (`weft.kernel.qos`)."""

    number: int  # in the order in which they connected
    clears: bool  # any push clears all registrations
    is_gateway: bool

    @abstractmethod
    def timed_out(self, leaf: TimerLeaf, event: Event, now: float) -> None: ...


class Registration:
    """One dependency of a consumer, compiled.  Not active while it is suspended, and once it was cancelled."""

    def __init__(self, owner: Owner, number: int, asked: Dependency) -> None:
        self.owner = owner
        self.number = number  # in the order in which they were made
        self.asked = asked  # as the consumer wrote it
        self.root: CorrelationNode | None = None
        self.leaves: list[LeafNode] = []
        self.timers: list[TimerLeaf] = []
        self.deadlines: list[TimerLeaf] = []
        self.active = False

    def compile(self, dependency: Dependency, urgencies: dict[str, Urgency]) -> None:
        """For a dependency as the configuration of the channel has it, with the urgency of every RT_Info in it."""
        self.leaves = []
        self.timers = []
        self.deadlines = []
        self.root = self._node(dependency, urgencies)

    def _node(self, dependency: Dependency, urgencies: dict[str, Urgency]) -> CorrelationNode:
        if isinstance(dependency, AllOf):
            return AllNode([self._node(part, urgencies) for part in dependency.parts])
        if isinstance(dependency, Interval | Deadline):
            periodic = isinstance(dependency, Interval)
            timer = TimerLeaf(
                self, len(self.timers), urgencies[dependency.rt_info], dependency.seconds, periodic
            )
            self.timers.append(timer)
            if not periodic:
                self.deadlines.append(timer)
            return timer
        if isinstance(dependency, On):
            leaf = LeafNode(self, len(self.leaves), urgencies[dependency.rt_info])
            leaf.source = dependency.source
            leaf.type = dependency.type
            self.leaves.append(leaf)
            return leaf
        return AnyNode([self._node(part, urgencies) for part in dependency.parts])

    def held(self) -> list[Arrival]:
        return [] if self.root is None else self.root.held()

    def rerank(self, urgency: Callable[[str], Urgency]) -> None:
        """Another schedule: as urgent as this says of the RT_Info of each leaf."""
        for leaf in self.leaves:
            leaf.urgency = urgency(leaf.urgency.rt_info)
        for timer in self.timers:
            timer.urgency = urgency(timer.urgency.rt_info)

    def clear(self) -> None:
        if self.root is not None:
            self.root.clear()

    def start(self, timers: Timers, now: float) -> None:
        for leaf in self.timers:
            leaf.start(timers, now)

    def stop(self, timers: Timers) -> None:
        for leaf in self.timers:
            leaf.stop(timers)

    def rearm(self, timers: Timers, now: float) -> None:
        """It has fired: its watchdogs begin to wait anew."""
        for leaf in self.deadlines:
            leaf.start(timers, now)


def steps_to(leaves: list[LeafNode]) -> CorrelationStep:
    """The part of a registration's tree that leads from its root to these leaves."""
    made: dict[CorrelationNode, CorrelationStep] = {}
    root: CorrelationStep | None = None
    for leaf in leaves:
        node: CorrelationNode | None = leaf
        below: CorrelationStep | None = None
        while node is not None:
            step = made.get(node)
            known = step is not None
            if step is None:
                step = CorrelationStep(node)
                made[node] = step
            if below is not None:
                step.steps.append(below)
            if known:
                break
            below = step
            root = step if node.parent is None else root
            node = node.parent
    if root is None:
        raise ValueError("no leaves")
    return root


_BY_NUMBER: Final = lambda arrival: arrival.number  # noqa: E731


def in_order(arrivals: list[Arrival]) -> list[Arrival]:
    """Each event once, in the order of arrival."""
    if len(arrivals) == 1:
        return arrivals
    found: list[Arrival] = []
    for arrival in sorted(arrivals, key=_BY_NUMBER):
        if not found or found[len(found) - 1].number != arrival.number:
            found.append(arrival)
    return found


def most_urgent(arrivals: list[Arrival]) -> Urgency:
    """A push is as urgent as the most urgent of the leaves that let its events in."""
    best: Urgency | None = None
    for arrival in arrivals:
        if arrival.leaf is not None:
            urgency = arrival.leaf.urgency
            if best is None or urgency.before(best):
                best = urgency
    if best is None:
        raise ValueError("no arrivals")
    return best


def _adopt(parent: CorrelationNode, parts: list[CorrelationNode]) -> None:
    for place, part in enumerate(parts):
        part.parent = parent
        part.place = place
