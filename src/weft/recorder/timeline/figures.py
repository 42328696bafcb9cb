"""The figures of a time line (S3-15): laxity, misses, overruns and utilisation, for each consumer and for each priority.

As numbers, and as tables of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from weft.recorder.timeline.lanes import Activation, TimelineLane
from weft.recorder.timeline.units import Unit, number, unit_for


class TimeWindow(NamedTuple):
    """A stretch of time, in nanoseconds."""

    begin: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.begin

    def has(self, first: int, last: int) -> bool:
        return first <= self.end and last >= self.begin


class Laxity(NamedTuple):
    """Of activations that had a deadline and ended; nanoseconds."""

    least: int
    average: float
    most: int


class Figures(NamedTuple):
    """`runs` ended within the record, `unfinished` did not.  `busy` is nanoseconds on a processor, as far as known."""

    pushes: int
    runs: int
    unfinished: int
    misses: int
    overruns: int
    drops: int
    laxity: Laxity | None
    busy: int
    utilisation: float


def extent(found: Iterable[TimelineLane]) -> TimeWindow | None:
    """From the first to the last thing that is known; None if that is nothing."""
    times: list[int] = []
    for lane in found:
        times += [push.at for push in lane.pushes]
        times += [lost.at for lost in lane.lost]
        for one in lane.activations:
            times += [one.first, one.last(one.first)]
    return TimeWindow(min(times), max(times)) if times else None


def cut(lane: TimelineLane, window: TimeWindow) -> TimelineLane:
    """What of a lane falls into a window, be it in part."""
    return replace(
        lane,
        pushes=[push for push in lane.pushes if window.has(push.at, push.at)],
        activations=[one for one in lane.activations if window.has(one.first, one.last(lane.until))],
        missing=[lost for lost in lane.missing if window.has(lost.at, lost.at)],
        overran=[lost for lost in lane.overran if window.has(lost.at, lost.at)],
        drops=[lost for lost in lane.drops if window.has(lost.at, lost.at)],
    )


def figures(lane: TimelineLane, window: TimeWindow) -> Figures:
    """Of a lane that was cut to a window."""
    ended = sum(one.end is not None for one in lane.activations)
    spent = busy(lane.activations, window)
    return Figures(
        len(lane.pushes), ended, len(lane.activations) - ended, len(lane.misses()), lane.overruns, len(lane.drops),
        laxity(lane.activations), spent, spent / window.length if window.length else 0.0,
    )  # fmt: skip


def figures_by_priority(found: Iterable[TimelineLane], window: TimeWindow) -> dict[int | None, Figures]:
    """The most urgent first; work without a priority last."""
    known: dict[int | None, list[TimelineLane]] = {}
    for lane in found:
        for priority in lane.priorities():
            known.setdefault(priority, []).append(lane.of_priority(priority))
    return {
        priority: _together(known[priority], window)
        for priority in sorted(known, key=lambda number: (number is None, number))
    }


def _together(parts: list[TimelineLane], window: TimeWindow) -> Figures:
    each = [figures(lane, window) for lane in parts]
    together = laxity(one for lane in parts for one in lane.activations)
    sums = {name: sum(getattr(one, name) for one in each) for name in Figures._fields if name != "laxity"}
    return Figures(laxity=together, **sums)


def laxity(activations: Iterable[Activation]) -> Laxity | None:
    known = [one.laxity for one in activations if one.laxity is not None]
    return Laxity(min(known), sum(known) / len(known), max(known)) if known else None


def busy(activations: Iterable[Activation], window: TimeWindow) -> int:
    """Nanoseconds on a processor within the window; of activations without begin or end nothing is known."""
    return sum(
        max(0, min(end, window.end) - max(begin, window.begin))
        for one in activations
        for begin, end in one.parts
    )


# As tables of texts


class Table(NamedTuple):
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int  # so many columns of words come first; the others are numbers
    bad: frozenset[tuple[int, int]]  # (row, column) of figures that speak of something missed


def priority_text(priority: int | None) -> str:
    return "none" if priority is None else str(priority)


def laxity_unit(known: Iterable[Figures]) -> Unit:
    lengths = [max(abs(one.laxity.least), abs(one.laxity.most)) for one in known if one.laxity is not None]
    return unit_for(max(lengths, default=0))


def laxity_texts(laxity: Laxity | None, unit: Unit) -> tuple[str, str, str]:
    if laxity is None:
        return "", "", ""
    least, average, most = (number(value / unit.size, 3) for value in laxity)
    return least, average, most


def _figures_texts(one: Figures, unit: Unit) -> tuple[str, ...]:
    counts = (one.pushes, one.runs, one.unfinished, one.misses, one.overruns, one.drops)
    return (*(str(count) if count else "" for count in counts), *laxity_texts(one.laxity, unit),
            f"{one.utilisation:.1%}" if one.runs else "")  # fmt: skip


FIGURES = ("pushes", "runs", "no end", "misses", "overruns", "given up")


def _header(unit: Unit) -> tuple[str, ...]:
    return *FIGURES, *(f"laxity {word} ({unit.name})" for word in ("min", "avg", "max")), "utilisation"


def _bad(known: Sequence[Figures], texts: int) -> frozenset[tuple[int, int]]:
    found = set()
    for row, one in enumerate(known):
        if one.misses:
            found.add((row, texts + FIGURES.index("misses")))
        if one.laxity is not None and one.laxity.least < 0:
            found.add((row, texts + len(FIGURES)))
    return frozenset(found)


def lane_table(chosen: list[TimelineLane], known: dict[int, Figures], with_node: bool) -> Table:
    unit = laxity_unit(known.values())
    rows = []
    for lane in chosen:
        words = (lane.name, *([lane.node] if with_node else []), lane.role, ", ".join(lane.operations),
                 priority_text(lane.priority))  # fmt: skip
        rows.append((*words, *_figures_texts(known[id(lane)], unit)))
    words = ("name", *(["node"] if with_node else []), "role", "operation", "priority")
    bad = _bad([known[id(lane)] for lane in chosen], len(words))
    return Table("Suppliers and consumers", (*words, *_header(unit)), tuple(rows), len(words) - 1, bad)


def priority_table(chosen: list[TimelineLane], window: TimeWindow) -> Table:
    known = figures_by_priority(chosen, window)
    unit = laxity_unit(known.values())
    rows = tuple((priority_text(priority), *_figures_texts(one, unit)) for priority, one in known.items())
    return Table("Priorities", ("priority", *_header(unit)), rows, 0, _bad(list(known.values()), 1))
