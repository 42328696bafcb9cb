"""A first look at a run: who took part, which kinds of rows there are, from when to when.

What the audits have to ask is known after one pass over a few columns; what is not there, they need not look for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from weft.recorder import BY_RESTORE
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array, by_value
from weft.review.spark.tasks import RunPart, read_part
from weft.review.steps import RECORDED, TIME, AuditStep, AuditSteps, StepKind, StepRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RTI = 0  # the number of the RTI itself, as a source or federate
ACTING = ("join", "send", "deliver", "request", "grant", "resign", "lost")  # rows at a federate's own node
OF_THE_RECORDER = ("start", "stop", "restart", "dropped")
"""Kinds of rows of the recorder itself: their time is when they were written, which may be after that of rows behind them."""
COLUMNS = (
    "kind", "service", "seq", "federate", "source", "message", "order", "class", "epoch_ns", "command",
    "mono_ns", "vector", "link",
)  # fmt: skip
BLOCK_BITS = 8
CLOCK_BITS, CLOCK_EACH = 6, 4096  # messages by which clocks are compared, see `clock_samples`
CONSTRAINED = "time_constrained_enabled"
ADVANCED = ("time_advance_grant", "flush_queue_grant")


@dataclass
class MemberStay:
    """Of a federate, as far as a part tells; places are numbers of rows at its node."""

    left: bool = False  # it resigned or was lost
    granted: float | None = None  # its greatest grant
    left_at: int | None = None
    asked_at: int | None = None  # where it was last seen to advance: it asks, or is granted
    asked_ns: int | None = None  # and when
    constrained: bool = False  # was it ever?
    last: tuple[int, int, int] | None = None
    """Its last delivery: place, source and block."""
    sent_before: int = 0
    """Its last message before the recording began, if it was joined then: of those there are no sends."""

    def joined(self, later: MemberStay) -> MemberStay:
        known = [time for time in (self.granted, later.granted) if time is not None]
        asked = self if later.asked_at is None else later
        return MemberStay(
            self.left or later.left,
            max(known, default=None),
            later.left_at if self.left_at is None else self.left_at,
            asked.asked_at,
            asked.asked_ns,
            self.constrained or later.constrained,
            later.last or self.last,
            max(self.sent_before, later.sent_before),
        )


@dataclass
class Seen:
    """Of one part."""

    node: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    members: dict[int, MemberStay] = field(default_factory=dict)
    gone: list[tuple[int, int, int]] = field(default_factory=list)
    """Who left, the number of the command by which it did, and when the row was written."""
    after_leaving: list[tuple[int, int]] = field(default_factory=list)
    """Source and block of messages that somebody got after it had left."""
    stamped: Counter[str] = field(default_factory=Counter)
    """Rows with vectors, by order."""
    unstamped: Counter[str] = field(default_factory=Counter)
    """Deliveries without, by order."""
    classes: list[str] = field(default_factory=list)
    """Of sends."""
    sent: tuple[int, int] | None = None
    """Wall clock of the first and the last send."""
    commands: tuple[int, int] | None = None
    """Number of the last command at the first and at the last send."""
    unnumbered: int = 0
    """Rows without."""
    mono: tuple[int, int] = (0, 0)
    sent_at: dict[str, int] = field(default_factory=dict)
    arrived_at: dict[str, int] = field(default_factory=dict)
    """Of some messages ("source message") the wall clock when they were sent here, or arrived here."""
    restored: bool = False
    """Did a restore end the run at this node, in this part?"""
    joined_before: int | None = None
    """The number of the last federate that had joined when the node began to record; None: it began in another part."""
    offset: tuple[float, int] = (0.0, 0)
    """Sum of the differences of the two clocks, and how many."""
    clock: list[tuple[int, int] | None] = field(default_factory=list)
    """Of each of the part's files the least and the greatest wall clock; None: it has no rows but the recorder's own."""


def survey(session: SparkSession | None, parts: list[RunPart], time_column: str) -> list[Seen]:
    """Of every part, in their order."""
    each = ((number, part, time_column) for number, part in enumerate(parts))
    found = StepRunner(session, arrow.time_type(time_column)).each(LOOK, each).toArrow().to_pylist()
    return [_read(row["seen"]) for row in sorted(found, key=lambda row: row["number"])]


def look(number: int, part: RunPart, time_column: str) -> Iterator[pa.RecordBatch]:
    seen = Seen(part.node)
    spans: list[tuple[int, int]] = []
    # How many rows the row groups of a cut file have is known when they are read.
    is_cut = any(file.cut is not None for file in part.files)
    for piece in [RunPart(part.node, (file,)) for file in part.files] if is_cut else [part]:
        epochs: list[Array] = [np.empty(0, np.int64)]
        own: list[Array] = [np.empty(0, bool)]
        for table in read_part(piece, (*COLUMNS, time_column)):
            if len(table):
                _add(seen, table, time_column)
                mono = arrow.numbers(table, "mono_ns")
                spans.append((int(mono.min()), int(mono.max())))
                epochs.append(arrow.numbers(table, "epoch_ns"))
                own.append(arrow.is_one_of(table, "kind", *OF_THE_RECORDER))
        seen.clock += _clock_of(piece, np.concatenate(epochs), np.concatenate(own))
    if spans:
        seen.mono = min(first for first, _ in spans), max(last for _, last in spans)
    schema = pa.schema([("number", pa.int32()), ("seen", pa.string())])
    yield arrow.made_of_rows([{"number": number, "seen": json.dumps(seen.__dict__, default=vars)}], schema)


def _clock_of(part: RunPart, epoch: Array, own: Array) -> list[tuple[int, int] | None]:
    ends = np.cumsum([file.rows for file in part.files])[:-1]
    files = (one[~recorder] for one, recorder in zip(np.split(epoch, ends), np.split(own, ends), strict=True))
    return [(int(one.min()), int(one.max())) if len(one) else None for one in files]


def _read(text: str) -> Seen:
    told = json.loads(text)
    for name in ("kinds", "stamped", "unstamped"):
        told[name] = Counter(told[name])
    told["members"] = {int(name): MemberStay(**value) for name, value in told["members"].items()}
    return Seen(**told)


def _add(seen: Seen, table: pa.Table, time_column: str) -> None:
    _count(seen.kinds, table, "kind", np.ones(len(table), bool))
    _add_members(seen, table, time_column)
    left = arrow.is_one_of(table, "kind", "resign", "lost") & arrow.present(table, "command")
    columns = (arrow.numbers(table, name)[left].tolist() for name in ("federate", "command", "epoch_ns"))
    seen.gone += zip(*columns, strict=True)
    by_federates = arrow.numbers(table, "source") != RTI
    stamped = arrow.present(table, "vector")
    delivered = arrow.is_one_of(table, "kind", "deliver")
    released = arrow.is_one_of(table, "kind", "release")
    _count(seen.stamped, table, "order", (delivered | released) & by_federates & stamped)
    _count(seen.unstamped, table, "order", delivered & by_federates & ~stamped)
    seen.unnumbered += int(table["command"].null_count)
    sends = arrow.is_one_of(table, "kind", "send") & by_federates
    if sends.any():
        seen.sent = _span(seen.sent, arrow.numbers(table, "epoch_ns")[sends])
        seen.commands = _span(seen.commands, arrow.numbers(table, "command")[sends])
        codes, classes = arrow.words(table, "class")
        there = np.unique(codes[sends])
        seen.classes = sorted({*seen.classes, *(classes[code] for code in there if code >= 0)})
    _sample_clock(seen, table)
    stops = arrow.is_one_of(table, "kind", "stop")
    seen.restored |= bool((stops & arrow.is_one_of(table, "service", BY_RESTORE)).any())
    starts = arrow.numbers(table, "source")[arrow.is_one_of(table, "kind", "start")]
    if len(starts):
        first = int(starts.min())
        seen.joined_before = first if seen.joined_before is None else min(first, seen.joined_before)
    told = arrow.is_one_of(table, "kind", "start", "join", "grant")
    difference = (arrow.numbers(table, "epoch_ns") - arrow.numbers(table, "mono_ns"))[told]
    seen.offset = seen.offset[0] + float(difference.sum(dtype=np.float64)), seen.offset[1] + len(difference)


def _span(before: tuple[int, int] | None, more: Array) -> tuple[int, int]:
    first, last = int(more.min()), int(more.max())
    return (first, last) if before is None else (min(first, before[0]), max(last, before[1]))


def _sample_clock(seen: Seen, table: pa.Table) -> None:
    """The same messages at all nodes, so that what was sent here is found where it arrived."""
    source, message, epoch = (arrow.numbers(table, name) for name in ("source", "message", "epoch_ns"))
    chosen = (source != RTI) & (message > 0) & clock_samples(message)
    for kind, found in (("send", seen.sent_at), ("arrive", seen.arrived_at)):
        for row in np.flatnonzero(chosen & arrow.is_one_of(table, "kind", kind)).tolist():
            found.setdefault(f"{source[row]} {message[row]}", int(epoch[row]))


def clock_samples(message: Array) -> Array:
    """By their numbers alone, 64 of those up to 64, and of those up to each doubling of that; and one of 4096: so the ends of a
    run of whatever length are among them, and not very many."""
    doublings = np.maximum(np.frexp(message.astype(np.float64))[1] - 1 - CLOCK_BITS, 0)
    rest = message & ((1 << doublings.astype(np.int64)) - 1)
    chosen: Array = (rest == 0) | (message % CLOCK_EACH == 0)
    return chosen


def _count(counts: Counter[str], table: pa.Table, name: str, rows: Array) -> None:
    codes, words = arrow.words(table, name)
    for word, count in zip(words, np.bincount(codes[rows & (codes >= 0)], minlength=len(words)), strict=True):
        if count:
            counts[word] += int(count)


def _add_members(seen: Seen, table: pa.Table, time_column: str) -> None:
    federate, time, seq, epoch = (
        arrow.numbers(table, name) for name in ("federate", time_column, "seq", "epoch_ns")
    )
    leaves = arrow.is_one_of(table, "kind", "resign", "lost") & ~arrow.present(table, "link")
    granted = arrow.is_one_of(table, "kind", "grant") & arrow.present(table, time_column)
    # Until it is granted it is handed what comes, so a grant says as much as a request.
    asked = (arrow.is_one_of(table, "kind", "request") & arrow.present(table, time_column)) | (
        granted & arrow.is_one_of(table, "service", *ADVANCED)
    )
    constrained = granted & arrow.is_one_of(table, "service", CONSTRAINED)
    delivered = arrow.is_one_of(table, "kind", "deliver") & (arrow.numbers(table, "source") != RTI)
    source, message = arrow.numbers(table, "source"), arrow.numbers(table, "message")
    block = message >> BLOCK_BITS
    joins = arrow.is_one_of(table, "kind", "join")
    acting = arrow.is_one_of(table, "kind", *ACTING) & (federate != RTI)
    rows = np.flatnonzero(acting)
    for who, places in by_value(federate[rows]):
        inside = rows[places]
        gone, times = inside[leaves[inside]], time[inside[granted[inside]]]
        requests, got = inside[asked[inside]], inside[delivered[inside]]
        stay = MemberStay(
            bool(len(gone)),
            times.max().item() if len(times) else None,
            int(seq[gone[0]]) if len(gone) else None,
            int(seq[requests[-1]]) if len(requests) else None,
            int(epoch[requests[-1]]) if len(requests) else None,
            bool(constrained[inside].any()),
            (int(seq[got[-1]]), int(source[got[-1]]), int(block[got[-1]])) if len(got) else None,
            int(message[inside[joins[inside]]].max(initial=0)),
        )
        stay = seen.members.get(int(who), MemberStay()).joined(stay)
        seen.members[int(who)] = stay
        if stay.left_at is not None:
            late = got[seq[got] > stay.left_at]
            seen.after_leaving += sorted(set(zip(source[late].tolist(), block[late].tolist(), strict=True)))


LOOK = AuditStep(
    "survey", StepKind.MAP, "who took part, which kinds of rows there are, from when to when", (RECORDED,), look,
    "number int, seen string", (*COLUMNS, TIME),
)  # fmt: skip
STEPS = AuditSteps("survey", "what is there to be asked?", (LOOK,))
