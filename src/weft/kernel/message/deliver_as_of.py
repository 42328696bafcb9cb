"""The way of a message in time stamp order whose class or attributes have dimensions, or of any if the federation has
synchronized declarations: to those who want it as of its time.

Out, at the sender's node: who may want it say the distribution lists of its topics (`state.topics`), who does says
`ddm.matching_at_time`; it goes to them and into the log.  In, at any node: the members there are asked again, since that node may
know of changes that the sender's did not.  What was sent late, because a change made a federate want it
(`services.timed_changes`), is for that one alone.

A federate may thus get a message twice, or first some of an update's attributes and then others.  Who is time-constrained has
one message of them in its queue all the same, and hears the same as if it had come at once; who is not is told what it has not
been told yet.
"""

from __future__ import annotations

from typing import Any

from weft.fom.catalog import InteractionClassEntry
from weft.interest import SpaceTime
from weft.kernel.ddm import matching, matching_at_time
from weft.kernel.ddm.recipient import of_attributes
from weft.kernel.message import recipients
from weft.kernel.recording import message_rows
from weft.kernel.state import overrides
from weft.kernel.state.effects import Transmit
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import Interaction, Message, Recipient, Update, attributes_of, numbered
from weft.kernel.state.mom_state import add
from weft.kernel.state.parcels import Data
from weft.kernel.state.recipients import count_received
from weft.kernel.state.region_state import Extents, OwnedRegion, Where
from weft.kernel.state.step import Step
from weft.kernel.state.topics import EVERYWHERE, Condition, Distribution, LoggedMessage, Name, Topic
from weft.kernel.time import tso_queue
from weft.model.deliveries import AttributeValues, Reflection, is_timestamped
from weft.model.errors import InvalidLogicalTime
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues
from weft.ordering.stamped import Stamped


def require_before_tbound(federation: Federation, member: Member, time: int | float) -> None:
    """A message may go so far ahead and no further, where there is no log."""
    ahead = federation.channels.tbound
    if ahead and time >= (federation.clock.horizon.past or 0) + ahead:
        least = (federation.clock.horizon.past or 0) + ahead
        raise InvalidLogicalTime(
            f"{member!r} may send in time stamp order, in classes with dimensions, before {least} only, not at {time}: "
            f"that is {ahead:g} ahead of what is past for everybody (TboundAhead of the RID file)"
        )


