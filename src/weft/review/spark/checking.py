"""Files as a whole: can all that is in them be read, and are their bytes those that were written?  Spread over Spark's tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from weft.host.recording.row_files import RowFile
from weft.review.kernels import arrow
from weft.review.spark.tasks import DamagedFile, RunPart, read_part, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BYTES_PER_TASK = 64 << 20
AT_ONCE = 1 << 20
FOUND = "path string, why string"


class BadFile(NamedTuple):
    path: str
    why: str


def unreadable(session: SparkSession | None, parts: Sequence[RunPart]) -> list[BadFile]:
    """All files of which something cannot be read, by one pass over all their columns."""
    return _found(session, [partial(_read_all, part) for part in parts])


def _read_all(part: RunPart) -> Iterator[pa.RecordBatch]:
    for file in part.files:
        try:
            for _ in read_part(RunPart(part.node, (file,)), None):
                pass
        except DamagedFile as error:
            yield _row(*(DamagedFile.in_text(error) or (str(file.path), str(error))))


def altered(session: SparkSession | None, files: Sequence[RowFile]) -> list[BadFile]:
    """All files whose checksum is not the one that their manifest lists."""
    tasks: list[list[RowFile]] = [[]]
    size = 0
    for file in files:
        if file.sha256:
            if tasks[-1] and size + file.bytes > BYTES_PER_TASK:
                tasks.append([])
                size = 0
            tasks[-1].append(file)
            size += file.bytes
    return _found(session, [partial(_sum_all, task) for task in tasks if task])


def _sum_all(files: Sequence[RowFile]) -> Iterator[pa.RecordBatch]:
    for file in files:
        try:
            if _sum_of(file) != file.sha256:
                yield _row(str(file.path), "its bytes are not those that were written")
        except OSError as error:
            yield _row(str(file.path), str(error))


def _sum_of(file: RowFile) -> str:
    digest = hashlib.sha256()
    with file.path.open_file() as opened:
        while data := opened.read(AT_ONCE):
            digest.update(data)
    return digest.hexdigest()


def _row(path: str, why: str) -> pa.RecordBatch:
    return arrow.made_of_rows([{"path": path, "why": why}], arrow.schema_of(FOUND))


def _found(session: SparkSession | None, works: list[partial[Iterator[pa.RecordBatch]]]) -> list[BadFile]:
    if not works:
        return []
    rows = spread(session, works, FOUND).toArrow().to_pylist()
    told = {row["path"]: BadFile(row["path"], row["why"]) for row in rows}
    return [told[path] for path in sorted(told)]
