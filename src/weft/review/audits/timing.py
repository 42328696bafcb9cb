"""Logical time: deliveries in time stamp order, none in the past, none lost; grants as asked for, and not above the LBTS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.model.json_types import JsonObject
from weft.review.audits import grants, pick
from weft.review.audits.context import Context, Result
from weft.review.audits.control import WISHES
from weft.review.audits.delivery import SUMMED_UP, WRONG, Deliveries
from weft.review.audits.judging import AFTER_RESIGNATION, LOST, OTHER_TIME
from weft.review.audits.near import ROWS_NEAR
from weft.review.kernels import arrow, steps
from weft.review.kernels import timing as kernel
from weft.review.kernels.pieces import Array, by_value
from weft.review.spark.tasks import RunPart, Work, read_part, spread
from weft.review.steps import LOOKAHEAD, RECORDED, TIME, AuditStep, AuditSteps, StepKind
from weft.review.steps.told import TOLD, telling, told_of

JUDGED = ("grant", "deliver", "request")
MOST_HEAD = 1 << 14  # rows that a part hands on to be judged with what was before it
REGULATING = "time_regulation_enabled"
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
STEPPED = "node string, seq bigint, federate bigint, source bigint, message bigint, code bigint, time {time}, lookahead {time}"


def audit(context: Context) -> Result:
    schema = FOUND.format(time=context.time_type)
    deliveries = Deliveries.of(context)
    works = _ordered(context)
    if not works and not deliveries.blocks:
        return Result(0, [], idle="" if context.has(*JUDGED) else "nothing was granted or delivered")
    found = spread(context.session, works, schema)
    if deliveries.blocks:
        found = found.unionByName(context.runner.then(OF_MESSAGES, deliveries.found, schema))
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
    """Parts that may not be right are judged with what was before them at their node, which is a few rows of each federate."""
    time, columns = context.time_type, _columns(context)
    works: list[Work] = []
    if context.has("grant"):
        works = [partial(fitted, FOUND.format(time=time), work) for work in grants.works_of(context)]
    return works + context.runner.works(IN_ORDER, _doubtful(context), time, columns)


def fitted(schema: str, work: Work) -> Iterator[pa.RecordBatch]:
    """What another work finds, with the columns of the schema."""
    wanted = arrow.schema_of(schema)
    for batch in work():
        yield arrow.fitted(batch, wanted, unsure=np.zeros(len(batch), bool))


def _doubtful(context: Context) -> list[tuple[RunPart, bytes]]:
    """Parts that have to be looked at row by row, each with the rows that say what was before it."""
    parts = context.parts_with(*JUDGED)
    if all(sum(one.node == part.node for one in parts) == 1 for part in parts):
        return [(part, b"") for part in parts]
    time, columns = context.time_type, _columns(context)
    told: list[SettledPart] = told_of(context.runner.each(SETTLE, enumerate(parts), time, columns))
    before: dict[str, pa.Table] = {}
    made = []
    for part, settled in zip(parts, told, strict=True):
        tail = arrow.unpacked(settled.tail)
        known = before.get(part.node, tail.slice(0, 0))
        if not settled.is_right_behind(time, part.node, known):
            made.append((part, arrow.packed(known)))
        before[part.node] = tail_of(pa.concat_tables([known, tail]).combine_chunks())
    return made


class SettledPart(NamedTuple):
    """What a part tells of itself: in nearly all runs that is enough.

    Behind the first grant of a federate only one thing depends on what was before the part: the greatest time stamp that was
    handed over.
    """

    head: bytes
    """Rows of each federate up to its first grant here."""
    tail: bytes
    """Rows that say what was before the next part."""
    least: dict[int, float]
    """By federate the least time stamp handed over behind its head, until its queue was flushed."""
    wrong: bool
    """Is something wrong behind the head, or has it too many rows?"""

    def is_right_behind(self, time: str, node: str, before: pa.Table) -> bool:
        """Judged with the rows that say what was before it."""
        if self.wrong:
            return False
        whole = pa.concat_tables([before, arrow.unpacked(self.head)]).combine_chunks()
        if len(judged(time, node, whole, len(before))):
            return False
        names = ("federate", "code", "time")
        federate, code, when = (arrow.numbers(tail_of(whole), name) for name in names)
        for who, least in self.least.items():
            codes, times = code[federate == who], when[federate == who]
            since = int(np.flatnonzero(codes == kernel.FLUSH_GRANT)[-1:].sum())
            handed = times[since:][codes[since:] == kernel.DELIVER]
            if len(handed) and handed.max() > least:
                return False
        return True


def settle(time: str, columns: tuple[str, str], number: int, part: RunPart) -> Iterator[pa.RecordBatch]:
    known = arrow.schema_of(STEPPED.format(time=time)).empty_table()
    head = [known]
    least: dict[int, float] = {}
    granted: set[int] = set()
    flushed: set[int] = set()
    wrong = False
    for table in read_part(part, (*ORDERED, *columns), partial(ordered, columns)):
        mine = table.cast(known.schema)
        whole = pa.concat_tables([known, mine]).combine_chunks()
        found = judged(time, part.node, whole, len(known)).to_pylist()
        first = _up_to_grants(mine, granted)
        head.append(mine.filter(pa.array(first)))
        inside = set(
            zip(*(arrow.numbers(head[-1], name).tolist() for name in ("federate", "seq")), strict=True)
        )
        wrong |= any((row["federate"], row["seq"]) not in inside for row in found)
        _add_least(least, mine.filter(pa.array(~first)), flushed)
        known = tail_of(whole)
    heads = pa.concat_tables(head)
    if len(heads) > MOST_HEAD:
        wrong, heads = True, heads.slice(0, 0)
    yield from telling(number, SettledPart(arrow.packed(heads), arrow.packed(known), least, wrong))


def _up_to_grants(table: pa.Table, granted: set[int]) -> Array:
    """Rows up to the first grant of each federate that has not been granted anything yet; who is granted joins these."""
    federate, code = arrow.numbers(table, "federate"), arrow.numbers(table, "code")
    rows = np.zeros(len(table), bool)
    for who, places in by_value(federate):
        if who in granted:
            continue
        grants_here = np.flatnonzero(np.isin(code[places], (kernel.GRANT, kernel.FLUSH_GRANT)))
        rows[places[: grants_here[0] + 1] if len(grants_here) else places] = True
        granted |= {who} if len(grants_here) else set()
    return rows


def _add_least(least: dict[int, float], table: pa.Table, flushed: set[int]) -> None:
    federate, code, time = (arrow.numbers(table, name) for name in ("federate", "code", "time"))
    for who, places in by_value(federate):
        if who in flushed:
            continue
        flushes = np.flatnonzero(code[places] == kernel.FLUSH_GRANT)
        if len(flushes):
            flushed.add(who)
            places = places[: flushes[0]]
        handed = time[places][code[places] == kernel.DELIVER]
        if len(handed):
            least[who] = min(least.get(who, np.inf), handed.min().item())


def tail_of(table: pa.Table) -> pa.Table:
    return table.take(steps.tail(*(arrow.numbers(table, name) for name in ("federate", "code", "time"))))


def _columns(context: Context) -> tuple[str, str]:
    return context.opened.time_column, context.opened.lookahead_column


def ordered(columns: tuple[str, str], table: pa.Table) -> pa.Table:
    """Deliveries and sends in time stamp order, requests, grants, and what makes a promise unknown."""
    time, lookahead = columns
    timed, stamped = arrow.present(table, time), arrow.is_one_of(table, "order", "TSO")
    codes, services = arrow.words(table, "service")
    table_of = {**REQUESTS, "time_advance_grant": kernel.GRANT, grants.FLUSH: kernel.FLUSH_GRANT}
    table_of |= dict.fromkeys((grants.CONSTRAINED, REGULATING), steps.ENABLED)
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
    schema = arrow.schema_of(STEPPED.format(time=time))
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


SETTLE = AuditStep(
    "settled", StepKind.MAP, "whether a part is right by itself, and what depends on the one before it", (RECORDED,), settle,
    TOLD, (*ORDERED, TIME, LOOKAHEAD), when="a node has several parts",
)  # fmt: skip
IN_ORDER = AuditStep(
    "in order", StepKind.MAP, "time stamp order, grants as asked for, promises kept", (RECORDED, "settled"), judge_part, FOUND,
    (*ORDERED, TIME, LOOKAHEAD), when="something may be wrong, or the part is the only one of its node",
)  # fmt: skip
OF_MESSAGES = AuditStep(
    "of messages", StepKind.MAP, "of what is wrong with deliveries, what is about logical time", ("wrong deliveries",),
    of_messages, FOUND, when="there is such a thing",
)  # fmt: skip
STEPS = AuditSteps(
    "time", "are deliveries in time stamp order, and grants as asked for and not above the LBTS?",
    (SETTLE, IN_ORDER, *grants.STEPS, SUMMED_UP, WISHES, ROWS_NEAR, WRONG, OF_MESSAGES),
)  # fmt: skip
