"""Who gets a message: the answers to the interest question, found once and kept.

`Recipients` of interactions are kept with their sender (`Member.recipients`), those of updates of the same attributes in the
`Knowledge` that alike instances share.  They say which members here get it and to which other nodes it goes, and are forgotten
when a declaration or the membership changes.  What is sent with regions has answers of its own: those of an instance are kept
with its `Placement`.  Who gets a directed interaction is asked for each anew, since ownership moves.
"""

from __future__ import annotations

from typing import Final

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.ddm import matching
from weft.kernel.ddm.recipient import directed_to, of_attributes
from weft.kernel.message import other_nodes
from weft.kernel.state import overrides
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import Recipient
from weft.kernel.state.recipients import Post, Recipients
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.model.handles import AttributeHandle, TransportationTypeHandle

DELAYED: Final = "delaySubscriptionEvaluation"
_MANAGER = "HLAinteractionRoot.HLAmanager"
MANAGED = frozenset(
    f"{_MANAGER}.{kind}"
    for kind in (
        "HLAfederate.HLAadjust",
        "HLAfederate.HLArequest",
        "HLAfederate.HLAservice",
        "HLAfederation.HLAadjust",
        "HLAfederation.HLArequest",
    )
)
"""Whatever is of these classes is also meant for the RTI itself (`mom.mom`)."""


# --- interactions ---------------------------------------------------------------------------------------------


def is_managed(entry: InteractionClassEntry) -> bool:
    return any(ancestor.name in MANAGED for ancestor in entry.lineage)


def of_interaction(
    step: Step, sender: Member, entry: InteractionClassEntry, at: Extents | None = None
) -> Recipients:
    """Of one that is about to be sent, or has arrived; kept if it is sent without regions."""
    if at is None:
        found = sender.recipients.get(entry.handle)
        if found is not None:
            return found
    return _find_interaction(step, sender, entry, at)


def transportation_of(sender: Member, entry: InteractionClassEntry) -> TransportationTypeHandle:
    return sender.interaction_transportations.get(entry.handle) or entry.transportation


def _find_interaction(
    step: Step, sender: Member, entry: InteractionClassEntry, at: Extents | None
) -> Recipients:
    federation = step.federation
    here = step.node
    delayed = federation.switch(DELAYED)
    nodes: dict[str, None] = {}
    transportation = transportation_of(sender, entry)
    made = Recipients(sender, entry.handle, [transportation])
    destinations: list[Member] = []
    for member in federation.members.values():
        if member is sender:
            continue
        received = matching.hears(federation, member, entry, at)
        if received is not None:
            destinations.append(member)
            if member.node == here:
                made.here.append(_hearing(member, received, at))
                continue
        if member.node != here and (received is not None or delayed):
            nodes[member.node] = None
    made.destinations = None if delayed else destinations
    heard = [recipient.member for recipient in made.here]
    made.footprint, groups = other_nodes.spread_interaction(step, sender, entry, at, heard, nodes, delayed)
    if nodes and (sender.node == here or sender is federation.rti):
        reliable = federation.catalog.is_reliable(transportation)
        by_links = other_nodes.goes_reliably(federation, transportation)
        made.posts.append(Post(tuple(nodes), None, by_links, () if reliable else groups))
    made.managed = is_managed(entry)
    made.settle()
    if at is None:
        sender.recipients[entry.handle] = made
        federation.keep(made)
    return made


def _hearing(member: Member, received: InteractionClassEntry, at: Extents | None) -> Recipient:
    """One for all senders: a thousand federates that send to all others would have a million."""
    if at is not None and member.switches.convey_region_designator_sets:
        return Recipient(member, received, regions=matching.conveyed(at))
    found = member.hearing
    if found is None or found.received is not received:
        found = member.hearing = Recipient(member, received)
    return found


# --- attribute updates ----------------------------------------------------------------------------------------


def is_placed(federation: Federation, instance: Instance, sent: list[AttributeHandle]) -> bool:
    """Do these attributes, in time stamp order, go by subscriptions as of their time (`message.deliver_as_of`)?"""
    entry = instance.entry
    if federation.switch(DELAYED):
        return False  # who wants it is asked when its time has come, and not as of that time
    if federation.channels.as_of:
        return True
    return any(federation.catalog.available_to_attribute(entry, attribute) for attribute in sent)


