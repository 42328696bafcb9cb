"""One federation at one node, as files of a run: what the recorder's thread does for it (`recording.recording`)."""

from __future__ import annotations

import contextlib
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from weft.host.files.locks import FileLock
from weft.host.processes import this_process
from weft.host.recording.files import (
    RUN_FILE,
    NodeFiles,
    RunInfo,
    node_file,
    open_run_folder,
    read_json,
    run_id,
    write_idle,
    write_json,
    write_models,
)
from weft.host.recording.manifest import ManifestKeeper
from weft.host.recording.writers import Part, Writer
from weft.kernel.state.federation import Federation
from weft.model.recording import NO_OBJECT
from weft.model.records import Source
from weft.recorder import BY_RESTORE, VERSION, Book, BookBatch

_ENTERED = struct.Struct("<8xd24x")  # when an entry of a book was made (weft.recorder.book)
_LOOKS = 16  # at both clocks, until one was quick …
_QUICK = 20_000  # … which takes less than so many ns


class RunWriter:
    """One federation at one node: its book, what waits to be written, and its files."""

    def __init__(
        self,
        book: Book,
        federation: Federation,
        node: str,
        directory: Path,
        writer: Writer,
        hold: Callable[[Path], FileLock] | None = None,
    ) -> None:
        """`hold`: of a folder that goes when nobody holds it any more (`recording.spool`)."""
        self.book = book
        self._writer = writer
        self.federation = federation.name
        self.node = node
        self.began_ns = time.time_ns()
        self._last_at = (
            time.monotonic()
        )  # of the last row, or when it began: what the recorder itself says is of that time
        self._joined_before = federation.membership.joined
        self.waiting: deque[BookBatch | int] = deque()  # a number: so many rows were dropped here
        self.rows = 0
        self.dropped = 0
        self.ended = False  # nothing more comes
        self.restored = False  # because the federation was restored
        self.finished = False  # and that is written
        self.failing = False
        self.erred = False  # an error of the recorder's own was told
        self.collected_ns = 0  # up to when its book was emptied
        self.folder: Path | None = None
        self._directory = directory
        self._identity = run_id(federation.name, federation.execution)
        self._of = federation
        self._extensions = len(federation.extensions)  # when its models were last written
        self._info: RunInfo = {
            "federation": federation.name,
            "id": self._identity,
            "start": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began_ns // 10**9)),
            "start_ns": self.began_ns,
            "node": node,
            "home": federation.home,
            "execution": federation.execution,
            "time": federation.time.name,
            "schema": VERSION,
        }
        self._process = this_process()
        self._files: NodeFiles | None = None
        self._hold = hold
        self._held: FileLock | None = None
        self._manifest: ManifestKeeper | None = None
        self.manifest_error: OSError | None = None  # why its last line could not be written
        self.manifest_told = False  # that it could not
        self._sequence = 1
        self._told: tuple[int, bool, list[str]] | None = None

    def open(self, settings: Mapping[str, object]) -> NodeFiles:
        """The folder and its files, when the first rows are to be written; raises OSError."""
        if self._files is None:
            folder = open_run_folder(self._directory, self.federation, self._identity, self.began_ns)
            if self._hold is not None and self._held is None:
                self._held = self._hold(folder)
            before = read_json(node_file(folder, self.node))
            info: RunInfo = {**self._info, **write_models(folder, *_models(self._of)), "settings": settings}
            self._files = NodeFiles(folder, self.node, self.began_ns, info)
            self._manifest = ManifestKeeper(folder, folder.name, self.node, self.began_ns, VERSION)
            self.folder = folder
            self._list(self._manifest.write)
            if before:
                crashed = before.get("ended_ns") is None
                detail = "after a crash" if crashed else "after it had ended in order"
                self._note("restart", {"detail": detail}, self._last_at)
            more: dict[str, object] = {"source": self._joined_before} if self._joined_before else {}
            self._note("start", {"detail": f"schema {VERSION}", **more}, self._last_at)
        return self._files

    def write(self, batches: list[BookBatch | int], settings: Mapping[str, object]) -> None:
        """As one more file; raises OSError, and nothing of them is written then."""
        if self._files is None:
            began = [_entered(batch, 0) for batch in batches if not isinstance(batch, int)][:1]
            self._last_at = min([self._last_at, *began])
        files = self.open(settings)
        parts: list[Part] = []
        at = self._sequence
        for one in batches:
            batch = one
            if isinstance(batch, int):
                at += batch
                batch = _special("dropped", {"queue": batch}, self._last_at)
            else:
                self._last_at = _entered(batch, len(batch.entries) - _ENTERED.size)
            parts.append(Part(batch, at))
            at += batch.rows
        self._write_parts(files, parts)
        if len(self._of.extensions) > self._extensions:
            # A federate has joined and brought object model modules: whoever decodes values needs them, too.
            self._extensions = len(self._of.extensions)
            told = read_json(files.folder / RUN_FILE)
            write_json(files.folder / RUN_FILE, {**told, **write_models(files.folder, *_models(self._of))})

    def _note(self, kind: str, more: dict[str, object], now: float) -> None:
        """A row of the recorder's own."""
        assert self._files is not None
        self._write_parts(self._files, [Part(_special(kind, more, now), self._sequence)])

    def _write_parts(self, files: NodeFiles, parts: list[Part]) -> None:
        """As one file, one behind the other."""
        path = files.next_path()
        written = self._writer.write(path, files.metadata, parts, clock_offset())
        self._sequence = written.last + 1
        self.rows += written.rows
        manifest = self._manifest
        assert manifest is not None
        self._list(lambda: manifest.add(path, written, VERSION, self.dropped))

    def _list(self, write: Callable[[], None]) -> None:
        """In the manifest; rows are recorded whether it can be written or not."""
        try:
            write()
            self.manifest_error = None
        except OSError as error:
            self.manifest_error = error

    def stop(self, settings: Mapping[str, object], dropped: int) -> None:
        """In order: it is the last thing that is written.  `dropped`: rows that were to stand before it."""
        self.open(settings)
        if dropped:
            self.write([dropped], settings)
        self._note("stop", {"service": BY_RESTORE} if self.restored else {}, time.monotonic())
        self.finished = True
        manifest = self._manifest
        assert manifest is not None
        self._list(lambda: manifest.end(time.time_ns(), self.dropped))

    def close(self) -> None:
        if self._manifest is not None:
            self._manifest.close()
        if self._held is not None:
            self._held.close()

    def rest(self, until_ns: int) -> None:
        """Nothing happened: so that whoever follows the run knows, and does not wait for files that do not come."""
        if self.folder is not None and not self.failing and until_ns:
            with contextlib.suppress(OSError):
                write_idle(self.folder, self.node, until_ns)

    def tell(self) -> None:
        """What nodes/<node>.json says, if that has changed."""
        others = [other for other in self.book.others if other != self.node]
        told = (self.dropped, self.finished, others)
        if self._files is None or told == self._told:
            return
        self._files.write_node(
            {
                "node": self.node,
                "began_ns": self.began_ns,
                "ended_ns": time.time_ns() if self.finished else None,
                "rows": self.rows,
                "dropped": self.dropped,
                "others": others,
                "process": self._process,
            }
        )
        self._told = told


