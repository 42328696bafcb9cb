"""The report of a review: one HTML file that stands alone (docs/how-to/review.md, "The report").

`evidence` takes from the rows what is drawn, on Spark; all else is made of that, without Spark.
"""

from weft.review.report.evidence import Evidence, gather
from weft.review.report.page import html_report

__all__ = ["Evidence", "gather", "html_report"]
