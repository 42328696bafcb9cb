"""What a report shows besides the findings: rows around each witness, rows of the time line, sums of the traffic.

Each is one or two passes over the rows, whatever the number of witnesses: these are few, so they are sent to the rows, and not
the rows to them.  What comes back is bounded, and `notes` says where there was more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from weft.recorder.timeline import KINDS, Row, rows_of
from weft.review.audits.context import RTI, Context, Result
from weft.review.errors import reason
from weft.review.kernels.records import RecordedRow, Violation
from weft.review.report.diagram import NamedFederate as NamedFederate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import Row as SparkRow

MOST_DRAWN = 20  # witnesses of each audit
NEAR_ROWS = 160  # around each
ROWS_OF_KEYS = 20_000
TIME_LINE_ROWS = 100_000
MOST_APART = 200  # classes or channels
MARGIN, MARGIN_OF_ALL = 1_000_000_000, 50_000_000
"""Nanoseconds around a witness: for rows of those it names, and of everybody."""
SHOWN = (
    "node", "seq", "epoch_ns", "mono_ns", "kind", "service", "federate", "name", "source", "message", "cause_source", "cause",
    "class", "order", "deadline_ns", "priority", "operation", "detail",
)  # fmt: skip
OF_MESSAGES = ("send", "deliver")
OF_KEYS = ("send", "deliver", "hold", "release", "filter", "drop", "retract")
OF_TIME = ("deliver", "send", "grant", "request")
OF_CONSUMERS = ("dispatch", "done", "miss")
OF_INTEREST = ("send", "deliver", "declare", "region")
KINDS_NEAR = {
    "causal": OF_MESSAGES, "time": OF_TIME, "interest": OF_INTEREST, "delivery": OF_MESSAGES, "deadlines": OF_CONSUMERS,
}  # fmt: skip

Place = tuple[str, int]
"""Of a witness: the audit, and which one of it, from 0."""


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


@dataclass
class Evidence:
    """All of it plain data."""

    federation: str = ""
    started: str = ""
    made: str = ""
    nodes: tuple[str, ...] = ()
    federates: dict[int, NamedFederate] = field(default_factory=dict)
    near: dict[Place, list[RecordedRow]] = field(default_factory=dict)
    """Rows around witnesses, each once."""
    time_line: list[Row] = field(default_factory=list)
    time_line_rows: int = 0
    """How many there are in all."""
    classes: list[ShownTraffic] = field(default_factory=list)
    channels: list[ShownTraffic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be had, or was left out."""