def of_update(
    step: Step, sender: Member, instance: Instance, sent: list[AttributeHandle], where: Where | None
) -> Recipients:
    """Of one that is about to be sent, or has arrived."""
    if instance.overrides is not None or where is not None:
        return _of_placed(step, sender, instance, tuple(sent), where)
    return of_alike(step, sender, instance, sent)


def _of_placed(
    step: Step, sender: Member, instance: Instance, sent: tuple[AttributeHandle, ...], where: Where | None
) -> Recipients:
    """Of an instance that is like no other: kept as long as all that it depends on stays as it is."""
    federation = step.federation
    placement = instance.placement
    if placement is None or where is None or instance.overrides is not None or placement.where is None:
        return _find_update(step, sender, instance, sent, where)
    if sender.node != step.node:  # the message says where it was sent, which may not be where the instance is
        return _find_update(step, sender, instance, sent, where)
    valid = (federation.generation, federation.ddm.changes, instance.knowledge)
    if placement.valid != valid:
        placement.valid = valid
        placement.recipients.clear()
    found = placement.recipients.get(sent)
    if found is None:
        found = placement.recipients[sent] = _find_update(step, sender, instance, sent, where)
    return found


def of_alike(step: Step, sender: Member, instance: Instance, sent: list[AttributeHandle]) -> Recipients:
    """What updates of these attributes have in common, if the instance is like others (no overrides, no regions)."""
    federation = step.federation
    knowledge = instance.knowledge
    if knowledge.generation != federation.generation:
        knowledge.generation = federation.generation
        knowledge.recipients.clear()
    key = (sender.handle, instance.entry.handle, *sent)
    found = knowledge.recipients.get(key)
    if found is None:
        found = _find_update(step, sender, instance, tuple(sent), None)
        knowledge.recipients[key] = found
        federation.keep(found)
    return found


def mark(instance: Instance, recipients: Recipients) -> None:
    """Who has updated the instance, and who has had it reflected."""
    instance.updated |= recipients.sender.bit
    if not instance.reflected:
        instance.reflected = recipients.reached  # one number for all alike instances
    else:
        instance.reflected |= recipients.reached


def _find_update(
    step: Step, sender: Member, instance: Instance, sent: tuple[AttributeHandle, ...], where: Where | None
) -> Recipients:
    federation = step.federation
    here = step.node
    ways = list(dict.fromkeys([overrides.transportation_of(instance, handle) for handle in sent]))
    made = Recipients(sender, instance.entry.handle, ways)
    destinations: dict[Member, None] = {}
    away: dict[str, dict[AttributeHandle, None]] = {}  # node -> what its members want
    for known_class, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            subscribed = matching.wishes(federation, member, known_class, where)
            if member is sender or not subscribed:
                continue
            wanted = [handle for handle in sent if handle in subscribed]
            if not wanted:
                continue
            if member is not federation.rti:
                destinations[member] = None
            if member.node != here:
                away.setdefault(member.node, {}).update(dict.fromkeys(wanted))
                continue
            found = of_attributes(federation, member, instance, wanted, where, len(sent), subscribed)
            if found[0].intervals:
                made.paced += found
            else:
                made.here += found
    delayed = federation.switch(DELAYED)
    if delayed:
        away = {m.node: dict.fromkeys(sent) for m in federation.members.values() if m.node != here}
    made.destinations = None if delayed else list(destinations)
    other_nodes.spread_update(step, instance, made, away, sent, where, delayed)
    return made.settle()


# --- directed interactions --------------------------------------------------------------------------------------


def of_directed(
    step: Step,
    sender: Member,
    entry: InteractionClassEntry,
    instance: Instance,
    transportation: TransportationTypeHandle,
) -> Recipients:
    federation = step.federation
    here = step.node
    delayed = federation.switch(DELAYED)
    made = Recipients(sender, entry.handle, [transportation], directed=True)
    destinations: list[Member] = []
    for member in federation.seated(instance.knowledge.mask & ~sender.bit):
        received = directed_to(instance, entry, member)
        if received is not None:
            destinations.append(member)
            if member.node == here:
                made.here.append(Recipient(member, received))
    made.destinations = None if delayed else destinations
    if sender.node == here or sender is federation.rti:
        nodes = {
            member.node: None
            for member in federation.members.values()
            if member.node != here
            and (delayed or member.declared.directed_class(instance.entry, entry) is not None)
        }
        if nodes:
            reliable = other_nodes.goes_reliably(federation, transportation)
            made.posts.append(Post(tuple(nodes), None, reliable))
    return made.settle()
