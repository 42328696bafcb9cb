"""Interest: did every message reach exactly the federates whose subscriptions matched?

Every send names whom it was addressed to, so whom it should have been addressed to is compared with that, tile by tile; a tile
is a stretch of one node's rows, so that it does not matter if one class has all traffic or one region covers all others.  Only
where the two differ it is asked what was delivered: a federate that was addressed wrongly has missed something, or got
something too much, if the deliveries say so too.  A message that was addressed rightly and did not arrive is for the audit of
deliveries.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.audits.context import RTI, Context, Result
from weft.review.audits.delivery import KEY, Deliveries
from weft.review.kernels import interest as kernel
from weft.review.kernels.interest import GRACE
from weft.review.kernels.subscriptions import wanted

MISSED, EXTRA, POSSIBLE = "missed", "extra", "possible"
TILE_BITS = 17  # rows of a node in a tile, at most 2 to that
SEP = "\x1f"
SUBSCRIBED = (
    "node string, federate bigint, class string, items string, region bigint, mode int, since bigint, "
    "until bigint, from_time bigint, to_time bigint, dimensions string, lower array<bigint>, "
    "upper array<bigint>, sure boolean"
)
MISFITS = "what string, source bigint, message bigint, federate bigint, node string, seq bigint"


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    sent = _sent(context)
    subscribed, unjudged = _subscribed(context, sent)
    tiles = _tiles(sent)
    near = subscribed.join(
        f.broadcast(tiles),
        (f.col("since") - GRACE <= f.col("last")) & (f.col("until") + GRACE > f.col("first")),
    ).drop("first", "last")
    sent = sent.select(
        [f.col(name).alias(name) for name in sent.columns]
    )  # two sides that Spark can tell apart
    # A tile without any subscription must be looked at too: whoever was addressed there should not have been.
    misfits = (
        sent.groupBy("tile")
        .cogroup(near.groupBy("tile"))
        .applyInArrow(partial(judge_tile, context.opened.time_column), MISFITS)
    )
    return context.result(
        _found(context, misfits.join(f.broadcast(unjudged), ["federate"], "left_anti"), unjudged),
        ("what", *KEY),
        {"not_judged": sorted(row.federate for row in unjudged.collect())},
    )


def _sent(context: Context) -> Any:
    """Messages that go by subscriptions; a directed interaction and a deletion do not."""
    from pyspark.sql import functions as f

    service = f.coalesce("service", f.lit(""))
    plain = ~service.contains("directed") & ~service.contains("delete")
    told = (f.col("kind") == "send") & (f.col("source") != RTI) & f.col("destinations").isNotNull()
    rows = context.rows.where(told & plain & f.col("class").isNotNull())
    is_update = ~service.contains("interaction") & f.col("object").isNotNull()
    return rows.select(
        f.concat_ws("/", "node", f.shiftright("seq", TILE_BITS)).alias("tile"),
        *("node", "seq", "source", "message", "class", "destinations", "lower", "upper", "epoch_ns"),
        f.when(is_update, f.array_join("items", SEP)).alias("items"),
        f.array_join("dimensions", SEP).alias("dimensions"),
        (f.col("order") == "TSO").alias("by_logical"),
        f.col(context.opened.time_column).alias("time"),
    )


def _tiles(sent: Any) -> Any:
    from pyspark.sql import functions as f

    return sent.groupBy("tile").agg(f.min("epoch_ns").alias("first"), f.max("epoch_ns").alias("last"))


def _subscribed(context: Context, sent: Any) -> tuple[Any, Any]:
    """Stretches of subscriptions, one for each class of messages that they are for; and federates that are not judged.

    A federate gets a message at the nearest class that it has subscribed to.  Which that was, of several above one another,
    depends on when it discovered the instance; whoever has such subscriptions is not judged.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    control = context.rows.where(f.col("kind").isin("declare", "region", "resign", "lost"))
    control = control.where(f.col("federate") != RTI).select(
        *(
            "node",
            "seq",
            "kind",
            "service",
            "federate",
            "class",
            "items",
            "region",
            "dimensions",
            "lower",
            "upper",
        ),
        "epoch_ns",
        f.col(context.opened.time_column).alias("time"),
    )
    stretches = control.groupBy("federate").applyInArrow(stretches_of, SUBSCRIBED)
    own = stretches.withColumnRenamed("class", "subscribed_class")
    classes = sent.select(f.col("class").alias("class")).distinct()
    at_or_below = (f.col("class") == f.col("subscribed_class")) | f.col("class").startswith(
        f.concat("subscribed_class", f.lit("."))
    )
    joined = own.join(f.broadcast(classes), at_or_below).persist()
    above = Window.partitionBy("federate", "class")
    several = joined.withColumn(
        "several", f.min("subscribed_class").over(above) != f.max("subscribed_class").over(above)
    )
    return joined.drop("subscribed_class"), several.where("several").select("federate").distinct()


