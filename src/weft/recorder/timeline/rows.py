"""The rows that a time line is made of, and one time for all of them.

A node's rows have its machine's monotonic clock.  Nodes of one machine share that clock; those of different machines are
brought together by their wall clocks, as well as these agree.  Rows may have been written later than others that came after
them, since dispatchers have processes of their own: time orders them, and the sequence only where times are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

OF_NODES = ("start", "stop", "dropped")
KINDS = (*OF_NODES, "push", "dispatch", "done", "miss", "overrun", "drop")
SAME_MACHINE_NS = 10**9
"""Clocks of one machine differ from wall-clock time by the same; so much may the wall clock have been set meanwhile."""


class Row(NamedTuple):
    """The columns that matter here, with the names of the schema."""

    kind: str
    mono_ns: int
    name: str = ""
    node: str = ""
    seq: int = 0
    operation: str = ""
    priority: int | None = None
    sub_priority: int | None = None
    deadline_ns: int | None = None
    queue: int | None = None
    epoch_ns: int | None = None
    detail: str = ""


class Clock(NamedTuple):
    """What is added to a node's monotonic time, and on which machine it is, from 0."""

    machine: int
    shift: int


def rows_of(columns: Mapping[str, Sequence[object]]) -> list[Row]:
    """Rows from columns of equal length.  Columns may be missing or have no value in some rows."""
    empty = dict.fromkeys(("kind", "name", "node", "operation", "detail"), "")
    instead: dict[str, object] = {**empty, "seq": 0, "deadline_ns": None}  # a deadline of 0 stands for none
    filled = []
    for field in Row._fields:
        values = columns.get(field)
        if values is None:
            filled.append([Row._field_defaults.get(field)] * len(columns["kind"]))
        elif field in instead:
            filled.append([value or instead[field] for value in values])
        else:
            filled.append(list(values))
    return [Row(*values) for values in zip(*filled, strict=True)]


def clocks(rows: Iterable[Row]) -> dict[str, Clock]:
    """For each node.  The nodes of the machine whose clock is nearest to wall-clock time keep their own."""
    offsets: dict[str, int | None] = {}
    for row in rows:
        if offsets.get(row.node) is None:
            offsets[row.node] = row.epoch_ns - row.mono_ns if row.epoch_ns else None
    known = sorted((offset, node) for node, offset in offsets.items() if offset is not None)
    found = {node: Clock(0, 0) for node, offset in offsets.items() if offset is None}
    machine = 0
    for place, (offset, node) in enumerate(known):
        if place and offset - known[place - 1][0] > SAME_MACHINE_NS:
            machine += 1
            found[node] = Clock(machine, offset - known[0][0])
        else:
            found[node] = Clock(machine, found[known[place - 1][1]].shift if place else 0)
    return found
