"""The run of an event channel, in files (`recording.files` says how they lie): written from what its record has kept, and read
again for a time line."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from weft.host.recording.files import NodeFiles, open_run_folder
from weft.host.recording.run import table_of
from weft.host.recording.runs import Given, find_runs, open_run
from weft.host.storage import place_of
from weft.model.errors import SettingsError
from weft.recorder import VERSION
from weft.recorder.timeline import KINDS, Row, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_IN_FILE: Final = 500_000
WRITTEN: Final = (
    "kind", "mono_ns", "name", "operation", "priority", "sub_priority", "deadline_ns", "queue", "detail"
)  # fmt: skip


class RunRows(NamedTuple):
    """What a time line needs of a run; `total` counts all rows, and `troubles` says what is missing or could not be read."""

    rows: list[Row]
    total: int
    troubles: list[str]


class Timed(Protocol):
    """What a record has kept: it has the columns of `WRITTEN`, too."""

    @property
    def mono_ns(self) -> int: ...


def write_run(
    directory: str | Path, channel: str, happened: Iterable[Timed], node: str = "", wall_clock: bool = True
) -> Path:
    """A new run below the directory, of all that a channel's record has kept; returns its folder.

    `happened`: what a `DispatchRecord` yields, or rows.  `wall_clock=False`: their times are not those of this machine's clock
    (a simulation), and say nothing about the time of day."""
    began, identity = time.time_ns(), secrets.token_hex(5)
    node = node or channel
    shift = began - time.monotonic_ns() if wall_clock else None
    rows = sorted(happened, key=lambda one: one.mono_ns)
    about = {
        "federation": channel, "id": identity, "start": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began // 10**9)),
        "start_ns": began, "node": node, "modules": [], "rid": None, "settings": {}, "schema": VERSION,
    }  # fmt: skip
    try:
        run = open_run_folder(Path(directory), channel, identity, began)
        files = NodeFiles(run, node, began, about)
        for first in range(0, max(1, len(rows)), ROWS_IN_FILE):
            files.write_rows(_table(files.schema, rows[first : first + ROWS_IN_FILE], first, shift))
        files.write_node(
            {
                "node": node,
                "began_ns": began,
                "ended_ns": time.time_ns(),
                "rows": len(rows),
                "dropped": 0,
                "others": [],
            }
        )
    except OSError as error:
        raise SettingsError(
            f"{directory}: a run cannot be written there: {error.strerror or error}"
        ) from None
    return run


def read_run(path: Given, progress: Callable[[int, int], None] | None = None) -> RunRows:
    """Only the rows of kinds that a time line shows.  `progress` hears how many files of how many were read."""
    inside = find_runs(path)
    if inside and inside != [place_of(path)]:
        raise SettingsError(f"{path} holds {len(inside)} runs; name one of them, like {inside[-1]}")
    run = open_run(path, checked=True)
    found = RunRows([], run.rows, list(run.troubles))
    for number, file in enumerate(run.files, 1):
        found.rows.extend(_shown(table_of(file, Row._fields)))
        if progress is not None:
            progress(number, len(run.files))
    return found


def _table(schema: pa.Schema, rows: list[Timed], first: int, shift: int | None) -> pa.Table:
    import pyarrow as pa

    columns: dict[str, list[object]] = {name: [getattr(row, name) for row in rows] for name in WRITTEN}
    for name in ("name", "operation", "detail", "deadline_ns"):
        columns[name] = [value or None for value in columns[name]]
    columns["seq"] = list(range(first + 1, first + len(rows) + 1))
    if shift is not None:
        columns["epoch_ns"] = [row.mono_ns + shift for row in rows]
    arrays = [pa.array(columns.get(field.name, [None] * len(rows)), field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _shown(table: pa.Table) -> list[Row]:
    """Rows of channels: what HLA messages were given up is none of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = table.filter(pc.is_in(table["kind"].cast(pa.string()), value_set=pa.array(KINDS)))
    rows = rows_of({name: _values(table[name]) for name in table.column_names})
    return [row for row in rows if row.kind != "drop" or row.priority is not None]


def _values(column: pa.ChunkedArray) -> list[str | int | None]:
    """Words are looked up once each, and not for every row."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        values: list[str | int | None] = column.to_pylist()
        return values
    found: list[str | int | None] = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        found += [None if code is None else words[code] for code in chunk.indices.to_pylist()]
    return found
