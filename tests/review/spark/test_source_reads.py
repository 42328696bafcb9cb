"""Issue 21, item 3: what the DataFrame source reads, counted: columns, files, row groups and bytes, beside brute force.

A file is opened if its manifest leaves a row in it that filters may let through, and of it the row groups are read that may have
one, as a look at all their rows says; of these the columns that are wanted or filtered by, and nothing else.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import datasource
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from review.simulation import Row, Simulation, number, write
from support.manifests import list_anew
from weft.host.recording import row_files
from weft.review.spark import run_files
from weft.review.spark.source import RowsReader, SourceOptions

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

ROWS_IN_GROUP = 8
Chunk = tuple[str, int, str]
"""A file, a row group of it, and a column."""
Test = tuple[str, str, Any]
"""A column, a comparison, and what it is compared with."""
COMPARED: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "EqualTo": ("==", operator.eq),
    "In": ("in", lambda value, those: value in those),
    "GreaterThan": (">", operator.gt),
    "GreaterThanOrEqual": (">=", operator.ge),
    "LessThan": ("<", operator.lt),
    "LessThanOrEqual": ("<=", operator.le),
}
NOTHING_KNOWN = ("order", "destinations")
"""Columns of which files do not say what is least and most."""


@dataclass
class Counted:
    """What was really asked of the disk."""

    opened: list[str] = field(default_factory=list)
    chunks: set[Chunk] = field(default_factory=set)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    found = Counted()
    opened_file = row_files.opened_file

    class Watched:
        def __init__(self, path: str, file: pq.ParquetFile) -> None:
            self.path, self.file = path, file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def read_row_groups(self, groups: list[int], columns: list[str]) -> Any:
            found.chunks |= {(self.path, group, column) for group in groups for column in columns}
            return self.file.read_row_groups(groups, columns=columns)

    @contextmanager
    def watched(path: Any, listed: int | None = None) -> Iterator[tuple[Any, int]]:
        found.opened.append(str(path))
        with opened_file(path, listed) as (file, size):
            yield Watched(str(path), file), size

    monkeypatch.setattr(row_files, "opened_file", watched)
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Several files of several row groups, as those that were put together, and a manifest of each node."""
    made = write(tmp_path / "run", number(Simulation(5, steps=120).rows), rows_per_file=40)
    statistics = [name for name in run_files.NAMES if name not in NOTHING_KNOWN]
    for file in (made / "rows").glob("*/*.parquet"):
        table = pq.read_table(file, partitioning=None)
        pq.write_table(table, file, row_group_size=ROWS_IN_GROUP, write_statistics=statistics)
    return list_anew(made)


def schema_of(names: Sequence[str]) -> StructType:
    types = {field.name: field.type for field in row_files.wanted_schema(names)}
    plain = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in types.items()}
    return from_arrow_schema(pa.schema([(name, plain[name]) for name in names]))


def read(run: Path, wanted: Sequence[str], tests: Sequence[Test] = (), **options: str) -> list[Row]:
    """As Spark has a table read: filters are handed over, files planned, and each partition read in a task."""
    asked = SourceOptions.of({"path": str(run), "columns": ",".join(wanted)} | options)
    reader = RowsReader(asked, schema_of(wanted))
    filters = [getattr(datasource, kind)((name,), value) for name, kind, value in tests]
    assert list(reader.pushFilters(filters)) == filters  # Spark applies them once more
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return [row for batch in batches for row in batch.to_pylist()]


def passes(row: Row, tests: Sequence[Test]) -> bool:
    return all(row[name] is not None and COMPARED[kind][1](row[name], value) for name, kind, value in tests)


def may_pass(values: Sequence[Any], kind: str, value: Any) -> bool:
    """As far as the least and the greatest of these say; where there is none, nothing is known."""
    known = [one for one in values if one is not None]
    if not known:
        return True
    least, most = min(known), max(known)
    if kind in ("EqualTo", "In"):
        return any(least <= one <= most for one in (value if kind == "In" else (value,)))
    return COMPARED[kind][1](most if kind.startswith("Greater") else least, value)


