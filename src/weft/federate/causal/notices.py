"""What members of a causal group tell one another, in bytes: the content of the middleware's own interactions.

    notice    the sender's identity, the kind, and then by kind:
    HELLO     number, names, count, identities                         joined; all answer HERE
    HERE      the same            names of the interaction classes it wants; whom it knows
    NOTES     count, stamps                                            what was sent and may not have come
    WANT      name                                                     subscribed to an interaction class, without regions
    UNWANT    name
    BYE       number, count, identities                                resigned, after so many messages; whom it has answered
    WHO       identity                                                 does anybody know this one?
    ABOUT     verdict, identity, count, stamps                         and what the sender has of it, if it is gone
    LOST      identity, count, stamps                                  it crashed, and this is what the sender has of it
    ALSO      the same                                                 said again, for those who came later

BYE is the tag of a deletion; all others are the parameter of an interaction, as HLAopaqueData.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from weft.model.errors import OrderingError
from weft.ordering.group import GroupStamp
from weft.ordering.group_tags import ID_SIZE, read_stamp, write_stamp
from weft.ordering.tags import TagReader, write_number

HELLO: Final = 1
HERE: Final = 2
NOTES: Final = 3
WANT: Final = 4
UNWANT: Final = 5
BYE: Final = 6
WHO: Final = 7
ABOUT: Final = 8
LOST: Final = 9
ALSO: Final = 10

UNKNOWN: Final = 0
PRESENT: Final = 1
GONE: Final = 2


class GroupNotice(NamedTuple):
    """Fields that a kind does not have are empty."""

    sender: bytes
    kind: int
    number: int = 0
    names: tuple[str, ...] = ()
    subject: bytes = b""
    stamps: tuple[GroupStamp, ...] = ()
    others: tuple[bytes, ...] = ()


def write_notice(notice: GroupNotice) -> bytes:
    out: list[int] = [*notice.sender, notice.kind]
    if notice.kind in (HELLO, HERE, BYE, ABOUT):
        write_number(out, notice.number)
    if notice.kind in (HELLO, HERE, WANT, UNWANT):
        _write_names(out, notice.names)
    if notice.kind in (WHO, ABOUT, LOST, ALSO):
        out += notice.subject
    if notice.kind in (HELLO, HERE, BYE):
        write_number(out, len(notice.others))
        out += b"".join(notice.others)
    if notice.kind in (NOTES, ABOUT, LOST, ALSO):
        write_number(out, len(notice.stamps))
        for stamp in notice.stamps:
            out += write_stamp(stamp)
    return bytes(out)


def read_notice(data: bytes) -> GroupNotice:
    """Refuses, with an OrderingError, what no member can have written."""
    reader = TagReader(data)
    sender, kind = reader.take(ID_SIZE), reader.take(1)[0]
    if not HELLO <= kind <= ALSO:
        raise OrderingError(f"a notice of the unknown kind {kind}")
    number = reader.number() if kind in (HELLO, HERE, BYE, ABOUT) else 0
    names = _read_names(reader) if kind in (HELLO, HERE, WANT, UNWANT) else ()
    subject = reader.take(ID_SIZE) if kind in (WHO, ABOUT, LOST, ALSO) else b""
    others = tuple(reader.take(ID_SIZE) for _ in range(reader.count())) if kind in (HELLO, HERE, BYE) else ()
    stamps: tuple[GroupStamp, ...] = ()
    if kind in (NOTES, ABOUT, LOST, ALSO):
        stamps = tuple(read_stamp(reader) for _ in range(reader.count()))
    return GroupNotice(sender, kind, number, names, subject, stamps, others)


def _write_names(out: list[int], names: Iterable[str]) -> None:
    written = [name.encode() for name in names]
    write_number(out, len(written))
    for name in written:
        write_number(out, len(name))
        out += name


def _read_names(reader: TagReader) -> tuple[str, ...]:
    try:
        return tuple(reader.take(reader.number()).decode() for _ in range(reader.count()))
    except UnicodeDecodeError as error:
        raise OrderingError(f"a notice with a name that is no text: {error}") from None


def as_opaque(data: bytes) -> bytes:
    """HLAopaqueData."""
    return len(data).to_bytes(4, "big") + data


def from_opaque(data: bytes) -> bytes:
    if len(data) < 4 or int.from_bytes(data[:4], "big") != len(data) - 4:
        raise OrderingError("a notice that is no HLAopaqueData")
    return data[4:]
