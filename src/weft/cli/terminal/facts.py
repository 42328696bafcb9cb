"""What `weft status` and `weft top` know: the surveys of several nodes, merged into one picture (pure).

A picture has `nodes` and `federations`, the latter merged as the console does it (`weft.console.merging`).  Nothing is null:
what is not known is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from weft.console.merging import NodeReport, federations
from weft.console.surveys import SurveyPicture, listed, objects, section
from weft.model.json_types import Json, JsonObject

_OF_THE_NODE = ("server", "fabric", "recording", "version", "now", "wall")


@dataclass(frozen=True)
class SurveyAnswer:
    """What came of asking one address: a survey, or why there is none."""

    address: str
    survey: JsonObject = field(default_factory=dict)
    why: str = ""
    node: str = ""  # as it called itself when it last answered
    age: float = 0.0  # seconds since then


def picture_of(answers: Iterable[SurveyAnswer]) -> SurveyPicture:
    nodes: dict[str, JsonObject] = {}
    surveys: dict[str, JsonObject] = {}
    for answer in answers:
        name = str(answer.survey.get("node") or answer.node or answer.address)
        if answer.why or not answer.survey:
            down: JsonObject = {
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
        _hear_of_others(nodes, name, section(survey, "fabric"))
    merged = federations([NodeReport(name, survey, True) for name, survey in surveys.items()])
    return cast("SurveyPicture", {"nodes": dict(sorted(nodes.items())), "federations": merged})


def _address(survey: JsonObject) -> str:
    return str(section(survey, "server").get("address", ""))


def _apart(survey: JsonObject, name: str, address: str) -> JsonObject:
    """Of another node by a name that is taken: servers of no mesh are all called alike."""
    apart: JsonObject = {}
    for federation, told in objects(survey, "federations"):
        federates = {who: {**one, "node": name} for who, one in objects(told, "federates")}
        apart[f"{federation}@{address}"] = {**told, "home": name, "federates": federates}
    return {**survey, "node": name, "federations": apart}


def _hear_of_others(nodes: dict[str, JsonObject], teller: str, fabric: Mapping[str, Json]) -> None:
    """Nodes that were not asked themselves, as a neighbour sees them."""
    for name, link in objects(fabric, "links"):
        if name not in nodes:
            up = bool(link.get("up"))
            why = f"linked to {teller}" if up else str(link.get("why") or f"no link to {teller}")
            nodes[name] = {"state": "up" if up else "down", "why": why}
    unreachable = section(fabric, "unreachable")
    for name in unreachable:
        if name not in nodes:
            nodes[name] = {"state": "down", "why": str(unreachable[name])}


_TAKEN = ("home", "instances", "strategy", "strategy_fault", "adaptation", "ordered")
"""Of a federation, as a status says it and a survey would."""


def survey_of_status(found: Sequence[Mapping[str, Json]], node: str = "") -> JsonObject:
    """The answer of a node that knows only the older call `query_status`, in the form of a survey."""
    known: JsonObject = {}
    for one in found:
        node = str(one.get("node", node))
        federates: JsonObject = {}
        for told in listed(one, "federates"):
            facts = {key: value for key, value in told.items() if key != "name" and value not in (None, "")}
            federates[str(told["name"])] = facts
        known[str(one["federation"])] = {
            **{key: one[key] for key in _TAKEN if key in one},
            **({"regions_in_time": one["regions"]} if "regions" in one else {}),
            "federates": federates,
        }
    return {"node": node, "federations": known}


# Who blocks whom


@dataclass(frozen=True)
class BlockingFederate:
    """One federate that keeps others waiting."""

    federation: str
    blocker: str
    blocked: tuple[str, ...]  # who waits longest first
    seconds: float  # how long that one has waited
    requested: str  # for which time
    asks: str  # and by which service

    def as_data(self, wall: float = 0.0) -> JsonObject:
        since: JsonObject = {"since": round(wall - self.seconds, 1)} if wall else {}
        return {"federation": self.federation, "blocker": self.blocker, "blocks": list(self.blocked),
                "seconds": self.seconds, "requested": self.requested, "asks": self.asks, **since}  # fmt: skip


def blocks(picture: SurveyPicture) -> list[BlockingFederate]:
    """Who keeps whom waiting, the longest wait first.

    Who waits for somebody that waits too is only a link of the chain, so blockers that do not wait themselves come first.
    """
    found: list[tuple[bool, BlockingFederate]] = []
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
            waits_too = blocker in federates and bool(federates[blocker].get("asks"))
            block = BlockingFederate(name, blocker, tuple(who for _, who in others), seconds,
                          str(first.get("requested", "?")), str(first["asks"]))  # fmt: skip
            found.append((waits_too, block))
    found.sort(key=lambda pair: (pair[0], -pair[1].seconds, pair[1].federation, pair[1].blocker))
    return [block for _, block in found]


NOBODY = "nobody (no federate regulates)"


def wall_of(picture: SurveyPicture) -> float:
    """The latest wall clock that a node has told; 0 if none has."""
    return max((node.get("wall", 0.0) for node in picture["nodes"].values()), default=0.0)


def troubles(picture: SurveyPicture, patience: float) -> list[str]:
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
