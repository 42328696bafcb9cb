"""A recorded run as a table of Spark: `spark.read.format("weft").load(run)`, and `spark.readStream` while it is being written.

By Spark's Python Data Source API: rows come as Arrow batches, a few files to a task, or some row groups of a large one.  Spark
(4.3) hands no list of wanted columns to such a source, so the option `columns` names them; filters it does hand over: by
manifests whole files are passed over (`seq`, `epoch_ns`), and by what files tell of their row groups these.
Spark applies filters once more, so they only ever save work here.

`weft.review.register` imports this module; it needs pyspark, and so do tasks on other machines, which import it too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from weft.host.recording.runs import check_run, open_run
from weft.host.storage import Place
from weft.recorder import KINDS
from weft.review.errors import ReviewError
from weft.review.lake.schema import TABLES, spark_words
from weft.review.spark import run_files
from weft.review.spark.decoded import DECODED, DecodedReader, decoded_schema, is_decoded
from weft.review.spark.lake_tables import LakeReader, is_of_lake
from weft.review.spark.reading import notes_of, spark_schema
from weft.review.spark.run_files import Listed, Offset, Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # pyspark before 4.2 knows no limits
    ReadAllAvailable = ReadMaxBytes = ReadMaxFiles = None
    SupportsTriggerAvailableNow = object

NAME = "weft"
ROWS_PER_BATCH = 1 << 16
ROWS, NOTES = "rows", "notes"
NOTES_SCHEMA = "note string"
OPTIONS = ("path", "table", "columns", "kinds", "nodes", "maxfilespertrigger", "maxbytespertrigger")


class SourceOptions(NamedTuple):
    """What the options say."""

    run: Place
    table: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    nodes: tuple[str, ...]
    most_files: int
    most_bytes: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        for name in options:
            if name.lower() not in OPTIONS:
                raise ReviewError(f"option {name!r} is none of {', '.join(OPTIONS)}")
        if not options.get("path"):
            raise ReviewError(
                'which run?  spark.read.format("weft").load(RUN); `weft runs` lists those there are'
            )
        table = options.get("table", ROWS)
        if table not in (ROWS, NOTES):
            raise ReviewError(f"table {table!r} is none of {', '.join((ROWS, NOTES, DECODED, *TABLES))}")
        return cls(
            check_run(options["path"]),
            table,
            _words(options, "columns", run_files.NAMES),
            _words(options, "kinds", KINDS),
            _words(options, "nodes"),
            _number(options, "maxFilesPerTrigger"),
            _number(options, "maxBytesPerTrigger"),
        )


def _words(options: Mapping[str, str], name: str, known: Iterable[str] | None = None) -> tuple[str, ...]:
    chosen = tuple(word.strip() for word in options.get(name, "").split(",") if word.strip())
    for word in chosen:
        if known is not None and word not in known:
            raise ReviewError(f"{name}: {word!r} is none of {', '.join(known)}")
    return chosen


def _number(options: Mapping[str, str], name: str) -> int:
    text = options.get(name, "0")
    if not text.isdigit():
        raise ReviewError(f"{name}: {text!r} is no whole number")
    return int(text)


class WeftSource(DataSource):  # type: ignore[misc]
    """What is registered under the name "weft"."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str | StructType:
        if is_of_lake(self.options):
            return spark_words(self.options["table"])
        if is_decoded(self.options):
            return decoded_schema(self.options)
        asked = SourceOptions.of(self.options)
        return NOTES_SCHEMA if asked.table == NOTES else spark_schema(asked.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        if is_of_lake(self.options):
            return LakeReader(self.options, schema, _told)
        if is_decoded(self.options):
            return DecodedReader(self.options, schema)
        asked = SourceOptions.of(self.options)
        return NotesReader(asked) if asked.table == NOTES else RowsReader(asked, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        if is_of_lake(self.options):
            raise ReviewError("tables of the lake cannot be streamed; read them with spark.read")
        if is_decoded(self.options):
            raise ReviewError("decoded values cannot be streamed; read them with spark.read")
        asked = SourceOptions.of(self.options)
        if asked.table == NOTES:
            raise ReviewError(f"table {NOTES!r} cannot be streamed; read it with spark.read")
        return RowsStreamReader(asked, schema)


class FilesPartition(InputPartition):  # type: ignore[misc]
    def __init__(self, files: Sequence[Listed]) -> None:
        super().__init__(None)
        self.files = list(files)


class _FilesReader:
    """Reads files in a task."""

    def __init__(self, asked: SourceOptions, schema: StructType) -> None:
        self.asked = asked
        unknown = [field.name for field in schema.fields if field.name not in run_files.NAMES]
        if unknown:
            raise ReviewError(f"rows have no column {unknown[0]!r}; there are {', '.join(run_files.NAMES)}")
        self.schema = schema
        self.filters: list[Told] = []
        if asked.kinds:
            self.filters.append(("kind", "in", asked.kinds))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        wanted = to_arrow_schema(self.schema)
        for file in getattr(partition, "files", ()):
            columns = list(dict.fromkeys([*wanted.names, *(name for name, _, _ in self.filters)]))
            for table in run_files.read_file(file, columns, self.filters, report):
                for name, operator, values in self.filters:
                    table = table.filter(run_files.mask(table, name, operator, values))
                yield from table.select(wanted.names).cast(wanted).to_batches(ROWS_PER_BATCH)


def report(text: str) -> None:
    """From a task, to whoever reads what Spark's processes say; the table `notes` says the same."""
    print(f"weft: {text}", file=sys.stderr, flush=True)


class RowsReader(_FilesReader, DataSourceReader):  # type: ignore[misc]
    def __init__(self, asked: SourceOptions, schema: StructType) -> None:
        super().__init__(asked, schema)
        self.nodes = asked.nodes

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802
        """Takes those that it understands to heart, and hands back all: what it leaves in is Spark's to leave out."""
        for one in filters:
            told = _told(one)
            if told is not None:
                self.filters.append(told)
                name, operator, values = told
                if name == "node" and operator in ("==", "in"):
                    these = [str(value) for value in values]
                    self.nodes = tuple(n for n in these if not self.nodes or n in self.nodes) or ("",)
        yield from filters

    def partitions(self) -> list[InputPartition]:
        files = run_files.planned(self.asked.run, self.nodes, self.filters)
        return [FilesPartition(group) for group in run_files.grouped(files)]


def _told(one: Filter) -> Told | None:
    """A filter as name, operator and values; None if files cannot be read with it."""
    operators = {
        "EqualTo": "==",
        "In": "in",
        "GreaterThan": ">",
        "GreaterThanOrEqual": ">=",
        "LessThan": "<",
        "LessThanOrEqual": "<=",
    }
    for kind, operator in operators.items():
        if isinstance(one, getattr(datasource, kind)) and len(one.attribute) == 1:
            values = one.value if operator == "in" else (one.value,)
            # Not NaN, which Spark compares otherwise.
            if all(isinstance(value, int | str) for value in values):
                return one.attribute[0], operator, tuple(values)
    return None


class NotesReader(DataSourceReader):  # type: ignore[misc]
    """What is to be known of a run before its rows: what is torn, missing, dropped, or still being written."""

    def __init__(self, asked: SourceOptions) -> None:
        self.run = asked.run

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        yield from ((note,) for note in notes_of(open_run(self.run, checked=True)))


class RowsStreamReader(_FilesReader, DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """The growing run; an offset is the name of the last file of each node."""

    target: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        if self.asked.most_files:
            return ReadMaxFiles(self.asked.most_files)
        return ReadMaxBytes(self.asked.most_bytes) if self.asked.most_bytes else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.target = run_files.next_offset(self.asked.run, {}, self.asked.nodes)

    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> Offset:  # noqa: N802
        files = getattr(limit, "max_files", 0)
        size = getattr(limit, "max_bytes", 0)
        found = run_files.next_offset(self.asked.run, start or {}, self.asked.nodes, files, size)
        return found if self.target is None else run_files.earlier(found, self.target)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        files = run_files.between(self.asked.run, start, end, self.asked.nodes)
        return [FilesPartition(group) for group in run_files.grouped(files)]


def register(session: SparkSession) -> None:
    """Afterwards `session.read.format("weft")` and `session.readStream.format("weft")` read recorded runs."""
    if hasattr(datasource, "Filter"):
        session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    session.dataSource.register(WeftSource)
