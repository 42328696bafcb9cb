"""Decoded values of a run for Spark: `spark.read.format("weft").option("table", "decoded").option("class", CLASS).load(RUN)`.

A row for each message of the class, a typed column for each attribute or parameter, as `weft export` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from weft.host.recording.decoding import (
    PART,
    ClassColumns,
    ClassRows,
    NamedInstances,
    instance_names,
    model_from,
    modules_of,
    sends,
)
from weft.host.recording.runs import open_run
from weft.review.errors import ReviewError
from weft.review.spark.tasks import RunPart, parts_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

DECODED = "decoded"
OPTIONS = ("path", "table", "class")


def is_decoded(options: Mapping[str, str]) -> bool:
    return options.get("table") == DECODED


def decoded_schema(options: Mapping[str, str]) -> StructType:
    made: StructType = from_arrow_schema(_columns(options).schema)
    return made


def _columns(options: Mapping[str, str]) -> ClassColumns:
    for name in options:
        if name.lower() not in OPTIONS:
            raise ReviewError(f"option {name!r} is none of {', '.join(OPTIONS)}")
    if not options.get("path"):
        raise ReviewError(
            'which run?  spark.read.format("weft").load(RUN); `weft runs` lists those there are'
        )
    model = model_from(modules_of(open_run(options["path"])))
    name = options.get("class", "")
    found = ClassColumns.of([model], name)
    if found is None:
        classes = [*model.object_classes, *model.interaction_classes]
        near = get_close_matches(name, classes, 1) or [one for one in classes if one.endswith(f".{name}")][:1]
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ReviewError(f'option("class", {name!r}): the object model of the run has no such class{hint}')
    return found


class DecodedPartition(InputPartition):  # type: ignore[misc]
    def __init__(self, part: RunPart, names: NamedInstances) -> None:
        super().__init__(None)
        self.part = part
        self.names = names


class DecodedReader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.columns = _columns(options)
        self.schema = schema
        self.path = options["path"]
        self.modules = modules_of(open_run(self.path))

    def partitions(self) -> list[InputPartition]:
        run = open_run(self.path)
        names = instance_names(run.files) if self.columns.is_object else NamedInstances()
        return [DecodedPartition(part, names) for part in parts_of(run)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, DecodedPartition):
            return
        model = model_from(self.modules)
        rows = ClassRows(self.columns)
        for sent in sends(partition.part.files, partition.names):
            if sent.row["class"] == self.columns.name:
                rows.add(model, sent)
                if len(rows.waiting) >= PART:
                    yield from self._batches(rows)
        yield from self._batches(rows)

    def _batches(self, rows: ClassRows) -> Iterator[pa.RecordBatch]:
        wanted = to_arrow_schema(self.schema)
        yield from rows.take().select(wanted.names).cast(wanted).to_batches()
