"""Many small files of a run as few large ones (docs/how-to/recording.md).

A process of a node writes a file a second; who reads a run of hours opens thousands of them.  Here those whose rows follow one
another become one.  Whoever reads meanwhile, and after a crash at any point, finds each row once:

1. New files are written.  No manifest lists them, and all their rows are in files that one lists: a repeat, which is not read.
2. The manifest is replaced.  Now the old files are the repeats.
3. Old files are removed, in the order of their rows.  Who goes by the numbers of rows alone reads the first of two files that
   begin with the same row as the shorter one; so it reads the old ones until the first is gone, and the new one from then on.

Where files are missing or schemas differ a file ends: what is missing is not hidden in the middle of one.  New files have the
next numbers of their process, and so has everything behind the first of them: names, too, tell the order.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from urllib.parse import unquote

from weft.host.processes import is_alive
from weft.host.recording.files import RUN_FILE, VERSION_KEY, NodeInfo, RecordingError, written_as
from weft.host.recording.manifest import (
    FOLDER,
    ListedFile,
    Manifest,
    ManifestEnd,
    checksum,
    manifest_bytes,
    manifest_name,
    read_manifest,
)
from weft.host.storage import Place

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_IN_FILE = 1 << 20
ROWS_IN_GROUP = 1 << 17
_NAME = re.compile(r"(\d+)-(\d{6,})\.parquet")
_DRAFTS = ".compacting"
"""The folder of a run in which new files are written: what a killed one has left there is known for what it is, and removed."""
_CALM = 3600.0  # seconds in which nobody has written: then nobody does any more


class Compacted(NamedTuple):
    before: int
    after: int
    rows: int


def runs_below(top: Place) -> list[Place]:
    """The runs in or below a folder."""
    if (top / RUN_FILE).is_file():
        return [top]
    found = []
    for one in [entry.place for entry in top.entries() if entry.is_folder]:
        if (one / RUN_FILE).is_file():
            found.append(one)
        else:
            found += [
                two.place for two in one.entries() if two.is_folder and (two.place / RUN_FILE).is_file()
            ]
    return found


def compact(run: Place, now: float | None = None) -> Compacted:
    """A run that is over; raises RecordingError where it cannot be done, and nothing is lost then."""
    nodes = dict(_nodes(run))
    manifests = dict(_manifests(run))
    _check_over(run, nodes, time.time() if now is None else now)
    (run / _DRAFTS).remove()
    before = after = rows = 0
    for folder in (entry.place for entry in (run / "rows").entries() if entry.is_folder):
        node = unquote(folder.name.removeprefix("node="))
        for began_ns, names in _processes(folder).items():
            known = manifests.get((node, began_ns))
            found = _Process(
                run, folder, names, known or _unwritten(run, node, began_ns, nodes.get(node, {}))
            )
            count = found.compact(known is not None)
            before, after, rows = before + len(names), after + count, rows + found.rows
    (run / _DRAFTS).remove()
    return Compacted(before, after, rows)


def _nodes(run: Place) -> Iterator[tuple[str, NodeInfo]]:
    for entry in (run / "nodes").entries():
        if entry.place.suffix == ".json" and not entry.place.name.startswith("."):
            yield unquote(entry.place.stem), _described(entry.place)


def _described(place: Place) -> NodeInfo:
    try:
        found = json.loads(place.read())
    except ValueError as error:
        raise RecordingError(f"{place} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise RecordingError(f"{place} cannot be read: it is no JSON object")
    return cast("NodeInfo", found)


def _manifests(run: Place) -> Iterator[tuple[tuple[str, int], Manifest]]:
    for entry in (run / FOLDER).entries():
        if entry.place.suffix == ".jsonl" and not entry.place.name.startswith("."):
            try:
                found = read_manifest(entry.place.read())
            except ValueError:
                continue  # a crash left half of its first line: files are found by their names
            yield (found.node, found.began_ns), found


def _unwritten(run: Place, node: str, began_ns: int, told: NodeInfo) -> Manifest:
    """Of a process that wrote none: an older Weft, or a crash in its first line."""
    made = Manifest(run.name, node, began_ns, 0)
    ended = told.get("ended_ns")
    if told.get("began_ns") == began_ns and ended is not None:
        made.end = ManifestEnd(ended, 0, int(told.get("rows") or 0), int(told.get("dropped") or 0))
    return made


def _check_over(run: Place, nodes: dict[str, NodeInfo], now: float) -> None:
    """All nodes have ended, died, or, where that cannot be seen from here, been silent for long."""
    open_nodes = {name: told for name, told in nodes.items() if told.get("ended_ns") is None}
    alive = {name: is_alive(told.get("process") or {}) for name, told in open_nodes.items()}
    if all(one is False for one in alive.values()):
        return
    latest = max((entry.mtime_ns for entry in run.files()), default=0) / 1e9
    if any(alive.values()) or now - latest < _CALM:
        names = ", ".join(sorted(name for name, one in alive.items() if one is not False))
        raise RecordingError(
            f"{run} is still being written by {names}, as far as can be seen, and is left alone"
        )


def _processes(folder: Place) -> dict[int, list[str]]:
    """By when a process began, the names of its files; files with other names are not touched."""
    found: dict[int, list[str]] = {}
    for entry in folder.entries():
        if matched := _NAME.fullmatch(entry.place.name):
            found.setdefault(int(matched[1]), []).append(entry.place.name)
    return found


def _number(name: str) -> int:
    return int(name.removesuffix(".parquet").rpartition("-")[2])


class _Process:
    """What one process of a node has written."""

    def __init__(self, run: Place, folder: Place, names: Sequence[str], manifest: Manifest) -> None:
        self._run = run
        self._folder = folder
        self._names = names
        self._manifest = manifest
        self._below = folder.below(run)
        self._repeats: list[str] = []
        self._listed = self._in_order()
        self.rows = sum(one.rows for one in self._listed)

    def _in_order(self) -> list[ListedFile]:
        """Listed or not, by their rows, each row once."""
        there = {f"{self._below}/{name}" for name in self._names}
        lines = {one.file: one for one in self._manifest.files}
        for file in sorted(there - set(lines)):
            found = self._described(file)
            same = [one for one in lines.values() if one.first <= found.last and one.last >= found.first]
            missing = [one for one in same if one.file not in there]
            if len(same) == len(missing) <= 1:
                for one in missing:  # it was renamed
                    del lines[one.file]
                lines[file] = found
            elif missing or not self._is_repeat(found, same):
                raise RecordingError(
                    f"{self._run / file} has some rows of other files: it is not known which to keep"
                )
            else:
                self._repeats.append(file)
        listed = sorted(lines.values(), key=lambda one: one.first)
        for one, two in pairwise(listed):
            if two.first <= one.last:
                raise RecordingError(
                    f"{self._run / two.file} has rows of {one.file}: it is not known which to keep"
                )
        return listed

    def _is_repeat(self, found: ListedFile, same: Sequence[ListedFile]) -> bool:
        """Are all its rows in those files, as they are in it?"""
        import pyarrow as pa
        import pyarrow.compute as pc

        here, _ = _rows_of(self._run / found.file, (self._run / found.file).read())
        in_order = sorted(same, key=lambda one: one.first)
        tables = (_rows_of(self._run / one.file, (self._run / one.file).read())[0] for one in in_order)
        kept = [table.filter(pc.is_in(table.column("seq"), here.column("seq"))) for table in tables]
        return bool(_plain(here).equals(_plain(pa.concat_tables(kept))))

    def _described(self, file: str) -> ListedFile:
        """One that no manifest knows."""
        place = self._run / file
        data = place.read()
        table, schema = _rows_of(place, data)
        if not len(table):
            raise RecordingError(f"{place} has no rows, and no recorder writes such files")
        seq, clock = table.column("seq").to_numpy(), table.column("epoch_ns").to_numpy()
        ends = int(seq[0]), int(seq[-1]), int(clock.min()), int(clock.max())
        dropped = self._manifest.files[-1].dropped if self._manifest.files else 0
        return ListedFile(file, len(table), *ends, len(data), checksum([data]), schema, dropped)

    def compact(self, has_manifest: bool) -> int:
        """Returns how many files there are then."""
        there = {f"{self._below}/{name}" for name in self._names}
        stretches = list(_stretches(self._listed, there))
        large = next((place for place, one in enumerate(stretches) if len(one) > 1), None)
        if large is not None:
            self._replace(stretches[:large], stretches[large:], there)
        elif self._repeats:
            if not has_manifest:
                self._write_manifest(self._listed)
            self._remove(self._repeats)
        return len(stretches)

    def _replace(self, kept: list[list[ListedFile]], merged: list[list[ListedFile]], there: set[str]) -> None:
        used = [*self._names, *(one.file for one in self._listed)]
        number = max(map(_number, used))
        lines = [one for stretch in kept for one in stretch]
        old: list[str] = []
        for stretch in merged:
            if stretch[0].file not in there:
                lines += stretch  # it is missing, and stays so
                continue
            number += 1
            lines.append(self._merge(stretch, number))
            old += [one.file for one in stretch]
        self._write_manifest(lines)
        self._remove([*old, *self._repeats])

    def _merge(self, stretch: Sequence[ListedFile], number: int) -> ListedFile:
        name = f"{self._manifest.began_ns}-{number:06d}.parquet"
        with tempfile.TemporaryFile() as file:
            _write(file, (self._read(one) for one in stretch))
            size = file.tell()
            file.seek(0)
            digest = checksum(iter(lambda: file.read(1 << 20), b""))
            file.seek(0)
            self._put(name, file)
        first, last = stretch[0], stretch[-1]
        times = min(one.from_ns for one in stretch), max(one.to_ns for one in stretch)
        rows = sum(one.rows for one in stretch)
        about = (last.schema, last.dropped)
        return ListedFile(f"{self._below}/{name}", rows, first.first, last.last, *times, size, digest, *about)

    def _put(self, name: str, file: IO[bytes]) -> None:
        """A store shows a file when it is whole; here it is whole before it comes to where the others are."""
        place = self._folder / name
        if place.local is None:
            place.write_from(file)
            return
        draft = self._run / _DRAFTS / name
        draft.write_from(file)
        assert draft.local is not None
        draft.local.replace(place.local)

    def _read(self, one: ListedFile) -> pa.Table:
        """Nothing that is wrong is carried on into another file."""
        place = self._run / one.file
        data = place.read()
        if checksum([data]) != one.sha256:
            raise RecordingError(
                f"{place} is not what its writer says of it in the manifest: it was changed; left alone"
            )
        table, _ = _rows_of(place, data)
        if len(table) != one.rows:
            raise RecordingError(
                f"{place} has {len(table)} rows and not {one.rows}, as the manifest says; left alone"
            )
        return table

    def _write_manifest(self, lines: list[ListedFile]) -> None:
        old = self._manifest
        end = old.end and old.end._replace(files=len(lines), rows=sum(one.rows for one in lines))
        schema = old.schema or max(one.schema for one in lines)
        made = replace(old, files=lines, end=end, schema=schema)
        (self._run / manifest_name(old.node, old.began_ns)).write(manifest_bytes(made))

    def _remove(self, files: Sequence[str]) -> None:
        for file in files:
            (self._run / file).remove()


def _plain(table: pa.Table) -> pa.Table:
    """Words as they are, whatever dictionary they had."""
    import pyarrow as pa

    types = [
        field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(types)).combine_chunks()


def _stretches(listed: Sequence[ListedFile], there: set[str]) -> Iterator[list[ListedFile]]:
    """Files that one may take the place of: their rows follow one another, and there is room for them."""
    found: list[ListedFile] = []
    for one in listed:
        if found:
            last = found[-1]
            follows = one.first == last.last + 1 and one.schema == last.schema
            both = one.file in there and last.file in there
            if not follows or not both or sum(each.rows for each in found) + one.rows > ROWS_IN_FILE:
                yield found
                found = []
        found.append(one)
    if found:
        yield found


def _rows_of(place: Place, data: bytes) -> tuple[pa.Table, int]:
    """All rows, and the version of their schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True).read()
    except (OSError, pa.ArrowException) as error:
        raise RecordingError(f"{place} is torn or no Parquet file: {error}; left alone") from error
    said = (table.schema.metadata or {}).get(VERSION_KEY, b"").decode("ascii", "replace")
    if not said.isdigit():
        raise RecordingError(
            f"{place} was written by something else (it names no schema version); left alone"
        )
    return table, int(said)


def _write(file: IO[bytes], tables: Iterator[pa.Table]) -> None:
    """In row groups of one size, whatever the sizes of the tables."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = next(tables)
    with pq.ParquetWriter(file, first.schema, **written_as(first.schema.names)) as writer:
        waiting, rows = [first], len(first)
        for table in tables:
            if rows >= ROWS_IN_GROUP:
                whole = pa.concat_tables(waiting).unify_dictionaries()
                full = rows - rows % ROWS_IN_GROUP
                writer.write_table(whole.slice(0, full), row_group_size=ROWS_IN_GROUP)
                waiting, rows = [whole.slice(full)], rows - full
            waiting.append(table)
            rows += len(table)
        writer.write_table(pa.concat_tables(waiting).unify_dictionaries(), row_group_size=ROWS_IN_GROUP)
