"""Who takes part: at which node, what it was granted, whether it has left, and when it changed its mind."""

from __future__ import annotations

from array import array

import numpy as np
import pyarrow as pa

from weft.review.audits import pick
from weft.review.audits.context import ACTING, RTI
from weft.review.audits.control import FORGETS, REGISTERS
from weft.review.kernels import arrow
from weft.review.kernels.interest import GRACE
from weft.review.kernels.records import RecordedRow
from weft.review.kernels.standing import below
from weft.review.live.columns import WaitingRows

ACQUIRES = "attribute_ownership_acquisition"


class Members:
    """What is known up to a time that everybody has reached (`settle`); the rest waits."""

    def __init__(self, time_column: str) -> None:
        self._time_column = time_column
        self.node: dict[int, str] = {}
        self.left: set[int] = set()
        self.left_at: dict[int, int] = {}  # the number of the row at its own node that says so
        self.granted: dict[int, float] = {}
        # The last message before the recording began, of who was joined.
        self.sent_before: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.joined_before: int | None = None  # the last federate that had joined when the recording began
        self.doubtful: set[int] = set()  # were granted more than they should: their grants show nothing
        self._moves: dict[int, array[int]] = {}
        self._ends: dict[int, list[tuple[str, int]]] = {}
        self._begins: dict[int, list[tuple[str, int]]] = {}
        self._forgets: set[tuple[int, str]] = set()  # who has deleted instances locally, and of which classes
        self._registers: set[tuple[int, str]] = set()  # who has instances of its own of which classes …
        self._acquires: set[int] = set()  # … and has asked for attributes of others'
        self.timed: set[int] = set()  # have changed what they want as of a logical time
        self._waiting = WaitingRows()

    def feed(self, node: str, table: pa.Table) -> None:
        """Rows of one node."""
        acting = pick.of_kinds(table, *ACTING)
        for federate in np.unique(arrow.numbers(acting, "federate")).tolist():
            if federate != RTI:
                self.node[federate] = min(node, self.node.get(federate, node))
        for row in pick.of_kinds(table, "resign", "lost").select(["federate", "seq"]).to_pylist():
            if self.node.get(row["federate"]) == node:
                self.left_at.setdefault(row["federate"], row["seq"])
        for number in arrow.numbers(pick.of_kinds(table, "start"), "source").tolist():
            self.joined_before = number if self.joined_before is None else min(number, self.joined_before)
        joins = pick.of_kinds(table, "join").select(["federate", "message", "name"]).to_pylist()
        self.names |= {row["federate"]: row["name"] for row in joins if row["name"]}
        self.sent_before |= {row["federate"]: row["message"] for row in joins if row["message"]}
        settled = pick.of_kinds(table, "grant", "resign", "lost")
        self._waiting.add(settled.select(["kind", "federate", "epoch_ns", self._time_column]))
        names = ["kind", "service", "federate", "class", "object", "epoch_ns", self._time_column]
        for row in pick.of_kinds(table, "region", "declare").select(names).to_pylist():
            self._changed(row)
            if row[self._time_column] is not None:
                self.timed.add(row["federate"])
        for row in pick.of_kinds(table, "call").select(names).to_pylist():
            if row["object"] is not None:
                self._called(row["service"] or "", (row["federate"], row["class"] or ""))

    def _called(self, service: str, whose: tuple[int, str]) -> None:
        if service == FORGETS:
            self._forgets.add(whose)
        elif service in REGISTERS:
            self._registers.add(whose)
        elif service.startswith(ACQUIRES):
            self._acquires.add(whose[0])

    def _changed(self, row: RecordedRow) -> None:
        service = row["service"] or ""
        if row["kind"] == "region" and not service.startswith("create"):
            self._moves.setdefault(row["federate"], array("q")).append(row["epoch_ns"])
        elif row["kind"] == "declare" and service.startswith("unsubscribe"):
            self._ends.setdefault(row["federate"], []).append((row["class"] or "", row["epoch_ns"]))
        elif row["kind"] == "declare" and service.startswith("subscribe"):
            self._begins.setdefault(row["federate"], []).append((row["class"] or "", row["epoch_ns"]))

    def settle(self, before: int) -> None:
        ready = self._waiting.take("epoch_ns", before)
        if ready is None:
            return
        columns = (ready.column(name).to_pylist() for name in ("kind", "federate", self._time_column))
        for kind, federate, time in zip(*columns, strict=True):
            if kind != "grant":
                self.left.add(federate)
            elif time is not None:
                self.granted[federate] = max(time, self.granted.get(federate, time))

    def may_not_know(self, federate: int, class_name: str) -> bool:
        """An instance of that class: which, is left to the review of the whole run."""
        return (federate, class_name) in self._forgets

    def may_know_it_otherwise(self, federate: int, source: int, class_name: str) -> bool:
        """It subscribes to a class above, and may have registered the instance, of which the source has acquired attributes."""
        exactly = any(name == class_name for name, _ in self._begins.get(federate, ()))
        own = (federate, class_name) in self._registers
        return own and source in self._acquires and not exactly

    def changed_its_mind(self, federate: int, class_name: str, placed: bool, sent: int) -> bool:
        """While a message of that class was under way to it from another node."""
        return self._changed_in(self._ends, federate, class_name, placed, sent, sent + GRACE)

    def came_to_want(self, federate: int, class_name: str, placed: bool, sent: int, got: int) -> bool:
        """A message of that class, perhaps, while it was under way, or before the sender's node had heard of it."""
        return self._changed_in(self._begins, federate, class_name, placed, sent - GRACE, got)

    def _changed_in(
        self,
        declared: dict[int, list[tuple[str, int]]],
        federate: int,
        class_name: str,
        placed: bool,
        first: int,
        last: int,
    ) -> bool:
        if placed and any(first <= at <= last for at in self._moves.get(federate, ())):
            return True
        return any(first <= at <= last and below(class_name, name) for name, at in declared.get(federate, ()))
