"""What crosses the cuts of a log that was looked at in pieces side by side (`overtaking`), and what is to be scanned of it.

A message that was sent in one piece and delivered in another is told by both: there are as many as are under way at a cut.  So
it is found out here which of them were overtaken, and what of which pieces has to be scanned, as if one had looked at all of it;
and more than that where it cannot be known (a message of an earlier piece that is not told as under way was delivered to somebody
once more).

A delivery in an earlier piece than its send, or before it in the same, says that clocks differ.  If they differ by the same
throughout, they can be put right: by amounts such that nothing is delivered before it is sent (`offsets`).  Then the log is
looked at again, cut by the right clock, and no message crosses a cut backwards; so no row has to wait for what is behind a cut.
As every process keeps its own order, and everything is delivered after its send, vectors are the same as if rows had waited.
Where there are no such amounts, and where a source sends a number twice, the log is scanned as a whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.review.kernels.log_scan import Key
from weft.review.kernels.overtaking import PieceLook, Stretch, joined

Delays = dict[tuple[int, int], int]
"""By node of a delivery and node of its send the least time between them."""
MOST_CELLS = 1 << 23
"""Numbers that may have to be told of one piece: with p processes, and m messages that cross a cut, (p + m) (2 p + m)."""


class Crossed(NamedTuple):
    """What is to be scanned, by piece."""

    spans: list[list[Stretch]]
    goes_on: list[bool]
    """Does a span cross its end?"""
    asked: list[tuple[Key, ...]]
    """Messages of earlier pieces that are delivered within a span that comes from there."""
    got: list[set[tuple[int, int, int]]]
    """Federate, source, message: deliveries of what was sent in an earlier piece."""
    processes: list[int]

    def groups(self) -> list[range]:
        """Pieces that have to be scanned; those that a span joins are together."""
        made: list[range] = []
        begin = 0
        for piece, spans in enumerate(self.spans):
            if not self.goes_on[piece]:
                if spans:
                    made.append(range(begin, piece + 1))
                begin = piece + 1
        return made

    def rows(self, group: range) -> int:
        """To be scanned of these pieces."""
        return sum(end - begin + 1 for piece in group for begin, end in self.spans[piece])

    @property
    def is_small(self) -> bool:
        """Is what has to be told of a piece little enough?"""
        many = len(self.processes)
        cells = [(many + len(keys)) * (2 * many + len(keys)) for keys in self.asked if keys]
        return max(cells, default=0) <= MOST_CELLS


class _UnderWay(NamedTuple):
    piece: int
    place: int
    at: int
    node: int


class Crossing:
    """Of all pieces, in order, what they tell."""

    def __init__(self, looks: Sequence[PieceLook]) -> None:
        self.looks = looks
        self.sent: dict[Key, _UnderWay] = {}
        for piece, look in enumerate(looks):
            for source, message, *rest in look.open.tolist():
                self.sent[source, message] = _UnderWay(piece, *rest)
        self.numbers: dict[int, list[tuple[int, int, int]]] = {}  # by source: piece, first, last
        for piece, look in enumerate(looks):
            for source, first, last in look.numbers.tolist():
                self.numbers.setdefault(source, []).append((piece, first, last))

    @property
    def is_countable(self) -> bool:
        """Do the numbers of all sources rise, and is all told that crosses a cut?"""
        rise = all(
            before[2] < after[1]
            for told in self.numbers.values()
            for before, after in itertools.pairwise(told)
        )
        return rise and all(look.rises and not look.cut_short for look in self.looks)

    @property
    def is_forward(self) -> bool:
        """Does something stand before its send?"""
        return any(look.forward for look in self.looks) or any(
            self._piece_of(source, message) > piece
            for piece, look in enumerate(self.looks)
            for _, _, source, message, *_ in look.asked.tolist()
        )

    def _piece_of(self, source: int, message: int) -> int:
        """Where it was sent; -1: nowhere."""
        known = self.sent.get((source, message))
        if known is not None:
            return known.piece
        told = self.numbers.get(source, ())
        return next((piece for piece, first, last in told if first <= message <= last), -1)

    def delays(self) -> Delays:
        found: Delays = {}

        def tell(delivered_at: int, sent_at: int, least: int) -> None:
            pair = delivered_at, sent_at
            found[pair] = min(least, found.get(pair, least))

        for look in self.looks:
            for row in look.delays.tolist():
                tell(*row)
            for _, _, source, message, _, at, node in look.asked.tolist():
                known = self.sent.get((source, message))
                if known is not None:
                    tell(node, known.node, at - known.at)
        return found

    def crossed(self) -> Crossed:
        """Nothing stands before its send: what is to be scanned."""
        many = len(self.looks)
        spans: list[list[Stretch]] = [[(a, b) for a, b in look.spans.tolist()] for look in self.looks]
        goes_on = [False] * many
        newest: dict[int, tuple[int, int]] = {}
        for piece, look in enumerate(self.looks):
            for place, federate, source, message, here, *_ in look.asked.tolist():
                begin = self._begins(piece, source, message)
                if begin is None:
                    continue
                if here >= 0 or begin < newest.get(federate, begin) or (source, message) not in self.sent:
                    self._mark(spans, goes_on, begin, (piece, place))
                newest[federate] = max(begin, newest.get(federate, begin))
            newest |= {federate: (piece, place) for federate, place in look.newest.tolist() if place >= 0}
        spans = [joined(sorted(those)) for those in spans]
        processes = sorted({who for look in self.looks for who in look.processes.tolist()})
        return Crossed(spans, goes_on, self._asked(spans, goes_on), self._got(), processes)

    def _begins(self, piece: int, source: int, message: int) -> tuple[int, int] | None:
        """Piece and place of its send, or of something before it; None: it was never sent."""
        known = self.sent.get((source, message))
        if known is not None:
            return known.piece, known.place
        sent_in = self._piece_of(source, message)
        return (sent_in, 0) if 0 <= sent_in < piece else None

    def _mark(
        self, spans: list[list[Stretch]], goes_on: list[bool], begin: tuple[int, int], end: tuple[int, int]
    ) -> None:
        for piece in range(begin[0], end[0] + 1):
            first = begin[1] if piece == begin[0] else 0
            last = end[1] if piece == end[0] else self.looks[piece].rows - 1
            spans[piece].append((first, last))
            goes_on[piece] |= piece < end[0]

    def _asked(self, spans: list[list[Stretch]], goes_on: list[bool]) -> list[tuple[Key, ...]]:
        found: list[tuple[Key, ...]] = []
        for piece, look in enumerate(self.looks):
            keys: set[Key] = set()
            if piece and goes_on[piece - 1] and spans[piece]:
                begins, ends = np.array(spans[piece], np.int64).T
                number = np.searchsorted(begins, look.asked[:, 0], side="right") - 1
                inside = (number >= 0) & (look.asked[:, 0] <= ends[np.maximum(number, 0)])
                keys = {(source, message) for source, message in look.asked[inside, 2:4].tolist()}
            found.append(tuple(sorted(keys)))
        return found

    def _got(self) -> list[set[tuple[int, int, int]]]:
        return [{(who, one, n) for who, one, n in look.asked[:, 1:4].tolist()} for look in self.looks]


def offsets(delays: Delays, nodes: int) -> list[int] | None:
    """What to add to the clock of each node so that nothing is delivered before it is sent; None: there is no such thing.

    Each pair of nodes bounds the difference of two: shortest ways in a graph of nodes (Bellman and Ford).
    """
    if any(least < 0 for (one, other), least in delays.items() if one == other):
        return None
    made = [0] * nodes
    for _ in range(nodes + 1):
        before = list(made)
        for (delivered, sent), least in delays.items():
            if delivered != sent:  # a row of another node at the same time may come first
                made[sent] = min(made[sent], made[delivered] + least - 1)
        if made == before:
            return made
    return None
