"""How urgent a callback is, on its way to a client that sorts what waits for its federate: fields of Weft's own.

    1000    varint   its priority, and one more; alone: it is in priority order
    1002    bytes    one byte: the order it was delivered in, 8 if it is to be answered only when the federate has dealt with it,
                     16 if there follow the sub-priority (int32) and the dynamic key (float64), both big-endian

In a callback of Weft's own (`own.extensions`), which is JSON, the same as a list behind the arguments.
"""

from __future__ import annotations

import json
import struct
from typing import Final

from weft.model.enums import OrderType
from weft.wire.own.extensions import content_of, is_own, with_content
from weft.wire.own.fields import add_field
from weft.wire.protobuf import BYTES, VARINT, read_length, read_tag, read_varint, skip, tag, varint

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
_PRIORITY: Final = 1000
_DETAILS: Final = 1002


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
    field = tag(_PRIORITY, VARINT) + varint(priority + 1)
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
        if key == _PRIORITY << 3 | VARINT:
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
