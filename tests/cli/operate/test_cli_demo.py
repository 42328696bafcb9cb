"""`weft demo`: the mixed scenario of paper 000 (S0-20)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.cli import main
from weft.cli.operate import demo, demo_nodes
from weft.host.recording.runs import open_run

SHORT = ["demo", "--steps", "20", "--step-ms", "0", "--fire-every", "5", "--no-record"]


def test_the_demo_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    """Who publishes what, what was fired and hit, and that the observer saw it all in order; exit code 0."""
    assert main(SHORT) == 0
    said = capsys.readouterr().out
    for line in (
        "aircraft  publishes Aircraft and Fire, registers Falcon",
        "tank      publishes Tank and Hit, registers Rhino",
        "observer  subscribes to Vehicle, Fire and Hit, publishes nothing",
        "observer  discovers Falcon of aircraft",
        "observer  discovers Rhino of tank",
        "aircraft  fires round 1 at Rhino",
        "tank      is hit by round 1: Damaged",
        "tank      is hit by round 4: Destroyed",
        "observer  sees round 4 fired",
        "observer  sees round 4 hit: Rhino Destroyed",
        "4 shots and 4 hits",
        "Every hit was seen after its shot",
    ):
        assert line in said
    updates = re.search(r"saw (\d+) updates", said)
    assert updates is not None
    assert int(updates[1]) == 20 + 1 + 4, "20 of the aircraft, 1 and 4 of the tank"
    assert "fires every 5 steps, 20 steps in all" in said


def test_the_observer_sees_every_shot_before_its_hit(capsys: pytest.CaptureFixture[str]) -> None:
    """S0-20, S0-23: on one node receive order is causal order."""
    assert main(SHORT) == 0
    seen = re.findall(r"observer  sees round (\d+) (fired|hit)", capsys.readouterr().out)
    assert sorted(seen) == sorted((str(n), what) for n in range(1, 5) for what in ("fired", "hit"))
    for number in range(1, 5):
        assert seen.index((str(number), "fired")) < seen.index((str(number), "hit"))


@pytest.mark.parametrize("steps", ["0", "4"])
def test_a_demo_without_a_shot(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing fired, nothing to see, nothing wrong."""
    assert main(["demo", "--steps", steps, "--step-ms", "0", "--fire-every", "5", "--no-record"]) == 0
    assert "0 shots and 0 hits" in capsys.readouterr().out


@pytest.mark.parametrize("role", ["aircraft", "tank", "observer"])
def test_a_federate_that_fails_stops_nobody(
    role: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It resigns, the others come to their end, the demo says who failed and ends with 1."""

    def fail(*arguments: Any) -> None:
        raise RuntimeError("engine on fire")

    monkeypatch.setattr(demo, role, fail)
    assert main(SHORT) == 1
    assert f"A federate failed: {role}: RuntimeError: engine on fire" in capsys.readouterr().out


def test_a_hit_before_its_shot_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """What the observer checks: a hit that was seen too early makes the demo fail."""
    story = demo.Story(fires=[1, 2], hits=[2, 1], early_hits=[2])
    assert demo.conclude(story, 10, 5) == 1
    assert "Rounds [2] were seen to hit before they were fired" in capsys.readouterr().out


def test_a_shot_that_was_not_seen_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 unless every shot and every hit was seen."""
    assert demo.conclude(demo.Story(fires=[1], hits=[1]), 10, 5) == 1
    assert demo.conclude(demo.Story(fires=[1, 2], hits=[1, 2]), 10, 5) == 0
    assert "1 shots and 1 hits" in capsys.readouterr().out


def test_nobody_loses_patience_during_a_long_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """All wait for the end of the aircraft's flight, however long it takes."""
    asked: list[tuple[str, float]] = []
    really = weft.Federate.synchronize

    def note(self: weft.Federate, label: str, seconds: float = 60.0) -> bool:
        asked.append((label, seconds))
        return really(self, label, seconds)

    monkeypatch.setattr(weft.Federate, "synchronize", note)
    story = demo.Story(quiet=True)
    demo.play(story, weft.EmbeddedNode(), 4, 0.0, 2)
    assert not story.failures
    assert story.hits == [1, 2]
    assert sorted(label for label, _ in asked) == ["landed"] * 3 + ["over"] * 3 + ["ready"] * 3
    assert all(seconds > 3600 for label, seconds in asked if label != "ready")


@pytest.mark.parametrize(("order", "early"), [("RO", [1, 2, 3]), ("CO", [])])
def test_over_three_nodes(order: str, early: list[int], tmp_path: Path) -> None:
    """S0-20, S0-23: with a slow link receive order shows hits before their shots, causal order never does; all nodes record
    into one run, to the end."""
    seen, folder = demo_nodes.fly(order, tmp_path)
    assert seen.early_hits == early
    assert sorted(seen.fires) == sorted(seen.hits) == [1, 2, 3]
    assert folder is not None
    run = open_run(folder)
    assert set(run.nodes) == set(demo_nodes.NODES)
    assert run.ended
    assert not run.troubles
    sent = [row for row in run.read(["kind", "order", "class"]).to_pylist() if row["kind"] == "send"]
    assert {row["order"] for row in sent} == {order}
    assert len({row["class"] for row in sent}) == 3


def test_the_demo_without_review_tells_of_three_nodes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is recorded is named, and Spark is left alone."""
    short = [
        "demo",
        "--steps",
        "2",
        "--step-ms",
        "0",
        "--fire-every",
        "1",
        "--record",
        str(tmp_path),
        "--no-review",
    ]
    assert main(short) == 0
    said = capsys.readouterr().out
    assert "Receive order: rounds 1, 2, 3 are seen to hit before they are fired (recorded in " in said
    assert "Causal order: every hit is seen after its shot" in said
    assert "Spark" not in said
