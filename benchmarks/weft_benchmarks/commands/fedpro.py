"""`weft bench fedpro`: the Federate Protocol over loopback, with its floors in C from the same run."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks import fedpro
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, load, say

# What docs/benchmarks.md compares with, compiled.
AIMS = {
    "round_trip ÷ C relay": 3.0,
    "call ÷ C responder": 1.15,
    "one_to_one_async_per_s": 250_000.0,
    "one_to_seven_async_per_s": 60_000.0,
    "one_to_one_async_server_us": 3.0,
    "one_to_seven_async_server_us": 6.0,
    "idle_mib": 300.0,
}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("fedpro", help="messages through a server, between processes on loopback")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.repeats)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(repeats: int) -> dict[str, Any]:
    builds = [COMPILED, PURE] if can_run_compiled() else [PURE]
    results: dict[str, Any] = {"benchmark": "fedpro", "machine": load()}
    floors: list[dict[str, float]] = []
    samples: dict[str, list[dict[str, float]]] = {build: [] for build in builds}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, repeats + 1):
            say(f"round {number}/{repeats}: floors in C")
            floors.append(fedpro.measure_floor(folder))
            for build in builds:
                samples[build].append(fedpro.measure(build))
    results["floor"] = medians(floors)
    results["builds"] = []
    for build in builds:
        say(f"{build}: idle federates")
        figures = {**medians(samples[build]), "idle_mib": round(fedpro.measure_idle(build), 1)}
        results["builds"].append({"build": build, **figures, "ratio": _ratios(figures, results["floor"])})
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def medians(samples: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(statistics.median(sample[name] for sample in samples), 2) for name in samples[0]}


def _ratios(figures: dict[str, float], floor: dict[str, float]) -> dict[str, float]:
    if not floor:
        return {}
    return {
        "round_trip ÷ C relay": round(figures["round_trip_us"] / floor["relay_us"], 2),
        "call ÷ C responder": round(figures["call_us"] / floor["responder_call_us"], 2),
    }


def as_text(results: dict[str, Any]) -> str:
    return table(results, AIMS)


def table(results: dict[str, Any], aims: dict[str, float]) -> str:
    """The figures of all builds side by side."""
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [f"{machine['cores']} cores, {loads}, Python {machine['python']}", ""]
    if results["floor"]:
        lines.append(
            "floor in C: " + ", ".join(f"{name} {value:g}" for name, value in results["floor"].items())
        )
    else:
        lines.append("no C compiler, so no floor")
    names = [name for name in results["builds"][0] if name not in ("build", "ratio")]
    rows = {name: [build[name] for build in results["builds"]] for name in names}
    for name in results["builds"][0]["ratio"]:
        rows[name] = [build["ratio"][name] for build in results["builds"]]
    width = max(map(len, rows)) + 2
    lines += ["", f"{'':<{width}}" + "".join(f"{b['build']:>12}" for b in results["builds"]) + f"{'aim':>12}"]
    for name, values in rows.items():
        aim = f"{aims[name]:>12,.6g}" if name in aims else ""
        lines.append(f"{name:<{width}}" + "".join(f"{value:>12,.6g}" for value in values) + aim)
    return "\n".join(lines)
