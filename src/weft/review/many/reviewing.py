"""Reviews what is new of many runs, in the order of their age, and writes what is found into a lake.

Small runs are packed, many to a task, and judged whole there: to start a job takes Spark as long as to judge one.  Few are
judged here, without Spark.  Large ones are spread over it, one after the other.

After each batch its rows are written, and count (`lake.store`); a run of which there is such a row, of the same data and by the
same Weft, is not reviewed again.  So whoever is stopped at any moment goes on by the same command.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

import weft
from weft.host.storage import Place
from weft.recorder import VERSION
from weft.review.errors import ReviewError, reason
from weft.review.lake.schema import FAILED, LAKE_VERSION
from weft.review.lake.store import Snapshot, Tables
from weft.review.many.finding import FoundRun
from weft.review.many.judging import (
    TOLD,
    JudgedRun,
    ReviewOptions,
    RunResult,
    failed,
    judge_run,
    judge_task,
    judged_of,
)
from weft.review.many.rows import RunKey, together
from weft.review.spark.cluster import LOCAL, AnyMaster, Cluster, cluster_of
from weft.review.spark.session import SMALL_RUN, Profile, given_session
from weft.review.spark.tasks import spread
from weft.review.spark.workers import is_alive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE_ROWS = 300_000  # so many are judged before Spark has started
FIRST_RUNS, MOST_RUNS = 8, 200  # of a batch
BATCH_SECONDS = 15.0
TASKS_PER_CORE = 4
CORES = 4  # of a cluster that does not say

Say = Callable[[str], None]


class ResultLake(Protocol):
    """Where results go: `lake.store.ParquetLake` or `lake.delta.DeltaLake`."""

    @property
    def place(self) -> Place: ...
    def write(self, tables: Tables) -> str: ...
    def snapshot(self) -> Snapshot: ...


@dataclass
class ManyReviews:
    """What was done; `results` are in the order of age, those that were known first."""

    results: list[RunResult] = field(default_factory=list)
    passed_over: dict[str, str] = field(default_factory=dict)
    """Runs that are not judged now, and why."""

    @property
    def worst(self) -> str:
        there = {result.status for result in self.results}
        return next((one for one in ("violated", FAILED, "inconclusive") if one in there), "ok")


def review_many(
    runs: Sequence[FoundRun],
    lake: ResultLake,
    wanted: ReviewOptions,
    again: bool = False,
    master: AnyMaster = LOCAL,
    session: SparkSession | None = None,
    say: Say = lambda text: None,
    tell: Callable[[RunResult], None] = lambda result: None,
) -> ManyReviews:
    """`tell` hears of each run when its rows are in the lake, `say` how far it is."""
    done = ManyReviews()
    pending: list[FoundRun] = []
    known = {} if again else known_runs(lake)
    seen: dict[tuple[str, str], FoundRun] = {}
    for run in sorted(runs, key=lambda one: (one.start_ns, one.place)):
        twin = seen.setdefault(run.key, run)
        if twin is not run:
            done.passed_over[str(run.place)] = f"it has the name and federation of {twin.place}"
        elif run.going_on:
            done.passed_over[str(run.place)] = run.going_on
        elif (result := _known(known, run, wanted)) is not None:
            done.results.append(result)
            tell(result)
        else:
            pending.append(run)
    with _Work(lake, wanted, master, session, say, pending) as work:
        for judged in work.done():
            done.results.append(judged.result)
            tell(judged.result)
    return done


def known_runs(lake: ResultLake) -> dict[tuple[str, str], dict[str, object]]:
    """Rows of the table `run`."""
    rows = lake.snapshot().runs.to_pylist()
    return {(row["federation"], row["run"]): row for row in rows}


def _known(
    known: dict[tuple[str, str], dict[str, object]], run: FoundRun, wanted: ReviewOptions
) -> RunResult | None:
    row = known.get(run.key)
    if row is None or row["status"] == FAILED or (wanted.advice and not row["advised"]):
        return None
    key = key_of(run, wanted)
    same = {"data_state": key.data_state, "options": key.options, "weft": weft.__version__}
    same_schema = row["row_schema"] == VERSION and row["lake_schema"] == LAKE_VERSION
    if not same_schema or any(row[name] != value for name, value in same.items()):
        return None
    rows, violations, unsure = (int(str(row[name] or 0)) for name in ("rows", "violations", "unsure"))
    return RunResult(key, str(row["status"]), rows, violations, unsure, known=True)


def key_of(run: FoundRun, wanted: ReviewOptions) -> RunKey:
    path = run.place.address if run.place.local is None else str(run.place)
    return RunKey(path, run.place.name, run.federation, run.start_ns, run.state, wanted.options)


class _Work:
    """What is to be done, batch by batch; Spark is started when it is needed, and not before."""

    def __init__(
        self,
        lake: ResultLake,
        wanted: ReviewOptions,
        master: AnyMaster,
        session: SparkSession | None,
        say: Say,
        pending: Sequence[FoundRun],
    ) -> None:
        self._lake = lake
        self._wanted = wanted
        self._say = say
        self._pending = list(pending)
        self._rows = sum(run.rows for run in pending)
        largest = max((run.rows for run in pending), default=0)
        self._start = partial(given_session, session, Profile(master, largest), say)
        self._given = self._session = session
        self._here = self._rows <= HERE_ROWS and session is None and cluster_of(master) == Cluster()
        self._ended = contextlib.ExitStack()
        self._began = time.monotonic()
        self._done_runs = self._done_rows = 0

    def __enter__(self) -> _Work:
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.close()

    @property
    def _spark(self) -> SparkSession:
        if self._session is None:
            self._session = self._ended.enter_context(self._start())
        return self._session

    def done(self) -> Iterator[JudgedRun]:
        """Each run when its rows are written."""
        waiting = list(self._pending)
        most = FIRST_RUNS
        while waiting:
            batch = _next_batch(waiting, most)
            del waiting[: len(batch)]
            began = time.monotonic()
            self._tell(batch[0])
            found = self._judged([key_of(run, self._wanted) for run in batch], batch[0].rows)
            self._write(found)
            self._done_runs += len(batch)
            self._done_rows += sum(run.rows for run in batch)
            yield from found
            each = (time.monotonic() - began) / len(batch)
            most = max(FIRST_RUNS, min(MOST_RUNS, int(BATCH_SECONDS / max(each, 1e-3))))
        self._say("")

    def _write(self, found: Sequence[JudgedRun]) -> None:
        try:
            self._lake.write(together(one.tables for one in found))
        except (OSError, pa.ArrowException) as error:
            raise ReviewError(f"{self._lake.place}: results cannot be written: {reason(error)}") from error

    def _judged(self, keys: Sequence[RunKey], rows: int) -> list[JudgedRun]:
        if self._here:
            return [judge_run(key, self._wanted) for key in keys]
        if rows > SMALL_RUN:
            return self._spread(keys)
        return self._packed(keys)

    def _spread(self, keys: Sequence[RunKey]) -> list[JudgedRun]:
        found = [judge_run(key, self._wanted, self._spark) for key in keys]
        self._check_alive(found[-1].result.error)
        if self._given is None:
            self._spark.catalog.clearCache()  # or Spark would keep tables of all runs
        return found

    def _packed(self, keys: Sequence[RunKey]) -> list[JudgedRun]:
        """By Spark; if a task comes to a bad end, and not by an exception, that of one run does not take the others along."""
        works = [partial(judge_task, group, self._wanted) for group in grouped(keys, self._tasks)]
        try:
            told = spread(self._spark, works, TOLD).toArrow().to_pylist()
        except Exception as error:
            self._check_alive(reason(error))
            if len(keys) == 1:
                return [failed(keys[0], f"the task that reviewed it came to a bad end: {reason(error)}")]
            half = len(keys) // 2
            return self._packed(keys[:half]) + self._packed(keys[half:])
        return [judged_of(keys, row) for row in sorted(told, key=lambda row: int(row["number"]))]

    def _check_alive(self, why: str) -> None:
        """No run is to blame for a cluster that has gone."""
        if why and not is_alive(self._spark):
            raise ReviewError(
                f"{why}; {self._done_runs:,} of {len(self._pending):,} runs are done, and the same command goes on there"
            )

    @property
    def _tasks(self) -> int:
        try:
            return TASKS_PER_CORE * int(self._spark.sparkContext.defaultParallelism)
        except Exception:  # Spark Connect has no context
            return TASKS_PER_CORE * CORES

    def _tell(self, following: FoundRun) -> None:
        spent = time.monotonic() - self._began
        left = ""
        if self._done_rows:
            left = f", {_lasting(spent * (self._rows - self._done_rows) / self._done_rows)} left"
        name = f"{following.federation}/{following.place.name}"
        self._say(f"{self._done_runs}/{len(self._pending)} runs{left}: {name}")


def _next_batch(waiting: Sequence[FoundRun], most: int) -> list[FoundRun]:
    """A large run by itself, or small ones of together at most as many rows as a large one has."""
    rows = 0
    for count, run in enumerate(waiting):
        rows += run.rows
        if count and (count >= most or rows > SMALL_RUN):
            return list(waiting[:count])
    return list(waiting)


def grouped(keys: Sequence[RunKey], tasks: int) -> list[list[tuple[int, RunKey]]]:
    """In turn, so that neighbours, which are alike, go to different tasks."""
    numbered = list(enumerate(keys))
    return [numbered[first::tasks] for first in range(min(tasks, len(numbered)))]


def _lasting(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
