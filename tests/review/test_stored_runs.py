"""Issue 21, 1: runs are listed, reviewed, tuned, exported and drawn in a store of objects as they are on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

from review.planted import DAMAGES, FILES, BadFile, Damage, NoPlace, Rows
from support import recorded_runs
from support.object_store import ObjectStore, reachable_store, stored
from weft import EmbeddedNode
from weft.cli import main
from weft.cli.analyse.run_reviews import keep_result, review_of
from weft.cli.operate.demo import Story, play
from weft.console.runs import Reviews, Shelf
from weft.host.recording.manifest import FOLDER
from weft.host.recording.runs import find_runs, open_run
from weft.host.storage import Place, place_of
from weft.review import Verdict, follow, judge, register, review
from weft.review.tune import tune

pytestmark = pytest.mark.xdist_group("stored runs")  # one store for all

Store = Callable[[Path], Place]


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with reachable_store() as made:
        yield made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three nodes and five federates."""
    folder = tmp_path_factory.mktemp("recorded")
    return recorded_runs.over_nodes(folder, 6, steps=150, parade=True)


@pytest.fixture
def copied(store: ObjectStore, request: pytest.FixtureRequest) -> Store:
    """A run, where the store has it."""

    def copy(run: Path) -> Place:
        top = place_of(store.address(f"lake/{request.node.name}"))
        return stored(run, top / run.parent.name / run.name)

    return copy


def same(here: Verdict, there: Verdict, run: Path, place: Place) -> None:
    """But for where it lies."""
    notes = [unquote(note.replace(str(place), str(run))) for note in there.notes]
    assert notes == here.notes
    assert {**there.__dict__, "run": "", "notes": []} == {**here.__dict__, "run": "", "notes": []}


@pytest.mark.parametrize("listed", [True, False], ids=["with manifests", "without"])
def test_a_run_without_faults_is_clean_there_too(
    recorded: Path, copied: Store, tmp_path: Path, listed: bool
) -> None:
    run = Path(shutil.copytree(recorded, tmp_path / "F" / recorded.name))
    if not listed:
        shutil.rmtree(run / FOLDER)
    place = copied(run)
    here, there = judge([run, place])
    assert there.clean, str(there)
    assert there.rows > 0
    same(here, there, run, place)


def test_the_same_files_are_planned(recorded: Path, copied: Store) -> None:
    place = copied(recorded)
    here, there = open_run(recorded), open_run(place)
    assert [file.path.below(place) for file in there.files] == [
        file.path.below(here.path) for file in here.files
    ]
    assert [file.__dict__ | {"path": 0} for file in there.files] == [
        file.__dict__ | {"path": 0} for file in here.files
    ]
    assert there.read(["seq", "kind"]).equals(here.read(["seq", "kind"]))
    assert find_runs(place.parent.parent) == [place]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.name, marks=() if number % 2 == 0 else pytest.mark.soak)
        for number, fault in enumerate(DAMAGES[::9])
    ],
)
def test_faults_in_the_rows_are_found_there_too(
    recorded: Path, copied: Store, tmp_path: Path, fault: Damage
) -> None:
    run = Path(shutil.copytree(recorded, tmp_path / "F" / recorded.name))
    rows = Rows(run)
    try:
        fault.do(rows)
    except NoPlace:
        pytest.skip("this run has no place for it")
    rows.write()
    place = copied(run)
    here, there = judge([run, place])
    assert there.status == "violated"
    same(here, there, run, place)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(bad, id=bad.name, marks=() if number % 12 == 0 else pytest.mark.soak)
        for number, bad in enumerate(FILES)
    ],
)
def test_bad_data_is_named_there_too(recorded: Path, copied: Store, tmp_path: Path, bad: BadFile) -> None:
    run = Path(shutil.copytree(recorded, tmp_path / "F" / recorded.name))
    bad.do(run)
    place = copied(run)
    here, there = judge([run, place])
    assert there.notes
    same(here, there, run, place)


