"""Logical time: deliveries in time stamp order, none in the past, none lost; grants not above the LBTS."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.audits.context import Context, Result
from weft.review.audits.delivery import Deliveries
from weft.review.kernels import timing as kernel
from weft.review.kernels.pieces import by_value, split

EARLY_GRANT = "grant above LBTS"
LOST = "lost"
CARRY = "carry"
FLUSH = "flush_queue_grant"
CONSTRAINED, NOT_CONSTRAINED = "time_constrained_enabled", "disable_time_constrained"
GRANTS = ("time_advance_grant", FLUSH)
SAME_CLOCK = 20_000_000  # ns: nodes whose two clocks differ by as much are on one machine
CLOCKS_DIFFER = 1_000_000_000  # ns that clocks of several machines may differ
ORDER = ("what", "federate", "seq")


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    lost = Deliveries.of(context).lost().where(f.col("order") == "TSO")
    lost = lost.select(
        f.lit(LOST).alias("what"), "federate", f.lit(None).cast("string").alias("node"),
        f.lit(None).cast("bigint").alias("seq"), "source", "message", "time",
        f.lit(None).cast(_type(context)).alias("bound"), f.lit(None).cast("bigint").alias("by"), "unsure",
    )  # fmt: skip
    sure = [_out_of_order(context), _early_grants(context)]
    found = reduce(
        lambda one, other: one.unionByName(other),
        (frame.withColumn("unsure", f.lit(False)) for frame in sure),
        lost,
    )
    return context.result(found, ORDER)


def _type(context: Context) -> str:
    return "bigint" if context.opened.time_column == "time_int" else "double"


# Deliveries, piece by piece


def _out_of_order(context: Context) -> Any:
    from pyspark.sql import functions as f

    time = f.col(context.opened.time_column)
    kind = f.col("kind")
    is_delivery = (kind == "deliver") & (f.col("order") == "TSO")
    is_grant = (kind == "grant") & f.coalesce(f.col("service").isin(*GRANTS), f.lit(True))
    code = f.when(is_delivery, kernel.DELIVER).when(f.col("service") == FLUSH, kernel.FLUSH_GRANT)
    rows = context.rows.where((is_delivery | is_grant) & time.isNotNull()).select(
        f.xxhash64("_metadata.file_path").alias("file"),
        *("node", "seq", "federate", "source", "message"),
        time.alias("time"),
        code.otherwise(kernel.GRANT).cast("int").alias("code"),
    )
    type_name = _type(context)
    pieces = rows.mapInArrow(partial(judge_pieces, type_name), _pieces_schema(type_name)).persist()
    columns = ("what", "federate", "node", "seq", "source", "message", "time", "bound")
    found = pieces.where(f.col("what") != CARRY).select(*columns)
    flagged = _flagged(pieces)
    if flagged.limit(1).count():
        found = found.unionByName(_by_earlier(rows, flagged).select(*columns))
        found = found.groupBy("federate", "node", "seq", "source", "message", "time").agg(
            f.max("what").alias("what"), f.max_by("bound", "what").alias("bound")
        )
    return found.select(*columns).withColumn("by", f.lit(None).cast("bigint"))


def _pieces_schema(time: str) -> str:
    numbers = ["seq", "last_head_grant", "last_head_flush", "source", "message"]
    times = ["time", "bound", "granted", "most", "least_before_grant", "least_before_flush"]
    return ", ".join(
        ["what string", "node string", "federate bigint", "flushed boolean"]
        + [f"{name} bigint" for name in numbers]
        + [f"{name} {time}" for name in times]
    )


def _flagged(pieces: Any) -> Any:
    """Pieces whose first deliveries must be compared with what came before the piece, and do not fit."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    member = Window.partitionBy("node", "federate").orderBy("seq")
    before = member.rowsBetween(Window.unboundedPreceding, -1)
    until_now = member.rowsBetween(Window.unboundedPreceding, 0)
    counts = pieces.where(f.col("what") == CARRY).withColumn(
        "flushes", f.sum(f.col("flushed").cast("int")).over(until_now)
    )
    since_flush = Window.partitionBy("node", "federate", "flushes").orderBy("seq")
    carried = counts.withColumn(
        "running", f.max("most").over(since_flush.rowsBetween(Window.unboundedPreceding, 0))
    )
    carried = carried.withColumn("carried_most", f.lag("running").over(member)).withColumn(
        "carried_grant", f.last("granted", ignorenulls=True).over(before)
    )
    wrong = (f.col("least_before_grant") < f.col("carried_grant")) | (
        f.col("least_before_flush") < f.col("carried_most")
    )
    return carried.where(wrong).select(
        "node", "federate", f.col("seq").alias("first"),
        "last_head_grant", "last_head_flush", "carried_most", "carried_grant",
    )  # fmt: skip


