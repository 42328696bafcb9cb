"""`weft bench channel`: what the event channel costs (S3-16; Tables 1 and 2 of the paper)."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks.channel import CONSUMERS, FEW, MANY, STAGES, SUPPLIERS
from weft_benchmarks.commands import channel_remote, realtime
from weft_benchmarks.runner import COMPILED, PURE, alternate, can_run_compiled, load

_MODULE = "weft_benchmarks.channel"
_LATENCY, _COSTS, _FILTERING = (f"{_MODULE}:{name}" for name in ("latency", "costs", "filtering"))
_WORDS = ("min", "median", "p99", "max")
_OTHERS: tuple[Any, ...] = (
    realtime,
    channel_remote,
)  # further parts: each measures, and shows, those of its PARTS that are asked for
PARTS = ("push", *(part for module in _OTHERS for part in module.PARTS))

# CPU µs without dispatching: compiled no slower than TAO, pure Python at most four times that.
AIMS = {COMPILED: {"one": 2.4, "further": 1.1}, PURE: {"one": 9.6, "further": 4.4}}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser(
        "channel", help="the event channel: latency, cost of a push, filtering, real time"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this part; may be repeated")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    parts = arguments.part or PARTS
    results: dict[str, Any] = {"benchmark": "channel", "machine": load()}
    shown = []
    if "push" in parts:
        results = measure(arguments.repeats)
        shown.append(as_text(results))
    for module in _OTHERS:
        found = module.measure(parts, arguments.repeats)
        shown.append(module.as_text(found))
        for key, value in found.items():
            results[key] = results[key] + value if key in results else value
    results["machine"]["load_average_after"] = load()["load_average"]
    if "push" not in parts:
        shown.insert(0, _machine(results["machine"]))
    print(json.dumps(results, indent=2) if arguments.json else "\n".join(text for text in shown if text))
    return 0


def measure(repeats: int) -> dict[str, Any]:
    builds = [COMPILED, PURE] if can_run_compiled() else [PURE]
    results: dict[str, Any] = {
        "benchmark": "channel",
        "machine": load(),
        "latency": [],
        "costs": [],
        "filtering": [],
    }
    found = alternate([_LATENCY, _COSTS, _FILTERING], builds, repeats)
    for build in builds:
        results["latency"] += _latency(build, found[_LATENCY, build])
        results["costs"] += _costs(build, found[_COSTS, build])
        results["filtering"].append(_filtering(build, found[_FILTERING, build]))
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _latency(build: str, found: dict[str, float]) -> list[dict[str, Any]]:
    floor = _spread(found, "floor")
    rows = []
    for stage in STAGES:
        for suppliers in SUPPLIERS:
            for consumers in CONSUMERS:
                name = f"latency {suppliers} {consumers} {stage.where} {stage.dispatch}"
                rows.append(
                    {
                        "build": build,
                        "suppliers": suppliers,
                        "consumers": consumers,
                        "where": stage.where,
                        "dispatch": stage.dispatch,
                        "first_us": _spread(found, f"{name} first"),
                        "last_us": _spread(found, f"{name} last"),
                        "floor_us": floor,
                    }
                )
    return rows


def _spread(found: dict[str, float], name: str) -> dict[str, float]:
    return {word: round(found[f"{name} {word}"], 3) for word in _WORDS}


def _costs(build: str, found: dict[str, float]) -> list[dict[str, Any]]:
    floor = found["cost floor"]
    return [
        {
            "build": build,
            "where": stage.where,
            "dispatch": stage.dispatch,
            "one_us": round(found[f"cost {stage.where} {stage.dispatch} one"], 3),
            "further_us": round(found[f"cost {stage.where} {stage.dispatch} further"], 3),
            "floor_us": round(floor, 4),
        }
        for stage in STAGES
    ]


def _filtering(build: str, found: dict[str, float]) -> dict[str, Any]:
    row: dict[str, Any] = {"build": build}
    for word in ("known", "changed"):
        few, many = found[f"filtering {FEW} {word}"], found[f"filtering {MANY} {word}"]
        row[f"{word}_us"] = {str(FEW): round(few, 3), str(MANY): round(many, 3)}
        row[f"{word}_ratio"] = round(many / few, 2)
    return row


def _machine(machine: dict[str, Any]) -> str:
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    return f"{machine['cores']} cores, {loads}, Python {machine['python']}"


def as_text(results: dict[str, Any]) -> str:
    lines = [
        _machine(results["machine"]),
        "",
        "CPU of a push, in µs (and as a multiple of a plain call of the consumer)",
        f"{'build':<10}{'dispatch':<14}{'one consumer':>18}{'each further':>18}{'floor':>10}",
    ]
    for row in results["costs"]:
        cells = [f"{row[word]:.2f} ({row[word] / row['floor_us']:.0f}×)" for word in ("one_us", "further_us")]
        lines.append(
            f"{row['build']:<10}{row['dispatch']:<14}{cells[0]:>18}{cells[1]:>18}{row['floor_us']:>10.3f}"
        )
    lines += [
        f"{'aim':<10}{f'none, {build}':<20}{AIMS[build]['one']:>12.2f}{AIMS[build]['further']:>18.2f}"
        for build in {row["build"]: None for row in results["costs"]}
    ]
    lines += [
        "",
        "Latency until the first and the last consumer is called, in µs: median (p99)",
        f"{'build':<10}{'dispatch':<14}{'where':<8}{'suppliers':>9}{'consumers':>11}{'first':>18}{'last':>18}",
    ]
    for row in results["latency"]:
        cells = [f"{row[word]['median']:.2f} ({row[word]['p99']:.2f})" for word in ("first_us", "last_us")]
        lines.append(
            f"{row['build']:<10}{row['dispatch']:<14}{row['where']:<8}{row['suppliers']:>9}{row['consumers']:>11}"
            f"{cells[0]:>18}{cells[1]:>18}"
        )
    lines += [
        "",
        f"A push among {FEW} and {MANY:,} subscriptions, in µs",
        f"{'build':<10}{'route known':>24}{'ratio':>8}{'after a change':>24}{'ratio':>8}",
    ]
    for row in results["filtering"]:
        known, changed = (
            f"{row[word][str(FEW)]:.2f} → {row[word][str(MANY)]:.2f}" for word in ("known_us", "changed_us")
        )
        lines.append(
            f"{row['build']:<10}{known:>24}{row['known_ratio']:>8.2f}{changed:>24}{row['changed_ratio']:>8.2f}"
        )
    return "\n".join(lines)
