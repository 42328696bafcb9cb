"""`weft bench orders` (S0-18 … S0-22) and `weft bench tso` (issue 5), small: what they print, not how fast they are."""

from __future__ import annotations

import json

import pytest

from weft.cli import main
from weft_benchmarks.steps import ORDERS, SCENARIOS
from weft_benchmarks.timetables import line

FIELDS = {"scenario", "order", "federates", "steps", "step_ms", "seconds", "stamp_bytes"}


@pytest.mark.parametrize(
    "scenario", [pytest.param(one, marks=[pytest.mark.soak] if one == "close" else []) for one in SCENARIOS]
)
def test_orders_are_compared(capsys: pytest.CaptureFixture[str], scenario: str) -> None:
    """Loosely coupled (S0-18), closely coupled (S0-19) and mixed (S0-20)."""
    few = ["--federates", "3", "--steps", "10", "--step-ms", "0", "--repeats", "1"]
    given = ["--scenario", scenario, *few, "--json"]
    assert main(["bench", "orders", *given]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert [one["order"] for one in results] == list(ORDERS)
    for one in results:
        assert set(one) >= FIELDS
        assert (one["scenario"], one["federates"], one["steps"], one["step_ms"]) == (scenario, 3, 10, 0.0)
        assert one["seconds"] > 0
        assert (one["stamp_bytes"] > 0) == (one["order"] != "RO")
        assert one["order"] == "RO" or scenario != "mixed" or one["early_hits"] == 0


def test_the_middleware_by_tables_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """S0-22: the variant that the paper has; the observer sees no hit before its shot."""
    few = ["--scenario", "mixed", "--steps", "10", "--step-ms", "0", "--repeats", "1"]
    assert main(["bench", "orders", "--orders", "CO-tables", *few, "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["order"], result["early_hits"]) == ("CO-tables", 0)
    assert result["stamp_bytes"] > 0


def test_steps_of_time_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["bench", "tso", "--federates", "2", "--steps", "10", "--repeats", "1", "--no-growth", "--json"])
        == 0
    )
    results = json.loads(capsys.readouterr().out)["results"]
    assert [(one["topology"], one["messages"]) for one in results] == [
        ("star", 0),
        ("mesh", 0),
        ("star", 2),
        ("mesh", 2),
    ]
    assert all(one["steps_per_s"] > 0 for one in results)


@pytest.mark.parametrize("text", ["1", "7..2", "many"])
def test_a_wrong_number_of_federates_is_said(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "orders", "--federates", text])
    assert text in capsys.readouterr().err


def test_an_unknown_order_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "orders", "--orders", "RO,XO"]) == 2
    assert "no order XO; there are RO, CO, CO-middleware, TSO, CO-tables" in capsys.readouterr().err


def test_a_line_is_fitted() -> None:
    slope, intercept, r2 = line([1.0, 2.0, 3.0], [5.0, 7.0, 9.0])
    assert (round(slope, 6), round(intercept, 6), round(r2, 6)) == (2.0, 3.0, 1.0)
