"""`weft bench record`: what recording costs, with and without in the same run."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks import record
from weft_benchmarks.commands.fedpro import medians
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, load, measure_there, say

AIM = 0.9  # of the throughput without recording
_MODULE = "weft_benchmarks.record"


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("record", help="throughput with and without recording")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument("--no-pure", action="store_true", help="leave out the pure build")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.repeats, not arguments.no_pure)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(repeats: int, pure: bool) -> dict[str, Any]:
    builds = [COMPILED] if can_run_compiled() else []
    if pure or not builds:
        builds.append(PURE)
    results: dict[str, Any] = {"benchmark": "record", "machine": load(), "aim": AIM, "builds": []}
    for build in builds:
        samples = []
        for number in range(1, repeats + 1):
            found: dict[str, float] = {}
            for recorded in (False, True) if number % 2 else (True, False):
                found.update(record.served(build, recorded))
            for name in ("embedded", "writer"):
                say(f"{build}: {name}, round {number}/{repeats}")
                found.update(measure_there(f"{_MODULE}:{name}", build))
            found.pop("compiled", None)
            for name in ("server", "embedded"):  # of the same round: a machine is not as fast in the next
                found[f"{name}_ratio"] = found[f"{name}_recorded_per_s"] / found[f"{name}_plain_per_s"]
            samples.append(found)
        figures = medians(samples)
        results["builds"].append({"build": build, **{name: round(one, 3) for name, one in figures.items()}})
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [
        f"{machine['cores']} cores, {loads}, Python {machine['python']}",
        "",
        f"{'build':<10}{'':<22}{'not recorded':>14}{'recorded':>14}{'ratio':>8}   aim {results['aim']:g} or more",
    ]
    for row in results["builds"]:
        for name, shown in (("server", "server, one to one"), ("embedded", "embedded, one to one")):
            plain, recorded = row[f"{name}_plain_per_s"], row[f"{name}_recorded_per_s"]
            ratio, dropped = row[f"{name}_ratio"], row[f"{name}_dropped"]
            figures = f"{plain:>12,.0f}/s{recorded:>12,.0f}/s{ratio:>8.2f}"
            lines.append(f"{row['build']:<10}{shown:<22}{figures}   rows dropped: {dropped:.1%}")
        lines += [
            (
                f"{'':<10}CPU µs a message: server {row['server_plain_us']:.2f} and, with what writes, "
                f"{row['server_recorded_us']:.2f}; embedded {row['embedded_plain_us']:.2f} and "
                f"{row['embedded_recorded_us']:.2f} in the federates' thread, {row['embedded_writer_us']:.2f} in what writes"
            ),
            (
                f"{'':<10}writer {row['writer_rows_per_s']:,.0f} rows/s, {row['writer_us']:.2f} CPU µs and "
                f"{row['bytes_per_row']:.1f} bytes a row"
            ),
        ]
    return "\n".join(lines)
