"""One review: open the run, start Spark, run the audits one after the other, and put together what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING

from weft.host.storage import Place
from weft.review import quality
from weft.review.advice import jobs as advice_jobs
from weft.review.advice.advice import advise_run
from weft.review.advice.told import AdviceData
from weft.review.audits import causal, deadlines, delivery, interest, survey, timing
from weft.review.audits.context import Context, Result
from weft.review.errors import ReviewError, reason
from weft.review.quality import Doubt
from weft.review.report.evidence import Evidence, gather
from weft.review.spark import checking
from weft.review.spark.cluster import LOCAL, AnyMaster
from weft.review.spark.reading import open_for_review, with_doubts
from weft.review.spark.session import Profile, given_session, progress
from weft.review.spark.tasks import DamagedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AUDITS: dict[str, Callable[[Context], Result]] = {
    "causal": causal.audit,
    "time": timing.audit,
    "interest": interest.audit,
    "delivery": delivery.audit,
    "deadlines": deadlines.audit,
}

STEPS = (
    survey.STEPS,
    causal.STEPS,
    timing.STEPS,
    interest.STEPS,
    delivery.STEPS,
    deadlines.STEPS,
    advice_jobs.STEPS,
)
"""What each audit does, as it is declared; the first is done for all of them, and the last is advice."""

OK, VIOLATED, INCONCLUSIVE = "ok", "violated", "inconclusive"


@dataclass
class Review:
    """What was found; `notes` are to be read first."""

    run: str
    rows: int
    dropped_rows: int
    notes: tuple[str, ...]
    audits: dict[str, Result] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    advice: AdviceData = field(default_factory=AdviceData)
    evidence: Evidence | None = None
    """What the report shows besides, if it was asked for."""
    failures: dict[str, str] = field(default_factory=dict)
    """Audits that failed, and why."""
    doubts: tuple[Doubt, ...] = ()
    incomplete: bool = False
    """Rows are known to be missing."""

    @property
    def violations(self) -> int:
        return sum(result.violations for result in self.audits.values())

    @property
    def unsure(self) -> int:
        return sum(result.unsure for result in self.audits.values())

    @property
    def status(self) -> str:
        """Whether the run was right: `inconclusive` if nothing is violated, and not everything could be judged."""
        if self.violations:
            return VIOLATED
        return INCONCLUSIVE if self.failures or self.incomplete or self.unsure else OK

    def as_data(self) -> dict[str, object]:
        """For machines (`--json`)."""
        audits: dict[str, dict[str, object]] = {
            name: {
                "violations": result.violations,
                "unsure": result.unsure,
                "witnesses": result.witnesses,
                **result.figures,
            }
            for name, result in self.audits.items()
        }
        nothing: dict[str, object] = {"violations": 0, "unsure": 0, "witnesses": []}
        audits |= {name: {**nothing, "failed": why} for name, why in self.failures.items()}
        return {
            "run": self.run,
            "status": self.status,
            "rows": self.rows,
            "dropped_rows": self.dropped_rows,
            "notes": list(self.notes),
            "data": [one.as_data() for one in self.doubts],
            "audits": audits,
            "advice": self.advice,
        }


def review(
    path: str | PathLike[str] | Place,
    master: AnyMaster = LOCAL,
    say: Callable[[str], None] = lambda text: None,
    witnesses: int = 20,
    orders: Sequence[str] = Context.orders,
    session: SparkSession | None = None,
    advice: bool = True,
    evidence: bool = False,
    checksums: bool = False,
    also: Callable[[Context, Review], None] = lambda context, found: None,
) -> Review:
    """Review a run, wherever it lies; `session` is a Spark session that is already there and stays.

    `evidence`: also gather what `report.html_report` draws.  `checksums`: compare those of all files with the manifests first.
    `also` is called at the end, while Spark is there.
    """
    opened = open_for_review(path)
    with given_session(session, Profile(master, opened.run.rows), say) as spark:
        context = Context(spark, opened, None, witnesses, tuple(orders))
        if checksums:
            verify(context, say)
        found = run_audits(context, say)
        if advice:
            with _timed(found, "advice"), progress(spark, "advice", say):
                found.advice = advise_run(context.advice_rows, context.opened.run)
        if evidence:
            with _timed(found, "report"), progress(spark, "report", say):
                found.evidence = gather(context, found.audits)
        also(context, found)
        return found


@contextmanager
def _timed(found: Review, name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    found.seconds[name] = time.monotonic() - began


def run_audits(context: Context, say: Callable[[str], None], names: Sequence[str] = tuple(AUDITS)) -> Review:
    """First what the rows are worth, then the audits, each by itself: one that fails does not take the others along."""
    while True:
        try:
            _survey(context, say)
            return _audited(context, say, names)
        except DamagedFile as error:
            leave_out(context, error, say)


def verify(context: Context, say: Callable[[str], None]) -> None:
    """Are the bytes of all files those that were written?"""
    run = context.opened.run
    with progress(context.session, "checksums", say):
        found = checking.altered(context.session, run.files)
    nodes = {str(file.path): file.node for file in run.files}
    doubts = [quality.altered(one.path, nodes[one.path], one.why) for one in found]
    context.reopen(with_doubts(context.opened, doubts))


def _survey(context: Context, say: Callable[[str], None]) -> None:
    """Who took part, and whose clock was wrong."""
    with progress(context.session, "data", say):
        try:
            seen = context.survey
        except Exception as error:
            _reraise_damage(error)
            raise ReviewError(
                f"{context.opened.run.path}: its rows cannot be read: {reason(error)}"
            ) from error
    shifts, doubts = quality.clocks(seen, context.opened.run.info.get("node"))
    opened = with_doubts(context.opened, doubts)
    if shifts:
        run = opened.run
        run.files = [replace(file, shift_ns=shifts.get(file.node, 0)) for file in run.files]
        context.reopen(opened)
    else:
        context.opened = opened


def _audited(context: Context, say: Callable[[str], None], names: Sequence[str]) -> Review:
    run = context.opened.run
    found = Review(str(run.path), run.rows, run.dropped, context.opened.notes, doubts=context.opened.doubts)
    found.incomplete = bool(context.opened.gaps)
    for name in names:
        with _timed(found, name), progress(context.session, name, say) as idle:
            try:
                found.audits[name] = AUDITS[name](context)
                idle.because = found.audits[name].idle
            except Exception as error:
                _reraise_damage(error)
                found.failures[name] = reason(error)
                idle.because = f"failed: {found.failures[name]}"
    if found.failures and not found.audits:
        told = "; ".join(f"{name}: {why}" for name, why in found.failures.items())
        raise ReviewError(f"{run.path}: all audits failed: {told}")
    return found


def _reraise_damage(error: Exception) -> None:
    told = DamagedFile.in_text(error)
    if told is not None:
        raise DamagedFile(*told) from error


def leave_out(context: Context, error: DamagedFile, say: Callable[[str], None]) -> None:
    """If a file turns out to be corrupt, all such are looked for at once, and named; the rest is reviewed."""
    run = context.opened.run
    path, why = DamagedFile.in_text(error) or ("", str(error))
    with progress(context.session, "corrupt files", say):
        found = {one.path: one.why for one in checking.unreadable(context.session, context.parts)} | {
            path: why
        }
    bad = [file for file in run.files if str(file.path) in found]
    if path not in [str(file.path) for file in bad]:
        raise ReviewError(f"{path or run.path} cannot be read: {why}") from error
    run.files = [file for file in run.files if file not in bad]
    if not run.files:
        raise ReviewError(f"{path} is corrupt, and there are no other rows: {why}") from error
    doubts = [quality.damaged(str(file.path), file.node, found[str(file.path)]) for file in bad]
    context.reopen(with_doubts(context.opened, doubts))
