"""Regions as of a logical time under random schedules, at one node and over meshes, against their definitions (issue 6)."""

from __future__ import annotations

from random import Random

import pytest

from fabric.topologies import some
from kernel.time.test_time_storm import storm
from support.fabric_federations import BAD
from support.random_moving_regions import MovingRun, check
from support.random_timed_federates import check_order
from support.small_fom import fom
from weft import EmbeddedNode
from weft.host.simulated.fabric import FabricNetwork

pytestmark = pytest.mark.over_nodes

STEPS = 240
PAUSES = (0.0, 0.0, 0.001, 0.005, 0.02, 0.1)


def embedded(seed: int, steps: int = STEPS, flushes: bool = False) -> MovingRun:
    run = MovingRun(seed, [EmbeddedNode()] * (2 + seed % 4), fom(), seed % 2, flushes=flushes)
    for _ in range(steps):
        run.step()
    run.finish()
    return run


def meshed(seed: int, steps: int = STEPS, flushes: bool = False) -> MovingRun:
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0)
    places = [network.at(random.choice(topology.servers)) for _ in range(2 + seed % 4)]
    run = MovingRun(seed, list(places), fom(), seed % 2, network.settle, flushes=flushes)
    for _ in range(steps):
        run.step()
        network.run_until(lambda: False, network.clock.now + random.choice(PAUSES))
    run.finish()
    return run


@pytest.mark.parametrize("seed", range(40))
def test_everybody_hears_what_it_wants_as_of_its_time(seed: int) -> None:
    """S4-2, S4-10, S4-12, S4-16."""
    check(embedded(seed))


@pytest.mark.parametrize("seed", range(30))
def test_also_over_a_mesh(seed: int) -> None:
    check(meshed(seed))


@pytest.mark.parametrize("seed", range(100, 112))
def test_also_if_queues_are_flushed(seed: int) -> None:
    check(meshed(seed, flushes=True))
    check(embedded(seed, flushes=True))


@pytest.mark.parametrize("seed", [2313, 2541, 2601])
def test_nothing_comes_twice(seed: int) -> None:
    """A federate had heard it with an "available" grant, or flushed it and promised more while its change was under way."""
    check(meshed(seed, 400, flushes=True))


@pytest.mark.parametrize("seed", range(12))
def test_in_a_storm_who_is_left_goes_on(seed: int) -> None:
    """Nodes crash and come back, links are cut: with changes under way nobody waits for ever or hears of its past."""
    for one in storm(seed, MovingRun).federates:
        check_order(seed, one)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_for_long(block: int) -> None:
    for seed in range(2000 + 40 * block, 2040 + 40 * block):
        check(meshed(seed, 400, flushes=seed % 3 == 0))
        check(embedded(seed, 400, flushes=seed % 3 == 0))
        for one in storm(seed, MovingRun).federates:
            check_order(seed, one)
