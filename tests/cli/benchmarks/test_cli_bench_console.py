"""`weft bench console`: that it measures what it says, and how it shows it.  The figures themselves are not tested."""

from __future__ import annotations

import json
from typing import Any

import pytest

from weft.cli import main
from weft_benchmarks import console, fedpro
from weft_benchmarks.commands import console as bench_console
from weft_benchmarks.runner import COMPILED, PURE

ROW = {
    "build": "compiled", "plain_per_s": 100_000.0, "page_per_s": 97_000.0, "plain_us": 2.0, "page_us": 2.06, "plain_core": 0.05,
    "page_core": 0.08, "throughput_cost": 0.03, "core_cost": 0.03, "updates_per_s": 1.96, "update_bytes": 20_480.0,
}  # fmt: skip


def test_figures_are_shown_with_their_cost() -> None:
    machine = {"cores": 2, "load_average": 0.5, "load_average_after": 0.6, "python": "3.11.4"}
    shown = bench_console.as_text(
        {
            "machine": machine,
            "aim": 0.05,
            "updates_aim": 2.0,
            "federates": 1000,
            "rate": 20_000,
            "builds": [ROW],
        }
    )
    assert "1,000 federates" in shown
    lines = [line.split() for line in shown.splitlines()[3:6]]
    assert lines[0][-3:] == ["100,000", "97,000", "3.0%"]
    assert lines[1][-2:] == ["2.00", "2.06"]
    assert lines[2][-3:] == ["0.050", "0.080", "3.0%"]
    assert "the page got 1.96 updates/s of 20 KiB (at most 2/s)" in shown


@pytest.mark.soak
def test_a_small_crowd_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server, a console, a page and federates, each a process but the page."""
    for name, value in {"FEDERATES": 6, "RATE": 500, "SECONDS": 1.0, "PAUSE": 0.1}.items():
        monkeypatch.setattr(console, name, value)
    monkeypatch.setattr(fedpro, "MESSAGES", {COMPILED: 2000, PURE: 2000})
    assert main(["bench", "console", "--repeats", "1", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    (row,) = found["builds"]
    assert set(row) == set(ROW)
    assert row["updates_per_s"] > 0
