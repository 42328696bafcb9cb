"""A survey's facts of federates here that have deadlines or urgent classes (`qos.consumers`)."""

from __future__ import annotations

from typing import Any

from weft.kernel.qos.consumers import Qos, Wish
from weft.kernel.state.effects import LEAST_URGENT
from weft.kernel.state.federation import Federation

Facts = dict[str, Any]


def consumers(federation: Federation) -> dict[str, Facts]:
    return {one.member.name: _consumer(one) for one in federation.qos.attended.values()}


def _consumer(qos: Qos) -> Facts:
    found: Facts = {
        "queue": len(qos.open),
        "handed": qos.handed,
        "missed": sum(qos.missed.values()),
        "classes": _classes(qos),
        "recent": [list(one) for one in qos.recent],
    }
    urgent = [one["priority"] for one in found["classes"].values() if "priority" in one]
    if urgent:
        found["priority"] = min(urgent)
    return found


def _classes(qos: Qos) -> dict[str, Facts]:
    """Those that it has said something of, and those of which it was handed callbacks with a deadline."""
    found: dict[str, Facts] = {}
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


def _said(wish: Wish) -> Facts:
    found: Facts = {}
    if wish.urgency.preemption < LEAST_URGENT:
        found["priority"] = wish.urgency.preemption
    if wish.deadline:
        found["deadline"] = wish.deadline
    return found
