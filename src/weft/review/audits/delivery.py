"""Deliveries: every reliable message exactly once to everybody it was sent to, across crashes and resumes.

Nearly always nearly all is well, so first the sums of what was sent and of what was delivered are compared, for blocks of
messages of one source: no row crosses the network for that.  Only blocks whose sums differ are looked at message by message.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from weft.review import arrow
from weft.review.audits import pick
from weft.review.audits.context import Context, Result
from weft.review.audits.control import control
from weft.review.audits.near import rows_in
from weft.review.kernels import sums as kernel
from weft.review.kernels.interest import GRACE
from weft.review.kernels.pieces import by_value
from weft.review.tasks import Part, read_part, spread

KEY = ("source", "message", "federate")
LOST, DUPLICATE, UNSENT = "lost", "duplicate", "unsent"
SUMS = "what int, source bigint, key bigint, count bigint, sum bigint"
SUMMED = ("kind", "source", "message", "federate", "destinations", "order")
BLOCK, REACHED, SENT = 0, 1, 2
"""`key` is a block; a federate that got messages in receive order up to `count`; nothing, the source sent up to `count`."""


def audit(context: Context) -> Result:
    from pyspark.sql import functions as f

    counted_before = Deliveries.is_made(context)
    deliveries = Deliveries.of(context)
    if not deliveries.blocks:
        if not context.has("send", "deliver"):
            return Result(0, [], idle="nothing was sent or delivered")
        idle = "what was sent and what was delivered add up, as counted before for another audit"
        return Result(0, [], idle=idle if counted_before else "")
    found = reduce(
        lambda one, other: one.unionByName(other),
        (deliveries.lost(), deliveries.duplicates(), deliveries.unsent()),
    )
    return context.result(found.withColumn("unsure", f.coalesce("unsure", f.lit(False))), ("what", *KEY))


class Deliveries:
    """What was sent to whom and what was delivered, of the blocks in which they differ; made once for all audits."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.blocks, self._reached, self._sent = _summed(context)

    @cached_property
    def rows(self) -> Any:
        """Of the blocks that differ."""
        return rows_in(self.context, self.blocks)

    @cached_property
    def matched(self) -> Any:
        return self._matched().persist()

    @cached_property
    def reached(self) -> Any:
        """The last message in receive order that a federate got from a source."""
        rows = [(source, who, most) for (source, who), most in self._reached.items()]
        return self.context.session.createDataFrame(rows, "source bigint, federate bigint, reached bigint")

    @staticmethod
    def is_made(context: Context) -> bool:
        return "deliveries" in context.__dict__

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
        both = _expected(self.rows).unionByName(_delivered(self.rows))
        parts = both.groupBy(*KEY, "items_key").agg(
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
        unwanted = _unwanted_by_then(control(self.context))
        missing = missing.join(f.broadcast(members), "federate", "left").join(
            f.broadcast(unwanted), "federate", "left"
        )
        missing = missing.where(~f.coalesce(_may_be_unwanted(), f.lit(False))).drop("member_node")
        return self.inexcusable(missing, self.rows).select(
            f.lit(LOST).alias("what"), *KEY, "class", "order", "time", "unsure"
        )

    def inexcusable(self, missing: Any, rows: Any) -> Any:
        """Of messages that did not reach a federate those that should have; and whether that is `unsure`.

        Columns KEY, order and time; `rows` are those around these messages.
        """
        from pyspark.sql import functions as f

        context = self.context
        found = missing.join(f.broadcast(context.members_frame), "federate", "left")
        for keys, frame in _given_up(rows):
            found = found.join(frame, keys, "left_anti")
        due = (f.col("order") != "TSO") | f.col("time").isNull() | f.col("granted").isNull()
        found = found.where(due | (f.col("time") < f.col("granted")))
        found = found.join(f.broadcast(self.reached), ["source", "federate"], "left")
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
        sends = self.rows.where(f.col("kind") == "send").select(
            "source", "message", f.lit(True).alias("sent"), f.col("destinations").isNull().alias("open")
        )
        return strange.join(sends, ["source", "message"], "left")

    def unsent(self) -> Any:
        from pyspark.sql import functions as f

        """A node that crashed takes the last second of its rows with it: what its federates may have sent then is unsure."""
        context = self.context
        members = context.session.createDataFrame(
            [
                (
                    member.federate,
                    member.node in context.opened.gaps,
                    self._sent.get(member.federate, 0) if member.node in context.crashed else None,
                )
                for member in context.members.values()
            ],
            "source bigint, source_gap boolean, told_up_to bigint",
        )
        found = self.unaddressed().where("sent IS NULL").join(f.broadcast(members), "source", "left")
        untold = f.coalesce(f.col("message") > f.col("told_up_to"), f.lit(False))
        unsure = f.coalesce("source_gap", f.lit(True)) | untold
        return found.select(
            f.lit(UNSENT).alias("what"), *KEY, "class", "order", "time", unsure.alias("unsure")
        )


def _is_reliable() -> Any:
    from pyspark.sql import functions as f

    reliable = f.coalesce(f.col("transport") != "best-effort", f.lit(True))
    return reliable | f.coalesce(f.col("order").isin("CO", "CT"), f.lit(False))


def _expected(rows: Any) -> Any:
    from pyspark.sql import functions as f

    sends = rows.where((f.col("kind") == "send") & f.col("destinations").isNotNull())
    return _told(sends, f.explode("destinations").alias("federate"), True, f.lit(None).cast("bigint"))


def _delivered(rows: Any) -> Any:
    from pyspark.sql import functions as f

    delivered = rows.where(f.col("kind") == "deliver")
    return _told(delivered, f.col("federate"), False, f.col("items_key"))


def _told(rows: Any, federate: Any, expected: bool, items_key: Any) -> Any:
    from pyspark.sql import functions as f

    return rows.select(
        *("source", "message", "class", "order", "epoch_ns", "node", "placed", "time"),
        federate,
        f.lit(expected).alias("expected"),
        (_is_reliable() if expected else f.lit(False)).alias("reliable"),
        items_key.alias("items_key"),
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


# Sums


def _summed(context: Context) -> tuple[list[tuple[int, int]], dict[tuple[int, int], int], dict[int, int]]:
    """Blocks in which the sum over all that was sent is not that over all that was delivered; how far each got; and each sent."""
    if not context.has("send", "deliver"):
        return [], {}, {}
    told = spread(context.session, [partial(sum_part, part) for part in context.parts], SUMS).toArrow()
    what, source, key, count, total = (arrow.numbers(told, name) for name in told.column_names)
    blocks = what == BLOCK
    sources, keys, (counts, sums) = kernel.summed_by(
        source[blocks], key[blocks], count[blocks], total[blocks]
    )
    wrong = np.flatnonzero((counts != 0) | (sums != 0))
    reached: dict[tuple[int, int], int] = {}
    far = what == REACHED
    for one, who, most in zip(*(column[far].tolist() for column in (source, key, count)), strict=True):
        reached[one, who] = max(most, reached.get((one, who), 0))
    last: dict[int, int] = {}
    for one, most in zip(*(column[what == SENT].tolist() for column in (source, count)), strict=True):
        last[one] = max(most, last.get(one, 0))
    return list(zip(sources[wrong].tolist(), keys[wrong].tolist(), strict=True)), reached, last


def sum_part(part: Part) -> Iterator[Any]:
    """What was sent to whom adds to the sum of its block, what was delivered takes away."""
    schema = arrow.schema_of(SUMS)
    reached: dict[tuple[int, int], int] = {}
    last: dict[int, int] = {}
    for table in read_part(part, SUMMED):
        rows = pick.by_federates(table) & arrow.present(table, "message")
        sent = pick.filtered(table, rows & arrow.is_one_of(table, "kind", "send"))
        got = pick.filtered(table, rows & arrow.is_one_of(table, "kind", "deliver"))
        to, many = arrow.lists(sent, "destinations")
        keys = [np.repeat(arrow.numbers(sent, name), many) for name in ("source", "message")]
        columns = [
            np.concatenate((one, arrow.numbers(got, name)))
            for one, name in zip((*keys, to), ("source", "message", "federate"), strict=True)
        ]
        sign = np.repeat(np.array([1, -1]), (len(to), len(got)))
        source, block, (counts, sums) = kernel.summed_by(
            columns[0], columns[1] >> pick.BLOCK_BITS, sign, kernel.hashed(*columns) * sign
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
        _reach(reached, pick.filtered(got, arrow.is_one_of(got, "order", "RO")))
        numbers = arrow.numbers(sent, "message")
        for one, rows in by_value(arrow.numbers(sent, "source")):
            last[int(one)] = max(int(numbers[rows].max()), last.get(int(one), 0))
    told = [
        {"what": REACHED, "source": one, "key": who, "count": most} for (one, who), most in reached.items()
    ]
    told += [{"what": SENT, "source": one, "key": 0, "count": most} for one, most in last.items()]
    yield arrow.made_of_rows(told, schema)


def _reach(reached: dict[tuple[int, int], int], got: Any) -> None:
    source, who, number = (arrow.numbers(got, name) for name in ("source", "federate", "message"))
    order = np.lexsort((number, who, source))
    last = np.flatnonzero(
        np.append((source[order][1:] != source[order][:-1]) | (who[order][1:] != who[order][:-1]), True)
    )
    for place in order[last].tolist() if len(order) else ():
        key = int(source[place]), int(who[place])
        reached[key] = max(int(number[place]), reached.get(key, 0))


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
