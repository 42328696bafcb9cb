"""Who makes files of batches: one contract for the thread and for the process, and what becomes of a process that dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.federation import Federation
from support.server_in_thread import eventually
from weft.host import system
from weft.host.recording import writers
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.runs import RowFile, find_runs, open_run, read_rows
from weft.host.recording.writers import Part, ProcessWriter, Writer
from weft.host.storage import place_of
from weft.recorder import VERSION, Book, BookBatch

METADATA = {b"weft.schema": str(VERSION).encode()}


class PipeWriter(ProcessWriter):
    """As on a system without memory that two processes share."""

    def prepare(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(system, "SHARED_MEMORY", False)
            super().prepare()


@pytest.fixture(params=[Writer, ProcessWriter, PipeWriter])
def writer(request: pytest.FixtureRequest) -> Iterator[Writer]:
    made: Writer = request.param()
    made.prepare()
    yield made
    made.close()


def batch_of(book: Book, name: str, messages: range) -> BookBatch:
    rows = ((("kind", "send"), ("class", name), ("items", ("P",))), (("kind", "deliver"), ("class", name)))
    shape = book.shapes.get(name, -1)
    if shape < book.first:
        shape = book.learn(name, rows)
    for number in messages:
        book.enter(shape, 1.0, number, -1, {b"P": str(number).encode() * 50}, b"")
        if number % 2:
            book.add(7, number, 2.5, 3, {"vector": (number, 1)})
    taken = book.take()
    assert taken is not None
    return taken


def read(path: Path) -> list[dict[str, Any]]:
    count = pq.read_metadata(path).num_rows
    return list(read_rows(RowFile(place_of(path), "A", count, VERSION)).to_pylist())


def test_rows_are_in_the_file_as_they_were_entered(writer: Writer, tmp_path: Path) -> None:
    book = Book()
    first = batch_of(book, "Fire", range(1, 400))
    second = batch_of(book, "Hit", range(400, 403))  # a shape that comes later
    third = batch_of(book, "Fire", range(403, 405))
    writer.write(tmp_path / "1.parquet", METADATA, [Part(first, 1)], 10)
    writer.write(tmp_path / "2.parquet", METADATA, [Part(second, 799), Part(third, 805)], 10)
    rows = [row for name in ("1.parquet", "2.parquet") for row in read(tmp_path / name)]
    assert [row["seq"] for row in rows] == list(range(1, 809))
    assert {row["class"] for row in rows[798:804]} == {"Hit"}
    for place, row in enumerate(rows):
        number = place // 2 + 1
        assert row["message"] == number
        assert row["epoch_ns"] == row["mono_ns"] + 10 == 10**9 + 10
        sent = place % 2 == 0
        assert row["values"] == ([str(number).encode() * 50] if sent else None)
        caused = sent and number % 2 == 1
        assert (row["cause"], row["vector"]) == ((number, [number, 1]) if caused else (None, None))
        assert row["time_float"] == (2.5 if number % 2 else None)


def test_a_book_that_forgets_its_shapes_is_followed(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book()
    for turn in range(3):
        book.shapes.clear()
        book.first += len(book._shapes)
        book._shapes, book._lengths = [], []
        batch = batch_of(book, f"Class{turn}", range(1, 3))
        writer.write(tmp_path / f"{turn}.parquet", METADATA, [Part(batch, 1)], 0)
        assert {row["class"] for row in read(tmp_path / f"{turn}.parquet")} == {f"Class{turn}"}


def test_many_books_are_told_apart(writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when more have come and gone than are remembered."""
    monkeypatch.setattr(writers, "_LISTS", 2)
    books = [Book() for _ in range(5)]
    for turn in range(3):
        for number, book in enumerate(books):
            batch = batch_of(book, f"Class{number}", range(1, 3))
            path = tmp_path / f"{turn}-{number}.parquet"
            writer.write(path, METADATA, [Part(batch, 1)], 0)
            assert {row["class"] for row in read(path)} == {f"Class{number}"}


def test_what_cannot_be_written_is_an_os_error_and_leaves_nothing(writer: Writer, tmp_path: Path) -> None:
    batch = batch_of(Book(), "Fire", range(1, 3))
    with pytest.raises(OSError) as error:
        writer.write(tmp_path / "missing" / "1.parquet", METADATA, [Part(batch, 1)], 0)
    assert error.value.errno == errno.ENOENT
    assert error.value.strerror
    assert list(tmp_path.iterdir()) == []
    writer.write(tmp_path / "1.parquet", METADATA, [Part(batch, 1)], 0)  # it goes on
    assert len(read(tmp_path / "1.parquet")) == 4


def kill(writer: ProcessWriter) -> None:
    process = writer._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("kind", [ProcessWriter, PipeWriter])
def test_a_process_that_dies_is_replaced_and_nothing_is_lost(
    kind: type[ProcessWriter], tmp_path: Path
) -> None:
    writer, book = kind(), Book()
    writer.prepare()
    for turn in range(3):
        batch = batch_of(book, "Fire", range(1, 3))
        writer.write(tmp_path / f"{turn}.parquet", METADATA, [Part(batch, 1)], 0)
        assert [row["message"] for row in read(tmp_path / f"{turn}.parquet")] == [1, 1, 2, 2]
        kill(writer)
    writer.close()


