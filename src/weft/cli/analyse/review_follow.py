"""`weft review FOLDER --follow`: runs are judged while they are written, several at once, and reviewed when they have ended."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.arguments import say
from weft.host.recording.runs import find_runs
from weft.host.storage import place_of
from weft.model.errors import SettingsError

if TYPE_CHECKING:
    from weft.review.lake.delta import DeltaLake
    from weft.review.lake.store import ParquetLake
    from weft.review.spark.cluster import Cluster


def checkpoint_of(arguments: argparse.Namespace) -> Path | None:
    """Where Spark keeps how far it has come; it writes there by itself, so that has to be a folder that it reaches."""
    if arguments.checkpoint is None:
        return None
    if not arguments.follow:
        raise SettingsError("--checkpoint is for --follow")
    local = place_of(arguments.checkpoint).local
    if local is None or (local.exists() and not local.is_dir()):
        raise SettingsError(
            f"--checkpoint {arguments.checkpoint}: name a folder of this machine (or one that all share)"
        )
    return local


def follow_many(arguments: argparse.Namespace, cluster: Cluster) -> int:
    """Until Ctrl-C; what is found goes into the lake.  Exit code 1 if anything was violated in any of them."""
    from weft.cli.analyse.review_many import EXITS, wanted_of
    from weft.review.follow import follow_all
    from weft.review.many.finding import look
    from weft.review.many.followed import FollowedTables
    from weft.review.many.reviewing import review_many
    from weft.review.spark.session import Profile, given_session

    lake_of = lake_finder(arguments)
    tables = FollowedTables(lake_of, wanted_of(arguments))
    worst = {"ok"}
    with given_session(None, Profile(cluster), say) as session:

        def ended(run: str) -> None:
            place = place_of(run)
            say(f"{place} has ended; reviewing the whole of it\n")
            lake, wanted = lake_of(run), wanted_of(arguments)
            run_there = replace(look(place), going_on="")  # who still says so is silent, or crashed
            found = review_many([run_there], lake, wanted, False, cluster, session, say)
            for result in found.results:
                worst.add(result.status)
                print_line(arguments.json, run, {"status": result.status, "violations": result.violations})

        def tell(run: str, findings: Sequence[Mapping[str, object]]) -> None:
            for finding in findings[: None if arguments.json else arguments.witnesses]:
                print_line(arguments.json, run, finding)

        standings = follow_all(
            arguments.run,
            cluster,
            say,
            tell,
            ended,
            arguments.orders,
            session,
            checkpoint_of(arguments),
            tables.note,
            arguments.witnesses,
        )
    if any(sum(one.told.violations.values()) for one in standings.values()):
        worst.add("violated")
    return EXITS["violated" if "violated" in worst else "ok"]


def lake_finder(arguments: argparse.Namespace) -> Callable[[str], ParquetLake | DeltaLake]:
    """Where results of a run go: the same lake for all of them.  Of an empty folder it is known when its first run is there."""
    from weft.review.lake.delta import lake_at
    from weft.review.many.finding import default_lake, look

    known: list[ParquetLake | DeltaLake] = []

    def lake_of(run: str) -> ParquetLake | DeltaLake:
        if not known:
            place = place_of(arguments.lake) if arguments.lake else None
            known.append(
                lake_at(place or default_lake([look(place_of(run))], arguments.run), arguments.format or "")
            )
        return known[0]

    tops = [place_of(given) for given in arguments.run]
    there = [run for top in tops for run in find_runs(top)[:1]]
    if there and not arguments.lake:
        default_lake(
            [look(run) for run in there], arguments.run
        )  # raises an error if they have no lake in common
    if there or arguments.lake:
        lake_of(there[0].address if there else "")
    return lake_of


def print_line(as_json: bool, run: str, told: Mapping[str, object]) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if as_json:
        print(json.dumps({"run": run, **told}), flush=True)
    else:
        rest = ", ".join(f"{name} {value}" for name, value in told.items())
        print(f"{time.strftime('%H:%M:%S')} {place_of(run).name}: {rest}", flush=True)
