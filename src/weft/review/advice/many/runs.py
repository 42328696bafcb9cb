"""Many runs as one frame: a run's summary is worked out by a task and stays there; what candidates cost is asked of it.

With Spark and without: few small runs are summed up in this process.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from weft.host.storage import Place
from weft.interest.ddm_settings import DdmSettings
from weft.model.errors import WeftError
from weft.review.advice.advice import Inputs, inputs_of, more_counts, recorded_settings
from weft.review.advice.batches import counted, read_counts
from weft.review.advice.many.summary import RunSummary, summarise, with_destinations
from weft.review.errors import reason
from weft.review.kernels import arrow
from weft.review.spark.reading import open_for_review
from weft.review.spark.tasks import Frame, Work, parts_of, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMMED = "number int, told binary, summary binary"
COSTS = "number int, setting int, sent bigint, copies bigint, casts bigint, received bigint, wanted bigint, unwanted bigint"


class RunTold(NamedTuple):
    """Of one run what the driver needs to choose: all but the messages themselves."""

    place: str
    name: str
    federation: str
    rows: int
    given: Inputs
    model: str
    """A checksum of its object model; empty: it has none."""
    summary: RunSummary
    """Without messages and who listens."""
    spaces: tuple[int, ...]
    sent: int
    error: str = ""


def model_key(given: Inputs) -> str:
    digest = hashlib.sha256()
    for source in given.model:
        digest.update(len(source.data).to_bytes(8, "big") + source.data)
    return digest.hexdigest()[:12] if given.model else ""


# Summaries


def summaries(
    session: SparkSession | None, places: Sequence[Place], wanted: Inputs, tasks: int
) -> tuple[Frame, list[RunTold]]:
    """The frame of all summaries, and what is told of each run, in order.  `wanted`: what counts in place of their own."""
    numbered = list(enumerate(places))
    groups = [numbered[first::tasks] for first in range(min(tasks, len(numbered)))]
    works: list[Work] = [partial(_summed_up, group, wanted) for group in groups]
    frame = spread(session, works, SUMMED).persist()
    told = frame.mapInArrow(_told_only, SUMMED.rpartition(", ")[0]).toArrow()
    rows = sorted(told.to_pylist(), key=lambda row: int(row["number"]))
    return frame, [pickle.loads(row["told"]) for row in rows]


def _told_only(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["number", "told"])


def _summed_up(numbered: Sequence[tuple[int, Place]], wanted: Inputs) -> Iterator[pa.RecordBatch]:
    for number, place in numbered:
        told, summary = summed_up(place, wanted)
        row = {"number": number, "told": pickle.dumps(told), "summary": pickle.dumps((told.given, summary))}
        yield arrow.made_of_rows([row], arrow.schema_of(SUMMED))


def summed_up(place: Place, wanted: Inputs) -> tuple[RunTold, RunSummary]:
    """Whatever fails is told as the result of this run."""
    name = place.name
    federation = place.parent.name
    try:
        run = open_for_review(place).run
        federation = run.federation
        given = inputs_of(run, wanted.model, wanted.rid, wanted.domains, wanted.multicast)
        summary = summarise(parts_of(run), given)
        lean = replace(summary, grouped=None, listening=RunSummary().listening)
        spaces = tuple(summary.spaces_used)
        told = RunTold(
            place.address,
            name,
            federation,
            run.rows,
            given,
            model_key(given),
            lean,
            spaces,
            summary.by_channels,
        )
        return told, summary
    except Exception as error:
        why = (
            str(error)
            if isinstance(error, WeftError | OSError)
            else f"{type(error).__name__}: {reason(error)}"
        )
        return RunTold(
            place.address, name, federation, 0, Inputs(), "", RunSummary(), (), 0, why
        ), RunSummary()


# What settings cost


Costs = dict[str, int]
"""Sums over federates: sent, copies, casts, received, wanted, unwanted."""


def costs_of(
    frame: Frame, chosen: Sequence[int], settings: Sequence[DdmSettings | None]
) -> dict[int, list[Costs]]:
    """For each of the chosen runs what its messages would cost under each setting; None: under the one it had."""
    found = frame.mapInArrow(partial(_count_all, frozenset(chosen), list(settings)), COSTS).toArrow()
    made: dict[int, dict[int, Costs]] = defaultdict(dict)
    for row in found.to_pylist():
        number, setting = row.pop("number"), row.pop("setting")
        made[number][setting] = row
    return {number: [made[number][at] for at in range(len(settings))] for number in chosen}


def _count_all(
    chosen: frozenset[int], settings: list[DdmSettings | None], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    schema = arrow.schema_of(COSTS)
    for batch in batches:
        for row in batch.to_pylist():
            if row["number"] in chosen:
                given, summary = pickle.loads(row["summary"])
                rows = [
                    {"number": row["number"], "setting": at, **costs}
                    for at, costs in enumerate(run_costs(given, summary, settings))
                ]
                yield arrow.made_of_rows(rows, schema)


def run_costs(given: Inputs, summary: RunSummary, settings: Sequence[DdmSettings | None]) -> list[Costs]:
    old = recorded_settings(given)
    wanted = [old if one is None else one for one in settings]
    more = more_counts(given, old)
    assert summary.grouped is not None
    batch = with_destinations(summary.grouped)
    (found,) = counted(given.model, more, summary.listening, wanted, iter([batch]))
    return [one.totals() for one in read_counts(found.to_pylist(), len(wanted))]
