"""What follows when the ownership of an attribute may change; the services are in `services.ownership`.

An attribute of an instance has one owner or none.  Two things may be under way for it, and both are kept with the instance in
`Transfers`, which exists only while something is:

    offered   a new owner is sought: its owner negotiates a divestiture, or it was given up and nobody owns it
    wanted    the bids for it, first come first served.  A lasting bid (Acquisition) stands until it is granted, denied or
              cancelled; a passing one (Acquisition If Available) only while the attribute is offered

The rules:

    nobody owns it         the first that wants it gets it
    its owner offers it    the owner is asked to confirm as soon as somebody wants it
    its owner keeps it     the owner is asked to release it, once for each lasting bid; passing bids end, it is unavailable
    it is sought           offered, and nobody wants it: all who could own it are asked to assume it, when it comes to that, and
                           later whoever comes to know the instance or to publish the attribute

A member can own or want an attribute only if it publishes it at the class it knows the instance as.  What belongs to the RTI
itself (`Federation.rti`) is never to be had, nor is the privilege to delete what is being deleted already.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.kernel.ddm import instance_regions
from weft.kernel.message import advisories, discovery
from weft.kernel.state.federation import Bid, Federation, Instance, Member, Overrides, Transfers
from weft.kernel.state.step import Step
from weft.model.errors import OwnershipAcquisitionPending
from weft.model.handles import AttributeHandle, FederateHandle, ObjectClassHandle

Told = dict[tuple[FederateHandle, FederateHandle, bytes], list[AttributeHandle]]
"""Who is told, because of whom, with which tag."""

_NOTHING = Transfers()
"""Of an instance for which nothing is under way; never changed."""


def under_way(instance: Instance) -> Transfers:
    """To look at."""
    return instance.transfers or _NOTHING


def opened(instance: Instance) -> Transfers:
    """To change."""
    if instance.transfers is None:
        instance.transfers = Transfers()
    return instance.transfers


def tidy(instance: Instance) -> None:
    transfers = instance.transfers
    if transfers is not None:
        for attribute in [a for a, bids in transfers.wanted.items() if not bids]:
            del transfers.wanted[attribute]
        if not transfers.offered and not transfers.wanted:
            instance.transfers = None


def wants(instance: Instance, member: Member) -> list[AttributeHandle]:
    """The attributes of the instance that the member has bid for."""
    return [a for a, bids in under_way(instance).wanted.items() if member.handle in bids]


def has_lasting_bid(instance: Instance, member: Member, attribute: AttributeHandle) -> bool:
    bid = under_way(instance).wanted.get(attribute, {}).get(member.handle)
    return bid is not None and bid.lasting


def refuse_while_pending(
    member: Member, instances: Iterable[Instance], attributes: list[AttributeHandle] | None = None
) -> None:
    """None: whatever attributes they are."""
    for instance in instances:
        for attribute in wants(instance, member):
            if attributes is None or attribute in attributes:
                raise OwnershipAcquisitionPending(
                    f"{member!r} has asked for {named(instance, attribute)}; cancel the acquisition first"
                )


def named(instance: Instance, attribute: AttributeHandle) -> str:
    return f"{instance.entry.attributes[attribute].name} of {instance.name!r}"


def release(
    step: Step,
    instance: Instance,
    owner: Member,
    attributes: list[AttributeHandle],
    tag: bytes,
) -> None:
    """The owner gives these attributes up, for whatever reason; the caller sees to the advisories."""
    _give_up(step.federation, instance, owner, attributes)
    instance.owners = {a: one for a, one in instance.owners.items() if a not in attributes}
    transfers = opened(instance)
    transfers.offered.update(dict.fromkeys(attributes, tag))
    seek(step, instance, attributes, owner.bit)
    grant(step, instance, [a for a in attributes if a in transfers.wanted], None)
    tidy(instance)


def leave(step: Step, owned: Iterable[Instance]) -> None:
    """The member has resigned: its bids end, and it gives up what it still owns of these instances."""
    member = step.member
    for instance in step.federation.instances.values():
        if instance.transfers is not None:
            withdraw(step, instance, [(a, member) for a in wants(instance, member)])
    for instance in owned:
        mine = [a for a, owner in instance.owners.items() if owner is member]
        release(step, instance, member, mine, b"")


def place(step: Step, instance: Instance, attributes: list[AttributeHandle], bid: Bid) -> None:
    """The member bids for these attributes, which others own or nobody."""
    member = step.member
    privilege = step.federation.catalog.privilege
    transfers = opened(instance)
    free = []
    first = []
    give_up: Told = {}
    taken: Told = {}
    for attribute in attributes:
        owner = instance.owners.get(attribute)
        bids = transfers.wanted.setdefault(attribute, {})
        earlier = bids.get(member.handle)
        if earlier is not None and (earlier.lasting or not bid.lasting):
            continue  # asked for already
        offered = attribute in transfers.offered
        # Who deletes it at a logical time has used the privilege up: one deletion is enough, and it may be taken back.
        spent = instance.condemned is not None and attribute == privilege
        if spent or owner is step.federation.rti or (owner is not None and not bid.lasting and not offered):
            taken.setdefault((member.handle, member.handle, bid.tag), []).append(attribute)
            continue
        bids[member.handle] = bid
        if owner is None:
            free.append(attribute)
        elif not offered:
            give_up.setdefault((owner.handle, member.handle, bid.tag), []).append(attribute)
        elif earlier is None and len(bids) == 1:
            first.append(attribute)
    tell(step, instance, taken, "attribute_ownership_unavailable")
    confirm(step, instance, first)
    tell(step, instance, give_up, "request_attribute_ownership_release")
    grant(step, instance, free, None)
    tidy(instance)
    if free:
        advisories.instances(step, [instance])


def confirm(step: Step, instance: Instance, attributes: list[AttributeHandle]) -> None:
    """Their owner offers them: it is asked to confirm those that somebody wants, for the first who does."""
    told: Told = {}
    for attribute in attributes:
        for seeker, bid in under_way(instance).wanted.get(attribute, {}).items():
            told.setdefault((instance.owners[attribute].handle, seeker, bid.tag), []).append(attribute)
            break
    tell(step, instance, told, "request_divestiture_confirmation")


def grant(step: Step, instance: Instance, attributes: list[AttributeHandle], tag: bytes | None) -> None:
    """Each attribute goes to the first that wants it; without a tag of the giver, that member hears its own."""
    federation = step.federation
    if not attributes:
        return
    transfers = opened(instance)
    owners = dict(instance.owners)
    told: Told = {}
    for attribute in attributes:
        bids = transfers.wanted[attribute]
        first = next(iter(bids))
        bid = bids.pop(first)
        transfers.offered.pop(attribute, None)
        giver = owners.get(attribute)
        if giver is not None:
            _give_up(federation, instance, giver, [attribute])
        acquirer = federation.members[first]
        owners[attribute] = acquirer
        _take_over(federation, instance, acquirer, attribute)
        told.setdefault((first, first, bid.tag if tag is None else tag), []).append(attribute)
    instance.owners = owners
    tell(step, instance, told, "attribute_ownership_acquisition_notification")
    keep(step, instance, attributes)
    for discoverer in discovery.after_transfer(step, instance):
        offer(step, instance, discoverer)


def impose(step: Step, instance: Instance, attribute: AttributeHandle, owner: Member | None) -> None:
    """The MOM says who owns the attribute, and tells neither who gains nor who loses it; who waits for it goes on to do so."""
    former = instance.owners.get(attribute)
    if former is owner:
        return
    if former is not None:
        _give_up(step.federation, instance, former, [attribute])
    instance.owners = {a: one for a, one in instance.owners.items() if a != attribute}
    transfers = opened(instance)
    transfers.offered.pop(attribute, None)
    if owner is not None:
        transfers.wanted.get(attribute, {}).pop(owner.handle, None)
        instance.owners[attribute] = owner
        _take_over(step.federation, instance, owner, attribute)
        keep(step, instance, [attribute])
        for discoverer in discovery.after_transfer(step, instance):
            offer(step, instance, discoverer)
    elif attribute in transfers.wanted:
        grant(step, instance, [attribute], None)
    tidy(instance)
    advisories.instances(step, [instance])


def keep(step: Step, instance: Instance, attributes: list[AttributeHandle]) -> None:
    """The attributes are owned and not offered: passing bids end, lasting ones ask the owner."""
    give_up: Told = {}
    taken: Told = {}
    for attribute in attributes:
        owner = instance.owners[attribute]
        bids = under_way(instance).wanted.get(attribute, {})
        for seeker, bid in list(bids.items()):
            if bid.lasting:
                give_up.setdefault((owner.handle, seeker, bid.tag), []).append(attribute)
            else:
                del bids[seeker]
                taken.setdefault((seeker, seeker, bid.tag), []).append(attribute)
    tell(step, instance, taken, "attribute_ownership_unavailable")
    tell(step, instance, give_up, "request_attribute_ownership_release")


def withdraw(step: Step, instance: Instance, bids: list[tuple[AttributeHandle, Member]]) -> None:
    """These bids end.  What is offered and nobody wants any more is sought again, but not with those who bid."""
    wanted = under_way(instance).wanted
    but = 0
    for attribute, seeker in bids:
        but |= seeker.bit
        del wanted[attribute][seeker.handle]
    sought = [a for a in dict(bids) if not wanted[a]]
    tidy(instance)
    seek(step, instance, sought, but)


def forgotten(step: Step, instance: Instance) -> None:
    """Some have forgotten the instance: they want nothing of it any more."""
    federation = step.federation
    bids = []
    for attribute, seekers in under_way(instance).wanted.items():
        members = [federation.members[seeker] for seeker in seekers]
        bids += [(attribute, one) for one in members if not instance.knowledge.mask & one.bit]
    if bids:
        withdraw(step, instance, bids)


def seek(step: Step, instance: Instance, attributes: list[AttributeHandle], but: int) -> None:
    """Offer what is sought of these attributes to all who could own it, but for those in the mask."""
    federation = step.federation
    if attributes and instance.transfers is not None:
        for known_class, mask in instance.knowledge.masks.items():
            for member in federation.seated(mask & ~but & ~federation.rti.bit):
                _offer(step, instance, member, known_class, attributes)


def offer(
    step: Step,
    instance: Instance,
    member: Member,
    attributes: list[AttributeHandle] | None = None,
) -> None:
    """The member has come to know the instance, or to publish these attributes of it: what is sought is offered to it too."""
    if instance.transfers is not None:
        known_class = step.federation.known_class(member, instance)
        if known_class is not None:
            chosen = list(instance.transfers.offered) if attributes is None else attributes
            _offer(step, instance, member, known_class, chosen)


def _offer(
    step: Step,
    instance: Instance,
    member: Member,
    known_class: ObjectClassHandle,
    attributes: list[AttributeHandle],
) -> None:
    published = member.declared.published.get(known_class)
    if published is None:
        return
    transfers = under_way(instance)
    told: Told = {}
    for attribute in attributes:
        tag = transfers.offered.get(attribute)
        owner = instance.owners.get(attribute, step.federation.rti)
        if tag is None or attribute not in published or transfers.wanted.get(attribute) or owner is member:
            continue
        told.setdefault((member.handle, owner.handle, tag), []).append(attribute)
    tell(step, instance, told, "request_attribute_ownership_assumption")


def tell(step: Step, instance: Instance, told: Told, method: str) -> None:
    for (handle, _, tag), attributes in told.items():
        step.callback(step.federation.members[handle], method, (instance.handle, frozenset(attributes), tag))


def _give_up(
    federation: Federation, instance: Instance, owner: Member, attributes: list[AttributeHandle]
) -> None:
    """Whether updates are wanted no longer concerns a former owner, so it is not told that they are off either.  Its regions
    for updates go with what it owned."""
    if instance.placement is not None:
        instance_regions.give_up(federation, instance, owner, attributes)
    told = owner.told_updates.get(instance.handle)
    if told is not None:
        owner.told_updates[instance.handle] = {a: rate for a, rate in told.items() if a not in attributes}


def _take_over(
    federation: Federation, instance: Instance, acquirer: Member, attribute: AttributeHandle
) -> None:
    """Transportation and order are the owner's choice: a new owner begins with its own defaults."""
    known_class = federation.known_class(acquirer, instance) or instance.entry.handle
    transportation = acquirer.attribute_transportations.get(known_class, {}).get(attribute)
    order = acquirer.attribute_orders.get(known_class, {}).get(attribute)
    overrides = instance.overrides or Overrides()
    overrides.transportations.pop(attribute, None)
    overrides.orders.pop(attribute, None)
    if transportation is not None:
        overrides.transportations[attribute] = transportation
    if order is not None:
        overrides.orders[attribute] = order
    instance.overrides = overrides if overrides.transportations or overrides.orders else None
