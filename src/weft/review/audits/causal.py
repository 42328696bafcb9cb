"""Causal order: did anybody get m2 before m1, although m1 happened before m2?

Messages in time stamp and in priority order are left out: they have an order of their own, which is meant to differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.audits.context import RTI, Context, Result
from weft.review.kernels import causal as kernel
from weft.review.kernels.log_scan import LateMessage, LogScan
from weft.review.kernels.pieces import Array, by_value, split

PATIENCE = 5_000_000_000  # ns by which the clocks of machines may differ
SEQUENCER = 0  # as a process
LATE, CARRY = "late", "carry"
PIECES = (
    "what string, node string, federate bigint, seq bigint, last bigint, process bigint, source bigint, message bigint, "
    "after_source bigint, after bigint, most bigint, least bigint"
)
SCANNED = "federate bigint, source bigint, message bigint, after_source bigint, after bigint"
KEY = ("federate", "source", "message")
WITNESS = (*KEY, "after_source", "after")


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    kind, order = f.col("kind"), f.col("order")
    rows = context.rows.where(f.col("source") != RTI)
    sent = rows.where(kind == "send")
    delivered = rows.where((kind == "deliver") & order.isin(*context.orders))
    # A message in causal order is released with its vector, and handed over then; callbacks call it receive order.
    stamped = rows.where(
        kind.isin("release", "deliver") & order.isin(*context.orders) & f.col("vector").isNotNull()
    )
    found = _by_vectors(stamped)
    if delivered.where(f.col("vector").isNull()).limit(1).count():
        found = found.unionByName(_by_log(context, sent, delivered)).dropDuplicates(list(KEY))
    found = found.persist()
    if not found.limit(1).count():
        return Result(0, [], figures={"by_order": {}})
    named = _with_orders(found, sent).where(f.coalesce(f.col("order").isin(*context.orders), f.lit(True)))
    result = context.result(named, KEY)
    counts = named.groupBy("order").count().collect()
    result.figures["by_order"] = {row["order"] or "": row["count"] for row in counts}
    return result


def _with_orders(found: Any, sent: Any) -> Any:
    """Which order the late message and the one before it were sent in, and of which classes they are."""
    from pyspark.sql import functions as f

    late = found.join(sent.select("source", "message", "class", "order"), ["source", "message"], "left")
    other = sent.select(
        f.col("source").alias("after_source"),
        f.col("message").alias("after"),
        f.col("class").alias("after_class"),
        f.col("order").alias("after_order"),
    )
    return late.join(other, ["after_source", "after"], "left").select(
        *WITNESS, "class", "order", "after_class", "after_order"
    )


# By the vectors that were recorded: piece by piece, then what pieces mean for those behind them


def _by_vectors(rows: Any) -> Any:
    from pyspark.sql import functions as f

    # A message in total order is stamped by the sequencer, which is process 0.
    stamper = f.when(f.col("order") == "CT", f.lit(SEQUENCER)).otherwise(f.col("source"))
    stamped = rows.select(
        f.xxhash64("_metadata.file_path").alias("file"),
        *("node", "seq", "federate", "source", "message", "vector_of", "vector"),
        stamper.alias("process"),
    )
    pieces = stamped.mapInArrow(judge_pieces, PIECES).persist()
    late = pieces.where(f.col("what") == LATE).select(*WITNESS)
    flagged = _flagged(pieces)
    if not flagged.limit(1).count():
        return late
    return late.unionByName(_late_by_earlier(stamped, flagged))


def _flagged(pieces: Any) -> Any:
    """Pieces with a message that something delivered in an earlier piece comes after."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    before = (
        Window.partitionBy("node", "federate", "process")
        .orderBy("seq")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    carried = pieces.where(f.col("what") == CARRY).withColumn(
        "carried", f.max(f.struct("most", "after_source", "after")).over(before)
    )
    return carried.where(f.col("least") <= f.col("carried.most")).select(
        "node", "federate", "process", f.col("seq").alias("first"), "last", "carried"
    )


