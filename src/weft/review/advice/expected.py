"""What traffic is expected, before the first run (S1-16): from a table of messages, or from who publishes and subscribes what.

    traffic       from, to, messages           the table of a run, a guess, or a measurement; a pair twice is added up
    latency       from, to, milliseconds       the way there and back is alike; where both are given the slower counts
    placement     server, publishes, class, messages     … of that class, in the same time for all
                  server, subscribes, class

Commas between, one row to a line; # begins a comment, and a line of these words may head the table.  A subscription to a class
takes what is published of the classes below it, too.  All that is wrong is told with file and line.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from weft.fabric.domains_file import NAME
from weft.fom import ObjectModel
from weft.model.errors import DomainsError
from weft.model.records import Source

Pair = tuple[str, str]


class ExpectedRow(NamedTuple):
    place: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """Servers in the order in which they were first named."""

    servers: tuple[str, ...]
    messages: Mapping[Pair, int]


def rows_of(source: Source, heads: tuple[tuple[str, ...], ...]) -> Iterator[ExpectedRow]:
    """`heads`: the words of a row, for each form that it may have."""
    try:
        text = source.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = source.data.count(b"\n", 0, error.start) + 1
        raise DomainsError("this is not UTF-8 text", f"{source.name}:{at}") from None
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        cells = tuple(cell.strip() for cell in said.split(","))
        if not said or tuple(cell.lower() for cell in cells) in heads:
            continue
        place = f"{source.name}:{number}"
        if len(cells) not in {len(head) for head in heads}:
            wanted = " or ".join(", ".join(head) for head in heads)
            raise DomainsError(f"a row is {wanted}, not {said!r}", place)
        yield ExpectedRow(place, cells)


def _server(row: ExpectedRow, name: str, known: Collection[str]) -> str:
    if not NAME.fullmatch(name):
        raise DomainsError(
            f"{name!r} cannot be the name of a server: letters, digits, '_', '.' and '-' only", row.place
        )
    if known and name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise DomainsError(f"there is no server {name!r} in the domains file{hint}", row.place)
    return name


def _number(row: ExpectedRow, text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise DomainsError(f"{what} must be a number of at least 0, not {text!r}", row.place)
    return value


def read_traffic(source: Source, known: Collection[str] = ()) -> Expected:
    """`known`: the servers there are, if a domains file says so."""
    found: dict[Pair, int] = {}
    servers: dict[str, None] = dict.fromkeys(known)
    for row in rows_of(source, (("from", "to", "messages"),)):
        one, other = (_server(row, name, known) for name in row.cells[:2])
        servers[one] = servers[other] = None
        count = round(_number(row, row.cells[2], "the number of messages"))
        if one != other:
            found[one, other] = found.get((one, other), 0) + count
    if len(servers) < 1:
        raise DomainsError("there is no row in this table; write, say: S1, S2, 100", source.name)
    return Expected(tuple(servers), found)


def read_latency(source: Source, known: Collection[str]) -> dict[Pair, float]:
    """Milliseconds; a server that nobody sends to is a slip."""
    found: dict[Pair, float] = {}
    for row in rows_of(source, (("from", "to", "milliseconds"),)):
        one, other = row.cells[:2]
        for name in (one, other):
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise DomainsError(f"there is no server {name!r} in the traffic{hint}", row.place)
        found[one, other] = _number(row, row.cells[2], "the latency")
    return found


_PLACED = (("server", "publishes", "class", "messages"), ("server", "subscribes", "class"))


def read_placement(source: Source, model: ObjectModel, known: Collection[str] = ()) -> Expected:
    """Each message of a published class goes to every other server that subscribes it or a class above it."""
    classes = {*model.object_classes, *model.interaction_classes}
    published: list[tuple[str, str, int]] = []
    subscribed: dict[str, dict[str, None]] = {}
    servers: dict[str, None] = dict.fromkeys(known)
    for row in rows_of(source, _PLACED):
        server, verb, name = _server(row, row.cells[0], known), row.cells[1].lower(), row.cells[2]
        servers[server] = None
        if name not in classes:
            short = [one for one in classes if one.rpartition(".")[2] == name.rpartition(".")[2]]
            near = sorted(short) or get_close_matches(name, classes, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise DomainsError(f"there is no class {name!r} in the object model{hint}", row.place)
        if verb == "publishes" and len(row.cells) == 4:
            count = round(_number(row, row.cells[3], "the number of messages"))
            published.append((server, name, count))
        elif verb == "subscribes" and len(row.cells) == 3:
            subscribed.setdefault(name, {})[server] = None
        else:
            wanted = " or ".join(", ".join(head) for head in _PLACED)
            raise DomainsError(f"a row is {wanted}, not {', '.join(row.cells)!r}", row.place)
    if not servers:
        raise DomainsError(
            "there is no row in this table; write, say: S1, publishes, HLAobjectRoot.Tug, 100", source.name
        )
    return Expected(tuple(servers), _by_interest(published, subscribed))


def _by_interest(
    published: list[tuple[str, str, int]], subscribed: Mapping[str, Collection[str]]
) -> dict[Pair, int]:
    found: dict[Pair, int] = {}
    for server, name, count in published:
        takers: dict[str, None] = {}
        above = name
        while above:
            takers.update(dict.fromkeys(subscribed.get(above, ())))
            above = above.rpartition(".")[0]
        for other in takers:
            if other != server:
                found[server, other] = found.get((server, other), 0) + count
    return found
