"""What of a node's doings is recorded, and where (docs/recording.md).

    send, arrive    where a message begins its way at a node: `path`, `causal`, `distributing`.  If it is handed on as it is, the
                    deliveries are entered with it, as one shape; that is found once for all messages that are alike
    hold, release   where a message begins to wait (`advancing`, `causal`), and where that ends
    deliver, grant  at the end of a turn, from the callbacks that come of it (`given`)
    call, declare   where a call has been carried out, at the node of its federate (`called`)

A message is named by its source and its number among all messages of that source.  Messages of the RTI itself come from several
nodes; their numbers begin elsewhere at each.

Without a recorder (`Federation.recorder` is None) all this is one test for each message.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from weft._build import mypyc_attr
from weft.kernel import matching
from weft.kernel.parcels import Ordered
from weft.kernel.placing import Extents, Where
from weft.kernel.state import Audience, Federation, Instance, Member, Route
from weft.kernel.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import (
    DimensionHandle,
)
from weft.model.recording import NO_OBJECT, Pattern, Recorder

if TYPE_CHECKING:
    from weft.fom.catalog import InteractionClassEntry
    from weft.ordering import Tag

_DELAYED: Final = "delaySubscriptionEvaluation"
_OWN_NUMBERS: Final = 31  # bits for the numbers of the RTI's messages at one node


@mypyc_attr(allow_interpreted_subclasses=True)
class Recordings:
    """Whoever keeps the books of a node (`weft.host.recording`), which is not compiled."""

    def begin(self, federation: Federation, node: str) -> Recorder | None:
        """A federation has come to this node; None: it is not to be recorded."""
        raise NotImplementedError

    def end(self, federation: Federation) -> None:
        """It is not here any more."""
        raise NotImplementedError


def next_number(turn: Turn, federation: Federation, member: Member) -> int:
    """Of a message that is about to be sent."""
    timing = member.timing
    timing.sent += 1
    if member is federation.rti:
        return timing.sent + ((zlib.crc32(turn.node.encode()) & 0x3FFFFFFF) << _OWN_NUMBERS)
    return timing.sent


def number_of(retraction: bytes) -> int:
    return int.from_bytes(retraction[4:], "big")


def number_for(turn: Turn, federation: Federation, member: Member, stamp: tuple[Any, ...]) -> int:
    """The same where it may have been stamped already, which gives it one."""
    if stamp and stamp[3] is not None:
        return number_of(stamp[3])
    return next_number(turn, federation, member)


def carried(number: int, stamp: tuple[Any, ...]) -> int:
    """What a parcel says of the number: nothing, if it is in the stamp."""
    return 0 if stamp and stamp[3] is not None else number


def arrived(number: int, stamp: tuple[Any, ...]) -> int:
    """The number of a message that came in a parcel."""
    return number_of(stamp[3]) if stamp and stamp[3] is not None else number


MESSAGES: Final = frozenset(
    ["receive_interaction", "reflect_attribute_values", "receive_directed_interaction"]
)


def cause_of(member: Member) -> tuple[int, int]:
    """The message that the member is handling just now, as far as its node can tell."""
    handling = member.handling
    if handling is None or handling.handled or handling.method not in MESSAGES:
        return 0, 0
    arguments = handling.arguments
    producer = arguments[5 if handling.method == "receive_directed_interaction" else 4]
    number = abs(handling.number)
    if len(arguments) > 6 and arguments[-1] is not None:
        number = number_of(arguments[-1])
    return (producer.number, number) if number else (0, 0)


# --- shapes ---------------------------------------------------------------------------------------------------


def known(recorder: Recorder, rows: tuple[Pattern, ...]) -> int:
    found = recorder.shapes.get(rows)
    return recorder.learn(rows, rows) if found is None else found


def transport_of(federation: Federation, transportation: Any) -> str:
    return "reliable" if federation.catalog.is_reliable(transportation) else "best-effort"


def _order(turn: Turn, stamp: tuple[Any, ...]) -> str:
    if turn.urgent:
        return "PO"
    return "TSO" if _is_stamped(stamp) else "RO"


def _is_stamped(stamp: tuple[Any, ...]) -> bool:
    return len(stamp) > 0 and stamp[1] is OrderType.TIMESTAMP


def _time(stamp: tuple[Any, ...]) -> Any:
    return stamp[0].value if stamp else None


def _is_paused(federation: Federation) -> bool:
    """Callbacks may be held back then, so nothing is taken for delivered before the end of the turn."""
    return federation.saving is not None or federation.restoring is not None


def sent_items(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, dict) else tuple(values.handles)


def _first(
    turn: Turn, service: str, sender: Member, name: str, items: tuple[str, ...], order: str, transport: str
) -> Pattern:
    """Of a send at the sender's node, or its arrival at another."""
    source = sender.handle.number
    if sender.node != turn.node:
        return (
            ("kind", "arrive"),
            ("service", service),
            ("federate", 0),
            ("source", source),
            ("class", name),
            ("items", items),
            ("order", order),
            ("transport", transport),
            ("link", sender.node),
        )
    return (
        ("kind", "send"),
        ("service", service),
        ("federate", source),
        ("name", sender.name),
        ("source", source),
        ("class", name),
        ("items", items),
        ("order", order),
        ("transport", transport),
    )


