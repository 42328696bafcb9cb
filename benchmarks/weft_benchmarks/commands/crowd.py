"""`weft bench crowd`: each of many federates sends one message to all; time, CPU and memory of the server."""

from __future__ import annotations

import argparse
import json
import math
import statistics

from weft.cli.arguments import whole
from weft_benchmarks.commands.fedpro import medians
from weft_benchmarks.crowds import crowd
from weft_benchmarks.runner import COMPILED, PURE, Results, builds, load, machine_line, say

COUNTS = {COMPILED: [100, 300, 1000], PURE: [100, 300]}
GROWS = {"seconds": "seconds", "server_s": "server's CPU", "kept_mib": "memory kept"}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    many = kinds.add_parser("crowd", help="each of many federates sends one message to all")
    many.add_argument(
        "--federates", type=whole(2), action="append", metavar="N",
        help="how many, and again for another number (default 100, 300 and, compiled, 1,000, which is a million deliveries)",
    )  # fmt: skip
    many.add_argument("--bytes", type=whole(1), default=64, help="of each message (default %(default)s)")
    many.add_argument(
        "--repeats", type=whole(1), default=1, help="rounds to take the median of (default %(default)s)"
    )
    many.add_argument("--record", action="store_true", help="record, as `weft serve` does unless told not to")
    many.set_defaults(func=run_crowd)
    many.add_argument("--json", action="store_true", help="print the results as JSON")
    many.add_argument("--no-pure", action="store_true", help="leave out the pure build")


def run_crowd(arguments: argparse.Namespace) -> int:
    results = measure_crowd(
        arguments.federates,
        arguments.bytes,
        arguments.repeats,
        arguments.record,
        not arguments.no_pure,
    )
    print(json.dumps(results, indent=2) if arguments.json else crowd_as_text(results))
    return 0


def measure_crowd(counts: list[int] | None, size: int, repeats: int, record: bool, pure: bool) -> Results:
    results: Results = {"benchmark": "crowd", "machine": load(), "bytes": size, "recorded": record}
    results["rows"], results["growth"] = [], {}
    for build in builds(pure):
        rows = []
        for count in counts or COUNTS[build]:
            rounds = [crowd.measure_crowd(build, count, size, record) for _ in range(repeats)]
            rows.append({"build": build, "federates": count, **medians(rounds)})
        results["rows"] += rows
        if len(rows) > 1:
            results["growth"][build] = powers(rows)
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def powers(rows: list[Results]) -> dict[str, float]:
    """With which power of the number of federates each grows: the slope of a line through the logarithms."""
    sizes = [math.log(row["federates"]) for row in rows]
    found = {}
    for name in GROWS:
        values = [math.log(max(row[name], 0.01)) for row in rows]
        found[name] = round(statistics.linear_regression(sizes, values).slope, 2)
    return found


def crowd_as_text(results: Results) -> str:
    how = "recorded" if results["recorded"] else "not recorded"
    heads = (
        "joined, s",
        "sent, s",
        "deliveries/s",
        "server, µs",
        "federates, µs",
        "in one write",
        "joined, MiB",
        "peak",
        "after",
    )
    lines = [
        machine_line(results),
        "",
        f"Everybody sends {results['bytes']} bytes to everybody, {how}; memory is the server's",
        f"{'build':<10}{'federates':>10}" + "".join(f"{head:>14}" for head in heads),
    ]
    lines += [f"{row['build']:<10}{row['federates']:>10,}{_crowd_figures(row)}" for row in results["rows"]]
    for build, found in results["growth"].items():
        said = ", ".join(f"{GROWS[name]} n^{power:.2f}" for name, power in found.items())
        lines.append(f"{build:<10}grow with the federates, of which pairs are n^2: {said}")
    return "\n".join(lines)


def _crowd_figures(row: Results) -> str:
    times = f"{row['join_s']:>14.1f}{row['seconds']:>14.2f}{row['deliveries_per_s']:>14,.0f}"
    cpu = f"{row['server_us']:>14.2f}{row['federates_us']:>14.2f}{row['frames_per_write']:>14.1f}"
    return f"{times}{cpu}{row['joined_mib']:>14.0f}{row['peak_mib']:>14.0f}{row['after_mib']:>14.0f}"
