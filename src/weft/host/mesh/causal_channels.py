"""The causal channels of a node: one for its federations, one for its agents, each with clocks and queues of its own.

There is no causal promise between the two, and they differ in what they do about a server that is lost:

    FEDERATIONS   the federations go on without it, so its packets are not waited for while it is lost
    AGENTS        agents are durable and outlast any outage, so all is waited for, however long it takes

A channel is made when there is something for it: a node without agents, and without those of others to pass on, has no second
matrix.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.fabric import Batch, Channel, FabricCounts, Saved, Topology
from weft.host.carrier import Port
from weft.model.errors import FabricError


class CausalChannels:
    def __init__(
        self, topology: Topology, own: int, saved: Callable[[Port], Saved] | None, in_memory: int = 0
    ) -> None:
        """`saved`: what the journal holds of each channel; without one nothing is to be saved."""
        self._topology = topology
        self._own = own
        self._saved = saved
        self._in_memory = in_memory
        self.made: dict[int, Channel] = {}  # those that there are
        self.restored = False  # an earlier process of this node has left something
        self._lost: set[int] = set()
        for port in Port:
            left = Saved() if saved is None else saved(port)
            if left:
                self._make(port, left)
                self.restored = True

    def of(self, port: int) -> Channel:
        found = self.made.get(port)
        return self._make(_known(port), Saved()) if found is None else found

    def _make(self, port: Port, left: Saved) -> Channel:
        durable = self._saved is not None
        made = Channel(self._topology, self._own, left, durable, self._in_memory)
        self.made[port] = made
        if port is Port.FEDERATIONS:
            for server in self._lost:
                made.lost(server)
        return made

    # --- who is there -------------------------------------------------------------------------------------------------

    def reconnected(self, peer: int) -> None:
        for channel in self.made.values():
            channel.reconnected(peer)

    def lost(self, server: int) -> None:
        """Say it before the residents are told: what is released comes to them after the news."""
        self._lost.add(server)
        federations = self.made.get(Port.FEDERATIONS)
        if federations is not None:
            federations.lost(server)

    def found(self, server: int) -> None:
        self._lost.discard(server)
        federations = self.made.get(Port.FEDERATIONS)
        if federations is not None:
            federations.found(server)

    def known(self, peer: int) -> dict[int, tuple[int, int]]:
        """For each channel: packets sent to a neighbour so far, and those that it is known to have sent here."""
        return {port: _known_packets(channel, peer) for port, channel in self.made.items()}

    # --- effects ------------------------------------------------------------------------------------------------------

    def take_batches(self) -> dict[int, Batch]:
        return {port: channel.take_batch() for port, channel in self.made.items()}

    # --- questions ----------------------------------------------------------------------------------------------------

    def backlog(self, peer: int) -> int:
        return sum(channel.backlog(peer) for channel in self.made.values())

    def backlog_bytes(self, port: int, peer: int) -> int:
        channel = self.made.get(port)
        return 0 if channel is None else channel.backlog_bytes(peer)

    def held(self, peer: int) -> int:
        """Packets of a neighbour that wait for others."""
        return sum(channel.held(peer) for channel in self.made.values())

    def waiting(self) -> int:
        return sum(channel.waiting() for channel in self.made.values())

    def stranded(self) -> int:
        return sum(channel.stranded() for channel in self.made.values())

    def clock_bytes(self) -> int:
        return sum(channel.clock_bytes() for channel in self.made.values())

    def counts(self) -> FabricCounts:
        total = FabricCounts()
        for channel in self.made.values():
            total.add(channel.counts)
        return total


def _known(port: int) -> Port:
    try:
        return Port(port)
    except ValueError:
        raise FabricError(f"there is no channel {port}; use the same Weft on all servers") from None


def _known_packets(channel: Channel, peer: int) -> tuple[int, int]:
    for state in channel.states.values():
        place = state.place.get(peer, -1)
        if place >= 0:
            clock = state.clock
            return clock.value[clock.own * clock.size + place], clock.value[place * clock.size + clock.own]
    return 0, 0