def test_commands_take_an_address(
    recorded: Path, copied: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`weft runs`, `weft export`, and where a review is kept; what needs a folder of this machine says so."""
    place = copied(recorded)
    top = place.parent.parent.address
    assert main(["runs", top, "--last"]) == 0
    assert place_of(capsys.readouterr().out.strip()) == place
    keep_result(place, {"status": "ok", "audits": {"causal": {"violations": 0, "unsure": 2}}})
    assert review_of(place)["unsure"] == 2
    assert main(["runs", top, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert main(["runs", str(recorded), "--json"]) == 0
    (here,) = json.loads(capsys.readouterr().out)
    assert listed["review"]["unsure"] == 2
    for name in ("federation", "seconds", "nodes", "federates", "rows", "bytes", "state", "troubles"):
        assert listed[name] == here[name], name
    for run in (place.address, str(recorded)):
        main(["timeline", run, "--json"])
    there, here = capsys.readouterr().err.splitlines()
    assert there.partition("none of its")[2] == here.partition("none of its")[2] != ""


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_a_run_in_a_store_is_followed(recorded: Path, copied: Store, spark: Any) -> None:
    """To its end, and then reviewed: as it is here."""
    place = copied(recorded)
    assert (
        follow(place, session=spark, advice=False).as_data()["audits"]
        == follow(recorded, session=spark, advice=False).as_data()["audits"]
    )


def test_values_are_exported_from_there(
    copied: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To a folder of this machine, which has to be named."""
    node = EmbeddedNode("demo")
    node.record(tmp_path / "runs")
    play(Story(), node, 4, 0.0, 2)
    node.stop_recording()
    (run,) = recorded_runs.runs(tmp_path / "runs")
    place = copied(run)
    capsys.readouterr()
    assert main(["export", place.address]) == 2
    assert "--out DIR" in capsys.readouterr().err
    for one, out in ((place.address, "there"), (str(run), "here")):
        assert main(["export", one, "--out", str(tmp_path / out)]) == 0
    made = sorted((tmp_path / "here").iterdir())
    assert made
    for path in made:
        assert pq.read_table(path).equals(pq.read_table(tmp_path / "there" / path.name))


def test_the_console_lists_what_is_there(recorded: Path, copied: Store) -> None:
    """And what its review has found; from there it is not reviewed."""
    place = copied(recorded)
    shelf = Shelf(place.parent.parent.address)
    shelf.look()
    ((name, shown),) = Reviews(shelf).shown().items()
    assert (name, shown["review"]) == (recorded.name, {"state": "none"})
    assert shown["rows"] == open_run(recorded).rows
    keep_result(place, {"status": "ok", "audits": {"causal": {"violations": 3, "unsure": 0}}})
    shelf.look()
    told: Any = Reviews(shelf).shown()[name]["review"]
    assert (told["state"], told["violations"]) == ("done", 3)


@pytest.mark.soak
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(900)
def test_spark_s_workers_read_it(spark: Any, recorded: Path, copied: Store, tmp_path: Path) -> None:
    """Each opens the store itself: audits, advice, what a report draws, checksums, tuning, and the table of the run."""
    run = Path(shutil.copytree(recorded, tmp_path / "F" / recorded.name))
    rows = Rows(run)
    DAMAGES[0].do(rows)
    rows.write()
    place = copied(run)
    here = review(run, session=spark, evidence=True)
    there = review(place.address, session=spark, evidence=True, checksums=True)
    assert there.violations == here.violations > 0
    assert there.audits == here.audits
    assert there.advice == here.advice
    assert there.evidence is not None
    assert here.evidence is not None
    assert replace(there.evidence, made=here.evidence.made) == here.evidence
    assert judge([place], spark) == judge([place])
    assert tune(place, tmp_path / "tuned", session=spark).advice.data() == here.advice

    register(spark)
    table = spark.read.format("weft").option("columns", "node,seq,kind").load(place.address)
    every = open_run(run).read(["node", "seq", "kind"]).to_pylist()
    assert sorted(map(tuple, table.collect())) == sorted(tuple(row.values()) for row in every)
    assert table.where("seq <= 10 AND node = 'tower'").count() == sum(
        row["seq"] <= 10 and row["node"] == "tower" for row in every
    )
