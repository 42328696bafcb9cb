"""Data distribution management (clause 9): regions, and what is updated, subscribed, sent and asked for with them.

A federate creates a region and sets its bounds; that is between it and its own node.  With Commit Region Modifications the bounds
become the region's extent at all nodes: one command, which carries them.  The state is in `state.region_state`, who gets what in
`ddm.matching`.  Regions for updates are known everywhere too, because discovery and scope depend on them.

Commits and subscriptions may be as of a logical time (`As`): what that leads to is in `services.timed_changes`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import partial
from itertools import chain

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest import AttributeWish, Extent
from weft.kernel.ddm import instance_regions, matching
from weft.kernel.message import advisories, deliver_as_of, discovery, pipeline
from weft.kernel.services import declaration, ownership_transfers, support, timed_changes
from weft.kernel.services.timed_changes import As
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.region_index import MANY
from weft.kernel.state.region_state import OwnedRegion
from weft.kernel.state.step import Step
from weft.model.conveyed import conveyed_bounds
from weft.model.deliveries import ParameterValues
from weft.model.enums import OrderType
from weft.model.errors import (
    InteractionClassNotPublished,
    InvalidRangeBound,
    InvalidRegion,
    RegionDoesNotContainSpecifiedDimension,
    RegionInUseForUpdateOrSubscription,
)
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    RegionHandle,
)
from weft.model.records import MessageRetractionReturn, RangeBounds
from weft.model.time import LogicalTime, TimeValue

COMMIT = "commit_region_modifications"

# --- regions --------------------------------------------------------------------------------------------------


def create_region(step: Step, dimensions: Iterable[DimensionHandle]) -> RegionHandle:
    """With the full range of each dimension, and not to be used before it is committed."""
    ddm = step.federation.ddm
    template = {handle: (0, support.dimension(step, handle).upper_bound) for handle in sorted(dimensions)}
    ddm.created += 1
    made = RegionHandle.of(ddm.created)
    ddm.regions[made] = OwnedRegion(made, step.member.handle, tuple(template), template)
    return made


def set_range_bounds(
    step: Step,
    region: RegionHandle,
    dimension: DimensionHandle,
    bounds: RangeBounds,
) -> None:
    found = preconditions.region(step.federation, step.member, region)
    _require_dimension(found.template, region, dimension)
    lower, upper = bounds
    entry = step.federation.catalog.dimensions[dimension]
    if type(lower) is not int or type(upper) is not int or not 0 <= lower < upper <= entry.upper_bound:
        raise InvalidRangeBound(
            f"[{lower}, {upper}) is no range of dimension {entry.name}: whole numbers, lower below upper, "
            f"within [0, {entry.upper_bound})"
        )
    found.template[dimension] = (lower, upper)


def _require_dimension(
    held: Container[DimensionHandle], region: RegionHandle, dimension: DimensionHandle
) -> None:
    if dimension not in held:
        raise RegionDoesNotContainSpecifiedDimension(f"{region!r} does not have the dimension {dimension!r}")


def get_range_bounds(step: Step, region: RegionHandle, dimension: DimensionHandle) -> RangeBounds:
    held = _bounds_of(step.federation, step.member, region)
    _require_dimension(held, region, dimension)
    return RangeBounds(*held[dimension])


def get_dimension_handle_set(step: Step, region: RegionHandle) -> frozenset[DimensionHandle]:
    return frozenset(_bounds_of(step.federation, step.member, region))


def _bounds_of(
    federation: Federation, member: Member, region: RegionHandle
) -> Mapping[DimensionHandle, tuple[int, int]]:
    """As last set, of one's own; as conveyed; as last committed, of another federate."""
    found = federation.ddm.regions.get(region)
    if found is None:
        conveyed = conveyed_bounds(region)
        if conveyed is None:
            raise InvalidRegion(f"{region!r} is no region of federation {federation.name!r}, or was deleted")
        return dict(conveyed)
    if found.owner == member.handle:
        return dict(found.template)
    if found.extent is None:
        raise InvalidRegion(f"{region!r} was never committed")
    ranges = found.extent.ranges()
    return {dimension: ranges[dimension.number] for dimension in found.dimensions}


