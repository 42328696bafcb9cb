"""`weft runs [DIR]`: what has been recorded (docs/recording.md)."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from weft.host.recording_files import DEFAULT_DIRECTORY, RecordingError
from weft.host.runs import Run, find_runs, open_run


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("runs", help="list recorded runs")
    parser.add_argument(
        "directory",
        nargs="?",
        default=DEFAULT_DIRECTORY,
        metavar="DIR",
        help="where they are recorded, or one of them (default %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    """A run that cannot be read is told, and does not keep the others from being listed."""
    top = Path(arguments.directory)
    if not top.is_dir():
        raise RecordingError(f"{top}: there is no such folder; nothing has been recorded there")
    listed = []
    failed = 0
    for path in find_runs(top):
        try:
            listed.append(describe(open_run(path)))
        except RecordingError as error:
            failed = 1
            print(f"weft: {error}", file=sys.stderr)
    listed.sort(key=lambda one: one["start_ns"])
    if arguments.json:
        print(json.dumps(listed, indent=2, ensure_ascii=False))
    elif not listed:
        print(f"no runs below {top}")
    else:
        _show(listed)
    return failed


def describe(found: Run) -> dict[str, Any]:
    start = found.start_ns
    last = _last_ns(found)
    return {
        "run": str(found.path),
        "federation": found.federation,
        "start": found.info.get("start", ""),
        "start_ns": start,
        "seconds": round(max(0, last - start) / 1e9, 3),
        "nodes": sorted(found.nodes),
        "rows": found.rows,
        "dropped": found.dropped,
        "ended": found.ended,
        "interrupted": sorted(found.interrupted),
        "state": found.state,
        "troubles": found.troubles,
    }


def _last_ns(found: Run) -> int:
    """When the last node ended; of those that have not, when their last file was written."""
    ends = [int(node["ended_ns"]) for node in found.nodes.values() if node.get("ended_ns")]
    files: dict[str, Path] = {file.node: file.path for file in found.files}
    return max([*ends, *[path.stat().st_mtime_ns for path in files.values()]], default=0)


def _show(listed: list[dict[str, Any]]) -> None:
    for one in listed:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(one["start_ns"] // 10**9))
        dropped = f", {one['dropped']:,} dropped" if one["dropped"] else ""
        print(
            f"{one['federation']}  {when} UTC  {one['seconds']:g} s  {one['rows']:,} rows{dropped}; {one['state']}"
        )
        print(f"  {one['run']}  nodes: {', '.join(one['nodes']) or 'none'}")
        for trouble in one["troubles"]:
            print(f"  {trouble}")
