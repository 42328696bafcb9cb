"""Interest: did every message reach exactly the federates whose subscriptions matched?

Every send names whom it was addressed to, so whom it should have been addressed to is compared with that, tile by tile; a tile
is a stretch of one node's rows, so that it does not matter if one class has all traffic or one region covers all others.  Only
where the two differ it is asked what was delivered: a federate that was addressed wrongly has missed something, or got
something too much, if the deliveries say so too.  A message that was addressed rightly and did not arrive is for the audit of
deliveries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.review.audits import pick
from weft.review.audits.context import NUMBER, Context, Result
from weft.review.audits.control import REGISTERS, WISHES, control
from weft.review.audits.delivery import SUMMED_UP, WRONG, Deliveries, of_kind
from weft.review.audits.judging import (
    EXTRA,
    EXTRA_ITEMS,
    FOUND,
    KEY,
    MISSED,
    MISSING_ITEMS,
    OTHER_CLASS,
    POSSIBLE,
    STRANGE,
    judge_batches,
)
from weft.review.audits.near import ROWS_NEAR, SCHEMA, blocks_of, rows_in
from weft.review.kernels import arrow
from weft.review.kernels import interest as kernel
from weft.review.kernels.interest import GRACE
from weft.review.kernels.pieces import Array, by_value
from weft.review.kernels.records import AuditFigures
from weft.review.kernels.standing import NO_DIMENSION, below, boxes_of, pieces_of
from weft.review.kernels.subscriptions import ticks, wanted
from weft.review.spark.tasks import Frame, RunPart, counted, read_part
from weft.review.steps import RECORDED, TIME, AuditStep, AuditSteps, StepKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMS = (OTHER_CLASS, MISSING_ITEMS, EXTRA_ITEMS)
SEP = pick.SEP
FEW = 200_000  # stretches of subscriptions that are handed to every task; more are sent only where they are wanted
SUBSCRIBED = (
    "node string, federate bigint, class string, items string, region bigint, mode int, since bigint, "
    "until bigint, from_time bigint, to_time bigint, dimensions string, lower array<bigint>, "
    "upper array<bigint>, sure boolean"
)
OWN = "federate bigint, object bigint, class string"
MISFITS = "what string, source bigint, message bigint, federate bigint, node string, seq bigint"


def audit(context: Context) -> Result:
    if not context.has("send"):
        return Result(0, [], figures={"not_judged": []}, idle="nothing was sent")
    stretches: DataFrame = context.runner.then(WANTED, control(context), context.order_column).persist()
    few = stretches.toArrow() if context.session is None else stretches.limit(FEW + 1).toArrow()
    whole = context.session is None or len(few) <= FEW
    told = few if whole else stretches.select("federate", "class", "items", "region").distinct().toArrow()
    classes, unjudged = _classes(context, told)
    tiles = [number for number, seen in enumerate(context.survey) if seen.sent]
    if whole:
        misfits = _by_parts(context, tiles, for_classes(few, classes))
    else:
        misfits = _by_tiles(context, tiles, stretches, classes)
    misfits = context.runner.then(JUDGED, misfits, unjudged).persist()
    kinds = counted(misfits, "what string, federate bigint")
    missed = {who for what, who in kinds if what == MISSED and isinstance(who, int)}
    figures: AuditFigures = {"not_judged": sorted(unjudged)}
    deliveries = Deliveries.of(context)
    if {what for what, _ in kinds} <= {POSSIBLE} and not deliveries.blocks:
        return Result(0, [], figures=figures)
    schema = FOUND.format(time=context.time_type)
    found = _found(context, misfits, unjudged, missed)
    if deliveries.blocks:
        found = found.unionByName(context.runner.then(OF_FORM, deliveries.found, FORMS))
    return context.result(context.trusted(found, schema), schema, ("what", *KEY), figures)


def without(federates: set[int], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pick.filtered(batch, ~np.isin(arrow.numbers(batch, "federate"), sorted(federates)))


def _classes(context: Context, told: pa.Table) -> tuple[dict[str, list[str]], set[int]]:
    """For each class that somebody subscribed to those of messages that it is for; and federates that are not judged.

    A federate knows an object instance by the nearest class that it had subscribed to when it discovered it.  Which that was, of
    several above one another, depends on when; whoever has such subscriptions is not judged.  The like for
    interactions, if regions decide.
    """
    columns = [told[name].to_pylist() for name in ("federate", "class", "items", "region")]
    rows = list(zip(*columns, strict=True))
    named = {(federate, name) for federate, name, _, _ in rows}
    classes = sorted({name for seen in context.survey for name in seen.classes})
    found = {
        subscribed: [name for name in classes if below(name, subscribed)]
        for subscribed in {name for _, name in named}
    }
    hard = {federate for federate, _, items, region in rows if items or region}
    counts = Counter((federate, name) for federate, subscribed in named for name in found[subscribed])
    return found, {federate for (federate, _), count in counts.items() if count > 1 and federate in hard}


def for_classes(stretches: pa.Table, classes: dict[str, list[str]]) -> pa.Table:
    """Each stretch once for each class of messages that it is for."""
    names = [classes[name] for name in stretches["class"].to_pylist()]
    places = np.repeat(np.arange(len(names)), [len(those) for those in names])
    every = pa.array([name for those in names for name in those], pa.string())
    return pick.with_columns(stretches.take(places), **{"class": every})


def _by_parts(context: Context, tiles: list[int], subscribed: pa.Table) -> Frame:
    """Who was addressed and should not have been, or the other way round; every task has all subscriptions."""
    shared = arrow.packed(subscribed)
    # Who may have got a message is asked only if somebody got one without being addressed.
    quiet = not Deliveries.of(context).blocks
    each = ((*_reading(context, tile), shared, quiet) for tile in tiles)
    return context.runner.each(BY_PARTS, each)


def _by_tiles(
    context: Context, tiles: list[int], stretches: DataFrame, classes: dict[str, list[str]]
) -> Frame:
    """The same where subscriptions are many: each goes where messages of its time are."""
    from pyspark.sql import functions as f

    pairs = [(subscribed, name) for subscribed, names in classes.items() for name in names]
    of_messages = context.spark.createDataFrame(pairs, "class string, of_messages string")
    subscribed = stretches.join(f.broadcast(of_messages), "class").drop("class")
    numbered = context.order_column == NUMBER
    sent_in = (context.survey[tile].commands if numbered else context.survey[tile].sent for tile in tiles)
    spans = [(tile, *(span or (0, 0))) for tile, span in zip(tiles, sent_in, strict=True)]
    spans_frame = context.spark.createDataFrame(spans, "tile bigint, first bigint, last bigint")
    margin = margin_of(context.order_column)
    in_time = (f.col("since") - margin <= f.col("last")) & (f.col("until") + margin > f.col("first"))
    subscribed = subscribed.withColumnRenamed("of_messages", "class").join(f.broadcast(spans_frame), in_time)
    each = ((*_reading(context, tile), tile) for tile in tiles)
    sent: DataFrame = context.runner.each(SENT_THERE, each)
    # A tile without any subscription must be looked at too: whoever was addressed there should not have been.
    judge = partial(judge_tile, context.order_column)
    judged: Frame = sent.groupBy("tile").cogroup(subscribed.groupBy("tile")).applyInArrow(judge, MISFITS)
    return judged


def _reading(context: Context, tile: int) -> tuple[RunPart, str, str]:
    return context.parts[tile], context.opened.time_column, context.order_column


def margin_of(order_column: str) -> int:
    return 0 if order_column == NUMBER else GRACE


def judge_part(
    part: RunPart, time_column: str, order_column: str, shared: bytes, quiet: bool = False
) -> Iterator[pa.RecordBatch]:
    """Messages of a part against all subscriptions of the same time; `quiet`: nothing of who only may have got one."""
    subscribed = arrow.unpacked(shared)
    since, until = (arrow.numbers(subscribed, name) for name in ("since", "until"))
    margin = margin_of(order_column)
    for table in read_part(part, (*SENDING, time_column), partial(sending, time_column, order_column)):
        if len(table):
            at = arrow.numbers(table, "at")
            meanwhile = (since - margin <= at.max()) & (until + margin > at.min())
            found = judge_tile(order_column, table, pick.filtered(subscribed, meanwhile))
            found = pick.filtered(found, ~arrow.is_one_of(found, "what", POSSIBLE)) if quiet else found
            yield from found.combine_chunks().to_batches()


SENDING = (
    *("node", "kind", "service", "seq", "source", "message", "class", "object", "items", "order"),
    *("destinations", "dimensions", "lower", "upper", "boxes", "epoch_ns", "command"),
)
SENT = (
    "tile bigint, node string, seq bigint, source bigint, message bigint, class string, destinations array<bigint>, "
    "lower array<bigint>, upper array<bigint>, at bigint, items string, dimensions string, boxes string, "
    "by_logical boolean, time {time}"
)


def sent_of(part: RunPart, time_column: str, order_column: str, tile: int) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, (*SENDING, time_column), partial(sending, time_column, order_column)):
        words = {
            name: table[name].cast(pa.string()) for name in ("node", "class", "items", "dimensions", "boxes")
        }
        made = pick.with_columns(table, tile=np.full(len(table), tile), **words)
        yield from made.select(arrow.names_of(SENT)).to_batches()


def sending(time_column: str, order_column: str, table: pa.Table) -> pa.Table:
    """Messages that go by subscriptions; a directed interaction and a deletion do not."""
    rows = arrow.is_one_of(table, "kind", "send") & pick.by_federates(table) & goes_by_subscriptions(table)
    found = pick.filtered(table, rows)
    return pick.with_columns(as_sent(time_column, found), at=found[order_column])


def goes_by_subscriptions(table: pa.Table) -> Array:
    rows = arrow.present(table, "destinations") & arrow.present(table, "class")
    plain = arrow.fits(table, "service", lambda name: "directed" not in name and "delete" not in name, True)
    return np.asarray(rows & plain)


def as_sent(time_column: str, table: pa.Table, *more: str) -> pa.Table:
    """What is judged of messages; `more` columns go along."""
    is_update = arrow.fits(table, "service", lambda name: "interaction" not in name, True)
    is_update &= arrow.present(table, "object")
    items, dimensions = (pc.binary_join(table[name], SEP) for name in ("items", "dimensions"))
    plain = ("node", "seq", "source", "message", "class", "destinations", "lower", "upper")
    return pick.with_columns(
        table.select([*plain, *more]),
        items=pc.if_else(pa.array(is_update), items, None),
        dimensions=dimensions,
        boxes=pick.joined(table["boxes"]),
        by_logical=arrow.is_one_of(table, "order", "TSO"),
        time=table[time_column],
    )


def stretches_of(order_column: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For mapInArrow: all control rows of a federate are here."""
    given = list(batches)
    if given:
        table = pa.Table.from_batches(given)
        for _, places in by_value(arrow.numbers(table, "federate")):
            yield from stretches_of_one(order_column, table.take(pa.array(places))).to_batches()


