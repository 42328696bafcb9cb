"""`weft lake`: the care of the lake of results (docs/how-to/lake.md)."""

from __future__ import annotations

import argparse

from weft.cli.analyse.sql import add_lake
from weft.cli.arguments import Commands, add_command, real
from weft.host.storage import place_of
from weft.model.extras import EXTRAS, require

GRACE_MINUTES = 60.0


def register(commands: Commands) -> None:
    parser = commands.add_parser("lake", help="the lake of results: make few files of many")
    kinds = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made = add_command(kinds, "compact", compact, "write what counts as few files, and remove what does not")
    add_lake(made)
    made.add_argument(
        "--grace",
        type=real(0),
        default=GRACE_MINUTES,
        metavar="MINUTES",
        help="files that do not count any more stay for so long, for whoever is reading them (default %(default)g)",
    )


def compact(arguments: argparse.Namespace) -> int:
    require("weft lake", "lake", *EXTRAS["record"])
    from weft.review.lake.delta import open_lake

    place = place_of(arguments.lake)
    done = open_lake(place).compact(arguments.grace * 60)
    told = f"{place}: {done.partitions:,} partitions written anew, {done.removed:,} old files removed"
    waiting = f"; {done.waiting:,} more when their time of grace is over" if done.waiting else ""
    print(told + waiting)
    return 0
