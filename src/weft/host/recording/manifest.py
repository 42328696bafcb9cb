"""What a process of a node has written of a run, as it goes: a line for each file, and one at its end in order.

    manifest/<node>-<began>.jsonl
        {"manifest": 1, "run": …, "node": …, "began_ns": …, "schema": …}      the first line
        {"file": "rows/node=…/….parquet", "rows": …, "first": …, …}            each file, when it is whole and on the disk
        {"end_ns": …, "files": …, "rows": …, "dropped": …}                     nothing more comes

So whether a run is whole is a fact and no guess: which files there are, which rows each has, and what their bytes sum up to.
Readers plan by these lines alone; files are opened by whoever reads their rows.  A line is brought to the disk before the next
file is begun.  A crash may leave half of a line: it counts for nothing, and its file is found by its name.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, TypeVar
from urllib.parse import quote

from weft.host.files.private import make_private, private
from weft.model.json_types import JsonObject

FOLDER = "manifest"
VERSION = 1


class ListedFile(NamedTuple):
    """A file of rows, as its writer tells of it."""

    file: str
    """Its path in the run's folder."""
    rows: int
    first: int
    last: int
    """Numbers (`seq`) of its first and last row."""
    from_ns: int
    to_ns: int
    """Wall clock of its earliest and latest row."""
    bytes: int
    sha256: str
    schema: int
    dropped: int
    """Rows that this process had dropped until then, in all."""


class WrittenFile(NamedTuple):
    """Of these, what whoever makes the file knows of it."""

    rows: int
    first: int
    last: int
    from_ns: int
    to_ns: int
    bytes: int
    sha256: str


class ManifestEnd(NamedTuple):
    end_ns: int
    files: int
    rows: int
    dropped: int


@dataclass
class Manifest:
    """Of one process of a node."""

    run: str
    node: str
    began_ns: int
    schema: int
    files: list[ListedFile] = field(default_factory=list)
    end: ManifestEnd | None = None
    """None: it has not ended in order."""
    torn: bool = False
    """A line is not whole: the last one, as a rule."""


def manifest_name(node: str, began_ns: int) -> str:
    """In the run's folder."""
    return f"{FOLDER}/{quote(node, safe='')}-{began_ns}.jsonl"


def checksum(data: Iterable[bytes | memoryview]) -> str:
    """Of pieces of a file, as the manifest has it."""
    digest = hashlib.sha256()
    for piece in data:
        digest.update(piece)
    return digest.hexdigest()


class ManifestWriter:
    """Appends, each line brought to the disk; raises OSError."""

    def __init__(self, folder: Path, run: str, node: str, began_ns: int, schema: int) -> None:
        self.path = folder / manifest_name(node, began_ns)
        make_private(self.path.parent)
        begun = self.path.exists() and b"\n" in self.path.read_bytes()
        mode = "ab" if begun else "wb"  # what a full disk has left of a head is written anew
        self._file: IO[bytes] = open(self.path, mode, buffering=0, opener=private)  # noqa: SIM115 - closed by `close`
        self._half = b""  # what ends a half line that could not be taken back
        if not begun:
            try:
                self._write(_head(run, node, began_ns, schema))
            except OSError:
                self.close()
                raise

    def add(self, file: ListedFile) -> None:
        self._write(file._asdict())

    def end(self, end: ManifestEnd) -> None:
        self._write(end._asdict())

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Mapping[str, object]) -> None:
        """A line that a full disk cut off is taken back, so that what follows is read."""
        before = self._file.tell()
        data = self._half + _line(line)
        try:
            if self._file.write(data) != len(data):
                raise OSError(errno.ENOSPC, "no room for a line of the manifest", str(self.path))
            os.fsync(self._file.fileno())
            self._half = b""
        except OSError:
            self._half = b"\n"
            self._file.truncate(before)
            self._file.seek(before)
            self._half = b""
            raise


class ManifestKeeper:
    """For a recorder: what cannot be written now is kept, and written before what comes next.  Raises OSError."""

    def __init__(self, folder: Path, run: str, node: str, began_ns: int, schema: int) -> None:
        self._about = (folder, run, node, began_ns, schema)
        self._folder = folder
        self._writer: ManifestWriter | None = None
        self._waiting: list[ListedFile | ManifestEnd] = []
        self._files = self._rows = 0

    def add(self, path: Path, written: WrittenFile, schema: int, dropped: int) -> None:
        self._files += 1
        self._rows += written.rows
        file = path.relative_to(self._folder).as_posix()
        self._waiting.append(ListedFile(file, *written, schema=schema, dropped=dropped))
        self.write()

    def end(self, end_ns: int, dropped: int) -> None:
        """Nothing more comes, whether that can be written or not."""
        self._waiting.append(ManifestEnd(end_ns, self._files, self._rows, dropped))
        try:
            self.write()
        finally:
            self.close()

    def write(self) -> None:
        """The head, if it is not there yet, and what waits."""
        if self._writer is None:
            self._writer = ManifestWriter(*self._about)
        while self._waiting:
            line = self._waiting[0]
            if isinstance(line, ListedFile):
                self._writer.add(line)
            else:
                self._writer.end(line)
            del self._waiting[0]

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _head(run: str, node: str, began_ns: int, schema: int) -> Mapping[str, object]:
    return {"manifest": VERSION, "run": run, "node": node, "began_ns": began_ns, "schema": schema}


def _line(told: Mapping[str, object]) -> bytes:
    return (json.dumps(told, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def manifest_bytes(manifest: Manifest) -> bytes:
    """The whole of one, as `read_manifest` reads it."""
    lines = [_head(manifest.run, manifest.node, manifest.began_ns, manifest.schema)]
    lines += [one._asdict() for one in manifest.files]
    lines += [] if manifest.end is None else [manifest.end._asdict()]
    return b"".join(map(_line, lines))


def read_manifest(data: bytes) -> Manifest:
    """Raises ValueError where this is no manifest, or of a newer version."""
    head, *lines = data.split(b"\n")
    said = _object_of(head) if lines else None
    if said is None:
        raise ValueError("its first line is not whole")
    version = said.get("manifest")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(f"it says version {version!r} of the manifest; this Weft reads {VERSION}")
    found = Manifest(str(said["run"]), str(said["node"]), _whole(said["began_ns"]), _whole(said["schema"]))
    found.torn = lines.pop() != b""
    for line in lines:
        told = _object_of(line)
        if told is None:
            found.torn = True
        elif "file" in told:
            found.files.append(_of(ListedFile, told))
        elif "end_ns" in told:
            found.end = _of(ManifestEnd, told)
    return found


def _object_of(line: bytes) -> JsonObject | None:
    """None: it is not whole."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


_Told = TypeVar("_Told", ListedFile, ManifestEnd)


def _of(kind: type[_Told], line: JsonObject) -> _Told:
    """What a later writer adds is passed over."""
    missing = [name for name in kind._fields if name not in line]
    if missing:
        raise ValueError(f"a line has no {missing[0]!r}")
    return kind._make(line[name] for name in kind._fields)


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value
