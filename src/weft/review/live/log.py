"""What must be looked at in one order of all nodes: grants, and causal order where no vectors were recorded.

The same kernels that the review gives to Spark, fed when everybody has got that far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from weft.review.audits import causal_log, grants, pick
from weft.review.kernels import arrow
from weft.review.kernels.log_scan import LateMessage, LogScan
from weft.review.kernels.records import Violation
from weft.review.kernels.timing import NEAR, Departed
from weft.review.live.columns import WaitingRows

_SCANNED = ("is_send", "federate", "source", "message", "fan_out", "epoch_ns")


class Grants:
    """Grants above the LBTS."""

    def __init__(self, time_column: str, lookahead_column: str) -> None:
        self._columns = (time_column, lookahead_column)
        self._gone: dict[int, Departed] = {}
        self._check = grants.GrantJudge(arrow.time_type(time_column), self._gone)
        self._schema: pa.Schema | None = None
        self.waiting = WaitingRows()

    def feed(self, table: pa.Table, clocks_differ: int) -> None:
        left = pick.of_kinds(table, "resign", "lost").select(["federate", "command", "epoch_ns"])
        for federate, command, at in zip(*left.to_pydict().values(), strict=True):
            if command is not None:
                told = Departed(command, at - NEAR)
                self._gone[federate] = min(told, self._gone.get(federate, told))
        clocks = grants.Clocks("", clocks_differ)
        parts = [grants.changes_of(self._columns, table)]
        parts += [
            grants.checks_of(self._columns, clocks, own, table) for own in grants.compared(clocks_differ)
        ]
        self._schema = parts[0].schema
        for part in parts:
            self.waiting.add(part)

    def crashed(self, federates: Iterable[int], at: int) -> None:
        """Their node tells nothing any more: what they promised since is not known."""
        if self._schema is not None:
            row = grants.ends_unknown("", at)
            rows = [row | {"federate": federate} for federate in federates]
            self.waiting.add(pa.Table.from_pylist(rows, schema=self._schema))

    def settle(self, before: int) -> Iterator[Violation]:
        ready = self.waiting.take("at", before)
        if ready is None:
            return
        order = [(name, "ascending") for name in ("at", "is_check", "node", "seq")]
        rows: list[Violation] = self._check.feed(ready.sort_by(order).combine_chunks()).to_pylist()
        for row in rows:
            row["audit"] = "time"
            yield row


class Scan:
    """Late deliveries, by one scan of the log of all nodes."""

    def __init__(self, orders: Sequence[str]) -> None:
        self._orders = tuple(orders)
        self._scan = LogScan(causal_log.PATIENCE)
        self.waiting = WaitingRows()

    def feed(self, table: pa.Table) -> None:
        self.waiting.add(pick.logged(self._orders, table))

    def settle(self, before: int) -> Iterator[Violation]:
        ready = self.waiting.take("epoch_ns", before)
        if ready is None:
            return
        order = [(name, "ascending") for name in ("epoch_ns", "node", "seq")]
        last = int(arrow.numbers(ready, "epoch_ns").max())
        batch = ready.sort_by(order).combine_chunks()
        for late in self._scan.feed(*(arrow.numbers(batch, name) for name in _SCANNED)):
            yield _told(late, last)

    def end(self) -> Iterator[Violation]:
        """Nobody writes any more: what still waits for something goes on without it."""
        for late in self._scan.end():
            yield _told(late, 0)
        self._scan = LogScan(causal_log.PATIENCE)


def _told(late: LateMessage, at: int) -> Violation:
    return {
        "audit": "causal",
        "federate": late.federate,
        "source": late.source,
        "message": late.message,
        "after_source": late.after_source,
        "after": late.after,
        "epoch_ns": at,
    }
