"""A survey's facts of federates here that have deadlines or urgent classes (`qos.consumers`)."""

from __future__ import annotations

from weft.kernel.qos.consumers import Qos, Wish
from weft.kernel.state.effects import LEAST_URGENT
from weft.kernel.state.federation import Federation
from weft.model.json_types import JsonObject


def consumers(federation: Federation) -> dict[str, JsonObject]:
    return {one.member.name: _consumer(one) for one in federation.qos.attended.values()}


def _consumer(qos: Qos) -> JsonObject:
    told = _classes(qos)
    found: JsonObject = {
        "queue": len(qos.open),
        "handed": qos.handed,
        "missed": sum(qos.missed.values()),
        "classes": told,
        "recent": [list(one) for one in qos.recent],
    }
    urgent = [priority for one in told.values() if isinstance(priority := one.get("priority"), int)]
    if urgent:
        found["priority"] = min(urgent)
    return found


def _classes(qos: Qos) -> dict[str, JsonObject]:
    """Those that it has said something of, and those of which it was handed callbacks with a deadline."""
    found: dict[str, JsonObject] = {}
    for handle, wish in qos.classes.items():
        entry = qos.entry(handle)
        if entry is not None:
            found[entry.name] = _said(wish)
    for name, record in qos.records.items():
        facts = found[name] = _said(record.wish)
        facts["handed"] = record.handed
        facts["missed"] = qos.missed.get(name, 0)
        if record.dealt:
            facts["laxity"] = record.laxity
    return found


def _said(wish: Wish) -> JsonObject:
    found: JsonObject = {}
    if wish.urgency.preemption < LEAST_URGENT:
        found["priority"] = wish.urgency.preemption
    if wish.deadline:
        found["deadline"] = wish.deadline
    return found
