"""The lake asked in SQL: by DuckDB where it is installed and the lake is small, else by Spark.

Both see the lake as it was when it was opened: tables with the rows that count, and the views of `query.views`.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from weft.host.storage import Place
from weft.model.extras import lacking, require
from weft.review.errors import ReviewError
from weft.review.lake.delta import DeltaLake, open_lake
from weft.review.lake.schema import TABLES
from weft.review.lake.store import RUN_KEY, ParquetLake, Snapshot
from weft.review.query.views import VIEWS, for_spark
from weft.review.spark.cluster import LOCAL, AnyMaster
from weft.review.spark.session import Profile, given_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

DUCKDB, SPARK = "duckdb", "spark"
ENGINES = (DUCKDB, SPARK)
SMALL_LAKE = 8 << 30  # bytes of its files: so much one machine reads in a minute or two
NAMES = (*TABLES, *(view.name for view in VIEWS))


class LakeEngine(Protocol):
    def ask(self, query: str) -> pa.Table:
        """Raises ReviewError."""
        ...


@contextlib.contextmanager
def opened(
    place: Place,
    engine: str = "",
    master: AnyMaster = LOCAL,
    session: SparkSession | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Iterator[LakeEngine]:
    """The lake as it is now; `engine`: empty chooses."""
    lake = open_lake(place)
    if (engine or chosen(lake)) == DUCKDB:
        require_duckdb()
        yield DuckDBEngine(lake.snapshot())
        return
    with given_session(session, Profile(master), say) as spark:
        register_lake(spark, place)
        yield SparkEngine(spark)


def chosen(lake: ParquetLake | DeltaLake) -> str:
    there = not lacking("duckdb")
    return DUCKDB if there and lake.bytes <= SMALL_LAKE else SPARK


def require_duckdb() -> None:
    require("to ask by DuckDB", "lake", "duckdb", otherwise="--engine spark")


class DuckDBEngine:
    """Files are read by Arrow, also in stores, and only those columns and row groups that are asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        import duckdb

        self._base = duckdb.connect()
        self._base.execute("SET autoinstall_known_extensions = false")
        self._base.register("weft run", snapshot.runs)
        self._base.execute('CREATE VIEW run AS SELECT * FROM "weft run"')
        same = " AND ".join(f't."{name}" = c."{name}"' for name in RUN_KEY)
        for name in TABLES:
            if name != "run":
                self._base.register(f"weft {name}", snapshot.dataset(name))
                self._base.execute(
                    f'CREATE VIEW {name} AS SELECT t.* FROM "weft {name}" t SEMI JOIN "weft run" c ON {same}'
                )
        for view in VIEWS:
            self._base.execute(f"CREATE VIEW {view.name} AS {view.sql}")

    def ask(self, query: str) -> pa.Table:
        import duckdb

        try:
            found = self._base.sql(query)
            if found is None:
                raise ReviewError("that is no question: only queries (SELECT …) have an answer")
            return whole_numbers(found.to_arrow_table())
        except duckdb.Error as error:
            raise ReviewError(explained(str(error), query)) from error


def whole_numbers(table: pa.Table) -> pa.Table:
    """DuckDB's sums of whole numbers are decimals, for Arrow; they become whole numbers again, where they fit."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale == 0:
            with contextlib.suppress(pa.ArrowInvalid):
                table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
    return table


class SparkEngine:
    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def ask(self, query: str) -> pa.Table:
        try:
            with _quotes(self._session):
                return self._session.sql(query).toArrow()
        except Exception as error:  # whatever Java says comes as one of many classes
            raise ReviewError(explained(str(error), query)) from error


@contextlib.contextmanager
def _quotes(session: SparkSession) -> Iterator[None]:
    """Names in double quotes, as DuckDB and the standard have them; what is wrong is told by an exception, and not by a log."""
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    names = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")
    before = {name: session.conf.get(name) for name in names}
    for name in names:
        session.conf.set(name, "true")
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, str(value))


def register_lake(session: SparkSession, place: Place) -> None:
    """Temporary views of a session: tables and views of the lake by their names, as they are now."""
    from weft.review.spark import source

    source.register(session)
    until = open_lake(place).snapshot().until
    for name in TABLES:
        options = {"table": name, "until": until} if until else {"table": name}
        frame = session.read.format("weft").options(**options).load(place.address)
        frame.createOrReplaceTempView(name)
    for view in VIEWS:
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view.name} AS {for_spark(view.sql)}")


# What went wrong

_NAMED = (
    r"Table with name \"?([\w.]+)\"? does not exist",
    r"TABLE_OR_VIEW_NOT_FOUND\].*?`([\w.`]+)`",
)
_COLUMNS = (
    r"Referenced column \"([^\"]+)\" not found",
    r"does not have a column named \"([^\"]+)\"",
    r"Referenced table \"([^\"]+)\" not found",
    r"UNRESOLVED_COLUMN[^\]]*\].*?`([^`]+)` cannot",
)


def explained(error: str, query: str) -> str:
    """With what there is, where a name is misspelt."""
    flat = " ".join(error.split())
    for pattern in _NAMED:
        if found := re.search(pattern, flat):
            return f"there is no table {found[1]!r}{_close(found[1], NAMES)}; there are {', '.join(NAMES)}"
    for pattern in _COLUMNS:
        if found := re.search(pattern, flat):
            asked = [name for name in TABLES if re.search(rf"\b{name}\b", query)]
            columns = {name: [column.name for column in TABLES[name].columns] for name in asked}
            close = _close(found[1], [name for names in columns.values() for name in names])
            there = "; ".join(f"{name} has {', '.join(names)}" for name, names in columns.items())
            return f"there is no column {found[1]!r}{close}; {there or '`weft sql` lists tables and columns'}"
    return f"the query cannot be answered: {(error.strip() or 'no reason is given').splitlines()[0]}"


def _close(name: str, known: tuple[str, ...] | list[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f" (did you mean {close[0]}?)" if close else ""
