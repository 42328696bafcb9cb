"""Versions of reviews: texts that sort by time, so that the latest of a run is the greatest.

A review has a version like `20261118T203011.123456Z-3fa9c1d2`.  Rows that `weft lake compact` has written once more have
`<version of the review>+<version of the compacting>`: greater than that of the review, and less than that of any later one.
So whoever reviews a run meanwhile is not overruled by rows that are older.
"""

from __future__ import annotations

import secrets
import time


def new_version(now_ns: int) -> str:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now_ns // 10**9))
    return f"{stamp}.{now_ns // 1000 % 10**6:06d}Z-{secrets.token_hex(4)}"


def compacted(version: str, by: str) -> str:
    return f"{version.partition('+')[0]}+{by}"


def writer_of(version: str) -> str:
    """The version in the names of the files that have these rows."""
    review, _, by = version.partition("+")
    return by or review
