"""The recorded rows that violations are about: those of the messages they name, at the federates they name, and their own row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import Context
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array
from weft.review.spark.tasks import RunPart, read_part, spread

KINDS = ("send", "arrive", "hold", "release", "deliver", "filter", "drop", "retract")
COLUMNS = (
    "node", "seq", "epoch_ns", "kind", "service", "federate", "source", "message", "class", "order", "detail",
)  # fmt: skip
FOUND = (
    "node string, seq bigint, epoch_ns bigint, kind string, service string, federate bigint, source bigint, message bigint, "
    "class string, order string, detail string, time double"
)
MOST = 100
"""Rows of one violation: a message may have had thousands of receivers."""

Row = dict[str, object]


def witness_rows(context: Context, violations: Sequence[Row], names: Mapping[int, str]) -> list[Row]:
    if not violations:
        return []
    messages = {key for one in violations for key in _messages(one)}
    places = {place for one in violations if (place := _place(one)) is not None}
    time = context.opened.time_column
    works = [partial(_named_rows, part, time, messages, places) for part in context.parts]
    rows = spread(context.session, works, FOUND).toArrow().to_pylist()
    rows.sort(key=lambda row: (row["epoch_ns"], row["node"], row["seq"]))
    return [row for one in violations for row in _of(one, rows, names)]


def _messages(violation: Row) -> list[tuple[int, int]]:
    found = []
    for names in (("source", "message"), ("after_source", "after")):
        source, message = (violation.get(name) for name in names)
        if isinstance(source, int) and isinstance(message, int):
            found.append((source, message))
    return found


def _place(violation: Row) -> tuple[str, int] | None:
    """Of its own row, if it names one."""
    node, seq = violation.get("node"), violation.get("seq")
    return (node, seq) if isinstance(node, str) and isinstance(seq, int) else None


def _of(violation: Row, rows: Sequence[Row], names: Mapping[int, str]) -> list[Row]:
    """Its own row, the sends of its messages, and what became of these at its federate (or at all, if it names none)."""
    messages = _messages(violation)
    who = violation.get("federate")
    own = _place(violation)
    found: list[Row] = []
    for row in rows:
        named = (row["source"], row["message"]) in messages
        theirs = row["kind"] in ("send", "arrive") or who is None or row["federate"] == who
        if (row["node"], row["seq"]) == own or (named and theirs):
            told = {"audit": violation["audit"], "number": violation["number"]}
            number = row["federate"] if isinstance(row["federate"], int) else -1
            found.append(row | told | {"federate_name": names.get(number)})
    return found[:MOST]


def _named_rows(
    part: RunPart, time: str, messages: set[tuple[int, int]], places: set[tuple[str, int]]
) -> Iterator[pa.RecordBatch]:
    wanted = arrow.schema_of(FOUND)
    mine = np.array([seq for node, seq in places if node == part.node], np.int64)
    for table in read_part(part, (*COLUMNS, time), partial(_chosen, messages, mine)):
        texts = pick.with_columns(table, time=table[time].cast(pa.float64()))
        arrays = [texts[field.name].cast(field.type) for field in wanted]
        yield from pa.Table.from_arrays(arrays, schema=wanted).to_batches()


def _chosen(messages: set[tuple[int, int]], places: Array, table: pa.Table) -> pa.Table:
    source, message = (arrow.numbers(table, name) for name in ("source", "message"))
    near = np.isin(message, [number for _, number in messages]) & arrow.is_one_of(table, "kind", *KINDS)
    for row in np.flatnonzero(near).tolist():
        near[row] = (int(source[row]), int(message[row])) in messages
    return pick.filtered(table, near | np.isin(arrow.numbers(table, "seq"), places))
