"""A first look at a run: who took part, which kinds of rows there are, from when to when.

What the audits have to ask is known after one pass over a few columns; what is not there, they need not look for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.kernels.pieces import Array, by_value
from weft.review.tasks import Part, read_part, spread

RTI = 0  # the number of the RTI itself, as a source or federate
ACTING = ("join", "send", "deliver", "request", "grant", "resign", "lost")  # rows at a federate's own node
COLUMNS = ("kind", "federate", "source", "order", "class", "epoch_ns", "mono_ns", "vector")


@dataclass
class Seen:
    """Of one part."""

    node: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    members: dict[int, tuple[bool, Any]] = field(default_factory=dict)
    """By federate: has it left, and its greatest grant."""
    stamped: Counter[str] = field(default_factory=Counter)
    """Rows with vectors, by order."""
    unstamped: Counter[str] = field(default_factory=Counter)
    """Deliveries without, by order."""
    classes: list[str] = field(default_factory=list)
    """Of sends."""
    sent: tuple[int, int] | None = None
    """Wall clock of the first and the last send."""
    mono: tuple[int, int] = (0, 0)
    offset: tuple[float, int] = (0.0, 0)
    """Sum of the differences of the two clocks, and how many."""


def survey(session: Any, parts: list[Part], time_column: str) -> list[Seen]:
    """Of every part, in their order."""
    works = [partial(look, number, part, time_column) for number, part in enumerate(parts)]
    found = spread(session, works, "number int, seen string").collect()
    return [_read(row.seen) for row in sorted(found, key=lambda row: row.number)]


def look(number: int, part: Part, time_column: str) -> Iterator[Any]:
    import pyarrow as pa

    seen = Seen(part.node)
    spans: list[tuple[int, int]] = []
    for table in read_part(part, (*COLUMNS, time_column)):
        if len(table):
            _add(seen, table, time_column)
            mono = arrow.numbers(table, "mono_ns")
            spans.append((int(mono.min()), int(mono.max())))
    if spans:
        seen.mono = min(first for first, _ in spans), max(last for _, last in spans)
    schema = pa.schema([("number", pa.int32()), ("seen", pa.string())])
    yield arrow.made_of_rows([{"number": number, "seen": json.dumps(seen.__dict__)}], schema)


def _read(text: str) -> Seen:
    told = json.loads(text)
    for name in ("kinds", "stamped", "unstamped"):
        told[name] = Counter(told[name])
    told["members"] = {int(name): tuple(value) for name, value in told["members"].items()}
    return Seen(**told)


def _add(seen: Seen, table: Any, time_column: str) -> None:
    kinds, names = arrow.words(table, "kind")
    for kind, count in zip(names, np.bincount(kinds[kinds >= 0], minlength=len(names)), strict=True):
        seen.kinds[kind] += int(count)
    _add_members(seen, table, time_column)
    by_federates = arrow.numbers(table, "source") != RTI
    stamped = arrow.present(table, "vector")
    delivered = arrow.is_one_of(table, "kind", "deliver")
    released = arrow.is_one_of(table, "kind", "release")
    _count_orders(seen.stamped, table, (delivered | released) & by_federates & stamped)
    _count_orders(seen.unstamped, table, delivered & by_federates & ~stamped)
    sends = arrow.is_one_of(table, "kind", "send") & by_federates
    if sends.any():
        epoch = arrow.numbers(table, "epoch_ns")[sends]
        first, last = int(epoch.min()), int(epoch.max())
        seen.sent = (min(first, seen.sent[0]), max(last, seen.sent[1])) if seen.sent else (first, last)
        codes, classes = arrow.words(table, "class")
        there = np.unique(codes[sends])
        seen.classes = sorted({*seen.classes, *(classes[code] for code in there if code >= 0)})
    told = arrow.is_one_of(table, "kind", "start", "join", "grant")
    difference = (arrow.numbers(table, "epoch_ns") - arrow.numbers(table, "mono_ns"))[told]
    seen.offset = seen.offset[0] + float(difference.sum(dtype=np.float64)), seen.offset[1] + len(difference)


def _count_orders(counts: Counter[str], table: Any, rows: Array) -> None:
    orders, names = arrow.words(table, "order")
    for order, count in zip(
        names, np.bincount(orders[rows & (orders >= 0)], minlength=len(names)), strict=True
    ):
        if count:
            counts[order] += int(count)


def _add_members(seen: Seen, table: Any, time_column: str) -> None:
    federate, time = arrow.numbers(table, "federate"), arrow.numbers(table, time_column)
    leaves = arrow.is_one_of(table, "kind", "resign", "lost")
    granted = arrow.is_one_of(table, "kind", "grant") & arrow.present(table, time_column)
    acting = arrow.is_one_of(table, "kind", *ACTING) & (federate != RTI)
    for who in np.unique(federate[acting]).tolist():
        seen.members.setdefault(who, (False, None))
    rows = np.flatnonzero(acting & (leaves | granted))
    for who, places in by_value(federate[rows]):
        inside = rows[places]
        times = time[inside[granted[inside]]]
        left, most = seen.members[int(who)]
        if len(times):
            greatest = times.max().item()
            most = greatest if most is None else max(most, greatest)
        seen.members[int(who)] = left or bool(leaves[inside].any()), most
