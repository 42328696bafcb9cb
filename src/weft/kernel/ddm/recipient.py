"""What one member gets of a message, and in which callbacks: asked of the member's declarations as they are now.

Attributes of different transportation reach a federate in separate callbacks.  So do those of different regions, if it is told of
regions.
"""

from __future__ import annotations

from weft.fom.catalog import InteractionClassEntry
from weft.interest import AttributeWish
from weft.kernel.ddm import matching
from weft.kernel.state import overrides
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import DirectedInteraction, Interaction, Message, Recipient, Update
from weft.kernel.state.recipients import count_received
from weft.kernel.state.region_state import Where
from weft.model.deliveries import Conveyed
from weft.model.handles import AttributeHandle, TransportationTypeHandle


def interval(federation: Federation, rate: str) -> float:
    """Seconds between two values; 0 for every update."""
    return 1.0 / federation.catalog.model.update_rates[rate] if rate else 0.0


def for_member(
    federation: Federation, member: Member, message: Message, instance: Instance | None = None
) -> list[Recipient]:
    """What the member wants of it now, wherever it was sent; with an update rate, where the member has named one.

    `instance`: that it is about, if it is not there any more and the member is still to hear of it.
    """
    if isinstance(message, Interaction):
        return _of_interaction(federation, member, message)
    handle = message.object_instance()
    if instance is None and handle is not None:
        instance = federation.instances.get(handle)
    if instance is None:
        return []
    if isinstance(message, Update):
        return _of_update(federation, member, message, instance)
    if isinstance(message, DirectedInteraction):
        if not instance.knowledge.mask & member.bit:
            return []
        entry = federation.catalog.interaction_classes[message.interaction_class]
        received = directed_to(instance, entry, member)
        return [] if received is None else [Recipient(member, received)]
    return []


def _of_interaction(federation: Federation, member: Member, message: Interaction) -> list[Recipient]:
    entry = federation.catalog.interaction_classes[message.interaction_class]
    received = matching.hears(federation, member, entry, message.at)
    if received is None:
        return []
    made = Recipient(member, received)
    if message.at is not None and member.switches.convey_region_designator_sets:
        made.regions = matching.conveyed(message.at)
    return [made]


def _of_update(
    federation: Federation, member: Member, message: Update, instance: Instance
) -> list[Recipient]:
    known = federation.known_class(member, instance)
    subscribed = None if known is None else matching.wishes(federation, member, known, message.where)
    if not subscribed:
        return []
    wanted = [attribute for attribute in message.attributes() if attribute in subscribed]
    return of_attributes(federation, member, instance, wanted, message.where, -1, subscribed)


def of_attributes(
    federation: Federation,
    member: Member,
    instance: Instance,
    wanted: list[AttributeHandle],
    where: Where | None,
    sent: int = -1,
    subscribed: dict[AttributeHandle, AttributeWish] | None = None,
) -> list[Recipient]:
    """Of these attributes, each recipient with its own; `sent`: how many were sent, if all of them need not be named.

    With what is `subscribed`, the rates that the member named count: then each attribute has its own time.
    """
    paced = subscribed is not None and any(subscribed[handle].rate for handle in wanted)
    if where is not None and member.switches.convey_region_designator_sets:
        made = _with_regions(instance, member, wanted, where)
    else:
        parts: dict[TransportationTypeHandle, list[AttributeHandle]] = {}
        for handle in wanted:
            parts.setdefault(overrides.transportation_of(instance, handle), []).append(handle)
        made = [
            Recipient(member, None, None if len(one) == sent and not paced else tuple(one), transportation)
            for transportation, one in parts.items()
        ]
    if paced and subscribed is not None:
        for recipient in made:
            recipient.intervals = tuple(
                [interval(federation, subscribed[handle].rate) for handle in recipient.attributes or ()]
            )
    return made


def _with_regions(
    instance: Instance, member: Member, wanted: list[AttributeHandle], where: Where
) -> list[Recipient]:
    parts: dict[tuple[TransportationTypeHandle, Conveyed | None], list[AttributeHandle]] = {}
    for handle in wanted:
        regions = matching.conveyed(where[handle]) if handle in where else None
        parts.setdefault((overrides.transportation_of(instance, handle), regions), []).append(handle)
    return [
        Recipient(member, None, tuple(handles), transportation, regions)
        for (transportation, regions), handles in parts.items()
    ]


def directed_to(
    instance: Instance, entry: InteractionClassEntry, member: Member
) -> InteractionClassEntry | None:
    """The class at which the member gets an interaction directed to the instance, if it does.

    It owns something of the target, or has subscribed universally.
    """
    found = member.declared.directed_class(instance.entry, entry)
    if found is None:
        return None
    received, universally = found
    return received if universally or member in list(instance.owners.values()) else None


def count(
    federation: Federation, message: Message, recipient: Recipient, instance: Instance | None = None
) -> None:
    """A member has got the message, or some of it."""
    member = recipient.member
    if isinstance(message, Update):
        if instance is None:
            instance = federation.instances[message.instance]
        transportation = recipient.transportation
        assert transportation is not None
        instance.reflected |= member.bit
        count_received(member, instance.entry.handle, transportation)
    elif isinstance(message, (Interaction, DirectedInteraction)):
        directed = isinstance(message, DirectedInteraction)
        count_received(member, message.interaction_class, message.transportation, 1, directed)
