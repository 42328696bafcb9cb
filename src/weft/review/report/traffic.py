"""Sums of what was sent and delivered, of each class and each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from weft.review.audits.context import RTI

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

MOST = 200  # classes or channels that are kept apart


class ShownTraffic(NamedTuple):
    name: str
    """Of a class with its order, or the number of a channel."""
    order: str
    messages: int
    deliveries: int
    filtered: int
    """Reached a node that did not want them."""
    payload: int
    control: int


def of_classes(rows: DataFrame) -> list[ShownTraffic]:
    """The busiest first."""
    from pyspark.sql import functions as f

    kind = f.col("kind")
    named = rows.where(kind.isin("send", "deliver", "filter") & (f.col("source") != RTI))
    # A callback says receive order whatever the order of its message is; so deliveries are counted by class alone.
    order = f.when(kind == "send", f.col("order")).otherwise(f.lit(None))
    summed = named.groupBy("class", order.alias("order")).agg(
        f.count_if(kind == "send").alias("messages"),
        f.count_if(kind == "deliver").alias("deliveries"),
        f.count_if(kind == "filter").alias("filtered"),
        f.coalesce(f.sum(f.when(kind == "send", f.col("payload_bytes"))), f.lit(0)).alias("payload"),
        f.coalesce(f.sum(f.when(kind == "send", f.col("control_bytes"))), f.lit(0)).alias("control"),
    )
    by_class: dict[str, list[Row]] = {}
    for row in summed.collect():
        by_class.setdefault(row["class"] or "", []).append(row)
    made = [
        ShownTraffic(
            name,
            ", ".join(sorted({row["order"] for row in parts if row["order"]})),
            *(sum(row[column] for row in parts) for column in ShownTraffic._fields[2:]),
        )
        for name, parts in by_class.items()
    ]
    return bounded(sorted(made, key=lambda one: (-one.messages - one.deliveries, one.name)))


def of_channels(rows: DataFrame) -> list[ShownTraffic]:
    """Messages by the channels of data distribution that carried them; one that several carried counts for each."""
    from pyspark.sql import functions as f

    sent = rows.where((f.col("kind") == "send") & (f.col("source") != RTI) & f.col("channels").isNotNull())
    each = sent.select(f.explode("channels").alias("channel"), "payload_bytes", "control_bytes")
    summed = each.groupBy("channel").agg(
        f.count(f.lit(1)).alias("messages"),
        f.coalesce(f.sum("payload_bytes"), f.lit(0)).alias("payload"),
        f.coalesce(f.sum("control_bytes"), f.lit(0)).alias("control"),
    )
    busiest = summed.orderBy(f.desc("messages"), "channel").limit(MOST).collect()
    return [
        ShownTraffic(f"channel {row.channel}", "", row.messages, 0, 0, row.payload, row.control)
        for row in busiest
    ]


def bounded(all_of_them: list[ShownTraffic], most: int = MOST) -> list[ShownTraffic]:
    """The first ones, and one for all others."""
    if len(all_of_them) <= most:
        return all_of_them
    rest = all_of_them[most:]
    sums = (sum(one[place] for one in rest) for place in range(2, len(ShownTraffic._fields)))  # type: ignore[misc]
    return [*all_of_them[:most], ShownTraffic(f"{len(rest):,} others", "", *sums)]
