"""The way of a message.  Read this file first.

Out, at the sender's node:

    validate    is it in the object model, does the sender publish it, does it own it?
    interest    who wants it: members here (legs, ears), and other nodes that have members who do; of what is sent with regions
                those whose regions overlap (`ddm.matching`)
    rate        a subscriber that named an update rate gets no more than that (`message.update_rates`)
    order       in time stamp order if the sender regulates time and the order type says so (`services.stamps.stamp`)
    effects     a callback for each member here, one parcel for each other node

In, at another node: the same interest question, asked of the members there (`arrive`).

A message in time stamp order whose class or attributes have dimensions goes to those who want it as of its time, also if they
come to want it later by a change as of an earlier time: `message.deliver_as_of` takes it from there.

A message in time stamp order waits for a time-constrained member until its time comes (`time.tso_queue`), and
is handed to any other at once.  One in another order waits while a constrained member is granted.  A time stamp from a sender
that does not regulate is only carried along, and both order types in the callback say so.

Where a class, an attribute or the call asks for one of Weft's own orders, `message.causal_order` takes the message from there.

With Delay Subscription Evaluation on, a message goes to all nodes that have members, and only they ask who wants it: who
subscribes while it is under way gets it.  One in time stamp order waits for every time-constrained member, and that is asked
when its time has come (`message.delayed_evaluation`).

Parts of the way that have files of their own:

    message.recipients       who gets a message; the answers are kept until a declaration or the membership changes
    message.other_nodes      to which other nodes it goes, by the federation's strategy
    message.callback_split   in which callbacks a member gets what it wants of an update
    message.deliver          to the members here
    message.deliver_in_time  to members here, some of whom may have to wait
    message.deliver_held     to one member, when another order lets go what it has kept back
    message.directed         directed interactions
"""

from __future__ import annotations

from typing import Any

from weft.kernel.ddm import matching, matching_at_time
from weft.kernel.message import deliver, deliver_held, directed, other_nodes, recipients, update_rates
from weft.kernel.message.recipients import DELAYED
from weft.kernel.recording import message_rows, order_rows
from weft.kernel.state import overrides, preconditions
from weft.kernel.state.effects import Cast, Transmit
from weft.kernel.state.federation import Instance
from weft.kernel.state.parcels import Data, unshared
from weft.kernel.state.region_state import Extents
from weft.kernel.state.step import Step
from weft.kernel.time import stamps
from weft.kernel.time.stamps import NO_RETRACTION
from weft.model.enums import OrderType
from weft.model.errors import InteractionClassNotPublished
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
)
from weft.model.packed import PackedValues
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime

# --- interactions ---------------------------------------------------------------------------------------------


def send_interaction(
    step: Step,
    interaction_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
    at: Extents | None = None,
    regions: list[RegionHandle] | None = None,
) -> MessageRetractionReturn | None:
    """`at`: where it is sent; `regions`: by which regions, which may be elsewhere as of its time."""
    turn = step.turn
    federation = step.federation
    member = step.member
    entry = federation.catalog.interaction_classes.get(interaction_class)
    if entry is None:
        entry = preconditions.interaction_class(federation, interaction_class)
    if interaction_class not in member.declared.sends:
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name}; publish it before sending"
        )
    interaction_class = entry.handle  # the catalog's own, whatever was given that is equal to it
    parameters = entry.parameters
    if isinstance(values, PackedValues):
        for packed_handle in values.handles:
            if packed_handle not in parameters:
                preconditions.parameters(entry, [packed_handle])
    else:
        for handle, value in values.items():
            if handle not in parameters:
                preconditions.parameters(entry, values)
            if type(value) is not bytes:
                preconditions.encoded(parameters[handle].name, value)
    if type(tag) is not bytes:
        preconditions.encoded("the user-supplied tag", tag)
    if federation.ordered or order is not None:
        carried = stamps.carried(federation, time)
        if federation.orders.sends(step, entry, values, tag, carried, order, at):
            return None if time is None else NO_RETRACTION
    stamp: tuple[Any, ...] = ()
    if time is not None:
        stamp = stamps.stamp(
            federation, member, time, overrides.interaction_order(member, entry) if order is None else order
        )
    if time is not None and stamps.is_stamped(stamp) and not federation.switch(DELAYED):
        available = federation.catalog.available_to_interaction_class(entry)
        if available:
            if regions is not None:
                at = matching_at_time.extents_of(federation, regions, available, stamp[0].value)
            nodes = federation.distribution.sends(step, entry, values, tag, at, stamp)
            if recipients.is_managed(entry):
                _tell_rti(step, interaction_class, values)
            return stamps.sent(federation, member, stamp, nodes)
    audience = federation.audiences.get((interaction_class, member.handle)) if at is None else None
    if audience is None:
        audience = recipients.find_audience(step, member, interaction_class, at)
    audience.count += 1
    if at is not None:
        audience.count_up()
    transportation = audience.transportation
    number = message_rows.number_for(step, stamp)
    turn.number = number
    recorder = federation.recorder
    if recorder is not None and message_rows.interaction(
        step, recorder, member, entry, audience, values, tag, stamp, number
    ):
        turn.number = -number
    if audience.ears or (stamp and federation.switch(DELAYED)):
        deliver.hear(step, member, audience, interaction_class, values, tag, transportation, stamp)
    if audience.nodes:
        arguments: tuple[Any, ...] = (entry.handle, unshared(values), tag, transportation, stamp)
        if at is not None:
            arguments = (*arguments[:4], matching.boxes(at), stamp)
        message = Data(
            federation.name,
            federation.execution,
            federation.sequence,
            member.handle,
            "send_interaction",
            arguments,
            message_rows.carried(number, stamp),
        )
        reliable = other_nodes.goes_reliably(federation, transportation)
        if audience.groups and not stamps.is_stamped(stamp):
            step.effects.append(Cast(tuple(audience.nodes), audience.groups, message))
        else:
            for node in audience.nodes:
                step.effects.append(Transmit(node, message, reliable))
    if audience.managed:
        _tell_rti(step, interaction_class, values)
    if time is None:
        return None
    if not stamps.is_stamped(stamp):
        return NO_RETRACTION
    return stamps.sent(federation, member, stamp, tuple(audience.nodes))


