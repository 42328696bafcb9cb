"""What one pass over a part tells of its traffic: who joined, who sent what to whom, what was declared, what is left to ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.kernel.node.service_table import SERVICES
from weft.review.advice.listening import COLUMNS as CHANGE_COLUMNS
from weft.review.advice.listening import KINDS as CHANGES
from weft.review.advice.orders import ClassTraffic
from weft.review.advice.replay import KINDS as REPLAYED
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array
from weft.review.kernels.records import RecordedRow
from weft.review.spark.tasks import RunPart, read_part
from weft.review.steps import RECORDED, AuditStep, StepKind
from weft.review.steps.told import TOLD, telling

BY_CHANNELS = ("update_attribute_values", "send_interaction", "send_interaction_with_regions")
"""Services whose messages go by channels, unless their order says otherwise."""
COMMANDS = frozenset(name for name, service in SERVICES.items() if service.control)
COLUMNS = tuple(dict.fromkeys((
    *CHANGE_COLUMNS, "mono_ns", "source", "cause", "order", "transport", "destinations", "payload_bytes", "control_bytes",
    "operation",
)))  # fmt: skip
MOST_MOVES = (
    1 << 14
)  # regions of updates may move with every message: of so many, those in use are asked for afterwards
WORDS = ("node", "kind", "service", "name", "class")

Receivers = tuple[int, ...]


@dataclass
class PartTraffic:
    """Of one part."""

    node: str
    federates: set[int] = field(default_factory=set)
    """Who joined."""
    sent: Counter[Receivers] = field(default_factory=Counter)
    """Messages by those who were to get them."""
    commands: int = 0
    """Calls that change what all nodes know."""
    classes: dict[str, ClassTraffic] = field(default_factory=dict)
    changes: list[RecordedRow] = field(default_factory=list)
    """Joins, declarations and so on, and moves of regions, unless there are many."""
    declared: set[int] = field(default_factory=set)
    """Regions that were declared with."""
    is_moving: bool = False
    """Did regions move so often that it is not told how?"""
    steps: tuple[int, int] | None = None
    """Monotonic clock of the first and the last step of an operation."""
    missed: Counter[str] = field(default_factory=Counter)
    """Deadlines that the node said were missed, by operation."""
    is_caused: bool = False
    """Is there a message or an operation with a cause?"""
    is_held: bool = False


def rows_of(part: RunPart, columns: Iterable[str], until: int | None) -> Iterator[pa.Table]:
    """`until`: of what happened up to then what a replay knows."""
    if until is None:
        yield from read_part(part, tuple(columns))
        return
    wanted = dict.fromkeys((*columns, "epoch_ns", "kind", "service", "source", "class", "destinations"))
    for table in read_part(part, tuple(wanted)):
        sends = arrow.is_one_of(table, "kind", "send")
        known = by_channels(table) & (arrow.numbers(table, "source") > 0)
        known &= arrow.present(table, "destinations") & arrow.present(table, "class")
        rows = arrow.is_one_of(table, "kind", *REPLAYED) & (~sends | known)
        yield arrow.filtered(table, rows & (arrow.numbers(table, "epoch_ns") <= until))


def by_channels(table: pa.Table) -> Array:
    return arrow.fits(table, "service", BY_CHANNELS.__contains__, True)


def see(until: int | None, number: int, part: RunPart) -> Iterator[pa.RecordBatch]:
    seen = PartTraffic(part.node)
    for table in rows_of(part, COLUMNS, until):
        if len(table):
            _add_changes(seen, table)
            _add_sends(seen, arrow.filtered(table, arrow.is_one_of(table, "kind", "send")))
            _add_steps(seen, table)
    yield from telling(number, seen)


# Changes


def _add_changes(seen: PartTraffic, table: pa.Table) -> None:
    calls = arrow.is_one_of(table, "kind", "call") & arrow.is_one_of(table, "service", *COMMANDS)
    changes = arrow.is_one_of(table, "kind", *CHANGES)
    seen.commands += int((calls | changes).sum())
    joins = arrow.is_one_of(table, "kind", "join")
    seen.federates |= set(arrow.numbers(table, "federate")[joins].tolist())
    moves = arrow.is_one_of(table, "kind", "region")
    declared = arrow.is_one_of(table, "kind", "declare") & arrow.present(table, "region")
    seen.declared |= set(arrow.numbers(table, "region")[declared].tolist())
    told = sum(row["kind"] == "region" for row in seen.changes)
    seen.is_moving |= told + int(moves.sum()) > MOST_MOVES
    if seen.is_moving:
        changes &= ~moves
        seen.changes = [row for row in seen.changes if row["kind"] != "region"]
    seen.changes += change_rows(table, changes)


def change_rows(table: pa.Table, rows: Array) -> list[RecordedRow]:
    chosen: list[RecordedRow] = arrow.filtered(table.select(CHANGE_COLUMNS), rows).to_pylist()
    return chosen


def tell_moves(
    regions: frozenset[int], until: int | None, number: int, part: RunPart
) -> Iterator[pa.RecordBatch]:
    """Where they are many: of the regions that somebody subscribed with."""
    found: list[RecordedRow] = []
    for table in rows_of(part, CHANGE_COLUMNS, until):
        moves = arrow.is_one_of(table, "kind", "region")
        moves &= np.isin(arrow.numbers(table, "region", -1), list(regions))
        found += change_rows(table, moves)
    yield from telling(number, found)


# Sends


def _add_sends(seen: PartTraffic, sends: pa.Table) -> None:
    if not len(sends):
        return
    masks, federates = receivers(sends)
    known = arrow.present(sends, "destinations")
    groups = masks.dictionary_encode()
    which = np.asarray(groups.indices)
    to = [members(mask, federates) for mask in groups.dictionary.to_pylist()]
    for one, count in zip(to, np.bincount(which[known], minlength=len(to)).tolist(), strict=True):
        if count:
            seen.sent[one] += count
    named = arrow.present(sends, "class") & (arrow.numbers(sends, "source") > 0)
    seen.is_caused |= bool((named & (arrow.numbers(sends, "cause") > 0)).any())
    codes, names = arrow.words(sends, "class")
    for code, name in enumerate(names):
        rows = np.flatnonzero(named & (codes == code))
        if len(rows):
            mine = seen.classes.setdefault(name, ClassTraffic(name))
            mine.add(
                _class_traffic(name, arrow.taken(sends, rows), [to[at] for at in np.unique(which[rows])])
            )


def _class_traffic(name: str, sends: pa.Table, to: list[Receivers]) -> ClassTraffic:
    found = ClassTraffic(name)
    codes, orders = arrow.words(sends, "order")
    control = arrow.numbers(sends, "control_bytes")
    for code, order in enumerate([*orders, "RO"]):  # an older row may name none
        rows = codes == (code if code < len(orders) else -1)
        if rows.any():
            found.orders[order] = found.orders.get(order, 0) + int(rows.sum())
            found.control[order] = found.control.get(order, 0) + int(control[rows].sum())
    found.payload = int(arrow.numbers(sends, "payload_bytes").sum())
    found.reliable = bool(arrow.fits(sends, "transport", "reliable".__eq__, True).all())
    found.sources = set(np.unique(arrow.numbers(sends, "source")).tolist())
    found.destinations = {who for one in to for who in one}
    return found


def receivers(table: pa.Table) -> tuple[pa.Array, list[int]]:
    """Of each row those who are to get it, as bits in bytes, and whom the bits stand for."""
    who, many = arrow.lists(table, "destinations")
    federates, place = np.unique(who, return_inverse=True)
    width = max(1, (len(federates) + 7) // 8)
    bits = np.zeros((len(table), width), np.uint8)
    np.bitwise_or.at(
        bits, (np.repeat(np.arange(len(table)), many), place >> 3), (1 << (place & 7)).astype(np.uint8)
    )
    made = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(table), [None, pa.py_buffer(bits)])
    return made, federates.tolist()


def members(mask: bytes, federates: list[int]) -> Receivers:
    bits = np.unpackbits(np.frombuffer(mask, np.uint8), count=len(federates), bitorder="little")
    return tuple(federates[place] for place in np.flatnonzero(bits))


# What else is to be asked


def _add_steps(seen: PartTraffic, table: pa.Table) -> None:
    named = arrow.fits(table, "operation", bool)
    steps = arrow.is_one_of(table, "kind", "dispatch", "done") & named
    misses = arrow.filtered(table, arrow.is_one_of(table, "kind", "miss") & named)
    seen.missed.update(misses["operation"].to_pylist())
    seen.is_held |= bool(arrow.is_one_of(table, "kind", "hold").any())
    if steps.any():
        mono = arrow.numbers(table, "mono_ns")[steps]
        first, last = int(mono.min()), int(mono.max())
        known = seen.steps or (first, last)
        seen.steps = min(first, known[0]), max(last, known[1])
        begun = steps & arrow.is_one_of(table, "kind", "dispatch")
        seen.is_caused |= bool((begun & arrow.present(table, "cause")).any())


SEEN = AuditStep(
    "traffic", StepKind.MAP, "who sent what to whom, and what was declared, in each part", (RECORDED,), see, TOLD, COLUMNS
)  # fmt: skip
MOVES = AuditStep(
    "moves", StepKind.MAP, "how the regions moved that somebody subscribed with", (RECORDED, "traffic"), tell_moves, TOLD,
    CHANGE_COLUMNS, when="regions moved often",
)  # fmt: skip
