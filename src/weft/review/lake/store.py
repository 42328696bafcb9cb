"""The lake as Parquet files that are only ever added, so that it works in stores that cannot rename.

    LAKE/<table>/federation=<name>/date=<day>/<version>-<number>.parquet

What a review has found of some runs is written under one version: a file for each table and partition, those of the table `run`
last.  The rows of a run that count are those of the version that its greatest row in `run` names.  So a reader who first
reads `run`, and then lists the other tables, sees all of a review or nothing of it, and a writer that was killed has
changed nothing.  To replace is to add a greater version.

`compact` writes the rows of a partition that count once more, as one file for each table.  Files in which no row counts any more
are removed when they have been so for `GRACE`: whoever had begun to read them must come to an end, and who has written
files must come to write those of `run`.
"""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote, unquote

from weft.host.storage import Place
from weft.review.lake.schema import KEY, LAKE_VERSION, TABLES, table_schema
from weft.review.lake.versions import compacted, new_version, writer_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

GRACE = 3600.0  # seconds: longer than a query over a lake takes, and than a batch of runs takes to be written
MANY_FILES = 64  # of one partition of table `run`: then a review compacts it
VERSION_KEY = b"weft.lake"
RUN_KEY = tuple(column.name for column in KEY if column.name != "date")
LONGEST_NAME = 180

Tables = Mapping[str, "pa.Table"]
"""By name, rows with the columns of the schema; `version` is entered by the lake."""


class LakeFile(NamedTuple):
    place: Place
    federation: str
    date: str
    mtime_ns: int
    bytes: int

    @property
    def writer(self) -> str:
        return self.place.stem.rpartition("-")[0]

    @property
    def partition(self) -> tuple[str, str]:
        return self.federation, self.date


class Removed(NamedTuple):
    """What `compact` has done."""

    partitions: int
    removed: int
    waiting: int
    """Files in which nothing counts any more, and which somebody may still be reading."""


class OfTables(Protocol):
    """What a snapshot asks of a lake."""

    @property
    def place(self) -> Place: ...
    def dataset(
        self, name: str, writers: frozenset[str], partition: tuple[str, str] | None = None
    ) -> ds.Dataset: ...


class ParquetLake:
    """See above.  `clock` is the wall clock, in ns."""

    format = "parquet"

    def __init__(self, place: Place, clock: Callable[[], int] = time.time_ns) -> None:
        self.place = place
        self._clock = clock

    # Writing

    def write(self, tables: Tables) -> str:
        """Rows of runs, all of what was found of each; returns the version.  Raises OSError."""
        while True:
            version, began = new_version(self._clock()), self._clock()
            for name in TABLES:
                if name != "run" and name in tables:
                    self._write_table(name, tables[name], version, version)
            # Was this process stopped meanwhile, its files may have been taken for left over.
            if self._clock() - began < GRACE * 1e9 / 2:
                self._write_table("run", tables["run"], version, version)
                return version

    def _write_table(self, name: str, table: pa.Table, writer: str, version: str | None) -> None:
        for number, (federation, date, rows) in enumerate(by_partition(table)):
            made = rows if version is None else with_version(rows, version)
            place = self.folder(name, federation, date) / f"{writer}-{number}.parquet"
            place.write(as_parquet(made.select(table_schema(name).names).cast(table_schema(name))))

    def folder(self, name: str, federation: str, date: str) -> Place:
        return self.place / name / f"federation={_quoted(federation)}" / f"date={_quoted(date)}"

    # Reading

    def snapshot(self, until: str = "") -> Snapshot:
        """What counts now: of each run the row in `run` with the greatest version; `until`: of those up to it."""
        return Snapshot(self, latest(self._read_all("run"), until))

    def _read_all(self, name: str) -> pa.Table:
        for turn in range(3):
            try:
                return self.dataset_of(name, self.files(name)).to_table()
            except FileNotFoundError:  # removed since it was listed: what counts is in another
                if turn == 2:
                    raise
        raise AssertionError

    @property
    def bytes(self) -> int:
        """Of all files, about."""
        return sum(entry.bytes for entry in self.place.files())

    def files(self, name: str) -> list[LakeFile]:
        found = []
        for entry in (self.place / name).files():
            federation, date = entry.place.parent.parent.name, entry.place.parent.name
            if entry.place.suffix == ".parquet" and not entry.place.name.startswith("."):
                federation, date = (unquote(one.partition("=")[2]) for one in (federation, date))
                found.append(LakeFile(entry.place, federation, date, entry.mtime_ns, entry.bytes))
        return found

    def dataset(
        self, name: str, writers: frozenset[str], partition: tuple[str, str] | None = None
    ) -> ds.Dataset:
        """Of the files of these writers: some of their rows may not count (`counting`)."""
        return self.dataset_of(name, self.files_of(name, writers, partition))

    def files_of(
        self, name: str, writers: frozenset[str], partition: tuple[str, str] | None = None
    ) -> list[LakeFile]:
        files = [file for file in self.files(name) if file.writer in writers]
        return [file for file in files if partition in (None, file.partition)]

    def dataset_of(self, name: str, files: Iterable[LakeFile]) -> ds.Dataset:
        """Of all rows in these files, whether they count or not; readers may leave files out by `federation` and `date`."""
        import pyarrow.dataset as ds

        schema = table_schema(name)
        places = list(files)
        store, _ = self.place.for_arrow()
        told = [
            (ds.field("federation") == one.federation) & (ds.field("date") == one.date)
            if len(_quoted(one.federation)) < LONGEST_NAME
            else ds.scalar(True)
            for one in places
        ]
        form = ds.ParquetFileFormat()
        keys = [one.place.for_arrow()[1] for one in places]
        fragments = [form.make_fragment(key, store, given) for key, given in zip(keys, told, strict=True)]
        return ds.FileSystemDataset(fragments, schema, form, store)

    # Compacting

    def compact(self, grace: float = GRACE, only_many: bool = False) -> Removed:
        """`only_many`: those partitions of which there are many files."""
        counts = Counter(file.partition for file in self.files_of("run", self.snapshot().writers))
        chosen = sorted(one for one, count in counts.items() if count > (MANY_FILES if only_many else 1))
        for partition in chosen:
            self._rewrite(*partition)
        return Removed(len(chosen), *self._sweep(grace))

    def _rewrite(self, federation: str, date: str) -> None:
        version, snapshot = new_version(self._clock()), self.snapshot()
        for name in (*(one for one in TABLES if one != "run"), "run"):
            rows = snapshot.read(name, (federation, date))
            if len(rows):
                self._write_table(name, _compacted(rows, version), version, None)

    def _sweep(self, grace: float) -> tuple[int, int]:
        """Files that nobody needs: how many were removed, and how many are still within their grace."""
        before = self._clock() - grace * 1e9
        listed = {name: self.files(name) for name in TABLES}
        snapshot = self.snapshot()
        removed = waiting = 0
        for name, files in listed.items():
            for file in files:
                if file.writer not in snapshot.writers:
                    if self._useless_since(name, file, snapshot, listed["run"]) < before:
                        file.place.remove()
                        removed += 1
                    else:
                        waiting += 1
        return removed, waiting

    def _useless_since(self, name: str, file: LakeFile, snapshot: Snapshot, runs: list[LakeFile]) -> int:
        """When the latest of what replaces its rows was written; rows that never counted: when it was itself."""
        written = {one.writer: one.mtime_ns for one in runs}
        rows = self.dataset_of(name, [file]).to_table(columns=["federation", "run"]).to_pylist()
        named = {(row["federation"], row["run"]) for row in rows}
        later = [written.get(snapshot.writer_of_run.get(one, ""), 0) for one in named]
        return max([file.mtime_ns, *later])


