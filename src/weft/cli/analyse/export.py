"""`weft export RUN`: what was sent in a recorded run, a typed Parquet table for each class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from weft.cli.arguments import RUN_HELP, Commands, add_out, complain
from weft.host.files.modules import load_fom
from weft.host.recording.decoding import export, model_of
from weft.host.recording.runs import Run, open_run
from weft.model.errors import SettingsError


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        help="write the values of a recorded run as tables",
        description="Write what was sent in a recorded run as Parquet tables, one for each class, with typed columns. "
        "The rows of the run itself are Parquet files already, in its folder rows.",
    )
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)
    parser.add_argument("--decoded", action="store_true", help=argparse.SUPPRESS)  # there is nothing else
    add_out(parser, "DIR", "where to (default RUN/decoded; of a run in a store it must be said)")
    parser.add_argument(
        "--fom",
        action="append",
        default=[],
        metavar="FILE",
        help="object model modules instead of those recorded with the run; may be given again",
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    found = open_run(arguments.run, checked=True)
    complain(found.troubles)
    model = load_fom(*arguments.fom) if arguments.fom else model_of(found)
    tables = export(found, model, _folder(arguments.out, found), _progress)
    if not tables:
        print(
            f"{found.path}: no values to decode; nothing was sent, or payloads were left out (record.payloads)"
        )
        return 0
    for table in tables:
        wrong = f", {table.failures:,} values that are not of their type left out" if table.failures else ""
        print(f"{table.path}: {table.rows:,} rows{wrong}")
    return 0


def _folder(out: str | None, found: Run) -> Path:
    local = found.path.local
    if out is None and local is None:
        raise SettingsError(f"{found.path} is not on this machine: say with --out DIR where its tables go")
    return Path(out or ".") if local is None or out else local / "decoded"


def _progress(rows: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{rows:,} messages", end="", file=sys.stderr, flush=True)
