"""Deliveries: every reliable message exactly once to everybody it was sent to, as it was sent, across crashes and resumes.

Nearly always nearly all is well, so first the sums of what was sent and of what was delivered are compared, for blocks of
messages of one source: no row crosses the network for that.  Only blocks whose sums differ are looked at message by message
(`judging`), all rows of a message in one task.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.audits import pick
from weft.review.audits.context import NUMBER, Context, Result
from weft.review.audits.control import WISHES, control
from weft.review.audits.judging import DUPLICATE, FOUND, KEY, LOST, TWICE, UNSENT, Known, judge_batches
from weft.review.audits.near import ROWS_NEAR, rows_in
from weft.review.kernels import arrow
from weft.review.kernels import sums as kernel
from weft.review.kernels.pieces import Array, by_value
from weft.review.spark.tasks import Frame, RunPart, read_part
from weft.review.steps import RECORDED, TIME, AuditStep, AuditSteps, StepKind

SUMS = "what int, source bigint, key bigint, count bigint, sum bigint"
SUMMED = (
    "kind", "source", "message", "federate", "destinations", "order", "class", "items", "seq", "transport",
)  # fmt: skip
BLOCK, REACHED, SENT, SPAN, AGAIN = 0, 1, 2, 3, 4
"""`key` is a block; a federate that got messages in an order (`sum`) up to `count`; nothing, the source sent up to `count`;
the first message of a source in this part, `count` the last; a block in which a number came twice."""
ORDERS = ("RO", "CO", "CT")
MINE = (LOST, DUPLICATE, UNSENT, TWICE)


def audit(context: Context) -> Result:
    counted_before = "deliveries" in context.__dict__
    deliveries = Deliveries.of(context)
    if not deliveries.blocks:
        if not context.has("send", "deliver"):
            return Result(0, [], idle="nothing was sent or delivered")
        idle = "what was sent and what was delivered add up, as counted before for another audit"
        return Result(0, [], idle=idle if counted_before else "")
    schema = FOUND.format(time=context.time_type)
    found = context.runner.then(MISDELIVERED, deliveries.found, MINE)
    return context.result(context.trusted(found, schema), schema, ("what", *KEY))


def of_kind(what: tuple[str, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pick.filtered(batch, arrow.is_one_of(batch, "what", *what))


class Deliveries:
    """What was sent to whom and what was delivered, of the blocks in which they differ; made once for all audits."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.blocks, self.reached, self._sent = _summed(context)
        if context.after_leaving:
            self.blocks = sorted({*self.blocks, *context.after_leaving})

    @classmethod
    def of(cls, context: Context) -> Deliveries:
        made: Deliveries | None = context.__dict__.get("deliveries")
        if made is None:
            made = context.__dict__["deliveries"] = cls(context)
        return made

    @cached_property
    def known(self) -> Known:
        context = self.context
        at_crashed = (one.federate for one in context.members.values() if one.node in context.crashed)
        return Known(
            context.members,
            context.excused,
            context.untold,
            context.crashed,
            self.reached,
            {federate: self._sent.get(federate, 0) for federate in at_crashed},
            arrow.packed(control(context).toArrow()),
            context.time_type,
            context.order_column == NUMBER,
            context.joined_before,
        )

    @cached_property
    def found(self) -> Frame:
        """All that is wrong with messages, as rows; those whose name begins with a question mark are for other audits."""
        rows = rows_in(self.context, self.blocks)
        return self.context.runner.then(WRONG, rows, self.known, False).persist()


# Sums


def _summed(
    context: Context,
) -> tuple[list[tuple[int, int]], dict[tuple[int, int, str], int], dict[int, int]]:
    """Blocks in which the sum over all that was sent is not that over all that was delivered, or a number was sent twice;
    how far each got; and each sent."""
    if not context.has("send", "deliver"):
        return [], {}, {}
    told = context.runner.each(SUMMED_UP, context.parts, context.opened.time_column).toArrow()
    what, source, key, count, total = (arrow.numbers(told, name) for name in told.column_names)
    blocks = what == BLOCK
    sources, keys, (counts, sums) = kernel.summed_by(
        source[blocks], key[blocks], count[blocks], total[blocks]
    )
    wrong = np.flatnonzero((counts != 0) | (sums != 0))
    found = set(zip(sources[wrong].tolist(), keys[wrong].tolist(), strict=True))
    again = what == AGAIN
    found |= set(zip(source[again].tolist(), key[again].tolist(), strict=True))
    reached: dict[tuple[int, int, str], int] = {}
    far = what == REACHED
    for one, who, most, order in zip(
        *(column[far].tolist() for column in (source, key, count, total)), strict=True
    ):
        place = (one, who, ORDERS[order])
        reached[place] = max(most, reached.get(place, 0))
    last: dict[int, int] = {}
    for one, most in zip(*(column[what == SENT].tolist() for column in (source, count)), strict=True):
        last[one] = max(most, last.get(one, 0))
    spans = what == SPAN
    found |= _overlapping(source[spans], key[spans], count[spans])
    return sorted(found), reached, last


def _overlapping(source: Array, first: Array, last: Array) -> set[tuple[int, int]]:
    """Numbers of one source that two parts have: the blocks in which they may be the same."""
    found: set[tuple[int, int]] = set()
    for one, places in by_value(source):
        order = places[np.argsort(first[places], kind="stable")]
        most = np.maximum.accumulate(last[order])
        for place in np.flatnonzero(first[order][1:] <= most[:-1]).tolist():
            begin = int(first[order[place + 1]])
            end = min(int(most[place]), int(last[order[place + 1]]))
            found |= {
                (int(one), block) for block in range(begin >> pick.BLOCK_BITS, (end >> pick.BLOCK_BITS) + 1)
            }
    return found


