"""Traffic and latency of a run, with Spark or without: rows are picked part by part, and what belongs together is shuffled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.host.recording.runs import RowFile, Run, read_rows
from weft.review.audits import pick
from weft.review.audits.context import Context
from weft.review.kernels import arrow, flows
from weft.review.spark.tasks import Frame, RunPart, read_part, spread

SECOND = 1_000_000_000
INTERVALS = (1, 2, 5, 10, 30, 60, 300, 900, 3600)  # seconds
MOST_INTERVALS = 600
KINDS = {"send": flows.SEND, "deliver": flows.DELIVER, "hold": flows.HOLD, "release": flows.RELEASE}
ASKED_KINDS = {"request": flows.REQUEST, "grant": flows.GRANT}
BLOCK_BITS = 8
NAMED = "federate bigint, name string"
_CLOCKS = ("epoch_ns", "mono_ns")
FLOW_COLUMNS = (
    "node", "kind", "federate", "source", "message", "class", "order", "channels", "payload_bytes", "control_bytes", *_CLOCKS,
)  # fmt: skip
ASKED_COLUMNS = ("node", "seq", "kind", "service", "federate", *_CLOCKS)


class RunFlows(NamedTuple):
    traffic: pa.Table
    """As `flows.TRAFFIC`."""
    latency: pa.Table
    """As `flows.LATENCY`."""
    names: dict[int, str]
    """Of federates."""
    last_ns: int


def measured(context: Context) -> RunFlows:
    """What there is of it: without messages the tables are empty."""
    run, session = context.opened.run, context.session
    last = last_ns(run)
    step = interval_ns(last - run.start_ns)
    parts = context.parts_with(*KINDS)
    rows = spread(session, [partial(flow_rows, part) for part in parts], flows.FLOW)
    messages = rows.repartition("source", "block").persist()
    asked = spread(
        session, [partial(asked_rows, part) for part in context.parts_with(*ASKED_KINDS)], flows.ASKED
    )
    took = _mapped(messages, flows.FLOW, _message_times, flows.TOOK)
    took = took.unionByName(
        _mapped(asked.repartition("federate"), flows.ASKED, flows.grants, flows.TOOK)
    ).repartition("what", "class", "federate")
    latency = _mapped(took, flows.TOOK, partial(_latencies, run.start_ns, step), flows.LATENCY)
    traffic = flows.summed(_mapped(messages, flows.FLOW, flows.traffic, flows.TRAFFIC).toArrow())
    return RunFlows(traffic, latency.toArrow(), federate_names(context), last)


Of = Callable[[pa.Table], pa.Table]


def _mapped(frame: Frame, given: str, function: Of, made: str) -> Frame:
    return frame.mapInArrow(partial(_map, given, function), made)


def _map(given: str, function: Of, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    table = flows.rows_of(batches, given)
    if len(table):
        yield from function(table.combine_chunks()).to_batches()


def _message_times(table: pa.Table) -> pa.Table:
    return pa.concat_tables([flows.deliveries(table), flows.waits(table)])


def _latencies(start_ns: int, step: int, table: pa.Table) -> pa.Table:
    return flows.latencies(table, start_ns, step)


def last_ns(run: Run) -> int:
    """Wall clock of the latest row: not that of the last one, where a clock was set back, or where time is virtual."""
    latest = [file.to_ns + file.shift_ns for file in run.files if file.to_ns]
    latest += [_last_row(file) for file in run.files if file.rows and not file.to_ns]
    return max(latest, default=run.start_ns)


def _last_row(file: RowFile) -> int:
    """Of a file that does not say it."""
    return int(arrow.numbers(read_rows(file, ("epoch_ns",)), "epoch_ns").max())


def interval_ns(length_ns: int) -> int:
    """So long that a run has a bounded number of them."""
    for seconds in INTERVALS:
        if length_ns <= seconds * SECOND * MOST_INTERVALS:
            return seconds * SECOND
    return -(-length_ns // MOST_INTERVALS // SECOND) * SECOND


# What is picked


def flow_rows(part: RunPart) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, FLOW_COLUMNS, lambda table: pick.messages(table, *KINDS)):
        wanted = arrow.schema_of(flows.FLOW)
        columns = {
            "source": table["source"],
            "block": pa.array(arrow.numbers(table, "message") >> BLOCK_BITS),
            "message": table["message"],
            "kind": _numbered(table, KINDS),
            "federate": table["federate"],
            "node": table["node"],
            "class": table["class"],
            "order": table["order"],
            "channels": pick.with_columns(table, channels=_channels(table))["channels"],
            "payload": table["payload_bytes"],
            "control": table["control_bytes"],
            **{name: table[name] for name in _CLOCKS},
        }
        made = [columns[field.name].cast(field.type) for field in wanted]
        yield from pa.Table.from_arrays(made, schema=wanted).to_batches()


def _channels(table: pa.Table) -> pa.Array:
    """As texts: there are few, so each is made once."""
    import pyarrow.compute as pc

    column = table["channels"]
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.string())
    return pc.binary_join(column.cast(pa.list_(pa.string())), ",")


def _numbered(table: pa.Table, kinds: dict[str, int]) -> pa.Array:
    codes, words = arrow.words(table, "kind")
    numbers = np.array([kinds.get(word, -1) for word in words], np.int32)
    return pa.array(numbers[codes] if len(numbers) else np.zeros(0, np.int32))


def asked_rows(part: RunPart) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, ASKED_COLUMNS, lambda table: pick.of_kinds(table, *ASKED_KINDS)):
        wanted = arrow.schema_of(flows.ASKED)
        columns = {name: table[name] for name in ASKED_COLUMNS} | {"kind": _numbered(table, ASKED_KINDS)}
        made = [columns[field.name].cast(field.type) for field in wanted]
        yield from pa.Table.from_arrays(made, schema=wanted).to_batches()


def federate_names(context: Context) -> dict[int, str]:
    works = [partial(named, part) for part in context.parts_with("join")]
    told = spread(context.session, works, NAMED).toArrow().to_pylist()
    return {row["federate"]: row["name"] for row in told if row["federate"]}


def named(part: RunPart) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, ("kind", "federate", "name"), lambda table: pick.of_kinds(table, "join")):
        texts = pick.with_columns(table, name=table["name"].cast(pa.string()))
        yield from texts.select(["federate", "name"]).to_batches()
