"""`weft runs compact RUN …`: many small files become few large ones (docs/how-to/recording.md)."""

from __future__ import annotations

import argparse

from weft.cli.arguments import Commands, add_command, complain
from weft.host.recording.compact import compact, runs_below
from weft.host.recording.files import RecordingError
from weft.host.storage import place_of


def register(commands: Commands) -> None:
    parser = add_command(
        commands, "runs compact", run, "merge the many small files of recorded runs into few large ones"
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run, or a folder of runs: a path, or an address like s3://bucket/runs",
    )


def run(arguments: argparse.Namespace) -> int:
    """A run that has to be left alone is told, and does not keep the others from being done."""
    failed = 0
    for given in arguments.runs:
        top = place_of(given)
        found = runs_below(top)
        if not found:
            raise RecordingError(f"{top}: there is no run there; `weft runs` lists those there are")
        for one in found:
            try:
                done = compact(one)
            except (RecordingError, OSError) as error:
                failed = 1
                complain([error])
                continue
            print(f"{one}: {done.before:,} files, now {done.after:,} ({done.rows:,} rows)")
    return failed
