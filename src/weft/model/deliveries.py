"""Messages as a federate gets them, one class for each callback that brings one; and the time stamps they may have.

`Delivery.arguments` is what the method of the standard's federate ambassador is called with, in its order.  Only who calls that
method, or reads or writes a form with positions (the wire, a save), looks at it; all others read the fields.
"""

from __future__ import annotations

from typing import Final, TypeVar

from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues
from weft.model.records import RangeBounds
from weft.model.time import HLAfloat64Time, HLAinteger64Time, LogicalTime

T = TypeVar("T")

# Kept at hand: a member of an enumeration is slow to look up, and these are asked for with each message.
_RECEIVE: Final = OrderType.RECEIVE
_TIMESTAMP: Final = OrderType.TIMESTAMP
ParameterValues = dict[ParameterHandle, bytes] | PackedValues
AttributeValues = dict[AttributeHandle, bytes] | PackedValues
Conveyed = frozenset[frozenset[tuple[DimensionHandle, RangeBounds]]]
"""Regions as a federate is told of them: by value."""


class Stamp:
    """The logical time of a message, the orders it was sent and is received in, and what it can be retracted by."""

    def __init__(
        self,
        time: LogicalTime,
        sent: OrderType = _RECEIVE,
        received: OrderType = _RECEIVE,
        retraction: MessageRetractionHandle | None = None,
    ) -> None:
        self.time = time
        self.sent = sent
        self.received = received
        self.retraction = retraction

    def at_once(self) -> Stamp:
        """The same, received in receive order."""
        return Stamp(self.time, self.sent, _RECEIVE, self.retraction)

    def arguments(self) -> tuple[LogicalTime, OrderType, OrderType, MessageRetractionHandle | None]:
        return (self.time, self.sent, self.received, self.retraction)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stamp) and self.arguments() == other.arguments()

    def __hash__(self) -> int:
        return hash(self.arguments())

    def __repr__(self) -> str:
        return f"Stamp{self.arguments()!r}"


def is_timestamped(stamp: Stamp | None) -> bool:
    """Is the message in time stamp order?"""
    return stamp is not None and stamp.sent is _TIMESTAMP


def message_number(retraction: bytes) -> int:
    """The number of a message in time stamp order, among those of its sender: its retraction handle has it."""
    return int.from_bytes(retraction[4:], "big")


class Delivery:
    """A message for one federate.  Those who get the same may share one with packed values, which cannot be changed."""

    # Of the federate ambassador: what brings it.
    method = ""

    def __init__(self, tag: bytes, producer: FederateHandle, stamp: Stamp | None) -> None:
        self.tag = tag
        self.producer = producer
        self.stamp = stamp

    def arguments(self) -> tuple[object, ...]:
        """Of the federate ambassador's method."""
        return ()

    def copied(self) -> Delivery:
        raise TypeError(f"{self!r} brings nothing")

    def at_once(self) -> Delivery:
        """The same, received in receive order."""
        if self.stamp is None:
            return self
        made = self.copied()
        made.stamp = self.stamp.at_once()
        return made

    def object_instance(self) -> ObjectInstanceHandle | None:
        """The instance it is about."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delivery):
            return False
        return self.method == other.method and self.arguments() == other.arguments()

    def __hash__(self) -> int:
        return hash((self.method, self.producer, self.tag))

    def __repr__(self) -> str:
        return f"{self.method}{self.arguments()!r}"


class DeliveredInteraction(Delivery):
    method = "receive_interaction"

    def __init__(
        self,
        interaction_class: InteractionClassHandle,
        values: ParameterValues,
        tag: bytes,
        transportation: TransportationTypeHandle,
        producer: FederateHandle,
        regions: Conveyed | None,
        stamp: Stamp | None,
    ) -> None:
        # All fields here and not by way of `super`, which in pure Python costs more than the fields.
        self.tag = tag
        self.producer = producer
        self.stamp = stamp
        self.interaction_class = interaction_class
        self.values = values
        self.transportation = transportation
        self.regions = regions

    def arguments(self) -> tuple[object, ...]:
        found = (
            self.interaction_class,
            self.values,
            self.tag,
            self.transportation,
            self.producer,
            self.regions,
        )
        return found if self.stamp is None else (*found, *self.stamp.arguments())

    def copied(self) -> DeliveredInteraction:
        tag, transportation, producer, regions = self.tag, self.transportation, self.producer, self.regions
        interaction_class, values = self.interaction_class, self.values
        return DeliveredInteraction(
            interaction_class, values, tag, transportation, producer, regions, self.stamp
        )


class Reflection(Delivery):
    method = "reflect_attribute_values"

    def __init__(
        self,
        instance: ObjectInstanceHandle,
        values: AttributeValues,
        tag: bytes,
        transportation: TransportationTypeHandle,
        producer: FederateHandle,
        regions: Conveyed | None,
        stamp: Stamp | None,
    ) -> None:
        # As in `DeliveredInteraction`.
        self.tag = tag
        self.producer = producer
        self.stamp = stamp
        self.instance = instance
        self.values = values
        self.transportation = transportation
        self.regions = regions

    def arguments(self) -> tuple[object, ...]:
        found = (self.instance, self.values, self.tag, self.transportation, self.producer, self.regions)
        return found if self.stamp is None else (*found, *self.stamp.arguments())

    def object_instance(self) -> ObjectInstanceHandle | None:
        return self.instance

    def copied(self) -> Reflection:
        values, tag, transportation = self.values, self.tag, self.transportation
        return Reflection(self.instance, values, tag, transportation, self.producer, self.regions, self.stamp)


class DeliveredDirectedInteraction(Delivery):
    method = "receive_directed_interaction"

    def __init__(
        self,
        interaction_class: InteractionClassHandle,
        target: ObjectInstanceHandle,
        values: ParameterValues,
        tag: bytes,
        transportation: TransportationTypeHandle,
        producer: FederateHandle,
        stamp: Stamp | None,
    ) -> None:
        super().__init__(tag, producer, stamp)
        self.interaction_class = interaction_class
        self.target = target
        self.values = values
        self.transportation = transportation

    def arguments(self) -> tuple[object, ...]:
        tag, transportation, producer = self.tag, self.transportation, self.producer
        found = (self.interaction_class, self.target, self.values, tag, transportation, producer)
        return found if self.stamp is None else (*found, *self.stamp.arguments())

    def object_instance(self) -> ObjectInstanceHandle | None:
        return self.target

    def copied(self) -> DeliveredDirectedInteraction:
        values, tag, transportation, producer = self.values, self.tag, self.transportation, self.producer
        return DeliveredDirectedInteraction(
            self.interaction_class, self.target, values, tag, transportation, producer, self.stamp
        )


class Removal(Delivery):
    method = "remove_object_instance"

    def __init__(
        self, instance: ObjectInstanceHandle, tag: bytes, producer: FederateHandle, stamp: Stamp | None
    ) -> None:
        super().__init__(tag, producer, stamp)
        self.instance = instance

    def arguments(self) -> tuple[object, ...]:
        found = (self.instance, self.tag, self.producer)
        return found if self.stamp is None else (*found, *self.stamp.arguments())

    def copied(self) -> Removal:
        return Removal(self.instance, self.tag, self.producer, self.stamp)

    def object_instance(self) -> ObjectInstanceHandle | None:
        return self.instance


def values_of(delivery: Delivery) -> ParameterValues | AttributeValues | None:
    """The values it brings; None: it is a removal."""
    if isinstance(delivery, (DeliveredInteraction, Reflection, DeliveredDirectedInteraction)):
        return delivery.values
    return None


# --- from a form with positions -------------------------------------------------------------------------------


def checked(kind: type[T], value: object) -> T:
    """The value, which is of that kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def parameter_values(values: object) -> ParameterValues:
    return values if isinstance(values, PackedValues) else checked(dict, values)


