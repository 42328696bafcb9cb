"""What the ends of a link between event channels say to one another: parcels of a port of its own, over the links of the fabric.

    GREET     kind, name of the channel, epoch of this end, the epoch of the other end that this answers (0: none)
    LEAVE     kind, tag: the channel was closed here
    NEWS      kind, tag, origin, path, patterns added and removed, anew (see weft.channel.gateway)
    EVENT     kind, tag, type, source, time to live, created, origin, boot, number, payload
    REFUSE    kind, name of the channel, why
    DATAGRAM  kind, tag, its number among those of this end, then as EVENT: a best-effort event

An end has a new epoch whenever it begins anew; its tag is the last bits of that.  Channels go by the numbers of their nodes in
the domains file, which is the same everywhere, and a payload is written as `event_channel.values` does.
"""

from __future__ import annotations

from typing import Final

from weft.channel import Event, News
from weft.host.event_channel.values import ValueReader, ValueRefused, write_number, write_value

GREET: Final = 1
LEAVE: Final = 2
NEWS: Final = 3
EVENT: Final = 4
REFUSE: Final = 5
DATAGRAM: Final = 6
TAGS: Final = 1 << 21  # so that a tag takes three bytes at most

Pattern = tuple[int, int]


def about_channel(kind: int, *fields: str | int) -> bytes:
    """What has the name of the channel, and no tag: GREET, REFUSE."""
    out = bytearray([kind])
    write_value(out, fields)
    return bytes(out)


def head(kind: int, tag: int, number: int | None = None) -> bytes:
    out = bytearray([kind])
    write_number(out, tag)
    if number is not None:
        write_number(out, number)
    return bytes(out)


def news_body(news: News, numbers: dict[str, int]) -> bytes:
    out = bytearray()
    write_value(
        out,
        (
            numbers[news.origin],
            tuple(numbers[one] for one in news.path),
            tuple(sorted(news.added)),
            tuple(sorted(news.removed)),
            news.anew,
        ),
    )
    return bytes(out)


def event_head(event: Event, numbers: dict[str, int]) -> bytes:
    """All but the payload, which follows."""
    out = bytearray()
    for number in (event.type, event.source, event.ttl):
        write_number(out, number)
    write_value(out, event.created)
    for number in (numbers[event.origin], event.boot, event.number):
        write_number(out, number)
    return bytes(out)


def read_news(reader: ValueReader, nodes: tuple[str, ...]) -> News:
    value = reader.value()
    match value:
        case (int(origin), tuple(path), tuple(added), tuple(removed), bool(anew)):
            return News(
                _name(origin, nodes),
                tuple(_name(one, nodes) for one in path),
                _patterns(added),
                _patterns(removed),
                anew,
            )
    raise ValueRefused("its news are none")


def read_event(reader: ValueReader, nodes: tuple[str, ...], via: str, best_effort: bool = False) -> Event:
    """Its payload is still to be read."""
    type, source, ttl = reader.number(), reader.number(), reader.number()
    created = reader.value()
    if not isinstance(created, (int, float)) or isinstance(created, bool):
        raise ValueRefused("it was created at no time")
    origin = _name(reader.number(), nodes)
    boot, number = reader.number(), reader.number()
    return Event(type, source, None, created, ttl, origin, boot, number, via, best_effort)


def read_greeting(reader: ValueReader) -> tuple[str, int, int]:
    match reader.value():
        case (str(channel), int(epoch), int(answers)):
            return channel, epoch, answers
    raise ValueRefused("its greeting is none")


def read_refusal(reader: ValueReader) -> tuple[str, str]:
    match reader.value():
        case (str(channel), str(why)):
            return channel, why
    raise ValueRefused("its refusal is none")


def _name(number: object, nodes: tuple[str, ...]) -> str:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(nodes):
        raise ValueRefused(f"there is no node {number}")
    return nodes[number]


def _patterns(found: tuple[object, ...]) -> frozenset[Pattern]:
    patterns = []
    for one in found:
        match one:
            case (int(source), int(type)) if source >= 0 and type >= 0:
                patterns.append((source, type))
                continue
        raise ValueRefused(f"{one!r} is no pattern")
    return frozenset(patterns)
