"""Issue 8: a recorded run as a table of Spark, whole and while it is being written; in the group of the other Spark tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from review.simulation import Row, Simulation, number, write
from weft.host.recording.files import RecordingError
from weft.host.recording.runs import open_run
from weft.host.storage import place_of
from weft.recorder import COLUMNS, VERSION
from weft.review import register
from weft.review.spark import run_files

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


@pytest.fixture
def table(spark: Any) -> Callable[..., Any]:
    """The table of a run, in the session that is there."""
    register(spark)

    def load(run: Path, **options: str) -> Any:
        return spark.read.format("weft").options(**options).load(str(run))

    return load


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "run", number(Simulation(3, steps=60).rows), rows_per_file=25)


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["node"], row["seq"]))


def rewrite(file: Path, change: Callable[[Any], Any]) -> None:
    table = pq.read_table(file, partitioning=None)
    pq.write_table(change(table), file)


def with_version(version: int) -> Callable[[Any], Any]:
    def change(table: Any) -> Any:
        return table.replace_schema_metadata({**table.schema.metadata, b"weft.schema": str(version).encode()})

    return change


def test_all_rows_with_all_columns(table: Callable[..., Any], run: Path) -> None:
    """What Spark gives is what the run's own reader gives, column by column."""
    frame = table(run)
    assert frame.columns == [column.name for column in COLUMNS]
    assert in_order(frame.toArrow().to_pylist()) == in_order(open_run(run).read().to_pylist())


def test_options_and_filters_leave_out_the_same(table: Callable[..., Any], run: Path) -> None:
    """Columns, kinds and nodes by options; filters of Spark's own, which files are read with."""
    every = open_run(run).read().to_pylist()
    chosen = table(run, columns="seq,kind,federate", kinds="send,deliver", nodes="node 1")
    assert chosen.columns == ["seq", "kind", "federate"]
    expected = [r for r in every if r["kind"] in ("send", "deliver") and r["node"] == "node 1"]
    assert [tuple(row) for row in chosen.orderBy("seq").collect()] == [
        (row["seq"], row["kind"], row["federate"]) for row in expected
    ]
    wanted = "node = 'node 0' AND kind IN ('send', 'grant') AND seq > 20 AND (federate = 2 OR source IS NULL)"
    expected = [
        r
        for r in every
        if r["node"] == "node 0"
        and r["kind"] in ("send", "grant")
        and r["seq"] > 20
        and (r["federate"] == 2 or r["source"] is None)
    ]
    assert expected
    assert in_order(table(run).where(wanted).toArrow().to_pylist()) == in_order(expected)


def test_an_older_file_has_nulls_and_a_newer_one_is_refused(table: Callable[..., Any], run: Path) -> None:
    files = sorted((run / "rows").glob("*/*.parquet"))
    rewrite(files[0], lambda old: old.drop_columns(["control_bytes", "vector", "kind"]))
    nulls = table(run, columns="kind").where("kind IS NULL").count()
    assert nulls == pq.read_metadata(files[0]).num_rows
    rewrite(files[1], with_version(VERSION + 1))
    with pytest.raises(Exception, match=f"version {VERSION + 1} .*reads versions up to {VERSION}"):
        table(run, columns="kind").count()


