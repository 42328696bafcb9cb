"""A survey's facts of what goes on in steps: synchronization points, a save, a restore; and whom each waits for."""

from __future__ import annotations

from collections.abc import Iterable

from weft.kernel.federation import timed_saves
from weft.kernel.state.federation import Federation
from weft.kernel.state.save_state import AskedSave, Saving
from weft.model.enums import SaveStatus
from weft.model.handles import FederateHandle
from weft.model.json_types import JsonObject


def points(federation: Federation) -> dict[str, JsonObject]:
    return {
        label: {
            "tag": readable(point.tag),
            "waits_for": names(federation, point.waiting),
            "achieved": names(federation, point.achieved),
        }
        for label, point in federation.points.items()
    }


def save(federation: Federation, node: str) -> dict[str, JsonObject]:
    """The one that is under way; else the one that waits for its time; else one that is being asked about."""
    going = federation.saves.saving
    if going is not None:
        return {"save": _going(federation, going)}
    home = federation.home == node
    if federation.saves.scheduled is not None:
        label, time = federation.saves.scheduled
        found: JsonObject = {"label": label, "state": "scheduled", "time": time.value}
        if home:
            late = [one.handle for one in timed_saves.not_there(federation)]
            found["waits_for"] = names(federation, late)
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
    found: JsonObject = {"label": going.label, "state": state, "waits_for": names(federation, [*told, *busy])}
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


def restore(federation: Federation) -> dict[str, JsonObject]:
    going = federation.saves.restoring
    if going is None:
        return {}
    found: JsonObject = {"label": going.label, "state": "requested", "waits_for": []}
    if going.data is not None:
        found["state"] = "restoring"
        found["waits_for"] = names(federation, [one for one in going.handles if one not in going.done])
    if going.failure is not None:
        found["failure"] = going.failure.name
    return {"restore": found}


def names(federation: Federation, handles: Iterable[FederateHandle]) -> list[str]:
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