class Snapshot:
    """The lake as it was at one moment.  Files that it names stay for `GRACE`."""

    def __init__(self, lake: OfTables, runs: pa.Table) -> None:
        self.lake = lake
        self.runs = runs
        """The rows of `run` that count."""
        versions = runs["version"].to_pylist()
        keys = zip(runs["federation"].to_pylist(), runs["run"].to_pylist(), strict=True)
        self.writer_of_run = dict(zip(keys, map(writer_of, versions), strict=True))
        self.writers = frozenset(self.writer_of_run.values())

    def dataset(self, name: str, partition: tuple[str, str] | None = None) -> ds.Dataset:
        """All that count are in it; some others may be (`counting`)."""
        return self.lake.dataset(name, self.writers, partition)

    def read(self, name: str, partition: tuple[str, str] | None = None) -> pa.Table:
        """The rows of a table that count."""
        return counting(self.dataset(name, partition).to_table(), self.keys)

    @property
    def keys(self) -> pa.Array:
        """Of the runs, with the versions that count."""
        return _keys(self.runs)

    @property
    def until(self) -> str:
        """With which `snapshot` gives the same once more, as long as nothing is older than `GRACE`."""
        return max(self.runs["version"].to_pylist(), default="")


def counting(table: pa.Table, keys: pa.Array) -> pa.Table:
    """The rows of these runs and versions."""
    import pyarrow.compute as pc

    return table.filter(pc.is_in(_keys(table), value_set=keys))


def _keys(table: pa.Table) -> pa.Array:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*(table[name].combine_chunks() for name in RUN_KEY), "\0")


def latest(runs: pa.Table, until: str = "") -> pa.Table:
    """Of rows of `run` those with the greatest version of each run; `until`: of those up to it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if until:
        runs = runs.filter(pc.less_equal(runs["version"], until))

    columns = (runs[name].to_pylist() for name in ("federation", "run", "version"))
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for place, (federation, run, version) in enumerate(zip(*columns, strict=True)):
        key = federation, run
        if key not in found or version > found[key][0]:
            found[key] = version, place
    return runs.take(pa.array([place for _, place in found.values()], pa.int64()))


def by_partition(table: pa.Table) -> Iterator[tuple[str, str, pa.Table]]:
    """Federation, date and rows."""
    import pyarrow.compute as pc

    pairs = set(zip(table["federation"].to_pylist(), table["date"].to_pylist(), strict=True))
    for federation, date in sorted(pairs):
        mine = pc.and_(pc.equal(table["federation"], federation), pc.equal(table["date"], date))
        yield federation, date, table.filter(mine)


def with_version(table: pa.Table, version: str) -> pa.Table:
    import pyarrow as pa

    place = table.schema.names.index("version")
    return table.set_column(place, "version", pa.repeat(version, len(table)).cast(pa.string()))


def _compacted(table: pa.Table, by: str) -> pa.Table:
    import pyarrow as pa

    place = table.schema.names.index("version")
    made = [compacted(version, by) for version in table["version"].to_pylist()]
    return table.set_column(place, "version", pa.array(made, pa.string()))


def as_parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    said = {VERSION_KEY: str(LAKE_VERSION).encode()}
    pq.write_table(table.replace_schema_metadata(said), sink, compression="zstd", compression_level=3)
    return sink.getvalue()


def _quoted(name: str) -> str:
    """As the name of a folder; a very long one is cut off, and told apart by what its rows say."""
    return quote(name, safe="")[:LONGEST_NAME]
