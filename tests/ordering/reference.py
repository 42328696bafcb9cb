"""The algorithm as written down, with sets and a plain re-scan of the buffer: what the fast one has to equal, step by step."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

Pair = tuple[int, int]


class PlainTag(NamedTuple):
    time: dict[int, int]
    source: int
    destinations: frozenset[int]
    rows: dict[int, frozenset[Pair]]


@dataclass
class Plain:
    """Sections 1 to 4: one process."""

    own: int

    def __post_init__(self) -> None:
        self.time: defaultdict[int, int] = defaultdict(int)
        self.rows: defaultdict[int, frozenset[Pair]] = defaultdict(frozenset)
        self.buffer: list[tuple[int, PlainTag]] = []
        self.gone: set[int] = set()
        self.crashes: set[int] = set()

    def send(self, destinations: list[int]) -> PlainTag:
        self.time[self.own] += 1
        tag = PlainTag(dict(self.time), self.own, frozenset(destinations), dict(self.rows))
        for k in destinations:
            self.rows[k] = frozenset({(self.own, self.time[self.own])})
        return tag

    def admit(self, name: int, tag: PlainTag) -> list[int]:
        known = [other.time[other.source] for _, other in self.buffer if other.source == tag.source]
        if tag.time[tag.source] <= self.time[tag.source] or tag.time[tag.source] in known:
            return []
        self.buffer.append((name, tag))
        released: list[int] = []
        while self._deliver_first(released):
            pass
        return released

    def _deliver_first(self, released: list[int]) -> bool:
        for place, (name, tag) in enumerate(self.buffer):
            if all(self.time[source] >= number for source, number in tag.rows.get(self.own, frozenset())):
                del self.buffer[place]
                released.append(name)
                self.deliver(tag)
                return True
        return False

    def deliver(self, tag: PlainTag) -> None:
        theirs: defaultdict[int, int] = defaultdict(int, tag.time)
        for k in {*self.rows, *tag.rows, *tag.destinations, tag.source} - {self.own} - self.gone:
            held, told = self.rows[k], tag.rows.get(k, frozenset())
            news = frozenset((j, x) for j, x in held if x > theirs[j])
            if k in tag.destinations:
                self.rows[k] = news | {(tag.source, theirs[tag.source])}
            elif k == tag.source:
                self.rows[k] = news
            else:
                self.rows[k] = (
                    (held & told)
                    | frozenset((j, x) for j, x in held - told if x > theirs[j])
                    | frozenset((j, x) for j, x in told - held if x > self.time[j])
                )
        self.time[self.own] += 1
        for j, x in theirs.items():
            if j != self.own:
                self.time[j] = max(self.time[j], x)

    def resigned(self, process: int) -> None:
        self.gone.add(process)
        self.rows.pop(process, None)

    def crashed(self, process: int) -> set[int]:
        """Which messages are released; in which causal order is left open."""
        self.gone.add(process)
        self.crashes.add(process)
        left, self.buffer = self.buffer, []
        for _, tag in sorted(left, key=lambda entry: sum(entry[1].time.values())):
            self.deliver(tag)
        self.rows.clear()
        return {name for name, _ in left}
