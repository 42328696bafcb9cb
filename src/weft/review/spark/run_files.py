"""The files of a run as a table's tasks see them: planned without being opened, and read one by one.

A run of an hour has thousands of files, so nothing here looks into a file before its rows are wanted.  What manifests list is
planned by rows and time, large files cut by row groups; of older runs the folders are listed.  Files of a node are in the
order of their names, and what is there is whole (`weft.host.recording.files`); a place in the growing run is
therefore the name of the last file of each node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from weft.host.recording.listing import add_files, node_of, plan
from weft.host.recording.row_files import RowFile, cut_up, described, file_place, row_tables
from weft.host.storage import Place
from weft.recorder import COLUMNS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAGIC = b"PAR1"  # the end of every whole Parquet file
COPYING = 10.0  # seconds for which a file that is not whole may still be on its way here
PARTITION_BYTES = 8 << 20  # of files that one task reads
ROWS_AT_ONCE = 1 << 17
NAMES = tuple(column.name for column in COLUMNS)

Offset = dict[str, str]
"""By folder of a node the name of the last file."""
Told = tuple[str, str, tuple[int | str, ...]]
"""A filter that files are read with: column, operator, and what it is compared with."""


class Listed(NamedTuple):
    """A file that was seen in a folder or a manifest, not opened."""

    path: Place
    node: str
    bytes: int
    mtime: float = 0.0
    told: RowFile | None = None
    """What its manifest says of it, or of the part that is meant."""


def planned(run: Place, nodes: Sequence[str] = (), filters: Sequence[Told] = ()) -> list[Listed]:
    """All files of a run, and pieces of large ones, that may have rows which filters let through."""
    found, entries = plan(run)
    lives = {(one.node, str(one.began_ns)) for one in found.manifests}
    mine = [one for one in entries if (node_of(one.place), one.place.name.partition("-")[0]) in lives]
    add_files(found, mine, {})  # of a process that crashed: what is in no other file is read
    told = [
        Listed(piece.path, piece.node, file.bytes * piece.count // max(1, file.rows), 0.0, piece)
        for file in found.files
        if _may_have(file, filters)
        for piece in cut_up(file, max(1, file.rows * PARTITION_BYTES // max(1, file.bytes)))
    ]
    told += [Listed(one.place, node_of(one.place), one.bytes) for one in entries if one not in mine]
    chosen = [file for file in told if not nodes or file.node in nodes]
    return sorted(chosen, key=lambda file: file.node)  # stable: those of a node stay in order


def _may_have(file: RowFile, filters: Sequence[Told]) -> bool:
    spans = {"seq": (file.first, file.last), "epoch_ns": (file.from_ns, file.to_ns)}
    return all(
        may_match(operator, values, *spans[name])
        for name, operator, values in filters
        if name in spans and spans[name][1]
    )


def list_files(run: Place, nodes: Sequence[str] = (), after: Offset | None = None) -> Iterator[Listed]:
    """All row files, node by node, in order; `after`: only those behind."""
    for folder in (entry.place for entry in (run / "rows").entries()):
        node = unquote(folder.name.removeprefix("node="))
        if not folder.name.startswith("node=") or (nodes and node not in nodes):
            continue
        last = (after or {}).get(folder.name)
        begin = file_place(folder / last) if last else None
        found = [one for one in folder.entries() if _is_rows(one.place)]
        for entry in sorted(found, key=lambda entry: file_place(entry.place)):
            if begin is None or file_place(entry.place) > begin:
                yield Listed(entry.place, node, entry.bytes, entry.mtime_ns / 1e9)


def _is_rows(place: Place) -> bool:
    return place.suffix == ".parquet" and not place.name.startswith(".")


def is_whole(path: Place) -> bool:
    """As far as its end tells: a copy that is under way has none."""
    with path.open_file() as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - len(MAGIC)))
        return bool(file.read() == MAGIC)


def next_offset(
    run: Place, start: Offset, nodes: Sequence[str] = (), most_files: int = 0, most_bytes: int = 0
) -> Offset:
    """How far one may read now; 0: no limit.  Nodes are read in step, in the order in which their files came.

    A file that is not whole holds its node up while it may be on its way here; then it is passed over.
    """
    ready: list[Listed] = []
    held: set[str] = set()
    for file in list_files(run, nodes, start):
        if file.node in held:
            continue
        if time.time() - file.mtime < COPYING and not is_whole(file.path):
            held.add(file.node)
        else:
            ready.append(file)
    ready.sort(key=lambda file: file.mtime)  # stable: those of a node stay in order
    offset, count, size = dict(start), 0, 0
    for file in ready:
        count, size = count + 1, size + file.bytes
        if count > 1 and ((most_files and count > most_files) or (most_bytes and size > most_bytes)):
            break
        place = file.path
        before = offset.get(place.parent.name)
        if before is None or file_place(place) > file_place(place.with_name(before)):
            offset[place.parent.name] = place.name
    return dict(sorted(offset.items()))


def between(run: Place, start: Offset, end: Offset, nodes: Sequence[str] = ()) -> list[Listed]:
    """The files behind one place and up to another."""
    found = []
    for file in list_files(run, nodes, start):
        place = file.path
        last = end.get(place.parent.name)
        if last is not None and file_place(place) <= file_place(place.with_name(last)):
            found.append(file)
    return found


def grouped(files: Iterable[Listed], most: int = PARTITION_BYTES) -> list[list[Listed]]:
    """Files that one task reads: of one node, one behind the other, until they are large enough."""
    groups: list[list[Listed]] = []
    size = 0
    for file in files:
        if groups and groups[-1][0].node == file.node and size + file.bytes <= most:
            groups[-1].append(file)
            size += file.bytes
        else:
            groups.append([file])
            size = file.bytes
    return groups


def read_file(
    file: Listed, columns: Sequence[str], filters: Sequence[Told], report: Callable[[str], None]
) -> Iterator[pa.Table]:
    """Rows of one file; nothing, and a report, if it is torn or of something else.  A newer version is refused.

    Row groups that have no row for the filters are passed over, as far as the file tells what is in them.
    """

    def keep(group: pq.RowGroupMetaData) -> bool:
        return _group_may_have(group, filters)

    try:
        told = described(file.path, file.node) if file.told is None else file.told
        if isinstance(told, str):
            if not file.path.is_file():
                raise FileNotFoundError(2, "there is no such file any more", str(file.path))
            report(told)
            return
        yield from row_tables(told, columns, ROWS_AT_ONCE, keep)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        report(f"{file.path} is torn or no Parquet file, and ignored: {error}")


def _group_may_have(group: pq.RowGroupMetaData, filters: Sequence[Told]) -> bool:
    chunks = [group.column(number) for number in range(group.num_columns)]
    by_name = {chunk.path_in_schema: chunk for chunk in chunks}
    for name, operator, values in filters:
        chunk = by_name.get(name)
        told = chunk.statistics if chunk is not None and chunk.is_stats_set else None
        if told is None or not told.has_min_max or any(type(value) is not type(told.min) for value in values):
            continue
        if not may_match(operator, values, told.min, told.max):
            return False
    return True


def may_match(operator: str, values: Sequence[int | str], least: int | str, most: int | str) -> bool:
    """May a value from the least to the most pass?"""
    passes: dict[str, Callable[[Any], bool]] = {
        "==": lambda value: least <= value <= most,
        ">": lambda value: most > value,
        ">=": lambda value: most >= value,
        "<": lambda value: least < value,
        "<=": lambda value: least <= value,
    }
    return any(passes["==" if operator == "in" else operator](value) for value in values)


def mask(table: pa.Table, name: str, operator: str, values: Sequence[int | str]) -> pa.Array:
    """Which rows a filter lets through; null is not.  All operators but `in` have one value."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if operator == "in":
        return pc.is_in(column, value_set=pa.array(list(values), column.type))
    compare = {"==": pc.equal, ">": pc.greater, ">=": pc.greater_equal, "<": pc.less, "<=": pc.less_equal}
    return pc.fill_null(compare[operator](column, values[0]), False)


def earlier(one: Offset, other: Offset) -> Offset:
    """Of each node the file that comes first; a node that only one of them knows is left out."""
    made = {}
    for folder in sorted(set(one) & set(other)):
        made[folder] = min(one[folder], other[folder], key=lambda name: file_place(Place(folder) / name))
    return made
