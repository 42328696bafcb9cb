"""`weft bench ddm`: that it measures what it says.  The figures themselves are not tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weft.cli import main
from weft_benchmarks import ddm
from weft_benchmarks.commands import ddm as bench_ddm

SMALL = (
    *("bench", "ddm", "--repeats", "1", "--boxes", "2000", "--regions", "1000", "--moves", "200"),
    *("--entities", "14", "--steps", "1"),
)
Capture = pytest.CaptureFixture[str]


@pytest.mark.soak
def test_a_short_run(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Both matchers find the same pairs, about ten for each box; moves gain and lose."""
    monkeypatch.setattr(bench_ddm, "can_run_compiled", lambda: False)
    assert main([*SMALL, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["dimensions"] for row in said["matching"]] == [1, 2, 3]
    for row in said["matching"]:
        assert 8 < row["pairs"] / row["boxes"] < 20
        assert ("floor" in row) == ("ratio" in row)
    (build,) = said["moves"]
    assert [row["regions"] for row in build["sizes"]] == [500, 1000]
    assert all(row["moves_per_s"] > 0 and 5 < row["overlaps_per_region"] < 20 for row in build["sizes"])
    assert set(build["growth"]) == {"us_per_doubling", "exponent"}
    check_traffic(said["traffic"])


def check_traffic(rows: list[dict[str, Any]]) -> None:
    """Every strategy leads to the same callbacks; what is not wanted is not sent by Exact, and Simple keeps nothing back."""
    moving = {(row["strategy"], row["grid"]): row for row in rows if row["regions"] == "moving"}
    assert len({row["wanted"] for row in moving.values()}) == 1
    exact, simple = moving["Exact", 1], moving["Simple", 1]
    assert exact["unwanted"] == 0 == simple["kept_at_sender"]
    assert simple["messages"] == 6 * simple["updates"]
    for row in rows:
        assert row["wanted"] + row["unwanted"] == row["messages"]
        assert row["messages"] + row["kept_at_sender"] == 6 * row["updates"]


def test_traffic_alone(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """S2-17: also with regions that stay where they are."""
    monkeypatch.setattr(bench_ddm, "GRIDS", (4,))
    assert main([*SMALL, "--part", "traffic", "--json"]) == 0
    check_traffic(json.loads(capsys.readouterr().out)["traffic"])


def test_one_part_without_a_compiler(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(ddm, "compile_floor", lambda folder: None)
    monkeypatch.setattr(ddm, "measure_match", lambda file, *sizes: ddm.match_here(str(file), *sizes))
    assert main([*SMALL, "--part", "matching"]) == 0
    shown = capsys.readouterr().out
    assert "2,000 + 2,000 boxes" in shown
    assert "no C++ compiler, so no floor" in shown
    assert "moves of regions" not in shown


def test_different_pairs_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A floor that finds other pairs measures something else."""
    found = {"seconds": 1.0, "cpu_s": 1.0, "pairs": 3, "checksum": 7}
    monkeypatch.setattr(ddm, "compile_floor", lambda folder: Path("floor"))
    monkeypatch.setattr(ddm, "measure_match", lambda *_: found)
    monkeypatch.setattr(ddm, "measure_floor", lambda *_: {**found, "checksum": 8})
    with pytest.raises(RuntimeError, match="d = 1: the two matchers found different pairs"):
        main([*SMALL, "--part", "matching"])


def test_moves_in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """About ten overlaps for each region, some gained with each move."""
    monkeypatch.setattr(bench_ddm, "can_run_compiled", lambda: False)
    monkeypatch.setattr(ddm, "measure_moves", lambda build, *sizes: ddm.moves_here(*sizes))
    assert main([*SMALL, "--part", "moves", "--json"]) == 0
    (build,) = json.loads(capsys.readouterr().out)["moves"]
    for row in build["sizes"]:
        assert 5 < row["overlaps_per_region"] < 20
        assert 1 < row["gained_per_move"] < 10


def test_growth_is_told_apart() -> None:
    """Logarithmic, linear, and none."""

    def grown(*times: float) -> dict[str, float]:
        return ddm.growth([{"regions": 1000 * 4**i, "cpu_us": time} for i, time in enumerate(times)])

    assert grown(10, 12, 14, 16)["us_per_doubling"] == pytest.approx(1.0)
    assert grown(10, 12, 14, 16)["exponent"] < 0.15
    assert grown(10, 40, 160, 640)["exponent"] == pytest.approx(1.0)
    assert grown(10, 10, 10)["exponent"] == pytest.approx(0.0)
