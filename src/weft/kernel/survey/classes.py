"""A survey's facts of classes: who publishes and subscribes, instances, and how many messages were sent and received.

Declarations are the same at all nodes.  Messages are counted at the node of the federate that sends or receives them, by the
class that was sent; those of federates that have left stay in the sum, so that it never falls.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.fom.catalog import Catalog, InteractionClassEntry, ObjectClassEntry
from weft.fom.orders import NAMES
from weft.kernel.state.federation import Federation
from weft.kernel.state.mom_state import Counts, Tally
from weft.model.handles import Handle
from weft.model.json_types import JsonObject

_ORDERS = {order: name for name, order in NAMES.items()}
_MOM = ("HLAobjectRoot.HLAmanager.HLAfederate", "HLAobjectRoot.HLAmanager.HLAfederation")


def instances(federation: Federation) -> int:
    """Of federates: those that the RTI itself has registered are left out."""
    known = federation.catalog.object_class_names
    own = [federation.objects.of_class.get(known[name].handle, {}) for name in _MOM if name in known]
    return len(federation.instances) - sum(len(one) for one in own)


def classes(federation: Federation, node: str) -> dict[str, JsonObject]:
    """Those that somebody publishes or subscribes to, and those above them."""
    publishers: dict[Handle, dict[str, None]] = {}
    subscribers: dict[Handle, dict[str, None]] = {}
    for member in federation.members.values():
        declared = member.declared
        _enter(publishers, member.name, declared.published, declared.sends, *declared.directs.values())
        _enter(
            subscribers,
            member.name,
            declared.subscribed,
            declared.subscribed_at,
            declared.receives,
            declared.receives_at,
            *declared.directed.values(),
        )
    tallies = [one.tally for one in federation.members.values() if one.node == node]
    sent, received = _messages([*tallies, federation.mom.former_tally])
    catalog = federation.catalog
    found: dict[str, JsonObject] = {}
    for entry in _shown(catalog, {**publishers, **subscribers}):
        handle = entry.handle
        facts = found[entry.name] = {
            "kind": "object" if isinstance(entry, ObjectClassEntry) else "interaction",
            "publishers": list(publishers.get(handle, ())),
            "subscribers": list(subscribers.get(handle, ())),
            "sent": sent.get(handle, 0),
            "received": received.get(handle, 0),
            **_ways(catalog, entry),
        }
        if isinstance(entry, ObjectClassEntry):
            facts["instances"] = len(federation.objects.of_class.get(entry.handle, ()))
    return found


def _enter(table: dict[Handle, dict[str, None]], name: str, *declared: Iterable[Handle]) -> None:
    for handles in declared:
        for handle in handles:
            table.setdefault(handle, {})[name] = None


def _shown(catalog: Catalog, declared: Iterable[Handle]) -> list[ObjectClassEntry | InteractionClassEntry]:
    """In the order of the object model, so that those above come first."""
    wanted: set[Handle] = set()
    every: dict[Handle, ObjectClassEntry | InteractionClassEntry] = {}
    every.update(catalog.object_classes.items())
    every.update(catalog.interaction_classes.items())
    for handle in declared:
        wanted.update([one.handle for one in every[handle].lineage])
    return [entry for handle, entry in every.items() if handle in wanted]


def _messages(tallies: Iterable[Tally]) -> tuple[dict[Handle, int], dict[Handle, int]]:
    """By class: sent, and received."""
    sent: dict[Handle, int] = {}
    received: dict[Handle, int] = {}
    for tally in tallies:
        for counts in (tally.updates_sent, tally.interactions_sent, tally.directed_sent):
            _sum(sent, counts)
        for counts in (tally.reflections_received, tally.interactions_received, tally.directed_received):
            _sum(received, counts)
    return sent, received


def _sum(total: dict[Handle, int], counts: Counts) -> None:
    for (kind, _), count in counts.items():
        total[kind] = total.get(kind, 0) + count


def _ways(catalog: Catalog, entry: ObjectClassEntry | InteractionClassEntry) -> dict[str, str]:
    """Order and transportation as the object model has them; "mixed" where attributes differ, none where there are none."""
    if isinstance(entry, InteractionClassEntry):
        return {"order": _ORDERS[entry.order], "transport": catalog.transportations[entry.transportation]}
    own = [one for one in entry.attributes.values() if one.handle != catalog.privilege]
    if not own:
        return {}
    orders = {_ORDERS[one.order] for one in own}
    ways = {catalog.transportations[one.transportation] for one in own}
    return {
        "order": orders.pop() if len(orders) == 1 else "mixed",
        "transport": ways.pop() if len(ways) == 1 else "mixed",
    }