def stretches_of_one(order_column: str, table: pa.Table) -> pa.Table:
    """Of one federate."""
    table = table.sort_by([("node", "ascending"), ("seq", "ascending")])
    rows = table.to_pylist()
    known, numbers = arrow.present(table, "time"), ticks(arrow.numbers(table, "time"))
    for row, has_time, tick in zip(rows, known, numbers.tolist(), strict=True):
        row["tick"], row["at"] = tick if has_time else None, row[order_column]
    found = []
    for stretch in wanted(rows):
        bounds = stretch.bounds or ()
        found.append(
            {
                "node": rows[0]["node"],
                "federate": rows[0]["federate"],
                "class": stretch.class_name,
                "items": SEP.join(stretch.items),
                "region": stretch.region,
                "mode": stretch.mode,
                "since": stretch.at[0],
                "until": stretch.at[1],
                "from_time": stretch.logical[0],
                "to_time": stretch.logical[1],
                "dimensions": SEP.join(dimension for dimension, _, _ in bounds),
                "lower": [lower for _, lower, _ in bounds],
                "upper": [upper for _, _, upper in bounds],
                "sure": stretch.sure,
            }
        )
    return pa.Table.from_pylist(found, schema=arrow.schema_of(SUBSCRIBED))


# Tiles


def judge_tile(order_column: str, sent: pa.Table, subscribed: pa.Table) -> pa.Table:
    """For applyInArrow on two groups: messages of a tile, and the subscriptions that were there meanwhile."""
    schema = arrow.schema_of(MISFITS)
    if not len(sent):
        return schema.empty_table()
    messages, wishes = arrays_of(sent, subscribed, order_column == NUMBER)
    misfit = kernel.judge(messages, wishes)
    source, message, seq = (arrow.numbers(sent, name) for name in ("source", "message", "seq"))
    node = sent.column("node")[0].as_py()
    tables = []
    for what, rows, federates in (
        (MISSED, misfit.missed_rows, misfit.missed),
        (EXTRA, misfit.extra_rows, misfit.extra),
        (POSSIBLE, misfit.possible_rows, misfit.possible),
    ):
        columns = {
            "what": [what] * len(rows), "source": source[rows], "message": message[rows],
            "federate": federates, "node": [node] * len(rows), "seq": seq[rows],
        }  # fmt: skip
        tables.append(pa.Table.from_batches([arrow.made(columns, schema)]))
    return pa.concat_tables(tables)


