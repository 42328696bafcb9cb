"""The way of a directed interaction: to the members that subscribe to it for the class of its target.

These own something of the target, or have subscribed universally.  Who they are is asked for each anew, since ownership moves.
"""

from __future__ import annotations

from typing import Any

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.message import deliver_in_time, other_nodes
from weft.kernel.message.recipients import DELAYED
from weft.kernel.recording import message_rows
from weft.kernel.state import overrides, preconditions
from weft.kernel.state.effects import Transmit
from weft.kernel.state.federation import Instance, Member, add
from weft.kernel.state.parcels import Data
from weft.kernel.state.step import Step
from weft.kernel.time import stamps, tso_queue
from weft.kernel.time.stamps import NO_RETRACTION
from weft.model.enums import OrderType
from weft.model.errors import InteractionClassNotPublished
from weft.model.handles import InteractionClassHandle, ObjectInstanceHandle, ParameterHandle
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime


def send_directed_interaction(
    step: Step,
    interaction_class: InteractionClassHandle,
    object_instance: ObjectInstanceHandle,
    values: dict[ParameterHandle, bytes],
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    """To the members that subscribe to it for the target's class: owners of the target, or universal subscribers."""
    federation = step.federation
    member = step.member
    entry = preconditions.interaction_class(federation, interaction_class)
    instance = preconditions.known_instance(federation, member, object_instance)
    if not member.declared.may_direct(instance.entry, interaction_class):
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name} as directed to {instance.entry.name} or a class above it"
        )
    preconditions.parameters(entry, values)
    for handle, value in values.items():
        preconditions.encoded(entry.parameters[handle].name, value)
    preconditions.encoded("the user-supplied tag", tag)
    transportation = member.interaction_transportations.get(interaction_class, entry.transportation)
    carried = stamps.carried(federation, time)
    arguments = (interaction_class, object_instance, dict(values), tag, transportation, carried)
    if federation.ordered or order is not None:
        if federation.orders.directs(step, arguments, order):
            add(member.tally.directed_sent, interaction_class, transportation)
            return None if time is None else NO_RETRACTION
    asked = overrides.interaction_order(member, entry) if order is None else order
    stamp = stamps.stamp(federation, member, time, asked)
    add(member.tally.directed_sent, interaction_class, transportation)
    nodes = direct(step, instance, entry, (*arguments[:5], stamp))
    if time is None:
        return None
    return stamps.sent(federation, member, stamp, nodes) if stamp[3] else NO_RETRACTION


def direct(
    step: Step,
    instance: Instance,
    entry: InteractionClassEntry,
    arguments: tuple[Any, ...],
) -> tuple[str, ...]:
    """In receive or time stamp order, to members here and elsewhere; returns the other nodes."""
    federation = step.federation
    member = step.member
    delayed = federation.switch(DELAYED)
    number = message_rows.number_for(step, arguments[5])
    step.turn.number = number
    if federation.recorder is not None:
        whom: list[int] | None = None
        if not delayed:
            whom = [
                other.handle.number
                for other in federation.seated(instance.knowledge.mask & ~member.bit)
                if directed_to(instance, entry, other) is not None
            ]
        message_rows.directed(step, federation.recorder, member, entry, arguments, whom, number)
    direct_here(step, member, arguments)
    nodes = {
        other.node: None
        for other in federation.members.values()
        if other.node != step.node
        and (delayed or other.declared.directed_class(instance.entry, entry) is not None)
    }
    message = Data(
        federation.name,
        federation.execution,
        federation.sequence,
        member.handle,
        "send_directed_interaction",
        arguments,
        message_rows.carried(number, arguments[5]),
    )
    reliable = other_nodes.goes_reliably(federation, arguments[4])
    for node in nodes:
        step.effects.append(Transmit(node, message, reliable))
    return tuple(nodes)


def direct_here(step: Step, sender: Member, message: tuple[Any, ...]) -> None:
    federation = step.federation
    interaction_class, object_instance = message[:2]
    entry = federation.catalog.interaction_classes[interaction_class]
    instance = federation.instances.get(object_instance)
    if instance is None:
        return
    late = stamps.is_stamped(message[5]) and federation.switch(DELAYED)
    if late:
        waiting = (*message[:5], sender.handle, *message[5])
        deliver_in_time.await_time(step, sender, "send_directed_interaction", waiting, message[5])
    for member in federation.seated(instance.knowledge.mask):
        if late and member.timing.constrained:
            continue
        if member is not sender and member.node == step.node:
            received = directed_to(instance, entry, member)
            if received is not None:
                hand_at(step, member, received, sender, message)


def receivers(
    step: Step,
    sender: Member,
    entry: InteractionClassEntry,
    target: ObjectInstanceHandle,
) -> list[int] | None:
    """Who gets it here, for the recorder; None: that is asked when its time has come."""
    federation = step.federation
    if federation.switch(DELAYED):
        return None
    instance = federation.instances.get(target)
    if instance is None:
        return []
    return [
        member.handle.number
        for member in federation.seated(instance.knowledge.mask)
        if member is not sender
        and member.node == step.node
        and directed_to(instance, entry, member) is not None
    ]


def directed_to(
    instance: Instance, entry: InteractionClassEntry, member: Member
) -> InteractionClassEntry | None:
    """The class at which the member gets an interaction directed to the instance, if it does."""
    found = member.declared.directed_class(instance.entry, entry)
    if found is None:
        return None
    received, universally = found
    return received if universally or member in list(instance.owners.values()) else None


def hand_at(
    step: Step,
    member: Member,
    received: InteractionClassEntry,
    sender: Member,
    message: tuple[Any, ...],
    order: OrderType = OrderType.RECEIVE,
) -> None:
    interaction_class, object_instance, values, tag, transportation, stamp = message
    kept = {handle: value for handle, value in values.items() if handle in received.parameters}
    arguments = (received.handle, object_instance, kept, tag, transportation, sender.handle, *stamp)
    add(member.tally.directed_received, interaction_class, transportation)
    method = "receive_directed_interaction"
    if stamps.is_stamped(stamp):
        tso_queue.arrived(step, member, sender, method, arguments, stamp)
    else:
        tso_queue.hand(step.turn, member, method, arguments, order)