class DeliveryAsOf(Distribution):
    # --- out ------------------------------------------------------------------------------------------------------

    def send_interaction(
        self, step: Step, message: Interaction, entry: InteractionClassEntry
    ) -> tuple[str, ...]:
        """Returns the other nodes that it goes to."""
        federation = step.federation
        member = step.member
        message.own()
        numbered(message)
        logged = LoggedMessage(message)
        require_before_tbound(federation, member, logged.time)
        at = message.at
        topic = topic_of(federation, entry.handle, federation.catalog.available_to_interaction_class(entry))
        may = topic.may_want(at, logged.time)
        nodes: dict[str, None] = {}
        here: list[Recipient] = []
        add(member.tally.interactions_sent, entry.handle, message.transportation)
        for other in federation.members.values():
            if other is member or not (other.handle.number in may or _may_hear(other)):
                continue
            received = matching_at_time.hears(federation, other, entry, at, logged.time)
            if received is not None:
                logged.classes[other.handle] = received.handle
                if other.node == step.node:
                    here.append(Recipient(other, received))
                else:
                    nodes[other.node] = None
        self.count(member.handle, may, len(logged.classes))
        if federation.recorder is not None:
            self._record(step, message, [handle.number for handle in logged.classes], topic.cells(at))
        for recipient in here:
            _take_interaction(step, recipient, member, message)
        if not federation.channels.tbound:
            topic.log(logged, at)
            self.enter(logged)
        data = _data(federation, message)
        step.effects.extend([Transmit(node, data) for node in nodes])
        return tuple(nodes)

    def send_update(
        self, step: Step, message: Update, instance: Instance, sent: list[AttributeHandle]
    ) -> tuple[str, ...]:
        federation = step.federation
        member = step.member
        message.own()
        numbered(message)
        logged = LoggedMessage(message)
        require_before_tbound(federation, member, logged.time)
        where = matching.part_of(matching_at_time.where_is(federation, instance, logged.time), sent)
        message.where = where
        may: dict[int, None] = {}
        for topic, extents in _topics(federation, instance, sent, where):
            may.update(topic.may_want(extents, logged.time))
            if not federation.channels.tbound:
                topic.log(logged, extents)
        if not federation.channels.tbound:
            self.enter(logged)
        _count_update(instance, member, sent)
        nodes: dict[str, dict[AttributeHandle, None]] = {}
        here: list[tuple[Member, list[AttributeHandle]]] = []
        for known_class, mask in instance.knowledge.masks.items():
            for other in federation.seated(mask):
                declared = other.declared
                plain = known_class in declared.subscribed or known_class in declared.timed.of
                if other is member or not (plain or other.handle.number in may):
                    continue
                wanted = matching_at_time.wanted(federation, other, instance, sent, where, logged.time)
                if wanted:
                    logged.attributes[other.handle] = dict.fromkeys(wanted)
                    if other.node == step.node:
                        here.append((other, wanted))
                    else:
                        nodes.setdefault(other.node, {}).update(dict.fromkeys(wanted))
        self.count(member.handle, may, len(logged.attributes))
        if federation.recorder is not None:
            placed = _topics(federation, instance, sent, where)
            cells = frozenset[int]().union(*[topic.cells(extents) for topic, extents in placed])
            self._record(step, message, [handle.number for handle in logged.attributes], cells)
        for other, wanted in here:
            _take_update(step, other, member, instance, wanted, message)
        for node, attributes in nodes.items():
            part = message.part(tuple([a for a in sent if a in attributes]))
            step.effects.append(Transmit(node, _data(federation, part)))
        return tuple(nodes)

    def _record(
        self, step: Step, message: Interaction | Update, destinations: list[int], cells: frozenset[int]
    ) -> None:
        """It is sent; who wants it as of its time is known everywhere."""
        places = tuple(sorted(cells - {EVERYWHERE}))
        message_rows.stamped(step, step.member, message, destinations, places)

    # --- in -------------------------------------------------------------------------------------------------------

    def arrives(self, step: Step, message: Message, sender: Member, only: FederateHandle | None) -> bool:
        """A message from another node; False: it does not go by these ways."""
        if not is_timestamped(message.stamp):
            return False
        federation = step.federation
        if only is not None:
            member = federation.members.get(only)
            if member is not None and member.node == step.node:
                _arrive(step, [member], sender, message, True)
            return True
        if federation.switch(recipients.DELAYED):
            return False
        if isinstance(message, Interaction):
            entry = federation.catalog.interaction_classes[message.interaction_class]
            available = federation.catalog.available_to_interaction_class(entry)
            if not available and not federation.channels.as_of:
                return False
        elif isinstance(message, Update):
            instance = federation.instances.get(message.instance)
            if instance is None or not recipients.is_placed(federation, instance, message.attributes()):
                return False
        else:
            return False
        here = [m for m in federation.members.values() if m.node == step.node and m is not sender]
        _arrive(step, here, sender, message, False)
        return True


def _arrive(step: Step, members: list[Member], sender: Member, message: Message, late: bool) -> None:
    federation = step.federation
    time, _ = _stamped(message)
    if isinstance(message, Interaction):
        entry = federation.catalog.interaction_classes[message.interaction_class]
        if not late:
            message_rows.stamped(step, sender, message, None)
        for member in members:
            received = matching_at_time.hears(federation, member, entry, message.at, time)
            if received is not None:
                _take_interaction(step, Recipient(member, received), sender, message)
    elif isinstance(message, Update):
        instance = federation.instances.get(message.instance)
        if instance is None:
            return
        if not late:
            message_rows.stamped(step, sender, message, None)
        sent = message.attributes()
        for member in members:
            wanted = matching_at_time.wanted(federation, member, instance, sent, message.where, time)
            if wanted:
                _take_update(step, member, sender, instance, wanted, message)


def _may_hear(member: Member) -> bool:
    """Does it subscribe to any interaction class without regions, at any time?"""
    return bool(member.declared.receives or member.declared.timed_receives.of)


def _stamped(message: Message) -> tuple[int | float, MessageRetractionHandle]:
    """Of a message in time stamp order: its time, and what it can be retracted by."""
    stamp = message.stamp
    assert stamp is not None
    assert stamp.retraction is not None
    return stamp.time.value, stamp.retraction


def _data(federation: Federation, message: Message) -> Data:
    return Data(federation.name, federation.execution, federation.sequence, message)


