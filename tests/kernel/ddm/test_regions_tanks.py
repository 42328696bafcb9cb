"""Red tank and blue tank at scale over simulated nodes with random delays (S4-13, S4-19; issue 6, must show)."""

from __future__ import annotations

import pytest

from support.fabric_federations import BAD
from support.tanks_on_a_square import Field
from weft.fabric import plan
from weft.host.simulated.fabric import FabricNetwork

pytestmark = pytest.mark.over_nodes


def drive(seed: int, synchronized: bool, tanks: int = 8, end: int = 24) -> Field:
    network = FabricNetwork(plan(4, "daisy"), seed, BAD, lost_seconds=1000.0)
    field = Field(seed, network, tanks, end, synchronized)
    field.run()
    return field


def lost(field: Field) -> int:
    return sum(len(field.wanted(tank) - set(tank.heard)) for tank in field.tanks)


def check(field: Field) -> None:
    for tank in field.tanks:
        assert set(tank.heard) == field.wanted(tank), tank.name
        assert len(tank.heard) == len(set(tank.heard)), tank.name
        assert not tank.past, tank.name


def test_with_regions_as_of_a_time_none_are_lost_and_every_run_is_the_same() -> None:
    runs = [drive(seed, True) for seed in range(6)]
    for run in runs:
        check(run)
    assert sum(len(tank.heard) for tank in runs[0].tanks) > 20
    assert len({run.digest() for run in runs}) == 1


def test_by_wall_clock_messages_are_lost_and_others_come_that_should_not() -> None:
    runs = [drive(seed, False) for seed in range(3)]
    assert all(lost(run) for run in runs)
    assert len({run.digest() for run in runs}) > 1


@pytest.mark.soak
@pytest.mark.parametrize("block", range(5))
def test_many_tanks_in_many_seeds(block: int) -> None:
    runs = [drive(seed, True, tanks=12, end=60) for seed in range(100 + 8 * block, 108 + 8 * block)]
    for run in runs:
        check(run)
    assert len({run.digest() for run in runs}) == 1
