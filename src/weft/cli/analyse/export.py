"""`weft export RUN`: what was sent in a recorded run, a typed Parquet table for each class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from weft.cli.arguments import Commands, add_out, complain
from weft.host.files.modules import load_fom
from weft.host.recording.decoding import export, model_of
from weft.host.recording.runs import open_run


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        help="write the values of a recorded run as tables",
        description="Write what was sent in a recorded run as Parquet tables, one for each class, with typed columns. "
        "The rows of the run itself are Parquet files already, in its folder rows.",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run (`weft runs` lists them)")
    parser.add_argument("--decoded", action="store_true", help=argparse.SUPPRESS)  # there is nothing else
    add_out(parser, "DIR", "where to (default RUN/decoded)")
    parser.add_argument(
        "--fom",
        action="append",
        default=[],
        metavar="FILE",
        help="object model modules instead of those recorded with the run; may be given again",
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    found = open_run(arguments.run)
    complain(found.troubles)
    model = load_fom(*arguments.fom) if arguments.fom else model_of(found)
    out = Path(arguments.out or found.path / "decoded")
    tables = export(found, model, out, _progress)
    if not tables:
        print(
            f"{found.path}: no values to decode; nothing was sent, or payloads were left out (record.payloads)"
        )
        return 0
    for table in tables:
        wrong = f", {table.failures:,} values that are not of their type left out" if table.failures else ""
        print(f"{table.path}: {table.rows:,} rows{wrong}")
    return 0


def _progress(rows: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{rows:,} messages", end="", file=sys.stderr, flush=True)
