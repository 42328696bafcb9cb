"""What `weft status` and `weft top` know: the surveys of several nodes, merged into one picture (pure).

A picture has `nodes` and `federations`.  A node knows everything of the federates that live on it and little of others, so a
federate's facts are those of its own node; what belongs to a federation as a whole (synchronization points, saves, pauses) is
taken from its home, if that has answered.  Nothing in a picture is null: what is not known is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Facts = dict[str, Any]
"""Plain data, as it comes from a node."""

_OF_THE_NODE = ("server", "fabric", "recording", "version", "now", "wall")
_RATES = ("calls", "callbacks", "bytes_in", "bytes_out")


@dataclass(frozen=True)
class Answer:
    """What came of asking one address: a survey, or why there is none."""

    address: str
    survey: Facts = field(default_factory=dict)
    why: str = ""
    node: str = ""  # as it called itself when it last answered
    age: float = 0.0  # seconds since then


def picture_of(answers: Iterable[Answer]) -> Facts:
    nodes: dict[str, Facts] = {}
    surveys: dict[str, Facts] = {}
    for answer in answers:
        name = str(answer.survey.get("node") or answer.node or answer.address)
        if answer.why or not answer.survey:
            down = {
                "state": "down",
                "why": answer.why,
                "address": answer.address,
                "age": round(answer.age, 1),
            }
            nodes.setdefault(name, down)
            continue
        survey = answer.survey
        if name in surveys:
            if _address(surveys[name]) == _address(survey):
                continue  # asked twice, by two addresses
            name = f"{name}@{answer.address}"
            survey = _apart(survey, name, answer.address)
        told = {key: survey[key] for key in _OF_THE_NODE if key in survey}
        nodes[name] = {"state": "up", "address": answer.address, "age": round(answer.age, 1), **told}
        surveys[name] = survey
    for name, survey in surveys.items():
        _hear_of_others(nodes, name, survey.get("fabric") or {})
    federations: dict[str, Facts] = {}
    for name in sorted({one for survey in surveys.values() for one in survey.get("federations", {})}):
        told_by = {node: found["federations"][name] for node, found in surveys.items()
                   if name in found.get("federations", {})}  # fmt: skip
        federations[name] = _federation(told_by)
    return {"nodes": dict(sorted(nodes.items())), "federations": federations}


def _address(survey: Facts) -> str:
    return str(survey.get("server", {}).get("address", ""))


def _apart(survey: Facts, name: str, address: str) -> Facts:
    """Of another node by a name that is taken: servers of no mesh are all called alike."""
    federations = {}
    for federation, told in survey.get("federations", {}).items():
        federates = {who: {**one, "node": name} for who, one in told["federates"].items()}
        federations[f"{federation}@{address}"] = {**told, "home": name, "federates": federates}
    return {**survey, "node": name, "federations": federations}


def _hear_of_others(nodes: dict[str, Facts], teller: str, fabric: Facts) -> None:
    """Nodes that were not asked themselves, as a neighbour sees them."""
    for name, link in (fabric.get("links") or {}).items():
        if name not in nodes:
            up = bool(link.get("up"))
            why = f"linked to {teller}" if up else str(link.get("why") or f"no link to {teller}")
            nodes[name] = {"state": "up" if up else "down", "why": why}
    for name, why in (fabric.get("unreachable") or {}).items():
        if name not in nodes:
            nodes[name] = {"state": "down", "why": str(why)}


def _federation(told_by: Mapping[str, Facts]) -> Facts:
    """One federation out of what each node tells of it."""
    home = next((one for node, one in told_by.items() if one.get("home") == node), None)
    chief = home or next(iter(told_by.values()))
    merged: Facts = {key: value for key, value in chief.items() if not isinstance(value, dict)}
    merged["federates"] = _federates(told_by, chief)
    for key in sorted({key for one in told_by.values() for key in one} - {"federates", *merged}):
        found = [one[key] for one in [chief, *told_by.values()] if key in one]
        if key in ("classes", "channels"):
            merged[key] = _counted([one[key] for one in told_by.values() if key in one])
        elif key in ("regions", "consumers", "dimensions", "cells"):
            merged[key] = {name: value for one in reversed(found) for name, value in one.items()}
        else:
            merged[key] = found[0]
    return merged


def _federates(told_by: Mapping[str, Facts], chief: Facts) -> dict[str, Facts]:
    found: dict[str, Facts] = {}
    for told in (chief, *told_by.values()):
        for name, one in told.get("federates", {}).items():
            found.setdefault(name, one)
    for node, told in told_by.items():
        theirs = told.get("federates", {})
        found.update({name: one for name, one in theirs.items() if one.get("node") == node})
    return {name: found[name] for name in sorted(found)}


def _counted(tables: list[dict[str, Facts]]) -> dict[str, Facts]:
    """Counters of nodes add up, and so do lists of names; what is no number is as the first says."""
    merged: dict[str, Facts] = {}
    for table in tables:
        for name, one in table.items():
            if name not in merged:
                merged[name] = dict(one)
                continue
            sums = merged[name]
            for key, value in one.items():
                if isinstance(value, list):
                    sums[key] = sorted({*sums.get(key, []), *value})
                elif key == "instances":
                    sums[key] = max(sums.get(key, 0), value)
                elif isinstance(value, (int, float)) and not isinstance(value, bool):
                    sums[key] = sums.get(key, 0) + value
    return merged


def survey_of_status(found: list[Facts], node: str = "") -> Facts:
    """The answer of a node that knows only the older call `query_status`, in the form of a survey."""
    federations: dict[str, Facts] = {}
    for one in found:
        node = str(one.get("node", node))
        federates = {}
        for told in one["federates"]:
            facts = {key: value for key, value in told.items() if key != "name" and value not in (None, "")}
            federates[told["name"]] = facts
        federations[one["federation"]] = {
            **{key: one[key] for key in ("home", "instances", "strategy", "ordered") if key in one},
            **({"regions_in_time": one["regions"]} if "regions" in one else {}),
            "federates": federates,
        }
    return {"node": node, "federations": federations}


# Rates


def rated(survey: Facts, before: Facts) -> Facts:
    """A survey with what has changed since an earlier one of the same node, as rates for each second; `before` may be empty."""
    seconds = survey.get("now", 0.0) - before.get("now", survey.get("now", 0.0))
    if seconds <= 0:
        return survey
    made = dict(survey)
    if "server" in survey and "server" in before:
        counters = ("messages", "bytes_in", "bytes_out", "cpu_seconds")
        rates = _rates(survey["server"], before["server"], counters, seconds)
        if "cpu_seconds_rate" in rates:
            rates["cpu"] = rates.pop("cpu_seconds_rate")
        made["server"] = {**survey["server"], **rates}
    made["federations"] = {}
    for name, federation in survey.get("federations", {}).items():
        old = before.get("federations", {}).get(name, {}).get("federates", {})
        federates = {
            who: {**one, **_rates(one, old.get(who, {}), _RATES, seconds)}
            for who, one in federation["federates"].items()
        }
        made["federations"][name] = {**federation, "federates": federates}
    return made


def _rates(new: Facts, old: Facts, keys: Iterable[str], seconds: float) -> dict[str, float]:
    """A counter that went back belongs to somebody new under the old name: it began at 0."""
    found = {}
    for key in keys:
        if key in new and key in old:
            gone = new[key] - old[key]
            found[f"{key}_rate"] = round((gone if gone >= 0 else new[key]) / seconds, 3)
    return found


# Who blocks whom


@dataclass(frozen=True)
class Block:
    """One federate that keeps others waiting."""

    federation: str
    blocker: str
    blocked: tuple[str, ...]  # who waits longest first
    seconds: float  # how long that one has waited
    requested: str  # for which time
    asks: str  # and by which service

    def as_data(self, wall: float = 0.0) -> Facts:
        since = {"since": round(wall - self.seconds, 1)} if wall else {}
        return {"federation": self.federation, "blocker": self.blocker, "blocks": list(self.blocked),
                "seconds": self.seconds, "requested": self.requested, "asks": self.asks, **since}  # fmt: skip


def blocks(picture: Facts) -> list[Block]:
    """Who keeps whom waiting, the longest wait first.

    Who waits for somebody that waits too is only a link of the chain, so blockers that do not wait themselves come first.
    """
    found: list[tuple[bool, Block]] = []
    for name, federation in picture["federations"].items():
        waiting: dict[str, list[tuple[float, str]]] = {}
        federates = federation["federates"]
        for who, one in federates.items():
            if one.get("asks"):
                for blocker in one.get("blocked_by") or [NOBODY]:
                    waiting.setdefault(blocker, []).append((float(one.get("seconds", 0.0)), who))
        for blocker, others in waiting.items():
            others.sort(key=lambda pair: (-pair[0], pair[1]))
            seconds, longest = others[0]
            first = federates[longest]
            waits_too = bool(federates.get(blocker, {}).get("asks"))
            block = Block(name, blocker, tuple(who for _, who in others), seconds,
                          str(first.get("requested", "?")), str(first["asks"]))  # fmt: skip
            found.append((waits_too, block))
    found.sort(key=lambda pair: (pair[0], -pair[1].seconds, pair[1].federation, pair[1].blocker))
    return [block for _, block in found]


NOBODY = "nobody (no federate regulates)"


def longest_wait(picture: Facts) -> float:
    return max((block.seconds for block in blocks(picture)), default=0.0)


def wall_of(picture: Facts) -> float:
    """The latest wall clock that a node has told; 0 if none has."""
    return max((node.get("wall", 0.0) for node in picture["nodes"].values()), default=0.0)


def troubles(picture: Facts, patience: float) -> list[str]:
    """Why somebody should look: nodes that are down, federates that wait for longer than `patience` seconds."""
    found = [
        f"node {name} is down: {node.get('why') or 'it does not answer'}"
        for name, node in picture["nodes"].items()
        if node["state"] == "down"
    ]
    return found + [
        f"{block.blocked[0]} of {block.federation} has waited {block.seconds:g} s for {block.blocker}"
        for block in blocks(picture)
        if block.seconds > patience
    ]
