"""A run as Spark sees it: the rows of its whole files, and what is known to be missing from them.

Whatever the run's own reader finds wrong is said before any result.  What cannot be there because rows are missing is never
held against the run: findings that say "something is not there" count as unsure where the rows of a node have gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from weft.host.runs import Run, open_run
from weft.recorder import COLUMNS
from weft.review.errors import ReviewError

_TYPES = {
    "word": "string",
    "text": "string",
    "int32": "int",
    "int64": "bigint",
    "float64": "double",
    "bytes": "binary",
}
_GLOB = "\\{}[]*?"
INTEGER_TIME = "HLAinteger64Time"


@dataclass(frozen=True)
class Opened:
    """A run, checked: what there is to review and what is to be said about it first."""

    run: Run
    notes: tuple[str, ...]
    gaps: frozenset[str]
    """Nodes whose rows are not all there."""

    @property
    def time_column(self) -> str:
        return "time_int" if self.run.info.get("time", INTEGER_TIME) == INTEGER_TIME else "time_float"

    @property
    def lookahead_column(self) -> str:
        return self.time_column.replace("time", "lookahead")


def open_for_review(path: str | Path) -> Opened:
    """Raises an error where there is nothing to review; what is wrong otherwise becomes a note."""
    run = open_run(path)
    if not run.files or not run.rows:
        why = f" ({'; '.join(run.troubles)})" if run.troubles else ""
        raise ReviewError(f"{run.path}: the run is empty: there are no rows to review{why}")
    return Opened(run, tuple(notes_of(run)), frozenset(gaps_of(run)))


def notes_of(run: Run) -> list[str]:
    """What is to be known of a run before anything that is found in it."""
    notes = []
    if run.dropped:
        notes.append(
            f"{run.dropped} rows were dropped when the run was recorded; what seems missing may be among them"
        )
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
    return found | {
        name for node in run.nodes.values() for name in node.get("others", ()) if name not in run.nodes
    }


def read_rows(session: Any, opened: Opened) -> Any:
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
