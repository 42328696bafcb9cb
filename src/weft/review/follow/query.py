"""The query of Structured Streaming by which runs are followed, and what has come of it so far."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from weft.host.storage import Place
from weft.review.errors import ReviewError, reason
from weft.review.kernels.records import Violation
from weft.review.live.history import Told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

TRIGGER = "200 milliseconds"  # between two batches, if there is nothing else to do
INTERVAL = 0.25  # seconds between two looks at how far Spark has come
SLOW_START = "Python worker failed to connect back"  # Spark gives Python ten seconds to start
STARTS = 5
SHOWN = 1000  # findings of an audit that are kept to be shown at the end; all are counted
BATCH_BYTES = 4 << 20  # of files of a run, about 100,000 rows: one who comes late reads so much at a time
STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BEGAN = "began.json"

Tell = Callable[[str, list[Violation]], None]
"""Of a run, by its address, what was found."""


@dataclass
class RunStanding:
    """How far the audits of one run have come."""

    told: Told
    lag_s: float = 0.0
    """From its newest row to when that was judged, when rows came last."""
    shown: dict[str, list[Violation]] = field(default_factory=dict)
    steps: deque[tuple[int, int, int, int]] = field(default_factory=partial(deque, maxlen=10_000))
    """Of the last batches: rows, times of the newest before and now, when they were judged (ns)."""


class Streaming:
    """The query, stopped at the end of the block; begun again, where it was, if Python was too slow to start.

    `checkpoint`: the folder in which Spark keeps how far it has come, so that a later command goes on there; None: none.
    """

    def __init__(
        self,
        session: SparkSession,
        places: Sequence[Place],
        orders: Sequence[str],
        tell: Tell,
        checkpoint: Path | None = None,
        only_new: bool = False,
    ) -> None:
        self._session, self._places, self._orders, self._tell = session, places, tuple(orders), tell
        self._only_new = only_new
        self._temporary = tempfile.TemporaryDirectory(prefix="weft-follow-") if checkpoint is None else None
        self.folder = checkpoint or Path(cast("tempfile.TemporaryDirectory[str]", self._temporary).name)
        self._starts = 0
        self._lock = threading.Lock()
        self._standings: dict[str, RunStanding] = {}
        self.query: StreamingQuery

    def __enter__(self) -> Streaming:
        from weft.review.spark.manifest_stream import register

        register(self._session)
        self._session.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORE)
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        self.query.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _start(self) -> None:
        from weft.review.follow.processor import FOUND, RunProcessor
        from weft.review.spark.manifest_stream import NAME

        self._starts += 1
        options = {
            "places": json.dumps([place.address for place in self._places]),
            "since": str(self._began() if self._only_new else 0),
            "most": str(BATCH_BYTES),
        }
        lines = self._session.readStream.format(NAME).options(**options).load()
        processor = RunProcessor(self._orders, str(self.folder / "snapshots"))
        found = lines.groupBy("run").transformWithState(processor, FOUND, "append", "processingTime")
        writer = found.writeStream.foreachBatch(self._take).outputMode("append")
        writer = writer.option("checkpointLocation", str(self.folder / "spark"))
        self.query = writer.trigger(processingTime=TRIGGER).start()

    def _began(self) -> int:
        """Runs that had ended before are left out, also after a restart."""
        path = self.folder / BEGAN
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"began_ns": time.time_ns()}))
        return int(json.loads(path.read_text())["began_ns"])

    def _take(self, frame: DataFrame, number: int) -> None:
        """For foreachBatch."""
        now = time.time_ns()
        found: dict[str, list[Violation]] = {}
        standings: dict[str, Told] = {}
        for row in frame.toArrow().to_pylist():
            told = json.loads(row["told"])
            if row["kind"] == "finding":
                found.setdefault(row["run"], []).append(told)
            else:
                standings[row["run"]] = Told(**told)
        with self._lock:
            for run, told in standings.items():
                self._note(run, told, found.get(run, []), now)
        for run, findings in found.items():
            self._tell(run, findings)

    def _note(self, run: str, told: Told, findings: list[Violation], now: int) -> None:
        before = self._standings.get(run)
        standing = self._standings[run] = RunStanding(told) if before is None else before
        known = Told(0, told.newest_ns, 0, 0, {}, [], False) if before is None else before.told
        if told.rows > known.rows:
            standing.lag_s = (now - told.newest_ns) / 1e9
            standing.steps.append((told.rows - known.rows, known.newest_ns, told.newest_ns, now))
        standing.told = told
        for finding in findings:
            shown = standing.shown.setdefault(finding["audit"], [])
            if len(shown) < SHOWN:
                shown.append(finding)

    def standings(self) -> dict[str, RunStanding]:
        """By address of the run."""
        with self._lock:
            return dict(self._standings)

    def wait(self) -> None:
        """A little; raises ReviewError if Spark fails."""
        try:
            over = self.query.awaitTermination(INTERVAL)
        except Exception:  # what it was, the query says
            over = True
        failed = self.query.exception() if over else None
        if failed is None:
            return
        if SLOW_START in str(failed) and self._starts < STARTS:
            self._start()
        else:
            names = ", ".join(map(str, self._places))
            raise ReviewError(f"{names}: following failed in Spark: {reason(failed)}")
