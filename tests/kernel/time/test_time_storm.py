"""Logical time in storms: nodes that crash and come back, the home among them, and links that are cut, in time or for too long.

What was lost is lost with its federates; whoever is left goes on, hears nothing of its past in time stamp order, and is never
stuck (issue 5: resigning and crashing regulators, on a mesh).  In every other storm the federation is saved now and then, at a
logical time or without, and an attribute changes hands.
"""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from fabric.topologies import some
from support import random_timed_owners
from support.fabric_federations import BAD
from support.random_timed_federates import Run, check_order
from support.simulated_federates import FOM
from weft import Source
from weft.host.simulated.fabric import FabricNetwork
from weft.model.errors import RTIexception

pytestmark = pytest.mark.over_nodes

STEPS = 120


def storm(seed: int, made: type[Run] = Run, rid: Source | None = None) -> Run:
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1.0, rid=rid)
    servers = topology.servers
    places = [random.choice(servers) for _ in range(3 + seed % 3)]
    run = made(
        seed, [network.at(place) for place in places], FOM, 0, network.settle, saves=seed % 2 == 1, lossy=True
    )
    for node in random.sample(servers, random.choice((1, 1, 2))):
        when = network.clock.now + random.random() * 2.0
        network.clock.at(when, partial(network.crash, node))
        network.clock.at(when + random.choice((0.05, 0.4, 3.0)), partial(network.restart, node))
    for _ in range(random.choice((0, 1, 2))):
        one = random.choice(servers)
        other = random.choice(topology.neighbours(one))
        when = network.clock.now + random.random() * 2.0
        network.clock.at(when, partial(network.cut, one, other))
        network.clock.at(when + random.choice((0.2, 3.0)), partial(network.heal, one, other))
    for _ in range(STEPS):
        try:
            run.step()
        except RTIexception:
            run.somebody_went(network)
        network.run_until(lambda: False, network.clock.now + random.choice((0.0, 0.005, 0.02, 0.1)))
    network.settle()
    run.somebody_went(network)
    run.finish()
    if run.saves:
        random_timed_owners.check(run)
    return run


@pytest.mark.parametrize("seed", range(30))
def test_who_is_left_goes_on(seed: int) -> None:
    for one in storm(seed).federates:
        check_order(seed, one)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_who_is_left_goes_on_for_long(block: int) -> None:
    for seed in range(500 + 50 * block, 550 + 50 * block):
        for one in storm(seed).federates:
            check_order(seed, one)
