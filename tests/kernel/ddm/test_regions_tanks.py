"""Red tank and blue tank at scale over simulated nodes with random delays (S4-13, S4-19; issue 6, must show)."""

from __future__ import annotations

import pytest

from support.fabric_federations import BAD
from weft.fabric import plan
from weft.host.simulated.fabric import FabricNetwork
from weft_benchmarks.papers.tanks import LOGICAL, WALL, WALL_NOW, Drive, Field

pytestmark = pytest.mark.over_nodes


def drive(seed: int, mode: str, tanks: int = 8, end: int = 24) -> Field:
    network = FabricNetwork(plan(4, "daisy"), seed, BAD, lost_seconds=1000.0)
    return Field(Drive(mode, tanks=tanks, end=end), seed, network).run()


def lost(field: Field) -> int:
    return sum(len(field.wanted(tank) - set(tank.heard)) for tank in field.tanks)


def wrong(field: Field) -> int:
    return sum(len(set(tank.heard) - field.wanted(tank)) for tank in field.tanks)


def check(field: Field) -> None:
    for tank in field.tanks:
        assert set(tank.heard) == field.wanted(tank), tank.name
        assert len(tank.heard) == len(set(tank.heard)), tank.name
        assert not tank.past, tank.name


def test_with_regions_as_of_a_time_none_are_lost_and_every_run_is_the_same() -> None:
    runs = [drive(seed, LOGICAL) for seed in range(6)]
    for run in runs:
        check(run)
    assert sum(len(tank.heard) for tank in runs[0].tanks) > 20
    assert len({run.digest() for run in runs}) == 1


@pytest.mark.parametrize("mode", [WALL, WALL_NOW])
def test_by_wall_clock_messages_are_lost_and_others_come_that_should_not(mode: str) -> None:
    """S4-23: both are counted, and no run is like another."""
    runs = [drive(seed, mode) for seed in range(3)]
    assert all(lost(run) for run in runs)
    assert all(wrong(run) for run in runs)
    assert len({run.digest() for run in runs}) > 1


@pytest.mark.soak
@pytest.mark.parametrize("block", range(5))
def test_many_tanks_in_many_seeds(block: int) -> None:
    runs = [drive(seed, LOGICAL, tanks=12, end=60) for seed in range(100 + 8 * block, 108 + 8 * block)]
    for run in runs:
        check(run)
    assert len({run.digest() for run in runs}) == 1
