"""What must be looked at in one order of all nodes: grants, and causal order where no vectors were recorded.

The same functions that the review gives to Spark; they read batches until there are no more, and here there is always one
more: when everybody has got that far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from weft.review.audits import causal, timing
from weft.review.audits.context import RTI
from weft.review.live.columns import Waiting, of_kinds
from weft.review.live.ordered import Finding, service_in
from weft.review.spark import arrow


class _Endless:
    """A function of an iterator of batches, one answer for each, as something that is fed."""

    def __init__(self, function: Callable[[Iterator[Any]], Iterator[Any]]) -> None:
        self._given: deque[Any] = deque()
        self._answers = function(iter(self._given.popleft, None))

    def feed(self, batch: Any) -> list[dict[str, Any]]:
        """None: that was the last one."""
        self._given.append(batch)
        found: list[dict[str, Any]] = next(self._answers).to_pylist()
        return found


class Grants:
    """Grants above the LBTS."""

    def __init__(self, time_column: str, lookahead_column: str) -> None:
        self._columns = (time_column, lookahead_column)
        kind = "bigint" if time_column == "time_int" else "double"
        self._gone: dict[int, tuple[int, int]] = {}  # who left, by which command, and when that was told
        self._check = _Endless(partial(timing.check_grants, kind, self._gone))
        self._schema: Any = None
        self._waiting = Waiting()

    @property
    def rows(self) -> int:
        return self._waiting.rows

    def feed(self, table: Any, clocks_differ: int) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        time, lookahead = (table.column(name) for name in self._columns)
        service = pc.fill_null(table.column("service"), "")
        kind = table.column("kind")
        leaves = service_in(kind, ("resign", "lost"))
        numbered = table.column("command").is_valid()
        left = table.filter(pc.and_(leaves, numbered)).select(["federate", "command", "epoch_ns"])
        for federate, command, at in zip(*left.to_pydict().values(), strict=True):
            self._gone[federate] = min((command, at), self._gone.get(federate, (command, at)))
        leaves = pc.and_(leaves, pc.invert(numbered))
        turns = service_in(service, (timing.CONSTRAINED, timing.NOT_CONSTRAINED))
        unknown = service_in(service, ("modify_lookahead", "disable_time_regulation"))
        stepped = pc.and_(service_in(kind, ("request", "grant")), time.is_valid())
        is_grant = pc.and_(
            pc.and_(pc.equal(kind, "grant"), service_in(service, (*timing.GRANTS, ""))), time.is_valid()
        )
        turn = pc.subtract(
            pc.cast(pc.equal(service, timing.CONSTRAINED), pa.int32()),
            pc.cast(pc.equal(service, timing.NOT_CONSTRAINED), pa.int32()),
        )
        told = pa.table(
            {
                **{name: table.column(name) for name in ("node", "seq", "federate", "command")},
                "time": time, "promise": pc.add(time, lookahead), "leaves": leaves,
                "is_grant": is_grant, "turn": turn, "at": table.column("epoch_ns"),
            }
        )  # fmt: skip
        told = told.filter(pc.or_(pc.or_(stepped, leaves), pc.or_(turns, unknown)))
        if not len(told):
            return
        checks = told.filter(told.column("is_grant"))
        at = told.column_names.index("at")
        checks = checks.set_column(at, "at", pc.add(checks.column("at"), clocks_differ))
        for part, is_check in ((told, False), (checks, True)):
            flags = pa.array(np.full(len(part), is_check))
            made = part.append_column("is_check", flags)
            self._schema = made.schema
            self._waiting.add(made)

    def crashed(self, federates: Iterable[int], at: int) -> None:
        """Their node tells nothing any more: what they promised since is not known."""
        import pyarrow as pa

        if self._schema is not None:
            row = {"seq": 0, "leaves": True, "is_grant": False, "turn": 0, "at": at, "is_check": False}
            rows = [row | {"node": "", "federate": federate} for federate in federates]
            self._waiting.add(pa.Table.from_pylist(rows, schema=self._schema))

    def settle(self, before: int) -> Iterator[Finding]:
        ready = self._waiting.take("at", before)
        if ready is None:
            return
        order = [(name, "ascending") for name in ("at", "is_check", "node", "seq")]
        for row in self._check.feed(ready.sort_by(order).combine_chunks()):
            yield {"audit": "time", **row}


class Scan:
    """Late deliveries, by one scan of the log of all nodes."""

    def __init__(self, orders: Sequence[str]) -> None:
        self._orders = tuple(orders)
        self._scan = _Endless(partial(causal.scan, patience=causal.PATIENCE))
        self._waiting = Waiting()

    @property
    def rows(self) -> int:
        return self._waiting.rows

    def feed(self, table: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = of_kinds(table, "send", "deliver")
        rows = rows.filter(pc.not_equal(pc.fill_null(rows.column("source"), RTI), RTI))
        is_send = pc.equal(rows.column("kind"), "send")
        judged = service_in(rows.column("order"), self._orders)
        fan_out = pc.if_else(judged, pc.fill_null(pc.list_value_length(rows.column("destinations")), -1), 0)
        made = pa.table(
            {
                "federate": pc.if_else(is_send, rows.column("source"), rows.column("federate")),
                **{name: rows.column(name) for name in ("source", "message", "epoch_ns", "node", "seq")},
                "is_send": is_send,
                "fan_out": pc.if_else(is_send, fan_out, 0),
            }
        )
        self._waiting.add(made.filter(pc.or_(is_send, judged)))

    def settle(self, before: int) -> Iterator[Finding]:
        ready = self._waiting.take("epoch_ns", before)
        if ready is None:
            return
        order = [(name, "ascending") for name in ("epoch_ns", "node", "seq")]
        last = int(arrow.numbers(ready, "epoch_ns").max())
        for row in self._scan.feed(ready.sort_by(order).combine_chunks()):
            yield {"audit": "causal", **row, "epoch_ns": last}

    def end(self) -> Iterator[Finding]:
        """Nobody writes any more: what still waits for something goes on without it."""
        for row in self._scan.feed(None):
            yield {"audit": "causal", **row, "epoch_ns": 0}
        self._scan = _Endless(partial(causal.scan, patience=causal.PATIENCE))
