"""What Spark's tasks do for a match: sample boxes, deal them out to works, sweep one work and write its pairs.

Boxes go from one step to the next packed as Arrow streams, many in one value: Spark turns few rows around, and no boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa

from weft.host.box_files import BoxBatch, BoxPart, BoxSource
from weft.host.storage import Place
from weft.host.storage.whole_folder import part_name
from weft.interest.matching.sweep import Boxes, Pairs, match_in_pieces
from weft.review.kernels import arrow
from weft.review.matching.tiling import (
    Bools,
    Ints,
    Tile,
    Tiling,
    belongs,
    by_work,
    sampled,
    starts_inside,
    tile_of,
)

SAMPLED = "side int, boxes bigint, full bigint, packed binary"
DEALT = "work int, side int, packed binary"
WRITTEN = "work int, file string, pairs bigint"
BOXES_AT_ONCE = 1 << 20  # that are gathered before they are dealt out
PAIRS_AT_ONCE = 1 << 20  # of a row group


# 1. A sample of all boxes


def sample_part(
    side: int, source: BoxSource, closed: bool, share: float, part: BoxPart
) -> Iterator[pa.RecordBatch]:
    """One of 1 / share boxes of a part, at random, but the same every time."""
    draw = np.random.default_rng((part.first, side))
    boxes = full = 0
    gathered: list[pa.Table] = []
    for batch in source.batches(part):
        found = sampled(batch.boxes, closed)
        boxes, full = boxes + len(batch.boxes), full + found.lowers.shape[1]
        taken: Bools = np.less(draw.random(found.lowers.shape[1]), share)
        chosen = found.take(taken)
        gathered.append(_bounds(chosen.lowers, chosen.lasts))
    row = {"side": side, "boxes": boxes, "full": full, "packed": arrow.packed(pa.concat_tables(gathered))}
    yield arrow.made_of_rows([row], arrow.schema_of(SAMPLED))


def _bounds(*bounds: Ints) -> pa.Table:
    """One column for each dimension and kind of bound."""
    columns = [pa.array(column) for kind in bounds for column in kind]
    return pa.table(columns, names=[str(at) for at in range(len(columns))])


def unpacked_bounds(tables: Sequence[pa.Table], dimensions: int) -> tuple[Ints, Ints]:
    columns = [
        np.concatenate([np.empty(0, np.int64), *(table[str(at)].to_numpy() for table in tables)])
        for at in range(2 * dimensions)
    ]
    return np.stack(columns[:dimensions]), np.stack(columns[dimensions:])


# 2. To each work its boxes


def deal_part(
    side: int, source: BoxSource, closed: bool, tiling: Tiling, part: BoxPart
) -> Iterator[pa.RecordBatch]:
    waiting: list[BoxBatch] = []
    first = part.first
    for batch in source.batches(part):
        waiting.append(batch)
        count = sum(len(one.boxes) for one in waiting)
        if count >= BOXES_AT_ONCE:
            yield _dealt(side, waiting, closed, tiling, first)
            waiting, first = [], first + count
    yield _dealt(side, waiting, closed, tiling, first)


def _dealt(
    side: int, batches: Sequence[BoxBatch], closed: bool, tiling: Tiling, first: int
) -> pa.RecordBatch:
    schema = arrow.schema_of(DEALT)
    if not batches:
        return arrow.made_of_rows([], schema)
    lowers, uppers = (
        np.concatenate([getattr(one.boxes, bound) for one in batches], axis=1)
        for bound in ("lowers", "uppers")
    )
    numbers = np.arange(first, first + lowers.shape[1])
    boxes = sampled(Boxes(lowers, uppers), closed)
    full = np.flatnonzero((lowers <= (uppers if closed else uppers - 1)).all(axis=0))
    table = _bounds(boxes.lowers, uppers[:, full])
    ids = pa.concat_arrays([one.ids for one in batches])
    table = table.append_column("id", ids if len(full) == len(ids) else ids.take(pa.array(full)))
    rows = [
        {"work": work, "side": side, "packed": arrow.packed(table.take(pa.array(places)))}
        for work, places in by_work(tiling, boxes, numbers[full], side)
    ]
    return arrow.made_of_rows(rows, schema)


# 3. One work


class Sweep(NamedTuple):
    """What all works have in common."""

    tiles: list[Tile]
    dimensions: int
    closed: bool
    draft: Place | None
    """Where pairs go; None: they are only counted."""
    id_types: tuple[pa.DataType, pa.DataType]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(zip(("update", "subscription"), self.id_types, strict=True))


def sweep_work(sweep: Sweep, given: pa.Table) -> pa.Table:
    """Of rows of `DEALT`, all of one work."""
    work = given["work"][0].as_py()
    sides = given["side"].to_pylist()
    packed = given["packed"]
    tables = [
        [arrow.unpacked(packed[row].as_buffer()) for row, side in enumerate(sides) if side == wanted]
        for wanted in (0, 1)
    ]
    written = {"work": work, "file": None, "pairs": 0}
    if all(tables):
        written |= _swept(sweep, work, tables)
    return pa.Table.from_batches([arrow.made_of_rows([written], arrow.schema_of(WRITTEN))])


def _swept(sweep: Sweep, work: int, tables: Sequence[Sequence[pa.Table]]) -> dict[str, object]:
    tile = tile_of(sweep.tiles, work)
    sides = [Boxes(*unpacked_bounds(those, sweep.dimensions)) for those in tables]
    bits = [starts_inside(tile, boxes.lowers) for boxes in sides]
    found = own_pairs(tile, sides, bits, sweep.closed)
    if sweep.draft is None:
        return {"pairs": sum(len(pairs.updates) for pairs in found)}
    first = next(found, None)
    if first is None:
        return {}
    ids = [pa.concat_arrays([chunk for one in those for chunk in one["id"].chunks]) for those in tables]
    writer = _PairWriter(sweep.schema, ids, first, found)
    name = part_name(work)
    (sweep.draft / name).write_by(writer.write)
    return {"file": name, "pairs": writer.pairs}


def own_pairs(tile: Tile, sides: Sequence[Boxes], bits: Sequence[Ints], closed: bool) -> Iterator[Pairs]:
    """Those whose reference tile it is; only pieces in which there are any."""
    for pairs in match_in_pieces(sides[0], sides[1], closed):
        mine = pairs
        if tile.begins:
            own = belongs(tile, bits[0].take(pairs.updates), bits[1].take(pairs.subscriptions))
            if not own.all():
                mine = Pairs(pairs.updates[own], pairs.subscriptions[own])
        if len(mine.updates):
            yield mine


class _PairWriter:
    """Writes pairs as they come: there may be more of them than there is memory."""

    def __init__(
        self, schema: pa.Schema, ids: Sequence[pa.Array], first: Pairs, found: Iterator[Pairs]
    ) -> None:
        self.schema, self.ids, self.first, self.found = schema, ids, first, found
        self.pairs = 0

    def write(self, file: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        words = [field.name for field in self.schema if not pa.types.is_integer(field.type)]
        with pq.ParquetWriter(
            file, self.schema, compression="zstd", compression_level=1, use_dictionary=words
        ) as writer:
            for table in self._tables():
                writer.write_table(table)

    def _tables(self) -> Iterator[pa.Table]:
        waiting: list[Pairs] = [self.first]
        rows = len(self.first.updates)
        for pairs in self.found:
            waiting.append(pairs)
            rows += len(pairs.updates)
            if rows >= PAIRS_AT_ONCE:
                yield self._table(waiting)
                waiting, rows = [], 0
        if waiting:
            yield self._table(waiting)

    def _table(self, pairs: Sequence[Pairs]) -> pa.Table:
        columns = [
            ids.take(pa.array(np.concatenate(side)))
            for ids, side in zip(self.ids, zip(*pairs, strict=True), strict=True)
        ]
        self.pairs += len(columns[0])
        return pa.Table.from_arrays(columns, schema=self.schema)
