"""What a node knows of its federations just now, as plain data: the own call `survey` (docs/reference/survey.md has every key).

What this node does not know is left out: of a federate that lives elsewhere there is its name and place and, at the home, what
it last reported.  Whoever asks several nodes takes each federate's facts from its own node.

Nothing is counted for this on the way of a message but what is counted anyway (`Federation.count_up`).  A survey costs a look at
each federate; sections that are not asked for cost nothing.

    weft.kernel.survey.federates    each federate, where it is in time, whom it waits for, and its deadlines
    weft.kernel.survey.classes      classes: who publishes and subscribes, how much was sent and received
    weft.kernel.survey.regions      regions, the partitions of the strategy, channels
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from weft.kernel.federation import operator, timed_saves
from weft.kernel.mom.mom_objects import VERSION
from weft.kernel.state.federation import Federation
from weft.kernel.state.save_state import AskedSave, Saving
from weft.kernel.survey import classes, federates, regions
from weft.model.enums import SaveStatus
from weft.model.errors import RTIinternalError
from weft.model.handles import FederateHandle
from weft.model.json_types import JsonObject

SECTIONS: Final = ("federates", "classes", "regions", "consumers", "fabric", "server", "recording")
"""What may be asked for; `federates` is always in the answer."""


class Surroundings:
    """What the host of a node adds.  Each host has one of its own; without one there is only what the kernel knows."""

    def of_node(self, sections: frozenset[str], now: float) -> JsonObject:
        """Beside the federations: `wall`, and the sections `server`, `fabric`, `recording`."""
        return {}

    def of_sessions(self, now: float) -> Mapping[int, JsonObject]:
        """Of the federates that are connected here, by the kernel's number of their session."""
        return {}


def survey(
    federations: Mapping[str, Federation],
    node: str,
    asked: object,
    now: float,
    surroundings: Surroundings | None,
) -> JsonObject:
    sections = chosen(asked)
    around = Surroundings() if surroundings is None else surroundings
    sessions = around.of_sessions(now)
    return {
        "node": node,
        "version": VERSION.removeprefix("Weft "),
        "now": now,
        **around.of_node(sections, now),
        "federations": {
            name: _federation(federation, node, sections, now, sessions)
            for name, federation in federations.items()
        },
    }


def chosen(asked: object) -> frozenset[str]:
    """The sections of a question; none named: all."""
    if not isinstance(asked, (list, tuple)) or not all(isinstance(one, str) for one in asked):
        raise RTIinternalError(f"the sections of a survey are a list of names, not {asked!r}")
    unknown = [one for one in asked if one not in SECTIONS]
    if unknown:
        raise RTIinternalError(
            f"a survey has no section {', '.join(map(repr, unknown))}; there are {', '.join(SECTIONS)}"
        )
    return frozenset(asked or SECTIONS)


def _federation(
    federation: Federation,
    node: str,
    sections: frozenset[str],
    now: float,
    sessions: Mapping[int, JsonObject],
) -> JsonObject:
    federation.count_up()
    found: JsonObject = {
        "home": federation.home,
        "instances": classes.instances(federation),
        **regions.strategy(federation),
        "time_type": federation.time.name,
        "ordered": federates.ordered(federation),
        "regions_in_time": federates.regions_in_time(federation),
        "synchronization": _points(federation),
        **_save(federation, node),
        **_restore(federation),
        "federates": federates.federates(federation, node, now, sessions),
    }
    paused = operator.paused_facts(federation, now)
    if paused is not None:
        found["paused"] = paused
    if "classes" in sections:
        found["classes"] = classes.classes(federation, node)
    if "regions" in sections:
        found.update(regions.regions(federation))
        found["channels"] = regions.channels(federation, node)
    if "consumers" in sections:
        found["consumers"] = federates.consumers(federation)
    return found


# --- what goes on in steps, and whom it waits for -------------------------------------------------------------


def _points(federation: Federation) -> dict[str, JsonObject]:
    return {
        label: {
            "tag": readable(point.tag),
            "waits_for": _names(federation, point.waiting),
            "achieved": _names(federation, point.achieved),
        }
        for label, point in federation.points.items()
    }


def _save(federation: Federation, node: str) -> dict[str, JsonObject]:
    """The one that is under way; else the one that waits for its time; else one that is being asked about."""
    going = federation.saves.saving
    if going is not None:
        return {"save": _going(federation, going)}
    home = federation.home == node
    if federation.saves.scheduled is not None:
        label, time = federation.saves.scheduled
        found: JsonObject = {"label": label, "state": "scheduled", "time": time.value}
        if home:
            found["waits_for"] = [one.name for one in timed_saves.not_there(federation, time)]
        return {"save": found}
    if federation.saves.asked:
        asked = federation.saves.asked[0]
        found = {"label": asked.label, "state": "requested", "time": asked.time.value}
        if home:
            found["waits_for"] = _silent(federation, asked)
        return {"save": found}
    return {}


def _going(federation: Federation, going: Saving) -> JsonObject:
    """First everybody has to begin, then to complete; then the home's host writes it."""
    told = [one for one, status in going.status.items() if status is SaveStatus.FEDERATE_INSTRUCTED_TO_SAVE]
    busy = [one for one, status in going.status.items() if status is SaveStatus.FEDERATE_SAVING]
    state = "writing" if going.writing else "instructed" if told else "saving"
    found: JsonObject = {
        "label": going.label,
        "state": state,
        "waits_for": _names(federation, [*told, *busy]),
    }
    if going.time is not None:
        found["time"] = going.time.value
    if going.failure is not None:
        found["failure"] = going.failure.name
    return found


def _silent(federation: Federation, asked: AskedSave) -> list[str]:
    """The nodes that have not said yet how far their federates have come."""
    table = federation.clock.timetable
    seen = {} if table is None else table.seen
    return [
        f"node {node}"
        for node in federation.nodes
        if node != federation.home and seen.get(node, 0) < asked.version
    ]


def _restore(federation: Federation) -> dict[str, JsonObject]:
    going = federation.saves.restoring
    if going is None:
        return {}
    found: JsonObject = {"label": going.label, "state": "requested", "waits_for": []}
    if going.data is not None:
        found["state"] = "restoring"
        found["waits_for"] = _names(federation, [one for one in going.handles if one not in going.done])
    if going.failure is not None:
        found["failure"] = going.failure.name
    return {"restore": found}


def _names(federation: Federation, handles: Iterable[FederateHandle]) -> list[str]:
    """Of those who are still there."""
    found = [federation.members.get(handle) for handle in handles]
    return [member.name for member in found if member is not None]


def readable(tag: bytes) -> str:
    """A tag as text if it is some, else in hexadecimal digits."""
    try:
        text = tag.decode()
    except UnicodeDecodeError:
        return tag.hex()
    return text if text.isprintable() else tag.hex()
