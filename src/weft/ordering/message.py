"""What is ordered: a message, and the tag it carries for causal order.

A *pair* (j, x) names the message that process j sent when its own time was x.  A row is the pairs that stand before one
destination, written flat and by rising j: [j, x, j, x, …], with at most one pair for each j.  Rows are never changed, only
replaced: a tag can then share the rows of the process that made it.
"""

from __future__ import annotations

from typing import Final

NOTHING: Final[list[int]] = []  # the empty row; never to be changed


class Tag:
    """(VT, i, Dest(M), CV) of the paper, and the view in which the message was sent."""

    __slots__ = ("destinations", "rows", "source", "time", "view")

    def __init__(
        self, view: int, source: int, time: list[int], destinations: list[int], rows: list[list[int]]
    ) -> None:
        self.view = view
        self.source = source
        self.time = time  # an entry for every process the source knew of
        self.destinations = destinations  # rising
        self.rows = rows  # by destination, before this message was added

    def number(self) -> int:
        """The message is the pair (source, number)."""
        return self.time[self.source]

    def row(self, destination: int) -> list[int]:
        return self.rows[destination] if destination < len(self.rows) else NOTHING

    def pairs_for(self, groups: list[list[int]]) -> int:
        """How many pairs it carries to groups of recipients, each of which gets it once, trimmed to what they look at."""
        others = 0
        for row in self.rows:
            others += len(row)
        for k in self.destinations:
            others -= len(self.rows[k])
        found = others * len(groups)
        for recipients in groups:
            for k in recipients:
                found += len(self.rows[k])
        return found // 2


class TaggedMessage:
    """`filtered`: it counts as delivered, but nobody is told (S0-16)."""

    __slots__ = ("filtered", "payload", "tag")

    def __init__(self, payload: object, tag: Tag | None = None, filtered: bool = False) -> None:
        self.payload = payload
        self.tag = tag
        self.filtered = filtered
