"""What differs between two groups of runs, and whether it is more than noise.

Runs are what is compared, as soon as there are some on both sides: how much one run differs from the next is the noise.  Of
single runs nobody knows that; then intervals within each are compared, and it is said.

Something differs if noise would hardly do it (`ALPHA`, for all questions together), if it is most of the figures that differ
and not a few (`DELTA`), and if the change is large enough to be of interest (`ChangeBounds`).  Violations need no statistics: one
that was not there before is worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from weft.review.compare.figures import (
    DATA,
    DEADLINES,
    KINDS,
    MORE_IS_WORSE,
    TRAFFIC,
    VIOLATIONS,
    RunRow,
    Subject,
    SubjectFigures,
    figures_of,
)
from weft.review.errors import ReviewError
from weft.review.kernels.differences import Contrast, Values, adjusted, contrast, independent
from weft.review.lake.store import Snapshot

ALPHA = 0.01
DELTA = 0.5
ENOUGH_RUNS = 4  # on each side: then runs are compared, else intervals
ENOUGH_INTERVALS = 8
WORSE, BETTER, CHANGED = "worse", "better", "changed"


class ChangeBounds(NamedTuple):
    """Changes up to these are of no interest."""

    ratio: float = 0.1
    ms: float = 0.5
    """Of latencies and waits."""


class RunDifference(NamedTuple):
    subject: Subject
    verdict: str
    before: float
    after: float
    """Medians; of violations the mean of a run."""
    contrast: Contrast | None
    """None: nothing had to be weighed."""
    why: str
    """In words, where figures do not say it."""
    figures: tuple[int, int]
    """How many there were, before and after."""

    @property
    def ratio(self) -> float:
        return self.after / self.before if self.before else math.inf


@dataclass
class Comparison:
    before: list[RunRow]
    after: list[RunRow]
    by: str
    """runs or intervals: what was compared."""
    differences: list[RunDifference] = field(default_factory=list)
    """Those that are more than noise, the worst first."""
    compared: int = 0
    """Subjects in all."""
    notes: list[str] = field(default_factory=list)

    @property
    def worse(self) -> list[RunDifference]:
        return [one for one in self.differences if one.verdict == WORSE]


class _Weighed(NamedTuple):
    """A subject of which there are figures on both sides."""

    subject: Subject
    before: Values
    after: Values
    contrast: Contrast


def compare(
    snapshot: Snapshot,
    before: Sequence[RunRow],
    after: Sequence[RunRow],
    bounds: ChangeBounds = ChangeBounds(),  # noqa: B008
) -> Comparison:
    figures = figures_of(snapshot, [*before, *after])
    by_runs = min(len(before), len(after)) >= ENOUGH_RUNS
    found = Comparison(list(before), list(after), "runs" if by_runs else "intervals")
    if not by_runs:
        found.notes.append(
            f"intervals within runs are compared, since there are fewer than {ENOUGH_RUNS} runs on a side: how much one run "
            "differs from the next without any cause is not known"
        )
    weighed: list[_Weighed] = []
    for subject, of in figures.items():
        sides = _sides(of, before, after)
        found.compared += 1
        if subject.kind in (VIOLATIONS, DATA):
            found.differences += _counted(subject, *sides)
        elif min(map(len, sides)) == 0:
            found.differences += _one_sided(subject, *sides)
        elif by_runs:
            weighed.append(_Weighed(subject, *sides, contrast(*sides)))
        elif of.by_interval:
            inside = [_intervals(of, runs) for runs in (before, after)]
            if min(map(len, inside)) >= ENOUGH_INTERVALS:
                weighed.append(_Weighed(subject, inside[0], inside[1], contrast(inside[0], inside[1])))
        else:
            found.differences += _single(subject, *sides)
    found.differences += _beyond_noise(weighed, bounds)
    found.differences.sort(key=_rank)
    return found


def apart(names: tuple[str, str], before: Sequence[RunRow], after: Sequence[RunRow]) -> None:
    """Raises ReviewError where a run is on both sides."""
    twice = {one.key for one in before} & {one.key for one in after}
    if twice:
        raise ReviewError(f"{names[0]} and {names[1]} have {len(twice)} runs in common")


def _sides(of: SubjectFigures, before: Sequence[RunRow], after: Sequence[RunRow]) -> tuple[Values, Values]:
    one, other = (
        np.array([of.by_run[run.run] for run in runs if run.run in of.by_run], np.float64)
        for runs in (before, after)
    )
    return one, other


def _intervals(of: SubjectFigures, runs: Sequence[RunRow]) -> Values:
    parts = [independent(of.by_interval[run.run]) for run in runs if run.run in of.by_interval]
    return np.concatenate(parts) if parts else np.empty(0)


def _counted(subject: Subject, before: Values, after: Values) -> list[RunDifference]:
    """What should be none at all; in how many runs it is some, and how many in the mean of a run."""
    bad, worse = int((before > 0).sum()), int((after > 0).sum())
    many = len(before), len(after)
    if not len(before) or not len(after) or (not bad and not worse):
        return []
    means = float(before.mean()), float(after.mean())
    if not bad or not worse:
        verdict = WORSE if worse else BETTER
        why = f"in {worse} of {many[1]} runs" if worse else f"was in {bad} of {many[0]} runs"
        return [RunDifference(subject, verdict, *means, None, why, many)]
    told = contrast(before, after)
    if min(many) >= ENOUGH_RUNS and told.p <= ALPHA and abs(told.delta) >= DELTA:
        return [RunDifference(subject, WORSE if told.delta > 0 else BETTER, *means, told, "", many)]
    return []


def _one_sided(subject: Subject, before: Values, after: Values) -> list[RunDifference]:
    """Traffic of a kind that one side has not; of what waits there is then no figure, which needs no other line."""
    if subject.kind != TRAFFIC or (not len(before) and not len(after)):
        return []
    why = "is new" if len(after) else "is gone"
    old, new = (float(np.median(side)) if len(side) else 0.0 for side in (before, after))
    return [RunDifference(subject, CHANGED, old, new, None, why, (len(before), len(after)))]


def _single(subject: Subject, before: Values, after: Values) -> list[RunDifference]:
    """Figures that have no intervals, of too few runs to weigh: only what is beyond any doubt."""
    medians = float(np.median(before)), float(np.median(after))
    low, high = (before.max(), after.min()) if medians[1] > medians[0] else (after.max(), before.min())
    apart = high > 2 * low if subject.kind == TRAFFIC else high - low > 5
    if not apart:
        return []
    verdict = _direction(subject, medians[1] - medians[0])
    return [RunDifference(subject, verdict, *medians, None, "far apart", (len(before), len(after)))]


def _beyond_noise(weighed: Sequence[_Weighed], bounds: ChangeBounds) -> list[RunDifference]:
    found = []
    for one, p in zip(weighed, adjusted([one.contrast.p for one in weighed]), strict=True):
        told = one.contrast._replace(p=p)
        medians = float(np.median(one.before)), float(np.median(one.after))
        if p <= ALPHA and abs(told.delta) >= DELTA and is_large(one.subject, told, medians[0], bounds):
            verdict = _direction(one.subject, told.shift)
            many = len(one.before), len(one.after)
            found.append(RunDifference(one.subject, verdict, *medians, told, "", many))
    return found


def is_large(subject: Subject, told: Contrast, before: float, bounds: ChangeBounds) -> bool:
    """By what it is at least, as far as that is known."""
    least = 0.0 if told.low <= 0 <= told.high else min(abs(told.low), abs(told.high))
    if subject.unit == "ms" and least < bounds.ms:
        return False
    if subject.kind == DEADLINES:
        return least >= 1.0  # of a hundred
    return least >= bounds.ratio * abs(before)


def _direction(subject: Subject, shift: float) -> str:
    if subject.kind not in MORE_IS_WORSE:
        return CHANGED
    return WORSE if shift > 0 else BETTER


def _rank(one: RunDifference) -> tuple[int, int, float]:
    size = -abs(math.log(one.ratio)) if 0 < one.ratio < math.inf else -math.inf
    return (WORSE, CHANGED, BETTER).index(one.verdict), KINDS.index(one.subject.kind), size
