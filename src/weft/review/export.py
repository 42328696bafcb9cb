"""`weft export` by Spark: large runs part by part, small ones many to a task; each task writes its rows of each class.

A table is then a folder of files, as Spark itself writes them, and appears as a whole (`host.storage.whole_folder`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from weft.host.recording.decoding import Modules, NamedInstances, UndecodedValues, instance_names
from weft.host.recording.files import RecordingError
from weft.host.recording.row_files import RowFile
from weft.host.recording.runs import Run
from weft.host.recording.tables import (
    Exported,
    ExportedTable,
    ExportPlan,
    ExportSource,
    plan_of,
    table_place,
    write_tables,
)
from weft.host.storage import Place
from weft.host.storage.whole_folder import begin_folder, draft_of, finish_folder, part_name
from weft.review.errors import ReviewError, reason
from weft.review.kernels import arrow
from weft.review.spark.cluster import LOCAL, AnyMaster
from weft.review.spark.session import Profile, given_session, progress
from weft.review.spark.tasks import Work, parts_of, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_PER_TASK = 200_000  # to decode them takes a task some seconds
WRITTEN = "class string, file string, rows bigint, failures string, unknown bigint"
NAMED = "object bigint, epoch_ns bigint, name string"


def export_by_spark(
    runs: Sequence[tuple[Run, Modules]],
    out: Place,
    master: AnyMaster = LOCAL,
    session: SparkSession | None = None,
    say: Callable[[str], None] = lambda text: None,
    rows_per_task: int = ROWS_PER_TASK,
) -> Exported:
    """Tables are replaced one after the other at the end; whoever is stopped before has changed none."""
    plan = plan_of([modules for _, modules in runs])
    _begin(out, plan)
    rows = max((run.rows for run, _ in runs), default=0)
    with given_session(session, Profile(master, rows), say) as spark:
        try:
            with progress(spark, "names", say):
                sources = _sources(spark, runs, rows_per_task)
            works: list[Work] = [
                partial(_write, number, group, plan, out)
                for number, group in enumerate(_packed(sources, rows_per_task))
            ]
            with progress(spark, "tables", say):
                written = spread(spark, works, WRITTEN).toArrow().to_pylist()
        except Exception as error:
            _begin(out, plan)
            if isinstance(error, ReviewError | RecordingError):
                raise
            told = reason(error)
            raise ReviewError(told.partition("Error: ")[2] if told.startswith("weft.") else told) from error
    done = _together(written)
    for name, table in sorted(done.tables.items()):
        finish_folder(table_place(out, name), table.files)
    return done


def _begin(out: Place, plan: ExportPlan) -> None:
    """Without drafts of whoever was stopped; raises StorageError where something else than a table would be replaced."""
    folders = {entry.place.name for entry in out.entries() if entry.is_folder}
    for name in sorted(plan.classes):
        table = table_place(out, name)
        if folders & {table.name, draft_of(table).name}:
            begin_folder(table)


def _sources(
    spark: SparkSession, runs: Sequence[tuple[Run, Modules]], rows_per_task: int
) -> Iterator[ExportSource]:
    """Of a large run all parts know all names."""
    made: list[ExportSource] = []
    for run, modules in runs:
        label = run.path.name
        if run.rows <= rows_per_task:
            made.append(ExportSource(label, tuple(run.files), modules, None))
            continue
        parts = parts_of(run, rows_per_task)
        names = _names(spark, [part.files for part in parts])
        made += [ExportSource(label, part.files, modules, names) for part in parts]
    return iter(made)


def _names(spark: SparkSession, parts: Sequence[tuple[RowFile, ...]]) -> NamedInstances:
    table = spread(spark, [partial(_named, files) for files in parts], NAMED).toArrow()
    names = NamedInstances()
    for row in table.to_pylist():
        names.add(row["object"], row["epoch_ns"], row["name"])
    return names


def _named(files: tuple[RowFile, ...]) -> Iterator[pa.RecordBatch]:
    found = instance_names(files).found
    columns = {
        "object": list(found),
        "epoch_ns": [epoch_ns for epoch_ns, _ in found.values()],
        "name": [name for _, name in found.values()],
    }
    yield arrow.made(columns, arrow.schema_of(NAMED))


def _packed(sources: Iterator[ExportSource], rows_per_task: int) -> Iterator[list[ExportSource]]:
    """Sources behind one another, until a task has enough."""
    group: list[ExportSource] = []
    rows = 0
    for source in sources:
        count = sum(file.count for file in source.files)
        if group and rows + count > rows_per_task:
            yield group
            group, rows = [], 0
        group.append(source)
        rows += count
    if group:
        yield group


def _write(
    number: int, sources: Sequence[ExportSource], plan: ExportPlan, out: Place
) -> Iterator[pa.RecordBatch]:
    def place(name: str) -> Place:
        return draft_of(table_place(out, name)) / part_name(number)

    done = write_tables(sources, plan, place)
    rows = [
        {
            "class": name,
            "file": table.files[0],
            "rows": table.rows,
            "failures": json.dumps({item: [one.count, one.first] for item, one in table.failures.items()}),
            "unknown": 0,
        }
        for name, table in done.tables.items()
    ]
    rows += [
        {"class": name, "file": None, "rows": 0, "failures": "{}", "unknown": n}
        for name, n in done.unknown.items()
    ]
    yield arrow.made_of_rows(rows, arrow.schema_of(WRITTEN))


def _together(written: Sequence[dict[str, object]]) -> Exported:
    done = Exported()
    for row in sorted(written, key=lambda row: str(row["file"])):
        name, file = str(row["class"]), row["file"]
        if file is None:
            done.add(Exported(unknown=Counter({name: int(str(row["unknown"]))})))
            continue
        told = json.loads(str(row["failures"]))
        failures = {item: UndecodedValues(count, first) for item, (count, first) in told.items()}
        table = ExportedTable(name, int(str(row["rows"])), failures, [str(file)])
        done.add(Exported({name: table}))
    return done
