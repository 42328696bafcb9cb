"""Stamps with destinations in bytes, before the user's own tag (S0-10).

    binary   MARK, kind, length, the tag as in `tags`; then the user's tag
    text     <vt>&<cv>&<destinations>&<source>&<the user's tag>, as in `text_tags`

Kinds: 3 a stamp, 4 a stamp of a message in parts.
"""

from __future__ import annotations

from typing import Final

from weft.model.errors import OrderingError
from weft.ordering.tables import TableStamp, identity_of
from weft.ordering.tags import TagReader, decode_tag, encode_tag, encode_tags, write_number
from weft.ordering.text_tags import encode_text, read_text

MARK: Final = b"\x9eW"
WHOLE: Final = MARK + b"\x03"
PART: Final = MARK + b"\x04"
KEPT_IDENTITIES: Final = 4096

_identities: dict[int, bytes] = {}


def write_table_stamp(stamp: TableStamp) -> bytes:
    if not stamp.data:
        destinations = stamp.tag.destinations
        tag = encode_tags(stamp.tag, [destinations])[0] if destinations else encode_tag(stamp.tag)
        length: list[int] = []
        write_number(length, len(tag))
        stamp.data = (PART if stamp.part else WHOLE) + bytes(length) + tag
    return stamp.data


def write_table_text(stamp: TableStamp) -> bytes:
    return encode_text(stamp.tag, b"", -1, stamp.part)


def read_table_stamp(reader: TagReader) -> TableStamp:
    """At MARK and kind 3 or 4."""
    start = reader.at
    part = reader.take(len(WHOLE)) == PART
    tag = decode_tag(reader.take(reader.number()), True)
    return TableStamp(_identity(tag.source), tag, part, reader.data[start : reader.at])


def _identity(process: int) -> bytes:
    """One object for each, whose hash is known already."""
    found = _identities.get(process)
    if found is None:
        if process >= 1 << 47:
            raise OrderingError(f"a tag of process {process}, which is no number of a federate")
        if len(_identities) >= KEPT_IDENTITIES:
            _identities.clear()
        found = _identities[process] = identity_of(process)
    return found


def split_table_text(data: bytes) -> tuple[TableStamp | None, bytes]:
    """The stamp, if there is one, and the user's tag."""
    try:
        tag, part, rest = read_text(data)
        return TableStamp(_identity(tag.source), tag, part), rest
    except OrderingError:
        return None, data
