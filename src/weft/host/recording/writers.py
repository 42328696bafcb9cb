"""Who makes a file of batches: a process of its own, or the thread that asks for it.

A thread has to wait for Python's lock at every step, five milliseconds each time that a federate computes and does not wait
for anything, and there are a hundred steps to a file: beside a busy federate it writes less than is recorded.  A process has
a lock of its own, and the federates' process need not even load what it takes to write.

    asking    length of the head (4 bytes), head: path, metadata, offset of the clock, and of each batch what is pickled
    pieces    of the batches, as they are, behind one another: in memory that both have, or behind the head where there is none
    answer    length (4 bytes), pickled: what was written, for the manifest; or the number and text of an error

Shapes are sent once: a batch has the list of all that its book knows, so only those behind the last are in its head.  The process
ends when its input does, whatever ended the one that started it; so everything that was handed over is written.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from weft.host import system
from weft.host.files.private import write_by
from weft.host.recording.manifest import WrittenFile, checksum
from weft.model.recording import Pattern, rows_in
from weft.recorder import BookBatch
from weft.recorder.book import ROWS

_HEAD = 4
_PATIENCE = 30.0  # seconds for what is being written when it is to end
# Federates come first, but it keeps up beside three busy processes on two cores (with 10 it did not).
_NICE = 5
_AT_ONCE = 500  # pieces in one call; systems take a thousand or so
_KEPT = 16 << 20  # bytes of memory that both have, between two files
_TRIES = 2
_LISTS = 100  # of shapes that are remembered to have been sent
_START = "import sys; sys.path.append(sys.argv[1]); from weft.host.recording.writers import serve; serve()"


_Bytes = bytes | memoryview
_Shapes = dict[int, list[tuple[Pattern, ...]]]


class _PartHead(NamedTuple):
    """A part without its pieces."""

    sequence: int
    rows: int
    more: list[dict[str, object]]
    commands: list[tuple[int, int]]
    which: int  # list of shapes it is
    fresh: list[tuple[Pattern, ...]]  # those that were not sent yet
    sizes: list[int]  # of the pieces


class Part(NamedTuple):
    """A batch, and the number of its first row."""

    batch: BookBatch
    sequence: int


class Writer:
    """Writes in the thread that asks."""

    def prepare(self) -> None:
        """Load what it takes to write before there is much to do: that alone is a second of processor time on a slow machine."""
        from weft.host.recording import columns  # noqa: F401

    def write(
        self, path: Path, metadata: dict[bytes, bytes], parts: Sequence[Part], offset_ns: int
    ) -> WrittenFile:
        """One file; raises OSError, and then there is none.  `offset_ns`: from the monotonic to the wall clock."""
        from weft.host.recording.columns import ARROW_SCHEMA, span_of, to_group
        from weft.host.recording.parquet import parquet_file

        groups = [to_group(part.batch, part.sequence, offset_ns) for part in parts]
        pieces = parquet_file(groups, metadata | ARROW_SCHEMA)
        write_by(path, lambda file: file.writelines(pieces))
        rows = sum(group.rows for group in groups)
        ends = parts[0].sequence, parts[-1].sequence + groups[-1].rows - 1
        return WrittenFile(rows, *ends, *span_of(groups), sum(map(len, pieces)), checksum(pieces))

    def close(self) -> None:
        """Nothing more is to be written."""


class ProcessWriter(Writer):
    """Has a process write; if none can be started, or none comes as far as its first file, it does so itself."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._alone = not sys.executable
        self._proven = False  # has one written?
        self._shared = -1  # memory that both have, as a file
        # By its id: a list of shapes, how many of them, and how many rows these are.
        self._sent: dict[int, tuple[list[tuple[Pattern, ...]], int, int]] = {}

    def prepare(self) -> None:
        self._start()
        if self._alone:
            super().prepare()

    def _start(self) -> subprocess.Popen[bytes] | None:
        if self._process is not None or self._alone:
            return self._process
        self._sent.clear()
        if system.SHARED_MEMORY:
            with contextlib.suppress(OSError):
                self._shared = os.memfd_create("weft")
        fds = [self._shared] if self._shared >= 0 else []
        root = str(Path(__file__).parents[3])
        # -P: a file in the working directory is not taken for a module.
        command = [sys.executable, "-P", "-c", _START, root, *map(str, fds)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, pass_fds=fds
            )
        except OSError:
            self._alone = True
            self._release()
        return self._process

    def _release(self) -> None:
        if self._shared >= 0:
            os.close(self._shared)
            self._shared = -1

    def write(
        self, path: Path, metadata: dict[bytes, bytes], parts: Sequence[Part], offset_ns: int
    ) -> WrittenFile:
        """If the process dies meanwhile, another one is asked; if that dies, too, it is not for want of luck."""
        for _ in range(_TRIES):
            process = self._start()
            if process is None:
                break
            pieces = [piece for part in parts for piece in _pieces(part.batch) if piece]
            if self._shared >= 0:
                _put(self._shared, pieces)
            try:
                answer = self._ask(process, (str(path), metadata, offset_ns), parts, pieces)
            except (OSError, EOFError):
                how = self._ended()
                self._alone = not self._proven
                continue
            self._proven = True
            if not isinstance(answer, WrittenFile):
                raise OSError(*answer)
            return answer
        if not self._alone:
            raise OSError(0, f"the process that writes files ended {_TRIES} times, the last one with {how}")
        return super().write(path, metadata, parts, offset_ns)

    def _ask(
        self,
        process: subprocess.Popen[bytes],
        where: tuple[str, dict[bytes, bytes], int],
        parts: Sequence[Part],
        pieces: Sequence[_Bytes],
    ) -> WrittenFile | tuple[int, str]:
        """What was written, or what went wrong."""
        assert process.stdin is not None
        assert process.stdout is not None
        told = [self._told(part) for part in parts]
        head = pickle.dumps((*where, told, self._forgotten()), pickle.HIGHEST_PROTOCOL)
        behind = pieces if self._shared < 0 else []
        _send(process.stdin, [len(head).to_bytes(_HEAD, "little") + head, *behind])
        answer: WrittenFile | tuple[int, str] = _receive(process.stdout)
        if self._shared >= 0 and sum(map(len, pieces)) > _KEPT:
            os.ftruncate(self._shared, 0)
        return answer

    def _told(self, part: Part) -> _PartHead:
        batch = part.batch
        which = id(batch.shapes)
        shapes, known, rows = self._sent.pop(which, (batch.shapes, 0, 0))
        fresh = shapes[known:]
        rows += sum(map(rows_in, fresh))
        self._sent[which] = (shapes, known + len(fresh), rows)  # as the latest
        sizes = [len(piece) for piece in _pieces(batch)]
        return _PartHead(part.sequence, batch.rows, batch.more, batch.commands, which, fresh, sizes)

    def _forgotten(self) -> list[int]:
        """Lists that no book has any more, as far as can be told: those that were used longest ago.

        One that is used again is sent again.
        """
        gone: list[int] = []
        rows = sum(rows for _, _, rows in self._sent.values())
        for which in list(self._sent)[:-1]:
            if len(self._sent) <= _LISTS and rows <= ROWS:
                break
            rows -= self._sent.pop(which)[2]
            gone.append(which)
        return gone

    def _ended(self) -> str:
        """It has died; with what?"""
        process, self._process = self._process, None
        assert process is not None
        code = _close(process)
        self._release()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _close(process)
            self._release()


