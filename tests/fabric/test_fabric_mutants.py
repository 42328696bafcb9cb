"""The checker catches what it is there to catch: each defect of the printed algorithm, and others, in the real code (S1-4)."""

from __future__ import annotations

from typing import Any

import pytest

from fabric.mutants import LOST, MUTANTS, load
from fabric.network import CLEAR, LOSSES, STORM, Network, Weather
from weft.fabric import Channel, plan
from weft.model.errors import FabricError

RUNS = 25
SOAK_RUNS = 500
TOLD = "told before the stamp is made"
STARTS = "all states start at the same value"
SOURCE = "the source of a change is not noted"
FOR_ALL_WEATHERS = (TOLD, STARTS, SOURCE)


def flat(seed: int, channel_class: Any) -> Network:
    """As in the runs of the proportions below: three to eight servers, unicast, delays with a heavy tail."""
    return Network(
        plan(3 + seed % 6, "flat"), seed, CLEAR, 250, reply=0.9, spread=20.0, channel_class=channel_class
    )


def violations(name: str, runs: int) -> int:
    mutant = load(name)
    return sum(bool(flat(seed, mutant).run().faults) for seed in range(runs))


def entries(channel_class: Any, runs: int) -> float:
    made = [flat(seed, channel_class) for seed in range(runs)]
    assert not any(network.run().faults for network in made)
    return sum(network.entries for network in made) / sum(network.stamps for network in made)


def check_printed_defects(runs: int) -> None:
    """In all runs; in a third of them (168 of 500; 226 under another load); in none, with stamps a tenth larger."""
    assert violations(TOLD, runs) >= 0.98 * runs
    assert 0.2 * runs <= violations(STARTS, runs) <= 0.6 * runs
    assert 1.05 < entries(load(SOURCE), runs) / entries(Channel, runs) < 1.3


def test_the_printed_algorithm_fails_as_foretold() -> None:
    check_printed_defects(RUNS)


@pytest.mark.soak
def test_the_printed_algorithm_fails_as_foretold_in_many_runs() -> None:
    check_printed_defects(SOAK_RUNS)


def noticed(channel_class: Any, weather: Weather = STORM, seeds: int = 10) -> bool:
    """By the checker, or by the channel itself, which refuses what cannot be."""
    for seed in range(seeds):
        network = Network(plan(5, "flat"), seed, weather, 100, several=0.3, channel_class=channel_class)
        try:
            if network.run().faults:
                return True
        except (FabricError, KeyError):
            return True
    return False


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in (*FOR_ALL_WEATHERS, *LOST)])
def test_a_defect_is_caught_within_a_few_seeds(name: str) -> None:
    assert noticed(load(name))


@pytest.mark.parametrize("name", LOST)
def test_a_defect_about_lost_servers_is_caught(name: str) -> None:
    assert noticed(load(name), LOSSES, 40)


def test_the_control_is_not_caught() -> None:
    """The source as it stands, read as the mutants are."""
    assert not noticed(load(""))
    assert not noticed(load(""), LOSSES, 40)
