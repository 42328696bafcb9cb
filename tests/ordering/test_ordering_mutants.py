"""The checks catch what they are there to catch: each step of the algorithm left out, in the real code."""

from __future__ import annotations

from collections import Counter

import pytest

from ordering.cost import mean_pairs, steady
from ordering.mutants import ALWAYS, FIRST, MUTANTS, RECEIVE, SAFE, SEND, THIRD, UNION, load
from ordering.network import Network
from weft.model.errors import OrderingError

RUNS = 15
SOAK_RUNS = 500


def violations(name: str, runs: int) -> Counter[str]:
    """In how many runs the mutant breaks causal order, or blocks, or keeps larger rows than it should."""
    mutant = load(name)
    found: Counter[str] = Counter()
    for seed in range(runs):
        network = Network(seed, mses=mutant, plain=False).run()
        found["unsafe"] += any(fault.startswith("unsafe") for fault in network.faults)
        found["faults"] += bool(network.faults)
        found["not smallest"] += bool(network.not_smallest)
    return found


def check_steps(runs: int) -> None:
    """Of 500 runs under another load: 499, 499, 401, 214; without (ii) none, but rows are never cut at the source."""
    assert violations(RECEIVE, runs)["unsafe"] >= 0.95 * runs
    assert violations(SEND, runs)["unsafe"] >= 0.95 * runs
    assert 0.4 * runs <= violations(FIRST, runs)["unsafe"] <= 0.9 * runs
    assert 0.3 * runs <= violations(THIRD, runs)["unsafe"] <= 0.8 * runs
    assert not violations("", runs).total()
    for name in SAFE:
        found = violations(name, runs)
        assert found["faults"] == 0
        assert found["not smallest"] >= 0.5 * runs


def test_every_step_is_needed() -> None:
    check_steps(RUNS)


@pytest.mark.soak
def test_every_step_is_needed_in_many_runs() -> None:
    check_steps(SOAK_RUNS)


def test_a_union_of_rows_is_safe_but_larger() -> None:
    """The basic form of (iii): tags from 1.3 to 13.7 times as large."""
    pairs = []
    for mses in (load(UNION), load("")):
        network = steady(8, "unicast", mses)
        assert network.faults == []
        pairs.append(mean_pairs(network))
    assert pairs[0] > 1.3 * pairs[1]


def noticed(name: str) -> bool:
    """By the oracle, or by the process itself, which refuses what cannot be."""
    mutant = load(name)
    for seed in range(40):
        try:
            if Network(seed, mses=mutant, plain=False, rows=False, changes=4).run().faults:
                return True
        except (OrderingError, KeyError):
            return True
    return False


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in SAFE and name not in ALWAYS])
def test_a_defect_is_caught_within_a_few_seeds(name: str) -> None:
    assert noticed(name)


def test_without_a_view_change_a_crash_blocks() -> None:
    """What waits for a lost message waits for ever."""
    mutant = load("no view change at a crash")
    faults = [
        Network(seed, mses=mutant, plain=False, rows=False, changes=4).run().faults for seed in range(20)
    ]
    assert any(fault.startswith("stuck") for run in faults for fault in run)


def test_the_control_is_not_caught() -> None:
    """The source as it stands, read as the mutants are."""
    assert not noticed("")
