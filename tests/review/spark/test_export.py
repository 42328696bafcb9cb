"""Issue 21, 8: `weft export` by Spark and in one process: the same rows, from any storage to any, whole tables or none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from review.planted import Rows
from support import recorded_runs
from support.object_store import ObjectStore, reachable_store, stored
from weft import EmbeddedNode
from weft.cli import main
from weft.cli.data import object_model
from weft.cli.operate import demo
from weft.host.recording.decoding import Modules, modules_of
from weft.host.recording.files import RecordingError
from weft.host.recording.runs import Run, open_run
from weft.host.recording.tables import Exported, ExportSource, plan_of, table_place, write_tables
from weft.host.storage import Place, StorageError, place_of
from weft.model.records import Source
from weft.review import register
from weft.review.export import export_by_spark

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of the demonstration, the last of them with another object model: with one more column."""
    folder = tmp_path_factory.mktemp("recorded")
    text = object_model("range.xml").data.decode()
    extra = "<parameter><name>Noise</name><dataType>Point</dataType><semantics>Where it was heard.</semantics></parameter>"
    other = Source(
        "other.xml", text.replace("</interactionClass>", f"{extra}</interactionClass>", 1).encode()
    )
    with pytest.MonkeyPatch.context() as patch:
        for number in range(3):
            if number == 2:
                patch.setattr(demo, "object_model", lambda name: other)
            node = EmbeddedNode("demo")
            node.record(folder / str(number))
            demo.play(demo.Story(), node, 4 + number, 0.0, 2)
            node.stop_recording()
    return [run for number in range(3) for run in recorded_runs.runs(folder / str(number))]


def opened(runs: list[Path]) -> list[tuple[Run, Modules]]:
    return [(run, modules_of(run)) for run in map(open_run, runs)]


def here(runs: list[Path], out: Place) -> Exported:
    """In this process."""
    wanted = opened(runs)
    sources = [ExportSource(run.path.name, tuple(run.files), modules, None) for run, modules in wanted]
    return write_tables(
        sources, plan_of([modules for _, modules in wanted]), lambda name: table_place(out, name)
    )


def rows_of(out: Place) -> dict[str, list[str]]:
    """By table; in an order of their own, and with the names and types of columns."""
    found = {}
    names = {entry.place.path.relative_to(out.path).parts[0] for entry in out.files()}
    for name in sorted(names):
        store, key = (out / name).for_arrow()
        table = ds.dataset(key, filesystem=store, format="parquet").to_table()
        rows = sorted(json.dumps(row, default=repr, sort_keys=True) for row in table.to_pylist())
        found[name] = [str(table.schema.remove_metadata()), *rows]
    return found


def test_the_same_rows(spark: Any, recorded: list[Path], tmp_path: Path) -> None:
    """Of one run and of several, whose object models differ; by parts of a few rows, and many runs to a task."""
    for name, runs, rows in (("one", recorded[2:], 40), ("all", recorded, 40), ("packed", recorded, 10**6)):
        spread, alone = place_of(tmp_path / name / "spark"), place_of(tmp_path / name / "here")
        by_spark = export_by_spark(opened(runs), spread, session=spark, rows_per_task=rows)
        assert by_spark.tables.keys() == here(runs, alone).tables.keys()
        assert rows_of(spread) == rows_of(alone)
        assert len(rows_of(alone)) >= 2
        if name == "all":
            assert max(len(table.files) for table in by_spark.tables.values()) > 1
            assert any('"run"' in row for rows in rows_of(alone).values() for row in rows)


def test_values_of_another_type_are_counted_and_named(
    spark: Any, recorded: list[Path], tmp_path: Path
) -> None:
    """By attribute or parameter, with the first of them; the messages are there all the same."""
    run = Path(shutil.copytree(recorded[0], tmp_path / "F" / recorded[0].name))
    rows = Rows(run)
    spoilt = [row for row in rows.all("send") if row["items"] and row["class"].endswith("Hit")]
    for row in spoilt:
        row |= {"values": [b"\x01"] * len(row["items"]), "packed": None, "tag": b""}
    rows.write()
    whole = here(recorded[:1], place_of(tmp_path / "whole"))
    one = here([run], place_of(tmp_path / "here"))
    by_spark = export_by_spark(opened([run]), place_of(tmp_path / "spark"), session=spark, rows_per_task=40)
    name = spoilt[0]["class"]
    failures = one.tables[name].failures
    assert failures
    assert all(item.count == len(spoilt) for item in failures.values())
    assert all(f"message {spoilt[0]['message']} of federate" in item.first for item in failures.values())
    assert by_spark.tables[name].failures == failures
    assert by_spark.tables[name].rows == whole.tables[name].rows
    assert rows_of(place_of(tmp_path / "spark")) == rows_of(place_of(tmp_path / "here"))


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with reachable_store() as made:
        yield made


