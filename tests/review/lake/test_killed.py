"""Whoever works on recorded runs is killed (SIGKILL) at any moment; then the same command makes what nobody disturbed would have
made (issue 21, "Nothing lost")."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from review.lake import gathered
from review.lake.results import current
from review.planted import DAMAGES, FILES
from support import recorded_runs
from support.killed_commands import KILLED, EndedCommand, KilledCommands
from weft.host.recording.runs import open_run
from weft.host.storage import place_of
from weft.review.lake.delta import open_lake
from weft.review.lake.store import ParquetLake
from weft.review.many.finding import look, runs_below
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import review_many

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("lake killed")]
Rows = dict[str, list[dict[str, Any]]]
FEW = 2
"""Deaths of a command before it is left alone."""


@pytest.fixture(scope="module")
def commands() -> Iterator[KilledCommands]:
    with KilledCommands() as made:
        yield made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Really recorded runs in many small files: some are right, some have a fault, and a file of one is torn."""
    folder = tmp_path_factory.mktemp("recorded")
    lone = recorded_runs.over_nodes(folder / "mesh", 6, steps=60)
    gathered.prove(folder / "runs", range(1), steps=40)
    torn = [bad for bad in FILES if bad.name == "a file is torn"]
    gathered.plant(folder / "runs", [lone], DAMAGES[:2], torn)
    return folder / "runs"


@pytest.fixture
def top(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "runs"))


@pytest.fixture(scope="module")
def undisturbed(recorded: Path, commands: KilledCommands, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    top = Path(shutil.copytree(recorded, tmp_path_factory.mktemp("undisturbed") / "runs"))
    ended = commands.run("review", str(top), below=top)
    assert ended.code == 1, ended.said
    return tables(top)


def tables(top: Path, lake: Path | None = None) -> Rows:
    """Of the lake below the runs, or that one; texts name files below `TOP`."""
    return {
        name: sorted(
            (
                {
                    key: one.replace(str(top), "TOP") if isinstance(one, str) else one
                    for key, one in row.items()
                }
                for row in rows
            ),
            key=repr,
        )
        for name, rows in current(open_lake(place_of(lake or top / "lake"))).items()
    }


def moments(seed: int, touches: int) -> list[int]:
    """All over what the command does; when it goes on it has less to do, so later ones are earlier."""
    dice = random.Random(seed)
    return [dice.randrange(1, 1 + max(1, touches // (1 + turn))) for turn in range(FEW)]


def deaths(seeds: range, soak: range) -> pytest.MarkDecorator:
    several = [*seeds, *(pytest.param(seed, marks=pytest.mark.soak) for seed in soak)]
    return pytest.mark.parametrize("seed", several)


@deaths(range(1), range(1, 30))
def test_a_review_of_many_runs(
    commands: KilledCommands, top: Path, undisturbed: Rows, recorded: Path, seed: int
) -> None:
    whole = commands.run("review", str(recorded), "--lake", str(top / "first"), below=recorded.parent)
    for touch in moments(seed, whole.touches):
        assert commands.run("review", str(top), below=top, touch=touch).code in (KILLED, 1)
    ended = commands.run("review", str(top), below=top)
    assert ended.code == 1, ended.said
    assert tables(top) == undisturbed


@deaths(range(1), range(1, 30))
def test_a_review_into_tables_of_delta_lake(
    commands: KilledCommands, top: Path, undisturbed: Rows, seed: int
) -> None:
    """Its files are written by Delta Lake itself: killed when there are so many of them."""
    dice = random.Random(seed)
    words = ("review", str(top), "--format", "delta")
    for _ in range(FEW):
        lake = top / "lake"
        there = sum(1 for one in lake.rglob("*") if one.is_file()) if lake.exists() else 0
        ended = commands.run(*words, below=lake, files=there + dice.randrange(1, 25))
        assert ended.code in (KILLED, 1), ended.said
    ended = commands.run(*words, below=top)
    assert ended.code == 1, ended.said
    assert tables(top) == undisturbed


@deaths(range(1), range(1, 40))
def test_runs_compact(commands: KilledCommands, top: Path, undisturbed: Rows, seed: int) -> None:
    """At every moment each row is there once; in the end there are few files, and nothing else is found in them."""
    left_alone = sorted((top / "a-file-is-torn").iterdir())[0]
    runs = [path.parent for path in top.glob("*/*/run.json") if path.parent != left_alone]
    before = {run: rows_of(run) for run in runs}
    whole = commands.run(
        "runs", "compact", str(shutil.copytree(top, top.parent / "x" / "runs")), below=top.parent
    )
    assert whole.code == 1, whole.said
    for touch in moments(seed, whole.touches):
        assert commands.run("runs", "compact", str(top), below=top, touch=touch).code in (KILLED, 1)
        assert {run: rows_of(run) for run in runs} == before
    ended = commands.run("runs", "compact", str(top), below=top)
    assert ended.code == 1
    assert "a file is torn" not in ended.said
    assert {run: rows_of(run) for run in runs} == before
    assert all(len(open_run(run).files) == len(open_run(run).nodes) for run in runs)
    assert commands.run("review", str(top), below=top).code == 1
    assert tables(top) == undisturbed


def rows_of(run: Path) -> list[dict[str, Any]]:
    rows = open_run(run).read(["node", "seq", "kind", "source", "message"]).to_pylist()
    return sorted(rows, key=lambda row: (row["node"], row["seq"]))


@pytest.fixture(scope="module")
def fragments(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake to which each run came by itself, twice: of every other file no row counts any more."""
    top = Path(shutil.copytree(recorded, tmp_path_factory.mktemp("fragments") / "runs"))
    lake = ParquetLake(place_of(top / "lake"))
    for _ in range(2):
        for run in runs_below([str(top)]):
            review_many([look(run)], lake, ReviewOptions(), again=True)
    return top


@deaths(range(1), range(1, 40))
def test_lake_compact(
    commands: KilledCommands, fragments: Path, undisturbed: Rows, tmp_path: Path, seed: int
) -> None:
    """At every moment the same rows count; in the end there is a file for each table and day of a federation."""

    def compacted(lake: Path, touch: int = 0) -> EndedCommand:
        return commands.run("lake", "compact", "--grace", "0", "--lake", str(lake), below=lake, touch=touch)

    lake = fragments / "lake"
    kept = Path(shutil.copytree(lake, tmp_path / "lake"))
    touches = compacted(Path(shutil.copytree(lake, tmp_path / "whole"))).touches
    for touch in moments(seed, touches):
        assert compacted(kept, touch).code in (KILLED, 0)
        assert tables(fragments, kept) == undisturbed
    ended = compacted(kept)
    assert ended.code == 0, ended.said
    assert tables(fragments, kept) == undisturbed
    assert all(len(list(day.glob("*.parquet"))) == 1 for day in kept.glob("*/*/*"))
