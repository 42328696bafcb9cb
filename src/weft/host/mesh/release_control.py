"""Release control: values that the rules of the domains file keep back never leave the sender's node.

All servers have the same file and between two servers there is one way, so the sender knows which boundaries a message would
cross.  It leaves out what a rule keeps back on any hop of that way; an interaction of a class that is kept back is not sent at
all.  So kept bytes cross no link, not even those before the boundary.

Commands are not touched: which classes are published, which instances there are and who owns them is the same at all nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft.fabric import ReleaseRule, Topology, kept_back, kept_names
from weft.kernel.federation.plain import callback_from_plain, callback_to_plain
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import Data, Ordered, Share

_VALUES = {"receive_interaction": 1, "reflect_attribute_values": 1, "receive_directed_interaction": 2}
"""Callbacks with values, and where these are."""


class ReleaseControl:
    def __init__(self, topology: Topology, rules: Iterable[ReleaseRule], own: str) -> None:
        self._kept: dict[str, frozenset[str]] = {}  # by destination
        rules = tuple(rules)
        for node in topology.servers if rules else ():
            if node != own and node in topology.next_hops(own):
                kept = _kept_on_way(topology, rules, own, node)
                if kept:
                    self._kept[node] = kept

    def holds_for(self, node: str) -> bool:
        return node in self._kept

    def passed(self, node: str, parcel: object, federation: Federation | None) -> object:
        """The parcel as it may go to that node; None if nothing of it may."""
        if federation is None:
            return None if isinstance(parcel, (Data, Ordered)) else parcel
        if isinstance(parcel, Data):
            return self._data(self._kept[node], parcel, federation)
        if isinstance(parcel, Ordered):
            return self._ordered(self._kept[node], parcel, federation)
        if isinstance(parcel, Share):
            return parcel._replace(data=self._share(self._kept[node], parcel.data, federation))
        return parcel

    def _data(self, kept: frozenset[str], parcel: Data, federation: Federation) -> Data | None:
        at = 2 if parcel.service == "send_directed_interaction" else 1
        arguments = list(parcel.arguments)
        values = _released(kept, federation, arguments[0], arguments[at])
        if values is None:
            return None
        if values is arguments[at]:
            return parcel
        arguments[at] = values
        return parcel._replace(arguments=tuple(arguments))

    def _ordered(self, kept: frozenset[str], parcel: Ordered, federation: Federation) -> Ordered | None:
        """Others wait for a message in causal order: one that is kept back goes as an empty one, which nobody is told of."""
        if parcel.service not in ("send_interaction", "update_attribute_values", "send_directed_interaction"):
            return parcel
        passed = self._data(kept, parcel.plain(), federation)
        if passed is None and not parcel.tag:
            return None
        made = parcel.copy()
        if passed is not None:
            made.arguments = passed.arguments
        else:
            made.service, made.arguments, made.to = "", (), ()
        return made

    def _share(self, kept: frozenset[str], data: dict[int, Any], federation: Federation) -> dict[int, Any]:
        """What a node contributes to a save holds callbacks that have not been taken, with their values."""
        found = {}
        for member, private in data.items():
            held = []
            for method, arguments in map(callback_from_plain, private["held"]):
                at = _VALUES.get(method)
                if at is not None:
                    values = _released(kept, federation, arguments[0], arguments[at])
                    if values is None:
                        continue
                    arguments = (*arguments[:at], values, *arguments[at + 1 :])
                held.append(callback_to_plain(method, arguments))
            found[member] = private | {"held": held}
        return found


def _kept_on_way(topology: Topology, rules: tuple[ReleaseRule, ...], start: str, end: str) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    came_by = ""
    for hop in topology.route(start, end):
        found |= kept_names(rules, came_by, hop.sender, hop.domain, hop.receiver)
        came_by = hop.domain
    return found


def _released(kept: frozenset[str], federation: Federation, target: Any, values: Any) -> Any:
    """The values that may go; None if the message may not.  The target is an interaction class or an instance."""
    interaction = federation.catalog.interaction_classes.get(target)
    members: Any
    if interaction is not None:
        if kept_back(kept, interaction.name):
            return None
        name, members = interaction.name, interaction.parameters
    else:
        instance = federation.instances.get(target)
        if instance is None:
            return None  # it is gone, and nobody would hear of it
        name, members = instance.entry.name, instance.entry.attributes
    sent = list(values) if isinstance(values, dict) else values.handles
    allowed = [h for h in sent if h in members and not kept_back(kept, name, members[h].name)]
    if len(allowed) == len(sent):
        return values
    if not allowed and interaction is None:
        return None
    if isinstance(values, dict):
        return {handle: values[handle] for handle in allowed}
    return values.subset(allowed)
