"""Work for Spark's tasks: each reads files of the run by Arrow, only the columns it needs, and hands on what it found.

Spark's own reader turns rows around one by one, and again on their way to Python: that cost twenty times as much as all kernels
together.  So Spark is given work and not rows: it says where and when which part is read, and shuffles what parts have to
say about one another, which is little.

A part is files of one node, one behind the other: the rows of a node are in order, and parts are cut by the number of rows,
so it does not matter if one federate, one class or one region has nearly all of them.  A file of many rows is cut itself, by
row groups, so a run whose files were put together spreads over tasks like one of many small ones.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from weft.host.recording.row_files import RowFile, cut_up, row_tables
from weft.host.recording.runs import Run
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_PER_PART = 1 << 19
LEAST_ROWS = 1 << 15  # a task costs more than to read so many
LEAST_PARTS = 8  # as far as there are rows enough: so that all cores have some
ROWS_AT_ONCE = 1 << 17  # of files that are smaller, several are looked at together

Work = Callable[[], Iterator[pa.RecordBatch]]
"""Gives Arrow batches; it goes to another process, so it is a function of a module with its arguments (`partial`)."""
Pick = Callable[[pa.Table], pa.Table]
"""Of a table of rows the part that matters, as a table."""
OfBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""For `mapInArrow`."""


class RunPart(NamedTuple):
    """What one task reads."""

    node: str
    files: tuple[RowFile, ...]

    @property
    def rows(self) -> int:
        """About so many, where a file is cut."""
        return sum(file.count for file in self.files)


def parts_of(run: Run, rows_per_part: int = 0) -> list[RunPart]:
    """`rows_per_part`: 0 chooses by the number of rows."""
    most = rows_per_part or min(ROWS_PER_PART, max(LEAST_ROWS, run.rows // LEAST_PARTS))
    parts: list[RunPart] = []
    gathered: list[RowFile] = []
    rows = 0
    for file in (piece for one in run.files for piece in cut_up(one, most)):
        if gathered and (gathered[0].node != file.node or rows >= most):
            parts.append(RunPart(gathered[0].node, tuple(gathered)))
            gathered, rows = [], 0
        gathered.append(file)
        rows += file.count
    return [*parts, RunPart(gathered[0].node, tuple(gathered))] if gathered else parts


class Frame(Protocol):
    """What audits ask of Spark's frames; an audit uses no more, so that it is the same with Spark and without."""

    def repartition(self, *keys: str) -> Frame: ...
    def mapInArrow(self, function: OfBatches, schema: str) -> Frame: ...  # noqa: N802
    def unionByName(self, other: Frame) -> Frame: ...  # noqa: N802
    def persist(self) -> Frame: ...
    def unpersist(self) -> Frame: ...
    def toArrow(self) -> pa.Table: ...  # noqa: N802


class Here:
    """The same done in this process: of a small run everything fits into one table."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def repartition(self, *keys: str) -> Here:
        """All rows are together anyhow."""
        return self

    def mapInArrow(self, function: OfBatches, schema: str) -> Here:  # noqa: N802
        return Here(_table(function(iter(self.table.to_batches())), schema))

    def unionByName(self, other: Frame) -> Here:  # noqa: N802
        return Here(pa.concat_tables([self.table, other.toArrow().select(self.table.column_names)]))

    def persist(self) -> Here:
        return self

    def unpersist(self) -> Here:
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802
        return self.table


def _table(batches: Iterator[pa.RecordBatch], schema: str) -> pa.Table:
    wanted = arrow.schema_of(schema)
    tables = [pa.Table.from_batches([batch]).select(wanted.names).cast(wanted) for batch in batches]
    return pa.concat_tables(tables) if tables else wanted.empty_table()


def spread(session: SparkSession | None, works: Sequence[Work], schema: str) -> Frame:
    """A frame of what all works give, each a task of its own; without a session it is made here."""
    if session is None:
        return Here(_table((batch for work in works for batch in work()), schema))
    count = max(1, len(works))
    frame: Frame = session.range(0, count, 1, count).mapInArrow(partial(_work, list(works)), schema)
    return frame


def counted(frame: Frame, columns: str) -> Counter[tuple[object, ...]]:
    """How many rows there are of what these columns (a schema) say together."""
    schema = f"{columns}, count bigint"
    found = Counter[tuple[object, ...]]()
    for row in frame.mapInArrow(partial(_count, schema), schema).toArrow().to_pylist():
        *values, count = row.values()
        found[tuple(values)] += count
    return found


def _count(schema: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    wanted = arrow.schema_of(schema)
    for batch in batches:
        counts = Counter(zip(*(batch.column(name).to_pylist() for name in wanted.names[:-1]), strict=True))
        rows = [dict(zip(wanted.names, (*values, count), strict=True)) for values, count in counts.items()]
        yield arrow.made_of_rows(rows, wanted)


def _work(works: list[Work], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    # Spark's worker looks through all its objects behind each task, tens of milliseconds: not through those that stay.
    gc.freeze()
    for batch in batches:
        for number in batch.column("id").to_pylist():
            if number < len(works):
                yield from works[number]()


def read_part(part: RunPart, columns: Sequence[str] | None, pick: Pick | None = None) -> Iterator[pa.Table]:
    """Tables of the part's rows, in order; `pick` chooses from them as they are read."""
    waiting: list[pa.Table] = []
    for table in (table for file in part.files for table in _read(file, columns)):
        waiting.append(table if pick is None else pick(table))
        if sum(len(one) for one in waiting) >= ROWS_AT_ONCE:
            yield pa.concat_tables(waiting).unify_dictionaries().combine_chunks()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries().combine_chunks()


class DamagedFile(Exception):
    """A file that cannot be read, though its end is there; its name gets through Spark in the text."""

    _FORM = re.compile(r"\{weft damaged file: (.*?)\}: (.*)")

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{{weft damaged file: {path}}}: {why}")

    @classmethod
    def in_text(cls, error: BaseException) -> tuple[str, str] | None:
        """Path and reason, if that is what went wrong."""
        found = cls._FORM.search(str(error))
        return (found[1], found[2]) if found else None


def _read(file: RowFile, columns: Sequence[str] | None) -> Iterator[pa.Table]:
    """Row groups together, of a large file: at least one table."""
    at_once = ROWS_AT_ONCE if file.rows > ROWS_AT_ONCE else 0
    try:
        yield from row_tables(file, columns, at_once)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise DamagedFile(str(file.path), _first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def last_of(file: RowFile, column: str) -> int:
    """The greatest number of a column in a file, of however many parts."""
    tables = _read(file.whole, (column,))
    return max(int(arrow.numbers(table, column).max()) for table in tables if len(table))


# All nodes in the order of the clock


def in_order(parts: Sequence[RunPart], columns: Sequence[str], pick: Pick) -> Iterator[pa.Table]:
    """Tables of what is picked from all nodes, sorted by `at`, `late`, node and seq, which the pick gives.

    A clock may be set back.  What a node wrote later happened later, so its `at` never falls, and rows keep their order.
    """
    files: dict[str, tuple[RowFile, ...]] = {}
    for part in parts:
        files[part.node] = (*files.get(part.node, ()), *part.files)
    return merged([rising(read_part(RunPart(*one), columns, pick)) for one in files.items()])


def lives_of(parts: Sequence[RunPart]) -> list[RunPart]:
    """What each process of a node wrote: a node that crashed and was started again has had two."""
    found: dict[tuple[str, str], list[RowFile]] = {}
    for part in parts:
        for file in part.files:
            found.setdefault((part.node, file.life), []).append(file)
    return [RunPart(node, tuple(files)) for (node, _), files in found.items()]


def rising(tables: Iterator[pa.Table], since: int = np.iinfo(np.int64).min) -> Iterator[pa.Table]:
    """`at` never falls, nor is it below `since`, which is where rows before these ended.

    What a clock that was set back leaves at one time has the order of the node's record (`place`).
    """
    last = since
    for table in tables:
        if len(table):
            told = arrow.numbers(table, "at")
            at = np.maximum.accumulate(np.maximum(told, last))
            last = at[-1]
            place = pa.array(_places(told, at, arrow.numbers(table, "seq")))
            table = table.set_column(table.column_names.index("at"), "at", pa.array(at))
            yield table.append_column("place", place)


def _places(told: Array, at: Array, seq: Array) -> Array:
    """0 of rows whose time is right; of others the number of the first of those of the same moment."""
    if (at == told).all():
        return np.zeros(len(at), np.int64)
    begins = np.append(True, told[1:] != told[:-1])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(at)), 0))
    return np.where(at > told, seq[first], 0)


