"""`weft bench ddm`: matching of regions, at once beside a matcher in C++ and while they move; what crosses a network.

Each part is a function that takes the command's arguments and returns a list of rows or a mapping, and stands in PARTS
under the name of its place in the results; `as_text` shows it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks import ddm, entities
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, load, say

# What docs/benchmarks.md compares with.
AIMS = {"pairs_per_s, d = 2": 5_000_000.0, "÷ C++ on one core, d = 2": 3.0, "moves_per_s": 20_000.0}

GRIDS = (2, 4, 8, 16, 32)
FEW = entities.FEDERATES


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("ddm", help="matching of regions: at once and while they move; network traffic")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument(
        "--boxes", type=whole(100), default=1_000_000, help="boxes on each side (default %(default)s)"
    )
    parser.add_argument(
        "--regions", type=whole(1_000), default=100_000, help="regions that move (default %(default)s)"
    )
    parser.add_argument(
        "--moves", type=whole(100), default=20_000, help="so many moves (default %(default)s)"
    )
    parser.add_argument(
        "--entities", type=whole(FEW), default=10_000, help="entities that move (default %(default)s)"
    )
    parser.add_argument(
        "--steps", type=whole(1), default=2, help="steps of the entities (default %(default)s)"
    )
    parser.add_argument(
        "--part", choices=sorted(PARTS), action="append", help="only this part; may be repeated"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    results: dict[str, Any] = {"benchmark": "ddm", "machine": load(), "aims": AIMS}
    for name, part in PARTS.items():
        if not arguments.part or name in arguments.part:
            results[name] = part(arguments)
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


# One-off matching


def measure_matching(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows for one, two and three dimensions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = ddm.compile_floor(folder)
        return [_match_row(folder, program, d, arguments.boxes, arguments.repeats) for d in (1, 2, 3)]


def _match_row(
    folder: Path, program: Path | None, dimensions: int, boxes: int, repeats: int
) -> dict[str, Any]:
    file = folder / "boxes"
    ddm.write_boxes(file, dimensions, boxes, seed=dimensions)
    ours, one_core, two_cores = [], [], []
    for number in range(1, repeats + 1):
        say(f"round {number}/{repeats}: {boxes} + {boxes} boxes, d = {dimensions}")
        ours.append(ddm.measure_match(file, dimensions, boxes))
        if program is not None:
            one_core.append(ddm.measure_floor(program, file, dimensions, boxes, 1))
            two_cores.append(ddm.measure_floor(program, file, dimensions, boxes, 2))
    for other in one_core + two_cores:
        if (other["pairs"], other["checksum"]) != (ours[0]["pairs"], ours[0]["checksum"]):
            raise RuntimeError(f"d = {dimensions}: the two matchers found different pairs")
    seconds = _median(ours, "seconds")
    row: dict[str, Any] = {
        "dimensions": dimensions,
        "boxes": boxes,
        "pairs": int(ours[0]["pairs"]),
        "seconds": seconds,
        "cpu_s": _median(ours, "cpu_s"),
        "pairs_per_s": round(ours[0]["pairs"] / seconds),
    }
    if one_core:
        floor, cpu, both = (
            _median(one_core, "seconds"),
            _median(one_core, "cpu_s"),
            _median(two_cores, "seconds"),
        )
        row["floor"] = {"one_core_s": floor, "one_core_cpu_s": cpu, "two_cores_s": both}
        row["ratio"] = {
            "one_core": round(seconds / floor, 2),
            "one_core_cpu": round(row["cpu_s"] / cpu, 2),
            "two_cores": round(seconds / both, 2),
        }
    return row


def _median(rows: list[dict[str, float]], name: str) -> float:
    return round(statistics.median(row[name] for row in rows), 4)


# Moves


def measure_moves(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """For each build the rows for four numbers of regions, up to that asked for, and how time grows with them."""
    builds = [COMPILED, PURE] if can_run_compiled() else [PURE]
    most = arguments.regions
    sizes = sorted({max(500, most // part) for part in (64, 16, 4, 1)})
    found = []
    for build in builds:
        rows = []
        for regions in sizes:
            taken = []
            for number in range(1, arguments.repeats + 1):
                say(f"round {number}/{arguments.repeats}: {regions} regions move, {build}")
                taken.append(ddm.measure_moves(build, regions, arguments.moves))
            rows.append({name: round(statistics.median(one[name] for one in taken), 2) for name in taken[0]})
        growth = {name: round(value, 3) for name, value in ddm.growth(rows).items()}
        found.append({"build": build, "sizes": rows, "growth": growth})
    return found


# Traffic


def measure_traffic(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each strategy and size of the grid.  The counts are the same in every run, so there is one run of each."""
    plans = [(*one, "moving") for one in entities.strategies(GRIDS)]
    plans += [("Exact", 1, "fixed"), ("Simple", 1, "fixed"), ("StaticGridPartitioned", 8, "fixed")]
    rows = []
    for strategy, grid, regions in plans:
        say(f"{arguments.entities} entities, {regions} regions, {strategy}, grid {grid}")
        rows.append(entities.measure(strategy, grid, regions, arguments.entities, arguments.steps))
    return rows


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "matching": measure_matching,
    "moves": measure_moves,
    "traffic": measure_traffic,
}


