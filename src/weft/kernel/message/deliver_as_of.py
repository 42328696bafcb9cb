"""The way of a message in time stamp order whose class or attributes have dimensions: to those who want it as of its time.

Out, at the sender's node: who may want it say the distribution lists of its topics (`state.topics`), who does says
`ddm.matching_at_time`; it goes to them and into the log.  In, at any node: the members there are asked again, since that node may
know of changes that the sender's did not.  What was sent late, because a change made a federate want it
(`services.timed_changes`), is for that one alone.

A federate may thus get a message twice, or first some of an update's attributes and then others.  Who is time-constrained has
one message of them in its queue all the same, and hears the same as if it had come at once; who is not is told what it has not
been told yet.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.fom.catalog import InteractionClassEntry
from weft.interest import SpaceTime
from weft.kernel.ddm import matching, matching_at_time
from weft.kernel.message import callback_split, recipients, update_rates
from weft.kernel.recording import message_rows
from weft.kernel.state import overrides
from weft.kernel.state.effects import Transmit
from weft.kernel.state.federation import Federation, Instance, Member, add
from weft.kernel.state.parcels import Data, unshared
from weft.kernel.state.region_state import Extents, OwnedRegion, Where
from weft.kernel.state.step import Step
from weft.kernel.state.topics import EVERYWHERE, Distribution, Name, Sent, Topic
from weft.kernel.time import stamps, tso_queue
from weft.model.errors import InvalidLogicalTime
from weft.model.handles import AttributeHandle, DimensionHandle, InteractionClassHandle
from weft.model.packed import PackedValues
from weft.ordering.stamped import Stamped

LATE_INTERACTION = "late_interaction"
LATE_UPDATE = "late_update"

NEVER = -1


class Condition(NamedTuple):
    """On which a message waits in a queue: that it is still wanted, as of its time, where it was sent."""

    where: Any
    # No longer asked when the federate has changed something without a time since (`Timing.untimed`); NEVER: it is not.
    untimed: int
    # Of an update: attributes for which it is not asked, because such a change found them waiting.
    kept: frozenset[AttributeHandle] = frozenset()


def require_before_tbound(federation: Federation, member: Member, time: Any) -> None:
    """A message may go so far ahead and no further, where there is no log."""
    ahead = federation.channels.tbound
    if ahead and time >= (federation.horizon.past or 0) + ahead:
        least = (federation.horizon.past or 0) + ahead
        raise InvalidLogicalTime(
            f"{member!r} may send in time stamp order, in classes with dimensions, before {least} only, not at {time}: "
            f"that is {ahead:g} ahead of what is past for everybody (TboundAhead of the RID file)"
        )


class Distributing(Distribution):
    # --- out ------------------------------------------------------------------------------------------------------

    def sends(
        self,
        step: Step,
        entry: InteractionClassEntry,
        values: Any,
        tag: bytes,
        at: Extents | None,
        stamp: tuple[Any, ...],
    ) -> tuple[str, ...]:
        """The other nodes that it goes to."""
        federation = step.federation
        member = step.member
        require_before_tbound(federation, member, stamp[0].value)
        transportation = member.interaction_transportations.get(entry.handle) or entry.transportation
        message = Sent(member.handle, entry.handle, unshared(values), tag, transportation, at, stamp)
        available = federation.catalog.available_to_interaction_class(entry)
        topic = topic_of(federation, entry.handle, available)
        may = topic.may_want(at, message.time)
        nodes: dict[str, None] = {}
        here: list[tuple[Member, InteractionClassEntry]] = []
        add(member.tally.interactions_sent, entry.handle, transportation)
        for other in federation.members.values():
            if other is member or (other.handle.number not in may and not other.declared.receives):
                continue
            received = matching_at_time.hears(federation, other, entry, at, message.time)
            if received is not None:
                message.gone[other.handle] = received.handle
                if other.node == step.node:
                    here.append((other, received))
                else:
                    nodes[other.node] = None
        if federation.recorder is not None:
            self._record(step, message, topic.cells(at))
        for other, received in here:
            _take_interaction(step, other, member, received, message)
        if not federation.channels.tbound:
            topic.log(message, at)
            self.enter(message)
        arguments: tuple[Any, ...] = (entry.handle, message.values, tag, transportation, stamp)
        if at is not None:
            arguments = (*arguments[:4], matching.boxes(at), stamp)
        data = _data(federation, member, "send_interaction", arguments)
        step.effects.extend([Transmit(node, data) for node in nodes])
        return tuple(nodes)

    def updates(
        self,
        step: Step,
        instance: Instance,
        values: Any,
        sent: list[Any],
        tag: bytes,
        stamp: tuple[Any, ...],
    ) -> tuple[str, ...]:
        federation = step.federation
        member = step.member
        require_before_tbound(federation, member, stamp[0].value)
        where = matching.part_of(matching_at_time.where_is(federation, instance, stamp[0].value), sent)
        message = Sent(member.handle, instance.handle, unshared(values), tag, None, where, stamp)
        may: dict[int, None] = {}
        for topic, extents in _topics(federation, instance, sent, where):
            may.update(topic.may_want(extents, message.time))
            if not federation.channels.tbound:
                topic.log(message, extents)
        if not federation.channels.tbound:
            self.enter(message)
        _count_update(instance, member, sent)
        nodes: dict[str, dict[AttributeHandle, None]] = {}
        here: list[tuple[Member, list[AttributeHandle]]] = []
        for known_class, mask in instance.knowledge.masks.items():
            for other in federation.seated(mask):
                plain = known_class in other.declared.subscribed
                if other is member or not (plain or other.handle.number in may):
                    continue
                wanted = matching_at_time.wanted(federation, other, instance, sent, where, message.time)
                if wanted:
                    message.gone[other.handle] = dict.fromkeys(wanted)
                    if other.node == step.node:
                        here.append((other, wanted))
                    else:
                        nodes.setdefault(other.node, {}).update(dict.fromkeys(wanted))
        if federation.recorder is not None:
            placed = _topics(federation, instance, sent, where)
            cells = frozenset[int]().union(*[topic.cells(extents) for topic, extents in placed])
            self._record(step, message, cells)
        for other, wanted in here:
            _take_update(step, other, member, instance, wanted, message)
        for node, attributes in nodes.items():
            arguments = _update_arguments(message, [a for a in sent if a in attributes])
            step.effects.append(
                Transmit(node, _data(federation, member, "update_attribute_values", arguments))
            )
        return tuple(nodes)

    def _record(self, step: Step, message: Sent, cells: frozenset[int]) -> None:
        """It is sent; who wants it as of its time is known everywhere."""
        message_rows.stamped(
            step,
            step.member,
            message.target,
            message.values,
            message.tag,
            message.transportation,
            message.where,
            message.stamp,
            [handle.number for handle in message.gone],
            tuple(sorted(cells - {EVERYWHERE})),
        )

    # --- in -------------------------------------------------------------------------------------------------------

    def arrives(self, step: Step, message: Data, sender: Member) -> bool:
        """A message from another node; False: it does not go by these ways."""
        federation = step.federation
        arguments = message.arguments
        if not stamps.is_stamped(arguments[-1]):
            return False
        if message.service in (LATE_INTERACTION, LATE_UPDATE):
            member = federation.members.get(arguments[0])
            if member is not None and member.node == step.node:
                _arrive(step, [member], sender, message.service, arguments[1:])
            return True
        if federation.switch(recipients.DELAYED):
            return False
        if message.service == "send_interaction":
            entry = federation.catalog.interaction_classes[arguments[0]]
            if not federation.catalog.available_to_interaction_class(entry):
                return False
        elif message.service == "update_attribute_values":
            instance = federation.instances.get(arguments[0])
            values = arguments[1]
            sent = list(values) if isinstance(values, dict) else values.handles
            if instance is None or not recipients.is_placed(federation, instance, sent):
                return False
        else:
            return False
        here = [m for m in federation.members.values() if m.node == step.node and m is not sender]
        _arrive(step, here, sender, message.service, arguments)
        return True


def _arrive(
    step: Step,
    members: list[Member],
    sender: Member,
    service: str,
    arguments: tuple[Any, ...],
) -> None:
    federation = step.federation
    stamp = arguments[-1]
    if service in ("send_interaction", LATE_INTERACTION):
        interaction_class, values, tag, way = arguments[:4]
        at = matching.from_boxes(arguments[4]) if len(arguments) > 5 else None
        entry = federation.catalog.interaction_classes[interaction_class]
        message = Sent(sender.handle, interaction_class, values, tag, way, at, stamp)
        if service == "send_interaction":
            _record_arrival(step, sender, message)
        for member in members:
            received = matching_at_time.hears(federation, member, entry, at, message.time)
            if received is not None:
                _take_interaction(step, member, sender, received, message)
        return
    object_instance, values, tag = arguments[:3]
    instance = federation.instances.get(object_instance)
    if instance is None:
        return
    where = matching.from_carried(arguments[3]) if len(arguments) > 4 else None
    message = Sent(sender.handle, object_instance, values, tag, None, where, stamp)
    sent = list(values) if isinstance(values, dict) else values.handles
    if service == "update_attribute_values":
        _record_arrival(step, sender, message)
    for member in members:
        wanted = matching_at_time.wanted(federation, member, instance, sent, where, message.time)
        if wanted:
            _take_update(step, member, sender, instance, wanted, message)


def _record_arrival(step: Step, sender: Member, message: Sent) -> None:
    message_rows.stamped(
        step,
        sender,
        message.target,
        message.values,
        message.tag,
        message.transportation,
        message.where,
        message.stamp,
        None,
    )


def _data(federation: Federation, sender: Member, service: str, arguments: tuple[Any, ...]) -> Data:
    return Data(federation.name, federation.execution, federation.sequence, sender.handle, service, arguments)


def _update_arguments(message: Sent, attributes: list[AttributeHandle]) -> tuple[Any, ...]:
    kept = update_rates.part_of(message.values, tuple(attributes))
    there = matching.part_of(message.where, attributes)
    first = (message.target, kept, message.tag)
    return (*first, message.stamp) if there is None else (*first, matching.carried(there), message.stamp)


def _count_update(instance: Instance, sender: Member, sent: list[Any]) -> None:
    sender.tally.updates += 1
    for way in dict.fromkeys(overrides.transportation_of(instance, a) for a in sent):
        add(sender.tally.updates_sent, instance.entry.handle, way)
    instance.updated |= sender.bit


# --- to one member ----------------------------------------------------------------------------------------------


def _take_interaction(
    step: Step,
    member: Member,
    sender: Member,
    received: InteractionClassEntry,
    message: Sent,
) -> None:
    timing = member.timing
    retraction = message.stamp[3]
    if retraction in timing.given:
        return
    values = message.values
    kept: Any
    if isinstance(values, PackedValues):
        kept = values if received.handle == message.target else values.subset(received.parameters)
    else:
        kept = {handle: value for handle, value in values.items() if handle in received.parameters}
    conveyed = message.where is not None and member.switches.convey_region_designator_sets
    regions = matching.conveyed(message.where) if conveyed else None
    content = (received.handle, kept, message.tag, message.transportation, sender.handle, regions)
    if not timing.queue.retract(retraction):  # it comes again, and may be received at another class
        add(member.tally.interactions_received, message.target, message.transportation)
    condition = Condition((message.target, message.where), timing.untimed)
    tso_queue.arrived(
        step,
        member,
        sender,
        "receive_interaction",
        (*content, *message.stamp),
        message.stamp,
        0,
        condition,
    )
    if not timing.constrained:
        timing.give(retraction, message.time)


def _take_update(
    step: Step,
    member: Member,
    sender: Member,
    instance: Instance,
    wanted: list[AttributeHandle],
    message: Sent,
) -> None:
    timing = member.timing
    retraction = message.stamp[3]
    given = timing.given.get(retraction)
    if given is not None:
        wanted = [attribute for attribute in wanted if attribute not in given.attributes]
    if not wanted:
        return
    values = update_rates.part_of(message.values, tuple(wanted))
    condition = Condition(message.where, timing.untimed)
    waiting = timing.queue.parts(retraction)
    if waiting:
        values = _merged(values, [part.content[1][1] for part in waiting])
        condition = _joined(condition, waiting)
        timing.queue.retract(retraction)
    counted = [part.content[1][3] for part in waiting]
    instance.reflected |= member.bit
    chosen = sorted(values if isinstance(values, dict) else values.handles)
    for part, leg in enumerate(callback_split.legs_of(instance, member, chosen, condition.where)):
        kept = update_rates.part_of(values, leg.attributes or ())
        content = (instance.handle, kept, message.tag, leg.transportation, sender.handle, leg.regions)
        if leg.transportation in counted:
            counted.remove(leg.transportation)
        else:
            add(member.tally.reflections_received, instance.entry.handle, leg.transportation)
        tso_queue.arrived(
            step,
            member,
            sender,
            "reflect_attribute_values",
            (*content, *message.stamp),
            message.stamp,
            part,
            condition,
        )
    if not timing.constrained:
        timing.give(retraction, message.time, wanted)


def _merged(values: Any, others: list[Any]) -> dict[Any, bytes]:
    found: dict[Any, bytes] = {}
    for one in (*others, values):
        if isinstance(one, PackedValues):
            found.update(one.unpack())
        else:
            found.update(one)
    return found


def _joined(late: Condition, waiting: list[Stamped]) -> Condition:
    """Of an update some of which waits: each attribute was sent where its own part says, whichever came first."""
    where: Where = {}
    kept = late.kept
    for part in waiting:
        values = part.content[1][1]
        if part.condition is None or part.condition.untimed != late.untimed:
            kept |= frozenset(values if isinstance(values, dict) else values.handles)
        else:
            kept |= part.condition.kept
        if part.condition is not None:
            where.update(part.condition.where or {})
    where.update(late.where or {})
    return Condition(where or None, late.untimed, kept)


# --- topics -----------------------------------------------------------------------------------------------------


def _topics(
    federation: Federation, instance: Instance, sent: list[Any], where: Any
) -> list[tuple[Topic, Extents | None]]:
    found = []
    for attribute in sent:
        available = federation.catalog.available_to_attribute(instance.entry, attribute)
        if available:
            extents = None if where is None else where.get(attribute)
            found.append((topic_of(federation, attribute, available), extents))
    return found


def topic_of(federation: Federation, name: Name, available: frozenset[DimensionHandle]) -> Topic:
    topics = federation.distribution.topics
    found = topics.get(name)
    if found is None:
        dimensions = federation.catalog.dimensions
        found = topics[name] = Topic(name, [(d.number, dimensions[d].upper_bound) for d in sorted(available)])
        past = federation.distribution.reclaimed
        if past is not None:
            found.interest.reclaim((past, 0))
        for member in federation.members.values():
            for kind, what, region in subscriptions(member):
                if concerns(federation, found, kind, what):
                    enter(federation, found, member, kind, what, federation.regions[region])
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
    """All with regions (or with these), at any time: the class, the attribute (None: an interaction class) and the region."""
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
    return [one for one in found if chosen is None or one[2] in chosen]


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


def log_again(federation: Federation, message: Sent) -> None:
    """Of a federation that was restored.  Who wants it has it: a save waits for what is under way."""
    instance = None if message.transportation is not None else federation.instances.get(message.target)
    if message.transportation is not None:
        entry = federation.catalog.interaction_classes[message.target]
        available = federation.catalog.available_to_interaction_class(entry)
        topic_of(federation, entry.handle, available).log(message, message.where)
        for member in federation.members.values():
            received = matching_at_time.hears(federation, member, entry, message.where, message.time)
            if received is not None:
                message.gone[member.handle] = received.handle
    elif instance is not None:
        sent = list(message.values)
        for topic, extents in _topics(federation, instance, sent, message.where):
            topic.log(message, extents)
        for member in federation.members.values():
            wanted = matching_at_time.wanted(federation, member, instance, sent, message.where, message.time)
            if wanted:
                message.gone[member.handle] = dict.fromkeys(wanted)
    federation.distribution.enter(message)
