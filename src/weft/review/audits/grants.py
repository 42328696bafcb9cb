"""Grants against what others have promised: none above the LBTS.  In the order of all nodes' clock.

The log is cut by the clock (`spark.by_clock`).  Each piece tells what it changes: what each federate promises at its end, what it
promised at the last commands, and who is constrained; of each what was last said counts, so pieces put together are what is
known where the next begins (`kernels.timing.Promised`).  Then pieces are judged side by side: their grants, with the changes up
to `slack` behind the piece, since a grant is compared with what others had said by the latest time that it can have been.

A life of a node ends with a row for each of its federates, after which nobody knows what they promised.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.host.recording.files import arrow_schema
from weft.model.json_types import JsonObject
from weft.review.audits import pick
from weft.review.audits.context import Context, Leaving
from weft.review.audits.survey import OF_THE_RECORDER
from weft.review.kernels import arrow
from weft.review.kernels import timing as kernel
from weft.review.kernels.pieces import Array
from weft.review.kernels.timing import NOTHING_PROMISED, Gone, Promised
from weft.review.spark.by_clock import (
    FIRST,
    LAST,
    LogPiece,
    NodeRows,
    TimedFile,
    cut,
    how_many,
    read_node,
    timed_files,
    within,
)
from weft.review.spark.tasks import RunPart, Work, lives_of, merged, read_part, rising
from weft.review.steps import LOOKAHEAD, RECORDED, TIME, AuditStep, StepKind
from weft.review.steps.told import TOLD, telling, told_of

EARLY_GRANT = "grant above LBTS"
FLUSH = "flush_queue_grant"
GRANTS = ("time_advance_grant", FLUSH)
CONSTRAINED, NOT_CONSTRAINED = "time_constrained_enabled", "disable_time_constrained"
STEPPED = ("node", "kind", "service", "seq", "federate", "epoch_ns", "command")
FOUND = "what string, federate bigint, node string, seq bigint, time {time}, bound {time}, by bigint"
BEFORE = "command bigint, at bigint"


class Clocks(NamedTuple):
    """What order rows of different nodes are in."""

    home: str
    """The node that is the federation's home; empty: not known."""
    slack: int
    """By how much the clocks of nodes may differ, ns."""


class LifeEnd(NamedTuple):
    """Of what a process of a node wrote: behind its last row."""

    node: str
    at: int
    federates: tuple[int, ...]


class GrantLog(NamedTuple):
    """What tasks that judge grants have to know."""

    pieces: list[LogPiece]
    ends: tuple[LifeEnd, ...]
    nodes: tuple[str, ...]
    clocks: Clocks
    columns: tuple[str, str]
    time: str
    """The type of logical time, in Spark's words."""

    def piece(self, number: int) -> GrantLog:
        """Only what that one needs."""
        one = self.pieces[number]
        reach = _later(one.end, self.clocks.slack)
        ends = tuple(end for end in self.ends if one.begin <= end.at < reach)
        return self._replace(pieces=[one], ends=ends)


def works_of(context: Context) -> list[Work]:
    """Works that find grants above the LBTS; of a run that is no small one, pieces have been summarised before."""
    log = log_of(context)
    left = _left_since(context)
    many = len(log.pieces)
    each = ((number, log.piece(number)) for number in range(many - 1))
    told: list[Promised] = told_of(context.runner.each(TELL_PROMISED, each)) if many > 1 else []
    begun = beginnings(told)
    pieces = ((log.piece(number), left, start) for number, start in enumerate(begun))
    return context.runner.works(JUDGE, pieces)


def beginnings(told: Sequence[Promised]) -> list[Promised]:
    """What is known where each piece begins, by what those before it tell."""
    return list(itertools.accumulate(told, lambda before, then: then.after(before), initial=NOTHING_PROMISED))