def _count_update(instance: Instance, sender: Member, sent: list[AttributeHandle]) -> None:
    sender.tally.updates += 1
    for way in dict.fromkeys(overrides.transportation_of(instance, a) for a in sent):
        add(sender.tally.updates_sent, instance.entry.handle, way)
    instance.updated |= sender.bit


# --- to one member ----------------------------------------------------------------------------------------------


def _take_interaction(step: Step, recipient: Recipient, sender: Member, message: Interaction) -> None:
    member = recipient.member
    timing = member.timing
    time, retraction = _stamped(message)
    if retraction in timing.given:
        return
    if message.at is not None and member.switches.convey_region_designator_sets:
        recipient.regions = matching.conveyed(message.at)
    if not timing.queue.retract(retraction):  # it comes again, and may be received at another class
        count_received(member, message.interaction_class, message.transportation)
    condition = Condition(None, message.at, message.interaction_class, timing.untimed)
    tso_queue.arrived(step, member, sender, message.delivery(recipient), 0, condition)
    if not timing.constrained:
        timing.give(retraction, time)


def _take_update(
    step: Step,
    member: Member,
    sender: Member,
    instance: Instance,
    wanted: list[AttributeHandle],
    message: Update,
) -> None:
    timing = member.timing
    time, retraction = _stamped(message)
    given = timing.given.get(retraction)
    if given is not None:
        wanted = [attribute for attribute in wanted if attribute not in given.attributes]
    if not wanted:
        return
    values = attributes_of(message.values, tuple(wanted))
    condition = Condition(message.where, None, None, timing.untimed)
    waiting = timing.queue.parts(retraction)
    counted: list[TransportationTypeHandle] = []
    if waiting:
        parts = [part.content for part in waiting if isinstance(part.content, Reflection)]
        values = _merged(values, [part.values for part in parts])
        counted = [part.transportation for part in parts]
        condition = _joined(condition, waiting)
        timing.queue.retract(retraction)
    instance.reflected |= member.bit
    whole = Update(message.sender, instance.handle, values, message.tag, condition.where, message.stamp)
    chosen = sorted(whole.attributes())
    found = of_attributes(step.federation, member, instance, chosen, condition.where)
    for part, recipient in enumerate(found):
        way = recipient.transportation
        assert way is not None
        if way in counted:
            counted.remove(way)
        else:
            count_received(member, instance.entry.handle, way)
        tso_queue.arrived(step, member, sender, whole.delivery(recipient), part, condition)
    if not timing.constrained:
        timing.give(retraction, time, wanted)


def _merged(values: AttributeValues, others: list[AttributeValues]) -> dict[AttributeHandle, bytes]:
    found: dict[AttributeHandle, bytes] = {}
    for one in (*others, values):
        found.update(one.unpack() if isinstance(one, PackedValues) else one)
    return found


def _joined(late: Condition, waiting: list[Stamped]) -> Condition:
    """Of an update some of which waits: each attribute was sent where its own part says, whichever came first."""
    where: Where = {}
    kept = late.kept
    for part in waiting:
        content = part.content
        values = content.values if isinstance(content, Reflection) else {}
        if part.condition is None or part.condition.untimed != late.untimed:
            kept |= frozenset(values.handles if isinstance(values, PackedValues) else values)
        else:
            kept |= part.condition.kept
        if part.condition is not None:
            where.update(part.condition.where or {})
    where.update(late.where or {})
    return late._replace(where=where or None, kept=kept)


# --- topics -----------------------------------------------------------------------------------------------------


def _topics(
    federation: Federation, instance: Instance, sent: list[AttributeHandle], where: Where | None
) -> list[tuple[Topic, Extents | None]]:
    found = []
    for attribute in sent:
        available = federation.catalog.available_to_attribute(instance.entry, attribute)
        if available or federation.channels.as_of:
            extents = None if where is None else where.get(attribute)
            found.append((topic_of(federation, attribute, available), extents))
    return found


def topic_of(federation: Federation, name: Name, available: frozenset[DimensionHandle]) -> Topic:
    topics = federation.distribution.topics
    found = topics.get(name)
    if found is None:
        entries = [federation.catalog.dimensions[handle] for handle in sorted(available)]
        numbers = [entry.handle.number for entry in entries]
        axes = federation.channels.cells.axes([(e.name, e.handle.number, e.upper_bound) for e in entries])
        found = topics[name] = Topic(name, numbers, axes)
        past = federation.distribution.reclaimed
        if past is not None:
            found.interest.reclaim((past, 0))
        for member in federation.members.values():
            for kind, what, region in subscriptions(member):
                if concerns(federation, found, kind, what):
                    enter(federation, found, member, kind, what, federation.ddm.regions[region])
    return found


