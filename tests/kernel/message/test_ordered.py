"""Causal and total order over several nodes: random federations against happened-before by brute force."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from support.ordered_federates import CAUSAL, RECEIVE, Town, noting
from support.simulated_federates import federation, handles, mesh
from weft import OrderType
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.kernel.federation import founding
from weft.kernel.message.causal_order import CausalOrder

pytestmark = pytest.mark.over_nodes


def uneven(nodes: int, seed: int, random: Random) -> SimulatedNetwork:
    """Links that differ by a factor of a hundred: what goes round is often there before what goes straight."""
    network = mesh(nodes, seed, delay=0.001)
    names = [f"S{number}" for number in range(1, nodes + 1)]
    for at, one in enumerate(names):
        for other in names[:at]:
            delay = random.choice((0.001, 0.01, 0.1))
            network.set_link(one, other, LinkProfile(delay=delay, jitter=delay * random.random()))
    return network


def town(seed: int) -> Town:
    random = Random(seed)
    nodes = random.choice((3, 3, 4))
    network = uneven(nodes, seed, random)
    places = [f"S{random.randint(1, nodes)}" for _ in range(random.randint(3, 6))]
    # Total order makes messages wait for others that did not cause them: no needless wait is a law of the rest.
    orders = (CAUSAL, CAUSAL, RECEIVE) if seed % 2 else (CAUSAL, CAUSAL, CAUSAL, OrderType.TOTAL, RECEIVE)
    return Town(network, random, federation(network, *places), orders)


def run_one(seed: int, monkeypatch: pytest.MonkeyPatch, messages: int = 60) -> Town:
    arrivals = noting(monkeypatch)
    made = town(seed)
    made.watch_arrivals(arrivals)
    made.plan(messages, 0.6)
    made.run(made.check_no_needless_wait if OrderType.TOTAL not in made.orders else lambda: None)
    made.history.check_order()
    made.history.check_complete(set(range(len(made.seats))))
    made.check_nothing_left()
    made.check_all_ended()
    return made


@pytest.mark.parametrize("block", range(4))
def test_random_federations_keep_causal_and_total_order(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-2, S0-3, S0-5, S0-6, S0-16, S0-17: no effect before its cause, one total order, none lost, no needless wait."""
    waited = 0
    for seed in range(block * 25, block * 25 + 25):
        with monkeypatch.context() as patch:
            made = run_one(seed, patch)
        assert not made.history.faults, (seed, made.history.faults[:3])
        for node in made.network._nodes.values():
            for one in node.federations.values():
                waited += one.orders.count_up().waited
    assert waited > 50  # the runs put it to the test


class NotCausal(CausalOrder):
    """All goes on in receive order."""

    def takes(self, *arguments: Any) -> bool:
        return False

    def divides(self, *arguments: Any) -> bool:
        return False


def test_receive_order_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-2: the same runs with messages in receive order are caught by the same oracle."""
    monkeypatch.setattr(founding, "CausalOrder", NotCausal)
    caught = 0
    for seed in range(20):
        made = town(seed)
        made.plan(60, 0.6)
        made.run()
        made.history.check_order()
        caught += bool(made.history.faults)
    assert caught >= 15


def fire_and_hit(order: OrderType) -> list[bytes]:
    """S0-20, S0-23: the aircraft (S1) fires at the tank (S2), which says that it is hit; the observer (S3) is far from S1."""
    network = mesh(3, 1, delay=0.01)
    network.set_link("S1", "S3", LinkProfile(delay=0.5))
    aircraft, tank, observer = federation(network, "S1", "S2", "S3")
    for seat, sent, heard in (
        (aircraft, "Event.Fire.BigFire", ()),
        (tank, "Event.Hit", ("Event.Fire.BigFire",)),
        (observer, "", ("Event.Fire.BigFire", "Event.Hit")),
    ):
        if sent:
            seat.publish_interaction(sent)
            seat.call("change_interaction_order_type", handles().interactions[sent], order)
        for cls in heard:
            seat.subscribe_interaction(cls)
    network.settle()
    aircraft.send("Event.Fire.BigFire", b"fire")
    network.run_until(lambda: bool(tank.tags("receive_interaction")))
    tank.send("Event.Hit", b"hit")
    network.settle()
    return observer.tags("receive_interaction")


def test_the_observer_sees_the_shot_before_the_hit() -> None:
    assert fire_and_hit(RECEIVE) == [b"hit", b"fire"]
    assert fire_and_hit(CAUSAL) == [b"fire", b"hit"]
    assert fire_and_hit(OrderType.TOTAL) == [b"fire", b"hit"]
