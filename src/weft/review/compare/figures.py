"""Figures of runs, from the tables of the lake: one for each run, or for each interval of it, by what they are about.

A figure is about a *subject* (how long deliveries of a class to a federate took, how often somebody was late) and has a *measure*
of it.  Federates go by their names, since their handles differ from run to run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.kernels.differences import Values
from weft.review.lake.store import Snapshot

FEWEST = 5  # in an interval, or a run: percentiles of fewer say nothing
LATENCY, WAIT, TRAFFIC, VIOLATIONS, DEADLINES, DATA = (
    "latency", "wait", "traffic", "violations", "deadlines", "data",
)  # fmt: skip
KINDS = (VIOLATIONS, DEADLINES, LATENCY, WAIT, TRAFFIC, DATA)
MORE_IS_WORSE = frozenset([LATENCY, WAIT, VIOLATIONS, DEADLINES, DATA])
Row = dict[str, object]


class RunRow(NamedTuple):
    """A run of the lake, as comparisons name it."""

    federation: str
    run: str
    start_ns: int
    status: str

    @property
    def key(self) -> tuple[str, str]:
        return self.federation, self.run


class Subject(NamedTuple):
    kind: str
    what: str
    """In words, as "Fire to observer"."""
    measure: str
    unit: str

    def __str__(self) -> str:
        return f"{self.what}: {self.measure}"


class SubjectFigures(NamedTuple):
    """Of one subject."""

    by_run: dict[str, float]
    """By name of the run: its figure."""
    by_interval: dict[str, Values]
    """By name of the run: those of its intervals, in order; none where there are no intervals."""


def runs_of(snapshot: Snapshot) -> list[RunRow]:
    """In the order in which they began."""
    names = ("federation", "run", "start_ns", "status")
    rows = snapshot.runs.select(list(names)).to_pylist()
    return sorted((RunRow(*(row[name] for name in names)) for row in rows), key=lambda one: one.start_ns)


def figures_of(snapshot: Snapshot, runs: Iterable[RunRow]) -> dict[Subject, SubjectFigures]:
    """All that the lake has of these runs; a run of which something is not there at all has no figure for it."""
    chosen = list(runs)
    keys = {one.key for one in chosen}
    found: dict[Subject, SubjectFigures] = defaultdict(lambda: SubjectFigures({}, {}))
    seconds = _seconds(snapshot)
    for maker in (_latencies, _traffic, _violations, _deadlines, _data):
        for run, subject, value, intervals in maker(snapshot, keys, seconds):
            figures = found[subject]
            figures.by_run[run] = value
            if intervals is not None:
                figures.by_interval[run] = intervals
    return dict(found)


Found = Iterator[tuple[str, Subject, float, Values | None]]
Keys = set[tuple[str, str]]


def _rows(snapshot: Snapshot, name: str, keys: Keys, *wanted: pa.compute.Expression) -> list[Row]:
    table = snapshot.read(name)
    for one in wanted:
        table = table.filter(one)
    federations, runs = table["federation"].to_pylist(), table["run"].to_pylist()
    mine = pa.array([key in keys for key in zip(federations, runs, strict=True)], pa.bool_())
    rows: list[Row] = table.filter(mine).to_pylist()
    return rows


def _seconds(snapshot: Snapshot) -> Mapping[tuple[str, str], float]:
    rows = snapshot.runs.select(["federation", "run", "seconds"]).to_pylist()
    return {(row["federation"], row["run"]): row["seconds"] or math.nan for row in rows}


def _latencies(snapshot: Snapshot, keys: Keys, _: Mapping[tuple[str, str], float]) -> Found:
    """What federates wait for: messages, their turn, and time."""
    whole: dict[tuple[str, Subject], float] = {}
    parts: dict[tuple[str, Subject], list[tuple[float, float]]] = defaultdict(list)
    for row in _rows(snapshot, "latency", keys, pc.field("count") >= FEWEST):
        kind = LATENCY if row["what"] == "deliver" else WAIT
        what = f"{row['what']} {row['class'] or row['service'] or ''} to {row['federate_name'] or row['federate']}"
        if row["order"]:
            what += f" ({row['order']})"
        for measure in ("p50", "p95"):
            subject = Subject(kind, what, measure, "ms")
            key = str(row["run"]), subject
            value = _number(row[f"{measure}_ms"])
            if row["span"] == "run":
                whole[key] = value
            else:
                parts[key].append((_number(row["from_s"]), value))
    for (run, subject), value in whole.items():
        ordered = [figure for _, figure in sorted(parts.get((run, subject), []))]
        yield run, subject, value, np.array(ordered, np.float64)


def _traffic(snapshot: Snapshot, keys: Keys, seconds: Mapping[tuple[str, str], float]) -> Found:
    """Messages of a class that a federate sends, a second."""
    sums: dict[tuple[tuple[str, str], str], float] = defaultdict(float)
    for row in _rows(snapshot, "traffic", keys, pc.field("side") == "sent"):
        what = f"{row['class']} from {row['source_name'] or row['source']}"
        sums[(str(row["federation"]), str(row["run"])), what] += _number(row["messages"])
    for (key, what), count in sums.items():
        if seconds[key] > 0:
            yield key[1], Subject(TRAFFIC, what, "messages", "1/s"), count / seconds[key], None


def _violations(snapshot: Snapshot, keys: Keys, _: Mapping[tuple[str, str], float]) -> Found:
    """Of each audit."""
    for row in _rows(snapshot, "audit", keys):
        subject = Subject(VIOLATIONS, str(row["audit"]), "violations", "")
        yield str(row["run"]), subject, _number(row["violations"]), None


def _deadlines(snapshot: Snapshot, keys: Keys, _: Mapping[tuple[str, str], float]) -> Found:
    for row in _rows(snapshot, "deadline", keys, pc.field("events") >= FEWEST):
        what = f"{row['name'] or 'consumer'} at {row['node']}, priority {row['priority']}"
        share = 100 * _number(row["misses"]) / _number(row["events"])
        yield str(row["run"]), Subject(DEADLINES, what, "missed", "%"), share, None


def _data(snapshot: Snapshot, keys: Keys, _: Mapping[tuple[str, str], float]) -> Found:
    """Whether the recordings themselves are whole."""
    for row in snapshot.runs.select(["federation", "run", "dropped"]).to_pylist():
        if (row["federation"], row["run"]) in keys:
            yield row["run"], Subject(DATA, "recording", "dropped rows", ""), _number(row["dropped"]), None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
