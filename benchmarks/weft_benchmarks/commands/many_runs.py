"""`weft bench review --part runs`: a night's runs, each small, reviewed into a lake; and once more, when nothing is new.

A few runs are made up from a seed each (`testbed.synthetic`); the others are copies of these under names of their own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from weft.host.storage import place_of
from weft_benchmarks import review as measured
from weft_benchmarks.runner import load, say
from weft_benchmarks.testbed import synthetic

AIM_SECONDS = 600.0  # 1,000 runs of 20,000 rows on two cores
ROWS = 20_000


def run(arguments: argparse.Namespace) -> int:
    rows = min(arguments.rows or [ROWS])
    results = measure(arguments.runs, rows, arguments.master)
    print(json.dumps(results, indent=2) if arguments.json else as_text(results))
    return 0


def measure(runs: int, rows: int, master: str) -> dict[str, Any]:
    from weft.review.spark.session import Profile, spark_session

    results: dict[str, Any] = {
        "benchmark": "review of many runs",
        "machine": load(),
        "runs": runs,
        "rows": rows,
    }
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        top = Path(name)
        say(f"making {runs:,} runs of {rows:,} rows")
        synthetic.make_night(top, runs, synthetic.SyntheticPlan(rows=rows))
        say("starting Spark")
        with spark_session(Profile(master)) as session:
            results["first"] = _reviewed(top, session)
            results["again"] = _reviewed(top, session)
        files = place_of(top / "lake").files()
        results["lake"] = {"files": len(files), "mb": round(sum(file.bytes for file in files) / 2**20, 1)}
    say("")
    results["seconds, 1,000 runs"] = round(results["first"]["seconds"] * 1000 / runs, 1)
    results["aim"] = AIM_SECONDS
    results["machine"]["load_average_after"] = load()["load_average"]
    return results


def _reviewed(top: Path, session: Any) -> dict[str, Any]:
    from weft.review.lake.store import ParquetLake
    from weft.review.many.finding import look, runs_below
    from weft.review.many.judging import WantedReview
    from weft.review.many.reviewing import review_many

    with measured.Meter() as meter:
        runs = [look(place) for place in runs_below([str(top)])]
        lake = ParquetLake(place_of(top / "lake"))
        found = review_many(runs, lake, WantedReview(), session=session, say=say)
    if found.worst != "ok":
        raise RuntimeError(f"a run in which nothing is wrong was {found.worst}")
    return meter.figures() | {"new": sum(not result.known for result in found.results)}


def as_text(results: dict[str, Any]) -> str:
    machine, first, again, lake = (results[name] for name in ("machine", "first", "again", "lake"))
    return "\n".join(
        [
            (
                f"{machine['cores']} cores, load {machine['load_average']:.2f} before and "
                f"{machine['load_average_after']:.2f} after, Python {machine['python']}"
            ),
            (
                f"{results['runs']:,} runs of {results['rows']:,} rows: {first['seconds']:.1f} s, {first['cpu_s']:.1f} CPU-s, "
                f"at most {first['peak_mb']:,.0f} MB (1,000: {results['seconds, 1,000 runs']:.0f} s, aim {AIM_SECONDS:.0f} s)"
            ),
            f"once more, when nothing is new: {again['seconds']:.1f} s; the lake has {lake['files']:,} files, {lake['mb']:,} MB",
        ]
    )
