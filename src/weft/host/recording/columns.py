"""Batches of a book as columns.

An entry of a batch stands for all rows of its shape, so all this is done by numpy for whole columns, mostly without Python's
lock: what rows of a shape have in common is there once for each shape, and each row has a place among them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from weft.host.recording.files import arrow_schema
from weft.host.recording.parquet import (
    Cell,
    Coded,
    Counting,
    Data,
    Numbers,
    PieceLists,
    Pieces,
    RowGroup,
    Shifted,
)
from weft.model.recording import rows_in, spread
from weft.recorder import COLUMNS, BookBatch
from weft.recorder.book import FLOAT, PACKED, SIZED, TIMED, VALUES

if TYPE_CHECKING:
    pass

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
ARROW_SCHEMA = {b"ARROW:schema": base64.b64encode(arrow_schema().serialize())}
"""What a file is to say so that Arrow knows words as dictionaries when it reads it."""


_Item = TypeVar("_Item", bound=np.generic)
_Extra = tuple[list[int], list[Cell]]
"""Rows, and what each of them has."""


class _Rows:
    """Which entry and which pattern each row is of."""

    def __init__(self, batch: BookBatch) -> None:
        entries = np.frombuffer(batch.entries, _ENTRY)
        shape = entries["shape"]
        used = np.flatnonzero(np.bincount(shape))
        groups = [batch.shapes[number] for number in used.tolist()]
        lengths = np.array([rows_in(group) for group in groups], np.int64)
        begins = np.cumsum(lengths) - lengths  # the first pattern of each shape
        self.entries = entries
        self.patterns = [row for group in groups for row in spread(group)]
        self._rows_of: int | NDArray[np.int64] | None = None  # how many rows each entry is; None: one
        if len(used) == 1:
            self._rows_of = repeats = int(lengths[0])
            self.count = len(entries) * repeats
            self.firsts = np.arange(0, self.count, repeats)  # the first row of each entry
            self.pattern = np.tile(np.arange(repeats), len(entries))
            self.is_first = self.pattern == 0
            return
        place = np.zeros(int(used[-1]) + 1, np.int64)
        place[used] = np.arange(len(used))
        dense = place[shape]
        counts = lengths[dense]
        self.count = int(counts.sum())
        self.firsts = np.cumsum(counts) - counts
        if self.count > len(entries):
            self._rows_of = counts
        within = np.arange(self.count) - self.each(self.firsts)
        self.is_first = within == 0
        self.pattern = self.each(begins[dense]) + within

    def each(self, of_entries: NDArray[_Item]) -> NDArray[_Item]:
        """What there is for each entry, for each row."""
        return of_entries if self._rows_of is None else np.repeat(of_entries, self._rows_of)

    def of(self, field: str) -> NDArray[np.int64]:
        """A field of the entries, for each row."""
        return self.each(np.ascontiguousarray(self.entries[field]))


def to_group(batch: BookBatch, sequence: int, offset_ns: int) -> RowGroup:
    """Only the columns that have something; `sequence`: of its first row; `offset_ns`: from the monotonic to the wall clock."""
    rows = _Rows(batch)
    columns = _own_columns(batch, rows, sequence, offset_ns)
    additions = np.frombuffer(batch.additions, _ADDITION)
    if len(additions):
        columns.update(_added_columns(additions, rows))
    extra = _extra(batch, additions, rows)
    for column in COLUMNS:
        if column.name not in columns:
            columns[column.name] = _shaped(rows, column.name, extra.get(column.name))
    return RowGroup(rows.count, {name: data for name, data in columns.items() if data is not None})


def span_of(groups: Sequence[RowGroup]) -> tuple[int, int]:
    """The earliest and the latest wall clock of these rows."""
    clocks = [data for group in groups if isinstance(data := group.columns["epoch_ns"], Shifted)]
    return (
        min(int(clock.numbers.values.min()) + clock.by for clock in clocks),
        max(int(clock.numbers.values.max()) + clock.by for clock in clocks),
    )


def _numbers(values: NDArray[np.int64] | NDArray[np.float64], is_valid: NDArray[np.bool_]) -> Data | None:
    """None if there are none."""
    return Numbers(values, is_valid) if is_valid.any() else None


def _own_columns(batch: BookBatch, rows: _Rows, sequence: int, offset_ns: int) -> dict[str, Data | None]:
    """Those that are in the entries themselves."""
    flags = rows.entries["flags"]
    some = int(np.bitwise_or.reduce(flags))
    mono = Numbers(rows.each(np.rint(rows.entries["now"] * 1e9).astype(np.int64)))
    message = rows.of("message")
    thing = rows.of("object")
    made: dict[str, Data | None] = {
        "seq": Counting(sequence),
        "epoch_ns": Shifted(mono, offset_ns),
        "mono_ns": mono,
        "command": _commands(batch, rows),
        "message": _numbers(message, message != 0),
        "object": _numbers(thing, thing >= 0),
        "payload_bytes": None,
        "values": None,
        "packed": None,
        "tag": None,
    }
    if some & SIZED:
        size = rows.of("size")
        made["payload_bytes"] = _numbers(size.astype(np.int64), rows.each((flags & SIZED) > 0))
        if some & VALUES:
            made["values"] = _values(batch, rows, flags)
        if some & PACKED:
            made["packed"] = Pieces(batch.packed, size, rows.is_first & rows.each((flags & PACKED) > 0))
        if batch.tags:
            tag = rows.of("tag")
            made["tag"] = Pieces(batch.tags, tag, rows.is_first & (tag > 0))
    return made


def _commands(batch: BookBatch, rows: _Rows) -> Data:
    begins = [begin for begin, _ in batch.commands]
    counts = np.diff([*begins, len(rows.entries)])
    numbers = [number for _, number in batch.commands]
    return Coded(numbers, rows.each(np.repeat(np.arange(len(counts)), counts)))


def _added_columns(additions: NDArray[np.void], rows: _Rows) -> dict[str, Data | None]:
    """What was added to some entries: a time is that of all their rows, the rest that of the first."""
    made: dict[str, Data | None] = {}
    caused = additions[additions["cause"] != 0]
    if len(caused):
        at = rows.firsts[caused["entry"]]
        made["cause_source"] = _scattered(rows.count, at, caused["cause_source"])
        made["cause"] = _scattered(rows.count, at, caused["cause"])
    costly = additions[additions["control"] != 0]
    if len(costly):
        made["control_bytes"] = _scattered(rows.count, rows.firsts[costly["entry"]], costly["control"])
    timed = additions[(additions["flags"] & TIMED) > 0]
    if len(timed):
        whole = np.zeros(len(rows.entries), np.int64)
        form = np.zeros(len(rows.entries), np.int32)
        whole[timed["entry"]] = timed["time"]
        form[timed["entry"]] = timed["flags"]
        time, flags = rows.each(whole), rows.each(form)
        made["time_int"] = _numbers(time, flags == TIMED)
        made["time_float"] = _numbers(time.view(np.float64), (flags & FLOAT) > 0)
    return made


def _scattered(count: int, at: NDArray[np.int64], values: NDArray[np.int64]) -> Data:
    """These values in these rows, and nothing in the others."""
    found = np.zeros(count, np.int64)
    is_valid = np.zeros(count, np.bool_)
    found[at] = values
    is_valid[at] = True
    return Numbers(found, is_valid)


def _values(batch: BookBatch, rows: _Rows, flags: NDArray[np.int32]) -> Data:
    is_valid = rows.is_first & rows.each((flags & VALUES) > 0)
    items = np.array([len(pattern.get("items", ())) for pattern in rows.patterns], np.int64)
    counts = np.where(is_valid, items[rows.pattern], 0)
    return PieceLists(batch.values, np.frombuffer(batch.sizes, "<i4"), counts, is_valid)


def _extra(batch: BookBatch, additions: NDArray[np.void], rows: _Rows) -> dict[str, _Extra]:
    """By column: the rows that have something of their own there, and what."""
    found: dict[str, _Extra] = {}
    if batch.more:
        told = additions[additions["more"] > 0]
        firsts = rows.firsts[told["entry"]].tolist()
        for row, which in zip(firsts, told["more"].tolist(), strict=True):
            for name, value in batch.more[which - 1].items():
                at, values = found.setdefault(name, ([], []))
                at.append(row)
                values.append(value)
    return found


def _shaped(rows: _Rows, name: str, extra: _Extra | None) -> Data | None:
    """A column whose values the shapes have, and here and there a row of its own; None if nobody has any."""
    values: list[Cell] = [pattern.get(name) for pattern in rows.patterns]
    if extra is None:
        return None if all(value is None for value in values) else Coded(values, rows.pattern)
    index = rows.pattern.copy()
    index[extra[0]] = np.arange(len(values), len(values) + len(extra[1]))
    return Coded(values + extra[1], index)