def arrays_of(
    sent: pa.Table, subscribed: pa.Table, numbered: bool
) -> tuple[kernel.SentColumns, kernel.SubscribedColumns]:
    """Columns of both sides, with the same numbers for the same nodes and classes."""
    nodes: dict[str, int] = {}
    classes: dict[str, int] = {}
    addressed, counts = arrow.lists(sent, "destinations")
    addressed_rows = np.repeat(np.arange(len(sent)), counts)
    sent, message = in_pieces(sent)
    messages = kernel.SentColumns(
        _shared(sent, "node", nodes),
        arrow.numbers(sent, "source"),
        _shared(sent, "class", classes),
        arrow.numbers(sent, "by_logical", False) & arrow.present(sent, "time"),
        arrow.numbers(sent, "at"),
        ticks(arrow.numbers(sent, "time")),
        _items(sent),
        _extents(sent),
        addressed_rows,
        addressed.astype(np.int64),
        message,
        arrow.present(sent, "boxes"),
        numbered,
    )
    federate, region = arrow.numbers(subscribed, "federate"), arrow.numbers(subscribed, "region")
    items = _items(subscribed)
    key = np.stack((federate, region, items.number))
    _, subscription = np.unique(key, axis=1, return_inverse=True)
    wishes = kernel.SubscribedColumns(
        _shared(subscribed, "node", nodes),
        federate,
        _shared(subscribed, "class", classes),
        items,
        subscription.ravel(),
        arrow.numbers(subscribed, "mode"),
        arrow.numbers(subscribed, "since"),
        arrow.numbers(subscribed, "until"),
        arrow.numbers(subscribed, "from_time"),
        arrow.numbers(subscribed, "to_time"),
        _extents(subscribed),
        arrow.numbers(subscribed, "sure", False),
    )
    return messages, wishes


