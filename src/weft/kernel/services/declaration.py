"""Declaration management (clause 5): what a federate will send and wants to receive.

Every change here may make instances discoverable, change who is relevant to whom, and does make the routes worked out so far
stale.  The services therefore end alike: change the declaration, `federation.changed()`, discover, advise.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.fom.catalog import ObjectClassEntry
from weft.interest import AttributeWish
from weft.kernel.message import advisories, discovery, update_rates
from weft.kernel.services import ownership_transfers, timed_changes
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.turn import Turn
from weft.model.errors import InvalidUpdateRateDesignator
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle


def publish_object_class_attributes(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    entry = preconditions.object_class(federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    if chosen:
        # The privilege to delete goes with any publication of the class.
        held = member.declared.published.get(object_class, {})
        gained = [a for a in (*chosen, federation.catalog.privilege) if a not in held]
        member.declared.publish(object_class, gained)
        federation.changed()
        for instance in _known_as(federation, member, entry):
            ownership_transfers.offer(turn, federation, instance, member, gained)
        advisories.registrations(turn, federation, [entry])


def _known_as(federation: Federation, member: Member, entry: ObjectClassEntry) -> list[Instance]:
    """The instances that the member knows as of this class."""
    return [
        instance
        for below in entry.family()
        for instance in federation.instances_of.get(below.handle, {}).values()
        if instance.knowledge.masks.get(entry.handle, 0) & member.bit
    ]


def unpublish_object_class(
    turn: Turn, federation: Federation, member: Member, object_class: ObjectClassHandle
) -> None:
    entry = preconditions.object_class(federation, object_class)
    _unpublish(turn, federation, member, entry, list(member.declared.published.get(object_class, ())))


def unpublish_object_class_attributes(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    entry = preconditions.object_class(federation, object_class)
    gone = preconditions.attributes(entry, attributes)
    held = member.declared.published.get(object_class, {})
    left = [a for a in held if a not in gone]
    if left == [federation.catalog.privilege] and len(left) < len(held):
        gone = [*gone, federation.catalog.privilege]  # it goes with the last other attribute
    _unpublish(turn, federation, member, entry, gone)


def _unpublish(
    turn: Turn, federation: Federation, member: Member, entry: ObjectClassEntry, gone: list[AttributeHandle]
) -> None:
    """A federate that no longer publishes an attribute no longer owns it at the instances it knows as of that class."""
    known = _known_as(federation, member, entry)
    ownership_transfers.refuse_while_pending(member, known, gone)
    member.declared.unpublish(entry.handle, gone)
    federation.changed()
    if entry.handle not in member.declared.published:
        member.told_registrations.pop(entry.handle, None)
    released = []
    for instance in known:
        lost = [a for a in gone if instance.owners.get(a) is member]
        if lost:
            ownership_transfers.release(turn, federation, instance, member, lost, b"")
            released.append(instance)
    advisories.registrations(turn, federation, [entry])
    advisories.instances(turn, federation, released)


def publish_interaction_class(
    turn: Turn, federation: Federation, member: Member, interaction_class: InteractionClassHandle
) -> None:
    entry = preconditions.interaction_class(federation, interaction_class)
    member.declared.sends[interaction_class] = None
    federation.changed()
    advisories.interactions(turn, federation, [entry])


def unpublish_interaction_class(
    turn: Turn, federation: Federation, member: Member, interaction_class: InteractionClassHandle
) -> None:
    preconditions.interaction_class(federation, interaction_class)
    member.declared.sends.pop(interaction_class, None)
    federation.changed()
    member.told_interactions.pop(interaction_class, None)


def publish_object_class_directed_interactions(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
) -> None:
    preconditions.object_class(federation, object_class)
    chosen = [
        preconditions.interaction_class(federation, handle).handle for handle in sorted(interaction_classes)
    ]
    if chosen:
        member.declared.directs.setdefault(object_class, {}).update(dict.fromkeys(chosen))


def unpublish_object_class_directed_interactions(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None = None,
) -> None:
    preconditions.object_class(federation, object_class)
    held = member.declared.directs.get(object_class, {})
    gone = list(held) if interaction_classes is None else sorted(interaction_classes)
    for handle in gone:
        preconditions.interaction_class(federation, handle)
    for handle in gone:
        held.pop(handle, None)
    if not held:
        member.declared.directs.pop(object_class, None)


def subscribe_object_class_attributes(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    update_rate: str = "",
    active: bool = True,
) -> None:
    entry = preconditions.object_class(federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    wanted = wish(federation, active, update_rate)
    if chosen:
        member.declared.subscribe(object_class, chosen, wanted)
        timed_changes.redeclared(turn, federation, member)
        resubscribed(turn, federation, member, entry)


def wish(federation: Federation, active: bool, update_rate: str) -> AttributeWish:
    if update_rate and update_rate not in federation.catalog.model.update_rates:
        known = ", ".join(federation.catalog.model.update_rates) or "none"
        raise InvalidUpdateRateDesignator(
            f"{update_rate!r} is no update rate of the object model (it has {known})"
        )
    return AttributeWish(active, update_rate)


def resubscribed(turn: Turn, federation: Federation, member: Member, entry: ObjectClassEntry) -> None:
    """The member's subscriptions at this class have changed.

    With a class out of the way the candidate class of instances below it may now lie higher up.
    """
    federation.changed()
    update_rates.redeclared(turn, federation, member)
    discover(turn, federation, member, entry)
    _advise_of_subscription(turn, federation, entry)


def unsubscribe_object_class(
    turn: Turn, federation: Federation, member: Member, object_class: ObjectClassHandle
) -> None:
    entry = preconditions.object_class(federation, object_class)
    _unsubscribe(turn, federation, member, entry, list(member.declared.subscribed.get(object_class, ())))


def unsubscribe_object_class_attributes(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    entry = preconditions.object_class(federation, object_class)
    _unsubscribe(turn, federation, member, entry, preconditions.attributes(entry, attributes))


def _unsubscribe(
    turn: Turn, federation: Federation, member: Member, entry: ObjectClassEntry, gone: list[AttributeHandle]
) -> None:
    member.declared.unsubscribe(entry.handle, gone)
    timed_changes.redeclared(turn, federation, member)
    resubscribed(turn, federation, member, entry)


def discover(turn: Turn, federation: Federation, member: Member, entry: ObjectClassEntry) -> None:
    for instance in discovery.after_subscription(turn, federation, member, entry):
        ownership_transfers.offer(turn, federation, instance, member)


def _advise_of_subscription(turn: Turn, federation: Federation, entry: ObjectClassEntry) -> None:
    family = entry.family()
    advisories.registrations(turn, federation, family)
    for below in family:
        advisories.instances(turn, federation, federation.instances_of.get(below.handle, {}).values())


def subscribe_interaction_class(
    turn: Turn,
    federation: Federation,
    member: Member,
    interaction_class: InteractionClassHandle,
    active: bool = True,
) -> None:
    entry = preconditions.interaction_class(federation, interaction_class)
    preconditions.not_reported(member, entry)
    member.declared.receives[interaction_class] = active
    timed_changes.redeclared(turn, federation, member)
    federation.changed()
    advisories.interactions(turn, federation, entry.family())


def unsubscribe_interaction_class(
    turn: Turn, federation: Federation, member: Member, interaction_class: InteractionClassHandle
) -> None:
    entry = preconditions.interaction_class(federation, interaction_class)
    member.declared.receives.pop(interaction_class, None)
    timed_changes.redeclared(turn, federation, member)
    federation.changed()
    advisories.interactions(turn, federation, entry.family())


def subscribe_object_class_directed_interactions(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
    universally: bool = False,
) -> None:
    preconditions.object_class(federation, object_class)
    chosen = [
        preconditions.interaction_class(federation, handle).handle for handle in sorted(interaction_classes)
    ]
    if chosen:
        member.declared.directed.setdefault(object_class, {}).update(dict.fromkeys(chosen, universally))


def unsubscribe_object_class_directed_interactions(
    turn: Turn,
    federation: Federation,
    member: Member,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None = None,
) -> None:
    preconditions.object_class(federation, object_class)
    held = member.declared.directed.get(object_class, {})
    gone = list(held) if interaction_classes is None else sorted(interaction_classes)
    for handle in gone:
        preconditions.interaction_class(federation, handle)
    for handle in gone:
        held.pop(handle, None)
    if not held:
        member.declared.directed.pop(object_class, None)
