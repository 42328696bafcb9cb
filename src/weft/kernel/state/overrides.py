"""In which order and by which transportation something goes: as the object model says, unless a federate has changed it."""

from __future__ import annotations

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.state.federation import Instance, Member
from weft.model.enums import OrderType
from weft.model.errors import InvalidOrderType
from weft.model.handles import AttributeHandle, TransportationTypeHandle


def named(order: object) -> OrderType:
    """The order that a call names."""
    if not isinstance(order, OrderType):
        raise InvalidOrderType(f"{order!r} is no order type; use one of OrderType")
    return order


def interaction_order(sender: Member, entry: InteractionClassEntry) -> OrderType:
    return sender.interaction_orders.get(entry.handle, entry.order)


def attribute_order(instance: Instance, attribute: AttributeHandle) -> OrderType:
    if instance.overrides is not None and attribute in instance.overrides.orders:
        return instance.overrides.orders[attribute]
    return instance.entry.attributes[attribute].order


def transportation_of(instance: Instance, attribute: AttributeHandle) -> TransportationTypeHandle:
    if instance.overrides is not None and attribute in instance.overrides.transportations:
        return instance.overrides.transportations[attribute]
    return instance.entry.attributes[attribute].transportation
