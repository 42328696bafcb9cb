"""Issue 21, "a night's work": of many recorded runs what was planted in them is found, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from review.compare.night import COMMAND, FEDERATION, FIRE, night
from weft.cli import main


def _check(tmp_path: Path, capsys: pytest.CaptureFixture[str], many: int) -> None:
    more, slow, lost = many // 3, many // 2, many * 5 // 6
    names = night(tmp_path, many, slow, more, lost)
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


def test_a_shortnight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _check(tmp_path, capsys, 36)


@pytest.mark.soak
def test_a_wholenight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _check(tmp_path, capsys, 200)
