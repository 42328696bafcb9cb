"""`GET /metrics`: the picture as Prometheus text (version 0.0.4 of its exposition format), pure.

Names follow its conventions: prefix `weft_`, base units (seconds, bytes) at the end, `_total` for what is counted.  Labels
are `node`, `federation`, `federate`, and `peer` for the other end of a link.  A fact that a node did not tell is left out:
no sample is better than a zero.  docs/reference/metrics.md has the table; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from weft.console.surveys import Facts, number, objects, section, texts
from weft.model.json_types import Json

Labels = dict[str, str]
Sample = tuple[Labels, Json]
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    samples: Callable[[Facts], Iterator[Sample]]


def _of_node(*path: str) -> Callable[[Facts], Iterator[Sample]]:
    def samples(picture: Facts) -> Iterator[Sample]:
        for name, node in objects(picture, "nodes"):
            if node["state"] == "up":
                yield {"node": name}, _at(node, path)

    return samples


def _of_link(key: str) -> Callable[[Facts], Iterator[Sample]]:
    def samples(picture: Facts) -> Iterator[Sample]:
        for name, node in objects(picture, "nodes"):
            if node["state"] == "up":
                for peer, link in objects(section(node, "fabric"), "links"):
                    yield {"node": name, "peer": peer}, link.get(key)

    return samples


def _of_federation(read: Callable[[Facts], Json]) -> Callable[[Facts], Iterator[Sample]]:
    def samples(picture: Facts) -> Iterator[Sample]:
        for name, federation in objects(picture, "federations"):
            yield {"federation": name}, read(federation)

    return samples


def _of_federate(read: Callable[[Facts], Json]) -> Callable[[Facts], Iterator[Sample]]:
    def samples(picture: Facts) -> Iterator[Sample]:
        for federation, facts in objects(picture, "federations"):
            for name, one in objects(facts, "federates"):
                labels = {"federation": federation, "federate": name, "node": str(one.get("node", ""))}
                yield labels, read(one)

    return samples


def _at(facts: Facts, path: tuple[str, ...]) -> Json:
    value: Json = facts
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _get(name: str) -> Callable[[Facts], Json]:
    return lambda facts: facts.get(name)


def _up(picture: Facts) -> Iterator[Sample]:
    for name, node in objects(picture, "nodes"):
        yield {"node": name}, int(node["state"] == "up")


def _waits(one: Facts) -> Json:
    return one.get("seconds", 0) if one.get("asks") else 0


def _misses(one: Facts) -> Json:
    misses = section(one, "misses")
    return sum(number(misses, name) or 0 for name in misses) if "misses" in one else None


def _info(picture: Facts) -> Iterator[Sample]:
    for name, node in objects(picture, "nodes"):
        if "version" in node:
            yield {"node": name, "version": str(node["version"])}, 1


NODE = ("node",)
LINK = ("node", "peer")
FEDERATION = ("federation",)
FEDERATE = ("federation", "federate", "node")

METRICS: tuple[Metric, ...] = (
    Metric("weft_node_up", "gauge", NODE, "Whether the node answers the console (1) or not (0).", _up),
    Metric("weft_node_info", "gauge", ("node", "version"), "Always 1; the label says which version the node runs.", _info),
    Metric("weft_node_sessions", "gauge", NODE, "Sessions of federates and tools that are open at the node.",
           _of_node("server", "sessions")),
    Metric("weft_node_slow_federates", "gauge", NODE, "Federates that leave more unread than limits.slow_bytes.",
           _of_node("server", "slow")),
    Metric("weft_node_messages_total", "counter", NODE, "Updates and interactions that federates sent through the node.",
           _of_node("server", "messages")),
    Metric("weft_node_frames_total", "counter", NODE, "Frames of the Federate Protocol that the node has sent.",
           _of_node("server", "frames")),
    Metric("weft_node_writes_total", "counter", NODE, "Writes to sockets in which those frames went out.",
           _of_node("server", "writes")),
    Metric("weft_node_received_bytes_total", "counter", NODE, "Bytes that came from federates.", _of_node("server", "bytes_in")),
    Metric("weft_node_sent_bytes_total", "counter", NODE, "Bytes that went to federates.", _of_node("server", "bytes_out")),
    Metric("weft_node_cpu_seconds_total", "counter", NODE, "Processor time that the node's process has used.",
           _of_node("server", "cpu_seconds")),
    Metric("weft_node_resident_memory_bytes", "gauge", NODE, "Memory of the node's process.",
           _of_node("server", "resident_bytes")),
    Metric("weft_recording_rows_total", "counter", NODE, "Rows of runs that the node has recorded.",
           _of_node("recording", "rows")),
    Metric("weft_recording_dropped_rows_total", "counter", NODE, "Rows that were dropped because the disk did not keep up.",
           _of_node("recording", "dropped")),
    Metric("weft_recording_queue_bytes", "gauge", NODE, "Rows that wait for the disk.", _of_node("recording", "queue_bytes")),
    Metric("weft_fabric_sent_total", "counter", NODE, "Messages of the fabric that the node has sent.",
           _of_node("fabric", "sent")),
    Metric("weft_fabric_received_total", "counter", NODE, "Messages of the fabric that have come to the node.",
           _of_node("fabric", "received")),
    Metric("weft_fabric_packets_total", "counter", NODE, "Packets of the fabric, one for each hop.",
           _of_node("fabric", "packets")),
    Metric("weft_fabric_stamp_bytes_total", "counter", NODE, "Bytes of stamps for causal order in those packets.",
           _of_node("fabric", "stamp_bytes")),
    Metric("weft_fabric_backlog", "gauge", NODE, "Packets that neighbours have not acknowledged.", _of_node("fabric", "backlog")),
    Metric("weft_fabric_waiting", "gauge", NODE, "Packets that are held back until what caused them has come.",
           _of_node("fabric", "waiting")),
    Metric("weft_link_up", "gauge", LINK, "Whether the link to the peer is up (1) or not (0).",
           lambda picture: ((labels, None if up is None else int(bool(up))) for labels, up in _of_link("up")(picture))),
    Metric("weft_link_sent_total", "counter", LINK, "Messages that went over the link.", _of_link("sent")),
    Metric("weft_link_received_total", "counter", LINK, "Messages that came over the link.", _of_link("received")),
    Metric("weft_link_sent_bytes_total", "counter", LINK, "Bytes that went over the link.", _of_link("bytes_out")),
    Metric("weft_link_received_bytes_total", "counter", LINK, "Bytes that came over the link.", _of_link("bytes_in")),
    Metric("weft_link_backlog", "gauge", LINK, "Packets that the peer has not acknowledged.", _of_link("backlog")),
    Metric("weft_link_held", "gauge", LINK, "Packets from that side that are held back.", _of_link("held")),
    Metric("weft_federation_federates", "gauge", FEDERATION, "Federates that are joined.",
           _of_federation(lambda one: len(section(one, "federates")))),
    Metric("weft_federation_instances", "gauge", FEDERATION, "Object instances.", _of_federation(_get("instances"))),
    Metric("weft_federation_paused", "gauge", FEDERATION, "Whether the operator has paused time advance (1) or not (0).",
           _of_federation(lambda one: int("paused" in one))),
    Metric("weft_federate_logical_time", "gauge", FEDERATE, "The federate's logical time, in its federation's own unit.",
           _of_federate(_get("time"))),
    Metric("weft_federate_wait_seconds", "gauge", FEDERATE, "How long it has waited for a time advance; 0: it does not.",
           _of_federate(_waits)),
    Metric("weft_federate_blockers", "gauge", FEDERATE, "How many hold up the federate's time advance.",
           _of_federate(lambda one: len(texts(one, "blocked_by")) if one.get("asks") else 0)),
    Metric("weft_federate_queued_messages", "gauge", FEDERATE, "Messages in time stamp order that wait for their time.",
           _of_federate(_get("queued"))),
    Metric("weft_federate_backlog_bytes", "gauge", FEDERATE, "Bytes that the federate has not read yet.",
           _of_federate(_get("backlog_bytes"))),
    Metric("weft_federate_calls_total", "counter", FEDERATE, "Calls that the federate has made.", _of_federate(_get("calls"))),
    Metric("weft_federate_callbacks_total", "counter", FEDERATE, "Callbacks that went to the federate.",
           _of_federate(_get("callbacks"))),
    Metric("weft_federate_received_bytes_total", "counter", FEDERATE, "Bytes that came from the federate.",
           _of_federate(_get("bytes_in"))),
    Metric("weft_federate_sent_bytes_total", "counter", FEDERATE, "Bytes that went to the federate.",
           _of_federate(_get("bytes_out"))),
    Metric("weft_federate_deadlines_total", "counter", FEDERATE, "Callbacks with a deadline that the federate was handed.",
           _of_federate(_get("deadlines"))),
    Metric("weft_federate_missed_deadlines_total", "counter", FEDERATE, "Deadlines that the federate has missed.",
           _of_federate(_misses)),
    Metric("weft_console_pages", "gauge", (), "Pages that are open.",
           lambda picture: iter([({}, section(picture, "console").get("pages"))])),
)  # fmt: skip


def exposition(picture: Facts) -> str:
    lines: list[str] = []
    for metric in METRICS:
        samples = [line for line in (_line(metric, *one) for one in metric.samples(picture)) if line]
        if samples:
            lines += [
                f"# HELP {metric.name} {metric.help}",
                f"# TYPE {metric.name} {metric.kind}",
                *samples,
            ]
    return "\n".join(lines) + "\n"


def _line(metric: Metric, labels: Labels, value: Json) -> str:
    written = _number(value)
    if written is None:
        return ""
    inner = ",".join(f'{name}="{_label(labels[name])}"' for name in metric.labels)
    return f"{metric.name}{{{inner}}} {written}" if inner else f"{metric.name} {written}"


def _number(value: Json) -> str | None:
    """A logical time comes as a number or as a text of one."""
    if isinstance(value, bool) or value is None:
        return None if value is None else str(int(value))
    if isinstance(value, int):
        return str(value)
    try:
        written = repr(float(value)) if isinstance(value, str | float) else None
    except ValueError:
        return None
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(written, written) if written else None


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def markdown() -> str:
    """The table of docs/reference/metrics.md."""
    lines = ["| metric | type | labels | |", "|---|---|---|---|"]
    lines += [f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {one.help} |" for one in METRICS]
    return "\n".join(lines)
