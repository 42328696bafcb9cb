"""The row schema, as data: everything that writes or reads a run takes columns and kinds from here.

A file says in its metadata which version it was written with; a reader takes all versions up to its own and refuses newer ones.
A column once published keeps its name, type and meaning; new columns may be added, which raises the version.
"""

from __future__ import annotations

from typing import NamedTuple

VERSION = 2
"""1 had no columns `command` and `boxes`."""


class Column(NamedTuple):
    name: str
    type: str
    """int32, int64, float64, text, bytes, word (a text of which there are few: kept as a dictionary), [T] (a list of T)."""
    meaning: str


COLUMNS = (
    # Where and when.
    Column("node", "word", "name of the node that wrote the row; in a file's path, not in the file"),
    Column("seq", "int64", "number of the row in its node, from 1, no gaps but where rows were dropped"),
    Column("epoch_ns", "int64", "wall clock, nanoseconds since 1970"),
    Column("mono_ns", "int64", "monotonic clock of the node's machine, nanoseconds"),
    Column(
        "command",
        "int64",
        "number of the last command, of those that all nodes carry out in one order, that the node had carried out",
    ),
    Column("kind", "word", "what happened, see KINDS"),
    Column("service", "word", "HLA service or callback, if one was called"),
    # Who.
    Column(
        "federate", "int64", "number of the federate's handle at which it happened; 0 for the node itself"
    ),
    Column("name", "word", "name of the federate, or of the channel's consumer or supplier"),
    # Which message.  (source, message) is its key in the run.
    Column("source", "int64", "number of the handle of the federate that sent the message; 0 for the RTI"),
    Column("message", "int64", "number of the message among those of its source, from 1"),
    Column("cause_source", "int64", "source of the message that was being handled when this happened"),
    Column("cause", "int64", "number of that message"),
    Column("destinations", "[int64]", "of a send: the federates that are to get it"),
    Column("class", "word", "full name of the object or interaction class"),
    Column("object", "int64", "number of the object instance's handle"),
    Column("object_name", "text", "name of the object instance, where it is registered or discovered"),
    Column("items", "[word]", "names of attributes or parameters"),
    Column("values", "[bytes]", "of a send: the encoded values of items, where payloads are kept"),
    Column("packed", "bytes", "instead of values: the map of handles to values as it came over the wire"),
    Column("tag", "bytes", "of a send: the user-supplied tag, where payloads are kept and it is not empty"),
    # Order and time.
    Column("order", "word", "RO, CO, TSO, PO (priority) or CT (causal and total)"),
    Column("time_int", "int64", "logical time, where the federation has HLAinteger64Time"),
    Column("time_float", "float64", "logical time, where the federation has HLAfloat64Time"),
    Column("lookahead_int", "int64", "lookahead, likewise"),
    Column("lookahead_float", "float64", "lookahead, likewise"),
    Column("vector_of", "[int64]", "federates (numbers of handles) of the components of vector and causal"),
    Column("vector", "[int64]", "vector time of the message, where it was stamped"),
    Column("causal", "[int64]", "causal vector for this destination, where it was stamped"),
    # Way.
    Column("transport", "word", "reliable or best-effort"),
    Column("link", "word", "name of the other node of a link"),
    Column("channels", "[int32]", "channels of data distribution that carried it"),
    Column(
        "cells",
        "[int64]",
        "of a send with regions: partitions of the grid, or cells of the distribution lists, that it touched",
    ),
    Column("region", "int64", "number of the region's handle"),
    Column("dimensions", "[word]", "names of the dimensions of lower and upper, region after region"),
    Column("lower", "[int64]", "lower bounds, included"),
    Column("upper", "[int64]", "upper bounds, excluded"),
    Column(
        "boxes",
        "[int64]",
        "of an update, unless all of items are in one box: for each the sum of 1, 2, 4 … for the first, second, third … box of "
        "lower and upper that it is in; 0: in the default region; -1: in regions that are nowhere at that time",
    ),
    Column("payload_bytes", "int64", "bytes of the user's data"),
    Column("control_bytes", "int64", "bytes that ordering and routing added, if any"),
    # Urgency.
    Column("operation", "word", "RT_Info of what was dispatched"),
    Column("priority", "int32", "preemption priority; lower is more urgent"),
    Column("sub_priority", "int32", "place within the priority"),
    Column("rate", "float64", "updates a second, wanted or measured"),
    Column("deadline_ns", "int64", "monotonic time at which it was to be done"),
    Column("queue", "int32", "how much waited behind it"),
    Column("detail", "text", "what the columns cannot say, in words"),
)

FILTERED = frozenset(
    [
        "seq", "epoch_ns", "mono_ns", "command", "kind", "service", "federate", "name", "source", "message", "class",
        "object", "time_int", "time_float",
    ]
)  # fmt: skip
"""Columns that readers choose rows by: files say what is least and most in each of their parts."""

KINDS = {
    "start": "the node began to record; `source`: the last federate that had joined before, if any",
    "stop": "the node ended in order; without it, it crashed",
    "dropped": "rows could not be kept, `queue` says how many",
    "join": "a federate joined",
    "resign": "a federate resigned",
    "lost": "a federate was lost",
    "call": "a federate called a service",
    "declare": "publication or subscription changed",
    "region": "a region was created, changed (committed) or deleted",
    "send": "a message left its federate",
    "arrive": "a message reached a node",
    "hold": "a message waits for others before it (CO) or for time (TSO)",
    "release": "a held message may be delivered",
    "deliver": "a message was given to a federate",
    "callback": "a federate was told something else",
    "filter": "a message reached a node and was not wanted there, or not any more when it was due, or a newer value came first "
    "(update rates)",
    "drop": "a message was given up: best effort, a full queue, a federate gone",
    "retract": "a message was retracted",
    "request": "a federate asked for time",
    "grant": "a federate got time",
    "push": "a supplier pushed an event",
    "dispatch": "a consumer began with an event",
    "done": "a consumer ended",
    "miss": "a deadline was missed",
    "overrun": "a consumer ran longer than its worst case",
    "steer": "the operator paused, stepped, resumed or resigned; `detail` says what",
    "link-up": "a link to another node works",
    "link-down": "a link to another node does not work any more",
    "crash": "a node was found to have crashed",
    "restart": "a node came back from its journal",
}
