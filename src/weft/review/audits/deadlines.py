"""Deadlines: how much time consumers had left, who missed, how busy they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import Context, Result
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array, by_value
from weft.review.kernels.ranks import percentiles, sample
from weft.review.kernels.records import AuditFigures, DeadlineFigures, RecordedRow
from weft.review.spark.tasks import RunPart, counted, read_part
from weft.review.steps import RECORDED, AuditStep, AuditSteps, StepKind

PERCENTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
MS = 1e6
ORDER = ("name", "node", "at_ns", "seq")
KINDS = ("dispatch", "done", "miss")
CONSUMER = "node string, name string, priority int"
EVENT = "node string, name string, operation string, priority int, deadline_ns bigint, source bigint, message bigint"
SAME = arrow.names_of(EVENT)
MISSED = f"{EVENT}, kind string, mono_ns bigint, seq bigint"
COLUMNS = arrow.names_of(MISSED)
FOUND = f"{EVENT}, at_ns bigint, seq bigint, late_ns bigint, unsure boolean"
FIGURES = (
    f"{CONSUMER}, events bigint, begun bigint, busy string, missed bigint, "
    "count bigint, least bigint, most bigint, total string, sample array<bigint>"
)

Consumer = tuple[str, str | None, int | None]


class _Measures(TypedDict):
    """Of a consumer in one part; sums as texts, since they may be beyond 64 bits."""

    events: int
    begun: int
    busy: str
    missed: int
    count: int
    least: int
    most: int
    total: str
    sample: Array | list[int]


class _Told(_Measures):
    node: str
    name: str | None
    priority: int | None


def audit(context: Context) -> Result:
    parts = context.parts_with(*KINDS)
    if not parts:
        return Result(0, [], figures={"consumers": []}, idle="nothing was dispatched by priority or deadline")
    told = context.runner.each(MEASURED, parts).toArrow().to_pylist()
    if not any(row["missed"] for row in told):
        return Result(0, [], figures={"consumers": _consumers(context, told, Counter())})
    missed = context.runner.then(ONCE, context.runner.each(SAID, parts)).persist()
    figures: AuditFigures = {"consumers": _consumers(context, told, counted(missed, CONSUMER))}
    return context.result(context.trusted(missed, FOUND), FOUND, ORDER, figures)


# Misses


def misses(part: RunPart) -> Iterator[pa.RecordBatch]:
    """What ended after its deadline, or was said to have missed it."""
    for table in read_part(part, COLUMNS, late):
        words = {name: table[name].cast(pa.string()) for name in ("node", "name", "operation", "kind")}
        due = arrow.numbers(table, "deadline_ns")
        deadline = pa.array(due, mask=due <= 0)
        yield from pick.with_columns(table, deadline_ns=deadline, **words).select(COLUMNS).to_batches()


def late(table: pa.Table) -> pa.Table:
    return pick.filtered(table, _is_late(table))


def _is_late(table: pa.Table) -> Array:
    deadline = arrow.numbers(table, "deadline_ns")
    late = (deadline > 0) & (arrow.numbers(table, "mono_ns") > deadline)
    return arrow.is_one_of(table, "kind", "miss") | (arrow.is_one_of(table, "kind", "done") & late)


def once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What was said of one event and its end are one miss; all of a consumer are here.

    Several events of one consumer may share a deadline: as many missed it as ended late or were said to have.
    """
    groups: dict[tuple[object, ...], list[RecordedRow]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            groups.setdefault(tuple(row[name] for name in SAME), []).append(row)
    found: list[dict[str, object]] = []
    for key, rows in groups.items():
        kinds = [row["kind"] for row in rows]
        at, due = max(row["mono_ns"] for row in rows), rows[0]["deadline_ns"]
        late = None if due is None else at - due
        told = {"at_ns": at, "seq": min(one["seq"] for one in rows), "late_ns": late, "unsure": False}
        found += [dict(zip(SAME, key, strict=True)) | told] * max(kinds.count("done"), kinds.count("miss"))
    yield arrow.made_of_rows(found, arrow.schema_of(FOUND))


# Figures of each consumer and priority: laxity in ms, misses, utilisation


def measure(part: RunPart) -> Iterator[pa.RecordBatch]:
    rows = []
    for table in read_part(part, COLUMNS, lambda table: pick.of_kinds(table, *KINDS)):
        codes, names = arrow.words(table, "name")
        priority, known = arrow.numbers(table, "priority"), arrow.present(table, "priority")
        key = codes.astype(np.int64) << 33 | np.where(known, priority.astype(np.int64) + (1 << 31), 0)
        columns = _steps(table)
        for _, places in by_value(key):
            one = places[0]
            who = {
                "node": part.node,
                "name": names[codes[one]] if codes[one] >= 0 else None,
                "priority": int(priority[one]) if known[one] else None,
            }
            rows.append(who | _measured(*(column[places] for column in columns)))
    yield arrow.made_of_rows(rows, arrow.schema_of(FIGURES))


def _steps(table: pa.Table) -> tuple[Array, ...]:
    done, dispatched = (arrow.is_one_of(table, "kind", kind) for kind in ("done", "dispatch"))
    mono, deadline = arrow.numbers(table, "mono_ns"), arrow.numbers(table, "deadline_ns")
    return done, dispatched, mono, deadline, _is_late(table)


def _measured(done: Array, dispatched: Array, mono: Array, deadline: Array, late: Array) -> _Measures:
    due = done & (deadline > 0)
    laxity = (deadline - mono)[due]
    return {
        "events": int(done.sum()),
        "begun": int(dispatched.sum()),
        "busy": str(_sum(mono[done]) - _sum(mono[dispatched])),
        "missed": int(late.sum()),
        "count": len(laxity),
        "least": int(laxity.min()) if len(laxity) else 0,
        "most": int(laxity.max()) if len(laxity) else 0,
        "total": str(_sum(laxity)),
        "sample": sample(laxity),
    }


def _sum(values: Array) -> int:
    """Exactly, though it may be beyond 64 bits."""
    if not len(values):
        return 0
    base = int(values[0])
    return int((values - base).sum()) + base * len(values)


def _consumers(
    context: Context, told: list[_Told], missed: Counter[tuple[object, ...]]
) -> list[DeadlineFigures]:
    groups: dict[Consumer, list[_Told]] = {}
    for row in told:
        groups.setdefault((row["node"], row["name"], row["priority"]), []).append(row)
    ordered = sorted(groups, key=lambda key: [(part is not None, part or 0) for part in key])
    return [_figures(context, key, groups[key], missed[key]) for key in ordered]


def _figures(context: Context, key: Consumer, told: list[_Told], missed: int) -> DeadlineFigures:
    node, name, priority = key
    spans = [seen.mono for seen in context.survey if seen.node == node]
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    events, begun = sum(row["events"] for row in told), sum(row["begun"] for row in told)
    open_ones = max(0, begun - events)  # begun and not ended: busy until the record ends
    busy = sum(int(row["busy"]) for row in told) + open_ones * last
    return {
        "node": node,
        "name": name,
        "priority": priority,
        "events": events,
        "misses": missed,
        "laxity_ms": _laxity([row for row in told if row["count"]]),
        "utilisation": round(busy / (last - first), 6) if last > first and busy >= 0 else None,
    }


def _laxity(told: list[_Told]) -> dict[str, float] | None:
    if not told:
        return None
    count = sum(row["count"] for row in told)
    found = percentiles([(np.array(row["sample"]), row["count"]) for row in told], PERCENTILES)
    laxity = {
        "min": min(row["least"] for row in told),
        "avg": sum(int(row["total"]) for row in told) / count,
        "max": max(row["most"] for row in told),
        **{f"p{share * 100:g}": value for share, value in zip(PERCENTILES, found, strict=True)},
    }
    return {name: round(value / MS, 6) for name, value in laxity.items()}


MEASURED = AuditStep(
    "measured", StepKind.MAP, "how well each consumer did, in each part", (RECORDED,), measure, FIGURES, COLUMNS,
    when="something was dispatched",
)  # fmt: skip
SAID = AuditStep(
    "misses", StepKind.MAP, "what ended after its deadline, or was said to have missed it", (RECORDED,), misses, MISSED, COLUMNS,
    when="there is such a thing",
)  # fmt: skip
ONCE = AuditStep(
    "once", StepKind.KEYED, "both of one event as one miss", ("misses",), once, FOUND, key=("node", "name")
)
STEPS = AuditSteps("deadlines", "how much time had consumers left, and who missed?", (MEASURED, SAID, ONCE))
