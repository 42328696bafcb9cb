"""`weft runs upload [FOLDER] PLACE`: what waits for a store goes there now (docs/how-to/storage.md)."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from weft.cli.arguments import Commands, add_command
from weft.host.recording.files import RecordingError
from weft.host.recording.runs import find_runs
from weft.host.recording.spool import (
    PLACE_FILE,
    default_spool,
    folder_of,
    goes_to,
    left_in,
    runs_in,
    uploading,
)
from weft.host.recording.upload import Uploads
from weft.host.storage import Place, place_of

_TELL = 5.0  # seconds from one line about progress to the next


def register(commands: Commands) -> None:
    parser = add_command(
        commands, "runs upload", run, "upload recorded runs, or go on where a recording was cut off"
    )
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="a spool, or any folder of runs, which are left there (default: the spool that recordings use)",
    )
    parser.add_argument(
        "place",
        metavar="PLACE",
        help="where to: a folder, or an address like s3://bucket/runs; of a spool's own folder, which knows it, that folder",
    )


def run(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder or os.environ.get("WEFT_RECORD_SPOOL") or default_spool()).absolute()
    place = arguments.place
    if arguments.folder is None and (Path(place) / PLACE_FILE).is_file():
        folder = Path(place).absolute()
        place = goes_to(folder)
    place = place_of(place)
    source = _source(folder, place)
    with uploading(source.folder) as mine:
        if not mine:
            raise RecordingError(
                f"{source.folder}: another process uploads from there; wait until it has ended, or end it"
            )
        told = _Progress(source.folder)
        uploads = Uploads(source.runs, place, source.keep, told=told)
        try:
            uploads.turn(everything=True)
        except OSError as error:
            raise RecordingError(
                f"{place}: {told.count} files were uploaded, and then: {str(error).strip() or type(error).__name__}; the same "
                "command goes on from there"
            ) from error
    print(f"{told.count} files uploaded to {place}")
    return 0


class _Source(NamedTuple):
    folder: Path
    runs: Callable[[], list[Path]]
    keep: bool


def _source(given: Path, place: Place) -> _Source:
    for folder in (given, folder_of(given, place)):
        if (folder / PLACE_FILE).is_file():
            return _Source(folder, partial(runs_in, folder), keep=False)
    if not given.is_dir():
        raise RecordingError(f"{given}: there is no such folder; nothing waits there")
    return _Source(given, partial(_runs_below, given), keep=True)


def _runs_below(folder: Path) -> list[Path]:
    return [local for run in find_runs(folder) if (local := run.local) is not None]


class _Progress:
    """A line now and then, if it takes long."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._folder = folder
        self._due = time.monotonic() + _TELL

    def __call__(self, file: str) -> None:
        self.count += 1
        if time.monotonic() >= self._due:
            left = left_in(self._folder)
            print(
                f"{self.count} files uploaded, {left.files} left ({left.bytes / 1e6:,.1f} MB)",
                file=sys.stderr,
            )
            self._due = time.monotonic() + _TELL
