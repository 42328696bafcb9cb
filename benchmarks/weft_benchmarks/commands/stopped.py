"""`weft bench stopped`: what a federate that does not read costs the others and the server."""

from __future__ import annotations

import argparse
import json

from weft.cli.arguments import whole
from weft_benchmarks.commands.fedpro import medians
from weft_benchmarks.crowds import stopped
from weft_benchmarks.runner import Results, builds, load, machine_line, say

HEADS = f"{'deliveries/s':>14}{'of absent':>11}{'server, µs':>12}{'of absent':>11}{'others, µs':>12}"
AIM = 0.9  # of the others' throughput without the one that is stopped


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("stopped", help="what a receiver that is stopped costs the others")
    parser.add_argument(
        "--repeats", type=whole(1), default=5, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument(
        "--federates", type=whole(2), default=stopped.FEDERATES, help="the others (default %(default)s)"
    )
    parser.add_argument(
        "--record", action="store_true", help="record, as `weft serve` does unless told not to"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--no-pure", action="store_true", help="leave out the pure build")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    results = measure(arguments.repeats, arguments.federates, arguments.record, not arguments.no_pure)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(repeats: int, federates: int, record: bool, pure: bool) -> Results:
    results: Results = {"benchmark": "stopped", "machine": load(), "aim": AIM, "federates": federates}
    results["recorded"], results["rows"] = record, []
    for build in builds(pure):
        for way in stopped.WAYS:
            rounds = [
                stopped.measure(build, way, federates, number, record) for number in range(1, repeats + 1)
            ]
            results["rows"].append({"build": build, "way": way.name, **medians(rounds)})
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def as_text(results: Results) -> str:
    how = "recorded" if results["recorded"] else "not recorded"
    lines = [
        machine_line(results),
        "",
        f"{results['federates']} federates, each sends to all, and one more, {how}; CPU for a message sent",
        f"{'build':<10}{'messages':<20}{'one more':<10}{HEADS}   aim, stopped: {results['aim']:g} or more",
    ]
    for row in results["rows"]:
        lines += [_line(row, kind) for kind in stopped.KINDS]
    return "\n".join(lines)


def _line(row: Results, kind: str) -> str:
    def of_absent(name: str) -> str:
        ratio = row.get(f"{kind}_{name}_ratio")
        return f"{'':>11}" if ratio is None else f"{ratio:>11.2f}"

    begins = f"{row['build']:<10}{row['way']:<20}{kind:<10}"
    rate = f"{row[f'{kind}_per_s']:>14,.0f}{of_absent('per_s')}"
    cpu = f"{row[f'{kind}_server_us']:>12.2f}{of_absent('server_us')}{row[f'{kind}_others_us']:>12.2f}"
    return begins + rate + cpu
