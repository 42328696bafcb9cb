"""`weft bench console`: what a page that looks costs a server with a thousand federates."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.arguments import whole
from weft.console.child import NEEDS
from weft.model.extras import require
from weft_benchmarks import console
from weft_benchmarks.commands.fedpro import medians
from weft_benchmarks.runner import COMPILED, PURE, can_run_compiled, load, say

AIM = 0.05  # of the throughput; of a core, under load
UPDATES = 2.0  # a second, at most
_COSTS = {"per_s": "throughput_cost", "core": "core_cost"}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("console", help="a server with 1,000 federates, with and without a console")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--repeats", type=whole(1), default=5, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument("--pure", action="store_true", help="measure the pure build, too")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    require("the console", "console", *NEEDS)
    results = measure(arguments.repeats, arguments.pure)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(repeats: int, pure: bool) -> dict[str, Any]:
    builds = [COMPILED] if can_run_compiled() else []
    if pure or not builds:
        builds.append(PURE)
    aims = {"aim": AIM, "updates_aim": UPDATES, "federates": console.FEDERATES, "rate": console.RATE}
    results: dict[str, Any] = {"benchmark": "console", "machine": load(), **aims, "builds": []}
    for build in builds:
        samples = console.measure(build, repeats)
        for one in samples:
            # Round by round, since a machine has better and worse minutes.
            one["throughput_cost"] = 1 - one["page_per_s"] / one["plain_per_s"]
            one["core_cost"] = one["page_core"] - one["plain_core"]
        results["builds"].append(
            {"build": build, **{name: round(value, 4) for name, value in medians(samples).items()}}
        )
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    lines = [
        f"{machine['cores']} cores, {loads}, Python {machine['python']}; {results['federates']:,} federates",
        "",
        f"{'build':<10}{'':<34}{'no page':>14}{'a page':>14}{'cost':>9}   aim {results['aim']:.0%} or less",
    ]
    for row in results["builds"]:
        for name, shown, form in (
            ("per_s", "messages/s", ",.0f"),
            ("us", "server CPU for each, µs", ".2f"),
            ("core", f"server at {results['rate']:,}/s, cores", ".3f"),
        ):
            both = "".join(f"{format(row[f'{kind}_{name}'], form):>14}" for kind in ("plain", "page"))
            cost = f"{row[_COSTS[name]]:>9.1%}" if name in _COSTS else ""
            lines.append(f"{row['build']:<10}{shown:<34}{both}{cost}")
        lines.append(
            f"{'':<10}the page got {row['updates_per_s']:.2f} updates/s of {row['update_bytes'] / 1024:,.0f} KiB "
            f"(at most {results['updates_aim']:g}/s)"
        )
    return "\n".join(lines)
