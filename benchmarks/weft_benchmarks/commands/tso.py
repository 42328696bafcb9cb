"""`weft bench tso`: steps of logical time a second, by one server and over a mesh, and how the cost grows with federates."""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks.runner import load, say
from weft_benchmarks.steps import run_steps
from weft_benchmarks.timetables import growth

AIMS = {"star": 1500.0, "mesh": 2000.0}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("tso", help="steps of logical time, one process for each federate")
    parser.add_argument(
        "--federates", type=whole(2), default=7, help="how many federates (default %(default)s)"
    )
    parser.add_argument(
        "--steps", type=whole(1), default=2000, help="steps of each federate (default %(default)s)"
    )
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument(
        "--no-growth", action="store_true", help="leave out the growth from 2 to 64 federates"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.federates, arguments.steps, arguments.repeats, not arguments.no_growth)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(federates: int, steps: int, repeats: int, with_growth: bool) -> dict[str, Any]:
    results: dict[str, Any] = {
        "benchmark": "tso",
        "machine": load(),
        "federates": federates,
        "steps": steps,
        "results": [],
    }
    cases = [(topology, scenario) for scenario in ("idle", "loose") for topology in ("star", "mesh")]
    samples: dict[tuple[str, str], list[dict[str, float]]] = {case: [] for case in cases}
    for number in range(1, repeats + 1):
        for case in cases:
            topology, scenario = case
            say(f"round {number}/{repeats}: {topology}, {_words(scenario)}")
            samples[case].append(run_steps(scenario, "TSO", federates, steps, 0, mesh=topology == "mesh"))
    for (topology, scenario), found in samples.items():
        seconds = statistics.median(one["seconds"] for one in found)
        cpu = statistics.median(one["cpu_us"] for one in found)
        results["results"].append(
            {
                "topology": topology,
                "messages": 0 if scenario == "idle" else federates * (federates - 1),
                "steps_per_s": round(steps / seconds, 1),
                "federates_cpu_us_per_step": round(cpu, 1),
                "aim": AIMS[topology],
            }
        )
    if with_growth:
        say("growth from 2 to 64 federates")
        results["growth"] = growth()
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _words(scenario: str) -> str:
    return "time alone" if scenario == "idle" else "with a message from each to each"


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [
        f"{machine['cores']} cores, {loads}, Python {machine['python']}",
        "",
        f"{results['federates']} federates, {results['steps']} steps",
        f"{'':<8}{'messages a step':>18}{'steps/s':>12}{'aim':>10}{'federates, CPU µs a step':>28}",
    ]
    lines += [
        f"{row['topology']:<8}{row['messages']:>18}{row['steps_per_s']:>12,.0f}{row['aim']:>10,.0f}"
        f"{row['federates_cpu_us_per_step']:>28,.0f}"
        for row in results["results"]
    ]
    if "growth" in results:
        grown = results["growth"]
        lines += ["", "one node, kernel alone: CPU µs for a step of all"]
        lines += [f"{row['federates']:>6} federates {row['step_us']:>10,.1f} µs" for row in grown["rows"]]
        lines.append(
            f"fit: {grown['base_us']:.1f} µs + {grown['each_us']:.2f} µs for each federate, R² {grown['r2']:.4f}; "
            f"power of growth {grown['power']:.2f} (aim: at most 1)"
        )
    return "\n".join(lines)
