"""What `weft bench review` measures: audits of a made-up run on Spark, and the same questions asked of DuckDB.

Time on the processor and memory are those of all processes below this one: Java and the Python workers are among them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Meter:
    """Seconds, CPU-seconds and the most memory between entering and leaving; `alone`: of this process only."""

    def __init__(self, alone: bool = False) -> None:
        self._alone = alone
        self.seconds = self.cpu_s = 0.0
        self.peak_mb = 0.0
        self._ended = threading.Event()

    def __enter__(self) -> Meter:
        self._began, self._cpu = time.monotonic(), self._used()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()
        self._look()
        self.seconds = round(time.monotonic() - self._began, 2)
        self.cpu_s = round(max(0.0, self._used() - self._cpu), 2)
        self.peak_mb = round(self.peak_mb)

    def _used(self) -> float:
        return time.process_time() if self._alone else sum(cpu for cpu, _ in _processes())

    def _watch(self) -> None:
        while not self._ended.wait(0.25):
            self._look()

    def _look(self) -> None:
        self.peak_mb = max(self.peak_mb, sum(memory for _, memory in _processes(self._alone)))

    def figures(self) -> dict[str, float]:
        return {"seconds": self.seconds, "cpu_s": self.cpu_s, "peak_mb": self.peak_mb}


def _processes(alone: bool = False) -> list[tuple[float, float]]:
    """CPU-seconds (with those of children that ended) and resident megabytes of this process and, if not alone, all below it."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[float, float]] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(entry.parent.name)
        parents[process] = int(rest[1])
        found[process] = sum(map(int, rest[11:15])) / TICK, int(rest[21]) * page / 2**20
    mine = {os.getpid()}
    grown = not alone
    while grown:
        below = {process for process, parent in parents.items() if parent in mine} - mine
        mine |= below
        grown = bool(below)
    return [found[process] for process in mine if process in found]


class Steps(NamedTuple):
    """What each step of a review took; the audits share the survey."""

    rows: int
    audits: dict[str, dict[str, float]]
    advice: dict[str, float] | None


def measure_review(session: Any, run: Path, say: Callable[[str], None], no_advice: bool = False) -> Steps:
    """Each audit by itself, then the advice; in a run in which nothing is wrong."""
    from weft.review.advice.advice import advise, inputs_of
    from weft.review.audits.context import Context
    from weft.review.review import AUDITS
    from weft.review.spark.reading import open_for_review, read_rows

    opened = open_for_review(run)
    context = Context(session, opened, read_rows(session, opened))
    rows = opened.run.rows
    say(f"{rows:,} rows: survey")
    with Meter() as meter:
        surveyed = len(context.survey)
    figures = {"survey": meter.figures()}
    # The sums of deliveries, which others ask for too, belong to the audit of deliveries.
    for name in sorted(AUDITS, key=lambda name: name != "delivery"):
        say(f"{rows:,} rows in {surveyed} parts: {name}")
        with Meter() as meter:
            violations = AUDITS[name](context).violations
        figures[name] = meter.figures()
        if violations:
            raise RuntimeError(f"{violations} violations ({name}) in a run without any")
    advice = None
    if not no_advice:
        say(f"{rows:,} rows: advice")
        with Meter() as meter:
            advise(context.advice_rows, inputs_of(opened.run))
        advice = meter.figures()
    session.catalog.clearCache()
    return Steps(rows, figures, advice)


def measure_causal(
    session: SparkSession, run: Path, say: Callable[[str], None]
) -> dict[str, dict[str, float]]:
    """What is late in a run without vectors: by one task that scans the whole log, and by pieces side by side."""
    from weft.review.audits import causal_log
    from weft.review.audits.context import Context
    from weft.review.spark.reading import open_for_review, read_rows

    opened = open_for_review(run)
    context = Context(session, opened, read_rows(session, opened))
    pieces = len(causal_log.log_of(context).pieces)
    figures, late = {}, []
    for name, way in (("one task", causal_log.late_by_one), ("pieces", causal_log.late_by_log)):
        say(f"causal order: {name}")
        # However few rows there are, pieces tell their effects.
        with patch.object(causal_log, "AT_ONCE", 0), Meter() as meter:
            frame = way(context)
            late.append(0 if frame is None else frame.toArrow().num_rows)
        figures[name] = meter.figures()
    if len(set(late)) > 1:
        raise RuntimeError(f"one task finds {late[0]} late messages, and {pieces} pieces {late[1]}")
    figures["pieces"] |= {"pieces": pieces, "late": late[0]}
    return figures


# The same questions in SQL; every one counts violations, of which there are none.
QUESTIONS = {
    "causal": """
        WITH parts AS (
            SELECT federate, seq, source, vector[list_position(vector_of, source)] AS own,
                   unnest(vector_of) AS process, unnest(vector) AS value
            FROM rows WHERE kind = 'deliver' AND vector IS NOT NULL),
        running AS (
            SELECT *, max(value) OVER (PARTITION BY federate, process ORDER BY seq
                                       ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM parts)
        SELECT count(*) FROM running WHERE process = source AND before >= own""",
    "time": """
        WITH told AS (
            SELECT federate, seq, kind, time_int,
                   last_value(CASE WHEN kind = 'grant' THEN time_int END IGNORE NULLS) OVER w AS granted,
                   max(CASE WHEN kind = 'deliver' THEN time_int END) OVER w AS most
            FROM rows WHERE (kind = 'deliver' AND "order" = 'TSO') OR kind = 'grant'
            WINDOW w AS (PARTITION BY federate ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
        SELECT count(*) FROM told WHERE kind = 'deliver' AND (time_int < granted OR time_int < most)""",
    "delivery": """
        WITH expected AS (
            SELECT source, message, unnest(destinations) AS federate FROM rows WHERE kind = 'send'),
        delivered AS (
            SELECT source, message, federate, count(*) AS times FROM rows WHERE kind = 'deliver' GROUP BY ALL)
        SELECT count(*) FROM expected FULL JOIN delivered USING (source, message, federate)
        WHERE times IS NULL OR times > 1""",
    "deadlines": """
        SELECT count(*) FROM (
            SELECT name, priority, min(deadline_ns - mono_ns), avg(deadline_ns - mono_ns), max(deadline_ns - mono_ns),
                   quantile_cont(deadline_ns - mono_ns, [0.01, 0.05, 0.5, 0.95, 0.99]),
                   count(*) FILTER (mono_ns > deadline_ns) AS misses
            FROM rows WHERE kind = 'done' GROUP BY ALL) WHERE misses > 0""",
}  # fmt: skip


def measure_duckdb(run: Path, say: Callable[[str], None]) -> dict[str, dict[str, float]] | None:
    """None where DuckDB is not installed: it is for development only."""
    try:
        import duckdb
    except ImportError:
        return None
    figures = {}
    with duckdb.connect() as database:
        files = str(run / "rows" / "*" / "*.parquet")
        database.execute(
            f"CREATE VIEW rows AS SELECT * FROM read_parquet('{files}', hive_partitioning = true)"
        )
        for name, question in QUESTIONS.items():
            say(f"DuckDB: {name}")
            with Meter(alone=True) as meter:
                answer = database.execute(question).fetchone()
            if answer != (0,):
                raise RuntimeError(f"DuckDB found {answer} violations ({name}) in a run without any")
            figures[name] = meter.figures()
    return figures
