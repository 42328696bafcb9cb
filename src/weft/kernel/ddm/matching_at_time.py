"""Who wants what as of a logical time: the same questions as in `ddm.matching`, for messages in time stamp order.

A message with time stamp s, sent with certain extents, is for a federate if one of its subscriptions that are there as of s has
no region, or one that overlaps them as of s.  Subscriptions and regions that never changed as of a time are the same at all
times.  The class at which a federate knows an instance is the same at all times too; the class at which it receives
an interaction is the nearest that it subscribes to as of s.

Discovery is not in time stamp order.  It asks whether there is any time, still to come or not everybody's past, at which the
federate might want something of the instance: so an instance is always discovered before the first update of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest import AttributeWish, Extent
from weft.kernel.ddm import matching
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.region_state import Extents, OwnedRegion, Where
from weft.model.handles import AttributeHandle, DimensionHandle, ObjectClassHandle, RegionHandle
from weft.model.time import TimeValue


def _realized(
    federation: Federation, region: OwnedRegion, available: frozenset[DimensionHandle], time: TimeValue
) -> Extent | None:
    if region.timeline is None:
        return None if region.extent is None else matching.realized(federation, region, available)
    extent = region.timeline.read(time)
    if extent is None or not federation.catalog.unspecified:
        return extent
    return matching.completed(federation, extent, available)


def extents_of(
    federation: Federation,
    regions: Iterable[RegionHandle],
    available: frozenset[DimensionHandle],
    time: TimeValue,
) -> Extents:
    """Of regions as of that time; those that are nowhere are left out."""
    found = [_realized(federation, federation.ddm.regions[handle], available, time) for handle in regions]
    return tuple([extent for extent in found if extent is not None])


def ever_at(federation: Federation, instance: Instance) -> Where | None:
    """Where an instance is, at any time."""
    return where_is(federation, instance, None)


def where_is(federation: Federation, instance: Instance, time: TimeValue | None) -> Where | None:
    """None: at any time."""
    where = matching.where_is(federation, instance)
    placement = instance.placement
    if where is None or placement is None or placement.fixed is not None or not federation.ddm.timed:
        return where
    found: Where = {}
    for attribute in where:
        regions = placement.of[attribute][instance.owners[attribute].handle]
        available = federation.catalog.available_to_attribute(instance.entry, attribute)
        if time is not None:
            found[attribute] = extents_of(federation, regions, available, time)
        else:
            ever = [extent for handle in regions for extent in federation.ddm.regions[handle].ever()]
            found[attribute] = tuple([matching.completed(federation, extent, available) for extent in ever])
    return found


# --- attributes -----------------------------------------------------------------------------------------------


def wanted(
    federation: Federation,
    member: Member,
    instance: Instance,
    attributes: Iterable[AttributeHandle],
    where: Where | None,
    time: TimeValue,
) -> list[AttributeHandle]:
    """Which of these the member gets, of an instance that was there as of that time."""
    known = federation.known_class(member, instance)
    if known is None:
        return []
    plain: Container[AttributeHandle] = member.declared.subscribed.get(known) or {}
    held: Mapping[AttributeHandle, Iterable[RegionHandle]] = member.declared.subscribed_at.get(known) or {}
    timed = member.declared.timed.at(known, time)
    if timed:
        plain, held = _subscribed(member, known, timed)
    if not held:
        return [attribute for attribute in attributes if attribute in plain]
    entry = federation.catalog.object_classes[known]
    relaxed = federation.switches["allowRelaxedDDM"]
    found = []
    for attribute in attributes:
        if attribute in plain:
            found.append(attribute)
            continue
        sent = None if where is None else where.get(attribute)
        for handle in held.get(attribute, ()):
            if sent is None:
                found.append(attribute)
                break
            available = federation.catalog.available_to_attribute(entry, attribute)
            extent = _realized(federation, federation.ddm.regions[handle], available, time)
            if extent is not None and matching.overlap(sent, extent, relaxed):
                found.append(attribute)
                break
    return found


def _subscribed(
    member: Member,
    object_class: ObjectClassHandle,
    timed: Mapping[tuple[AttributeHandle, RegionHandle | None], AttributeWish | None],
) -> tuple[dict[AttributeHandle, None], dict[AttributeHandle, dict[RegionHandle, None]]]:
    """What is subscribed without regions, and with which regions each attribute, where some is `timed`."""
    declared = member.declared
    plain = {a: None for a in declared.subscribed.get(object_class, ()) if (a, None) not in timed}
    found: dict[AttributeHandle, dict[RegionHandle, None]] = {}
    for attribute, regions in declared.subscribed_at.get(object_class, {}).items():
        found[attribute] = {handle: None for handle in regions if (attribute, handle) not in timed}
    for (attribute, region), how in timed.items():
        if how is not None and region is None:
            plain[attribute] = None
        elif how is not None and region is not None:
            found.setdefault(attribute, {})[region] = None
    return plain, found


# --- interactions ---------------------------------------------------------------------------------------------


def hears(
    federation: Federation,
    member: Member,
    entry: InteractionClassEntry,
    sent: Extents | None,
    time: TimeValue,
) -> InteractionClassEntry | None:
    """The class at which the member receives an interaction with that time stamp."""
    declared = member.declared
    if not declared.timed_receives.of and not (declared.receives_at and federation.ddm.timed):
        return matching.hears(federation, member, entry, sent)
    for ancestor in entry.lineage:
        plain, regions = _receives(member, ancestor, time)
        if plain:
            return ancestor
        if regions:
            available = federation.catalog.available_to_interaction_class(ancestor)
            return ancestor if sent is None or _hit(federation, regions, available, sent, time) else None
    return None


def _receives(
    member: Member, entry: InteractionClassEntry, time: TimeValue
) -> tuple[bool, list[RegionHandle]]:
    """Is it subscribed without regions, and with which."""
    timed = member.declared.timed_receives.at(entry.handle, time)
    plain = entry.handle in member.declared.receives
    held = member.declared.receives_at.get(entry.handle, {})
    if not timed:
        return plain, list(held)
    if (None, None) in timed:
        plain = timed[None, None] is not None
    found = [handle for handle in held if (None, handle) not in timed]
    found += [region for (_, region), how in timed.items() if how is not None and region is not None]
    return plain, found


def _hit(
    federation: Federation,
    regions: list[RegionHandle],
    available: frozenset[DimensionHandle],
    sent: Extents,
    time: TimeValue,
) -> bool:
    relaxed = federation.switches["allowRelaxedDDM"]
    extents = extents_of(federation, regions, available, time)
    return any(matching.overlap(sent, extent, relaxed) for extent in extents)


# --- at any time ----------------------------------------------------------------------------------------------


def ever_wished(
    federation: Federation, member: Member, object_class: ObjectClassHandle, where: Where | None
) -> Iterable[AttributeHandle]:
    """What the member may want of an instance that may be there (`ever_at`), at that class."""
    if not federation.ddm.timed:
        return matching.wishes(federation, member, object_class, where) or ()
    declared = member.declared
    found: dict[AttributeHandle, None] = dict.fromkeys(declared.subscribed.get(object_class, ()))
    entry = federation.catalog.object_classes[object_class]
    keys: list[tuple[AttributeHandle, RegionHandle | None]] = [
        (a, region) for a, held in declared.subscribed_at.get(object_class, {}).items() for region in held
    ]
    for attribute, handle in (*keys, *declared.timed.ever(object_class)):
        sent = None if where is None or handle is None else where.get(attribute)
        if attribute not in found and (
            sent is None
            or handle is None
            or _ever_hit(federation, entry, attribute, federation.ddm.regions[handle], sent)
        ):
            found[attribute] = None
    return found


def _ever_hit(
    federation: Federation,
    entry: ObjectClassEntry,
    attribute: AttributeHandle,
    region: OwnedRegion,
    sent: Extents,
) -> bool:
    available = federation.catalog.available_to_attribute(entry, attribute)
    relaxed = federation.switches["allowRelaxedDDM"]
    extents = [matching.completed(federation, extent, available) for extent in region.ever()]
    return any(matching.overlap(sent, extent, relaxed) for extent in extents)
