"""Which rows an audit looks at, and what of them: functions on Arrow tables as `weft.host.recording.runs` reads them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.audits.survey import RTI
from weft.review.kernels import arrow
from weft.review.kernels.arrow import filtered as filtered
from weft.review.kernels.pieces import Array

SEP = "\x1f"
BLOCK_BITS = 8


def of_kinds(table: pa.Table, *kinds: str) -> pa.Table:
    return filtered(table, arrow.is_one_of(table, "kind", *kinds))


def messages(table: pa.Table, *kinds: str) -> pa.Table:
    """Rows of these kinds, of messages of federates."""
    return filtered(table, arrow.is_one_of(table, "kind", *kinds) & by_federates(table))


def with_columns(table: pa.Table, **columns: Array | pa.Array) -> pa.Table:
    for name, column in columns.items():
        made = pa.array(column) if isinstance(column, np.ndarray) else column
        if name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, made)
        else:
            table = table.append_column(name, made)
    return table


def joined(column: pa.Array) -> pa.Array:
    """Lists of names or numbers as one text each, by which they are told apart."""
    return pc.binary_join(column.cast(pa.list_(pa.string())), SEP)


def owned(text: str | None) -> tuple[int, ...]:
    """The column `boxes` of a row, if it was joined."""
    return tuple(int(number) for number in text.split(SEP)) if text else ()


def by_federates(table: pa.Table) -> Array:
    return np.asarray(arrow.numbers(table, "source") != RTI)


# Causal

STAMPED = ("node", "kind", "seq", "federate", "source", "message", "order", "vector_of", "vector")
SEQUENCER = 0  # as a process


def stamped(orders: tuple[str, ...], table: pa.Table) -> pa.Table:
    """A message in causal order is released with its vector, and handed over then; callbacks call it receive order."""
    rows = arrow.is_one_of(table, "kind", "release", "deliver") & arrow.is_one_of(table, "order", *orders)
    found = filtered(table, rows & by_federates(table) & arrow.present(table, "vector"))
    # A message in total order is stamped by the sequencer, which is process 0.
    source = arrow.numbers(found, "source")
    process = np.where(arrow.is_one_of(found, "order", "CT"), SEQUENCER, source)
    return with_columns(found, process=process)


LOGGED = ("node", "kind", "seq", "federate", "source", "message", "order", "destinations", "epoch_ns")


def logged(orders: tuple[str, ...], table: pa.Table) -> pa.Table:
    """Sends and deliveries; `to` of a send is how many are to get it, -1 where nobody knows; `fan_out` is the same, but 0 if its
    order is not asked for."""
    is_send = arrow.is_one_of(table, "kind", "send")
    asked = arrow.is_one_of(table, "order", *orders)
    rows = (is_send | (arrow.is_one_of(table, "kind", "deliver") & asked)) & by_federates(table)
    found = filtered(table, rows)
    is_send, asked = is_send[rows], asked[rows]
    _, sizes = arrow.lists(found, "destinations")
    sizes = np.where(arrow.present(found, "destinations"), sizes, -1)
    source = arrow.numbers(found, "source")
    return with_columns(
        found.select(["node", "seq", "source", "message", "epoch_ns"]),
        is_send=is_send,
        federate=np.where(is_send, source, arrow.numbers(found, "federate")),
        fan_out=np.where(is_send & asked, sizes, 0),
        to=np.where(is_send, sizes, 0),
        at=arrow.numbers(found, "epoch_ns"),
        late=np.zeros(len(found), bool),
    )
