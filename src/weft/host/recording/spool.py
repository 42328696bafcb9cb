"""The spool: where a run that is recorded to a store waits until it is there (docs/how-to/storage.md).

    <spool>/<place>-<hash>/                      for each place that anything was recorded to
        place.json                               its address
        .uploading                               locked by who uploads
        <federation>/<start>-<id>/               a run, as it lies anywhere (`recording.files`), and
            .recording                           locked by every process that writes there
            .uploaded                            a line for each file that is in the store
            .whole                               all of it is; rows and manifests are not here any more

Locks go with the process that holds them, whatever ends it: nobody has to find out whether another one lives.  What is left of
a run that is whole in the store tells a node that comes back which run it belongs to; a day later it goes, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from weft.host.files.locks import FileLock, claimed, share
from weft.host.files.private import make_private, private
from weft.host.recording.files import IDLE, RUN_FILE, RecordingError, read_json, write_json
from weft.host.storage import Place, named_place

PLACE_FILE = "place.json"
WHOLE = ".whole"
_LOCK = ".uploading"
_HELD = ".recording"
_NOTES = ".uploaded"
_KEPT = 86_400.0  # seconds


class UploadRest(NamedTuple):
    """What is not in the store yet."""

    files: int
    bytes: int


def default_spool(environment: Mapping[str, str] = os.environ) -> Path:
    """In the user's folder for what programs keep."""
    state = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "weft" / "spool"


def open_spool(spool: Path, place: Place) -> Path:
    """The folder of what goes to that place; raises OSError."""
    folder = folder_of(spool, place)
    make_private(folder)
    if not (folder / PLACE_FILE).exists():
        write_json(folder / PLACE_FILE, {"place": place.address})
    return folder


def folder_of(spool: Path, place: Place) -> Path:
    named = re.sub(r"[^A-Za-z0-9]+", "-", str(place)).strip("-")[-40:]
    return spool / f"{named}-{hashlib.sha256(place.address.encode()).hexdigest()[:8]}"


def goes_to(folder: Path) -> Place:
    """The place that a folder of a spool is for."""
    address = read_json(folder / PLACE_FILE).get("place")
    if not isinstance(address, str):
        raise RecordingError(f"{folder} is no folder of a spool: {PLACE_FILE} does not say where its runs go")
    return named_place(address)


def runs_in(folder: Path) -> list[Path]:
    """Runs that wait there, the oldest first."""
    found = [path.parent for path in folder.glob(f"*/*/{RUN_FILE}")]
    return sorted((run for run in found if not (run / WHOLE).exists()), key=lambda run: run.name)


def left_in(folder: Path, before: float = float("inf")) -> UploadRest:
    """What is not in the store of that which was written before then (Unix time), whoever uploads it."""
    sizes = []
    for run in runs_in(folder):
        noted = Notes(run).files
        for path in files_of(run):
            with contextlib.suppress(FileNotFoundError):
                found = stamp_of(path)
                if noted.get(path.relative_to(run).as_posix()) != found and found.mtime_ns < before * 1e9:
                    sizes.append(found.bytes)
    return UploadRest(len(sizes), sum(sizes))


def files_of(run: Path) -> Iterator[Path]:
    """What of a run is for the store: all but drafts, locks and what only means something here."""
    for top, folders, names in os.walk(run):
        folders.sort()
        for name in sorted(names):
            if not name.startswith(".") and not name.endswith(IDLE):
                yield Path(top) / name


# Notes


class FileStamp(NamedTuple):
    """Whether a file is still as it was."""

    bytes: int
    mtime_ns: int


def stamp_of(path: Path) -> FileStamp:
    told = path.stat()
    return FileStamp(told.st_size, told.st_mtime_ns)


class Notes:
    """Which files of a run are in the store, and as which run there."""

    def __init__(self, run: Path) -> None:
        self._path = run / _NOTES
        self.name = ""
        self.files: dict[str, FileStamp] = {}
        self._read = 0  # bytes of whole lines
        with contextlib.suppress(FileNotFoundError):
            self._take(self._path.read_bytes())

    def _take(self, data: bytes) -> None:
        """A crash may leave half of a line."""
        self._read = data.rfind(b"\n") + 1
        for line in data[: self._read].splitlines():
            told = json.loads(line)
            if isinstance(told, str):
                self.name = told
            else:
                file, size, mtime_ns = told
                self.files[file] = FileStamp(size, mtime_ns)

    def call_it(self, name: str) -> None:
        self._append(name)
        self.name = name

    def add(self, file: str, stamp: FileStamp) -> None:
        self._append([file, *stamp])
        self.files[file] = stamp

    def _append(self, line: object) -> None:
        data = (json.dumps(line) + "\n").encode()
        with open(self._path, "ab", opener=private) as notes:
            notes.truncate(self._read)
            notes.write(data)
        self._read += len(data)


# Locks


def hold(run: Path) -> FileLock:
    """A run in which this process writes stays, until what is returned is closed; it is made if it had gone."""
    while True:
        make_private(run)
        held = share(run / _HELD)
        if held is not None:
            (run / WHOLE).unlink(missing_ok=True)
            return held


@contextlib.contextmanager
def alone_in(run: Path) -> Iterator[bool]:
    """Does nobody write in that run, as long as this lasts?"""
    with claimed(run / _HELD) as mine:
        yield mine


@contextlib.contextmanager
def uploading(folder: Path) -> Iterator[bool]:
    """Is it this process that uploads what is in that folder?  Others wait for their turn."""
    with claimed(folder / _LOCK) as mine:
        yield mine


# What is whole in the store


def let_go(run: Path) -> None:
    """Rows and manifests of a run that is whole in the store; nobody writes in it."""
    for name in ("rows", "manifest"):
        shutil.rmtree(run / name, ignore_errors=True)
    (run / WHOLE).touch(0o600)


def clear_up(folder: Path, now: float | None = None) -> None:
    """Take away what is left of runs that have been whole in the store for a day."""
    for mark in folder.glob(f"*/*/{WHOLE}"):
        run = mark.parent
        with alone_in(run) as mine:
            if mine and mark.exists() and mark.stat().st_mtime + _KEPT < (now or time.time()):
                identity = run.name.rpartition("-")[2]
                (run.parent / f".{identity}").unlink(missing_ok=True)
                shutil.rmtree(run, ignore_errors=True)
