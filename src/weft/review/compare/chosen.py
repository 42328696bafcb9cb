"""Which runs of a lake somebody means.

Range                        all runs of the federation
Range/2026-11-17             those that began on that day (UTC); also 2026-11, or 2026-11-10..2026-11-16
Range/last:20                the latest; first:20 the oldest
Range/20261117T…-3fa9c1d2    one run, by the name of its folder; the beginning of it is enough if it is the only one
runs/Range/20261117T…        the same, as a path
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from weft.host.recording.runs import find_runs
from weft.host.storage import place_of
from weft.review.compare.figures import RunRow
from weft.review.errors import ReviewError
from weft.review.lake.schema import UNJUDGED

_DAYS = re.compile(r"(\d{4}(?:-\d\d){0,2})(?:\.\.(\d{4}(?:-\d\d){0,2}))?")
_END = re.compile(r"(first|last):(\d+)")


def utc_day(ns: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(ns // 10**9))


def chosen(runs: Sequence[RunRow], text: str, paths: bool = True) -> list[RunRow]:
    """In the order in which they began; raises ReviewError if there are none.

    Those that could not be reviewed, or are only being followed, are left out.  `paths`: the text may also be the path of one.
    """
    federation, rest = _divided(runs, text.rstrip("/"))
    known = [one for one in runs if one.federation == federation]
    found = _of_federation(known, rest) if known else _by_path(runs, text) if paths else []
    judged = [one for one in found if one.status not in UNJUDGED]
    if judged:
        return judged
    if found:
        why = 'weft sql "select run, status, error from run"'
        raise ReviewError(f"{text}: none of {len(found)} runs was reviewed; {why} tells why")
    if known:
        days = sorted({utc_day(one.start_ns) for one in known})
        raise ReviewError(
            f"{text}: no such run; of {federation!r} the lake has {len(known)} runs, from {days[0]} to {days[-1]}"
        )
    there = ", ".join(sorted({one.federation for one in runs})) or "none"
    raise ReviewError(
        f"{text}: there is no such federation in the lake (there are: {there}), and no run that was reviewed into it: "
        "`weft review FOLDER` does that"
    )


def _divided(runs: Sequence[RunRow], text: str) -> tuple[str, str]:
    """Federation and the rest; there may be a stroke in the name of a federation, too."""
    names = {one.federation for one in runs}
    known = max((one for one in names if f"{text}/".startswith(f"{one}/")), key=len, default="")
    return (known, text[len(known) + 1 :]) if known else (text.partition("/")[0], "")


def _of_federation(runs: Sequence[RunRow], rest: str) -> list[RunRow]:
    days, end = _DAYS.fullmatch(rest), _END.fullmatch(rest)
    if not rest:
        return list(runs)
    if end:
        count = int(end[2])
        return list(runs[:count] if end[1] == "first" else runs[max(0, len(runs) - count) :])
    if days:
        first, last = days[1], days[2] or days[1]
        began = [(one, utc_day(one.start_ns)) for one in runs]
        return [one for one, day in began if first <= day[: len(first)] and day[: len(last)] <= last]
    named = [one for one in runs if one.run.startswith(rest)]
    exactly = [one for one in named if one.run == rest]
    if not exactly and len(named) > 1:
        raise ReviewError(
            f"{rest}: {len(named)} runs begin like that: {', '.join(one.run for one in named[:5])} …"
        )
    return exactly or named


def _by_path(runs: Sequence[RunRow], text: str) -> list[RunRow]:
    names = {place.name for place in find_runs(place_of(text))}
    return [one for one in runs if one.run in names]
