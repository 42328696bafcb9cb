"""The picture that pages, metrics and the terminal show: nodes, federations, runs, as plain data (pure: time is passed in).

A `Painter` is told what nodes answer and when they do not, and paints on request.  A node is down once it has failed to
answer for `SILENCE` seconds, or says nothing more because its connection or its process is gone; time in which nobody asked
does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.console.merging import DETAILS, NodeReport, federations
from weft.console.patches import without_nulls
from weft.console.rates import rated
from weft.console.surveys import objects, section
from weft.model.json_types import Json, JsonObject

SILENCE = 3.0
SECTIONS = ("classes", "regions", "consumers")
"""What is asked of nodes only while somebody looks at it."""
_OF_SECTION = {
    "classes": ("classes",),
    "regions": ("dimensions", "regions", "regions_left_off", "cells", "channels"),
    "consumers": ("consumers",),
}


@dataclass(frozen=True)
class Look:
    """What a page shows now: of one federation, or of all, the sections that cost something."""

    federation: str | None = None
    sections: frozenset[str] = frozenset()


@dataclass
class _Node:
    name: str
    is_named: bool = False  # by whoever told of it, who knows best
    address: str = ""
    state: str = "starting"
    why: str = ""
    asked: float | None = None  # since when an answer has been due
    answered: float | None = None
    settled: float = float("-inf")  # when it last answered or failed to
    survey: JsonObject = field(default_factory=dict)  # with rates
    plain: JsonObject = field(default_factory=dict)


class Painter:
    """Nodes are told apart by their place: the name by which they were told of, or their address."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}

    def named(self, place: str, name: str = "", address: str = "") -> None:
        """There is a node; it has not answered yet."""
        node = self._nodes.setdefault(place, _Node(name or place))
        if name:
            node.name, node.is_named = name, True
        node.address = address or node.address

    def asked(self, place: str, now: float) -> None:
        node = self._nodes[place]
        if node.asked is None:
            node.asked = now

    def answered(self, place: str, survey: JsonObject, now: float) -> str:
        """What is wrong with the answer; empty if nothing is."""
        node = self._nodes[place]
        node.asked = None
        name = node.name if node.is_named else str(survey.get("node") or node.name)
        for other_place, other in self._nodes.items():
            if other_place != place and other.name == name and other.survey:
                why = (
                    f"{node.address or place} calls itself {name!r}, as {other.address or other_place} does: "
                    "they are not nodes of one fabric; open a console for each"
                )
                self.failed(place, why, now)
                return why
        survey = without_nulls(survey)
        node.name, node.state, node.why, node.answered, node.settled = name, "up", "", now, now
        node.plain, node.survey = survey, rated(survey, node.plain or None)
        return ""

    def failed(self, place: str, why: str, now: float) -> None:
        """It does not answer, and why; whatever was asked is not waited for any more."""
        node = self._nodes[place]
        node.asked, node.settled = None, now
        node.state, node.why = "down", why
        node.plain = {}  # rates begin anew when it is back

    def restarted(self, place: str) -> None:
        node = self._nodes[place]
        node.state, node.why, node.asked = "starting", "", None

    def settled(self, place: str) -> float:
        """When it last answered, or failed to; before all time if neither has happened."""
        return self._nodes[place].settled

    def place_of(self, federation: str, now: float) -> str | None:
        """Where to ask something of a federation: at its home, or at any node that knows it and answers."""
        best = None
        for place, node in self._nodes.items():
            facts = section(section(node.survey, "federations"), federation)
            if facts and self._state(node, now)[0] == "up":
                if facts.get("home") == node.name:
                    return place
                best = best or place
        return best

    def paint(self, now: float) -> JsonObject:
        """Nodes and federations; with all that was told of them."""
        states = {place: self._state(node, now) for place, node in self._nodes.items()}
        nodes: JsonObject = {}
        for place, node in self._nodes.items():
            state, why = states[place]
            name = node.name if node.name not in nodes else f"{node.name} ({node.address or place})"
            nodes[name] = _shown(node, state, why, now)
        told = [
            NodeReport(node.name, node.survey, states[place][0] == "up")
            for place, node in self._nodes.items()
            if node.survey
        ]
        return {"nodes": dict(sorted(nodes.items())), "federations": federations(told)}

    @staticmethod
    def _state(node: _Node, now: float) -> tuple[str, str]:
        if node.asked is not None and now - node.asked >= SILENCE:
            since = node.asked if node.answered is None else max(node.answered, node.asked)
            return "down", f"no answer for {now - since:.0f} s from {node.address or node.name}"
        return node.state, node.why


def _shown(node: _Node, state: str, why: str, now: float) -> JsonObject:
    shown: JsonObject = {"state": state}
    if why:
        shown["why"] = why
    if node.address:
        shown["address"] = node.address
    if node.answered is not None:
        shown["age"] = round(now - node.answered, 1)
    for name in ("version", "server", "fabric", "recording"):
        if name in node.survey:
            shown[name] = node.survey[name]
    return shown


def view(picture: JsonObject, look: Look) -> JsonObject:
    """What a page gets of the picture: details only of what it looks at."""
    wanted = {name for section in look.sections for name in _OF_SECTION.get(section, ())}
    shown: JsonObject = {}
    for name, facts in objects(picture, "federations"):
        mine = wanted if look.federation in (None, name) else frozenset[str]()
        dropped = [detail for detail in DETAILS if detail in facts and detail not in mine]
        shown[name] = {n: v for n, v in facts.items() if n not in dropped} if dropped else facts
    return {**picture, "federations": shown}


def sections_of(looks: Iterable[Look]) -> frozenset[str]:
    """What has to be asked of nodes, for all these."""
    found = {"federates", "server", "fabric", "recording"}
    for look in looks:
        found |= look.sections
    return frozenset(found)


def look_of(message: Json) -> Look:
    """What a page says it shows; raises ValueError, with a reason, where that cannot be."""
    if not isinstance(message, dict) or message.get("type") != "look":
        raise ValueError('a page says {"type": "look", "federation": NAME, "sections": […]}')
    federation, sections = message.get("federation"), message.get("sections", [])
    if federation is not None and not isinstance(federation, str):
        raise ValueError("federation is a name")
    if not isinstance(sections, list) or not all(one in SECTIONS for one in sections):
        raise ValueError(f"sections are of {', '.join(SECTIONS)}")
    return Look(federation, frozenset(sections))
