"""Whole networks of channels under faults, against the brute-force checker (S1-6 … S1-10, S1-12)."""

from __future__ import annotations

import pytest

from fabric.network import CLEAR, STORM, Checker, Network, Weather
from fabric.topologies import CYCLIC, is_forest, some
from weft.fabric import Topology, shortest_cycle

RUNS = 350
SOAK_RUNS = 10_000
SHARES = 7  # so that two cores can share the work


def run(seed: int, weather: Weather) -> Checker:
    network = Network(some(seed), seed, weather, several=0.3 if seed % 2 else 0.0)
    checker = network.run()
    assert not checker.faults, f"seed {seed}, {weather}: {checker.faults[:5]}"
    assert checker.deliveries
    return checker


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("weather", [CLEAR, STORM], ids=["clear", "storm"])
def test_causal_order_exactly_once_and_nothing_stuck(weather: Weather, share: int) -> None:
    """S1-7, S1-8, S1-9: any forest, any agents, any faults, any crash; whatever the seed."""
    for seed in range(share, RUNS, SHARES):
        run(seed, weather)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("weather", [CLEAR, STORM], ids=["clear", "storm"])
def test_many_thousand_runs(weather: Weather, share: int) -> None:
    for seed in range(share, SOAK_RUNS, SHARES):
        run(seed, weather)


def test_storms_do_happen() -> None:
    """The test above would mean little if hosts did not crash and packets did not wait."""
    network = Network(some(0), 5, STORM, messages=200)
    assert not network.run().faults
    assert network.restarts > 5


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (Network(some(9), 9, STORM) for _ in range(2))
    first.run()
    second.run()
    assert (first.checker.past, first.now, first.entries) == (second.checker.past, second.now, second.entries)


@pytest.mark.parametrize("name", CYCLIC)
def test_cycles_break_causal_order(name: str) -> None:
    """S1-9, S1-10b: forced past the check, nearly every run violates, and nothing else goes wrong."""
    topology = CYCLIC[name]
    assert not is_forest(topology)
    assert shortest_cycle(topology)
    violated = 0
    for seed in range(60):
        faults = Network(topology, seed, messages=150).run().faults
        assert all("its cause" in fault for fault in faults)
        violated += bool(faults)
    assert violated >= 57


def test_the_paper_s_cycle_step_by_step() -> None:
    """S1-12: n from p to q is slow, m1 from p to r and m2 from r to q are not: q gets m2 first, and no domain sees it."""
    from fabric.drive import Wires

    domains: dict[str, tuple[str, ...]] = {"pq": ("p", "q"), "pr": ("p", "r"), "rq": ("r", "q")}
    wires = Wires(Topology(("p", "q", "r"), domains))
    wires.send("p", "q", b"n")
    wires.send("p", "r", b"m1")
    wires.carry("p", "r")
    wires.send("r", "q", b"m2")
    wires.carry("r", "q")
    wires.carry("p", "q")
    assert wires.got["q"] == [b"m2", b"n"]
    # In one domain the same goes right: m2 waits for n.
    wires = Wires(Topology(("p", "q", "r"), {"pqr": ("p", "q", "r")}))
    wires.send("p", "q", b"n")
    wires.send("p", "r", b"m1")
    wires.carry("p", "r")
    wires.send("r", "q", b"m2")
    wires.carry("r", "q")
    assert wires.got["q"] == []
    wires.carry("p", "q")
    assert wires.got["q"] == [b"n", b"m2"]
