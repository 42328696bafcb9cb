"""Legs: how what one member wants of an update reaches it, in one callback or several."""

from __future__ import annotations

from weft.interest import AttributeWish
from weft.kernel.ddm import matching
from weft.kernel.message import update_rates
from weft.kernel.state import overrides
from weft.kernel.state.federation import Conveyed, Federation, Instance, Leg, Member
from weft.kernel.state.region_state import Where
from weft.model.handles import AttributeHandle, TransportationTypeHandle


def legs_of(
    instance: Instance, member: Member, wanted: list[AttributeHandle], where: Where | None
) -> list[Leg]:
    """To one member, of attributes that were chosen for it."""
    return legs_to(instance, member, wanted, -1, where)


def legs_to(
    instance: Instance, member: Member, wanted: list[AttributeHandle], sent: int, where: Where | None
) -> list[Leg]:
    """Attributes of different transportation reach a federate in separate callbacks.  So do those of different regions, if
    it is told of regions."""
    if where is not None and member.switches.convey_region_designator_sets:
        return _conveying_legs(instance, member, wanted, where)
    by_transportation: dict[TransportationTypeHandle, list[AttributeHandle]] = {}
    for handle in wanted:
        by_transportation.setdefault(overrides.transportation_of(instance, handle), []).append(handle)
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
        parts.setdefault((overrides.transportation_of(instance, handle), regions), []).append(handle)
    legs = []
    for (transportation, regions), handles in parts.items():
        leg = Leg(member, tuple(handles), transportation)
        leg.regions = regions
        legs.append(leg)
    return legs


def paced_legs(
    federation: Federation,
    instance: Instance,
    member: Member,
    wanted: list[AttributeHandle],
    subscribed: dict[AttributeHandle, AttributeWish],
    where: Where | None,
) -> list[Leg]:
    """Legs to a member that named a rate for some of the attributes: each attribute has its own time."""
    legs = legs_to(instance, member, wanted, -1, where)  # never "all that were sent"
    for leg in legs:
        leg.intervals = tuple(
            update_rates.interval(federation, subscribed[a].rate) for a in leg.attributes or ()
        )
    return legs
