"""`weft trend FEDERATION`: how figures of runs that were reviewed change, run after run (docs/how-to/compare.md)."""

from __future__ import annotations

import argparse
import json

from weft.cli.analyse.compare import add_flags, bounds_of, exit_code, snapshot_of, write_page
from weft.cli.arguments import Commands, add_command


def register(commands: Commands) -> None:
    made = add_command(
        commands,
        "trend",
        run,
        "how figures of a federation change, run after run; exit 1 if for the worse",
    )
    made.add_argument(
        "runs", metavar="FEDERATION", help="its runs, or some: FEDERATION/last:N, FEDERATION/DAY..DAY"
    )
    add_flags(made)


def run(arguments: argparse.Namespace) -> int:
    from weft.review.compare import trend
    from weft.review.compare.chosen import chosen
    from weft.review.compare.figures import runs_of
    from weft.review.compare.pages import trend_page
    from weft.review.compare.told import trend_data, trend_lines

    snapshot = snapshot_of(arguments)
    runs = chosen(runs_of(snapshot), arguments.runs)
    found = trend(snapshot, runs[0].federation, runs, bounds_of(arguments))
    if arguments.html is not None:
        write_page(trend_page(found), arguments.html)
    print(json.dumps(trend_data(found), indent=2) if arguments.json else "\n".join(trend_lines(found)))
    return exit_code(arguments, bool(found.worse), bool(found.events))
