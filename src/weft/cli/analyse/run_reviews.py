"""What a review has found, kept in the run's folder: `review/review.json`, and `review/report.html` beside it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Required, TypedDict

from weft.console.runs import FOLDER, REPORT, RESULT
from weft.host.recording.runs import Given
from weft.host.storage import place_of


class KeptReview(TypedDict, total=False):
    """`state`: none, done, or failed where the result cannot be read; if done, how much was violated or unsure."""

    state: Required[str]
    violations: int
    unsure: int
    inconclusive: bool
    when: float
    report: str
    error: str


def keep_result(run: Given, found: Mapping[str, object]) -> None:
    """For `weft runs` and whoever looks later.  A run that cannot be written to is reviewed all the same."""
    with contextlib.suppress(OSError):
        (place_of(run) / FOLDER / RESULT).write((json.dumps(found, indent=2) + "\n").encode())


def review_of(run: Given) -> KeptReview:
    """Return what `keep_result` has kept of a run."""
    place = place_of(run) / FOLDER / RESULT
    try:
        found = json.loads(place.read())
        audits = list(found["audits"].values())
        made: KeptReview = {
            "state": "done",
            "violations": sum(int(one["violations"]) for one in audits),
            "unsure": sum(int(one["unsure"]) for one in audits),
            "inconclusive": found.get("status") == "inconclusive",
            "when": place.entry().mtime_ns / 1e9,
        }
    except FileNotFoundError:
        return {"state": "none"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return {"state": "failed", "error": f"{place} cannot be read: {error}"}
    report = place.with_name(REPORT)
    if report.is_file():
        made["report"] = str(report)
    return made