# Text


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [f"{machine['cores']} cores, {loads}, Python {machine['python']}"]
    if "matching" in results:
        lines += ["", *_matching_text(results["matching"])]
    for build in results.get("moves", ()):
        lines += ["", *_moves_text(build)]
    if "traffic" in results:
        lines += ["", *_traffic_text(results["traffic"])]
    lines += ["", "aims: " + ", ".join(f"{name} {aim:,g}" for name, aim in results["aims"].items())]
    return "\n".join(lines)


def _matching_text(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"{rows[0]['boxes']:,} + {rows[0]['boxes']:,} boxes, in seconds",
        f"{'d':<4}{'pairs':>12}{'numpy':>9}{'CPU':>9}{'pairs/s':>13}{'C++':>9}{'CPU':>9}{'2 cores':>9}{'÷ C++':>8}{'÷ CPU':>8}",
    ]
    for row in rows:
        line = f"{row['dimensions']:<4}{row['pairs']:>12,}{row['seconds']:>9.2f}{row['cpu_s']:>9.2f}{row['pairs_per_s']:>13,}"
        if "floor" in row:
            floor, ratio = row["floor"], row["ratio"]
            line += f"{floor['one_core_s']:>9.2f}{floor['one_core_cpu_s']:>9.2f}{floor['two_cores_s']:>9.2f}"
            line += f"{ratio['one_core']:>8.2f}{ratio['one_core_cpu']:>8.2f}"
        lines.append(line)
    if "floor" not in rows[0]:
        lines.append("no C++ compiler, so no floor")
    return lines


def _traffic_text(rows: list[dict[str, Any]]) -> list[str]:
    first = rows[0]
    lines = [
        f"{first['entities']:,} entities of {entities.FEDERATES} federates, {first['updates']:,} updates: messages between nodes"
    ]
    heads = ("on channels", "messages", "wanted", "unwanted", "kept back", "commands")
    lines.append(
        f"{'strategy':<24}{'grid':>5}{'regions':>9}" + "".join(f"{one:>12}" for one in heads) + f"{'s':>8}"
    )
    lines += [
        f"{row['strategy']:<24}{row['grid']:>5}{row['regions']:>9}{row['sent']:>12,}{row['messages']:>12,}{row['wanted']:>12,}"
        f"{row['unwanted']:>12,}{row['kept_at_sender']:>12,}{row['commands']:>12,}{row['seconds']:>8.1f}"
        for row in rows
    ]
    return lines


def _moves_text(build: dict[str, Any]) -> list[str]:
    growth = build["growth"]
    grows = f"{growth['us_per_doubling']:.2f} µs more for each doubling, as regions^{growth['exponent']:.2f}"
    lines = [
        f"moves of regions, {build['build']}: {grows}",
        f"{'regions':>10}{'moves/s':>12}{'CPU µs':>10}{'all compared, µs':>20}{'overlaps':>10}{'gained':>8}",
    ]
    lines += [
        f"{row['regions']:>10,.0f}{row['moves_per_s']:>12,.0f}{row['cpu_us']:>10.1f}{row['compare_all_cpu_us']:>20.1f}"
        f"{row['overlaps_per_region']:>10.1f}{row['gained_per_move']:>8.1f}"
        for row in build["sizes"]
    ]
    return lines
