"""Recordings in memory, and a batch of a book as a table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from weft.host.recording.columns import ARROW_SCHEMA, to_group
from weft.host.recording.parquet import parquet_file
from weft.kernel.state.federation import Federation
from weft.model.recording import Recorder
from weft.recorder import Book, BookBatch


class MemoryRecordings:
    """Rows that last as long as this object."""

    def __init__(self, payloads: bool = True) -> None:
        self.books: list[tuple[str, str, Book]] = []  # federation, node
        self._payloads = payloads

    def begin(self, federation: Federation, node: str) -> Recorder | None:
        book = Book(self._payloads, most_entries=1 << 40, most_bytes=1 << 40)
        self.books.append((federation.name, node, book))
        return book

    def end(self, federation: Federation) -> None:
        """They are still there."""

    def take(self) -> list[dict[str, Any]]:
        """All rows so far, book by book, each as a dict of what is not null."""
        found: list[dict[str, Any]] = []
        for _, node, book in self.books:
            batch = book.take()
            if batch is not None:
                listed = to_table(batch, 1, 0).to_pylist()
                found += [{"node": node} | {k: v for k, v in row.items() if v is not None} for row in listed]
        return found


def to_table(batch: BookBatch, sequence: int, offset_ns: int) -> pa.Table:
    """As Arrow reads it from a file."""
    pieces = parquet_file([to_group(batch, sequence, offset_ns)], ARROW_SCHEMA)
    return pq.ParquetFile(pa.BufferReader(b"".join(pieces))).read()
