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
        ("shape", "<i4"),
        ("flags", "<i4"),
        ("now", "<f8"),
        ("message", "<i8"),
        ("object", "<i8"),
        ("size", "<i4"),
        ("tag", "<i4"),
    ]
)
_ADDITION = np.dtype(
    [
        ("entry", "<i4"),
        ("flags", "<i4"),
        ("cause_source", "<i8"),
        ("cause", "<i8"),
        ("time", "<i8"),
        ("control", "<i4"),
        ("more", "<i4"),
    ]
)
_TYPES = {column.name: column.type for column in COLUMNS}


class _Rows:
    """Which entry and which pattern each row is of."""

    def __init__(self, batch: Batch) -> None:
        entries = np.frombuffer(batch.entries, _ENTRY)
        shape = entries["shape"]
        used = np.flatnonzero(np.bincount(shape))
        groups = [batch.shapes[number] for number in used.tolist()]
        lengths = np.array([len(group) for group in groups], np.int64)
        begins = np.cumsum(lengths) - lengths  # the first pattern of each shape
        self.entries = entries
        self.patterns = [dict(pattern) for group in groups for pattern in group]
        self.entry: Any = None  # of each row; None: each entry is one row
        if len(used) == 1:
            repeats = int(lengths[0])
            self.count = len(entries) * repeats
            self.firsts = np.arange(0, self.count, repeats)  # the first row of each entry
            self.pattern = np.tile(np.arange(repeats), len(entries))
            self.is_first = self.pattern == 0
            if repeats > 1:
                self.entry = np.repeat(np.arange(len(entries)), repeats)
            return
        place = np.zeros(int(used[-1]) + 1, np.int64)
        place[used] = np.arange(len(used))
        dense = place[shape]
        counts = lengths[dense]
        self.count = int(counts.sum())
        self.firsts = np.cumsum(counts) - counts
        if self.count > len(entries):
            self.entry = np.repeat(np.arange(len(entries)), counts)
        within = np.arange(self.count) - self.each(self.firsts)
        self.is_first = within == 0
        self.pattern = self.each(begins[dense]) + within

    def each(self, of_entries: Any) -> Any:
        """What there is for each entry, for each row."""
        return of_entries if self.entry is None else of_entries.take(self.entry)

    def of(self, field: str) -> Any:
        """A field of the entries, for each row."""
        return self.each(np.ascontiguousarray(self.entries[field]))


def to_table(batch: Batch, schema: Any, sequence: int, offset_ns: int) -> Any:
    """Only the columns that have something; `sequence`: of its first row; `offset_ns`: from the monotonic to the wall clock."""
    rows = _Rows(batch)
    columns = _own_columns(batch, rows, sequence, offset_ns)
    additions = np.frombuffer(batch.additions, _ADDITION)
    columns.update(_added_columns(additions, rows))
    extra = _extra(batch, additions, rows)
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
        "payload_bytes": None,
        "values": None,
        "packed": None,
        "tag": None,
    }
    if some & SIZED:
        size = rows.of("size")
        made["payload_bytes"] = _masked(size.astype(np.int64), (flags & SIZED) == 0)
        if some & VALUES:
            made["values"] = _values(batch, rows, flags)
        if some & PACKED:
            made["packed"] = _pieces(batch.packed, size, rows.is_first & ((flags & PACKED) > 0))
        if batch.tags:
            tag = rows.of("tag")
            made["tag"] = _pieces(batch.tags, tag, rows.is_first & (tag > 0))
    return made


def _added_columns(additions: Any, rows: _Rows) -> dict[str, Any]:
    """What was added to some entries: a time is that of all their rows, the rest that of the first."""
    made: dict[str, Any] = dict.fromkeys(("cause_source", "cause", "time_int", "time_float", "control_bytes"))
    caused = additions[additions["cause"] != 0]
    if len(caused):
        at = rows.firsts[caused["entry"]]
        made["cause_source"] = _scattered(rows.count, at, caused["cause_source"])
        made["cause"] = _scattered(rows.count, at, caused["cause"])
    costly = additions[additions["control"] != 0]
    if len(costly):
        made["control_bytes"] = _scattered(
            rows.count, rows.firsts[costly["entry"]], costly["control"].astype(np.int64)
        )
    timed = additions[(additions["flags"] & TIMED) > 0]
    if len(timed):
        whole = np.zeros(len(rows.entries), np.int64)
        form = np.zeros(len(rows.entries), np.int32)
        whole[timed["entry"]] = timed["time"]
        form[timed["entry"]] = timed["flags"]
        time, flags = rows.each(whole), rows.each(form)
        made["time_int"] = _masked(time, flags != TIMED)
        made["time_float"] = _masked(time.view(np.float64), (flags & FLOAT) == 0)
    return made


def _scattered(count: int, at: Any, values: Any) -> Any:
    """A column with these values in these rows, and nothing in the others."""
    found = np.zeros(count, np.int64)
    missing = np.ones(count, np.bool_)
    found[at] = values
    missing[at] = False
    return pa.array(found, mask=missing)


def _offsets(sizes: Any) -> Any:
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes.astype(np.int32, copy=False), dtype=np.int32, out=offsets[1:])
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
    sizes = np.frombuffer(batch.sizes, "<i4")
    inner = pa.Array.from_buffers(
        pa.binary(), len(sizes), [None, pa.py_buffer(_offsets(sizes)), pa.py_buffer(batch.values)]
    )
    buffers = [_validity(is_valid), pa.py_buffer(_offsets(counts))]
    return pa.Array.from_buffers(arrow_type("[bytes]"), len(is_valid), buffers, children=[inner])


def _extra(batch: Batch, additions: Any, rows: _Rows) -> dict[str, tuple[list[int], list[Any]]]:
    """By column: the rows that have something of their own there, and what."""
    found: dict[str, tuple[list[int], list[Any]]] = {}
    if batch.more:
        told = additions[additions["more"] > 0]
        firsts = rows.firsts[told["entry"]].tolist()
        for row, which in zip(firsts, told["more"].tolist(), strict=True):
            for name, value in batch.more[which - 1].items():
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