def log_of(context: Context) -> GrantLog:
    lives: dict[str, list[TimedFile]] = {}
    federates: dict[str, set[int]] = {}
    for part, seen in zip(context.parts, context.survey, strict=True):
        spans = dict(zip(part.files, seen.clock, strict=True))
        for life in lives_of([part]):
            name = f"{life.node}/{life.files[0].life}"
            lives.setdefault(name, []).extend(timed_files(life.files, [spans[file] for file in life.files]))
            federates.setdefault(name, set()).update(seen.members)
    ends = tuple(
        LifeEnd(files[0].file.node, max(one.last for one in files) + 1, tuple(sorted(federates[name])))
        for name, files in lives.items()
        if files
    )
    many = how_many(sum(part.rows for part in context.parts), context.rows_per_part)
    clocks = Clocks(context.home, context.grant_slack)
    pieces = cut(list(lives.values()), many, reach=clocks.slack)
    columns = context.opened.time_column, context.opened.lookahead_column
    return GrantLog(pieces, ends, tuple(context.nodes), clocks, columns, context.time_type)


def tell_promised(number: int, log: GrantLog) -> Iterator[pa.RecordBatch]:
    """What the piece changes."""
    (piece,) = log.pieces
    streams = [_ends(log, piece.end), *(_changes(log, node, piece.end) for node in piece.nodes)]
    judging = GrantJudge(log.time, {}, log.nodes)
    for table in merged(streams):
        judging.feed(table)
    yield from telling(number, judging.promised())


def judge(log: GrantLog, gone: Gone, start: Promised) -> Iterator[pa.RecordBatch]:
    """Grants of a piece that are above the LBTS."""
    (piece,) = log.pieces
    slack, names = log.clocks.slack, (*STEPPED, *log.columns)
    until = _later(piece.end, slack)
    streams = [_ends(log, until)]
    for node in piece.nodes:
        if not slack:
            both = read_node(node, names, partial(_changes_and_checks, log.columns, log.clocks))
            streams.append(within(both, piece.begin, piece.end))
            continue
        streams.append(_changes(log, node, until))
        for own in compared(slack):
            later = 0 if own == kernel.OWN_NODE else slack
            checks = read_node(node, names, partial(checks_of, log.columns, log.clocks, own), later)
            streams.append(within(checks, _later(piece.begin, later), _later(piece.end, later)))
    judging = GrantJudge(log.time, gone, log.nodes, start)
    for table in merged(streams):
        yield judging.feed(table)


def _later(at: int, slack: int) -> int:
    return at if at in (FIRST, LAST) else at + slack


def _changes(log: GrantLog, node: NodeRows, until: int) -> Iterator[pa.Table]:
    names = (*STEPPED, *log.columns)
    return within(read_node(node, names, partial(changes_of, log.columns)), log.pieces[0].begin, until)


def _changes_and_checks(columns: tuple[str, str], clocks: Clocks, table: pa.Table) -> pa.Table:
    """Where all clocks are one, files are read once for both."""
    both = pa.concat_tables([changes_of(columns, table), checks_of(columns, clocks, 0, table)])
    return both.take(np.lexsort((arrow.numbers(both, "late", False), arrow.numbers(both, "seq"))))


def _ends(log: GrantLog, until: int) -> Iterator[pa.Table]:
    """After the last row of a life nobody knows what its federates promised: a crash takes the last second of rows with it."""
    rows = [
        ends_unknown(end.node, end.at) | {"federate": federate}
        for end in sorted(log.ends, key=lambda end: end.at)
        if end.at < until
        for federate in end.federates
    ]
    if rows:
        schema = changes_of(log.columns, arrow_schema(with_node=True).empty_table()).schema
        yield from rising(iter([pa.Table.from_pylist(rows, schema=schema)]))


def _left_since(context: Context) -> dict[int, kernel.Departed]:
    """Who left, and since when a grant may rest on that: not before what the home did before with an earlier number."""
    gone: Mapping[int, Leaving] = context.gone
    numbers = sorted({one.command for one in gone.values()})
    home = [part for part in context.parts if part.node == context.home] if numbers else []
    last: dict[int, int] = dict.fromkeys(numbers, 0)
    told = context.runner.each(LAST_BEFORE, home, numbers).toArrow().to_pylist() if home else []
    for row in told:
        last[row["command"]] = max(last[row["command"]], row["at"])
    return {
        who: kernel.Departed(one.command, max(one.told - kernel.NEAR, last[one.command]))
        for who, one in gone.items()
    }


