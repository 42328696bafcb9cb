"""`weft bench stopped` and `weft bench crowd`: that they measure what they say.  The figures themselves are not tested."""

from __future__ import annotations

import json

import pytest

from weft.cli import main
from weft_benchmarks import runner
from weft_benchmarks.commands import crowd as bench_crowd
from weft_benchmarks.commands import stopped as bench_stopped
from weft_benchmarks.crowds import crowd, stopped
from weft_benchmarks.runner import PURE

pytestmark = pytest.mark.usefixtures("pure")


@pytest.fixture
def pure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "can_run_compiled", lambda: False)


def test_a_crowd_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Real federates at a real server; all of them hear all."""
    monkeypatch.setattr(crowd, "SETTLED", 0.1)
    assert main(["bench", "crowd", "--federates", "3", "--federates", "5", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(row["build"], row["federates"]) for row in said["rows"]] == [(PURE, 3), (PURE, 5)]
    assert not said["recorded"]
    for row in said["rows"]:
        assert row["peak_mib"] >= row["joined_mib"] > 0
        assert row["deliveries_per_s"] > 0
        assert row["frames_per_write"] > 0
    assert set(said["growth"][PURE]) == set(bench_crowd.GROWS)
    assert "n^" in bench_crowd.crowd_as_text(said)


def test_the_power_of_growth_is_that_of_a_power() -> None:
    rows = [
        {"federates": n, "seconds": 3.0 * n**2, "server_s": 0.5 * n**1.5, "kept_mib": -1.0}
        for n in (100, 300, 1000)
    ]
    assert bench_crowd.powers(rows) == {"seconds": 2.0, "server_s": 1.5, "kept_mib": 0.0}


def test_one_that_is_stopped_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside one that is absent, reads, and is stopped; ratios are those of one round."""
    ways = [stopped.WAYS[-1]._replace(messages={PURE: 50})]
    monkeypatch.setattr(stopped, "WAYS", ways)
    assert main(["bench", "stopped", "--repeats", "1", "--federates", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["way"] for row in said["rows"]] == [way.name for way in ways]
    for row in said["rows"]:
        for kind in (stopped.READS, stopped.STOPPED):
            ratio = row[f"{kind}_per_s"] / row[f"{stopped.ABSENT}_per_s"]
            assert row[f"{kind}_per_s_ratio"] == pytest.approx(ratio, abs=0.02)
    assert "stopped" in bench_stopped.as_text(said)
