"""What a channel asks to be saved, and the tables it comes back from (S1-7, S1-8).

A channel has eight tables; all keys are small integers, so each is a table of SQLite as it stands:

    meta        fingerprint                                the domains this was written under
    clocks      domain                                     now
    told        domain, peer                               told
    cells       domain, cell                               value, changed, source
    missing     domain, peer                               count of packets from a lost server that were not waited for
    out         domain, peer, number                       packet, until the peer has acknowledged it
    waiting     domain, peer, number                       packet, received, of which something it depends on has not come
    inbox       number                                     origin, payload, delivered but not yet consumed

A host with more than one channel adds a column that says which.

`Changes` are what to write in one transaction.  A row that came and went between two commits is in none of them.
`Saved` holds the tables as plain data: it is what a journal gives back at a restart, and, with `apply`, a journal in memory.
A journal need not give back all of `out`: of what is `beyond` for a peer, behind all packets given, the count is enough.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.fabric.stamps import Packet

Key = tuple[int, int, int]


class Beyond(NamedTuple):
    """Packets to a peer that are in the journal alone: how many, and the bytes of their payloads."""

    packets: int
    size: int


class Changes:
    """Rows to write and rows to remove, in one transaction."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.clocks: list[tuple[int, int]] = []
        self.told: list[tuple[int, int, int]] = []
        self.cells: list[tuple[int, int, int, int, int]] = []
        self.missing: list[tuple[int, int, int]] = []
        self.out: dict[Key, Packet] = {}
        self.out_removed: list[Key] = []
        self.waiting: dict[Key, Packet] = {}
        self.waiting_removed: list[Key] = []
        self.inbox: dict[int, tuple[int, object]] = {}
        self.inbox_removed: list[int] = []

    def __bool__(self) -> bool:
        """Is there anything to write?"""
        return bool(
            self.cells
            or self.missing
            or self.out
            or self.out_removed
            or self.waiting
            or self.waiting_removed
            or self.inbox
            or self.inbox_removed
        )


class Saved:
    """The tables of one server's journal, in memory."""

    def __init__(self, fingerprint: str = "") -> None:
        self.fingerprint = fingerprint
        self.clocks: dict[int, int] = {}
        self.told: dict[tuple[int, int], int] = {}
        self.cells: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.missing: dict[tuple[int, int], int] = {}
        self.out: dict[Key, Packet] = {}
        self.beyond: dict[tuple[int, int], Beyond] = {}
        self.waiting: dict[Key, Packet] = {}
        self.inbox: dict[int, tuple[int, object]] = {}

    def __bool__(self) -> bool:
        """Is there anything in it?"""
        return bool(self.clocks or self.missing or self.out or self.waiting or self.inbox)

    def apply(self, changes: Changes) -> None:
        """One transaction."""
        self.fingerprint = changes.fingerprint
        self.clocks.update(changes.clocks)
        for domain, peer, told in changes.told:
            self.told[domain, peer] = told
        for domain, cell, value, changed, source in changes.cells:
            self.cells[domain, cell] = (value, changed, source)
        for domain, peer, count in changes.missing:
            self.missing[domain, peer] = count
        for key in changes.out_removed:
            del self.out[key]
        for key in changes.waiting_removed:
            del self.waiting[key]
        for number in changes.inbox_removed:
            del self.inbox[number]
        self.out.update(changes.out)
        self.waiting.update(changes.waiting)
        self.inbox.update(changes.inbox)
