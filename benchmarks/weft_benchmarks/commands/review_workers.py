"""`weft bench review --part workers`: how a review grows with local executors and with rows; and the causal audit by itself.

Of the causal audit: a run without vectors in which messages overtake one another all the time, by one task and in pieces.
Executors beyond the machine's cores share them: then the figures say what more tasks cost, and not what more cores gain.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from weft_benchmarks import review as measured
from weft_benchmarks.runner import load, say

WORKERS = (1, 2, 4)
SIZES = (200_000, 1_000_000)
OVERTAKEN = 0.05


class WorkerFigures(NamedTuple):
    """Of a run of so many rows, with so many local executors."""

    rows: int
    workers: int
    audits_s: float
    audits_cpu_s: float
    causal: dict[str, dict[str, float]]


def run(arguments: argparse.Namespace) -> int:
    before = load()
    found = measure(tuple(sorted(arguments.rows or SIZES)))
    machine = before | {"load_average_after": load()["load_average"]}
    say("")
    if arguments.json:
        told = {"benchmark": "review workers", "machine": machine, "rows": [one._asdict() for one in found]}
        print(json.dumps(told, indent=2))
    else:
        print(as_text(found, machine))
    return 0


def measure(sizes: tuple[int, ...]) -> list[WorkerFigures]:
    from weft_benchmarks.testbed.synthetic import SyntheticPlan, make_run

    found: list[WorkerFigures] = []
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        for rows in sizes:
            say(f"making runs of {rows:,} rows")
            even = make_run(Path(name) / f"even-{rows}", SyntheticPlan(rows))
            mixed_up = SyntheticPlan(rows, stamped=False, overtaken=OVERTAKEN)
            overtaken = make_run(Path(name) / f"overtaken-{rows}", mixed_up)
            found += [_measured(rows, workers, even, overtaken) for workers in WORKERS]
    return found


def _measured(rows: int, workers: int, even: Path, overtaken: Path) -> WorkerFigures:
    from weft.review.spark.session import Profile, spark_session

    def tell(text: str) -> None:
        say(f"local[{workers}]: {text}")

    with spark_session(Profile(f"local[{workers}]", rows)) as session:
        measured.measure_review(session, even, tell, no_advice=True)  # Java and the Python workers warm up
        audits = measured.measure_review(session, even, tell, no_advice=True).audits
        ways = measured.measure_causal(session, overtaken, tell)
    seconds, cpu = (round(sum(step[name] for step in audits.values()), 2) for name in ("seconds", "cpu_s"))
    return WorkerFigures(rows, workers, seconds, cpu, ways)


def as_text(found: list[WorkerFigures], machine: Mapping[str, object]) -> str:
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
    for row in found:
        one, pieces = row.causal["one task"], row.causal["pieces"]
        lines.append(
            f"{row.rows:>12,}{row.workers:>10}{row.audits_s:>12.1f}{row.audits_cpu_s:>8.1f}"
            f"{one['seconds']:>20.1f}{one['cpu_s']:>8.1f}{pieces['seconds']:>14.1f}{pieces['cpu_s']:>8.1f}"
        )
    return "\n".join(lines)
