"""Tables of the lake of results for Spark: `spark.read.format("weft").option("table", "violation").load(lake)`.

Which rows count is known in the driver (`lake.store`); tasks read files by Arrow and leave the others out.  The option `until` is
a version: with the same, several tables are read as they were at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from weft.host.storage import place_of
from weft.review.errors import ReviewError
from weft.review.lake.delta import open_lake
from weft.review.lake.schema import TABLES, table_schema
from weft.review.lake.store import RUN_KEY, counting

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

OPTIONS = ("path", "table", "until")
FILES_PER_TASK = 32
Told = tuple[str, str, tuple[int | str, ...]]
COMPARE: dict[str, Callable[[ds.Expression, int | str], ds.Expression]] = {
    "==": lambda column, value: column == value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
}


def is_of_lake(options: Mapping[str, str]) -> bool:
    return options.get("table") in TABLES


class LakePartition(InputPartition):  # type: ignore[misc]
    def __init__(self, fragments: list[ds.Fragment], keys: pa.Array) -> None:
        super().__init__(None)
        self.fragments = fragments
        self.keys = keys


class LakeReader(DataSourceReader):  # type: ignore[misc]
    def __init__(
        self, options: Mapping[str, str], schema: StructType, told: Callable[[Filter], Told | None]
    ) -> None:
        """`told`: a filter as column, operator and values."""
        for name in options:
            if name.lower() not in OPTIONS:
                raise ReviewError(f"option {name!r} is none of {', '.join(OPTIONS)}")
        if not options.get("path"):
            raise ReviewError('which lake?  spark.read.format("weft").option("table", TABLE).load(LAKE)')
        self.place = place_of(options["path"])
        self.table = options["table"]
        self.until = options.get("until", "")
        self.schema = schema
        self.filter: ds.Expression | None = None
        self._told = told

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802
        """Files and row groups are passed over by those that it understands; Spark applies all once more."""
        for one in filters:
            told = self._told(one)
            if told is not None:
                made = _expression(*told)
                self.filter = made if self.filter is None else self.filter & made
        yield from filters

    def partitions(self) -> list[InputPartition]:
        snapshot = open_lake(self.place).snapshot(self.until)
        keys = snapshot.keys
        # Whether a file can be left out is known by its partition.
        fragments = list(snapshot.dataset(self.table).get_fragments(self.filter))
        parts = [
            fragments[begin : begin + FILES_PER_TASK] for begin in range(0, len(fragments), FILES_PER_TASK)
        ]
        return [LakePartition(part, keys) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        wanted = to_arrow_schema(self.schema)
        schema = table_schema(self.table)
        names = list(dict.fromkeys([*wanted.names, *RUN_KEY]))
        for fragment in getattr(partition, "fragments", ()):
            table = fragment.to_table(schema=schema, columns=names, filter=self.filter)
            rows = counting(table, partition.keys)
            yield from rows.select(wanted.names).cast(wanted).to_batches()


def _expression(name: str, operator: str, values: tuple[int | str, ...]) -> ds.Expression:
    column = pc.field(name)
    return column.isin(list(values)) if operator == "in" else COMPARE[operator](column, values[0])
