"""How figures of a federation go, run after run: since when something is another, and which runs stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from weft.review.compare.comparing import BETTER, CHANGED, DELTA, WORSE, ChangeBounds, is_large
from weft.review.compare.figures import (
    DATA,
    KINDS,
    MORE_IS_WORSE,
    VIOLATIONS,
    RunRow,
    Subject,
    figures_of,
)
from weft.review.kernels.differences import SPREAD, Contrast, Values, outliers, steps
from weft.review.lake.store import Snapshot

ALPHA = 0.001  # of all subjects and places together
SINCE, ONCE = "since", "once"


class TrendEvent(NamedTuple):
    """Something that happened to a figure."""

    subject: Subject
    what: str
    """since: it is another from this run on; once: it stands out in this run alone."""
    run: RunRow
    before: float
    after: float
    verdict: str
    contrast: Contrast | None


class TrendLine(NamedTuple):
    subject: Subject
    runs: list[RunRow]
    values: Values


@dataclass
class Trend:
    federation: str
    runs: list[RunRow]
    lines: list[TrendLine] = field(default_factory=list)
    events: list[TrendEvent] = field(default_factory=list)
    """The latest first."""

    @property
    def worse(self) -> list[TrendEvent]:
        return [one for one in self.events if one.verdict == WORSE]


def trend(
    snapshot: Snapshot,
    federation: str,
    runs: Sequence[RunRow],
    bounds: ChangeBounds = ChangeBounds(),  # noqa: B008
) -> Trend:
    """Of runs in the order in which they began."""
    found = Trend(federation, list(runs))
    for subject, of in sorted(figures_of(snapshot, runs).items(), key=lambda one: _place(one[0])):
        mine = [run for run in runs if run.run in of.by_run]
        values = np.array([of.by_run[run.run] for run in mine], np.float64)
        found.lines.append(TrendLine(subject, mine, values))
    many = max(1, len(found.lines))
    for line in found.lines:
        found.events += (
            _counted(line) if line.subject.kind in (VIOLATIONS, DATA) else _events(line, many, bounds)
        )
    found.events.sort(key=lambda one: (-one.run.start_ns, _place(one.subject)))
    return found


def _place(subject: Subject) -> tuple[int, str, str]:
    return KINDS.index(subject.kind), subject.what, subject.measure


def _counted(line: TrendLine) -> list[TrendEvent]:
    """Stretches of runs in which something is that should not be: the first of each, behind one in which nothing was."""
    bad = line.values > 0
    begins = np.flatnonzero(bad & ~np.concatenate(([False], bad[:-1])))
    found = []
    for begin in begins.tolist():
        good = np.flatnonzero(~bad[begin:])
        end = begin + int(good[0]) if len(good) else len(bad)
        what = ONCE if end == begin + 1 and end < len(bad) else SINCE
        mean = float(line.values[begin:end].mean())
        found.append(TrendEvent(line.subject, what, line.runs[begin], 0.0, mean, WORSE, None))
    return found


def _events(line: TrendLine, many: int, bounds: ChangeBounds) -> list[TrendEvent]:
    found = []
    edges = [0]
    for step in steps(line.values, alpha=ALPHA / many):
        edges.append(step.place)
        middle = float(np.median(line.values[edges[-2] : step.place]))
        told = step.contrast
        if abs(told.delta) >= DELTA and is_large(line.subject, told, middle, bounds):
            after = middle + told.shift
            found.append(_event(line, SINCE, step.place, middle, after, told))
    for begin, end in zip(edges, [*edges[1:], len(line.values)], strict=True):
        part = line.values[begin:end]
        middle = float(np.median(part)) if len(part) else 0.0
        for place in outliers(part):
            away = float(part[place]) - middle
            alone = Contrast(0.0, np.sign(away), away, *sorted((away - _spread(part), away)))
            if is_large(line.subject, alone, middle, bounds):
                found.append(_event(line, ONCE, begin + place, middle, float(part[place]), None))
    return found


def _spread(values: Values) -> float:
    return SPREAD * float(np.median(np.abs(values - np.median(values))))


def _event(
    line: TrendLine, what: str, place: int, before: float, after: float, told: Contrast | None
) -> TrendEvent:
    verdict = CHANGED
    if line.subject.kind in MORE_IS_WORSE:
        verdict = WORSE if after > before else BETTER
    return TrendEvent(line.subject, what, line.runs[place], before, after, verdict, told)
