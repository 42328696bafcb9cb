"""Rates from counters that only rise.

A counter that is less than before belongs to something that has begun anew: it is counted from zero.  Time is the node's own
monotonic clock, so that a late answer does not look like little traffic; a clock that has not moved on gives no rates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]

SERVER = ("messages", "bytes_in", "bytes_out")
FEDERATE = ("calls", "callbacks", "bytes_in", "bytes_out")
LINK = ("sent", "received")
CLASS = ("sent", "received")
CHANNEL = ("sent", "received")


def increase(new: float, old: float) -> float:
    return new - old if new >= old else new


def with_rates(new: Object, old: Object | None, seconds: float, counters: Iterable[str]) -> Object:
    """A copy of `new` with a member `…_rate` for each counter that was there before, too."""
    made = dict(new)
    if old is None or seconds <= 0:
        return made
    for name in counters:
        value, before = new.get(name), old.get(name)
        if _counts(value) and _counts(before):
            made[f"{name}_rate"] = rounded(increase(value, before) / seconds)  # type: ignore[arg-type]
    return made


def _counts(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def rounded(rate: float) -> float:
    """To what anybody reads, so that a picture does not change because of the eighth digit."""
    return round(rate, 1) if rate < 1000 else round(rate)


def rated(survey: Object, before: Object | None) -> Object:
    """A survey with its rates since the one before, which may have had other sections."""
    old = before or {}
    seconds = float(survey.get("now", 0.0)) - float(old.get("now", 0.0)) if before else 0.0
    made = dict(survey)
    if "server" in survey:
        made["server"] = _server(survey["server"], old.get("server"), seconds)
    if "fabric" in survey:
        links = _each(
            survey["fabric"].get("links", {}), old.get("fabric", {}).get("links", {}), seconds, LINK
        )
        for link in links.values():
            if "since" in link:  # on the node's own clock, which no page has
                link["since"] = max(0, round(float(survey.get("now", 0.0)) - float(link["since"])))
        made["fabric"] = {**survey["fabric"], **({"links": links} if "links" in survey["fabric"] else {})}
    known = old.get("federations", {})
    made["federations"] = {
        name: _federation(one, known.get(name, {}), seconds)
        for name, one in survey.get("federations", {}).items()
    }
    return made


def _server(new: Object, old: Object | None, seconds: float) -> Object:
    made = with_rates(new, old, seconds, SERVER)
    if (
        old is not None
        and seconds > 0
        and _counts(new.get("cpu_seconds"))
        and _counts(old.get("cpu_seconds"))
    ):
        made["cpu"] = round(increase(new["cpu_seconds"], old["cpu_seconds"]) / seconds, 3)
    return made


def _federation(new: Object, old: Object, seconds: float) -> Object:
    made = dict(new)
    federates = {
        name: with_rates(one, _same_one(one, old.get("federates", {}).get(name)), seconds, FEDERATE)
        for name, one in new.get("federates", {}).items()
    }
    made["federates"] = federates
    for section, counters in (("classes", CLASS), ("channels", CHANNEL)):
        if section in new:
            made[section] = _each(new[section], old.get(section, {}), seconds, counters)
    return made


def _same_one(new: Object, old: Object | None) -> Object | None:
    """A federate that has joined again by its old name counts from zero."""
    if old is None or old.get("handle") == new.get("handle"):
        return old
    return dict.fromkeys(FEDERATE, 0)


def _each(new: Object, old: Object, seconds: float, counters: tuple[str, ...]) -> Object:
    return {name: with_rates(one, old.get(name), seconds, counters) for name, one in new.items()}
