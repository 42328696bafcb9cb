"""To one member: what another order has kept back until now (`message.causal_order`), if the member still wants it."""

from __future__ import annotations

from typing import Any

from weft.interest import Declared
from weft.kernel.ddm import matching
from weft.kernel.message import directed, update_rates
from weft.kernel.message.callback_split import legs_to, paced_legs
from weft.kernel.state.federation import Federation, Instance, Member, add
from weft.kernel.state.step import Step
from weft.kernel.time import tso_queue
from weft.model.enums import OrderType
from weft.model.handles import FederateHandle
from weft.model.packed import PackedValues


def hand_interaction(step: Step, member: Member, producer: FederateHandle, message: tuple[Any, ...]) -> None:
    """If it still wants it."""
    federation = step.federation
    interaction_class, values, tag, transportation = message[0], message[1], message[2], message[3]
    stamp = message[-1]
    at = matching.from_boxes(message[4]) if len(message) > 5 else None
    entry = federation.catalog.interaction_classes[interaction_class]
    received = matching.hears(federation, member, entry, at)
    if received is None:
        return
    convey = at is not None and member.switches.convey_region_designator_sets
    regions = None if at is None or not convey else matching.conveyed(at)
    kept: Any = values
    if isinstance(values, PackedValues):
        if received.handle != interaction_class:
            kept = values.subset(received.parameters)
    elif received.handle == interaction_class:
        kept = dict(values)
    else:
        kept = {handle: value for handle, value in values.items() if handle in received.parameters}
    arguments: tuple[Any, ...] = (received.handle, kept, tag, transportation, producer, regions)
    if stamp:
        arguments += stamp
    add(member.tally.interactions_received, interaction_class, transportation)
    tso_queue.hand(step.turn, member, "receive_interaction", arguments, OrderType.CAUSAL)


def hand_directed(
    step: Step,
    member: Member,
    instance: Instance,
    producer: FederateHandle,
    message: tuple[Any, ...],
) -> None:
    federation = step.federation
    entry = federation.catalog.interaction_classes[message[0]]
    received = directed.directed_to(instance, entry, member)
    if received is not None and instance.knowledge.mask & member.bit:
        sender = sender_of(federation, producer)
        directed.hand_at(step, member, received, sender, message, OrderType.CAUSAL)


def hand_update(
    step: Step,
    member: Member,
    instance: Instance,
    producer: FederateHandle,
    message: tuple[Any, ...],
    last: bool,
) -> None:
    """What it still wants of it, at its rate; at once if the instance is about to be removed (`last`)."""
    turn = step.turn
    federation = step.federation
    values, tag, stamp = message[1], message[2], message[-1]
    where = matching.from_carried(message[3]) if len(message) > 4 else None
    known = federation.known_class(member, instance)
    subscribed = None if known is None else matching.wishes(federation, member, known, where)
    if not subscribed:
        return
    sent = list(values) if isinstance(values, dict) else values.handles
    wanted = [handle for handle in sent if handle in subscribed]
    sender = sender_of(federation, producer)
    if not last and any(subscribed[handle].rate for handle in wanted):
        legs = paced_legs(federation, instance, member, wanted, subscribed, where)
        update_rates.pace(step, instance, legs, sender, values, tag, stamp)
        return
    for leg in legs_to(instance, member, wanted, -1, where):
        kept = update_rates.part_of(values, leg.attributes or ())
        arguments = (instance.handle, kept, tag, leg.transportation, producer, leg.regions, *stamp)
        add(member.tally.reflections_received, instance.entry.handle, leg.transportation)
        instance.reflected |= member.bit
        tso_queue.hand(turn, member, "reflect_attribute_values", arguments, OrderType.CAUSAL)


def sender_of(federation: Federation, handle: FederateHandle) -> Member:
    """Who has resigned has its last words after the news of it."""
    found = federation.rti if handle == federation.rti.handle else federation.members.get(handle)
    if found is not None:
        return found
    return Member(handle, federation.departed.get(handle, ""), "", "", 0, 0, Declared())
