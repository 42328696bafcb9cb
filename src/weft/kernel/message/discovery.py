"""Discovery: which members come to know an instance, and at which class.

A member discovers an instance when, at its candidate class for it (`weft.interest.declarations`), it subscribes to an attribute
that another federate owns, with regions that overlap where that is (`ddm.matching`) or without regions; with regions
that change as of a logical time, at any time (`ddm.matching_at_time`).  The class it is discovered at stays its known class
until the
instance is removed or locally deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from weft.fom.catalog import ObjectClassEntry
from weft.kernel.ddm import matching_at_time
from weft.kernel.message import advisories
from weft.kernel.state.federation import Federation, Instance, Knowledge, Member
from weft.kernel.state.region_state import Where
from weft.kernel.state.step import Step
from weft.model.handles import AttributeHandle, ObjectClassHandle
from weft.model.time import TimeValue


class Plan:
    """What registering an instance of a class by a certain federate leads to."""

    def __init__(
        self,
        owners: dict[AttributeHandle, Member],
        knowledge: Knowledge,
        discoverers: list[tuple[Member, ObjectClassHandle]],
    ) -> None:
        self.owners = owners
        self.knowledge = knowledge
        self.discoverers = discoverers


def plan(federation: Federation, registrant: Member, entry: ObjectClassEntry) -> Plan:
    """The plan for a class, kept until declarations change."""
    key = (entry.handle, registrant.handle)
    found: Plan | None = federation.plans.get(key)
    if found is None:
        owners = dict.fromkeys(registrant.declared.published[entry.handle], registrant)
        found = federation.plans[key] = placed_plan(federation, registrant, entry, owners, None)
    return found


def placed_plan(
    federation: Federation,
    registrant: Member,
    entry: ObjectClassEntry,
    owners: dict[AttributeHandle, Member],
    where: Where | None,
) -> Plan:
    """Of an instance that is there."""
    discoverers = []
    masks = {entry.handle: registrant.bit}
    for member in federation.members.values():
        if member is not registrant:
            known_class = would_discover(federation, member, entry, owners, where)
            if known_class is not None:
                discoverers.append((member, known_class))
                masks[known_class] = masks.get(known_class, 0) | member.bit
    return Plan(owners, federation.knowledge(masks), discoverers)


def reclaim(federation: Federation, past: TimeValue) -> None:
    """A subscription that was over by then, for everybody, makes nobody discover anything any more."""
    ddm = federation.ddm
    if ddm.reclaimed is None or past > ddm.reclaimed:
        ddm.reclaimed = past
        less = [member for member in federation.members.values() if member.declared.reclaim((past, 0))]
        if less:
            federation.changed()


def would_discover(
    federation: Federation,
    member: Member,
    entry: ObjectClassEntry,
    owners: dict[AttributeHandle, Member],
    where: Where | None,
) -> ObjectClassHandle | None:
    candidate = member.declared.candidate_class(entry)
    if candidate is not None:
        for attribute in matching_at_time.ever_wished(federation, member, candidate, where):
            owner = owners.get(attribute)
            if owner is not None and owner is not member:
                return candidate
    return None


def announce(step: Step, instance: Instance, member: Member, known_class: ObjectClassHandle) -> None:
    arguments = (instance.handle, known_class, instance.name, instance.producer)
    step.callback(member, "discover_object_instance", arguments)


def after_transfer(step: Step, instance: Instance) -> list[Member]:
    """An instance's owners changed, or its place: members that subscribe to what is owned there now may discover it.  Who did
    is returned."""
    federation = step.federation
    found: list[Member] = []
    if instance.condemned is not None:
        return found
    where = matching_at_time.ever_at(federation, instance)
    for member in federation.members.values():
        if not instance.knowledge.mask & member.bit:
            known_class = would_discover(federation, member, instance.entry, instance.owners, where)
            if known_class is not None:
                federation.learn(instance, member, known_class)
                announce(step, instance, member, known_class)
                found.append(member)
    if federation.switch("autoProvide"):
        for member in found:
            advisories.provide(step, instance, member)
    return found


def after_subscription(step: Step, entry: ObjectClassEntry) -> list[Instance]:
    """A member's subscriptions changed at this class: it may discover instances of it and of classes below it."""
    federation = step.federation
    known = [federation.objects.of_class.get(below.handle, {}).values() for below in entry.family()]
    return among(step, chain.from_iterable(known))


def among(step: Step, instances: Iterable[Instance]) -> list[Instance]:
    """Of these instances the member may discover some."""
    federation = step.federation
    member = step.member
    found = []
    for instance in instances:
        if not instance.knowledge.mask & member.bit and instance.condemned is None:
            where = matching_at_time.ever_at(federation, instance)
            known_class = would_discover(federation, member, instance.entry, instance.owners, where)
            if known_class is not None:
                federation.learn(instance, member, known_class)
                announce(step, instance, member, known_class)
                found.append(instance)
    if federation.switch("autoProvide"):
        for instance in found:
            advisories.provide(step, instance, member)
    return found
