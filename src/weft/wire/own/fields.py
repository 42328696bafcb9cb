"""Fields of Weft's own in messages of the Federate Protocol.

The protocol's schema has two orders and no place for the order of a single call.  What Weft adds are fields of a number that the
schema will hardly come to; whoever does not know them passes over them, as protobuf demands.

    1000 in a call        the order the message is sent in (`OrderType`): send-interaction, update-attributes and the like
    1000 in a callback    how urgent the message is, and one more; with 1002 for the rest (`own.urgent_fields`)
    1001 in a call        the logical time, encoded, as of which a region or a subscription with regions changes
"""

from __future__ import annotations

from weft.model.enums import OrderType
from weft.model.errors import CouldNotDecode, InvalidLogicalTime
from weft.model.time import HLAfloat64Time, HLAinteger64Time, LogicalTimeFactory
from weft.wire.protobuf import (
    BYTES,
    VARINT,
    Malformed,
    WireError,
    read_length,
    read_tag,
    read_varint,
    skip,
    tag,
    varint,
)

_NUMBER = 1000
_KEY = _NUMBER << 3 | VARINT
_TAG = tag(_NUMBER, VARINT)
_ORDERED = {
    "send_interaction": 3,
    "update_attribute_values": 3,
    "send_directed_interaction": 4,
    "send_interaction_with_regions": 4,
    "delete_object_instance": 2,
}
"""Services that take an order, and how many arguments they have before time and order."""


_TIME_NUMBER = 1001
_TIME_KEY = _TIME_NUMBER << 3 | BYTES
_TIME_TAG = tag(_TIME_NUMBER, BYTES)
_TIMED = {
    "commit_region_modifications": (1, ()),
    "subscribe_object_class_attributes_with_regions": (2, ("",)),
    "subscribe_object_class_attributes_passively_with_regions": (2, ("",)),
    "unsubscribe_object_class_attributes_with_regions": (2, ()),
    "subscribe_interaction_class_with_regions": (2, ()),
    "subscribe_interaction_class_passively_with_regions": (2, ()),
    "unsubscribe_interaction_class_with_regions": (2, ()),
}
"""Services that take a time which the schema does not have: how many arguments come first, and what those are between that may
be left out where there is no time."""


def with_own(payload: bytes, value: int) -> bytes:
    """The message with a field of its own at the end; the payload is a union with that message in it."""
    return add_field(payload, _TAG + varint(value))


def with_time(payload: bytes, time: bytes) -> bytes:
    return add_field(payload, _TIME_TAG + varint(len(time)) + time)


def add_field(payload: bytes, field: bytes) -> bytes:
    """The message with a field at its end; the payload is a union with that message in it."""
    try:
        key, at = read_tag(payload, 0, len(payload))
        start, end = read_length(payload, at, len(payload))
    except Malformed as bad:
        raise WireError(f"no message to add to: {bad}") from None
    content = payload[start:end] + field
    return varint(key) + varint(len(content)) + content


def own_field(data: bytes, position: int, end: int) -> int | None:
    """The field in the message between these places, if it has one.  The message has been read before, so it is well-formed."""
    found: int | None = None
    while position < end:
        key, position = read_tag(data, position, end)
        if key == _KEY:
            found, position = read_varint(data, position, end)
        else:
            position = skip(key & 7, data, position, end)
    return found


def own_time(data: bytes, position: int, end: int) -> bytes | None:
    found: bytes | None = None
    while position < end:
        key, position = read_tag(data, position, end)
        if key == _TIME_KEY:
            start, position = read_length(data, position, end)
            found = data[start:position]
        else:
            position = skip(key & 7, data, position, end)
    return found


def split_order(service: str, arguments: tuple[object, ...]) -> tuple[tuple[object, ...], OrderType | None]:
    """The arguments as the schema has them, and the order of the call if it names one."""
    leading = _ORDERED.get(service)
    if leading is None or len(arguments) != leading + 2:
        return arguments, None
    *first, time, order = arguments
    if order is not None and not isinstance(order, OrderType):
        raise WireError(f"{service}: {order!r} is no order type")
    return (tuple(first) if time is None else (*first, time)), order


def join_order(
    service: str, arguments: tuple[object, ...], data: bytes, start: int, end: int
) -> tuple[object, ...]:
    """The arguments with the order that the message between these places names."""
    leading = _ORDERED.get(service)
    found = None if leading is None else own_field(data, start, end)
    if leading is None or found is None:
        return arguments
    try:
        order = OrderType(found)
    except ValueError:
        raise WireError(f"{service}: {found} is no order type", "InvalidOrderType") from None
    time = arguments[leading] if len(arguments) > leading else None
    return (*arguments[:leading], time, order)


def split_time(service: str, arguments: tuple[object, ...]) -> tuple[tuple[object, ...], bytes | None]:
    """The arguments as the schema has them, and the time as of which the call is to hold, if it names one."""
    form = _TIMED.get(service)
    if form is None or len(arguments) != form[0] + len(form[1]) + 1:
        return arguments, None
    leading, between = form
    *first, time = arguments
    if not isinstance(time, (HLAinteger64Time, HLAfloat64Time)):
        raise WireError(f"{service}: {time!r} is no logical time")
    if tuple(first[leading:]) == between:
        first = first[:leading]
    return tuple(first), time.encode()


def join_time(
    service: str,
    arguments: tuple[object, ...],
    data: bytes,
    start: int,
    end: int,
    factory: LogicalTimeFactory | None,
) -> tuple[object, ...]:
    """The arguments with the time that the message between these places names."""
    form = _TIMED.get(service)
    found = None if form is None else own_time(data, start, end)
    if form is None or found is None:
        return arguments
    if factory is None:
        raise WireError(f"{service}: a logical time before there is a federation", "InvalidLogicalTime")
    leading, between = form
    given = arguments[leading:] or between
    if len(found) != 8:
        raise WireError(f"{service}: a logical time has 8 bytes, not {len(found)}", "InvalidLogicalTime")
    try:
        return (*arguments[:leading], *given, factory.decode_time(found))
    except (CouldNotDecode, InvalidLogicalTime) as error:
        raise WireError(f"{service}: {error}", "InvalidLogicalTime") from error
