"""`weft export RUN --decoded`: what was sent in a recorded run, a typed Parquet table for each class."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from weft.host.decoding import export, model_of
from weft.host.modules import load_fom
from weft.host.runs import open_run
from weft.model.errors import SettingsError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("export", help="write the values of a recorded run as tables")
    parser.add_argument("run", metavar="RUN", help="the folder of a run (`weft runs` lists them)")
    parser.add_argument("--decoded", action="store_true", help="one table for each class, with typed columns")
    parser.add_argument("--out", metavar="DIR", help="where to (default RUN/decoded)")
    parser.add_argument(
        "--fom",
        action="append",
        default=[],
        metavar="FILE",
        help="object model modules instead of those recorded with the run; may be given again",
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.decoded:
        raise SettingsError(
            "weft export needs --decoded; the rows themselves are Parquet files already, in the folder rows of the run"
        )
    found = open_run(arguments.run)
    for trouble in found.troubles:
        print(f"weft: {trouble}", file=sys.stderr)
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
