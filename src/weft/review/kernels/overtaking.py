"""Which stretches of a log can hold anything late: a look at whole columns before the scan of rows one by one.

If m1 happened before m2, it was sent before m2.  So a delivery can be late only where a message that was sent later has been
delivered to the same federate before: where one message overtook another.  Everything that makes it late was sent and delivered
between its own send and that delivery.  Where nothing overtakes, nothing is late; otherwise such stretches are all that has to
be scanned (`log_scan`).

That holds if the log is in the order of causes.  If a delivery stands before its send, because clocks differ, or a source counts
its messages in another order than it sends them, nothing can be said (`knows` is False), and all is to be scanned.
"""

from __future__ import annotations

import numpy as np

from weft.review.kernels.pieces import Array, by_value

Stretch = tuple[int, int]  # places in the log, both included


class _Sends:
    """Of one source: numbers of its messages, which rise, and their places in the log."""

    def __init__(self) -> None:
        self.count = 0
        self.numbers = np.empty(1024, np.int64)
        self.places = np.empty(1024, np.int64)

    def add(self, numbers: Array, places: Array) -> bool:
        """Whether they rise."""
        rising = bool((np.diff(numbers) > 0).all())
        if self.count and len(numbers):
            rising &= bool(numbers[0] > self.numbers[self.count - 1])
        end = self.count + len(numbers)
        if end > len(self.numbers):
            size = max(end, 2 * len(self.numbers))
            self.numbers, self.places = np.resize(self.numbers, size), np.resize(self.places, size)
        self.numbers[self.count : end], self.places[self.count : end] = numbers, places
        self.count = end
        return rising

    def find(self, numbers: Array) -> Array:
        """Their places; -1 where they were not sent so far."""
        if not self.count:
            return np.full(len(numbers), -1)
        known = self.numbers[: self.count]
        at = np.minimum(np.searchsorted(known, numbers), self.count - 1)
        return np.where(known[at] == numbers, self.places[at], -1)


class Overtaking:
    """Feed it the log in its order; then `stretches` are those in which something may be late."""

    def __init__(self) -> None:
        self.knows = True
        self.rows = 0
        self._sends: dict[int, _Sends] = {}
        self._newest: dict[int, int] = {}
        self._unsent: dict[int, set[int]] = {}
        self._found: list[Stretch] = []

    def feed(self, is_send: Array, federate: Array, source: Array, message: Array) -> None:
        places = self.rows + np.arange(len(is_send))
        self.rows += len(is_send)
        sent = np.flatnonzero(is_send)
        for who, inside in by_value(source[sent]):
            rows = sent[inside]
            sends = self._sends.setdefault(int(who), _Sends())
            self.knows &= sends.add(message[rows], places[rows])
            self.knows &= self._unsent.get(int(who), set()).isdisjoint(message[rows].tolist())
        if self.knows:
            self._deliver(np.flatnonzero(~is_send), places, federate, source, message)

    def _deliver(self, rows: Array, places: Array, federate: Array, source: Array, message: Array) -> None:
        sent_at = np.full(len(places), -1)
        for who, inside in by_value(source[rows]):
            mine = rows[inside]
            sends = self._sends.setdefault(int(who), _Sends())
            sent_at[mine] = sends.find(message[mine])
            unsent = mine[sent_at[mine] < 0]
            if len(unsent):  # its send may still come, or its node's rows are missing
                self._unsent.setdefault(int(who), set()).update(message[unsent].tolist())
        self.knows &= bool((sent_at[rows] < places[rows]).all())
        for who, inside in by_value(federate[rows]):
            mine = rows[inside]
            newest = np.maximum.accumulate(np.append(self._newest.get(int(who), -1), sent_at[mine]))
            self._newest[int(who)] = int(newest[-1])
            overtaken = mine[(sent_at[mine] >= 0) & (sent_at[mine] < newest[:-1])]
            pairs = zip(sent_at[overtaken].tolist(), places[overtaken].tolist(), strict=True)
            self._found += _joined(sorted(pairs))

    @property
    def stretches(self) -> list[Stretch]:
        return _joined(sorted(self._found))


def _joined(stretches: list[Stretch]) -> list[Stretch]:
    """Those that overlap as one; they come in order."""
    made: list[Stretch] = []
    for begin, end in stretches:
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((begin, end))
    return made