def last_before(numbers: Sequence[int], part: RunPart) -> Iterator[pa.RecordBatch]:
    """When the node did something last before each of these commands."""
    wanted = np.array(numbers, np.int64)
    for table in read_part(part, ("kind", "command", "epoch_ns"), _numbered):
        command, epoch = (arrow.numbers(table, name) for name in ("command", "epoch_ns"))
        order = np.searchsorted(np.maximum.accumulate(command), wanted)
        before = np.maximum.accumulate(np.append(0, epoch))[order]
        yield arrow.made({"command": wanted, "at": before}, arrow.schema_of(BEFORE))


def compared(slack: int) -> tuple[int, ...]:
    """Whom each grant is compared with, by one row each: where clocks differ, federates of its own node by the order of rows."""
    return (kernel.OWN_NODE, kernel.OTHER_NODES) if slack else (0,)


def _numbered(table: pa.Table) -> pa.Table:
    """What happened in the federation: rows of the recorder itself may go by another clock."""
    own = arrow.is_one_of(table, "kind", *OF_THE_RECORDER)
    return pick.filtered(table, arrow.present(table, "command") & ~own)


def ends_unknown(node: str, at: int) -> JsonObject:
    """A change by which nobody knows any more what a federate promises."""
    unknown: JsonObject = {"leaves": True, "turn": 0, "is_check": False, "late": False, "own": 0}
    return {"node": node, "seq": 0, "at": at, "command": kernel.UNNUMBERED, **unknown}


def changes_of(columns: tuple[str, str], table: pa.Table) -> pa.Table:
    """Rows that change what a federate promises, or whether it is constrained.

    What happened in the same nanosecond (a node has one time for all that one call leads to) speaks for the grant.
    Who leaves is known by the number of a command (`Context.gone`); the clock tells it only where rows have none.
    """
    leaves = arrow.is_one_of(table, "kind", "resign", "lost") & ~arrow.present(table, "command")
    turns = arrow.is_one_of(table, "service", CONSTRAINED, NOT_CONSTRAINED)
    # With another lookahead nobody knows what is promised until the next request or grant.
    unknown = arrow.is_one_of(table, "service", "modify_lookahead", "disable_time_regulation")
    asked = arrow.is_one_of(table, "kind", "request", "grant") & arrow.present(table, columns[0])
    return _stepped(columns, table, asked | leaves | turns | unknown, leaves)


def checks_of(columns: tuple[str, str], clocks: Clocks, own: int, table: pa.Table) -> pa.Table:
    """Grants that are to be compared with what others promise; whom of these with: `own`."""
    grants = arrow.is_one_of(table, "kind", "grant") & arrow.present(table, columns[0])
    grants &= arrow.fits(table, "service", (*GRANTS, "").__contains__, True)
    found = _stepped(columns, table, grants, np.zeros(len(table), bool))
    flags, at = np.ones(len(found), bool), arrow.numbers(found, "at")
    home = arrow.is_one_of(found, "node", clocks.home)
    return pick.with_columns(
        found,
        is_check=flags,
        late=flags,
        own=np.full(len(found), own),
        # At the home whatever has the number before a command was before it.
        since=np.where(home, kernel.BEFORE_ALL, at + clocks.slack),
        at=at + (0 if own == kernel.OWN_NODE else clocks.slack),
    )


def _stepped(columns: tuple[str, str], table: pa.Table, rows: Array, leaves: Array) -> pa.Table:
    time, lookahead = columns
    found = pick.filtered(table, rows)
    on, off = (arrow.is_one_of(found, "service", name) for name in (CONSTRAINED, NOT_CONSTRAINED))
    flags = np.zeros(len(found), bool)
    return pick.with_columns(
        found.select(["node", "seq", "federate"]),
        time=found[time],
        promise=pc.add(found[time], found[lookahead]),
        leaves=leaves[rows],
        turn=on.astype(np.int64) - off,
        is_check=flags,
        late=flags,
        own=np.zeros(len(found), np.int64),
        command=arrow.numbers(found, "command", kernel.UNNUMBERED),
        since=arrow.numbers(found, "epoch_ns"),
        at=arrow.numbers(found, "epoch_ns"),
    )


