"""Deliveries: every reliable message exactly once to everybody it was sent to, across crashes and resumes.

Nearly always nearly all is well, so first the sums of what was sent and of what was delivered are compared, for blocks of
messages of one source: no row crosses the network for that.  Only blocks whose sums differ are looked at message by message.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from weft.review.audits.context import RTI, Context, Result

BLOCK_BITS = 8
KEY = ("source", "message", "federate")
LOST, DUPLICATE, UNSENT = "lost", "duplicate", "unsent"


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    deliveries = Deliveries.of(context)
    found = reduce(
        lambda one, other: one.unionByName(other),
        (deliveries.lost(), deliveries.duplicates(), deliveries.unsent()),
    )
    return context.result(found.withColumn("unsure", f.coalesce("unsure", f.lit(False))), ("what", *KEY))


class Deliveries:
    """What was sent to whom and what was delivered, of the blocks in which they differ; made once for all audits."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.expected, self.delivered = _expected(context), _delivered(context)
        self.blocks = _differing_blocks(self.expected, self.delivered).persist()
        self.matched = self._matched().persist()

    @classmethod
    def of(cls, context: Context) -> Deliveries:
        made: Deliveries | None = context.__dict__.get("deliveries")
        if made is None:
            made = context.__dict__["deliveries"] = cls(context)
        return made

    def _matched(self) -> Any:
        """A row for each message and federate that it was sent or delivered to; `times`: deliveries of the same items."""
        from pyspark.sql import functions as f

        columns = (*KEY, "expected", "items_key", "class", "order", "time", "node", "seq")
        near = [_in_blocks(frame, self.blocks).select(*columns) for frame in (self.expected, self.delivered)]
        parts = near[0].unionByName(near[1]).groupBy(*KEY, "items_key").agg(
            f.max("expected").alias("expected"),
            f.count_if(~f.col("expected")).alias("times"),
            f.max("class").alias("class"),
            f.max("order").alias("order"),
            f.max(f.when(f.col("expected"), f.col("time"))).alias("time"),
            f.min("node").alias("node"),
            f.max(f.when(~f.col("expected"), f.col("seq"))).alias("seq"),
        )  # fmt: skip
        return parts.groupBy(*KEY).agg(
            f.max("expected").alias("expected"),
            f.max("times").alias("times"),
            f.max("class").alias("class"),
            f.max("order").alias("order"),
            f.max("time").alias("time"),
            f.max("node").alias("node"),
            f.max("seq").alias("seq"),
        )

    def lost(self) -> Any:
        """Sent to a federate that did not get it, and nothing excuses that."""
        from pyspark.sql import functions as f

        missing = self.matched.where(f.col("expected") & (f.col("times") == 0)).drop("node", "seq")
        return self.inexcusable(missing).select(
            f.lit(LOST).alias("what"), *KEY, "class", "order", "time", "unsure"
        )

    def inexcusable(self, missing: Any) -> Any:
        """Of messages that did not reach a federate (columns KEY, order, time) those that should have; and `unsure`."""
        from pyspark.sql import functions as f

        context = self.context
        members = context.members_frame
        given_up = _given_up(context.rows)
        for keys, frame in given_up:
            missing = missing.join(frame, keys, "left_anti")
        found = missing.join(f.broadcast(members), "federate", "left")
        due = (f.col("order") != "TSO") | f.col("time").isNull() | f.col("granted").isNull()
        found = found.where(due | (f.col("time") < f.col("granted")))
        if not found.where("excused").limit(1).count():
            return found.withColumn("unsure", f.coalesce("gap", f.lit(True)))
        overtaken = (
            self.delivered.where(f.col("order") != "TSO")
            .groupBy("source", "federate", "order")
            .agg(f.max("message").alias("reached"))
        )
        found = found.join(f.broadcast(overtaken), ["source", "federate", "order"], "left")
        stands = ~f.coalesce("excused", f.lit(False)) | (f.col("message") < f.col("reached"))
        stands |= f.coalesce(f.col("order") == "TSO", f.lit(False)) & (f.col("time") < f.col("granted"))
        return found.where(stands).withColumn("unsure", f.coalesce("gap", f.lit(True)))

    def duplicates(self) -> Any:
        from pyspark.sql import functions as f

        return self.matched.where("times > 1").select(
            f.lit(DUPLICATE).alias("what"), *KEY, "class", "order", "time", f.lit(False).alias("unsure")
        )

    def unaddressed(self) -> Any:
        """Delivered to a federate that its send does not name; with `sent`: is there a send at all?"""
        from pyspark.sql import functions as f

        strange = self.matched.where(~f.col("expected"))
        sends = self.context.rows.where(f.col("kind") == "send").select(
            "source", "message", f.lit(True).alias("sent"), f.col("destinations").isNull().alias("open")
        )
        sends = _in_blocks(sends.withColumn("block", _block()), self.blocks).drop("block")
        return strange.join(sends, ["source", "message"], "left")

    def unsent(self) -> Any:
        from pyspark.sql import functions as f

        members = self.context.members_frame.select(
            f.col("federate").alias("source"), f.col("gap").alias("source_gap")
        )
        found = self.unaddressed().where("sent IS NULL").join(f.broadcast(members), "source", "left")
        unsure = f.coalesce("source_gap", f.lit(True))
        return found.select(
            f.lit(UNSENT).alias("what"), *KEY, "class", "order", "time", unsure.alias("unsure")
        )


