"""`weft runs [DIR]`: what has been recorded (docs/how-to/recording.md)."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

from weft.cli.analyse.run_reviews import KeptReview, review_of
from weft.cli.arguments import Commands
from weft.cli.terminal.facts_lines import ScreenColumn, amount, clean, lasting, table, terminal_width
from weft.host.recording.files import DEFAULT_DIRECTORY, RecordingError
from weft.host.recording.runs import Run, find_runs, open_run
from weft.host.storage import Place, place_of

GOING_ON = "still going on"  # as `Run.state` says it
MANY_ROWS = 5_000_000
"""A run of more is not searched for its federates: that would take seconds."""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "runs",
        help="list recorded runs: state, length, size, federates, and whether they were reviewed",
        description="List recorded runs, the latest last: state, length, size, federates, and whether they were reviewed.",
    )
    parser.add_argument(
        "directory",
        nargs="?",
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="where they are recorded, or one of them: a folder, or an address like s3://bucket/runs (default %(default)s)",
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--json", action="store_true", help="for machines")
    either.add_argument(
        "--last", action="store_true", help="print only the folder of the latest, for use in other commands"
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    """A run that cannot be read is told, and does not keep the others from being listed."""
    top = place_of(arguments.directory)
    named = arguments.directory if top.local else str(top)
    if not top.is_folder():
        raise RecordingError(f"{named}: there is no such folder; nothing has been recorded there")
    found = []
    failed = 0
    for path in find_runs(top):
        try:
            found.append(open_run(path))
        except RecordingError as error:
            failed = 1
            print(f"weft: {error}", file=sys.stderr)
    found.sort(key=lambda one: one.start_ns)
    if arguments.last:
        if not found:
            raise RecordingError(f"no runs below {named}")
        print(_as_given(found[-1].path, arguments.directory))
        return 0
    listed = [describe(one) for one in found]
    if arguments.json:
        print(json.dumps(listed, indent=2, ensure_ascii=False))
    elif not listed:
        print(f"no runs below {named}")
    else:
        names = [_as_given(one.path, arguments.directory) for one in found]
        print("\n".join(lines(listed, terminal_width(), names)))
    return failed


def _as_given(run: Place, directory: str) -> str:
    """For other commands: below the folder as it was named, or its address."""
    if run.local is None:
        return run.address
    return str(Path(directory) / run.below(place_of(directory)))


class ListedRun(TypedDict):
    """A run, as `weft runs --json` tells it; `federates` only where the run is not too large to look."""

    run: str
    federation: str
    start: str
    start_ns: int
    seconds: float
    nodes: list[str]
    federates: NotRequired[list[str]]
    rows: int
    bytes: int
    dropped: int
    ended: bool
    interrupted: list[str]
    state: str
    review: KeptReview
    troubles: list[str]


def describe(found: Run) -> ListedRun:
    start = found.start_ns
    federates = federates_of(found)
    listed: ListedRun = {
        "run": str(found.path),
        "federation": found.federation,
        "start": found.info.get("start", ""),
        "start_ns": start,
        "seconds": round(max(0, _last_ns(found) - start) / 1e9, 3),
        "nodes": sorted(found.nodes),
        "rows": found.rows,
        "bytes": found.bytes,
        "dropped": found.dropped,
        "ended": found.ended,
        "interrupted": sorted(found.interrupted),
        "state": found.state,
        "review": review_of(found.path),
        "troubles": found.troubles,
    }
    if federates is not None:
        listed["federates"] = federates
    return listed


def federates_of(found: Run) -> list[str] | None:
    """Who joined in the run, by name; None where it is too large to look."""
    if found.rows > MANY_ROWS:
        return None
    import pyarrow.compute as pc

    names: set[str] = set()
    for rows in found.tables(["kind", "name"]):
        joined = rows.filter(pc.equal(rows.column("kind"), "join"))
        names.update(name for name in joined.column("name").to_pylist() if name)
    return sorted(names)


def _last_ns(found: Run) -> int:
    """When the last node ended; of those that have not, when their last row was."""
    ends = [ended for node in found.nodes.values() if (ended := node.get("ended_ns"))]
    last = {file.node: file.to_ns or file.path.entry().mtime_ns for file in found.files}
    return max([*ends, *last.values()], default=0)


# For people


def lines(listed: list[ListedRun], width: int, names: Sequence[str] = ()) -> list[str]:
    """A table, each run followed by where it lies (`names`: if not by its full path) and what is wrong with it."""
    rows = [(one, "", ("", "")) for one in listed]
    head, *shown = table(_COLUMNS, rows, width)
    out = [head.text]
    places = names or [one["run"] for one in listed]
    for one, row, place in zip(listed, shown, places, strict=True):
        told = "" if one["ended"] else f": {one['state']}"
        out += [row.text, f"  {clean(place)}{clean(told)}"]
        out += [f"  {clean(trouble)}" for trouble in one["troubles"]]
    return out


def _when(one: ListedRun) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one["start_ns"] // 10**9))


def _state(one: ListedRun) -> str:
    """In one word; the line below says more."""
    if one["ended"]:
        return "incomplete" if one["dropped"] else "complete"
    return "interrupted" if one["interrupted"] else "recording" if one["state"] == GOING_ON else "unknown"


def _rows(one: ListedRun) -> str:
    dropped = f" ({one['dropped']:,} dropped)" if one["dropped"] else ""
    return f"{one['rows']:,}{dropped}"


def _review(one: ListedRun) -> str:
    review = one["review"]
    if review["state"] == "none":
        return "not reviewed"
    if review["state"] == "failed":
        return "unreadable"
    if review["violations"]:
        return f"{review['violations']:,} violated"
    if review["unsure"]:
        return f"{review['unsure']:,} unsure"
    return "inconclusive" if review.get("inconclusive") else "ok"


_COLUMNS: tuple[ScreenColumn[ListedRun], ...] = (
    ScreenColumn("federation", lambda one: one["federation"], 10, least=10),
    ScreenColumn("started (UTC)", _when, 6),
    ScreenColumn("length", lambda one: lasting(one["seconds"]), 7, True),
    ScreenColumn("federates", lambda one: str(len(one["federates"])) if "federates" in one else "?", 5, True),
    ScreenColumn("nodes", lambda one: str(len(one["nodes"])), 3, True),
    ScreenColumn("rows", _rows, 4, True),
    ScreenColumn("size", lambda one: amount(one["bytes"]), 7, True),
    ScreenColumn("review", _review, 8),
    ScreenColumn("state", _state, 9),
)
