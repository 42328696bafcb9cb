"""`weft bench stopped` and `weft bench crowd`: a receiver that does not read, and everybody sending to everybody."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.arguments import whole
from weft_benchmarks import crowd
from weft_benchmarks.commands.fedpro import medians
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, load, say

AIM = 0.9  # of the others' throughput without the one that is stopped
COUNTS = [10, 100, 300]


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stopped = kinds.add_parser("stopped", help="what a receiver that is stopped costs the others")
    stopped.add_argument(
        "--repeats", type=whole(1), default=5, help="rounds to take the median of (default %(default)s)"
    )
    stopped.add_argument(
        "--receivers", type=whole(1), default=crowd.RECEIVERS, help="the others (default %(default)s)"
    )
    stopped.set_defaults(func=run_stopped)
    many = kinds.add_parser("crowd", help="each of many federates sends one message to all")
    many.add_argument(
        "--federates", type=whole(2), action="append", metavar="N",
        help="how many, and again for another number (default 10, 100 and 300; 1,000 is a million deliveries)",
    )  # fmt: skip
    many.add_argument("--bytes", type=whole(1), default=64, help="of each message (default %(default)s)")
    many.add_argument(
        "--repeats", type=whole(1), default=1, help="rounds to take the median of (default %(default)s)"
    )
    many.add_argument("--record", action="store_true", help="record, as `weft serve` does unless told not to")
    many.set_defaults(func=run_crowd)
    for parser in (stopped, many):
        parser.add_argument("--json", action="store_true", help="print the results as JSON")
        parser.add_argument("--no-pure", action="store_true", help="leave out the pure build")


def _builds(pure: bool) -> list[str]:
    builds = [COMPILED] if can_run_compiled() else []
    return [*builds, PURE] if pure or not builds else builds


# --- one that is stopped --------------------------------------------------------------------------------------


def run_stopped(arguments: argparse.Namespace) -> int:
    results = measure_stopped(arguments.repeats, arguments.receivers, not arguments.no_pure)
    print(json.dumps(results, indent=2) if arguments.json else stopped_as_text(results))
    return 0


def measure_stopped(repeats: int, receivers: int, pure: bool) -> dict[str, Any]:
    results: dict[str, Any] = {"benchmark": "stopped", "machine": load(), "aim": AIM, "receivers": receivers}
    results["builds"] = []
    for build in _builds(pure):
        rounds = [crowd.measure_stopped(build, receivers, number) for number in range(1, repeats + 1)]
        results["builds"].append({"build": build, **medians(rounds)})
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def stopped_as_text(results: dict[str, Any]) -> str:
    others = f"One to {results['receivers']} and one more, 64 bytes"
    aim = f"aim, stopped: {results['aim']:g} or more"
    lines = [
        _machine(results),
        "",
        f"{others}: what the slowest of the others gets, and the server's CPU for a message sent",
        f"{'build':<10}{'one more':<12}{'messages/s':>14}{'of absent':>12}{'server, µs':>12}   {aim}",
    ]
    for row in results["builds"]:
        for kind in (crowd.ABSENT, crowd.READS, crowd.STOPPED):
            ratio = f"{row[f'{kind}_ratio']:>12.2f}" if f"{kind}_ratio" in row else f"{'':>12}"
            figures = f"{row[f'{kind}_per_s']:>14,.0f}{ratio}{row[f'{kind}_us']:>12.2f}"
            lines.append(f"{row['build']:<10}{kind:<12}{figures}")
    return "\n".join(lines)


# --- everybody to everybody -----------------------------------------------------------------------------------


def run_crowd(arguments: argparse.Namespace) -> int:
    results = measure_crowd(
        arguments.federates or COUNTS,
        arguments.bytes,
        arguments.repeats,
        arguments.record,
        not arguments.no_pure,
    )
    print(json.dumps(results, indent=2) if arguments.json else crowd_as_text(results))
    return 0


def measure_crowd(counts: list[int], size: int, repeats: int, record: bool, pure: bool) -> dict[str, Any]:
    results: dict[str, Any] = {"benchmark": "crowd", "machine": load(), "bytes": size, "recorded": record}
    results["rows"] = []
    for build in _builds(pure):
        for count in counts:
            rounds = [crowd.measure_crowd(build, count, size, record) for _ in range(repeats)]
            results["rows"].append({"build": build, "federates": count, **medians(rounds)})
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def crowd_as_text(results: dict[str, Any]) -> str:
    how = "recorded" if results["recorded"] else "not recorded"
    heads = (
        "joined, s",
        "sent, s",
        "deliveries/s",
        "server, µs",
        "federates, µs",
        "joined, MiB",
        "peak",
        "after",
    )
    lines = [
        _machine(results),
        "",
        f"Everybody sends {results['bytes']} bytes to everybody, {how}; memory is the server's",
        f"{'build':<10}{'federates':>10}" + "".join(f"{head:>14}" for head in heads),
    ]
    lines += [f"{row['build']:<10}{row['federates']:>10,}{_crowd_figures(row)}" for row in results["rows"]]
    return "\n".join(lines)


def _crowd_figures(row: dict[str, Any]) -> str:
    times = f"{row['join_s']:>14.1f}{row['seconds']:>14.2f}{row['deliveries_per_s']:>14,.0f}"
    cpu = f"{row['server_us']:>14.2f}{row['federates_us']:>14.2f}"
    return f"{times}{cpu}{row['joined_mib']:>14.0f}{row['peak_mib']:>14.0f}{row['after_mib']:>14.0f}"


def _machine(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    return f"{machine['cores']} cores, {loads}, Python {machine['python']}"
