"""Groups of correlated messages as plain data and back: each message as the callback it would have been, in base64.

[order, number of the class, callback]      1 receive, 2 time stamp, 3 causal, 4 total, 5 priority, 0 not known
["timeout", due, seconds, missed]           a timeout
"""

from __future__ import annotations

import base64
import binascii

from weft.model.handles import InteractionClassHandle, ObjectClassHandle
from weft.model.packed import PackedValues
from weft.model.records import CorrelatedEvent
from weft.wire.codec import callbacks
from weft.wire.codec.scalars import Time
from weft.wire.own.urgent_fields import ORDERS
from weft.wire.protobuf import WireError


def plain_events(events: object) -> list[list[object]]:
    if not isinstance(events, tuple):
        raise WireError(f"{events!r:.100} is no group of messages")
    return [_plain(event) for event in events]


def _plain(event: CorrelatedEvent) -> list[object]:
    if event.class_handle is None:
        return ["timeout", *event.arguments]
    arguments = tuple([one.unpack() if isinstance(one, PackedValues) else one for one in event.arguments])
    payload = callbacks.encode_callback(event.method, arguments)
    order = ORDERS.index(event.order)
    return [order, event.class_handle.number, base64.b64encode(payload).decode()]


def read_group(arguments: tuple[object, ...], time: Time) -> tuple[int, tuple[CorrelatedEvent, ...]]:
    """The arguments of the callback."""
    try:
        match arguments:
            case (int() as number, list() as events):
                return number, tuple([_event(event, time) for event in events])
        raise ValueError(f"{arguments!r:.100} is no number and a list")
    except (ValueError, TypeError, KeyError, IndexError, binascii.Error) as error:
        raise WireError(f"a group of messages that cannot be read: {error}") from error


def _event(data: object, time: Time) -> CorrelatedEvent:
    match data:
        case ["timeout", int() | float() as due, int() | float() as seconds, int() as missed]:
            return CorrelatedEvent("timeout", None, (float(due), float(seconds), missed))
        case [int() as order, int() as number, str() as payload]:
            method, arguments = callbacks.decode_callback(base64.b64decode(payload, validate=True), time)
            kind = ObjectClassHandle if method == "reflect_attribute_values" else InteractionClassHandle
            return CorrelatedEvent(method, kind.of(number), arguments, ORDERS[order])
    raise ValueError(f"{data!r:.100} is no event")