def clock_offset(
    monotonic: Callable[[], int] = time.monotonic_ns, wall: Callable[[], int] = time.time_ns
) -> int:
    """From the monotonic clock to the wall clock, ns.

    A thread may have to wait between two looks at clocks, and rows of two nodes are put in order by what it finds: so it
    looks again until it was quick, and takes the quickest.
    """
    found: list[tuple[int, int]] = []
    for _ in range(_LOOKS):
        before, at, after = monotonic(), wall(), monotonic()
        found.append((after - before, at - (before + after) // 2))
        if after - before < _QUICK:
            break
    return min(found)[1]


def _entered(batch: BookBatch, offset: int) -> float:
    at: float = _ENTERED.unpack_from(batch.entries, offset)[0]
    return at


def _special(kind: str, more: dict[str, object], now: float) -> BookBatch:
    """A row of the recorder's own.  The rows of a node never go back in time, so `now` is not that of writing."""
    book = Book()
    shape = book.learn(kind, ((("kind", kind), ("federate", 0)),))
    book.enter(shape, now, 0, NO_OBJECT, None, b"")
    book.add(0, 0, None, 0, more)
    batch = book.take()
    assert batch is not None
    return batch


def _models(federation: Federation) -> tuple[list[Source], Source | None]:
    """The object model modules in the order in which they came, and the RID file."""
    modules, mim, _, rid = federation.founding
    sources = [*([] if mim is None else [mim]), *modules]
    for extension in federation.extensions:
        sources.extend(extension)
    return sources, rid
