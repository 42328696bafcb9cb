"""`weft bench review`: that it measures what it says.  The figures themselves are not tested."""

from __future__ import annotations

import json

import pytest

from weft.cli import main


@pytest.mark.soak
def test_a_short_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 8: seconds, CPU-seconds and memory of each audit, growth, and DuckDB on the same questions."""
    options = ["--rows", "5000", "--rows", "10000", "--master", "local[1]", "--json"]
    assert main(["bench", "review", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [size["rows"] >= rows for size, rows in zip(said["sizes"], (5000, 10000), strict=True)] == [
        True,
        True,
    ]
    for size in said["sizes"]:
        assert set(size["audits"]) == {"survey", "causal", "time", "interest", "delivery", "deadlines"}
        assert all(figures["cpu_s"] >= 0 and figures["peak_mb"] > 0 for figures in size["audits"].values())
        assert size["advice"]["cpu_s"] > 0
        assert size["duckdb"] is None or set(size["duckdb"]) < set(size["audits"])
    assert said["growth"][0]["rows"] > 1.5
    assert set(said["skew"]) == {"hot", "one-class", "one-box"}
    assert all(one["seconds ÷ even"] > 0 for one in said["skew"].values())
