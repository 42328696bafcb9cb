"""The files of a run as a table's tasks see them: listed without being opened, and read one by one.

A run of an hour has thousands of files, so nothing here looks into a file before its rows are wanted.  Files of a node are in
the order of their names, and what is there is whole (`weft.host.recording.files`); a place in the growing run is
therefore the name of the last file of each node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from weft.host.recording.files import VERSION_KEY
from weft.host.recording.runs import RowFile, file_place, newer_schema, read_rows
from weft.recorder import COLUMNS, VERSION

MAGIC = b"PAR1"  # the end of every whole Parquet file
COPYING = 10.0  # seconds for which a file that is not whole may still be on its way here
PARTITION_BYTES = 8 << 20  # of files that one task reads
NAMES = tuple(column.name for column in COLUMNS)

Offset = dict[str, str]
"""By folder of a node the name of the last file."""


class Listed(NamedTuple):
    """A file that was seen in a folder, not opened."""

    path: str
    node: str
    bytes: int
    mtime: float


def list_files(run: Path, nodes: Sequence[str] = (), after: Offset | None = None) -> Iterator[Listed]:
    """All row files, node by node, in order; `after`: only those behind."""
    for folder in sorted((run / "rows").glob("node=*")):
        node = unquote(folder.name.removeprefix("node="))
        if nodes and node not in nodes:
            continue
        last = (after or {}).get(folder.name)
        begin = file_place(folder / last) if last else None
        found = [path for path in folder.glob("*.parquet") if not path.name.startswith(".")]
        for path in sorted(found, key=file_place):
            if begin is None or file_place(path) > begin:
                told = path.stat()
                yield Listed(str(path), node, told.st_size, told.st_mtime)


def is_whole(path: str) -> bool:
    """As far as its end tells: a copy that is under way has none."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - len(MAGIC)))
        return file.read() == MAGIC


def next_offset(
    run: Path, start: Offset, nodes: Sequence[str] = (), most_files: int = 0, most_bytes: int = 0
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
        place = Path(file.path)
        before = offset.get(place.parent.name)
        if before is None or file_place(place) > file_place(place.with_name(before)):
            offset[place.parent.name] = place.name
    return dict(sorted(offset.items()))


def between(run: Path, start: Offset, end: Offset, nodes: Sequence[str] = ()) -> list[Listed]:
    """The files behind one place and up to another."""
    found = []
    for file in list_files(run, nodes, start):
        place = Path(file.path)
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


def read_file(file: Listed, columns: Sequence[str], report: Callable[[str], None]) -> pa.Table | None:
    """The rows of one file; None, and a report, if it is torn or of something else.  A newer version is refused."""
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(file.path)
        text = (metadata.metadata or {}).get(VERSION_KEY, b"").decode("ascii", "replace")
        if not text.isdigit():
            report(f"{file.path} was written by something else (it names no schema version), and is ignored")
            return None
        if int(text) > VERSION:
            raise newer_schema(Path(file.path), text)
        return read_rows(RowFile(Path(file.path), file.node, metadata.num_rows, int(text)), columns)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        report(f"{file.path} is torn or no Parquet file, and ignored: {error}")
        return None


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
        made[folder] = min(one[folder], other[folder], key=lambda name: file_place(Path(folder) / name))
    return made
