"""The lake as tables of Delta Lake, which other systems read and write too: by the package `deltalake`, without Java.

    LAKE/<table>/_delta_log/…, partitioned by federation and date

The rows of some runs are replaced by one commit for each table, `run` last.  A commit holds for one table only: who reads
while a run is reviewed again sees its old row in `run` and none of its rows in tables that were replaced already, until the
commit of `run`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from weft.host.storage import Place
from weft.model.extras import require
from weft.review.errors import ReviewError, reason
from weft.review.lake.schema import TABLES, table_schema
from weft.review.lake.store import (
    GRACE,
    ParquetLake,
    Removed,
    Snapshot,
    Tables,
    by_partition,
    latest,
    with_version,
)
from weft.review.lake.versions import new_version

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from deltalake import DeltaTable

LOG = "_delta_log"
TRIES = 20  # where others write at the same time
PARTITIONS = ["federation", "date"]


class DeltaLake:
    """See above."""

    format = "delta"

    def __init__(self, place: Place, clock: Callable[[], int] = time.time_ns) -> None:
        require_deltalake()
        self.place = place
        self._clock = clock

    def write(self, tables: Tables) -> str:
        """Rows of runs, all of what was found of each; returns the version."""
        version = new_version(self._clock())
        for name in (*(one for one in TABLES if one != "run"), "run"):
            self._replace(name, tables, version)
        return version

    def _replace(self, name: str, tables: Tables, version: str) -> None:
        from deltalake import write_deltalake
        from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

        rows = with_version(tables[name], version).select(table_schema(name).names).cast(table_schema(name))
        options: dict[str, object] = {"partition_by": PARTITIONS, "storage_options": self._options}
        for turn in range(TRIES):
            try:
                if not self._there(name):
                    write_deltalake(self._address(name), rows, mode="error", **options)
                else:
                    which = _predicate(tables["run"])
                    write_deltalake(
                        self._address(name),
                        rows,
                        mode="overwrite",
                        predicate=which,
                        schema_mode="merge",
                        **options,
                    )
                return
            except (CommitFailedError, TableNotFoundError, FileExistsError) as error:
                if turn == TRIES - 1:
                    raise self._failed(name, error) from error
            except (DeltaError, OSError) as error:
                raise self._failed(name, error) from error

    def _failed(self, name: str, error: Exception) -> ReviewError:
        return ReviewError(f"{self.place}: table {name} cannot be written: {reason(error)}")

    def snapshot(self, until: str = "") -> Snapshot:
        return Snapshot(self, latest(self.dataset("run").to_table(), until))

    @property
    def bytes(self) -> int:
        """Of all files, about."""
        return sum(entry.bytes for entry in self.place.files())

    def dataset(
        self, name: str, writers: frozenset[str] = frozenset(), partition: tuple[str, str] | None = None
    ) -> ds.Dataset:
        """Of the table as it is now, which Delta Lake itself prunes."""
        import pyarrow.dataset as ds

        if not self._there(name):
            return ds.dataset(table_schema(name).empty_table())
        return self._table(name).to_pyarrow_dataset(schema=table_schema(name))

    def compact(self, grace: float = GRACE, only_many: bool = False) -> Removed:
        """As Delta Lake does it: small files are merged, and those that no version of the last hour has are removed."""
        removed = 0
        for name in (name for name in TABLES if self._there(name)):
            table = self._table(name)
            table.optimize.compact()
            gone = table.vacuum(math.ceil(grace / 3600), dry_run=False, enforce_retention_duration=False)
            removed += len(gone)
        return Removed(0, removed, 0)

    def _there(self, name: str) -> bool:
        return (self.place / name / LOG).is_folder()

    def _table(self, name: str) -> DeltaTable:
        from deltalake import DeltaTable

        return DeltaTable(self._address(name), storage_options=self._options)

    def _address(self, name: str) -> str:
        place = self.place / name
        return str(place) if place.local is not None else place.address.partition("?")[0]

    @property
    def _options(self) -> dict[str, str]:
        """What a place says behind its question mark, by the names of Delta Lake."""
        if self.place.local is not None:
            return {}
        told = {name: values[-1] for name, values in parse_qs(urlsplit(self.place.address).query).items()}
        made = {"AWS_REGION": told.get("region", "")}
        if "endpoint_override" in told:
            scheme = told.get("scheme", "https")
            made["AWS_ENDPOINT_URL"] = f"{scheme}://{told['endpoint_override']}"
            made["AWS_ALLOW_HTTP"] = str(scheme == "http").lower()
        return {name: value for name, value in made.items() if value}


def _predicate(runs: pa.Table) -> str:
    """These runs, in SQL."""
    parts = []
    for federation, date, rows in by_partition(runs):
        names = ", ".join(_quoted(run) for run in rows["run"].to_pylist())
        parts.append(f"(federation = {_quoted(federation)} AND date = {_quoted(date)} AND run IN ({names}))")
    return " OR ".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def require_deltalake() -> None:
    require("a lake of Delta Lake tables", "lake", "deltalake")


def is_delta(place: Place) -> bool:
    return (place / "run" / LOG).is_folder()


def lake_at(place: Place, form: str = "") -> ParquetLake | DeltaLake:
    """What is there already says its format; a new one has the one that is asked for."""
    if is_delta(place):
        if form == ParquetLake.format:
            raise ReviewError(f"{place} has Delta Lake tables: leave --format out, or name another lake")
        return DeltaLake(place)
    if form == DeltaLake.format:
        if (place / "run").is_folder():
            raise ReviewError(f"{place} has plain Parquet files: leave --format out, or name another lake")
        return DeltaLake(place)
    return ParquetLake(place)


def open_lake(place: Place) -> ParquetLake | DeltaLake:
    """Raises an error where there is none."""
    if not (place / "run").is_folder():
        raise ReviewError(
            f"{place}: there is no lake of results; `weft review FOLDER` makes one of the runs below FOLDER, and --lake says "
            "where it lies"
        )
    return lake_at(place)
