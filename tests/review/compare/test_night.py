"""A night's work: of many recorded runs what was planted in them is found, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from review.compare.night import COMMAND, FEDERATION, FIRE, night
from weft.cli import main


def _check(tmp_path: Path, capsys: pytest.CaptureFixture[str], many: int, seed: int = 0) -> None:
    more, slow, lost = many // 3, many // 2, many * 5 // 6
    names = night(tmp_path, many, slow, more, lost, seed)
    assert main(["review", str(tmp_path / FEDERATION)]) == 1
    lake = ["--lake", str(tmp_path / "lake")]
    capsys.readouterr()
    assert main(["trend", FEDERATION, *lake, "--json", "--html", str(tmp_path / "trend.html")]) == 1
    events = json.loads(capsys.readouterr().out)["events"]
    found = {(one["kind"], one["subject"], one["run"], one["what"], one["verdict"]) for one in events}
    fire, command = (f"HLAinteractionRoot.{name}" for name in (FIRE, COMMAND))
    late = {
        ("latency", f"deliver {name} to observer (RO)", names[slow], "since", "worse")
        for name in (fire, command)
    }
    assert found == late | {
        ("traffic", f"{fire} from pilot", names[more], "since", "changed"),
        ("violations", "delivery", names[lost], "once", "worse"),
    }
    _check_comparisons(capsys, lake, names, slow, fire, command)
    page = (tmp_path / "trend.html").read_text()
    assert "http" not in page.replace("http://www.w3.org", "")
    assert names[lost] in page


def _check_comparisons(
    capsys: pytest.CaptureFixture[str], lake: list[str], names: list[str], slow: int, fire: str, command: str
) -> None:
    """Before and after the link got slow; and two runs between which nothing changed."""
    many = len(names)
    assert (
        main(
            ["compare", f"{FEDERATION}/first:{many // 3}", f"{FEDERATION}/last:{many // 3}", *lake, "--json"]
        )
        == 1
    )
    told = json.loads(capsys.readouterr().out)
    assert {(one["kind"], one["subject"], one["verdict"]) for one in told["differences"]} == {
        ("latency", f"deliver {fire} to observer (RO)", "worse"),
        ("latency", f"deliver {command} to observer (RO)", "worse"),
        ("traffic", f"{fire} from pilot", "changed"),
        ("violations", "delivery", "worse"),
    }
    assert main(["compare", f"{FEDERATION}/{names[0]}", f"{FEDERATION}/{names[1]}", *lake]) == 0
    assert "nothing differs by more than noise" in capsys.readouterr().out


def test_a_short_night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _check(tmp_path, capsys, 36)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, 1000, 2000])
def test_a_whole_night(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    _check(tmp_path, capsys, 200, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5000, 13000, 1000))
def test_a_night_in_which_nothing_goes_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    """Nothing is found, in the order of time, or between the halves of the night."""
    night(tmp_path, 36, slow=36, more=36, lost=36, seed=seed)
    assert main(["review", str(tmp_path / FEDERATION)]) == 0
    lake = ["--lake", str(tmp_path / "lake")]
    capsys.readouterr()
    assert main(["trend", FEDERATION, *lake, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == []
    halves = [f"{FEDERATION}/{half}:18" for half in ("first", "last")]
    assert main(["compare", *halves, *lake, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []
