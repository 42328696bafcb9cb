"""A run as Spark sees it: the rows of its whole files, and what is known to be missing from them.

Whatever the run's own reader finds wrong is said before any result.  What cannot be there because rows are missing is never
held against the run: findings that say "something is not there" count as unsure where the rows of a node have gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from weft.host.recording.files import NodeInfo, RecordingError
from weft.host.recording.row_files import RowFile, wanted_schema
from weft.host.recording.run import table_of
from weft.host.recording.runs import Run, open_run
from weft.host.storage import Place, place_of
from weft.recorder import COLUMNS
from weft.review.errors import ReviewError
from weft.review.quality import FIGURE, GAP, NOTE, Doubt, inspect, known
from weft.review.spark.tasks import RunPart, parts_of, read_part, spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {
    "word": "string",
    "text": "string",
    "int32": "int",
    "int64": "bigint",
    "float64": "double",
    "bytes": "binary",
}
_GLOB = "\\{}[]*?"
FLOAT_TIME = "HLAfloat64Time"
ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True)
class Opened:
    """A run, checked: what there is to review and what is to be said about it first."""

    run: Run
    notes: tuple[str, ...]
    gaps: frozenset[str]
    """Nodes whose rows are not all there."""
    doubts: tuple[Doubt, ...] = ()
    """What is wrong with its files: each is among the notes, too."""

    @property
    def time_column(self) -> str:
        return "time_float" if self.run.info.get("time") == FLOAT_TIME else "time_int"

    @property
    def lookahead_column(self) -> str:
        return self.time_column.replace("time", "lookahead")


def open_for_review(path: str | PathLike[str] | Place) -> Opened:
    """Raises an error where there is nothing to review; what is wrong otherwise becomes a note.

    Tasks run in other folders, and on other machines: a path is made absolute before it goes there.
    """
    run = open_run(place_of(path))
    found = inspect(run)
    doubts = [*known(run), *found]
    _describe(run)
    if not run.files or not run.rows:
        told = [doubt.text for doubt in doubts if doubt.severity != NOTE]
        why = f" ({'; '.join(told)})" if told else ""
        raise ReviewError(f"{run.path}: the run is empty: there are no rows to review{why}")
    if "time" not in run.info:
        run.info["time"] = _time_of(run)
    return with_doubts(Opened(run, (), frozenset()), doubts)


def _describe(run: Run) -> None:
    """Of a node without description, what its manifest tells, or its rows: the last of one that ended in order says so."""
    for node in {file.node for file in run.files}:
        if run.nodes.get(node):
            continue
        mine = [one for one in run.manifests if one.node == node]
        if mine:
            end = mine[-1].end
            told = NodeInfo(began_ns=mine[-1].began_ns, ended_ns=None if end is None else end.end_ns)
            run.nodes[node] = told if end is None else {**told, "rows": end.rows, "dropped": end.dropped}
        else:
            run.nodes[node] = {"ended_ns": _stopped([file for file in run.files if file.node == node][-1])}


def _stopped(last: RowFile) -> int | None:
    """When the node ended, if that is its last row."""
    try:
        table = table_of(last, ("kind", "epoch_ns"))
    except RecordingError:
        return None  # that is told when all are read
    stopped = len(table) > 0 and table["kind"][-1].as_py() == "stop"
    return int(table["epoch_ns"][-1].as_py()) if stopped else None


def with_doubts(opened: Opened, doubts: Iterable[Doubt]) -> Opened:
    more = [doubt for doubt in doubts if doubt not in opened.doubts]
    missing = {node for doubt in more if doubt.severity == GAP for node in doubt.nodes}
    return replace(
        opened,
        notes=(*opened.notes, *_told(more, opened.notes)),
        gaps=opened.gaps | missing,
        doubts=(*opened.doubts, *more),
    )


def _told(doubts: Iterable[Doubt], notes: Sequence[str]) -> list[str]:
    """What is wrong, and not said yet."""
    return [doubt.text for doubt in doubts if doubt.severity != FIGURE and doubt.text not in notes]


def _time_of(run: Run) -> str:
    """Where the run does not say it, its rows do."""
    for file in run.files:
        try:
            table = table_of(file, ("time_int", "time_float"))
        except RecordingError:
            continue  # that is told when all are read
        if table["time_float"].null_count < len(table):
            return FLOAT_TIME
        if table["time_int"].null_count < len(table):
            break
    return "HLAinteger64Time"


def notes_of(run: Run) -> list[str]:
    """What is to be known of a run before anything that is found in it."""
    return [doubt.text for doubt in known(run)]


NEVER = (
    "values",
    "packed",
    "tag",
)  # what was sent itself: of all columns the largest, and neither advised on nor drawn


def read_rows(session: SparkSession, opened: Opened) -> DataFrame:
    """A DataFrame of all rows; columns that an older version of the schema did not have are null.

    Spark reads files of this machine itself, each column when it is needed.  For a store it would need Hadoop's packages:
    there tasks read by Arrow, all columns at once but those that hold what was sent.
    """
    run = opened.run
    paths = [local for file in run.files if (local := file.path.local) is not None]
    if len(paths) == len(run.files):
        base = str(run.path / "rows")
        reader = session.read.schema(spark_schema()).option("basePath", base)
        return reader.parquet(*map(_literal, paths))
    names = tuple(column.name for column in COLUMNS if column.name not in NEVER)
    works = [partial(_batches, part, names) for part in parts_of(run)]
    return cast("DataFrame", spread(session, works, spark_schema(names)))


def _batches(part: RunPart, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    types = (field.type for field in wanted_schema(names))
    plain = (kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types)
    wanted = pa.schema(zip(names, plain, strict=True))
    for table in read_part(part, names):
        yield from table.cast(wanted).to_batches(ROWS_PER_BATCH)


def spark_schema(names: Sequence[str] = ()) -> str:
    """Columns (all, or these) and types by Spark's names."""
    return ", ".join(
        f"`{column.name}` {_spark_type(column.type)}"
        for column in COLUMNS
        if not names or column.name in names
    )


def _spark_type(name: str) -> str:
    return f"array<{_spark_type(name[1:-1])}>" if name.startswith("[") else _TYPES[name]


def _literal(path: Path) -> str:
    """Spark takes paths for patterns."""
    return "".join(f"\\{letter}" if letter in _GLOB else letter for letter in str(path.resolve()))
