"""Nodes that die for good, with packets that never left them: the federations of the others go on, and nothing waits for ever.

The law of the federations' channel is in tests/fabric; here whole nodes are driven over it.  Agents' messages keep waiting.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import pytest

from fabric.mutants import load
from fabric.topologies import some
from host.simulated.test_fabric_storm import LASTS, SEATS, draw
from support.fabric_federations import BAD, chatter, check_causality, fabric
from support.federation_digest import check_agreement
from support.overlapping_calls import Driver
from support.random_kernel_calls import script
from support.simulated_federates import Seat, federation, seats
from weft.fabric import Topology, plan
from weft.host.carrier import Port, ServiceClass
from weft.host.mesh import causal_channels
from weft.host.simulated.fabric import FabricNetwork
from weft.model.errors import RTIinternalError

FLAT = plan(5, "flat")
LEAKY = replace(BAD, loss=0.35)  # so that much has not left a node when it dies


def plan_deaths(network: FabricNetwork, random: Random) -> None:
    """One or two nodes crash and never come back."""
    servers = network.topology.servers
    for node in random.sample(servers, min(len(servers) - 1, random.choice((1, 1, 2)))):
        network.clock.at(network.clock.now + random.random() * LASTS, partial(die, network, node))


def die(network: FabricNetwork, node: str) -> None:
    if node in network.carriers:
        network.crash(node)


def plan_returns(network: FabricNetwork, random: Random) -> None:
    """Nodes that are given up come back, started again or only cut off: what they had sent is late."""
    servers = network.topology.servers
    now = network.clock.now
    for node in random.sample(servers, min(len(servers), 2)):
        when = random.random() * LASTS
        network.clock.at(now + when, partial(die, network, node))
        network.clock.at(now + when + 2.5, partial(come_back, network, node))
    for _ in range(2):
        one = random.choice(servers)
        other = random.choice(network.topology.neighbours(one))
        when = random.random() * LASTS
        network.clock.at(now + when, partial(network.cut, one, other))
        network.clock.at(now + when + 2.5, partial(network.heal, one, other))


def come_back(network: FabricNetwork, node: str) -> None:
    if node not in network.carriers:
        network.restart(node)


def second(network: FabricNetwork, random: Random) -> list[Seat]:
    """Another federation, at home elsewhere: its commands follow those of the first only in that nodes have both."""
    made = seats(network, *[random.choice(network.topology.servers) for _ in range(SEATS)])
    made[0].create("other")
    for seat in made:
        seat.join("other")
    network.settle()
    return made


def storm(topology: Topology, seed: int, deaths: bool = True, calls: int = 40) -> FabricNetwork:
    """Two federations, of which nodes die for good, or are given up and come back."""
    random = Random(seed)
    network = FabricNetwork(topology, seed, LEAKY, lost_seconds=1.0)
    first = federation(network, *[random.choice(topology.servers) for _ in range(SEATS)])
    drivers = [Driver(network, first), Driver(network, second(network, random))]
    chatter(network, 30, LASTS)
    for driver in drivers:
        for call in script(draw(random, calls), SEATS, SEATS):
            driver.at(random.random() * LASTS, call)
    (plan_deaths if deaths else plan_returns)(network, random)
    run_all(network, drivers)
    return network


def run_all(network: FabricNetwork, drivers: list[Driver]) -> None:
    def next_calls() -> bool:
        for driver in drivers:
            driver._next()
        return False

    network.run_until(next_calls)
    for driver in drivers:
        driver.run()
    for driver in drivers:
        driver.check_all_ended()


def check_survivors(network: FabricNetwork) -> None:
    for name, carrier in network.carriers.items():
        assert not carrier.channels.of(Port.FEDERATIONS).waiting(), f"{name} waits for what will not come"
    checker = check_causality(network)
    assert not checker.faults, checker.faults[:3]
    check_agreement(network, *network.topology.servers)
    assert not network.notices
    first = network.topology.servers[0]
    for place in network.carriers if first in network.carriers else ():  # what is left is a working network
        if place == first or network._reaches(place, first):
            (visitor,) = seats(network, place)
            visitor.create(f"of {place}")
            visitor.join(f"of {place}")


@pytest.mark.parametrize("seed", range(16))
def test_the_others_go_on_in_one_domain(seed: int) -> None:
    check_survivors(storm(plan(3 + seed % 4, "flat"), seed))


@pytest.mark.parametrize("seed", range(8))
def test_the_others_go_on_in_several_domains(seed: int) -> None:
    check_survivors(storm(some(seed), seed))


@pytest.mark.parametrize("seed", range(8))
def test_who_was_given_up_comes_back(seed: int) -> None:
    """What it had sent comes late, behind what followed it, and does no harm."""
    check_survivors(storm(plan(3 + seed % 4, "flat") if seed % 2 else some(seed), seed, deaths=False))


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["flat", "some"])
def test_the_others_go_on_in_thousands_of_storms(kind: str) -> None:
    for seed in range(100, 1100):
        try:
            check_survivors(storm(plan(3 + seed % 4, "flat") if kind == "flat" else some(seed), seed))
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_a_channel_that_waits_for_the_dead_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that releases nothing: some storm leaves a survivor waiting."""
    monkeypatch.setattr(causal_channels, "Channel", load("what waits for a lost server waits for ever"))
    for seed in range(24):
        try:
            check_survivors(storm(plan(3 + seed % 4, "flat"), seed))
        except (AssertionError, RTIinternalError):  # a call that is never answered
            return
    pytest.fail("no storm has shown that survivors wait for the dead")


