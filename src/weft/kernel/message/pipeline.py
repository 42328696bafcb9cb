"""The way of a message.  Read this file first.

    validate    is it in the object model, does the sender publish it, does it own it?
    recipients  who wants it: members here, and other nodes that have members who do.  Asked once; the answer is kept for all
                messages that are alike (`message.recipients`)
    order       in time stamp order if the sender regulates time and the order type says so (`time.stamps`); in one of Weft's own
                orders where a class, an attribute or the call asks for it (`message.causal_order`)
    record      what was decided (`recording.message_rows`)
    deliver     to the members here (`message.deliver`)
    transmit    a parcel for each other node; of what is best effort perhaps one for a multicast group

A message from another node (`arrive`) takes the same way: the members here are asked, and it is not sent on.

Policies of this one way have files of their own:

    message.causal_order   causal and total order: when it is delivered depends on other messages
    message.deliver_as_of  in time stamp order, where there are dimensions or declarations are synchronized: to those who want it
                           as of its time, also if they come to want it later by a change as of an earlier time
    message.update_rates   a subscriber that named an update rate gets no more than that
    message.other_nodes    to which other nodes it goes, by the federation's strategy
    message.fast_lanes     the same way with its answers kept, for hosts that pass on bytes

Priority order is receive order, with callbacks that say how urgent they are.  A time stamp from a sender that does not regulate
is only carried along, and both order types in the callback say so.

With Delay Subscription Evaluation on, a message goes to all nodes that have members, and only they ask who wants it: who
subscribes while it is under way gets it.
"""

from __future__ import annotations

from typing import Final

from weft.fom.catalog import InteractionClassEntry
from weft.interest import Declared
from weft.kernel.ddm import matching, matching_at_time
from weft.kernel.message import deliver, recipients
from weft.kernel.message.recipients import DELAYED
from weft.kernel.recording import message_rows, order_rows
from weft.kernel.state import overrides, preconditions
from weft.kernel.state.effects import Cast, Transmit
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import DirectedInteraction, Interaction, Message, Update
from weft.kernel.state.parcels import Data, Ordered
from weft.kernel.state.recipients import Post, Recipients
from weft.kernel.state.region_state import Extents
from weft.kernel.state.step import Step
from weft.kernel.time import stamps
from weft.kernel.time.stamps import NO_RETRACTION
from weft.model.deliveries import AttributeValues, ParameterValues, Stamp, is_timestamped, message_number
from weft.model.enums import OrderType
from weft.model.errors import InteractionClassNotPublished
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
)
from weft.model.packed import PackedValues
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime

# --- interactions ---------------------------------------------------------------------------------------------

# Kept at hand: a member of an enumeration is slow to look up, and these are asked for with each message.
_RECEIVE: Final = OrderType.RECEIVE
_PRIORITY: Final = OrderType.PRIORITY
_TIMESTAMP: Final = OrderType.TIMESTAMP


def send_interaction(
    step: Step,
    interaction_class: InteractionClassHandle,
    values: ParameterValues,
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
    at: Extents | None = None,
    regions: list[RegionHandle] | None = None,
) -> MessageRetractionReturn | None:
    """`at`: where it is sent; `regions`: by which regions, which may be elsewhere as of its time."""
    federation = step.federation
    member = step.member
    entry = _valid_interaction(federation, member, interaction_class, values, tag)
    as_of = interaction_class in member.declared.timed_sends.of  # it is published as of a time
    transportation = recipients.transportation_of(member, entry)
    message = Interaction(member.handle, entry.handle, values, tag, transportation, at, None)
    asked = order
    if federation.ordered or order is not None:
        asked = overrides.interaction_order(member, entry) if order is None else overrides.named(order)
        if federation.orders.takes(step, asked):
            if as_of:
                preconditions.sent_as_of(member, entry, None)
            message.stamp = stamps.carried(federation, time)
            federation.orders.send_interaction(step, message, entry, asked)
            return None if time is None else NO_RETRACTION
        if asked is _PRIORITY and member is not federation.rti:
            message.urgent, message.priority = True, entry.priority
    if time is None:
        if as_of:
            preconditions.sent_as_of(member, entry, None)
    else:
        if asked is None:
            asked = overrides.interaction_order(member, entry)
        stamp = message.stamp = stamps.stamp(federation, member, time, asked)
        if as_of:
            preconditions.sent_as_of(member, entry, stamp)
        if is_timestamped(stamp) and not federation.switch(DELAYED):
            available = federation.catalog.available_to_interaction_class(entry)
            if available or federation.channels.as_of:
                if regions is not None:
                    message.at = matching_at_time.extents_of(federation, regions, available, time.value)
                nodes = federation.distribution.send_interaction(step, message, entry)
                if recipients.is_managed(entry):
                    _tell_rti(step, message)
                return stamps.sent(federation, member, stamp, nodes)
    found = recipients.of_interaction(step, member, entry, at)
    _send(step, message, found)
    if found.managed:
        _tell_rti(step, message)
    return None if time is None else _returned(step, message, found)


