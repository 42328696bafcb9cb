"""What rows of messages have in common: shapes, found once for all messages that are alike (`recording.message_rows`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from weft.kernel.ddm import matching
from weft.kernel.state.federation import Audience, Federation, Instance, Member, Route
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import DimensionHandle
from weft.model.recording import EACH, Pattern, Recorder

if TYPE_CHECKING:
    from weft.fom.catalog import InteractionClassEntry

_DELAYED: Final = "delaySubscriptionEvaluation"
MOST_CELLS: Final = 64  # of one row; where there are more, the bounds say it
MOST_BOXES: Final = 62  # of one row, for which a number has bits
NOWHERE: Final = -1  # of an attribute whose regions are nowhere at that time


def known(recorder: Recorder, rows: tuple[Pattern, ...]) -> int:
    found = recorder.shapes.get(rows, -1)
    return recorder.learn(rows, rows) if found < recorder.first else found


def transport_of(federation: Federation, transportation: Any) -> str:
    return "reliable" if federation.catalog.is_reliable(transportation) else "best-effort"


def sent_items(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, dict) else tuple(values.handles)


def is_stamped(stamp: tuple[Any, ...]) -> bool:
    return len(stamp) > 0 and stamp[1] is OrderType.TIMESTAMP


def order_of(turn: Turn, stamp: tuple[Any, ...]) -> str:
    if turn.urgent:
        return "PO"
    return "TSO" if is_stamped(stamp) else "RO"


# --- rows -----------------------------------------------------------------------------------------------------


def plain(kind: str, service: str, member: Member, *more: tuple[str, Any]) -> Pattern:
    """Something that happens at a federate."""
    return (
        ("kind", kind),
        ("service", service),
        ("federate", member.handle.number),
        ("name", member.name),
        *more,
    )


def first_of(
    turn: Turn, service: str, sender: Member, name: str, items: tuple[str, ...], order: str, transport: str
) -> Pattern:
    """Of a send at the sender's node, or its arrival at another."""
    source = sender.handle.number
    here = sender.node == turn.node
    what: Pattern = (
        ("source", source),
        ("class", name),
        ("items", items),
        ("order", order),
        ("transport", transport),
    )
    if here:
        return plain("send", service, sender, *what)
    return (("kind", "arrive"), ("service", service), ("federate", 0), *what, ("link", sender.node))


