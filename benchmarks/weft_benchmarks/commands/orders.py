"""`weft bench orders`: what an order of delivery costs, one process and node for each federate (S0-18 … S0-22)."""

from __future__ import annotations

import argparse
import json
import re
import statistics
from typing import Any

from weft.cli.arguments import real, whole
from weft.model.errors import SettingsError
from weft_benchmarks.runner import load, say
from weft_benchmarks.steps import BY_TABLES, ORDERS, SCENARIOS, run_steps

# With the steps of the experiments, and without any pause between steps.
AIMS = {"CO/RO, 10 ms": 1.02, "middleware/CO, 10 ms": 1.05, "CO/RO, 0 ms, 7 federates": 1.25}


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = kinds.add_parser("orders", help="execution time under each order of delivery")
    parser.add_argument(
        "--scenario",
        choices=SCENARIOS,
        default="loose",
        help="how much federates say to one another (default %(default)s)",
    )
    parser.add_argument(
        "--federates",
        type=_counts,
        default=[2, 7],
        metavar="N or N..M",
        help="how many federates (default 2 and 7)",
    )
    parser.add_argument(
        "--steps", type=whole(1), default=500, help="steps of each federate (default %(default)s)"
    )
    parser.add_argument(
        "--step-ms",
        type=real(0.0),
        default=10.0,
        help="how long each step sleeps, besides what it does (default %(default)s ms)",
    )
    parser.add_argument(
        "--repeats", type=whole(1), default=3, help="rounds to take the median of (default %(default)s)"
    )
    parser.add_argument(
        "--orders",
        default=",".join(ORDERS),
        help=f"which orders (default %(default)s); {BY_TABLES}: the middleware by tables",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.set_defaults(func=run)


def _counts(text: str) -> list[int]:
    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of federates; write 3 or 2..7")
    first = int(found[1])
    last = int(found[2] or first)
    if not 2 <= first <= last:
        raise argparse.ArgumentTypeError(f"{text!r}: at least 2, and the smaller first")
    return list(range(first, last + 1))


def run(arguments: argparse.Namespace) -> int:
    orders = [word.strip() for word in arguments.orders.split(",")]
    known = (*ORDERS, BY_TABLES)
    unknown = [word for word in orders if word not in known]
    if unknown:
        raise SettingsError(f"there is no order {', '.join(unknown)}; there are {', '.join(known)}")
    counts = [3] if arguments.scenario == "mixed" else arguments.federates
    results = measure(
        arguments.scenario, orders, counts, arguments.steps, arguments.step_ms, arguments.repeats
    )
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(
    scenario: str, orders: list[str], counts: list[int], steps: int, step_ms: float, repeats: int
) -> dict[str, Any]:
    """The orders of one comparison alternate, so that what else the machine does falls on all of them."""
    results: dict[str, Any] = {"benchmark": "orders", "machine": load(), "results": []}
    for federates in counts:
        samples: dict[str, list[dict[str, float]]] = {order: [] for order in orders}
        for number in range(1, repeats + 1):
            for order in orders:
                say(f"{scenario}, {federates} federates, round {number}/{repeats}: {order}")
                samples[order].append(run_steps(scenario, order, federates, steps, step_ms, mesh=True))
        for order, found in samples.items():
            results["results"].append(
                {
                    "scenario": scenario,
                    "order": order,
                    "federates": federates,
                    "steps": steps,
                    "step_ms": step_ms,
                    "seconds": round(statistics.median(one["seconds"] for one in found), 4),
                    "stamp_bytes": round(statistics.median(one["stamp_bytes"] for one in found), 1),
                    "cpu_us": round(statistics.median(one["cpu_us"] for one in found), 1),
                    "early_hits": sum(one["early_hits"] for one in found),
                    "spread": round(max(o["seconds"] for o in found) / min(o["seconds"] for o in found), 3),
                }
            )
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    loads = f"load {machine['load_average']:.2f} before and {machine['load_average_after']:.2f} after"
    first = results["results"][0]
    lines = [
        f"{machine['cores']} cores, {loads}, Python {machine['python']}",
        "",
        f"{first['scenario']}: {first['steps']} steps of {first['step_ms']:g} ms, one process and node for each federate",
        f"{'federates':>9}  {'order':<14}{'seconds':>9}{'÷ RO':>8}{'÷ CO':>8}{'stamp bytes':>13}{'CPU µs a step':>15}",
    ]
    for row in results["results"]:
        alike = {one["order"]: one for one in results["results"] if one["federates"] == row["federates"]}
        ratios = "".join(
            f"{row['seconds'] / alike[base]['seconds']:>8.3f}" if base in alike else f"{'':>8}"
            for base in ("RO", "CO")
        )
        early = f"   {row['early_hits']:.0f} hits before their fire" if row["early_hits"] else ""
        lines.append(
            f"{row['federates']:>9}  {row['order']:<14}{row['seconds']:>9.3f}{ratios}{row['stamp_bytes']:>13.1f}"
            f"{row['cpu_us']:>15,.0f}{early}"
        )
    return "\n".join(lines)
