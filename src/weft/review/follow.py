"""Following a run that is being written: Structured Streaming reads its files as they come, and the audits tell what they find.

Spark looks for new files, reads them and hands over the columns that matter, batch by batch; what must be known of earlier
ones is kept in this process (`weft.review.live`).  When the run has ended it is reviewed as a whole, in the same session.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from weft.host.recording.files import idle_file, node_file, read_json
from weft.host.recording.runs import Run, open_run
from weft.review.audits.context import Context, Result, plain
from weft.review.errors import ReviewError, reason
from weft.review.kernels.records import Violation
from weft.review.live.following import COLUMNS, Following
from weft.review.review import AUDITS, Review, review
from weft.review.spark import run_files
from weft.review.spark.reading import Opened, notes_of
from weft.review.spark.session import LOCAL, Profile, given_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

TRIGGER = "200 milliseconds"  # between two looks for new files, if there is nothing else to do
INTERVAL = 0.25  # seconds between two looks at how far nodes and Spark have come
LINE = 10.0  # seconds between two lines of progress that stay
SLOW_START = "Python worker failed to connect back"  # Spark gives Python ten seconds to start
STARTS = 5
SHOWN = 1000  # findings of an audit that are kept to be shown at the end; all are counted
BATCH_BYTES = 4 << 20  # of files, about 100,000 rows: one who comes late reads so much at a time

Say = Callable[[str], None]
Tell = Callable[[list[Violation]], None]


@dataclass
class Progress:
    """How far the follower has come."""

    rows: int = 0
    newest_ns: int = 0  # the time of the newest row that was judged
    lag_s: float = 0.0  # from the newest row of a batch to when it was judged
    steps: deque[tuple[int, int, int, int]] = field(default_factory=partial(deque, maxlen=10_000))
    """Of the last batches: rows, times of the first and the last, when they were judged (ns)."""


class Follower:
    """The audits of one run, as batches come; used by Spark's thread and by that of the command."""

    def __init__(
        self, path: str | Path, tell: Tell, orders: Sequence[str], clock: Callable[[], int] = time.time_ns
    ) -> None:
        self.run = open_run(path)
        self._folder = _local(self.run)
        self.progress = Progress()
        self.shown: dict[str, list[Violation]] = {}
        self._tell, self._clock = tell, clock
        self._lock = threading.Lock()
        self._last = -1
        self.audits = Following(Opened(self.run, (), frozenset()).time_column, orders, clock())

    def step(self, frame: DataFrame, number: int) -> None:
        """For foreachBatch.  After a new start a batch may come again."""
        if number <= self._last:
            return
        table = frame.toArrow()
        with self._lock:
            if len(table):
                self._read(table)
            self._last = number

    def _read(self, table: pa.Table) -> None:
        self._refresh()
        found = self.audits.feed(table.combine_chunks())
        self._show(found)
        span = pc.min_max(table.column("epoch_ns")).as_py()
        now = self._clock()
        done = self.progress
        done.rows += len(table)
        done.newest_ns = max(done.newest_ns, span["max"])
        done.lag_s = (now - span["max"]) / 1e9
        done.steps.append((len(table), span["min"], span["max"], now))

    def look(self, place: run_files.Offset) -> None:
        """Between batches: what nodes say of themselves.  `place`: up to where Spark has read.

        What they say holds for files that were there when they said it, so it is asked before files are looked for.
        """
        with self._lock:
            self._refresh()
            frontier = self.audits.frontier
            said = {node: self._said(node) for node in frontier.read}
            unread = {node for node in said if any(run_files.list_files(self.run.path, [node], place))}
            for node, (idle_until, ended) in said.items():
                if node not in unread:
                    frontier.say(node, idle_until)
                    if ended:
                        frontier.ended.add(node)
            frontier.look(self._clock(), unread)
            self._show(self.audits.idle())

    def _said(self, node: str) -> tuple[int, bool]:
        """Until when everything is written, if the node says so; and whether it has ended."""
        until = 0
        with contextlib.suppress(OSError):
            until = idle_file(self._folder, node).stat().st_mtime_ns
        told = read_json(node_file(self._folder, node))
        return until, told.get("ended_ns") is not None

    def _refresh(self) -> None:
        """Nodes that have a folder here; some may have written nothing yet."""
        folders = (self._folder / "rows").glob("node=*")
        self.audits.frontier.expect(unquote(path.name.removeprefix("node=")) for path in folders)

    def _show(self, found: list[Violation]) -> None:
        if found:
            for finding in found:
                shown = self.shown.setdefault(finding["audit"], [])
                if len(shown) < SHOWN:
                    shown.append(finding)
            self._tell(found)

    def is_over(self) -> bool:
        """Have all nodes ended in order, or crashed while others did, and was that read?  Or crashed all, long ago?"""
        frontier = self.audits.frontier
        if not frontier.read:  # an empty run may have ended too
            return open_run(self.run.path).ended
        over = frontier.ended | frontier.crashed
        return frontier.deserted or (bool(frontier.ended) and all(node in over for node in frontier.read))

    def result(self, witnesses: int) -> Review:
        """What was found so far, for one who does not wait for the end."""
        run = open_run(self.run.path)
        following = self.audits
        stopped = (
            f"stopped while it was being written, after {following.rows:,} rows; "
            "`weft review` without --follow looks at all that is there"
        )
        notes = (*notes_of(run), stopped)
        found = Review(str(run.path), following.rows, run.dropped, notes)
        for name in AUDITS:
            shown = self.shown.get(name, [])
            told = [plain(one, "audit") for one in shown[:witnesses]]
            unsure = following.unsure if name == "delivery" else 0
            found.audits[name] = Result(following.counts.get(name, 0), told, unsure)
        return found


