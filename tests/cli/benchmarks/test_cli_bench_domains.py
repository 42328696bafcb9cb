"""`weft bench domains`: that it measures what it says.  The figures themselves are not tested, but for those that cannot vary."""

from __future__ import annotations

import json

import pytest

from weft.cli import main
from weft_benchmarks import domains, fedpro
from weft_benchmarks.commands import domains as bench_domains


def test_stamps_simulated() -> None:
    """S1-14, S1-15: flat is quadratic, the bus linear, and far below."""
    flat = [domains.simulate(size, "flat") for size in (9, 16, 25)]
    bus = [domains.simulate(size, "bus") for size in (9, 16, 25, 36, 64)]
    entries = "stamp_entries_per_message"
    assert domains.fit([(row["servers"], row[entries]) for row in flat], 2)["r2"] > 0.98
    assert domains.fit([(row["servers"], row[entries]) for row in bus], 1)["r2"] > 0.98
    assert bus[2][entries] < flat[2][entries] / 10
    assert flat[0]["clock_bytes_per_node"] == 9 * 9 * 24


def test_fits() -> None:
    """Least squares, with what it explains."""
    assert domains.fit([(1, 5), (2, 11), (3, 21)], 2) == {"power": 2, "a": 2.0, "b": 3.0, "r2": 1.0}
    assert domains.fit([(1, 0), (2, 9), (3, 0)], 1)["r2"] < 0.1


def test_the_whole_small(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Real processes, few: every figure is there, as JSON and as text."""
    monkeypatch.setattr(bench_domains, "SIZES", (4,))
    monkeypatch.setattr(bench_domains, "SIMULATED_BUS", (4, 9, 16))
    monkeypatch.setattr(domains, "HOPS", 2_000)
    monkeypatch.setattr(domains, "ROUNDS", 3)
    monkeypatch.setattr(domains, "CRIES", 2)
    monkeypatch.setattr(fedpro, "measure_floor", lambda folder: {"relay_us": 20.0})
    assert main(["bench", "domains", "--json", "--repeats", "1"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["topology"] for row in said["round_trips"]] == ["flat", "bus"]
    assert all(
        row[name] > 0 for row in said["round_trips"] for name in ("local_us", "remote_us", "broadcast_us")
    )
    assert said["hop_durable"]["per_s"] > 0
    assert said["hop_plain"]["receiver_us"] > 0
    assert said["floor"]["sqlite_rows_per_s"] > 0
    text = bench_domains.as_text(said)
    assert "causal hop, durable" in text
    assert "stamp_entries_per_message, bus:" in text
