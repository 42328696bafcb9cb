"""Federates at three simulated nodes of two domains.

Each call is followed by peace on the network, as tests for one node expect it.
"""

from __future__ import annotations

import threading

from weft import Source
from weft.fabric import Topology
from weft.host import NodeHost
from weft.host.simulated.fabric import FabricNetwork, FabricProfile
from weft.host.simulated.simulated import SimulatedConnection
from weft.kernel import Node

TWO_DOMAINS = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
LINKS = FabricProfile(delay=0.005, jitter=0.01, repeat=0.1, commit=0.002)  # best effort, too, is to arrive


class Peaceful(SimulatedConnection):
    """Nothing is under way any more when a call has ended.

    A simulated network is for one thread; immediate callbacks have one of their own, so whoever drives it holds `driving`.
    """

    driving: threading.RLock

    def call(self, service: str, arguments: tuple[object, ...]) -> object:
        with self.driving:
            try:
                return super().call(service, arguments)
            finally:
                self._network.settle()

    def wait(self, seconds: float | None) -> bool:
        with self.driving:
            return super().wait(seconds)

    def lose(self) -> None:
        with self.driving:
            super().lose()
            self._network.settle()


class Site:
    def __init__(self, network: FabricNetwork, node: str, driving: threading.RLock) -> None:
        self._network = network
        self._node = node
        self._driving = driving

    def kernels(self) -> list[Node]:
        return [self._network.node(name) for name in TWO_DOMAINS.servers]

    def connect(self) -> SimulatedConnection:
        made = Peaceful(self._network, self._node, self._network.node(self._node).open_session())
        made.driving = self._driving
        return made


def sites(count: int, rid: Source | None = None) -> list[NodeHost]:
    """Where federates connect, in turn; the first creates the federation, so its home is not the router's."""
    network = FabricNetwork(TWO_DOMAINS, 1, LINKS, rid=rid)
    driving = threading.RLock()
    return [Site(network, TWO_DOMAINS.servers[-(number % 3) - 1], driving) for number in range(count)]