def in_pieces(sent: pa.Table) -> tuple[pa.Table, Array]:
    """An update whose attributes are in different boxes as a row for those of each; and for each row which message it is."""
    message = np.arange(len(sent))
    split = arrow.present(sent, "boxes")
    if not split.any():
        return sent, message
    told = [arrow.words(sent, name) for name in ("items", "dimensions", "boxes")]
    bounds = [arrow.lists(sent, name) for name in ("lower", "upper")]
    begin = np.cumsum(bounds[0][1]) - bounds[0][1]
    tables, messages = [sent.filter(pa.array(~split))], [message[~split]]
    layout = np.stack([codes[split] for codes, _ in told], axis=1)
    for _, inside in by_value(np.unique(layout, axis=0, return_inverse=True)[1].ravel()):
        rows = message[split][inside]
        texts = [words[codes[rows[0]]] if codes[rows[0]] >= 0 else "" for codes, words in told]
        items, dimensions = (tuple(text.split(SEP)) if text else () for text in texts[:2])
        boxes = boxes_of(dimensions, range(len(dimensions)), range(len(dimensions)))
        for those, numbers in pieces_of(items, len(boxes), pick.owned(texts[2])):
            chosen = [] if numbers is None else [boxes[number] for number in numbers]
            names = [NO_DIMENSION] if numbers is None else [name for box in chosen for name in box]
            places = begin[rows][:, None] + np.array(
                [at for box in chosen for at, _ in box.values()], np.int64
            )
            columns: dict[str, list[str] | list[list[int]]] = {
                "items": [SEP.join(those)] * len(rows),
                "dimensions": [SEP.join(names)] * len(rows),
            }
            for name, (values, _) in zip(("lower", "upper"), bounds, strict=True):
                columns[name] = [[0]] * len(rows) if numbers is None else values[places].tolist()
            kinds = {name: pa.array(column, sent.schema.field(name).type) for name, column in columns.items()}
            tables.append(pick.with_columns(sent.take(pa.array(rows)), **kinds))
            messages.append(rows)
    message = np.concatenate(messages)
    order = np.argsort(message, kind="stable")
    return pa.concat_tables(tables).take(pa.array(order)).combine_chunks(), message[order]


