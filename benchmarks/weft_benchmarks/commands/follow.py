"""`weft bench review --part follow`: how far a follower is behind a run that is being written."""

from __future__ import annotations

import argparse
import json
from typing import Any

from weft.cli.arguments import cluster_of
from weft_benchmarks.runner import load, say

AIM = 3.0  # seconds, p99


def run(arguments: argparse.Namespace) -> int:
    from weft.review.spark.session import Profile, spark_session
    from weft_benchmarks.follow import measure_follow

    results: dict[str, Any] = {"benchmark": "review, follow", "machine": load(), "aim_s": AIM}
    results["rate"] = arguments.rate
    say("starting Spark")
    with spark_session(Profile(cluster_of(arguments))) as session:
        results["follow"] = measure_follow(session, arguments.rate, arguments.seconds, say)
    say("")
    results["machine"]["load_average_after"] = load()["load_average"]
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def as_text(results: dict[str, Any]) -> str:
    machine, found = results["machine"], results["follow"]
    lines = [
        (
            f"{machine['cores']} cores, load {machine['load_average']:.2f} before and "
            f"{machine['load_average_after']:.2f} after, Python {machine['python']}"
        ),
        (
            f"{found['rows']:,} rows at {found['rows_per_s']:,}/s in {found['batches']} batches: {found['cpu_s']:.1f} CPU-s in "
            f"{found['seconds']:.1f} s, at most {found['peak_mb']:,.0f} MB, {found['kept']:,} rows and handovers kept"
        ),
        f"{'seconds':<32}{'median':>8}{'p99':>8}{'most':>8}",
    ]
    names = {
        "lag_s": "a row happened, and was judged",
        "finding_lag_s": "a deadline was missed, and told",
        "floor_s": "a row happened, and was in a file",
    }
    for name, title in names.items():
        figures = found[name]
        lines.append(f"{title:<32}{figures['median']:>8.2f}{figures['p99']:>8.2f}{figures['max']:>8.2f}")
    lines.append(f"aim: at most {results['aim_s']:g} s")
    return "\n".join(lines)