def delivery(
    kind: str,
    service: str,
    member: Member,
    source: int,
    name: str,
    items: tuple[str, ...],
    order: str,
    transport: str,
) -> Pattern:
    return (
        ("kind", kind),
        ("service", service),
        ("federate", member.handle.number),
        ("name", member.name),
        ("source", source),
        ("class", name),
        ("items", items),
        ("order", order),
        ("transport", transport),
    )


def _filtered(first: Pattern) -> Pattern:
    """It reached the node, and nobody here wants it."""
    return (("kind", "filter"), *first[1:])


def _way(first: Pattern, destinations: list[int] | None, channels: tuple[int, ...]) -> Pattern:
    if destinations is not None:
        first = (*first, ("destinations", tuple(sorted(destinations))))
    return (*first, ("channels", channels)) if channels else first


# --- interactions ---------------------------------------------------------------------------------------------


def interaction(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
    number: int,
) -> bool:
    """It is sent, or has arrived; True if its deliveries are entered with it."""
    straight = not (audience.holding or _is_stamped(stamp) or _is_paused(federation))
    items = sent_items(values)
    key: Any = items if straight and not turn.urgent else (items, straight, _order(turn, stamp))
    shape = audience.shapes.get(key, -1)
    if shape < recorder.first:
        rows = _interaction_rows(
            turn, federation, sender, entry, audience, items, _order(turn, stamp), straight
        )
        shape = audience.shapes[key] = known(recorder, rows)
    more = None if audience.at is None else interaction_bounds(federation, entry, audience.at)
    _enter(turn, recorder, shape, number, NO_OBJECT, sender, _time(stamp), values, tag, 0, more)
    return straight


def _enter(
    turn: Turn,
    recorder: Recorder,
    shape: int,
    number: int,
    instance: int,
    sender: Member,
    time: Any,
    values: Any,
    tag: bytes,
    control: int,
    more: dict[str, Any] | None,
) -> None:
    """What was sent here has a cause and values; of what has arrived, its sender's node has written them."""
    if sender.node == turn.node:
        cause_source, cause = cause_of(sender)
        recorder.enter(
            shape, turn.now, number, instance, cause_source, cause, time, values, tag, control, more
        )
    else:
        recorder.enter(shape, turn.now, number, instance, 0, 0, time, None, b"", control, more)


def interaction_shape(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    handles: list[Any],
) -> int:
    """Of interactions that take a lane."""
    rows = _interaction_rows(turn, federation, sender, entry, audience, tuple(handles), "RO", True)
    return known(recorder, rows)


def _interaction_rows(
    turn: Turn,
    federation: Federation,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    items: tuple[Any, ...],
    order: str,
    straight: bool,
) -> tuple[Pattern, ...]:
    names = tuple([entry.parameters[item].name for item in items])
    transport = transport_of(federation, audience.transportation)
    first = _first(turn, "send_interaction", sender, entry.name, names, order, transport)
    if sender.node == turn.node:
        destinations: list[int] | None = None
        if not federation.switch(_DELAYED):
            destinations = [
                member.handle.number
                for member in federation.members.values()
                if member is not sender and matching.hears(federation, member, entry, audience.at) is not None
            ]
        first = _way(first, destinations, _channels(audience.footprint))
    if not straight:
        return (first,)
    if not audience.ears and sender.node != turn.node:
        return (first, _filtered(first))
    source = sender.handle.number
    rows = [first]
    for received, member in audience.ears:
        kept = tuple([received.parameters[item].name for item in items if item in received.parameters])
        rows.append(
            delivery("deliver", "receive_interaction", member, source, received.name, kept, order, transport)
        )
    return tuple(rows)