@dataclass
class Recorded:
    """All row groups of all files, read as plain tables."""

    groups: dict[tuple[str, int], list[Row]]
    nodes: dict[str, str]
    bytes: dict[Chunk, int]

    @classmethod
    def of(cls, run: Path) -> Recorded:
        made = cls({}, {}, {})
        for path in (run / "rows").glob("*/*.parquet"):
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    node = path.parent.name.removeprefix("node=").replace("%20", " ")
                    made.nodes[str(path)] = node
                    rows = file.read_row_group(group).to_pylist()
                    made.groups[str(path), group] = [row | {"node": node} for row in rows]
                    about = file.metadata.row_group(group)
                    for place in range(about.num_columns):
                        chunk = about.column(place)
                        column = chunk.path_in_schema.partition(".")[0]
                        made.bytes[str(path), group, column] = chunk.total_compressed_size
        return made

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.groups.values() for row in rows]

    def files(self, tests: Sequence[Test], nodes: Sequence[str]) -> set[str]:
        """Those that the manifest does not rule out."""
        found = set()
        for file, node in self.nodes.items():
            rows = [row for (path, _), rows in self.groups.items() if path == file for row in rows]
            listed = [one for one in tests if one[0] in ("seq", "epoch_ns")]
            told = all(may_pass([row[name] for row in rows], kind, value) for name, kind, value in listed)
            if told and (not nodes or node in nodes):
                found.add(file)
        return found

    def chunks(self, tests: Sequence[Test], files: set[str], columns: set[str]) -> set[Chunk]:
        known = [one for one in tests if one[0] not in ("node", *NOTHING_KNOWN)]
        return {
            (path, group, column)
            for (path, group), rows in self.groups.items()
            if path in files
            and all(may_pass([row[name] for row in rows], kind, value) for name, kind, value in known)
            for column in columns - {"node"}
        }


def drawn_tests(rows: Sequence[Row], random: random.Random) -> list[Test]:
    made: list[Test] = []
    for name in random.sample(
        ["node", "seq", "epoch_ns", "kind", "federate", "message", "order", "class"], 3
    ):
        values = [row[name] for row in rows if row[name] is not None]
        kind = random.choice(["EqualTo", "In"] if name == "node" else list(COMPARED))
        value = random.choice(values)
        made.append((name, kind, tuple(random.sample(values, 2)) if kind == "In" else value))
    return made


@pytest.mark.parametrize("seed", range(12))
def test_only_what_may_pass_is_read(run: Path, counted: Counted, seed: int) -> None:
    """Whatever is filtered by: no row is lost, and no file, row group or column is read that cannot matter."""
    every = Recorded.of(run)
    chosen = random.Random(seed)
    tests = drawn_tests(every.rows, chosen)
    wanted = ["node", "seq", *chosen.sample(["kind", "class", "destinations", "mono_ns", "time_int"], 2)]
    found = read(run, wanted, tests)
    key = {(row["node"], row["seq"]): row for row in every.rows}
    kept = [row for row in found if passes(key[row["node"], row["seq"]], tests)]
    expected = [{name: row[name] for name in wanted} for row in every.rows if passes(row, tests)]
    assert in_order(kept) == in_order(expected)
    nodes = [
        one for name, kind, value in tests if name == "node" for one in (value if kind == "In" else [value])
    ]
    files = every.files(tests, nodes)
    assert sorted(counted.opened) == sorted(files)
    chunks = every.chunks(tests, files, {*wanted, *(name for name, _, _ in tests)})
    assert counted.chunks == chunks
    assert sum(every.bytes[one] for one in counted.chunks) <= sum(every.bytes.values())


def in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["node"], row["seq"]))


def test_a_row_by_its_number_costs_one_row_group(run: Path, counted: Counted) -> None:
    """Of all files one is opened, of it one row group read, and of that two columns."""
    every = Recorded.of(run)
    (path, group), rows = random.Random(3).choice(sorted(every.groups.items()))
    asked = rows[0]
    found = read(run, ["kind", "seq"], [("node", "EqualTo", asked["node"]), ("seq", "EqualTo", asked["seq"])])
    assert found == [{"kind": asked["kind"], "seq": asked["seq"]}]
    assert counted.opened == [path]
    assert counted.chunks == {(path, group, "kind"), (path, group, "seq")}


def test_planning_opens_no_file(run: Path, counted: Counted) -> None:
    """Manifests say all that partitions are made from."""
    asked = SourceOptions.of({"path": str(run)})
    reader = RowsReader(asked, schema_of(["seq"]))
    list(reader.pushFilters([datasource.GreaterThan(("seq",), 30)]))
    assert reader.partitions()
    assert counted.opened == []


def test_partitions_are_ranges_of_rows_of_a_node(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is in one of them, in order; none is much larger than it should be, though a file is."""
    every = Recorded.of(run)
    least = max(Path(path).stat().st_size for path in every.nodes) // 3
    monkeypatch.setattr(run_files, "PARTITION_BYTES", least)
    grouped = run_files.grouped
    monkeypatch.setattr(run_files, "grouped", lambda files: grouped(files, least))
    reader = RowsReader(SourceOptions.of({"path": str(run)}), schema_of(["node", "seq"]))
    parts = reader.partitions()
    assert len(parts) > len(every.nodes)
    found = []
    for part in parts:
        rows = [row for batch in reader.read(part) for row in batch.to_pylist()]
        assert len({row["node"] for row in rows}) <= 1
        assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)
        assert len(rows) <= 40 // 3 + ROWS_IN_GROUP
        found += rows
    assert in_order(found) == in_order([{name: row[name] for name in ("node", "seq")} for row in every.rows])
