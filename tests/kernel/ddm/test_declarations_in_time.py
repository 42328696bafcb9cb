"""Declarations as of a logical time under random schedules, at one node and over meshes, against their definitions (S4-21)."""

from __future__ import annotations

from random import Random

import pytest

from fabric.topologies import some
from kernel.time.test_time_storm import storm
from support.fabric_federations import BAD
from support.random_declarations import DeclaringRun, check_declared
from support.random_moving_regions import check
from support.random_timed_federates import check_order
from weft import EmbeddedNode, Source
from weft.host.simulated.fabric import FabricNetwork

pytestmark = pytest.mark.over_nodes

STEPS = 300
PAUSES = (0.0, 0.0, 0.001, 0.005, 0.02, 0.1)
WORDS = {False: "timed", True: "regulating"}


def rid_with(declarations: str) -> Source:
    text = f"(RTI (DataDistribution (StrategyToUse Exact) (SynchronizedDeclarations {declarations})))"
    return Source("test", text.encode())


def embedded(
    seed: int, plainly: bool, steps: int = STEPS, flushes: bool = False, hasty: bool = False
) -> DeclaringRun:
    node = EmbeddedNode(declarations=WORDS[plainly])
    run = DeclaringRun(
        seed, [node] * (2 + seed % 4), late=seed % 2, flushes=flushes, plainly=plainly, hasty=hasty
    )
    for _ in range(steps):
        run.step()
    run.finish()
    return run


def meshed(
    seed: int, plainly: bool, steps: int = STEPS, flushes: bool = False, hasty: bool = False
) -> DeclaringRun:
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0, rid=rid_with(WORDS[plainly]))
    places = [network.at(random.choice(topology.servers)) for _ in range(2 + seed % 4)]
    run = DeclaringRun(
        seed,
        list(places),
        late=seed % 2,
        settle=network.settle,
        flushes=flushes,
        plainly=plainly,
        hasty=hasty,
    )
    for _ in range(steps):
        run.step()
        network.run_until(lambda: False, network.clock.now + random.choice(PAUSES))
    run.finish()
    return run


def checked(run: DeclaringRun) -> None:
    check(run)
    check_declared(run)


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_everybody_hears_what_it_had_subscribed_to_as_of_its_time(seed: int, plainly: bool) -> None:
    """S4-2, S4-21: who would have got it, had everybody known; with the switch, also by calls without a time."""
    checked(embedded(seed, plainly))


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("seed", range(16))
def test_also_over_a_mesh(seed: int, plainly: bool) -> None:
    """S4-12, S4-21: whatever the network does to the order in which changes and messages come."""
    checked(meshed(seed, plainly))


@pytest.mark.parametrize("seed", range(100, 108))
def test_also_if_queues_are_flushed(seed: int) -> None:
    checked(embedded(seed, False, flushes=True))
    checked(meshed(seed, False, flushes=True))


@pytest.mark.parametrize("seed", range(12))
def test_in_a_storm_who_is_left_goes_on(seed: int) -> None:
    """Nodes crash and come back, links are cut: with changes under way nobody waits for ever or hears of its past."""
    for one in storm(seed, DeclaringRun, rid_with("timed")).federates:
        check_order(seed, one)


@pytest.mark.parametrize("seed", range(200, 212))
def test_whenever_it_declares_nothing_comes_of_its_past(seed: int) -> None:
    """With the switch, also while it asks for time: each message once, in order, none of its past, and nobody is stuck."""
    for run in (embedded(seed, True, hasty=True), meshed(seed, True, hasty=True)):
        for one in run.federates:
            check_order(seed, one)


def test_much_is_heard() -> None:
    """These runs are about something."""
    assert sum(check_declared(embedded(seed, seed % 2 == 1)) for seed in range(6)) > 60


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_for_long(block: int) -> None:
    for seed in range(2000 + 20 * block, 2020 + 20 * block):
        plainly = seed % 2 == 1
        checked(meshed(seed, plainly, 400, flushes=seed % 3 == 0))
        checked(embedded(seed, plainly, 400, flushes=seed % 3 == 0))
