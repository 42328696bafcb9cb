"""The run of an event channel, in files: written from what its record has kept, and read again for a time line.

A run is a folder as the recorder lays it out; a file of rows is whole if its name does not begin with a dot:

    runs/<channel>/<start time>-<id>/
        run.json, nodes/<node>.json
        rows/node=<node>/<began>-<number>.parquet
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from weft.model.errors import SettingsError
from weft.recorder import COLUMNS, VERSION
from weft.recorder.timeline import KINDS, Row, rows_of

VERSION_KEY: Final = b"weft.schema"
ROWS_IN_FILE: Final = 500_000
WRITTEN: Final = (
    "kind",
    "mono_ns",
    "name",
    "operation",
    "priority",
    "sub_priority",
    "deadline_ns",
    "queue",
    "detail",
)


class RunRows(NamedTuple):
    """What a time line needs of a run; `total` counts all rows, and `troubles` are files that could not be read."""

    rows: list[Row]
    total: int
    troubles: list[str]


def write_run(
    directory: str | Path, channel: str, happened: Iterable[Any], node: str = "", wall_clock: bool = True
) -> Path:
    """A new run below the directory, of all that a channel's record has kept; returns its folder.

    `happened`: what a `DispatchRecord` yields, or rows.  `wall_clock=False`: their times are not those of this machine's clock
    (a simulation), and say nothing about the time of day."""
    began = time.time_ns()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(began // 10**9))
    run = Path(directory) / quote(channel, safe=" ") / f"{stamp}-{secrets.token_hex(5)}"
    node = node or channel
    shift = began - time.monotonic_ns() if wall_clock else None
    rows = sorted(happened, key=lambda one: one.mono_ns)
    try:
        folder = run / "rows" / f"node={quote(node, safe='')}"
        folder.mkdir(parents=True)
        for number, first in enumerate(range(0, max(1, len(rows)), ROWS_IN_FILE), 1):
            part = rows[first : first + ROWS_IN_FILE]
            _write_file(
                folder / f"{began}-{number:06d}.parquet", _columns(part, first, shift), run.name, node
            )
        _describe(run, channel, node, began, len(rows))
    except OSError as error:
        raise SettingsError(f"{run}: cannot be written: {error.strerror or error}") from None
    return run


def read_run(path: str | Path, progress: Callable[[int, int], None] | None = None) -> RunRows:
    """Only the rows of kinds that a time line shows.  `progress` hears how many files of how many were read."""
    run = Path(path)
    files = _row_files(run)
    found = RunRows([], 0, [])
    for number, file in enumerate(files, 1):
        try:
            table = _read_file(file)
        except OSError as error:
            found.troubles.append(f"{file} cannot be read, and is ignored: {error}")
            continue
        found = found._replace(total=found.total + table[0])
        found.rows.extend(table[1])
        if progress is not None:
            progress(number, len(files))
    return found


def _row_files(run: Path) -> list[Path]:
    if not run.is_dir():
        raise SettingsError(
            f"{run}: there is no such run; a run is a folder like runs/NAME/20260102T030405Z-ID"
        )
    files = sorted(file for file in run.glob("rows/*/*.parquet") if not file.name.startswith("."))
    if files:
        return files
    inside = sorted(one.parent.name for one in run.glob("*/rows"))
    if inside:
        raise SettingsError(f"{run} holds {len(inside)} runs; name one of them, like {run / inside[-1]}")
    raise SettingsError(f"{run} is no recorded run, or nothing was written yet: it has no files of rows")


# Files


def _describe(run: Path, channel: str, node: str, began: int, rows: int) -> None:
    """What the recorder of a node says of its runs, as far as it applies."""
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began // 10**9))
    about = {
        "federation": channel, "id": run.name.partition("-")[2], "start": start, "start_ns": began, "node": node,
        "modules": [], "rid": None, "settings": {}, "schema": VERSION,
    }  # fmt: skip
    this = {
        "node": node,
        "began_ns": began,
        "ended_ns": time.time_ns(),
        "rows": rows,
        "dropped": 0,
        "others": [],
    }
    (run / "nodes").mkdir()
    for path, data in ((run / "nodes" / f"{quote(node, safe='')}.json", this), (run / "run.json", about)):
        _write_whole(path, json.dumps(data, indent=2).encode() + b"\n")


def _columns(rows: list[Any], first: int, shift: int | None) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in WRITTEN}
    for name in ("name", "operation", "detail"):
        columns[name] = [value or None for value in columns[name]]
    columns["deadline_ns"] = [value or None for value in columns["deadline_ns"]]
    columns["seq"] = list(range(first + 1, first + len(rows) + 1))
    if shift is not None:
        columns["epoch_ns"] = [row.mono_ns + shift for row in rows]
    return columns


def _write_file(path: Path, columns: dict[str, list[Any]], run: str, node: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    length = len(columns["kind"])
    fields = [pa.field(one.name, _arrow(one.type)) for one in COLUMNS if one.name != "node"]
    metadata = {VERSION_KEY: str(VERSION).encode(), b"weft.node": node.encode(), b"weft.run": run.encode()}
    arrays = [pa.array(columns.get(field.name, [None] * length), field.type) for field in fields]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata))
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    _write_whole(path, sink.getvalue())


def _arrow(name: str) -> Any:
    import pyarrow as pa

    if name.startswith("["):
        return pa.list_(pa.string() if name == "[word]" else _arrow(name[1:-1]))
    plain = {"text": pa.string(), "word": pa.dictionary(pa.int32(), pa.string()), "bytes": pa.binary()}
    return plain[name] if name in plain else getattr(pa, name)()


def _write_whole(path: Path, data: Any) -> None:
    """Under another name first, so that nobody reads half of it."""
    draft = path.with_name(f".{path.name}.tmp")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _read_file(file: Path) -> tuple[int, Iterator[Row]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    try:
        opened = parquet.ParquetFile(file)
        version = int((opened.schema_arrow.metadata or {}).get(VERSION_KEY, b"0"))
        if version > VERSION:
            raise SettingsError(
                f"{file} was written with version {version} of the row schema; this Weft reads versions up to {VERSION}. "
                "Use the Weft that recorded the run, or a newer one"
            )
        if not version:
            raise OSError("it names no version of the row schema, so something else wrote it")
        wanted = [name for name in opened.schema_arrow.names if name in Row._fields]
        table = opened.read(wanted)
        chosen = pc.is_in(table["kind"].cast(pa.string()), value_set=pa.array(KINDS))
        table = table.filter(chosen)
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise OSError(" ".join(str(error).split())) from None
    columns = {name: _values(table[name]) for name in wanted}
    columns["node"] = [unquote(file.parent.name.partition("=")[2])] * len(table)
    rows = rows_of(columns)
    return opened.metadata.num_rows, (row for row in rows if row.kind != "drop" or row.priority is not None)


def _values(column: Any) -> list[Any]:
    """Words are looked up once each, and not for every row."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        values: list[Any] = column.to_pylist()
        return values
    found: list[Any] = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        found += [None if code is None else words[code] for code in chunk.indices.to_pylist()]
    return found
