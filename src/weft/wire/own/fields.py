"""Fields of Weft's own in messages of the Federate Protocol.

The protocol's schema has two orders and no place for the order of a single call.  What Weft adds are fields of a number that the
schema will hardly come to; whoever does not know them passes over them, as protobuf demands.

    1000 in a call        the order the message is sent in (`OrderType`): send-interaction, update-attributes and the like
    1000 in a callback    how urgent the message is, its priority, and one more; alone: it is in priority order
    1002 in a callback    one byte: the order it was delivered in, 8 if it is to be answered only when the federate has dealt
                          with it, 16 if there follow the sub-priority (int32) and the dynamic key (float64), both big-endian
    1001 in a call        the logical time, encoded, as of which a region, subscription or publication changes

A callback of Weft's own (`own.extensions`), which is JSON, has how urgent it is as a list behind the arguments.
"""

from __future__ import annotations

import json
import struct
from typing import Final

from weft.model.as_of import TIMED_SERVICES
from weft.model.enums import OrderType
from weft.model.errors import CouldNotDecode, InvalidLogicalTime
from weft.model.time import HLAfloat64Time, HLAinteger64Time, LogicalTimeFactory
from weft.wire.own.extensions import content_of, is_own, with_content
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
Urgent = tuple[int, OrderType | None, float, int, bool]
"""Priority, order, dynamic key, sub-priority, and whether it is answered only when the federate has dealt with it."""

ORDERS: Final = (
    None,
    OrderType.RECEIVE,
    OrderType.TIMESTAMP,
    OrderType.CAUSAL,
    OrderType.TOTAL,
    OrderType.PRIORITY,
)
_WATCHED: Final = 8
_LONG: Final = 16
_REST: Final = struct.Struct(">id")
_DETAILS: Final = 1002


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


def _own_content(data: bytes, position: int, end: int, wanted: int) -> int:
    """Where the content of that field lies in the message between these places; -1 if it has none.

    The message has been read before, so it is well-formed.
    """
    found = -1
    while position < end:
        key, position = read_tag(data, position, end)
        if key == wanted:
            found = position
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
    at = -1 if leading is None else _own_content(data, start, end, _KEY)
    if leading is None or at < 0:
        return arguments
    found, _ = read_varint(data, at, end)
    try:
        order = OrderType(found)
    except ValueError:
        raise WireError(f"{service}: {found} is no order type", "InvalidOrderType") from None
    time = arguments[leading] if len(arguments) > leading else None
    return (*arguments[:leading], time, order)


def split_time(service: str, arguments: tuple[object, ...]) -> tuple[tuple[object, ...], bytes | None]:
    """The arguments as the schema has them, and the time as of which the call is to hold, if it names one."""
    form = TIMED_SERVICES.get(service)
    if form is None or len(arguments) != form.place + 1:
        return arguments, None
    *first, time = arguments
    if not isinstance(time, (HLAinteger64Time, HLAfloat64Time)):
        raise WireError(f"{service}: {time!r} is no logical time")
    return form.shortened(tuple(first)), time.encode()


def join_time(
    service: str,
    arguments: tuple[object, ...],
    data: bytes,
    start: int,
    end: int,
    factory: LogicalTimeFactory | None,
) -> tuple[object, ...]:
    """The arguments with the time that the message between these places names."""
    form = TIMED_SERVICES.get(service)
    at = -1 if form is None else _own_content(data, start, end, _TIME_KEY)
    if form is None or at < 0:
        return arguments
    start, end = read_length(data, at, end)
    found = data[start:end]
    if factory is None:
        raise WireError(
            f"{service}: a federation decides on the logical time; join one first",
            "FederateNotExecutionMember",
        )
    if len(found) != 8:
        raise WireError(f"{service}: a logical time has 8 bytes, not {len(found)}", "InvalidLogicalTime")
    try:
        return *form.completed(arguments), factory.decode_time(found)
    except (CouldNotDecode, InvalidLogicalTime) as error:
        raise WireError(f"{service}: {error}", "InvalidLogicalTime") from error


# --- how urgent a callback is, for a client that sorts what waits for its federate ------------------------------


def with_urgent(payload: bytes, urgent: Urgent) -> bytes:
    priority, order, dynamic, sub, watched = urgent
    if is_own(payload):
        found = json.loads(content_of(payload))
        details = [priority, ORDERS.index(order), dynamic, sub, watched]
        return with_content(payload, json.dumps([*found[:2], details]).encode())
    flags = ORDERS.index(order) | (_WATCHED if watched else 0)
    rest = b""
    if dynamic or sub:
        flags |= _LONG
        rest = _REST.pack(sub, dynamic)
    field = _TAG + varint(priority + 1)
    field += tag(_DETAILS, BYTES) + varint(1 + len(rest)) + bytes([flags]) + rest
    return add_field(payload, field)


def read_urgent(payload: bytes) -> Urgent | None:
    """Of a callback that has been read before, so that it is well-formed; None: nothing is said."""
    if is_own(payload):
        found = json.loads(content_of(payload))
        if len(found) < 3:
            return None
        priority, order, dynamic, sub, watched = found[2]
        return priority, ORDERS[order], dynamic, sub, watched
    _, at = read_tag(payload, 0, len(payload))
    at, end = read_length(payload, at, len(payload))
    priority = -1
    details = b""
    while at < end:
        key, at = read_tag(payload, at, end)
        if key == _KEY:
            value, at = read_varint(payload, at, end)
            priority = value - 1
        elif key == _DETAILS << 3 | BYTES:
            start, at = read_length(payload, at, end)
            details = payload[start:at]
        else:
            at = skip(key & 7, payload, at, end)
    return None if priority < 0 else _details(priority, details)


def _details(priority: int, details: bytes) -> Urgent:
    flags = details[0] if details else ORDERS.index(OrderType.PRIORITY)
    sub, dynamic = 0, 0.0
    if flags & _LONG and len(details) == 1 + _REST.size:
        sub, dynamic = _REST.unpack(details[1:])
    number = flags & 7
    order = ORDERS[number] if number < len(ORDERS) else None
    return priority, order, dynamic, sub, bool(flags & _WATCHED)