def _channels(footprint: Any) -> tuple[int, ...]:
    return () if footprint is None else tuple(footprint.channels)


def interaction_bounds(federation: Federation, entry: InteractionClassEntry, at: Extents) -> dict[str, Any]:
    dimensions = sorted(federation.catalog.available_to_interaction_class(entry))
    return bounds_of(federation, list(at), dimensions)


def bounds_of(
    federation: Federation, extents: list[Any], dimensions: list[DimensionHandle]
) -> dict[str, Any]:
    """Box after box, each with all dimensions: one that a region does not have is there with all of its range."""
    names: list[str] = []
    lower: list[int] = []
    upper: list[int] = []
    for extent in extents:
        ranges = extent.ranges()
        known = [handle for handle in dimensions if handle.number in ranges]
        shown = dimensions if dimensions and known else [DimensionHandle.of(number) for number in ranges]
        for handle in shown:
            entry = federation.catalog.dimensions[handle]
            low, high = ranges.get(handle.number, (0, entry.upper_bound))
            names.append(entry.name)
            lower.append(low)
            upper.append(high)
    return {"dimensions": names, "lower": lower, "upper": upper}


# --- updates --------------------------------------------------------------------------------------------------


def update(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    sender: Member,
    instance: Instance,
    route: Route,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
    number: int,
) -> bool:
    stamped = _is_stamped(stamp)
    straight = not (route.holding or stamped or route.paced or _is_paused(federation))
    shape = -1
    if straight and not turn.urgent:
        shape = route.shape
    if shape < recorder.first:
        order = _order(turn, stamp)
        items = sent_items(values)
        rows = _update_rows(turn, federation, sender, instance, route, items, order, straight)
        shape = known(recorder, rows)
        if straight and not turn.urgent:
            route.shape = shape
    more = None if route.where is None else update_bounds(federation, instance, route.where)
    thing = instance.handle.number
    _enter(turn, recorder, shape, number, thing, sender, _time(stamp), values, tag, 0, more)
    return straight


def update_shape(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    sender: Member,
    instance: Instance,
    route: Route,
    handles: list[Any],
) -> int:
    """Of updates that take a lane."""
    rows = _update_rows(turn, federation, sender, instance, route, tuple(handles), "RO", True)
    return known(recorder, rows)


def _update_rows(
    turn: Turn,
    federation: Federation,
    sender: Member,
    instance: Instance,
    route: Route,
    items: tuple[Any, ...],
    order: str,
    straight: bool,
) -> tuple[Pattern, ...]:
    entry = instance.entry
    names = tuple([entry.attributes[item].name for item in items])
    transport = "+".join([transport_of(federation, one) for one in route.transportations])
    first = _first(turn, "update_attribute_values", sender, entry.name, names, order, transport)
    if sender.node == turn.node:
        destinations: list[int] | None = None
        if not federation.switch(_DELAYED):
            destinations = reflectors(federation, sender, instance, items, route.where)
        first = _way(first, destinations, _channels(route.footprint))
    if not straight:
        return (first,)
    if not route.legs and sender.node != turn.node:
        return (first, _filtered(first))
    source = sender.handle.number
    rows = [first]
    for leg in route.legs:
        kept = names
        if leg.attributes is not None:
            kept = tuple([entry.attributes[item].name for item in leg.attributes])
        way = transport_of(federation, leg.transportation)
        rows.append(
            delivery("deliver", "reflect_attribute_values", leg.member, source, entry.name, kept, order, way)
        )
    return tuple(rows)


