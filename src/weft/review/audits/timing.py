"""Logical time: deliveries in time stamp order, none in the past, none lost; grants as asked for, and not above the LBTS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.model.json_types import JsonObject
from weft.review.audits import pick
from weft.review.audits.context import Context, Leaving, Result
from weft.review.audits.delivery import Deliveries
from weft.review.audits.judging import AFTER_RESIGNATION, LOST, OTHER_TIME
from weft.review.kernels import arrow, steps
from weft.review.kernels import timing as kernel
from weft.review.kernels.pieces import Array, by_value
from weft.review.spark.tasks import RunPart, Work, last_of, lives_of, merged, read_part, rising, spread

EARLY_GRANT = "grant above LBTS"
FLUSH = "flush_queue_grant"
CONSTRAINED, NOT_CONSTRAINED = "time_constrained_enabled", "disable_time_constrained"
REGULATING = "time_regulation_enabled"
GRANTS = ("time_advance_grant", FLUSH)
REQUESTS = {
    "time_advance_request": steps.ADVANCE,
    "time_advance_request_available": steps.ADVANCE,
    "next_message_request": steps.NEXT,
    "next_message_request_available": steps.NEXT,
    "flush_queue_request": steps.FLUSH,
}
REGULATES = "enable_time_regulation"
CHANGED = ("modify_lookahead", REGULATES, "disable_time_regulation")
REMOVED = "remove_object_instance"
ORDER = ("what", "federate", "seq", "source", "message")
FOUND = (
    "what string, federate bigint, node string, seq bigint, source bigint, message bigint, time {time}, bound {time}, "
    "by bigint, unsure boolean"
)
ORDERED = ("node", "kind", "order", "service", "seq", "federate", "source", "message")
STEPS = "node string, seq bigint, federate bigint, source bigint, message bigint, code bigint, time {time}, lookahead {time}"
STEPPED = ("node", "kind", "service", "seq", "federate", "epoch_ns", "command")


def audit(context: Context) -> Result:
    schema = FOUND.format(time=context.time_type)
    deliveries = Deliveries.of(context)
    works = _ordered(context)
    if not works and not deliveries.blocks:
        return Result(0, [], idle="nothing was granted or delivered")
    found = spread(context.session, works, schema)
    if deliveries.blocks:
        found = found.unionByName(deliveries.found.mapInArrow(partial(of_messages, schema), schema))
    return context.result(context.trusted(found, schema), schema, ORDER)


def of_messages(schema: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of what was found wrong with messages, what is about logical time."""
    wanted = arrow.schema_of(schema)
    for batch in batches:
        rows = arrow.is_one_of(batch, "what", LOST) & arrow.is_one_of(batch, "order", "TSO")
        rows |= arrow.is_one_of(batch, "what", OTHER_TIME, AFTER_RESIGNATION)
        yield arrow.fitted(pick.filtered(batch, rows), wanted)


# Federate by federate


def _ordered(context: Context) -> list[Work]:
    """Every part is judged with what was before it at its node, which is a few rows of each federate."""
    time, columns = context.time_type, _columns(context)
    works: list[Work] = []
    if context.has("grant"):
        clocks = Clocks(context.home, context.grant_slack)
        works.append(partial(early_grants, time, clocks, columns, context.gone, context.parts))
    parts = context.parts_with("grant", "deliver", "request")
    before = zip(parts, _before(context, parts), strict=True)
    return works + [partial(judge_part, time, columns, part, known) for part, known in before]


def _before(context: Context, parts: list[RunPart]) -> list[bytes]:
    """For each part the rows that say what was before it."""
    several = {part.node for part in parts if sum(one.node == part.node for one in parts) > 1}
    if not several:
        return [b""] * len(parts)
    time, columns = context.time_type, _columns(context)
    schema = f"number bigint, {STEPS.format(time=time)}"
    works = [partial(tail_part, number, time, columns, part) for number, part in enumerate(parts)]
    told = spread(context.session, works, schema).toArrow()
    numbers = arrow.numbers(told, "number")
    tails: dict[str, pa.Table] = {}
    made = []
    for number, part in enumerate(parts):
        known = tails.get(part.node)
        made.append(b"" if known is None else arrow.packed(known))
        own = told.filter(pa.array(numbers == number)).drop_columns(["number"])
        tails[part.node] = tail_of(own if known is None else pa.concat_tables([known, own]))
    return made


