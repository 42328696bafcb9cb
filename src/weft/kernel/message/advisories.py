"""Advisories: what the RTI tells a federate so that it need not work in vain.

    object class relevance   start / stop registration: somebody actively wants instances of a published class
    interaction relevance    turn interactions on / off
    attribute relevance      turn updates on / off, to an owner, with the fastest rate anybody asked for
    attribute scope          attributes in / out of scope, to a subscriber: known, subscribed where it is, and owned by another

Each is kept as "what this federate has been told" and the difference to what now holds is what it is told next.  A federate
whose switch is off is told nothing and remembers nothing; switching it on tells it what holds then.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.kernel.ddm import matching
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.step import Step
from weft.model.handles import AttributeHandle


def registrations(step: Step, classes: Iterable[ObjectClassEntry]) -> None:
    federation = step.federation
    members = [
        m for m in federation.members.values() if m.switches.object_class_relevance and m.node == step.node
    ]
    if not members:
        return
    for entry in classes:
        for member in members:
            if entry.handle in member.declared.published:
                wanted = federation.declarations.wants_registrations(member.handle, entry)
                told = entry.handle in member.told_registrations
                if wanted and not told:
                    member.told_registrations[entry.handle] = None
                    step.callback(member, "start_registration_for_object_class", (entry.handle,))
                elif told and not wanted:
                    del member.told_registrations[entry.handle]
                    step.callback(member, "stop_registration_for_object_class", (entry.handle,))


def interactions(step: Step, classes: Iterable[InteractionClassEntry]) -> None:
    federation = step.federation
    members = [
        m for m in federation.members.values() if m.switches.interaction_relevance and m.node == step.node
    ]
    if not members:
        return
    for entry in classes:
        for member in members:
            if entry.handle in member.declared.sends:
                wanted = federation.declarations.wants_interactions(member.handle, entry)
                told = entry.handle in member.told_interactions
                if wanted and not told:
                    member.told_interactions[entry.handle] = None
                    step.callback(member, "turn_interactions_on", (entry.handle,))
                elif told and not wanted:
                    del member.told_interactions[entry.handle]
                    step.callback(member, "turn_interactions_off", (entry.handle,))


def instances(step: Step, changed: Iterable[Instance]) -> None:
    """Scope and update advisories for these instances."""
    federation = step.federation
    scoped = [m for m in federation.members.values() if m.switches.attribute_scope and m.node == step.node]
    relevant = [
        m for m in federation.members.values() if m.switches.attribute_relevance and m.node == step.node
    ]
    if scoped or relevant:
        for instance in changed:
            for member in scoped:
                _scope(step, instance, member)
            for member in relevant:
                _updates(step, instance, member)


def _scope(step: Step, instance: Instance, member: Member) -> None:
    now = in_scope(step.federation, instance, member)
    told = member.told_scope.get(instance.handle, {})
    gained = frozenset(a for a in now if a not in told)
    lost = frozenset(a for a in told if a not in now)
    if now:
        member.told_scope[instance.handle] = now
    else:
        member.told_scope.pop(instance.handle, None)
    if gained:
        step.callback(member, "attributes_in_scope", (instance.handle, gained))
    if lost:
        step.callback(member, "attributes_out_of_scope", (instance.handle, lost))


def in_scope(federation: Federation, instance: Instance, member: Member) -> dict[AttributeHandle, None]:
    known_class = federation.known_class(member, instance)
    if known_class is None:
        return {}
    where = matching.where_is(federation, instance)
    subscribed = matching.wishes(federation, member, known_class, where) or {}
    owners = instance.owners
    return {a: None for a in subscribed if a in owners and owners[a] is not member}


def _updates(step: Step, instance: Instance, owner: Member) -> None:
    now = _wanted_updates(step.federation, instance, owner)
    told = owner.told_updates.get(instance.handle, {})
    by_rate: dict[str, list[AttributeHandle]] = {}
    for attribute, rate in now.items():
        if told.get(attribute) != rate:
            by_rate.setdefault(rate, []).append(attribute)
    lost = frozenset(a for a in told if a not in now)
    if now:
        owner.told_updates[instance.handle] = now
    else:
        owner.told_updates.pop(instance.handle, None)
    for rate, gained in by_rate.items():
        arguments = (
            (instance.handle, frozenset(gained), rate) if rate else (instance.handle, frozenset(gained))
        )
        step.callback(owner, "turn_updates_on_for_object_instance", arguments)
    if lost:
        step.callback(owner, "turn_updates_off_for_object_instance", (instance.handle, lost))


def _wanted_updates(federation: Federation, instance: Instance, owner: Member) -> dict[AttributeHandle, str]:
    """The attributes of this owner that somebody wants, each with the fastest rate asked for ("" is every update).

    Who knows the instance wants what it subscribes to at its known class, if Advisories Use Known Class is on; else at any
    class in the lineage of the registered one, though it gets no more than its known class has.
    """
    rates = federation.catalog.model.update_rates
    lineage = [ancestor.handle for ancestor in instance.entry.lineage]
    where = matching.where_is(federation, instance)
    wanted: dict[AttributeHandle, str] = {}
    for known_class, mask in instance.knowledge.masks.items():
        counted = [known_class] if federation.switch("advisoriesUseKnownClass") else lineage
        for member in federation.seated(mask & ~owner.bit):
            for object_class in counted:
                for attribute, wish in (
                    matching.wishes(federation, member, object_class, where) or {}
                ).items():
                    if wish.active and instance.owners.get(attribute) is owner:
                        best = wanted.get(attribute)
                        if best is None or (best and (not wish.rate or rates[wish.rate] > rates[best])):
                            wanted[attribute] = wish.rate
    return wanted


def provide(step: Step, instance: Instance, discoverer: Member) -> None:
    """Auto-provide: ask the owners for the values a new discoverer has in scope."""
    solicit(step, instance, list(in_scope(step.federation, instance, discoverer)), b"", discoverer)


def solicit(
    step: Step,
    instance: Instance,
    attributes: list[AttributeHandle],
    tag: bytes,
    asker: Member,
) -> None:
    """Ask the owners, other than the asker, to provide these attributes."""
    federation = step.federation
    by_owner: dict[int, list[AttributeHandle]] = {}
    for attribute in attributes:
        owner = instance.owners.get(attribute)
        if owner is not None and owner is not asker:
            by_owner.setdefault(owner.seat, []).append(attribute)
    for seat, owned in by_owner.items():
        member = federation.membership.seats[seat]
        if member is not None:
            arguments = (instance.handle, frozenset(owned), tag)
            step.callback(member, "provide_attribute_value_update", arguments)
