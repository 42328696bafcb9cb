"""The part of `weft bench channel` for consumers in another process: Table 2 of the paper (S3-16)."""

from __future__ import annotations

import statistics
import tempfile
from typing import Any

from weft.cli.benchmarks import channel_remote
from weft.cli.benchmarks.channel import CONSUMERS, SUPPLIERS
from weft.cli.benchmarks.channel_remote import DISPATCHES
from weft.cli.benchmarks.runner import say

# Half of what TAO's gateways need for a round trip between two processes on a machine like ours (0.4 to 0.6 ms), in µs.
AIM = 300.0
_WORDS = ("min", "median", "p99", "max")
_COLUMNS = ("local first", "local last", "remote first", "remote last", "round trip", "floor")
_CORES = {"one": True, "all": False}


def measure(builds: list[str], repeats: int) -> list[dict[str, Any]]:
    """Rows for "latency", with `where` "remote", and "local" for the consumers beside the suppliers."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for cores, pinned in _CORES.items():
            floors: list[dict[str, float]] = []
            samples: dict[str, list[dict[str, float]]] = {build: [] for build in builds}
            for number in range(1, repeats + 1):
                say(
                    f"remote consumers, {cores} core{'s' * (not pinned)}, round {number}/{repeats}: floor in C"
                )
                floors.append(channel_remote.measure_floor(folder, pinned))
                for build in builds:
                    say(
                        f"remote consumers, {cores} core{'s' * (not pinned)}, round {number}/{repeats}: {build}"
                    )
                    samples[build].append(channel_remote.measure(build, folder, pinned))
            floor = _medians(floors)
            for build in builds:
                rows += _rows(build, cores, _medians(samples[build]), floor)
    say("")
    return rows


def _medians(samples: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(sample[name] for sample in samples) for name in samples[0]}


def _rows(build: str, cores: str, found: dict[str, float], floor: dict[str, float]) -> list[dict[str, Any]]:
    rows = []
    for where in ("local", "remote"):
        for dispatch in DISPATCHES:
            for suppliers in SUPPLIERS:
                for consumers in CONSUMERS:
                    name = f"{suppliers} {consumers} {dispatch}"
                    row = {
                        "build": build,
                        "suppliers": suppliers,
                        "consumers": consumers,
                        "where": where,
                        "dispatch": dispatch,
                        "federated": True,
                        "cores": cores,
                        "first_us": _spread(found, f"{name} {where} first"),
                        "last_us": _spread(found, f"{name} {where} last"),
                    }
                    if where == "remote":
                        row["round_trip_us"] = _spread(found, f"{name} round trip")
                        row["floor_us"] = _spread(floor, "floor") if floor else None
                    rows.append(row)
    return rows


def _spread(found: dict[str, float], name: str) -> dict[str, float]:
    return {word: round(found[f"{name} {word}"], 3) for word in _WORDS}


def as_text(rows: list[dict[str, Any]]) -> list[str]:
    """Of all rows of "latency", those that are told here."""
    lines = [
        "",
        "Two processes, joined by gateways: latency until consumers there, and beside the supplier, are called, and round trip,",
        f"in µs: median (p99); the aim for the median round trip at 1×1 is {AIM:.0f}",
        f"{'build':<10}{'cores':<6}{'dispatch':<10}{'sup.':>5}{'con.':>5}"
        + "".join(f"{word:>18}" for word in _COLUMNS),
    ]
    beside = {_key(row): row for row in rows if row.get("federated") and row["where"] == "local"}
    for row in rows:
        if row.get("federated") and row["where"] == "remote":
            local = beside[_key(row)]
            cells = [
                local["first_us"],
                local["last_us"],
                row["first_us"],
                row["last_us"],
                row["round_trip_us"],
            ]
            floor = _cell(row["floor_us"]) if row["floor_us"] else ""
            lines.append(
                f"{row['build']:<10}{row['cores']:<6}{row['dispatch']:<10}{row['suppliers']:>5}{row['consumers']:>5}"
                + "".join(f"{_cell(cell):>18}" for cell in cells)
                + f"{floor:>18}"
            )
    return lines


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[word] for word in ("build", "cores", "dispatch", "suppliers", "consumers"))


def _cell(figures: dict[str, float]) -> str:
    return f"{figures['median']:.1f} ({figures['p99']:.1f})"
