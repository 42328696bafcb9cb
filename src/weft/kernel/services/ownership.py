"""Ownership management (clause 7): who may update an attribute of an instance.

Here are the services and their preconditions; what follows from them, and the rules, are in `services.ownership_transfers`.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.kernel.message import advisories
from weft.kernel.services import ownership_transfers
from weft.kernel.services.ownership_transfers import named
from weft.kernel.state import preconditions
from weft.kernel.state.federation import Bid, Instance
from weft.kernel.state.step import Step
from weft.model.errors import (
    AttributeAcquisitionWasNotRequested,
    AttributeAlreadyBeingAcquired,
    AttributeAlreadyBeingDivested,
    AttributeAlreadyOwned,
    AttributeDivestitureWasNotRequested,
    AttributeNotPublished,
    FederateOwnsAttributes,
    NoAcquisitionPending,
    ObjectClassNotPublished,
)
from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle

Attributes = Iterable[AttributeHandle]

# --- giving up ------------------------------------------------------------------------------------------------


def unconditional_attribute_ownership_divestiture(
    step: Step,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _owned(step, handle, attributes, tag)
    ownership_transfers.release(step, instance, step.member, chosen, tag)
    advisories.instances(step, [instance])


def negotiated_attribute_ownership_divestiture(
    step: Step,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _owned(step, handle, attributes, tag)
    for attribute in chosen:
        if attribute in ownership_transfers.under_way(instance).offered:
            raise AttributeAlreadyBeingDivested(f"{named(instance, attribute)} is being divested already")
    ownership_transfers.opened(instance).offered.update(dict.fromkeys(chosen, tag))
    ownership_transfers.confirm(step, instance, chosen)
    ownership_transfers.seek(step, instance, chosen, 0)
    ownership_transfers.tidy(instance)


def cancel_negotiated_attribute_ownership_divestiture(
    step: Step, handle: ObjectInstanceHandle, attributes: Attributes
) -> None:
    instance, chosen = _owned(step, handle, attributes, b"")
    _require_offered(instance, chosen)
    for attribute in chosen:
        ownership_transfers.opened(instance).offered.pop(attribute)
    ownership_transfers.keep(step, instance, chosen)
    ownership_transfers.tidy(instance)


def confirm_divestiture(step: Step, handle: ObjectInstanceHandle, attributes: Attributes, tag: bytes) -> None:
    instance, chosen = _owned(step, handle, attributes, tag)
    _require_offered(instance, chosen)
    for attribute in chosen:
        if attribute not in ownership_transfers.under_way(instance).wanted:
            raise NoAcquisitionPending(f"nobody tries to acquire {named(instance, attribute)}")
    ownership_transfers.grant(step, instance, chosen, tag)
    ownership_transfers.tidy(instance)
    advisories.instances(step, [instance])


def attribute_ownership_divestiture_if_wanted(
    step: Step,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> frozenset[AttributeHandle]:
    instance, chosen = _owned(step, handle, attributes, tag)
    wanted = [a for a in chosen if a in ownership_transfers.under_way(instance).wanted]
    ownership_transfers.grant(step, instance, wanted, tag)
    ownership_transfers.tidy(instance)
    advisories.instances(step, [instance])
    return frozenset(wanted)


def attribute_ownership_release_denied(
    step: Step,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    """Lasting bids end: the attributes are not to be had."""
    instance, chosen = _owned(step, handle, attributes, tag)
    told: ownership_transfers.Told = {}
    denied = []
    for attribute in chosen:
        for seeker, bid in ownership_transfers.under_way(instance).wanted.get(attribute, {}).items():
            if bid.lasting:
                told.setdefault((seeker, seeker, tag), []).append(attribute)
                denied.append((attribute, step.federation.members[seeker]))
    ownership_transfers.tell(step, instance, told, "attribute_ownership_unavailable")
    ownership_transfers.withdraw(step, instance, denied)


# --- acquiring ------------------------------------------------------------------------------------------------


def attribute_ownership_acquisition(
    step: Step,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _acquirable(step, handle, attributes, tag)
    ownership_transfers.place(step, instance, chosen, Bid(tag, True))


def attribute_ownership_acquisition_if_available(
    step: Step,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    member = step.member
    instance, chosen = _acquirable(step, handle, attributes, tag)
    for attribute in chosen:
        if ownership_transfers.has_lasting_bid(instance, member, attribute):
            raise AttributeAlreadyBeingAcquired(
                f"{member!r} has asked for {named(instance, attribute)} already"
            )
    ownership_transfers.place(step, instance, chosen, Bid(tag, False))


def cancel_attribute_ownership_acquisition(
    step: Step, handle: ObjectInstanceHandle, attributes: Attributes
) -> None:
    """Of lasting bids; passing ones end by themselves."""
    member = step.member
    instance, chosen = preconditions.instance_attributes(step, handle, attributes)
    for attribute in chosen:
        if instance.owners.get(attribute) is member:
            raise AttributeAlreadyOwned(f"{member!r} owns {named(instance, attribute)} by now")
        if not ownership_transfers.has_lasting_bid(instance, member, attribute):
            raise AttributeAcquisitionWasNotRequested(
                f"{member!r} has no acquisition of {named(instance, attribute)} under way"
            )
    if chosen:
        arguments = (handle, frozenset(chosen))
        step.callback(member, "confirm_attribute_ownership_acquisition_cancellation", arguments)
        ownership_transfers.withdraw(step, instance, [(a, member) for a in chosen])


# --- looking --------------------------------------------------------------------------------------------------


def query_attribute_ownership(step: Step, handle: ObjectInstanceHandle, attributes: Attributes) -> None:
    """One callback for each owner."""
    member = step.member
    instance, chosen = preconditions.instance_attributes(step, handle, attributes)
    by_owner: dict[FederateHandle | None, list[AttributeHandle]] = {}
    for attribute in chosen:
        owner = instance.owners.get(attribute)
        by_owner.setdefault(None if owner is None else owner.handle, []).append(attribute)
    for found, owned in by_owner.items():
        if found is None:
            step.callback(member, "attribute_is_not_owned", (handle, frozenset(owned)))
        elif found == step.federation.rti.handle:
            step.callback(member, "attribute_is_owned_by_rti", (handle, frozenset(owned)))
        else:
            step.callback(member, "inform_attribute_ownership", (handle, frozenset(owned), found))


def is_attribute_owned_by_federate(
    step: Step,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> bool:
    instance, _ = preconditions.instance_attributes(step, handle, [attribute])
    return instance.owners.get(attribute) is step.member


# --- preconditions --------------------------------------------------------------------------------------------


def _owned(
    step: Step, handle: ObjectInstanceHandle, attributes: Attributes, tag: bytes
) -> tuple[Instance, list[AttributeHandle]]:
    instance, chosen = preconditions.instance_attributes(step, handle, attributes)
    preconditions.owned(instance, step.member, chosen)
    preconditions.encoded("the user-supplied tag", tag)
    return instance, chosen


def _require_offered(instance: Instance, attributes: list[AttributeHandle]) -> None:
    for attribute in attributes:
        if attribute not in ownership_transfers.under_way(instance).offered:
            raise AttributeDivestitureWasNotRequested(f"{named(instance, attribute)} is not being divested")


def _acquirable(
    step: Step, handle: ObjectInstanceHandle, attributes: Attributes, tag: bytes
) -> tuple[Instance, list[AttributeHandle]]:
    member = step.member
    instance, chosen = preconditions.instance_attributes(step, handle, attributes)
    preconditions.encoded("the user-supplied tag", tag)
    known_class = step.federation.known_class(member, instance)
    published = None if known_class is None else member.declared.published.get(known_class)
    if published is None:
        raise ObjectClassNotPublished(f"{member!r} does not publish the class it knows {instance.name!r} as")
    for attribute in chosen:
        if attribute not in published:
            raise AttributeNotPublished(
                f"{member!r} does not publish {named(instance, attribute)}, so it cannot own it"
            )
        if instance.owners.get(attribute) is member:
            raise FederateOwnsAttributes(f"{member!r} owns {named(instance, attribute)} already")
    return instance, chosen
