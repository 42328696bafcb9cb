"""What rows of messages have in common: shapes, found once for all messages that are alike (`recording.message_rows`)."""

from __future__ import annotations

from typing import Final

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest import Extent
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import Interaction, Message, Recipient, Update, WithParameters
from weft.kernel.state.recipients import Recipients
from weft.kernel.state.region_state import Where
from weft.kernel.state.step import Step
from weft.model.deliveries import DeliveredDirectedInteraction, DeliveredInteraction, Delivery, Reflection
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues
from weft.model.recording import EACH, NO_OBJECT, Pattern, Recorder

MOST_CELLS: Final = 64  # of one row; where there are more, the bounds say it
MOST_BOXES: Final = 62  # of one row, for which a number has bits
NOWHERE: Final = -1  # of an attribute whose regions are nowhere at that time


def known(recorder: Recorder, rows: tuple[Pattern, ...]) -> int:
    found = recorder.shapes.get(rows, -1)
    return recorder.learn(rows, rows) if found < recorder.first else found


def transport_of(federation: Federation, transportation: TransportationTypeHandle) -> str:
    return "reliable" if federation.catalog.is_reliable(transportation) else "best-effort"


def order_of(message: Message) -> str:
    if message.urgent:
        return "PO"
    return "TSO" if message.in_time_stamp_order() else "RO"


# --- rows -----------------------------------------------------------------------------------------------------


def plain(kind: str, service: str, member: Member, *more: tuple[str, object]) -> Pattern:
    """Something that happens at a federate."""
    return (
        ("kind", kind),
        ("service", service),
        ("federate", member.handle.number),
        ("name", member.name),
        *more,
    )


def what(source: int, name: str, items: tuple[str, ...], order: str, transport: str) -> Pattern:
    """Which message it is, of whom."""
    return (
        ("source", source),
        ("class", name),
        ("items", items),
        ("order", order),
        ("transport", transport),
    )


def first_of(
    step: Step, service: str, sender: Member, name: str, items: tuple[str, ...], order: str, transport: str
) -> Pattern:
    """Of a send at the sender's node, or its arrival at another."""
    message = what(sender.handle.number, name, items, order, transport)
    if sender.node == step.node:
        return plain("send", service, sender, *message)
    return (("kind", "arrive"), ("service", service), ("federate", 0), *message, ("link", sender.node))


def deliveries_of(
    service: str,
    receivers: list[Recipient],
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
        *what(source, name, items, order, transport),
        (EACH, tuple([one.member.who for one in receivers])),
    )


def numbers_of(members: list[Member]) -> tuple[object, ...]:
    """Rising, and as objects that the members have: a pair of sender and receiver costs a row a reference."""
    return tuple([one.who[0][1] for one in sorted(members, key=_number)])


def _number(member: Member) -> int:
    return member.handle.number


def with_way(
    first: Pattern, destinations: tuple[object, ...] | None, channels: tuple[int, ...] = ()
) -> Pattern:
    if destinations is not None:
        first = (*first, ("destinations", destinations))
    return (*first, ("channels", channels)) if channels else first


def _whole(step: Step, sender: Member, first: Pattern, deliveries: list[Pattern]) -> tuple[Pattern, ...]:
    """The rows of a message.  What reached the node and nobody here wants has been filtered."""
    if not deliveries and sender.node != step.node:
        return (first, (("kind", "filter"), *first[1:]))
    return (first, *deliveries)


def _alike(recipients: list[Recipient]) -> list[list[Recipient]]:
    """Neighbours that get the same."""
    found: list[list[Recipient]] = []
    for one in recipients:
        if found and one.gets_the_same(found[-1][0]):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def interaction_rows(
    step: Step,
    entry: InteractionClassEntry,
    recipients: Recipients,
    items: tuple[ParameterHandle, ...],
    order: str,
    straight: bool,
) -> tuple[Pattern, ...]:
    """Of interactions, directed ones too, to these recipients."""
    sender = recipients.sender
    names = tuple([entry.parameters[item].name for item in items])
    transport = transport_of(step.federation, recipients.transportations[0])
    service = "send_directed_interaction" if recipients.directed else "send_interaction"
    first = _first(step, service, recipients, entry.name, names, order, transport)
    if not straight:
        return (first,)  # the deliveries come later, one by one
    source = sender.handle.number
    deliveries: list[Pattern] = []
    for alike in _alike(recipients.here):
        received = alike[0].received
        assert received is not None
        kept = tuple([received.parameters[item].name for item in items if item in received.parameters])
        deliveries.append(
            deliveries_of("receive_interaction", alike, source, received.name, kept, order, transport)
        )
    return _whole(step, sender, first, deliveries)