def deliveries_of(
    service: str,
    receivers: list[Member],
    source: int,
    name: str,
    items: tuple[str, ...],
    order: str,
    transport: str,
) -> Pattern:
    """The same to several, in one."""
    return (
        ("kind", "deliver"),
        ("service", service),
        ("source", source),
        ("class", name),
        ("items", items),
        ("order", order),
        ("transport", transport),
        (EACH, tuple([member.who for member in receivers])),
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
    return plain(
        kind,
        service,
        member,
        ("source", source),
        ("class", name),
        ("items", items),
        ("order", order),
        ("transport", transport),
    )


def with_way(first: Pattern, destinations: list[int] | None, channels: tuple[int, ...]) -> Pattern:
    if destinations is not None:
        first = (*first, ("destinations", tuple(sorted(destinations))))
    return (*first, ("channels", channels)) if channels else first


def _whole(
    turn: Turn, sender: Member, first: Pattern, deliveries: list[Pattern] | None
) -> tuple[Pattern, ...]:
    """The rows of a message; `deliveries` None: they come later, one by one.

    What reached the node and nobody here wants has been filtered.
    """
    if deliveries is None:
        return (first,)
    if not deliveries and sender.node != turn.node:
        return (first, (("kind", "filter"), *first[1:]))
    return (first, *deliveries)


def interaction_rows(
    step: Step,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    items: tuple[Any, ...],
    order: str,
    straight: bool,
) -> tuple[Pattern, ...]:
    turn = step.turn
    federation = step.federation
    names = tuple([entry.parameters[item].name for item in items])
    transport = transport_of(federation, audience.transportation)
    first = first_of(turn, "send_interaction", sender, entry.name, names, order, transport)
    if sender.node == step.node:
        destinations: list[int] | None = None
        if not federation.switch(_DELAYED):
            destinations = hearers(federation, sender, entry, audience.at)
        first = with_way(first, destinations, channels_of(audience.footprint))
    if not straight:
        return _whole(turn, sender, first, None)
    source = sender.handle.number
    deliveries: list[Pattern] = []
    ears = audience.ears
    at = 0
    while at < len(ears):
        received = ears[at][0]
        alike: list[Member] = []
        while at < len(ears) and ears[at][0] is received:
            alike.append(ears[at][1])
            at += 1
        kept = tuple([received.parameters[item].name for item in items if item in received.parameters])
        deliveries.append(
            deliveries_of("receive_interaction", alike, source, received.name, kept, order, transport)
        )
    return _whole(turn, sender, first, deliveries)


def update_rows(
    step: Step,
    sender: Member,
    instance: Instance,
    route: Route,
    items: tuple[Any, ...],
    order: str,
    straight: bool,
) -> tuple[Pattern, ...]:
    turn = step.turn
    federation = step.federation
    entry = instance.entry
    names = tuple([entry.attributes[item].name for item in items])
    transport = "+".join([transport_of(federation, one) for one in route.transportations])
    first = first_of(turn, "update_attribute_values", sender, entry.name, names, order, transport)
    if sender.node == step.node:
        destinations: list[int] | None = None
        if not federation.switch(_DELAYED):
            destinations = reflectors(federation, sender, instance, items, route.where)
        first = with_way(first, destinations, channels_of(route.footprint))
    if not straight:
        return _whole(turn, sender, first, None)
    source = sender.handle.number
    deliveries: list[Pattern] = []
    legs = route.legs
    at = 0
    while at < len(legs):
        attributes = legs[at].attributes
        transportation = legs[at].transportation
        alike: list[Member] = []
        while (
            at < len(legs) and legs[at].attributes == attributes and legs[at].transportation == transportation
        ):
            alike.append(legs[at].member)
            at += 1
        kept = names
        if attributes is not None:
            kept = tuple([entry.attributes[item].name for item in attributes])
        way = transport_of(federation, transportation)
        deliveries.append(
            deliveries_of("reflect_attribute_values", alike, source, entry.name, kept, order, way)
        )
    return _whole(turn, sender, first, deliveries)


def channels_of(footprint: Any) -> tuple[int, ...]:
    return () if footprint is None else tuple(footprint.channels)


# --- for whom -------------------------------------------------------------------------------------------------


def hearers(
    federation: Federation, sender: Member, entry: InteractionClassEntry, at: Extents | None
) -> list[int]:
    """All who get an interaction of this class, wherever they are."""
    return [
        member.who[0][1]
        for member in federation.members.values()
        if member is not sender and matching.hears(federation, member, entry, at) is not None
    ]


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
                found[member.who[0][1]] = None
    return list(found)


# --- where ----------------------------------------------------------------------------------------------------


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


def with_cells(more: dict[str, Any], cells: tuple[int, ...]) -> dict[str, Any]:
    """Of which cells of a grid or of distribution lists it was, if there are not too many."""
    if 0 < len(cells) <= MOST_CELLS:
        more["cells"] = list(cells)
    return more


def interaction_place(
    federation: Federation, entry: InteractionClassEntry, at: Extents, sent: bool
) -> dict[str, Any]:
    """Bounds and, where it is sent, cells."""
    more = interaction_bounds(federation, entry, at)
    return with_cells(more, federation.channels.interaction_cells(entry, at)) if sent else more


def update_place(
    federation: Federation, instance: Instance, where: Where, items: tuple[Any, ...], sent: bool
) -> dict[str, Any]:
    more = update_bounds(federation, instance, where, items)
    return with_cells(more, federation.channels.update_cells(instance.entry, where)) if sent else more


def update_bounds(
    federation: Federation, instance: Instance, where: Where, items: tuple[Any, ...]
) -> dict[str, Any]:
    """Those of all attributes that are updated, each box once; and whose they are, unless all have the same one."""
    dimensions: set[DimensionHandle] = set()
    boxes: dict[Any, Any] = {}
    places: dict[Any, int] = {}
    owned: list[int] = []
    for attribute in items:
        extents = where.get(attribute)
        if extents is None:
            owned.append(0)
            continue
        dimensions |= federation.catalog.available_to_attribute(instance.entry, attribute)
        mask = 0
        for extent in extents:
            key = tuple(extent.ranges().items())
            boxes[key] = extent
            mask |= 1 << places.setdefault(key, len(places))
        owned.append(mask or NOWHERE)
    more = bounds_of(federation, list(boxes.values()), sorted(dimensions))
    if owned.count(1) < len(owned) and len(boxes) <= MOST_BOXES:
        more["boxes"] = owned
    return more
