"""Made-up results of runs, for tests of the lake: some rows of every table, whose figures are all the same number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from weft.review.lake.schema import TABLES, table_schema
from weft.review.many.rows import together

Row = dict[str, Any]
ALL = tuple(TABLES)
WHEN = {"version", "reviewed_ns", "review_seconds", "path", "data_state", "seconds"}
"""Columns that say when and where it was reviewed, and how long that took."""


def results(
    federation: str, run: str, figure: int, date: str = "2026-11-18", rows: int = 2
) -> dict[str, pa.Table]:
    """As a review gives them; of `figure` can be told which review it was."""
    key = {"run": run, "federation": federation, "date": date}
    made = {name: table_schema(name).empty_table() for name in ALL}
    for name, table in TABLES.items():
        numbers = [column.name for column in table.own if column.type == "int64"]
        told = {numbers[0]: figure} if numbers else {"figures": str(figure)}
        count = 1 if name == "run" else rows
        made[name] = pa.Table.from_pylist([key | told] * count, schema=table_schema(name))
    return made


def batch(*many: dict[str, pa.Table]) -> dict[str, pa.Table]:
    whole_ones = together(many)
    return {name: whole_ones[name] for name in TABLES}


def current(lake: Any, without: frozenset[str] | set[str] = frozenset(WHEN)) -> dict[str, list[Row]]:
    """The rows of all tables that count, in a fixed order, without what differs from one review to the next."""
    snapshot = lake.snapshot()
    found = {}
    for name in TABLES:
        rows = [
            {column: value for column, value in row.items() if column not in without or column in _kept(name)}
            for row in snapshot.read(name).to_pylist()
        ]
        found[name] = sorted(rows, key=repr)
    return found


def rounded(rows: list[Row]) -> list[Row]:
    """Why an audit had nothing to read hangs on whether rows were cut; sums of parts differ in their last digit."""
    return sorted(
        (
            {
                name: round(value, 6) if isinstance(value, float) else value
                for name, value in row.items()
                if name != "note"
            }
            for row in rows
        ),
        key=repr,
    )


def _kept(name: str) -> set[str]:
    """`seconds` of a run are its own length."""
    return {"seconds"} if name == "run" else set()


def figures(lake: Any) -> dict[tuple[str, str], set[tuple[str, int, int]]]:
    """Of each run by table: how many rows, and of which figure."""
    snapshot = lake.snapshot()
    found: dict[tuple[str, str], Any] = {}
    for name, table in TABLES.items():
        numbers = [column.name for column in table.own if column.type == "int64"] or ["figures"]
        for row in snapshot.read(name).to_pylist():
            counts = found.setdefault((row["federation"], row["run"]), {})
            counts.setdefault((name, int(row[numbers[0]])), []).append(row)
    return {key: {(*one, len(rows)) for one, rows in counts.items()} for key, counts in found.items()}


def whole(figure: int, rows: int = 2) -> set[tuple[str, int, int]]:
    """What `figures` gives of one review."""
    return {(name, figure, 1 if name == "run" else rows) for name in TABLES}
