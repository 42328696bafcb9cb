"""Federates and agents in storms: random topologies, links that lose, repeat and reorder, cuts, crashes and restarts.

In the end all heals.  Then nothing hangs, the nodes agree, and what the channels did is held against a brute-force checker of
global causal order, of exactly once, and of messages that are stuck.
"""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from fabric.topologies import CYCLIC, some
from support.fabric_federations import BAD, chatter, check_causality
from support.federation_digest import check_agreement
from support.overlapping_calls import Driver
from support.random_kernel_calls import KINDS, Draw, script
from support.simulated_federates import federation, seats
from weft.fabric import Topology
from weft.host.simulated.fabric import FabricNetwork, FabricProfile

SEATS = 4
LASTS = 2.0  # seconds of storm


def draw(random: Random, count: int) -> list[Draw]:
    return [
        (random.choice(KINDS), random.randrange(SEATS), random.randrange(1000), random.randrange(1000))
        for _ in range(count)
    ]


def plan_faults(network: FabricNetwork, random: Random) -> None:
    """Some nodes crash and come back, some links are cut and healed; some in time, some too late for the others."""
    servers = network.topology.servers
    for node in random.sample(servers, random.choice((0, 1, 1, 2))):
        when = random.random() * LASTS
        away = random.choice((0.05, 0.3, 3.0))
        network.clock.at(network.clock.now + when, partial(network.crash, node))
        network.clock.at(network.clock.now + when + away, partial(network.restart, node))
    for _ in range(random.choice((0, 1, 2))):
        one = random.choice(servers)
        other = random.choice(network.topology.neighbours(one))
        when = random.random() * LASTS
        network.clock.at(network.clock.now + when, partial(network.cut, one, other))
        healed = network.clock.now + when + random.choice((0.2, 3.0))
        network.clock.at(healed, partial(network.heal, one, other))


def storm(topology: Topology, seed: int, calls: int = 40) -> FabricNetwork:
    random = Random(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1.0)
    places = [random.choice(topology.servers) for _ in range(SEATS)]
    made = federation(network, *places)
    chatter(network, 60, LASTS)
    driver = Driver(network, made)
    for call in script(draw(random, calls), SEATS, SEATS):
        driver.at(random.random() * LASTS, call)
    plan_faults(network, random)
    driver.run()
    driver.check_all_ended()
    return network


def check(topology: Topology, seed: int) -> None:
    network = storm(topology, seed)
    checker = check_causality(network)
    assert not checker.faults, checker.faults[:3]
    check_agreement(network, *topology.servers)
    assert not network.notices
    for place in topology.servers:  # what is left is a working network
        (visitor,) = seats(network, place)
        visitor.create(f"of {place}")
        visitor.join(f"of {place}")
    assert visitor.federations() >= {f"of {place}" for place in topology.servers}


@pytest.mark.parametrize("seed", range(28))
def test_a_storm_leaves_causal_order_and_agreement(seed: int) -> None:
    """S1-1, S1-9: causal order of commands and agents' messages, exactly once, nothing stuck after healing; nodes agree."""
    check(some(seed), seed)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_thousands_of_storms() -> None:
    """As above, for longer."""
    for seed in range(100, 2100):
        try:
            check(some(seed), seed)
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


def test_a_ring_of_domains_is_caught() -> None:
    """S1-10, S1-12: domains that form a cycle, forced past the check, break causal order, and the checker sees it."""
    slow = FabricProfile(delay=0.001, jitter=0.2)
    faults = 0
    for seed in range(12):
        network = FabricNetwork(CYCLIC["ring of three"], seed, slow, lost_seconds=60.0)
        chatter(network, 150, 0.5)
        network.settle()
        faults += len(check_causality(network).faults)
    assert faults
