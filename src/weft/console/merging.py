"""Surveys of several nodes, merged into one picture of their federations (pure).

A federate's facts come from its own node; of others a node knows little.  Who is a member is for the home of the federation
to say, as long as it answers.  What is counted at each node is summed, what all nodes know is taken once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from weft.console.surveys import Facts, number, objects, section, texts
from weft.model.json_types import JsonObject

UNREACHABLE = "unreachable"
COUNTED_CLASS = ("sent", "received", "sent_rate", "received_rate")
LISTED_CLASS = ("publishers", "subscribers")
DETAILS = ("classes", "dimensions", "regions", "regions_left_off", "cells", "channels", "consumers")
"""Members of a federation that only pages that look at them need."""


class NodeReport(NamedTuple):
    """What a node said last, and whether it still answers."""

    node: str
    survey: Facts
    is_up: bool


def federations(tellers: Iterable[NodeReport]) -> JsonObject:
    by_name: dict[str, list[tuple[NodeReport, Facts]]] = {}
    for told in tellers:
        for name, facts in objects(told.survey, "federations"):
            by_name.setdefault(name, []).append((told, facts))
    return {name: _federation(parts) for name, parts in sorted(by_name.items())}


def _federation(parts: list[tuple[NodeReport, Facts]]) -> JsonObject:
    parts = sorted(parts, key=lambda part: _rank(*part))
    first = parts[0][1]
    made = {name: value for name, value in first.items() if name not in ("federates", *DETAILS)}
    made["federates"] = _federates(parts)
    for name, merge in _MERGED.items():
        present = [section(facts, name) for _, facts in parts if name in facts]
        if present:
            made[name] = merge(present)
    left_off = [number(facts, LEFT_OFF) or 0 for _, facts in parts if LEFT_OFF in facts]
    if left_off:
        made[LEFT_OFF] = sum(left_off)
    return made


def _rank(told: NodeReport, facts: Facts) -> tuple[bool, bool, str]:
    """The home first, if it answers; then others that do."""
    return (not told.is_up, facts.get("home") != told.node, told.node)


def _federates(parts: list[tuple[NodeReport, Facts]]) -> JsonObject:
    """Parts are in the order of their rank, so the first that speaks of a federate is heard, unless its own node answers."""
    home = next((facts for told, facts in parts if told.is_up and facts.get("home") == told.node), None)
    answering = {told.node: told.is_up for told, _ in parts}
    found: dict[str, Facts] = {}
    for told, facts in parts:
        for name, one in objects(facts, "federates"):
            if name not in found or (told.is_up and one.get("node") == told.node):
                found[name] = one
    if home is not None:
        known = section(home, "federates")
        found = {
            name: _blocked(one, section(known, name), known) for name, one in found.items() if name in known
        }
    return {name: _marked(one, answering) for name, one in sorted(found.items())}


def _blocked(one: Facts, at_home: Facts, members: Facts) -> Facts:
    """Whom a federate waits for is for the home to say: other nodes know who was behind when the bound last changed."""
    here, there = texts(one, "blocked_by"), texts(at_home, "blocked_by")
    if here and there and one.get("requested") == at_home.get("requested"):
        others = [name for name in here if name not in members]
        whom = [name for name in there if name in members]
        if whom:
            return {**one, "blocked_by": [*others, *whom]}
    return one


def _marked(one: Facts, answering: dict[str, bool]) -> Facts:
    """Of a federate whose node does not answer nothing is known but where it was."""
    if answering.get(str(one.get("node")), True):
        return one
    return {**{n: v for n, v in one.items() if not n.endswith("_rate")}, "state": UNREACHABLE}


def _classes(present: Sequence[Facts]) -> JsonObject:
    made: dict[str, Facts] = {}
    for classes in present:
        for name in classes:
            one = section(classes, name)
            made[name] = _class(made[name], one) if name in made else one
    return dict(sorted(made.items()))


def _class(before: Facts, one: Facts) -> JsonObject:
    both = {**one, **before}
    for name in COUNTED_CLASS:
        if name in before and name in one:
            both[name] = (number(before, name) or 0) + (number(one, name) or 0)
    for name in LISTED_CLASS:
        if name in before or name in one:
            both[name] = sorted({*texts(before, name), *texts(one, name)})
    if "instances" in before and "instances" in one:
        both["instances"] = max(number(before, "instances") or 0, number(one, "instances") or 0)
    return both


def _channels(present: Sequence[Facts]) -> JsonObject:
    made: dict[str, dict[str, float]] = {}
    for channels in present:
        for channel in channels:
            sums = made.setdefault(channel, {})
            one = section(channels, channel)
            for name in one:
                sums[name] = sums.get(name, 0) + (number(one, name) or 0)
    return dict(made)


def _union(present: Sequence[Facts]) -> JsonObject:
    made: JsonObject = {}
    for one in present:
        made = {**one, **made}
    return made


_MERGED: dict[str, Callable[[Sequence[Facts]], JsonObject]] = {
    "classes": _classes,
    "channels": _channels,
    "dimensions": _union,
    "regions": _union,
    "cells": _union,
    "consumers": _union,
}
LEFT_OFF = "regions_left_off"