def _shared(table: pa.Table, name: str, known: dict[str, int]) -> Array:
    codes, texts = arrow.words(table, name)
    numbers = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
    return numbers[codes] if len(texts) else np.empty(0, np.int64)


def _items(table: pa.Table) -> kernel.Items:
    codes, texts = arrow.words(table, "items")
    sets = [frozenset[str]()] + [frozenset(text.split(SEP)) if text else frozenset[str]() for text in texts]
    return kernel.Items(codes.astype(np.int64) + 1, sets)


def _extents(table: pa.Table) -> kernel.Extents:
    codes, texts = arrow.words(table, "dimensions")
    shapes = [()] + [tuple(text.split(SEP)) if text else () for text in texts]
    number = {shape: place for place, shape in reversed(list(enumerate(shapes)))}
    shape = np.array([number[shape] for shape in shapes], np.int64)[codes + 1]
    lower, counts = arrow.lists(table, "lower")
    upper, _ = arrow.lists(table, "upper")
    return kernel.Extents(
        shape, shapes, np.cumsum(counts) - counts, lower.astype(np.int64), upper.astype(np.int64)
    )


# What the deliveries say


def _found(context: Context, misfits: Frame, unjudged: set[int], missed: set[int]) -> Frame:
    """What was addressed wrongly, held against what was delivered: all rows of a message in one task."""
    deliveries = Deliveries.of(context)
    schema, found = (text.format(time=context.time_type) for text in (SCHEMA, FOUND))
    told = misfits.mapInArrow(partial(as_rows, schema), schema)
    if deliveries.blocks:
        strange = deliveries.found.mapInArrow(partial(of_kind, (STRANGE,)), found)
        told = told.unionByName(strange.mapInArrow(partial(as_rows, schema), schema))
    told = told.mapInArrow(partial(without, unjudged), schema).persist()
    wrong = told.mapInArrow(not_only_possible, schema)
    rows = rows_in(context, blocks_of(wrong)).unionByName(told)
    known = replace(deliveries.known, registered=_registered(context, missed))
    return context.runner.then(MISADDRESSED, rows, known, True)


