"""What pieces of a run tell the driver, as objects: little, and in their order."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from weft.review.kernels import arrow
from weft.review.spark.tasks import Frame

TOLD = "number bigint, told binary"


def telling(number: int, told: object) -> Iterator[pa.RecordBatch]:
    """Of the piece of that number."""
    yield arrow.made_of_rows([{"number": number, "told": pickle.dumps(told)}], arrow.schema_of(TOLD))


def told_of(frame: Frame) -> list[Any]:
    """By number."""
    rows = sorted(frame.toArrow().to_pylist(), key=lambda row: row["number"])
    return [pickle.loads(row["told"]) for row in rows]
