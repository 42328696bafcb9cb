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
from weft.fom.catalog import ObjectClassEntry
from weft.kernel.federation.plain import callback_from_plain, callback_to_plain
from weft.kernel.state.federation import Federation
from weft.kernel.state.messages import (
    DirectedInteraction,
    Interaction,
    Message,
    Nothing,
    Update,
    attributes_of,
)
from weft.kernel.state.parcels import Data, Ordered, Share
from weft.model.deliveries import (
    DeliveredDirectedInteraction,
    DeliveredInteraction,
    Delivery,
    ParameterValues,
    Reflection,
    Removal,
    delivery_from,
)
from weft.model.handles import AttributeHandle, InteractionClassHandle


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
        passed = _released(kept, federation, parcel.message)
        if passed is None or passed is parcel.message:
            return None if passed is None else parcel
        return Data(parcel.federation, parcel.execution, parcel.after, passed, parcel.only)

    def _ordered(self, kept: frozenset[str], parcel: Ordered, federation: Federation) -> Ordered | None:
        """Others wait for a message in causal order: one that is kept back goes as an empty one, which nobody is told of."""
        if not isinstance(parcel.message, (Interaction, Update, DirectedInteraction)):
            return parcel
        passed = _released(kept, federation, parcel.message)
        if passed is None and not parcel.tag:
            return None
        made = parcel.copy()
        if passed is not None:
            made.message = passed
        else:
            made.message, made.to = Nothing(parcel.message.sender), ()
            made.message.number = parcel.message.number
        return made

    def _share(self, kept: frozenset[str], data: dict[int, Any], federation: Federation) -> dict[int, Any]:
        """What a node contributes to a save holds callbacks that have not been taken, with their values."""
        found = {}
        for member, private in data.items():
            held = []
            for method, arguments in map(callback_from_plain, private["held"]):
                delivery = delivery_from(method, arguments)
                if delivery is not None and not isinstance(delivery, Removal):
                    delivery = _released_delivery(kept, federation, delivery)
                    if delivery is None:
                        continue
                    arguments = delivery.arguments()
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


def _released(kept: frozenset[str], federation: Federation, message: Message) -> Message | None:
    """The message as it may go; None if nothing of it may."""
    if isinstance(message, Update):
        instance = federation.instances.get(message.instance)
        if instance is None:
            return None  # it is gone, and nobody would hear of it
        sent = message.attributes()
        allowed = _allowed_attributes(kept, instance.entry, sent)
        if len(allowed) == len(sent):
            return message
        return message.part(tuple(allowed)) if allowed else None
    if isinstance(message, (Interaction, DirectedInteraction)):
        values = _allowed_parameters(kept, federation, message.interaction_class, message.values)
        if values is None or values is message.values:
            return None if values is None else message
        return message.with_values(values)
    return message


def _released_delivery(kept: frozenset[str], federation: Federation, delivery: Delivery) -> Delivery | None:
    if isinstance(delivery, Reflection):
        instance = federation.instances.get(delivery.instance)
        if instance is None:
            return None
        sent = list(delivery.values) if isinstance(delivery.values, dict) else delivery.values.handles
        allowed = _allowed_attributes(kept, instance.entry, sent)
        if len(allowed) == len(sent):
            return delivery
        if not allowed:
            return None
        part = delivery.copied()
        part.values = attributes_of(delivery.values, tuple(allowed))
        return part
    if isinstance(delivery, (DeliveredInteraction, DeliveredDirectedInteraction)):
        values = _allowed_parameters(kept, federation, delivery.interaction_class, delivery.values)
        if values is None:
            return None
        made = delivery.copied()
        made.values = values
        return made
    return delivery


def _allowed_attributes(
    kept: frozenset[str], entry: ObjectClassEntry, sent: list[AttributeHandle]
) -> list[AttributeHandle]:
    return [
        handle
        for handle in sent
        if handle in entry.attributes and not kept_back(kept, entry.name, entry.attributes[handle].name)
    ]


def _allowed_parameters(
    kept: frozenset[str],
    federation: Federation,
    interaction_class: InteractionClassHandle,
    values: ParameterValues,
) -> ParameterValues | None:
    """The values that may go; None if an interaction of that class may not."""
    entry = federation.catalog.interaction_classes[interaction_class]
    if kept_back(kept, entry.name):
        return None
    sent = list(values) if isinstance(values, dict) else values.handles
    allowed = [
        handle
        for handle in sent
        if handle in entry.parameters and not kept_back(kept, entry.name, entry.parameters[handle].name)
    ]
    if len(allowed) == len(sent):
        return values
    if isinstance(values, dict):
        return {handle: values[handle] for handle in allowed}
    return values.subset(allowed)
