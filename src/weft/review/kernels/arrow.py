"""Arrow batches to numpy and back, for the functions that Spark hands batches to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.kernels.pieces import Array


def numbers(batch: pa.RecordBatch, name: str, missing: float = 0) -> Array:
    """A column of numbers; `missing` stands for null."""
    column = _column(batch, name)
    if column.null_count:
        column = column.fill_null(missing)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def present(batch: pa.RecordBatch, name: str) -> Array:
    return np.asarray(_column(batch, name).is_valid().to_numpy(zero_copy_only=False))


def lists(batch: pa.RecordBatch, name: str) -> tuple[Array, Array]:
    """A column of lists as all their values, one behind the other, and their lengths."""
    column = _column(batch, name)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    values = pc.list_flatten(column)
    return np.asarray(values.to_numpy(zero_copy_only=False)), np.asarray(lengths, np.int64)


def words(batch: pa.RecordBatch, name: str) -> tuple[Array, list[str]]:
    """A column of texts, of which there are few, as numbers and what they stand for; null is -1."""
    column = _column(batch, name).dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(codes), column.dictionary.to_pylist()


def fits(batch: pa.RecordBatch, name: str, test: Callable[[str], bool], missing: bool = False) -> Array:
    """Which texts of a column, of which there are few, are as wanted."""
    codes, texts = words(batch, name)
    wanted: Array = np.array([*map(test, texts), missing], np.bool_)
    return np.asarray(wanted[codes])


def is_one_of(batch: pa.RecordBatch, name: str, *wanted: str) -> Array:
    return fits(batch, name, frozenset(wanted).__contains__)


def filtered(table: pa.Table, rows: Array) -> pa.Table:
    return table if rows.all() else table.filter(pa.array(rows))


def taken(table: pa.Table, places: Array) -> pa.Table:
    return table if len(places) == len(table) else table.take(pa.array(places))


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = batch.column(name)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def made(columns: Mapping[str, Array | pa.Array | Sequence[object]], schema: pa.Schema) -> pa.RecordBatch:
    """A batch of these columns, in the order of the schema; what is not given is null."""
    length = max((len(column) for column in columns.values()), default=0)
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(length, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def fitted(batch: pa.RecordBatch, schema: pa.Schema, **more: Array) -> pa.RecordBatch:
    """The columns of a batch that the schema has, and `more`; what neither gives is null."""
    columns = {name: batch.column(name) for name in schema.names if name in batch.schema.names}
    return made({**columns, **more}, schema)


def made_of_rows(rows: Iterable[Mapping[str, object]], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)


def time_type(column: str) -> str:
    """Of the column `time_int` or `time_float`, in Spark's words."""
    return "bigint" if column == "time_int" else "double"


def schema_of(text: str) -> pa.Schema:
    """The Arrow schema of a schema in Spark's words ("name type, …")."""
    plain = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "array<bigint>": pa.list_(pa.int64()),
        "array<string>": pa.list_(pa.string()),
    }
    parts = (part.split() for part in text.split(", "))
    return pa.schema([(name, plain[kind]) for name, kind in parts])


def names_of(schema: str) -> tuple[str, ...]:
    return tuple(part.split()[0] for part in schema.split(", "))


def packed(table: pa.Table) -> bytes:
    """As bytes, which are sent to a task only once however many works share them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