def concerns(federation: Federation, topic: Topic, kind: Any, what: AttributeHandle | None) -> bool:
    """A subscription of that attribute, or of that interaction class, which counts for those below it."""
    if what is not None:
        return topic.name == what
    if not isinstance(topic.name, InteractionClassHandle):
        return False
    entry = federation.catalog.interaction_classes.get(topic.name)
    return entry is not None and any(ancestor.handle == kind for ancestor in entry.lineage)


def subscriptions(member: Member, among: Any = None) -> list[tuple[Any, AttributeHandle | None, Any]]:
    """All with regions (or with these), at any time: the class, the attribute (None: an interaction class) and the region.

    Those without are on no list: they are few, and each is asked.
    """
    declared = member.declared
    found: dict[tuple[Any, AttributeHandle | None, Any], None] = {}
    for object_class, held in declared.subscribed_at.items():
        for attribute, regions in held.items():
            found.update({(object_class, attribute, region): None for region in regions})
    for object_class, timed in declared.timed.of.items():
        found.update({(object_class, attribute, region): None for attribute, region in timed})
    for interaction, heard in declared.receives_at.items():
        found.update({(interaction, None, region): None for region in heard})
    for interaction, received in declared.timed_receives.of.items():
        found.update({(interaction, None, region): None for _, region in received})
    chosen = None if among is None else frozenset(among)
    return [one for one in found if one[2] is not None and (chosen is None or one[2] in chosen)]


def enter(
    federation: Federation,
    topic: Topic,
    member: Member,
    kind: Any,
    what: AttributeHandle | None,
    region: OwnedRegion,
) -> frozenset[int]:
    """A subscription as it is at all times; the cells it has or had."""
    declared = member.declared
    now: Any
    if what is None:
        history: Any = declared.timed_receives.of.get(kind, {}).get((None, region.handle))
        now = declared.receives_at.get(kind, {}).get(region.handle)
    else:
        history = declared.timed.of.get(kind, {}).get((what, region.handle))
        now = declared.subscribed_at.get(kind, {}).get(what, {}).get(region.handle)
    wish = SpaceTime(now) if history is None else history
    place = SpaceTime(region.extent) if region.timeline is None else region.timeline
    times = sorted({*wish.times, *place.times})
    first = _boxes(topic, wish.first, place.first)
    changes = [(time, _boxes(topic, wish.read(time), place.read(time))) for time in times]
    federation.distribution.work += 1
    return topic.enter(
        member.handle.number, (kind.number, what is None, region.handle.number), first, changes
    )


def _boxes(topic: Topic, how: Any, extent: Any) -> tuple[Any, ...]:
    return () if how is None or extent is None else (topic.box(extent),)


def log_again(federation: Federation, logged: LoggedMessage) -> None:
    """Of a federation that was restored."""
    message = logged.message
    if isinstance(message, Interaction):
        entry = federation.catalog.interaction_classes[message.interaction_class]
        available = federation.catalog.available_to_interaction_class(entry)
        topic_of(federation, entry.handle, available).log(logged, message.at)
    else:
        instance = federation.instances.get(message.instance)
        if instance is not None:
            for topic, extents in _topics(federation, instance, message.attributes(), message.where):
                topic.log(logged, extents)
    federation.distribution.enter(logged)


def find_recipients(federation: Federation, logged: LoggedMessage) -> None:
    """Who wants it by now."""
    message = logged.message
    if isinstance(message, Interaction):
        entry = federation.catalog.interaction_classes[message.interaction_class]
        for member in federation.members.values():
            received = matching_at_time.hears(federation, member, entry, message.at, logged.time)
            if received is not None:
                logged.classes[member.handle] = received.handle
        return
    instance = federation.instances.get(message.instance)
    if instance is None:
        return
    sent = message.attributes()
    for member in federation.members.values():
        wanted = matching_at_time.wanted(federation, member, instance, sent, message.where, logged.time)
        if wanted:
            logged.attributes[member.handle] = dict.fromkeys(wanted)
