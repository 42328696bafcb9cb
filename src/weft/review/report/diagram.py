"""A witness as a space-time diagram, before anybody draws it: who is on which line, what happened in which column.

Processes (federates, or a consumer) are lines, and time goes from left to right.  Columns are an order and not a scale: every
event has one of its own, behind all that happened before it at the same process, and behind the send of what is delivered.  So
clocks that differ a little do not make arrows run backwards.

Tones: `late` is what is wrong, `after` what it is wrong beside, `way` how the one led to the other, and `other` what else
happened there meanwhile.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from weft.recorder.timeline.units import span, unit_for
from weft.review.kernels.records import RecordedRow

LATE, AFTER, WAY, OTHER = "late", "after", "way", "other"
MOST_OTHERS = 8  # messages that only happened there meanwhile
MOST_STEPS = 12  # of a way from one message to another

MessageKey = tuple[int, int]
"""Source and number."""
Row = RecordedRow


class NamedFederate(NamedTuple):
    name: str
    node: str


class ProcessLine(NamedTuple):
    label: str
    note: str


@dataclass(frozen=True)
class Point:
    """Something that happened at a process; `label` is written beside it, `tip` shown on demand."""

    process: int
    column: int
    kind: str  # send, deliver, nothing, grant, request, declare, dispatch, deadline, done, miss
    tone: str
    label: str
    tip: str
    number: int = 0
    """Of a delivery at the process that the witness is about: its place among them."""


class Arrow(NamedTuple):
    """A message from one point to another, or `broken`: it did not come, or nobody knows from where."""

    first: int
    last: int
    tone: str
    label: str
    tip: str
    broken: bool = False


class Stretch(NamedTuple):
    """A process was busy from one point to the next."""

    first: int
    last: int
    tone: str
    tip: str


@dataclass(frozen=True)
class Diagram:
    title: str
    processes: tuple[ProcessLine, ...]
    points: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    stretches: tuple[Stretch, ...] = ()
    times: tuple[tuple[int, str], ...] = ()
    """Columns, and the time there, from the first event that matters."""
    words: tuple[str, ...] = ()
    """What happened, in order."""
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> int:
        return 1 + max((point.column for point in self.points), default=0)


@dataclass
class DiagramEvent:
    """A point that has no column yet."""

    process: str
    at: int  # nanoseconds
    kind: str
    tone: str
    label: str
    what: str  # in words, without who and when
    seq: float = 0.0  # in its node, for what happened at the same time
    number: int = 0


@dataclass
class Sketch:
    """What a diagram is made of, in any order."""

    names: Mapping[int, NamedFederate]
    """Federates, by their numbers: with `name` and `node`."""
    events: list[DiagramEvent] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    """Between events, by their places in `events`; so are stretches."""
    stretches: list[Stretch] = field(default_factory=list)
    lines: dict[str, ProcessLine] = field(default_factory=dict)
    taken: dict[tuple[str, int], int] = field(default_factory=dict)
    """Events of rows, by node and number."""
    notes: list[str] = field(default_factory=list)

    # Who

    def name(self, federate: int) -> str:
        known = self.names.get(federate)
        return known.name if known is not None and known.name else f"federate {federate}"

    def line(self, federate: int) -> str:
        """The line of a federate, made if there is none."""
        key = f"federate {federate}"
        known = self.names.get(federate)
        note = "" if known is None else f"at {known.node}"
        self.lines.setdefault(key, ProcessLine(self.name(federate), note))
        return key

    # What

    def row(self, row: Row, tone: str, label: str, what: str) -> int:
        """The event of a row; if it is there already, the tone that says more counts."""
        key = (row["node"], row["seq"])
        known = self.taken.get(key)
        if known is not None:
            event = self.events[known]
            if (LATE, AFTER, WAY, OTHER).index(tone) < (LATE, AFTER, WAY, OTHER).index(event.tone):
                event.tone, event.label, event.what = tone, label, what
            return known
        line, at = self.line(row["federate"]), row["epoch_ns"] or 0
        made = self.add(DiagramEvent(line, at, row["kind"], tone, label, what, row["seq"]))
        self.taken[key] = made
        return made

    def add(self, event: DiagramEvent) -> int:
        self.events.append(event)
        return len(self.events) - 1

    def arrow(self, first: int, last: int, tone: str, label: str, tip: str, broken: bool = False) -> None:
        if not any(one[:2] == (first, last) for one in self.arrows):
            self.arrows.append(Arrow(first, last, tone, label, tip, broken))

    # The end

    def finish(self, title: str, about: str = "") -> Diagram:
        """`about`: the line whose deliveries are numbered."""
        order = _order(self.events, [(one.first, one.last) for one in self.arrows])
        column = {event: place for place, event in enumerate(order)}
        keys = list(self.lines)
        matters = [self.events[event].at for event in order if self.events[event].tone != OTHER]
        zero = min(matters, default=0)
        unit = unit_for(max((abs(event.at - zero) for event in self.events), default=0))
        number = 0
        points, words, times = [], [], []
        for event in order:
            one = self.events[event]
            if one.process == about and one.kind == "deliver":
                number += 1
                one.number = number
            since = f"{'' if one.at < zero else '+'}{span(one.at - zero, unit)}"
            told = f"{self.lines[one.process].label} {one.what}"
            words.append(f"{since}: {told}")
            if one.tone != OTHER:
                times.append((column[event], since))
            line, tip = keys.index(one.process), f"{told}, {since}"
            points.append(Point(line, column[event], one.kind, one.tone, one.label, tip, one.number))
        arrows = [one._replace(first=column[one.first], last=column[one.last]) for one in self.arrows]
        stretches = [one._replace(first=column[one.first], last=column[one.last]) for one in self.stretches]
        return Diagram(
            title, tuple(self.lines.values()), tuple(points), tuple(arrows), tuple(stretches), tuple(times),
            tuple(words), tuple(self.notes),
        )  # fmt: skip


def _order(events: Sequence[DiagramEvent], arrows: Iterable[tuple[int, int]]) -> list[int]:
    """By the clock, as far as what must come first allows; if that goes in a circle (rows are wrong), by the clock alone."""
    by_clock = sorted(range(len(events)), key=lambda place: (events[place].at, events[place].seq, place))
    followers: dict[int, list[int]] = {place: [] for place in by_clock}
    waits = dict.fromkeys(by_clock, 0)
    # Rows of one process are in the order in which its node wrote them, whatever the clock says.
    own = sorted(by_clock, key=lambda place: (events[place].process, events[place].seq, events[place].at))
    before = [(one, other) for one, other in pairwise(own) if events[one].process == events[other].process]
    for first, last in [*before, *arrows]:
        followers[first].append(last)
        waits[last] += 1
    rank = {place: number for number, place in enumerate(by_clock)}
    ready = [rank[place] for place in by_clock if not waits[place]]
    heapq.heapify(ready)
    made = []
    while ready:
        place = by_clock[heapq.heappop(ready)]
        made.append(place)
        for follower in followers[place]:
            waits[follower] -= 1
            if not waits[follower]:
                heapq.heappush(ready, rank[follower])
    return made if len(made) == len(events) else by_clock
