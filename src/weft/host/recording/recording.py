"""Recording: what happens at a node, as files of a run (docs/how-to/recording.md).

The kernel enters rows into a book for each federation (`weft.recorder.Book`); that is all it does and all that a federate may
wait for.  Full books, and every second those that have something, are handed to one thread, which makes files of them.

What waits for that thread is bounded: when the disk is slower than the run, whole batches are dropped, counted, and told as
rows of kind `dropped`.  A disk that is full or a folder that cannot be written is told once, in words, and once more when it
works again; the federation goes on in any case.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from weft.host.files.locks import FileLock
from weft.host.recording.run_writer import RunWriter
from weft.host.recording.writers import ProcessWriter, Writer
from weft.host.settings import Settings
from weft.host.storage import named_place
from weft.kernel.node.faults import trace_of
from weft.kernel.state.federation import Federation
from weft.model.errors import SettingsError, WeftError
from weft.model.extras import EXTRAS, install, lacking, require
from weft.model.json_types import JsonObject
from weft.model.log_text import ERROR, LogText
from weft.model.recording import Recorder
from weft.recorder import Book, BookBatch

if TYPE_CHECKING:
    from weft.host.recording.uploader import Uploader

QUEUE_BYTES = 64 << 20
INTERVAL = 1.0
_PATIENCE = 30.0  # seconds to write what is left when a node ends

Guard = Callable[[Callable[[], None]], None]
"""Runs something where the kernel is not at work: under its lock, or in its thread, now or soon."""


class NodeRecordings:
    """All that is recorded at one node, and the thread that writes it.

    `settings` is what `run.json` says about how the run was made.
    """

    def __init__(
        self,
        directory: str | Path,
        report: Callable[[str], None],
        guard: Guard,
        *,
        payloads: bool = True,
        interval: float = INTERVAL,
        queue_bytes: int = QUEUE_BYTES,
        settings: Mapping[str, object] | None = None,
        write: Callable[[RunWriter, list[BookBatch | int]], None] | None = None,
        writer: Writer | None = None,
        spool: str | Path = "",
        keep_spool: bool = False,
        upload_seconds: float = 30.0,
    ) -> None:
        """`directory`: of this machine, or an address of a store; then rows go to the spool first (`recording.spool`).

        `writer`: who makes files of batches, if not a process of its own.  `write`: in place of writing files, for tests.
        """
        if write is None:
            _require_record()
        self.place = named_place(directory)
        self.directory = Path(directory)
        self._uploader: Uploader | None = None
        self._hold: Callable[[Path], FileLock] | None = None
        if self.place.local is None:
            self._begin_uploading(Path(spool) if spool else None, report, keep_spool, upload_seconds)
        self.runs: list[RunWriter] = []
        self.folders: list[Path] = []  # in which something has been written
        self.dropped = 0
        self._rows = 0  # that are in files
        self._report = report
        self._guard = guard
        self._payloads = payloads
        self._interval = interval
        self._queue_bytes = queue_bytes
        self._queued = 0  # bytes
        self._settings = settings or {}
        self._writer = writer or (ProcessWriter() if write is None else Writer())
        self._write_files = write or self._to_files
        self._lock = threading.Lock()  # of what waits
        self._wake = threading.Event()
        self.closed = False
        self._thread: threading.Thread | None = None

    def _begin_uploading(
        self, spool: Path | None, report: Callable[[str], None], keep: bool, patience: float
    ) -> None:
        from weft.host.recording.spool import default_spool, hold
        from weft.host.recording.uploader import Uploader

        chosen = spool or default_spool()
        try:
            self._uploader = Uploader(self.place, chosen, report, keep, patience)
        except OSError as error:
            why = error.strerror or error
            raise SettingsError(
                f"{chosen}: what is recorded to {self.place} cannot wait there: {why}; record.spool names another folder"
            ) from error
        self.directory = self._uploader.folder
        self._hold = hold

    # --- for the kernel, in its thread --------------------------------------------------------------------------

    def begin(self, federation: Federation, node: str) -> Recorder | None:
        if self.closed:
            return None
        run: RunWriter
        book = Book(self._payloads, full=lambda: self._collect(run))
        run = RunWriter(book, federation, node, self.directory, self._writer, self._hold)
        self.runs.append(run)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="weft recorder", daemon=True)
            self._thread.start()
            atexit.register(self.close)
        return book

    def end(self, federation: Federation) -> None:
        for run in self.runs:
            if run.book is federation.recorder:
                self._collect(run)
                run.restored = federation.saves.successor is not None
                run.ended = True
                self._wake.set()

    def _collect(self, run: RunWriter) -> None:
        """Take what a book has, if there is room for it."""
        now = time.time_ns()
        self._collect_failed(run)
        batch = run.book.take()
        with self._lock:
            run.collected_ns = now
            if batch is None:
                return
            room = self._queued + batch.size <= self._queue_bytes
            if room:
                self._queued += batch.size
                run.waiting.append(batch)
        if room:
            self._wake.set()
        else:
            self._drop(run, batch.rows)

    def _collect_failed(self, run: RunWriter) -> None:
        """Rows that an error in making them has cost are dropped ones; what it was is told once."""
        book = run.book
        lost, book.failed = book.failed, 0
        if not lost:
            return
        error, book.failure = book.failure, None
        self._drop(run, lost)
        if error is not None and not run.erred:
            run.erred = True
            text = (
                f"federation {run.federation!r}: an error of the recorder's own, please report it: {error!r} in "
                f"{trace_of(error)}; the federation goes on, and rows that it costs are counted as dropped"
            )
            self._report(LogText(text, "recording-failed", ERROR, federation=run.federation))

    def _drop(self, run: RunWriter, rows: int) -> None:
        with self._lock:
            run.dropped += rows
            self.dropped += rows
            if run.waiting and isinstance(run.waiting[-1], int):
                run.waiting[-1] += rows
            else:
                run.waiting.append(rows)
        self._wake.set()

    def facts(self) -> JsonObject:
        """For a survey: where to, how much, and what waits to be written."""
        return {
            "on": not self.closed,
            "directory": str(self.directory if self._uploader is None else self.place),
            "runs": {
                run.federation: run.folder.relative_to(self.directory).as_posix()
                for run in list(self.runs)
                if run.folder is not None
            },
            "rows": self._rows,
            "dropped": self.dropped,
            "queue_bytes": self._queued,
        }

    def collect(self) -> None:
        """All books; to be called where the kernel is not at work."""
        for run in list(self.runs):
            self._collect(run)

    # --- the thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Until `close`, which has collected before."""
        self._writer.prepare()
        due = time.monotonic() + self._interval
        while not self.closed:
            if time.monotonic() >= due:
                due = time.monotonic() + self._interval
                self._guard(self.collect)
            self._wake.wait(max(0.0, due - time.monotonic()))
            self._wake.clear()
            self._write_all()
        self._write_all()
        self._writer.close()

    def _write_all(self) -> None:
        for run in list(self.runs):
            ended = run.ended
            with self._lock:
                batches = list(run.waiting)
                run.waiting.clear()
                collected = run.collected_ns
            if batches:
                self._write(run, batches)
            elif not ended:
                run.rest(collected)
            if ended:
                self._finish(run)

    def _write(self, run: RunWriter, batches: list[BookBatch | int]) -> None:
        taken = sum(batch.size for batch in batches if not isinstance(batch, int))
        try:
            self._write_files(run, batches)
            if run.failing:
                run.failing = False
                text = f"recording of {run.federation!r} goes on in {run.folder}"
                self._report(LogText(text, "recording-goes-on", federation=run.federation))
        except (OSError, WeftError, ImportError) as error:
            self._failed(run, batches, error)
        finally:
            with self._lock:
                self._queued -= taken

    def _to_files(self, run: RunWriter, batches: list[BookBatch | int]) -> None:
        before = run.rows
        run.write(batches, self._settings)
        self._rows += run.rows - before
        if run.folder is not None and run.folder not in self.folders:
            self.folders.append(run.folder)
        run.tell()
        self._tell_manifest(run)

    def _tell_manifest(self, run: RunWriter) -> None:
        """Once that it cannot be written, and once that it can."""
        error = run.manifest_error
        if (error is not None) == run.manifest_told:
            return
        run.manifest_told = error is not None
        if error is None:
            text = f"the manifest of {run.folder} is whole again"
            self._report(LogText(text, "recording-goes-on", federation=run.federation))
            return
        text = (
            f"federation {run.federation!r}: the manifest of its run cannot be written in {run.folder}: "
            f"{error.strerror or error}; its rows are recorded, and its lines are written as soon as that works again"
        )
        self._report(LogText(text, "recording-failed", ERROR, federation=run.federation))

    def _failed(self, run: RunWriter, batches: list[BookBatch | int], error: Exception) -> None:
        """Whatever the reason, the run goes on; what could not be written is counted as dropped."""
        if not run.failing:
            run.failing = True
            why = getattr(error, "strerror", None) or error
            text = (
                f"federation {run.federation!r} is not recorded in {run.folder or self.directory}: {why}; the federation goes "
                "on, and rows are counted as dropped until it works again (--record DIR for another folder, --no-record for none)"
            )
            self._report(LogText(text, "recording-failed", ERROR, federation=run.federation))
        fresh = sum(batch.rows for batch in batches if not isinstance(batch, int))
        lost = fresh + sum(batch for batch in batches if isinstance(batch, int))
        with self._lock:
            run.dropped += fresh
            self.dropped += fresh
            if run.waiting and isinstance(run.waiting[0], int):
                run.waiting[0] += lost
            else:
                run.waiting.appendleft(lost)

    def _finish(self, run: RunWriter) -> None:
        if run in self.runs:
            self.runs.remove(run)
        if run.folder is None:
            return
        try:
            before = run.rows
            with self._lock:
                dropped = sum(one if isinstance(one, int) else one.rows for one in run.waiting)
                run.waiting.clear()
            run.stop(self._settings, dropped)
            self._rows += run.rows - before
            run.tell()
            self._tell_manifest(run)
        except (OSError, WeftError) as error:
            why = getattr(error, "strerror", None) or error
            text = f"{run.folder}: the end of the recording could not be written: {why}"
            self._report(LogText(text, "recording-failed", ERROR, federation=run.federation))
        finally:
            run.close()

    def close(self) -> None:
        """Write what is left, and that it is over.  To be called where the kernel is not at work."""
        if self._thread is not None and not self.closed:
            self.collect()
            for run in self.runs:
                run.ended = True
            self.closed = True
            self._wake.set()
            atexit.unregister(self.close)
            self._thread.join(_PATIENCE)
            if self._thread.is_alive():
                text = f"recording: gave up after {_PATIENCE:g} s; the last rows are not written"
                self._report(LogText(text, "recording-failed", ERROR))
        uploader, self._uploader = self._uploader, None
        if uploader is not None:
            self.closed = True
            uploader.close()


