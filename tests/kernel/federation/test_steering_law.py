"""Steering a federation, under random schedules, at one node and over meshes with bad links (issue 9, "Steer").

nothing changes     whatever an operator pauses, steps and resumes, every federate hears the same in the same order
a step is exact     after N steps each federate has been granted what it would have been without a pause up to the Nth
                    distinct time of all grants that were to come, and nothing beyond
no harm             with all services of time, lookaheads of zero, saves, joins and resignations: the oracle of
                    `support.random_timed_federates` holds, nobody is granted anything while the gate is shut, and nothing
                    is stuck
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pytest

from fabric.topologies import some
from kernel.time.test_time_determinism import FEDERATES, NAME, Same, verdict
from kernel.time.test_time_storm import storm
from support.fabric_federations import BAD
from support.federation import new_directory
from support.random_timed_federates import NAME as CLOCKWORK
from support.random_timed_federates import Run, Timed, check, check_order
from support.random_timed_saves import restore
from support.recording_ambassador import Recorder
from support.simulated_federates import FOM
from weft import CallbackModel, EmbeddedNode, RTIambassador
from weft.host import NodeHost
from weft.host.simulated.fabric import FabricNetwork
from weft.model.errors import RTIexception

pytestmark = pytest.mark.over_nodes


def operator_at(site: NodeHost) -> RTIambassador:
    rti = RTIambassador(site)
    rti.connect(Recorder(), CallbackModel.EVOKED)
    return rti


class World:
    """Federates whose doings follow from what they have heard, and an operator, at random places."""

    def __init__(self, seed: int, meshed: bool) -> None:
        self.random = Random(seed)
        topology = some(seed)
        self.network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0) if meshed else None
        node = EmbeddedNode()

        def site() -> NodeHost:
            return node if self.network is None else self.network.at(self.random.choice(topology.servers))

        self.federates = [Same(n, site()) for n in range(FEDERATES)]
        self.federates[0].rti.create_federation_execution(NAME, [FOM], "HLAinteger64Time")
        for one in self.random.sample(self.federates, FEDERATES):
            one.join()
        self.settle()
        for one in self.random.sample(self.federates, FEDERATES):
            one.enable()
        while not all(one.enabled == 2 for one in self.federates):
            self.settle()
            for one in self.federates:
                one.evoke()
        self.operator = operator_at(site())

    def settle(self) -> None:
        if self.network is not None:
            self.network.settle()

    def turn(self) -> None:
        if self.network is not None:
            pause = self.random.choice((0.0, 0.001, 0.05))
            self.network.run_until(lambda: False, self.network.clock.now + pause)
        self.move(self.random.choice(self.federates))

    def move(self, one: Same) -> bool:
        heard = len(one.heard)
        one.evoke()
        if one.waiting or one.finished():
            return len(one.heard) > heard
        one.go_on()
        return True

    def rest(self) -> None:
        """Until nobody can do anything more."""
        quiet = False
        while not quiet:
            self.settle()
            moved = [self.move(one) for one in self.federates]
            quiet = not any(moved)

    def is_over(self) -> bool:
        return all(one.finished() for one in self.federates)

    def steer(self, action: str, target: Any = None) -> dict[str, Any]:
        return self.operator.steer(action, NAME, target)


@cache
def undisturbed() -> tuple[str, list[list[str]]]:
    world = World(0, meshed=False)
    while not world.is_over():
        world.turn()
    return verdict(world.federates), [one.heard for one in world.federates]


def grants(heard: list[str]) -> list[int]:
    return [int(line.removeprefix("granted ")) for line in heard if line.startswith("granted ")]


@pytest.mark.parametrize("meshed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_steering_changes_nothing_that_federates_hear(seed: int, meshed: bool) -> None:
    world = World(seed, meshed)
    turns = 0
    while not world.is_over():
        if world.random.random() < 0.05:
            action = world.random.choice(("pause", "resume", "step"))
            facts = world.steer(action if action != "step" else "pause")
            if action == "step":
                facts = world.steer("step", world.random.choice((1, 1, 2, 5)))
            assert ("paused" in facts) == (action != "resume")
        world.turn()
        turns += 1
        assert turns < 100_000, [one.time for one in world.federates]
        if turns % 1000 == 0:
            world.steer("resume")  # it may have been paused for long
    assert verdict(world.federates) == undisturbed()[0]


@pytest.mark.parametrize("meshed", [False, True])
@pytest.mark.parametrize("seed", [*range(100, 106), 1045])  # 1045: most have ended when it is paused
def test_a_step_lets_exactly_the_next_logical_time_through(seed: int, meshed: bool) -> None:
    """Against the grants of a run without a pause, however many steps are asked for at once."""
    world = World(seed, meshed)
    expected = [grants(heard) for heard in undisturbed()[1]]
    for _ in range(world.random.randrange(200)):
        world.turn()
    world.steer("pause")
    world.settle()
    world.rest()
    before = [len(grants(one.heard)) for one in world.federates]
    to_come = sorted({time for n, had in zip(expected, before, strict=True) for time in n[had:]})
    done = 0
    while done < len(to_come):
        count = world.random.choice((1, 1, 2, 3))
        world.steer("step", count)
        world.rest()
        done = min(done + count, len(to_come))
        for one, all_of_it, had in zip(world.federates, expected, before, strict=True):
            let = [time for time in all_of_it[had:] if time <= to_come[done - 1]]
            assert grants(one.heard) == all_of_it[:had] + let, f"{one.name} after {done} of {to_come}"
        status = world.federates[0].rti.query_status()
        assert all(federation["paused"]["at"] == to_come[done - 1] for federation in status)
    world.steer("resume")
    world.rest()
    assert verdict(world.federates) == undisturbed()[0]


# --- with all there is -------------------------------------------------------------------------------------------------


class Steered(Timed):
    """Knows when nothing may be granted, and what may."""

    def granted(self, time: int, service: str) -> None:
        run = self.run
        assert isinstance(run, SteeredRun)
        if run.strict and run.paused:
            facts = run.facts()
            assert "at" in facts, f"seed {run.seed}: {self.name} was granted {time} in a pause"
            assert time <= max(facts["at"], self.time), f"seed {run.seed}: {self.name} beyond {facts}"
        super().granted(time, service)


class SteeredRun(Run):
    federate = Steered

    def __init__(self, *arguments: Any, strict: bool = False, **named: Any) -> None:
        """`strict`: what a federate hears has just happened, as at one node where nothing is held for a save."""
        self.paused = False
        self.strict = strict
        super().__init__(*arguments, **named)
        self.operator = operator_at(arguments[1][0])

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.operator.query_status()[0]["paused"]
        return found

    def step(self) -> None:
        if self.random.random() < 0.1:
            self.act()
        super().step()

    def act(self) -> None:
        for one in self.federates:
            one.evoke()
        action = self.random.choice(("pause", "pause", "step", "step", "resume"))
        if action != "step" or self.paused:
            self.operator.steer(action, CLOCKWORK, self.random.choice((1, 2)) if action == "step" else None)
            self.paused = action != "resume"

    def finish(self) -> None:
        self.operator.steer("resume", CLOCKWORK)
        self.paused = False
        super().finish()


def at_one_node(seed: int, saves: bool, steps: int = 200) -> SteeredRun:
    node = EmbeddedNode(save_directory=new_directory())
    run = SteeredRun(
        seed,
        [node] * (2 + seed % 4),
        FOM,
        0 if saves else seed % 2,
        saves=saves,
        stays=saves,
        strict=not saves,
    )
    for _ in range(steps):
        run.step()
    if saves:
        run.operator.steer("resume", CLOCKWORK)
        run.paused = False
        if restore(run):
            for _ in range(steps // 2):
                run.step()
    run.finish()
    return run


def over_a_mesh(seed: int, steps: int = 150) -> SteeredRun:
    random = Random(seed)
    topology = some(seed)
    network = FabricNetwork(topology, seed, BAD, lost_seconds=1000.0)
    places = [network.at(random.choice(topology.servers)) for _ in range(2 + seed % 4)]
    run = SteeredRun(seed, list(places), FOM, seed % 2, network.settle)
    for _ in range(steps):
        run.step()
        network.run_until(lambda: False, network.clock.now + random.choice((0.0, 0.0, 0.001, 0.02, 0.2)))
    run.finish()
    return run


@pytest.mark.parametrize("seed", range(20))
def test_all_of_time_management_is_sound_while_it_is_steered(seed: int) -> None:
    check(at_one_node(seed, saves=False))


@pytest.mark.parametrize("seed", range(12))
def test_saves_are_sound_while_it_is_steered(seed: int) -> None:
    check(at_one_node(seed, saves=True))


class StormyRun(SteeredRun):
    """Federations that nobody remembers end with their home; an operator whose node is away tries elsewhere."""

    def act(self) -> None:
        with suppress(RTIexception):
            super().act()

    def finish(self) -> None:
        for one in self.federates:
            with suppress(RTIexception):
                one.rti.steer("resume", CLOCKWORK)
        Run.finish(self)


@pytest.mark.parametrize("seed", range(8))
def test_who_is_left_by_a_storm_goes_on_when_it_is_resumed(seed: int) -> None:
    """Nodes crash and come back, the home among them, and links are cut, while an operator steers."""
    for one in storm(seed, StormyRun).federates:
        check_order(seed, one)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_sound_over_a_mesh(seed: int) -> None:
    check(over_a_mesh(seed))


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_many_steps_and_schedules(block: int) -> None:
    for seed in range(1000 + 5 * block, 1005 + 5 * block):
        for meshed in (False, True):
            test_steering_changes_nothing_that_federates_hear(seed, meshed)
            test_a_step_lets_exactly_the_next_logical_time_through(seed, meshed)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_it_is_sound_over_many(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check(at_one_node(seed, saves=bool(seed % 2), steps=400))
        check(over_a_mesh(seed))
        for one in storm(seed, StormyRun).federates:
            check_order(seed, one)
