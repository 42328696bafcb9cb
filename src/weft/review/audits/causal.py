"""Causal order: did anybody get m2 before m1, although m1 happened before m2?

Messages in time stamp and in priority order are left out: they have an order of their own, which is meant to differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TypedDict

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.causal_log import LOOK as LOOK
from weft.review.audits.causal_log import PATIENCE as PATIENCE
from weft.review.audits.causal_log import SCANNED, late_by_log
from weft.review.audits.causal_log import STEPS as LOG_STEPS
from weft.review.audits.causal_log import scan as scan
from weft.review.audits.causal_log import scan_log as scan_log
from weft.review.audits.context import Context, Result
from weft.review.audits.near import ROWS_NEAR, blocks_of, rows_in
from weft.review.kernels import arrow
from weft.review.kernels import causal as kernel
from weft.review.kernels.pieces import Array, by_value, split
from weft.review.kernels.records import Violation
from weft.review.spark.tasks import Frame, RunPart, counted, read_part, spread
from weft.review.steps import RECORDED, AuditStep, AuditSteps, StepKind

LATE, CARRY, FLAGGED = "late", "carry", "flagged"
PIECES = (
    "what string, node string, federate bigint, seq bigint, last bigint, process bigint, source bigint, message bigint, "
    "after_source bigint, after bigint, most bigint, least bigint"
)
KEY = ("federate", "source", "message")
FOUND = f"{SCANNED}, class string, order string, after_class string, after_order string, unsure boolean"
MARKED = f"is_send boolean, {FOUND}"


class _Flag(TypedDict):
    """A piece with a message that comes after something delivered in an earlier piece (columns of `PIECES`)."""

    what: str
    node: str
    federate: int
    process: int
    seq: int
    last: int
    most: int
    after_source: int
    after: int


def audit(context: Context) -> Result:
    unstamped = any(seen.unstamped[order] for seen in context.survey for order in context.orders)
    both = zip(context.parts, context.survey, strict=True)
    stamped = [part for part, seen in both if any(seen.stamped[order] for order in context.orders)]
    if not unstamped and not stamped:
        return Result(
            0, [], figures={"by_order": {}}, idle=f"nothing was delivered in {', '.join(context.orders)}"
        )
    ways = (_by_vectors(context, stamped), late_by_log(context) if unstamped else None)
    late = [context.runner.then(CERTAIN, found) for found in ways if found is not None]
    if not late:
        return Result(0, [], figures={"by_order": {}})
    found = late[0] if len(late) == 1 else late[0].unionByName(late[1])
    found = context.runner.then(EACH_ONCE, found).persist()
    named = context.runner.then(ASKED, _with_orders(context, found), context.orders).persist()
    named = context.trusted(named, FOUND)
    by_order = {str(order or ""): count for (order,), count in counted(named, "order string").items()}
    return context.result(named, FOUND, KEY, {"by_order": by_order})


def certain(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What was found, with the columns of `FOUND`."""
    schema = arrow.schema_of(FOUND)
    for batch in batches:
        yield arrow.fitted(batch, schema, unsure=np.zeros(len(batch), bool))


