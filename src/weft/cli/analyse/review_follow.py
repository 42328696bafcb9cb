"""`weft review FOLDER --follow`: runs are judged while they are written, several at once, and reviewed when they have ended."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.analyse.tune import say
from weft.host.storage import place_of
from weft.model.errors import SettingsError

if TYPE_CHECKING:
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
    """Until Ctrl-C; a run that has ended goes into the lake.  Exit code 1 if anything was violated in any of them."""
    from weft.cli.analyse.review_many import EXITS, wanted_of
    from weft.review.follow import follow_all
    from weft.review.lake.delta import lake_at
    from weft.review.many.finding import default_lake, look, runs_below
    from weft.review.many.reviewing import review_many
    from weft.review.spark.session import Profile, given_session

    there = [look(place) for place in runs_below(arguments.run)]
    lake = lake_at(
        place_of(arguments.lake) if arguments.lake else default_lake(there), arguments.format or ""
    )
    worst = ["ok"]
    with given_session(None, Profile(cluster), say) as session:

        def ended(run: str) -> None:
            say(f"{place_of(run)} has ended; reviewing the whole of it\n")
            found = review_many(
                [look(place_of(run))], lake, wanted_of(arguments), True, cluster, session, say
            )
            for result in found.results:
                worst.append(result.status)
                print_line(arguments.json, run, {"status": result.status, "violations": result.violations})

        def tell(run: str, findings: Sequence[Mapping[str, object]]) -> None:
            for finding in findings[: None if arguments.json else arguments.witnesses]:
                print_line(arguments.json, run, finding)

        follow_all(
            arguments.run,
            cluster,
            say,
            tell,
            ended,
            arguments.orders,
            session,
            checkpoint_of(arguments),
        )
    return EXITS["violated" if "violated" in worst else "ok"]


def print_line(as_json: bool, run: str, told: Mapping[str, object]) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if as_json:
        print(json.dumps({"run": run, **told}), flush=True)
    else:
        rest = ", ".join(f"{name} {value}" for name, value in told.items())
        print(f"{time.strftime('%H:%M:%S')} {place_of(run).name}: {rest}", flush=True)
