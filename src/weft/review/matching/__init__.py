"""Which boxes overlap, of more than one process can hold: tiles, swept by Spark's tasks (docs/explanation/ddm.md)."""

from weft.review.matching.matching import Matched, match_on_spark

__all__ = ["Matched", "match_on_spark"]