def test_rows_are_counted_if_no_process_lives_long_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are written again as soon as one does."""
    reports: list[str] = []
    made = Federation(2)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.rti[1].subscribe_interaction_class(made.interaction("Event"))
    writer = ProcessWriter()
    recordings = NodeRecordings(tmp_path, reports.append, made.node._guarded, interval=0.01, writer=writer)
    made.node._node.record(recordings, 0.0)
    made.send(0, "Event", tag=b"first")
    assert eventually(lambda: bool(recordings.facts()["rows"]))
    works = writers._START
    monkeypatch.setattr(writers, "_START", "raise SystemExit(3)")
    kill(writer)
    made.send(0, "Event", tag=b"lost")
    assert eventually(lambda: reports)
    assert "the process that writes files ended 2 times, the last one with exit code 3" in reports[0]
    monkeypatch.setattr(writers, "_START", works)
    made.send(0, "Event", tag=b"kept")
    assert eventually(lambda: len(reports) == 2)
    made.node._guarded(recordings.collect)
    made.node._node.stop_recording()
    recordings.close()
    made.close()
    (path,) = find_runs(tmp_path)
    run = open_run(path)
    assert run.ended
    assert run.dropped == recordings.dropped > 0
    rows = run.read().to_pylist()
    tags = [row["tag"] for row in rows if row["tag"]]
    assert tags[0] == b"first"
    assert tags[-1] == b"kept"
    assert sum(row["queue"] for row in rows if row["kind"] == "dropped") == run.dropped
    assert rows[-1]["seq"] == run.rows + run.dropped


def test_where_no_process_comes_as_far_as_its_first_file_the_thread_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "_START", "raise SystemExit(3)")
    writer = ProcessWriter()
    writer.prepare()
    writer.write(tmp_path / "1.parquet", METADATA, [Part(batch_of(Book(), "Fire", range(1, 3)), 1)], 0)
    assert len(read(tmp_path / "1.parquet")) == 4
    writer.close()


def test_what_both_have_does_not_stay_large(writer: Writer, tmp_path: Path) -> None:
    book = Book(most_bytes=1 << 40)
    shape = book.learn("x", ((("kind", "send"), ("items", ("P",))),))
    for number, size in enumerate((100, writers._KEPT + 1, 200)):
        book.enter(shape, 1.0, 1, -1, {b"P": bytes(size)}, b"")
        batch = book.take()
        assert batch is not None
        writer.write(tmp_path / f"{number}.parquet", METADATA, [Part(batch, 1)], 0)
        assert read(tmp_path / f"{number}.parquet")[0]["values"] == [bytes(size)]
        if isinstance(writer, ProcessWriter) and writer._shared >= 0:
            assert os.fstat(writer._shared).st_size <= writers._KEPT


def test_where_no_process_can_be_started_the_thread_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refused)
    writer = ProcessWriter()
    writer.prepare()
    writer.write(tmp_path / "1.parquet", METADATA, [Part(batch_of(Book(), "Fire", range(1, 3)), 1)], 0)
    assert len(read(tmp_path / "1.parquet")) == 4
    writer.close()


def test_signals_to_all_processes_do_not_end_it_before_its_work(tmp_path: Path) -> None:
    """Ctrl-C in a terminal and systemd reach it too; the node then writes its last rows."""
    writer = ProcessWriter()
    writer.prepare()
    batch = batch_of(Book(), "Fire", range(1, 3))
    writer.write(tmp_path / "1.parquet", METADATA, [Part(batch, 1)], 0)  # it has begun
    assert writer._process is not None
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(writer._process.pid, number)
    writer.write(tmp_path / "2.parquet", METADATA, [Part(batch, 5)], 0)
    assert len(read(tmp_path / "2.parquet")) == 4
    process = writer._process
    writer.close()
    assert process.returncode == 0


def test_recording_may_begin_again_while_federates_run(tmp_path: Path) -> None:
    """What messages look like is remembered in numbers of the book; those of the last one are not those of the next."""
    made = Federation(2)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.rti[1].subscribe_interaction_class(made.interaction("Event"))
    for turn in (b"one", b"two", b"three"):
        made.node.record(tmp_path / turn.decode())
        for _ in range(3 if turn == b"one" else 1):  # so that numbers differ
            made.rti[0].unpublish_interaction_class(made.interaction("Event"))
            made.rti[0].publish_interaction_class(made.interaction("Event"))
        made.send(0, "Event", tag=turn)
        made.send(0, "Event", tag=turn)
        made.node.stop_recording()
        (path,) = find_runs(tmp_path / turn.decode())
        rows = open_run(path).read().to_pylist()
        assert [row["tag"] for row in rows if row["kind"] == "send"] == [turn, turn]
        assert [row["service"] for row in rows if row["kind"] == "deliver"] == ["receive_interaction"] * 2
    made.close()


def test_the_start_row_tells_when_the_node_began_to_record(tmp_path: Path) -> None:
    """And not when it is written, which is after what happened meanwhile: by the clock, too, it comes before that."""
    made = Federation(1)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.node.record(tmp_path)
    made.send(0, "Event")
    made.node.stop_recording()
    (path,) = find_runs(tmp_path)
    rows = {row["kind"]: row for row in open_run(path).read().to_pylist()}
    assert rows["start"]["seq"] == 1
    assert rows["start"]["mono_ns"] <= rows["send"]["mono_ns"] <= rows["stop"]["mono_ns"]
    made.close()
