"""Parcels (`weft.kernel.state.parcels`) as bytes, and back.

    byte       which parcel
    varint     the boot of the sender's node (`mesh.federations`)
    …          the fields: of data, and of what is said of time, as `parcels.data` and `parcels.time` say; of messages in
               causal, total or priority order as below; of all others a list in CBOR

Messages in causal, total or priority order: what the order needs, and then the message as any other.

    byte       ORDERED
    varint     the boot of the sender's node
    varint, …  the tag of causal order (`weft.ordering.tags`); none in priority order
    varint, …  on the way to the sequencer: how many it is for, and their numbers as gaps
    varint     how urgent it is
    byte       is it passed on for a sender that is gone?
    …          the message, as `parcels.data` has it behind the boot

Only what is in the tables below can come out, each field of its type.  Whatever else the bytes are is a `ParcelError`, and
so is a value that no parcel can hold.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

from weft.host.files import cbor
from weft.host.parcels.data import (
    DATA,
    decode_data,
    encode_data,
    message_data,
    message_from,
    read_fields,
    read_varint,
    varint,
    write_fields,
)
from weft.host.parcels.plain import ParcelError, from_plain, to_plain
from weft.host.parcels.time import BOUND, REPORT, decode_bound, decode_report, encode_bound, encode_report
from weft.kernel.state.messages import Message
from weft.kernel.state.parcels import (
    Answer,
    Caller,
    Claim,
    Commit,
    Data,
    Dissolve,
    Hello,
    Inform,
    Left,
    Locate,
    Mark,
    Ordered,
    Release,
    Request,
    Retraction,
    Settled,
    Share,
    TimeBound,
    TimeReport,
    Unable,
    Welcome,
)
from weft.model.errors import WeftError
from weft.model.handles import FederateHandle

__all__ = ["ParcelError", "decode_parcel", "encode_parcel"]

_ORDERED: Final = 16
_FEDERATE = (FederateHandle, type(None))
_CALLER = (Caller, type(None))


class _Form(NamedTuple):
    code: int
    kind: Any
    fields: tuple[Any, ...]  # the type of each
    plain: int = -1  # the field that is plain data already


def _data(*fields: Any) -> Data:
    """Fields as in `_FORMS`."""
    federation, execution, after, sender, service, arguments, number, only = fields
    return Data(federation, execution, after, message_from(sender, service, arguments, number), only)


def _ordered(*fields: Any) -> Ordered:
    federation, execution, after, sender, service, arguments, tag, to, priority, forwarded, number = fields
    message = message_from(sender, service, arguments, number)
    _hurry(message, tag, priority)
    return Ordered(federation, execution, after, message, tag, to, forwarded)


_FORMS = [
    _Form(2, Request, (str, _CALLER, _FEDERATE, str, tuple, str)),
    _Form(3, Commit, (str, int, _CALLER, _FEDERATE, str, tuple)),
    _Form(4, Answer, (Caller, object, (Exception, type(None)), tuple)),
    _Form(5, Welcome, (str, str, str, int, dict), plain=4),
    _Form(6, Claim, (str, str, _CALLER)),
    _Form(7, Locate, (str, Caller)),
    _Form(8, Release, (str, Caller)),
    _Form(9, _data, (str, str, int, FederateHandle, str, tuple, int, _FEDERATE)),
    _Form(10, Inform, (str, str, int, FederateHandle, str, tuple)),
    _Form(11, Mark, (str, str, int)),
    _Form(12, Share, (str, str, int, dict), plain=3),
    _Form(13, Hello, (tuple,)),
    _Form(14, Left, (str,)),
    _Form(15, Dissolve, (str, str, str)),
    _Form(24, Unable, (str, str, str)),
    _Form(REPORT, TimeReport, ()),
    _Form(BOUND, TimeBound, ()),
    _Form(22, Retraction, (str, str, int, bytes)),
    _Form(23, Settled, (str, str, int, FederateHandle, int)),
    _Form(17, _ordered, (str, str, int, FederateHandle, str, tuple, bytes, tuple, int, bool, int)),
]
_BY_CODE = {form.code: form for form in _FORMS}
_BY_KIND: dict[object, _Form] = {form.kind: form for form in _FORMS} | {
    Data: _BY_CODE[9],
    Ordered: _BY_CODE[17],
}
_MISFITS = (
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    struct.error,
    WeftError,
)


def encode_parcel(parcel: Any, boot: int) -> bytes:
    if isinstance(parcel, Data):
        found = encode_data(parcel, boot)
        if found is not None:
            return found
    elif isinstance(parcel, Ordered):
        found = _encode_ordered(parcel, boot)
        if found is not None:
            return found
    elif isinstance(parcel, TimeReport):
        return encode_report(parcel, boot)
    elif isinstance(parcel, TimeBound):
        return encode_bound(parcel, boot)
    form = _BY_KIND.get(type(parcel))
    if form is None:
        raise ParcelError(f"{type(parcel).__name__} is no parcel")
    try:
        fields = [
            value
            if at == form.plain
            else ["caller", *value]
            if isinstance(value, Caller)
            else to_plain(value)
            for at, value in enumerate(_fields_of(parcel))
        ]
        return bytes([form.code]) + varint(boot) + cbor.encode(fields)
    except _MISFITS as misfit:
        raise ParcelError(f"{type(parcel).__name__} cannot be sent: {misfit}") from misfit


def _fields_of(parcel: Any) -> tuple[object, ...]:
    if not isinstance(parcel, (Data, Ordered)):
        return parcel  # type: ignore[no-any-return]
    message = parcel.message
    service, arguments, number = message_data(message)
    shared = (parcel.federation, parcel.execution, parcel.after, message.sender, service, arguments)
    if isinstance(parcel, Data):
        return (*shared, number, parcel.only)
    return (*shared, parcel.tag, parcel.to, message.priority, parcel.forwarded, number)


def decode_parcel(data: bytes) -> tuple[int, Any]:
    """The boot and the parcel."""
    try:
        boot, at = read_varint(data, 1)
        code = data[0]
        if code == DATA:
            return boot, decode_data(data, at)
        if code == _ORDERED:
            return boot, _decode_ordered(data, at)
        if code == REPORT:
            return boot, decode_report(data, at)
        if code == BOUND:
            return boot, decode_bound(data, at)
        form = _BY_CODE[code]
        fields = cbor.decode(data[at:])
        if type(fields) is not list or len(fields) != len(form.fields):
            raise ParcelError(f"{form.kind.__name__} with a wrong number of fields")
        return boot, form.kind(*[_field(form, at, value) for at, value in enumerate(fields)])
    except _MISFITS as misfit:
        raise ParcelError(f"these bytes are no parcel: {misfit!r}") from misfit


def _field(form: _Form, at: int, value: Any) -> Any:
    wanted = form.fields[at]
    if at != form.plain:
        value = _caller(value) if type(value) is list and value[:1] == ["caller"] else from_plain(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise ParcelError(f"{form.kind.__name__}: field {at} is a {type(value).__name__}")
    return value


def _caller(data: list[Any]) -> Caller:
    _, node, session, number = data
    if type(node) is not str or type(session) is not int or type(number) is not int:
        raise ParcelError("a caller that is none")
    return Caller(node, session, number)


def _encode_ordered(parcel: Ordered, boot: int) -> bytes | None:
    """None if the message is not of the common form."""
    parts = [bytes([_ORDERED]), varint(boot), varint(len(parcel.tag)), parcel.tag, varint(len(parcel.to))]
    last = 0
    for number in parcel.to:
        parts.append(varint(number - last))
        last = number
    parts += (varint(parcel.message.priority), b"\1" if parcel.forwarded else b"\0")
    return write_fields(parts, parcel.federation, parcel.execution, parcel.after, parcel.message)


def _decode_ordered(data: bytes, at: int) -> Ordered:
    """`at`: behind the boot."""
    size, at = read_varint(data, at)
    tag = data[at : at + size]
    count, at = read_varint(data, at + size)
    if len(tag) != size or count > len(data):
        raise ParcelError("a message whose order ends too soon")
    to: list[int] = []
    last = 0
    for _ in range(count):
        gap, at = read_varint(data, at)
        last += gap
        to.append(last)
    priority, at = read_varint(data, at)
    if at >= len(data) or data[at] > 1:
        raise ParcelError("a message whose order is not as it should be")
    forwarded = data[at] == 1
    federation, execution, after, message = read_fields(data, at + 1)
    _hurry(message, tag, priority)
    return Ordered(federation, execution, after, message, tag, tuple(to), forwarded)


def _hurry(message: Message, tag: bytes, priority: int) -> None:
    """One without a tag of causal order is in priority order."""
    message.urgent = not tag
    message.priority = priority
