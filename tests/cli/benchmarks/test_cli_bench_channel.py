"""`weft bench channel`: that it measures what it says, and how it shows it.  The figures themselves are not tested."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from weft.cli import main
from weft.host.dispatch import OneThread, Standing, realtime_standing
from weft_benchmarks import channel, realtime, runner, utilisation
from weft_benchmarks.commands import channel as bench_channel
from weft_benchmarks.commands import realtime as bench_realtime


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
    found = runner.measure_there("weft_benchmarks.channel:filtering", runner.PURE)
    assert found["compiled"] is False
    assert found["filtering 10 known"] > 0


# In real time


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """As little as can be measured, in this process and at ordinary priority."""
    for name, value in {
        "SUPPLIERS": (1, 2),
        "CONSUMERS": (1, 3),
        "EVENTS": 5,
        "WARM": 1,
        "TICKS": 5,
        "SPACED": 10,
        "PERIODS_US": (500, 100),
        "realtime_standing": lambda: Standing(False, 0),
    }.items():
        monkeypatch.setattr(realtime, name, value)
        if hasattr(bench_realtime, name):
            monkeypatch.setattr(bench_realtime, name, value)
    monkeypatch.setattr(bench_realtime, "can_run_compiled", lambda: False)

    def alternate(functions: list[str], builds: list[str], repeats: int) -> dict[Any, dict[str, float]]:
        return {(functions[0], builds[0]): getattr(realtime, functions[0].split(":")[1])()}

    monkeypatch.setattr(bench_realtime, "alternate", alternate)


@pytest.mark.usefixtures("brief")
def test_threads_and_processes_are_measured_like_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """S3-16, S3-17: latency, lateness and spacing by dispatcher, with floors."""
    asked = [word for part in ("hosts", "periodic", "spacing") for word in ("--part", part)]
    assert main(["bench", "channel", "--json", *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(row["suppliers"], row["consumers"], row["dispatch"]) for row in found["latency"]} == {
        (suppliers, consumers, dispatch)
        for suppliers in (1, 2)
        for consumers in (1, 3)
        for dispatch in ("single", "cooperative", "preemptive")
    }
    for row in found["latency"]:
        assert row["hosted"]
        for word in ("first_us", "last_us", "floor_us"):
            assert 0 < row[word]["min"] <= row[word]["median"] <= row[word]["p99"] <= row[word]["max"]
    assert [row["dispatch"] for row in found["periodic"]] == ["single", "cooperative", "preemptive", "single"]
    assert all(set(row["ratio"]) == {"500", "100"} for row in found["spacing"])
    assert "costs" not in found
    assert main(["bench", "channel", *asked]) == 0
    shown = capsys.readouterr().out
    for words in ("load ", "through threads and processes", "bare sleep", "Effective as a part"):
        assert words in shown


@pytest.mark.usefixtures("brief")
def test_the_experiments_of_the_paper(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S3-14, S3-15: on a processor that is simulated, what is reported is what is known of it."""

    def trial(level: float) -> utilisation.Trial:
        used = sum(work / utilisation.PERIODS[name] for name, work in utilisation.works(level).items())
        least = round((0.9349 - used) * 1e9)
        return utilisation.Trial({"high": [10**6, 2 * 10**6], "low": [least, least + 10**7]})

    monkeypatch.setattr(utilisation, "single_channel", trial)
    monkeypatch.setattr(utilisation, "on_one_core", lambda: None)
    monkeypatch.setattr(
        utilisation,
        "run_trial",
        lambda dispatcher, works: utilisation.Trial(
            {name: [-(10**6) if isinstance(dispatcher, OneThread) else 10**6] for name in works}
        ),
    )
    monkeypatch.setattr(
        bench_realtime,
        "measure_there",
        lambda function, build: {"compiled": False, **getattr(utilisation, function.split(":")[1])()},
    )
    assert main(["bench", "channel", "--json", "--part", "utilisation", "--part", "timeline"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["utilisation"]
    assert row["utilisation"] == 0.93
    assert row["channels"] == "single"
    by_level = {level["level"]: level for level in row["levels"]}
    assert by_level[0.93]["misses"] == 0 < by_level[0.94]["misses"]
    assert by_level[0.94]["attempts"] == utilisation.ATTEMPTS
    assert [(one["dispatch"], one["misses"]) for one in found["timeline"]] == [
        ("single", 3),
        ("preemptive", 0),
    ]
    assert main(["bench", "channel", "--part", "utilisation", "--part", "timeline"]) == 0
    shown = capsys.readouterr().out
    assert "without a missed deadline, single (pure, " in shown
    assert "93%, aim 95%" in shown
    assert "40, 20 and 10 Hz on one core" in shown


def test_work_is_cpu_time() -> None:
    before = time.thread_time()
    utilisation.burn(0.002)
    assert time.thread_time() - before >= 0.002
    assert utilisation.works(0.9) == pytest.approx({"high": 0.035, "low": 0.020})


@pytest.mark.soak
def test_the_time_line_for_real() -> None:
    """S3-14: single-threaded misses; preemptive under SCHED_FIFO meets all deadlines, in one of a few attempts, since others may
    be on the machine."""
    if not realtime_standing().fifo:
        pytest.skip("SCHED_FIFO is not allowed here")
    found = runner.measure_there("weft_benchmarks.utilisation:time_line", runner.PURE)
    assert found["single"]["misses"] > 0
    assert found["preemptive"]["misses"] == 0, found
