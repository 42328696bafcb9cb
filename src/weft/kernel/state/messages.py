"""Messages as their senders sent them, one class for each kind; and who gets one, in which callback.

A message goes its way as one object: through orders, to other nodes, into logs and queues.  What a federate gets of it is a
`Delivery`: `Message.delivery` cuts it out, and is the only place that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from weft.model.deliveries import (
    AttributeValues,
    Conveyed,
    DeliveredDirectedInteraction,
    DeliveredInteraction,
    Delivery,
    ParameterValues,
    Reflection,
    Removal,
    Stamp,
    is_timestamped,
    message_number,
)
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues

MessageKind = TypeVar("MessageKind", bound="Message")

if TYPE_CHECKING:
    from weft.fom.catalog import InteractionClassEntry
    from weft.kernel.state.federation import Member
    from weft.kernel.state.region_state import Extents, Where


class Recipient:
    """A member here that gets a message, or these attributes of it, in one callback."""

    def __init__(
        self,
        member: Member,
        received: InteractionClassEntry | None,
        attributes: tuple[AttributeHandle, ...] | None = None,
        transportation: TransportationTypeHandle | None = None,
        regions: Conveyed | None = None,
    ) -> None:
        self.member = member
        # Of an interaction: the class at which it is received.
        self.received = received
        # Of an update: None means all that were sent.
        self.attributes = attributes
        # Of an update; an interaction has its own.
        self.transportation = transportation
        # What the member is told of the regions that it is sent with.
        self.regions = regions
        # Where the member named an update rate: for each attribute, seconds between two values; 0 for every update.
        self.intervals: tuple[float, ...] = ()

    def gets_the_same(self, other: Recipient) -> bool:
        return (
            self.received is other.received
            and self.regions is other.regions
            and self.transportation == other.transportation
            and self.attributes == other.attributes
        )


class Message:
    # The service that it is sent by.
    service = ""
    # Among all messages of its sender; 0: it has none yet.
    number = 0
    # In priority order, and how urgent it is: lower numbers are more urgent.
    urgent = False
    priority = 0
    # Its values are as they came over the wire: nobody can change them.
    packed = False
    # Its values are no dict that its sender may go on to change.
    owned = False

    def __init__(self, sender: FederateHandle, tag: bytes, stamp: Stamp | None) -> None:
        self.sender = sender
        self.tag = tag
        # None: it was sent without a time.
        self.stamp = stamp

    def in_time_stamp_order(self) -> bool:
        return self.stamp is not None and is_timestamped(self.stamp)

    def delivery(self, recipient: Recipient) -> Delivery:
        """What that recipient gets of it."""
        raise TypeError(f"{self!r} is delivered to nobody")

    def own(self) -> None:
        """It is kept, or travels, while its sender may go on to change what it gave: from now on it has values of its own."""

    def part(self, attributes: tuple[AttributeHandle, ...]) -> Message:
        """An update of these attributes only; any other message as it is."""
        return self

    def object_instance(self) -> ObjectInstanceHandle | None:
        """The instance that it is about."""
        return None

    def like(self, other: Message) -> None:
        """Take over what a message has that its kind says nothing of."""
        self.number = other.number
        self.urgent = other.urgent
        self.priority = other.priority

    def key(self) -> tuple[object, ...]:
        """All of it that travels."""
        return (self.service, self.sender, self.tag, self.stamp, self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash((self.service, self.sender, self.number))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.key()!r}"


class WithParameters(Message):
    """An interaction, directed or not."""

    def __init__(
        self,
        sender: FederateHandle,
        interaction_class: InteractionClassHandle,
        values: ParameterValues,
        tag: bytes,
        transportation: TransportationTypeHandle,
        stamp: Stamp | None,
    ) -> None:
        super().__init__(sender, tag, stamp)
        if isinstance(values, PackedValues):
            self.packed = self.owned = True
        self.interaction_class = interaction_class
        self.values = values
        self.transportation = transportation

    def own(self) -> None:
        if not self.owned and isinstance(self.values, dict):
            self.values = dict(self.values)
        self.owned = True

    def parameters(self) -> list[ParameterHandle]:
        values = self.values
        return values.handles if isinstance(values, PackedValues) else list(values)

    def received_values(self, received: InteractionClassEntry) -> ParameterValues:
        """What one gets who receives it at that class; of a dict always another one, since the receiver may change it."""
        values = self.values
        known = received.handle
        if isinstance(values, PackedValues):
            return values if known == self.interaction_class else values.subset(received.parameters)
        if known is self.interaction_class or known == self.interaction_class:
            return dict(values)
        return {item: value for item, value in values.items() if item in received.parameters}

    def key(self) -> tuple[object, ...]:
        values = self.values.unpack() if isinstance(self.values, PackedValues) else self.values
        return (*super().key(), self.interaction_class, values, self.transportation)


class Interaction(WithParameters):
    service = "send_interaction"

    def __init__(
        self,
        sender: FederateHandle,
        interaction_class: InteractionClassHandle,
        values: ParameterValues,
        tag: bytes,
        transportation: TransportationTypeHandle,
        at: Extents | None,
        stamp: Stamp | None,
    ) -> None:
        # All fields here and not by way of `super`, which in pure Python costs more than the fields.
        self.sender = sender
        self.tag = tag
        self.stamp = stamp
        if isinstance(values, PackedValues):
            self.packed = self.owned = True
        self.interaction_class = interaction_class
        self.values = values
        self.transportation = transportation
        # Where it is sent; None: in the default region.
        self.at = at

    def delivery(self, recipient: Recipient) -> Delivery:
        received = recipient.received
        assert received is not None
        handle = received.handle
        values = self.values
        kept: ParameterValues
        if handle is self.interaction_class and isinstance(values, dict):
            kept = dict(values)  # most are received as they were sent
        else:
            kept = self.received_values(received)
        return DeliveredInteraction(
            handle, kept, self.tag, self.transportation, self.sender, recipient.regions, self.stamp
        )

    def key(self) -> tuple[object, ...]:
        at = None if self.at is None else [extent.ranges() for extent in self.at]
        return (*super().key(), at)

    def with_values(self, values: ParameterValues) -> Interaction:
        """Some of its parameters."""
        made = Interaction(
            self.sender, self.interaction_class, values, self.tag, self.transportation, self.at, self.stamp
        )
        made.like(self)
        return made


class Update(Message):
    service = "update_attribute_values"

    def __init__(
        self,
        sender: FederateHandle,
        instance: ObjectInstanceHandle,
        values: AttributeValues,
        tag: bytes,
        where: Where | None,
        stamp: Stamp | None,
    ) -> None:
        # As in `Interaction`.
        self.sender = sender
        self.tag = tag
        self.stamp = stamp
        if isinstance(values, PackedValues):
            self.packed = self.owned = True
        self.instance = instance
        self.values = values
        # Where its attributes are; None: all of them in the default region.
        self.where = where

    def delivery(self, recipient: Recipient) -> Delivery:
        transportation = recipient.transportation
        assert transportation is not None
        values = self.values
        attributes = recipient.attributes
        kept: AttributeValues
        if attributes is not None:
            kept = attributes_of(values, attributes)
        elif isinstance(values, dict):
            kept = dict(values)
        else:
            kept = values
        return Reflection(
            self.instance, kept, self.tag, transportation, self.sender, recipient.regions, self.stamp
        )

    def own(self) -> None:
        if not self.owned and isinstance(self.values, dict):
            self.values = dict(self.values)
        self.owned = True

    def part(self, attributes: tuple[AttributeHandle, ...]) -> Update:
        where = self.where
        if where is not None:
            where = {attribute: where[attribute] for attribute in attributes if attribute in where} or None
        made = Update(
            self.sender, self.instance, attributes_of(self.values, attributes), self.tag, where, self.stamp
        )
        made.like(self)
        made.owned = True
        return made

    def attributes(self) -> list[AttributeHandle]:
        values = self.values
        return values.handles if isinstance(values, PackedValues) else list(values)

    def object_instance(self) -> ObjectInstanceHandle | None:
        return self.instance

    def key(self) -> tuple[object, ...]:
        values = self.values.unpack() if isinstance(self.values, PackedValues) else self.values
        where = self.where
        if where is None:
            return (*super().key(), self.instance, values, None)
        placed = {attribute: [extent.ranges() for extent in at] for attribute, at in where.items()}
        return (*super().key(), self.instance, values, placed)


class DirectedInteraction(WithParameters):
    service = "send_directed_interaction"

    def __init__(
        self,
        sender: FederateHandle,
        interaction_class: InteractionClassHandle,
        target: ObjectInstanceHandle,
        values: ParameterValues,
        tag: bytes,
        transportation: TransportationTypeHandle,
        stamp: Stamp | None,
    ) -> None:
        super().__init__(sender, interaction_class, values, tag, transportation, stamp)
        self.target = target

    def delivery(self, recipient: Recipient) -> Delivery:
        received = recipient.received
        assert received is not None
        kept = self.received_values(received)
        return DeliveredDirectedInteraction(
            received.handle, self.target, kept, self.tag, self.transportation, self.sender, self.stamp
        )

    def object_instance(self) -> ObjectInstanceHandle | None:
        return self.target

    def key(self) -> tuple[object, ...]:
        return (*super().key(), self.target)

    def with_values(self, values: ParameterValues) -> DirectedInteraction:
        made = DirectedInteraction(
            self.sender,
            self.interaction_class,
            self.target,
            values,
            self.tag,
            self.transportation,
            self.stamp,
        )
        made.like(self)
        return made


class Deletion(Message):
    """Of an instance, as it is told to those who know it."""

    service = "delete_object_instance"

    def __init__(
        self, sender: FederateHandle, instance: ObjectInstanceHandle, tag: bytes, stamp: Stamp | None
    ) -> None:
        super().__init__(sender, tag, stamp)
        self.instance = instance

    def delivery(self, recipient: Recipient) -> Delivery:
        return self.removal()

    def removal(self) -> Removal:
        return Removal(self.instance, self.tag, self.sender, self.stamp)

    def object_instance(self) -> ObjectInstanceHandle | None:
        return self.instance

    def key(self) -> tuple[object, ...]:
        return (*super().key(), self.instance)


class Nothing(Message):
    """In place of a message in causal order whose content may not leave its node: it counts as delivered, and nobody is told."""

    def __init__(self, sender: FederateHandle) -> None:
        super().__init__(sender, b"", None)


def numbered(message: MessageKind) -> MessageKind:
    """The message, with the number that its stamp says."""
    stamp = message.stamp
    if stamp is not None and stamp.retraction is not None:
        message.number = message_number(stamp.retraction)
    return message


def attributes_of(values: AttributeValues, attributes: tuple[AttributeHandle, ...]) -> AttributeValues:
    """The values of these attributes; of a dict always another one, since the receiver may change it."""
    if isinstance(values, PackedValues):
        return values if len(values.handles) == len(attributes) else values.subset(attributes)
    return {attribute: values[attribute] for attribute in attributes}
