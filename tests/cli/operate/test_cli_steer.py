"""`weft steer`, and what a recorded run says of it (issue 9, "Steer")."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.server_in_thread import Running, Talker, serving
from weft.cli import main
from weft.cli.operate.steer import paused_in_words
from weft.console.surveys import PauseFacts
from weft.host.recording.runs import find_runs, open_run
from weft.host.server.guard import OPERATOR_KEY

NAME = "Range"
FEDERATE = "talker-1"


@pytest.fixture
def at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steer(running: Running, *arguments: str) -> int:
    return main(["steer", *arguments, "--server", running.address()])


def test_the_newest_key_here_is_taken(at_work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pause, step, resume and resign by hand; each answer is a sentence, and says which key was used."""
    older = at_work / "runs" / "server" / "20010101-000000-aaaaaa"
    older.mkdir(parents=True)
    (older / OPERATOR_KEY).write_text("of a server that crashed")
    os.utime(older / OPERATOR_KEY, (1, 1))
    mine = at_work / "runs" / "server" / "20010101-000000-000000"
    with serving(run_directory=str(mine)) as running:
        talker = Talker(running.address(), federation=NAME)
        assert steer(running, "pause", NAME) == 0
        said = capsys.readouterr()
        assert said.out.startswith(f"{NAME}: paused by the operator for 0")
        assert said.err == f"operator key: {Path('runs') / 'server' / mine.name / OPERATOR_KEY}\n"
        assert main(["status", running.address()]) == 0
        assert f"{NAME} is paused by the operator" in capsys.readouterr().out
        assert steer(running, "step", NAME, "3") == 0
        assert "3 steps to come" in capsys.readouterr().out
        assert steer(running, "resume", NAME) == 0
        assert capsys.readouterr().out == f"{NAME}: time advances\n"
        assert steer(running, "resign", NAME, FEDERATE) == 0
        assert capsys.readouterr().out == f"{NAME}: {FEDERATE!r} is resigned\n"
        while not talker.ears.resigned:
            talker.rti.evoke_callback(1.0)
        talker.rti.leave()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["step", NAME, "0"], "1 or more"),
        (["step", NAME, "many"], "1 or more"),
        (["resign", NAME], "say which federate"),
        (["pause", NAME, "me"], "leave 'me' away"),
        (["pause", NAME], f"no {OPERATOR_KEY} below"),
        (["pause", NAME, "--key", "nowhere"], "nowhere: No such file"),
        (["pause", NAME, "--key", "empty"], "no key in it"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    arguments: list[str], said: str, at_work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (at_work / "empty").write_text("\n")
    assert main(["steer", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_key_of_another_server_is_refused(at_work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (at_work / "other").write_text("another-key")
    with serving(run_directory=str(at_work / "run")) as running:
        assert steer(running, "pause", NAME, "--key", "other") == 2
        assert f"its key is in {at_work / 'run' / OPERATOR_KEY}" in capsys.readouterr().err
        assert steer(running, "pause", NAME, "--key", str(at_work / "run" / OPERATOR_KEY)) == 2
        assert "no federation execution named 'Range'" in capsys.readouterr().err


def test_each_action_is_a_row_of_the_run(at_work: Path) -> None:
    directory = at_work / "runs" / "server" / "one"
    with serving(run_directory=str(directory), record=str(at_work / "recorded")) as running:
        talker = Talker(running.address(), federation=NAME)
        for arguments in (["pause"], ["step"], ["resume"], ["resign", FEDERATE]):
            assert steer(running, arguments[0], NAME, *arguments[1:]) == 0
        while not talker.ears.resigned:
            talker.rti.evoke_callback(1.0)
        talker.rti.leave()
    (run,) = find_runs(at_work / "recorded")
    rows = open_run(run).read(["kind", "federate", "name", "detail"]).to_pylist()
    steered = [(row["federate"], row["detail"]) for row in rows if row["kind"] == "steer"]
    assert steered == [
        (0, "paused by the operator"),
        (0, "the operator asks for 1 step"),
        (0, "resumed by the operator"),
        (1, f"the operator resigns {FEDERATE!r}"),
    ]
    assert [row["detail"] for row in rows if row["kind"] == "lost"] == ["resigned by the operator"]


def test_a_pause_in_words() -> None:
    assert paused_in_words(None) == "time advances"
    facts: PauseFacts = {"since": 2.5, "by": "operator", "steps": 1, "at": 7.0, "waits_for": ["slow"]}
    assert (
        paused_in_words(facts)
        == "paused by the operator for 2.5 s, let through up to 7.0, 1 step to come when slow asks for time"
    )