def reflectors(
    federation: Federation, sender: Member, instance: Instance, items: tuple[Any, ...], where: Where | None
) -> list[int]:
    """All who get an update of these attributes, wherever they are."""
    found: dict[int, None] = {}
    for known, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            if member is sender or member is federation.rti:
                continue
            subscribed = matching.wishes(federation, member, known, where)
            if subscribed and any(item in subscribed for item in items):
                found[member.handle.number] = None
    return list(found)


def update_bounds(federation: Federation, instance: Instance, where: Where) -> dict[str, Any]:
    """Those of all its attributes, each box once."""
    dimensions: set[DimensionHandle] = set()
    boxes: dict[Any, Any] = {}
    for attribute, extents in where.items():
        dimensions |= federation.catalog.available_to_attribute(instance.entry, attribute)
        for extent in extents:
            boxes[tuple(extent.ranges().items())] = extent
    return bounds_of(federation, list(boxes.values()), sorted(dimensions))


# --- other ways -----------------------------------------------------------------------------------------------


def directed(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    message: tuple[Any, ...],
    destinations: list[int] | None,
    number: int,
) -> None:
    """A directed interaction is sent, or has arrived."""
    _, instance, values, tag, transportation, stamp = message
    names = tuple([entry.parameters[item].name for item in values])
    transport = transport_of(federation, transportation)
    order = _order(turn, stamp)
    first = _first(turn, "send_directed_interaction", sender, entry.name, names, order, transport)
    shape = known(recorder, (_way(first, destinations, ()),))
    _enter(turn, recorder, shape, number, instance.number, sender, _time(stamp), values, tag, 0, None)


def stamped(
    turn: Turn,
    federation: Federation,
    sender: Member,
    target: Any,
    values: Any,
    tag: bytes,
    transportation: Any,
    where: Any,
    stamp: tuple[Any, ...],
    destinations: list[int] | None,
) -> None:
    """In time stamp order and by regions (`distributing`): `where` as of its time."""
    recorder = federation.recorder
    if recorder is None:
        return
    order = _order(turn, stamp)
    items = sent_items(values)
    more: dict[str, Any] | None = None
    thing = NO_OBJECT
    if transportation is not None:
        entry = federation.catalog.interaction_classes[target]
        names = tuple([entry.parameters[item].name for item in items])
        transport = transport_of(federation, transportation)
        first = _first(turn, "send_interaction", sender, entry.name, names, order, transport)
        if where is not None:
            more = interaction_bounds(federation, entry, where)
    else:
        instance = federation.instances[target]
        thing = target.number
        names = tuple([instance.entry.attributes[item].name for item in items])
        first = _first(turn, "update_attribute_values", sender, instance.entry.name, names, order, "reliable")
        if where is not None:
            more = update_bounds(federation, instance, where)
    shape = known(recorder, (_way(first, destinations, ()),))
    number = number_of(stamp[3])
    _enter(turn, recorder, shape, number, thing, sender, _time(stamp), values, tag, 0, more)


def _ordered_items(federation: Federation, said: Ordered) -> tuple[str, tuple[str, ...], int, Any, bytes]:
    """Of a message in causal or total order: class, items, instance, values and tag."""
    arguments = said.arguments
    values: Any
    if said.service == "delete_object_instance":
        gone = federation.instances.get(arguments[0])
        return ("" if gone is None else gone.entry.name), (), arguments[0].number, None, b""
    if said.service == "update_attribute_values":
        instance = federation.instances.get(arguments[0])
        values = arguments[1]
        thing: int = arguments[0].number
        if instance is None:
            return "", (), thing, values, arguments[2]
        known = instance.entry.attributes
        return (
            instance.entry.name,
            tuple([known[item].name for item in sent_items(values)]),
            thing,
            values,
            arguments[2],
        )
    entry = federation.catalog.interaction_classes[arguments[0]]
    if said.service == "send_directed_interaction":
        thing = arguments[1].number
        values, tag = arguments[2], arguments[3]
    else:
        thing = NO_OBJECT
        values, tag = arguments[1], arguments[2]
    return (
        entry.name,
        tuple([entry.parameters[item].name for item in sent_items(values)]),
        thing,
        values,
        tag,
    )


def _vector(tag: Tag) -> dict[str, Any]:
    more: dict[str, Any] = {"vector_of": list(range(len(tag.time))), "vector": list(tag.time)}
    if tag.view:
        more["detail"] = f"view {tag.view}"
    return more