def _close(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, once it has ended; it does when its input has."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        return process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _pieces(batch: BookBatch) -> tuple[_Bytes, ...]:
    return batch.entries, batch.additions, batch.values, batch.sizes, batch.packed, batch.tags


def _send(stream: IO[bytes], pieces: Sequence[_Bytes]) -> None:
    """As few calls as there can be: after each, the thread waits for Python's lock."""
    if not hasattr(os, "writev"):
        data = memoryview(b"".join(pieces))
        while data:
            data = data[stream.write(data) :]
        return
    views = [memoryview(piece) for piece in pieces]
    while views:
        sent = os.writev(stream.fileno(), views[:_AT_ONCE])
        while views and sent >= len(views[0]):
            sent -= len(views.pop(0))
        if sent:
            views[0] = views[0][sent:]


def _put(file: int, pieces: Sequence[_Bytes]) -> None:
    """At its beginning; what was there has been read."""
    at = 0
    for first in range(0, len(pieces), _AT_ONCE):
        views = pieces[first : first + _AT_ONCE]
        whole = sum(map(len, views))
        if os.pwritev(file, views, at) != whole:
            raise OSError(0, "no room in memory for what is to be written")
        at += whole


def _receive(stream: IO[bytes]) -> Any:
    """What was pickled; nothing at all stands for None."""
    size = int.from_bytes(_exactly(stream, _HEAD), "little")
    return pickle.loads(_exactly(stream, size)) if size else None


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """So many bytes; EOFError if the stream ends before."""
    found = bytearray(size)
    view = memoryview(found)
    while view:
        count = os.readv(stream.fileno(), [view])
        if not count:
            raise EOFError
        view = view[count:]
    return bytes(found)


# --- the process -------------------------------------------------------------------------------------------------------


def serve() -> None:
    """Until the input ends.  Signals are for the one that started it, which then ends the input."""
    import signal

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    asked, answers = os.fdopen(0, "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)  # whoever prints does not answer
    if hasattr(os, "nice"):
        os.nice(_NICE)
    writer = Writer()
    writer.prepare()
    shapes: _Shapes = {}
    shared = _Shared(int(sys.argv[2])) if len(sys.argv) > 2 else None
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            answer = pickle.dumps(_carry_out(writer, asked, shared, shapes))
            _send(answers, [len(answer).to_bytes(_HEAD, "little") + answer])


class _Shared:
    """Memory that somebody else writes into."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._map: mmap.mmap | None = None
        self._at = 0

    def rewind(self) -> None:
        self._at = 0
        size = os.fstat(self._file).st_size
        if size and (self._map is None or len(self._map) < size):
            self._map = mmap.mmap(self._file, size, prot=mmap.PROT_READ)

    def take(self, size: int) -> memoryview:
        self._at += size
        return memoryview(self._map or b"")[self._at - size : self._at]


def _carry_out(
    writer: Writer, asked: IO[bytes], shared: _Shared | None, shapes: _Shapes
) -> WrittenFile | tuple[int, str]:
    """One file; or what went wrong."""
    path: str
    metadata: dict[bytes, bytes]
    told: list[_PartHead]
    path, metadata, offset_ns, told, forgotten = _receive(asked)
    if shared is not None:
        shared.rewind()
    parts = []
    for sequence, rows, more, commands, which, fresh, sizes in told:
        known = shapes.setdefault(which, [])
        known += fresh
        pieces = [_exactly(asked, size) if shared is None else shared.take(size) for size in sizes]
        entries, additions, values, lengths, packed, tags = pieces
        batch = BookBatch(entries, additions, values, lengths, packed, tags, more, commands, known, rows)
        parts.append(Part(batch, sequence))
    for which in forgotten:
        del shapes[which]
    try:
        return writer.write(Path(path), metadata, parts, offset_ns)
    except OSError as error:
        return error.errno or 0, error.strerror or str(error)
