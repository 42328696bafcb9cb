"""Who sent how much to whom, and how long it took: sums and latencies from the rows of messages, requests and grants.

All rows of a message are in one table here (`FLOW`); requests and grants of a federate are in another (`ASKED`).  What belongs
together is found by sorting, never row by row.

* A delivery belongs to the first send of its message; it has the class, order and channels with which that was sent.
* A wait ends with the release of what was held for the same federate; a message that was never held did not wait.
* A grant belongs to the request before it, of the same federate and for the same thing; who asks twice is granted once.

At one node both times are taken from its monotonic clock; between two, from their wall clocks, which may differ (`across`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array

SEND, DELIVER, HOLD, RELEASE = range(4)
REQUEST, GRANT = range(2)
FLOW = (
    "source bigint, block bigint, message bigint, kind int, federate bigint, node string, class string, order string, "
    "channels string, payload bigint, control bigint, epoch_ns bigint, mono_ns bigint"
)
ASKED = "federate bigint, node string, seq bigint, kind int, service string, epoch_ns bigint, mono_ns bigint"
TRAFFIC_KEY = ("side", "class", "order", "source", "federate", "channels")
TRAFFIC_SUMS = ("messages", "bytes", "control_bytes")
TRAFFIC = (
    "side string, class string, order string, source bigint, federate bigint, channels string, "
    "messages bigint, bytes bigint, control_bytes bigint"
)
LATENCY_KEY = ("what", "class", "order", "service", "federate", "across")
TOOK = (
    "what string, class string, order string, service string, federate bigint, across boolean, "
    "epoch_ns bigint, took_ns bigint"
)
SHARES = (0.5, 0.9, 0.95, 0.99)
MS = 1e6
FIGURES = tuple(
    f"{name}_ms" for name in ("min", "mean", *(f"p{share * 100:g}" for share in SHARES), "max", "sd")
)
LATENCY = (
    "what string, span string, from_s double, interval_s double, class string, order string, service string, "
    f"federate bigint, across boolean, count bigint, {', '.join(f'{name} double' for name in FIGURES)}"
)
WHOLE, PART = "run", "interval"


def grouped(*columns: Array) -> Array:
    """For each row the number of its group: rows are of one group where all columns are the same."""
    order = np.lexsort(columns[::-1])
    begins = np.zeros(len(order), bool)
    for column in columns:
        inside = column[order]
        begins[1:] |= inside[1:] != inside[:-1]
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(begins)
    return numbers


def firsts(group: Array, rows: Array, at: Array) -> Array:
    """For each group the earliest of these rows, or -1."""
    found = np.full(int(group.max(initial=-1)) + 1, -1)
    places = np.flatnonzero(rows)
    places = places[np.argsort(-at[places], kind="stable")]
    found[group[places]] = places  # of several the last that is entered, and so the earliest, stays
    return found


# Traffic


def traffic(table: pa.Table) -> pa.Table:
    """Of rows of `FLOW`, as `TRAFFIC`: messages that were sent, each once, and what was received, each delivery once."""
    kind, send = _with_sends(table)
    sent, got = np.flatnonzero(kind == SEND), np.flatnonzero(kind == DELIVER)
    return pa.concat_tables(
        [_carried(table, "sent", sent, sent), _carried(table, "received", got, send[got])]
    )


def _with_sends(table: pa.Table) -> tuple[Array, Array]:
    """The kind of each row, and where the message was sent (-1: nowhere to be found)."""
    kind = arrow.numbers(table, "kind")
    group = grouped(arrow.numbers(table, "source"), arrow.numbers(table, "message"))
    first = firsts(group, kind == SEND, arrow.numbers(table, "epoch_ns"))
    return kind, first[group] if len(group) else group


def _carried(table: pa.Table, side: str, rows: Array, send: Array) -> pa.Table:
    """Summed up; of a delivery without send is known what it tells itself."""
    places = np.where(send >= 0, send, rows)
    of, own = table.take(pa.array(places)), table.take(pa.array(rows))
    made = {
        "side": pa.repeat(side, len(rows)).cast(pa.string()),
        "class": of["class"],
        "order": of["order"],
        "source": of["source"],
        "federate": own["federate"] if side == "received" else pa.nulls(len(rows), pa.int64()),
        "channels": of["channels"],
        "messages": pa.array(np.ones(len(rows), np.int64)),
        "bytes": pc.fill_null(pc.coalesce(own["payload"], of["payload"]), 0),
        "control_bytes": pc.fill_null(of["control"], 0),
    }
    return summed(pa.table(made))


def summed(table: pa.Table) -> pa.Table:
    """Rows of `TRAFFIC` with the same key made one."""
    asked = [(name, "sum") for name in TRAFFIC_SUMS]
    found = table.group_by(list(TRAFFIC_KEY), use_threads=False).aggregate(asked)
    wanted = arrow.schema_of(TRAFFIC)
    columns = [found[f"{name}_sum" if name in TRAFFIC_SUMS else name] for name in wanted.names]
    return pa.Table.from_arrays(columns, names=wanted.names).cast(wanted)


# Latency


def deliveries(table: pa.Table) -> pa.Table:
    """Of rows of `FLOW`, as `TOOK`: from the send of a message to each of its deliveries."""
    kind, send = _with_sends(table)
    rows = np.flatnonzero((kind == DELIVER) & (send >= 0))
    return _took(table, "deliver", rows, send[rows], send[rows])


def waits(table: pa.Table) -> pa.Table:
    """From hold to release."""
    kind, send = _with_sends(table)
    columns = [arrow.numbers(table, name) for name in ("source", "message", "federate")]
    group = grouped(*columns, arrow.words(table, "node")[0])
    held = firsts(group, kind == HOLD, arrow.numbers(table, "epoch_ns"))
    rows = np.flatnonzero(kind == RELEASE)
    hold = held[group[rows]] if len(rows) else rows
    rows, hold = rows[hold >= 0], hold[hold >= 0]
    return _took(table, "hold", rows, hold, np.where(send[rows] >= 0, send[rows], rows))


def _took(table: pa.Table, what: str, rows: Array, since: Array, told: Array) -> pa.Table:
    """From the rows `since` to `rows`; class and order are those of `told`."""
    nodes, _ = arrow.words(table, "node")
    across = nodes[rows] != nodes[since]
    mono, epoch = arrow.numbers(table, "mono_ns"), arrow.numbers(table, "epoch_ns")
    took = np.where(across, epoch[rows] - epoch[since], mono[rows] - mono[since])
    of = table.take(pa.array(told))
    columns = {
        "what": pa.repeat(what, len(rows)),
        "class": of["class"],
        "order": of["order"],
        "federate": arrow.numbers(table, "federate")[rows],
        "across": across,
        "epoch_ns": epoch[rows],
        "took_ns": took,
    }
    return _table(columns, TOOK)


def _table(columns: dict[str, Array | pa.Array], schema: str) -> pa.Table:
    """Without what is not given."""
    wanted = arrow.schema_of(schema)
    length = max((len(column) for column in columns.values()), default=0)
    arrays = []
    for field in wanted:
        given = columns.get(field.name)
        if given is None:
            arrays.append(pa.nulls(length, field.type))
        else:
            arrays.append((given if not isinstance(given, np.ndarray) else pa.array(given)).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=wanted)


REGULATION = ("enable_time_regulation", "time_regulation_enabled")
CONSTRAINED = ("enable_time_constrained", "time_constrained_enabled")


def grants(table: pa.Table) -> pa.Table:
    """Of rows of `ASKED`: from a request to its grant."""
    kind, federate, seq = (arrow.numbers(table, name) for name in ("kind", "federate", "seq"))
    mono, epoch = (arrow.numbers(table, name) for name in ("mono_ns", "epoch_ns"))
    nodes, _ = arrow.words(table, "node")
    about = arrow.is_one_of(table, "service", *REGULATION) + 2 * arrow.is_one_of(
        table, "service", *CONSTRAINED
    )
    order = np.lexsort((seq, mono, about, nodes, federate))
    one, two = order[:-1], order[1:]
    same = (federate[one] == federate[two]) & (nodes[one] == nodes[two]) & (about[one] == about[two])
    pairs = same & (kind[one] == REQUEST) & (kind[two] == GRANT)
    since, rows = one[pairs], two[pairs]
    columns = {
        "what": pa.repeat("grant", len(rows)),
        "service": table["service"].take(pa.array(since)),
        "federate": federate[rows],
        "across": np.zeros(len(rows), bool),
        "epoch_ns": epoch[rows],
        "took_ns": mono[rows] - mono[since],
    }
    return _table(columns, TOOK)


def latencies(table: pa.Table, start_ns: int, interval_ns: int) -> pa.Table:
    """Of rows of `TOOK`, as `LATENCY`: each key in the whole run, and in each interval in which there was any."""
    codes = [_codes(table, name) for name in LATENCY_KEY]
    interval = np.maximum(arrow.numbers(table, "epoch_ns") - start_ns, 0) // interval_ns
    none = np.zeros(len(table), np.int64)
    seconds = interval_ns / 1e9
    return pa.concat_tables(
        [
            _summed_up(table, grouped(*codes), WHOLE, none, seconds),
            _summed_up(table, grouped(*codes, interval), PART, interval, seconds),
        ]
    )


def _codes(table: pa.Table, name: str) -> Array:
    if pa.types.is_string(table.schema.field(name).type):
        return arrow.words(table, name)[0]
    return arrow.numbers(table, name).astype(np.int64)


def _summed_up(table: pa.Table, group: Array, span: str, interval: Array, interval_s: float) -> pa.Table:
    took = arrow.numbers(table, "took_ns")
    order = np.lexsort((took, group))
    took, begins = took[order], np.flatnonzero(np.diff(group[order], prepend=-1))
    count = np.diff(begins, append=len(order))
    one = table.take(pa.array(order[begins]))
    first = interval[order[begins]] * interval_s
    columns: dict[str, Array | pa.Array] = {name: one[name].combine_chunks() for name in LATENCY_KEY}
    columns |= {"span": pa.repeat(span, len(begins)), "count": count}
    columns |= {"interval_s": np.full(len(begins), interval_s)}
    if span == PART:
        columns["from_s"] = first
    return _table(columns | _figures(took, begins, count), LATENCY)


def _figures(took: Array, begins: Array, count: Array) -> dict[str, Array | pa.Array]:
    """Of values that are in order in each group; a percentile is the least value that so many are not above."""
    if not len(begins):
        return {}
    least, most = took[begins], took[begins + count - 1]
    above = took - np.repeat(least, count)  # small, so that sums are exact
    mean = np.add.reduceat(above, begins) / count
    squares = np.add.reduceat((above - np.repeat(mean, count)) ** 2, begins)
    found = {"min_ms": least, "mean_ms": least + mean, "max_ms": most, "sd_ms": np.sqrt(squares / count)}
    for share in SHARES:
        place = np.ceil(share * count - 1e-9).astype(np.int64) - 1
        found[f"p{share * 100:g}_ms"] = took[begins + np.maximum(place, 0)]
    return {name: value / MS for name, value in found.items()}


def rows_of(batches: Iterator[pa.RecordBatch], schema: str) -> pa.Table:
    """All batches that came here as one table."""
    wanted = arrow.schema_of(schema)
    return pa.Table.from_batches([batch.select(wanted.names) for batch in batches], schema=wanted)
