"""What a review has found, as rows of the lake's tables."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

import weft
from weft.host.recording.runs import Run
from weft.model.json_types import JsonObject
from weft.recorder import VERSION
from weft.review.advice.told import AdviceData
from weft.review.audits.context import Context, Result
from weft.review.kernels.records import Violation
from weft.review.lake.schema import FAILED, LAKE_VERSION, TABLES, table_schema
from weft.review.many.measure import RunFlows, measured
from weft.review.many.witnesses import witness_rows
from weft.review.quality import CLOCK, GAP, NOTE, WRONG
from weft.review.review import Review

Row = dict[str, object]
Names = Mapping[int, str]
MOST_TEXT = 2000


@dataclass(frozen=True)
class RunKey:
    """Which run, as far as it is known before it is opened; goes to other processes."""

    path: str
    run: str
    federation: str
    start_ns: int
    data_state: str = ""
    options: str = ""
    """As JSON; empty: as by default."""

    @property
    def date(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self.start_ns // 10**9))

    @property
    def columns(self) -> Row:
        return {"run": self.run, "federation": self.federation, "date": self.date}


def tables_of(key: RunKey, context: Context, found: Review, seconds: float) -> dict[str, pa.Table]:
    """All tables, each with the rows of this run."""
    flow = measured(context)
    wrong = violations({audit: one.witnesses for audit, one in found.audits.items()}, flow.names)
    made: dict[str, pa.Table | list[Row]] = {
        "run": [_run_row(key, context, found, flow, seconds)],
        "audit": _audits(found),
        "violation": wrong,
        "witness": witness_rows(context, wrong, flow.names),
        "unsure": _unsure(found),
        "traffic": _named(flow.traffic, flow.names),
        "latency": _named(flow.latency, flow.names),
        "deadline": _deadlines(found),
        "advice": _advice(found.advice),
        "data_quality": _data_quality(found),
    }
    return {name: as_table(name, rows, key) for name, rows in made.items()}


def failed_tables(key: RunKey, why: str, seconds: float) -> dict[str, pa.Table]:
    """Of a run that could not be reviewed: one row says so."""
    row = always(key, seconds) | {"status": FAILED, "error": why[:MOST_TEXT]}
    return {name: as_table(name, [row] if name == "run" else [], key) for name in TABLES}


def together(many: Iterable[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """The tables of several runs as one of each."""
    listed = list(many)
    empty = {name: [table_schema(name).empty_table()] for name in TABLES}
    return {name: pa.concat_tables(empty[name] + [one[name] for one in listed]) for name in TABLES}


def as_table(name: str, rows: pa.Table | Sequence[Row], key: RunKey) -> pa.Table:
    """With the columns by which every table begins, and nulls for what is not given."""
    schema = table_schema(name)
    if not isinstance(rows, pa.Table):
        return pa.Table.from_pylist([{**row, **key.columns} for row in rows], schema=schema)
    given = {field.name: rows[field.name] for field in rows.schema}
    given |= {column: pa.repeat(value, len(rows)) for column, value in key.columns.items()}
    columns = [
        given[field.name].cast(field.type) if field.name in given else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


# The run


def always(key: RunKey, seconds: float) -> Row:
    return {
        "path": key.path,
        "start_ns": key.start_ns,
        "data_state": key.data_state,
        "options": key.options,
        "weft": weft.__version__,
        "row_schema": VERSION,
        "lake_schema": LAKE_VERSION,
        "reviewed_ns": time.time_ns(),
        "review_seconds": round(seconds, 3),
        "advised": False,
    }


def _run_row(key: RunKey, context: Context, found: Review, flow: RunFlows, seconds: float) -> Row:
    run = context.opened.run
    sums = _sums(flow.traffic)
    return always(key, seconds) | {
        "status": found.status,
        "seconds": round(max(0, flow.last_ns - run.start_ns) / 1e9, 3),
        "state": run.state,
        "nodes": sorted(run.nodes),
        "federates": sorted(set(flow.names.values())),
        "rows": run.rows,
        "dropped": run.dropped,
        "violations": found.violations,
        "unsure": found.unsure,
        "failed_audits": len(found.failures),
        "messages": sums["sent"]["messages"],
        "deliveries": sums["received"]["messages"],
        "payload_bytes": sums["sent"]["bytes"],
        "control_bytes": sums["sent"]["control_bytes"],
        "time": _time(run),
        "advised": bool(found.advice),
    }


def _time(run: Run) -> str | None:
    return run.info.get("time")


def _sums(traffic: pa.Table) -> dict[str, dict[str, int]]:
    found = {}
    for side in ("sent", "received"):
        mine = traffic.filter(pc.equal(traffic["side"], side))
        names = ("messages", "bytes", "control_bytes")
        found[side] = {name: int(pc.sum(mine[name]).as_py() or 0) for name in names}
    return found


# Audits and what they found


def _audits(found: Review) -> list[Row]:
    rows: list[Row] = [
        {
            "audit": name,
            "status": "violated" if result.violations else "unsure" if result.unsure else "ok",
            "violations": result.violations,
            "unsure": result.unsure,
            "shown": len(result.witnesses),
            "note": result.idle or None,
            "seconds": round(found.seconds.get(name, 0.0), 4),
        }
        for name, result in found.audits.items()
    ]
    nothing = {"violations": 0, "unsure": 0, "shown": 0}
    return rows + [
        {"audit": name, "status": FAILED, **nothing, "error": why[:MOST_TEXT]}
        for name, why in found.failures.items()
    ]


def violations(found: Mapping[str, Sequence[Violation]], names: Names) -> list[Row]:
    """Of witnesses, by audit."""
    wanted = {column.name for column in TABLES["violation"].own}
    return [
        _violation(audit, number, witness, wanted, names)
        for audit, witnesses in found.items()
        for number, witness in enumerate(witnesses, 1)
    ]


def _violation(audit: str, number: int, witness: Violation, wanted: set[str], names: Names) -> Row:
    told: Row = dict(witness)
    row: Row = {name: value for name, value in told.items() if name in wanted}
    rest = {name: value for name, value in told.items() if name not in wanted and value is not None}
    if rest:
        row["detail"] = "; ".join([*filter(None, [witness.get("detail")]), json.dumps(rest, default=str)])
    row.setdefault("what", "missed" if audit == "deadlines" else "late")
    row |= {"audit": audit, "number": number}
    row |= {"federate_name": names.get(witness.get("federate", -1))}
    return row | {"source_name": names.get(witness.get("source", -1))}


def _unsure(found: Review) -> list[Row]:
    doubts = [doubt.text for doubt in found.doubts if doubt.severity in (GAP, WRONG, CLOCK)]
    because = "; ".join(doubts or found.notes)[:MOST_TEXT]
    return [
        {"audit": name, "findings": result.unsure, "because": because}
        for name, result in found.audits.items()
        if result.unsure
    ]


def _deadlines(found: Review) -> list[Row]:
    result: Result | None = found.audits.get("deadlines")
    rows: list[Row] = []
    for one in (result.figures.get("consumers") or []) if result else []:
        laxity = one["laxity_ms"] or {}
        named = {"avg": "mean"}
        row: Row = {
            name: one[name] for name in ("node", "name", "priority", "events", "misses", "utilisation")
        }
        row |= {f"laxity_{named.get(name, name)}_ms": value for name, value in laxity.items()}
        rows.append(row)
    return rows


def _data_quality(found: Review) -> list[Row]:
    rows: list[Row] = [
        {
            "check": doubt.check,
            "subject": doubt.subject,
            "severity": doubt.severity,
            "nodes": sorted(doubt.nodes),
            "text": doubt.text,
            "figures": json.dumps(dict(doubt.figures)) if doubt.figures else None,
        }
        for doubt in found.doubts
    ]
    told = {doubt.text for doubt in found.doubts}
    severity = GAP if found.incomplete else NOTE
    return rows + [
        {"check": "note", "subject": found.run, "severity": severity, "nodes": [], "text": note}
        for note in found.notes
        if note not in told
    ]


def _advice(advice: AdviceData) -> list[Row]:
    rows: list[Row] = []
    for kind, told in cast("Mapping[str, JsonObject | list[JsonObject]]", advice).items():
        for one in told if isinstance(told, list) else [told]:
            saved = one.get("saved", one.get("saved_bytes"))
            row: Row = {"kind": kind, "subject": one.get("class"), "none_because": one.get("none_because")}
            row |= {
                "file": one.get("file"),
                "saved": float(saved) if isinstance(saved, int | float) else None,
            }
            rows.append(row | {"figures": json.dumps(one, default=str, sort_keys=True)})
    return rows


def _named(table: pa.Table, names: Names) -> pa.Table:
    """With names for the numbers of federates."""
    for column in ("source", "federate"):
        if column in table.column_names:
            given = pa.array([names.get(number) for number in table[column].to_pylist()], pa.string())
            table = table.append_column(f"{column}_name", given)
    return table
