"""Logical time: deliveries in time stamp order, none in the past, none lost; grants as asked for, and not above the LBTS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

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
from weft.review.kernels.pieces import by_value
from weft.review.spark.tasks import RunPart, Work, read_part, spread
from weft.review.steps import LOOKAHEAD, RECORDED, TIME, AuditStep, AuditSteps, StepKind

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
        return Result(0, [], idle="nothing was granted or delivered")
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
    """Every part is judged with what was before it at its node, which is a few rows of each federate."""
    time, columns = context.time_type, _columns(context)
    works: list[Work] = []
    if context.has("grant"):
        works = [partial(fitted, FOUND.format(time=time), work) for work in grants.works_of(context)]
    parts = context.parts_with("grant", "deliver", "request")
    before = zip(parts, _before(context, parts), strict=True)
    return works + context.runner.works(IN_ORDER, before, time, columns)


def fitted(schema: str, work: Work) -> Iterator[pa.RecordBatch]:
    """What another work finds, with the columns of the schema."""
    wanted = arrow.schema_of(schema)
    for batch in work():
        yield arrow.fitted(batch, wanted, unsure=np.zeros(len(batch), bool))


def _before(context: Context, parts: list[RunPart]) -> list[bytes]:
    """For each part the rows that say what was before it."""
    several = {part.node for part in parts if sum(one.node == part.node for one in parts) > 1}
    if not several:
        return [b""] * len(parts)
    time, columns = context.time_type, _columns(context)
    each = ((number, time, columns, part) for number, part in enumerate(parts))
    told = context.runner.each(TAILS, each).toArrow()
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
    schema = arrow.schema_of(STEPPED.format(time=time))
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


TAILS = AuditStep(
    "tails", StepKind.MAP, "the few rows of each federate that say what was before the next part", (RECORDED,), tail_part,
    f"number bigint, {STEPPED}", (*ORDERED, TIME, LOOKAHEAD), when="a node has several parts",
)  # fmt: skip
IN_ORDER = AuditStep(
    "in order", StepKind.MAP, "time stamp order, grants as asked for, promises kept", (RECORDED, "tails"), judge_part, FOUND,
    (*ORDERED, TIME, LOOKAHEAD),
)  # fmt: skip
OF_MESSAGES = AuditStep(
    "of messages", StepKind.MAP, "of what is wrong with deliveries, what is about logical time", ("wrong deliveries",),
    of_messages, FOUND, when="there is such a thing",
)  # fmt: skip
STEPS = AuditSteps(
    "time", "are deliveries in time stamp order, and grants as asked for and not above the LBTS?",
    (TAILS, IN_ORDER, *grants.STEPS, SUMMED_UP, WISHES, ROWS_NEAR, WRONG, OF_MESSAGES),
)  # fmt: skip
