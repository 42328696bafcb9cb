"""The rows of some messages, as a frame.

Nearly all messages are as they should be, and are only summed up.  Of those that have to be looked at one by one this brings
the rows, and none of others: of blocks of messages of one source, so that it is enough to know which blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.audits import pick
from weft.review.audits.context import Context
from weft.review.kernels.pieces import Array
from weft.review.tasks import Part, read_part, spread

KINDS = ("send", "deliver", "drop", "filter", "retract")
COLUMNS = (
    *("kind", "node", "source", "message", "federate", "destinations", "class", "order", "epoch_ns"),
    *("dimensions", "transport", "items"),
)
SCHEMA = (
    "kind string, node string, source bigint, message bigint, federate bigint, destinations array<bigint>, "
    "class string, order string, epoch_ns bigint, placed boolean, transport string, items_key bigint, time {time}"
)


def near(context: Context, messages: Any) -> Any:
    """Rows around the messages (source, message) of a frame."""
    from pyspark.sql import functions as f

    block = f.shiftright("message", pick.BLOCK_BITS).alias("block")
    found = messages.select("source", block).where("source IS NOT NULL AND block IS NOT NULL").distinct()
    return rows_in(context, [(row.source, row.block) for row in found.collect()])


def rows_in(context: Context, blocks: Iterable[tuple[int, int]]) -> Any:
    """Rows of blocks (source, block), in a frame that is kept."""
    wanted = Blocks(blocks)
    column = context.opened.time_column
    works = [partial(choose, part, wanted, column) for part in context.parts] if len(wanted) else []
    schema = SCHEMA.format(time=time_type(context))
    return spread(context.session, works, schema).persist()


def time_type(context: Context) -> str:
    return "bigint" if context.opened.time_column == "time_int" else "double"


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


def choose(part: Part, wanted: Blocks, time_column: str) -> Iterator[Any]:
    for table in read_part(part, (*COLUMNS, time_column), partial(_chosen, wanted)):
        if len(table):
            yield from _told(table, time_column).to_batches()


def _chosen(wanted: Blocks, table: Any) -> Any:
    rows = arrow.is_one_of(table, "kind", *KINDS) & arrow.present(table, "message")
    rows &= pick.by_federates(table)
    places = np.flatnonzero(rows)
    source, message = (arrow.numbers(table, name)[places] for name in ("source", "message"))
    rows[places] = wanted.holds(source, message)
    return pick.filtered(table, rows)


def _told(table: Any, time_column: str) -> Any:
    import pyarrow as pa

    words = {name: table[name].cast(pa.string()) for name in ("kind", "node", "class", "order", "transport")}
    numbers = {name: table[name] for name in ("source", "message", "federate", "destinations", "epoch_ns")}
    made = {
        **words,
        **numbers,
        "placed": arrow.present(table, "dimensions"),
        "items_key": _items_key(table),
        "time": table[time_column],
    }
    names = [part.split()[0] for part in SCHEMA.split(", ")]
    return pa.table([made[name] for name in names], names=names)


def _items_key(table: Any) -> Array:
    """A number for the attributes and the transportation of a delivery, the same in all tasks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    items = pc.binary_join(table["items"].cast(pa.list_(pa.string())), pick.SEP)
    both = pc.binary_join_element_wise(
        pc.fill_null(items, ""), pc.fill_null(table["transport"].cast(pa.string()), ""), pick.SEP
    )
    codes, texts = arrow.words(pa.table({"both": both}), "both")
    hashes = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.array([int.from_bytes(one, "little", signed=True) for one in hashes], np.int64)[codes]
