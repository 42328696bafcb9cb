"""The review of a recorded run, on Spark (docs/how-to/review.md): all that imports pyspark, and only when it is used."""

from typing import TYPE_CHECKING

from weft.review.errors import ReviewError
from weft.review.follow import follow
from weft.review.review import AUDITS, Review, review
from weft.review.verdicts import Verdict, judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["AUDITS", "Review", "ReviewError", "Verdict", "follow", "judge", "register", "review"]


def register(session: "SparkSession") -> None:
    """Let a Spark session read recorded runs: `session.read.format("weft").load(run)`, and `session.readStream` likewise."""
    from weft.review.spark import source

    source.register(session)
