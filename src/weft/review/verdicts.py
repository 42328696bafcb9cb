"""Several runs judged at once: each is a task of one job of Spark, or is judged here, one after the other, without Spark.

A run of some thousand rows is judged in a fraction of a second; what takes long is to start Spark and its jobs.  So many small
runs share one job, and each is reviewed whole within a task, by the same audits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.host.storage import Place, place_of
from weft.model.errors import WeftError
from weft.review.audits.context import Context
from weft.review.kernels import arrow
from weft.review.kernels.records import Violation
from weft.review.review import OK, run_audits
from weft.review.spark.reading import open_for_review
from weft.review.spark.tasks import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = "failed"
PROMISED = ("CO", "CT")  # receive order promises nothing
TOLD = "number bigint, verdict string"


@dataclass
class Verdict:
    """Of one run.  `status`: ok, violated, inconclusive, or failed (there was nothing to judge)."""

    run: str
    status: str
    findings: list[Violation] = field(default_factory=list)
    """What is violated: `audit`, `what`, and who and which as far as they apply."""
    unsure: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """Audits that failed, and why."""
    notes: list[str] = field(default_factory=list)
    """What is wrong with the data."""
    rows: int = 0
    error: str = ""

    @property
    def clean(self) -> bool:
        """Nothing is wrong, nothing unsure, and nothing to be said of the data."""
        return self.status == OK and not self.notes

    def __str__(self) -> str:
        lines = [f"{self.run}: {self.status}", *(f"  note: {note}" for note in self.notes)]
        lines += [f"  {self.error}"] if self.error else []
        lines += [f"  {name} failed: {why}" for name, why in self.failures.items()]
        for finding in self.findings:
            rest = ", ".join(f"{name} {value}" for name, value in finding.items() if name != "audit")
            lines.append(f"  {finding['audit']}: {rest}")
        lines += [f"  {name}: {count} unsure" for name, count in self.unsure.items() if count]
        return "\n".join(lines)


def judge(
    runs: Iterable[str | PathLike[str] | Place],
    session: SparkSession | None = None,
    witnesses: int = 20,
    orders: Sequence[str] = PROMISED,
) -> list[Verdict]:
    """One for each run, in their order; `session` is a Spark session, None: without Spark."""
    paths = [place_of(run).address for run in runs]
    if session is None:
        return [judge_one(path, witnesses, tuple(orders)) for path in paths]
    works = [partial(judge_task, number, path, witnesses, tuple(orders)) for number, path in enumerate(paths)]
    told = spread(session, works, TOLD).toArrow().to_pylist() if works else []
    return [Verdict(**json.loads(row["verdict"])) for row in sorted(told, key=lambda row: row["number"])]


def judge_task(number: int, path: str, witnesses: int, orders: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    verdict = judge_one(path, witnesses, orders)
    row = {"number": number, "verdict": json.dumps(verdict.__dict__)}
    yield arrow.made_of_rows([row], arrow.schema_of(TOLD))


def judge_one(path: str, witnesses: int = 20, orders: tuple[str, ...] = PROMISED) -> Verdict:
    try:
        context = Context(None, open_for_review(path), None, witnesses, orders)
        found = run_audits(context, lambda text: None)
    except WeftError as error:
        return Verdict(str(place_of(path)), FAILED, error=str(error))
    findings: list[Violation] = [
        {"audit": name, **witness} for name, result in found.audits.items() for witness in result.witnesses
    ]
    unsure = {name: result.unsure for name, result in found.audits.items() if result.unsure}
    return Verdict(
        found.run, found.status, findings, unsure, dict(found.failures), list(found.notes), found.rows
    )
