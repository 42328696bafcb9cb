"""Messages as they were sent and as they were handed over: the same time, class and items, each number once, to nobody who left.

The rules are those of the review of the whole run (`audits.judging`); here rows of messages wait until whatever
belongs to them has been read, and sends and arrivals are kept for a while, for deliveries that come later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from weft.review.audits import pick
from weft.review.audits.context import RecordedMember, plain
from weft.review.audits.judging import (
    AFTER_RESIGNATION,
    EXTRA_ITEMS,
    MISSING_ITEMS,
    OTHER_CLASS,
    OTHER_TIME,
    TWICE,
    Judged,
    Known,
)
from weft.review.audits.near import KINDS, as_rows
from weft.review.audits.survey import MemberStay
from weft.review.kernels import arrow
from weft.review.kernels.records import Violation
from weft.review.kernels.sums import hashed
from weft.review.live.addressing import Addressing
from weft.review.live.columns import WaitingRows
from weft.review.live.frontier import Frontier
from weft.review.live.members import Members

SETTLED = 2_000_000_000  # ns after which all rows of a delivery must have been read
KEPT = 30_000_000_000  # ns for which sends and arrivals are known
MOST = 1_000_000  # rows, of which the oldest are forgotten then
AUDITS = {
    OTHER_TIME: "time",
    AFTER_RESIGNATION: "time",
    TWICE: "delivery",
    OTHER_CLASS: "interest",
    MISSING_ITEMS: "interest",
    EXTRA_ITEMS: "interest",
}
CERTAIN = (OTHER_TIME, AFTER_RESIGNATION, TWICE)  # rows that are missing do not make it so


class _KnownRows(NamedTuple):
    """Rows that were looked at together."""

    table: pa.Table
    key: pa.Array
    """By row a hash of its message: those of another message with the same do no harm."""
    last_ns: int


class Asked:
    def __init__(
        self, time_column: str, frontier: Frontier, members: Members, addressing: Addressing
    ) -> None:
        self._time_column = time_column
        self._frontier, self._members, self._addressing = frontier, members, addressing
        self._waiting = WaitingRows()
        self._known: list[_KnownRows] = []  # that have been looked at, the oldest first
        self._told: dict[tuple[object, ...], None] = {}
        self.unsure = 0

    @property
    def rows(self) -> int:
        return self._waiting.rows + sum(len(one.table) for one in self._known)

    def feed(self, table: pa.Table) -> None:
        rows = pick.messages(table, *KINDS)
        rows = pick.filtered(rows, arrow.present(rows, "message"))
        if len(rows):
            self._waiting.add(as_rows(rows, self._time_column))

    def settle(self, before: int) -> Iterator[Violation]:
        """With everything read that happened before this time."""
        ready = self._waiting.take("epoch_ns", before - SETTLED - self._frontier.clocks_differ)
        if ready is None:
            return
        key = hashed(*(arrow.numbers(ready, name) for name in ("source", "message")))
        last = int(arrow.numbers(ready, "epoch_ns").max())
        self._known.append(_KnownRows(ready, pa.array(key), last))
        asked = pc.unique(self._known[-1].key)
        concerned = [one.table.filter(pc.is_in(one.key, value_set=asked)) for one in self._known]
        for row in Judged(self._judge(), pa.concat_tables(concerned).combine_chunks()).as_sent():
            yield from self._finding(row)
        self._forget(last - KEPT)

    def _judge(self) -> Known:
        members = {
            federate: RecordedMember(federate, node, MemberStay(left_at=self._members.left_at.get(federate)))
            for federate, node in self._members.node.items()
        }
        control, time = arrow.packed(self._addressing.control()), arrow.time_type(self._time_column)
        return Known(members, set(), self._frontier.gaps, self._frontier.crashed, {}, {}, control, time)

    def _finding(self, row: Violation) -> Iterator[Violation]:
        names = ("what", "source", "message", "federate", "node", "seq")
        key = tuple(row.get(name) for name in names)
        if key in self._told:
            return
        self._told[key] = None
        while len(self._told) > MOST:
            del self._told[next(iter(self._told))]
        nodes = {self._members.node.get(who) for who in (row["source"], row["federate"])}
        if row["what"] not in CERTAIN and nodes & self._frontier.gaps:
            self.unsure += 1
            return
        yield plain({"audit": AUDITS[row["what"]], **row})

    def _forget(self, until: int) -> None:
        while self._known and (
            self._known[0].last_ns < until or sum(len(one.table) for one in self._known) > MOST
        ):
            del self._known[0]
