"""Hot calls where they lie in what was read: nothing is copied before it is known where it goes.

For messages that take a lane (`weft.kernel.message.fast_lanes`) it is enough to see that a call is like an earlier one: an
update or interaction without time, canonical (see `codec.hot`), of the same target, with values for the same handles in the
same order.  Handles of four bytes only, which all of ours are; they are compared as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.wire.session.frames import NATIVE

if TYPE_CHECKING:
    from mypy_extensions import i64

try:  # noqa: SIM105
    from librt.strings import read_i32_be
except ImportError:
    pass  # pure Python does without


def lane_content(data: bytes, start: i64, end: i64) -> i64:
    """Where the fields start of the call between `start` and `end`, if it is a hot one without time; else -1."""
    if end - start < 16:
        return -1
    first = data[start]
    second = data[start + 1]
    if not ((first == 0x82 and second == 0x04) or (first == 0xF2 and second == 0x03)):
        return -1
    if field_stop(data, start + 2, end) != end:
        return -1
    content = field_start(data, start + 2)
    if end - content < 10 or data[content] != 0x0A or data[content + 1] != 6:
        return -1
    return content if data[content + 2] == 0x0A and data[content + 3] == 4 else -1


def handle_number(data: bytes, position: i64) -> int:
    if NATIVE:
        return read_i32_be(data, position)
    return int.from_bytes(data[position : position + 4], "big", signed=True)


def has_handles(data: bytes, content: i64, end: i64, handles: list[int]) -> bool:
    """Are the values of this hot call for just these handles, in this order, and is all of it canonical?"""
    position = content + 8
    if data[position] != 0x12:
        return False
    stop = field_stop(data, position + 1, end)
    if stop < 0:
        return False
    at = field_start(data, position + 1)
    for handle in handles:
        if stop - at < 10 or data[at] != 0x0A:
            return False
        entry_stop = field_stop(data, at + 1, stop)
        if entry_stop < 0:
            return False
        at = field_start(data, at + 1)
        if entry_stop - at < 8 or data[at] != 0x0A or data[at + 1] != 6 or data[at + 2] != 0x0A:
            return False
        if data[at + 3] != 4 or handle_number(data, at + 4) != handle:
            return False
        if entry_stop - at > 8:
            if data[at + 8] != 0x12 or field_stop(data, at + 9, entry_stop) != entry_stop:
                return False
        at = entry_stop
    if at != stop:
        return False
    if stop == end:
        return True
    return data[stop] == 0x1A and field_stop(data, stop + 1, end) == end


def datum_at(data: bytes, at: i64, end: i64, key: int) -> bytes:
    """The bytes in the field `key` at `at`, if that is a message of one field of bytes; else nothing."""
    if end - at < 5 or data[at] != key:
        return b""
    size: i64 = data[at + 1]
    if size < 3 or size >= 0x80 or at + 2 + size > end:
        return b""
    if data[at + 2] != 0x0A or data[at + 3] != size - 2:
        return b""
    return data[at + 4 : at + 2 + size]


def field_start(data: bytes, position: i64) -> i64:
    """Where the content starts whose length is at `position`, if `field_stop` found that it is there."""
    while data[position] >= 0x80:
        position += 1
    return position + 1


def field_stop(data: bytes, position: i64, end: i64) -> i64:
    """Where the content stops whose length is at `position`; -1 if the data ends before."""
    size: i64 = 0
    shift: i64 = 0
    while position < end and shift < 35:
        byte: i64 = data[position]
        size |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return position + size if position + size <= end else -1
        shift += 7
    return -1
