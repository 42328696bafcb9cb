"""Recording to a store: the spool comes there whole, in an order that keeps what manifests promise, whatever dies."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.recording.test_manifest import agrees, manifest_of
from support.federation import Federation
from support.object_store import ObjectStore, credentials, reachable_store
from support.server_in_thread import eventually
from support.small_runs import BEGAN, SmallRun, fetched, recorded, rows_of, runs_here
from weft.cli import main
from weft.host.recording import spool as spools
from weft.host.recording.files import idle_until, write_idle
from weft.host.recording.manifest import read_manifest
from weft.host.recording.recording import NodeRecordings, local_runs, recordings_of, shown_place
from weft.host.recording.runs import open_run
from weft.host.recording.spool import (
    WHOLE,
    Notes,
    alone_in,
    clear_up,
    default_spool,
    folder_of,
    goes_to,
    hold,
    left_in,
    open_spool,
    runs_in,
    uploading,
)
from weft.host.recording.upload import Uploads
from weft.host.recording.uploader import Uploader
from weft.host.recording.writers import Writer
from weft.host.settings import RecordSettings, Settings
from weft.host.storage import Place, named_place, place_of


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with reachable_store() as made:
        yield made


# The order of uploads


class _Down(OSError):
    """The store does not answer."""


class _Store:
    """A folder as the store: it fails when it is to, counts what it takes, and looks at what a reader would find."""

    def __init__(self, top: Path, patch: pytest.MonkeyPatch, failing: Iterator[bool]) -> None:
        self.top = top
        self.taken: list[str] = []
        real_write, real_from = Place.write, Place.write_from

        def write(place: Place, data: bytes) -> None:
            self._take(place, failing)
            real_write(place, data)
            self.check()

        def write_from(place: Place, source: IO[bytes]) -> None:
            self._take(place, failing)
            real_from(place, source)
            self.check()

        patch.setattr(Place, "write", write)
        patch.setattr(Place, "write_from", write_from)

    def _take(self, place: Place, failing: Iterator[bool]) -> None:
        if next(failing, False):
            raise _Down("down")
        self.taken.append(place.below(place_of(self.top)))

    def check(self) -> None:
        """What a manifest lists is there; who has ended has a manifest that says so; run.json names what is there."""
        for run in {path.parents[1] for path in self.top.glob("*/*/*/*")}:
            ended = set()
            for path in (run / "manifest").glob("*"):
                found = read_manifest(path.read_bytes())
                assert not found.torn
                for one in found.files:
                    assert (run / one.file).stat().st_size == one.bytes
                ended |= {found.node} if found.end is not None else set()
            for path in (run / "nodes").glob("*"):
                assert json.loads(path.read_text())["ended_ns"] is None or path.stem in ended
            if (run / "rows").exists():
                assert (run / "run.json").exists()


@given(
    st.lists(st.sampled_from(["write", "write", "turn", "everything", "again"]), min_size=1, max_size=14),
    st.lists(st.booleans(), max_size=20),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_readers_of_the_store_find_what_they_are_promised(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], failing: list[bool], ends: bool
) -> None:
    """After each upload, however often the store is down and the uploader begins again; what is there is not uploaded again."""
    top = tmp_path_factory.mktemp("t")
    with pytest.MonkeyPatch.context() as patch:
        spool = open_spool(top / "spool", named_place("s3://never/opened"))
        store = _Store(top / "store", patch, iter(failing))
        place, now = place_of(top / "store"), [0.0]

        def begun() -> Uploads:
            return Uploads(lambda: runs_in(spool), place, keep=False, clock=lambda: now[0])

        run = SmallRun(spool)
        (run.folder / "fom").mkdir()
        (run.folder / "fom" / "0-model").write_text("model")
        held = hold(run.folder)
        uploads = begun()
        for step in steps:
            now[0] += 0.7
            if step == "write":
                run.write(2)
            elif step == "again":
                uploads = begun()
            else:
                with contextlib.suppress(_Down):
                    uploads.turn(everything=step == "everything")
        if ends:
            run.end()
        else:
            run.leave()
        held.close()
        rows = rows_of(run.folder) if run.rows else []
        while left_in(spool).files:
            with contextlib.suppress(_Down):
                uploads.turn()
        uploads.turn()
    assert not (run.folder / "rows").exists()
    assert (run.folder / WHOLE).exists()
    uploaded = [one for one in store.taken if "/rows/" in one]
    assert len(uploaded) == len(set(uploaded)) == run.files.files
    there = top / "store" / "F" / run.folder.name
    assert (rows_of(there) if run.rows else []) == rows
    assert (manifest_of(there).end is not None) == ends
    agrees(open_run(there), manifest_of(there))


def test_a_manifest_waits_the_longer_the_larger_it_is(tmp_path: Path) -> None:
    """Stores take files whole only: a manifest of a megabyte is uploaded every eleven seconds, not with each of its lines."""
    spool = open_spool(tmp_path / "spool", named_place("s3://never/opened"))
    run, now = SmallRun(spool), [0.0]
    uploads = Uploads(lambda: runs_in(spool), place_of(tmp_path / "store"), keep=True, clock=lambda: now[0])
    run.write(1)
    manifest = next((run.folder / "manifest").iterdir())
    manifest.write_bytes(manifest.read_bytes() + b'{"more": "' + b"x" * 10**6 + b'"}\n')
    there = tmp_path / "store" / "F" / run.folder.name / "manifest" / manifest.name
    with contextlib.closing(hold(run.folder)):
        uploads.turn()
        told = there.stat().st_mtime_ns
        run.write(1)
        now[0] = 10.9
        uploads.turn()
        assert there.stat().st_mtime_ns == told
        now[0] = 11.1
        uploads.turn()
    assert len(manifest_of(there.parents[1]).files) == 2
    run.leave()


def test_that_nothing_happens_is_told_behind_what_has_happened(tmp_path: Path) -> None:
    """Whoever follows the run there takes a node's word that everything until then is listed (issue 21, 7): a manifest that
    has to wait holds that word back, too.  A store keeps no times, so the word is what the file says."""
    spool = open_spool(tmp_path / "spool", named_place("s3://never/opened"))
    run, now = SmallRun(spool), [0.0]
    uploads = Uploads(lambda: runs_in(spool), place_of(tmp_path / "store"), keep=True, clock=lambda: now[0])
    there = place_of(tmp_path / "store" / "F" / run.folder.name)
    with contextlib.closing(hold(run.folder)):
        for number, (at, waits) in enumerate(
            [(0.0, False), (0.5, True), (5.0, False), (5.1, True), (5.2, True)], 1
        ):
            now[0] = at
            before = idle_until(there, "A")
            run.write(1)
            write_idle(run.folder, "A", BEGAN + number)
            uploads.turn()
            assert idle_until(there, "A") == (before if waits else BEGAN + number)
            assert len(manifest_of(Path(str(there))).files) >= (idle_until(there, "A") or BEGAN) - BEGAN
        write_idle(run.folder, "A", BEGAN + 100)
        now[0] = 20.0
        uploads.turn()
        write_idle(run.folder, "A", BEGAN + 101)
        uploads.turn()
        assert idle_until(there, "A") == BEGAN + 101, "nothing is new that it could hold back"
    run.leave()


def test_nodes_of_several_machines_find_the_same_run(tmp_path: Path) -> None:
    """Their spools are their own, and they began in different seconds: the store has one run (the id is the execution's)."""
    place = place_of(tmp_path / "store")
    for number, node in enumerate("AB"):
        spool = open_spool(tmp_path / node, named_place("s3://never/opened"))
        run = SmallRun(spool, node, BEGAN + number * 10**10)
        run.write(3)
        run.end()
        Uploads(lambda spool=spool: runs_in(spool), place, keep=False).turn()  # type: ignore[misc]
    (path,) = runs_here(tmp_path / "store")
    run_there = open_run(path)
    assert sorted(run_there.nodes) == ["A", "B"]
    assert run_there.ended
    assert len(rows_of(path)) == 6


# The spool


def test_what_is_whole_in_the_store_goes_a_day_later(tmp_path: Path) -> None:
    """Until then a node that comes back finds which run it belongs to; while somebody writes there it stays."""
    spool = open_spool(tmp_path, named_place("s3://lake/runs"))
    assert goes_to(spool) == named_place("s3://lake/runs")
    assert spool.stat().st_mode & 0o777 == 0o700
    folder = recorded(spool, [2])
    with contextlib.closing(hold(folder)), alone_in(folder) as mine:
        assert not mine
    with alone_in(folder) as mine:
        assert mine
        spools.let_go(folder)
    assert runs_in(spool) == []
    clear_up(spool, time.time() + 80_000)
    assert (folder / "run.json").exists()
    with contextlib.closing(hold(folder)):  # it came back
        assert runs_in(spool) == [folder]
        spools.let_go(folder)
        clear_up(spool, time.time() + 90_000)
        assert folder.exists()
    clear_up(spool, time.time() + 90_000)
    assert not folder.exists()
    assert list((spool / "F").iterdir()) == []


def test_notes_of_a_crash_are_read_as_the_lines_before(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.call_it("run")
    stamp = spools.FileStamp(1, 2)
    notes.add("a", stamp)
    whole = (tmp_path / ".uploaded").read_bytes()
    notes.add("b", stamp)
    written = (tmp_path / ".uploaded").read_bytes()
    for cut in range(len(whole), len(written)):
        (tmp_path / ".uploaded").write_bytes(written[:cut])
        again = Notes(tmp_path)
        assert (again.name, again.files) == ("run", {"a": stamp})
        again.add("c", stamp)
        assert Notes(tmp_path).files == {"a": stamp, "c": stamp}


def test_where_the_spool_is_by_default() -> None:
    """The user's folder for such files, as desktops have it."""
    assert default_spool({"XDG_STATE_HOME": "/state"}) == Path("/state/weft/spool")
    assert default_spool({}) == Path.home() / ".local/state/weft/spool"


def test_two_processes_do_not_upload_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(tmp_path / "runs", [1]).parents[1]
    with uploading(folder) as mine:
        assert mine
        assert main(["runs", "upload", str(folder), str(tmp_path / "store")]) == 2
        assert "another process uploads from there" in capsys.readouterr().err
    assert main(["runs", "upload", str(folder), str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out.startswith("4 files uploaded")
    assert rows_of(next((tmp_path / "store").glob("F/2*"))) == rows_of(next(folder.glob("F/2*")))
    assert main(["runs", "upload", str(folder), str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out.startswith("0 files uploaded")


# Real processes and a real store


def _federation() -> Federation:
    made = Federation(2)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.rti[1].subscribe_interaction_class(made.interaction("Event"))
    return made


def test_what_is_recorded_comes_to_the_store(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is recorded, though its uploader is killed meanwhile; at the end all of it, and the spool is empty."""
    reports: list[str] = []
    made = _federation()
    address = store.address("lake/live")
    recordings = NodeRecordings(
        address,
        reports.append,
        made.node._guarded,
        interval=0.02,
        writer=Writer(),
        spool=tmp_path / "spool",
        upload_seconds=300,
    )
    made.node._node.record(recordings, 0.0)
    assert recordings.facts()["directory"] == "s3://lake/live"
    made.send(0, "Event", tag=b"1")
    assert eventually(lambda: any(one.place.suffix == ".jsonl" for one in place_of(address).files()))
    uploader = recordings._uploader
    assert uploader is not None
    process = uploader._process
    process.kill()
    made.send(0, "Event", tag=b"2")
    assert eventually(lambda: uploader._process is not process)
    made.node._guarded(recordings.collect)
    made.node._node.stop_recording()
    recordings.close()
    made.close()
    assert not [text for text in reports if "not in" in text], reports
    (path,) = runs_here(fetched(place_of(address), tmp_path / "there"))
    run = open_run(path)
    assert run.ended
    assert not run.troubles
    agrees(run, manifest_of(path))
    assert [row["tag"] for row in rows_of(path) if row["kind"] == "send" and row["source"]] == [b"1", b"2"]
    assert not list((tmp_path / "spool").rglob("*.parquet"))


def test_a_store_that_is_down_is_told_once_and_keeps_nobody(
    store: ObjectStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end waits for a while, says what is left and with which command it goes on; that command does."""
    reports: list[str] = []
    nowhere = "s3://lake/down?endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1"
    spool = tmp_path / "spool"
    folder = recorded(open_spool(spool, named_place(nowhere)), [3, 4])
    rows = rows_of(folder)
    uploader = Uploader(named_place(nowhere), spool, reports.append, patience=0.5)
    assert eventually(lambda: reports)
    uploader.close()
    assert "nothing can be uploaded to s3://lake/down" in reports[0]
    assert f"weft runs upload {folder.parents[1]}" in reports[-1]
    assert "are not in s3://lake/down yet" in reports[-1]
    assert len([one for one in reports if "nothing can be uploaded" in one]) == 1
    assert main(["runs", "upload", str(folder.parents[1])]) == 2
    assert "3 files" not in capsys.readouterr().out
    address = store.address("lake/up")
    assert main(["runs", "upload", str(folder.parents[1]), address]) == 0
    capsys.readouterr()
    (path,) = runs_here(fetched(place_of(address), tmp_path / "there"))
    assert rows_of(path) == rows
    assert not list(spool.rglob("*.parquet"))


_RECORDS = """
import sys, time
sys.path[:0] = sys.argv[3:]
from support.federation import Federation
from weft.host.recording.recording import NodeRecordings
made = Federation(2)
made.rti[0].publish_interaction_class(made.interaction("Event"))
made.rti[1].subscribe_interaction_class(made.interaction("Event"))
recordings = NodeRecordings(sys.argv[1], print, made.node._guarded, interval=0.02, spool=sys.argv[2], keep_spool=True)
made.node._node.record(recordings, 0.0)
print(recordings._uploader._process.pid, flush=True)
number = 0
while True:
    number += 1
    made.send(0, "Event", tag=str(number).encode())
    print(number, flush=True)
    time.sleep(0.01)
"""


def test_passwords_in_addresses_are_not_shown(tmp_path: Path) -> None:
    """Neither in the log nor in what the run says of its settings; the spool keeps them, for its owner alone."""
    address = "s3://who:secret@lake/runs?endpoint_override=127.0.0.1:1&scheme=http&region=us-east-1"
    assert shown_place(address) == "s3://lake/runs"
    settings = Settings(record=RecordSettings(directory=address, spool=str(tmp_path), upload_seconds=0.1))
    reports: list[str] = []
    made = _federation()
    recordings = recordings_of(settings, reports.append, made.node._guarded)
    assert local_runs(settings) == str(recordings.directory)
    made.node._node.record(recordings, 0.0)
    made.send(0, "Event")
    made.node._guarded(recordings.collect)
    made.node._node.stop_recording()
    recordings.close()
    made.close()
    (path,) = runs_here(recordings.directory)
    assert open_run(path).ended
    hidden = [
        one for one in recordings.directory.rglob("*") if one.is_file() and b"secret" in one.read_bytes()
    ]
    assert hidden == [recordings.directory / "place.json"]
    assert hidden[0].stat().st_mode & 0o777 == 0o600
    assert "weft runs upload" in reports[-1]
    assert "secret" not in "".join(reports)


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_nothing_is_lost(seed: int, store: ObjectStore, tmp_path: Path) -> None:
    """SIGKILL of the recording process, and of the uploader before, after or with it: then `weft runs upload` goes on.

    In the store is what was written (which the spool keeps here), each row once, and the manifests agree with it.
    """
    killed_again_and_again(seed, store, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 22))
def test_killed_at_any_moment_nothing_is_lost_many_times(
    seed: int, store: ObjectStore, tmp_path: Path
) -> None:
    killed_again_and_again(seed, store, tmp_path)


def killed_again_and_again(seed: int, store: ObjectStore, tmp_path: Path) -> None:
    rng = random.Random(seed)
    address = store.address(f"lake/killed-{seed}")
    spool = tmp_path / "spool"
    for _ in range(2):
        _record_and_kill(rng, address, spool)
    folder = folder_of(spool, place_of(address))
    # The uploader outlives the recorder until it is done, unless it was killed: then its lock is free.
    assert eventually(lambda: _is_free(folder))
    assert main(["runs", "upload", str(spool), address]) == 0
    there = fetched(place_of(address), tmp_path / "there")
    kept = runs_here(there)
    assert len(kept) == 2
    for path in kept:
        rows = rows_of(path)
        numbers = [row["seq"] for row in rows]
        assert numbers == list(range(1, len(rows) + 1))
        sent = [int(row["tag"]) for row in rows if row["kind"] == "send" and row["source"]]
        assert sent == list(range(1, len(sent) + 1))
        found = manifest_of(path)
        run = open_run(path)
        listed = [run.path / one.file for one in found.files]
        assert set(listed) <= {one.path for one in run.files}
        assert len(run.files) - len(listed) <= 1  # of which the crash came before its line
        agrees(
            run.__class__(run.path, run.info, run.nodes, [one for one in run.files if one.path in listed]),
            found,
        )


def _is_free(folder: Path) -> bool:
    with uploading(folder) as mine:
        return mine


def _record_and_kill(rng: random.Random, address: str, spool: Path) -> None:
    command = [sys.executable, "-c", _RECORDS, address, str(spool), *[one for one in sys.path if one]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **credentials()})
    assert process.stdout is not None
    with process.stdout:
        uploader = int(process.stdout.readline())
        first, second = rng.randrange(1, 400), rng.randrange(1, 150)
        victims: list[Any] = [uploader, process.pid] if rng.random() < 0.7 else [process.pid]
        for wait, pid in zip((first, second), victims, strict=False):
            for _ in range(wait):
                process.stdout.readline()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
