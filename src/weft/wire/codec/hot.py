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

Plain ints and bytes throughout, for mypyc.
"""

from __future__ import annotations

from typing import Final

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
    end = len(payload)
    if number == 0:
        return None
    start = _content(payload, 2, end)
    # 1: the class or instance, a handle within a message
    if start < 0 or _stop(payload, 2, end) != end or start + 4 > end or payload[start] != 0x0A:
        return None
    position = start + 2 + payload[start + 1]
    target = _datum(payload, start + 1, end)
    # 2: the values
    if not target or position + 2 > end or payload[position] != 0x12:
        return None
    first = _content(payload, position + 1, end)
    position = _stop(payload, position + 1, end)
    if position < 0:
        return None
    handles = scan_values(payload, first, position)
    if handles is None or (len(handles) > 1 and len(set(handles)) < len(handles)):
        return None
    values = payload[first:position]
    # 3: the tag, if it is not empty
    tag = b""
    if position < end and payload[position] == 0x1A:
        first = _content(payload, position + 1, end)
        position = _stop(payload, position + 1, end)
        if position < 0:
            return None
        tag = payload[first:position]
    shared = payload[start:position]
    # 4: the time, if the call has one
    time = b""
    if number & 1:
        if position + 4 > end or payload[position] != 0x22:
            return None
        time = _datum(payload, position + 1, end)
        position += 2 + payload[position + 1]
        if len(time) != 8:
            return None
    if position != end:
        return None
    return HotCall(number, target, values, handles, tag, time, shared)


def scan_values(data: bytes, position: int, end: int) -> list[bytes] | None:
    """The handles in an encoded map of values, which are not touched; None if it is not canonical."""
    handles: list[bytes] = []
    while position < end:
        if data[position] != 0x0A:
            return None
        entry = _content(data, position + 1, end)
        position = _stop(data, position + 1, end)
        if position < 0 or entry + 4 > position or data[entry] != 0x0A:
            return None
        handle = _datum(data, entry + 1, position)
        entry += 2 + data[entry + 1]
        if not handle:
            return None
        if entry < position and (data[entry] != 0x12 or _stop(data, entry + 1, position) != position):
            return None
        handles.append(handle)
    return handles


def read_values(data: bytes, position: int, end: int) -> list[tuple[bytes, bytes]] | None:
    """The handles and values in an encoded map of values; None if it is not canonical."""
    pairs: list[tuple[bytes, bytes]] = []
    while position < end:
        if data[position] != 0x0A:
            return None
        entry = _content(data, position + 1, end)
        position = _stop(data, position + 1, end)
        if position < 0 or entry + 4 > position or data[entry] != 0x0A:
            return None
        handle = _datum(data, entry + 1, position)
        entry += 2 + data[entry + 1]
        if not handle:
            return None
        if entry == position:
            pairs.append((handle, b""))
        elif data[entry] != 0x12 or _stop(data, entry + 1, position) != position:
            return None
        else:
            pairs.append((handle, data[_content(data, entry + 1, position) : position]))
    return pairs


def scan_entries(values: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """The entries of an encoded map (one that `scan_values` could read): handle, the whole entry, the value."""
    entries: list[tuple[bytes, bytes, bytes]] = []
    position = 0
    end = len(values)
    while position < end:
        entry = _content(values, position + 1, end)
        stop = _stop(values, position + 1, end)
        if stop < 0:
            raise ValueError("not a map of values that scan_values could read")
        handle = _datum(values, entry + 1, stop)
        entry += 2 + values[entry + 1]
        value = values[_content(values, entry + 1, stop) : stop] if entry < stop else b""
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


def _datum(data: bytes, position: int, end: int) -> bytes:
    """The bytes in a message of one field of bytes, whose length is at `position`; empty if that is not what is there."""
    size = data[position]
    start = position + 3
    if size < 3 or size >= 0x80 or position + 1 + size > end:
        return b""
    if data[position + 1] != 0x0A or data[position + 2] != size - 2:
        return b""
    return data[start : start + size - 2]


def _content(data: bytes, position: int, end: int) -> int:
    """Where the content starts whose length is at `position`; -1 if the data ends before."""
    if position < end and data[position] < 0x80:
        return position + 1
    limit = min(end, position + 5)
    while position < limit:
        if data[position] < 0x80:
            return position + 1
        position += 1
    return -1


def _stop(data: bytes, position: int, end: int) -> int:
    """Where the content stops whose length is at `position`; -1 if the data ends before."""
    if position < end and data[position] < 0x80:
        stop = position + 1 + data[position]
        return stop if stop <= end else -1
    size = 0
    shift = 0
    limit = min(end, position + 5)
    while position < limit:
        byte = data[position]
        size |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            stop = position + size
            return stop if stop <= end else -1
        shift += 7
    return -1
