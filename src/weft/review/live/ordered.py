"""What the rows of one node tell by themselves, as they come: time stamp order, causal order by vectors, deadlines.

The kernels judge rows of one federate from front to back.  What was before is put in front of them as a row or two that stand
for it: the last requests, grants and deliveries; the greatest of all vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from weft.review.audits import deadlines, pick, timing
from weft.review.audits.context import plain
from weft.review.kernels import arrow
from weft.review.kernels import causal as causal_kernel
from weft.review.kernels.pieces import Array, by_value
from weft.review.kernels.records import RecordedRow, Violation

RECENT = 4096  # deliveries to a federate that are remembered, to know one that comes again
MISSES = 100_000  # that are remembered: a miss is told by one row, and by another when the event has ended


class FederateSteps:
    """Logical time, federate by federate: time stamp order, grants as asked for, promises kept (`audits.timing`)."""

    def __init__(self, time_column: str) -> None:
        self._columns = (time_column, time_column.replace("time", "lookahead"))
        self._type = arrow.time_type(time_column)
        self._before: dict[str, pa.Table] = {}  # by node: rows that say what was before

    def feed(self, node: str, table: pa.Table) -> Iterator[Violation]:
        schema = arrow.schema_of(timing.STEPPED.format(time=self._type))
        before = self._before.get(node, schema.empty_table())
        rows = timing.ordered(self._columns, table).cast(schema)
        whole = pa.concat_tables([before, rows]).combine_chunks()
        self._before[node] = timing.tail_of(whole)
        for row in timing.judged(self._type, node, whole, len(before)).to_pylist():
            row["audit"] = "time"
            yield plain(row)


class _HeardVectors:
    """One federate: the greatest of all vectors that came, by which message, and what came of late."""

    def __init__(self) -> None:
        self.processes = np.empty(0, np.int64)
        self.most = np.empty(0, np.int64)
        self.by = np.empty((0, 2), np.int64)
        self.recent: dict[tuple[int, int], None] = {}
        self.forgot = False

    def grow(self, processes: Array) -> None:
        """Make room for more of them; sorted."""
        every = np.union1d(self.processes, processes)
        if len(every) > len(self.processes):
            places = np.searchsorted(every, self.processes)
            most, by = np.zeros(len(every), np.int64), np.zeros((len(every), 2), np.int64)
            most[places], by[places] = self.most, self.by
            self.processes, self.most, self.by = every, most, by

    def remember(self, keys: list[tuple[int, int]]) -> None:
        self.recent.update(dict.fromkeys(keys))
        while len(self.recent) > RECENT:
            del self.recent[next(iter(self.recent))]
            self.forgot = True


class Vectors:
    """Late deliveries, by the vectors that were recorded."""

    def __init__(self, orders: Sequence[str]) -> None:
        self._orders = tuple(orders)
        self._heard: dict[tuple[str, int], _HeardVectors] = {}

    def feed(self, node: str, table: pa.Table) -> Iterator[Violation]:
        rows = pick.stamped(self._orders, table)
        names = ("source", "message", "process")
        source, message, stamper = (arrow.numbers(rows, name) for name in names)
        process, lengths = arrow.lists(rows, "vector_of")
        values, _ = arrow.lists(rows, "vector")
        ends = np.cumsum(lengths)
        epoch = arrow.numbers(rows, "epoch_ns")
        for federate, places in by_value(arrow.numbers(rows, "federate")):
            inside = np.concatenate([np.arange(ends[p] - lengths[p], ends[p]) for p in places])
            heard = self._heard.setdefault((node, int(federate)), _HeardVectors())
            heard.grow(np.concatenate((process[inside], stamper[places])))
            vectors = causal_kernel.dense(process[inside], values[inside], lengths[places], heard.processes)
            for place, after in self._judge(heard, stamper[places], source[places], message[places], vectors):
                at = places[place]
                yield {
                    "audit": "causal", "federate": int(federate), "source": int(source[at]),
                    "message": int(message[at]), "after_source": after[0], "after": after[1],
                    "epoch_ns": int(epoch[at]),
                }  # fmt: skip

    def _judge(
        self, heard: _HeardVectors, stamper: Array, source: Array, message: Array, vectors: Array
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        columns = np.searchsorted(heard.processes, stamper)
        own = vectors[np.arange(len(vectors)), columns]
        # The row in front of all others has heard what the federate has, and is late for nobody.
        late, carry = causal_kernel.late_deliveries(
            np.concatenate(([0], columns)),
            np.concatenate(([np.iinfo(np.int64).max], own)),
            np.vstack((heard.most, vectors)),
        )
        before = dict(heard.recent)
        for place, after in zip((late.places - 1).tolist(), (late.after - 1).tolist(), strict=True):
            key = (int(source[place]), int(message[place]))
            if key in before or (after < 0 and heard.forgot):
                continue  # it may have come before, so long ago that nobody remembers
            if after < 0:
                by = heard.by[columns[place]]
                yield place, (int(by[0]), int(by[1]))
            else:
                yield place, (int(source[after]), int(message[after]))
        told = np.stack((source, message), axis=1)
        fresh = carry.by > 0
        heard.by[fresh] = told[carry.by[fresh] - 1]
        heard.most = np.maximum(heard.most, carry.most)
        heard.remember(list(zip(source.tolist(), message.tolist(), strict=True)))


class Deadlines:
    """What ended after its deadline, or was said to have missed it; both of one event are one miss."""

    KEY = ("name", "operation", "priority", "deadline_ns", "source", "message")

    def __init__(self) -> None:
        self._told: dict[tuple[object, ...], list[int]] = {}  # how many ended late, and were said to be

    def feed(self, node: str, table: pa.Table) -> Iterator[Violation]:
        row: RecordedRow
        for row in deadlines.late(table).select(["kind", "seq", "mono_ns", *self.KEY]).to_pylist():
            due = row["deadline_ns"] = row["deadline_ns"] or None
            key = (node, *(value for name, value in row.items() if name in self.KEY))
            counts = self._told.setdefault(key, [0, 0])
            before = max(counts)
            counts[row["kind"] == "miss"] += 1
            if max(counts) > before:
                told: Violation = {
                    "audit": "deadlines",
                    "node": node,
                    "name": row["name"],
                    "operation": row["operation"],
                    "priority": row["priority"],
                    "deadline_ns": due,
                    "at_ns": row["mono_ns"],
                    "seq": row["seq"],
                    "late_ns": None if due is None else row["mono_ns"] - due,
                }
                if row["source"] is not None and row["message"] is not None:
                    told["source"], told["message"] = row["source"], row["message"]
                yield plain(told)
        while len(self._told) > MISSES:
            del self._told[next(iter(self._told))]
