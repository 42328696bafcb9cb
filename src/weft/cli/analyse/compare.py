"""`weft compare A B`: what differs between runs that were reviewed (docs/how-to/compare.md)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.analyse.review import check_writable
from weft.cli.analyse.sql import add_lake
from weft.cli.arguments import Commands, add_command, real, say, write_text
from weft.host.storage import place_of

if TYPE_CHECKING:
    from weft.review.compare.comparing import ChangeBounds
    from weft.review.lake.store import Snapshot

FAIL_ON = ("worse", "any", "never")
RUNS = "a federation, FEDERATION/DAY, FEDERATION/last:N, FEDERATION/RUN, or the path of a run"


def register(commands: Commands) -> None:
    made = add_command(
        commands,
        "compare",
        run_compare,
        "what differs between runs by more than noise; exit 1 if something is worse",
    )
    made.add_argument("before", metavar="A", help=f"runs before: {RUNS}")
    made.add_argument("after", metavar="B", help="runs after, likewise")
    add_flags(made)


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_lake(parser)
    parser.add_argument(
        "--percent",
        type=real(0),
        default=10.0,
        metavar="N",
        help="changes up to so much are of no interest (default %(default)g)",
    )
    parser.add_argument(
        "--ms",
        type=real(0),
        default=0.5,
        metavar="N",
        help="changes of latencies and waits up to so much are of no interest (default %(default)g)",
    )
    parser.add_argument(
        "--fail-on", choices=FAIL_ON, default="worse", help="what makes the exit code 1 (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--html", metavar="FILE", help="also write it as one HTML page")


def bounds_of(arguments: argparse.Namespace) -> ChangeBounds:
    from weft.review.compare.comparing import ChangeBounds

    return ChangeBounds(arguments.percent / 100, arguments.ms)


def snapshot_of(arguments: argparse.Namespace) -> Snapshot:
    from weft.review.lake.delta import open_lake

    if arguments.html is not None:
        check_writable(arguments.html)
    return open_lake(place_of(arguments.lake)).snapshot()


def run_compare(arguments: argparse.Namespace) -> int:
    from weft.review.compare import compare
    from weft.review.compare.chosen import chosen
    from weft.review.compare.comparing import apart
    from weft.review.compare.figures import runs_of
    from weft.review.compare.pages import comparison_page
    from weft.review.compare.told import comparison_data, comparison_lines

    snapshot = snapshot_of(arguments)
    runs = runs_of(snapshot)
    before, after = (chosen(runs, text) for text in (arguments.before, arguments.after))
    apart((arguments.before, arguments.after), before, after)
    found = compare(snapshot, before, after, bounds_of(arguments))
    if arguments.html is not None:
        write_page(comparison_page(found), arguments.html)
    print(
        json.dumps(comparison_data(found), indent=2) if arguments.json else "\n".join(comparison_lines(found))
    )
    return exit_code(arguments, bool(found.worse), bool(found.differences))


def write_page(page: str, file: str) -> None:
    write_text(page, str(Path(file)))
    say(f"the page is in {file}\n")


def exit_code(arguments: argparse.Namespace, is_worse: bool, differs: bool) -> int:
    return int({"worse": is_worse, "any": differs, "never": False}[arguments.fail_on])
