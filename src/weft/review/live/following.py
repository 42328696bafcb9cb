"""All audits of a run that is being written: fed with rows as they come, it tells what is wrong as soon as that is certain.

What is told here the review of the whole run tells too; it is the judge in the end.  What takes the whole run to know
(figures of consumers, what was forgotten meanwhile) is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from weft.review.audits.context import plain
from weft.review.kernels.records import Violation
from weft.review.live.addressing import Addressing
from weft.review.live.asked import Asked
from weft.review.live.frontier import FOREVER, Frontier
from weft.review.live.handovers import SETTLED, Handovers
from weft.review.live.log import Grants, Scan
from weft.review.live.members import Members
from weft.review.live.ordered import Deadlines, FederateSteps, Vectors

COLUMNS = (
    "node", "seq", "epoch_ns", "mono_ns", "command", "kind", "service", "federate", "name", "source", "message",
    "destinations", "class", "object", "items", "order", "time_int", "time_float", "lookahead_int",
    "lookahead_float", "vector_of", "vector", "transport", "region", "dimensions", "lower", "upper", "boxes",
    "operation", "priority", "deadline_ns",
)  # fmt: skip
SHOWN = 20  # findings of an audit that are kept to be shown; all are told, and counted
LATE_KEYS = 1_000_000  # late deliveries that are remembered, so that none is told twice


class Following:
    """`feed` it tables with `COLUMNS`, of each node in order; it returns findings: what a witness says, and `audit`."""

    def __init__(
        self, time_column: str, orders: Sequence[str], began: int = 0, witnesses: int = SHOWN
    ) -> None:
        """`began`: now, on the wall clock.  `witnesses`: findings of each audit that are kept to be shown."""
        self.frontier = Frontier(began)
        self.rows = 0
        self.newest_ns = 0  # the time of the newest row
        self.counts: dict[str, int] = {}
        self.shown: dict[str, list[Violation]] = {}
        self._witnesses = witnesses
        self._orders = tuple(orders)
        self._members = Members(time_column)
        self._handovers = Handovers(time_column, self.frontier, self._members)
        self._addressing = Addressing(time_column, self._handovers)
        self._asked = Asked(time_column, self.frontier, self._members, self._addressing)
        self._steps = FederateSteps(time_column)
        self._vectors = Vectors(orders)
        self._deadlines = Deadlines()
        self._grants = Grants(time_column, time_column.replace("time", "lookahead"))
        self._scan = Scan(orders)
        self._late: dict[tuple[int, int, int], None] = {}
        self._unnamed: list[Violation] = []
        self._crashed: set[str] = set()
        self._settled = 0

    def feed(self, table: pa.Table) -> list[Violation]:
        found: list[Violation] = []
        self.rows += len(table)
        self.newest_ns = max(self.newest_ns, pc.max(table.column("epoch_ns")).as_py() or 0)
        for node in table.column("node").unique().to_pylist():
            mine = table.filter(pc.equal(table.column("node"), node)).combine_chunks()
            self.frontier.feed(node, mine)
            self._members.feed(node, mine)
            found += self._steps.feed(node, mine)
            found += self._deadlines.feed(node, mine)
            self._unnamed += self._vectors.feed(node, mine)
            self._handovers.feed(node, mine)
            self._addressing.feed(node, mine)
            self._asked.feed(mine)
        self._grants.feed(table, self.frontier.clocks_differ)
        self._scan.feed(table)
        return self._counted(found + self.settle())

    def settle(self) -> list[Violation]:
        """What is certain now that nodes have told more."""
        before = self._settled = self.frontier.all_read
        for node in self.frontier.crashed - self._crashed:
            there = [federate for federate, where in self._members.node.items() if where == node]
            self._grants.crashed(there, self.frontier.read[node])
        self._crashed = set(self.frontier.crashed)
        # A federate's own node may be the last to tell that it left.
        found = list(self._grants.settle(before - SETTLED))
        self._members.doubtful |= {finding["federate"] for finding in found}
        self._members.settle(before - SETTLED)
        self._addressing.settle(before)
        found += self._handovers.judge(before, max(self.frontier.read.values(), default=0))
        found += self._asked.settle(before)
        self._unnamed += self._scan.settle(before)
        if before == FOREVER:
            self._unnamed += self._scan.end()
        return found + list(self._named(before))

    def idle(self) -> list[Violation]:
        """Nothing came, but somebody may have said so."""
        if self.frontier.all_read == self._settled:
            return []
        return self._counted(self.settle())

    def _counted(self, found: list[Violation]) -> list[Violation]:
        for finding in found:
            audit = finding["audit"]
            self.counts[audit] = self.counts.get(audit, 0) + 1
            if self.counts[audit] <= self._witnesses:
                self.shown.setdefault(audit, []).append(finding)
        return found

    def _named(self, before: int) -> Iterator[Violation]:
        """Late messages with their classes and orders, once their sends must have been read."""
        waiting, self._unnamed = self._unnamed, []
        for finding in waiting:
            if finding["epoch_ns"] + self.frontier.clocks_differ >= before:
                self._unnamed.append(finding)
                continue
            key = (finding["federate"], finding["source"], finding["message"])
            if key in self._late:
                continue
            self._late[key] = None
            if len(self._late) > LATE_KEYS:
                del self._late[next(iter(self._late))]
            named = plain(finding, "epoch_ns")
            named["class"], named["order"] = self._handovers.sent_as(finding["source"], finding["message"])
            after = self._handovers.sent_as(finding["after_source"], finding["after"])
            named["after_class"], named["after_order"] = after
            if (named["order"] or self._orders[0]) in self._orders:
                yield plain(named)

    @property
    def federates(self) -> dict[int, str]:
        """Names, of those that joined while it was recorded."""
        return self._members.names

    @property
    def unsure(self) -> int:
        return self._handovers.unsure + self._asked.unsure

    @property
    def waiting(self) -> int:
        """Rows and handovers that are kept because something about them is not certain yet."""
        of_all = self._grants.waiting.rows + self._scan.waiting.rows
        return len(self._handovers.handovers) + self._addressing.rows + of_all