def _late_by_earlier(stamped: Any, flagged: Any) -> Any:
    from pyspark.sql import functions as f

    own = f.expr("try_element_at(vector, cast(array_position(vector_of, process) AS int))")
    rows = stamped.select("node", "seq", "federate", "process", "source", "message", own.alias("own"))
    late = rows.join(f.broadcast(flagged), ["node", "federate", "process"]).where(
        (f.col("seq") >= f.col("first"))
        & (f.col("seq") <= f.col("last"))
        & (f.col("own") <= f.col("carried.most"))
    )
    earlier = rows.select(*KEY, f.col("seq").alias("earlier"))
    repeated = late.join(earlier, list(KEY)).where("earlier < seq").select(*KEY, "seq").distinct()
    first = late.join(repeated, [*KEY, "seq"], "left_anti")
    return first.select(*KEY, "carried.after_source", "carried.after")


def judge_pieces(batches: Iterator[Any]) -> Iterator[Any]:
    """For mapInArrow: rows of late deliveries, and for each piece, destination and process what is to be carried."""
    schema = pieces_schema()
    for batch in batches:
        file, seq = arrow.numbers(batch, "file"), arrow.numbers(batch, "seq")
        columns = {name: arrow.numbers(batch, name) for name in ("federate", "process", "source", "message")}
        nodes, names = arrow.words(batch, "node")
        for piece in split(file, seq):
            part = batch.slice(piece.start, piece.stop - piece.start)
            inside = {name: column[piece] for name, column in columns.items()}
            yield from _judge_piece(part, seq[piece], inside, names[nodes[piece.start]], schema)


def pieces_schema() -> Any:
    import pyarrow as pa

    texts = {"what", "node"}
    names = [part.split()[0] for part in PIECES.split(", ")]
    return pa.schema([pa.field(name, pa.string() if name in texts else pa.int64()) for name in names])


def _judge_piece(part: Any, seq: Array, columns: dict[str, Array], node: str, schema: Any) -> Iterator[Any]:
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
        common = {"node": [node], "federate": [federate]}
        if len(late.places):
            yield arrow.made(
                {
                    "what": [LATE] * len(late.places),
                    **{name: value * len(late.places) for name, value in common.items()},
                    "seq": seq[rows][late.places],
                    "source": sources[late.places],
                    "message": message[late.places],
                    "after_source": sources[late.after],
                    "after": message[late.after],
                },
                schema,
            )
        yield arrow.made(
            {
                "what": [CARRY] * len(processes),
                **{name: value * len(processes) for name, value in common.items()},
                "seq": np.full(len(processes), seq[rows[0]]),
                "last": np.full(len(processes), seq[rows[-1]]),
                "process": processes,
                "most": carry.most,
                "after_source": sources[carry.by],
                "after": message[carry.by],
                "least": carry.least,
            },
            schema,
        )


# By the log


def _by_log(context: Context, sent: Any, delivered: Any) -> Any:
    """Everything in one task, in the order of the clock; a row is six numbers."""
    from pyspark.sql import functions as f

    fan_out = f.when(f.col("order").isin(*context.orders), f.coalesce(f.size("destinations"), f.lit(-1)))
    columns = ("federate", "source", "message", "epoch_ns", "node", "seq")
    sends = sent.select(
        f.col("source").alias("federate"),
        *columns[1:],
        f.lit(True).alias("is_send"),
        f.coalesce(fan_out, f.lit(0)).alias("fan_out"),
    )
    deliveries = delivered.select(*columns, f.lit(False).alias("is_send"), f.lit(0).alias("fan_out"))
    log = sends.unionByName(deliveries).repartition(1).sortWithinPartitions("epoch_ns", "node", "seq")
    alone = len(context.nodes) == 1
    return log.mapInArrow(scan_alone if alone else scan_many, SCANNED)


def scan_alone(batches: Iterator[Any]) -> Iterator[Any]:
    """One node: its log is in the order of causes."""
    return scan(batches, 0)


def scan_many(batches: Iterator[Any]) -> Iterator[Any]:
    return scan(batches, PATIENCE)


def scan(batches: Iterator[Any], patience: int) -> Iterator[Any]:
    names = ("is_send", "federate", "source", "message", "fan_out", "epoch_ns")
    log = LogScan(patience)
    for batch in batches:
        yield _late_batch(log.feed(*(arrow.numbers(batch, name) for name in names)))
    yield _late_batch(log.end())


def _late_batch(late: list[LateMessage]) -> Any:
    import pyarrow as pa

    schema = pa.schema([pa.field(part.split()[0], pa.int64()) for part in SCANNED.split(", ")])
    return arrow.made_of_rows([message._asdict() for message in late], schema)