def _registered(context: Context, federates: set[int]) -> dict[tuple[int, int], str]:
    """By which class they know the instances that they have registered."""
    each = [(part, federates) for part in context.parts_with("call")] if federates else []
    if not each:
        return {}
    told = context.runner.each(REGISTERED, each).toArrow().to_pylist()
    return {(row["federate"], row["object"]): row["class"] for row in told}


def registered(part: RunPart, federates: set[int]) -> Iterator[pa.RecordBatch]:
    for table in read_part(part, ("kind", "service", "federate", "object", "class"), _registrations):
        mine = pick.filtered(table, np.isin(arrow.numbers(table, "federate"), list(federates)))
        columns = {
            "federate": mine["federate"],
            "object": mine["object"],
            "class": mine["class"].cast(pa.string()),
        }
        yield from pa.table(columns).combine_chunks().to_batches()


def _registrations(table: pa.Table) -> pa.Table:
    rows = arrow.is_one_of(table, "kind", "call") & arrow.is_one_of(table, "service", *REGISTERS)
    return pick.filtered(table, rows & arrow.present(table, "object"))  # or it was refused


def not_only_possible(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pick.filtered(batch, ~arrow.is_one_of(batch, "kind", f"? {POSSIBLE}"))


def as_rows(schema: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """As rows of messages, of kinds that no recorder writes: so they go where the others are."""
    wanted = arrow.schema_of(schema)
    for batch in batches:
        kinds = [what if what.startswith("? ") else f"? {what}" for what in batch.column("what").to_pylist()]
        yield arrow.made({"kind": kinds, **{name: batch.column(name) for name in KEY}}, wanted)


WANTED = AuditStep(
    "wanted", StepKind.KEYED, "from when to when each federate wanted what", ("wishes",), stretches_of, SUBSCRIBED,
    key=("federate",), when="something was sent",
)  # fmt: skip
BY_PARTS = AuditStep(
    "by parts", StepKind.MAP, "who was addressed and should not have been, or the other way round", (RECORDED, "wanted"),
    judge_part, MISFITS, (*SENDING, TIME), when=f"there are no more than {FEW:,} stretches of subscriptions",
)  # fmt: skip
SENT_THERE = AuditStep(
    "sent there", StepKind.MAP, "what was sent in each part", (RECORDED,), sent_of, SENT, (*SENDING, TIME),
    when="there are more",
)  # fmt: skip
BY_TILES = AuditStep(
    "by tiles", StepKind.KEYED, "the same, with the subscriptions of the time of each part (two groups of a key)",
    ("sent there", "wanted"), judge_tile, MISFITS, key=("tile",), when="there are more",
)  # fmt: skip
JUDGED = AuditStep(
    "judged",
    StepKind.MAP,
    "without federates that cannot be judged",
    ("by parts", "by tiles"),
    without,
    MISFITS,
)
REGISTERED = AuditStep(
    "registered", StepKind.MAP, "which instances are of those who seem to have missed a message", (RECORDED, "judged"),
    registered, OWN, ("kind", "service", "federate", "object", "class"), when="somebody seems to have missed a message",
)  # fmt: skip
MISADDRESSED = AuditStep(
    "misaddressed", StepKind.KEYED, "what the deliveries say of it", ("near", "judged", "registered", "wrong deliveries"),
    judge_batches, FOUND, key=KEY[:2], when="somebody was addressed wrongly, or sums of a block differ",
)  # fmt: skip
OF_FORM = AuditStep(
    "of form", StepKind.MAP, "of what is wrong with deliveries, what came with a wrong class or items", ("wrong deliveries",),
    of_kind, FOUND, when="sums of a block differ",
)  # fmt: skip
STEPS = AuditSteps(
    "interest", "did every message reach exactly those whose subscriptions matched?",
    (WISHES, WANTED, BY_PARTS, SENT_THERE, BY_TILES, JUDGED, SUMMED_UP, ROWS_NEAR, WRONG, REGISTERED, MISADDRESSED, OF_FORM),
)  # fmt: skip
