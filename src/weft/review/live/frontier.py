"""Up to when everything that each node did has been read.

A node's files hold its rows in order, so the last row that was read says that nothing of before is still to come.  A node at
which nothing happens writes nothing; it says so by the time of its file nodes/<node>.idle, which it sets again and again.
What is not there is never missed before all who could have told of it have got that far.

A node that neither writes nor says that there is nothing to write is taken for crashed after a while, and not waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
import pyarrow as pa

from weft.recorder import BY_RESTORE
from weft.review.audits import pick
from weft.review.audits.context import CLOCKS_DIFFER, SAME_CLOCK
from weft.review.kernels import arrow

SILENT = 10_000_000_000  # ns after which a node is taken for crashed
DESERTED = 60_000_000_000  # ns after which, if no node tells anything, none is waited for
FOREVER = 1 << 62


class Frontier:
    def __init__(self, began: int = 0) -> None:
        """`began`: when one began to read, on the wall clock; before that nobody is taken for crashed."""
        self._began = began
        self.read: dict[str, int] = {}  # by node: the time of its last row, or what it said of itself
        self.ended: set[str] = set()
        self.restored: set[str] = set()  # nodes at which a restore has ended the run
        self.gaps: set[str] = set()  # nodes of which rows are missing
        self.crashed: set[str] = set()
        self.deserted = False  # nobody has told anything for long, and nobody ended in order
        self._next: dict[str, int] = {}  # the number that the next row should have
        self._offsets: dict[str, int] = {}

    def feed(self, node: str, table: pa.Table) -> None:
        """Rows of one node that follow one another."""
        seq, epoch = arrow.numbers(table, "seq"), arrow.numbers(table, "epoch_ns")
        kinds = set(table.column("kind").unique().to_pylist())
        # When it was written that rows were dropped, rows of before may still have waited.
        told = epoch[~arrow.is_one_of(table, "kind", "dropped")]
        self.read[node] = max(self.read.get(node, 0), int(told.max(initial=0)))
        if "restart" in kinds or "start" in kinds:
            self.ended.discard(node)
            self._next.pop(node, None)
        whole = len(seq) == 1 or bool((np.diff(seq) == 1).all())
        begins_well = node not in self._next or int(seq[0]) == self._next[node]
        if "restart" not in kinds and "start" not in kinds and not (whole and begins_well):
            self.gaps.add(node)
        if "dropped" in kinds:
            self.gaps.add(node)
        self._next[node] = int(seq[-1]) + 1
        if "stop" in kinds:
            self.ended.add(node)
            if arrow.is_one_of(pick.of_kinds(table, "stop"), "service", BY_RESTORE).any():
                self.restored.add(node)
        if node not in self._offsets:
            self._offsets[node] = int(epoch[0]) - int(arrow.numbers(table, "mono_ns")[0])

    def expect(self, nodes: Iterable[str]) -> None:
        """These take part; of some nothing may have been read yet."""
        for node in nodes:
            self.read.setdefault(node, 0)

    def say(self, node: str, until: int) -> None:
        """The node has written all that happened there until then, and it was read."""
        self.read[node] = max(self.read.get(node, 0), until)

    def look(self, now: int, unread: Collection[str] = (), patience: int = SILENT) -> None:
        """Who is taken for crashed at this time of the wall clock?  Nobody of whom there is still something to be read.

        `patience`: for so long (ns) a node may tell nothing.
        """
        self.crashed = {
            node
            for node, at in self.read.items()
            if node not in self.ended and node not in unread and now - max(at, self._began) > patience
        }
        latest = max(self.read.values(), default=0)
        self.deserted = (
            set(self.read) <= self.crashed and now - max(latest, self._began) > DESERTED + patience - SILENT
        )

    @property
    def standing(self) -> tuple[object, ...]:
        """All that `expect`, `say` and `look` may change."""
        return dict(self.read), set(self.crashed), self.deserted

    def ended_in_order(self, node: str) -> bool:
        """With all that was under way to it: a restore ends a run in the middle."""
        return node in self.ended and node not in self.restored

    @property
    def all_read(self) -> int:
        """Of all nodes everything that happened before this time has been read."""
        latest = max(self.read.values(), default=0)  # if all have crashed, nobody will tell more
        waited_for = ((node, at) for node, at in self.read.items() if node not in self.crashed)
        return min((FOREVER if node in self.ended else at for node, at in waited_for), default=latest)

    @property
    def clocks_differ(self) -> int:
        """By so much, at most: nodes on one machine have one clock, and the same difference between its two."""
        found = list(self._offsets.values())
        return CLOCKS_DIFFER if found and max(found) - min(found) >= SAME_CLOCK else 0