def gather(context: Context, audits: Mapping[str, Result]) -> Evidence:
    """Whatever of it fails is missing from the report, which says so; the findings are worth more."""
    run = context.opened.run
    found = Evidence(
        run.federation,
        str(run.info.get("start", "")),
        time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        tuple(context.nodes),
    )

    def attempt(what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            found.notes.append(f"{what} could not be read: {reason(error)}")

    attempt("The names of federates", lambda: found.federates.update(_federates(context)))
    attempt("The rows around witnesses", lambda: found.near.update(near(context, audits)))
    attempt("The time line", lambda: _time_line(context, found))
    attempt("The traffic of classes", lambda: found.classes.extend(of_classes(context.frame)))
    attempt("The traffic of channels", lambda: found.channels.extend(of_channels(context.frame)))
    for name, result in audits.items():
        drawn = min(len(result.witnesses), MOST_DRAWN)
        if result.violations > drawn:
            found.notes.append(
                f"{name}: {drawn:,} of {result.violations:,} violations are drawn, and {len(result.witnesses):,} listed "
                f"(--witnesses N; at most {MOST_DRAWN} are drawn)."
            )
    return found


def _federates(context: Context) -> dict[int, NamedFederate]:
    from pyspark.sql import functions as f

    joined = context.frame.where((f.col("kind") == "join") & (f.col("federate") != RTI))
    told = joined.groupBy("federate").agg(f.max("name").alias("name"), f.max("node").alias("node"))
    found = {row.federate: NamedFederate(row["name"] or "", row.node) for row in told.collect()}
    for number, member in context.members.items():
        found.setdefault(number, NamedFederate("", member.node))
    return found


# Rows around witnesses


class Key(NamedTuple):
    """What a witness names: a message, or a row of a node."""

    place: int
    source: int | None = None
    message: int | None = None
    node: str | None = None
    seq: int | None = None


def keys_of(place: int, witness: Violation) -> list[Key]:
    found = []
    named = (
        (witness.get("source"), witness.get("message")),
        (witness.get("after_source"), witness.get("after")),
    )
    for source, message in named:
        if source and message:
            found.append(Key(place, source, message))
    node, seq = witness.get("node"), witness.get("seq")
    if node is not None and seq is not None:
        found.append(Key(place, node=node, seq=seq))
    return found


def near(context: Context, audits: Mapping[str, Result]) -> dict[Place, list[RecordedRow]]:
    """For each witness that is drawn: rows of what it names, and those nearest in time."""
    places = [
        (name, number)
        for name, result in audits.items()
        for number in range(len(result.witnesses[:MOST_DRAWN]))
    ]
    witnesses = [audits[name].witnesses[number] for name, number in places]
    if not places:
        return {}
    keys = [key for place, witness in enumerate(witnesses) for key in keys_of(place, witness)]
    named = _rows_of_keys(context, keys)
    windows = [
        window
        for place, (name, _) in enumerate(places)
        if (window := window_of(place, name, witnesses[place], named.get(place, ()))) is not None
    ]
    around = _rows_around(context, windows)
    return {key: merged([*named.get(place, ()), *around.get(place, ())]) for place, key in enumerate(places)}


def merged(rows: Sequence[RecordedRow]) -> list[RecordedRow]:
    """Each row once, in the order of the clock."""
    once = {(row["node"], row["seq"]): row for row in rows}
    return sorted(once.values(), key=lambda row: (row["epoch_ns"] or 0, row["node"], row["seq"]))


def _columns(context: Context) -> list[Column]:
    from pyspark.sql import functions as f

    return [*(f.col(name) for name in SHOWN), f.col(context.opened.time_column).alias("time")]


def _by_place(frame: DataFrame) -> dict[int, list[RecordedRow]]:
    found: dict[int, list[RecordedRow]] = {}
    for row in frame.collect():
        told = row.asDict()
        found.setdefault(told.pop("place"), []).append(told)
    return found


def _rows_of_keys(context: Context, keys: Sequence[Key]) -> dict[int, list[RecordedRow]]:
    from pyspark.sql import functions as f

    schema = "place int, {0} {1}, {2} bigint"
    messages = [(key.place, key.source, key.message) for key in keys if key.source is not None]
    places = [(key.place, key.node, key.seq) for key in keys if key.node is not None]
    rows = context.frame
    by_message = context.spark.createDataFrame(messages, schema.format("source", "bigint", "message"))
    by_place = context.spark.createDataFrame(places, schema.format("node", "string", "seq"))
    named = rows.where(f.col("kind").isin(*OF_KEYS)).join(f.broadcast(by_message), ["source", "message"])
    exact = rows.join(f.broadcast(by_place), ["node", "seq"])
    columns = ["place", *_columns(context)]
    return _by_place(named.select(*columns).unionByName(exact.select(*columns)).limit(ROWS_OF_KEYS))


class Span(NamedTuple):
    """Where to look for rows around a witness."""

    place: int
    first: int
    last: int
    moments: list[int]
    """Epochs of what it names: rows near these come first."""
    kinds: list[str]
    federates: list[int]
    """Only theirs; none: everybody's."""
    node: str | None
    name: str | None


def window_of(place: int, audit: str, witness: Violation, rows: Sequence[RecordedRow]) -> Span | None:
    named = (witness.get("federate"), witness.get("source"), witness.get("by"))
    involved = [who for who in named if who is not None]
    moments = sorted(
        row["epoch_ns"]
        for row in rows
        if row["federate"] in involved or row["kind"] == "send" or not involved
    )
    if not moments:
        return None
    first, last = moments[0], moments[-1]
    least = MARGIN_OF_ALL if audit == "causal" else MARGIN
    margin = max(least, (last - first) // 4, 4 * int(witness.get("late_ns") or 0))
    return Span(
        place, first - margin, last + margin, moments[:8], list(KINDS_NEAR[audit]),
        [] if audit in ("causal", "deadlines") else involved,
        witness.get("node") if audit == "deadlines" else None,
        witness.get("name") if audit == "deadlines" else None,
    )  # fmt: skip


SPANS = (
    "place int, first bigint, last bigint, moments array<bigint>, kinds array<string>, who array<bigint>, "
    "only_node string, only_name string"
)


def _rows_around(context: Context, spans: Sequence[Span]) -> dict[int, list[RecordedRow]]:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if not spans:
        return {}
    wanted = f.broadcast(context.spark.createDataFrame([tuple(span) for span in spans], SPANS))
    kinds = sorted({kind for span in spans for kind in span.kinds})
    inside = (
        f.col("epoch_ns").between(f.col("first"), f.col("last"))
        & f.expr("array_contains(kinds, kind) AND (size(who) = 0 OR array_contains(who, federate))")
        & f.expr("(only_node IS NULL OR only_node = node) AND (only_name IS NULL OR only_name = name)")
    )
    own = f.coalesce(f.col("source") != RTI, f.lit(True))
    rows = context.frame.where(f.col("kind").isin(*kinds) & own)
    distance = f.expr("array_min(transform(moments, one -> abs(epoch_ns - one)))")
    joined = rows.join(wanted, inside).withColumn("distance", distance)
    nearest = Window.partitionBy("place").orderBy("distance", "node", "seq")
    ranked = joined.withColumn("rank", f.row_number().over(nearest)).where(f.col("rank") <= NEAR_ROWS)
    return _by_place(ranked.select("place", *_columns(context)))


# The time line


def _time_line(context: Context, found: Evidence) -> None:
    from pyspark.sql import functions as f

    kind = f.col("kind")
    of_event_channels = kind.isin(*KINDS) & ((kind != "drop") | f.col("priority").isNotNull())
    rows = context.frame.where(of_event_channels).select(*Row._fields)
    told = rows.where(~kind.isin("start", "stop", "dropped"))
    found.time_line_rows = told.count()
    if not found.time_line_rows:
        return
    part = rows if found.time_line_rows <= TIME_LINE_ROWS else rows.orderBy("mono_ns").limit(TIME_LINE_ROWS)
    table = part.toArrow()
    found.time_line = rows_of({name: table.column(name).to_pylist() for name in table.column_names})
    if found.time_line_rows > TIME_LINE_ROWS:
        found.notes.append(
            f"Time line: the first {TIME_LINE_ROWS:,} of {found.time_line_rows:,} rows are drawn; "
            "`weft timeline RUN --from S --to S` draws any other part."
        )


# Traffic


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
    by_class: dict[str, list[SparkRow]] = {}
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
    busiest = summed.orderBy(f.desc("messages"), "channel").limit(MOST_APART).collect()
    return [
        ShownTraffic(f"channel {row.channel}", "", row.messages, 0, 0, row.payload, row.control)
        for row in busiest
    ]


def bounded(all_of_them: list[ShownTraffic], most: int = MOST_APART) -> list[ShownTraffic]:
    """The first ones, and one for all others."""
    if len(all_of_them) <= most:
        return all_of_them
    rest = all_of_them[most:]
    sums = (sum(one[place] for one in rest) for place in range(2, len(ShownTraffic._fields)))  # type: ignore[misc]
    return [*all_of_them[:most], ShownTraffic(f"{len(rest):,} others", "", *sums)]
