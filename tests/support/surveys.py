"""Surveys for tests: asked of all nodes, looked through, and merged as a console merges them."""

from __future__ import annotations

import json
from typing import Any

from support.federation import NAME, Federation
from weft import RTIambassador

Facts = dict[str, Any]


def asked(rti: RTIambassador, *sections: str) -> Facts:
    """A survey that is what its documentation says: plain data, and nothing in it is null."""
    found = rti.query_survey(sections)
    look_through(found)
    return found


def look_through(value: Any, where: str = "survey") -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            assert isinstance(key, str), f"{where} has the key {key!r}"
            look_through(one, f"{where}.{key}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            look_through(one, f"{where}[{number}]")
    else:
        assert type(value) in (str, int, float, bool), f"{where} is {value!r}"
    if where == "survey":
        assert json.loads(json.dumps(value, allow_nan=False)) == value


def everywhere(f: Federation) -> dict[str, Facts]:
    """By node: what it says of the federation; only those where somebody is joined, or that know of it."""
    found: dict[str, Facts] = {}
    for rti in f.rti:
        one = asked(rti)
        if NAME in one["federations"]:
            found[one["node"]] = one["federations"][NAME]
    return found


def of_federates(surveys: dict[str, Facts]) -> dict[str, Facts]:
    """Each federate's facts, from its own node."""
    return {
        name: facts
        for node, federation in surveys.items()
        for name, facts in federation["federates"].items()
        if facts["node"] == node
    }


def summed(surveys: dict[str, Facts], what: str) -> dict[str, int]:
    """By class: messages over all nodes; classes without any left out."""
    total: dict[str, int] = {}
    for federation in surveys.values():
        for name, facts in federation["classes"].items():
            total[name] = total.get(name, 0) + facts[what]
    return {name: count for name, count in total.items() if count}
