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
from weft.kernel.state.step import Step
from weft.model.errors import InvalidUpdateRateDesignator
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle


def publish_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    federation = step.federation
    member = step.member
    entry = preconditions.object_class(federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    if chosen:
        # The privilege to delete goes with any publication of the class.
        held = member.declared.published.get(object_class, {})
        gained = [a for a in (*chosen, federation.catalog.privilege) if a not in held]
        member.declared.publish(object_class, gained)
        federation.changed()
        for instance in _known_as(federation, member, entry):
            ownership_transfers.offer(step, instance, member, gained)
        advisories.registrations(step, [entry])


def _known_as(federation: Federation, member: Member, entry: ObjectClassEntry) -> list[Instance]:
    """The instances that the member knows as of this class."""
    return [
        instance
        for below in entry.family()
        for instance in federation.objects.of_class.get(below.handle, {}).values()
        if instance.knowledge.masks.get(entry.handle, 0) & member.bit
    ]


def unpublish_object_class(step: Step, object_class: ObjectClassHandle) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    _unpublish(step, entry, list(step.member.declared.published.get(object_class, ())))


def unpublish_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    federation = step.federation
    entry = preconditions.object_class(federation, object_class)
    gone = preconditions.attributes(entry, attributes)
    held = step.member.declared.published.get(object_class, {})
    left = [a for a in held if a not in gone]
    if left == [federation.catalog.privilege] and len(left) < len(held):
        gone = [*gone, federation.catalog.privilege]  # it goes with the last other attribute
    _unpublish(step, entry, gone)


def _unpublish(step: Step, entry: ObjectClassEntry, gone: list[AttributeHandle]) -> None:
    """A federate that no longer publishes an attribute no longer owns it at the instances it knows as of that class."""
    federation = step.federation
    member = step.member
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
            ownership_transfers.release(step, instance, member, lost, b"")
            released.append(instance)
    advisories.registrations(step, [entry])
    advisories.instances(step, released)


def publish_interaction_class(step: Step, interaction_class: InteractionClassHandle) -> None:
    federation = step.federation
    entry = preconditions.interaction_class(federation, interaction_class)
    step.member.declared.sends[interaction_class] = None
    federation.changed()
    advisories.interactions(step, [entry])


def unpublish_interaction_class(step: Step, interaction_class: InteractionClassHandle) -> None:
    federation = step.federation
    member = step.member
    preconditions.interaction_class(federation, interaction_class)
    member.declared.sends.pop(interaction_class, None)
    federation.changed()
    member.told_interactions.pop(interaction_class, None)


def publish_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
) -> None:
    federation = step.federation
    preconditions.object_class(federation, object_class)
    chosen = [
        preconditions.interaction_class(federation, handle).handle for handle in sorted(interaction_classes)
    ]
    if chosen:
        step.member.declared.directs.setdefault(object_class, {}).update(dict.fromkeys(chosen))


def unpublish_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None = None,
) -> None:
    federation = step.federation
    member = step.member
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
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    update_rate: str = "",
    active: bool = True,
) -> None:
    federation = step.federation
    entry = preconditions.object_class(federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    wanted = wish(federation, active, update_rate)
    if chosen:
        step.member.declared.subscribe(object_class, chosen, wanted)
        timed_changes.redeclared(step)
        resubscribed(step, entry)


def wish(federation: Federation, active: bool, update_rate: str) -> AttributeWish:
    if update_rate and update_rate not in federation.catalog.model.update_rates:
        known = ", ".join(federation.catalog.model.update_rates) or "none"
        raise InvalidUpdateRateDesignator(
            f"{update_rate!r} is no update rate of the object model (it has {known})"
        )
    return AttributeWish(active, update_rate)


def resubscribed(step: Step, entry: ObjectClassEntry) -> None:
    """The member's subscriptions at this class have changed.

    With a class out of the way the candidate class of instances below it may now lie higher up.
    """
    step.federation.changed()
    update_rates.redeclared(step)
    discover(step, entry)
    _advise_of_subscription(step, entry)


def unsubscribe_object_class(step: Step, object_class: ObjectClassHandle) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    _unsubscribe(step, entry, list(step.member.declared.subscribed.get(object_class, ())))


def unsubscribe_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    _unsubscribe(step, entry, preconditions.attributes(entry, attributes))


def _unsubscribe(step: Step, entry: ObjectClassEntry, gone: list[AttributeHandle]) -> None:
    step.member.declared.unsubscribe(entry.handle, gone)
    timed_changes.redeclared(step)
    resubscribed(step, entry)


def discover(step: Step, entry: ObjectClassEntry) -> None:
    member = step.member
    for instance in discovery.after_subscription(step, entry):
        ownership_transfers.offer(step, instance, member)


def _advise_of_subscription(step: Step, entry: ObjectClassEntry) -> None:
    federation = step.federation
    family = entry.family()
    advisories.registrations(step, family)
    for below in family:
        advisories.instances(step, federation.objects.of_class.get(below.handle, {}).values())


def subscribe_interaction_class(
    step: Step,
    interaction_class: InteractionClassHandle,
    active: bool = True,
) -> None:
    federation = step.federation
    member = step.member
    entry = preconditions.interaction_class(federation, interaction_class)
    preconditions.not_reported(member, entry)
    member.declared.receives[interaction_class] = active
    timed_changes.redeclared(step)
    federation.changed()
    advisories.interactions(step, entry.family())


def unsubscribe_interaction_class(step: Step, interaction_class: InteractionClassHandle) -> None:
    federation = step.federation
    entry = preconditions.interaction_class(federation, interaction_class)
    step.member.declared.receives.pop(interaction_class, None)
    timed_changes.redeclared(step)
    federation.changed()
    advisories.interactions(step, entry.family())


def subscribe_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
    universally: bool = False,
) -> None:
    federation = step.federation
    preconditions.object_class(federation, object_class)
    chosen = [
        preconditions.interaction_class(federation, handle).handle for handle in sorted(interaction_classes)
    ]
    if chosen:
        step.member.declared.directed.setdefault(object_class, {}).update(dict.fromkeys(chosen, universally))


def unsubscribe_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None = None,
) -> None:
    federation = step.federation
    member = step.member
    preconditions.object_class(federation, object_class)
    held = member.declared.directed.get(object_class, {})
    gone = list(held) if interaction_classes is None else sorted(interaction_classes)
    for handle in gone:
        preconditions.interaction_class(federation, handle)
    for handle in gone:
        held.pop(handle, None)
    if not held:
        member.declared.directed.pop(object_class, None)
