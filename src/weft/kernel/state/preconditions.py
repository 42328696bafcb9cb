"""Preconditions that many services share: each returns what was asked for or raises the HLA exception."""

from __future__ import annotations

from collections.abc import Iterable

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.region_state import OwnedRegion
from weft.kernel.state.step import Step
from weft.model.conveyed import conveyed_bounds
from weft.model.deliveries import Stamp, is_timestamped
from weft.model.errors import (
    AttributeNotDefined,
    AttributeNotOwned,
    FederateHandleNotKnown,
    FederateServiceInvocationsAreBeingReportedViaMOM,
    InteractionClassNotDefined,
    InteractionClassNotPublished,
    InteractionParameterNotDefined,
    InvalidFederateHandle,
    InvalidLogicalTime,
    InvalidRegion,
    InvalidRegionContext,
    InvalidTransportationTypeHandle,
    ObjectClassNotDefined,
    ObjectInstanceNotKnown,
    RegionNotCreatedByThisFederate,
    ReportServiceInvocationsAreSubscribed,
    RTIinternalError,
)
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    RegionHandle,
    TransportationTypeHandle,
)
from weft.model.names import fault_of, shown

_REPORTS = "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation"


def object_class(federation: Federation, handle: ObjectClassHandle) -> ObjectClassEntry:
    entry = federation.catalog.object_classes.get(handle)
    if entry is None:
        raise ObjectClassNotDefined(f"{handle!r} is no object class of federation {federation.name!r}")
    return entry


def interaction_class(federation: Federation, handle: InteractionClassHandle) -> InteractionClassEntry:
    entry = federation.catalog.interaction_classes.get(handle)
    if entry is None:
        raise InteractionClassNotDefined(
            f"{handle!r} is no interaction class of federation {federation.name!r}"
        )
    return entry


def sent_as_of(member: Member, entry: InteractionClassEntry, stamp: Stamp | None) -> None:
    """A member publishes a class as of a time: does it as of that of the message, or at all if it is in another order?"""
    line = member.declared.timed_sends.of[entry.handle][None, None]
    if stamp is None or not is_timestamped(stamp):
        if entry.handle not in member.declared.sends:
            raise InteractionClassNotPublished(
                f"{member!r} does not publish {entry.name} yet, or no longer; only in time stamp order can it send ahead"
            )
    elif line.read(stamp.time.value) is None:
        raise InteractionClassNotPublished(
            f"{member!r} does not publish {entry.name} as of {stamp.time.value}; publish it as of that time or an earlier one"
        )


def updated_as_of(
    federation: Federation,
    member: Member,
    instance: Instance,
    sent: list[AttributeHandle],
    stamp: Stamp,
) -> None:
    """Of an update in time stamp order: does the member publish all of it as of that time?"""
    known = federation.known_class(member, instance)
    lines = None if known is None else member.declared.timed_published.of.get(known)
    if lines is None or not is_timestamped(stamp):
        return
    for attribute in sent:
        line = lines.get((attribute, None))
        if line is not None and line.read(stamp.time.value) is None:
            raise InvalidLogicalTime(
                f"{member!r} does not publish {instance.entry.attributes[attribute].name} of {instance.entry.name} as of "
                f"{stamp.time.value}; publish it as of that time or an earlier one"
            )


def region(federation: Federation, member: Member, handle: RegionHandle) -> OwnedRegion:
    """A region that the member has created."""
    found = federation.ddm.regions.get(handle)
    if found is None:
        if conveyed_bounds(handle) is not None:
            raise RegionNotCreatedByThisFederate(f"{handle!r} was conveyed to {member!r}, not created by it")
        raise InvalidRegion(f"{handle!r} is no region of federation {federation.name!r}, or was deleted")
    if found.owner != member.handle:
        raise RegionNotCreatedByThisFederate(f"{handle!r} was not created by {member!r}")
    return found


def usable_region(
    federation: Federation,
    member: Member,
    handle: RegionHandle,
    available: frozenset[DimensionHandle],
    what: str,
) -> None:
    """One of the member's that has been committed, and whose dimensions are available to what it is used for."""
    found = region(federation, member, handle)
    if found.extent is None:
        raise InvalidRegion(f"{handle!r} was never committed; call commit_region_modifications first")
    for dimension in found.dimensions:
        if dimension not in available:
            name = federation.catalog.dimensions[dimension].name
            raise InvalidRegionContext(
                f"{handle!r} has the dimension {name}, which is not available to {what}"
            )


GivenPairs = Iterable[tuple[Iterable[AttributeHandle], Iterable[RegionHandle]]]
Pairs = list[tuple[list[AttributeHandle], list[RegionHandle]]]
"""Attributes, and the regions for each of them."""


def paired(federation: Federation, member: Member, entry: ObjectClassEntry, given: GivenPairs) -> Pairs:
    """Attributes of that class and regions of the member, in the order of their handles."""
    pairs: Pairs = []
    for handles, regions in given:
        chosen = attributes(entry, handles)
        ordered = sorted(regions)
        for handle in ordered:
            region(federation, member, handle)
        pairs.append((chosen, ordered))
    return pairs


