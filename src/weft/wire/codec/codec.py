"""The services codec of one connection.

Groups of correlated messages are plain data: each message as the callback it would have been, in base64.

    [order, number of the class, callback]      1 receive, 2 time stamp, 3 causal, 4 total, 5 priority, 0 not known
    ["timeout", due, seconds, missed]           a timeout
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from weft.model.handles import InteractionClassHandle, ObjectClassHandle
from weft.model.packed import PackedValues
from weft.model.records import CorrelatedEvent
from weft.wire.codec import callbacks, calls, evolved
from weft.wire.codec.calls import DecodedCall
from weft.wire.codec.scalars import Time
from weft.wire.own import extensions
from weft.wire.own.fields import ORDERS
from weft.wire.protobuf import WireError


class ServiceCodec:
    """Bytes to calls and callbacks, and back, for one connection.

    What must be known of the connection: `time`, the factory of the federation's logical time (None until the federate
    has joined), and `evolved`, whether the client speaks the 2010 edition of the API; then `java`, whether it is the one in Java
    (None: not known), and `conveys_producer`, the federation's switch of 2010 (`codec.evolved`).  Payloads are `bytes`;
    what cannot be read or written raises `WireError`.
    """

    def __init__(self, time: Time = None, evolved: bool = False) -> None:
        self.time = time
        self.evolved = evolved
        self.java: bool | None = None
        self.conveys_producer = False

    # --- at the RTI -------------------------------------------------------------------------------------------

    def decode_call(self, payload: bytes) -> DecodedCall:
        """What the client asks for."""
        if extensions.is_own(payload):
            return DecodedCall(extensions.NUMBER, *extensions.decode_own(payload, extensions.SERVICES))
        return calls.decode_call(payload, self.time)

    def encode_response(self, number: int, value: object = None) -> bytes:
        """The answer to call `number`."""
        if number == extensions.NUMBER:
            return extensions.encode_own("result", (value,), answer=True)
        return calls.encode_response(number, value)

    def encode_exception(self, name: str, details: str) -> bytes:
        """The answer to a call that has failed, whatever its number."""
        return calls.encode_exception(name, details, self.evolved, self.java)

    def encode_callback(self, method: str, arguments: tuple[object, ...]) -> bytes:
        if method == extensions.CORRELATION:
            number, events = arguments
            return extensions.encode_own(method, (number, _plain_events(events)))
        if method in extensions.CALLBACKS:
            return extensions.encode_own(method, arguments)
        return callbacks.encode_callback(method, arguments)

    def encode_otherwise(self, method: str, arguments: tuple[object, ...]) -> bytes:
        """A callback that an older client knows under another name; nothing if it knows none like it."""
        found = evolved.callback_of_2010(method, arguments, self.conveys_producer)
        return b"" if found is None else callbacks.encode_callback(*found)

    def decode_callback_response(self, payload: bytes) -> tuple[str, str] | None:
        """The exception the federate's callback ended in, by name and details; None if it went well."""
        return callbacks.decode_callback_response(payload)

    # --- at the federate --------------------------------------------------------------------------------------

    def encode_call(self, service: str, arguments: tuple[object, ...]) -> tuple[int, bytes]:
        """The number of the call, by which its response is understood, and its bytes."""
        if service in extensions.SERVICES:
            return extensions.NUMBER, extensions.encode_own(service, arguments)
        return calls.encode_call(service, arguments)

    def decode_response(self, number: int, payload: bytes) -> Any:
        """The result of call `number`; raises the HLA exception if the call has failed."""
        if extensions.is_own_answer(payload) and number == extensions.NUMBER:
            return extensions.decode_own(payload, frozenset(["result"]))[1][0]
        return calls.decode_response(number, payload, self.time)

    def decode_callback(self, payload: bytes) -> tuple[str, tuple[object, ...]]:
        """The method to invoke, and its arguments."""
        if extensions.is_own(payload):
            method, arguments = extensions.decode_own(payload, extensions.CALLBACKS)
            if method == extensions.CORRELATION:
                return method, _read_group(arguments, self.time)
            return method, arguments
        return callbacks.decode_callback(payload, self.time)

    def encode_callback_failure(self, name: str, details: str) -> bytes:
        return callbacks.encode_callback_failure(name, details)


# --- groups of correlated messages -----------------------------------------------------------------------------


def _plain_events(events: object) -> list[list[object]]:
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


def _read_group(arguments: tuple[object, ...], time: Time) -> tuple[int, tuple[CorrelatedEvent, ...]]:
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
