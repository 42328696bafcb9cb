"""Small recorded runs, file by file as the recorder writes them, and what is in them however they lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from weft.host.recording.files import NodeFiles, open_run_folder
from weft.host.recording.manifest import ManifestKeeper
from weft.host.recording.runs import RowFile, find_runs, open_run, read_rows
from weft.host.recording.writers import Part, Writer
from weft.host.storage import Place, place_of
from weft.recorder import VERSION, Book, BookBatch
from weft.review.quality import inspect

BEGAN = 1_700_000_000_000_000_000
IDENTITY = "0123456789"


class SmallRun:
    """One process of a node, in a thread: `write` is a file of so many rows, `end` the end in order."""

    def __init__(self, top: Path, node: str = "A", began_ns: int = BEGAN, listed: bool = True) -> None:
        self.folder = open_run_folder(top, "F", IDENTITY, began_ns)
        self.files = NodeFiles(
            self.folder, node, began_ns, {"federation": "F", "start_ns": began_ns, "time": "HLAfloat64Time"}
        )
        self.node = node
        self.began_ns = began_ns
        self.dropped = 0
        self.rows = 0
        self._keeper = (
            ManifestKeeper(self.folder, self.folder.name, node, began_ns, VERSION) if listed else None
        )
        if self._keeper is not None:
            self._keeper.write()
        self._sequence = 1
        self._book = Book()
        self._describe(None)

    def drop(self, rows: int) -> None:
        """Numbers of rows that no file has."""
        self.dropped += rows
        self._sequence += rows

    def write(self, rows: int) -> Path:
        path = self.files.next_path()
        batch = self._batch(rows)
        written = Writer().write(path, self.files.metadata, [Part(batch, self._sequence)], BEGAN)
        self._sequence += rows
        self.rows += rows
        if self._keeper is not None:
            self._keeper.add(path, written, VERSION, self.dropped)
        self._describe(None)
        return path

    def _batch(self, rows: int) -> BookBatch:
        for number in range(self._sequence, self._sequence + rows):
            name = f"Class{number % 3}"
            shape = self._book.shapes.get(name, -1)
            if shape < self._book.first:
                shape = self._book.learn(name, ((("kind", "send"), ("class", name), ("items", ("P",))),))
            self._book.enter(shape, number / 1000, number, -1, {b"P": str(number).encode()}, b"")
        batch = self._book.take()
        assert batch is not None
        return batch

    def end(self) -> None:
        if self._keeper is not None:
            self._keeper.end(self.began_ns + 10**9, self.dropped)
        self._describe(self.began_ns + 10**9)

    def leave(self) -> None:
        """As a crash does."""
        if self._keeper is not None:
            self._keeper.close()

    def _describe(self, ended_ns: int | None) -> None:
        told = {"node": self.node, "began_ns": self.began_ns, "ended_ns": ended_ns, "rows": self.rows}
        self.files.write_node({**told, "dropped": self.dropped, "others": []})


def recorded(top: Path, sizes: Sequence[int], listed: bool = True) -> Path:
    """A run that ended in order, of files with so many rows; a negative number: so many were dropped."""
    run = SmallRun(top, listed=listed)
    for size in sizes:
        if size > 0:
            run.write(size)
        else:
            run.drop(-size)
    run.end()
    return run.folder


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """As a review reads it: repeated files left out."""
    run = open_run(folder)
    inspect(run)
    return [row for file in run.files for row in read_rows(file).to_pylist()]


def runs_here(folder: Path) -> list[Path]:
    return [Path(str(run)) for run in find_runs(folder)]


def rows_of_files(files: Sequence[Path], node: str = "A") -> list[dict[str, Any]]:
    counted = [RowFile(place_of(path), node, pq.read_metadata(path).num_rows, VERSION) for path in files]
    return [row for file in counted for row in read_rows(file).to_pylist()]


def fetched(place: Place, to: Path) -> Path:
    """All that is below a place, as files of this machine."""
    for entry in place.files():
        path = to / entry.place.below(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.place.read())
    return to
