"""What operations took: a `dispatch`, and the `done` of the same consumer and operation that follows it at the node.

Rows count in the order of the monotonic clock, and a node's parts follow one another but for a few rows about the cuts.  So a
part measures what lies between the rows of all others (`Between`), and tells rows at its ends, from which the driver goes on: of
each consumer and operation the first and the last, and all that lie among those of other parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.review.advice.schedule import Measured
from weft.review.advice.traffic import PartTraffic
from weft.review.kernels import arrow
from weft.review.kernels.pieces import Array, by_value
from weft.review.kernels.ranks import percentiles, sample
from weft.review.spark.tasks import RunPart, read_part
from weft.review.steps import RECORDED, AuditStep, StepKind
from weft.review.steps.told import TOLD, telling

COLUMNS = (
    "kind", "name", "operation", "mono_ns", "seq", "deadline_ns", "priority", "sub_priority",
)  # fmt: skip
BEGUN, ENDED = 1, -1
EARLIEST, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Between(NamedTuple):
    """Monotonic clock, both excluded: no other part has a step in between."""

    first: int
    last: int


class Times(NamedTuple):
    """Of runs of one operation that began and ended."""

    runs: int
    taken: Array
    """As `kernels.ranks` tells them."""
    worst: int
    first: int
    last: int
    priority: int | None
    sub_priority: int | None
    misses: int


class RunningSteps(NamedTuple):
    """How many more run behind a stretch of steps than before it, and the most that did within."""

    at: int
    seq: int
    more: int
    most: int


class PartOperations(NamedTuple):
    """`ends` are rows as `_steps` gives them; `loose` says which of these lie among the rows of other parts."""

    times: dict[str, Times]
    ends: pa.Table
    loose: Array
    running: RunningSteps | None


class NodeOperations(NamedTuple):
    """`interrupts`: did one operation run while another of the node had begun and not ended?"""

    measured: list[Measured]
    interrupts: bool


def betweens(parts: Sequence[PartTraffic]) -> list[Between | None]:
    """Of parts one behind the other; None: a part without steps."""
    made: list[Between | None] = []
    for place, part in enumerate(parts):
        mine = [other.steps for other in parts[:place] if other.node == part.node and other.steps]
        later = [other.steps for other in parts[place + 1 :] if other.node == part.node and other.steps]
        first = max((last for _, last in mine), default=EARLIEST)
        last = min((begin for begin, _ in later), default=LATEST)
        made.append(Between(first, last) if part.steps else None)
    return made


def measure(number: int, part: RunPart, between: Between) -> Iterator[pa.RecordBatch]:
    tables = [_steps(table) for table in read_part(part, COLUMNS, _chosen)]
    steps = pa.concat_tables(tables)
    steps = _in_order(steps)
    mono = arrow.numbers(steps, "mono_ns")
    inside = (mono > between.first) & (mono < between.last)
    settled, loose = arrow.filtered(steps, inside), arrow.filtered(steps, ~inside)
    times, ends = timed(settled)
    told = PartOperations(
        times,
        pa.concat_tables([ends, loose]),
        np.repeat([False, True], [len(ends), len(loose)]),
        _running(settled),
    )
    yield from telling(number, told)


def _chosen(table: pa.Table) -> pa.Table:
    rows = arrow.is_one_of(table, "kind", "dispatch", "done") & arrow.fits(table, "operation", bool)
    return arrow.filtered(table, rows)


def _steps(table: pa.Table) -> pa.Table:
    """`goes_on`: what follows of the same consumer and operation has been looked at."""
    words = {name: table[name].cast(pa.string()) for name in ("name", "operation")}
    numbers = {name: table[name] for name in ("mono_ns", "seq", "deadline_ns", "priority", "sub_priority")}
    begun = arrow.is_one_of(table, "kind", "dispatch")
    return pa.table({**words, **numbers, "begun": begun, "goes_on": np.zeros(len(table), bool)})


def _in_order(steps: pa.Table) -> pa.Table:
    order = np.lexsort((arrow.numbers(steps, "seq"), arrow.numbers(steps, "mono_ns")))
    return steps if (order[1:] > order[:-1]).all() else steps.take(pa.array(order))


def _running(steps: pa.Table) -> RunningSteps | None:
    if not len(steps):
        return None
    sums = np.cumsum(np.where(arrow.numbers(steps, "begun"), BEGUN, ENDED))
    mono, seq = arrow.numbers(steps, "mono_ns"), arrow.numbers(steps, "seq")
    return RunningSteps(int(mono[0]), int(seq[0]), int(sums[-1]), int(sums.max()))


def timed(steps: pa.Table) -> tuple[dict[str, Times], pa.Table]:
    """Of steps in order the times of each operation; and the first and the last step of each consumer and operation."""
    names, _ = arrow.words(steps, "name")
    codes, operations = arrow.words(steps, "operation")
    begun, mono = arrow.numbers(steps, "begun"), arrow.numbers(steps, "mono_ns")
    due = arrow.numbers(steps, "deadline_ns")
    key = (names.astype(np.int64) + 1) * max(1, len(operations)) + codes
    order = np.argsort(key, kind="stable")
    same = key[order][1:] == key[order][:-1]
    follower = np.full(len(key), -1)
    follower[order[:-1][same]] = order[1:][same]
    runs = np.flatnonzero(begun & (follower >= 0) & ~arrow.numbers(steps, "goes_on"))
    runs = runs[~begun[follower[runs]]]
    ended = mono[follower[runs]]
    taken, late = ended - mono[runs], (due[runs] > 0) & (ended > due[runs])
    found = {}
    for code, places in by_value(codes[runs]):
        mine = runs[places]
        found[operations[code]] = Times(
            len(mine),
            sample(taken[places]),
            int(taken[places].max()),
            int(mono[mine].min()),
            int(mono[mine].max()),
            _least(steps, "priority", mine),
            _least(steps, "sub_priority", mine),
            int(late[places].sum()),
        )
    if not len(order):
        return found, steps
    return found, _ends(steps, order[np.append(True, ~same)], order[np.append(~same, True)])


def _ends(steps: pa.Table, first: Array, last: Array) -> pa.Table:
    """What follows the first ones has been looked at, unless they are the last."""
    alone = np.isin(first, last)
    places = np.concatenate((first[~alone], last))
    goes_on = pa.array(np.repeat([True, False], [len(places) - len(last), len(last)]))
    ends = steps.take(pa.array(places))
    return ends.set_column(ends.column_names.index("goes_on"), "goes_on", goes_on)


def _least(steps: pa.Table, name: str, places: Array) -> int | None:
    there = places[arrow.present(steps, name)[places]]
    return int(arrow.numbers(steps, name)[there].min()) if len(there) else None


# All parts of a node


def of_node(told: Sequence[PartOperations], missed: Counter[str]) -> NodeOperations:
    """`missed`: as the node said, which may never have said that the operation ended."""
    ends = pa.concat_tables([one.ends for one in told])
    across, _ = timed(_in_order(ends))
    times: dict[str, list[Times]] = {}
    for mine in (*(one.times for one in told), across):
        for operation, found in mine.items():
            times.setdefault(operation, []).append(found)
    measured = [_measured(name, times[name], missed[name]) for name in sorted(times)]
    return NodeOperations(measured, _interrupts(told, ends))


def _measured(operation: str, times: list[Times], missed: int) -> Measured:
    (typical,) = percentiles([(one.taken, one.runs) for one in times], [0.5])
    priorities = [one.priority for one in times if one.priority is not None]
    subs = [one.sub_priority for one in times if one.sub_priority is not None]
    return Measured(
        operation,
        sum(one.runs for one in times),
        typical,
        max(one.worst for one in times),
        min(one.first for one in times),
        max(one.last for one in times),
        min(priorities, default=None),
        min(subs, default=0),
        max(sum(one.misses for one in times), missed),
    )


def _interrupts(told: Sequence[PartOperations], ends: pa.Table) -> bool:
    loose = arrow.filtered(ends, np.concatenate([one.loose for one in told]))
    step = np.where(arrow.numbers(loose, "begun"), BEGUN, ENDED)
    columns = [arrow.numbers(loose, "mono_ns"), arrow.numbers(loose, "seq"), step, step]
    settled = np.array([one.running for one in told if one.running is not None], np.int64).reshape(-1, 4)
    at, seq, more, most = (
        np.concatenate((one, other)) for one, other in zip(columns, settled.T, strict=True)
    )
    order = np.lexsort((seq, at))
    before = np.cumsum(more[order]) - more[order]
    return bool((before + most[order] > 1).any())


MEASURE = AuditStep(
    "operations", StepKind.MAP, "what operations took, in each part; and the steps at its ends", (RECORDED, "traffic"), measure,
    TOLD, COLUMNS, when="an operation was dispatched",
)  # fmt: skip
OF_NODE = AuditStep("of nodes", StepKind.FOLD, "the same of whole nodes", ("operations",), of_node)
