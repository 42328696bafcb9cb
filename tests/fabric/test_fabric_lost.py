"""Servers that are lost: for good, or until they are back; what is not waited for then, and what comes late."""

from __future__ import annotations

import pytest

from fabric.drive import Wires
from fabric.network import LOSSES, STORM, Network
from fabric.topologies import of, some

RUNS = 210
SOAK_RUNS = 10_000
SHARES = 3
FLAT = of("abcd")


def run(seed: int) -> Network:
    network = Network(some(seed), seed, LOSSES, several=0.3 if seed % 2 else 0.0, messages=90)
    checker = network.run()
    assert not checker.faults, f"seed {seed}: {checker.faults[:5]}"
    return network


@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_waits_for_a_server_that_is_lost(share: int) -> None:
    """Deaths, cuts that last too long, and restarts: nothing stuck among survivors, once, and in order but for the lost."""
    unwaited = sum(run(seed).unwaited for seed in range(share, RUNS, SHARES))
    assert unwaited > 10, "hardly anything was delivered without what a lost server had sent"


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_nothing_waits_for_a_server_that_is_lost_in_many_runs(share: int) -> None:
    for seed in range(share, SOAK_RUNS, SHARES):
        run(seed)


def test_without_patience_all_is_as_it_was() -> None:
    """Nobody is told of a loss: every packet waits for all of its causes."""
    for seed in range(20):
        network = Network(some(seed), seed, STORM)
        assert not network.run().faults
        assert network.unwaited == network.checker.excused == 0


def overtaken() -> Wires:
    """d has sent 1 and 2 to a, and then a word to b, which b passes on: b's waits at a for both."""
    wires = Wires(FLAT)
    wires.send("d", "a", b"d1")
    wires.send("d", "a", b"d2")
    wires.send("d", "b", b"word")
    wires.carry("d", "b")
    wires.send("b", "a", b"from b")
    wires.carry("b", "a")
    assert wires.got["a"] == []
    return wires


def lose(wires: Wires, name: str, lost: str) -> None:
    wires.channels[name].lost(wires.number[lost])
    wires.settle(name)


def test_a_loss_releases_what_waits_for_nothing_else() -> None:
    """… and what has come of the lost server itself waits on for what is before it."""
    wires = overtaken()
    wires.carry("d", "a", at=1)
    channel = wires.channels["a"]
    assert channel.waiting() == 2
    lose(wires, "a", "d")
    assert wires.got["a"] == [b"from b"]
    assert (channel.waiting(), channel.stranded()) == (0, 1)
    wires.carry("d", "a")  # late: still once, and in the order of d
    assert wires.got["a"] == [b"from b", b"d1", b"d2"]
    assert (channel.waiting(), channel.stranded()) == (0, 0)


def test_what_is_here_of_a_lost_server_comes_first() -> None:
    """Order is given up only where something is missing."""
    wires = overtaken()
    wires.send("c", "a d", b"c1")
    wires.carry("c", "d")
    wires.send("d", "a", b"d3")
    wires.send("d", "b", b"word 2")
    wires.carry("d", "b")
    wires.send("b", "a", b"from b 2")
    for _ in range(3):
        wires.carry("d", "a")
    wires.carry("b", "a")
    assert wires.got["a"] == [b"d1", b"d2", b"from b"]  # d3 and what b says of it wait for c1
    lose(wires, "a", "d")
    assert wires.got["a"] == [b"d1", b"d2", b"from b"]
    wires.carry("c", "a")
    assert wires.got["a"][3:] == [b"c1", b"d3", b"from b 2"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_restart_knows_what_is_missing(restarted: bool) -> None:
    wires = overtaken()
    lose(wires, "a", "d")
    if restarted:
        wires.restart("a")
    wires.channels["a"].found(wires.number["d"])
    packet = wires.carry("d", "a")
    if restarted:
        wires.restart("a")
    wires.channels["a"].receive(wires.number["d"], packet)  # repeated
    wires.carry("d", "a")
    assert wires.got["a"] == [b"from b", b"d1", b"d2"]
    assert not wires.channels["a"].states[0].clock.missing(wires.number["d"])


def test_who_is_found_is_waited_for() -> None:
    """But not for what was not waited for once."""
    wires = overtaken()
    lose(wires, "a", "d")
    wires.channels["a"].found(wires.number["d"])
    wires.send("d", "a", b"d3")
    wires.send("b", "a", b"d1 and d2 are behind this")
    wires.carry("b", "a")
    assert wires.got["a"] == [b"from b", b"d1 and d2 are behind this"]
    wires.send("d", "b", b"word 2")
    wires.carry("d", "b")
    wires.send("b", "a", b"d3 is behind this")
    wires.carry("b", "a")
    assert len(wires.got["a"]) == 2
    for _ in range(3):
        wires.carry("d", "a")
    assert wires.got["a"][2:] == [b"d1", b"d2", b"d3", b"d3 is behind this"]


def test_a_router_sends_on_what_it_released() -> None:
    wires = Wires(of("abd", "ax"))
    wires.send("d", "x", b"never leaves d")
    wires.send("d", "b", b"word")
    wires.carry("d", "b")
    wires.send("b", "x", b"from b")
    wires.carry("b", "a")
    assert ("a", "x") not in wires.under_way
    lose(wires, "a", "d")
    wires.carry("a", "x")
    assert wires.got["x"] == [b"from b"]


def test_only_neighbours_matter() -> None:
    wires = Wires(of("ab", "bc"))
    for server in range(3):
        wires.channels["a"].lost(server)
        wires.channels["a"].found(server)
    wires.channels["a"].lost(wires.number["c"])
    assert not any(state.lost_count for state in wires.channels["a"].states.values())
