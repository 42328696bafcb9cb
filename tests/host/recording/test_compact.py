"""`weft runs compact`: many small files of a run become few large ones, and whoever reads finds each row once, at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.recording.test_manifest import agrees, manifest_of
from support.object_store import credentials, object_store
from support.small_runs import SmallRun, fetched, recorded, rows_of, rows_of_files
from weft.cli import main
from weft.host.processes import this_process
from weft.host.recording import compact as compacting
from weft.host.recording.compact import RunInUseError, compact, runs_below
from weft.host.recording.files import RecordingError
from weft.host.recording.manifest import Manifest
from weft.host.recording.runs import open_run
from weft.host.storage import Place, place_of

ROWS, GROUP = 40, 16


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "ROWS_IN_FILE", ROWS)
    monkeypatch.setattr(compacting, "ROWS_IN_GROUP", GROUP)


SIZES = st.lists(
    st.integers(1, 50) | st.integers(-5, -1) | st.integers(1, 4), min_size=1, max_size=12
).filter(lambda sizes: max(sizes) > 0)


@given(SIZES, st.booleans())
@settings(max_examples=40, deadline=None)
def test_all_rows_are_there_and_in_few_files(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], listed: bool
) -> None:
    """With a manifest or without: the same rows in the same order, files only end where rows are missing or one is full."""
    folder = recorded(tmp_path_factory.mktemp("runs"), sizes, listed)
    before, ended = rows_of(folder), listed and manifest_of(folder).end
    done = compact(place_of(folder))
    assert rows_of(folder) == before
    assert done.rows == len(before)
    run = open_run(folder)
    assert not run.troubles
    assert [file.path.name for file in run.files] == sorted(file.path.name for file in run.files)
    for one, two in zip(run.files, run.files[1:], strict=False):
        assert two.first > one.last + 1 or one.rows + two.rows > ROWS
    if listed or done.after < done.before:
        found = manifest_of(folder)
        agrees(run, found)
        assert found.end is not None
        assert found.end[1:3] == (len(run.files), len(before))
        assert not listed or (ended and ended.end_ns == found.end.end_ns)
    again = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert compact(place_of(folder)).after == done.after == len(run.files)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == again


def test_rows_are_in_groups_of_one_size(tmp_path: Path) -> None:
    folder = recorded(tmp_path, [7] * 5)
    assert compact(place_of(folder)).after == 1
    (path,) = (folder / "rows" / "node=A").iterdir()
    told = pq.read_metadata(path)
    assert [told.row_group(place).num_rows for place in range(told.num_row_groups)] == [16, 16, 3]
    assert told.row_group(1).column(0).statistics.min == 17
    assert path.name.endswith("-000006.parquet")


# Killed at any moment


class _Killed(BaseException):
    """Instead of a signal: whatever is done after it is not done."""


def listed_rows(folder: Path) -> list[dict[str, Any]]:
    """As one reads who goes by the manifest: what it lists, and files that have rows which no listed one has."""
    found: Manifest = manifest_of(folder)
    files = [folder / one.file for one in found.files]
    spans = [(one.first, one.last) for one in found.files]
    for path in sorted((folder / "rows" / "node=A").glob("[!.]*.parquet")):
        if path not in files:
            seq = pq.read_table(path, columns=["seq"], partitioning=None)["seq"].to_pylist()
            assert any(first <= seq[0] for first, last in spans)
            assert any(last >= seq[-1] for first, last in spans)
    return rows_of_files(files)


@pytest.mark.parametrize("sizes", [[3] * 9, [50, 5, 5, -3, 30, 30], [39, 1, 1, 39]], ids=str)
def test_killed_at_any_moment_each_row_is_there_once(
    tmp_path: Path, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of its changes, one after the other: by the manifest, and by the numbers of rows alone; then it goes on."""
    whole = rows_of(recorded(tmp_path / "whole", sizes))
    moment = 0
    while True:
        folder = recorded(tmp_path / str(moment), sizes)
        left = [moment]

        def counted(name: str, left: list[int] = left) -> Any:
            real = getattr(Place, name)

            def change(self: Place, *arguments: object) -> None:
                if not left[0]:
                    raise _Killed
                left[0] -= 1
                real(self, *arguments)

            return change

        with monkeypatch.context() as patch:
            for name in ("write", "write_from", "remove"):
                patch.setattr(Place, name, counted(name))
            try:
                compact(place_of(folder))
            except _Killed:
                assert rows_of(folder) == whole
                assert listed_rows(folder) == whole
            else:
                break
        compact(place_of(folder))
        assert rows_of(folder) == whole
        agrees(open_run(folder), manifest_of(folder))
        moment += 1
    assert moment >= 5


