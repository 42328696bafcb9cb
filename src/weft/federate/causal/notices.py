"""What members of a causal group tell one another, in bytes: the content of the middleware's own interactions.

    notice    the sender's identity, the kind, and then by kind:
    HELLO     number, epoch, names, count, (identity, epoch)           joined; all answer HERE
    HERE      the same            names of the classes it wants; whom it knows, and how often that one began to want more
    SAID      number, epoch, count, (identity, epoch)                  all messages up to this number are sent, with their notes
    ASK       identity                                                 to this one: say SAID
    NOTES     (number, length, stamp) for each                         what was sent and may not have come
    WANT      epoch, name                                              subscribed
    UNWANT    epoch, name
    BYE       number, epoch, count, (identity, epoch)                  resigned, after so many messages; whom it has answered
    WHO       identity                                                 does anybody know this one?
    ABOUT     verdict, identity, count, stamps                         and what the sender has of it, if it is gone
    LOST      identity, count, stamps                                  it crashed, and this is what the sender has of it
    ENVELOPE  stamp                                                    of the message that follows
    ALSO      the same                                                 said again, for those who came later

BYE is the tag of a deletion; all others are the parameter of an interaction, as HLAopaqueData.  The kinds of members that
name destinations are OF_TABLES more, so that the two sorts do not listen to one another.

A name is that of an interaction class, or of an object class and an attribute with a slash between.  Behind ~ it is wanted in
part: with regions, or at a rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from weft.model.errors import OrderingError
from weft.ordering.group_tags import read_stamp, write_stamp
from weft.ordering.member import MemberOrder, MemberStamp
from weft.ordering.tables import ID_SIZE
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
SAID: Final = 11
ASK: Final = 12
ENVELOPE: Final = 13
OF_TABLES: Final = 32

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
    stamps: tuple[MemberStamp, ...] = ()
    others: tuple[tuple[bytes, int], ...] = ()
    epoch: int = 0


def write_notice(notice: GroupNotice, of_tables: bool = False) -> bytes:
    out: list[int] = [*notice.sender, notice.kind + OF_TABLES * of_tables]
    if notice.kind in (HELLO, HERE, SAID, BYE, ABOUT):
        write_number(out, notice.number)
    if notice.kind in (HELLO, HERE, SAID, WANT, UNWANT, BYE):
        write_number(out, notice.epoch)
    if notice.kind in (HELLO, HERE, WANT, UNWANT):
        _write_names(out, notice.names)
    if notice.kind in (WHO, ABOUT, LOST, ALSO, ASK):
        out += notice.subject
    if notice.kind in (HELLO, HERE, SAID, BYE):
        write_number(out, len(notice.others))
        for other, epoch in notice.others:
            out += other
            write_number(out, epoch)
    if notice.kind == NOTES:
        return bytes(out) + _written_notes(notice.stamps)
    if notice.kind in (ABOUT, LOST, ALSO, ENVELOPE):
        write_number(out, len(notice.stamps))
        for stamp in notice.stamps:
            out += write_stamp(stamp)
    return bytes(out)


def _written_notes(stamps: Iterable[MemberStamp]) -> bytes:
    """Each with its number and length in front: most who hear it have the message."""
    out: list[bytes] = []
    for stamp in stamps:
        data = write_stamp(stamp)
        head: list[int] = []
        write_number(head, stamp.number)
        write_number(head, len(data))
        out.append(bytes(head))
        out.append(data)
    return b"".join(out)


def _read_notes(reader: TagReader, sender: bytes, order: MemberOrder | None) -> tuple[MemberStamp, ...]:
    found: list[MemberStamp] = []
    while reader.at < len(reader.data):
        number, size = reader.number(), reader.count()
        if order is None or order.needs(sender, number):
            found.append(read_stamp(reader))
        else:
            reader.at += size
    return tuple(found)


def read_notice(data: bytes, of_tables: bool = False, order: MemberOrder | None = None) -> GroupNotice:
    """Refuses, with an OrderingError, what no member can have written.  Notes that this order does not need are left out."""
    reader = TagReader(data)
    sender, kind = reader.take(ID_SIZE), reader.take(1)[0] - OF_TABLES * of_tables
    if not HELLO <= kind <= ENVELOPE:
        raise OrderingError(f"a notice of the unknown kind {kind}")
    number = reader.number() if kind in (HELLO, HERE, SAID, BYE, ABOUT) else 0
    epoch = reader.number() if kind in (HELLO, HERE, SAID, WANT, UNWANT, BYE) else 0
    names = _read_names(reader) if kind in (HELLO, HERE, WANT, UNWANT) else ()
    subject = reader.take(ID_SIZE) if kind in (WHO, ABOUT, LOST, ALSO, ASK) else b""
    others = _read_others(reader) if kind in (HELLO, HERE, SAID, BYE) else ()
    stamps: tuple[MemberStamp, ...] = ()
    if kind == NOTES:
        stamps = _read_notes(reader, sender, order)
    if kind in (ABOUT, LOST, ALSO, ENVELOPE):
        stamps = tuple([read_stamp(reader) for _ in range(reader.count())])
    return GroupNotice(sender, kind, number, names, subject, stamps, others, epoch)


def _read_others(reader: TagReader) -> tuple[tuple[bytes, int], ...]:
    found: list[tuple[bytes, int]] = []
    for _ in range(reader.count()):
        identity = reader.take(ID_SIZE)
        found.append((identity, reader.number()))
    return tuple(found)


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
