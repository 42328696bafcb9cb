"""A node that records is killed (SIGKILL) at any moment (issue 21, "Nothing lost"): what it had written is whole, and what is
missing is told."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from host.recording.test_manifest import agrees, manifest_of
from support.killed_commands import KILLED, KilledCommands
from support.killed_recorder import SENT
from support.small_runs import runs_here
from weft.host.recording.runs import open_run
from weft.review import judge

RECORD = "support.killed_recorder:record"
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def commands() -> Iterator[KilledCommands]:
    with KilledCommands() as made:
        yield made


@pytest.fixture(scope="module")
def whole(commands: KilledCommands, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], int]:
    """Its rows, and how often it touched a file."""
    folder = tmp_path_factory.mktemp("whole")
    ended = commands.run(str(folder), below=folder, function=RECORD)
    assert ended.code == 0, ended.said
    return rows_of(folder), ended.touches


def rows_of(folder: Path) -> list[Any]:
    """But for times."""
    (path,) = runs_here(folder)
    run = open_run(path)
    assert not [text for text in run.troubles if "temporary" not in text], run.troubles
    wanted = ["seq", "kind", "service", "federate", "source", "message", "tag"]
    return [tuple(row.values()) for row in run.read(wanted).to_pylist()]


def said(text: str, what: str) -> list[int]:
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith(what)]


@pytest.mark.parametrize(
    "seeds", [range(8), pytest.param(range(8, 200), marks=pytest.mark.soak)], ids=["few", "many"]
)
def test_the_node(
    commands: KilledCommands, whole: tuple[list[Any], int], tmp_path: Path, seeds: range
) -> None:
    """What it has written by then is the beginning of what nobody disturbed would have written, with all that it had said to be
    in files; manifests agree; a review names the node, and finds no violation."""
    rows, touches = whole
    lengths = set()
    for seed in seeds:
        folder = tmp_path / str(seed)
        dice = random.Random(seed)
        at = (
            {"touch": dice.randrange(1, touches + 1)} if seed % 3 == 0 else {"lines": dice.randrange(1, SENT)}
        )
        ended = commands.run(str(folder), below=folder, function=RECORD, **at)
        assert ended.code == KILLED, ended.said
        kept = max(said(ended.said, "kept"), default=0)
        if not runs_here(folder):
            assert kept == 0
            continue
        found = rows_of(folder)
        assert len(found) >= kept
        assert found == rows[: len(found)]
        lengths.add(len(found))
        (path,) = runs_here(folder)
        check_manifest(path)
        if found:
            (verdict,) = judge([path])
            assert not verdict.findings, str(verdict)
            if found != rows:
                assert any("embedded" in note for note in verdict.notes), str(verdict)
    assert len(lengths) > 1


def check_manifest(path: Path) -> None:
    """It lists what is there, but for a file of which the crash came before its line."""
    if not list((path / "manifest").glob("[!.]*")):
        assert len(open_run(path).files) <= 1
        return
    found, run = manifest_of(path), open_run(path)
    listed = {run.path / one.file for one in found.files}
    assert listed <= {one.path for one in run.files}
    assert len(run.files) - len(listed) <= 1
    agrees(
        run.__class__(run.path, run.info, run.nodes, [one for one in run.files if one.path in listed]), found
    )


@pytest.mark.parametrize(
    "seeds", [range(1), pytest.param(range(1, 40), marks=pytest.mark.soak)], ids=["few", "many"]
)
def test_the_process_that_makes_files(
    commands: KilledCommands, whole: tuple[list[Any], int], tmp_path: Path, seeds: range
) -> None:
    """While it has something to write: another one does it again, and nothing is lost."""
    for seed in seeds:
        folder = tmp_path / str(seed)
        ended = commands.run(str(folder), str(seed), below=folder, function=RECORD)
        assert ended.code == 0, ended.said
        assert rows_of(folder) == whole[0]
        assert len(said(ended.said, "sent")) == SENT
        (path,) = runs_here(folder)
        agrees(open_run(path), manifest_of(path))
