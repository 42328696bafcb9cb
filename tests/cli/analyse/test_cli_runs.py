"""`weft runs`: state, length, size, federates, reviewed or not (issue 9, 2)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from weft import EmbeddedNode
from weft.cli import main
from weft.cli.analyse import runs
from weft.cli.analyse.run_reviews import keep_result, review_of
from weft.cli.operate.demo import Story, play
from weft.host.recording.files import write_json

pytestmark = pytest.mark.xdist_group("listed runs")  # recorded once

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One after the other; the folder of the second."""
    top = tmp_path_factory.mktemp("recorded")
    for _ in range(2):
        node = EmbeddedNode("demo")
        recordings = node.record(top / "runs")
        play(Story(), node, 4, 0.0, 2)
        node.stop_recording()
        folder = Path(recordings.folders[0])
    return folder


@pytest.fixture
def recorded(two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the second of two, below the working directory."""
    monkeypatch.chdir(tmp_path)
    top = two_runs.parents[2]
    shutil.copytree(top / "runs", "runs")
    return two_runs.relative_to(top)


def test_a_table_for_people(recorded: Path, capsys: Capture) -> None:
    assert main(["runs"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "federation", "started", "(UTC)", "length", "federates", "nodes", "rows", "size", "review", "state",
    ]  # fmt: skip
    assert len(lines) == 4
    assert lines[3].strip() == str(recorded)
    for line in (lines[0], lines[2]):
        assert line.startswith("Range ")
        assert " 3 " in line
        assert " KB " in line
        assert line.endswith("not reviewed  complete")
    assert max(len(line) for line in lines) <= 100


def test_the_latest(recorded: Path, tmp_path: Path, capsys: Capture) -> None:
    """Only its folder, for other commands; an error where there is none."""
    assert main(["runs", "--last"]) == 0
    assert capsys.readouterr().out == f"{recorded}\n"
    (tmp_path / "empty").mkdir()
    assert main(["runs", "empty", "--last"]) == 2
    assert "no runs below empty" in capsys.readouterr().err


def test_a_review_is_remembered(recorded: Path, capsys: Capture) -> None:
    """None, ok, violated, unsure, unreadable; and where the report is."""

    def shown() -> str:
        assert main(["runs", str(recorded)]) == 0
        return capsys.readouterr().out.splitlines()[1]

    def kept(violations: int, unsure: int) -> None:
        keep_result(recorded, {"audits": {"causal": {"violations": violations, "unsure": unsure}}})

    assert review_of(recorded) == {"state": "none"}
    for violations, unsure, words in ((0, 0, " ok "), (3, 1, " 3 violated "), (0, 2, " 2 unsure ")):
        kept(violations, unsure)
        assert words in shown()
    (recorded / "review" / "report.html").touch()
    assert main(["runs", str(recorded), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["review"]["report"] == str(recorded.absolute() / "review" / "report.html")
    assert told["federates"] == ["aircraft", "observer", "tank"]
    assert told["bytes"] > 0
    (recorded / "review" / "review.json").write_text("{")
    assert " unreadable " in shown()
    keep_result(recorded / "nowhere", {})  # a run that cannot be written to


def test_a_run_that_is_not_complete(recorded: Path, capsys: Capture) -> None:
    """The table has a word, the line below says at which node."""
    (told,) = (recorded / "nodes").glob("*.json")
    data = json.loads(told.read_text())
    write_json(told, {**data, "ended_ns": None, "process": {**data["process"], "pid": 2**22 + 1}})
    assert main(["runs", str(recorded)]) == 0
    _, row_, below = capsys.readouterr().out.splitlines()[:3]
    assert row_.endswith("interrupted")
    assert below.endswith(": interrupted: demo did not end in order")


def test_a_large_run_is_not_searched(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(runs, "MANY_ROWS", 0)
    assert main(["runs", str(recorded), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert "federates" not in told
    assert main(["runs", str(recorded)]) == 0
    assert " ? " in capsys.readouterr().out