def _is_reliable() -> Any:
    from pyspark.sql import functions as f

    reliable = f.coalesce(f.col("transport") != "best-effort", f.lit(True))
    return reliable | f.coalesce(f.col("order").isin("CO", "CT"), f.lit(False))


def _block() -> Any:
    from pyspark.sql import functions as f

    return f.shiftright("message", BLOCK_BITS)


def _expected(context: Context) -> Any:
    from pyspark.sql import functions as f

    sends = context.rows.where(
        (f.col("kind") == "send")
        & (f.col("source") != RTI)
        & f.col("destinations").isNotNull()
        & _is_reliable()
    )
    return sends.select(
        "source",
        "message",
        f.explode("destinations").alias("federate"),
        f.lit(True).alias("expected"),
        f.lit(None).cast("bigint").alias("items_key"),
        *("class", "order", "node", "seq"),
        f.col(context.opened.time_column).alias("time"),
        _block().alias("block"),
    )


def _delivered(context: Context) -> Any:
    from pyspark.sql import functions as f

    rows = context.rows.where((f.col("kind") == "deliver") & (f.col("source") != RTI) & _is_reliable())
    return rows.select(
        *("source", "message", "federate"),
        f.lit(False).alias("expected"),
        f.xxhash64("items", "transport").alias("items_key"),
        *("class", "order", "node", "seq"),
        f.col(context.opened.time_column).alias("time"),
        _block().alias("block"),
    )


def _differing_blocks(expected: Any, delivered: Any) -> Any:
    """Blocks in which the sum of a hash over all that was sent is not that over all that was delivered."""
    from pyspark.sql import functions as f

    hashed = f.xxhash64("source", "message", "federate")
    sides = [
        frame.select("source", "block", hashed.alias("hash"), f.lit(sign).alias("sign"))
        for frame, sign in ((expected, 1), (delivered, -1))
    ]
    low, high = f.col("hash").bitwiseAND(0x7FFFFFFF), f.shiftrightunsigned("hash", 33)
    sums = sides[0].unionByName(sides[1]).groupBy("source", "block").agg(
        f.sum("sign").alias("count"), f.sum(low * f.col("sign")).alias("low"), f.sum(high * f.col("sign")).alias("high")
    )  # fmt: skip
    return sums.where("count <> 0 OR low <> 0 OR high <> 0").select("source", "block")


def _in_blocks(frame: Any, blocks: Any) -> Any:
    return frame.join(blocks, ["source", "block"], "left_semi")


def _given_up(rows: Any) -> list[tuple[list[str], Any]]:
    """What somebody said would not be delivered: to one federate, or to nobody."""
    from pyspark.sql import functions as f

    said = rows.where(f.col("kind").isin("drop", "filter", "retract") & f.col("message").isNotNull())
    everybody = (f.col("kind") == "retract") | f.coalesce(f.col("federate") == 0, f.lit(True))
    everybody &= f.col("kind") != "filter"
    return [
        (["source", "message"], said.where(everybody).select("source", "message").distinct()),
        (list(KEY), said.where(~everybody).select(*KEY).distinct()),
    ]
