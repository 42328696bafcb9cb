"""Runs that are being written, in the lake: what was found so far, as rows that the review of the whole run replaces.

What is in the lake of such a run follows from what Spark keeps of it, and each time all of it is written anew, under a version of
its own.  So readers see one standing or the next, or the review; nothing is there twice, whoever was killed at whatever moment;
and who takes the tables apart by `version` needs to know nothing of following.  That these rows are few makes it cheap: of the
findings of an audit the first ones, as in any review.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa

from weft.host.storage import place_of
from weft.review.errors import ReviewError, reason
from weft.review.follow.query import RunStanding
from weft.review.lake.schema import FOLLOWING, TABLES
from weft.review.live.history import Told
from weft.review.many.finding import identified
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import ResultLake
from weft.review.many.rows import Row, RunKey, always, as_table, together, violations
from weft.review.review import AUDITS

PAUSE, LONGEST_PAUSE = 5.0, 60.0  # seconds between two standings of a run in the lake …
SHARE = 0.02  # … or so much of the time for which it has been followed: files in the lake are only ever added
STATE = "being written"


class _Noted(NamedTuple):
    told: Told
    at: float


class FollowedTables:
    """`note` is called again and again; it writes what is due.  `lake`: opened when the first run is there."""

    def __init__(
        self,
        lake: Callable[[str], ResultLake | None],
        wanted: ReviewOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lake, self._wanted, self._clock = lake, wanted, clock
        self._keys: dict[str, RunKey] = {}
        self._began: dict[str, float] = {}
        self._noted: dict[str, _Noted] = {}

    def note(self, standings: Mapping[str, RunStanding]) -> None:
        """By the addresses of runs; raises ReviewError."""
        now = self._clock()
        due = {run: one.told for run, one in standings.items() if self._is_due(run, one.told, now)}
        if not due:
            return
        lake = self._lake(next(iter(due)))
        if lake is not None:
            try:
                lake.write(together(standing_tables(self._key(run), told) for run, told in due.items()))
            except (OSError, pa.ArrowException) as error:
                raise ReviewError(f"{lake.place}: findings cannot be written: {reason(error)}") from error
        self._noted |= {run: _Noted(told, now) for run, told in due.items()}

    def _is_due(self, run: str, told: Told, now: float) -> bool:
        """The first time and when there is something new; a run that is over is left to its review."""
        began = self._began.setdefault(run, now)
        before = self._noted.get(run)
        if told.over or before is None:
            return not told.over
        found = (told.violations, told.unsure) != (before.told.violations, before.told.unsure)
        waited = now - before.at
        if found:
            return waited >= min(LONGEST_PAUSE, max(PAUSE, SHARE * (now - began)))
        return told.rows > before.told.rows and waited >= LONGEST_PAUSE

    def _key(self, run: str) -> RunKey:
        if run not in self._keys:
            place = place_of(run)
            path = place.address if place.local is None else str(place)
            federation, start_ns = identified(place)
            self._keys[run] = RunKey(path, place.name, federation, start_ns, "", self._wanted.options)
        return self._keys[run]


def standing_tables(key: RunKey, told: Told) -> dict[str, pa.Table]:
    """Of one run."""
    names = {int(number): name for number, name in told.federates.items()}
    total = sum(told.violations.values())
    run: Row = always(key, 0.0) | {
        "status": FOLLOWING,
        "review_seconds": None,
        "seconds": round(max(0, told.newest_ns - key.start_ns) / 1e9, 3),
        "state": STATE + (f"; {', '.join(told.silent)} silent, or crashed" if told.silent else ""),
        "nodes": told.nodes,
        "federates": sorted(set(names.values())),
        "rows": told.rows,
        "violations": total,
        "unsure": told.unsure,
        "failed_audits": 0,
    }
    made: dict[str, list[Row]] = {
        "run": [run],
        "audit": list(_audits(told)),
        "violation": violations(told.shown, names),
    }
    return {name: as_table(name, made.get(name, []), key) for name in TABLES}


def _audits(told: Told) -> Iterable[Row]:
    for name in AUDITS:
        many = told.violations.get(name, 0)
        yield {
            "audit": name,
            "status": "violated" if many else FOLLOWING,
            "violations": many,
            "unsure": told.unsure if name == "delivery" else 0,
            "shown": len(told.shown.get(name, [])),
        }