def attribute_values(values: object) -> AttributeValues:
    return values if isinstance(values, PackedValues) else checked(dict, values)


def stamp_from(arguments: tuple[object, ...]) -> Stamp | None:
    """Of what stands behind the other arguments: nothing, or time, two orders and a retraction handle or None."""
    if not arguments:
        return None
    time, sent, received, retraction = arguments
    if not isinstance(time, (HLAinteger64Time, HLAfloat64Time)):
        raise TypeError(f"{time!r} is no logical time")
    handle = None if retraction is None else checked(MessageRetractionHandle, retraction)
    return Stamp(time, checked(OrderType, sent), checked(OrderType, received), handle)


def delivery_from(method: str, arguments: tuple[object, ...]) -> Delivery | None:
    """The message that a callback brings; None: it brings none."""
    if method == "receive_interaction":
        return DeliveredInteraction(
            checked(InteractionClassHandle, arguments[0]),
            parameter_values(arguments[1]),
            checked(bytes, arguments[2]),
            checked(TransportationTypeHandle, arguments[3]),
            checked(FederateHandle, arguments[4]),
            None if arguments[5] is None else checked(frozenset, arguments[5]),
            stamp_from(arguments[6:]),
        )
    if method == "reflect_attribute_values":
        return Reflection(
            checked(ObjectInstanceHandle, arguments[0]),
            attribute_values(arguments[1]),
            checked(bytes, arguments[2]),
            checked(TransportationTypeHandle, arguments[3]),
            checked(FederateHandle, arguments[4]),
            None if arguments[5] is None else checked(frozenset, arguments[5]),
            stamp_from(arguments[6:]),
        )
    if method == "receive_directed_interaction":
        return DeliveredDirectedInteraction(
            checked(InteractionClassHandle, arguments[0]),
            checked(ObjectInstanceHandle, arguments[1]),
            parameter_values(arguments[2]),
            checked(bytes, arguments[3]),
            checked(TransportationTypeHandle, arguments[4]),
            checked(FederateHandle, arguments[5]),
            stamp_from(arguments[6:]),
        )
    if method == "remove_object_instance":
        return Removal(
            checked(ObjectInstanceHandle, arguments[0]),
            checked(bytes, arguments[1]),
            checked(FederateHandle, arguments[2]),
            stamp_from(arguments[3:]),
        )
    return None
