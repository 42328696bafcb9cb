"""Regions in a snapshot: all regions as committed, and with which of them the attributes of instances are updated.

What a federate has set and not committed is known at its own node only, so it is in its private part (`federation.snapshot`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from weft.interest import AttributeWish, Extent, SpaceTime
from weft.kernel.ddm import instance_regions, matching
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.region_state import OwnedRegion, Placement
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
)

# --- out ------------------------------------------------------------------------------------------------------


def regions_data(federation: Federation) -> list[Any]:
    rows = []
    for region in federation.ddm.regions.values():
        line = region.timeline
        rows.append(
            [
                region.handle.number,
                region.owner.number,
                [d.number for d in region.dimensions],
                _bounds(region, region.extent),
                None if line is None else _history(line, partial(_bounds, region)),
            ]
        )
    placed = [
        [instance.handle.number, _placement_data(instance.placement)]
        for instance in federation.instances.values()
        if instance.placement is not None
    ]
    return [federation.ddm.created, rows, placed, federation.ddm.timed]


def _bounds(region: OwnedRegion, extent: Extent | None) -> list[object] | None:
    ranges = None if extent is None else extent.ranges()
    return None if ranges is None else [list(ranges[d.number]) for d in region.dimensions]


def _history(line: SpaceTime[Any], plain: Callable[[Any], Any]) -> list[Any]:
    changes = [[time, plain(value)] for time, value in zip(line.times, line.values, strict=True)]
    return [plain(line.first), changes]


def _history_from(data: list[Any], made: Callable[[Any], Any]) -> SpaceTime[Any]:
    first, changes = data
    line = SpaceTime(made(first))
    for time, value in changes:
        line.write(time, made(value))
    return line


def _placement_data(placement: Placement) -> list[object]:
    rows = [
        [attribute.number, federate.number, [region.number for region in held]]
        for attribute, by_federate in placement.of.items()
        for federate, held in by_federate.items()
    ]
    fixed = placement.fixed
    return [rows, None if fixed is None else [list(box) for box in matching.boxes(fixed)]]


def templates_data(federation: Federation, member: Member) -> list[object]:
    return [
        [region.handle.number, [list(bounds) for bounds in region.template.values()]]
        for region in federation.ddm.regions.values()
        if region.owner == member.handle
    ]


def subscriptions_data(member: Member) -> list[Any]:
    declared = member.declared
    attributes = [
        [object_class.number, attribute.number, [[region.number, *wish] for region, wish in held.items()]]
        for object_class, at in declared.subscribed_at.items()
        for attribute, held in at.items()
    ]
    interactions = [
        [interaction.number, [[region.number, active] for region, active in held.items()]]
        for interaction, held in declared.receives_at.items()
    ]
    timed = [
        [kind.number, attribute.number, _region_number(region), _history(line, _wish)]
        for kind, held in declared.timed.of.items()
        for (attribute, region), line in held.items()
    ]
    received = [
        [kind.number, _region_number(region), _history(line, unchanged)]
        for kind, held in declared.timed_receives.of.items()
        for (_, region), line in held.items()
    ]
    published = [
        [kind.number, attribute.number, _history(line, unchanged)]
        for kind, held in declared.timed_published.of.items()
        for (attribute, _), line in held.items()
    ]
    sent = [
        [kind.number, _history(line, unchanged)]
        for kind, held in declared.timed_sends.of.items()
        for line in held.values()
    ]
    return [attributes, interactions, timed, received, published, sent]


def _region_number(region: RegionHandle | None) -> int:
    """0: without."""
    return 0 if region is None else region.number


def _region_of(number: int) -> RegionHandle | None:
    return RegionHandle.of(number) if number else None


def unchanged(value: Any) -> Any:
    return value


def _wish(wish: AttributeWish | None) -> list[Any] | None:
    return None if wish is None else list(wish)


def _wish_from(data: list[Any] | None) -> AttributeWish | None:
    return None if data is None else AttributeWish(*data)


# --- back -----------------------------------------------------------------------------------------------------


def restore_regions(federation: Federation, data: Any) -> None:
    """Of a whole snapshot.  One of a Weft that had no regions has none."""
    created, rows, placed, *timed = data.get("regions", (0, (), ()))
    federation.ddm.created = created
    federation.ddm.timed = bool(timed and timed[0])
    for number, owner, dimensions, bounds, *line in rows:
        handle = RegionHandle.of(number)
        handles = tuple(DimensionHandle.of(d) for d in dimensions)
        template = {d: (0, federation.catalog.dimensions[d].upper_bound) for d in handles}
        made = OwnedRegion(handle, FederateHandle.of(owner), handles, template)
        if bounds is not None:
            made.commit(tuple((lower, upper) for lower, upper in bounds))
        if line and line[0] is not None:
            made.timeline = _history_from(line[0], partial(_extent, handles))
        federation.ddm.regions[handle] = made
    for member in federation.members.values():
        for handle in member.declared.regions_used():
            extent = federation.ddm.regions[handle].extent
            if extent is not None:
                federation.ddm.subscribed.place(handle, extent)
    for number, placement in placed:
        _restore_placement(federation, ObjectInstanceHandle.of(number), *placement)
    for region in federation.ddm.regions.values():
        instance_regions.index(federation, region)
    for one in data["members"]:
        for number, template in one["private"].get("templates", ()):
            found = federation.ddm.regions.get(RegionHandle.of(number))
            if found is not None:  # it may have been deleted since its node said so
                bounds = [(lower, upper) for lower, upper in template]
                found.template = dict(zip(found.dimensions, bounds, strict=True))


def _extent(dimensions: tuple[DimensionHandle, ...], bounds: list[Any] | None) -> Extent | None:
    if bounds is None:
        return None
    return Extent({d.number: (lower, upper) for d, (lower, upper) in zip(dimensions, bounds, strict=True)})


def _restore_placement(
    federation: Federation, handle: ObjectInstanceHandle, rows: list[Any], fixed: list[Any] | None
) -> None:
    placement = Placement()
    if fixed is not None:
        placement.fixed = matching.from_boxes(tuple(tuple(box) for box in fixed))
    for attribute, federate, regions in rows:
        handles = [RegionHandle.of(number) for number in regions]
        by_federate = placement.of.setdefault(AttributeHandle.of(attribute), {})
        by_federate[FederateHandle.of(federate)] = dict.fromkeys(handles)
        for region in handles:
            instances = federation.ddm.regions[region].instances
            instances[handle] = instances.get(handle, 0) + 1
    federation.instances[handle].placement = placement


def restore_subscriptions(member: Member, data: Any) -> None:
    attributes, interactions, *more = data
    declared = member.declared
    for object_class, attribute, held in attributes:
        at, wanted = ObjectClassHandle.of(object_class), [AttributeHandle.of(attribute)]
        for region, *wish in held:
            declared.subscribe_at(at, wanted, [RegionHandle.of(region)], AttributeWish(*wish))
    for interaction, held in interactions:
        for region, active in held:
            declared.receive_at(InteractionClassHandle.of(interaction), [RegionHandle.of(region)], active)
    # What was saved by an earlier version has less.
    timed, received, published, sent = [*more, (), (), (), ()][:4]
    for kind, attribute, region, line in timed:
        held = declared.timed.of.setdefault(ObjectClassHandle.of(kind), {})
        held[AttributeHandle.of(attribute), _region_of(region)] = _history_from(line, _wish_from)
    for kind, region, line in received:
        heard = declared.timed_receives.of.setdefault(InteractionClassHandle.of(kind), {})
        heard[None, _region_of(region)] = _history_from(line, unchanged)
    for kind, attribute, line in published:
        owned = declared.timed_published.of.setdefault(ObjectClassHandle.of(kind), {})
        owned[AttributeHandle.of(attribute), None] = _history_from(line, unchanged)
    for kind, line in sent:
        declared.timed_sends.of[InteractionClassHandle.of(kind)] = {
            (None, None): _history_from(line, unchanged)
        }
