"""Files of rows, and how they are read: from whatever storage, whole or by row groups, and never without a look at what they are.

What a manifest lists of a file (its bytes, its rows, their numbers) is compared with what is opened, and pages that have
a checksum are held against it: a file that was changed raises `ChangedFile`, and whoever reads names it.

Row groups are what is read at once.  A part of a file (`cut`) is a range of its rows, and stands for the row groups that
begin there; so whoever cuts a file need not have looked into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING

from weft.host.recording.files import NODE_KEY, RUN_KEY, VERSION_KEY, RecordingError, arrow_schema
from weft.host.storage import Place
from weft.recorder import VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Keep = Callable[["pq.RowGroupMetaData"], bool]
"""Is a row group to be read?"""


@dataclass(frozen=True)
class RowFile:
    path: Place
    node: str
    rows: int
    version: int
    first: int = 0
    """Numbers (`seq`) of its first and last row; 0: it does not say."""
    last: int = 0
    said_node: str = ""
    said_run: str = ""
    """What the file says of itself, which its place may contradict."""
    shift_ns: int = 0
    """To be added to its wall clock, which is known to have been wrong."""
    bytes: int = 0
    from_ns: int = 0
    """Wall clock of its first and last row; 0: it does not say."""
    to_ns: int = 0
    listed: bool = False
    """A manifest says all this of it."""
    sha256: str = ""
    began: str = ""
    """When its process began, if a manifest says so."""
    cut: tuple[int, int] | None = None
    """Of all its rows the first that is meant, and the first that is not; None: all are."""

    @property
    def count(self) -> int:
        """Rows that are meant: about so many, since row groups are not torn apart."""
        return self.rows if self.cut is None else self.cut[1] - self.cut[0]

    @property
    def whole(self) -> RowFile:
        return self if self.cut is None else replace(self, cut=None)

    @property
    def life(self) -> str:
        """The process of its node that wrote it: when that began."""
        return self.began or self.path.name.partition("-")[0]


class ChangedFile(OSError):
    """It is not what the manifest lists."""


def file_place(path: Place | PurePath) -> tuple[str, int, str]:
    """Files of one process are in the order of their numbers, also beyond a million."""
    began, _, number = path.stem.rpartition("-")
    return began, int(number) if number.isdigit() else 0, path.name


def cut_up(file: RowFile, most: int) -> list[RowFile]:
    """Pieces of a large file, alike in size, each of about as many rows as that."""
    pieces = max(1, round(file.rows / most))
    if pieces == 1:
        return [file]
    ends = [file.rows * number // pieces for number in range(pieces + 1)]
    return [replace(file, cut=cut) for cut in pairwise(ends)]


# Looking into a file


@contextmanager
def opened_file(path: Place, listed: int | None = None) -> Iterator[tuple[pq.ParquetFile, int]]:
    """And its size, which should be the one that is listed; raises OSError or ArrowException."""
    import pyarrow.parquet as pq

    local = path.local
    if local is not None:
        size = _size_as(listed, local.stat().st_size)
        with pq.ParquetFile(local, page_checksum_verification=True) as opened:
            yield opened, size
        return
    with path.open_file() as stream:
        size = _size_as(listed, stream.seek(0, 2))
        with pq.ParquetFile(stream, page_checksum_verification=True, pre_buffer=True) as opened:
            yield opened, size


def _size_as(listed: int | None, size: int) -> int:
    if listed is not None and size != listed:
        raise ChangedFile(f"it has {size} bytes, and the manifest lists {listed}")
    return size


def described(path: Place, node: str) -> RowFile | str:
    """By its footer; or why it is none of a run's.  Raises RecordingError if its schema is newer."""
    import pyarrow as pa

    try:
        with opened_file(path) as (opened, size):
            metadata = opened.metadata
            said = metadata.metadata or {}
            text = said.get(VERSION_KEY, b"").decode("ascii", "replace")
            if not text.isdigit():
                return f"{path} was written by something else (it names no schema version), and is ignored"
            if int(text) > VERSION:
                raise newer_schema(path, text)
            words = [said.get(key, b"").decode("utf-8", "replace") for key in (NODE_KEY, RUN_KEY)]
            first, last = span_of(metadata, "seq") or _read_span(opened)
            begin, end = span_of(metadata, "epoch_ns") or (0, 0)
            found = RowFile(path, node, metadata.num_rows, int(text), first, last, *words)
            return replace(found, bytes=size, from_ns=begin, to_ns=end)
    except (OSError, pa.ArrowException) as error:
        return f"{path} is torn or no Parquet file, and ignored: {error}"