def _valid_interaction(
    federation: Federation,
    member: Member,
    interaction_class: InteractionClassHandle,
    values: ParameterValues,
    tag: bytes,
) -> InteractionClassEntry:
    entry = federation.catalog.interaction_classes.get(interaction_class)
    if entry is None:
        entry = preconditions.interaction_class(federation, interaction_class)
    declared = member.declared
    if interaction_class not in declared.sends and interaction_class not in declared.timed_sends.of:
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name}; publish it before sending"
        )
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
    return entry


def _tell_rti(step: Step, message: Interaction) -> None:
    values = message.values
    plain = values.unpack() if isinstance(values, PackedValues) else dict(values)
    step.tell_rti("receive_interaction", (message.interaction_class, plain, message.sender))


# --- attribute updates ----------------------------------------------------------------------------------------


def update_attribute_values(
    step: Step,
    object_instance: ObjectInstanceHandle,
    values: AttributeValues,
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    federation = step.federation
    member = step.member
    instance = preconditions.known_here(step, object_instance)
    sent = _valid_attributes(federation, member, instance, values, tag)
    message = Update(member.handle, instance.handle, values, tag, None, None)
    if federation.ordered or order is not None:
        given = None if order is None else overrides.named(order)
        if federation.orders.divides(step, instance, sent, given):
            return _update_in_parts(step, message, instance, sent, time, given)
    if time is None:
        _update(step, message, instance, sent)
        return None
    return _update_in_time(step, message, instance, sent, time, order)


def _valid_attributes(
    federation: Federation, member: Member, instance: Instance, values: AttributeValues, tag: bytes
) -> list[AttributeHandle]:
    """The attributes that are updated: the member owns them."""
    owners = instance.owners
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
                preconditions.encoded(instance.entry.attributes[handle].name, value)
    if type(tag) is not bytes:
        preconditions.encoded("the user-supplied tag", tag)
    return sent


def _update_in_parts(
    step: Step,
    message: Update,
    instance: Instance,
    sent: list[AttributeHandle],
    time: LogicalTime | None,
    given: OrderType | None,
) -> MessageRetractionReturn | None:
    """Attributes of different orders, some of them Weft's own, go in separate messages."""
    federation = step.federation
    carried = stamps.carried(federation, time)
    for (order, priority), attributes in federation.orders.parts(instance, sent, given).items():
        part = message if len(attributes) == len(sent) else message.part(tuple(attributes))
        if federation.orders.takes(step, order):
            part.stamp = carried
            federation.orders.send_update(step, part, instance, order)
            continue
        if order is _PRIORITY:
            part.urgent, part.priority = True, priority
        if time is None:
            _update(step, part, instance, attributes)
        else:
            asked = _RECEIVE if order is _PRIORITY else order
            _update_in_time(step, part, instance, attributes, time, asked)
    return None if time is None else NO_RETRACTION


def _update_in_time(
    step: Step,
    message: Update,
    instance: Instance,
    sent: list[AttributeHandle],
    time: LogicalTime,
    given: OrderType | None,
) -> MessageRetractionReturn:
    """Attributes in time stamp order and others go in separate messages."""
    orders = [overrides.attribute_order(instance, a) if given is None else given for a in sent]
    stamped = [a for a, one in zip(sent, orders, strict=True) if one is _TIMESTAMP]
    others = [a for a, one in zip(sent, orders, strict=True) if one is not _TIMESTAMP]
    order = _TIMESTAMP if stamped else _RECEIVE
    stamp = stamps.stamp(step.federation, step.member, time, order)
    if is_timestamped(stamp) and stamped and others:
        rest = message.part(tuple(others))
        rest.stamp = Stamp(time)
        _update(step, rest, instance, others)
        message = message.part(tuple(stamped))
        sent = stamped
    message.stamp = stamp
    nodes = _update(step, message, instance, sent)
    if not is_timestamped(stamp):
        return NO_RETRACTION
    return stamps.sent(step.federation, step.member, stamp, nodes)


def _update(step: Step, message: Update, instance: Instance, sent: list[AttributeHandle]) -> tuple[str, ...]:
    """In receive or time stamp order; returns the other nodes that it goes to, if it has a time."""
    federation = step.federation
    if message.stamp is not None and step.member.declared.timed_published.of:
        preconditions.updated_as_of(federation, step.member, instance, sent, message.stamp)
    if message.in_time_stamp_order() and recipients.is_placed(federation, instance, sent):
        return federation.distribution.send_update(step, message, instance, sent)
    if instance.placement is not None:
        message.where = matching.part_of(matching.where_is(federation, instance), sent)
    found = recipients.of_update(step, step.member, instance, sent, message.where)
    recipients.mark(instance, found)
    _send(step, message, found)
    return () if message.stamp is None else found.nodes()


# --- directed interactions --------------------------------------------------------------------------------------


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
    instance = preconditions.known_here(step, object_instance)
    if not member.declared.may_direct(instance.entry, interaction_class):
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name} as directed to {instance.entry.name} or a class above it"
        )
    preconditions.parameters(entry, values)
    for handle, value in values.items():
        preconditions.encoded(entry.parameters[handle].name, value)
    preconditions.encoded("the user-supplied tag", tag)
    transportation = recipients.transportation_of(member, entry)
    carried = stamps.carried(federation, time)
    message = DirectedInteraction(
        member.handle, entry.handle, instance.handle, values, tag, transportation, carried
    )
    asked = overrides.interaction_order(member, entry) if order is None else order
    if federation.ordered or order is not None:
        asked = overrides.named(asked)
        if federation.orders.takes(step, asked):
            federation.orders.send_directed(step, message, instance, entry, asked)
            return None if time is None else NO_RETRACTION
        if asked is _PRIORITY:
            message.urgent, message.priority = True, entry.priority
    if time is not None and not message.urgent:
        message.stamp = stamps.stamp(federation, member, time, asked)
    found = recipients.of_directed(step, member, entry, instance, transportation)
    _send(step, message, found)
    return None if time is None else _returned(step, message, found)


