"""Batches of a book as Arrow tables.

An entry of a batch stands for all rows of its shape, so all this is done by numpy and Arrow for whole columns, mostly without
Python's lock: what rows of a shape have in common is made once for each shape and then taken for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from weft.host.recording_files import arrow_type
from weft.recorder import COLUMNS, Batch
from weft.recorder.book import FLOAT, PACKED, SIZED, TIMED, VALUES

_ENTRY = np.dtype(
    [
        ("shape", ">i4"),
        ("flags", ">i4"),
        ("now", ">f8"),
        ("message", ">i8"),
        ("object", ">i8"),
        ("cause_source", ">i8"),
        ("cause", ">i8"),
        ("time", ">i8"),
        ("size", ">i4"),
        ("tag", ">i4"),
        ("control", ">i4"),
        ("more", ">i4"),
    ]
)
_TYPES = {column.name: column.type for column in COLUMNS}


class _Rows:
    """Which entry and which pattern each row is of."""

    def __init__(self, batch: Batch) -> None:
        entries = np.frombuffer(batch.entries, _ENTRY)
        used, dense = np.unique(entries["shape"], return_inverse=True)
        groups = [batch.shapes[number] for number in used.tolist()]
        lengths = np.array([len(group) for group in groups], np.int64)
        repeats = lengths[dense]
        self.entries = entries
        self.patterns = [dict(pattern) for group in groups for pattern in group]
        self.count = int(repeats.sum())
        self.entry = np.repeat(np.arange(len(entries)), repeats)
        self.firsts = np.cumsum(repeats) - repeats  # the first row of each entry
        within = np.arange(self.count) - self.firsts[self.entry]
        self.is_first = within == 0
        self.pattern = (np.cumsum(lengths) - lengths)[dense][self.entry] + within

    def of(self, field: str) -> Any:
        """A field of the entries, for each row."""
        return self.entries[field].astype(self.entries[field].dtype.newbyteorder("="))[self.entry]


def to_table(batch: Batch, schema: Any, sequence: int, offset_ns: int) -> Any:
    """Only the columns that have something; `sequence`: of its first row; `offset_ns`: from the monotonic to the wall clock."""
    rows = _Rows(batch)
    columns = _own_columns(batch, rows, sequence, offset_ns)
    extra = _extra(batch, rows)
    fields, made = [], []
    for field in schema:
        name = field.name
        column = columns[name] if name in columns else _shaped(rows, name, extra.get(name))
        if column is not None:
            fields.append(field)
            made.append(column)
    return pa.table(made, schema=pa.schema(fields, metadata=schema.metadata))


def _masked(values: Any, missing: Any) -> Any:
    """None if all are missing."""
    if not missing.any():
        return pa.array(values)
    return None if missing.all() else pa.array(values, mask=missing)


def _own_columns(batch: Batch, rows: _Rows, sequence: int, offset_ns: int) -> dict[str, Any]:
    """Those that are in the entries themselves."""
    flags = rows.of("flags")
    some = int(np.bitwise_or.reduce(flags))
    mono = np.rint(rows.of("now") * 1e9).astype(np.int64)
    message = rows.of("message")
    thing = rows.of("object")
    made: dict[str, Any] = {
        "seq": pa.array(np.arange(sequence, sequence + rows.count, dtype=np.int64)),
        "epoch_ns": pa.array(mono + offset_ns),
        "mono_ns": pa.array(mono),
        "message": _masked(message, message == 0),
        "object": _masked(thing, thing < 0),
        "cause_source": None,
        "cause": None,
        "time_int": None,
        "time_float": None,
        "payload_bytes": None,
        "control_bytes": None,
        "values": None,
        "packed": None,
        "tag": None,
    }
    if rows.entries["cause"].any():
        cause = rows.of("cause")
        no_cause = ~rows.is_first | (cause == 0)
        made["cause_source"] = _masked(rows.of("cause_source"), no_cause)
        made["cause"] = _masked(cause, no_cause)
    if some & TIMED:
        time = rows.of("time")
        real = (flags & FLOAT) > 0
        made["time_int"] = _masked(time, ((flags & TIMED) == 0) | real)
        made["time_float"] = _masked(time.view(np.float64), ~real)
    if some & SIZED:
        unsized = (flags & SIZED) == 0
        size = rows.of("size")
        made["payload_bytes"] = _masked(size.astype(np.int64), unsized)
        made["control_bytes"] = _masked(rows.of("control").astype(np.int64), unsized | ~rows.is_first)
        if some & VALUES:
            made["values"] = _values(batch, rows, flags)
        if some & PACKED:
            made["packed"] = _pieces(batch.packed, size, rows.is_first & ((flags & PACKED) > 0))
        if batch.tags:
            made["tag"] = _pieces(batch.tags, rows.of("tag"), rows.is_first & (rows.of("tag") > 0))
    return made


def _offsets(sizes: Any) -> Any:
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _validity(is_valid: Any) -> Any:
    return pa.py_buffer(np.packbits(is_valid, bitorder="little").tobytes())


def _pieces(data: bytes, sizes: Any, is_valid: Any) -> Any:
    """A column of bytes that lie behind one another."""
    offsets = _offsets(np.where(is_valid, sizes, 0))
    buffers = [_validity(is_valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(is_valid), buffers)


def _values(batch: Batch, rows: _Rows, flags: Any) -> Any:
    is_valid = rows.is_first & ((flags & VALUES) > 0)
    items = np.array([len(pattern.get("items", ())) for pattern in rows.patterns], np.int64)
    counts = np.where(is_valid, items[rows.pattern], 0)
    sizes = np.frombuffer(batch.sizes, ">i4")
    inner = pa.Array.from_buffers(
        pa.binary(), len(sizes), [None, pa.py_buffer(_offsets(sizes)), pa.py_buffer(batch.values)]
    )
    buffers = [_validity(is_valid), pa.py_buffer(_offsets(counts))]
    return pa.Array.from_buffers(arrow_type("[bytes]"), len(is_valid), buffers, children=[inner])


def _extra(batch: Batch, rows: _Rows) -> dict[str, tuple[list[int], list[Any]]]:
    """By column: the rows that have something of their own there, and what."""
    found: dict[str, tuple[list[int], list[Any]]] = {}
    if batch.more:
        which = rows.entries["more"]
        for entry in np.flatnonzero(which).tolist():
            row = int(rows.firsts[entry])
            for name, value in batch.more[which[entry] - 1].items():
                at, values = found.setdefault(name, ([], []))
                at.append(row)
                values.append(value)
    return found


def _shaped(rows: _Rows, name: str, extra: tuple[list[int], list[Any]] | None) -> Any:
    """A column whose values the shapes have, and here and there a row of its own; None if nobody has any."""
    kind = _TYPES[name]
    values: list[Any] = [pattern.get(name) for pattern in rows.patterns]
    if extra is None and all(value is None for value in values):
        return None
    index = rows.pattern
    if extra is not None:
        index = index.copy()
        index[extra[0]] = np.arange(len(values), len(values) + len(extra[1]))
        values += extra[1]
    if kind != "word":
        return pa.array(values, arrow_type(kind)).take(pa.array(index))
    words: dict[Any, int] = {}
    codes = np.array(
        [-1 if value is None else words.setdefault(value, len(words)) for value in values], np.int32
    )[index]
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(list(words), pa.string()))