def span_of(metadata: pq.FileMetaData, name: str) -> tuple[int, int] | None:
    """The least and the greatest number of a column, if the file says so."""
    if not metadata.num_rows:
        return 0, 0
    names = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    if name not in names:
        return 0, 0
    place = names.index(name)
    groups = [metadata.row_group(number).column(place) for number in range(metadata.num_row_groups)]
    if not all(group.is_stats_set and group.statistics.has_min_max for group in groups):
        return None
    return min(group.statistics.min for group in groups), max(group.statistics.max for group in groups)


def _read_span(opened: pq.ParquetFile) -> tuple[int, int]:
    seq = opened.read(columns=["seq"]).column("seq").drop_null().to_numpy()
    return (int(seq.min()), int(seq.max())) if len(seq) else (0, 0)


def newer_schema(path: Place, version: int | str) -> RecordingError:
    return RecordingError(
        f"{path} was written with version {version} of the row schema; this Weft reads versions up to {VERSION}. "
        "Use the Weft that recorded the run, or a newer one"
    )


def _check_rows(file: RowFile, metadata: pq.FileMetaData) -> None:
    """Are they those that the manifest lists?"""
    if not file.listed:
        return
    if metadata.num_rows != file.rows:
        raise ChangedFile(f"it has {metadata.num_rows} rows, and the manifest lists {file.rows}")
    span = span_of(metadata, "seq")
    if span and span[0] and span != (file.first, file.last):
        raise ChangedFile(
            f"it has the rows {span[0]} to {span[1]}, and the manifest lists {file.first} to {file.last}"
        )


# Reading rows


def wanted_schema(columns: Sequence[str] | None) -> pa.Schema:
    schema = arrow_schema(with_node=True)
    if columns is None:
        return schema
    import pyarrow as pa

    for column in columns:
        if column not in schema.names:
            raise RecordingError(f"rows have no column {column!r}; there are {', '.join(schema.names)}")
    return pa.schema([schema.field(column) for column in columns])


def read_rows(file: RowFile, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of one file, of whatever version, as this version has them: what an older one did not know is null."""
    (table,) = row_tables(file, columns)
    return table


def row_tables(
    file: RowFile, columns: Sequence[str] | None = None, at_once: int = 0, keep: Keep | None = None
) -> Iterator[pa.Table]:
    """The same in pieces, row groups of so many rows together, at least one; 0: one table, of all."""
    schema = wanted_schema(columns)
    with opened_file(file.path, file.bytes if file.listed else None) as (opened, _):
        _check_rows(file, opened.metadata)
        there = opened.schema_arrow.names
        names = [name for name in schema.names if name in there and name != "node"]
        for groups in _groups(file, opened.metadata, at_once, keep):
            yield _as_wanted(file, opened.read_row_groups(groups, columns=names), schema, opened, groups)


def _groups(file: RowFile, metadata: pq.FileMetaData, at_once: int, keep: Keep | None) -> Iterator[list[int]]:
    """Numbers of row groups that are read together."""
    begin, end = file.cut or (0, metadata.num_rows)
    gathered: list[int] = []
    rows = at = given = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if begin <= at < end and (keep is None or keep(group)):
            gathered.append(number)
            rows += group.num_rows
        at += group.num_rows
        if at_once and rows >= at_once:
            yield gathered
            gathered, rows, given = [], 0, given + 1
    if gathered or not given:
        yield gathered


def _as_wanted(
    file: RowFile, table: pa.Table, schema: pa.Schema, opened: pq.ParquetFile, groups: list[int]
) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = sum(opened.metadata.row_group(number).num_rows for number in groups)
    made = []
    for wanted in schema:
        if wanted.name == "node":
            names = pa.array([file.node], pa.string())
            indices = pa.repeat(pa.scalar(0, pa.int32()), rows)
            made.append(pa.DictionaryArray.from_arrays(indices, names))
        elif wanted.name in table.column_names:
            column = table.column(wanted.name).cast(wanted.type)
            if wanted.name == "epoch_ns" and file.shift_ns:
                column = pc.add(column, file.shift_ns)
            made.append(column)
        else:
            made.append(pa.nulls(rows, wanted.type))
    return pa.table(made, schema=schema)
