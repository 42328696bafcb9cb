"""The way of a message.  Read this file first.

Out, at the sender's node:

    validate    is it in the object model, does the sender publish it, does it own it?
    interest    who wants it: members here (legs, ears), and other nodes that have members who do; of what is sent with regions
                those whose regions overlap (`weft.kernel.matching`)
    rate        a subscriber that named an update rate gets no more than that (`weft.kernel.rates`)
    order       in time stamp order if the sender regulates time and the order type says so (`weft.kernel.time_services.stamp`)
    effects     a callback for each member here, one parcel for each other node

In, at another node: the same interest question, asked of the members there (`arrive`).

A message in time stamp order whose class or attributes have dimensions goes to those who want it as of its time, also if they
come to want it later by a change as of an earlier time: `weft.kernel.distributing` takes it from there.

A message in time stamp order waits for a time-constrained member until its time comes (`weft.kernel.advancing`), and
is handed to any other at once.  One in another order waits while a constrained member is granted.  A time stamp from a sender
that does not regulate is only carried along, and both order types in the callback say so.

Where a class, an attribute or the call asks for one of Weft's own orders, `weft.kernel.causal` takes the message from there.

With Delay Subscription Evaluation on, a message goes to all nodes that have members, and only they ask who wants it: who
subscribes while it is under way gets it.  One in time stamp order waits for every time-constrained member, and that is asked
when its time has come (`weft.kernel.late`).

The answers to the interest question are kept: for interactions in `Federation.audiences`, for updates in the
`Knowledge` that alike instances share.  Both are forgotten when a declaration or the membership changes.  What is sent with
regions has ways of its own: those of an instance are kept with its `Placement`.
"""

from __future__ import annotations

from typing import Any

from weft.fom.catalog import InteractionClassEntry
from weft.interest import Declared, Wish
from weft.kernel import advancing, asof, matching, rates, recording, require, time_services
from weft.kernel.effects import Callback, Cast, Transmit
from weft.kernel.parcels import Data
from weft.kernel.placing import Extents, Where
from weft.kernel.state import Audience, Conveyed, Federation, Instance, Leg, Member, Post, Route, add
from weft.kernel.traffic import EVERYBODY, Footprint
from weft.kernel.turn import Turn
from weft.model.enums import OrderType
from weft.model.errors import InteractionClassNotPublished
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues
from weft.model.records import MessageRetractionReturn
from weft.model.time import LogicalTime

NO_RETRACTION = MessageRetractionReturn(False, None)
DELAYED = "delaySubscriptionEvaluation"
_MANAGER = "HLAinteractionRoot.HLAmanager"
MANAGED = frozenset(
    f"{_MANAGER}.{kind}"
    for kind in (
        "HLAfederate.HLAadjust",
        "HLAfederate.HLArequest",
        "HLAfederate.HLAservice",
        "HLAfederation.HLAadjust",
        "HLAfederation.HLArequest",
    )
)
"""Whatever is of these classes is also meant for the RTI itself (`weft.kernel.mom`)."""


# --- interactions ---------------------------------------------------------------------------------------------


def send_interaction(
    turn: Turn,
    federation: Federation,
    member: Member,
    interaction_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
    at: Extents | None = None,
    regions: list[RegionHandle] | None = None,
) -> MessageRetractionReturn | None:
    """`at`: where it is sent; `regions`: by which regions, which may be elsewhere as of its time."""
    entry = federation.catalog.interaction_classes.get(interaction_class)
    if entry is None:
        entry = require.interaction_class(federation, interaction_class)
    if interaction_class not in member.declared.sends:
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name}; publish it before sending"
        )
    parameters = entry.parameters
    if isinstance(values, PackedValues):
        for packed_handle in values.handles:
            if packed_handle not in parameters:
                require.parameters(entry, [ParameterHandle(packed_handle)])
    else:
        for handle, value in values.items():
            if handle not in parameters:
                require.parameters(entry, values)
            if type(value) is not bytes:
                require.encoded(parameters[handle].name, value)
    if type(tag) is not bytes:
        require.encoded("the user-supplied tag", tag)
    if federation.ordered or order is not None:
        carried = time_services.carried(federation, time)
        if federation.orders.sends(turn, federation, member, entry, values, tag, carried, order, at):
            return None if time is None else NO_RETRACTION
    stamp: tuple[Any, ...] = ()
    if time is not None:
        stamp = time_services.stamp(
            federation, member, time, interaction_order(member, entry) if order is None else order
        )
    if time is not None and time_services.is_stamped(stamp) and not federation.switch(DELAYED):
        available = federation.catalog.available_to_interaction_class(entry)
        if available:
            if regions is not None:
                at = asof.extents_of(federation, regions, available, stamp[0].value)
            nodes = federation.distribution.sends(turn, federation, member, entry, values, tag, at, stamp)
            if is_managed(entry):
                _tell_rti(turn, federation, member, interaction_class, values)
            return time_services.sent(federation, member, stamp, nodes)
    audience = federation.audiences.get((interaction_class, member.handle)) if at is None else None
    if audience is None:
        audience = _audience(turn, federation, member, interaction_class, at)
    audience.count += 1
    if at is not None:
        audience.count_up()
    transportation = audience.transportation
    number = recording.number_for(turn, federation, member, stamp)
    turn.number = number
    recorder = federation.recorder
    if recorder is not None and recording.interaction(
        turn, federation, recorder, member, entry, audience, values, tag, stamp, number
    ):
        turn.number = -number
    if audience.ears or (stamp and federation.switch(DELAYED)):
        _hear(turn, federation, member, audience, interaction_class, values, tag, transportation, stamp)
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
            recording.carried(number, stamp),
        )
        reliable = federation.catalog.is_reliable(transportation)
        if audience.groups and not time_services.is_stamped(stamp):
            turn.effects.append(Cast(tuple(audience.nodes), audience.groups, message))
        else:
            for node in audience.nodes:
                turn.effects.append(Transmit(node, message, reliable))
    if audience.managed:
        _tell_rti(turn, federation, member, interaction_class, values)
    if time is None:
        return None
    if not time_services.is_stamped(stamp):
        return NO_RETRACTION
    return time_services.sent(federation, member, stamp, tuple(audience.nodes))