def _by_earlier(rows: Any, flagged: Any) -> Any:
    from pyspark.sql import functions as f

    seq, time = f.col("seq"), f.col("time")
    past = (seq <= f.col("last_head_grant")) & (time < f.col("carried_grant"))
    decreasing = (seq <= f.col("last_head_flush")) & (time < f.col("carried_most"))
    joined = rows.where(f.col("code") == kernel.DELIVER).join(f.broadcast(flagged), ["node", "federate"])
    joined = joined.where((seq >= f.col("first")) & (past | decreasing))
    return joined.withColumn("what", f.when(past, kernel.PAST).otherwise(kernel.DECREASING)).withColumn(
        "bound", f.when(past, f.col("carried_grant")).otherwise(f.col("carried_most"))
    )


def judge_pieces(time_type: str, batches: Iterator[Any]) -> Iterator[Any]:
    """For mapInArrow: what is out of order, and for each piece and federate what is to be carried."""
    import pyarrow as pa

    kinds = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}
    schema = pa.schema(
        [
            (name, kinds[kind])
            for name, kind in (part.split() for part in _pieces_schema(time_type).split(", "))
        ]
    )
    for batch in batches:
        file, seq = arrow.numbers(batch, "file"), arrow.numbers(batch, "seq")
        federate, code, time = (arrow.numbers(batch, name) for name in ("federate", "code", "time"))
        source, message = arrow.numbers(batch, "source"), arrow.numbers(batch, "message")
        nodes, names = arrow.words(batch, "node")
        rows: list[dict[str, Any]] = []
        for piece in split(file, seq):
            node = names[nodes[piece.start]]
            for who, inside in by_value(federate[piece]):
                places = inside + piece.start
                found, carry = kernel.check_order(code[places], time[places])
                common = {"node": node, "federate": int(who)}
                for place, what, bound in found:
                    at = places[place]
                    rows.append(
                        {
                            "what": what, "seq": int(seq[at]), "source": int(source[at]),
                            "message": int(message[at]), "time": time[at].item(), "bound": bound.item(), **common,
                        }
                    )  # fmt: skip
                rows.append(_carry_row(carry, seq[places], common))
        yield arrow.made_of_rows(rows, schema)


def _carry_row(carry: kernel.TimeCarry, seq: Any, common: dict[str, Any]) -> dict[str, Any]:
    last = int(seq[-1])
    heads = {
        "last_head_grant": int(seq[carry.first_grant]) - 1 if carry.first_grant < len(seq) else last,
        "last_head_flush": int(seq[carry.first_flush]) - 1 if carry.first_flush < len(seq) else last,
    }
    names = ("granted", "most", "least_before_grant", "least_before_flush")
    values = {name: getattr(carry, name) for name in names}
    plain = {name: value.item() for name, value in values.items() if value is not None}
    return {"what": CARRY, "seq": int(seq[0]), "flushed": carry.flushed, **heads, **plain, **common}


# Grants


