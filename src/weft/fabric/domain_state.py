"""What a causal channel is made of: the state of each domain, and what the channel gives to its host.

The state of a domain, as one server sees it: the domain's clock, and the queues of packets out and in (the paper's
MessageConsumer).

What is made for each packet is a class and no tuple with names: compiled, it is made without the interpreter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.fabric.clock import MatrixClock
from weft.fabric.journal import Changes
from weft.fabric.stamps import Packet


class CausalDelivery:
    """A message that has arrived in causal order; `number` rises with each."""

    def __init__(self, number: int, origin: int, payload: Any) -> None:
        self.number = number
        self.origin = origin
        self.payload = payload


class Acknowledgement:
    def __init__(self, peer: int, domain: int, number: int) -> None:
        self.peer = peer
        self.domain = domain
        self.number = number


class Transmission:
    def __init__(self, peer: int, packet: Packet) -> None:
        self.peer = peer
        self.packet = packet


class Portion(NamedTuple):
    """The next packets to a peer that are to be read from the journal: behind the number `after`, and at most how many."""

    domain: int
    place: int
    after: int
    most: int


class Batch:
    """Commit `changes`, then do the rest."""

    def __init__(
        self, changes: Changes, transmit: list[Transmission], acknowledge: list[Acknowledgement]
    ) -> None:
        self.changes = changes
        self.transmit = transmit
        self.acknowledge = acknowledge


class FabricCounts:
    """What the channel has done since it was made."""

    def __init__(self) -> None:
        self.stamped = 0  # packets: one for each hop
        self.stamp_entries = 0  # with the own entry of each stamp
        self.stamp_bytes = 0
        self.received = 0
        self.waited = 0
        self.unwaited = 0  # delivered without something of a lost server
        self.duplicates = 0
        self.forwarded = 0
        self.delivered = 0
        self.cells_saved = 0

    def add(self, other: FabricCounts) -> None:
        """What another channel has done, too."""
        self.stamped += other.stamped
        self.stamp_entries += other.stamp_entries
        self.stamp_bytes += other.stamp_bytes
        self.received += other.received
        self.waited += other.waited
        self.unwaited += other.unwaited
        self.duplicates += other.duplicates
        self.forwarded += other.forwarded
        self.delivered += other.delivered
        self.cells_saved += other.cells_saved


class Arrived:
    """A received packet, its stamp read."""

    def __init__(self, packet: Packet, sender: int, cells: list[int], values: list[int]) -> None:
        self.packet = packet
        self.sender = sender  # its place in the domain
        self.cells = cells
        self.values = values
        self.rows: list[int] = []  # the entries of the stamp about packets to this server
        self.counts: list[int] = []


class DomainState:
    """One domain as this server sees it: its clock and its queues.  The paper's MessageConsumer."""

    def __init__(self, domain: int, members: list[int], own: int) -> None:
        self.domain = domain
        self.members = members
        self.place: dict[int, int] = {server: place for place, server in enumerate(members)}
        self.clock = MatrixClock(len(members), self.place[own])
        self.out: list[dict[int, Packet]] = [{} for _ in members]  # to be acknowledged; only those in memory
        self.beyond = [0] * len(members)  # … how many are behind them, in the journal alone
        self.reached = [0] * len(members)  # … the number of the last that was in memory
        self.out_bytes = [0] * len(members)  # … and the payloads of all
        self.waiting: list[dict[int, Arrived]] = [{} for _ in members]
        self.waiting_count = 0
        self.lost = [False] * len(members)
        self.lost_count = 0

    def waiting_of(self, lost: bool) -> int:
        """How many packets wait, of servers that are lost or of those that are not."""
        return sum([len(self.waiting[place]) for place in range(len(self.lost)) if self.lost[place] == lost])
