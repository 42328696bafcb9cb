"""A review with its evidence, made by brute force from the rows of a small run, without Spark: for all that only draws it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from review import oracle
from review.simulation import Row
from weft.recorder.timeline import KINDS, rows_of
from weft.recorder.timeline import Row as TimeLineRow
from weft.review import Review
from weft.review.audits.context import Result
from weft.review.kernels.records import RecordedRow
from weft.review.report.evidence import (
    KINDS_NEAR,
    MOST_DRAWN,
    NEAR_ROWS,
    OF_KEYS,
    SHOWN,
    Evidence,
    NamedFederate,
    ShownTraffic,
    keys_of,
    merged,
    window_of,
)

Witness = Any


def plain_review(rows: list[Row], names: dict[int, str] | None = None, **more: Any) -> Review:
    """All that is wrong, and what is around it."""
    audits = {name: Result(len(found), found) for name, found in witnesses_of(rows).items()}
    nodes = {row["federate"]: row["node"] for row in rows if row["kind"] == "join"}
    evidence = Evidence(
        "small",
        "2026-11-16",
        "today",
        tuple(sorted({row["node"] for row in rows})),
        {
            number: NamedFederate((names or {}).get(number, f"f{number}"), node)
            for number, node in nodes.items()
        },
        near_by_force(rows, audits),
        time_line_of(rows),
        0,
        traffic_of(rows),
    )
    return Review("runs/small/run", len(rows), 0, (), audits, evidence=evidence, **more)


def witnesses_of(rows: list[Row]) -> dict[str, list[Witness]]:
    sends = {(row["source"], row["message"]): row for row in oracle.of_kind(rows, "send")}
    by_place = {(row["node"], row["seq"]): row for row in rows}
    found: dict[str, list[Witness]] = {name: [] for name in KINDS_NEAR}
    past = oracle.pasts(rows, ("RO", "CO", "CT"))
    for federate, source, message in sorted(oracle.late(rows)):
        before = oracle.deliveries_at(rows, federate, ("RO", "CO", "CT"))
        keys = [(row["source"], row["message"]) for row in before]
        after = next(key for key in keys if (source, message) in past.get(key, ()))
        found["causal"].append(
            {
                "federate": federate,
                "source": source,
                "message": message,
                "after_source": after[0],
                "after": after[1],
            }
            | {"class": sends[source, message]["class"], "after_class": sends[after]["class"]}
        )
    for what, federate, node, seq in sorted(oracle.out_of_order(rows) | oracle.early_grants(rows)):
        row = by_place[node, seq]
        found["time"].append(
            {"what": what, "federate": federate, "node": node, "seq": seq, "source": row["source"]}
            | {"message": row["message"], "time": row["time_int"], "bound": _bound(rows, what, row)}
        )
    for audit, key in (("interest", oracle.misdirected(rows)), ("delivery", oracle.undelivered(rows))):
        for what, source, message, federate in sorted(key):
            found[audit].append({"what": what, "source": source, "message": message, "federate": federate})
    for node, name, seq in sorted(oracle.missed_deadlines(rows)):
        row = by_place[node, seq]
        told = {name: row[name] for name in ("node", "name", "operation", "priority", "deadline_ns", "seq")}
        late = row["mono_ns"] - row["deadline_ns"]
        found["deadlines"].append({**told, "at_ns": row["mono_ns"], "late_ns": late})
    return {name: [_plain(one) for one in those] for name, those in found.items()}


def _bound(rows: list[Row], what: str, wrong: Row) -> int:
    """The time that was broken: the last grant, the latest time stamp so far, or what nobody had promised beyond."""
    before = [row for row in rows if row["federate"] == wrong["federate"] and row["seq"] < wrong["seq"]]
    if what == "past":
        return int(oracle.of_kind(before, "grant")[-1]["time_int"])
    if what == "decreasing":
        return int(max(row["time_int"] for row in oracle.of_kind(before, "deliver") if row["order"] == "TSO"))
    return int(wrong["time_int"]) - 1


def _plain(witness: Witness) -> Witness:
    return {name: value for name, value in witness.items() if value is not None}


def shown(row: Row) -> RecordedRow:
    found: Any = {**{name: row[name] for name in SHOWN}, "time": row["time_int"]}
    return found  # type: ignore[no-any-return]


def near_by_force(rows: list[Row], audits: dict[str, Result]) -> dict[tuple[str, int], list[RecordedRow]]:
    """What `weft.review.report.evidence.near` must give."""
    found = {}
    for audit, result in audits.items():
        for number, witness in enumerate(result.witnesses[:MOST_DRAWN]):
            named = _named(rows, witness)
            span = window_of(0, audit, witness, named)
            around: list[RecordedRow] = []
            if span is not None:
                inside = [row for row in rows if _inside(row, span)]
                inside.sort(key=lambda row: (_distance(row, span.moments), row["node"], row["seq"]))
                around = [shown(row) for row in inside[:NEAR_ROWS]]
            found[audit, number] = merged([*named, *around])
    return found


def _named(rows: list[Row], witness: Witness) -> list[RecordedRow]:
    keys = keys_of(0, witness)
    messages = {(key.source, key.message) for key in keys if key.source is not None}
    places = {(key.node, key.seq) for key in keys if key.node is not None}
    return [
        shown(row)
        for row in rows
        if (row["kind"] in OF_KEYS and (row["source"], row["message"]) in messages)
        or (row["node"], row["seq"]) in places
    ]


def _inside(row: Row, span: Any) -> bool:
    return (
        span.first <= row["epoch_ns"] <= span.last
        and row["kind"] in span.kinds
        and row["source"] != 0
        and (not span.federates or row["federate"] in span.federates)
        and span.node in (None, row["node"])
        and span.name in (None, row["name"])
    )


def _distance(row: Row, moments: Iterable[int]) -> int:
    return min(abs(int(row["epoch_ns"]) - one) for one in moments)


def time_line_of(rows: list[Row]) -> list[TimeLineRow]:
    mine = [
        row for row in rows if row["kind"] in KINDS and (row["kind"] != "drop" or row["priority"] is not None)
    ]
    return rows_of({name: [row[name] for row in mine] for name in TimeLineRow._fields}) if mine else []


def traffic_of(rows: list[Row]) -> list[ShownTraffic]:
    found: dict[str, list[int]] = {}
    orders: dict[str, set[str]] = {}
    for row in rows:
        if row["kind"] in ("send", "deliver"):
            sums = found.setdefault(row["class"], [0, 0])
            sums[row["kind"] == "deliver"] += 1
            if row["kind"] == "send":
                orders.setdefault(row["class"], set()).add(row["order"])
    made = [
        ShownTraffic(name, ", ".join(sorted(orders.get(name, ()))), sent, got, 0, 0, 0)
        for name, (sent, got) in found.items()
    ]
    return sorted(made, key=lambda one: (-one.messages - one.deliveries, one.name))