def merged(streams: list[Iterator[pa.Table]]) -> Iterator[pa.Table]:
    """What lies before the last row that is known of every stream is all there, and can be sorted."""
    held: dict[int, pa.Table] = {}
    reading = dict(enumerate(streams))
    horizon = np.iinfo(np.int64).min
    while reading or held:
        for number in list(reading):
            while number not in held or _last(held[number]) <= horizon:
                following = next(reading[number], None)
                if following is None:
                    del reading[number]
                    break
                held[number] = pa.concat_tables([held[number], following]) if number in held else following
        horizon = min((_last(held[number]) for number in reading), default=np.iinfo(np.int64).max)
        ready = []
        for number, table in list(held.items()):
            count = int(np.searchsorted(arrow.numbers(table, "at"), horizon))
            ready.append(table.slice(0, count))
            held[number] = table.slice(count)
            if not len(held[number]):
                del held[number]
        if any(len(table) for table in ready):
            yield _sorted(pa.concat_tables(ready).unify_dictionaries().combine_chunks())


def _last(table: pa.Table) -> int:
    return int(table["at"][-1].as_py())


def _sorted(table: pa.Table) -> pa.Table:
    nodes, names = arrow.words(table, "node")
    rank = np.argsort(np.argsort(np.array(names, object)))
    late = arrow.numbers(table, "late", False)
    at, place, seq = (arrow.numbers(table, name) for name in ("at", "place", "seq"))
    order = np.lexsort((seq, rank[nodes], late, place, at))
    return table if (order[1:] > order[:-1]).all() else table.take(order)
