"""A run as Spark sees it: the rows of its whole files, and what is known to be missing from them.

Whatever the run's own reader finds wrong is said before any result.  What cannot be there because rows are missing is never
held against the run: findings that say "something is not there" count as unsure where the rows of a node have gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from weft.host.recording.runs import Run, open_run
from weft.host.recording.runs import read_rows as file_rows
from weft.recorder import COLUMNS
from weft.review.errors import ReviewError
from weft.review.quality import GAP, Doubt, inspect

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


def time_column_of(info: Mapping[str, object]) -> str:
    """Of what `run.json` says: the column of rows that logical time is in."""
    return "time_float" if info.get("time") == FLOAT_TIME else "time_int"


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
        return time_column_of(self.run.info)

    @property
    def lookahead_column(self) -> str:
        return self.time_column.replace("time", "lookahead")


def open_for_review(path: str | Path) -> Opened:
    """Raises an error where there is nothing to review; what is wrong otherwise becomes a note.

    Tasks run in other folders, and on other machines: the path is made absolute before it goes there.
    """
    run = open_run(Path(path).absolute())
    notes, gaps = notes_of(run), gaps_of(run)
    doubts = inspect(run)
    _describe(run)
    if not run.files or not run.rows:
        why = f" ({'; '.join(run.troubles)})" if run.troubles else ""
        raise ReviewError(f"{run.path}: the run is empty: there are no rows to review{why}")
    if "time" not in run.info:
        run.info["time"] = _time_of(run)
    return with_doubts(Opened(run, tuple(notes), frozenset(gaps)), doubts)


def _describe(run: Run) -> None:
    """Of a node without description, what its rows tell: the last of one that ended in order says so."""
    for node in {file.node for file in run.files}:
        if not run.nodes.get(node):
            last = file_rows([file for file in run.files if file.node == node][-1], ("kind", "epoch_ns"))
            stopped = len(last) > 0 and last["kind"][-1].as_py() == "stop"
            run.nodes[node] = {"ended_ns": last["epoch_ns"][-1].as_py() if stopped else None}


def with_doubts(opened: Opened, doubts: Iterable[Doubt]) -> Opened:
    more = [doubt for doubt in doubts if doubt not in opened.doubts]
    missing = {node for doubt in more if doubt.severity == GAP for node in doubt.nodes}
    return replace(
        opened,
        notes=(*opened.notes, *(doubt.text for doubt in more)),
        gaps=opened.gaps | missing,
        doubts=(*opened.doubts, *more),
    )


def _time_of(run: Run) -> str:
    """Where the run does not say it, its rows do."""
    for file in run.files:
        table = file_rows(file, ("time_int", "time_float"))
        if table["time_float"].null_count < len(table):
            return FLOAT_TIME
        if table["time_int"].null_count < len(table):
            break
    return "HLAinteger64Time"


MOSTLY = 0.5  # of the rows: if so many are missing, nothing can be said


def notes_of(run: Run) -> list[str]:
    """What is to be known of a run before anything that is found in it."""
    notes = []
    if run.dropped:
        notes.append(
            f"{run.dropped} rows were dropped when the run was recorded; what seems missing may be among them"
        )
    lost = run.dropped / max(1, run.dropped + run.rows)
    if lost >= MOSTLY:
        notes.append(f"{lost:.0%} of all rows were dropped: what is left says nothing of the run")
    notes += run.troubles
    running = sorted(name for name, node in run.nodes.items() if node.get("ended_ns") is None)
    if running:
        notes.append(
            f"{', '.join(running)}: still writing, or crashed; what is not there yet is not held against the run"
        )
    return notes


def gaps_of(run: Run) -> set[str]:
    """Nodes whose rows are not all there."""
    whole = {file.path for file in run.files}
    torn = {path.parent for path in (run.path / "rows").glob("node=*/*.parquet") if path not in whole}
    found = {unquote(folder.name.removeprefix("node=")) for folder in torn}
    found |= {name for name, node in run.nodes.items() if node.get("dropped")}
    there = set(run.nodes) | {file.node for file in run.files}
    return found | {
        name for node in run.nodes.values() for name in node.get("others", ()) if name not in there
    }


def read_rows(session: SparkSession, opened: Opened) -> DataFrame:
    """A DataFrame of all rows; columns that an older version of the schema did not have are null."""
    paths = [_literal(file.path) for file in opened.run.files]
    base = str(opened.run.path / "rows")
    return session.read.schema(spark_schema()).option("basePath", base).parquet(*paths)


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
