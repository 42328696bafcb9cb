"""The rows of some messages, as a frame.

Nearly all messages are as they should be, and are only summed up.  Of those that have to be looked at one by one this brings
the rows, and none of others: of blocks of messages of one source, so that it is enough to know which blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import Context
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array
from weft.review.spark.tasks import Frame, RunPart, read_part
from weft.review.steps import RECORDED, TIME, AuditStep, StepKind

KINDS = ("send", "arrive", "hold", "release", "deliver", "drop", "filter", "retract")
SCHEMA = (
    "kind string, node string, seq bigint, service string, source bigint, message bigint, federate bigint, "
    "destinations array<bigint>, class string, order string, epoch_ns bigint, command bigint, object bigint, transport string, "
    "items string, dimensions string, lower array<bigint>, upper array<bigint>, boxes string, time {time}"
)
"""Lists of names are one text, by which they are told apart."""
COLUMNS = arrow.names_of(SCHEMA)[:-1]


def blocks_of(*frames: Frame) -> set[tuple[int, int]]:
    """The blocks of the messages (source, message) of frames."""
    found: set[tuple[int, int]] = set()
    for frame in frames:
        told = frame.mapInArrow(_blocks, "source bigint, block bigint").toArrow()
        found |= set(zip(told["source"].to_pylist(), told["block"].to_pylist(), strict=True))
    return found


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = arrow.schema_of("source bigint, block bigint")
    found: set[tuple[int, int]] = set()
    for batch in batches:
        block = arrow.numbers(batch, "message") >> pick.BLOCK_BITS
        found |= set(zip(arrow.numbers(batch, "source").tolist(), block.tolist(), strict=True))
    yield arrow.made_of_rows([{"source": one, "block": block} for one, block in sorted(found)], schema)


def rows_in(context: Context, blocks: Iterable[tuple[int, int]]) -> Frame:
    """Rows of blocks (source, block), in a frame that is kept."""
    wanted = Blocks(blocks)
    column = context.opened.time_column
    each = ((part, wanted, column) for part in context.parts) if len(wanted) else ()
    return context.runner.each(ROWS_NEAR, each).persist()


class Blocks:
    """Blocks of messages, by source and number."""

    def __init__(self, blocks: Iterable[tuple[int, int]]) -> None:
        by_source: dict[int, set[int]] = {}
        for source, block in blocks:
            by_source.setdefault(int(source), set()).add(int(block))
        self._numbers = {source: np.array(sorted(found)) for source, found in by_source.items()}

    def __len__(self) -> int:
        return sum(len(numbers) for numbers in self._numbers.values())

    def holds(self, source: Array, message: Array) -> Array:
        """Which messages are in them."""
        found = np.zeros(len(source), bool)
        for one, numbers in self._numbers.items():
            rows = np.flatnonzero(source == one)
            found[rows] = np.isin(message[rows] >> pick.BLOCK_BITS, numbers)
        return found


def choose(part: RunPart, wanted: Blocks, time_column: str) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, (*COLUMNS, time_column), partial(_chosen, wanted)):
        if len(table):
            yield from as_rows(table, time_column).to_batches()


def _chosen(wanted: Blocks, table: pa.Table) -> pa.Table:
    rows = arrow.is_one_of(table, "kind", *KINDS) & arrow.present(table, "message")
    rows &= pick.by_federates(table)
    places = np.flatnonzero(rows)
    source, message = (arrow.numbers(table, name)[places] for name in ("source", "message"))
    rows[places] = wanted.holds(source, message)
    return pick.filtered(table, rows)


def as_rows(table: pa.Table, time_column: str) -> pa.Table:
    """With the columns of `SCHEMA`."""
    made: dict[str, pa.Array] = {}
    for name in COLUMNS:
        column = table[name]
        if name in ("items", "dimensions", "boxes"):
            column = pick.joined(column)
        elif pa.types.is_dictionary(column.type):
            column = column.cast(pa.string())
        made[name] = column
    return pa.table({**made, "time": table[time_column]})


ROWS_NEAR = AuditStep(
    "near", StepKind.MAP, "all rows of blocks of messages", (RECORDED,), choose, SCHEMA, (*COLUMNS, TIME),
    when="messages have to be looked at one by one",
)  # fmt: skip
