"""Channels driven by hand: every send and every transport is a line of the test."""

from __future__ import annotations

from weft.fabric import Channel, Packet, Saved, Topology


class Wires:
    """One channel for each server, a journal for each, and packets under way on each wire, first in first out."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.number = topology.numbers
        self.journals = {name: Saved() for name in topology.servers}
        self.channels = {name: Channel(topology, self.number[name]) for name in topology.servers}
        self.under_way: dict[tuple[str, str], list[Packet]] = {}
        self.acknowledgements: list[tuple[str, str, int, int]] = []
        self.got: dict[str, list[object]] = {name: [] for name in topology.servers}

    def send(self, sender: str, receivers: str, payload: bytes) -> None:
        """`receivers` are separated by spaces."""
        self.channels[sender].send([self.number[one] for one in receivers.split()], payload)
        self.settle(sender)

    def settle(self, name: str) -> None:
        """Consume, commit, transmit, acknowledge."""
        channel = self.channels[name]
        for delivery in channel.take_deliveries():
            self.got[name].append(delivery.payload)
            channel.consumed(delivery.number)
        batch = channel.take_batch()
        self.journals[name].apply(batch.changes)
        for one in batch.transmit:
            self.under_way.setdefault((name, self.topology.servers[one.peer]), []).append(one.packet)
        for ack in batch.acknowledge:
            self.acknowledgements.append((name, self.topology.servers[ack.peer], ack.domain, ack.number))

    def carry(self, sender: str, receiver: str, at: int = 0) -> Packet:
        """The at-th packet on a wire arrives."""
        packet = self.under_way[sender, receiver].pop(at)
        self.channels[receiver].receive(self.number[sender], packet)
        self.settle(receiver)
        return packet

    def acknowledge_all(self) -> None:
        for name, peer, domain, number in self.acknowledgements:
            self.channels[peer].acknowledged(self.number[name], domain, number)
            self.settle(peer)
        self.acknowledgements.clear()

    def restart(self, name: str) -> None:
        """A crash, and a start from the journal."""
        self.channels[name] = Channel(self.topology, self.number[name], self.journals[name])
