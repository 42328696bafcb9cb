"""The Spark jobs behind the advice: rows to histograms and graphs, by group-bys and joins; what is collected is these alone.

`rows` is the table of a run with the columns of `weft.recorder.COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from weft.interest.ddm_settings import DdmSettings
from weft.kernel.node.service_table import SERVICES
from weft.review.advice import listening as advice_listening
from weft.review.advice.batches import (
    COUNTED,
    GROUPED,
    OUTSIDE,
    SEND_COLUMNS,
    Model,
    More,
    counted,
    described,
    model_cells,
    model_spaces,
    read_counts,
)
from weft.review.advice.cells import parse_layout
from weft.review.advice.grid import Listening, TrafficCounts
from weft.review.advice.listening import read_listening
from weft.review.advice.orders import ClassTraffic
from weft.review.advice.schedule import Measured
from weft.review.kernels import arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BY_CHANNELS = ("update_attribute_values", "send_interaction", "send_interaction_with_regions")
"""Services whose messages go by channels, unless their order says otherwise."""


# --- grid -------------------------------------------------------------------------------------------------------------


def listening_of(rows: DataFrame, model: Model, more: More) -> Listening:
    """Changes of subscriptions, and of the regions used for them; those of updates move more often and are left out."""
    from pyspark.sql import functions as f

    columns = list(advice_listening.COLUMNS)
    changes = rows.where(f.col("kind").isin(*advice_listening.KINDS)).select(*columns)
    declared = changes.where((f.col("kind") == "declare") & f.col("region").isNotNull())
    used = declared.select("region").distinct()
    moves = changes.where(f.col("kind") == "region").join(f.broadcast(used), "region", "left_semi")
    others = changes.where(f.col("kind") != "region")
    found = others.unionByName(moves).orderBy("epoch_ns", "node", "seq").toArrow()
    return read_listening(found.to_pylist(), model_spaces(model), model_cells(model, more))


def grouped_sends(rows: DataFrame, model: Model, more: More, listening: Listening) -> DataFrame:
    """The histogram: how many messages there were of each kind that a strategy could tell apart."""
    from pyspark.sql import functions as f

    sends = (
        rows.where((f.col("kind") == "send") & (f.col("source") > 0) & f.col("destinations").isNotNull())
        .where(f.coalesce("service", f.lit(BY_CHANNELS[0])).isin(*BY_CHANNELS))
        .where(f.coalesce("order", f.lit("RO")).isin("RO", "TSO"))
        .withColumn("destinations", f.sort_array("destinations"))
        .select(*SEND_COLUMNS)
    )
    grouped = sends.mapInArrow(partial(described, model, more, listening), GROUPED)
    return grouped.groupBy(*arrow.names_of(GROUPED)).count()


def outside(grouped: DataFrame) -> int:
    """Messages that go to those who get them under any strategy, because regions are asked as of their time."""
    from pyspark.sql import functions as f

    found = grouped.where(f.col("layout") == OUTSIDE).agg(f.sum("count").alias("n")).first()
    return int(found["n"] or 0)


def spaces_used(grouped: DataFrame) -> list[int]:
    """The numbers of the spaces in which anything was sent."""
    layouts = [row["layout"] for row in grouped.select("layout").distinct().collect()]
    return sorted({space for layout in layouts if layout != OUTSIDE for space in parse_layout(layout)[1]})


def counts_of(
    grouped: DataFrame, model: Model, more: More, listening: Listening, settings: Sequence[DdmSettings]
) -> list[TrafficCounts]:
    from pyspark.sql import functions as f

    found = (
        grouped.where(f.col("layout") != OUTSIDE)
        .mapInArrow(partial(counted, model, more, listening, settings), COUNTED)
        .groupBy("setting", "field", "federate")
        .agg(f.sum("number").alias("number"))
        .collect()
    )
    return read_counts(found, len(settings))


# --- domains ----------------------------------------------------------------------------------------------------------


def federate_nodes(rows: DataFrame) -> dict[int, str]:
    from pyspark.sql import functions as f

    found = rows.where(f.col("kind") == "join").select("federate", "node").distinct().collect()
    return {row["federate"]: row["node"] for row in found}


def message_graph(rows: DataFrame, nodes: Mapping[int, str]) -> dict[tuple[str, str], int]:
    """How many messages went from each node to each other: one for each node that has somebody who gets it."""
    from pyspark.sql import functions as f

    if not nodes:
        return {}
    where = f.create_map(*[f.lit(part) for pair in nodes.items() for part in pair])
    sends = rows.where((f.col("kind") == "send") & f.col("destinations").isNotNull())
    there = f.array_distinct(f.transform("destinations", lambda federate: where[federate]))
    found = (
        sends.select("node", f.explode(there).alias("other"))
        .where(f.col("other").isNotNull() & (f.col("other") != f.col("node")))
        .groupBy("node", "other")
        .count()
        .collect()
    )
    return {(row["node"], row["other"]): row["count"] for row in found}


def commands_by_node(rows: DataFrame) -> dict[str, int]:
    """How many commands the federates of each node gave: calls that change what all nodes know."""
    from pyspark.sql import functions as f

    control = [name for name, service in SERVICES.items() if service.control]
    of_calls = (f.col("kind") == "call") & f.col("service").isin(*control)
    found = (
        rows.where(of_calls | f.col("kind").isin(*advice_listening.KINDS)).groupBy("node").count().collect()
    )
    return {row["node"]: row["count"] for row in found}


# --- schedule ---------------------------------------------------------------------------------------------------------


def measured_operations(rows: DataFrame) -> dict[str, list[Measured]]:
    """For each node what its operations took: a `dispatch` and the `done` of the same consumer that follows it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    steps = rows.where(f.col("kind").isin("dispatch", "done") & (f.col("operation") != ""))
    order = Window.partitionBy("node", "name", "operation").orderBy("mono_ns", "seq")
    ended = f.when(f.lead("kind").over(order) == "done", f.lead("mono_ns").over(order))
    runs = steps.select("*", ended.alias("ended")).where(f.col("kind") == "dispatch")
    taken = (f.col("ended") - f.col("mono_ns")).alias("taken")
    late = f.col("ended") > f.col("deadline_ns")
    missed = f.when((f.col("deadline_ns") > 0) & late, 1).otherwise(0)
    found = (
        runs.where(f.col("ended").isNotNull())
        .select("node", "operation", "mono_ns", "priority", "sub_priority", taken, missed.alias("missed"))
        .groupBy("node", "operation")
        .agg(
            f.count("*").alias("runs"),
            f.percentile_approx("taken", 0.5, 10_000).alias("typical"),
            f.max("taken").alias("worst"),
            f.min("mono_ns").alias("first"),
            f.max("mono_ns").alias("last"),
            f.min("priority").alias("priority"),
            f.min("sub_priority").alias("sub_priority"),
            f.sum("missed").alias("misses"),
        )
        .orderBy("node", "operation")
        .collect()
    )
    # A node may have said of an event that it missed, and never that it ended.
    said = (
        rows.where((f.col("kind") == "miss") & (f.col("operation") != ""))
        .groupBy("node", "operation")
        .count()
    )
    told = {(row["node"], row["operation"]): row["count"] for row in said.collect()}
    made: dict[str, list[Measured]] = {}
    for row in found:
        one = Measured(
            row["operation"], row["runs"], row["typical"], row["worst"], row["first"], row["last"],
            row["priority"], row["sub_priority"] or 0,
            max(row["misses"], told.get((row["node"], row["operation"]), 0)),
        )  # fmt: skip
        made.setdefault(row["node"], []).append(one)
    return made