def is_recorded(settings: Settings) -> bool:
    """Whether runs are recorded.  By default they are where what writes files is installed; PackageMissing if it is not, and
    somebody named a place to record to."""
    if not settings.record.on or not lacking(*EXTRAS["record"]):
        return settings.record.on
    if settings.record.directory:
        _require_record()
    return False


def _require_record() -> None:
    require("recording", "record", *EXTRAS["record"])


def recorded_words(settings: Settings) -> str:
    """Whether and where, for people."""
    if is_recorded(settings):
        return f"runs recorded below {shown_place(settings.recordings)} (--no-record: not)"
    why = f": {install('record')} (--no-record: not wanted)" if settings.record.on else ""
    return f"runs not recorded{why}"


def recordings_of(settings: Settings, report: Callable[[str], None], guard: Guard) -> NodeRecordings:
    """As the settings of a server or node ask for it."""
    record = settings.record
    told = {name: asdict(getattr(settings, name)) for name in ("record", "fabric", "ddm")}
    told["record"]["directory"] = shown_place(record.directory)
    return NodeRecordings(
        settings.recordings,
        report,
        guard,
        payloads=record.payloads,
        interval=record.seconds,
        queue_bytes=record.queue_bytes,
        settings=told,
        spool=record.spool,
        keep_spool=record.keep_spool,
        upload_seconds=record.upload_seconds,
    )


def shown_place(given: str) -> str:
    """Where runs go, for people: an address may have a password in it."""
    return str(named_place(given)) if "://" in given else given


def local_runs(settings: Settings) -> str:
    """The folder of this machine in which runs lie while they are recorded."""
    place = named_place(settings.recordings)
    if place.local is not None:
        return settings.recordings
    from weft.host.recording.spool import default_spool, folder_of

    return str(folder_of(Path(settings.record.spool or default_spool()), place))
