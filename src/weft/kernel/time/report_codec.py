"""Reports of logical time as bytes: what nodes tell each other in every step, and mostly need not look at.

    number    form (one byte), then 8 bytes (FLOAT, INT), or a size (one byte) and so many bytes (LONG: an integer beyond 64 bits)
    report    form, federate (4 bytes), mode and flags (one byte), then time, requested, lookahead, floor, reached, head

All times of a report have one form.  Those of a federation are all integers or all floating point; only what nobody has set yet
is the integer 0, and becomes 0.0 among the others.
"""

from __future__ import annotations

import struct
from typing import Final

from weft.kernel.state.time_state import FLUSH, Report
from weft.model.time import TimeValue

FLOAT: Final = 0
INT: Final = 1
LONG: Final = 2
_MODE: Final = 7
_EXCLUSIVE: Final = 8
_FLOOR: Final = 16  # the floor excludes its own time, …
_REACHED: Final = 32  # … what was reached does
_HEAD: Final = 64  # something waits
_ALL: Final = 127
_FIXED: Final = 54  # bytes of a report but for LONG

_pack_floats: Final = struct.Struct(">BIB6d").pack
_pack_ints: Final = struct.Struct(">BIB6q").pack
_pack_head: Final = struct.Struct(">BIB").pack
_unpack_floats: Final = struct.Struct(">BIB6d").unpack_from
_unpack_ints: Final = struct.Struct(">BIB6q").unpack_from
_unpack_head: Final = struct.Struct(">BIB").unpack_from
_pack_float: Final = struct.Struct(">Bd").pack
_pack_int: Final = struct.Struct(">Bq").pack
_unpack_float: Final = struct.Struct(">Bd").unpack_from
_unpack_int: Final = struct.Struct(">Bq").unpack_from


def pack_number(value: TimeValue) -> bytes:
    if isinstance(value, float):
        return bytes(_pack_float(FLOAT, value))
    try:
        return bytes(_pack_int(INT, value))
    except struct.error:
        return bytes([LONG]) + _pack_long(value)


def unpack_number(data: bytes, at: int) -> tuple[TimeValue, int]:
    """The number, and where it ends.  Raises struct.error, IndexError or ValueError if there is none."""
    form = data[at]
    if form == FLOAT:
        number = _unpack_float(data, at)[1]
        if number != number:
            raise ValueError("a time that is no number")
        return number, at + 9
    if form == INT:
        return _unpack_int(data, at)[1], at + 9
    if form != LONG:
        raise ValueError(f"there is no number of form {form}")
    return _unpack_long(data, at + 1)


def _pack_long(value: int) -> bytes:
    size = value.bit_length() // 8 + 1
    return bytes([size]) + value.to_bytes(size, "big", signed=True)


def _unpack_long(data: bytes, at: int) -> tuple[int, int]:
    end = at + 1 + data[at]
    if end > len(data) or end == at + 1:
        raise ValueError("a number that ends too soon")
    return int.from_bytes(data[at + 1 : end], "big", signed=True), end


def _is_float(value: TimeValue) -> bool:
    return isinstance(value, float)


def pack_report(report: Report) -> bytes:
    time, requested, lookahead, head = report.time, report.requested, report.lookahead, report.head
    floor, reached = report.floor, report.reached
    flags = report.mode
    if report.exclusive:
        flags |= _EXCLUSIVE
    if floor[1]:
        flags |= _FLOOR
    if reached[1]:
        flags |= _REACHED
    if head is None:
        head = 0
    else:
        flags |= _HEAD
    values = (time, requested, lookahead, floor[0], reached[0], head)
    if isinstance(time, float) or isinstance(requested, float) or any(map(_is_float, values)):
        return bytes(_pack_floats(FLOAT, report.federate, flags, *values))
    try:
        return bytes(_pack_ints(INT, report.federate, flags, *values))
    except struct.error:
        return _pack_head(LONG, report.federate, flags) + b"".join(
            [_pack_long(int(value)) for value in values]
        )


def _is_nan(value: TimeValue) -> bool:
    return bool(value != value)


def unpack_report(data: bytes, at: int) -> tuple[Report, int]:
    """The report, and where it ends.  Raises struct.error, IndexError or ValueError if there is none."""
    form = data[at]
    end = at + _FIXED
    if form == FLOAT:
        values = _unpack_floats(data, at)
    elif form == INT:
        values = _unpack_ints(data, at)
    elif form == LONG:
        numbers = []
        end = at + 6
        for _ in range(6):
            number, end = _unpack_long(data, end)
            numbers.append(number)
        values = (*_unpack_head(data, at), *numbers)
    else:
        raise ValueError(f"there is no report of form {form}")
    _, federate, flags, time, requested, lookahead, floor, reached, head = values
    mode = flags & _MODE
    if flags > _ALL or mode > FLUSH or not federate or any(map(_is_nan, values)):
        raise ValueError("a report that is none")
    made = Report(
        federate,
        mode,
        time,
        bool(flags & _EXCLUSIVE),
        requested,
        lookahead,
        (floor, 1 if flags & _FLOOR else 0),
        head if flags & _HEAD else None,
        (reached, 1 if flags & _REACHED else 0),
    )
    return made, end


def unpack_reports(data: bytes) -> tuple[Report, ...]:
    """All that there are."""
    found: list[Report] = []
    at = 0
    while at < len(data):
        report, at = unpack_report(data, at)
        found.append(report)
    return tuple(found)


def are_reports(data: bytes) -> bool:
    """As far as one can say without looking at their times."""
    at = 0
    while at < len(data):
        if data[at] == LONG:
            try:
                _, at = unpack_report(data, at)
            except (struct.error, IndexError, ValueError):
                return False
        elif data[at] > INT or at + _FIXED > len(data):
            return False
        else:
            flags = data[at + 5]
            if flags > _ALL or flags & _MODE > FLUSH or data[at + 1 : at + 5] == b"\0\0\0\0":
                return False
            at += _FIXED
    return True
