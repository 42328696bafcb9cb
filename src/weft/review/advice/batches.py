"""Rows in and out of the grid's kernels, a batch at a time: what Spark calls `mapInArrow` with.

Workers get the object model as the texts it was made of, and make it once each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.fom import merge, parse_module
from weft.interest.ddm_settings import DdmSettings
from weft.interest.spaces import Spaces
from weft.model.records import Source
from weft.review.advice.cells import Cells, Ints, layout_of, ranges_of
from weft.review.advice.grid import (
    FIELDS,
    Bools,
    Divided,
    Listening,
    MessageGroups,
    TrafficCounts,
    count_under,
)
from weft.review.kernels import arrow

SEND_COLUMNS = ("node", "epoch_ns", "source", "class", "items", "order", "transport", "destinations",
                "dimensions", "lower", "upper", "boxes")  # fmt: skip
GROUPED = "node string, source bigint, reliable boolean, layout string, ranges binary, destinations array<bigint>, epoch bigint"
PACKED = "layout string, messages bigint, groups binary"
"""Groups of one layout, as Arrow packs them: Spark keeps them so, and looks at no row of theirs."""
COUNTED = "setting int, field string, federate bigint, number bigint"
ROWS_AT_ONCE = 1 << 16  # groups that are counted together
OUTSIDE = "-"
"""The layout of what goes to those who get it and nobody else, under any strategy."""

_BETWEEN = "\x1f"
_WITHIN = "\x1e"

Model = tuple[Source, ...]
More = tuple[tuple[tuple[int, int], tuple[int, ...]], ...]
"""Numbers of partitions besides the usual ones, by space and dimension: what `Cells` takes, as something to be hashed."""


@lru_cache(maxsize=4)
def model_spaces(model: Model) -> Spaces:
    return Spaces(merge([parse_module(source) for source in model]))


@lru_cache(maxsize=4)
def model_cells(model: Model, more: More = ()) -> Cells:
    return Cells(model_spaces(model), dict(more))


# --- from sends to what they are grouped by -------------------------------------------------------------------------


def described(
    model: Model, more: More, listening: Listening, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Of sends with `SEND_COLUMNS` all that their groups differ in."""
    spaces, cells = model_spaces(model), model_cells(model, more)
    for batch in batches:
        if batch.num_rows:
            yield describe_batch(batch, spaces, cells, listening)


def grouped(described: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is alike once, with its number; by layout, packed."""
    gathered = [_alike(_with_bytes(pa.Table.from_batches([batch])), "count_all") for batch in described]
    if not gathered:
        return
    every = _alike(pa.concat_tables(gathered), "sum")
    for layout in every["layout"].unique().to_pylist():
        mine = every.filter(pc.equal(every["layout"], layout))
        row = {"layout": layout, "messages": pc.sum(mine["count"]).as_py(), "groups": arrow.packed(mine)}
        yield arrow.made_of_rows([row], arrow.schema_of(PACKED))


def _alike(table: pa.Table, how: str) -> pa.Table:
    keys = list(arrow.names_of(GROUPED))
    what: str | list[str] = "count" if how == "sum" else []
    made = table.group_by(keys, use_threads=False).aggregate([(what, how)])
    return made.rename_columns([name if name in keys else "count" for name in made.column_names])


def _with_bytes(table: pa.Table) -> pa.Table:
    """Lists of numbers as their bytes, since nothing can be grouped by lists."""
    lists = table["destinations"].combine_chunks()
    offsets = np.asarray(lists.offsets).astype(np.int64) * 8
    values = np.ascontiguousarray(lists.values.to_numpy())
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
    made = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(lists), buffers)
    return table.set_column(table.column_names.index("destinations"), "destinations", made)


def unpacked(packed: bytes) -> Iterator[pa.RecordBatch]:
    """Groups, with lists as they were."""
    table = arrow.unpacked(packed)
    at = table.column_names.index("destinations")
    for batch in table.to_batches(ROWS_AT_ONCE):
        given = batch.column(at)
        offsets = np.frombuffer(given.buffers()[1], np.int64)[given.offset : given.offset + len(given) + 1]
        values = np.frombuffer(given.buffers()[2] or b"", np.int64)
        lists = pa.ListArray.from_arrays(pa.array((offsets // 8).astype(np.int32)), pa.array(values))
        yield batch.set_column(at, "destinations", lists)


def describe_batch(
    batch: pa.RecordBatch, spaces: Spaces, cells: Cells, listening: Listening
) -> pa.RecordBatch:
    keys = _joined(batch).dictionary_encode()
    codes = keys.indices.to_numpy(zero_copy_only=False)
    stamped = arrow.is_one_of(batch, "order", "TSO")
    texts = [OUTSIDE]
    which = np.zeros(batch.num_rows, np.int64)  # of the texts
    order, packed = [], []
    for code, key in enumerate(keys.dictionary.to_pylist()):
        rows = np.flatnonzero(codes == code)
        name, items, dimensions, boxes = key.split(_BETWEEN)
        owned = [int(mask) for mask in _words(boxes)]
        layout = layout_of(cells, spaces, name, _words(items), _words(dimensions), owned)
        places = len(_words(dimensions))
        lower, upper = (_matrix(batch, column, rows, places) for column in ("lower", "upper"))
        order.append(rows)
        packed.append(_packed(ranges_of(cells, layout, lower, upper)))
        texts.append(layout.text)
        which[rows] = len(texts) - 1
        if layout.boxes:
            which[rows[stamped[rows]]] = 0  # as of its time, to those who want it then
    places_of = np.argsort(np.concatenate(order), kind="stable")
    columns = [
        _plain(batch, "node"),
        batch.column("source"),
        pa.array(arrow.fits(batch, "transport", "reliable".__eq__, True)),
        pa.array(texts, pa.string()).take(pa.array(which)),
        pa.concat_arrays(packed).take(pa.array(places_of)),
        batch.column("destinations").cast(pa.list_(pa.int64())),
        pa.array(listening.epochs(arrow.numbers(batch, "epoch_ns")), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow.schema_of(GROUPED))


def _plain(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Texts may come as a dictionary or not."""
    return batch.column(name).cast(pa.string())


def _joined(batch: pa.RecordBatch) -> pa.Array:
    """Class, items, dimensions and boxes as one text for each row: there are few different ones."""
    parts = [_plain(batch, "class")]
    for name in ("items", "dimensions", "boxes"):
        column = batch.column(name).cast(pa.list_(pa.string()))
        parts.append(pc.fill_null(pc.binary_join(column, _WITHIN), ""))
    return pc.binary_join_element_wise(*parts, _BETWEEN)


def _words(text: str) -> list[str]:
    return text.split(_WITHIN) if text else []


def _matrix(batch: pa.RecordBatch, name: str, rows: Ints, width: int) -> Ints:
    if not width:
        return np.zeros((len(rows), 0), np.int64)
    taken = batch.column(name).take(pa.array(rows))
    return np.asarray(pc.list_flatten(taken), np.int64).reshape(len(rows), width)


def _packed(ranges: Ints) -> pa.Array:
    """Each row of numbers as the bytes of one value."""
    count, width = len(ranges), 2 * ranges.shape[1]
    if not width:
        return pa.array([b""], pa.binary()).take(pa.array(np.zeros(count, np.int64)))
    whole = pa.py_buffer(np.ascontiguousarray(ranges.astype("<u2")))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [None, whole]).cast(pa.binary())


