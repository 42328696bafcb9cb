"""What differs between runs that were reviewed: two of them, two groups, or one after the other (docs/how-to/compare.md)."""

from weft.review.compare.comparing import Comparison, RunDifference, compare
from weft.review.compare.trending import Trend, TrendEvent, trend

__all__ = ["Comparison", "RunDifference", "Trend", "TrendEvent", "compare", "trend"]