def of_kind(what: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pick.filtered(batch, arrow.is_one_of(batch, "what", what))


def first_of_each(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Found both ways, or in several pieces: of what it came after, always the same (the least) is told."""
    rows: dict[tuple[int, int, int], Violation] = {}
    for batch in batches:
        for row in batch.to_pylist():
            key = (row["federate"], row["source"], row["message"])
            known = rows.get(key)
            if known is None or (row["after_source"], row["after"]) < (known["after_source"], known["after"]):
                rows[key] = row
    yield arrow.made_of_rows(list(rows.values()), arrow.schema_of(FOUND))


def asked(orders: tuple[str, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Those that were sent in these orders, as far as that is known."""
    for batch in batches:
        yield pick.filtered(batch, arrow.fits(batch, "order", orders.__contains__, True))


def _with_orders(context: Context, found: Frame) -> Frame:
    """Which order the late message and the one before it were sent in, and of which classes they are."""
    swapped = found.mapInArrow(partial(renamed, "after_", ""), FOUND)
    near = rows_in(context, blocks_of(found, swapped))
    rows = near.mapInArrow(partial(marked, True), MARKED).persist()
    for prefix in ("", "after_"):
        sends = rows if not prefix else rows.mapInArrow(partial(renamed, "", "after_"), MARKED)
        both = found.mapInArrow(partial(marked, False), MARKED).unionByName(sends)
        found = context.runner.then(NAMED if prefix else NAMED_BEFORE, both, prefix)
    return found


def marked(is_send: bool, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What was found; or of rows near it the sends, which have some of its columns."""
    schema = arrow.schema_of(MARKED)
    for batch in batches:
        chosen = pick.of_kinds(batch, "send") if is_send else batch
        yield arrow.fitted(chosen, schema, is_send=np.full(len(chosen), is_send))


def renamed(before: str, after: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Source, message, class and order of the one as those of the other."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        for name in ("source", "class", "order"):
            columns[after + name] = batch.column(before + name)
        columns["after" if after else "message"] = batch.column("after" if before else "message")
        yield arrow.made(columns, batch.schema)


def attach(prefix: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows of a message are here: what its send says goes to what was found of it."""
    number = "after" if prefix else "message"
    sends: dict[tuple[int, int], tuple[str, str]] = {}
    found = []
    for batch in batches:
        for row in batch.to_pylist():
            if row.pop("is_send"):
                sends[row[f"{prefix}source"], row[number]] = row[f"{prefix}class"], row[f"{prefix}order"]
            else:
                found.append(row)
    for row in found:
        row[f"{prefix}class"], row[f"{prefix}order"] = sends.get(
            (row[f"{prefix}source"], row[number]), (None, None)
        )
    yield arrow.made_of_rows(found, arrow.schema_of(FOUND))


# By the vectors that were recorded: piece by piece, then what pieces mean for those behind them


def _by_vectors(context: Context, parts: list[RunPart]) -> Frame | None:
    """None: nothing is late."""
    if not parts:
        return None
    told = context.runner.then(CARRIED, context.runner.each(BY_VECTORS, parts, context.orders)).persist()
    counts = counted(told, "what string")
    if not counts:
        return None
    found = told.mapInArrow(partial(of_kind, LATE), PIECES)
    if counts[(FLAGGED,)]:
        flags = told.mapInArrow(partial(of_kind, FLAGGED), PIECES).toArrow().to_pylist()
        found = found.unionByName(_late_by_earlier(context, flags))
    return found


def judge_part(orders: tuple[str, ...], part: RunPart) -> Iterator[pa.RecordBatch]:
    return judge_pieces(_bounded(read_part(part, pick.STAMPED, partial(pick.stamped, orders))))


def _bounded(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """So many rows at once that their vectors fit into memory as a matrix."""
    for table in tables:
        _, lengths = arrow.lists(table, "vector")
        step = max(1024, kernel.CELLS * 4 // max(1, int(lengths.max(initial=1))))
        for begin in range(0, len(table), step):
            yield table.slice(begin, step)


def fold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow, all rows of a destination together: late ones, and pieces with a message that something delivered in
    an earlier piece comes after."""
    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given)
    yield from pick.filtered(table, arrow.is_one_of(table, "what", LATE)).to_batches()
    carried = pick.filtered(table, arrow.is_one_of(table, "what", CARRY))
    if len(carried):
        yield arrow.made_of_rows(_flagged(carried), arrow.schema_of(PIECES))


def _flagged(carried: pa.Table) -> list[_Flag]:
    nodes, _ = arrow.words(carried, "node")
    columns = [arrow.numbers(carried, name) for name in ("federate", "process", "seq", "most", "least")]
    order = np.lexsort((columns[2], columns[1], columns[0], nodes))
    federate, process, _, most, least = (column[order] for column in columns)
    node = nodes[order]
    same = (node[1:] == node[:-1]) & (federate[1:] == federate[:-1]) & (process[1:] == process[:-1])
    begins = np.flatnonzero(np.concatenate(([True], ~same)))
    found = []
    for place in np.flatnonzero(kernel.greatest_before(most, begins) >= least).tolist():
        first = int(begins[np.searchsorted(begins, place, side="right") - 1])
        earlier: list[_Flag] = carried.take(order[first:place]).to_pylist()
        by = max(earlier, key=lambda row: (row["most"], row["after_source"], row["after"]))
        own: _Flag = carried.slice(int(order[place]), 1).to_pylist()[0]
        own["what"], own["most"] = FLAGGED, by["most"]
        own["after_source"], own["after"] = by["after_source"], by["after"]
        found.append(own)
    return found


def _late_by_earlier(context: Context, flags: list[_Flag]) -> Frame:
    """What is late because of something in an earlier piece; a message that is delivered again is no late one."""
    parts = [part for part in context.parts if any(flag["node"] == part.node for flag in flags)]
    each = ((part, flags) for part in parts)
    late = context.runner.each(LATE_BY_EARLIER, each, context.orders).toArrow().to_pylist()
    wanted = {tuple(row[name] for name in KEY) for row in late}
    again = context.runner.each(AGAIN, ((part, wanted) for part in context.parts), context.orders)
    first: dict[tuple[int, ...], int] = {}
    for row in again.toArrow().to_pylist():
        key = tuple(row[name] for name in KEY)
        first[key] = min(row["seq"], first.get(key, row["seq"]))
    kept = [row for row in late if first[tuple(row[name] for name in KEY)] >= row["seq"]]
    return spread(context.session, [partial(handed, kept)], PIECES)


def handed(rows: list[dict[str, object]]) -> Iterator[pa.RecordBatch]:
    yield arrow.made_of_rows(rows, arrow.schema_of(PIECES))


def late_by_earlier(orders: tuple[str, ...], part: RunPart, flags: list[_Flag]) -> Iterator[pa.RecordBatch]:
    schema = arrow.schema_of(PIECES)
    mine = [flag for flag in flags if flag["node"] == part.node]
    for table in read_part(part, pick.STAMPED, partial(pick.stamped, orders)):
        seq, federate, process = (arrow.numbers(table, name) for name in ("seq", "federate", "process"))
        own = _own(table, process)
        for flag in mine:
            rows = (federate == flag["federate"]) & (process == flag["process"])
            rows &= (seq >= flag["seq"]) & (seq <= flag["last"]) & (own <= flag["most"])
            told = {"what": LATE, "node": flag["node"], "federate": flag["federate"]}
            told |= {"after_source": flag["after_source"], "after": flag["after"]}
            chosen = pick.filtered(table.select(["seq", "source", "message"]), rows).to_pylist()
            yield arrow.made_of_rows([row | told for row in chosen], schema)


def _own(table: pa.Table, process: Array) -> Array:
    """Of each row the component of the process that stamped it."""
    names, lengths = arrow.lists(table, "vector_of")
    values, _ = arrow.lists(table, "vector")
    row = np.repeat(np.arange(len(lengths)), lengths)
    own = np.zeros(len(lengths), np.int64)
    mine = names == process[row]
    own[row[mine]] = values[mine]
    return own


def delivered_of(
    orders: tuple[str, ...], part: RunPart, wanted: set[tuple[int, int, int]]
) -> Iterator[pa.RecordBatch]:
    schema = arrow.schema_of(PIECES)
    for table in read_part(part, pick.STAMPED, partial(pick.stamped, orders)):
        keys = zip(*(arrow.numbers(table, name).tolist() for name in KEY), strict=True)
        rows = np.fromiter((key in wanted for key in keys), bool, len(table))
        chosen = pick.filtered(table.select([*KEY, "seq"]), rows).to_pylist()
        yield arrow.made_of_rows(chosen, schema)


def judge_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: rows of late deliveries, and for each piece, destination and process what is to be carried."""
    schema = arrow.schema_of(PIECES)
    for batch in batches:
        seq = arrow.numbers(batch, "seq")
        columns = {name: arrow.numbers(batch, name) for name in ("federate", "process", "source", "message")}
        nodes, names = arrow.words(batch, "node")
        for piece in split(seq):
            part = batch.slice(piece.start, piece.stop - piece.start)
            inside = {name: column[piece] for name, column in columns.items()}
            yield from _judge_piece(part, seq[piece], inside, names[nodes[piece.start]], schema)


def _judge_piece(
    part: pa.RecordBatch, seq: Array, columns: dict[str, Array], node: str, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    process, lengths = arrow.lists(part, "vector_of")
    values, _ = arrow.lists(part, "vector")
    offsets = np.cumsum(lengths) - lengths
    for federate, rows in by_value(columns["federate"]):
        inside = np.arange(lengths[rows].sum()) + np.repeat(
            offsets[rows] - (np.cumsum(lengths[rows]) - lengths[rows]), lengths[rows]
        )
        sources, stampers = columns["source"][rows], columns["process"][rows]
        processes = np.unique(np.concatenate((process[inside], stampers)))
        vectors = kernel.dense(process[inside], values[inside], lengths[rows], processes)
        places = np.searchsorted(processes, stampers)
        own = vectors[np.arange(len(rows)), places]
        late, carry = kernel.late_deliveries(places, own, vectors)
        message = columns["message"][rows]
        found = {
            "seq": seq[rows][late.places],
            "source": sources[late.places],
            "message": message[late.places],
            "after_source": sources[late.after],
            "after": message[late.after],
        }
        carried = {
            "seq": np.full(len(processes), seq[rows[0]]),
            "last": np.full(len(processes), seq[rows[-1]]),
            "process": processes,
            "most": carry.most,
            "after_source": sources[carry.by],
            "after": message[carry.by],
            "least": carry.least,
        }
        for what, told in ((LATE, found), (CARRY, carried)):
            common = {"what": what, "node": node, "federate": federate}
            many = len(told["seq"])
            if many:
                yield arrow.made({**{name: [one] * many for name, one in common.items()}, **told}, schema)


BY_VECTORS = AuditStep(
    "by vectors", StepKind.MAP, "what is late within a piece of a node's rows, and what is to be carried behind it", (RECORDED,),
    judge_part, PIECES, pick.STAMPED, when="vectors were recorded",
)  # fmt: skip
CARRIED = AuditStep(
    "carried", StepKind.KEYED, "pieces with a message that something in an earlier one comes after", ("by vectors",), fold,
    PIECES, key=("node", "federate"),
)  # fmt: skip
LATE_BY_EARLIER = AuditStep(
    "late by earlier", StepKind.MAP, "what in these pieces is late", (RECORDED, "carried"), late_by_earlier, PIECES,
    pick.STAMPED, when="there are such pieces",
)  # fmt: skip
AGAIN = AuditStep(
    "again", StepKind.MAP, "whether that was delivered before", (RECORDED, "late by earlier"), delivered_of, PIECES,
    pick.STAMPED, when="there are such pieces",
)  # fmt: skip
CERTAIN = AuditStep(
    "late",
    StepKind.MAP,
    "what is late, found either way",
    ("carried", "again", "scan", "scan all"),
    certain,
    FOUND,
)
EACH_ONCE = AuditStep(
    "each once", StepKind.KEYED, "of a late message one row", ("late",), first_of_each, FOUND, key=KEY
)
NAMED_BEFORE = AuditStep(
    "sent", StepKind.KEYED, "with class and order, as its send says", ("near", "each once"), attach, FOUND,
    key=("source", "message"), when="something is late",
)  # fmt: skip
NAMED = AuditStep(
    "sent before", StepKind.KEYED, "and with those of the message it came after", ("near", "sent"), attach, FOUND,
    key=("after_source", "after"), when="something is late",
)  # fmt: skip
ASKED = AuditStep(
    "asked",
    StepKind.MAP,
    "of orders that are asked for",
    ("sent before",),
    asked,
    FOUND,
    when="something is late",
)
STEPS = AuditSteps(
    "causal", "did anybody get m2 before m1, although m1 happened before m2?",
    (BY_VECTORS, CARRIED, LATE_BY_EARLIER, AGAIN, *LOG_STEPS, CERTAIN, EACH_ONCE, ROWS_NEAR, NAMED_BEFORE, NAMED, ASKED),
)  # fmt: skip