def test_what_is_torn_or_missing_is_left_out_and_told(table: Callable[..., Any], run: Path) -> None:
    """Torn files and temporary ones, a node of which nothing is here, an empty run; nothing is removed."""
    files = sorted((run / "rows").glob("*/*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files[1:])
    files[0].write_bytes(files[0].read_bytes()[:-20])
    draft = files[0].with_name(".draft.parquet.tmp")
    draft.write_bytes(b"PAR1")
    assert table(run, columns="seq").count() == rows
    notes = " ".join(row.note for row in table(run, table="notes").collect())
    assert str(files[0]) in notes
    assert str(draft) in notes
    assert files[0].exists()
    assert draft.exists()
    shutil.rmtree(run / "rows" / "node=node%201")
    (run / "nodes" / "node%201.json").unlink()
    assert "'node 1'" in " ".join(row.note for row in table(run, table="notes").collect())
    shutil.rmtree(run / "rows")
    assert table(run, columns="seq").count() == 0


@pytest.mark.parametrize(
    "options, said",
    [
        ({"kinds": "sent"}, "'sent' is none of start, stop"),
        ({"columns": "who"}, "'who' is none of node, seq"),
        ({"colums": "seq"}, "'colums' is none of path, table"),
        ({"maxFilesPerTrigger": "some"}, "'some' is no whole number"),
        ({"path": "nowhere"}, "there is no such run"),
    ],
)
def test_what_the_table_refuses(spark: Any, run: Path, options: dict[str, str], said: str) -> None:
    """Without Spark, which would only put a page of its own around the words."""
    from weft.review.errors import ReviewError
    from weft.review.spark.source import SourceOptions

    with pytest.raises((ReviewError, RecordingError), match=said):
        SourceOptions.of({"path": str(run)} | options)


def test_a_stream_of_what_is_there_goes_on_where_it_ended(
    spark: Any, table: Callable[..., Any], run: Path, tmp_path: Path
) -> None:
    """Twice "all that is available now", with files that came meanwhile: every row once, in steps of two files."""
    later = tmp_path / "later"
    files = sorted((run / "rows").glob("*/*.parquet"), key=lambda file: file.name)
    later.mkdir()
    for file in files[-2:]:
        shutil.move(file, later / f"{file.parent.name}-{file.name}")
    assert table is not None
    found: list[Row] = []
    batches: list[int] = []

    def keep(frame: Any, batch: int) -> None:
        batches.append(batch)
        found.extend(frame.toArrow().to_pylist())

    def read_on() -> None:
        stream = spark.readStream.format("weft").options(columns="node,seq,kind", maxFilesPerTrigger="2")
        writer = stream.load(str(run)).writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(tmp_path / "place"))
        writer.trigger(availableNow=True).start().awaitTermination()

    read_on()
    assert len(batches) == (len(files) - 2 + 1) // 2
    for file in files[-2:]:
        shutil.move(later / f"{file.parent.name}-{file.name}", file)
    read_on()
    every = open_run(run).read(["node", "seq", "kind"]).to_pylist()
    assert in_order(found) == in_order(every)


# Places in a growing run, without Spark


def test_places_cover_every_file_once(run: Path) -> None:
    """Whatever the limit, the steps together are all files, each node's in order."""
    top = place_of(run)
    every = [str(file.path) for file in run_files.list_files(top)]
    for most in (1, 2, 3, 100):
        place: run_files.Offset = {}
        seen: list[str] = []
        while True:
            after = run_files.next_offset(top, place, most_files=most)
            if after == place:
                break
            step = [str(file.path) for file in run_files.between(top, place, after)]
            assert 0 < len(step) <= most
            seen += step
            place = after
        assert sorted(seen) == sorted(every)
        assert [path for path in seen if "node%201" in path] == [path for path in every if "node%201" in path]


def test_a_file_that_is_being_copied_is_waited_for(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is passed over, so that the rest can be read."""
    top = place_of(run)
    files = [Path(str(file.path)) for file in run_files.list_files(top, ["node 0"])]
    whole = files[1].read_bytes()
    files[1].write_bytes(whole[:-20])
    folder = files[0].parent.name
    assert run_files.next_offset(top, {}, ["node 0"])[folder] == files[0].name
    monkeypatch.setattr(run_files, "COPYING", 0.0)
    assert run_files.next_offset(top, {}, ["node 0"])[folder] == files[-1].name
    monkeypatch.undo()
    files[1].write_bytes(whole)
    assert run_files.next_offset(top, {}, ["node 0"])[folder] == files[-1].name


def test_files_are_put_together_for_tasks() -> None:
    """No task has more than it should, unless one file alone is as large; order stays."""
    files = [run_files.Listed(place_of(str(place)), "ab"[place // 5], 3, 0.0) for place in range(9)]
    groups = run_files.grouped(files, most=7)
    assert [file for group in groups for file in group] == files
    assert [len(group) for group in groups] == [2, 2, 1, 2, 2]
    assert all(len({file.node for file in group}) == 1 for group in groups)