def prepare(federation: Federation, member: Member, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """At the federate's node, which alone knows what it has set: the command, with the bounds of each region."""
    regions = arguments[0]
    if not isinstance(regions, Iterable):
        raise TypeError(f"{regions!r} are no regions")
    rows = []
    for handle in sorted(regions):
        found = preconditions.region(federation, member, handle)
        rows.append((handle, tuple([found.template[dimension] for dimension in found.dimensions])))
    return (tuple(rows), *arguments[1:])


def commit_region_modifications(
    step: Step,
    rows: tuple[tuple[RegionHandle, tuple[tuple[int, int], ...]], ...],
    timed: As = None,
) -> None:
    federation = step.federation
    member = step.member
    for handle, _ in rows:
        preconditions.region(federation, member, handle)
    timed_changes.require_tbound(federation, member, timed)
    before = {handle: federation.ddm.regions[handle].extent for handle, _ in rows}
    moved = _committed(federation, rows, timed)
    changed = deliver_as_of.subscriptions(member, [region.handle for region in moved]) if moved else []
    if timed is None:
        timed_changes.untimed(step, changed)
    instances: dict[ObjectInstanceHandle, Instance] = {}
    for region in moved:
        if region.instances:
            instance_regions.index(federation, region)
        instances.update({handle: federation.instances[handle] for handle in region.instances})
    classes = list(dict.fromkeys([kind for kind, attribute, _ in changed if attribute is not None]))
    if any(member.declared.uses(region.handle) for region in moved):
        federation.ddm.changes += 1
        _index(federation, member, [region.handle for region in moved])
    if classes:
        places = [place for region in moved for place in (before[region.handle], region.extent) if place]
        _resubscribed(step, classes, places)
    _moved(step, [instances[handle] for handle in sorted(instances)])
    if timed is not None:
        after = [region.timeline.following(timed[0]) for region in moved if region.timeline is not None]
        timed_changes.carried_out(step, changed, timed_changes.until(after), timed, False)


def _committed(
    federation: Federation, rows: tuple[tuple[RegionHandle, tuple[tuple[int, int], ...]], ...], timed: As
) -> list[OwnedRegion]:
    """The regions that are not what they were."""
    regions = [(federation.ddm.regions[handle], bounds) for handle, bounds in rows]
    if timed is None:
        return [region for region, bounds in regions if region.commit(bounds)]
    federation.ddm.timed = True
    for region, bounds in regions:
        if timed[2] is not None:
            region.reclaim((timed[2], 0))
        region.commit_at(bounds, timed[0])
    return [region for region, _ in regions]


def _index(federation: Federation, member: Member, regions: Iterable[RegionHandle]) -> None:
    """They have moved, or are subscribed with, or no longer."""
    for handle in regions:
        extent = federation.ddm.regions[handle].extent
        if extent is not None and member.declared.uses_now(handle):
            federation.ddm.subscribed.place(handle, extent)
        else:
            federation.ddm.subscribed.remove(handle)


def _resubscribed(step: Step, classes: list[ObjectClassHandle], places: list[Extent]) -> None:
    """The member subscribes at these classes with regions that have moved: from and to these places."""
    federation = step.federation
    entries = [federation.catalog.object_classes[handle] for handle in classes]
    below = dict.fromkeys(each.handle for entry in entries for each in entry.family())
    among = [federation.objects.of_class.get(handle, {}) for handle in below]
    few = sum(map(len, among)) < MANY
    # As of a time an instance may be elsewhere than where the index has it.
    if few or federation.ddm.timed or any(_is_fixed(known) for known in among):
        for entry in entries:
            declaration.discover(step, entry)
        advisories.instances(step, chain.from_iterable(known.values() for known in among))
        return
    near = _near(federation, places)
    affected = [[known[handle] for handle in near if handle in known] for known in among]
    for instances in affected:
        for instance in discovery.among(step, instances):
            ownership_transfers.offer(step, instance, step.member)
    advisories.instances(step, chain.from_iterable(affected))


def _is_fixed(known: dict[ObjectInstanceHandle, Instance]) -> bool:
    """Are these the MOM's, which have places without regions?"""
    first = next(iter(known.values()), None)
    return first is not None and first.placement is not None and first.placement.fixed is not None


def _near(federation: Federation, places: list[Extent]) -> list[ObjectInstanceHandle]:
    """The instances that are updated near one of these places; those without regions are everywhere, and not affected."""
    regions: set[RegionHandle] = set()
    for place in places:
        regions |= federation.ddm.updated.near(place)
    found: set[ObjectInstanceHandle] = set()
    for handle in regions:
        found.update(federation.ddm.regions[handle].instances)
    return sorted(found)


def _moved(step: Step, instances: list[Instance]) -> None:
    """These are updated elsewhere than before."""
    for instance in instances:
        if instance.placement is not None:
            instance.placement.forget()
        for discoverer in discovery.after_transfer(step, instance):
            ownership_transfers.offer(step, instance, discoverer)
    advisories.instances(step, instances)


def delete_region(step: Step, region: RegionHandle, past: TimeValue | None = None) -> None:
    """`past`: what is, for everybody, as the federate's node knows it."""
    member = step.member
    found = preconditions.region(step.federation, member, region)
    if past is not None:
        member.declared.reclaim((past, 0))
    if found.instances or member.declared.uses(region):
        raise RegionInUseForUpdateOrSubscription(
            f"{region!r} is used for updates or subscriptions of {member!r}; unassociate or unsubscribe it first"
        )
    changed = deliver_as_of.subscriptions(member, [region])
    for kind, what, _ in changed:  # such as are over, or never began
        if isinstance(kind, InteractionClassHandle):
            member.declared.timed_receives.forget(kind, [(None, region)])
        elif what is not None:
            member.declared.timed.forget(kind, [(what, region)])
    timed_changes.untimed(step, changed)
    del step.federation.ddm.regions[region]


# --- updates --------------------------------------------------------------------------------------------------


def associate_regions_for_updates(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attributes_and_regions: preconditions.GivenPairs,
) -> None:
    """Also of attributes that the member does not own: that counts from when it does."""
    instance, entry = _known(step, object_instance)
    pairs = preconditions.placed(step.federation, step.member, entry, attributes_and_regions)
    instance_regions.associate(step.federation, instance, step.member, pairs)
    _moved(step, [instance])


def _known(step: Step, handle: ObjectInstanceHandle) -> tuple[Instance, ObjectClassEntry]:
    """An instance that the member knows, and the class that it knows it as."""
    federation = step.federation
    instance = preconditions.known_instance(federation, step.member, handle)
    known = federation.known_class(step.member, instance) or instance.entry.handle
    return instance, federation.catalog.object_classes[known]


def unassociate_regions_for_updates(
    step: Step,
    object_instance: ObjectInstanceHandle,
    attributes_and_regions: preconditions.GivenPairs,
) -> None:
    instance, entry = _known(step, object_instance)
    pairs = preconditions.paired(step.federation, step.member, entry, attributes_and_regions)
    instance_regions.unassociate(step.federation, instance, step.member, pairs)
    _moved(step, [instance])


def request_attribute_value_update_with_regions(
    step: Step,
    object_class: ObjectClassHandle,
    attributes_and_regions: preconditions.GivenPairs,
    tag: bytes,
) -> None:
    """Of the attributes that are updated where one of the regions is."""
    federation = step.federation
    member = step.member
    preconditions.encoded("the user-supplied tag", tag)
    entry = preconditions.object_class(federation, object_class)
    pairs = preconditions.placed(federation, member, entry, attributes_and_regions)
    relaxed = federation.switch("allowRelaxedDDM")
    for below in entry.family():
        for instance in federation.objects.of_class.get(below.handle, {}).values():
            where = matching.where_is(federation, instance) or {}
            wanted: dict[AttributeHandle, None] = {}
            for attributes, regions in pairs:
                for attribute in attributes:
                    available = federation.catalog.available_to_attribute(entry, attribute)
                    extents = matching.extents_of(federation, regions, available)
                    there = where.get(attribute)
                    if any(there is None or matching.overlap(there, one, relaxed) for one in extents):
                        wanted[attribute] = None
            advisories.solicit(step, instance, list(wanted), tag, member)


# --- subscriptions --------------------------------------------------------------------------------------------


def subscribe_object_class_attributes_with_regions(
    step: Step,
    object_class: ObjectClassHandle,
    attributes_and_regions: preconditions.GivenPairs,
    update_rate: str = "",
    timed: As = None,
    active: bool = True,
) -> None:
    federation = step.federation
    entry = preconditions.object_class(federation, object_class)
    pairs = preconditions.placed(federation, step.member, entry, attributes_and_regions)
    _subscribe(step, entry, pairs, declaration.wish(federation, active, update_rate), timed)


subscribe_object_class_attributes_passively_with_regions = partial(
    subscribe_object_class_attributes_with_regions, active=False
)


def unsubscribe_object_class_attributes_with_regions(
    step: Step,
    object_class: ObjectClassHandle,
    attributes_and_regions: preconditions.GivenPairs,
    timed: As = None,
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    pairs = preconditions.paired(step.federation, step.member, entry, attributes_and_regions)
    _subscribe(step, entry, pairs, None, timed)


def _subscribe(
    step: Step,
    entry: ObjectClassEntry,
    pairs: preconditions.Pairs,
    wish: AttributeWish | None,
    timed: As,
) -> None:
    """Or, without a wish, subscribe no longer."""
    kind = entry.handle
    declared = step.member.declared
    keys = [(a, region) for attributes, regions in pairs for a in attributes for region in regions]
    now = declared.subscribed_at.get(kind, {})
    before: dict[tuple[AttributeHandle, RegionHandle | None], AttributeWish | None]
    before = {(attribute, region): now.get(attribute, {}).get(region) for attribute, region in keys}
    until = timed_changes.write(step, declared.timed, kind, before, wish, timed)
    for attributes, regions in pairs:
        if wish is None:
            declared.unsubscribe_at(kind, attributes, regions)
        else:
            declared.subscribe_at(kind, attributes, regions, wish)
        _index(step.federation, step.member, regions)
    declaration.resubscribed(step, entry)
    timed_changes.subscribed(step, [(kind, *key) for key in keys], until, timed, False)


def subscribe_interaction_class_with_regions(
    step: Step,
    interaction_class: InteractionClassHandle,
    regions: Iterable[RegionHandle],
    timed: As = None,
    active: bool = True,
) -> None:
    entry = preconditions.interaction_class(step.federation, interaction_class)
    preconditions.not_reported(step.member, entry)
    chosen = sorted(regions)
    _require_usable(step, entry, chosen)
    _receive(step, entry, chosen, active, timed)


subscribe_interaction_class_passively_with_regions = partial(
    subscribe_interaction_class_with_regions, active=False
)


def unsubscribe_interaction_class_with_regions(
    step: Step,
    interaction_class: InteractionClassHandle,
    regions: Iterable[RegionHandle],
    timed: As = None,
) -> None:
    entry = preconditions.interaction_class(step.federation, interaction_class)
    chosen = sorted(regions)
    for handle in chosen:
        preconditions.region(step.federation, step.member, handle)
    _receive(step, entry, chosen, None, timed)


def _receive(
    step: Step, entry: InteractionClassEntry, regions: list[RegionHandle], active: bool | None, timed: As
) -> None:
    """None: no longer."""
    kind = entry.handle
    declared = step.member.declared
    now = declared.receives_at.get(kind, {})
    before: dict[tuple[None, RegionHandle | None], bool | None]
    before = {(None, region): now.get(region) for region in regions}
    until = timed_changes.write(step, declared.timed_receives, kind, before, active, timed)
    if active is None:
        declared.stop_receiving_at(kind, regions)
    else:
        declared.receive_at(kind, regions, active)
    _index(step.federation, step.member, regions)
    step.federation.changed()
    advisories.interactions(step, entry.family())
    timed_changes.subscribed(step, [(kind, None, region) for region in regions], until, timed, True)


def _require_usable(step: Step, entry: InteractionClassEntry, regions: list[RegionHandle]) -> None:
    available = step.federation.catalog.available_to_interaction_class(entry)
    for handle in regions:
        preconditions.usable_region(step.federation, step.member, handle, available, entry.name)


# --- interactions ---------------------------------------------------------------------------------------------


def send_interaction_with_regions(
    step: Step,
    interaction_class: InteractionClassHandle,
    values: ParameterValues,
    regions: Iterable[RegionHandle],
    tag: bytes,
    time: LogicalTime | None = None,
    order: OrderType | None = None,
) -> MessageRetractionReturn | None:
    """Without any region it goes to those who subscribe without."""
    federation = step.federation
    entry = preconditions.interaction_class(federation, interaction_class)
    declared = step.member.declared
    if interaction_class not in declared.sends and interaction_class not in declared.timed_sends.of:
        raise InteractionClassNotPublished(
            f"{step.member!r} does not publish {entry.name}; publish it before sending"
        )
    chosen = sorted(regions)
    _require_usable(step, entry, chosen)
    available = federation.catalog.available_to_interaction_class(entry)
    at = matching.extents_of(federation, chosen, available)
    return pipeline.send_interaction(step, interaction_class, values, tag, time, order, at, chosen)
