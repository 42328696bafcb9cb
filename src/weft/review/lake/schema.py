"""The tables of the lake, as data: whatever writes or reads them, and docs/reference/lake.md, takes columns from here.

A column once published keeps its name, type and meaning; new columns may be added, which raises the version: readers find
nulls where an older Weft wrote.  Every row of every table begins with `KEY`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

LAKE_VERSION = 1
FAILED, FOLLOWING = "failed", "following"
UNJUDGED = (FAILED, FOLLOWING)
"""Of runs whose figures are none to compare with."""


class TableColumn(NamedTuple):
    name: str
    type: str
    """int64, float64, text, bool, [text] (a list of texts)."""
    unit: str
    """Empty: it has none."""
    meaning: str


class LakeTable(NamedTuple):
    name: str
    a_row: str
    """What a row is."""
    own: tuple[TableColumn, ...]
    """Behind `KEY`."""

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        return (*KEY, *self.own)


def _text(name: str, meaning: str) -> TableColumn:
    return TableColumn(name, "text", "", meaning)


def _count(name: str, meaning: str, unit: str = "") -> TableColumn:
    return TableColumn(name, "int64", unit, meaning)


def _real(name: str, meaning: str, unit: str = "") -> TableColumn:
    return TableColumn(name, "float64", unit, meaning)


def _is(name: str, meaning: str) -> TableColumn:
    return TableColumn(name, "bool", "", meaning)


def _spread(unit: str, of: str) -> tuple[TableColumn, ...]:
    """Least, percentiles and greatest of what was measured."""
    shares = ((f"p{share}", f"{share} % of {of} are at most this") for share in (50, 90, 95, 99))
    told = (("min", f"least of {of}"), ("mean", f"mean of {of}"), *shares, ("max", f"greatest of {of}"))
    return tuple(_real(f"{name}_{unit}", meaning, unit) for name, meaning in told)


KEY = (
    _text("run", "name of the run's folder; with `federation` it is the run"),
    _text("federation", "name of the federation; the files are partitioned by it"),
    _text("date", "day on which the run began, in UTC, as 2026-11-18; the files are partitioned by it"),
    _text(
        "version",
        "of the review that this row is of; a run has the rows of one version, which table `run` names",
    ),
)

_FEDERATE = (
    _count("federate", "number of the federate's handle"),
    _text("federate_name", "its name, which is the same in other runs"),
)
_SOURCE = (
    _count("source", "number of the handle of the federate that sent it"),
    _text("source_name", "its name"),
)

RUN = LakeTable(
    "run",
    "a run that was reviewed, or could not be",
    (
        _text("path", "where it lay when it was reviewed"),
        _text(
            "status",
            "ok, violated, inconclusive, failed (it could not be reviewed, see `error`), or following (it is being written, and "
            "`weft review --follow` has found this so far; or was stopped, or killed)",
        ),
        _text("error", "why it could not be reviewed"),
        _count("start_ns", "when it began, since 1970", "ns"),
        _real("seconds", "from then to its last row", "s"),
        _text("state", "whether it ended in order, in words"),
        TableColumn("nodes", "[text]", "", "names of its nodes"),
        TableColumn("federates", "[text]", "", "names of its federates"),
        _count("rows", "recorded rows that were read"),
        _count("dropped", "rows that the recorder had to drop"),
        _count("violations", "of all audits together"),
        _count("unsure", "findings that are none for certain, of all audits together"),
        _count("failed_audits", "audits that failed"),
        _count("messages", "messages that federates sent"),
        _count("deliveries", "messages that were given to federates, each as often as it was"),
        _count("payload_bytes", "bytes of the user's data in these messages, each message once", "bytes"),
        _count("control_bytes", "bytes that ordering and routing added to them", "bytes"),
        _text("time", "name of the logical time implementation"),
        _text("weft", "version of Weft that reviewed it"),
        _count("row_schema", "newest version of the row schema that it could read"),
        _count("lake_schema", "version of these tables"),
        _text("options", "what the review was asked for, where not by default, as JSON"),
        _text("data_state", "checksum of what there was of the run: another one is another review"),
        _count("reviewed_ns", "when it was reviewed, since 1970", "ns"),
        _real("review_seconds", "how long that took", "s"),
        _is("advised", "whether it was also asked what should change: then table `advice` has rows"),
    ),
)

AUDIT = LakeTable(
    "audit",
    "an audit of a run",
    (
        _text("audit", "causal, time, interest, delivery or deadlines"),
        _text("status", "ok, violated, unsure or failed; following: nothing was found so far"),
        _count("violations", "what is wrong"),
        _count("unsure", "what would be, were rows not missing or doubtful"),
        _count("shown", "how many of the violations are in table `violation`"),
        _text("error", "why it failed"),
        _text("note", "why it had nothing to look at"),
        _real("seconds", "how long it took", "s"),
    ),
)

VIOLATION = LakeTable(
    "violation",
    "something that is wrong; of each audit the first ones (`audit.shown`)",
    (
        _text("audit", "the audit that found it"),
        _count("number", "its number in the audit, from 1"),
        _text("what", "what is wrong: late, loss, duplicate, missed, extra, past, decreasing, …"),
        *_FEDERATE,
        _text("node", "the node at which it happened"),
        _count("seq", "number of the row at that node"),
        *_SOURCE,
        _count("message", "number of the message among those of its source"),
        _text("class", "object or interaction class of the message"),
        _text("order", "in which the message was sent: RO, CO, TSO, …"),
        _real("time", "logical time of the message or grant"),
        _real("bound", "what that time should at least have been, or at most"),
        _count("by", "number of the federate that bounds it"),
        _count("after_source", "source of the message that came too early, or behind which it came late"),
        _count("after", "number of that message"),
        _text("after_class", "class of that message"),
        _text("after_order", "order of that message"),
        _text("name", "name of the consumer that missed a deadline"),
        _text("operation", "what it handled"),
        _count("priority", "with which priority; lower is more urgent"),
        _count("deadline_ns", "when it was due, on the node's monotonic clock", "ns"),
        _count("at_ns", "when it ended, on that clock", "ns"),
        _count("late_ns", "by how much it was late", "ns"),
        _count("epoch_ns", "wall clock, since 1970", "ns"),
        _text("detail", "what the columns cannot say"),
    ),
)

WITNESS = LakeTable(
    "witness",
    "a recorded row that a violation is about",
    (
        _text("audit", "with `number`: the violation"),
        _count("number", "the violation's number in its audit"),
        _text("node", "the node that wrote the row"),
        _count("seq", "number of the row at that node"),
        _count("epoch_ns", "wall clock, since 1970", "ns"),
        _text("kind", "send, arrive, hold, release, deliver, grant, …"),
        _text("service", "the HLA service or callback"),
        *_FEDERATE,
        _count("source", "source of the message"),
        _count("message", "number of the message"),
        _text("class", "its class"),
        _text("order", "its order"),
        _real("time", "its logical time"),
        _text("detail", "what the columns cannot say"),
    ),
)

UNSURE = LakeTable(
    "unsure",
    "findings of an audit that are none for certain",
    (
        _text("audit", "the audit"),
        _count("findings", "how many"),
        _text("because", "what is wrong with the data: texts of table `data_quality`"),
    ),
)

TRAFFIC = LakeTable(
    "traffic",
    "messages of one class, sender, receiver and channel",
    (
        _text(
            "side",
            "sent: each message once, `federate` is null; received: each delivery once.  Sum up one of them",
        ),
        _text("class", "class with which the message was sent"),
        _text("order", "order with which it was sent: RO, CO, CT, TSO, PO"),
        *_SOURCE,
        _count("federate", "number of the handle of the federate that got it"),
        _text("federate_name", "its name"),
        _text("channels", "numbers of the channels of data distribution that it was sent on, as 0 or 0,3"),
        _count("messages", "messages, or deliveries"),
        _count("bytes", "of the user's data in them", "bytes"),
        _count("control_bytes", "that ordering and routing added", "bytes"),
    ),
)

LATENCY = LakeTable(
    "latency",
    "how long something took, of one class and federate: in the whole run, or in an interval of it",
    (
        _text(
            "what", "deliver: from send to delivery; hold: from hold to release; grant: from request to grant"
        ),
        _text("span", "run: all of it; interval: that which ended in the interval.  Take one of them"),
        _real("from_s", "where the interval begins, since the run's start", "s"),
        _real("interval_s", "how long it is: the same in all of a run, 1 s in runs of up to 10 minutes", "s"),
        _text("class", "class with which the message was sent; null for grants"),
        _text("order", "order with which it was sent; null for grants"),
        _text("service", "by which time was asked for; null for messages"),
        _count("federate", "number of the handle of the federate that got it, or waited"),
        _text("federate_name", "its name, which is the same in other runs"),
        _is("across", "from another node: two wall clocks are compared, and may differ"),
        _count("count", "how many"),
        *_spread("ms", "these"),
        _real("sd_ms", "their standard deviation", "ms"),
    ),
)

DEADLINE = LakeTable(
    "deadline",
    "how a consumer kept its deadlines, at one priority",
    (
        _text("node", "the node it was at"),
        _text("name", "name of the consumer"),
        _count("priority", "preemption priority; lower is more urgent"),
        _count("events", "that it handled"),
        _count("misses", "of them later than they were due"),
        _real("laxity_min_ms", "least time that was left; below zero it was late", "ms"),
        _real("laxity_mean_ms", "mean time that was left", "ms"),
        _real("laxity_p1_ms", "1 % had less", "ms"),
        _real("laxity_p5_ms", "5 % had less", "ms"),
        _real("laxity_p50_ms", "half had less", "ms"),
        _real("laxity_p95_ms", "95 % had less", "ms"),
        _real("laxity_p99_ms", "99 % had less", "ms"),
        _real("laxity_max_ms", "most time that was left", "ms"),
        _real("utilisation", "share of the run in which it was busy, 0 to 1"),
    ),
)

ADVICE = LakeTable(
    "advice",
    "something that should change before the next run, or why not",
    (
        _text("kind", "grid, domains, schedule or orders"),
        _text("subject", "orders: the class; else null"),
        _text("none_because", "why there is no advice of this kind"),
        _text("file", "the settings file that `weft tune` would write"),
        _real("saved", "predicted gain: grid: receptions; domains: cost; orders: bytes"),
        _text("figures", "all that the advice says, as JSON"),
    ),
)

DATA_QUALITY = LakeTable(
    "data_quality",
    "something that is to be known of a run's data",
    (
        _text("check", "what was looked at: missing file, repeated file, corrupt file, clock, note, …"),
        _text("subject", "the file or node it is about"),
        _text(
            "severity",
            "note (put right), gap (rows are missing), wrong (not to be trusted), clock (times are not), figure (a measure)",
        ),
        TableColumn("nodes", "[text]", "", "whose rows it concerns"),
        _text("text", "in words"),
        _text("figures", "in numbers, as JSON, if there are any"),
    ),
)

TABLES = {
    table.name: table
    for table in (
        *(RUN, AUDIT, VIOLATION, WITNESS, UNSURE),
        *(TRAFFIC, LATENCY, DEADLINE, ADVICE, DATA_QUALITY),
    )
}


def table_schema(name: str) -> pa.Schema:
    """Of a table, in Arrow's types."""
    import pyarrow as pa

    plain = {"int64": pa.int64(), "float64": pa.float64(), "text": pa.string(), "bool": pa.bool_()}
    plain |= {f"[{kind}]": pa.list_(found) for kind, found in plain.items()}
    return pa.schema([(column.name, plain[column.type]) for column in TABLES[name].columns])


def spark_words(name: str) -> str:
    """The same in Spark's."""
    plain = {"int64": "bigint", "float64": "double", "text": "string", "bool": "boolean"}
    plain |= {f"[{kind}]": f"array<{found}>" for kind, found in plain.items()}
    return ", ".join(f"`{column.name}` {plain[column.type]}" for column in TABLES[name].columns)
