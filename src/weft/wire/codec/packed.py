"""Packed values of the Federate Protocol, and the callbacks that are spliced from them.

A sender's message reaches most receivers as it was sent, so its encoded head (class or instance, values, tag) is kept
and only the tail is put behind it.  A receiver that gets less, or another class, gets a head of its own.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

from weft.model.deliveries import DeliveredInteraction, Delivery, Reflection
from weft.model.handles import Handle
from weft.model.packed import PackedValues
from weft.model.time import HLAfloat64Time, HLAinteger64Time
from weft.wire.codec.hot import (
    RECEIVE,
    REFLECT,
    SEND,
    UPDATE,
    HotCall,
    callback,
    callback_tail,
    length,
    request,
    scan_entries,
    shared_fields,
    timed_tail,
    write_values,
)
from weft.wire.codec.hot_fields import field_start, field_stop
from weft.wire.codec.known_handles import ATTRIBUTES, INTERACTION_CLASSES, OBJECT_INSTANCES, PARAMETERS
from weft.wire.session.frames import NATIVE

if TYPE_CHECKING:
    from mypy_extensions import i64

try:  # noqa: SIM105
    from librt.strings import BytesWriter
except ImportError:
    pass  # pure Python does without


class WireValues(PackedValues):
    def __init__(self, handles: list[Any], values: bytes, target: bytes, shared: bytes) -> None:
        super().__init__(handles)
        self.values = values  # the encoded map
        self.target = target  # the class or instance it was sent with
        self.shared = shared  # the encoded head it was sent with; empty for a part of it

    def subset(self, wanted: Container[bytes]) -> PackedValues:
        kept = []
        parts = []
        for handle, (_, entry, _) in zip(self.handles, scan_entries(self.values), strict=True):
            if handle in wanted:
                kept.append(handle)
                parts.append(entry)
        return WireValues(kept, b"".join(parts), self.target, b"")

    def encoded(self, tag: bytes) -> bytes:
        return self.shared or shared_fields(self.target, self.values, tag)

    def unpack(self) -> dict[Any, bytes]:
        entries = scan_entries(self.values)
        return {handle: value for handle, (_, _, value) in zip(self.handles, entries, strict=True)}


def fields_of(message: bytes) -> tuple[list[bytes], bytes]:
    """The values, in their order, and the tag of a message as `WireValues.encoded` or a lane has it."""
    values, tag = [], b""
    at: i64 = 2 + message[1]  # behind the class or instance
    while at < len(message):
        stop = field_stop(message, at + 1, len(message))
        content = message[field_start(message, at + 1) : stop]
        if message[at] == 0x12:
            values = [value for _, _, value in scan_entries(content)]
        elif message[at] == 0x1A:
            tag = content
        at = stop
    return values, tag


def packed(call: HotCall) -> WireValues:
    return WireValues(value_handles(call), call.values, call.target, call.shared)


def target_of(call: HotCall) -> Handle:
    """The interaction class or object instance."""
    known = INTERACTION_CLASSES if call.number >= SEND else OBJECT_INSTANCES
    found: Handle = known.get(call.target)
    return found


def value_handles(call: HotCall) -> list[Handle]:
    """Which parameters or attributes it has values for."""
    known = PARAMETERS if call.number >= SEND else ATTRIBUTES
    return [known.get(raw) for raw in call.handles]


class Splicer:
    """Makes callbacks out of packed values; keeps the tails, of which there are few."""

    def __init__(self) -> None:
        self._tails: dict[bytes, bytes] = {}

    def splice(self, delivery: Delivery) -> bytes | None:
        """The callback, if it brings packed values and no regions, which are not a common form; else None."""
        if isinstance(delivery, DeliveredInteraction):
            received = delivery.values
            if isinstance(received, WireValues) and delivery.regions is None:
                shared = _shared(received, delivery.interaction_class, delivery.tag)
                return self._behind(RECEIVE, shared, delivery.transportation, delivery)
        elif isinstance(delivery, Reflection):
            reflected = delivery.values
            if isinstance(reflected, WireValues) and delivery.regions is None:
                shared = _shared(reflected, delivery.instance, delivery.tag)
                return self._behind(REFLECT, shared, delivery.transportation, delivery)
        return None

    def _behind(self, number: int, shared: bytes, transportation: bytes, delivery: Delivery) -> bytes:
        """The callback with what it shares with others, and a tail of its own."""
        producer = delivery.producer
        key = transportation + producer
        tail = self._tails.get(key)
        if tail is None:
            if len(self._tails) > 10_000:
                self._tails.clear()
            tail = callback_tail(transportation, producer)
            self._tails[key] = tail
        stamp = delivery.stamp
        if stamp is None:
            return callback(number, shared, tail)
        retraction = stamp.retraction or b""
        timed = timed_tail(tail, stamp.time.encode(), stamp.sent.value, stamp.received.value, retraction)
        return callback(number + 1, shared, timed)


def _shared(values: WireValues, target: bytes, tag: bytes) -> bytes:
    """The encoded head, as it was sent if that is the same."""
    if values.shared and values.target == target:
        return values.shared
    return shared_fields(target, values.values, tag)


def encode_hot_call(service: str, arguments: tuple[Any, ...]) -> bytes | None:
    """A send-interaction or update in its canonical form; None for anything else."""
    if len(arguments) < 3 or len(arguments) > 4:
        return None
    number = SEND if service == "send_interaction" else UPDATE
    time = b""
    if len(arguments) == 4:
        if not isinstance(arguments[3], (HLAinteger64Time, HLAfloat64Time)):
            return None
        number += 1
        time = arguments[3].encode()
    tag = arguments[2]
    values = arguments[1]
    for value in values.values():
        if type(value) is not bytes:
            return None
    if type(tag) is not bytes:
        return None
    if NATIVE:
        return _write_request(number, arguments[0], values, tag, time)
    return request(number, shared_fields(arguments[0], write_values(values), tag), time)


def _write_request(
    number: int, target: bytes, values: dict[bytes, bytes], tag: bytes, time: bytes
) -> bytes | None:
    """The same, in one go."""
    inside = BytesWriter()
    size = len(target)
    if not 0 < size < 0x7E:
        return None
    inside.append(0x0A)
    inside.append(size + 2)
    inside.append(0x0A)
    inside.append(size)
    inside.write(target)
    total = 0
    for handle, value in values.items():
        size = len(handle)
        if not 0 < size < 0x7E:
            return None
        total += _entry_size(size, len(value))
    inside.append(0x12)
    _write_length(inside, total)
    for handle, value in values.items():
        size = len(handle)
        width = len(value)
        entry = size + 4
        if width:
            entry += 1 + _width(width) + width
        inside.append(0x0A)
        _write_length(inside, entry)
        inside.append(0x0A)
        inside.append(size + 2)
        inside.append(0x0A)
        inside.append(size)
        inside.write(handle)
        if width:
            inside.append(0x12)
            _write_length(inside, width)
            inside.write(value)
    if tag:
        inside.append(0x1A)
        _write_length(inside, len(tag))
        inside.write(tag)
    if time:
        inside.append(0x22)
        inside.append(10)
        inside.append(0x0A)
        inside.append(8)
        inside.write(time)
    outside = BytesWriter()
    _write_length(outside, number << 3 | 2)
    fields = inside.getvalue()
    _write_length(outside, len(fields))
    outside.write(fields)
    return outside.getvalue()


def _entry_size(handle: int, value: int) -> int:
    """The bytes of an entry of the map of values, with its key and length."""
    size = handle + 4
    if value:
        size += 1 + _width(value) + value
    return 1 + _width(size) + size


def _width(size: int) -> int:
    """The bytes of a varint."""
    width = 1
    while size >= 0x80:
        size >>= 7
        width += 1
    return width


def _write_length(writer: BytesWriter, size: int) -> None:
    while size >= 0x80:
        writer.append(size & 0x7F | 0x80)
        size >>= 7
    writer.append(size)


# --- advances of logical time ---------------------------------------------------------------------------------

_ADVANCES = {
    "time_advance_request": 93,
    "time_advance_request_available": 94,
    "next_message_request": 95,
    "next_message_request_available": 96,
}
_ADVANCE_NAMES = {number: service for service, number in _ADVANCES.items()}
_HEADS = {number: length(number << 3 | 2) + b"\x0c\x0a\x0a\x0a\x08" for number in _ADVANCE_NAMES}
_NUMBERS = {head: number for number, head in _HEADS.items()}


def advance_number(service: str) -> int:
    """The number of the call; 0 if it is no plain request to advance."""
    return _ADVANCES.get(service, 0)


def encode_advance(number: int, time: Any) -> bytes | None:
    """A request to advance; None where the argument is not one time."""
    if not isinstance(time, (HLAinteger64Time, HLAfloat64Time)):
        return None
    return _HEADS[number] + time.encode()


def read_advance(payload: bytes) -> tuple[int, str, bytes] | None:
    """The number of the call, the service and the encoded time, if it is a plain request to advance."""
    if len(payload) != 15:
        return None
    number = _NUMBERS.get(payload[:7], 0)
    return (number, _ADVANCE_NAMES[number], payload[7:]) if number else None
