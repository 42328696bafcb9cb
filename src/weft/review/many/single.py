"""The review of one run, which somebody asked for by itself, written into a lake."""

from __future__ import annotations

import pyarrow as pa

from weft.review.audits.context import Context
from weft.review.errors import ReviewError, reason
from weft.review.many.finding import FoundRun
from weft.review.many.judging import ReviewOptions
from weft.review.many.reviewing import ResultLake, key_of
from weft.review.many.rows import tables_of
from weft.review.review import Review
from weft.review.spark.tasks import DamagedFile


def keep_review(
    run: FoundRun, lake: ResultLake, wanted: ReviewOptions, context: Context, found: Review
) -> None:
    """`run`: as it was before it was reviewed."""
    try:
        lake.write(tables_of(key_of(run, wanted), context, found, sum(found.seconds.values())))
    except DamagedFile as error:
        raise ReviewError(f"{run.place}: it is reviewed, but not in the lake: {error}") from error
    except (OSError, pa.ArrowException) as error:
        raise ReviewError(f"{lake.place}: results cannot be written: {reason(error)}") from error