def is_managed(entry: InteractionClassEntry) -> bool:
    return any(ancestor.name in MANAGED for ancestor in entry.lineage)


def _tell_rti(
    turn: Turn,
    federation: Federation,
    member: Member,
    interaction_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
) -> None:
    plain = dict(values) if isinstance(values, dict) else values.unpack()
    turn.tell_rti(federation, "receive_interaction", (interaction_class, plain, member.handle))


def interaction_order(sender: Member, entry: InteractionClassEntry) -> OrderType:
    return sender.interaction_orders.get(entry.handle, entry.order)


def audience_of(
    turn: Turn, federation: Federation, sender: Member, interaction_class: InteractionClassHandle
) -> Audience:
    found = federation.audiences.get((interaction_class, sender.handle))
    return _audience(turn, federation, sender, interaction_class) if found is None else found


def _audience(
    turn: Turn,
    federation: Federation,
    sender: Member,
    interaction_class: InteractionClassHandle,
    at: Extents | None = None,
) -> Audience:
    """Kept for what is sent without regions."""
    entry = federation.catalog.interaction_classes[interaction_class]
    delayed = federation.switch(DELAYED)
    ears = []
    nodes: dict[str, None] = {}
    for member in federation.members.values():
        if member is not sender:
            received = matching.hears(federation, member, entry, at)
            if received is not None and member.node == turn.node:
                ears.append((received, member))
            elif member.node != turn.node and (received is not None or delayed):
                nodes[member.node] = None
    transportation = sender.interaction_transportations.get(interaction_class) or entry.transportation
    footprint, groups = _spread_interaction(
        turn, federation, sender, entry, at, [member for _, member in ears], nodes, delayed
    )
    made = Audience(ears, list(nodes), sender, interaction_class, transportation, is_managed(entry))
    made.at = at
    made.footprint = footprint
    if groups and not federation.catalog.is_reliable(transportation):
        made.groups = groups
    made.holding = any(member.holds for _, member in ears)
    if at is None:
        federation.audiences[(interaction_class, sender.handle)] = made
    elif any(member.switches.convey_region_designator_sets for _, member in ears):
        made.holding = True
        made.regions = matching.conveyed(at)
    return made


def _spread_interaction(
    turn: Turn,
    federation: Federation,
    sender: Member,
    entry: InteractionClassEntry,
    at: Extents | None,
    ears: list[Member],
    nodes: dict[str, None],
    delayed: bool,
) -> tuple[Footprint | None, tuple[str, ...]]:
    """To which other nodes the federation's strategy sends it, in place of those of its receivers; what is to be counted."""
    if sender is federation.rti:
        return None, ()
    channels = federation.channels
    by = (EVERYBODY,) if channels.exact else channels.of_interaction(entry, at)
    if sender.node != turn.node:
        return channels.came(federation, by, ears, turn.node), ()
    if not channels.exact and not delayed:
        nodes.clear()
        nodes.update(channels.nodes(federation, by, turn.node))
    footprint = channels.sent(federation, sender, by, nodes, turn.node)
    return footprint, channels.groups(by) if channels.multicast and not delayed else ()


