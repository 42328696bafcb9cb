"""`weft bench stopped` and `weft bench crowd`: that they measure what they say.  The figures themselves are not tested."""

from __future__ import annotations

import json

import pytest

from weft.cli import main
from weft_benchmarks import crowd, fedpro
from weft_benchmarks.commands import crowd as bench_crowd
from weft_benchmarks.runner import PURE

pytestmark = pytest.mark.usefixtures("pure")


@pytest.fixture
def pure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_crowd, "can_run_compiled", lambda: False)


def test_a_crowd_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Real federates at a real server; all of them hear all."""
    monkeypatch.setattr(crowd, "SETTLED", 0.1)
    assert main(["bench", "crowd", "--federates", "5", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (row,) = said["rows"]
    assert (row["build"], row["federates"], said["recorded"]) == (PURE, 5, False)
    assert row["peak_mib"] >= row["joined_mib"] > 0
    assert row["deliveries_per_s"] > 0
    assert "pure" in bench_crowd.crowd_as_text(said)


def test_one_that_is_stopped_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside one that is absent, reads, and is stopped; ratios are those of one round."""
    monkeypatch.setitem(fedpro.MESSAGES, PURE, 200)
    assert main(["bench", "stopped", "--repeats", "1", "--receivers", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    (row,) = said["builds"]
    for kind in (crowd.READS, crowd.STOPPED):
        ratio = row[f"{kind}_per_s"] / row[f"{crowd.ABSENT}_per_s"]
        assert row[f"{kind}_ratio"] == pytest.approx(ratio, abs=0.02)
    assert "stopped" in bench_crowd.stopped_as_text(said)