def _unpacked(values: pa.Array, count: int) -> Ints:
    """The other way; all have the same length."""
    taken = pa.concat_arrays([values.cast(pa.binary())])
    first, last = taken.offset, taken.offset + len(taken)
    data = taken.buffers()[2]
    offsets = np.frombuffer(taken.buffers()[1], np.int32)
    if data is None or offsets[first] == offsets[last]:
        return np.zeros((count, 0), np.int64)
    numbers = np.frombuffer(data, np.uint8)[offsets[first] : offsets[last]].view("<u2")
    return numbers.astype(np.int64).reshape(count, -1)


# --- from groups to counts --------------------------------------------------------------------------------------------


def counted(
    model: Model, more: More, listening: Listening, settings: Sequence[DdmSettings], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Of groups, with a column `count` beside those of `GROUPED`, what they cost under each setting."""
    spaces, cells = model_spaces(model), model_cells(model, more)
    divided = [Divided(one, spaces) for one in settings]
    totals = [TrafficCounts() for _ in settings]
    for batch in batches:
        for groups in read_groups(batch, listening):
            found = count_under(groups, listening, divided, cells)
            for total, one in zip(totals, found, strict=True):
                total.add(one)
    yield write_counts(totals)


def read_groups(batch: pa.RecordBatch, listening: Listening) -> Iterator[MessageGroups]:
    """Layout by layout; not what goes by no channel."""
    codes, layouts = arrow.words(batch, "layout")
    nodes, names = arrow.words(batch, "node")
    wanted = _wanted(batch, listening)
    numbers = {name: arrow.numbers(batch, name) for name in ("count", "source", "epoch", "reliable")}
    for code, layout in enumerate(layouts):
        if layout == OUTSIDE:
            continue
        rows = np.flatnonzero(codes == code)
        ranges = batch.column("ranges").take(pa.array(rows))
        yield MessageGroups(
            layout,
            numbers["count"][rows].astype(np.int64),
            numbers["source"][rows].astype(np.int64),
            nodes[rows],
            names,
            numbers["reliable"][rows].astype(np.bool_),
            numbers["epoch"][rows].astype(np.int64),
            wanted[:, rows],
            _unpacked(ranges, len(rows)),
        )


def _wanted(batch: pa.RecordBatch, listening: Listening) -> Bools:
    made = np.zeros((len(listening.listeners), batch.num_rows), np.bool_)
    who, lengths = arrow.lists(batch, "destinations")
    rows = np.repeat(np.arange(batch.num_rows), lengths)
    for at, listener in enumerate(listening.listeners):
        made[at, rows[who == listener.federate]] = True
    return made


def write_counts(totals: Sequence[TrafficCounts]) -> pa.RecordBatch:
    rows = [
        {"setting": setting, "field": name, "federate": federate, "number": number}
        for setting, total in enumerate(totals)
        for name in FIELDS
        for federate, number in getattr(total, name).items()
    ]
    return arrow.made_of_rows(rows, arrow.schema_of(COUNTED))


class CountRow(TypedDict):
    """Columns of `COUNTED`."""

    setting: int
    field: str
    federate: int
    number: int


def read_counts(rows: Iterable[CountRow], settings: int) -> list[TrafficCounts]:
    totals = [TrafficCounts() for _ in range(settings)]
    for row in rows:
        numbers = getattr(totals[row["setting"]], row["field"])
        numbers[row["federate"]] = numbers.get(row["federate"], 0) + row["number"]
    return totals
