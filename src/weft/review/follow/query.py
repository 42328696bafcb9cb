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

import weft
from weft.host.files.private import make_private, write_whole
from weft.host.storage import Place
from weft.review.errors import ReviewError, reason
from weft.review.kernels.records import Violation
from weft.review.live.following import SHOWN
from weft.review.live.history import Told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

TRIGGER = "200 milliseconds"  # between two batches, if there is nothing else to do
INTERVAL = 0.25  # seconds between two looks at how far Spark has come
SLOW_START = "Python worker failed to connect back"  # Spark gives Python ten seconds to start
STARTS = 5
MOST_SHOWN = 1000  # findings of an audit that are kept to be shown; all are counted
BATCH_BYTES = 4 << 20  # of files of a run, about 100,000 rows: one who comes late reads so much at a time
STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# Spark's own choice starts a process (readlink) for each file of the checkpoint, which at most times is most of a batch.
FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
BEGAN = "began.json"

Tell = Callable[[str, list[Violation]], None]
"""Of a run, by its address, what was found."""


@dataclass
class RunStanding:
    """How far the audits of one run have come."""

    told: Told
    lag_s: float = 0.0
    """From its newest row to when that was judged, when rows came last."""
    steps: deque[tuple[int, int, int, int]] = field(default_factory=partial(deque, maxlen=10_000))
    """Of the last batches: rows, times of the newest before and now, when they were judged (ns)."""


class Checkpoint:
    """A folder in which is kept how far a following has come, and of what it is one: it goes on with the same only."""

    def __init__(self, folder: Path, places: Sequence[Place], orders: Sequence[str]) -> None:
        self.folder = folder
        told = {"places": sorted(place.address for place in places), "orders": list(orders)}
        self._about: dict[str, object] = {**told, "weft": weft.__version__}

    def began_ns(self) -> int:
        """When it was begun: runs that had ended before are left out, also after a restart."""
        path = self.folder / BEGAN
        if not path.exists():
            make_private(self.folder)
            write_whole(path, json.dumps({"began_ns": time.time_ns(), **self._about}).encode())
        try:
            told = json.loads(path.read_bytes())
            began = int(told.pop("began_ns"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReviewError(f"{path} cannot be read ({reason(error)}): {self._anew}") from error
        differs = [name for name, value in self._about.items() if told.get(name) != value]
        if differs:
            said = "; ".join(
                f"{name} {_listed(told.get(name))}, and not {_listed(self._about[name])}" for name in differs
            )
            raise ReviewError(f"--checkpoint {self.folder} is of another following ({said}): {self._anew}")
        return began

    @property
    def _anew(self) -> str:
        return "name another folder, or remove this one, to begin anew"


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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
        witnesses: int = SHOWN,
    ) -> None:
        """`only_new`: leave out runs that had ended before.  `witnesses`: findings of each audit that standings have."""
        self._session, self._places, self._orders, self._tell = session, places, tuple(orders), tell
        self._only_new, self._witnesses = only_new, min(witnesses, MOST_SHOWN)
        self._temporary = tempfile.TemporaryDirectory(prefix="weft-follow-") if checkpoint is None else None
        self.folder = checkpoint or Path(cast("tempfile.TemporaryDirectory[str]", self._temporary).name)
        self._starts = 0
        self._lock = threading.Lock()
        self._standings: dict[str, RunStanding] = {}
        self._fault: Exception | None = None
        self.query: StreamingQuery

    def __enter__(self) -> Streaming:
        from weft.review.spark.manifest_stream import register

        register(self._session)
        self._session.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORE)
        self._session.conf.set("spark.sql.streaming.checkpointFileManagerClass", FILE_MANAGER)
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
        began = Checkpoint(self.folder, self._places, self._orders).began_ns()
        options = {
            "places": json.dumps([place.address for place in self._places]),
            "since": str(began if self._only_new else 0),
            "most": str(BATCH_BYTES),
        }
        lines = self._session.readStream.format(NAME).options(**options).load()
        processor = RunProcessor(self._orders, self._witnesses, str(self.folder / "snapshots"))
        found = lines.groupBy("run").transformWithState(processor, FOUND, "append", "processingTime")
        writer = found.writeStream.foreachBatch(self._take).outputMode("append")
        writer = writer.option("checkpointLocation", str(self.folder / "spark"))
        self.query = writer.trigger(processingTime=TRIGGER).start()

    def _take(self, frame: DataFrame, number: int) -> None:
        """For foreachBatch.  What goes wrong here is raised by `wait`: Spark would only tell of it in Java's words."""
        try:
            self._heard(frame)
        except Exception as error:
            self._fault = error
            raise

    def _heard(self, frame: DataFrame) -> None:
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
                self._note(run, told, now)
        for run, findings in found.items():
            self._tell(run, findings)

    def _note(self, run: str, told: Told, now: int) -> None:
        standing = self._standings.setdefault(run, RunStanding(told))
        known = standing.told
        rows, newest = (0, told.newest_ns) if known is told else (known.rows, known.newest_ns)
        if told.rows > rows:
            standing.lag_s = (now - told.newest_ns) / 1e9
            standing.steps.append((told.rows - rows, newest, told.newest_ns, now))
        standing.told = told

    def standings(self) -> dict[str, RunStanding]:
        """By address of the run."""
        with self._lock:
            return dict(self._standings)

    def wait(self) -> None:
        """A little; raises ReviewError if Spark fails, and what `tell` has raised."""
        try:
            over = self.query.awaitTermination(INTERVAL)
        except Exception:  # what it was, the query says
            over = True
        failed = self.query.exception() if over else None
        if failed is None:
            return
        if self._fault is not None:
            raise self._fault
        if SLOW_START in str(failed) and self._starts < STARTS:
            self._start()
        else:
            names = ", ".join(map(str, self._places))
            raise ReviewError(f"{names}: following failed in Spark: {reason(failed)}")
