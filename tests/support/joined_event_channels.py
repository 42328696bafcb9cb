"""Event channels at the nodes of a simulated fabric: the federations of tests/channel, over links that lose, delay and are cut,
between nodes that crash.

All servers are in one domain; a pair of channels that is not to be linked has its link cut, for so long that each is lost to the
other."""

from __future__ import annotations

from typing import Any

from channel.test_gateways import Edge, Federation
from weft.channel import NO_DISPATCHING, Border, EventChannel
from weft.fabric import Topology
from weft.host.carrier import Port
from weft.host.event_channel.links import ChannelLinks
from weft.host.simulated.fabric import FabricNetwork, FabricProfile, SimulatedCarrier

BAD = FabricProfile(delay=0.010, jitter=0.030, loss=0.2, repeat=0.1, commit=0.005)
NAME = "test"
LOST = 1.0


class FabricFederation(Federation):
    def __init__(
        self,
        count: int,
        edges: list[Edge],
        configuration: Any = NO_DISPATCHING,
        seed: int = 0,
        topology: Topology | None = None,
        relays: tuple[str, ...] = (),
    ) -> None:
        """`relays`: nodes without a channel of their own."""
        self.names = tuple(f"c{number}" for number in range(count))
        self.topology = topology or Topology(self.names, {"A": self.names})
        self.configuration = configuration
        self.relays = relays
        self.network = FabricNetwork(self.topology, seed, BAD, lost_seconds=LOST)
        self.links: Any = self  # which can `deliver`, and knows the border of a channel
        self.nodes: dict[str, ChannelLinks] = {}
        self.reports: dict[str, list[str]] = {name: [] for name in self.names}
        self.channels: list[Any] = [None] * count
        self.suppliers: list[Any] = [None] * count
        self.consumers = []
        self.crashed: set[int] = set()
        self.pushed = 0
        self.network.lodge(self._lodged, Port.EVENTS)
        possible = [(one, other) for one in range(count) for other in range(one)]
        self.joined: dict[Edge, Any] = {edge: None for edge in possible if self.has_link(edge)}
        for edge in possible if topology is None else []:
            if edge not in edges and edge[::-1] not in edges:
                self.joined.pop(edge)
                self.network.cut(self.names[edge[0]], self.names[edge[1]])
        self.network.settle()

    def has_link(self, edge: Edge) -> bool:
        return self.names[edge[0]] in self.topology.neighbours(self.names[edge[1]])

    def _lodged(self, carrier: SimulatedCarrier) -> ChannelLinks:
        name = carrier.name
        links = ChannelLinks(
            carrier,
            self.topology.neighbours(name),
            name in self.topology.routers(),
            lambda: int(self.network.clock.now * 1e6) + 1_000_000 * carrier.life,
            self.reports[name].append,
        )
        self.nodes[name] = links
        if name not in self.relays:
            place = self.names.index(name)
            channel = EventChannel(name, self.configuration, boot=links.next_epoch())
            links.join(NAME, channel, self.network.clock.now)
            self.channels[place] = channel
            self.suppliers[place] = channel.supply((0, 0), name="supplier")
        return links

    # --- what tests of federations do -----------------------------------------------------------------------------

    def deliver(self, now: float) -> int:
        self.network.settle()
        return 0

    def border(self, channel: EventChannel) -> Border:
        return self.nodes[channel.name].joined[NAME].border

    def join(self, edge: Edge) -> None:
        edge = (max(edge), min(edge))
        if edge not in self.joined:
            self.joined[edge] = None
            self.network.heal(self.names[edge[0]], self.names[edge[1]])
            self.network.settle()

    def cut(self, edge: Edge) -> None:
        del self.joined[edge]
        self.network.cut(self.names[edge[0]], self.names[edge[1]])
        self.network.settle()

    def crash(self, place: int) -> None:
        """Its consumers are gone with it."""
        self.crashed.add(place)
        self.network.crash(self.names[place])
        self.consumers = [one for one in self.consumers if one[0] != place]

    def restart(self, place: int) -> None:
        self.crashed.discard(place)
        self.network.restart(self.names[place])

    def settle(self) -> None:
        while True:
            self.network.settle()
            if not sum(channel.run_pending() for channel in self.channels if channel is not None):
                return

    def distances(self, start: int) -> dict[int, int]:
        every = self.joined
        self.joined = {edge: None for edge in every if not self.crashed.intersection(edge)}
        try:
            return super().distances(start)
        finally:
            self.joined = every

    def asked(self) -> int:
        return sum(
            len(gateway.counts)
            for links in self.nodes.values()
            for joined in links.joined.values()
            for gateway in joined.border.gateways.values()
        )
