"""Rates from counters that only rise.

A counter that is less than before belongs to something that has begun anew: it is counted from zero.  Time is the node's own
monotonic clock, so that a late answer does not look like little traffic; a clock that has not moved on gives no rates.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.console.surveys import Facts, number, objects, section
from weft.model.json_types import JsonObject

SERVER = ("messages", "bytes_in", "bytes_out")
FEDERATE = ("calls", "callbacks", "bytes_in", "bytes_out")
TRAFFIC = ("sent", "received")
"""Of a link, a class and a channel."""


def increase(new: float, old: float) -> float:
    return new - old if new >= old else new


def with_rates(new: Facts, old: Facts | None, seconds: float, counters: Iterable[str]) -> JsonObject:
    """Return a copy of `new` with a member `…_rate` for each counter that was there before, too."""
    made = dict(new)
    if old and seconds > 0:
        for name in counters:
            value, before = number(new, name), number(old, name)
            if value is not None and before is not None:
                rate = increase(value, before) / seconds
                # To what anybody reads, so that a picture does not change because of the eighth digit.
                made[f"{name}_rate"] = round(rate, 1) if rate < 1000 else round(rate)
    return made


def rated(survey: Facts, before: Facts | None) -> JsonObject:
    """Return a survey with its rates since the one before, which may have had other sections."""
    old = before or {}
    now = number(survey, "now") or 0.0
    seconds = now - (number(old, "now") or 0.0) if before else 0.0
    made = dict(survey)
    if "server" in survey:
        made["server"] = _server(section(survey, "server"), section(old, "server"), seconds)
    if "fabric" in survey:
        fabric = section(survey, "fabric")
        made["fabric"] = {**fabric, **_links(fabric, section(old, "fabric"), now, seconds)}
    known = section(old, "federations")
    made["federations"] = {
        name: _federation(one, section(known, name), seconds) for name, one in objects(survey, "federations")
    }
    return made


def _links(new: Facts, old: Facts, now: float, seconds: float) -> JsonObject:
    if "links" not in new:
        return {}
    links = _each(new, old, "links", seconds)
    for link in links.values():
        since = number(link, "since")
        if since is not None:  # on the node's own clock, which no page has
            link["since"] = max(0, round(now - since))
    return {"links": links}


def _server(new: Facts, old: Facts, seconds: float) -> JsonObject:
    made = with_rates(new, old, seconds, SERVER)
    used, before = number(new, "cpu_seconds"), number(old, "cpu_seconds")
    if seconds > 0 and used is not None and before is not None:
        made["cpu"] = round(increase(used, before) / seconds, 3)
    return made


def _federation(new: Facts, old: Facts, seconds: float) -> JsonObject:
    made = dict(new)
    known = section(old, "federates")
    made["federates"] = {
        name: with_rates(one, _same_one(one, section(known, name)), seconds, FEDERATE)
        for name, one in objects(new, "federates")
    }
    for name in ("classes", "channels"):
        if name in new:
            made[name] = _each(new, old, name, seconds)
    return made


def _same_one(new: Facts, old: Facts) -> Facts:
    """A federate that has joined again by its old name counts from zero."""
    if not old or old.get("handle") == new.get("handle"):
        return old
    return dict.fromkeys(FEDERATE, 0)


def _each(new: Facts, old: Facts, name: str, seconds: float) -> dict[str, JsonObject]:
    before = section(old, name)
    return {key: with_rates(one, section(before, key), seconds, TRAFFIC) for key, one in objects(new, name)}
