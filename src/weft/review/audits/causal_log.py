"""Causal order where no vectors were recorded: the log of all nodes, in pieces side by side.

1. Every piece is looked at in whole columns (`kernels.overtaking`); what overtakes nothing is done with.
2. What crosses a cut is put together (`kernels.crossing`).  Clocks that differ are put right, and the log is looked at again.
3. Pieces that a long span goes on from tell what they do to all vectors (`kernels.stretches`); a short one is left to one task.
4. Each piece is scanned row by row, where something was overtaken, with the vectors that are true where it begins.

One task for each piece, at 1, 3 and 4; 2 is little, and so is the folding of what 3 tells: at a cut there are as many messages
as were under way then.  Where that is too much (`crossing.MOST_CELLS`), where a source sends a number twice or clocks cannot be
put right, one task scans all of it (`scan_log`), and rows wait there for sends that stand behind them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import Context
from weft.review.kernels import arrow
from weft.review.kernels.crossing import Crossed, Crossing, offsets
from weft.review.kernels.log_scan import Key, LateMessage, LogScan, Start
from weft.review.kernels.overtaking import Overtaking, Stretch
from weft.review.kernels.pieces import Array
from weft.review.kernels.stretches import StretchEffect, starts, summarise
from weft.review.spark.by_clock import LogPiece, TimedFile, cut, how_many, read_piece, timed_files
from weft.review.spark.tasks import Frame, RunPart, in_order
from weft.review.steps import RECORDED, AuditStep, StepKind
from weft.review.steps.told import TOLD, telling, told_of

PATIENCE = 5_000_000_000  # ns by which the clocks of machines may differ
AT_ONCE = (
    1 << 20
)  # rows that one task scans in a few seconds: with less, to tell effects first costs more than it gains
LOOK = ("is_send", "federate", "source", "message")
SCANNED = "federate bigint, source bigint, message bigint, after_source bigint, after bigint"
SCAN = (*LOOK, "fan_out", "epoch_ns")

Got = set[tuple[int, int, int]]


class CutLog(NamedTuple):
    """The log of all nodes, in pieces."""

    pieces: list[LogPiece]
    nodes: tuple[str, ...]


def log_of(context: Context, shifts: Mapping[str, int] | None = None) -> CutLog:
    files: dict[str, list[TimedFile]] = {}
    for part, seen in zip(context.parts, context.survey, strict=True):
        files.setdefault(part.node, []).extend(timed_files(part.files, seen.clock))
    many = how_many(sum(part.rows for part in context.parts), context.rows_per_part)
    return CutLog(cut(list(files.values()), many, shifts), tuple(sorted(files)))


def late_by_log(context: Context) -> Frame | None:
    """Late messages (`SCANNED`); None: there are none."""
    log = log_of(context)
    crossing = _looked_at(context, log)
    if crossing.is_countable and crossing.is_forward:
        right = offsets(crossing.delays(), len(log.nodes))
        if right is not None:
            log = log_of(context, dict(zip(log.nodes, right, strict=True)))
            crossing = _looked_at(context, log)
    if not crossing.is_countable or crossing.is_forward:
        return late_by_one(context)
    crossed = crossing.crossed()
    groups = crossed.groups()
    if not groups:
        return None
    together = [group for group in groups if len(group) == 1 or crossed.rows(group) <= AT_ONCE]
    apart = [group for group in groups if group not in together]
    if apart and not crossed.is_small:
        return late_by_one(context)
    each: list[tuple[list[LogPiece], list[list[Stretch]], Start | None]] = [
        ([log.pieces[piece] for piece in group], [crossed.spans[piece] for piece in group], None)
        for group in together
    ]
    begun = _begun(context, log, crossed, apart)
    each += [([log.pieces[piece]], [crossed.spans[piece]], start) for piece, start in begun.items()]
    return context.runner.each(SCAN_PIECES, each, context.orders)


def _looked_at(context: Context, log: CutLog) -> Crossing:
    looks = context.runner.each(LOOK_AT_PIECES, enumerate(log.pieces), context.orders, log.nodes)
    return Crossing(told_of(looks))


def late_by_one(context: Context) -> Frame:
    """The same, by one task that scans the whole log."""
    return context.runner.each(SCAN_WHOLE, [context.parts], context.orders)


# What pieces tell


def look_at(
    orders: tuple[str, ...], nodes: tuple[str, ...], number: int, piece: LogPiece
) -> Iterator[pa.RecordBatch]:
    look = Overtaking(len(nodes))
    for table in _rows(orders, piece):
        codes, names = arrow.words(table, "node")
        node = np.array([nodes.index(name) for name in names], np.int64)[codes]
        columns = [arrow.numbers(table, name) for name in (*LOOK, "to", "at")]
        look.feed(*[*columns, node])
    yield from telling(number, look.report())


def _rows(orders: tuple[str, ...], piece: LogPiece) -> Iterator[pa.Table]:
    return read_piece(piece, pick.LOGGED, partial(pick.logged, orders))


def _begun(context: Context, log: CutLog, crossed: Crossed, groups: Sequence[range]) -> dict[int, Start]:
    """What is known where each piece of these groups begins."""
    each: list[tuple[object, ...]] = []
    for group in groups:
        for piece in group[:-1]:
            wanted = {key for later in group if later > piece for key in crossed.asked[later]}
            about = (crossed.processes, _asked(crossed, group, piece), sorted(wanted))
            each.append((log.pieces[piece], piece, crossed.spans[piece], about))
    if not each:
        return {}
    told: list[tuple[int, StretchEffect, Got]]
    told = told_of(context.runner.each(TELL_EFFECTS, each, context.orders))
    effects = {piece: effect for piece, effect, _ in told}
    got = {piece: here for piece, _, here in told}
    begun: dict[int, Start] = {}
    for group in groups:
        asked = [_asked(crossed, group, piece) for piece in group]
        known = starts(crossed.processes, [effects[piece] for piece in group[:-1]], asked)
        before: Got = set()
        for piece, keys, start in zip(group, map(set, asked), known, strict=True):
            begun[piece] = start._replace(got={one for one in before if one[1:] in keys})
            before |= crossed.got[piece] | got.get(piece, set())
    return begun


def _asked(crossed: Crossed, group: range, piece: int) -> tuple[Key, ...]:
    return crossed.asked[piece] if piece > group[0] else ()


def tell_effect(
    orders: tuple[str, ...],
    piece: LogPiece,
    number: int,
    spans: list[Stretch],
    about: tuple[list[int], Sequence[Key], Sequence[Key]],
) -> Iterator[pa.RecordBatch]:
    """What the piece does to all vectors, and who got here which of the messages that are wanted later."""
    processes, asked, wanted = about
    got: Got = set()

    def rows() -> Iterator[list[Array]]:
        keys = set(wanted)
        for table in _cut_out(_rows(orders, piece), spans):
            columns = [arrow.numbers(table, name) for name in SCAN]
            delivered = zip(*(column[~columns[0]].tolist() for column in columns[1:4]), strict=True)
            got.update(one for one in delivered if one[1:] in keys)
            yield columns

    effect = summarise(processes, asked, wanted, rows())
    yield from telling(number, (number, effect, got))


def judge(
    orders: tuple[str, ...], pieces: list[LogPiece], spans: list[list[Stretch]], start: Start | None
) -> Iterator[pa.RecordBatch]:
    """What is late in these spans of pieces that follow one another."""
    tables = (_cut_out(_rows(orders, *one), those) for *one, those in zip(pieces, spans, strict=True))
    return scan(itertools.chain.from_iterable(tables), 0, start)


def _cut_out(tables: Iterator[pa.Table], stretches: list[Stretch]) -> Iterator[pa.Table]:
    """Only rows at these places."""
    begins, ends = np.array(stretches, np.int64).reshape(-1, 2).T
    first = 0
    for table in tables:
        places = first + np.arange(len(table))
        first += len(table)
        number = np.searchsorted(begins, places, side="right") - 1
        inside = (number >= 0) & (places <= ends[np.maximum(number, 0)])
        if inside.any():
            yield pick.filtered(table, inside)


# All of it in one task


def scan_log(orders: tuple[str, ...], parts: list[RunPart]) -> Iterator[pa.RecordBatch]:
    """Everything in one task, in the order of the clock; what stands before its send waits for it."""
    alone = len({part.node for part in parts}) == 1  # one node's log is in the order of causes
    log = in_order(parts, pick.LOGGED, partial(pick.logged, orders))
    return scan(log, 0 if alone else PATIENCE)


def scan(
    batches: Iterator[pa.RecordBatch], patience: int, start: Start | None = None
) -> Iterator[pa.RecordBatch]:
    log = LogScan(patience, start)
    for batch in batches:
        yield _late_batch(log.feed(*(arrow.numbers(batch, name) for name in SCAN)))
    yield _late_batch(log.end())


def _late_batch(late: list[LateMessage]) -> pa.RecordBatch:
    return arrow.made_of_rows([message._asdict() for message in late], arrow.schema_of(SCANNED))


LOOK_AT_PIECES = AuditStep(
    "look", StepKind.PIECES, "what was overtaken, and what crosses the cuts", (RECORDED,), look_at, TOLD, pick.LOGGED,
    when="something was delivered without a vector; a second time where clocks have to be put right",
)  # fmt: skip
CROSS = AuditStep(
    "crossing", StepKind.FOLD, "what is to be scanned, and what is delivered behind the cut that it was sent before", ("look",),
    Crossing.crossed,
)  # fmt: skip
TELL_EFFECTS = AuditStep(
    "effects", StepKind.PIECES, "what a piece does to all vectors", (RECORDED, "crossing"), tell_effect, TOLD, pick.LOGGED,
    when=f"what was overtaken across cuts is more than {AT_ONCE:,} rows",
)  # fmt: skip
BEGIN = AuditStep(
    "starts", StepKind.FOLD, "the vectors that are true where pieces begin", ("crossing", "effects"), starts
)
SCAN_PIECES = AuditStep(
    "scan", StepKind.SCAN, "what is late where something was overtaken", (RECORDED, "crossing", "starts"), judge, SCANNED,
    pick.LOGGED, when="something was overtaken",
)  # fmt: skip
SCAN_WHOLE = AuditStep(
    "scan all", StepKind.FOLD, "what is late, in one task, in which rows wait for sends that stand behind them",
    (RECORDED, "crossing"), scan_log, SCANNED, pick.LOGGED,
    when="clocks cannot be put right, a source sends a number twice, or more than is bounded crosses a cut",
)  # fmt: skip
STEPS = (LOOK_AT_PIECES, CROSS, TELL_EFFECTS, BEGIN, SCAN_PIECES, SCAN_WHOLE)
