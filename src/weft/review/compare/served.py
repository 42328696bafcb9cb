"""What a lake of results says, for the pages of the console: one question from the input, one answer to the output, as JSON.

A process of its own, so that the console need not load what reads tables, and is not held up by a large lake; there is no
Spark in it.  Runs are named as `weft compare` names them, but not by paths: what a page asks for opens no other folder.

    {"lake": …, "ask": "runs"}                                  its federations and runs
    {"lake": …, "ask": "trend", "runs": …, "percent": …, "ms": …}              as `weft trend --json`
    {"lake": …, "ask": "compare", "before": …, "after": …, "percent": …, "ms": …}      as `weft compare --json`

What cannot be answered is {"error": in words}.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.review.compare.comparing import ChangeBounds
    from weft.review.lake.store import Snapshot

MOST_RUNS = 2_000
"""That are listed, the newest; federations are counted with all."""

Question = Mapping[str, object]


def answered(question: Question) -> dict[str, object]:
    """Raises no error for what a question or a lake may have wrong."""
    from weft.model.errors import WeftError
    from weft.model.extras import told

    try:
        snapshot = _snapshot(str(question["lake"]))
        return ANSWERS[str(question["ask"])](snapshot, question)
    except ImportError as error:
        return {"error": str(told(error) or error)}
    except (WeftError, OSError) as error:
        return {"error": str(error)}


def _snapshot(lake: str) -> Snapshot:
    from weft.host.storage import place_of
    from weft.review.errors import ReviewError
    from weft.review.lake.delta import open_lake

    place = place_of(lake)
    if not (place / "run").is_folder():
        raise ReviewError(
            f"There are no results in {place} yet. Review what is recorded, and they are here: weft review {place.parent}"
        )
    return open_lake(place).snapshot()


def _runs(snapshot: Snapshot, question: Question) -> dict[str, object]:
    names = (
        "federation",
        "run",
        "start_ns",
        "status",
        "rows",
        "seconds",
        "violations",
        "unsure",
        "state",
        "error",
    )
    rows = sorted(snapshot.runs.select(list(names)).to_pylist(), key=lambda row: -row["start_ns"])
    federations: dict[str, Counter[str]] = {}
    newest: dict[str, int] = {}
    for row in rows:
        federations.setdefault(row["federation"], Counter())[row["status"]] += 1
        newest.setdefault(row["federation"], row["start_ns"])
    return {
        "lake": str(snapshot.lake.place),
        "federations": [
            {"name": name, "runs": sum(counts.values()), "newest_ns": newest[name], "status": dict(counts)}
            for name, counts in sorted(federations.items())
        ],
        "runs": rows[:MOST_RUNS],
        "left_out": max(0, len(rows) - MOST_RUNS),
    }


def _trend(snapshot: Snapshot, question: Question) -> dict[str, object]:
    from weft.review.compare.chosen import chosen
    from weft.review.compare.figures import runs_of
    from weft.review.compare.told import trend_data
    from weft.review.compare.trending import trend

    runs = chosen(runs_of(snapshot), str(question["runs"]), paths=False)
    return trend_data(trend(snapshot, runs[0].federation, runs, _bounds(question)))


def _compare(snapshot: Snapshot, question: Question) -> dict[str, object]:
    from weft.review.compare.chosen import chosen
    from weft.review.compare.comparing import apart, compare
    from weft.review.compare.figures import runs_of
    from weft.review.compare.told import comparison_data

    runs = runs_of(snapshot)
    names = str(question["before"]), str(question["after"])
    before, after = (chosen(runs, name, paths=False) for name in names)
    apart(names, before, after)
    return comparison_data(compare(snapshot, before, after, _bounds(question)))


def _bounds(question: Question) -> ChangeBounds:
    from weft.review.compare.comparing import ChangeBounds

    return ChangeBounds(float(str(question["percent"])) / 100, float(str(question["ms"])))


ANSWERS: dict[str, Callable[[Snapshot, Question], dict[str, object]]] = {
    "runs": _runs,
    "trend": _trend,
    "compare": _compare,
}


def main() -> None:
    json.dump(answered(json.loads(sys.stdin.read())), sys.stdout)


if __name__ == "__main__":
    main()