def test_from_a_store_to_a_store(
    spark: Any, store: ObjectStore, recorded: list[Path], tmp_path: Path
) -> None:
    """By Spark and without; over what an export that was killed has left, and over tables that are there."""
    place = stored(recorded[0], place_of(store.address(f"lake/runs/{recorded[0].name}")))
    out = place_of(store.address("lake/out"))
    here(recorded[:1], place_of(tmp_path / "here"))
    wanted = rows_of(place_of(tmp_path / "here"))
    name = sorted(wanted)[0]
    (out / f"_draft-{name}" / "part-00077.parquet").write(b"half a")
    runs = [(run, modules_of(run)) for run in [open_run(place)]]
    for _ in range(2):
        export_by_spark(runs, out, session=spark, rows_per_task=40)
        assert rows_of(out) == wanted
        assert not (out / f"_draft-{name}").is_folder()
        assert (out / name / "_SUCCESS").is_file()
    assert main(["export", place.address, "--out", out.address]) == 0
    assert rows_of(out) == wanted
    assert (out / name).is_file()


def test_whoever_is_stopped_has_changed_nothing(
    spark: Any, recorded: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all is written and nothing in its place: the tables before are there, and the next export takes them over."""
    out = place_of(tmp_path / "out")
    export_by_spark(opened(recorded[:1]), out, session=spark)
    before = rows_of(out)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("weft.review.export.finish_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            export_by_spark(opened(recorded[1:2]), out, session=spark)
    drafts = [entry for entry in out.entries() if entry.place.name.startswith("_draft-")]
    assert drafts
    seen = {name: rows for name, rows in rows_of(out).items() if not name.startswith("_")}
    assert seen == before
    export_by_spark(opened(recorded[1:2]), out, session=spark)
    here(recorded[1:2], place_of(tmp_path / "here"))
    assert rows_of(out) == rows_of(place_of(tmp_path / "here"))


def test_what_is_not_a_table_is_not_replaced(spark: Any, recorded: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "out" / "HLAinteractionRoot.Hit.parquet"
    other.mkdir(parents=True)
    (other / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"notes\.txt"):
        export_by_spark(opened(recorded[:1]), place_of(tmp_path / "out"), session=spark)
    assert (other / "notes.txt").read_text() == "mine"


def test_a_column_of_two_types_is_refused_before_anything_is_written(
    recorded: list[Path], tmp_path: Path
) -> None:
    """The same class with another type of a parameter in another run."""
    run = Path(shutil.copytree(recorded[0], tmp_path / "F" / recorded[0].name))
    for module in sorted(run.rglob("*.xml")):
        text = module.read_text()
        module.write_text(
            text.replace("<dataType>HLAunicodeString</dataType>", "<dataType>HLAinteger32BE</dataType>")
        )
    with pytest.raises(RecordingError, match="has columns of other types in other runs"):
        here([recorded[0], run], place_of(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_notebook_reads_a_class(spark: Any, recorded: list[Path], tmp_path: Path) -> None:
    """`spark.read.format("weft").option("table", "decoded")`: the rows that the export has."""
    register(spark)
    done = here(recorded[2:], place_of(tmp_path))
    for name in done.tables:
        read = (
            spark.read.format("weft").option("table", "decoded").option("class", name).load(str(recorded[2]))
        )
        wanted = pq.read_table(tmp_path / f"{name}.parquet")
        assert sorted(map(repr, pa.table(read.toArrow()).to_pylist())) == sorted(
            map(repr, wanted.to_pylist())
        )
    with pytest.raises(Exception, match="no such class; did you mean"):
        spark.read.format("weft").option("table", "decoded").option("class", name[:-1]).load(
            str(recorded[2])
        ).count()
