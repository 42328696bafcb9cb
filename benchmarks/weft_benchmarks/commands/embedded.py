"""`weft bench embedded`: messages and objects in one process."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks.runner import COMPILED, PURE, alternate, can_run_compiled, load

_MODULE = "weft_benchmarks.embedded"
_INTERACTIONS = f"{_MODULE}:interactions"
_JOINED = f"{_MODULE}:joined"
_DISCOVERIES = f"{_MODULE}:discoveries"
_MEMORY = f"{_MODULE}:memory"

# What docs/benchmarks.md compares with: CPU µs compiled, bytes.
MOST_OF_JOIN = 1.5  # times the ambassador
AIMS = {"one_to_one_us": 6.0, "further_receiver_us": 1.5, "bytes_per_object": 2048.0}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    embedded = kinds.add_parser("embedded", help="messages and objects in one process")
    embedded.add_argument("--json", action="store_true", help="print the results as JSON")
    embedded.add_argument(
        "--repeats", type=whole(1), default=5, help="rounds to take the median of (default %(default)s)"
    )
    embedded.add_argument("--no-objects", action="store_true", help="leave out the 10,000 objects")
    embedded.set_defaults(func=run_embedded)


def run_embedded(arguments: argparse.Namespace) -> int:
    results = measure_embedded(arguments.repeats, objects=not arguments.no_objects)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure_embedded(repeats: int, objects: bool) -> dict[str, Any]:
    builds = [COMPILED, PURE] if can_run_compiled() else [PURE]
    before = load()
    results: dict[str, Any] = {
        "benchmark": "embedded",
        "machine": before,
        "interactions": [],
        "join": [],
        "objects": [],
    }
    for (function, build), found in alternate([_INTERACTIONS, _JOINED], builds, repeats).items():
        if function == _JOINED:
            results["join"].append({"build": build, **_figures(found)})
        else:
            results["interactions"].append({"build": build, **_figures(found), "ratio": _ratios(found)})
    if objects:
        rounds = max(1, repeats // 2)
        discovered = alternate([_DISCOVERIES], builds, rounds)
        remembered = alternate([_MEMORY], builds, 1)
        for build in builds:
            figures = {**_figures(discovered[_DISCOVERIES, build]), **_figures(remembered[_MEMORY, build])}
            results["objects"].append({"build": build, "federates": 100, "attributes": 10, **figures})
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _figures(found: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in found.items() if name != "compiled"}


def _ratios(found: dict[str, float]) -> dict[str, float]:
    floor = found["floor_us"]
    return {name.removesuffix("_us"): round(found[name] / floor, 1) for name in found if name.endswith("_us")}


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [
        f"{machine['cores']} cores, {loads}, Python {machine['python']}",
        "",
        "CPU per interaction, in µs (and as a multiple of the floor)",
        f"{'build':<10}{'one to one':>18}{'one to seven':>18}{'each further':>18}{'floor':>10}",
    ]
    for row in results["interactions"]:
        cells = [
            f"{row[f'{name}_us']:.2f} ({row['ratio'][name]:.0f}×)"
            for name in ("one_to_one", "one_to_seven", "further_receiver")
        ]
        lines.append(
            f"{row['build']:<10}" + "".join(f"{cell:>18}" for cell in cells) + f"{row['floor_us']:>10.3f}"
        )
    lines.append(f"{'aim':<10}{AIMS['one_to_one_us']:>18.2f}{'':>18}{AIMS['further_receiver_us']:>18.2f}")
    lines += ["", "the same by weft.join, in µs (and as a multiple of the ambassador that is handed bytes)"]
    lines.append(f"{'build':<10}{'ambassador':>18}{'by name':>18}{'by a dataclass':>18}")
    for row in results["join"]:
        cells = [
            f"{row[name]:.2f} ({row[name] / row['ambassador_us']:.1f}×)"
            for name in ("join_us", "join_typed_us")
        ]
        lines.append(
            f"{row['build']:<10}{row['ambassador_us']:>18.2f}" + "".join(f"{cell:>18}" for cell in cells)
        )
    lines.append(f"{'aim':<10}{'':>18}{f'{MOST_OF_JOIN}×':>18}")
    if results["objects"]:
        lines += [
            "",
            "100 federates that each discover every object (10 attributes)",
            f"{'build':<10}{'bytes/object':>14}{'µs/discovery, 1,000':>22}{'10,000':>10}{'growth':>10}",
        ]
        lines += [
            f"{row['build']:<10}{row['bytes_per_object']:>14.0f}{row['few_us']:>22.2f}{row['many_us']:>10.2f}"
            f"{row['growth']:>9.1f}×"
            for row in results["objects"]
        ]
        lines.append(f"{'aim':<10}{AIMS['bytes_per_object']:>14.0f}{'':>32}{'10.0×':>10}")
    return "\n".join(lines)
