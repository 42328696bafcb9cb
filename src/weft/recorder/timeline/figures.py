"""The figures of a time line (S3-15): laxity, misses, overruns and utilisation, for each consumer and for each priority."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from weft.recorder.timeline.lanes import Activation, TimelineLane


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
    return Figures(
        sum(one.pushes for one in each), sum(one.runs for one in each), sum(one.unfinished for one in each),
        sum(one.misses for one in each), sum(one.overruns for one in each), sum(one.drops for one in each),
        laxity(one for lane in parts for one in lane.activations),
        sum(one.busy for one in each), sum(one.utilisation for one in each),
    )  # fmt: skip


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