def check_grants(time_name: str, gone: Gone, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of rows in the order of the clock, batch by batch."""
    judging = GrantJudge(time_name, gone)
    for batch in batches:
        yield judging.feed(batch)


class GrantJudge:
    """What has been promised, and which grants are above that; fed with rows in the order of the clock."""

    def __init__(
        self, time_name: str, gone: Gone, nodes: Sequence[str] = (), start: Promised = NOTHING_PROMISED
    ) -> None:
        self._dtype = np.dtype(np.int64 if time_name == "bigint" else np.float64)
        self._schema = arrow.schema_of(FOUND.format(time=time_name))
        self._promises = kernel.Promises(self._dtype, gone, start)
        self._constrained = dict(start.constrained)
        self._nodes = {name: number for number, name in enumerate(nodes)}
        self._told: set[tuple[str, int]] = set()

    def promised(self) -> Promised:
        return self._promises.promised(self._constrained)

    def feed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        steps = _steps_of(batch, self._dtype, self._nodes)
        turn = arrow.numbers(batch, "turn")
        turning = np.flatnonzero((turn != 0) & ~steps.is_check)
        turns = [(int(place), int(steps.federate[place]), bool(turn[place] > 0)) for place in turning]
        rows: list[JsonObject] = []
        for place, bound, by in self._promises.feed(steps):
            while turns and turns[0][0] < place:
                self._turn(*turns.pop(0))
            row = batch.slice(place, 1).to_pylist()[0]
            key = (row["node"], row["seq"])
            if self._constrained.get(row["federate"]) and key not in self._told:
                self._told.add(key)
                found: JsonObject = {"what": EARLY_GRANT, "bound": bound.item(), "by": by}
                rows.append(found | {name: row[name] for name in ("federate", "node", "seq", "time")})
        for rest in turns:
            self._turn(*rest)
        return arrow.made_of_rows(rows, self._schema)

    def _turn(self, place: int, federate: int, on: bool) -> None:
        self._constrained[federate] = on


def _steps_of(batch: pa.RecordBatch, dtype: np.dtype[np.generic], nodes: dict[str, int]) -> kernel.GrantSteps:
    """As columns; `nodes` are numbered as they come."""
    codes, names = arrow.words(batch, "node")
    return kernel.GrantSteps(
        arrow.numbers(batch, "federate"),
        arrow.numbers(batch, "promise").astype(dtype),
        arrow.present(batch, "promise") & ~arrow.numbers(batch, "leaves", False),
        arrow.numbers(batch, "is_check", False),
        arrow.numbers(batch, "time").astype(dtype),
        arrow.numbers(batch, "command", kernel.UNNUMBERED),
        arrow.numbers(batch, "since"),
        np.array([nodes.setdefault(name, len(nodes)) for name in names], np.int64)[codes],
        arrow.numbers(batch, "own"),
    )


TELL_PROMISED = AuditStep(
    "promises", StepKind.PIECES, "what each federate promises at the end of a piece", (RECORDED,), tell_promised, TOLD,
    (*STEPPED, TIME, LOOKAHEAD), when="something was granted, and the run is no small one",
)  # fmt: skip
BEGIN = AuditStep("begun", StepKind.FOLD, "what is promised where pieces begin", ("promises",), beginnings)
LAST_BEFORE = AuditStep(
    "home", StepKind.MAP, "when the home can have carried out that somebody left", (RECORDED,), last_before, BEFORE,
    ("kind", "command", "epoch_ns"), when="somebody left",
)  # fmt: skip
JUDGE = AuditStep(
    "grants", StepKind.SCAN, "grants above the LBTS", (RECORDED, "begun", "home"), judge, FOUND, (*STEPPED, TIME, LOOKAHEAD),
    when="something was granted",
)  # fmt: skip
STEPS = (TELL_PROMISED, BEGIN, LAST_BEFORE, JUDGE)
