"""Matching: who wants what is sent with regions.  Everything that asks for an overlap asks here.

The rules (IEEE 1516.1-2025, 9.1), as Weft reads them:

* A region is a box: half-open ranges, one for each of its dimensions.  Two overlap when their ranges do in every dimension that
  both have, and they have one in common; with Allow Relaxed DDM switched on, also when they have none in common.
* Where a region lacks a dimension that is available to the attribute or interaction class, the object model may say a range for
  it ("value when unspecified"); if not ("Excluded"), the dimension does not count.
* The default region stands for what is sent or subscribed without regions, and overlaps every region.
* Of several subscriptions that overlap, with regions or without, the strongest counts: active, and the faster rate.

The sender's node asks, at the level of attributes, and sends a message to the nodes whose members want it, with the extents it
was sent with; the receiving node asks the same of its own members, with the same extents.  So what a region was when the message
was sent decides, also where the news of its change is faster than the message.  A strategy that sends to more nodes than those
changes no callback.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from weft.fom.catalog import InteractionClassEntry
from weft.interest import AttributeWish, Extent, stronger
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.region_index import MANY
from weft.kernel.state.region_state import Extents, OwnedRegion, Where
from weft.model.deliveries import Conveyed
from weft.model.handles import AttributeHandle, DimensionHandle, ObjectClassHandle, RegionHandle
from weft.model.records import RangeBounds

How = TypeVar("How")
"""How a region is subscribed."""
Carried = tuple[tuple[AttributeHandle, tuple[tuple[int, ...], ...]], ...]
"""Where, as it travels: of each extent the dimension, lower and upper bound of each range, one behind the other."""


def overlap(sent: Extents, wanted: Extent, relaxed: bool) -> bool:
    for extent in sent:
        if not extent.overlaps(wanted):
            continue
        if relaxed or _have_common(extent, wanted):
            return True
    return False


def _have_common(one: Extent, other: Extent) -> bool:
    dimensions = other.dimensions
    return any(dimension in dimensions for dimension in one.dimensions)


def realized(federation: Federation, region: OwnedRegion, available: frozenset[DimensionHandle]) -> Extent:
    """The extent of a committed region for a context, with the ranges that the object model adds there."""
    extent = region.extent
    assert extent is not None
    if not federation.catalog.unspecified:
        return extent
    found = region.completed.get(available)
    if found is None:
        found = region.completed[available] = completed(federation, extent, available)
    return found


def completed(federation: Federation, extent: Extent, available: frozenset[DimensionHandle]) -> Extent:
    ranges = extent.ranges()
    for dimension, bounds in federation.catalog.unspecified.items():
        if dimension in available:
            ranges.setdefault(dimension.number, bounds)
    return Extent(ranges)


# --- attributes -----------------------------------------------------------------------------------------------


def wishes(
    federation: Federation, member: Member, object_class: ObjectClassHandle, where: Where | None
) -> dict[AttributeHandle, AttributeWish] | None:
    """What the member wants of an instance that is there, of what it subscribes at that class."""
    declared = member.declared
    plain = declared.subscribed.get(object_class)
    held = declared.subscribed_at.get(object_class) if declared.subscribed_at else None
    if held is None:
        return plain
    entry = federation.catalog.object_classes[object_class]
    relaxed = federation.switches["allowRelaxedDDM"]
    rates = federation.catalog.model.update_rates
    found = {} if plain is None else dict(plain)
    for attribute, regions in held.items():
        sent = None if where is None else where.get(attribute)
        for handle, wish in _worth_asking(federation, sent, regions):
            if sent is not None:
                available = federation.catalog.available_to_attribute(entry, attribute)
                if not overlap(
                    sent, realized(federation, federation.ddm.regions[handle], available), relaxed
                ):
                    continue
            best = found.get(attribute)
            found[attribute] = wish if best is None else stronger(best, wish, rates)
    return found


def _worth_asking(
    federation: Federation, sent: Extents | None, regions: dict[RegionHandle, How]
) -> Iterable[tuple[RegionHandle, How]]:
    """Of many regions only those that are near, in the order of the subscriptions."""
    if sent is None or len(regions) < MANY:
        return regions.items()
    near: set[RegionHandle] = set()
    for extent in sent:
        near |= federation.ddm.subscribed.near(extent)
    if 2 * len(near) < len(regions):
        return [(handle, regions[handle]) for handle in sorted(near) if handle in regions]
    return [(handle, found) for handle, found in regions.items() if handle in near]


def where_is(federation: Federation, instance: Instance) -> Where | None:
    """None: all of it is in the default region."""
    placement = instance.placement
    if placement is None:
        return None
    where = placement.where
    if where is None or placement.owners is not instance.owners:
        where = _worked_out(federation, instance)
        placement.forget()
        placement.where = where
        placement.owners = instance.owners
    if placement.fixed is not None and not federation.ddm.regions:
        return None
    return where or None


def _worked_out(federation: Federation, instance: Instance) -> Where:
    placement = instance.placement
    assert placement is not None
    where: Where = {}
    if placement.fixed is not None:
        return dict.fromkeys(instance.owners, placement.fixed)
    for attribute, by_federate in placement.of.items():
        owner = instance.owners.get(attribute)
        regions = None if owner is None else by_federate.get(owner.handle)
        if regions:
            available = federation.catalog.available_to_attribute(instance.entry, attribute)
            where[attribute] = tuple(
                [realized(federation, federation.ddm.regions[handle], available) for handle in regions]
            )
    return where


def part_of(where: Where | None, attributes: Iterable[AttributeHandle]) -> Where | None:
    """Where these attributes are; None: in the default region, all of them."""
    if where is None:
        return None
    found = {attribute: where[attribute] for attribute in attributes if attribute in where}
    return found or None


# --- interactions ---------------------------------------------------------------------------------------------


def hears(
    federation: Federation, member: Member, entry: InteractionClassEntry, sent: Extents | None
) -> InteractionClassEntry | None:
    """The class at which the member receives an interaction that was sent with these extents (None: in the default region)."""
    received = member.declared.received_class(entry)
    if received is None or sent is None or received.handle in member.declared.receives:
        return received
    available = federation.catalog.available_to_interaction_class(received)
    relaxed = federation.switches["allowRelaxedDDM"]
    for handle, _ in _worth_asking(federation, sent, member.declared.receives_at[received.handle]):
        if overlap(sent, realized(federation, federation.ddm.regions[handle], available), relaxed):
            return received
    return None


def extents_of(
    federation: Federation, regions: Iterable[RegionHandle], available: frozenset[DimensionHandle]
) -> Extents:
    return tuple([realized(federation, federation.ddm.regions[handle], available) for handle in regions])


# --- by value -------------------------------------------------------------------------------------------------


def conveyed(extents: Extents) -> Conveyed:
    """For a federate whose Convey Region Designator Sets switch is on."""
    return frozenset(
        frozenset(
            (DimensionHandle.of(dimension), RangeBounds(*bounds))
            for dimension, bounds in extent.ranges().items()
        )
        for extent in extents
    )


def carried(where: Where) -> Carried:
    return tuple([(attribute, boxes(extents)) for attribute, extents in where.items()])


def from_carried(given: Carried) -> Where:
    return {attribute: from_boxes(extents) for attribute, extents in given}


def boxes(extents: Extents) -> tuple[tuple[int, ...], ...]:
    return tuple([_box(extent) for extent in extents])


def _box(extent: Extent) -> tuple[int, ...]:
    numbers: list[int] = []
    for dimension, (lower, upper) in extent.ranges().items():
        numbers += (dimension, lower, upper)
    return tuple(numbers)


def from_boxes(given: tuple[tuple[int, ...], ...]) -> Extents:
    return tuple(
        [Extent({box[at]: (box[at + 1], box[at + 2]) for at in range(0, len(box), 3)}) for box in given]
    )
