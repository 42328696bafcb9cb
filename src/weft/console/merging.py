"""Surveys of several nodes, merged into one picture of their federations (pure).

A federate's facts come from its own node; of others a node knows little.  Who is a member is for the home of the federation
to say, as long as it answers.  What is counted at each node is summed, what all nodes know is taken once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Object = dict[str, Any]

UNREACHABLE = "unreachable"
COUNTED_CLASS = ("sent", "received", "sent_rate", "received_rate")
LISTED_CLASS = ("publishers", "subscribers")
DETAILS = ("classes", "dimensions", "regions", "regions_left_off", "cells", "channels", "consumers")
"""Members of a federation that only pages that look at them need."""


class NodeReport(NamedTuple):
    """What a node said last, and whether it still answers."""

    node: str
    survey: Object
    is_up: bool


def federations(tellers: Iterable[NodeReport]) -> Object:
    by_name: dict[str, list[tuple[NodeReport, Object]]] = {}
    for told in tellers:
        for name, facts in told.survey.get("federations", {}).items():
            by_name.setdefault(name, []).append((told, facts))
    return {name: _federation(parts) for name, parts in sorted(by_name.items())}


def _federation(parts: list[tuple[NodeReport, Object]]) -> Object:
    parts = sorted(parts, key=lambda part: _rank(*part))
    first = parts[0][1]
    made = {name: value for name, value in first.items() if name not in ("federates", *DETAILS)}
    made["federates"] = _federates(parts)
    for name, merge in _MERGED.items():
        present = [facts[name] for _, facts in parts if name in facts]
        if present:
            made[name] = merge(present)
    return made


def _rank(told: NodeReport, facts: Object) -> tuple[bool, bool, str]:
    """The home first, if it answers; then others that do."""
    return (not told.is_up, facts.get("home") != told.node, told.node)


def _federates(parts: list[tuple[NodeReport, Object]]) -> Object:
    """Parts are in the order of their rank, so the first that speaks of a federate is heard, unless its own node answers."""
    home = next((facts for told, facts in parts if told.is_up and facts.get("home") == told.node), None)
    answering = {told.node: told.is_up for told, _ in parts}
    found: Object = {}
    for told, facts in parts:
        for name, one in facts.get("federates", {}).items():
            if name not in found or (told.is_up and one.get("node") == told.node):
                found[name] = one
    if home is not None:
        known = home.get("federates", {})
        found = {name: _blocked(one, known[name], known) for name, one in found.items() if name in known}
    return {name: _marked(one, answering) for name, one in sorted(found.items())}


def _blocked(one: Object, at_home: Object, members: Object) -> Object:
    """Whom a federate waits for is for the home to say: other nodes know who was behind when the bound last changed."""
    if (
        one.get("blocked_by")
        and at_home.get("blocked_by")
        and one.get("requested") == at_home.get("requested")
    ):
        others = [name for name in one["blocked_by"] if name not in members]
        whom = [name for name in at_home["blocked_by"] if name in members]
        if whom:
            return {**one, "blocked_by": [*others, *whom]}
    return one


def _marked(one: Object, answering: dict[str, bool]) -> Object:
    """Of a federate whose node does not answer nothing is known but where it was."""
    if answering.get(str(one.get("node")), True):
        return one
    return {**{n: v for n, v in one.items() if not n.endswith("_rate")}, "state": UNREACHABLE}


def _classes(present: list[Object]) -> Object:
    made: Object = {}
    for classes in present:
        for name, one in classes.items():
            before = made.get(name)
            made[name] = dict(one) if before is None else _class(before, one)
    return dict(sorted(made.items()))


def _class(before: Object, one: Object) -> Object:
    both = {**one, **before}
    for name in COUNTED_CLASS:
        if name in before and name in one:
            both[name] = before[name] + one[name]
    for name in LISTED_CLASS:
        if name in before or name in one:
            both[name] = sorted({*before.get(name, ()), *one.get(name, ())})
    if "instances" in before and "instances" in one:
        both["instances"] = max(before["instances"], one["instances"])
    return both


def _channels(present: list[Object]) -> Object:
    made: Object = {}
    for channels in present:
        for number, one in channels.items():
            before = made.setdefault(number, {})
            for name, value in one.items():
                before[name] = before.get(name, 0) + value
    return made


def _union(present: list[Object]) -> Object:
    made: Object = {}
    for one in present:
        for name, value in one.items():
            made.setdefault(name, value)
    return made


_MERGED: dict[str, Callable[[list[Any]], Any]] = {
    "classes": _classes,
    "channels": _channels,
    "dimensions": _union,
    "regions": _union,
    "cells": _union,
    "consumers": _union,
    "regions_left_off": sum,
}
