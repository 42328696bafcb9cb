"""What a review has found, kept in the run's folder: `review/review.json`, and `review/report.html` beside it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Required, TypedDict

from weft.console.runs import FOLDER, REPORT, RESULT
from weft.host.files.private import make_private, write_whole


class KeptReview(TypedDict, total=False):
    """`state`: none, done, or failed where the result cannot be read; if done, how much was violated or unsure."""

    state: Required[str]
    violations: int
    unsure: int
    inconclusive: bool
    when: float
    report: str
    error: str


def keep_result(run: str | Path, found: Mapping[str, object]) -> None:
    """For `weft runs` and whoever looks later.  A run that cannot be written to is reviewed all the same."""
    folder = Path(run) / FOLDER
    with contextlib.suppress(OSError):
        make_private(folder)
        write_whole(folder / RESULT, (json.dumps(found, indent=2) + "\n").encode())


def review_of(run: Path) -> KeptReview:
    """Return what `keep_result` has kept of a run."""
    path = run / FOLDER / RESULT
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        audits = list(found["audits"].values())
        made: KeptReview = {
            "state": "done",
            "violations": sum(int(one["violations"]) for one in audits),
            "unsure": sum(int(one["unsure"]) for one in audits),
            "inconclusive": found.get("status") == "inconclusive",
            "when": path.stat().st_mtime,
        }
    except FileNotFoundError:
        return {"state": "none"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return {"state": "failed", "error": f"{path} cannot be read: {error}"}
    report = run / FOLDER / REPORT
    if report.is_file():
        made["report"] = str(report)
    return made
