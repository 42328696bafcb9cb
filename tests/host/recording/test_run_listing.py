"""Issue 21, 2: runs are planned by their manifests; what these do not tell is looked for, and what they tell wrongly is named."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.manifests import list_anew
from weft.host.recording import listing
from weft.host.recording.files import NodeFiles, RecordingError, arrow_schema
from weft.host.recording.manifest import FOLDER, ManifestEnd
from weft.host.recording.row_files import RowFile, cut_up, read_rows, row_tables
from weft.host.recording.runs import Run, open_run
from weft.host.storage import place_of
from weft.recorder import VERSION

INFO = {"federation": "F", "start_ns": 1, "time": "HLAinteger64Time"}
NODES = ("north", "süd 1")


def make_run(folder: Path, chance: random.Random, lives: int = 2) -> Path:
    """Some processes of each node, with files of some rows each; some rows were dropped."""
    for node in NODES:
        for life in range(lives):
            began = 1000 + life
            files = NodeFiles(folder, node, began, INFO)
            seq, rows, dropped = 1, 0, 0
            for _ in range(chance.randrange(1, 9)):
                count, gap = chance.randrange(1, 30), chance.choice([0, 0, 0, 5])
                files.write_rows(table(seq + gap, count, began).replace_schema_metadata(files.metadata))
                seq, rows, dropped = seq + gap + count, rows + count, dropped + gap
            told = {"node": node, "began_ns": began, "ended_ns": began + 500, "rows": rows}
            files.write_node({**told, "dropped": dropped, "others": [n for n in NODES if n != node]})
    return folder


def table(first: int, count: int, began: int) -> pa.Table:
    columns: dict[str, Any] = {
        "seq": list(range(first, first + count)),
        "epoch_ns": [began * 1000 + n for n in range(first, first + count)],
        "kind": ["send"] * count,
    }
    arrays = [pa.array(columns.get(field.name, [None] * count), field.type) for field in arrow_schema()]
    return pa.Table.from_arrays(arrays, schema=arrow_schema())


def told(run: Run) -> list[tuple[object, ...]]:
    """What is known of each file."""
    return [
        (
            str(f.path),
            f.node,
            f.rows,
            f.version,
            f.first,
            f.last,
            f.said_node,
            f.said_run,
            f.bytes,
            f.from_ns,
            f.to_ns,
        )
        for f in run.files
    ]


def numbers(run: Run) -> list[tuple[str, str, int]]:
    """Node, process and number of each row that is read, in order."""
    return [
        (file.node, file.life, seq)
        for file in run.files
        for seq in read_rows(file, ["seq"])["seq"].to_pylist()
    ]


@pytest.mark.parametrize("seed", range(6))
def test_manifests_tell_what_the_files_tell(tmp_path: Path, seed: int) -> None:
    """Each file with its rows, numbers, times and version: the same as by looking into all of them."""
    run = make_run(tmp_path / "run", random.Random(seed))
    looked_into = open_run(run)
    list_anew(run)
    planned = open_run(run)
    assert told(planned) == told(looked_into)
    assert all(file.listed for file in planned.files)
    assert (planned.nodes, planned.troubles) == (looked_into.nodes, [])
    assert open_run(run, checked=True).troubles == []


def test_nothing_is_listed_or_opened_where_manifests_tell_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = list_anew(make_run(tmp_path / "run", random.Random(1)))

    def never(*given: object) -> None:
        raise AssertionError("a folder was listed, or a file opened")

    monkeypatch.setattr(listing, "_unlisted_in", never)
    monkeypatch.setattr(listing, "described", never)
    assert open_run(run).rows > 0


def test_to_list_runs_needs_no_arrow(tmp_path: Path) -> None:
    """`weft runs` of a folder on this machine: neither Arrow nor its storage is imported (issue 21, 1)."""
    list_anew(make_run(tmp_path / "run", random.Random(2)))
    script = (
        "import sys; from weft.host.recording.runs import find_runs, open_run\n"
        f"(run,) = [open_run(one) for one in find_runs({str(tmp_path)!r})]\n"
        "assert run.rows and run.bytes and run.start_ns and run.state == 'ended in order'\n"
        "assert not [name for name in sys.modules if name.startswith('pyarrow')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("seed", range(8))
def test_what_a_crash_left_unlisted_is_looked_for(tmp_path: Path, seed: int) -> None:
    """A manifest without its last lines, torn or not, or none at all: the same files are found, without a word of it."""
    chance = random.Random(seed)
    run = list_anew(make_run(tmp_path / "run", chance))
    whole = told(open_run(run))
    for path in sorted((run / FOLDER).iterdir()):
        lines = path.read_bytes().splitlines(keepends=True)
        kept = lines[: chance.randrange(0, len(lines) + 1)]
        half = kept.pop()[: chance.randrange(1, 40)] if len(kept) > 1 and chance.random() < 0.5 else b""
        path.write_bytes(b"".join(kept) + half)
        if not kept:
            path.unlink()
    found = open_run(run)
    assert told(found) == whole
    assert found.troubles == []


def compacted(run: Path, chance: random.Random) -> None:
    """Some files that follow one another become one; some of the old ones are still there."""
    for path in sorted((run / FOLDER).iterdir()):
        head, *lines, end = map(json.loads, path.read_text().splitlines())
        at, made = 0, []
        while at < len(lines):
            group = lines[at : at + chance.randrange(1, 5)]
            at += len(group)
            made.append(group[0] if len(group) == 1 else together(run, group))
            for one in group if len(group) > 1 else ():
                if chance.random() < 0.6:
                    (run / one["file"]).unlink()
        end = ManifestEnd(end["end_ns"], len(made), end["rows"], end["dropped"])._asdict()
        path.write_text("".join(json.dumps(line) + "\n" for line in (head, *made, end)))


def together(run: Path, group: list[dict[str, Any]]) -> dict[str, Any]:
    paths = [run / one["file"] for one in group]
    tables = [pq.read_table(path, partitioning=None) for path in paths]
    target = paths[0].with_name(f"{paths[0].stem}-{len(paths)}.parquet")
    pq.write_table(pa.concat_tables(tables), target, row_group_size=17)
    last = {name: group[-1][name] for name in ("last", "to_ns", "dropped")}
    rows = sum(one["rows"] for one in group)
    more = {"file": target.relative_to(run).as_posix(), "rows": rows, "bytes": target.stat().st_size}
    return {**group[0], **last, **more}


@pytest.mark.parametrize("seed", range(8))
def test_each_row_is_read_once_though_files_were_put_together(tmp_path: Path, seed: int) -> None:
    """Small files that are left over beside the large one which has their rows are not read; it is said, in one line."""
    chance = random.Random(seed)
    run = list_anew(make_run(tmp_path / "run", chance))
    every = numbers(open_run(run))
    compacted(run, chance)
    for checked in (False, True):
        found = open_run(run, checked=checked)
        assert numbers(found) == every
        assert len(found.troubles) <= checked
        assert all("left over" in text for text in found.troubles)


def test_a_process_of_an_older_weft_beside_one_that_lists(tmp_path: Path) -> None:
    """Its files are looked into, whether its node was started again or not."""
    run = list_anew(make_run(tmp_path / "run", random.Random(3)))
    whole = told(open_run(run))
    for path in sorted((run / FOLDER).glob("*-1000.jsonl")):
        path.unlink()
    assert told(open_run(run, checked=True)) == whole
    shutil.rmtree(run / FOLDER)
    assert told(open_run(run, checked=True)) == whole


def test_a_manifest_that_cannot_be_read_costs_nothing_but_time(tmp_path: Path) -> None:
    run = list_anew(make_run(tmp_path / "run", random.Random(4)))
    whole = told(open_run(run))
    path = sorted((run / FOLDER).iterdir())[0]
    path.write_text('{"manifest": 99}\n')
    found = open_run(run)
    assert told(found) == whole
    (trouble,) = found.troubles
    assert str(path) in trouble


def test_a_newer_schema_is_refused_by_the_manifest(tmp_path: Path) -> None:
    run = list_anew(make_run(tmp_path / "run", random.Random(5)))
    path = sorted((run / FOLDER).iterdir())[0]
    path.write_text(path.read_text().replace(f'"schema": {VERSION},', f'"schema": {VERSION + 1},'))
    with pytest.raises(RecordingError, match=f"version {VERSION + 1} of the row schema"):
        open_run(run)


def test_what_is_not_as_listed_is_named(tmp_path: Path) -> None:
    """Missing, changed, torn, in no list; a file that is opened unchecked says so itself."""
    run = list_anew(make_run(tmp_path / "run", random.Random(6), lives=1))
    paths = sorted((run / "rows").glob("*/*.parquet"))
    missing, torn, changed = paths[:3]
    missing.unlink()
    torn.write_bytes(torn.read_bytes()[:-9])
    pq.write_table(pq.read_table(changed, partitioning=None), changed, compression="none")
    stranger = Path(shutil.copy(paths[3], paths[3].with_name("1000-000099.parquet")))
    unchecked = {str(file.path): file for file in open_run(run).files}
    for path in (missing, torn):
        with pytest.raises(OSError, match=r"no such file|No such file|the manifest lists"):
            read_rows(unchecked[str(path)])
    found = open_run(run, checked=True)
    for path in (missing, torn, changed, stranger):
        assert [text for text in found.troubles if str(path) in text], (path, found.troubles)
    assert len(found.troubles) == 4
    with pytest.raises(RecordingError, match=r"cannot be read"):
        open_run(run).read()


# Parts of a file


@pytest.mark.parametrize("seed", range(10))
def test_pieces_of_a_file_have_each_row_once_and_in_order(tmp_path: Path, seed: int) -> None:
    """Whatever its row groups, and however it is cut, and however many groups are read together."""
    chance = random.Random(seed)
    rows, path = chance.randrange(1, 400), tmp_path / "1-000001.parquet"
    metadata = {b"weft.schema": str(VERSION).encode()}
    pq.write_table(
        table(1, rows, 1).replace_schema_metadata(metadata), path, row_group_size=chance.randrange(1, 90)
    )
    file = RowFile(place_of(path), "A", rows, VERSION)
    for most in (1, 7, 50, rows, 1000):
        pieces = cut_up(file, most)
        assert sum(piece.count for piece in pieces) == rows
        assert max(piece.count for piece in pieces) <= 2 * most
        for at_once in (0, 1, 40):
            tables = [t for piece in pieces for t in row_tables(piece, ["node", "seq"], at_once)]
            assert len(tables) >= len(pieces)
            assert [seq for t in tables for seq in t["seq"].to_pylist()] == list(range(1, rows + 1))
            assert all(name == "A" for t in tables for name in t["node"].to_pylist())
