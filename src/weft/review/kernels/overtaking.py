"""Which stretches of a log can hold anything late: a look at whole columns before the scan of rows one by one.

If m1 happened before m2, it was sent before m2.  So a delivery can be late only where a message that was sent later has been
delivered to the same federate before: where one message overtook another.  Everything that makes it late was sent and delivered
between its own send and that delivery.  Where nothing overtakes, nothing is late; otherwise such stretches are all that has to
be scanned (`log_scan`).

That holds if the log is in the order of causes.  If a delivery stands before its send, because clocks differ, or a source counts
its messages in another order than it sends them, nothing can be said (`knows` is False), and all is to be scanned.

A log may be looked at in pieces side by side: each tells what it has of messages that cross its ends (`report`), which is
little; `crossing` puts that together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.review.kernels.pieces import Array, by_value

Stretch = tuple[int, int]  # places in the log, both included
MOST_OPEN = 1 << 14  # messages under way at the end of a piece that are told
MOST_ASKED = 1 << 16  # deliveries of messages from before a piece that are told
_NUMBER, _PLACE, _LEFT, _AT = range(4)


class PieceLook(NamedTuple):
    """What a piece of the log tells of itself; tables are arrays with a row for each entry."""

    rows: int
    rises: bool
    """Is every source at one node, and do its numbers rise?"""
    forward: bool
    """Does a delivery stand before its send?"""
    spans: Array
    """Places of what has to be scanned: first and last."""
    asked: Array
    """Deliveries of messages that were not sent here: place, federate, source, message, the place of the message sent last
    here that it had got by then (-1: none), clock, node."""
    cut_short: bool
    """There are more of these than are told."""
    open: Array
    """Messages that are still to come to somebody: source, message, place, clock, node."""
    newest: Array
    """Federates, and the place of the message sent last here that each has got."""
    numbers: Array
    """Sources, and the first and the last number of each."""
    delays: Array
    """Node of a delivery, node of its send, the least time between them."""
    processes: Array
    """Who sent something, or was sent something."""


class _Sends:
    """Of one source: its messages, whose numbers rise: number, place in the log, how many are to get it, clock."""

    def __init__(self) -> None:
        self.count = 0
        self.columns = np.empty((4, 1024), np.int64)

    @property
    def known(self) -> Array:
        return self.columns[:, : self.count]

    def add(self, columns: Array) -> bool:
        """Whether they rise."""
        numbers = columns[_NUMBER]
        rising = bool((np.diff(numbers) > 0).all())
        if self.count and len(numbers):
            rising &= bool(numbers[0] > self.columns[_NUMBER, self.count - 1])
        end = self.count + len(numbers)
        if end > self.columns.shape[1]:
            wider = np.empty((4, max(end, 2 * self.count)), np.int64)
            wider[:, : self.count] = self.known
            self.columns = wider
        self.columns[:, self.count : end] = columns
        self.count = end
        return rising

    def find(self, numbers: Array) -> Array:
        """Which of them they are; -1 where they were not sent so far."""
        if not self.count:
            return np.full(len(numbers), -1)
        known = self.known[_NUMBER]
        at = np.minimum(np.searchsorted(known, numbers), self.count - 1)
        return np.where(known[at] == numbers, at, -1)


class Overtaking:
    """Feed it the log in its order; then `stretches` are those in which something may be late."""

    def __init__(self, nodes: int = 1) -> None:
        self.rows = 0
        self.rises = True
        self.forward = False
        self._sends: dict[int, _Sends] = {}
        self._node_of: dict[int, int] = {}
        self._newest: dict[int, int] = {}
        self._asked: dict[int, list[Array]] = {}  # by source, rows as in `PieceLook.asked`
        self._found: list[Stretch] = []
        self._delays = np.full(
            (nodes, nodes), np.iinfo(np.int64).max
        )  # by node of the send, and of the delivery

    @property
    def knows(self) -> bool:
        return self.rises and not self.forward

    def feed(
        self,
        is_send: Array,
        federate: Array,
        source: Array,
        message: Array,
        to: Array | None = None,
        at: Array | None = None,
        node: Array | None = None,
    ) -> None:
        """`to`: of a send, how many are to get it (-1: nobody knows); clock and node are told on only."""
        places = self.rows + np.arange(len(is_send))
        self.rows += len(is_send)
        nought = np.zeros(len(is_send), np.int64)
        to, at, node = (nought if column is None else column for column in (to, at, node))
        sent = np.flatnonzero(is_send)
        for who, inside in by_value(source[sent]):
            rows = sent[inside]
            self._send(who, np.stack((message[rows], places[rows], to[rows], at[rows])), node[rows])
        self._deliver(
            np.flatnonzero(~is_send), np.stack((places, federate, source, message, nought, at, node))
        )

    def _send(self, who: int, columns: Array, node: Array) -> None:
        self.rises &= self._sends.setdefault(who, _Sends()).add(columns)
        self.rises &= bool((node == self._node_of.setdefault(who, int(node[0]))).all())
        if who in self._asked:
            early = np.concatenate([asked[3] for asked in self._asked[who]])
            self.forward |= bool(np.isin(early, columns[_NUMBER]).any())

    def _deliver(self, rows: Array, columns: Array) -> None:
        """`columns` as in `PieceLook.asked`, of all rows."""
        places, federate, source, message, newest, at, node = columns
        sent_at = np.full(len(places), -1)
        for who, inside in by_value(source[rows]):
            mine = rows[inside]
            sends = self._sends.get(who)
            found = np.full(len(mine), -1) if sends is None else sends.find(message[mine])
            there = found >= 0
            if sends is not None and there.any():
                sent_at[mine[there]] = sends.columns[_PLACE, found[there]]
                self._count(who, sends, found[there], at[mine[there]], node[mine[there]])
        self.forward |= bool((sent_at[rows] >= places[rows]).any())
        for who, inside in by_value(federate[rows]):
            mine = rows[inside]
            most = np.maximum.accumulate(np.append(self._newest.get(who, -1), sent_at[mine]))
            self._newest[who], newest[mine] = int(most[-1]), most[:-1]
            overtaken = mine[(sent_at[mine] >= 0) & (sent_at[mine] < most[:-1])]
            pairs = zip(sent_at[overtaken].tolist(), places[overtaken].tolist(), strict=True)
            self._found += joined(sorted(pairs))
        unsent = rows[
            sent_at[rows] < 0
        ]  # sent in another piece, or its send may still come, or its node's rows are missing
        for who, inside in by_value(source[unsent]):
            self._asked.setdefault(who, []).append(columns[:, unsent[inside]])

    def _count(self, who: int, sends: _Sends, found: Array, at: Array, node: Array) -> None:
        """These of its messages were delivered there and then."""
        sends.known[_LEFT] -= np.bincount(found, minlength=sends.count)
        np.minimum.at(self._delays[self._node_of[who]], node, at - sends.columns[_AT, found])

    @property
    def stretches(self) -> list[Stretch]:
        return joined(sorted(self._found))

    # What is told of a piece

    def report(self) -> PieceLook:
        asked = self._from_before()
        delays = np.argwhere(np.iinfo(np.int64).max > self._delays.T)
        numbers = [(who, *sends.known[_NUMBER, [0, -1]].tolist()) for who, sends in self._sends.items()]
        processes = {*self._sends, *self._newest, *self._asked}
        return PieceLook(
            self.rows,
            self.rises,
            self.forward,
            _table(self.stretches, 2),
            asked[:, :MOST_ASKED].T,
            asked.shape[1] > MOST_ASKED,
            self._open(),
            _table(list(self._newest.items()), 2),
            _table(numbers, 3),
            np.column_stack((delays, self._delays.T[tuple(delays.T)])),
            np.array(sorted(processes), np.int64),
        )

    def _from_before(self) -> Array:
        """What was delivered and not sent here; what was sent here after it was delivered is told as a delay."""
        found = [np.empty((7, 0), np.int64)]
        for who, pieces in self._asked.items():
            rows = np.concatenate(pieces, axis=1)
            sends = self._sends.get(who)
            if sends is not None:
                at = sends.find(rows[3])
                self._count(who, sends, at[at >= 0], rows[5][at >= 0], rows[6][at >= 0])
                rows = rows[:, at < 0]
            found.append(rows)
        every = np.concatenate(found, axis=1)
        return every[:, np.argsort(every[0], kind="stable")]

    def _open(self) -> Array:
        found = [np.empty((0, 5), np.int64)]
        for who, sends in self._sends.items():
            number, place, left, at = sends.known
            here = [np.full(len(number), one) for one in (who, self._node_of[who])]
            found.append(np.column_stack((here[0], number, place, at, here[1]))[left != 0])
        every = np.concatenate(found)
        return every[np.argsort(every[:, 2], kind="stable")][-MOST_OPEN:]


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Array:
    return np.array(rows, np.int64).reshape(len(rows), width)


def joined(stretches: list[Stretch]) -> list[Stretch]:
    """Those that overlap as one; they come in order."""
    made: list[Stretch] = []
    for begin, end in stretches:
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((begin, end))
    return made
