"""Pieces of a run by the clock, across the files of all nodes: what lies between two moments, for tasks that work side by side.

Rows of all nodes in the order of the clock (`tasks.merged`) are the same whether they are read in one go or piece behind piece.
A piece reads only files that reach into it; pieces are cut where files begin, so that few are read twice.  Where a node's clock
was set back, its rows count as of the latest time before: so a piece must know how far its nodes had come before each file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.host.recording.runs import RowFile
from weft.review.kernels import arrow
from weft.review.spark.tasks import ROWS_PER_PART, Pick, RunPart, merged, read_part, rising

ROWS_PER_PIECE = 1 << 17  # at least: a task costs more than to read so many
PIECES = 8  # as far as there are rows enough: so that all cores have some
FIRST, LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class TimedFile(NamedTuple):
    """A file, and the least and the greatest wall clock in it."""

    file: RowFile
    first: int
    last: int


def timed_files(files: Sequence[RowFile], clocks: Sequence[tuple[int, int] | None]) -> Iterator[TimedFile]:
    """Those that have a clock; `clocks`: as the survey tells them."""
    for file, clock in zip(files, clocks, strict=True):
        if clock is not None:
            yield TimedFile(file, *clock)


class NodeRows(NamedTuple):
    """Files of one node that reach into a piece."""

    part: RunPart
    since: tuple[int, ...]
    """Of each file how far the clock had come before it."""
    shift: int
    """What is added to its clock."""
    steady: bool
    """Was the clock never set back from one file to another?"""


class LogPiece(NamedTuple):
    """What all nodes wrote from one moment to another, which is not included."""

    begin: int
    end: int
    nodes: tuple[NodeRows, ...]


def how_many(rows: int, rows_per_part: int = 0) -> int:
    """Pieces for so many rows; of a small run one."""
    size = rows_per_part or min(ROWS_PER_PART, max(ROWS_PER_PIECE, rows // PIECES))
    return max(1, rows // size)


def cut(
    streams: Sequence[Sequence[TimedFile]],
    pieces: int,
    shifts: Mapping[str, int] | None = None,
    reach: int = 0,
) -> list[LogPiece]:
    """`streams`: of each node its files, in order; `reach`: for so long behind its end files are wanted, too."""
    timed = [_rising(stream, (shifts or {}).get(stream[0].file.node, 0)) for stream in streams if stream]
    moments = [FIRST, *_moments([one for stream in timed for one in stream], pieces, len(timed)), LAST]
    made = []
    for begin, end in itertools.pairwise(moments):
        nodes = [_reaching(stream, begin, end if end == LAST else end + reach) for stream in timed]
        made.append(LogPiece(begin, end, tuple(one for one in nodes if one is not None)))
    return made


class _RisingFile(NamedTuple):
    file: RowFile
    first: int
    last: int
    since: int
    shift: int


def _rising(stream: Sequence[TimedFile], shift: int) -> list[_RisingFile]:
    made: list[_RisingFile] = []
    since = FIRST
    for file, first, last in stream:
        if file.rows:
            made.append(_RisingFile(file, max(since, first + shift), max(since, last + shift), since, shift))
            since = made[-1].last
    return made


def _moments(files: list[_RisingFile], pieces: int, streams: int) -> list[int]:
    """Where files begin, so that pieces have about as many rows; each has at least a file of each node, on the average."""
    pieces = min(pieces, len(files) // max(1, streams))
    files.sort(key=lambda one: one.first)
    before = np.cumsum([0, *(one.file.rows for one in files)])
    wanted = np.arange(1, pieces) * (before[-1] / max(1, pieces))
    places = np.searchsorted(before[:-1], wanted)
    return sorted({files[place].first for place in places.tolist() if place < len(files)})


def _reaching(stream: list[_RisingFile], begin: int, end: int) -> NodeRows | None:
    inside = [one for one in stream if one.first < end and one.last >= begin]
    if not inside:
        return None
    part = RunPart(inside[0].file.node, tuple(one.file for one in inside))
    steady = all(one.first > one.since for one in stream)
    return NodeRows(part, tuple(one.since for one in inside), inside[0].shift, steady)


def read_piece(piece: LogPiece, columns: Sequence[str], pick: Pick) -> Iterator[pa.Table]:
    """As `tasks.in_order`, of a piece."""
    return merged([within(read_node(node, columns, pick), piece.begin, piece.end) for node in piece.nodes])


def read_node(node: NodeRows, columns: Sequence[str], pick: Pick, later: int = 0) -> Iterator[pa.Table]:
    """What is picked, with an `at` that never falls; the pick has made it `later` than the clock.

    Where the clock was set back, file by file: so a row has the same `at` in whichever piece it is read.
    """
    parts = [node.part] if node.steady else [RunPart(node.part.node, (file,)) for file in node.part.files]
    for part, since in zip(parts, node.since, strict=False):
        floor = since if since == FIRST else since + later
        yield from rising(_shifted(read_part(part, columns, pick), node.shift), floor)


def _shifted(tables: Iterator[pa.Table], shift: int) -> Iterator[pa.Table]:
    for table in tables:
        if shift:
            at = pa.array(arrow.numbers(table, "at") + shift)
            table = table.set_column(table.column_names.index("at"), "at", at)
        yield table


def within(tables: Iterator[pa.Table], begin: int, end: int) -> Iterator[pa.Table]:
    """Rows whose `at`, which rises, is from the one to before the other."""
    for table in tables:
        first, last = np.searchsorted(arrow.numbers(table, "at"), (begin, end)).tolist()
        if first < last:
            yield table.slice(first, last - first)
        if last < len(table):
            return
