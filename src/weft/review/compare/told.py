"""Comparisons and trends in words, and as data."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from weft.review.compare.comparing import Comparison, RunDifference
from weft.review.compare.figures import RunRow, Subject
from weft.review.compare.trending import ONCE, Trend, TrendEvent
from weft.review.kernels.differences import Contrast


def day_and_time(run: RunRow) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.start_ns // 10**9))


def side(runs: list[RunRow]) -> str:
    """Which runs these are."""
    if len(runs) == 1:
        return f"{runs[0].federation}/{runs[0].run}"
    names = ", ".join(sorted({run.federation for run in runs}))
    return f"{len(runs)} runs of {names}, {day_and_time(runs[0])} to {day_and_time(runs[-1])}"


def figure(value: float, unit: str) -> str:
    shown = f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"
    return f"{shown} {unit}".rstrip()


def change(before: float, after: float, unit: str) -> str:
    ratio = f" ({after / before - 1:+.0%})" if before and math.isfinite(after / before) else ""
    return f"{figure(before, unit)} → {figure(after, unit)}{ratio}"


def certainty(told: Contrast | None, unit: str) -> str:
    if told is None:
        return ""
    between = f"by {figure(told.shift, unit)}, between {figure(told.low, unit)} and {figure(told.high, unit)}"
    return f"{between}; p {told.p:.1g}"


def difference_line(one: RunDifference) -> str:
    subject = one.subject
    more = "; ".join(part for part in (one.why, certainty(one.contrast, subject.unit)) if part)
    line = f"{one.verdict:<8}{subject.kind:<11}{subject}: {change(one.before, one.after, subject.unit)}"
    return f"{line}  [{more}]" if more else line


def comparison_lines(found: Comparison) -> Iterator[str]:
    yield f"before: {side(found.before)}"
    yield f"after:  {side(found.after)}"
    yield from (f"note: {note}" for note in found.notes)
    yield ""
    yield from map(difference_line, found.differences)
    yield verdict(found)


def verdict(found: Comparison) -> str:
    same = found.compared - len(found.differences)
    if not found.differences:
        return f"nothing differs by more than noise ({found.compared} compared)"
    return f"{len(found.worse)} worse, {len(found.differences) - len(found.worse)} otherwise different, {same} alike"


def event_line(one: TrendEvent) -> str:
    subject = one.subject
    when = f"{'only in' if one.what == ONCE else 'since'} {day_and_time(one.run)} {one.run.run}"
    more = certainty(one.contrast, subject.unit)
    line = (
        f"{one.verdict:<8}{subject.kind:<11}{subject}: {change(one.before, one.after, subject.unit)}, {when}"
    )
    return f"{line}  [{more}]" if more else line


def trend_lines(found: Trend) -> Iterator[str]:
    yield f"{side(found.runs)}: {len(found.lines)} figures"
    yield ""
    yield from map(event_line, found.events)
    told = f"{len(found.events)} changes, {len(found.worse)} of them for the worse"
    yield told if found.events else "nothing changes by more than noise"


def _subject(subject: Subject) -> dict[str, object]:
    return {"kind": subject.kind, "subject": subject.what, "measure": subject.measure, "unit": subject.unit}


def _contrast(told: Contrast | None) -> dict[str, object]:
    return {} if told is None else told._asdict()


def comparison_data(found: Comparison) -> dict[str, object]:
    return {
        "before": [run._asdict() for run in found.before],
        "after": [run._asdict() for run in found.after],
        "by": found.by,
        "notes": found.notes,
        "compared": found.compared,
        "worse": len(found.worse),
        "differences": [
            {
                "verdict": one.verdict,
                **_subject(one.subject),
                "before": one.before,
                "after": one.after,
                "why": one.why,
                "figures": one.figures,
                **_contrast(one.contrast),
            }
            for one in found.differences
        ],
    }


def trend_data(found: Trend) -> dict[str, object]:
    return {
        "federation": found.federation,
        "runs": [run._asdict() for run in found.runs],
        "worse": len(found.worse),
        "events": [
            {
                "verdict": one.verdict,
                **_subject(one.subject),
                "what": one.what,
                "run": one.run.run,
                "start_ns": one.run.start_ns,
                "before": one.before,
                "after": one.after,
                **_contrast(one.contrast),
            }
            for one in found.events
        ],
        "lines": [
            {
                **_subject(line.subject),
                "runs": [run.run for run in line.runs],
                "values": [None if math.isnan(value) else value for value in line.values.tolist()],
            }
            for line in found.lines
        ],
    }