def tail_part(number: int, time: str, columns: tuple[str, str], part: RunPart) -> Iterator[pa.RecordBatch]:
    schema = arrow.schema_of(STEPS.format(time=time))
    known = schema.empty_table()
    for table in read_part(part, (*ORDERED, *columns), partial(ordered, columns)):
        known = tail_of(pa.concat_tables([known, table.cast(schema)]))
    numbered = known.add_column(0, "number", pa.array(np.full(len(known), number)))
    yield from numbered.to_batches()


def tail_of(table: pa.Table) -> pa.Table:
    return table.take(steps.tail(*(arrow.numbers(table, name) for name in ("federate", "code", "time"))))


def _columns(context: Context) -> tuple[str, str]:
    return context.opened.time_column, context.opened.lookahead_column


def ordered(columns: tuple[str, str], table: pa.Table) -> pa.Table:
    """Deliveries and sends in time stamp order, requests, grants, and what makes a promise unknown."""
    time, lookahead = columns
    timed, stamped = arrow.present(table, time), arrow.is_one_of(table, "order", "TSO")
    codes, services = arrow.words(table, "service")
    table_of = {**REQUESTS, "time_advance_grant": kernel.GRANT, FLUSH: kernel.FLUSH_GRANT}
    table_of |= dict.fromkeys((CONSTRAINED, REGULATING), steps.ENABLED)
    code = np.array([*(table_of.get(name, -1) for name in services), -1])[codes]
    asked = arrow.is_one_of(table, "kind", "request", "grant") & timed
    code = np.where(asked & (code < 0) & arrow.is_one_of(table, "kind", "grant"), kernel.GRANT, code)
    code = np.where(asked, code, -1)
    code[arrow.is_one_of(table, "service", *CHANGED)] = steps.UNKNOWN
    code[arrow.is_one_of(table, "service", REGULATES) & arrow.is_one_of(table, "kind", "request")] = (
        steps.REGULATES
    )
    code[arrow.is_one_of(table, "kind", "callback") & arrow.is_one_of(table, "service", REMOVED)] = (
        steps.REMOVE
    )
    code[arrow.is_one_of(table, "kind", "deliver") & stamped & timed] = kernel.DELIVER
    code[arrow.is_one_of(table, "kind", "send") & stamped & timed & pick.by_federates(table)] = steps.SEND
    found = pick.filtered(table, code >= 0)
    made = {name: found[name] for name in ("seq", "federate", "source", "message")}
    node = found["node"].cast(pa.string())
    return pa.table(
        {"node": node, **made, "code": code[code >= 0], "time": found[time], "lookahead": found[lookahead]}
    )


def judge_part(time: str, columns: tuple[str, str], part: RunPart, before: bytes) -> Iterator[pa.RecordBatch]:
    """What is wrong with the steps of a federate, piece by piece, each behind what was before it."""
    schema = arrow.schema_of(STEPS.format(time=time))
    known = arrow.unpacked(before) if before else schema.empty_table()
    for table in read_part(part, (*ORDERED, *columns), partial(ordered, columns)):
        mine = table.cast(schema)
        whole = pa.concat_tables([known, mine]).combine_chunks()
        yield judged(time, part.node, whole, len(known))
        known = tail_of(whole)


def judged(time_name: str, node: str, table: pa.Table, before: int) -> pa.RecordBatch:
    """Of rows in order; those in front only say what was before."""
    names = ("federate", "seq", "source", "message", "code")
    federate, seq, source, message, code = (arrow.numbers(table, name) for name in names)
    time, lookahead = arrow.numbers(table, "time"), arrow.numbers(table, "lookahead")
    told = arrow.present(table, "lookahead")
    rows: list[JsonObject] = []
    for who, places in by_value(federate):
        plain = places[np.isin(code[places], (kernel.DELIVER, kernel.GRANT, kernel.FLUSH_GRANT))]
        found = [
            one._replace(place=int(plain[one.place])) for one in kernel.check_order(code[plain], time[plain])
        ]
        stepwise = steps.check_steps(code[places], time[places], lookahead[places], told[places])
        found += [one._replace(place=int(places[one.place])) for one in stepwise]
        for place, what, bound in found:
            if place >= before:
                is_message = code[place] in (kernel.DELIVER, steps.SEND)
                rows.append(
                    {
                        "what": what, "seq": int(seq[place]), "time": time[place].item(), "bound": bound.item(),
                        "source": int(source[place]) if is_message else None,
                        "message": int(message[place]) if is_message else None,
                        "node": node, "federate": int(who), "unsure": False,
                    }
                )  # fmt: skip
    return arrow.made_of_rows(rows, arrow.schema_of(FOUND.format(time=time_name)))


# Grants


class Clocks(NamedTuple):
    """What order rows of different nodes are in."""

    home: str
    """The node that is the federation's home; empty: not known."""
    slack: int
    """By how much the clocks of nodes may differ, ns."""


