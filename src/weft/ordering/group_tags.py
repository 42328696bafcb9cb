"""Stamps of a causal group in bytes, before the user's own tag.

    binary   MARK, kind; for a stamp: source, number, count, then the causes as (source, number); then the user's tag
    text     <number>&<causes>&*&<source>&<the user's tag>

Kinds: 0 no stamp, only the user's tag, which would look like one; 1 a stamp; 2 a stamp of a message in parts.  Numbers are
varints, sources are ID_SIZE bytes.

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
from weft.ordering.tags import TagReader, write_number

ID_SIZE: Final = 6
MARK: Final = b"\x9eW"
PLAIN: Final = MARK + b"\x00"
PLAIN_TEXT: Final = b"&&*&&"

_ID = f"[0-9a-f]{{{2 * ID_SIZE}}}"
_PAIR = rf"{_ID}\.[0-9]{{1,18}}"
_TEXT = re.compile(rf"([0-9]{{1,18}})(\+?)&((?:{_PAIR}(?:,{_PAIR})*)?)&\*&({_ID})&(.*)".encode(), re.S)


def write_stamp(stamp: GroupStamp) -> bytes:
    """For a tag or for a note."""
    out: list[int] = [*MARK, 2 if stamp.part else 1, *stamp.source]
    write_number(out, stamp.number)
    write_number(out, len(stamp.causes))
    for source, number in stamp.causes:
        out += source
        write_number(out, number)
    return bytes(out)


def write_text_stamp(stamp: GroupStamp) -> bytes:
    causes = ",".join(f"{source.hex()}.{number}" for source, number in stamp.causes)
    return f"{stamp.number}{'+' * stamp.part}&{causes}&*&{stamp.source.hex()}&".encode()


def read_stamp(reader: TagReader) -> GroupStamp:
    """After MARK and kind 1 or 2 at the reader's place."""
    kind = reader.take(len(MARK) + 1)
    if kind[:-1] != MARK or kind[-1] not in (1, 2):
        raise OrderingError(f"not a stamp: {kind!r}")
    source, number = reader.take(ID_SIZE), reader.number()
    causes = tuple((reader.take(ID_SIZE), reader.number()) for _ in range(reader.count()))
    if number == 0:
        raise OrderingError("a stamp without a number")
    return GroupStamp(source, number, causes, kind[-1] == 2)


def split_tag(data: bytes) -> tuple[GroupStamp | None, bytes]:
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
    if data.startswith(PLAIN_TEXT):
        return None, data[len(PLAIN_TEXT) :]
    shape = _TEXT.fullmatch(data)
    if shape is None or int(shape[1]) == 0:
        return None, data
    causes = tuple(
        (bytes.fromhex(pair[: 2 * ID_SIZE].decode()), int(pair[2 * ID_SIZE + 1 :]))
        for pair in shape[3].split(b",")
        if pair
    )
    return GroupStamp(bytes.fromhex(shape[4].decode()), int(shape[1]), causes, bool(shape[2])), shape[5]


def plain_tag(data: bytes) -> bytes:
    """The tag of a message without a stamp, such that nobody sees one in it."""
    if data.startswith((MARK, PLAIN_TEXT)) or _TEXT.fullmatch(data):
        return PLAIN + data
    return data
