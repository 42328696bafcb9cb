"""The matrix clock of one domain at one server, with the Updates delta (S1-2, S1-3, S1-4).

The matrix.  Cell (k, l) is the number of packets from k to l, within the domain, that this server knows of.  A packet from j
may be delivered at i when it is the next from j, and every packet to i that j knew of when it sent has been delivered:

    stamp(j, i) = cell(j, i) + 1    and    stamp(k, i) <= cell(k, i) for all k != j

The delta.  A stamp holds the sender's own entry first, and of the others those that changed since the last packet to the same
receiver, except what the receiver itself told.  `now` counts sends (the paper's State); every cell remembers
when it changed last (`changed`) and who told (`source`); `told[j]` is the time of the last send to j.

    send to j     cell(i, j) += 1, changed now, source j
                  stamp = (i, j, value), then all (k, l, value) with changed(k, l) > told(j) and source(k, l) != j
                  told(j) = now; now += 1
    deliver       every entry above ours is taken over: changed now, source j

`now` starts at 1 and `told` at 0, or what changed before the first send to a peer would never be told (the paper starts both
at 0, and moves told(j) before it looks, so that no stamp ever tells anything).  A send to several receivers counts all
its packets before it makes the first stamp: each receiver then knows that the others are to get the message too, and nothing
it sends can overtake it there.

Stamps need every earlier stamp of the same sender; the packet's own number says which is the next, so a receiver keeps what
comes too early and knows what came before.  The channel need not be FIFO, only lossless in the end.

Packets that are not waited for.  Of a server that is lost the channel does not wait for what others say it has sent
(`passes`).  Then the cell (k, i) is ahead of what has come from k: it stays what is known to have been sent, and
`received[k]` says what has come.  What is not waited for once is not waited for again, so the cell is what is compared
with; what comes late is counted by `received`, once and in the order of k.  For all others the two are equal.

Speed.  The cells that ever changed are chained in the order of their last change, newest first, so a send looks only at cells
that changed since the last send to that receiver, and never at the whole matrix.
"""

from __future__ import annotations

from typing import Final

DELIVER: Final = 0
WAIT: Final = 1
DUPLICATE: Final = 2
NOBODY: Final = -1


class MatrixClock:
    """`size` servers, of which this one is the `own`-th."""

    def __init__(self, size: int, own: int) -> None:
        cells = size * size
        self.size = size
        self.own = own
        self.now = 1
        self.told = [0] * size
        self.value = [0] * cells
        self.changed = [0] * cells
        self.source = [NOBODY] * cells
        self.received = [0] * size  # the number of the last packet delivered from each
        # The chain of changed cells.  The extra cell at the end is its head and its tail.
        self.older = [cells] * (cells + 1)
        self.newer = [cells] * (cells + 1)
        # What a journal has not seen yet.
        self.unsaved: dict[int, None] = {}
        self.unsaved_told: dict[int, None] = {}
        self.unsaved_missing: dict[int, None] = {}

    # Sending

    def count(self, peer: int) -> int:
        """One more packet to a peer; its number."""
        cell = self.own * self.size + peer
        self._set(cell, self.value[cell] + 1, peer)
        return self.value[cell]

    def updates(self, peer: int) -> list[int]:
        """The cells to tell a peer, in rising order; they count as told."""
        since = self.told[peer]
        changed, source, older = self.changed, self.source, self.older
        end = self.size * self.size
        found: list[int] = []
        cell = older[end]
        while cell != end and changed[cell] > since:
            if source[cell] != peer:
                found.append(cell)
            cell = older[cell]
        self.told[peer] = self.now
        self.unsaved_told[peer] = None
        found.sort()
        return found

    def sent(self) -> None:
        """After the last stamp of a send."""
        self.now += 1

    # Receiving

    def judge(self, peer: int, number: int, rows: list[int], values: list[int]) -> int:
        """DELIVER, WAIT or DUPLICATE; `rows` and `values` are the entries in this server's own column."""
        size, own, value = self.size, self.own, self.value
        delivered = self.received[peer]
        if number != delivered + 1:
            return DUPLICATE if number <= delivered else WAIT
        for index in range(len(rows)):
            if values[index] > value[rows[index] * size + own]:
                return WAIT
        return DELIVER

    def passes(self, peer: int, number: int, rows: list[int], values: list[int], lost: list[bool]) -> bool:
        """May it be delivered if nothing of those that are lost is waited for?"""
        size, own, value = self.size, self.own, self.value
        if number != self.received[peer] + 1:
            return False
        for index in range(len(rows)):
            row = rows[index]
            if values[index] > value[row * size + own] and not lost[row]:
                return False
        return True

    def deliver(self, peer: int, number: int, cells: list[int], values: list[int]) -> None:
        """Take over what the stamp tells."""
        value = self.value
        cell = peer * self.size + self.own
        self.received[peer] = number
        if number > value[cell]:
            self._set(cell, number, peer)
        else:  # it was not waited for
            self.unsaved_missing[peer] = None
        for index in range(len(cells)):
            cell = cells[index]
            if values[index] > value[cell]:
                self._set(cell, values[index], peer)

    def missing(self, peer: int) -> int:
        """How many packets from there are known to have been sent, were not waited for, and have not come."""
        return self.value[peer * self.size + self.own] - self.received[peer]

    def went_without(self, rows: list[int]) -> None:
        """A packet was delivered that `judge` would have let wait for these."""
        for row in rows:
            if self.missing(row):
                self.unsaved_missing[row] = None

    def _set(self, cell: int, value: int, source: int) -> None:
        older, newer = self.older, self.newer
        end = self.size * self.size
        if self.changed[cell]:
            older[newer[cell]] = older[cell]
            newer[older[cell]] = newer[cell]
        first = older[end]
        older[cell] = first
        newer[cell] = end
        newer[first] = cell
        older[end] = cell
        self.value[cell] = value
        self.changed[cell] = self.now
        self.source[cell] = source
        self.unsaved[cell] = None

    # Saving and restoring

    def restore(
        self,
        now: int,
        told: dict[int, int],
        cells: list[tuple[int, int, int, int]],
        missing: dict[int, int],
    ) -> None:
        """Into a fresh clock: cells as (cell, value, changed, source)."""
        for cell, value, changed, source in sorted(cells, key=_by_change):
            self.now = changed
            self._set(cell, value, source)
        for peer, when in told.items():
            self.told[peer] = when
        self.now = now
        for peer in range(self.size):
            self.received[peer] = self.value[peer * self.size + self.own] - missing.get(peer, 0)
        self.unsaved.clear()

    def saved(self) -> None:
        self.unsaved.clear()
        self.unsaved_told.clear()
        self.unsaved_missing.clear()


def _by_change(entry: tuple[int, int, int, int]) -> tuple[int, int]:
    return entry[2], entry[0]