class Listener:
    """Lives where the agents live, and hears."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def received(self, sender: str, payload: bytes, now: float) -> None:
        self.heard.append(payload)

    def lost(self, node: str, why: str, now: float) -> None: ...

    def found(self, node: str, restarted: bool, now: float) -> None: ...


@pytest.mark.parametrize("port", [Port.FEDERATIONS, Port.AGENTS])  # events go by the reliable class
def test_federations_go_on_and_agents_wait(port: Port) -> None:
    """S4 has sent to S1 what does not get there, and to S2, which writes to S1: only agents wait until S4 is back."""
    network = fabric(FLAT)
    homes: dict[str, Listener] = {}
    for name, carrier in network.carriers.items():
        homes[name] = Listener()
        carrier.settle(port, homes[name])
    network.settle()
    for listener in homes.values():
        listener.heard.clear()

    def send(sender: str, to: str, payload: bytes) -> None:
        network.carriers[sender].send(to, port, ServiceClass.CAUSAL, payload)

    network.cut("S1", "S4")
    send("S4", "S1", b"cause")
    send("S4", "S2", b"word")
    network.run_until(lambda: homes["S2"].heard == [b"word"], network.clock.now + 0.9)
    send("S2", "S1", b"effect")
    network.run_until(lambda: False, network.clock.now + 5.0)
    waits = port is Port.AGENTS
    assert homes["S1"].heard == ([] if waits else [b"effect"])
    assert network.carriers["S1"].channels.of(port).waiting() == waits
    network.heal("S1", "S4")
    network.settle()
    assert homes["S1"].heard == ([b"cause", b"effect"] if waits else [b"effect", b"cause"])


def test_a_restarted_node_is_told_again_who_is_lost() -> None:
    """What waits is in its journal, and that S4 is lost is not: it waits until it has not reached S4 for long enough."""
    network = fabric(FLAT)
    federations = network.carriers["S1"].channels.of(Port.FEDERATIONS)
    network.settle()
    network.cut("S1", "S4")
    network.carriers["S4"].send("S1", Port.FEDERATIONS, ServiceClass.CAUSAL, b"never arrives")
    network.carriers["S4"].send("S2", Port.FEDERATIONS, ServiceClass.CAUSAL, b"word")
    network.run_until(lambda: False, network.clock.now + 0.3)
    network.crash("S4")
    network.carriers["S2"].send("S1", Port.FEDERATIONS, ServiceClass.CAUSAL, b"effect")
    disk = network._disks["S1"].tables[Port.FEDERATIONS]
    network.run_until(lambda: bool(disk.waiting), network.clock.now + 0.5)
    assert federations.waiting() == 1
    network.crash("S1")
    network.restart("S1")
    federations = network.carriers["S1"].channels.of(Port.FEDERATIONS)
    assert federations.waiting() == 1
    network.run_until(lambda: False, network.clock.now + 0.9)
    assert federations.waiting() == 1
    network.settle()
    assert federations.waiting() == 0


def test_a_channel_that_is_made_late_knows_who_is_lost() -> None:
    """Each is made for the first of its messages; what was told before holds for it."""
    both = causal_channels.CausalChannels(FLAT, 0, None)
    both.lost(1)
    both.lost(2)
    both.found(2)
    assert both.made == {}
    assert both.of(Port.FEDERATIONS).states[0].lost == [False, True, False, False, False]
    assert both.of(Port.AGENTS).states[0].lost_count == 0


def test_a_node_without_agents_has_one_clock() -> None:
    """The channel of the agents is made for the first of their messages."""
    network = fabric(FLAT)
    network.settle()
    carrier = network.carriers["S1"]
    one = carrier.channels.clock_bytes()
    assert one == 5 * 5 * 24
    chatter(network, 4, 0.1)
    network.settle()
    assert any(carrier.channels.clock_bytes() == 2 * one for carrier in network.carriers.values())