def early_grants(
    time: str, clocks: Clocks, columns: tuple[str, str], gone: Mapping[int, Leaving], parts: list[RunPart]
) -> Iterator[pa.RecordBatch]:
    """All requests and grants in one task, in the order of the clock; there are few beside the messages."""
    schema = arrow.schema_of(FOUND.format(time=time))
    names = (*STEPPED, *columns)
    streams = []
    for life in lives_of(parts):
        changes = read_part(life, names, partial(changes_of, columns))
        streams.append(rising(_to_its_end(life, changes)))
        checks = [partial(checks_of, columns, clocks, own) for own in compared(clocks.slack)]
        streams += [rising(read_part(life, names, check)) for check in checks]
    left = _left_since([part for part in parts if part.node == clocks.home], gone)
    for batch in check_grants(time, left, merged(streams)):
        yield arrow.made_of_rows([row | {"unsure": False} for row in batch.to_pylist()], schema)


def compared(slack: int) -> tuple[int, ...]:
    """Whom each grant is compared with, by one row each: where clocks differ, federates of its own node by the order of rows."""
    return (kernel.OWN_NODE, kernel.OTHER_NODES) if slack else (0,)


def _left_since(home: Sequence[RunPart], gone: Mapping[int, Leaving]) -> dict[int, kernel.Departed]:
    """Who left, and since when a grant may rest on that: not before what the home did before with an earlier number."""
    numbers = np.array(sorted({one.command for one in gone.values()}), np.int64)
    last = np.zeros(len(numbers), np.int64)
    for part in home if len(numbers) else ():
        for table in read_part(part, ("kind", "command", "epoch_ns"), _numbered):
            command, epoch = (arrow.numbers(table, name) for name in ("command", "epoch_ns"))
            order = np.searchsorted(np.maximum.accumulate(command), numbers)
            before = np.maximum.accumulate(np.append(0, epoch))[order]
            last = np.maximum(last, before)
    known = dict(zip(numbers.tolist(), last.tolist(), strict=True))
    return {
        who: kernel.Departed(one.command, max(one.told - kernel.NEAR, known[one.command]))
        for who, one in gone.items()
    }


def _numbered(table: pa.Table) -> pa.Table:
    """What happened in the federation: rows of the recorder itself may go by another clock."""
    own = arrow.is_one_of(table, "kind", "start", "stop", "restart", "dropped")
    return pick.filtered(table, arrow.present(table, "command") & ~own)


def _to_its_end(life: RunPart, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """After the last row of a life nobody knows what its federates promised: a crash takes the last second of rows with it."""
    who: set[int] = set()
    schema = None
    for table in tables:
        schema = table.schema
        who.update(np.unique(arrow.numbers(table, "federate")).tolist())
        yield table
    if schema is not None and who:
        last = last_of(life.files[-1], "epoch_ns")
        row = ends_unknown(life.node, last + 1)
        yield pa.Table.from_pylist([row | {"federate": one} for one in sorted(who)], schema=schema)


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


def check_grants(
    time_name: str, gone: kernel.Gone, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    dtype = np.dtype(np.int64 if time_name == "bigint" else np.float64)
    schema = arrow.schema_of(
        f"what string, federate bigint, node string, seq bigint, time {time_name}, bound {time_name}, by bigint"
    )
    promises = kernel.Promises(dtype, gone)
    constrained: set[int] = set()
    nodes: dict[str, int] = {}
    told: set[tuple[str, int]] = set()
    for batch in batches:
        steps = _steps_of(batch, dtype, nodes)
        turn = arrow.numbers(batch, "turn")
        turns = [
            (int(place), int(steps.federate[place]))
            for place in np.flatnonzero((turn != 0) & ~steps.is_check)
        ]
        rows = []
        for place, bound, by in promises.feed(steps):
            while turns and turns[0][0] < place:
                _turn(constrained, turn, *turns.pop(0))
            row = batch.slice(place, 1).to_pylist()[0]
            key = (row["node"], row["seq"])
            if row["federate"] in constrained and key not in told:
                told.add(key)
                rows.append(
                    {"what": EARLY_GRANT, "bound": bound.item(), "by": by}
                    | {name: row[name] for name in ("federate", "node", "seq", "time")}
                )
        for rest in turns:
            _turn(constrained, turn, *rest)
        yield arrow.made_of_rows(rows, schema)


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


def _turn(constrained: set[int], turn: Array, place: int, federate: int) -> None:
    (constrained.add if turn[place] > 0 else constrained.discard)(federate)
