"""The review of a recorded run, on Spark (docs/review.md): all that imports pyspark, and only when it is used."""

from weft.review.errors import ReviewError
from weft.review.review import AUDITS, Review, review

__all__ = ["AUDITS", "Review", "ReviewError", "review"]
