"""`weft bench mesh`: that it measures what it says.  The figures themselves are not tested."""

from __future__ import annotations

import json

import pytest

from weft.cli import main
from weft_benchmarks import fedpro, mesh
from weft_benchmarks.commands import mesh as bench_mesh
from weft_benchmarks.runner import PURE

FIGURES = {
    "round_trip_us", "round_trip_p99_us", "server_round_trip_us", "round_trip_cores_us", "round_trip_cores_p99_us",
    "server_round_trip_cores_us", "one_to_one_per_s", "one_to_one_sender_us", "one_to_one_receiver_us",
}  # fmt: skip


def test_how_it_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ratios to the floor and to the same federates at a server; without a C compiler there is no floor."""
    figures = dict.fromkeys(FIGURES, 50.0) | {
        "server_round_trip_us": 100.0,
        "server_round_trip_cores_us": 80.0,
    }
    monkeypatch.setattr(mesh, "measure", lambda build, folder: figures)
    for floor, relay in (({"relay_us": 20.0}, True), ({}, False)):
        monkeypatch.setattr(fedpro, "measure_floor", lambda folder: floor)  # noqa: B023
        assert main(["bench", "mesh", "--repeats", "1"]) == 0
        shown = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
        assert "0.5" in shown["round_trip ÷ server"]
        assert ("2.5" in shown.get("round_trip ÷ C relay", [])) is relay


@pytest.mark.soak
def test_a_short_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Real processes, few messages: all arrive, and every figure and ratio is there."""
    monkeypatch.setattr(fedpro, "ROUND_TRIPS", 40)
    monkeypatch.setattr(fedpro, "MESSAGES", {PURE: 300})
    monkeypatch.setattr(bench_mesh, "can_run_compiled", lambda: False)
    monkeypatch.setattr(fedpro, "measure_floor", lambda folder: {"relay_us": 20.0})
    assert main(["bench", "mesh", "--repeats", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (build,) = said["builds"]
    assert set(build) == {*FIGURES, "build", "ratio"}
    assert all(build[name] > 0 for name in FIGURES)
    assert build["ratio"]["round_trip ÷ C relay"] == round(build["round_trip_us"] / 20.0, 2)
    assert build["ratio"]["round_trip ÷ server"] > 0
