"""`weft export RUN…`: what was sent in recorded runs, a typed Parquet table for each class."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator, Sequence

from weft.cli.arguments import (
    MASTER_HELP,
    RUN_HELP,
    Commands,
    add_master,
    add_out,
    asks_for_spark,
    cluster_of,
    complain,
    say,
)
from weft.host.files.modules import read_source
from weft.host.recording.decoding import Modules, modules_of
from weft.host.recording.files import RecordingError
from weft.host.recording.runs import Run, find_runs, open_run
from weft.host.recording.tables import Exported, ExportSource, plan_of, table_place, write_tables
from weft.host.storage import Place, place_of
from weft.host.storage.whole_folder import begin_folder
from weft.model.errors import SettingsError

HERE_ROWS = 1_000_000
"""So many are decoded in this process, if nobody says where Spark runs."""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "export",
        help="write the values of recorded runs as tables",
        description="Write what was sent in recorded runs as Parquet tables, one for each class, with typed columns. "
        "The rows of the runs themselves are Parquet files already, in their folders rows.",
    )
    parser.add_argument("run", nargs="+", metavar="RUN", help=f"{RUN_HELP}; or several, or a folder of runs")
    parser.add_argument("--decoded", action="store_true", help=argparse.SUPPRESS)  # there is nothing else
    add_out(parser, "DIR", "where to, also s3://… (default RUN/decoded; of several runs it must be said)")
    parser.add_argument(
        "--fom",
        action="append",
        default=[],
        metavar="FILE",
        help="object model modules instead of those recorded with the run; may be given again",
    )
    add_master(
        parser,
        None,
        f"{MASTER_HELP} (default: local[*] for more than {HERE_ROWS:,} rows, and no Spark for fewer)",
    )
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    fom: Modules = tuple(read_source(name) for name in arguments.fom)
    runs, left_out = _opened(arguments.run, fom)
    out = _folder(arguments.out, [found for found, _ in runs])
    rows = sum(found.rows for found, _ in runs)
    few = rows <= HERE_ROWS or importlib.util.find_spec("pyspark") is None
    if few and not asks_for_spark(arguments):
        done = _here(runs, out)
    else:
        from weft.review.export import export_by_spark

        done = export_by_spark(runs, out, cluster_of(arguments), say=say)
    say("")
    print("\n".join(_lines(done, out, [found for found, _ in runs])))
    complain(f"left out: {why}" for why in left_out)
    return 2 if left_out else 0


def _opened(names: Sequence[str], fom: Modules) -> tuple[list[tuple[Run, Modules]], list[str]]:
    """Of several runs one that cannot be read does not take the others along: why is told."""
    places = list(dict.fromkeys(place for name in names for place in _places(name)))
    runs: list[tuple[Run, Modules]] = []
    left_out = []
    for place in places:
        try:
            found = open_run(place, checked=True)
            runs.append((found, fom or modules_of(found)))
        except RecordingError as error:
            left_out.append(str(error))
            if len(left_out) == len(places):
                raise
            continue
        complain(found.troubles)
    return runs, left_out


def _places(name: str) -> list[Place]:
    """A run, or those of a folder."""
    place = place_of(name)
    return ([] if (place / "rows").is_folder() else find_runs(place)) or [place]


def _folder(out: str | None, runs: Sequence[Run]) -> Place:
    if out is not None:
        return place_of(out)
    if len(runs) > 1:
        raise SettingsError("these are several runs: say with --out DIR where their tables go")
    if runs[0].path.local is None:
        raise SettingsError(f"{runs[0].path} is not on this machine: say with --out DIR where its tables go")
    return runs[0].path / "decoded"


def _here(runs: Sequence[tuple[Run, Modules]], out: Place) -> Exported:
    plan = plan_of([modules for _, modules in runs])
    sources = [ExportSource(found.path.name, tuple(found.files), modules, None) for found, modules in runs]

    def place(name: str) -> Place:
        table = table_place(out, name)
        if table.is_folder():  # written by Spark
            begin_folder(table)
            table.remove()
        return table

    return write_tables(sources, plan, place, lambda count: say(f"{count:,} messages"))


def _lines(done: Exported, out: Place, runs: Sequence[Run]) -> Iterator[str]:
    for name, count in sorted(done.unknown.items()):
        yield f"left out: {count:,} messages of {name}, which the object model does not have"
    if not done.tables:
        where = str(runs[0].path) if len(runs) == 1 else f"{len(runs)} runs"
        yield f"{where}: no values to decode; nothing was sent, or payloads were left out (record.payloads)"
    for name, table in done.tables.items():
        yield f"{table_place(out, name)}: {table.rows:,} rows"
        for item, one in table.failures.items():
            yield f"    {item}: {one.count:,} values are not of their type, and null here (the first: {one.first})"
