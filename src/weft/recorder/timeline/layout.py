"""What a time line shows and where, before anybody draws it: the page (`page`) and the PNG have the same layout.

Times are fractions of the window, from 0 to 1, so that whoever draws chooses the width; heights are pixels.  A lane with more
marks than its share of `MOST_MARKS` is drawn in bins: a bin's height says how much of it was busy, and its marks say how many
they stand for.  No miss is left out that way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.recorder.timeline.figures import (
    Figures,
    Laxity,
    Table,
    TimeWindow,
    cut,
    figures,
    lane_table,
    priority_table,
)
from weft.recorder.timeline.lanes import TimelineLane
from weft.recorder.timeline.marks import BINS, MOST_MARKS, Drawing, LaneRow, count
from weft.recorder.timeline.units import UNITS, Unit, digits_for, number, span, ticks, unit_for

MOST_LANES = 120
COLOURS = 6


class LaxityRow(NamedTuple):
    """In fractions of the laxity axis."""

    label: str
    colour: int
    low: float
    average: float
    high: float
    tip: str


class TimeAxis(NamedTuple):
    """Ticks as (fraction, text)."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    zero: float | None = None


@dataclass(frozen=True)
class Picture:
    title: str
    subtitle: str
    misses: int
    window: TimeWindow
    origin: int  # the time that is called 0
    unit: Unit
    time: TimeAxis
    lanes: tuple[LaneRow, ...]
    laxity: TimeAxis
    laxities: tuple[LaxityRow, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = field(default=())


def picture(
    title: str, found: Sequence[TimelineLane], window: TimeWindow, origin: int, notes: Iterable[str] = (), one: bool = False
) -> Picture:  # fmt: skip
    """Of lanes that are not yet cut to the window.  `one`: their parts are those of one processor."""
    chosen = [lane for lane in (cut(lane, window) for lane in found) if lane.pushes or lane.consumes]
    known = {id(lane): figures(lane, window) for lane in chosen}
    shown = _shown(chosen, known)
    unit = unit_for(window.length)
    colours = _colours(chosen)
    nodes = sorted({lane.node for lane in chosen})
    draw = Drawing(window, origin, unit, MOST_MARKS // max(1, len(shown)), len(nodes) > 1)
    rows = tuple(draw.lane(lane, known[id(lane)], colours) for lane in shown)
    ranges = [(lane, known[id(lane)].laxity) for lane in shown if known[id(lane)].laxity is not None]
    axis, laxities = _laxities(ranges, colours, draw.label)
    misses = sum(one.misses for one in known.values())
    lasts = span(window.length, unit)
    begins = f"{number((window.begin - origin) / unit.size, 3)} to {number((window.end - origin) / unit.size, 3)} {unit.name}"
    return Picture(
        title,
        f"{begins} ({lasts}) · {count(len(chosen), 'lane')} of {count(len(nodes), 'node')} · "
        f"{count(sum(one.runs for one in known.values()), 'run')} · {count(misses, 'miss', 'misses')}",
        misses, window, origin, unit, time_axis(window, origin, unit), rows, axis, laxities,
        (lane_table(chosen, known, len(nodes) > 1), priority_table(chosen, window)),
        (*_notes(chosen, shown, known, rows, one), *notes),
    )  # fmt: skip


def time_axis(window: TimeWindow, origin: int, unit: Unit) -> TimeAxis:
    low, high = (window.begin - origin) / unit.size, (window.end - origin) / unit.size
    values = ticks(low, high, 12)
    digits = digits_for(values)
    length = high - low or 1.0
    return TimeAxis(
        f"time ({unit.name})", tuple(((value - low) / length, number(value, digits)) for value in values)
    )


def _shown(chosen: list[TimelineLane], known: dict[int, Figures]) -> list[TimelineLane]:
    """All of them, or those that have missed before the others; in their order."""
    if len(chosen) <= MOST_LANES:
        return chosen
    kept = sorted(range(len(chosen)), key=lambda at: (not known[id(chosen[at])].misses, at))[:MOST_LANES]
    return [chosen[at] for at in sorted(kept)]


def _colours(chosen: list[TimelineLane]) -> dict[int | None, int]:
    known = sorted({lane.priority for lane in chosen}, key=lambda number: (number is None, number))
    return {priority: rank % COLOURS for rank, priority in enumerate(known)}


# Laxity

UNEVEN = 30
"""If the largest laxity of one consumer is so many times that of another, the axis is logarithmic on both sides of 0."""


class _Scale:
    """Where a laxity is on its axis, between 0 and 1."""

    def __init__(self, known: Sequence[Laxity]) -> None:
        sizes = [max(-laxity.least, laxity.most, 1) for laxity in known]
        self.bend = min(sizes) / 3 if max(sizes) > UNEVEN * min(sizes) else 0.0
        low = self._bent(min(0, *(laxity.least for laxity in known)))
        high = self._bent(max(0, *(laxity.most for laxity in known)))
        margin = (high - low) * 0.03 or 1.0
        self.begin, self.end = low - (margin if low else 0.0), high + margin

    def place(self, value: float) -> float:
        return (self._bent(value) - self.begin) / (self.end - self.begin)

    def axis(self) -> TimeAxis:
        words = "deadline less end; negative: missed"
        if not self.bend:
            unit = unit_for(max(-self.begin, self.end))
            values = ticks(self.begin / unit.size, self.end / unit.size, 12)
            digits = digits_for(values)
            places = tuple((self.place(value * unit.size), number(value, digits)) for value in values)
            return TimeAxis(f"laxity ({unit.name}): {words}", places, self.place(0))
        powers = [10.0**power for power in range(math.ceil(math.log10(self.bend)), 20)]
        values = [*(-power for power in reversed(powers)), 0.0, *powers]
        inside = [value for value in values if self.begin <= self._bent(value) <= self.end]
        places = tuple((self.place(value), _power(value)) for value in inside)
        return TimeAxis(f"laxity (logarithmic): {words}", places, self.place(0))

    def _bent(self, value: float) -> float:
        return math.copysign(math.log1p(abs(value) / self.bend), value) if self.bend else value


def _power(value: float) -> str:
    """A power of ten, with its unit."""
    if not value:
        return "0"
    unit = next((unit for unit in UNITS if abs(value) < 1000 * unit.size), UNITS[-1])
    digits = max(0, -math.floor(math.log10(abs(value) / unit.size) + 1e-9))
    return f"{number(value / unit.size, digits)} {unit.name}"


def _laxities(
    ranges: list[tuple[TimelineLane, Laxity | None]],
    colours: dict[int | None, int],
    label: Callable[[TimelineLane], str],
) -> tuple[TimeAxis, tuple[LaxityRow, ...]]:
    known = [(lane, laxity) for lane, laxity in ranges if laxity is not None]
    if not known:
        return TimeAxis("laxity", ()), ()
    scale = _Scale([laxity for _, laxity in known])
    rows = []
    for lane, laxity in known:
        unit = unit_for(max(-laxity.least, laxity.most))
        tip = (
            f"{lane.name}: laxity at least {span(laxity.least, unit)}, on average {span(laxity.average, unit)}, "
            f"at most {span(laxity.most, unit)}"
        )
        low, average, high = (scale.place(value) for value in laxity)
        rows.append(LaxityRow(label(lane), colours[lane.priority], low, average, high, tip))
    return scale.axis(), tuple(rows)


# Notes


def _notes(
    chosen: list[TimelineLane],
    shown: list[TimelineLane],
    known: dict[int, Figures],
    rows: Sequence[LaneRow],
    one: bool,
) -> list[str]:
    notes = [] if chosen else ["Nothing of what was chosen happened in this part of the run."]
    left_out = [lane for lane in chosen if all(lane is not other for other in shown)]
    if left_out:
        missed = sum(known[id(lane)].misses for lane in left_out)
        notes.append(
            f"{count(len(left_out), 'lane')} of {len(chosen)}, with {count(missed, 'miss', 'misses')}, "
            "are in the table but not drawn; choose some with --names."
        )
    if any(row.binned for row in rows):
        binned = sum(row.binned for row in rows)
        notes.append(
            f"{count(binned, 'lane')} with many runs: drawn in {BINS} bins, whose height says how much of each was busy; a mark "
            "counts all of its bin. Narrow the window with --from and --to to see every run."
        )
    unfinished = sum(known[id(lane)].unfinished for lane in chosen)
    if unfinished:
        notes.append(
            f"{count(unfinished, 'run')} without an end (dashed): still running, hung, or lost with its process. "
            "Nothing of it is counted as utilisation."
        )
    if one:
        notes.append("The consumers of a machine share one processor here: whoever began last runs.")
    else:
        notes.append(
            "A bar lasts from dispatch to done. Whether others ran in between is not in the rows; where all share one processor, "
            "--one-processor cuts that out."
        )
    return notes
