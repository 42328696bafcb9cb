"""Deadlines: how much time consumers had left, who missed, how busy they were."""

from __future__ import annotations

from typing import Any

from weft.review.audits.context import Context, Result

PERCENTILES = (0.01, 0.05, 0.5, 0.95, 0.99)
ACCURACY = 10_000  # of percentiles: a rank is right to one in so many
MS = 1e6
ORDER = ("name", "node", "at_ns")


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    deadline = f.when(f.col("deadline_ns") > 0, f.col("deadline_ns"))
    rows = context.rows.where(f.col("kind").isin("dispatch", "done", "miss"))
    rows = rows.withColumn("deadline_ns", deadline)
    missed = _missed(rows)
    consumers = _consumers(context, rows, missed)
    return context.result(missed, ORDER, {"consumers": consumers})


def _missed(rows: Any) -> Any:
    """What ended after its deadline, or was said to have missed it; both of one event are one miss."""
    from pyspark.sql import functions as f

    late = f.col("mono_ns") > f.col("deadline_ns")
    found = rows.where((f.col("kind") == "miss") | ((f.col("kind") == "done") & late))
    key = ("node", "name", "operation", "priority", "deadline_ns", "source", "message")
    each = found.groupBy(*key).agg(
        f.count_if(f.col("kind") == "done").alias("ended"),
        f.count_if(f.col("kind") == "miss").alias("said"),
        f.max("mono_ns").alias("at_ns"),
        f.min("seq").alias("seq"),
    )
    # Several events of one consumer may share a deadline: as many missed it as ended late or were said to have.
    times = f.explode(f.sequence(f.lit(1), f.greatest("ended", "said")))
    late_ns = f.col("at_ns") - f.col("deadline_ns")
    return each.withColumn("late_ns", late_ns).withColumn("times", times).drop("times", "ended", "said")


def _consumers(context: Context, rows: Any, missed: Any) -> list[dict[str, Any]]:
    """Figures of each consumer and priority: laxity in ms, misses, utilisation."""
    from pyspark.sql import functions as f

    done, dispatched = f.col("kind") == "done", f.col("kind") == "dispatch"
    laxity = f.when(done, (f.col("deadline_ns") - f.col("mono_ns")) / MS)
    busy = f.when(done, f.col("mono_ns")).when(dispatched, -f.col("mono_ns"))
    shares = [f.lit(share) for share in PERCENTILES]
    figures = rows.groupBy("node", "name", "priority").agg(
        f.count_if(done).alias("events"),
        f.min(laxity).alias("min"),
        f.avg(laxity).alias("avg"),
        f.max(laxity).alias("max"),
        f.percentile_approx(laxity, f.array(*shares), f.lit(ACCURACY)).alias("percentiles"),
        f.sum(busy.cast("decimal(38,0)")).alias("busy"),
        f.count_if(dispatched).alias("begun"),
    )
    spans = context.rows.groupBy("node").agg(f.min("mono_ns").alias("first"), f.max("mono_ns").alias("last"))
    misses = missed.groupBy("node", "name", "priority").agg(f.count(f.lit(1)).alias("misses"))
    told = figures.join(f.broadcast(spans), "node").join(
        f.broadcast(misses.withColumnsRenamed({name: f"m_{name}" for name in ("node", "name", "priority")})),
        f.expr("node <=> m_node AND name <=> m_name AND priority <=> m_priority"),
        "left",
    )
    return [_figures(row.asDict()) for row in told.orderBy("node", "name", "priority").collect()]


def _figures(row: dict[str, Any]) -> dict[str, Any]:
    open_ones = max(0, row["begun"] - row["events"])  # begun and not ended: busy until the record ends
    span = row["last"] - row["first"]
    busy = int(row["busy"] or 0) + open_ones * row["last"]
    percentiles = row["percentiles"] or []
    laxity = {name: _rounded(row[name]) for name in ("min", "avg", "max")}
    laxity |= {
        f"p{share * 100:g}": _rounded(value) for share, value in zip(PERCENTILES, percentiles, strict=False)
    }
    return {
        "node": row["node"],
        "name": row["name"],
        "priority": row["priority"],
        "events": row["events"],
        "misses": row["misses"] or 0,
        "laxity_ms": laxity if row["min"] is not None else None,
        "utilisation": round(busy / span, 6) if span and busy >= 0 else None,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