def interrupts(rows: DataFrame) -> bool:
    """Did one operation run while another of its node had begun and not ended?  Then the dispatcher interrupts."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    steps = rows.where(f.col("kind").isin("dispatch", "done") & (f.col("operation") != ""))
    order = Window.partitionBy("node").orderBy("mono_ns", "seq").rowsBetween(Window.unboundedPreceding, 0)
    running = f.sum(f.when(f.col("kind") == "dispatch", 1).otherwise(-1)).over(order)
    return bool(steps.select(running.alias("running")).where("running > 1").limit(1).count())


def operation_causes(rows: DataFrame) -> dict[tuple[str, str], int]:
    """How often the second operation handled what was sent while the first one ran."""
    from pyspark.sql import functions as f

    runs = rows.where((f.col("kind") == "dispatch") & (f.col("operation") != ""))
    first = runs.where(f.col("message").isNotNull()).select(
        "node", f.col("source").alias("cause_source"), f.col("message").alias("cause"),
        f.col("operation").alias("before"),
    )  # fmt: skip
    after = runs.where(f.col("cause").isNotNull()).select("node", "cause_source", "cause", "operation")
    found = (
        after.join(first, ["node", "cause_source", "cause"]).groupBy("before", "operation").count().collect()
    )
    return {(row["before"], row["operation"]): row["count"] for row in found}


# --- orders -----------------------------------------------------------------------------------------------------------


def class_traffic(rows: DataFrame) -> dict[str, ClassTraffic]:
    from pyspark.sql import functions as f

    sends = rows.where((f.col("kind") == "send") & f.col("class").isNotNull() & (f.col("source") > 0))
    made: dict[str, ClassTraffic] = {}
    by_order = sends.groupBy("class", "order").agg(
        f.count("*").alias("n"),
        f.sum("control_bytes").alias("control"),
        f.sum("payload_bytes").alias("payload"),
        f.min((f.coalesce("transport", f.lit("reliable")) == "reliable").cast("int")).alias("reliable"),
        f.collect_set("source").alias("sources"),
    )
    for row in by_order.collect():
        one = made.setdefault(row["class"], ClassTraffic(row["class"]))
        one.orders[row["order"] or "RO"] = row["n"]
        one.control[row["order"] or "RO"] = row["control"] or 0
        one.payload += row["payload"] or 0
        one.reliable = one.reliable and bool(row["reliable"])
        one.sources |= set(row["sources"])
    receivers = sends.select("class", f.explode("destinations").alias("who")).distinct()
    for row in receivers.groupBy("class").agg(f.collect_set("who").alias("who")).collect():
        made[row["class"]].destinations = set(row["who"])
    for row in _held(rows).collect():
        if row["class"] in made:
            made[row["class"]].held, made[row["class"]].held_ns = row["n"], row["ns"] or 0
    return made


def _held(rows: DataFrame) -> DataFrame:
    """Of each class how many messages waited at a receiver for others before them, or for their time, and how long."""
    from pyspark.sql import functions as f

    waits = rows.where(f.col("kind").isin("hold", "release"))
    began = f.min(f.when(f.col("kind") == "hold", f.col("mono_ns")))
    ended = f.max(f.when(f.col("kind") == "release", f.col("mono_ns")))
    return (
        waits.groupBy("node", "federate", "source", "message")
        .agg(f.max("class").alias("class"), began.alias("began"), ended.alias("ended"))
        .where(f.col("began").isNotNull())
        .groupBy("class")
        .agg(f.count("*").alias("n"), f.sum(f.col("ended") - f.col("began")).alias("ns"))
    )


def class_causes(rows: DataFrame) -> dict[tuple[str, str], int]:
    """How many messages of the second class were sent while one of the first was being handled."""
    from pyspark.sql import functions as f

    sends = rows.where((f.col("kind") == "send") & f.col("class").isNotNull() & (f.col("source") > 0))
    first = sends.where(f.col("message").isNotNull()).select(
        f.col("source").alias("cause_source"), f.col("message").alias("cause"), f.col("class").alias("before")
    )
    after = sends.where(f.col("cause") > 0).select("cause_source", "cause", "class")
    found = after.join(first, ["cause_source", "cause"]).groupBy("before", "class").count().collect()
    return {(row["before"], row["class"]): row["count"] for row in found}
