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
SHOWN = (
    ("server", "recorded", "server, one to one"),
    ("server", "stored", "… to the store"),
    ("embedded", "recorded", "embedded, one to one"),
)


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("record", help="throughput with and without recording")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument("--no-pure", action="store_true", help="leave out the pure build")
    parser.add_argument(
        "--store",
        default="",
        metavar="ADDRESS",
        help="a server also records there, as to s3://lake/bench (what it uploads stays there)",
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.repeats, not arguments.no_pure, arguments.store)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(repeats: int, pure: bool, store: str = "") -> dict[str, Any]:
    builds = [COMPILED] if can_run_compiled() else []
    if pure or not builds:
        builds.append(PURE)
    results: dict[str, Any] = {"benchmark": "record", "machine": load(), "aim": AIM, "builds": []}
    for build in builds:
        samples = []
        for number in range(1, repeats + 1):
            found: dict[str, float] = {}
            places = record.WHERE | ({"stored": store} if store else {})
            for name in list(places)[:: 1 if number % 2 else -1]:
                found.update(record.served(build, name, places[name]))
            for name in ("embedded", "writer"):
                say(f"{build}: {name}, round {number}/{repeats}")
                found.update(measure_there(f"{_MODULE}:{name}", build))
            found.pop("compiled", None)
            for one, name, _ in SHOWN:  # of the same round: a machine is not as fast in the next
                if f"{one}_{name}_per_s" in found:
                    ratio = found[f"{one}_{name}_per_s"] / found[f"{one}_plain_per_s"]
                    found[f"{one}_{name}_ratio"] = ratio
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
        for one, name, shown in SHOWN:
            if f"{one}_{name}_per_s" not in row:
                continue
            plain, recorded = row[f"{one}_plain_per_s"], row[f"{one}_{name}_per_s"]
            ratio, dropped = row[f"{one}_{name}_ratio"], row[f"{one}_{name}_dropped"]
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