def _hear(
    turn: Turn,
    federation: Federation,
    sender: Member,
    audience: Audience,
    sent_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
    tag: bytes,
    transportation: TransportationTypeHandle,
    stamp: tuple[Any, ...],
) -> None:
    if audience.holding or (stamp and stamp[1] is OrderType.TIMESTAMP):
        _hear_in_time(turn, federation, sender, audience, sent_class, values, tag, transportation, stamp)
        return
    if isinstance(values, PackedValues):
        _hear_packed(turn, sender, audience, sent_class, values, tag, transportation, stamp)
        return
    effects = turn.effects
    producer = sender.handle
    number = turn.number
    for received, member in audience.ears:
        if received.handle is sent_class or received.handle == sent_class:
            kept = dict(values)
        else:
            kept = {handle: value for handle, value in values.items() if handle in received.parameters}
        arguments: tuple[Any, ...] = (received.handle, kept, tag, transportation, producer, None)
        effects.append(
            Callback(member.session, "receive_interaction", arguments + stamp if stamp else arguments, number)
        )


def _hear_in_time(
    turn: Turn,
    federation: Federation,
    sender: Member,
    audience: Audience,
    sent_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
    tag: bytes,
    transportation: TransportationTypeHandle,
    stamp: tuple[Any, ...],
) -> None:
    """Somebody may have to wait for it."""
    stamped = time_services.is_stamped(stamp)
    late = stamped and federation.switch(DELAYED)
    heard: InteractionClassEntry | None = None
    arguments: tuple[Any, ...] = ()
    if late:
        at = None if audience.at is None else matching.boxes(audience.at)
        message = (sent_class, unshared(values), tag, transportation, sender.handle, at, *stamp)
        _await_time(turn, federation, sender, "send_interaction", message, stamp)
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
            advancing.arrived(turn, federation, member, sender, "receive_interaction", handed, stamp)
        else:
            advancing.hand(turn, member, "receive_interaction", handed)


def _hear_packed(
    turn: Turn,
    sender: Member,
    audience: Audience,
    sent_class: InteractionClassHandle,
    values: PackedValues,
    tag: bytes,
    transportation: TransportationTypeHandle,
    stamp: tuple[Any, ...],
) -> None:
    """Packed values cannot be changed, so all who hear the same class share one tuple, and the host encodes it once."""
    effects = turn.effects
    heard: InteractionClassEntry | None = None
    arguments: tuple[Any, ...] = ()
    for received, member in audience.ears:
        if received is not heard:
            heard = received
            kept = values if received.handle == sent_class else values.subset(received.parameters)
            arguments = (received.handle, kept, tag, transportation, sender.handle, None, *stamp)
        effects.append(Callback(member.session, "receive_interaction", arguments, turn.number))


def _await_time(
    turn: Turn,
    federation: Federation,
    sender: Member,
    service: str,
    arguments: tuple[Any, ...],
    stamp: tuple[Any, ...],
) -> None:
    """For every time-constrained member here: if it wants the message is asked when its time has come."""
    for member in federation.members.values():
        if member.node == turn.node and member.timing.constrained and member is not sender:
            advancing.arrived(turn, federation, member, sender, service, arguments, stamp)


def unshared(values: Any) -> Any:
    """Values that will travel while the caller may go on to change its dict."""
    return dict(values) if isinstance(values, dict) else values


# --- attribute updates ----------------------------------------------------------------------------------------


