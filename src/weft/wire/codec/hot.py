"""The hot calls, without decoding what is only passed on.

Send-interaction and update-attributes are almost all of the traffic, and of each the RTI needs little: the class or
instance, which parameters or attributes there are, the tag and the time.  The request and the callback share their
first three fields:

    request    1 class or instance  2 values  3 tag  [4 time]
    callback   1 class or instance  2 values  3 tag   4 transportation  5 producer  6 regions  [7 time  8 9 orders  10 retraction]

So the callback is the head of the request (`shared`) with a tail (`callback_tail`), built once for all who get the
same.

`read_hot` understands requests written the canonical way, as all protobuf libraries write them: fields in order, each
once, no handle twice, nothing unknown.  For anything else, and for all that is malformed, it returns None:
`codec.calls.decode_call` then says what it is.

Plain numbers and bytes throughout, for mypyc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.wire.codec.hot_fields import datum_at, field_start, field_stop

if TYPE_CHECKING:
    from mypy_extensions import i64

UPDATE: Final = 62  # the numbers of the calls; with time, one more
SEND: Final = 64
REFLECT: Final = 31  # the numbers of the callbacks; with time, one more
RECEIVE: Final = 33

EMPTY_UPDATE_RESPONSE: Final = b"\xfa\x03\x00"
EMPTY_SEND_RESPONSE: Final = b"\x8a\x04\x00"


class HotCall:
    """A send-interaction or update-attributes request, half read."""

    def __init__(
        self,
        number: int,
        target: bytes,
        values: bytes,
        handles: list[bytes],
        tag: bytes,
        time: bytes,
        shared: bytes,
    ) -> None:
        self.number = number  # of the call: UPDATE, UPDATE + 1, SEND, SEND + 1
        self.target = target  # the handle of the interaction class or object instance
        self.values = values  # the map of values, still encoded
        self.handles = handles  # which parameters or attributes are in it, in order
        self.tag = tag
        self.time = time  # encoded; empty if the call has none
        self.shared = shared  # fields 1 to 3, as they are


def hot_number(payload: bytes) -> int:
    """The number of the call if it is a hot one, else 0; looks at two bytes."""
    if len(payload) < 3:
        return 0
    second = payload[1]
    first = payload[0]
    if second == 0x04:
        return 64 if first == 0x82 else 65 if first == 0x8A else 0
    if second == 0x03:
        return 62 if first == 0xF2 else 63 if first == 0xFA else 0
    return 0


def read_hot(payload: bytes) -> HotCall | None:
    """The request, if it is hot and canonical."""
    number = hot_number(payload)
    end: i64 = len(payload)
    if number == 0 or field_stop(payload, 2, end) != end:
        return None
    # 1: the class or instance, a handle within a message
    start = field_start(payload, 2)
    target = datum_at(payload, start, end, 0x0A)
    position = start + 4 + len(target)
    # 2: the values
    if not target or position + 2 > end or payload[position] != 0x12:
        return None
    stop = field_stop(payload, position + 1, end)
    if stop < 0:
        return None
    first = field_start(payload, position + 1)
    handles = scan_values(payload, first, stop)
    if handles is None or (len(handles) > 1 and len(set(handles)) < len(handles)):
        return None
    values = payload[first:stop]
    # 3: the tag, if it is not empty
    position = stop
    tag = b""
    if position < end and payload[position] == 0x1A:
        stop = field_stop(payload, position + 1, end)
        if stop < 0:
            return None
        tag = payload[field_start(payload, position + 1) : stop]
        position = stop
    shared = payload[start:position]
    # 4: the time, if the call has one
    time = b""
    if number & 1:
        time = datum_at(payload, position, end, 0x22)
        if len(time) != 8:
            return None
        position += 12
    if position != end:
        return None
    return HotCall(number, target, values, handles, tag, time, shared)


def scan_values(data: bytes, position: i64, end: i64) -> list[bytes] | None:
    """The handles in an encoded map of values, which are not touched; None if it is not canonical."""
    handles: list[bytes] = []
    while position < end:
        stop = field_stop(data, position + 1, end)
        if stop < 0 or data[position] != 0x0A:
            return None
        entry = field_start(data, position + 1)
        handle = datum_at(data, entry, stop, 0x0A)
        if not handle:
            return None
        entry += 4 + len(handle)
        if entry < stop and (data[entry] != 0x12 or field_stop(data, entry + 1, stop) != stop):
            return None
        handles.append(handle)
        position = stop
    return handles


def scan_entries(values: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """The entries of an encoded map (one that `scan_values` could read): handle, the whole entry, the value."""
    entries: list[tuple[bytes, bytes, bytes]] = []
    position: i64 = 0
    end: i64 = len(values)
    while position < end:
        stop = field_stop(values, position + 1, end)
        if stop < 0:
            raise ValueError("not a map of values that scan_values could read")
        entry = field_start(values, position + 1)
        handle = datum_at(values, entry, stop, 0x0A)
        entry += 4 + len(handle)
        value = values[field_start(values, entry + 1) : stop] if entry < stop else b""
        entries.append((handle, values[position:stop], value))
        position = stop
    return entries


def shared_fields(target: bytes, values: bytes, tag: bytes) -> bytes:
    """Fields 1 to 3 anew, for a receiver that gets another class or fewer values than were sent."""
    made = _datum_field(0x0A, target) + b"\x12" + length(len(values)) + values
    return made + b"\x1a" + length(len(tag)) + tag if tag else made


def write_values(values: dict[bytes, bytes]) -> bytes:
    """An encoded map of values; an entry is field 1 the handle, field 2 the value unless that is empty."""
    parts: list[bytes] = []
    for handle, value in values.items():
        head = _datum_field(0x0A, handle)
        if value:
            head += b"\x12" + length(len(value))
        parts.append(b"\x0a" + length(len(head) + len(value)) + head)
        parts.append(value)
    return b"".join(parts)


def callback_tail(transportation: bytes, producer: bytes) -> bytes:
    """Fields 4 and 5 of the callback."""
    return _datum_field(0x22, transportation) + _datum_field(0x2A, producer)


def timed_tail(tail: bytes, time: bytes, sent: int, received: int, retraction: bytes) -> bytes:
    """A tail with fields 7 to 10: the encoded time, the numbers of the two order types, and the retraction handle or nothing."""
    made = tail + _datum_field(0x3A, time)
    if sent:
        made += b"\x40" + length(sent)
    if received:
        made += b"\x48" + length(received)
    return made + _datum_field(0x52, retraction) if retraction else made


def callback_head(number: int, size: int) -> bytes:
    """What stands before the fields of a callback, if these are `size` bytes."""
    return length(number << 3 | 2) + length(size)


def callback(number: int, shared: bytes, tail: bytes) -> bytes:
    """The payload of the callback: REFLECT, RECEIVE or, with a timed tail, the number after it."""
    return callback_head(number, len(shared) + len(tail)) + shared + tail


def request(number: int, shared: bytes, time: bytes) -> bytes:
    """The payload of the call: UPDATE, SEND or, with an encoded time, the number after it."""
    tail = _datum_field(0x22, time) if time else b""
    return length(number << 3 | 2) + length(len(shared) + len(tail)) + shared + tail


# --- within ---------------------------------------------------------------------------------------------------


def length(size: int) -> bytes:
    """A varint."""
    if size < 0x80:
        return _SHORT[size]
    if size < 0x4000:
        return bytes((size & 0x7F | 0x80, size >> 7))
    parts = bytearray()
    while size >= 0x80:
        parts.append(size & 0x7F | 0x80)
        size >>= 7
    parts.append(size)
    return bytes(parts)


_SHORT: Final = [bytes((value,)) for value in range(0x80)]


def _datum_field(key: int, data: bytes) -> bytes:
    """A message of one field of bytes (a handle, a time), as a field."""
    size = len(data)
    if 0 < size < 0x7E:
        return bytes((key, size + 2, 0x0A, size)) + data
    content = b"\x0a" + length(size) + data if data else b""
    return bytes((key,)) + length(len(content)) + content
