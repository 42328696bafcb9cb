"""Associations of regions with instances (`state.region_state`): made, given up, and found again when a region moves."""

from __future__ import annotations

from collections.abc import Iterable

from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.preconditions import Pairs
from weft.kernel.state.region_state import OwnedRegion, Placement
from weft.model.handles import AttributeHandle, FederateHandle, RegionHandle


def associate(federation: Federation, instance: Instance, member: Member, pairs: Pairs) -> None:
    placement = instance.placement or Placement()
    for attributes, regions in pairs:
        for attribute in attributes if regions else ():
            held = placement.of.setdefault(attribute, {}).setdefault(member.handle, {})
            for handle in regions:
                if handle not in held:
                    held[handle] = None
                    instances = federation.ddm.regions[handle].instances
                    instances[instance.handle] = instances.get(instance.handle, 0) + 1
                    index(federation, federation.ddm.regions[handle])
    placement.forget()
    if placement.of:
        instance.placement = placement


def index(federation: Federation, region: OwnedRegion) -> None:
    """It has moved, or is used for updates, or no longer."""
    if region.instances and region.extent is not None:
        federation.ddm.updated.place(region.handle, region.extent)
    else:
        federation.ddm.updated.remove(region.handle)


def unassociate(federation: Federation, instance: Instance, member: Member, pairs: Pairs) -> None:
    for attributes, regions in pairs:
        for attribute in attributes:
            _drop(federation, instance, attribute, member.handle, regions)


def give_up(
    federation: Federation,
    instance: Instance,
    member: Member,
    attributes: Iterable[AttributeHandle] | None = None,
) -> None:
    """The member's associations end, for these attributes or all: it has given them up, or has gone."""
    placement = instance.placement
    if placement is not None:
        for attribute in list(placement.of) if attributes is None else list(attributes):
            held = placement.of.get(attribute, {}).get(member.handle, {})
            _drop(federation, instance, attribute, member.handle, list(held))


def clear(federation: Federation, instance: Instance) -> None:
    """The instance is gone."""
    placement = instance.placement
    if placement is not None:
        for attribute, by_federate in list(placement.of.items()):
            for federate, held in list(by_federate.items()):
                _drop(federation, instance, attribute, federate, list(held))
        instance.placement = None


def _drop(
    federation: Federation,
    instance: Instance,
    attribute: AttributeHandle,
    federate: FederateHandle,
    regions: Iterable[RegionHandle],
) -> None:
    placement = instance.placement
    by_federate = None if placement is None else placement.of.get(attribute)
    held = None if by_federate is None else by_federate.get(federate)
    if placement is None or by_federate is None or held is None:
        return
    for handle in regions:
        if handle in held:
            del held[handle]
            instances = federation.ddm.regions[handle].instances
            instances[instance.handle] -= 1
            if not instances[instance.handle]:
                del instances[instance.handle]
                if not instances:
                    index(federation, federation.ddm.regions[handle])
    if not held:
        del by_federate[federate]
    if not by_federate:
        del placement.of[attribute]
    placement.forget()
    if not placement.of and placement.fixed is None:
        instance.placement = None
