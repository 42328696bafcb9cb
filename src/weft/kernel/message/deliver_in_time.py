"""To members here, some of whom may have to wait: for the time of a message, or until they advance.

With Delay Subscription Evaluation on, a message in time stamp order waits for every time-constrained member, and who wants it is
asked when its time has come (`message.delayed_evaluation`).
"""

from __future__ import annotations

from typing import Any

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.ddm import matching
from weft.kernel.message import update_rates
from weft.kernel.message.recipients import DELAYED
from weft.kernel.state.federation import Audience, Instance, Leg, Member, add
from weft.kernel.state.parcels import unshared
from weft.kernel.state.region_state import Where
from weft.kernel.state.step import Step
from weft.kernel.time import stamps, tso_queue
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues


def hear_in_time(
    step: Step,
    sender: Member,
    audience: Audience,
    sent_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
    tag: bytes,
    transportation: TransportationTypeHandle,
    stamp: tuple[Any, ...],
) -> None:
    """Somebody may have to wait for it."""
    turn = step.turn
    stamped = stamps.is_stamped(stamp)
    late = stamped and step.federation.switch(DELAYED)
    heard: InteractionClassEntry | None = None
    arguments: tuple[Any, ...] = ()
    if late:
        at = None if audience.at is None else matching.boxes(audience.at)
        message = (sent_class, unshared(values), tag, transportation, sender.handle, at, *stamp)
        await_time(step, sender, "send_interaction", message, stamp)
    for received, member in audience.ears:
        if late and member.timing.constrained:
            add(member.tally.interactions_received, sent_class, transportation, -1)  # not yet
            continue
        if received is not heard or not isinstance(values, PackedValues):
            heard = received
            kept: Any
            if isinstance(values, PackedValues):
                kept = values if received.handle == sent_class else values.subset(received.parameters)
            else:
                kept = {handle: value for handle, value in values.items() if handle in received.parameters}
            arguments = (received.handle, kept, tag, transportation, sender.handle, None, *stamp)
        handed = arguments
        if audience.regions is not None and member.switches.convey_region_designator_sets:
            handed = (*arguments[:5], audience.regions, *stamp)
        if stamped:
            tso_queue.arrived(step, member, sender, "receive_interaction", handed, stamp)
        else:
            tso_queue.hand(turn, member, "receive_interaction", handed)


def reflect_in_time(
    step: Step,
    instance: Instance,
    legs: list[Leg],
    sender: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
    where: Where | None = None,
) -> None:
    """Somebody may have to wait for it.  Update rates do not apply to what comes in time stamp order."""
    turn = step.turn
    stamped = stamps.is_stamped(stamp)
    late = stamped and step.federation.switch(DELAYED)
    if late:
        there = None if where is None else matching.carried(where)
        message = (instance.handle, unshared(values), tag, sender.handle, there, *stamp)
        await_time(step, sender, "update_attribute_values", message, stamp)
    for part, leg in enumerate(legs):
        if late and leg.member.timing.constrained:
            if not leg.intervals:
                add(leg.member.tally.reflections_received, instance.entry.handle, leg.transportation, -1)
            continue
        kept = unshared(values) if leg.attributes is None else update_rates.part_of(values, leg.attributes)
        member = leg.member
        arguments = (instance.handle, kept, tag, leg.transportation, sender.handle, leg.regions, *stamp)
        if stamped:
            tso_queue.arrived(step, member, sender, "reflect_attribute_values", arguments, stamp, part)
        else:
            tso_queue.hand(turn, member, "reflect_attribute_values", arguments)


def await_time(
    step: Step,
    sender: Member,
    service: str,
    arguments: tuple[Any, ...],
    stamp: tuple[Any, ...],
) -> None:
    """For every time-constrained member here: if it wants the message is asked when its time has come."""
    federation = step.federation
    for member in federation.members.values():
        if member.node == step.node and member.timing.constrained and member is not sender:
            tso_queue.arrived(step, member, sender, service, arguments, stamp)
