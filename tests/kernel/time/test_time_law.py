"""Logical time under random schedules, at one node and over meshes with bad links, against a brute-force oracle (issue 5)."""

from __future__ import annotations

from random import Random

import pytest

from fabric.topologies import some
from support.fabric_federations import BAD
from support.federation import new_directory
from support.random_timed_federates import Run, check
from support.random_timed_saves import restore
from support.simulated_federates import FOM
from weft import EmbeddedNode
from weft.host.simulated.fabric import FabricNetwork

pytestmark = pytest.mark.over_nodes

STEPS = 150


def embedded(seed: int, steps: int = STEPS, saves: bool = False) -> Run:
    node = EmbeddedNode(save_directory=new_directory())
    run = Run(seed, [node] * (2 + seed % 4), FOM, 0 if saves else seed % 2, saves=saves, stays=saves)
    for _ in range(steps):
        run.step()
    if saves and restore(run):
        for _ in range(steps // 2):
            run.step()
    run.finish()
    return run


def meshed(seed: int, steps: int = STEPS, saves: bool = False) -> Run:
    """Over a random topology; between two steps the network runs on for a random while."""
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0)
    places = [network.at(random.choice(topology.servers)) for _ in range(2 + seed % 4)]
    late = 0 if saves else seed % 2
    run = Run(seed, list(places), FOM, late, network.settle, saves=saves, stays=saves)
    for again in (False, True):
        for _ in range(steps if not again else steps // 2):
            run.step()
            network.run_until(lambda: False, network.clock.now + random.choice((0.0, 0.0, 0.001, 0.02, 0.2)))
        if again or not saves or not restore(run):
            break
    run.finish()
    return run


@pytest.mark.parametrize("seed", range(60))
def test_time_at_one_node(seed: int) -> None:
    check(embedded(seed))


@pytest.mark.parametrize("seed", range(40))
def test_time_over_a_mesh(seed: int) -> None:
    check(meshed(seed))


@pytest.mark.parametrize("seed", range(40))
def test_saves_at_one_node(seed: int) -> None:
    """Saves at a logical time and without, and a restore of the last: nothing too early, nothing lost, nothing twice."""
    check(embedded(seed, saves=True))


@pytest.mark.parametrize("seed", range(30))
def test_saves_over_a_mesh(seed: int) -> None:
    check(meshed(seed, saves=True))


@pytest.mark.parametrize("seed", [5941, 6048])
def test_a_save_that_is_due_before_its_bound_is_told(seed: int) -> None:
    """All messages up to its time are delivered first, also where the command to save is the first that says they have come."""
    check(meshed(seed, saves=True))


def test_nobody_begins_to_regulate_while_the_federation_is_saved() -> None:
    """What all nodes know of a federate and what its own node has said of it would not fit."""
    check(meshed(6415, saves=True))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(40))
def test_saves_over_many_meshes(block: int) -> None:
    for seed in range(5000 + 50 * block, 5050 + 50 * block):
        check(meshed(seed, saves=True))
        check(embedded(seed, 400, saves=True))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(40))
def test_time_over_many_meshes(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check(meshed(seed))
        check(embedded(seed, 400))
