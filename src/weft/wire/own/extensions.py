"""Weft's own calls and callbacks, which the Federate Protocol has not: one member far beyond its numbers, in JSON.

    CallRequest 10001       [service, [argument, …]]
    CallResponse 10002      ["result", [value]]
    CallbackRequest 10001   [method, [argument, …]], or [method, [argument, …], how urgent] (`own.fields`)

A server that does not know member 10001 refuses the call; callbacks of this kind come only to a federate that has asked for
them by such a call, so a client that does not know them never gets one.
"""

from __future__ import annotations

import json
from typing import Final

from weft.wire.protobuf import BYTES, WireError, tag, varint

NUMBER: Final = 10001
SERVICES: Final = frozenset(
    [
        "query_blocking",
        "set_time_advance_patience",
        "query_status",
        "survey",
        "steer",
        "set_class_qos",
        "query_qos",
        "correlate",
        "correlate_singly",
        "cancel_correlation",
    ]
)
CORRELATION: Final = "receive_correlation"
CALLBACKS: Final = frozenset(["time_advance_blocked", "deadline_missed", CORRELATION])
_MARK: Final = tag(NUMBER, BYTES)
_ANSWER: Final = tag(NUMBER + 1, BYTES)


def is_own(payload: bytes) -> bool:
    return payload.startswith(_MARK)


def is_own_answer(payload: bytes) -> bool:
    return payload.startswith(_ANSWER)


def encode_own(name: str, arguments: tuple[object, ...], answer: bool = False) -> bytes:
    try:
        content = json.dumps([name, list(arguments)], allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise WireError(f"{name} was given something that is no plain data: {error}") from error
    return (_ANSWER if answer else _MARK) + varint(len(content)) + content


def content_of(payload: bytes) -> bytes:
    """The JSON of an own call, answer or callback."""
    at = len(_MARK)
    while at < len(payload) and payload[at] & 0x80:
        at += 1
    return payload[at + 1 :]


def with_content(payload: bytes, content: bytes) -> bytes:
    """The same with another content."""
    return payload[: len(_MARK)] + varint(len(content)) + content


def decode_own(payload: bytes, known: frozenset[str]) -> tuple[str, tuple[object, ...]]:
    """The name, which must be known, and the arguments, which are plain data."""
    try:
        found = json.loads(content_of(payload))
        name, arguments = found[:2]
        if name in known and isinstance(arguments, list):
            return name, tuple(arguments)
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError(f"an own call of Weft that cannot be read: {error}") from error
    raise WireError(f"an own call of Weft that this version does not know: {str(name)[:100]!r}")
