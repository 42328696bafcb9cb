"""Manifests: what the recorder says it has written, whatever happens to disk and processes meanwhile (PIPELINE.md, section 2)."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.federation import Federation
from support.server_in_thread import eventually
from support.small_runs import runs_here
from weft.host.recording import manifest as manifests
from weft.host.recording.manifest import (
    ListedFile,
    Manifest,
    ManifestEnd,
    ManifestKeeper,
    ManifestWriter,
    WrittenFile,
    read_manifest,
)
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.runs import Run, open_run
from weft.host.recording.writers import Writer
from weft.recorder import VERSION

NUMBERS = st.integers(0, 2**62)
LISTED = st.builds(
    ListedFile,
    st.text(st.characters(codec="utf-8"), max_size=9),
    *[NUMBERS] * 6,
    st.just("0" * 64),
    NUMBERS,
    NUMBERS,
)


@given(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=9),
    st.lists(LISTED, max_size=4),
    st.none() | st.builds(ManifestEnd, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_a_torn_manifest_reads_as_the_lines_before(
    tmp_path_factory: pytest.TempPathFactory,
    node: str,
    files: list[ListedFile],
    end: ManifestEnd | None,
    data: st.DataObject,
) -> None:
    """Cut off at any byte: what is whole is read, and that it was cut off is told, unless it was between two lines."""
    folder = tmp_path_factory.mktemp("run")
    writer = ManifestWriter(folder, "run", node, 7, VERSION)
    whole = [writer.path.stat().st_size]
    for file in files:
        writer.add(file)
        whole.append(writer.path.stat().st_size)
    if end is not None:
        writer.end(end)
    writer.close()
    written = writer.path.read_bytes()
    cut = data.draw(st.integers(0, len(written)) | st.sampled_from(whole))
    if cut < whole[0]:
        with pytest.raises(ValueError, match="first line"):
            read_manifest(written[:cut])
        return
    ended = end if cut == len(written) else None
    kept = files[: sum(size <= cut for size in whole[1:])]
    torn = cut not in whole and ended is None
    assert read_manifest(written[:cut]) == Manifest("run", node, 7, VERSION, kept, ended, torn)


@given(st.lists(LISTED, min_size=1, max_size=8), st.lists(st.integers(0, 5), max_size=12))
@settings(max_examples=60, deadline=None)
def test_what_a_full_disk_refuses_is_written_later(
    tmp_path_factory: pytest.TempPathFactory, files: list[ListedFile], room: list[int]
) -> None:
    """Whenever a disk has no room for a line, or for all of it, every file is listed once and in order as soon as it has."""
    folder = tmp_path_factory.mktemp("run")
    rooms = iter(room)
    with pytest.MonkeyPatch.context() as patch:
        keeper = ManifestKeeper(folder, "run", "A", 7, VERSION)
        patch.setattr(manifests, "open", lambda *a, **k: _Disk(open(*a, **k), rooms), raising=False)  # noqa: SIM115
        for file in files:
            written = WrittenFile(*file[1:8])
            with contextlib.suppress(OSError):
                keeper.add(folder / "rows" / "1.parquet", written, file.schema, file.dropped)
        room.clear()
        for _ in rooms:
            pass
        keeper.end(9, 3)
    (path,) = (folder / "manifest").iterdir()
    found = read_manifest(path.read_bytes())
    assert [one[1:] for one in found.files] == [one[1:] for one in files]
    assert found.end == ManifestEnd(9, len(files), sum(one.rows for one in files), 3)


class _Disk:
    """A file on a disk that has so much room for each write: 0 none, 1 … 4 a part, else all; it may refuse to be cut, too."""

    def __init__(self, file: Any, room: Iterator[int]) -> None:
        self._file, self._room = file, room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        room = next(self._room, 5)
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self._file.write(data if room == 5 else data[: len(data) * room // 5]))

    def truncate(self, size: int) -> int:
        if next(self._room, 5) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return int(self._file.truncate(size))


# The recorder


def manifest_of(path: Path) -> Manifest:
    (file,) = (path / "manifest").iterdir()
    return read_manifest(file.read_bytes())


def agrees(run: Run, found: Manifest) -> None:
    """Each line is what the file itself says; together they are all files."""
    assert [run.path / one.file for one in found.files] == [one.path for one in run.files]
    for line in found.files:
        path = Path(str(run.path / line.file))
        data = path.read_bytes()
        rows = pq.ParquetFile(path).read(["seq", "epoch_ns"])
        seq, clock = rows["seq"].to_pylist(), rows["epoch_ns"].to_pylist()
        assert line[1:6] == (len(rows), seq[0], seq[-1], min(clock), max(clock))
        assert (line.bytes, line.sha256, line.schema) == (
            len(data),
            hashlib.sha256(data).hexdigest(),
            VERSION,
        )


@pytest.mark.parametrize("writer", [None, Writer])
def test_the_recorder_lists_what_it_writes(tmp_path: Path, writer: type[Writer] | None) -> None:
    """By the process that writes, and by the thread where there is none."""
    made = Federation(2)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.rti[1].subscribe_interaction_class(made.interaction("Event"))
    recordings = NodeRecordings(
        tmp_path, print, made.node._guarded, interval=0.01, writer=None if writer is None else writer()
    )
    made.node._node.record(recordings, 0.0)
    for turn in range(3):
        made.send(0, "Event", tag=b"x" * turn)
        written = recordings.facts()["rows"]
        assert eventually(lambda before=written: recordings.facts()["rows"] != before)  # type: ignore[misc]
    (path,) = runs_here(tmp_path)
    assert manifest_of(path).end is None
    made.node._guarded(recordings.collect)
    made.node._node.stop_recording()
    recordings.close()
    made.close()
    run = open_run(path)
    found = manifest_of(path)
    agrees(run, found)
    told = run.nodes[found.node]
    assert (found.run, found.began_ns, found.schema) == (path.name, told["began_ns"], VERSION)
    assert found.end is not None
    assert found.end[1:] == (len(run.files), run.rows, 0)
    assert len(found.files) >= 3


def test_a_manifest_that_cannot_be_written_costs_no_rows(tmp_path: Path) -> None:
    """It is told once, and once when it works again; then all files are listed (docs/how-to/recording.md)."""
    reports: list[str] = []
    made = Federation(2)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.rti[1].subscribe_interaction_class(made.interaction("Event"))
    recordings = NodeRecordings(tmp_path, reports.append, made.node._guarded, interval=0.01, writer=Writer())
    refused = [True]

    def fsync(file: int) -> None:
        if refused[0] and os.readlink(f"/proc/self/fd/{file}").endswith(".jsonl"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.host.recording.manifest.os.fsync", fsync)
        made.node._node.record(recordings, 0.0)
        for turn in range(3):
            made.send(0, "Event", tag=b"x" * turn)
            written = recordings.facts()["rows"]
            assert eventually(lambda before=written: recordings.facts()["rows"] != before)  # type: ignore[misc]
        assert eventually(lambda: len(reports) == 1)
        refused[0] = False
        made.send(0, "Event", tag=b"works")
        assert eventually(lambda: len(reports) == 2)
        made.node._guarded(recordings.collect)
        made.node._node.stop_recording()
        recordings.close()
        made.close()
    assert "manifest" in reports[0]
    assert "No space left" in reports[0]
    assert "whole again" in reports[1]
    (path,) = runs_here(tmp_path)
    run = open_run(path)
    agrees(run, manifest_of(path))
    assert run.dropped == 0
    assert [row["tag"] for row in run.read().to_pylist() if row["kind"] == "send" and row["source"]][1:] == [
        b"x",
        b"xx",
        b"works",
    ]
