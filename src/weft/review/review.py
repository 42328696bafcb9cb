"""One review: open the run, start Spark, run the audits one after the other, and put together what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.review.advice import advise_run
from weft.review.audits import causal, deadlines, delivery, interest, timing
from weft.review.audits.context import Context, Result
from weft.review.errors import ReviewError, reason
from weft.review.reading import Opened, open_for_review, read_rows
from weft.review.report.evidence import Evidence, gather
from weft.review.session import LOCAL, Profile, progress, spark_session

AUDITS: dict[str, Callable[[Context], Result]] = {
    "causal": causal.audit,
    "time": timing.audit,
    "interest": interest.audit,
    "delivery": delivery.audit,
    "deadlines": deadlines.audit,
}


@dataclass
class Review:
    """What was found; `notes` are to be read first."""

    run: str
    rows: int
    dropped_rows: int
    notes: tuple[str, ...]
    audits: dict[str, Result] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    advice: dict[str, Any] = field(default_factory=dict)
    evidence: Evidence | None = None
    """What the report shows besides, if it was asked for."""

    @property
    def violations(self) -> int:
        return sum(result.violations for result in self.audits.values())

    def as_data(self) -> dict[str, Any]:
        """For machines (`--json`)."""
        audits = {
            name: {
                "violations": result.violations,
                "unsure": result.unsure,
                "witnesses": result.witnesses,
                **result.figures,
            }
            for name, result in self.audits.items()
        }
        return {
            "run": self.run,
            "rows": self.rows,
            "dropped_rows": self.dropped_rows,
            "notes": list(self.notes),
            "audits": audits,
            "advice": self.advice,
        }


def review(
    path: str | Path,
    master: str = LOCAL,
    say: Callable[[str], None] = lambda text: None,
    witnesses: int = 20,
    orders: Sequence[str] = Context.orders,
    session: Any = None,
    advice: bool = True,
    evidence: bool = False,
) -> Review:
    """Review a run; `session` is a Spark session that is already there and stays.

    `evidence`: also gather what `weft.review.report.html_report` draws.
    """
    opened = open_for_review(path)
    with _session(session, master, opened, say) as spark:
        context = Context(spark, opened, read_rows(spark, opened), witnesses, tuple(orders))
        found = run_audits(context, say)
        if advice:
            with _timed(found, "advice"), progress(spark, "advice", say):
                found.advice = advise_run(context.rows, opened.run)
        if evidence:
            with _timed(found, "report"), progress(spark, "report", say):
                found.evidence = gather(context, found.audits)
        return found


@contextmanager
def _timed(found: Review, name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    found.seconds[name] = time.monotonic() - began


@contextmanager
def _session(given: Any, master: str, opened: Opened, say: Callable[[str], None]) -> Iterator[Any]:
    if given is not None:
        yield given
        return
    say("starting Spark")
    with spark_session(Profile(master, opened.run.rows)) as spark:
        yield spark


def run_audits(context: Context, say: Callable[[str], None], names: Sequence[str] = tuple(AUDITS)) -> Review:
    run = context.opened.run
    found = Review(str(run.path), run.rows, run.dropped, context.opened.notes)
    for name in names:
        began = time.monotonic()
        with progress(context.session, name, say) as idle:
            try:
                found.audits[name] = AUDITS[name](context)
                idle.because = found.audits[name].idle
            except Exception as error:
                raise ReviewError(f"{run.path}: the audit {name} failed in Spark: {reason(error)}") from error
        found.seconds[name] = time.monotonic() - began
    return found
