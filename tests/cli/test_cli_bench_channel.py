"""`weft bench channel`: that it measures what it says, and how it shows it.  The figures themselves are not tested."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weft.cli import bench_channel, main
from weft.cli.benchmarks import channel, runner


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TURNS": 20, "EVENTS": 40, "MANY": 60}.items():
        monkeypatch.setattr(channel, name, value)
    monkeypatch.setattr(bench_channel, "MANY", 60)


def here(functions: list[str], builds: list[str], repeats: int) -> dict[Any, dict[str, float]]:
    """Measured in this process, once."""
    return {
        (function, build): getattr(channel, function.split(":")[1])()
        for function in functions
        for build in builds
    }


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_channel, "can_run_compiled", lambda: True)
    monkeypatch.setattr(bench_channel, "alternate", here)


@pytest.mark.usefixtures("small", "in_process")
def test_the_tables_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    """S3-16: suppliers × consumers × dispatch, first and last consumer, each with min, median, p99 and max, and the floor."""
    assert main(["bench", "channel", "--json", "--part", "push"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = [row for row in found["latency"] if row["build"] == runner.PURE]
    assert {(row["suppliers"], row["consumers"], row["dispatch"], row["where"]) for row in rows} == {
        (suppliers, consumers, dispatch, "local")
        for suppliers in (1, 2, 10)
        for consumers in (1, 5, 10, 20)
        for dispatch in ("none", "single", "cooperative")
    }
    for row in rows:
        for word in ("first_us", "last_us", "floor_us"):
            assert 0 < row[word]["min"] <= row[word]["median"] <= row[word]["p99"] <= row[word]["max"]
        assert row["first_us"]["min"] <= row["last_us"]["min"]
    assert [row["dispatch"] for row in found["costs"]] == ["none", "single", "cooperative"] * 2
    assert set(found["filtering"][0]["known_us"]) == {"10", "60"}


@pytest.mark.usefixtures("small", "in_process")
def test_it_is_shown_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "channel", "--repeats", "1", "--part", "push"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "CPU of a push",
        "none, compiled",
        "2.40",
        "Latency until the first",
        "A push among 10 and 60",
    ):
        assert words in shown


@pytest.mark.usefixtures("small")
def test_a_measurement_in_a_child() -> None:
    """What is measured crosses to the parent by name."""
    found = runner.measure_there("weft.cli.benchmarks.channel:filtering", runner.PURE)
    assert found["compiled"] is False
    assert found["filtering 10 known"] > 0