def stretches_of(table: Any) -> Any:
    """For applyInArrow: all control rows of one federate."""
    import pyarrow as pa

    table = table.sort_by([("node", "ascending"), ("seq", "ascending")])
    ticks = _ticks(table)
    rows = table.to_pylist()
    for row, tick in zip(rows, ticks, strict=True):
        row["tick"] = tick
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
                "since": stretch.wall[0],
                "until": stretch.wall[1],
                "from_time": stretch.logical[0],
                "to_time": stretch.logical[1],
                "dimensions": SEP.join(dimension for dimension, _, _ in bounds),
                "lower": [lower for _, lower, _ in bounds],
                "upper": [upper for _, _, upper in bounds],
                "sure": stretch.sure,
            }
        )
    kinds = {
        "string": pa.string(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "boolean": pa.bool_(),
        "array<bigint>": pa.list_(pa.int64()),
    }
    schema = pa.schema([(part.split()[0], kinds[part.split()[1]]) for part in SUBSCRIBED.split(", ")])
    return pa.Table.from_pylist(found, schema=schema)


def _ticks(table: Any) -> list[int | None]:
    from weft.review.kernels.subscriptions import ticks

    there = arrow.present(table, "time")
    numbers = ticks(arrow.numbers(table, "time"))
    return [int(number) if known else None for number, known in zip(numbers, there, strict=True)]


# Tiles


def judge_tile(time_column: str, sent: Any, subscribed: Any) -> Any:
    """For applyInArrow on two groups: messages of a tile, and the subscriptions that were there meanwhile."""
    import pyarrow as pa

    fields = [
        (part.split()[0], pa.string() if part.endswith("string") else pa.int64())
        for part in MISFITS.split(", ")
    ]
    schema = pa.schema(fields)
    if not len(sent):
        return schema.empty_table()
    messages, wishes = arrays_of(sent, subscribed)
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


def arrays_of(sent: Any, subscribed: Any) -> tuple[kernel.Sent, kernel.Subscribed]:
    """Columns of both sides, with the same numbers for the same nodes and classes."""
    from weft.review.kernels.subscriptions import ticks

    nodes: dict[str, int] = {}
    classes: dict[str, int] = {}
    addressed, counts = arrow.lists(sent, "destinations")
    messages = kernel.Sent(
        _shared(sent, "node", nodes),
        arrow.numbers(sent, "source"),
        _shared(sent, "class", classes),
        arrow.numbers(sent, "by_logical", False) & arrow.present(sent, "time"),
        arrow.numbers(sent, "epoch_ns"),
        ticks(arrow.numbers(sent, "time")),
        _items(sent),
        _extents(sent),
        np.repeat(np.arange(len(sent)), counts),
        addressed.astype(np.int64),
    )
    federate, region = arrow.numbers(subscribed, "federate"), arrow.numbers(subscribed, "region")
    items = _items(subscribed)
    key = np.stack((federate, region, items.number))
    _, subscription = np.unique(key, axis=1, return_inverse=True)
    wishes = kernel.Subscribed(
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


def _shared(table: Any, name: str, known: dict[str, int]) -> Any:
    codes, texts = arrow.words(table, name)
    numbers = np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
    return numbers[codes] if len(texts) else np.empty(0, np.int64)


def _items(table: Any) -> kernel.Items:
    codes, texts = arrow.words(table, "items")
    sets = [frozenset[str]()] + [frozenset(text.split(SEP)) if text else frozenset[str]() for text in texts]
    return kernel.Items(codes.astype(np.int64) + 1, sets)


def _extents(table: Any) -> kernel.Extents:
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


def _found(context: Context, misfits: Any, unjudged: Any) -> Any:
    from pyspark.sql import functions as f

    deliveries = Deliveries.of(context)
    misfits = misfits.persist()
    got = (
        context.rows.where((f.col("kind") == "deliver") & (f.col("source") != RTI))
        .select(*KEY)
        .join(misfits.select("source", "message").distinct(), ["source", "message"], "left_semi")
        .distinct()
        .persist()
    )
    told = context.rows.where(f.col("kind") == "send").select(
        "source", "message", "class", "order", f.col(context.opened.time_column).alias("time")
    )
    missed = misfits.where(f.col("what") == MISSED).join(got, list(KEY), "left_anti")
    missed = deliveries.inexcusable(missed.join(told, ["source", "message"]))
    columns = ("what", *KEY, "class", "order", "time", "unsure")
    extra = misfits.where(f.col("what") == EXTRA).join(got, list(KEY), "left_semi")
    extra = extra.join(told, ["source", "message"]).withColumn("unsure", f.lit(False))
    strange = _strange(context, deliveries, misfits).join(f.broadcast(unjudged), "federate", "left_anti")
    found = missed.select(*columns).unionByName(extra.select(*columns))
    return found.unionByName(strange.select(*columns))


def _strange(context: Context, deliveries: Deliveries, misfits: Any) -> Any:
    """Delivered though not addressed, and not because the address was wrong."""
    from pyspark.sql import functions as f

    unaddressed = deliveries.unaddressed().where("sent AND NOT open")
    right_after_all = misfits.where(f.col("what") != EXTRA).select(*KEY)
    return unaddressed.join(right_after_all, list(KEY), "left_anti").select(
        f.lit(EXTRA).alias("what"), *KEY, "class", "order", "time", f.lit(False).alias("unsure")
    )
