"""The parts of `weft bench channel` with two processes: Table 2 of the paper (S3-16), and figure 16 (S3-15)."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from weft_benchmarks import channel_remote, channel_utilisation
from weft_benchmarks.channel import CONSUMERS, SUPPLIERS
from weft_benchmarks.channel_remote import DISPATCHES
from weft_benchmarks.commands.realtime import utilisation_text
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, say

# Half of what TAO's gateways need for a round trip between two processes on a machine like ours (0.4 to 0.6 ms), in µs.
ROUND_TRIP_US = (200.0, 300.0)
_WORDS = ("min", "median", "p99", "max")
_COLUMNS = ("local first", "local last", "remote first", "remote last", "round trip", "floor")
_CORES = {"one": True, "all": False}

Rows = list[dict[str, Any]]


def measure(parts: Iterable[str], repeats: int) -> dict[str, Rows]:
    """What of each part goes into the results, by key."""
    wanted = [part for part in PARTS if part in parts]
    if not wanted:
        return {}
    build = COMPILED if can_run_compiled() else PURE
    results: dict[str, Rows] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in wanted:
            results |= PARTS[part](build, folder, repeats)
    say("")
    return results


def _latency(build: str, folder: str, repeats: int) -> dict[str, Rows]:
    """`where` is "remote", and "local" for the consumers beside the suppliers."""
    rows: Rows = []
    for cores, pinned in _CORES.items():
        floors: list[dict[str, float]] = []
        samples: list[dict[str, float]] = []
        for number in range(1, repeats + 1):
            say(f"consumers in another process, {cores} core(s), round {number}/{repeats}, {build}")
            floors.append(channel_remote.measure_floor(folder, pinned))
            samples.append(channel_remote.measure(build, folder, pinned))
        rows += _rows(build, cores, _medians(samples), _medians(floors))
    return {"latency": rows}


def _medians(samples: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(sample[name] for sample in samples) for name in samples[0]}


def _rows(build: str, cores: str, found: dict[str, float], floor: dict[str, float]) -> Rows:
    cases = [
        (where, dispatch, suppliers, consumers)
        for where in ("local", "remote")
        for dispatch in DISPATCHES
        for suppliers in SUPPLIERS
        for consumers in CONSUMERS
    ]
    rows: Rows = []
    for where, dispatch, suppliers, consumers in cases:
        name = f"{suppliers} {consumers} {dispatch}"
        row = {
            "build": build,
            "suppliers": suppliers,
            "consumers": consumers,
            "where": where,
            "dispatch": dispatch,
            "processes": 2,
            "cores": cores,
            "fifo": bool(found["fifo"]),
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


def _utilisation(build: str, folder: str, repeats: int) -> dict[str, Rows]:
    return {"federated": [{"build": build, **channel_utilisation.federated(build, folder)}]}


PARTS: dict[str, Callable[[str, str, int], dict[str, Rows]]] = {
    "remote": _latency,
    "federated": _utilisation,
}


def as_text(results: dict[str, Rows]) -> str:
    lines = _latency_lines(results["latency"]) if "latency" in results else []
    for row in results.get("federated", []):
        lines += ["", *utilisation_text([row], f"{row['build']}, {_how(row)}")]
    return "\n".join(lines)


def _latency_lines(rows: Rows) -> list[str]:
    least, most = ROUND_TRIP_US
    lines = [
        "",
        "Two processes: latency until consumers beside the supplier, and in the other process, are called, and round trip,",
        f"in µs: median (p99), {_how(rows[0])}; the aim for a round trip is {least:.0f} to {most:.0f}",
        f"{'build':<10}{'cores':<6}{'dispatch':<10}{'sup.':>5}{'con.':>5}"
        + "".join(f"{word:>18}" for word in _COLUMNS),
    ]
    beside = {_key(row): row for row in rows if row["where"] == "local"}
    for row in [row for row in rows if row["where"] == "remote"]:
        local = beside[_key(row)]
        cells = [local["first_us"], local["last_us"], row["first_us"], row["last_us"], row["round_trip_us"]]
        cells += [row["floor_us"]] if row["floor_us"] else []
        lines.append(
            f"{row['build']:<10}{row['cores']:<6}{row['dispatch']:<10}{row['suppliers']:>5}{row['consumers']:>5}"
            + "".join(f"{_cell(cell):>18}" for cell in cells)
        )
    return lines


def _how(row: dict[str, Any]) -> str:
    return "SCHED_FIFO" if row["fifo"] else "ordinary scheduling: nobody here may have SCHED_FIFO"


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[word] for word in ("build", "cores", "dispatch", "suppliers", "consumers"))


def _cell(figures: dict[str, float]) -> str:
    return f"{figures['median']:.1f} ({figures['p99']:.1f})"