# --- the way that all of them take ------------------------------------------------------------------------------


def _send(step: Step, message: Message, found: Recipients) -> None:
    """What a federate here sends, or the RTI itself.  A message in time stamp order has its number already."""
    stamp = message.stamp
    if stamp is None or stamp.retraction is None:
        message.number = message_rows.next_number(step)
    else:
        message.number = message_number(stamp.retraction)
    _pass_on(step, message, found)
    for post in found.posts:
        transmit(step, message, post)


def _pass_on(step: Step, message: Message, found: Recipients) -> None:
    """Sent here, or arrived: it is counted, recorded and delivered."""
    found.count += 1
    if not found.kept:
        found.count_up()
    number = message.number
    recorder = step.federation.recorder
    if recorder is not None and message_rows.passes(step, recorder, message, found):
        number = -number
    deliver.deliver(step, message, found, number)


def _returned(step: Step, message: Message, found: Recipients) -> MessageRetractionReturn:
    stamp = message.stamp
    if stamp is None or not is_timestamped(stamp):
        return NO_RETRACTION
    return stamps.sent(step.federation, step.member, stamp, found.nodes())


def transmit(step: Step, message: Message, post: Post) -> None:
    """To other nodes, where `arrive` takes it."""
    federation = step.federation
    message.own()
    sent = message if post.attributes is None else message.part(post.attributes)
    name, execution, after = federation.name, federation.execution, federation.sequence
    parcel: Data | Ordered
    parcel = (
        Ordered(name, execution, after, sent, b"") if message.urgent else Data(name, execution, after, sent)
    )
    if post.groups and not message.in_time_stamp_order():
        step.effects.append(Cast(post.nodes, post.groups, parcel))
    else:
        for node in post.nodes:
            step.effects.append(Transmit(node, parcel, post.reliable))


def arrive(step: Step, message: Message, only: FederateHandle | None = None) -> None:
    """A message from another node: to the members here that want it; sent late, to that one alone."""
    federation = step.federation
    sender = sender_of(federation, message.sender)
    if federation.distribution.arrives(step, message, sender, only):
        return
    if isinstance(message, Interaction):
        entry = federation.catalog.interaction_classes[message.interaction_class]
        found = recipients.of_interaction(step, sender, entry, message.at)
    elif isinstance(message, Update):
        instance = federation.instances.get(message.instance)
        if instance is None:
            order_rows.too_late(step, message, sender.node)
            return
        found = recipients.of_update(step, sender, instance, message.attributes(), message.where)
        recipients.mark(instance, found)
    elif isinstance(message, DirectedInteraction):
        instance = federation.instances.get(message.target)
        if instance is None:
            order_rows.too_late(step, message, sender.node)
            return
        entry = federation.catalog.interaction_classes[message.interaction_class]
        found = recipients.of_directed(step, sender, entry, instance, message.transportation)
    else:
        return
    _pass_on(step, message, found)


def sender_of(federation: Federation, handle: FederateHandle) -> Member:
    """Who has resigned has its last words after the news of it."""
    found = federation.rti if handle == federation.rti.handle else federation.members.get(handle)
    if found is not None:
        return found
    return Member(handle, federation.membership.departed.get(handle, ""), "", "", 0, 0, Declared())