# What is left alone


def test_a_run_that_is_still_written_is_left_alone(tmp_path: Path) -> None:
    """Its process lives, or wrote not long ago; an hour later, or when it is known to have died, it is over."""
    run = SmallRun(tmp_path)
    for _ in range(3):
        run.write(2)
    place = place_of(run.folder)
    with pytest.raises(RunInUseError, match="still being written by A"):
        compact(place)
    run.files.write_node({"node": "A", "began_ns": run.began_ns, "ended_ns": None, "process": this_process()})
    with pytest.raises(RunInUseError):
        compact(place, now=1e12)
    run.leave()
    dead = {**this_process(), "pid": 2**22 + 1}
    run.files.write_node({"node": "A", "began_ns": run.began_ns, "ended_ns": None, "process": dead})
    assert compact(place).after == 1
    assert manifest_of(run.folder).end is None
    assert len(rows_of(run.folder)) == 6


def test_what_is_wrong_is_not_carried_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A changed file, and one of which it is not known whether its rows are others': told, and nothing is touched."""
    folder = recorded(tmp_path, [3, 3, 3])
    path = sorted((folder / "rows" / "node=A").iterdir())[1]
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    assert main(["runs", "compact", str(tmp_path)]) == 1
    assert "-000002.parquet is not what its writer says of it" in capsys.readouterr().err
    path.write_bytes(data)
    other = recorded(tmp_path / "other", [8, 3])
    (other / "rows" / "node=A" / path.name).rename(path.with_name("1700000000000000000-000009.parquet"))
    with pytest.raises(RecordingError, match="it is not known which to keep"):
        compact(place_of(folder))
    assert len(list(path.parent.iterdir())) == 4


def test_a_listed_file_that_is_missing_stays_missing(tmp_path: Path) -> None:
    """What a manifest proves missing is not hidden; one that was only renamed is not taken for a repeat of it."""
    folder = recorded(tmp_path, [3, 3, 3, 3, 3])
    rows = folder / "rows" / "node=A"
    names = sorted(path.name for path in rows.iterdir())
    (rows / names[1]).unlink()
    (rows / names[3]).rename(rows / names[3].replace("000004", "000099"))
    before = rows_of(folder)
    assert compact(place_of(folder)).after == 3
    assert rows_of(folder) == before
    found = manifest_of(folder)
    assert [(one.first, one.last) for one in found.files] == [(1, 3), (4, 6), (7, 15)]
    assert not (folder / found.files[1].file).exists()
    assert found.end is not None
    assert found.end.rows == 15


# In a store


@pytest.fixture(scope="module")
def store_address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, object_store() as store:
        for name, value in credentials().items():
            patch.setenv(name, value)
        yield store.address("lake/runs")


@pytest.mark.parametrize("kind", ["s3", "memory"])
def test_in_a_store_it_is_the_same(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    address = cast("str", request.getfixturevalue("store_address")) if kind == "s3" else "memory://lake/runs"
    folder = recorded(tmp_path / "here", [3] * 5)
    place = place_of(address)
    for path in folder.rglob("*"):
        if path.is_file():
            (place / os.fspath(path.relative_to(tmp_path / "here"))).write(path.read_bytes())
    assert runs_below(place) == [place / "F" / folder.name]
    assert main(["runs", "compact", address]) == 0
    assert "5 files, now 1 (15 rows)" in capsys.readouterr().out
    again = fetched(place, tmp_path / "there") / "F" / folder.name
    assert rows_of(again) == rows_of(folder)
    agrees(open_run(again), manifest_of(again))
