"""What Spark's tasks do with lines of manifests: each run is judged by the task that has its key, with what was kept of it.

What Spark keeps of a run is its history (`weft.review.live.history`), which is small; the process that judged it last most often
judges it again, and then has all that it knows at hand.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from weft.host.recording.files import RUN_FILE
from weft.host.storage import Place, place_of
from weft.review.live.history import Knowing, LiveRun, ReadLine, RunHistory
from weft.review.spark.reading import time_column_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

FOUND = "run string, kind string, told string"
FINDING, STANDING = "finding", "standing"
KEPT = "history binary"
AGAIN_MS = 500  # until a run of which nothing came is looked at again
AGAIN_OVER_MS = (
    30_000  # one that is over; at once, by whoever goes on after a restart: nobody may have reviewed it yet
)

_KNOWN: dict[str, Knowing] = {}
"""What this process knows of runs."""


def snapshots_of(folder: Place, run: str) -> Place:
    return folder / hashlib.sha256(run.encode()).hexdigest()[:16]


class RunProcessor(StatefulProcessor):  # type: ignore[misc]
    """Keyed by the address of the run."""

    def __init__(self, orders: tuple[str, ...], witnesses: int, folder: str) -> None:
        """`folder`: where snapshots lie."""
        self._orders, self._witnesses, self._folder = orders, witnesses, folder

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._kept: ValueState = handle.getValueState("history", KEPT)

    def handleInputRows(  # noqa: N802 - Spark's names, here and below
        self,
        key: tuple[str],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        lines = sorted(ReadLine(row["manifest"], row["end"], row["line"]) for row in rows)
        for expiry in list(self._handle.listTimers()):
            self._handle.deleteTimer(expiry)
        yield from self._judge(key[0], lines, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: tuple[str],
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        yield from self._judge(key[0], [], timerValues)

    def _judge(self, run: str, lines: list[ReadLine], times: TimerValues) -> Iterator[Row]:
        now = time.time_ns()
        history = self._history(run, now)
        standing = history.over
        if standing is None or lines:
            live = LiveRun(history, snapshots_of(place_of(self._folder), run), _KNOWN)
            for finding in live.go_on(lines, now):
                yield Row(run=run, kind=FINDING, told=json.dumps(finding))
            standing = live.told()
            history.over = standing if standing.over else None
            if standing.over:
                del _KNOWN[run]
            self._kept.update((pickle.dumps(history),))
        pause = AGAIN_OVER_MS if standing.over else AGAIN_MS
        self._handle.registerTimer(times.getCurrentProcessingTimeInMs() + pause)
        yield Row(run=run, kind=STANDING, told=json.dumps(standing._asdict()))

    def _history(self, run: str, now: int) -> RunHistory:
        if self._kept.exists():
            kept: RunHistory = pickle.loads(self._kept.get()[0])
            return kept
        time_column = time_column_of(_info(place_of(run)))
        return RunHistory(run, time_column, self._orders, now, witnesses=self._witnesses)

    def close(self) -> None:
        """Nothing is open."""


def _info(run: Place) -> dict[str, object]:
    """What the run says of itself; nothing, if that is not there, or cannot be read."""
    try:
        found = json.loads((run / RUN_FILE).read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
