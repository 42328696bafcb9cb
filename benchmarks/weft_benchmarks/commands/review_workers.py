"""`weft bench review --part workers`: how a review grows with local executors and with rows; and the causal audit by itself.

Of the causal audit: a run without vectors in which messages overtake one another all the time, by one task and in pieces.
Executors beyond the machine's cores share them: then the figures say what more tasks cost, and not what more cores gain.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from weft_benchmarks import review as measured
from weft_benchmarks.runner import load, say

WORKERS = (1, 2, 4)
SIZES = (200_000, 1_000_000)
OVERTAKEN = 0.05


def run(arguments: argparse.Namespace) -> int:
    results = measure(tuple(sorted(arguments.rows or SIZES)))
    say("")
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(sizes: tuple[int, ...]) -> dict[str, Any]:
    from weft_benchmarks.testbed.synthetic import SyntheticPlan, make_run

    results: dict[str, Any] = {"benchmark": "review workers", "machine": load(), "rows": []}
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        for rows in sizes:
            say(f"making runs of {rows:,} rows")
            even = make_run(Path(name) / f"even-{rows}", SyntheticPlan(rows))
            mixed_up = SyntheticPlan(rows, stamped=False, overtaken=OVERTAKEN)
            overtaken = make_run(Path(name) / f"overtaken-{rows}", mixed_up)
            for workers in WORKERS:
                results["rows"].append(_measured(rows, workers, even, overtaken))
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _measured(rows: int, workers: int, even: Path, overtaken: Path) -> dict[str, Any]:
    from weft.review.spark.session import Profile, spark_session

    def tell(text: str) -> None:
        say(f"local[{workers}]: {text}")

    with spark_session(Profile(f"local[{workers}]", rows)) as session:
        measured.measure_review(session, even, tell, no_advice=True)  # Java and the Python workers warm up
        audits = measured.measure_review(session, even, tell, no_advice=True).audits
        ways = measured.measure_causal(session, overtaken, tell)
    return {
        "rows": rows,
        "workers": workers,
        "audits_s": round(sum(step["seconds"] for step in audits.values()), 2),
        "audits_cpu_s": round(sum(step["cpu_s"] for step in audits.values()), 2),
        "causal": ways,
    }


def as_text(results: dict[str, Any]) -> str:
    machine = results["machine"]
    lines = [
        (
            f"{machine['cores']} cores, load {machine['load_average']:.2f} before and "
            f"{machine['load_average_after']:.2f} after, Python {machine['python']}"
        ),
        "",
        (
            f"{'rows':>12}{'executors':>10}{'audits: s':>12}{'CPU-s':>8}{'late, one task: s':>20}{'CPU-s':>8}"
            f"{'in pieces: s':>14}{'CPU-s':>8}"
        ),
    ]
    for row in results["rows"]:
        one, pieces = row["causal"]["one task"], row["causal"]["pieces"]
        lines.append(
            f"{row['rows']:>12,}{row['workers']:>10}{row['audits_s']:>12.1f}{row['audits_cpu_s']:>8.1f}"
            f"{one['seconds']:>20.1f}{one['cpu_s']:>8.1f}{pieces['seconds']:>14.1f}{pieces['cpu_s']:>8.1f}"
        )
    return "\n".join(lines)
