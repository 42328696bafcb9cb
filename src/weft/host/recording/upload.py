"""From a folder of this machine to a store: what a run has there is uploaded as it is written.

The order keeps a promise to whoever reads the store meanwhile: what a manifest lists is there, and what a node says of its end
holds.  So what nodes and manifests say is read first, then every file that is there by then is uploaded, then the manifests
as they were read, and then what the nodes said: of their ends, and that nothing happens there.  The object model comes before
`run.json`, which names it, and that before rows.

A file that was uploaded is noted beside it with size and time; whoever comes after a crash goes on from these notes, and uploads
at most one file again.  A manifest grows, and a store takes it only whole: the larger it is, the longer it waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from weft.host.recording.files import IDLE, RUN_FILE
from weft.host.recording.manifest import FOLDER
from weft.host.recording.runs import file_place
from weft.host.recording.spool import FileStamp, Notes, alone_in, files_of, let_go, stamp_of
from weft.host.storage import Place

_MANIFEST_BYTES = 100_000  # a second, of manifests that are uploaded again


def pause_after(manifest_bytes: int) -> float:
    """Seconds until manifests of so many bytes are uploaded again."""
    return 1 + manifest_bytes / _MANIFEST_BYTES


class _Snapshot(NamedTuple):
    file: str
    data: bytes
    stamp: FileStamp


class Uploads:
    """Of runs, to a place."""

    def __init__(
        self,
        runs: Callable[[], list[Path]],
        place: Place,
        keep: bool,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[str], None] = lambda file: None,
    ) -> None:
        """`runs`: which there are by now.  `keep`: leave the runs where they are.  `told`: of each file that is there now."""
        self._find = runs
        self._place = place
        self._keep = keep
        self._clock = clock
        self._told = told
        self._runs: dict[Path, _RunUpload] = {}

    def turn(self, everything: bool = False) -> int:
        """What is new; returns how many files that were.  `everything`: manifests, too, that were to wait.

        Raises OSError, or what else the store raises; the next turn goes on.
        """
        runs = self._find()
        self._runs = {run: self._runs.get(run) or _RunUpload(run, self._place) for run in runs}
        return sum(self._turn_of(run, everything) for run in runs)

    def _turn_of(self, run: Path, everything: bool) -> int:
        upload = self._runs[run]
        count = 0
        for file in upload.turn(everything or _is_over(run), self._clock()):
            self._told(file)
            count += 1
        if not self._keep:
            with alone_in(run) as mine:
                if mine and upload.is_whole():
                    let_go(run)
        return count


def _is_over(run: Path) -> bool:
    with alone_in(run) as mine:
        return mine


class _RunUpload:
    def __init__(self, run: Path, place: Place) -> None:
        self._run = run
        self._top = place
        self._notes = Notes(run)
        self._due = 0.0  # for manifests
        self._idle: dict[str, int] = {}  # what nodes said last, as it is in the store

    def turn(self, everything: bool, now: float) -> Iterable[str]:
        """Files, as each is in the store."""
        idle = self._said_idle()
        nodes = self._changed("nodes")
        manifests = self._changed(FOLDER)
        for path in sorted(files_of(self._run), key=self._rank):
            file = path.relative_to(self._run).as_posix()
            if file.split("/")[0] not in ("nodes", FOLDER):
                yield from self._upload(path, file)
        if not everything and manifests and now < self._due:
            return
        for one in [*manifests, *nodes]:
            self._place(one.file).write(one.data)
            self._notes.add(one.file, one.stamp)
            yield one.file
        if manifests:
            self._due = now + pause_after(sum(len(one.data) for one in manifests))
        for file, until in idle.items():
            self._place(file).write(str(until).encode())
            self._idle[file] = until

    def _said_idle(self) -> dict[str, int]:
        """What is new of it; a store takes no times, so the number is what the file has there."""
        found = {}
        for path in sorted((self._run / "nodes").glob(f"*{IDLE}")):
            file, until = f"nodes/{path.name}", path.stat().st_mtime_ns
            if not path.name.startswith(".") and self._idle.get(file) != until:
                found[file] = until
        return found

    def is_whole(self) -> bool:
        """Is everything that is here there?"""
        return all(
            self._notes.files.get(path.relative_to(self._run).as_posix()) == stamp_of(path)
            for path in files_of(self._run)
        )

    def _changed(self, folder: str) -> list[_Snapshot]:
        found = []
        for path in sorted((self._run / folder).glob("*.json*")):
            file, stamp = f"{folder}/{path.name}", stamp_of(path)
            if not path.name.startswith(".") and self._notes.files.get(file) != stamp:
                data = path.read_bytes()
                whole = data.rfind(b"\n") + 1 if folder == FOLDER else len(data)
                found.append(_Snapshot(file, data[:whole], stamp))
        return found

    def _rank(self, path: Path) -> tuple[int, tuple[str, int, str]]:
        top = path.relative_to(self._run).parts[0]
        return 2 if top == "rows" else top == RUN_FILE, file_place(path)

    def _upload(self, path: Path, file: str) -> Iterable[str]:
        stamp = stamp_of(path)
        if self._notes.files.get(file) == stamp:
            return
        with open(path, "rb") as source:
            self._place(file).write_from(source)
        self._notes.add(file, stamp)
        yield file

    def _place(self, file: str) -> Place:
        return self._top / self._run.parent.name / self._named() / file

    def _named(self) -> str:
        """As the run is called in the store: nodes of other machines may have begun it in another second."""
        if not self._notes.name:
            own = self._run.name
            end = "-" + own.rpartition("-")[2]
            there = (self._top / self._run.parent.name).entries()
            same = [one.place.name for one in there if one.is_folder and one.place.name.endswith(end)]
            self._notes.call_it(min(same, default=own))
        return self._notes.name