def update_attribute_values(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_instance: ObjectInstanceHandle,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    instance = require.known_instance(federation, member, object_instance)
    defined = instance.entry.attributes
    owners = instance.owners
    sent: list[Any]
    if isinstance(values, PackedValues):
        sent = values.handles
        for packed_handle in sent:
            if owners.get(packed_handle) is not member:
                require.known_attributes(federation, member, instance, [AttributeHandle(packed_handle)])
                require.owned(instance, member, [AttributeHandle(packed_handle)])
    else:
        sent = list(values)
        for handle, value in values.items():
            if owners.get(handle) is not member:
                require.known_attributes(federation, member, instance, [handle])
                require.owned(instance, member, [handle])
            if type(value) is not bytes:
                require.encoded(defined[handle].name, value)
    if type(tag) is not bytes:
        require.encoded("the user-supplied tag", tag)
    if federation.ordered or order is not None:
        carried = time_services.carried(federation, time)
        if federation.orders.updates(turn, federation, member, instance, values, tag, carried, order):
            return None if time is None else NO_RETRACTION
    if time is None:
        _send_update(turn, federation, instance, member, values, sent, tag, ())
        return None
    return _update_in_time(turn, federation, instance, member, values, sent, tag, time, order)


def _update_in_time(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    member: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    sent: list[Any],
    tag: bytes,
    time: LogicalTime,
    given: OrderType | None,
) -> MessageRetractionReturn:
    """Attributes of different order go in separate messages."""
    orders = [attribute_order(instance, a) if given is None else given for a in sent]
    stamped = [a for a, one in zip(sent, orders, strict=True) if one is OrderType.TIMESTAMP]
    plain = [a for a, one in zip(sent, orders, strict=True) if one is not OrderType.TIMESTAMP]
    order = OrderType.TIMESTAMP if stamped else OrderType.RECEIVE
    stamp = time_services.stamp(federation, member, time, order)
    if not stamped or not plain or not time_services.is_stamped(stamp):
        nodes = _send_update(turn, federation, instance, member, values, sent, tag, stamp)
        if not time_services.is_stamped(stamp):
            return NO_RETRACTION
        return time_services.sent(federation, member, stamp, nodes)
    carried = (time, OrderType.RECEIVE, OrderType.RECEIVE, None)
    some = rates.part_of(values, tuple(plain))
    _send_update(turn, federation, instance, member, some, plain, tag, carried)
    rest = rates.part_of(values, tuple(stamped))
    nodes = _send_update(turn, federation, instance, member, rest, stamped, tag, stamp)
    return time_services.sent(federation, member, stamp, nodes)


def attribute_order(instance: Instance, attribute: AttributeHandle) -> OrderType:
    if instance.overrides is not None and attribute in instance.overrides.orders:
        return instance.overrides.orders[attribute]
    return instance.entry.attributes[attribute].order


def _send_update(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    member: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    sent: list[Any],
    tag: bytes,
    stamp: tuple[Any, ...],
) -> tuple[str, ...]:
    """Returns the other nodes that it goes to."""
    if stamp and time_services.is_stamped(stamp) and is_placed(federation, instance, sent):
        return federation.distribution.updates(turn, federation, member, instance, values, sent, tag, stamp)
    where = None
    if instance.placement is not None:
        where = matching.part_of(matching.where_is(federation, instance), sent)
    route = _route(turn, federation, instance, member, sent, where)
    number = recording.number_for(turn, federation, member, stamp)
    turn.number = number
    recorder = federation.recorder
    if recorder is not None and recording.update(
        turn, federation, recorder, member, instance, route, values, tag, stamp, number
    ):
        turn.number = -number
    _reflect_all(turn, federation, instance, route, member, values, tag, stamp)
    for post in route.posts:
        kept = unshared(values) if post.attributes is None else rates.part_of(values, post.attributes)
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
            recording.carried(number, stamp),
        )
        if post.groups and not time_services.is_stamped(stamp):
            turn.effects.append(Cast(post.nodes, post.groups, message))
        else:
            for node in post.nodes:
                turn.effects.append(Transmit(node, message, post.reliable))
    return tuple([node for post in route.posts for node in post.nodes]) if stamp else ()


def is_placed(federation: Federation, instance: Instance, sent: list[Any]) -> bool:
    """Do these attributes, in time stamp order, go by regions as of their time (`weft.kernel.distributing`)?"""
    entry = instance.entry
    if federation.switch(DELAYED):
        return False  # who wants it is asked when its time has come, and not as of that time
    return any(federation.catalog.available_to_attribute(entry, attribute) for attribute in sent)