def sum_part(time_column: str, part: RunPart) -> Iterator[pa.RecordBatch]:
    """What was sent to whom adds to the sum of its block, what was delivered takes away: with its time, class and items."""
    schema = arrow.schema_of(SUMS)
    reached: dict[tuple[int, int, int], int] = {}
    last: dict[int, int] = {}
    spans: dict[int, tuple[int, int]] = {}
    for table in read_part(part, (*SUMMED, time_column)):
        rows = pick.by_federates(table) & arrow.present(table, "message")
        sent = pick.filtered(table, rows & arrow.is_one_of(table, "kind", "send"))
        got = pick.filtered(table, rows & arrow.is_one_of(table, "kind", "deliver"))
        to, many = arrow.lists(sent, "destinations")
        sent_keys = [np.repeat(arrow.numbers(sent, name), many) for name in ("source", "message")]
        sent_form = np.repeat(_form(sent, time_column), many)
        columns = [
            np.concatenate((one, arrow.numbers(got, name)))
            for one, name in zip((*sent_keys, to), ("source", "message", "federate"), strict=True)
        ]
        form = np.concatenate((sent_form, _form(got, time_column)))
        sign = np.repeat(np.array([1, -1]), (len(to), len(got)))
        hashed = kernel.hashed(*columns) + kernel.hashed(columns[0], columns[1], form)
        source, block, (counts, sums) = kernel.summed_by(
            columns[0], columns[1] >> pick.BLOCK_BITS, sign, hashed * sign
        )
        yield arrow.made(
            {
                "what": np.full(len(source), BLOCK),
                "source": source,
                "key": block,
                "count": counts,
                "sum": sums,
            },
            schema,
        )
        # What is in causal or total order is released in it; the callback then calls it receive order.
        came = pick.filtered(table, rows & arrow.is_one_of(table, "kind", "deliver", "release"))
        for number, order in enumerate(ORDERS):
            _reach(reached, number, pick.filtered(came, arrow.is_one_of(came, "order", order)))
        numbers = arrow.numbers(sent, "message")
        again = []
        for one, rows in by_value(arrow.numbers(sent, "source")):
            who, mine = int(one), numbers[rows]
            values, times = np.unique(mine, return_counts=True)
            before = spans.get(who, (int(mine[0]), int(mine[0]) - 1))
            doubtful = values[(times > 1) | (values <= before[1])] if len(values) else values
            again += [
                {"what": AGAIN, "source": who, "key": key}
                for key in set((doubtful >> pick.BLOCK_BITS).tolist())
            ]
            spans[who] = min(before[0], int(values[0])), max(before[1], int(values[-1]))
            last[who] = max(int(values[-1]), last.get(who, 0))
        yield arrow.made_of_rows(again, schema)
    told = [
        {"what": REACHED, "source": one, "key": who, "count": most, "sum": order}
        for (one, who, order), most in reached.items()
    ]
    told += [{"what": SENT, "source": one, "key": 0, "count": most} for one, most in last.items()]
    told += [{"what": SPAN, "source": one, "key": first, "count": end} for one, (first, end) in spans.items()]
    yield arrow.made_of_rows(told, schema)


def _form(table: pa.Table, time_column: str) -> Array:
    """A number for class, items and time of a message; the same for what was sent and for what was delivered just so."""
    items = pc.binary_join(table["items"].cast(pa.list_(pa.string())), pick.SEP)
    both = pc.binary_join_element_wise(
        pc.fill_null(table["class"].cast(pa.string()), ""), pc.fill_null(items, ""), pick.SEP
    )
    codes, texts = arrow.words(pa.table({"both": both}), "both")
    hashes = np.array([kernel.text_hash(text) for text in texts] or [0], np.int64)
    time = arrow.numbers(table, time_column)
    bits = time.view(np.int64) if time.dtype.kind == "f" else time
    return np.asarray(
        hashes[codes] + kernel.hashed(bits, arrow.present(table, time_column), np.zeros(len(bits)))
    )


def _reach(reached: dict[tuple[int, int, int], int], order_number: int, got: pa.Table) -> None:
    source, who, number = (arrow.numbers(got, name) for name in ("source", "federate", "message"))
    order = np.lexsort((number, who, source))
    last = np.flatnonzero(
        np.append((source[order][1:] != source[order][:-1]) | (who[order][1:] != who[order][:-1]), True)
    )
    for place in order[last].tolist() if len(order) else ():
        key = int(source[place]), int(who[place]), order_number
        reached[key] = max(int(number[place]), reached.get(key, 0))


SUMMED_UP = AuditStep(
    "sums", StepKind.MAP, "sums over what was sent and what was delivered, block by block; how far each got", (RECORDED,),
    sum_part, SUMS, (*SUMMED, TIME), when="something was sent or delivered",
)  # fmt: skip
WRONG = AuditStep(
    "wrong deliveries", StepKind.KEYED, "what is wrong with messages, one by one", ("near", "sums", "wishes"), judge_batches,
    FOUND, key=("source", "message"), when="sums of a block differ",
)  # fmt: skip
MISDELIVERED = AuditStep(
    "misdelivered", StepKind.MAP, "of that what is about deliveries", ("wrong deliveries",), of_kind, FOUND
)
STEPS = AuditSteps(
    "delivery", "did every reliable message reach everybody it was sent to, once?",
    (SUMMED_UP, WISHES, ROWS_NEAR, WRONG, MISDELIVERED),
)  # fmt: skip