def _early_grants(context: Context) -> Any:
    """All requests and grants in one task, in the order of the clock; there are few beside the messages."""
    from pyspark.sql import functions as f

    time, lookahead = f.col(context.opened.time_column), f.col(context.opened.lookahead_column)
    kind, service = f.col("kind"), f.coalesce("service", f.lit(""))
    leaves = kind.isin("resign", "lost")
    turns = service.isin(CONSTRAINED, NOT_CONSTRAINED)
    # With another lookahead nobody knows what is promised until the next request or grant.
    unknown = service.isin("modify_lookahead", "disable_time_regulation")
    stepped = kind.isin("request", "grant") & time.isNotNull()
    told = context.rows.where(stepped | leaves | turns | unknown).select(
        *("node", "seq", "federate", "epoch_ns"),
        time.alias("time"),
        (time + lookahead).alias("promise"),
        leaves.alias("leaves"),
        ((kind == "grant") & service.isin(*GRANTS, "") & time.isNotNull()).alias("is_grant"),
        f.when(service == CONSTRAINED, 1).when(service == NOT_CONSTRAINED, -1).otherwise(0).alias("turn"),
    )
    clock = 0 if _one_clock(context) else CLOCKS_DIFFER
    changes = told.withColumn("at", f.col("epoch_ns")).withColumn("is_check", f.lit(False))
    checks = (
        told.where("is_grant").withColumn("at", f.col("epoch_ns") + clock).withColumn("is_check", f.lit(True))
    )
    # What happened in the same nanosecond (a node has one time for all that one call leads to) speaks for the grant.
    log = changes.unionByName(checks).repartition(1).sortWithinPartitions("at", "is_check", "node", "seq")
    schema = f"what string, federate bigint, node string, seq bigint, time {_type(context)}, bound {_type(context)}, by bigint"
    found = log.mapInArrow(partial(check_grants, _type(context)), schema)
    return found.select(
        "what", "federate", "node", "seq", f.lit(None).cast("bigint").alias("source"),
        f.lit(None).cast("bigint").alias("message"), "time", "bound", "by",
    )  # fmt: skip


def _one_clock(context: Context) -> bool:
    """Nodes on one machine have one clock: then the difference of the two clocks that each writes is the same."""
    from pyspark.sql import functions as f

    if len(context.nodes) == 1:
        return True
    both = context.rows.where(f.col("kind").isin("start", "join", "grant"))
    offsets = both.groupBy("node").agg(f.avg(f.col("epoch_ns") - f.col("mono_ns")).alias("offset")).collect()
    known = [row.offset for row in offsets if row.offset is not None]
    return len(known) == len(context.nodes) and max(known) - min(known) < SAME_CLOCK


def check_grants(time_type: str, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    dtype: Any = np.int64 if time_type == "bigint" else np.float64
    time_field = pa.int64() if time_type == "bigint" else pa.float64()
    schema = pa.schema(
        [("what", pa.string()), ("federate", pa.int64()), ("node", pa.string()), ("seq", pa.int64()),
         ("time", time_field), ("bound", time_field), ("by", pa.int64())]
    )  # fmt: skip
    promises = kernel.Promises(dtype)
    constrained: set[int] = set()
    for batch in batches:
        federate, turn = arrow.numbers(batch, "federate"), arrow.numbers(batch, "turn")
        time, is_check = arrow.numbers(batch, "time").astype(dtype), arrow.numbers(batch, "is_check", False)
        regulates = arrow.present(batch, "promise") & ~arrow.numbers(batch, "leaves", False)
        excesses = promises.feed(
            federate, arrow.numbers(batch, "promise").astype(dtype), regulates, is_check, time
        )
        turns = [(int(place), int(federate[place])) for place in np.flatnonzero((turn != 0) & ~is_check)]
        rows = []
        for place, bound, by in excesses:
            while turns and turns[0][0] < place:
                _turn(constrained, turn, *turns.pop(0))
            if int(federate[place]) in constrained:
                told = batch.slice(place, 1).to_pylist()[0]
                rows.append(
                    {"what": EARLY_GRANT, "bound": bound.item(), "by": by}
                    | {name: told[name] for name in ("federate", "node", "seq", "time")}
                )
        for rest in turns:
            _turn(constrained, turn, *rest)
        yield arrow.made_of_rows(rows, schema)


def _turn(constrained: set[int], turn: Any, place: int, federate: int) -> None:
    (constrained.add if turn[place] > 0 else constrained.discard)(federate)
