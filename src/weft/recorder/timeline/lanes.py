"""From rows to lanes: who pushed when, who ran from when to when, and was it in time (S3-14).

A lane is a supplier or a consumer of one node.  An *activation* begins with a `dispatch` row and ends with a `done` row.  They
are matched by these rules:

* A `done` ends the activation of its lane that began last, has not ended and does not contradict it: where both name an
  operation, a priority or a deadline, they are the same.
* A `dispatch` for which there is no `done` is an activation without an end: it was still running, hung, or died with its process.
* A `done` for which there is no `dispatch` is an activation without a begin: its row was before the record, or was dropped.
* A `miss` or `overrun` belongs to an activation with its deadline that does not contradict it, and rather to one that was late;
  if it has no deadline, to the one that began last before it.  Each activation takes one of each.  What is left over stands for
  itself: the push never ran.

An activation has missed if a row says so, if it ended after its deadline, or if it has no end and its deadline is over.  Laxity
is deadline less end; negative: missed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from weft.recorder.timeline.rows import OF_NODES, Clock, Row, clocks

Part = tuple[int, int]


@dataclass(slots=True, eq=False)
class Activation:
    """A consumer at work with one push.  Times in nanoseconds; `parts` is when it ran, as far as that is known."""

    begin: int | None
    end: int | None = None
    operation: str = ""
    priority: int | None = None
    sub_priority: int | None = None
    deadline: int | None = None
    queue: int | None = None
    missed: bool = False  # a row says so
    overran: bool = False
    parts: tuple[Part, ...] = ()

    @property
    def laxity(self) -> int | None:
        return None if self.deadline is None or self.end is None else self.deadline - self.end

    @property
    def first(self) -> int:
        """The first that is known of it."""
        known = self.begin if self.begin is not None else self.end
        assert known is not None
        return known

    def last(self, until: int) -> int:
        """Its end, or how long it may have gone on if it has none."""
        return max(until, self.first) if self.end is None else self.end

    def is_late(self, until: int) -> bool:
        """Has it missed, as of a time?"""
        if self.missed:
            return True
        return self.deadline is not None and self.deadline < (until if self.end is None else self.end)


class Push(NamedTuple):
    at: int
    operation: str
    priority: int | None


class Lost(NamedTuple):
    """A miss or overrun of which no activation is known, or a push that was dropped."""

    at: int
    operation: str
    priority: int | None
    deadline: int | None
    detail: str


class Miss(NamedTuple):
    """`at`: when it ended too late; when the record ended, if it did not; or when somebody noticed that it would not run."""

    at: int
    deadline: int | None
    operation: str
    priority: int | None
    activation: Activation | None
    detail: str


@dataclass(slots=True)
class TimelineLane:
    node: str
    name: str
    machine: int = 0
    until: int = 0  # the last that is known of its node
    pushes: list[Push] = field(default_factory=list)
    activations: list[Activation] = field(default_factory=list)
    missing: list[Lost] = field(default_factory=list)
    """Misses of which no activation is known."""
    overran: list[Lost] = field(default_factory=list)
    """Overruns of which no activation is known."""
    drops: list[Lost] = field(default_factory=list)

    @property
    def lost(self) -> list[Lost]:
        return [*self.missing, *self.overran, *self.drops]

    @property
    def consumes(self) -> bool:
        return bool(self.activations or self.lost)

    @property
    def overruns(self) -> int:
        return len(self.overran) + sum(one.overran for one in self.activations)

    @property
    def role(self) -> str:
        if not self.pushes:
            return "consumer"
        return "both" if self.consumes else "supplier"

    @property
    def priority(self) -> int | None:
        """The most urgent of its work; of a supplier that only pushes, of its pushes."""
        work: Iterable[Activation | Lost] = [*self.activations, *self.lost]
        return (
            _least(one.priority for one in work) if self.consumes else _least(p.priority for p in self.pushes)
        )

    @property
    def operations(self) -> list[str]:
        found: dict[str, None] = {}
        for operation in (
            *(one.operation for one in self.activations),
            *(lost.operation for lost in self.lost),
            *(push.operation for push in self.pushes),
        ):
            if operation:
                found[operation] = None
        return list(found)

    def of_priority(self, priority: int | None) -> TimelineLane:
        """What of it has this priority."""
        return replace(
            self,
            pushes=[push for push in self.pushes if push.priority == priority],
            activations=[one for one in self.activations if one.priority == priority],
            missing=[lost for lost in self.missing if lost.priority == priority],
            overran=[lost for lost in self.overran if lost.priority == priority],
            drops=[lost for lost in self.drops if lost.priority == priority],
        )

    def priorities(self) -> set[int | None]:
        found = {one.priority for one in self.activations} | {lost.priority for lost in self.lost}
        return found | {push.priority for push in self.pushes}

    def misses(self) -> list[Miss]:
        """All of them, by time."""
        found = [
            Miss(one.last(self.until), one.deadline, one.operation, one.priority, one, "")
            for one in self.activations
            if one.is_late(self.until)
        ]
        found += [Miss(o.at, o.deadline, o.operation, o.priority, None, o.detail) for o in self.missing]
        return sorted(found, key=lambda miss: miss.at)


class Ended(NamedTuple):
    """What is known of a node of the run: its last row, and whether it said that it stops."""

    node: str
    until: int
    stopped: bool | None  # None: it never said that it began, either
    dropped: int  # rows that it could not keep


def lanes(rows: Iterable[Row]) -> list[TimelineLane]:
    """In the order of priority: the most urgent first, suppliers before the consumers of their priority, then by name."""
    ordered = sorted(rows, key=lambda row: (row.mono_ns, row.seq))
    clock = clocks(ordered)
    last = {one.node: one.until for one in endings(ordered)}
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in ordered:
        if row.kind not in OF_NODES:
            grouped.setdefault((row.node, row.name), []).append(row)
    made = [_lane(node, name, found, clock[node], last[node]) for (node, name), found in grouped.items()]
    return sorted(made, key=_order)


def endings(rows: Iterable[Row]) -> list[Ended]:
    """For each node, in the order of their first rows."""
    ordered = list(rows)
    until: dict[str, int] = {}
    stopped: dict[str, bool] = {}
    dropped: dict[str, int] = {}
    for row in ordered:
        if row.mono_ns > until.setdefault(row.node, row.mono_ns):
            until[row.node] = row.mono_ns
        if row.kind == "stop":
            stopped[row.node] = True
        elif row.kind == "start":
            stopped.setdefault(row.node, False)
        elif row.kind == "dropped":
            dropped[row.node] = dropped.get(row.node, 0) + (row.queue or 0)
    clock = clocks(ordered)
    return [
        Ended(node, last + clock[node].shift, stopped.get(node), dropped.get(node, 0))
        for node, last in until.items()
    ]


def share_processor(found: Iterable[TimelineLane]) -> None:
    """Where the consumers of a machine share one processor, whoever began last runs, and those before it wait for its end.

    Sets the parts of all activations accordingly.  Who has no end cannot be said to have kept the processor from others."""
    machines: dict[int, list[Activation]] = {}
    for lane in found:
        machines.setdefault(lane.machine, []).extend(lane.activations)
    for activations in machines.values():
        _share(activations)


# One lane


def _lane(node: str, name: str, rows: list[Row], clock: Clock, until: int) -> TimelineLane:
    lane = TimelineLane(node, name, clock.machine, until)
    running: list[Activation] = []
    told: list[Row] = []
    for row in rows:
        at = row.mono_ns + clock.shift
        if row.kind == "push":
            lane.pushes.append(Push(at, row.operation, row.priority))
        elif row.kind == "drop":
            lane.drops.append(_lost(row, clock))
        elif row.kind == "dispatch":
            begun = _activation(row, clock)
            begun.begin = at
            running.append(begun)
            lane.activations.append(begun)
        elif row.kind == "done":
            _end(lane, running, row, clock)
        else:
            told.append(row)
    for one in lane.activations:
        one.parts = () if one.begin is None or one.end is None else ((one.begin, one.end),)
    _tell(lane, told, clock)
    return lane


def _activation(row: Row, clock: Clock) -> Activation:
    deadline = None if row.deadline_ns is None else row.deadline_ns + clock.shift
    return Activation(None, None, row.operation, row.priority, row.sub_priority, deadline, row.queue)


def _lost(row: Row, clock: Clock) -> Lost:
    deadline = None if row.deadline_ns is None else row.deadline_ns + clock.shift
    return Lost(row.mono_ns + clock.shift, row.operation, row.priority, deadline, row.detail)


def _end(lane: TimelineLane, running: list[Activation], row: Row, clock: Clock) -> None:
    said = _activation(row, clock)
    for place in range(len(running) - 1, -1, -1):
        if _agree(running[place], said):
            ended = running.pop(place)
            ended.end = row.mono_ns + clock.shift
            if ended.deadline is None:
                ended.deadline = said.deadline
            return
    said.end = row.mono_ns + clock.shift
    lane.activations.append(said)


def _agree(one: Activation | Lost, other: Activation | Lost) -> bool:
    return (
        (not one.operation or not other.operation or one.operation == other.operation)
        and (one.priority is None or other.priority is None or one.priority == other.priority)
        and (one.deadline is None or other.deadline is None or one.deadline == other.deadline)
    )


def _tell(lane: TimelineLane, told: list[Row], clock: Clock) -> None:
    """Misses and overruns find their activations."""
    by_deadline: dict[int, list[Activation]] = {}
    for one in lane.activations:
        if one.deadline is not None:
            by_deadline.setdefault(one.deadline, []).append(one)
    lane.activations.sort(key=lambda one: one.first)  # those without a begin came in where they ended
    starts = [one.first for one in lane.activations]
    choice: Iterator[Activation]
    for row in told:
        said = _lost(row, clock)
        if said.deadline is not None:
            same = by_deadline.get(said.deadline, ())
            choice = iter(sorted(same, key=lambda one: not one.is_late(lane.until)))
        else:
            choice = (lane.activations[at] for at in range(bisect_right(starts, said.at) - 1, -1, -1))
        _mark(lane, row.kind, said, choice)


def _mark(lane: TimelineLane, kind: str, said: Lost, choice: Iterator[Activation]) -> None:
    taken = "missed" if kind == "miss" else "overran"
    found = next((one for one in choice if not getattr(one, taken) and _agree(one, said)), None)
    if found is not None:
        setattr(found, taken, True)
    else:
        (lane.missing if kind == "miss" else lane.overran).append(said)


def _least(numbers: Iterable[int | None]) -> int | None:
    return min((number for number in numbers if number is not None), default=None)


def _order(lane: TimelineLane) -> tuple[bool, int, bool, str, str]:
    priority = lane.priority
    return priority is None, priority or 0, not lane.pushes, lane.name, lane.node


# One processor


def _share(activations: list[Activation]) -> None:
    spans = sorted(
        (one for one in activations if one.begin is not None and one.end is not None),
        key=lambda one: (one.first, -one.last(0)),
    )
    parts: dict[int, list[Part]] = {id(one): [] for one in spans}
    waiting: list[Activation] = []  # the last of them runs
    now = 0

    def run(until: int) -> None:
        """Time passes; whoever is last runs, until it ends or the time has come."""
        nonlocal now
        while waiting and now < until:
            top = waiting[-1]
            end = top.last(0)
            if end > now:
                parts[id(top)].append((now, min(end, until)))
                now = min(end, until)
            if end <= now:
                waiting.pop()
        now = max(now, until)

    for one in spans:
        run(one.first)
        waiting.append(one)
    run(max((one.last(0) for one in spans), default=0))
    for one in spans:
        one.parts = tuple(parts[id(one)])
