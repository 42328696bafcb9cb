"""`weft review` with several runs, or folders of runs: what is new of them is reviewed, and goes into the lake of results."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from weft.cli.analyse.run_reviews import keep_result
from weft.cli.arguments import say
from weft.cli.terminal.facts_lines import clean
from weft.host.storage import Place, place_of
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    from weft.review import Review
    from weft.review.audits.context import Context
    from weft.review.lake.delta import DeltaLake
    from weft.review.lake.store import ParquetLake
    from weft.review.many.judging import ReviewOptions, RunResult
    from weft.review.many.reviewing import ManyReviews
    from weft.review.spark.cluster import Cluster

EXITS = {"ok": 0, "violated": 1, "failed": 2, "inconclusive": 3}
FORMATS = ("parquet", "delta")
ONE_RUN_ONLY = ("html",)


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("many runs (see docs/how-to/lake.md)")
    group.add_argument(
        "--lake",
        metavar="PLACE",
        help="where results go (default: the folder lake beside those of the federations)",
    )
    group.add_argument("--format", choices=FORMATS, help="of a new lake (default parquet)")
    group.add_argument("--again", action="store_true", help="also review runs that have not changed since")
    group.add_argument(
        "--advice",
        action="store_true",
        help="also say of every run what should change",
    )


def is_one_run(arguments: argparse.Namespace) -> bool:
    """One run, or what is none at all: then the review of one says what is wrong."""
    from weft.review.many.finding import is_run

    if len(arguments.run) > 1:
        return False
    place = place_of(arguments.run[0])
    may_come = arguments.follow and place.local is None  # a store has no folder in which nothing is
    return is_run(place) or not (place.is_folder() or may_come)


def run_many(arguments: argparse.Namespace, cluster: Cluster) -> int:
    from weft.review.lake.delta import lake_at
    from weft.review.lake.store import ParquetLake
    from weft.review.many.finding import default_lake, look, runs_below
    from weft.review.many.reviewing import review_many

    for name in ONE_RUN_ONLY:
        if getattr(arguments, name):
            raise SettingsError(f"--{name} is for one run; here are several: {' '.join(arguments.run)}")
    runs = [look(place) for place in runs_below(arguments.run)]
    place = place_of(arguments.lake) if arguments.lake else default_lake(runs, arguments.run)
    lake = lake_at(place, arguments.format or "")
    shown = _Shown(arguments.json)
    found = review_many(runs, lake, wanted_of(arguments), arguments.again, cluster, None, say, shown.tell)
    if isinstance(lake, ParquetLake):
        lake.compact(only_many=True)
    for run, why in found.passed_over.items():
        say(f"passed over: {run}: {why}\n")
    shown.end(found, place)
    return EXITS[found.worst]


def wanted_of(arguments: argparse.Namespace) -> ReviewOptions:
    from weft.review.many.judging import ReviewOptions

    return ReviewOptions(arguments.witnesses, tuple(arguments.orders), arguments.advice, arguments.verify)


class _Shown:
    """A line for each run as it is done, and one at the end; what was known before is not told once more, but counted."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json
        self._lines = 0

    def tell(self, result: RunResult) -> None:
        if result.data is not None:
            keep_result(result.key.path, result.data)
        if self._json:
            print(json.dumps(as_data(result)), flush=True)
        elif not result.known:
            say("")
            if not self._lines:
                print(HEAD)
            self._lines += 1
            print(as_line(result), flush=True)

    def end(self, found: ManyReviews, lake: Place) -> None:
        say("")
        if self._json:
            print(json.dumps({"summary": summary(found, lake)}))
            return
        for result in found.results:
            if result.known and result.status != "ok":
                print(f"{as_line(result)}  (reviewed before)")
        counts = Counter(result.status for result in found.results)
        new = sum(not result.known for result in found.results)
        told = ", ".join(f"{counts[status]:,} {status}" for status in EXITS if counts[status])
        over = f"; {len(found.passed_over):,} passed over" if found.passed_over else ""
        print(f"{len(found.results):,} runs ({told or 'none'}), {new:,} of them new{over}; results: {lake}")


HEAD = f"{'started (UTC)':<20}{'federation':<18}{'run':<28}{'rows':>12}  result"


def as_line(result: RunResult) -> str:
    key = result.key
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(key.start_ns // 10**9))
    told = result.status
    if result.violations:
        told += f": {result.violations:,} violations"
    if result.unsure:
        told += f", {result.unsure:,} unsure"
    if result.error:
        told += f": {clean(result.error)}"
    return f"{started:<20}{clean(key.federation):<18}{clean(key.run):<28}{result.rows:>12,}  {told}"


def as_data(result: RunResult) -> dict[str, object]:
    """For machines: what the lake has of the run besides is asked by `weft sql`."""
    told: dict[str, object] = {
        "run": result.key.path,
        "federation": result.key.federation,
        "start_ns": result.key.start_ns,
        "status": result.status,
        "rows": result.rows,
        "violations": result.violations,
        "unsure": result.unsure,
        "seconds": result.seconds,
        "known": result.known,
    }
    return told | ({"error": result.error} if result.error else {})


def summary(found: ManyReviews, lake: Place) -> dict[str, object]:
    return {
        "runs": len(found.results),
        "new": sum(not result.known for result in found.results),
        "status": dict(Counter(result.status for result in found.results)),
        "worst": found.worst,
        "passed_over": found.passed_over,
        "lake": str(lake),
    }


# One run


def keeper(arguments: argparse.Namespace) -> Callable[[Context, Review], None]:
    """Writes the review of one run into the lake that is named, or else into the one beside it, if it is there."""
    from weft.review.many.finding import look
    from weft.review.many.single import keep_review

    lake = lake_of_one(arguments)
    if lake is None:
        return lambda context, found: None
    return partial(keep_review, look(place_of(arguments.run[0])), lake, wanted_of(arguments))


def lake_of_one(arguments: argparse.Namespace) -> ParquetLake | DeltaLake | None:
    """None: none is named, and there is none."""
    from weft.review.lake.delta import lake_at
    from weft.review.many.finding import default_lake, look

    if arguments.lake:
        return lake_at(place_of(arguments.lake), arguments.format or "")
    place = default_lake([look(place_of(arguments.run[0]))])
    return lake_at(place, arguments.format or "") if (place / "run").is_folder() else None