def _local(run: Run) -> Path:
    """What a store shows is whole files, some time after they were written, and not the times that nodes set."""
    local = run.path.local
    if local is None:
        raise ReviewError(
            f"{run.path}: --follow needs the folder in which the run is being written; "
            "`weft review` without --follow reviews what has come to the store"
        )
    return local


class Streaming:
    """The query, stopped at the end of the block; begun again, where it was, if Python was too slow to start."""

    def __init__(self, session: SparkSession, follower: Follower) -> None:
        self._session, self._follower = session, follower
        self._folder = tempfile.TemporaryDirectory(prefix="weft-follow-")
        self._starts = 0
        self.query: StreamingQuery

    def __enter__(self) -> Streaming:
        from weft.review.spark.source import register

        register(self._session)
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        self.query.stop()
        self._folder.cleanup()

    def _start(self) -> None:
        self._starts += 1
        rows = self._session.readStream.format("weft").options(
            columns=",".join(COLUMNS), maxBytesPerTrigger=str(BATCH_BYTES)
        )
        writer = rows.load(self._follower.run.path.address).writeStream.foreachBatch(self._follower.step)
        writer = writer.option("checkpointLocation", self._folder.name).trigger(processingTime=TRIGGER)
        self.query = writer.start()

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
            raise ReviewError(f"{self._follower.run.path}: following failed in Spark: {reason(failed)}")


def place_of(streaming: Streaming) -> run_files.Offset:
    """Up to where everything has been read and judged."""
    last = streaming.query.lastProgress
    told = last["sources"][0]["endOffset"] if last else None
    if isinstance(told, str):
        with contextlib.suppress(ValueError):
            told = json.loads(told)
    return dict(told) if isinstance(told, dict) else {}


def follow(
    path: str | Path,
    master: str = LOCAL,
    say: Say = lambda text: None,
    tell: Tell = lambda findings: None,
    witnesses: int = 20,
    orders: Sequence[str] = Context.orders,
    session: SparkSession | None = None,
    advice: bool = True,
    evidence: bool = False,
) -> Review:
    """Follow a run until it has ended, then review it; until Ctrl-C, and then what was found so far.

    `tell` is given findings: what a witness says, and `audit`.  `advice` and `evidence` are for the review at the end.
    """
    if master.startswith("sc://"):
        raise ReviewError(
            "--follow keeps what it knows in this process, so it does not run over Spark Connect (sc://)"
        )
    follower = Follower(path, tell, orders)
    with given_session(session, Profile(master, follower.run.rows), say) as spark:
        try:
            with Streaming(spark, follower) as streaming:
                watch(streaming, follower, say)
        except KeyboardInterrupt:
            say("stopped\n")
            return follower.result(witnesses)
        say(f"the run has ended, after {follower.audits.rows:,} rows; reviewing the whole of it\n")
        return review(path, master, say, witnesses, orders, spark, advice, evidence)


def watch(streaming: Streaming, follower: Follower, say: Say) -> None:
    """Until the run has ended."""
    began, lines = time.monotonic(), 1
    while not follower.is_over():
        streaming.wait()
        follower.look(place_of(streaming))
        seconds = time.monotonic() - began
        stays = seconds >= lines * LINE
        lines += stays
        say(standing(follower, seconds) + "\n" * stays)


def standing(follower: Follower, seconds: float) -> str:
    """A line of progress."""
    done, audits = follower.progress, follower.audits
    if not done.rows:
        return f"waiting for rows, {seconds:.0f} s"
    parts = [f"{done.rows:,} rows", f"lag {done.lag_s:.1f} s", f"{audits.waiting:,} kept"]
    found = sum(audits.counts.values())
    parts.append(f"{found:,} violations" if found else "nothing wrong")
    silent = sorted(audits.frontier.crashed)
    if silent:
        parts.append(f"silent, or crashed: {', '.join(silent)}")
    return ", ".join(parts)
