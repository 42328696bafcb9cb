"""One run reviewed for the lake: by the same audits as by itself, within a task or here, or (a large one) spread over Spark."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from weft.model.errors import WeftError
from weft.review.advice.advice import advise_run
from weft.review.audits.context import Context
from weft.review.errors import reason
from weft.review.kernels import arrow
from weft.review.lake.schema import FAILED
from weft.review.many.rows import RunKey, failed_tables, tables_of
from weft.review.review import Review, leave_out, run_audits, verify
from weft.review.spark.reading import open_for_review
from weft.review.spark.tasks import DamagedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITNESSES = 20
TOLD = "number int, packed binary, told string"


@dataclass(frozen=True)
class ReviewOptions:
    """What is asked of every run."""

    witnesses: int = WITNESSES
    orders: tuple[str, ...] = Context.orders
    advice: bool = False
    """Also what should change."""
    checksums: bool = False
    """Compare those of all files with the manifests first."""

    @property
    def options(self) -> str:
        """As JSON what is not by default: another review; advice is more of the same."""
        default = ReviewOptions()
        told = {name: getattr(self, name) for name in ("witnesses", "orders", "checksums")}
        return json.dumps({name: value for name, value in told.items() if value != getattr(default, name)})


class RunResult(NamedTuple):
    """What people and programs are told of a run; `data` is what `weft review RUN --json` says of it."""

    key: RunKey
    status: str
    rows: int = 0
    violations: int = 0
    unsure: int = 0
    seconds: float = 0.0
    error: str = ""
    known: bool = False
    """It was reviewed before."""
    data: Mapping[str, object] | None = None


@dataclass
class JudgedRun:
    result: RunResult
    tables: dict[str, pa.Table] = field(default_factory=dict)


def judge_run(key: RunKey, wanted: ReviewOptions, session: SparkSession | None = None) -> JudgedRun:
    """`session`: to spread it over Spark.  Whatever fails is told as the result of this run."""
    began = time.monotonic()
    try:
        context = Context(session, open_for_review(key.path), None, wanted.witnesses, wanted.orders)
        if wanted.checksums:
            verify(context, _unheard)
        while True:
            found = _reviewed(context, wanted)
            seconds = time.monotonic() - began
            try:
                return JudgedRun(result_of(key, found, seconds), tables_of(key, context, found, seconds))
            except Exception as error:
                _leave_out(context, error)
    except Exception as error:
        return failed(key, _why(error), time.monotonic() - began)


def _reviewed(context: Context, wanted: ReviewOptions) -> Review:
    found = run_audits(context, _unheard)
    if wanted.advice:
        found.advice = advise_run(context.advice_rows, context.opened.run)
    return found


def _leave_out(context: Context, error: Exception) -> None:
    """A file of which only that is corrupt which no audit has read."""
    told = DamagedFile.in_text(error)
    if told is None:
        raise error
    leave_out(context, DamagedFile(*told), _unheard)


def _unheard(text: str) -> None:
    """How far one of many runs is nobody wants to know."""


def _why(error: Exception) -> str:
    """A defect is told with its place."""
    if isinstance(error, WeftError | OSError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {reason(error)} ({place.name}, line {place.lineno})"


def failed(key: RunKey, why: str, seconds: float = 0.0) -> JudgedRun:
    result = RunResult(key, FAILED, seconds=round(seconds, 3), error=why)
    return JudgedRun(result, failed_tables(key, why, seconds))


def result_of(key: RunKey, found: Review, seconds: float) -> RunResult:
    told = found.as_data()
    return RunResult(
        key, found.status, found.rows, found.violations, found.unsure, round(seconds, 3), data=told
    )


# Within a task


def judge_task(numbered: Sequence[tuple[int, RunKey]], wanted: ReviewOptions) -> Iterator[pa.RecordBatch]:
    """Several runs, one after the other."""
    schema = arrow.schema_of(TOLD)
    for number, key in numbered:
        judged = judge_run(key, wanted)
        told = judged.result._replace(key=key)._asdict()
        del told["key"]
        row = {"number": number, "packed": packed(judged.tables), "told": json.dumps(told, default=str)}
        yield arrow.made_of_rows([row], schema)


def judged_of(keys: Sequence[RunKey], row: Mapping[str, object]) -> JudgedRun:
    """What a task has told."""
    key, data = keys[_whole(row["number"])], row["packed"]
    assert isinstance(data, bytes)
    return JudgedRun(RunResult(key, **json.loads(str(row["told"]))), unpacked(data))


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def packed(tables: Mapping[str, pa.Table]) -> bytes:
    """One behind the other, each as Arrow writes a stream."""
    sink = pa.BufferOutputStream()
    for name, table in tables.items():
        with pa.ipc.new_stream(sink, table.schema.with_metadata({b"table": name.encode()})) as stream:
            stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(data: bytes) -> dict[str, pa.Table]:
    source = pa.BufferReader(data)
    found: dict[str, pa.Table] = {}
    while source.tell() < len(data):
        table = pa.ipc.open_stream(source).read_all()
        found[table.schema.metadata[b"table"].decode()] = table.replace_schema_metadata(None)
    return found