def placed(federation: Federation, member: Member, entry: ObjectClassEntry, given: GivenPairs) -> Pairs:
    """The same, for regions that are to be used with the attributes."""
    pairs = paired(federation, member, entry, given)
    for chosen, regions in pairs:
        for attribute in chosen:
            available = federation.catalog.available_to_attribute(entry, attribute)
            what = f"{entry.attributes[attribute].name} of {entry.name}"
            for handle in regions:
                usable_region(federation, member, handle, available, what)
    return pairs


def attributes(entry: ObjectClassEntry, handles: Iterable[AttributeHandle]) -> list[AttributeHandle]:
    """The attributes in handle order, so that what follows does not depend on how a set happens to iterate."""
    ordered = sorted(handles)
    for handle in ordered:
        if handle not in entry.attributes:
            raise AttributeNotDefined(f"{handle!r} is no attribute of class {entry.name}")
    return ordered


def parameters(entry: InteractionClassEntry, handles: Iterable[ParameterHandle]) -> None:
    for handle in handles:
        if handle not in entry.parameters:
            raise InteractionParameterNotDefined(f"{handle!r} is no parameter of class {entry.name}")


def known_instance(federation: Federation, member: Member, handle: ObjectInstanceHandle) -> Instance:
    """By what all nodes know, and so for all that they carry out."""
    instance = federation.instances.get(handle)
    if instance is None or not instance.knowledge.mask & member.bit:
        raise _not_known(member, handle)
    return instance


def known_here(step: Step, handle: ObjectInstanceHandle) -> Instance:
    """By what the member's own node knows: of a removal at a logical time it is the first to know."""
    member = step.member
    if handle in member.timing.gone:
        raise _not_known(member, handle)
    return known_instance(step.federation, member, handle)


def _not_known(member: Member, handle: ObjectInstanceHandle) -> ObjectInstanceNotKnown:
    return ObjectInstanceNotKnown(
        f"{handle!r} is not known to {member!r}: it does not exist, was removed, or has not been discovered"
    )


def known_attributes(
    federation: Federation, member: Member, instance: Instance, handles: Iterable[AttributeHandle]
) -> list[AttributeHandle]:
    """To a federate an instance has the attributes of its known class, and no others."""
    known_class = federation.known_class(member, instance)
    entry = instance.entry if known_class is None else federation.catalog.object_classes[known_class]
    return attributes(entry, handles)


def instance_attributes(
    step: Step, handle: ObjectInstanceHandle, handles: Iterable[AttributeHandle]
) -> tuple[Instance, list[AttributeHandle]]:
    """An instance that who acts knows, and these attributes of it."""
    if step.turn.everywhere:
        instance = known_instance(step.federation, step.member, handle)
    else:
        instance = known_here(step, handle)
    return instance, known_attributes(step.federation, step.member, instance, handles)


def member(federation: Federation, handle: FederateHandle) -> Member:
    found = federation.members.get(handle)
    if found is None:
        if handle.is_between(1, federation.membership.joined):
            raise FederateHandleNotKnown(f"the federate of {handle!r} has resigned from {federation.name!r}")
        raise InvalidFederateHandle(f"{handle!r} was never given to a federate of {federation.name!r}")
    return found


def owned(instance: Instance, member: Member, handles: Iterable[AttributeHandle]) -> None:
    for handle in handles:
        owner = instance.owners.get(handle)
        if owner is not member:
            name = instance.entry.attributes[handle].name
            by = "nobody" if owner is None else repr(owner)
            raise AttributeNotOwned(
                f"attribute {name} of {instance.name!r} is owned by {by}, not by {member!r}"
            )


def transportation(federation: Federation, handle: TransportationTypeHandle) -> None:
    if handle not in federation.catalog.transportations:
        raise InvalidTransportationTypeHandle(f"{handle!r} is no transportation type of this federation")


def encoded(what: str, value: object) -> None:
    """Values and tags travel as bytes; anything else would mean something different at every receiver."""
    if type(value) is not bytes:
        raise RTIinternalError(f"{what} must be bytes, not {type(value).__name__}; encode it first")


def name(what: str, name: str) -> None:
    """What is given a name that others see: it is neither empty nor absurd."""
    fault = fault_of(name)
    if fault:
        raise RTIinternalError(f"{shown(name)} cannot be the name of {what}: {fault}")


def not_reported(member: Member, entry: InteractionClassEntry) -> None:
    """A federate whose services are reported must not hear the reports: each would be reported in turn."""
    if member.switches.service_reporting and entry.name == _REPORTS:
        raise FederateServiceInvocationsAreBeingReportedViaMOM(
            f"the services of {member!r} are reported, so it cannot subscribe to {entry.name}; switch reporting off first"
        )


def not_hearing_reports(federation: Federation, member: Member) -> None:
    entry = federation.catalog.interaction_class_names.get(_REPORTS)
    declared = member.declared
    if entry is not None and (entry.handle in declared.receives or entry.handle in declared.receives_at):
        raise ReportServiceInvocationsAreSubscribed(
            f"{member!r} subscribes to {entry.name}, so its services cannot be reported; unsubscribe first"
        )