def ordered(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    said: Ordered,
    sender: Member,
    tag: Tag,
    destinations: list[int],
    total: bool,
    control: int,
) -> None:
    """A message in causal or total order leaves its federate, stamped."""
    name, items, thing, values, user_tag = _ordered_items(federation, said)
    order = "CT" if total else "CO"
    first = _first(turn, said.service, sender, name, items, order, "reliable")
    shape = known(recorder, (_way(first, destinations, ()),))
    stamp = said.arguments[-1]
    time = _time(stamp) if isinstance(stamp, tuple) else None
    more = _vector(tag)
    if len(said.arguments) > 5 and said.service == "send_interaction":
        entry = federation.catalog.interaction_classes[said.arguments[0]]
        more.update(interaction_bounds(federation, entry, matching.from_boxes(said.arguments[4])))
    elif len(said.arguments) > 4 and said.service == "update_attribute_values":
        instance = federation.instances[said.arguments[0]]
        more.update(update_bounds(federation, instance, matching.from_carried(said.arguments[3])))
    _enter(turn, recorder, shape, said.number, thing, sender, time, values, user_tag, control, more)


def waits(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    kind: str,
    member: Member | None,
    said: Ordered,
    tag: Tag | None,
    link: str = "",
) -> None:
    """A message in causal or total order has arrived, waits, is released or turns out not to be wanted."""
    name, items, thing, _, _ = _ordered_items(federation, said)
    number = 0 if member is None else member.handle.number
    rows: Pattern = (
        ("kind", kind),
        ("service", said.service),
        ("federate", number),
        ("source", said.sender.number),
        ("class", name),
        ("items", items),
        ("order", "CT" if tag is not None and tag.source == 0 else "CO"),
        ("transport", "reliable"),
    )
    if member is not None:
        rows = (*rows, ("name", member.name))
    if link:
        rows = (*rows, ("link", link))
    more: dict[str, Any] | None = None
    if tag is not None and kind != "filter":
        more = _vector(tag)
        if member is not None:
            row = tag.row(number)
            causal = [0] * len(tag.time)
            for at in range(0, len(row), 2):
                if row[at] < len(causal):
                    causal[row[at]] = row[at + 1]
            more["causal"] = causal
    shape = known(recorder, (rows,))
    recorder.enter(shape, turn.now, said.number, thing, 0, 0, None, None, b"", 0, more)


def queued(
    turn: Turn,
    federation: Federation,
    recorder: Recorder,
    member: Member,
    sender: Member,
    method: str,
    arguments: tuple[Any, ...],
    number: int,
) -> None:
    """A message in time stamp order waits for a time-constrained member."""
    name, items, thing, _ = callback_items(federation, method, arguments)
    row: Pattern = (
        ("kind", "hold"),
        ("service", method),
        ("federate", member.handle.number),
        ("name", member.name),
        ("source", sender.handle.number),
        ("class", name),
        ("items", items),
        ("order", "TSO"),
    )
    shape = known(recorder, (row,))
    time = arguments[-4].value
    recorder.enter(shape, turn.now, number, thing, 0, 0, time, None, b"", 0, None)


def callback_items(
    federation: Federation, method: str, arguments: tuple[Any, ...]
) -> tuple[str, tuple[str, ...], int, Any]:
    """Of a message as a callback, or as it waits to be one: class, items, instance and transportation."""
    if method in ("reflect_attribute_values", "update_attribute_values", "remove_object_instance"):
        thing = arguments[0].number
        instance = federation.instances.get(arguments[0])
        if instance is None or method == "remove_object_instance":
            return ("" if instance is None else instance.entry.name), (), thing, None
        known = instance.entry.attributes
        items = tuple([known[item].name for item in sent_items(arguments[1])])
        return (
            instance.entry.name,
            items,
            thing,
            (arguments[3] if method == "reflect_attribute_values" else None),
        )
    entry = federation.catalog.interaction_classes[arguments[0]]
    at = 2 if "directed" in method else 1
    items = tuple([entry.parameters[item].name for item in sent_items(arguments[at])])
    return entry.name, items, arguments[1].number if at == 2 else NO_OBJECT, arguments[at + 2]
