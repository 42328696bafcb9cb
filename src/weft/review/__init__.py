"""The review of a recorded run, on Spark (docs/how-to/review.md): all that imports pyspark, and only when it is used."""

from typing import TYPE_CHECKING

from weft.host.storage import place_of
from weft.review.errors import ReviewError
from weft.review.follow import follow
from weft.review.query.engines import opened, register_lake
from weft.review.review import AUDITS, Review, review
from weft.review.verdicts import Verdict, judge

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["AUDITS", "Review", "ReviewError", "Verdict", "follow", "judge", "register", "review", "sql"]


def register(session: "SparkSession", lake: str = "") -> None:
    """Let a Spark session read recorded runs: `session.read.format("weft").load(run)`, and `session.readStream` likewise.

    `lake`: also the tables and views of this lake of results, as they are now, by their names in `session.sql`.
    """
    from weft.review.spark import source

    source.register(session)
    if lake:
        register_lake(session, place_of(lake))


def sql(
    query: str, lake: str = "runs/lake", engine: str = "", session: "SparkSession | None" = None
) -> "pa.Table":
    """The answer of a lake of results, as an Arrow table; `engine`: duckdb or spark."""
    with opened(place_of(lake), engine, session=session) as asked:
        return asked.ask(query)
