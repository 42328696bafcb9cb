"""Declaration management (clause 5): what a federate will send and wants to receive.

Every change here may make instances discoverable, change who is relevant to whom, and does make the routes worked out so far
stale.  The services therefore end alike: change the declaration, `federation.changed()`, discover, advise.

Declarations may be as of a logical time (`As`): what that leads to is in `services.timed_changes` and `services.publications`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest import AttributeWish
from weft.kernel.message import advisories, discovery, update_rates
from weft.kernel.services import ownership_transfers, publications, timed_changes
from weft.kernel.services.timed_changes import As
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Federation
from weft.kernel.state.step import Step
from weft.model.errors import InvalidUpdateRateDesignator
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle, RegionHandle

How = TypeVar("How")
Directed = dict[ObjectClassHandle, dict[InteractionClassHandle, How]]
"""Directed interactions, by object class: published (`None`), or subscribed to (universally, or not)."""


def publish_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    timed: As = None,
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    if chosen and timed is None:
        publications.publish(step, entry, chosen)
    publications.write_attributes(step, entry, chosen, True, timed)


def unpublish_object_class(step: Step, object_class: ObjectClassHandle, timed: As = None) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    declared = step.member.declared
    published = list(declared.published.get(object_class, ()))
    _unpublish(step, entry, published if timed is None else list(entry.attributes), timed)
    if timed is None:
        declared.timed_published.of.pop(object_class, None)


def unpublish_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    timed: As = None,
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    _unpublish(step, entry, preconditions.attributes(entry, attributes), timed)


def _unpublish(step: Step, entry: ObjectClassEntry, gone: list[AttributeHandle], timed: As) -> None:
    if timed is None:
        publications.unpublish(step, entry, gone)
    publications.write_attributes(step, entry, gone, None, timed)


def publish_interaction_class(
    step: Step, interaction_class: InteractionClassHandle, timed: As = None
) -> None:
    entry = preconditions.interaction_class(step.federation, interaction_class)
    if timed is None:
        publications.begin_to_send(step, entry)
    publications.write_interaction(step, entry, True, timed)


def unpublish_interaction_class(
    step: Step, interaction_class: InteractionClassHandle, timed: As = None
) -> None:
    entry = preconditions.interaction_class(step.federation, interaction_class)
    if timed is None:
        publications.stop_sending(step, entry)
    publications.write_interaction(step, entry, None, timed)


def publish_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
) -> None:
    _declare_directed(step, step.member.declared.directs, object_class, interaction_classes, None)


def unpublish_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None = None,
) -> None:
    _withdraw_directed(step, step.member.declared.directs, object_class, interaction_classes)


def subscribe_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    update_rate: str = "",
    active: bool = True,
    timed: As = None,
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    chosen = preconditions.attributes(entry, attributes)
    wanted = wish(step.federation, active, update_rate)
    if chosen or timed is not None:
        _subscribe(step, entry, chosen, wanted, timed)


def wish(federation: Federation, active: bool, designator: str) -> AttributeWish:
    if designator:
        update_rate(federation, designator)
    return AttributeWish(active, designator)


def update_rate(federation: Federation, designator: str) -> float:
    rates = federation.catalog.model.update_rates
    if designator not in rates:
        known = ", ".join(rates) or "none"
        raise InvalidUpdateRateDesignator(
            f"{designator!r} is no update rate of the object model (it has {known})"
        )
    return rates[designator]


def resubscribed(step: Step, entry: ObjectClassEntry) -> None:
    """The member's subscriptions at this class have changed.

    With a class out of the way the candidate class of instances below it may now lie higher up.
    """
    step.federation.changed()
    update_rates.redeclared(step)
    discover(step, entry)
    family = entry.family()
    advisories.registrations(step, family)
    for below in family:
        advisories.instances(step, step.federation.objects.of_class.get(below.handle, {}).values())


def unsubscribe_object_class(step: Step, object_class: ObjectClassHandle, timed: As = None) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    federation = step.federation
    declared = step.member.declared
    gone = dict.fromkeys([*declared.subscribed.get(object_class, ()), *declared.timed.of_class(object_class)])
    if timed is not None:
        # Of all attributes that may yet be subscribed to as of an earlier time: it ends then.
        for attribute in entry.attributes:
            if federation.channels.as_of or federation.catalog.available_to_attribute(entry, attribute):
                gone[attribute] = None
    _subscribe(step, entry, list(gone), None, timed)


def unsubscribe_object_class_attributes(
    step: Step,
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
    timed: As = None,
) -> None:
    entry = preconditions.object_class(step.federation, object_class)
    _subscribe(step, entry, preconditions.attributes(entry, attributes), None, timed)


def _subscribe(
    step: Step,
    entry: ObjectClassEntry,
    attributes: list[AttributeHandle],
    wanted: AttributeWish | None,
    timed: As,
) -> None:
    """Or, without a wish, subscribe no longer."""
    kind = entry.handle
    declared = step.member.declared
    catalog = step.federation.catalog
    placed = [catalog.available_to_attribute(entry, a) for a in attributes if a != catalog.privilege]
    timed_changes.require_logged(step, entry.name, all(placed), timed)
    now = declared.subscribed.get(kind, {})
    before: dict[tuple[AttributeHandle, RegionHandle | None], AttributeWish | None]
    before = {(attribute, None): now.get(attribute) for attribute in attributes}
    until = timed_changes.write(step, declared.timed, kind, before, wanted, timed)
    if wanted is None:
        declared.unsubscribe(kind, attributes)
    else:
        declared.subscribe(kind, attributes, wanted)
    if timed is None:
        timed_changes.redeclared(step)
    resubscribed(step, entry)
    if timed is not None:
        changed: list[timed_changes.Subscription] = [(kind, attribute, None) for attribute in attributes]
        timed_changes.carried_out(step, changed, until, timed, False)


def discover(step: Step, entry: ObjectClassEntry) -> None:
    for instance in discovery.after_subscription(step, entry):
        ownership_transfers.offer(step, instance, step.member)


def subscribe_interaction_class(
    step: Step,
    interaction_class: InteractionClassHandle,
    active: bool = True,
    timed: As = None,
) -> None:
    entry = preconditions.interaction_class(step.federation, interaction_class)
    preconditions.not_reported(step.member, entry)
    _receive(step, entry, active, timed)


def unsubscribe_interaction_class(
    step: Step, interaction_class: InteractionClassHandle, timed: As = None
) -> None:
    _receive(step, preconditions.interaction_class(step.federation, interaction_class), None, timed)


def _receive(step: Step, entry: InteractionClassEntry, active: bool | None, timed: As) -> None:
    """None: no longer."""
    kind = entry.handle
    declared = step.member.declared
    available = bool(step.federation.catalog.available_to_interaction_class(entry))
    timed_changes.require_logged(step, entry.name, available, timed)
    before: dict[tuple[None, RegionHandle | None], bool | None] = {(None, None): declared.receives.get(kind)}
    until = timed_changes.write(step, declared.timed_receives, kind, before, active, timed)
    if active is None:
        declared.receives.pop(kind, None)
    else:
        declared.receives[kind] = active
    if timed is None:
        timed_changes.redeclared(step)
    step.federation.changed()
    advisories.interactions(step, entry.family())
    if timed is not None:
        timed_changes.carried_out(step, [(kind, None, None)], until, timed, True)


def subscribe_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
    universally: bool = False,
) -> None:
    _declare_directed(step, step.member.declared.directed, object_class, interaction_classes, universally)


def _declare_directed(
    step: Step,
    declared: Directed[How],
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle],
    how: How,
) -> None:
    preconditions.object_class(step.federation, object_class)
    chosen = sorted(interaction_classes)
    for handle in chosen:
        preconditions.interaction_class(step.federation, handle)
    if chosen:
        declared.setdefault(object_class, {}).update(dict.fromkeys(chosen, how))


def unsubscribe_object_class_directed_interactions(
    step: Step,
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None = None,
) -> None:
    _withdraw_directed(step, step.member.declared.directed, object_class, interaction_classes)


def _withdraw_directed(
    step: Step,
    declared: Directed[How],
    object_class: ObjectClassHandle,
    interaction_classes: Iterable[InteractionClassHandle] | None,
) -> None:
    preconditions.object_class(step.federation, object_class)
    held = declared.get(object_class, {})
    gone = list(held) if interaction_classes is None else sorted(interaction_classes)
    for handle in gone:
        preconditions.interaction_class(step.federation, handle)
    for handle in gone:
        held.pop(handle, None)
    if not held:
        declared.pop(object_class, None)
