"""Ownership management (clause 7): who may update an attribute of an instance.

An attribute of an instance has one owner or none.  Two things may be under way for it, and both are kept with the instance in
`Transfers`, which exists only while something is:

    offered   its owner negotiates a divestiture: it will give the attribute up once somebody wants it and it confirms
    wanted    the members with a pending acquisition, first come first served, each with the tag it gave

What follows from a change is always the same and stands in `settle`: an unowned attribute goes to the first that wants
it; for an offered one that somebody wants, its owner is asked to confirm; for one that is owned and not offered, its
owner is asked to release it.

A member can want an attribute only if it publishes it at the class it knows the instance as.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.kernel import advisories, discovery, require
from weft.kernel.state import Federation, Instance, Member, Transfers
from weft.kernel.turn import Turn
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
    OwnershipAcquisitionPending,
)
from weft.model.handles import AttributeHandle, ObjectInstanceHandle

Attributes = Iterable[AttributeHandle]


def transfers_of(instance: Instance) -> Transfers:
    if instance.transfers is None:
        instance.transfers = Transfers()
    return instance.transfers


def _tidy(instance: Instance) -> None:
    transfers = instance.transfers
    if transfers is not None and not transfers.offered and not transfers.wanted:
        instance.transfers = None


def wants(instance: Instance, member: Member) -> list[AttributeHandle]:
    """The attributes of the instance that the member tries to acquire."""
    if instance.transfers is None:
        return []
    return [a for a, seekers in instance.transfers.wanted.items() if member.handle in seekers]


def refuse_while_pending(federation: Federation, member: Member, instances: Iterable[Instance]) -> None:
    for instance in instances:
        if wants(instance, member):
            raise OwnershipAcquisitionPending(
                f"{member!r} has asked for attributes of {instance.name!r}; cancel the acquisition first"
            )


# --- giving up ------------------------------------------------------------------------------------------------


def unconditional_attribute_ownership_divestiture(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _owned(federation, member, handle, attributes, tag)
    release(turn, federation, instance, chosen, tag)


def release(
    turn: Turn, federation: Federation, instance: Instance, attributes: list[AttributeHandle], tag: bytes
) -> None:
    """The attributes lose their owner; whoever wants them gets them, and who might is asked."""
    gone = [a for a in attributes if a in instance.owners]
    instance.owners = {a: owner for a, owner in instance.owners.items() if a not in gone}
    if instance.transfers is not None:
        for attribute in gone:
            instance.transfers.offered.pop(attribute, None)
    settle(turn, federation, instance, gone)
    _ask_to_assume(turn, federation, instance, [a for a in gone if a not in instance.owners], tag)


def _ask_to_assume(
    turn: Turn, federation: Federation, instance: Instance, attributes: list[AttributeHandle], tag: bytes
) -> None:
    """Offer to every member that knows the instance and publishes the attributes at the class it knows it as."""
    for known_class, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            published = member.declared.published.get(known_class, {})
            seeking = wants(instance, member)
            offered = frozenset(
                a
                for a in attributes
                if a in published and instance.owners.get(a) is not member and a not in seeking
            )
            if offered:
                arguments = (instance.handle, offered, tag)
                turn.callback(federation, member, "request_attribute_ownership_assumption", arguments)


def negotiated_attribute_ownership_divestiture(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _owned(federation, member, handle, attributes, tag)
    for attribute in chosen:
        if instance.transfers is not None and attribute in instance.transfers.offered:
            name = instance.entry.attributes[attribute].name
            raise AttributeAlreadyBeingDivested(f"{name} of {instance.name!r} is being divested already")
    transfers_of(instance).offered.update(dict.fromkeys(chosen, tag))
    wanted = transfers_of(instance).wanted
    settle(turn, federation, instance, [a for a in chosen if a in wanted])
    _ask_to_assume(turn, federation, instance, [a for a in chosen if a not in wanted], tag)


def cancel_negotiated_attribute_ownership_divestiture(
    turn: Turn, federation: Federation, member: Member, handle: ObjectInstanceHandle, attributes: Attributes
) -> None:
    instance, chosen = _owned(federation, member, handle, attributes, b"")
    _require_offered(instance, chosen)
    for attribute in chosen:
        transfers_of(instance).offered.pop(attribute)
    _tidy(instance)


def _require_offered(instance: Instance, attributes: list[AttributeHandle]) -> None:
    for attribute in attributes:
        if instance.transfers is None or attribute not in instance.transfers.offered:
            name = instance.entry.attributes[attribute].name
            raise AttributeDivestitureWasNotRequested(f"{name} of {instance.name!r} is not being divested")


def confirm_divestiture(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _owned(federation, member, handle, attributes, tag)
    _require_offered(instance, chosen)
    for attribute in chosen:
        if attribute not in transfers_of(instance).wanted:
            name = instance.entry.attributes[attribute].name
            raise NoAcquisitionPending(f"nobody tries to acquire {name} of {instance.name!r}")
    _hand_over(turn, federation, instance, chosen, tag)


def attribute_ownership_divestiture_if_wanted(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> frozenset[AttributeHandle]:
    instance, chosen = _owned(federation, member, handle, attributes, tag)
    wanted = [a for a in chosen if instance.transfers is not None and a in instance.transfers.wanted]
    _hand_over(turn, federation, instance, wanted, tag)
    return frozenset(wanted)


def attribute_ownership_release_denied(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    """Those who want them are told that they are not to be had, and stop waiting."""
    instance, chosen = _owned(federation, member, handle, attributes, tag)
    if instance.transfers is None:
        return
    told: dict[int, list[AttributeHandle]] = {}
    for attribute in chosen:
        for seeker in instance.transfers.wanted.pop(attribute, {}):
            told.setdefault(federation.members[seeker].seat, []).append(attribute)
    for seat, denied in told.items():
        member_there = federation.seats[seat]
        if member_there is not None:
            arguments = (handle, frozenset(denied), tag)
            turn.callback(federation, member_there, "attribute_ownership_unavailable", arguments)
    _tidy(instance)


# --- acquiring ------------------------------------------------------------------------------------------------


def attribute_ownership_acquisition(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    instance, chosen = _acquirable(federation, member, handle, attributes, tag)
    for attribute in chosen:
        transfers_of(instance).wanted.setdefault(attribute, {})[member.handle] = tag
    settle(turn, federation, instance, chosen, member)


def attribute_ownership_acquisition_if_available(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attributes: Attributes,
    tag: bytes,
) -> None:
    """Only what is unowned or offered; the rest is unavailable at once."""
    instance, chosen = _acquirable(federation, member, handle, attributes, tag)
    seeking = wants(instance, member)
    for attribute in chosen:
        if attribute in seeking:
            name = instance.entry.attributes[attribute].name
            raise AttributeAlreadyBeingAcquired(
                f"{member!r} has asked for {name} of {instance.name!r} already"
            )
    offered = instance.transfers.offered if instance.transfers is not None else {}
    free = [a for a in chosen if a not in instance.owners or a in offered]
    for attribute in free:
        transfers_of(instance).wanted.setdefault(attribute, {})[member.handle] = tag
    settle(turn, federation, instance, free, member)
    taken = frozenset(a for a in chosen if a not in free)
    if taken:
        turn.callback(federation, member, "attribute_ownership_unavailable", (handle, taken, tag))


def cancel_attribute_ownership_acquisition(
    turn: Turn, federation: Federation, member: Member, handle: ObjectInstanceHandle, attributes: Attributes
) -> None:
    instance = require.known_instance(federation, member, handle)
    chosen = require.attributes(instance.entry, attributes)
    seeking = wants(instance, member)
    for attribute in chosen:
        name = instance.entry.attributes[attribute].name
        if instance.owners.get(attribute) is member:
            raise AttributeAlreadyOwned(f"{member!r} owns {name} of {instance.name!r} by now")
        if attribute not in seeking:
            raise AttributeAcquisitionWasNotRequested(
                f"{member!r} has not asked for {name} of {instance.name!r}"
            )
    withdraw(instance, member, chosen)
    arguments = (handle, frozenset(chosen))
    turn.callback(federation, member, "confirm_attribute_ownership_acquisition_cancellation", arguments)


def withdraw(instance: Instance, member: Member, attributes: Attributes) -> None:
    """The member no longer wants these attributes."""
    if instance.transfers is not None:
        wanted = instance.transfers.wanted
        for attribute in attributes:
            seekers = wanted.get(attribute)
            if seekers is not None:
                seekers.pop(member.handle, None)
                if not seekers:
                    del wanted[attribute]
        _tidy(instance)


# --- what follows ---------------------------------------------------------------------------------------------


def settle(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    attributes: list[AttributeHandle],
    seeker: Member | None = None,
) -> None:
    """See the head of the file.  `seeker` is the member that has just asked, when one has; others were heard before."""
    transfers = instance.transfers
    unowned = []
    confirm: dict[tuple[int, bytes], list[AttributeHandle]] = {}
    give_up: dict[tuple[int, bytes], list[AttributeHandle]] = {}
    for attribute in attributes:
        owner = instance.owners.get(attribute)
        seekers = transfers.wanted.get(attribute) if transfers is not None else None
        if transfers is None or not seekers:
            continue
        tag = next(iter(seekers.values())) if seeker is None else seekers[seeker.handle]
        if owner is None:
            unowned.append(attribute)
        elif attribute in transfers.offered:
            if seeker is None or len(seekers) == 1:
                confirm.setdefault((owner.seat, tag), []).append(attribute)
        else:
            give_up.setdefault((owner.seat, tag), []).append(attribute)
    _tell(turn, federation, instance, confirm, "request_divestiture_confirmation")
    _tell(turn, federation, instance, give_up, "request_attribute_ownership_release")
    if unowned:
        _hand_over(turn, federation, instance, unowned, None)
    else:
        _owners_changed(turn, federation, instance)
    _tidy(instance)


def _tell(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    told: dict[tuple[int, bytes], list[AttributeHandle]],
    method: str,
) -> None:
    for (seat, tag), attributes in told.items():
        member = federation.seats[seat]
        if member is not None:
            turn.callback(federation, member, method, (instance.handle, frozenset(attributes), tag))


def _hand_over(
    turn: Turn,
    federation: Federation,
    instance: Instance,
    attributes: list[AttributeHandle],
    tag: bytes | None,
) -> None:
    """Each attribute goes to the first that wants it; without a tag of the giver, the acquirer hears its own."""
    owners = dict(instance.owners)
    gained: dict[tuple[int, bytes], list[AttributeHandle]] = {}
    transfers = transfers_of(instance)
    for attribute in attributes:
        seekers = transfers.wanted[attribute]
        first = next(iter(seekers))
        own_tag = seekers.pop(first)
        if not seekers:
            del transfers.wanted[attribute]
        transfers.offered.pop(attribute, None)
        acquirer = federation.members[first]
        owners[attribute] = acquirer
        gained.setdefault((acquirer.seat, own_tag if tag is None else tag), []).append(attribute)
    instance.owners = owners
    _tell(turn, federation, instance, gained, "attribute_ownership_acquisition_notification")
    _owners_changed(turn, federation, instance)
    # Who still wants them now asks the new owners.
    for attribute in attributes:
        for seeker in list(transfers.wanted.get(attribute, {})):
            owner = instance.owners[attribute]
            arguments = (instance.handle, frozenset([attribute]), transfers.wanted[attribute][seeker])
            turn.callback(federation, owner, "request_attribute_ownership_release", arguments)
    _tidy(instance)


def _owners_changed(turn: Turn, federation: Federation, instance: Instance) -> None:
    federation.changed()
    discovery.after_transfer(turn, federation, instance)
    advisories.instances(turn, federation, [instance])


# --- looking --------------------------------------------------------------------------------------------------


def query_attribute_ownership(
    turn: Turn, federation: Federation, member: Member, handle: ObjectInstanceHandle, attributes: Attributes
) -> None:
    instance = require.known_instance(federation, member, handle)
    chosen = require.attributes(instance.entry, attributes)
    by_owner: dict[int, list[AttributeHandle]] = {}
    for attribute in chosen:
        owner = instance.owners.get(attribute)
        by_owner.setdefault(-1 if owner is None else owner.seat, []).append(attribute)
    for seat, owned in by_owner.items():
        found = None if seat < 0 else federation.seats[seat]
        if found is None:
            turn.callback(federation, member, "attribute_is_not_owned", (handle, frozenset(owned)))
        else:
            arguments = (handle, frozenset(owned), found.handle)
            turn.callback(federation, member, "inform_attribute_ownership", arguments)


def is_attribute_owned_by_federate(
    turn: Turn,
    federation: Federation,
    member: Member,
    handle: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> bool:
    instance = require.known_instance(federation, member, handle)
    require.attributes(instance.entry, [attribute])
    return instance.owners.get(attribute) is member


# --- preconditions --------------------------------------------------------------------------------------------


def _owned(
    federation: Federation, member: Member, handle: ObjectInstanceHandle, attributes: Attributes, tag: bytes
) -> tuple[Instance, list[AttributeHandle]]:
    instance = require.known_instance(federation, member, handle)
    chosen = require.attributes(instance.entry, attributes)
    require.owned(instance, member, chosen)
    require.encoded("the user-supplied tag", tag)
    return instance, chosen


def _acquirable(
    federation: Federation, member: Member, handle: ObjectInstanceHandle, attributes: Attributes, tag: bytes
) -> tuple[Instance, list[AttributeHandle]]:
    instance = require.known_instance(federation, member, handle)
    chosen = require.attributes(instance.entry, attributes)
    require.encoded("the user-supplied tag", tag)
    known_class = federation.known_class(member, instance)
    published = {} if known_class is None else member.declared.published.get(known_class, {})
    if not published:
        raise ObjectClassNotPublished(f"{member!r} does not publish the class it knows {instance.name!r} as")
    for attribute in chosen:
        name = instance.entry.attributes[attribute].name
        if attribute not in published:
            raise AttributeNotPublished(f"{member!r} does not publish {name}, so it cannot own it")
        if instance.owners.get(attribute) is member:
            raise FederateOwnsAttributes(f"{member!r} owns {name} of {instance.name!r} already")
    return instance, chosen
