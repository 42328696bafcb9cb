"""Which nodes can be reached, and what to tell the neighbours about it.

Topologies are forests and ways are fixed, so a node tells the neighbours in each of its domains what it reaches by its other
domains, and nothing can run in circles.  An entry is (boot, way): `boot` numbers the process of the node at the far end,
`way` the chain of sessions that leads there.  Another way means that reliable messages may have been lost between, even if
the node was never away for long; another boot means that its process is another."""

from __future__ import annotations

from typing import NamedTuple

from weft.fabric import Topology
from weft.host.files.cbor import decode
from weft.model.errors import FabricError

_MODULUS = (1 << 61) - 1


class Entry(NamedTuple):
    boot: int
    way: int


class ReachChange(NamedTuple):
    """A node is lost, and why, or (`lost` is empty) found."""

    node: int
    lost: str
    restarted: bool


class Reach:
    def __init__(self, topology: Topology, own: int) -> None:
        name = topology.servers[own]
        numbers = topology.numbers
        self._names = topology.servers
        self._by: dict[int, str] = {}  # for each destination the domain of the first hop …
        self._next: dict[int, int] = {}  # … and the neighbour
        for destination, hop in topology.next_hops(name).items():
            self._by[numbers[destination]] = hop.domain
            self._next[numbers[destination]] = numbers[hop.receiver]
        self._up: dict[int, Entry] = {}  # the neighbours to which there is a link
        self._entries: dict[int, Entry] = {}
        self._boots: dict[int, int] = {}  # the last process heard of
        self._announce: dict[int, dict[int, Entry | None]] = {}
        self.has_news = False  # something may be to be announced
        self._changes: list[ReachChange] = []
        self._why: dict[int, str] = {}  # nodes that were lost

    def next_hop(self, node: int) -> int:
        """The neighbour on the way to a node, whether or not it is there; -1 if no chain of domains leads there."""
        return self._next.get(node, -1)

    def is_reachable(self, node: int) -> bool:
        return node in self._entries

    def why(self, node: int) -> str:
        """It cannot be reached."""
        hop = self._next.get(node, -1)
        if node in self._why:
            return self._why[node]
        if hop in self._up:
            return f"{self._names[hop]} has no way to it"
        where = "it" if hop == node else f"{self._names[hop]}, on the way to it"
        return f"there is no link to {where}, since this node was started"

    def link_up(self, peer: int, boot: int, way: int) -> None:
        self._up[peer] = Entry(boot, way)
        self.has_news = True
        self._announce[peer] = {
            node: entry
            for node, entry in self._entries.items()
            if node != peer and self._by[node] != self._by[peer]
        }
        self._set(peer, self._up[peer], "")

    def link_down(self, peer: int, why: str) -> None:
        if self._up.pop(peer, None) is None:
            return
        self._announce.pop(peer, None)
        for node in [node for node in self._entries if self._next[node] == peer]:
            self._set(node, None, why if node == peer else f"the way to it is gone: {why}, which was on it")

    def told(self, peer: int, table: dict[int, Entry | None]) -> None:
        """What a neighbour reaches beyond itself, as far as it has changed."""
        link = self._up[peer]
        for node, entry in table.items():
            if self._next.get(node, -1) != peer or node == peer:
                raise FabricError(f"{self._names[peer]} speaks of a node that is not beyond it")
            if entry is None:
                self._set(node, None, f"{self._names[peer]} has no way to it any more")
            else:
                way = (link.way * 1_000_003 + entry.way) % _MODULUS
                self._set(node, Entry(entry.boot, way), "")

    def take_changes(self) -> list[ReachChange]:
        taken, self._changes = self._changes, []
        return taken

    def take_announcements(self) -> dict[int, dict[int, Entry | None]]:
        """For each neighbour that is there, what it is to be told."""
        self.has_news = False
        taken = {peer: table for peer, table in self._announce.items() if table}
        self._announce = {peer: {} for peer in self._up}
        return taken

    def _set(self, node: int, entry: Entry | None, why: str) -> None:
        before = self._entries.get(node)
        if entry == before:
            return
        if entry is None:
            del self._entries[node]
            self._why[node] = why
            self._changes.append(ReachChange(node, why, False))
        else:
            restarted = self._boots.get(node, entry.boot) != entry.boot
            self._entries[node] = entry
            self._boots[node] = entry.boot
            self._changes.append(ReachChange(node, "", restarted))
        for peer in self._up:
            if peer != node and self._by[peer] != self._by[node]:
                self._announce.setdefault(peer, {})[node] = entry
                self.has_news = True


def read_table(body: bytes) -> dict[int, Entry | None]:
    """What a neighbour says that it reaches, looked at before it is believed."""
    table = decode(body)
    found: dict[int, Entry | None] = {}
    for node, entry in table.items() if isinstance(table, dict) else [(None, None)]:
        if type(node) is not int or not (entry is None or _is_pair(entry)):
            raise FabricError("it tells of what it reaches in a way that this Weft does not know")
        found[node] = None if entry is None else Entry(entry[0], entry[1])
    return found


def _is_pair(entry: object) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and all(type(one) is int for one in entry)
