"""Delay Subscription Evaluation, for messages that wait for logical time: who wants them is asked when they are delivered.

Such a message waits for every time-constrained member as its sender's service sent it (`message.pipeline`), under the name of
that service.  What becomes of it for a member is found here: callbacks, or none if the member does not want it by then.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.ddm import matching
from weft.kernel.message import update_rates
from weft.kernel.message.callback_split import legs_of
from weft.kernel.message.directed import directed_to
from weft.kernel.state.federation import Federation, Member, add
from weft.kernel.time import tso_queue
from weft.model.packed import PackedValues


def interaction(
    federation: Federation, member: Member, message: tuple[Any, ...], count: bool
) -> tso_queue.Callbacks:
    sent_class, values, tag, transportation, producer, boxes, *stamp = message
    at = None if boxes is None else matching.from_boxes(boxes)
    received = matching.hears(federation, member, federation.catalog.interaction_classes[sent_class], at)
    if received is None:
        return []
    kept: Any
    if isinstance(values, PackedValues):
        kept = values if received.handle == sent_class else values.subset(received.parameters)
    else:
        kept = {handle: value for handle, value in values.items() if handle in received.parameters}
    if count:
        add(member.tally.interactions_received, sent_class, transportation)
    convey = at is not None and member.switches.convey_region_designator_sets
    regions = matching.conveyed(at) if at is not None and convey else None
    return [("receive_interaction", (received.handle, kept, tag, transportation, producer, regions, *stamp))]


def update(
    federation: Federation, member: Member, message: tuple[Any, ...], count: bool
) -> tso_queue.Callbacks:
    """Of different transportation, or conveyed regions, in separate callbacks."""
    handle, values, tag, producer, carried, *stamp = message
    instance = federation.instances.get(handle)
    known = None if instance is None else federation.known_class(member, instance)
    if instance is None or known is None:
        return []
    where = None if carried is None else matching.from_carried(carried)
    subscribed = matching.wishes(federation, member, known, where) or {}
    sent = list(values) if isinstance(values, dict) else values.handles
    wanted = [attribute for attribute in sent if attribute in subscribed]
    callbacks: tso_queue.Callbacks = []
    for leg in legs_of(instance, member, wanted, where):
        kept = update_rates.part_of(values, leg.attributes or ())
        arguments = (handle, kept, tag, leg.transportation, producer, leg.regions, *stamp)
        callbacks.append(("reflect_attribute_values", arguments))
        if count:
            add(member.tally.reflections_received, instance.entry.handle, leg.transportation)
            instance.reflected |= member.bit
    return callbacks


def directed(
    federation: Federation, member: Member, message: tuple[Any, ...], count: bool
) -> tso_queue.Callbacks:
    sent_class, handle, values, tag, transportation, *rest = message
    instance = federation.instances.get(handle)
    if instance is None:
        return []
    entry = federation.catalog.interaction_classes[sent_class]
    received = directed_to(instance, entry, member)
    if received is None:
        return []
    kept = {parameter: value for parameter, value in values.items() if parameter in received.parameters}
    if count:
        add(member.tally.directed_received, sent_class, transportation)
    return [("receive_directed_interaction", (received.handle, handle, kept, tag, transportation, *rest))]


CALLBACKS: dict[str, tso_queue.Late] = {
    "send_interaction": interaction,
    "update_attribute_values": update,
    "send_directed_interaction": directed,
}
