"""Happened-before by brute force: every message's causal past as a bit mask, from what federates see, not from any clock."""

from __future__ import annotations


class Oracle:
    """Knows of each message its past, whom it is for, and who knew of which deliveries when it was sent."""

    def __init__(self) -> None:
        self.source: list[int] = []
        self.numbers: list[int] = []  # the time of the source, to name the message as rows do
        self.past: list[int] = []
        self.known_delivered: list[dict[int, int]] = []
        self.views: list[int] = []
        self.addressed: dict[int, int] = {}
        self.delivered: dict[int, int] = {}
        self.process_past: dict[int, int] = {}
        self.process_known: dict[int, dict[int, int]] = {}
        self.faults: list[str] = []
        self.deliveries = 0

    def joined(self, process: int) -> None:
        self.addressed[process] = self.delivered[process] = self.process_past[process] = 0
        self.process_known[process] = {}

    def sent(self, source: int, number: int, destinations: list[int], view: int) -> int:
        name = len(self.source)
        self.source.append(source)
        self.numbers.append(number)
        self.views.append(view)
        self.past.append(self.process_past[source])
        self.known_delivered.append(dict(self.process_known[source]))
        for k in destinations:
            self.addressed[k] |= 1 << name
        self.process_past[source] |= 1 << name
        return name

    def missing(self, process: int, name: int) -> int:
        """The causes of a message that the process should have had and has not."""
        return self.past[name] & self.addressed[process] & ~self.delivered[process]

    def got(self, process: int, name: int) -> None:
        self.deliveries += 1
        bit = 1 << name
        if self.delivered[process] & bit:
            self.faults.append(f"twice: {process} got {name}")
        if not self.addressed[process] & bit:
            self.faults.append(f"astray: {process} got {name}, which is not for it or void")
        missing = self.missing(process, name)
        if missing:
            self.faults.append(f"unsafe: {process} got {name} before {missing.bit_length() - 1}, its cause")
        self.delivered[process] |= bit
        self.process_past[process] |= self.past[name] | bit
        known = self.process_known[process]
        for k, mask in self.known_delivered[name].items():
            known[k] = known.get(k, 0) | mask
        known[process] = known.get(process, 0) | bit

    def void(self, name: int) -> None:
        for k in self.addressed:
            self.addressed[k] &= ~(1 << name)

    def minimal_row(self, process: int, k: int, view: int) -> set[tuple[int, int]]:
        """Necessary and sufficient: to k, in the past, not known to be delivered, not followed by another to k."""
        to_k = self.process_past[process] & self.addressed[k] & ~self.process_known[process].get(k, 0)
        names = [name for name in bits(to_k) if self.views[name] >= view]
        followed = 0
        for name in names:
            followed |= self.past[name]
        return {(self.source[name], self.numbers[name]) for name in names if not followed >> name & 1}


def bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
