"""`weft bench review --part runs`: a night's runs, each small, reviewed into a lake; and once more, when nothing is new.

A few runs are made up from a seed each (`testbed.synthetic`); the others are copies of these under names of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from weft.cli.arguments import cluster_of
from weft.host.storage import place_of
from weft_benchmarks import review as measured
from weft_benchmarks.runner import load, say
from weft_benchmarks.testbed import synthetic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from weft.review.spark.cluster import Cluster

AIM_SECONDS = 600.0  # 1,000 runs of 20,000 rows on two cores
ROWS = 20_000


class NightFigures(NamedTuple):
    cores: int
    load_before: float
    load_after: float
    runs: int
    rows: int
    first: dict[str, float]
    """Seconds, CPU-seconds and peak of memory of the review."""
    again: dict[str, float]
    lake_files: int
    lake_mb: float

    @property
    def seconds_of_1000(self) -> float:
        return round(self.first["seconds"] * 1000 / self.runs, 1)


def run(arguments: argparse.Namespace) -> int:
    found = measure(arguments.runs, min(arguments.rows or [ROWS]), cluster_of(arguments))
    told = found._asdict() | {"seconds of 1,000 runs": found.seconds_of_1000, "aim": AIM_SECONDS}
    print(json.dumps(told, indent=2) if arguments.json else as_text(found))
    return 0


def measure(runs: int, rows: int, cluster: Cluster) -> NightFigures:
    from weft.review.spark.session import Profile, spark_session

    machine = load()
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        top = Path(name)
        say(f"making {runs:,} runs of {rows:,} rows")
        synthetic.make_night(top, runs, synthetic.SyntheticPlan(rows=rows))
        say("starting Spark")
        with spark_session(Profile(cluster)) as session:
            first, again = (_reviewed(top, session) for _ in range(2))
        files = place_of(top / "lake").files()
    say("")
    loads = machine["load_average"], load()["load_average"]
    megabytes = round(sum(file.bytes for file in files) / 2**20, 1)
    return NightFigures(os.cpu_count() or 1, *loads, runs, rows, first, again, len(files), megabytes)


def _reviewed(top: Path, session: SparkSession) -> dict[str, float]:
    from weft.review.lake.store import ParquetLake
    from weft.review.many.finding import look, runs_below
    from weft.review.many.judging import ReviewOptions
    from weft.review.many.reviewing import review_many

    with measured.Meter() as meter:
        runs = [look(place) for place in runs_below([str(top)])]
        lake = ParquetLake(place_of(top / "lake"))
        found = review_many(runs, lake, ReviewOptions(), session=session, say=say)
    if found.worst != "ok":
        raise RuntimeError(f"a run in which nothing is wrong was {found.worst}")
    return meter.figures() | {"new": sum(not result.known for result in found.results)}


def as_text(found: NightFigures) -> str:
    first = found.first
    lines = [
        f"{found.cores} cores, load {found.load_before:.2f} before and {found.load_after:.2f} after",
        (
            f"{found.runs:,} runs of {found.rows:,} rows: {first['seconds']:.1f} s, {first['cpu_s']:.1f} CPU-s, at most "
            f"{first['peak_mb']:,.0f} MB (1,000: {found.seconds_of_1000:.0f} s, aim {AIM_SECONDS:.0f} s)"
        ),
        f"once more, when nothing is new: {found.again['seconds']:.1f} s",
        f"the lake: {found.lake_files:,} files, {found.lake_mb:,} MB",
    ]
    return "\n".join(lines)
