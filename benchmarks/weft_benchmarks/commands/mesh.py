"""`weft bench mesh`: two federates whose processes are nodes themselves, beside the same two at a server."""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks import fedpro, mesh
from weft_benchmarks.commands.fedpro import medians, table
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, load, say

AIMS = {"round_trip ÷ server": 1.0, "round_trip on all cores ÷ server": 1.0}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "mesh", help="messages between processes that are nodes themselves, on loopback"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.repeats)
    print(json.dumps(results, indent=2) if arguments.json else table(results, AIMS))
    return 0


def measure(repeats: int) -> dict[str, Any]:
    builds = [COMPILED, PURE] if can_run_compiled() else [PURE]
    results: dict[str, Any] = {"benchmark": "mesh", "machine": load()}
    floors: list[dict[str, float]] = []
    samples: dict[str, list[dict[str, float]]] = {build: [] for build in builds}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, repeats + 1):
            say(f"round {number}/{repeats}: floors in C")
            floors.append(fedpro.measure_floor(folder))
            for build in builds:
                samples[build].append(mesh.measure(build, folder))
    results["floor"] = medians(floors)
    results["builds"] = []
    for build in builds:
        figures = medians(samples[build])
        results["builds"].append({"build": build, **figures, "ratio": _ratios(figures, results["floor"])})
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _ratios(figures: dict[str, float], floor: dict[str, float]) -> dict[str, float]:
    found = {
        "round_trip ÷ server": round(figures["round_trip_us"] / figures["server_round_trip_us"], 2),
        "round_trip on all cores ÷ server": round(
            figures["round_trip_cores_us"] / figures["server_round_trip_cores_us"], 2
        ),
    }
    if floor:
        found["round_trip ÷ C relay"] = round(figures["round_trip_us"] / floor["relay_us"], 2)
    return found
