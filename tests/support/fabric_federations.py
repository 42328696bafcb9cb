"""Federations over domains of causality, for tests: topologies, agents, and the checker of what the channels did."""

from __future__ import annotations

from functools import partial
from random import Random

from fabric.network import Checker, Outages
from fabric.topologies import FIGURE_2
from weft.fabric import Topology, plan
from weft.host.carrier import Port, ServiceClass
from weft.host.simulated.fabric import FabricNetwork, FabricProfile, SimulatedCarrier

THREE = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
"""Three nodes of two domains; S2 is the router."""

TOPOLOGIES = {
    "three": THREE,
    "bus": plan(6, "bus"),
    "daisy": plan(5, "daisy"),
    "tree": plan(6, "tree"),
    "figure 2": FIGURE_2,
}
BAD = FabricProfile(delay=0.01, jitter=0.02, loss=0.15, repeat=0.1, commit=0.003)


def fabric(topology: Topology = THREE, seed: int = 1, lost_seconds: float = 1.0) -> FabricNetwork:
    return FabricNetwork(topology, seed, BAD, lost_seconds=lost_seconds)


def check_causality(network: FabricNetwork, stuck: bool = True) -> Checker:
    """Replay what was committed: causal order everywhere, each message once, and at the end none under way.

    Federations and agents have an order of their own each.  That of federations does not hold for what came from a node
    while it was taken for lost; that of agents always does, so theirs may wait for ever for one that died for good.
    """
    numbers = network.topology.numbers
    checker = Checker(len(numbers))
    outages = Outages(network.topology)
    federal: set[int] = set()
    past = {(node, port): 0 for node in network.topology.servers for port in Port}
    for what, message, node, other, port in network.trace:
        if what in ("lost", "found"):
            outages.told(what == "lost", numbers[node], numbers[other])
            continue
        if what == "sent":
            checker.sent(message, [numbers[other]], past[node, port], numbers[node])
            outages.sent(message)
            if port is Port.FEDERATIONS:
                federal.add(message)
        else:
            excused = outages.excused if port is Port.FEDERATIONS else None
            checker.got(numbers[node], message, excused)
            past[node, port] |= checker.past[message]
        past[node, port] |= 1 << message
    if stuck:
        alive = [name in network.carriers for name in network.topology.servers]
        checker.finish(
            lambda message, server: (
                (message in federal or all(alive))
                and outages.must_arrive(alive, checker.origin[message], server)
            )
        )
    return checker


class Chatter:
    """An agent that answers, and writes to others, until `left` is used up."""

    left = 0

    def __init__(self, carrier: SimulatedCarrier, random: Random) -> None:
        self.carrier = carrier
        self.random = random

    def received(self, sender: str, payload: bytes, now: float) -> None:
        for node in self.random.sample(self.carrier.nodes, self.random.choice((0, 1, 1, 2))):
            self.say(node)

    def say(self, node: str) -> None:
        if Chatter.left > 0 and node != self.carrier.name:
            Chatter.left -= 1
            self.carrier.send(node, Port.AGENTS, ServiceClass.CAUSAL, b"")

    def lost(self, node: str, why: str, now: float) -> None:
        self.say(self.carrier.nodes[0])

    def found(self, node: str, restarted: bool, now: float) -> None:
        self.say(node)


def chatter(network: FabricNetwork, messages: int, over: float) -> None:
    """Agents at all nodes exchange so many messages."""
    Chatter.left = messages
    random = Random(network.seed)
    network.lodge(lambda carrier: Chatter(carrier, random))
    for _ in range(max(4, messages // 4)):
        node = random.choice(network.topology.servers)
        network.clock.at(network.clock.now + random.random() * over, partial(_speak, network, node, random))


def _speak(network: FabricNetwork, node: str, random: Random) -> None:
    carrier = network.carriers.get(node)
    if carrier is not None:
        agent = carrier.residents[Port.AGENTS]
        assert isinstance(agent, Chatter)
        agent.say(random.choice(carrier.nodes))