def update_rows(
    step: Step,
    entry: ObjectClassEntry,
    recipients: Recipients,
    items: tuple[AttributeHandle, ...],
    order: str,
    straight: bool,
) -> tuple[Pattern, ...]:
    federation = step.federation
    sender = recipients.sender
    names = tuple([entry.attributes[item].name for item in items])
    transport = "+".join([transport_of(federation, one) for one in recipients.transportations])
    first = _first(step, "update_attribute_values", recipients, entry.name, names, order, transport)
    if not straight:
        return (first,)
    source = sender.handle.number
    deliveries: list[Pattern] = []
    for alike in _alike(recipients.here):
        one = alike[0]
        kept = names
        if one.attributes is not None:
            kept = tuple([entry.attributes[item].name for item in one.attributes])
        assert one.transportation is not None
        way = transport_of(federation, one.transportation)
        deliveries.append(
            deliveries_of("reflect_attribute_values", alike, source, entry.name, kept, order, way)
        )
    return _whole(step, sender, first, deliveries)


def _first(
    step: Step,
    service: str,
    recipients: Recipients,
    name: str,
    items: tuple[str, ...],
    order: str,
    transport: str,
) -> Pattern:
    """The send, with whom it was decided that it is for; or its arrival, of which the sender's node has recorded that."""
    first = first_of(step, service, recipients.sender, name, items, order, transport)
    if recipients.sender.node != step.node:
        if recipients.directed and recipients.destinations is not None:
            # Ownership may have moved meanwhile: whom it is for here is decided here.
            return with_way(first, numbers_of([one.member for one in recipients.here]))
        return first
    footprint = recipients.footprint
    numbers = None if recipients.destinations is None else numbers_of(recipients.destinations)
    return with_way(first, numbers, () if footprint is None else tuple(footprint.channels))


# --- which message --------------------------------------------------------------------------------------------


def names_of(federation: Federation, content: Message | Delivery) -> tuple[str, tuple[str, ...], int]:
    """Of a message, sent or delivered: the name of its class, those of its items, and the number of its instance."""
    about = content.object_instance()
    thing = NO_OBJECT if about is None else about.number
    if isinstance(content, (WithParameters, DeliveredInteraction, DeliveredDirectedInteraction)):
        kind = federation.catalog.interaction_classes[content.interaction_class]
        sent = content.values.handles if isinstance(content.values, PackedValues) else list(content.values)
        return kind.name, tuple([kind.parameters[item].name for item in sent]), thing
    of = None if about is None else federation.class_of(about)
    if of is None:
        return "", (), thing  # of an instance that was deleted long ago nothing is known
    if isinstance(content, (Update, Reflection)):
        updated = content.values.handles if isinstance(content.values, PackedValues) else list(content.values)
        return of.name, tuple([of.attributes[item].name for item in updated]), thing
    return of.name, (), thing


# --- where ----------------------------------------------------------------------------------------------------


def place_of(federation: Federation, message: Message, sent: bool) -> dict[str, object] | None:
    """Bounds and, where it is sent, cells; None: it goes by no regions."""
    if isinstance(message, Interaction) and message.at is not None:
        entry = federation.catalog.interaction_classes[message.interaction_class]
        dimensions = sorted(federation.catalog.available_to_interaction_class(entry))
        more = bounds_of(federation, list(message.at), dimensions)
        return with_cells(more, federation.channels.interaction_cells(entry, message.at)) if sent else more
    if isinstance(message, Update) and message.where is not None:
        instance = federation.instances[message.instance]
        more = _update_bounds(federation, instance, message.where, message.attributes())
        return (
            with_cells(more, federation.channels.update_cells(instance.entry, message.where))
            if sent
            else more
        )
    return None


def bounds_of(
    federation: Federation, extents: list[Extent], dimensions: list[DimensionHandle]
) -> dict[str, object]:
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


def with_cells(more: dict[str, object], cells: tuple[int, ...]) -> dict[str, object]:
    """Of which cells of a grid or of distribution lists it was, if there are not too many."""
    if 0 < len(cells) <= MOST_CELLS:
        more["cells"] = list(cells)
    return more


def _update_bounds(
    federation: Federation, instance: Instance, where: Where, items: list[AttributeHandle]
) -> dict[str, object]:
    """Those of all attributes that are updated, each box once; and whose they are, unless all have the same one."""
    dimensions: set[DimensionHandle] = set()
    boxes: dict[object, Extent] = {}
    places: dict[object, int] = {}
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
