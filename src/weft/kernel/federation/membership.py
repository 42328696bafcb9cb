"""Joining and resigning (clauses 4.11 to 4.13), also of federates that just went away."""

from __future__ import annotations

from weft.fom import ObjectModel
from weft.kernel.ddm import instance_regions
from weft.kernel.federation import restore, save, synchronization
from weft.kernel.message import advisories, timed_deletion, update_rates
from weft.kernel.services import ownership_transfers, support, timed_changes
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.step import Step
from weft.kernel.time import galt_exchange
from weft.model.deliveries import Removal
from weft.model.enums import ResignAction
from weft.model.errors import FederateNameAlreadyInUse, FederateOwnsAttributes, InvalidResignAction
from weft.model.handles import FederateHandle

_DELETES = (
    ResignAction.DELETE_OBJECTS,
    ResignAction.DELETE_OBJECTS_THEN_DIVEST,
    ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST,
)
_DIVESTS = (
    ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES,
    ResignAction.DELETE_OBJECTS_THEN_DIVEST,
    ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST,
)
_DEPARTED = 1000
_CANCELS = (
    ResignAction.CANCEL_PENDING_OWNERSHIP_ACQUISITIONS,
    ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST,
)


def _taken(step: Step, name: str) -> str:
    federation = step.federation
    for member in federation.members.values():
        if member.name == name and member.absence is not None:
            return f"the federate {name!r} of {federation.name!r} {member.absence.words(step.now)}"
    return f"a federate named {name!r} has joined {federation.name!r}"


def join(
    step: Step,
    node: str,
    session: int,
    kind: str,
    name: str | None,
    model: ObjectModel | None,
) -> Member:
    federation = step.federation
    if name is not None and name in federation.membership.names:
        raise FederateNameAlreadyInUse(_taken(step, name))
    if model is not None:
        federation.catalog.absorb(model)
        federation.ordered |= federation.catalog.ordered
    federation.membership.joined += 1
    handle = FederateHandle.of(federation.membership.joined)
    member = Member(
        handle,
        name or _unused_name(federation, kind),
        kind,
        node,
        session,
        federation.free_seat(),
        federation.declarations.add(handle),
    )
    given = federation.catalog.model.switches
    for switch, named in support.SWITCHES.items():
        setattr(member.switches, switch, bool(given.get(named.removeprefix("HLA"))))
    member.resign_directive = _directive(str(given.get("automaticResignAction", "")))
    federation.take_seat(member)
    federation.members[handle] = member
    federation.orders.nodes[node] = None
    federation.membership.names[member.name] = member
    federation.changed()
    synchronization.after_join(step, member)
    return member


def _unused_name(federation: Federation, kind: str) -> str:
    name = f"{kind}-{federation.membership.joined}"
    while name in federation.membership.names:
        name += "'"
    return name


def _directive(name: str) -> ResignAction:
    """ "CancelThenDeleteThenDivest" and the like, as object models spell it."""
    for action in ResignAction:
        if action.name.replace("_", "") == name.upper():
            return action
    return ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST


def resign(step: Step, action: ResignAction) -> None:
    federation = step.federation
    member = step.member
    if not isinstance(action, ResignAction):
        raise InvalidResignAction(f"{action!r} is no resign action")
    if action not in _CANCELS:
        ownership_transfers.refuse_while_pending(member, federation.instances.values())
    left = [i for i in federation.instances.values() if member in i.owners.values()]
    if action not in _DIVESTS:
        for instance in left:
            if action not in _DELETES or instance.owners.get(federation.catalog.privilege) is not member:
                raise FederateOwnsAttributes(
                    f"{member!r} owns attributes of {instance.name!r}; resign with an action that divests or deletes"
                )
    _leave(step, left, action in _DELETES)


def resign_lost(step: Step, fault: str = "") -> None:
    """The federate is gone: resign it by its own directive; what the directive leaves owned is divested all the same."""
    member = step.member
    left = [i for i in step.federation.instances.values() if member in i.owners.values()]
    _leave(step, left, member.resign_directive in _DELETES)


def _leave(step: Step, left: list[Instance], delete: bool) -> None:
    federation = step.federation
    member = step.member
    stays = []
    for instance in left:
        if delete and instance.owners.get(federation.catalog.privilege) is member:
            for other in federation.seated(instance.knowledge.mask & ~member.bit):
                step.remove(other, Removal(instance.handle, b"", member.handle, None))
            timed_deletion.remove(step, instance)
        else:
            stays.append(instance)
    published = [*member.declared.subscribed, *member.declared.subscribed_at]
    received = [*member.declared.receives, *member.declared.receives_at]
    update_rates.forget(step, member, update_rates.RESIGNED)
    _remove(federation, member)
    if member.node == step.node:
        federation.keep_messages(member)
    timed_deletion.after_resign(step)
    galt_exchange.left(federation, member)
    if federation.home == step.node:
        step.turn.begins = True
    federation.distribution.left(member.handle)
    timed_changes.left(step)
    federation.orders.left(member.handle)
    ownership_transfers.leave(step, stays)
    synchronization.after_resign(step)
    save.after_resign(step)
    restore.after_resign(step)
    catalog = federation.catalog
    for object_class in published:
        advisories.registrations(step, catalog.object_classes[object_class].family())
    for interaction_class in received:
        advisories.interactions(step, catalog.interaction_classes[interaction_class].family())
    advisories.instances(step, federation.instances.values() if published else stays)


def _remove(federation: Federation, member: Member) -> None:
    for instance in federation.instances.values():
        federation.forget(instance, member)
        if instance.placement is not None:
            instance_regions.give_up(federation, instance, member)
    for handle in [h for h, region in federation.ddm.regions.items() if region.owner == member.handle]:
        del federation.ddm.regions[handle]
        federation.ddm.subscribed.remove(handle)
        federation.ddm.updated.remove(handle)
    for name in [n for n, holder in federation.objects.reserved.items() if holder == member.handle]:
        del federation.objects.reserved[name]
    federation.membership.seats[member.seat] = None
    federation.declarations.remove(member.handle)
    del federation.members[member.handle]
    federation.membership.departed[member.handle] = member.name
    if len(federation.membership.departed) > _DEPARTED:
        del federation.membership.departed[next(iter(federation.membership.departed))]
    del federation.membership.names[member.name]
    federation.changed()
