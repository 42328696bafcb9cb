"""Boxes matched tile by tile: sampled, dealt out, and swept where they are, each step by tasks; the driver sees numbers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from weft.host.box_files import BoxPart, BoxSource
from weft.host.storage import Place
from weft.host.storage.whole_folder import begin_folder, finish_folder, part_name
from weft.model.errors import WeftError
from weft.review.errors import ReviewError, reason
from weft.review.kernels import arrow
from weft.review.matching.tasks import (
    DEALT,
    SAMPLED,
    WRITTEN,
    Sweep,
    deal_part,
    sample_part,
    sweep_work,
    unpacked_bounds,
)
from weft.review.matching.tiling import Sample, TaskLimits, Tiling, tiles, tiling_of
from weft.review.spark.cluster import LOCAL, AnyMaster
from weft.review.spark.session import Profile, given_session, progress
from weft.review.spark.tasks import spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from weft.review.spark.tasks import Work

Say = Callable[[str], None]

LIMITS = TaskLimits(boxes=1_000_000, pairs=30_000_000)
SAMPLE = 100_000
"""Boxes of each side, about."""
CSV_ROW = 20  # bytes, at least: nobody has counted them


@dataclass(frozen=True)
class Matched:
    """What was done."""

    updates: int
    subscriptions: int
    pairs: int
    tiles: int
    works: int
    files: int
    out: str | None

    def as_data(self) -> dict[str, object]:
        return asdict(self)

    @property
    def told(self) -> str:
        return (
            f"{self.updates:,} and {self.subscriptions:,} boxes in {self.tiles:,} tiles: {self.pairs:,} pairs, "
            f"in {self.files:,} files in {self.out}"
        )


def match_on_spark(
    updates: BoxSource,
    subscriptions: BoxSource,
    out: Place | None,
    closed: bool = False,
    master: AnyMaster = LOCAL,
    limits: TaskLimits = LIMITS,
    session: SparkSession | None = None,
    say: Say = lambda text: None,
) -> Matched:
    """`out`: a folder, which is replaced as a whole; None: pairs are only counted."""
    sides = (updates, subscriptions)
    draft = None if out is None else begin_folder(out)
    with given_session(
        session, Profile(master, sum(part.rows for side in sides for part in side.parts)), say
    ) as spark:
        try:
            with progress(spark, "sample", say):
                samples, counts = _sampled(spark, sides, closed)
            tiling = tiling_of(*samples, limits)
            with progress(spark, "match", say):
                written = _written(spark, sides, closed, tiling, draft)
        except Exception as error:
            if draft is not None:
                draft.remove()
            raise _in_words(error) from error
    files = sorted(name for name in written["file"].to_pylist() if name is not None)
    if out is not None and draft is not None:
        if not files:
            files = [_empty(draft, sides)]
        finish_folder(out, files)
    pairs = sum(written["pairs"].to_pylist())
    found = tiles(tiling)
    works = sum(tile.works for tile in found)
    return Matched(*counts, pairs, len(found), works, len(files), None if out is None else str(out))


def _in_words(error: Exception) -> Exception:
    """What a task has said of the boxes, without what Spark says around it."""
    if isinstance(error, WeftError):
        return error
    told = reason(error)
    return ReviewError(told.partition("Error: ")[2] if told.startswith("weft.") else told)


def _sampled(
    spark: SparkSession, sides: tuple[BoxSource, BoxSource], closed: bool
) -> tuple[tuple[Sample, Sample], tuple[int, int]]:
    works: list[Work] = []
    for side, source in enumerate(sides):
        rows = sum(part.rows or part.place.entry().bytes // CSV_ROW for part in source.parts)
        share = min(1.0, SAMPLE / rows) if rows else 1.0
        works += [partial(sample_part, side, source, closed, share, part) for part in source.parts]
    found = spread(spark, works, SAMPLED).toArrow()
    samples, counts = [], []
    for side, source in enumerate(sides):
        mine = found.filter(pa.compute.equal(found["side"], side))
        packed = [arrow.unpacked(data.as_buffer()) for data in mine["packed"]]
        lowers, lasts = unpacked_bounds(packed, len(source.dimensions))
        full = sum(mine["full"].to_pylist())
        samples.append(Sample(lowers, lasts, full / max(1, lowers.shape[1])))
        counts.append(sum(mine["boxes"].to_pylist()))
    return (samples[0], samples[1]), (counts[0], counts[1])


def _written(
    spark: SparkSession, sides: tuple[BoxSource, BoxSource], closed: bool, tiling: Tiling, draft: Place | None
) -> pa.Table:
    def deal(side: int, part: BoxPart) -> Work:
        return partial(deal_part, side, sides[side], closed, tiling, part)

    works = [deal(side, part) for side in (0, 1) for part in sides[side].parts]
    dealt = cast("DataFrame", spread(spark, works, DEALT))
    found = tiles(tiling)
    common = Sweep(found, len(sides[0].dimensions), closed, draft, _id_types(sides))
    count = sum(tile.works for tile in found)
    # Works are few and large: each has a partition, so that a core takes the next one when it is done with one.
    grouped = dealt.repartition(count, "work").groupBy("work")
    return grouped.applyInArrow(lambda table: sweep_work(common, table), WRITTEN).toArrow()


def _id_types(sides: tuple[BoxSource, BoxSource]) -> tuple[pa.DataType, pa.DataType]:
    types = [pa.int64() if side.id_type is None else side.id_type for side in sides]
    return types[0], types[1]


def _empty(draft: Place, sides: tuple[BoxSource, BoxSource]) -> str:
    """So that whoever reads the table finds its columns."""
    import pyarrow.parquet as pq

    schema = pa.schema(zip(("update", "subscription"), _id_types(sides), strict=True))
    name = part_name(0)
    (draft / name).write_by(partial(pq.write_table, schema.empty_table()))
    return name