def _tell_rti(
    step: Step,
    interaction_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
) -> None:
    plain = dict(values) if isinstance(values, dict) else values.unpack()
    step.tell_rti("receive_interaction", (interaction_class, plain, step.member.handle))


# --- attribute updates ----------------------------------------------------------------------------------------


def update_attribute_values(
    step: Step,
    object_instance: ObjectInstanceHandle,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    federation = step.federation
    member = step.member
    instance = preconditions.known_instance(federation, member, object_instance)
    defined = instance.entry.attributes
    owners = instance.owners
    sent: list[Any]
    if isinstance(values, PackedValues):
        sent = values.handles
        for packed_handle in sent:
            if owners.get(packed_handle) is not member:
                preconditions.known_attributes(federation, member, instance, sent)
                preconditions.owned(instance, member, sent)
    else:
        sent = list(values)
        for handle, value in values.items():
            if owners.get(handle) is not member:
                preconditions.known_attributes(federation, member, instance, sent)
                preconditions.owned(instance, member, sent)
            if type(value) is not bytes:
                preconditions.encoded(defined[handle].name, value)
    if type(tag) is not bytes:
        preconditions.encoded("the user-supplied tag", tag)
    if federation.ordered or order is not None:
        carried = stamps.carried(federation, time)
        if federation.orders.updates(step, instance, values, tag, carried, order):
            return None if time is None else NO_RETRACTION
    if time is None:
        _send_update(step, instance, values, sent, tag, ())
        return None
    return _update_in_time(step, instance, values, sent, tag, time, order)


def _update_in_time(
    step: Step,
    instance: Instance,
    values: dict[AttributeHandle, bytes] | PackedValues,
    sent: list[Any],
    tag: bytes,
    time: LogicalTime,
    given: OrderType | None,
) -> MessageRetractionReturn:
    """Attributes of different order go in separate messages."""
    federation = step.federation
    member = step.member
    orders = [overrides.attribute_order(instance, a) if given is None else given for a in sent]
    stamped = [a for a, one in zip(sent, orders, strict=True) if one is OrderType.TIMESTAMP]
    plain = [a for a, one in zip(sent, orders, strict=True) if one is not OrderType.TIMESTAMP]
    order = OrderType.TIMESTAMP if stamped else OrderType.RECEIVE
    stamp = stamps.stamp(federation, member, time, order)
    if not stamped or not plain or not stamps.is_stamped(stamp):
        nodes = _send_update(step, instance, values, sent, tag, stamp)
        if not stamps.is_stamped(stamp):
            return NO_RETRACTION
        return stamps.sent(federation, member, stamp, nodes)
    carried = (time, OrderType.RECEIVE, OrderType.RECEIVE, None)
    some = update_rates.part_of(values, tuple(plain))
    _send_update(step, instance, some, plain, tag, carried)
    rest = update_rates.part_of(values, tuple(stamped))
    nodes = _send_update(step, instance, rest, stamped, tag, stamp)
    return stamps.sent(federation, member, stamp, nodes)


def _send_update(
    step: Step,
    instance: Instance,
    values: dict[AttributeHandle, bytes] | PackedValues,
    sent: list[Any],
    tag: bytes,
    stamp: tuple[Any, ...],
) -> tuple[str, ...]:
    """Returns the other nodes that it goes to."""
    turn = step.turn
    federation = step.federation
    member = step.member
    if stamp and stamps.is_stamped(stamp) and recipients.is_placed(federation, instance, sent):
        turn.number = 0  # what was recorded of its other attributes says nothing of these
        return federation.distribution.updates(step, instance, values, sent, tag, stamp)
    where = None
    if instance.placement is not None:
        where = matching.part_of(matching.where_is(federation, instance), sent)
    route = recipients.counted_route(step, instance, member, sent, where)
    number = message_rows.number_for(step, stamp)
    turn.number = number
    recorder = federation.recorder
    if recorder is not None and message_rows.update(
        step, recorder, member, instance, route, values, tag, stamp, number
    ):
        turn.number = -number
    deliver.reflect(step, instance, route, member, values, tag, stamp)
    for post in route.posts:
        kept = unshared(values) if post.attributes is None else update_rates.part_of(values, post.attributes)
        arguments: tuple[Any, ...] = (instance.handle, kept, tag, stamp)
        there = where if post.attributes is None else matching.part_of(where, post.attributes)
        if there is not None:
            arguments = (instance.handle, kept, tag, matching.carried(there), stamp)
        message = Data(
            federation.name,
            federation.execution,
            federation.sequence,
            member.handle,
            "update_attribute_values",
            arguments,
            message_rows.carried(number, stamp),
        )
        if post.groups and not stamps.is_stamped(stamp):
            step.effects.append(Cast(post.nodes, post.groups, message))
        else:
            for node in post.nodes:
                step.effects.append(Transmit(node, message, post.reliable))
    return tuple([node for post in route.posts for node in post.nodes]) if stamp else ()


# --- in -------------------------------------------------------------------------------------------------------


def arrive(step: Step, message: Data) -> None:
    """A message from another node: hand it to the members here that want it."""
    turn = step.turn
    federation = step.federation
    sender = deliver_held.sender_of(federation, message.sender)
    number = turn.number = message_rows.arrived(message.number, message.arguments[-1])
    recorder = federation.recorder
    if federation.distribution.arrives(step, message, sender):
        return
    if message.service == "send_interaction":
        interaction_class, values, tag, transportation = message.arguments[:4]
        stamp = message.arguments[-1]
        at = matching.from_boxes(message.arguments[4]) if len(message.arguments) > 5 else None
        audience = federation.audiences.get((interaction_class, sender.handle)) if at is None else None
        if audience is None:
            audience = recipients.find_audience(step, sender, interaction_class, at)
        audience.count += 1
        if at is not None:
            audience.count_up()
        if recorder is not None:
            entry = federation.catalog.interaction_classes[interaction_class]
            if message_rows.interaction(step, recorder, sender, entry, audience, values, tag, stamp, number):
                turn.number = -number
        deliver.hear(step, sender, audience, interaction_class, values, tag, transportation, stamp)
    elif message.service == "update_attribute_values":
        object_instance, values, tag = message.arguments[:3]
        stamp = message.arguments[-1]
        instance = federation.instances.get(object_instance)
        if instance is not None:
            sent = list(values) if isinstance(values, dict) else values.handles
            where = matching.from_carried(message.arguments[3]) if len(message.arguments) > 4 else None
            route = recipients.counted_route(step, instance, sender, sent, where)
            if recorder is not None and message_rows.update(
                step, recorder, sender, instance, route, values, tag, stamp, number
            ):
                turn.number = -number
            deliver.reflect(step, instance, route, sender, values, tag, stamp)
        else:
            order_rows.too_late(step, message, sender.node)
    else:
        if recorder is not None:
            entry = federation.catalog.interaction_classes[message.arguments[0]]
            here = directed.receivers(step, sender, entry, message.arguments[1])
            message_rows.directed(step, recorder, sender, entry, message.arguments, here, number)
        directed.direct_here(step, sender, message.arguments)
