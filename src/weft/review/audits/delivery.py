"""Deliveries: every reliable message exactly once to everybody it was sent to, across crashes and resumes.

Nearly always nearly all is well, so first the sums of what was sent and of what was delivered are compared, for blocks of
messages of one source: no row crosses the network for that.  Only blocks whose sums differ are looked at message by message.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from weft.review.audits.context import RTI, Context, Result
from weft.review.kernels.interest import GRACE

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

        expected = f.col("expected")
        near = [_in_blocks(frame, self.blocks).drop("block") for frame in (self.expected, self.delivered)]
        parts = near[0].unionByName(near[1]).groupBy(*KEY, "items_key").agg(
            f.max("expected").alias("expected"),
            f.max("reliable").alias("reliable"),
            f.count_if(~expected).alias("times"),
            f.max("class").alias("class"),
            f.max(f.struct(expected, "order")).alias("order"),
            f.max("time").alias("time"),
            f.max(f.when(expected, f.col("epoch_ns"))).alias("epoch_ns"),
            f.max(f.when(expected, f.col("node"))).alias("node"),
            f.max("placed").alias("placed"),
        )  # fmt: skip
        names = ("expected", "reliable", "times", "class", "time", "epoch_ns", "node", "placed")
        return parts.groupBy(*KEY).agg(
            *(f.max(name).alias(name) for name in names), f.max("order")["order"].alias("order")
        )

    def lost(self) -> Any:
        """Sent to a federate that did not get it, and nothing excuses that."""
        from pyspark.sql import functions as f

        missing = self.matched.where("expected AND reliable AND times = 0")
        members = self.context.members_frame.select("federate", "member_node")
        unwanted = _unwanted_by_then(self.context.rows)
        missing = missing.join(f.broadcast(members), "federate", "left").join(
            f.broadcast(unwanted), "federate", "left"
        )
        missing = missing.where(~f.coalesce(_may_be_unwanted(), f.lit(False))).drop("member_node")
        return self.inexcusable(missing).select(
            f.lit(LOST).alias("what"), *KEY, "class", "order", "time", "unsure"
        )

    def inexcusable(self, missing: Any) -> Any:
        """Of messages that did not reach a federate those that should have; and whether that is `unsure`.

        Columns KEY, order and time.
        """
        from pyspark.sql import functions as f

        context = self.context
        found = missing.join(f.broadcast(context.members_frame), "federate", "left")
        for keys, frame in _given_up(context.rows):
            found = found.join(frame, keys, "left_anti")
        due = (f.col("order") != "TSO") | f.col("time").isNull() | f.col("granted").isNull()
        found = found.where(due | (f.col("time") < f.col("granted")))
        overtaken = (
            self.delivered.where(f.col("order") == "RO")
            .groupBy("source", "federate")
            .agg(f.max("message").alias("reached"))
        )
        found = found.join(f.broadcast(overtaken), ["source", "federate"], "left")
        stands = ~f.coalesce("excused", f.lit(False))
        stands |= (f.col("order") == "RO") & (f.col("message") < f.col("reached"))
        stands |= (f.col("order") == "TSO") & (f.col("time") < f.col("granted"))
        return found.where(stands).withColumn("unsure", f.coalesce("gap", f.lit(True)))

    def duplicates(self) -> Any:
        """Best effort may lose, but not repeat."""
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
        (f.col("kind") == "send") & (f.col("source") != RTI) & f.col("destinations").isNotNull()
    )
    to = f.explode("destinations").alias("federate")
    return _told(context, sends, to, True, f.lit(None).cast("bigint"))


def _delivered(context: Context) -> Any:
    from pyspark.sql import functions as f

    rows = context.rows.where((f.col("kind") == "deliver") & (f.col("source") != RTI))
    return _told(context, rows, f.col("federate"), False, f.xxhash64("items", "transport"))


def _told(context: Context, rows: Any, federate: Any, expected: bool, items_key: Any) -> Any:
    from pyspark.sql import functions as f

    return rows.select(
        *("source", "message", "class", "order", "epoch_ns", "node"),
        f.col("dimensions").isNotNull().alias("placed"),
        federate,
        f.lit(expected).alias("expected"),
        (_is_reliable() if expected else f.lit(False)).alias("reliable"),
        items_key.alias("items_key"),
        f.col(context.opened.time_column).alias("time"),
        _block().alias("block"),
    )


def _unwanted_by_then(rows: Any) -> Any:
    """When a federate moved regions, and when it took back which subscription."""
    from pyspark.sql import functions as f

    taken_back = (f.col("kind") == "declare") & f.col("service").startswith("unsubscribe")
    moved = (f.col("kind") == "region") & ~f.coalesce(f.col("service").startswith("create"), f.lit(False))
    changes = rows.where(taken_back | moved).groupBy("federate")
    return changes.agg(
        f.collect_list(f.when(moved, f.col("epoch_ns"))).alias("moves"),
        f.collect_list(f.when(taken_back, f.struct("class", "epoch_ns"))).alias("ends"),
    )


def _may_be_unwanted() -> Any:
    """A node leaves out what its federate does not want any more when it arrives from another node."""
    from pyspark.sql import functions as f

    def under_way(at: Any) -> Any:
        return at.between(f.col("epoch_ns"), f.col("epoch_ns") + GRACE)

    def ends(change: Any) -> Any:
        above = f.col("class").startswith(f.concat(change["class"], f.lit(".")))
        return under_way(change["epoch_ns"]) & ((change["class"] == f.col("class")) | above)

    moved = f.col("placed") & f.exists("moves", under_way)
    return (f.col("node") != f.col("member_node")) & (moved | f.exists("ends", ends))


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
    """What somebody said would not be delivered: to anybody, to one federate, at one node."""
    from pyspark.sql import functions as f

    said = rows.where(f.col("kind").isin("drop", "filter", "retract") & f.col("message").isNotNull())
    nobody = f.coalesce(f.col("federate") == 0, f.lit(True))
    everywhere = (f.col("kind") == "retract") | ((f.col("kind") == "drop") & nobody)
    here = (f.col("kind") == "filter") & nobody
    return [
        (["source", "message"], said.where(everywhere).select("source", "message").distinct()),
        (
            ["source", "message", "member_node"],
            said.where(here).select("source", "message", f.col("node").alias("member_node")).distinct(),
        ),
        (list(KEY), said.where(~everywhere & ~here).select(*KEY).distinct()),
    ]
