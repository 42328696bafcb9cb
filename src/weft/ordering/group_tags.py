"""Stamps of a causal group in bytes, before the user's own tag.

    binary   MARK, kind; for a stamp: source, number, count, then the causes as (source, number); then the user's tag
    text     <number>&<causes>&*&<source>&<the user's tag>

Kinds: 0 no stamp, only the user's tag, which would look like one; 1 a stamp; 2 a stamp of a message in parts; 3 and 4 the same
with destinations (`table_tags`).  Numbers are varints, sources are ID_SIZE bytes.

The text has the fields of S0-10 in their order: the time, the causal vector, the destinations (all), the source.  A `+` behind
the time says that there may be parts; sources are written in hexadecimal; causes as source.number with commas.  All fields but
the destinations empty: no stamp.

Both forms are read by everybody, so members may choose each for itself.
"""

from __future__ import annotations

import re
from typing import Final

from weft.model.errors import OrderingError
from weft.ordering.group import GroupStamp
from weft.ordering.member import MemberStamp
from weft.ordering.table_tags import (
    MARK,
    read_table_stamp,
    split_table_text,
    write_table_stamp,
    write_table_text,
)
from weft.ordering.tables import ID_SIZE, TableStamp
from weft.ordering.tags import TagReader, write_number

PLAIN: Final = MARK + b"\x00"
PLAIN_TEXT: Final = b"&&*&&"
STAMP: Final = MARK + b"\x01"
STAMP_IN_PARTS: Final = MARK + b"\x02"

_ID = f"[0-9a-f]{{{2 * ID_SIZE}}}"
_PAIR = rf"{_ID}\.[0-9]{{1,18}}"
_TEXT = re.compile(rf"([0-9]{{1,18}})(\+?)&((?:{_PAIR}(?:,{_PAIR})*)?)&\*&({_ID})&(.*)".encode(), re.S)


def write_stamp(stamp: MemberStamp) -> bytes:
    """For a tag or for a note."""
    if isinstance(stamp, TableStamp):
        return write_table_stamp(stamp)
    assert isinstance(stamp, GroupStamp)
    out: list[int] = []
    write_number(out, stamp.number)
    write_number(out, len(stamp.causes))
    for source, number in stamp.causes:
        out += source
        write_number(out, number)
    return (STAMP_IN_PARTS if stamp.part else STAMP) + stamp.source + bytes(out)


def write_text_stamp(stamp: MemberStamp) -> bytes:
    if isinstance(stamp, TableStamp):
        return write_table_text(stamp)
    assert isinstance(stamp, GroupStamp)
    causes = ",".join([f"{source.hex()}.{number}" for source, number in stamp.causes])
    return f"{stamp.number}{'+' * stamp.part}&{causes}&*&{stamp.source.hex()}&".encode()


def read_stamp(reader: TagReader) -> MemberStamp:
    """At MARK and a kind from 1 to 4."""
    data, at = reader.data, reader.at
    kind = data[at + 2] if len(data) > at + 2 and data[at] == MARK[0] and data[at + 1] == MARK[1] else 0
    if kind in (3, 4):
        return read_table_stamp(reader)
    if kind not in (1, 2):
        raise OrderingError(f"not a stamp: {data[at : at + 3]!r}")
    reader.at = at + 3
    source, number = reader.take(ID_SIZE), reader.number()
    causes: list[tuple[bytes, int]] = []
    for _ in range(reader.count()):
        cause = reader.take(ID_SIZE)
        causes.append((cause, reader.number()))
    if number == 0:
        raise OrderingError("a stamp without a number")
    return GroupStamp(source, number, tuple(causes), kind == 2)


def split_tag(data: bytes) -> tuple[MemberStamp | None, bytes]:
    """The stamp, if there is one, and the user's tag."""
    if data.startswith(MARK):
        if data.startswith(PLAIN):
            return None, data[len(PLAIN) :]
        reader = TagReader(data)
        try:
            stamp = read_stamp(reader)
        except OrderingError:
            return None, data
        return stamp, data[reader.at :]
    if data.find(b"&") < 0:
        return None, data
    if data.startswith(PLAIN_TEXT):
        return None, data[len(PLAIN_TEXT) :]
    shape = _TEXT.fullmatch(data)
    if shape is None:
        return split_table_text(data)
    if int(shape[1]) == 0:
        return None, data
    causes = tuple(
        [
            (bytes.fromhex(pair[: 2 * ID_SIZE].decode()), int(pair[2 * ID_SIZE + 1 :]))
            for pair in shape[3].split(b",")
            if pair
        ]
    )
    return GroupStamp(bytes.fromhex(shape[4].decode()), int(shape[1]), causes, bool(shape[2])), shape[5]


def plain_tag(data: bytes) -> bytes:
    """The tag of a message without a stamp, such that nobody sees one in it."""
    if data.startswith((MARK, PLAIN_TEXT)) or split_tag(data)[0] is not None:
        return PLAIN + data
    return data