def _reflect_all(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    route: Route,
    sender: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    """To the members here."""
    if stamp and stamp[1] is OrderType.TIMESTAMP:
        _reflect_in_time(
            turn, federation, instance, route.legs + route.paced, sender, values, tag, stamp, route.where
        )
        return
    if route.holding:
        _reflect_in_time(turn, federation, instance, route.legs, sender, values, tag, stamp)
    elif route.legs:
        _reflect(turn, instance, route, sender, values, tag, stamp)
    if route.paced:
        rates.pace(turn, federation, instance, route.paced, sender, values, tag, stamp)


def _reflect_in_time(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    legs: list[Leg],
    sender: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
    where: Where | None = None,
) -> None:
    """Somebody may have to wait for it.  Update rates do not apply to what comes in time stamp order."""
    stamped = time_services.is_stamped(stamp)
    late = stamped and federation.switch(DELAYED)
    if late:
        there = None if where is None else matching.carried(where)
        message = (instance.handle, unshared(values), tag, sender.handle, there, *stamp)
        _await_time(turn, federation, sender, "update_attribute_values", message, stamp)
    for part, leg in enumerate(legs):
        if late and leg.member.timing.constrained:
            if not leg.intervals:
                add(leg.member.tally.reflections_received, instance.entry.handle, leg.transportation, -1)
            continue
        kept = unshared(values) if leg.attributes is None else rates.part_of(values, leg.attributes)
        member = leg.member
        arguments = (instance.handle, kept, tag, leg.transportation, sender.handle, leg.regions, *stamp)
        if stamped:
            advancing.arrived(
                turn, federation, member, sender, "reflect_attribute_values", arguments, stamp, part
            )
        else:
            advancing.hand(turn, member, "reflect_attribute_values", arguments)


def _route(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    sender: Member,
    sent: list[Any],
    where: Where | None = None,
) -> Route:
    """The route of an update that is about to be made: it is counted here."""
    if instance.overrides is not None or where is not None:
        route = _placed_route(turn, federation, instance, sender, tuple(sent), where)
        route.count = 1
        route.count_up()
        mark(instance, route, sender)
        return route
    found = route_of(turn, federation, instance, sender, sent)
    found.count += 1
    mark(instance, found, sender)
    return found


def _placed_route(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    sender: Member,
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
) -> Route:
    """Of an instance that is like no other: kept as long as all that it depends on stays as it is."""
    placement = instance.placement
    if placement is None or where is None or instance.overrides is not None or placement.where is None:
        return _find_route(turn, federation, instance, sender, sent, where)
    if sender.node != turn.node:  # the message says where it was sent, which may not be where the instance is
        return _find_route(turn, federation, instance, sender, sent, where)
    valid = placement.valid
    generation, regional = federation.generation, federation.regional
    if not valid or valid[0] != generation or valid[1] != regional or valid[2] is not instance.knowledge:
        placement.valid = (generation, regional, instance.knowledge)
        placement.routes.clear()
    found: Route | None = placement.routes.get(sent)
    if found is None:
        found = placement.routes[sent] = _find_route(turn, federation, instance, sender, sent, where)
    return found


def route_of(
    turn: Turn, federation: Federation, instance: Instance, sender: Member, sent: list[Any]
) -> Route:
    """The route that updates of these attributes have in common, if the instance is like others (no overrides)."""
    knowledge = instance.knowledge
    if knowledge.generation != federation.generation:
        knowledge.generation = federation.generation
        knowledge.routes.clear()
    key = (sender.handle, instance.entry.handle, *sent)
    found = knowledge.routes.get(key)
    if found is None:
        found = _find_route(turn, federation, instance, sender, tuple(sent))
        knowledge.routes[key] = found
        federation.routes.append(found)
    return found


def mark(instance: Instance, route: Route, sender: Member) -> None:
    instance.updated |= sender.bit
    if not instance.reflected:
        instance.reflected = route.reached  # one number for all alike instances
    else:
        instance.reflected |= route.reached


def _find_route(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    sender: Member,
    sent: tuple[AttributeHandle, ...],
    where: Where | None = None,
) -> Route:
    legs: list[Leg] = []
    paced: list[Leg] = []
    away: dict[str, dict[AttributeHandle, None]] = {}  # node -> what its members want
    for known_class, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            subscribed = matching.wishes(federation, member, known_class, where)
            if member is sender or not subscribed:
                continue
            wanted = [handle for handle in sent if handle in subscribed]
            if wanted and member.node == turn.node:
                if any(subscribed[handle].rate for handle in wanted):
                    paced.extend(_paced(federation, instance, member, wanted, subscribed, where))
                else:
                    legs.extend(_legs(instance, member, wanted, len(sent), where))
            elif wanted:
                away.setdefault(member.node, {}).update(dict.fromkeys(wanted))
    delayed = federation.switch(DELAYED)
    if delayed:
        away = {m.node: dict.fromkeys(sent) for m in federation.members.values() if m.node != turn.node}
    ways = list(dict.fromkeys(transportation_of(instance, handle) for handle in sent))
    route = Route(legs, [], sender, instance.entry.handle, ways, paced)
    route.where = where
    _spread_update(turn, federation, instance, route, away, sent, where, delayed)
    return route


def _spread_update(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    route: Route,
    away: dict[str, dict[AttributeHandle, None]],
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
    delayed: bool,
) -> None:
    """To which other nodes the federation's strategy sends it, in place of those of its receivers; what is to be counted."""
    channels = federation.channels
    sender = route.sender
    if sender is not federation.rti:
        by: tuple[int, ...] = (EVERYBODY,)
        if not channels.exact:
            by, there = channels.updates(federation, instance.entry, sent, where, turn.node)
            away = away if delayed else there
        if sender.node != turn.node:
            heard = [leg.member for leg in (*route.legs, *route.paced)]
            route.footprint = channels.came(federation, by, heard, turn.node)
            return
        route.footprint = channels.sent(federation, sender, by, away, turn.node)
        if channels.multicast and not delayed:
            route.posts = _group_posts(federation, instance, away, sent, where)
            return
    for node, wanted in away.items():
        route.posts += _posts(federation, instance, (node,), list(wanted), len(sent))


def _group_posts(
    federation: Federation,
    instance: Instance,
    away: dict[str, dict[AttributeHandle, None]],
    sent: tuple[AttributeHandle, ...],
    where: Where | None,
) -> list[Post]:
    """Best-effort attributes go to the groups of their channels, reliable ones to each node."""
    posts: list[Post] = []
    cast: dict[AttributeHandle, None] = {}
    listening: dict[str, None] = {}
    for node, wanted in away.items():
        for post in _posts(federation, instance, (node,), list(wanted), len(sent)):
            if post.reliable:
                posts.append(post)
            else:
                listening[node] = None
                cast.update(dict.fromkeys(sent if post.attributes is None else post.attributes))
    if listening:
        channels = federation.channels
        by, _ = channels.updates(federation, instance.entry, tuple(cast), where, "")
        attributes = None if len(cast) == len(sent) else tuple(cast)
        posts.append(Post(tuple(listening), attributes, False, channels.groups(by)))
    return posts


def _posts(
    federation: Federation,
    instance: Instance,
    nodes: tuple[str, ...],
    wanted: list[AttributeHandle],
    sent: int,
) -> list[Post]:
    """What goes to other nodes, reliable and best-effort attributes apart."""
    parts: dict[bool, list[AttributeHandle]] = {}
    for handle in wanted:
        reliable = federation.catalog.is_reliable(transportation_of(instance, handle))
        parts.setdefault(reliable, []).append(handle)
    return [
        Post(nodes, None if len(part) == sent else tuple(part), reliable) for reliable, part in parts.items()
    ]


def legs_of(
    instance: Instance, member: Member, wanted: list[AttributeHandle], where: Where | None
) -> list[Leg]:
    """To one member, of attributes that were chosen for it."""
    return _legs(instance, member, wanted, -1, where)


def _legs(
    instance: Instance, member: Member, wanted: list[AttributeHandle], sent: int, where: Where | None
) -> list[Leg]:
    """Attributes of different transportation reach a federate in separate callbacks.  So do those of different regions, if
    it is told of regions."""
    if where is not None and member.switches.convey_region_designator_sets:
        return _conveying_legs(instance, member, wanted, where)
    by_transportation: dict[TransportationTypeHandle, list[AttributeHandle]] = {}
    for handle in wanted:
        by_transportation.setdefault(transportation_of(instance, handle), []).append(handle)
    return [
        Leg(member, None if len(handles) == sent else tuple(handles), transportation)
        for transportation, handles in by_transportation.items()
    ]


def _conveying_legs(
    instance: Instance, member: Member, wanted: list[AttributeHandle], where: Where
) -> list[Leg]:
    parts: dict[tuple[TransportationTypeHandle, Conveyed | None], list[AttributeHandle]] = {}
    for handle in wanted:
        regions = matching.conveyed(where[handle]) if handle in where else None
        parts.setdefault((transportation_of(instance, handle), regions), []).append(handle)
    legs = []
    for (transportation, regions), handles in parts.items():
        leg = Leg(member, tuple(handles), transportation)
        leg.regions = regions
        legs.append(leg)
    return legs


def _paced(
    federation: Federation,
    instance: Instance,
    member: Member,
    wanted: list[AttributeHandle],
    subscribed: dict[AttributeHandle, Wish],
    where: Where | None,
) -> list[Leg]:
    """Legs to a member that named a rate for some of the attributes: each attribute has its own time."""
    legs = _legs(instance, member, wanted, -1, where)  # never "all that were sent"
    for leg in legs:
        leg.intervals = tuple(rates.interval(federation, subscribed[a].rate) for a in leg.attributes or ())
    return legs


def transportation_of(instance: Instance, attribute: AttributeHandle) -> TransportationTypeHandle:
    if instance.overrides is not None and attribute in instance.overrides.transportations:
        return instance.overrides.transportations[attribute]
    return instance.entry.attributes[attribute].transportation


def _reflect(
    turn: Turn,
    instance: Instance,
    route: Route,
    sender: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    if isinstance(values, PackedValues):
        _reflect_packed(turn, instance, route, sender, values, tag, stamp)
        return
    effects = turn.effects
    producer = sender.handle
    number = turn.number
    for leg in route.legs:
        wanted = leg.attributes
        kept = dict(values) if wanted is None else {handle: values[handle] for handle in wanted}
        arguments: tuple[Any, ...] = (instance.handle, kept, tag, leg.transportation, producer, None)
        effects.append(
            Callback(
                leg.member.session,
                "reflect_attribute_values",
                arguments + stamp if stamp else arguments,
                number,
            )
        )


def _reflect_packed(
    turn: Turn,
    instance: Instance,
    route: Route,
    sender: Member,
    values: PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    """As with interactions, receivers of the same attributes share one tuple."""
    effects = turn.effects
    last: Leg | None = None
    arguments: tuple[Any, ...] = ()
    for leg in route.legs:
        if last is None or leg.attributes != last.attributes or leg.transportation != last.transportation:
            kept = values if leg.attributes is None else values.subset(leg.attributes)
            arguments = (instance.handle, kept, tag, leg.transportation, sender.handle, None, *stamp)
            last = leg
        effects.append(Callback(leg.member.session, "reflect_attribute_values", arguments, turn.number))


# --- directed interactions ------------------------------------------------------------------------------------


def send_directed_interaction(
    turn: Turn,
    federation: Federation,
    member: Member,
    interaction_class: InteractionClassHandle,
    object_instance: ObjectInstanceHandle,
    values: dict[ParameterHandle, bytes],
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    """To the members that subscribe to it for the target's class: owners of the target, or universal subscribers."""
    entry = require.interaction_class(federation, interaction_class)
    instance = require.known_instance(federation, member, object_instance)
    if not member.declared.may_direct(instance.entry, interaction_class):
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name} as directed to {instance.entry.name} or a class above it"
        )
    require.parameters(entry, values)
    for handle, value in values.items():
        require.encoded(entry.parameters[handle].name, value)
    require.encoded("the user-supplied tag", tag)
    transportation = member.interaction_transportations.get(interaction_class, entry.transportation)
    carried = time_services.carried(federation, time)
    arguments = (interaction_class, object_instance, dict(values), tag, transportation, carried)
    if federation.ordered or order is not None:
        if federation.orders.directs(turn, federation, member, arguments, order):
            add(member.tally.directed_sent, interaction_class, transportation)
            return None if time is None else NO_RETRACTION
    asked = interaction_order(member, entry) if order is None else order
    stamp = time_services.stamp(federation, member, time, asked)
    add(member.tally.directed_sent, interaction_class, transportation)
    nodes = direct(turn, federation, member, instance, entry, (*arguments[:5], stamp))
    if time is None:
        return None
    return time_services.sent(federation, member, stamp, nodes) if stamp[3] else NO_RETRACTION


def direct(
    turn: Turn,
    federation: Federation,
    member: Member,
    instance: Instance,
    entry: InteractionClassEntry,
    arguments: tuple[Any, ...],
) -> tuple[str, ...]:
    """In receive or time stamp order, to members here and elsewhere; returns the other nodes."""
    delayed = federation.switch(DELAYED)
    number = recording.number_for(turn, federation, member, arguments[5])
    turn.number = number
    if federation.recorder is not None:
        whom: list[int] | None = None
        if not delayed:
            whom = [
                other.handle.number
                for other in federation.seated(instance.knowledge.mask & ~member.bit)
                if directed_to(instance, entry, other) is not None
            ]
        recording.directed(turn, federation, federation.recorder, member, entry, arguments, whom, number)
    _direct(turn, federation, member, arguments)
    nodes = {
        other.node: None
        for other in federation.members.values()
        if other.node != turn.node
        and (delayed or other.declared.directed_class(instance.entry, entry) is not None)
    }
    message = Data(
        federation.name,
        federation.execution,
        federation.sequence,
        member.handle,
        "send_directed_interaction",
        arguments,
        recording.carried(number, arguments[5]),
    )
    reliable = federation.catalog.is_reliable(arguments[4])
    for node in nodes:
        turn.effects.append(Transmit(node, message, reliable))
    return tuple(nodes)


def _direct(turn: Turn, federation: Federation, sender: Member, message: tuple[Any, ...]) -> None:
    interaction_class, object_instance = message[:2]
    entry = federation.catalog.interaction_classes[interaction_class]
    instance = federation.instances.get(object_instance)
    if instance is None:
        return
    late = time_services.is_stamped(message[5]) and federation.switch(DELAYED)
    if late:
        waiting = (*message[:5], sender.handle, *message[5])
        _await_time(turn, federation, sender, "send_directed_interaction", waiting, message[5])
    for member in federation.seated(instance.knowledge.mask):
        if late and member.timing.constrained:
            continue
        if member is not sender and member.node == turn.node:
            received = directed_to(instance, entry, member)
            if received is not None:
                _hand_directed(turn, federation, member, received, sender, message)


def directed_to(
    instance: Instance, entry: InteractionClassEntry, member: Member
) -> InteractionClassEntry | None:
    """The class at which the member gets an interaction directed to the instance, if it does."""
    found = member.declared.directed_class(instance.entry, entry)
    if found is None:
        return None
    received, universally = found
    return received if universally or member in list(instance.owners.values()) else None


def _hand_directed(
    turn: Turn,
    federation: Federation,
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
    if time_services.is_stamped(stamp):
        advancing.arrived(turn, federation, member, sender, method, arguments, stamp)
    else:
        advancing.hand(turn, member, method, arguments, order)


# --- in -------------------------------------------------------------------------------------------------------


def arrive(turn: Turn, federation: Federation, message: Data) -> None:
    """A message from another node: hand it to the members here that want it."""
    sender = _sender(federation, message.sender)
    number = turn.number = recording.arrived(message.number, message.arguments[-1])
    recorder = federation.recorder
    if federation.distribution.arrives(turn, federation, message, sender):
        return
    if message.service == "send_interaction":
        interaction_class, values, tag, transportation = message.arguments[:4]
        stamp = message.arguments[-1]
        at = matching.from_boxes(message.arguments[4]) if len(message.arguments) > 5 else None
        audience = federation.audiences.get((interaction_class, sender.handle)) if at is None else None
        if audience is None:
            audience = _audience(turn, federation, sender, interaction_class, at)
        audience.count += 1
        if at is not None:
            audience.count_up()
        if recorder is not None:
            entry = federation.catalog.interaction_classes[interaction_class]
            if recording.interaction(
                turn, federation, recorder, sender, entry, audience, values, tag, stamp, number
            ):
                turn.number = -number
        _hear(turn, federation, sender, audience, interaction_class, values, tag, transportation, stamp)
    elif message.service == "update_attribute_values":
        object_instance, values, tag = message.arguments[:3]
        stamp = message.arguments[-1]
        instance = federation.instances.get(object_instance)
        if instance is not None:
            sent = list(values) if isinstance(values, dict) else values.handles
            where = matching.from_carried(message.arguments[3]) if len(message.arguments) > 4 else None
            route = _route(turn, federation, instance, sender, sent, where)
            if recorder is not None and recording.update(
                turn, federation, recorder, sender, instance, route, values, tag, stamp, number
            ):
                turn.number = -number
            _reflect_all(turn, federation, instance, route, sender, values, tag, stamp)
    else:
        if recorder is not None:
            entry = federation.catalog.interaction_classes[message.arguments[0]]
            recording.directed(turn, federation, recorder, sender, entry, message.arguments, None, number)
        _direct(turn, federation, sender, message.arguments)


# --- to one member, by another order (weft.kernel.causal) -------------------------------------------------------


def hand_interaction(
    turn: Turn, federation: Federation, member: Member, producer: FederateHandle, message: tuple[Any, ...]
) -> None:
    """If it still wants it."""
    interaction_class, values, tag, transportation = message[:4]
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
    advancing.hand(turn, member, "receive_interaction", arguments, OrderType.CAUSAL)


def hand_directed(
    turn: Turn,
    federation: Federation,
    member: Member,
    instance: Instance,
    producer: FederateHandle,
    message: tuple[Any, ...],
) -> None:
    entry = federation.catalog.interaction_classes[message[0]]
    received = directed_to(instance, entry, member)
    if received is not None and instance.knowledge.mask & member.bit:
        sender = _sender(federation, producer)
        _hand_directed(turn, federation, member, received, sender, message, OrderType.CAUSAL)


def hand_update(
    turn: Turn,
    federation: Federation,
    member: Member,
    instance: Instance,
    producer: FederateHandle,
    message: tuple[Any, ...],
    last: bool,
) -> None:
    """What it still wants of it, at its rate; at once if the instance is about to be removed (`last`)."""
    values, tag, stamp = message[1], message[2], message[-1]
    where = matching.from_carried(message[3]) if len(message) > 4 else None
    known = federation.known_class(member, instance)
    subscribed = None if known is None else matching.wishes(federation, member, known, where)
    if not subscribed:
        return
    sent = list(values) if isinstance(values, dict) else values.handles
    wanted = [handle for handle in sent if handle in subscribed]
    sender = _sender(federation, producer)
    if not last and any(subscribed[handle].rate for handle in wanted):
        legs = _paced(federation, instance, member, wanted, subscribed, where)
        rates.pace(turn, federation, instance, legs, sender, values, tag, stamp)
        return
    for leg in _legs(instance, member, wanted, -1, where):
        kept = rates.part_of(values, leg.attributes or ())
        arguments = (instance.handle, kept, tag, leg.transportation, producer, leg.regions, *stamp)
        add(member.tally.reflections_received, instance.entry.handle, leg.transportation)
        instance.reflected |= member.bit
        advancing.hand(turn, member, "reflect_attribute_values", arguments, OrderType.CAUSAL)


def _sender(federation: Federation, handle: FederateHandle) -> Member:
    """Who has resigned has its last words after the news of it."""
    found = federation.rti if handle == federation.rti.handle else federation.members.get(handle)
    if found is not None:
        return found
    return Member(handle, federation.departed.get(handle, ""), "", "", 0, 0, Declared())
