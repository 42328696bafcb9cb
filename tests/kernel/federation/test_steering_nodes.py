"""A paused federation over nodes that die, come back and come later (issue 9, "Steer")."""

from __future__ import annotations

from typing import Any

import pytest

from host.simulated.test_fabric_return import at_peace, away, newcomer
from support.fabric_federations import fabric
from support.simulated_federates import NAME, Seat, federation, seats
from weft import HLAfloat64Interval, HLAfloat64Time
from weft.host.simulated.fabric import FabricNetwork

pytestmark = pytest.mark.over_nodes


def timed(network: FabricNetwork, *some: Seat) -> None:
    for seat in some:
        seat.call("enable_time_regulation", HLAfloat64Interval(1.0))
        seat.call("enable_time_constrained")
    network.settle()


def ask(network: FabricNetwork, time: float, *some: Seat) -> None:
    for seat in some:
        seat.call("time_advance_request", HLAfloat64Time(time))
    network.settle()


def grants(seat: Seat) -> list[float]:
    seat.heard()
    return [arguments[0].value for _, (method, arguments) in seat.trace if method == "time_advance_grant"]


def steer(network: FabricNetwork, seat: Seat, action: str, target: Any = None) -> dict[str, Any]:
    answer: dict[str, Any] = seat.call("steer", action, NAME, target)
    network.settle()
    return answer


@pytest.mark.parametrize("steps", [0, 2])
def test_a_home_that_is_started_again_is_still_paused(steps: int) -> None:
    """Also how many steps are to come; and resume works."""
    network = fabric()
    _, two, three = federation(network, "S1", "S2", "S3")
    timed(network, two, three)
    assert steer(network, three, "pause")["home"] == "S1"
    if steps:
        steer(network, two, "step", steps)
    away(network, "S1", 0.3)
    at_peace(network)
    ask(network, 1.0, two, three)
    assert grants(two) == grants(three) == ([1.0] if steps else [])
    if steps:
        ask(network, 2.0, two, three)
        ask(network, 3.0, two, three)
    assert grants(two) == grants(three) == ([1.0, 2.0] if steps else [])
    steer(network, two, "resume")
    assert grants(two) == grants(three) == ([1.0, 2.0, 3.0] if steps else [1.0])
    at_peace(network)


@pytest.mark.parametrize("seed", range(6))
def test_a_home_that_dies_during_steps_lets_no_more_through(seed: int) -> None:
    """A step that the crash has interrupted counts; all nodes agree on what is left, and resume works."""
    network = fabric(seed=seed)
    _, two, three = federation(network, "S1", "S2", "S3")
    timed(network, two, three)
    steer(network, two, "pause")
    steer(network, two, "step", 2)
    for seat in (two, three):
        seat.call("next_message_request", HLAfloat64Time(1.0))
    network.run_until(lambda: False, network.clock.now + 0.004 * seed)
    away(network, "S1", 0.3)
    at_peace(network)
    for time in (2.0, 3.0, 4.0):
        if len(grants(two)) == len(grants(three)) == time - 1:
            ask(network, time, two, three)
    assert 1 <= len(grants(two)) == len(grants(three)) <= 2
    at_peace(network)
    steer(network, three, "resume")
    assert len(grants(two)) == len(grants(three)) >= 2


def test_a_node_that_comes_later_is_paused_and_may_steer() -> None:
    """Its first federate is told nothing of it, and gets no time; an operator may be at a node without any federate."""
    network = fabric()
    one, two = federation(network, "S1", "S2")
    timed(network, one, two)
    steer(network, one, "pause")
    three = newcomer(network, "S3", "f3")
    three.join()
    timed(network, three)
    ask(network, 1.0, one, two, three)
    assert grants(one) == grants(two) == grants(three) == []
    (guest,) = seats(network, "S3")
    three.resign()
    network.settle()
    assert steer(network, guest, "step")["paused"]["steps"] == 1
    assert grants(one) == grants(two) == [1.0]
    steer(network, guest, "resign", "f2")
    assert one.members() == {"f1"}
    assert two.heard("federate_resigned") == [("federate_resigned", ("resigned by the operator",))]
    two.join()
    assert one.members() == {"f1", "f2"}
    at_peace(network)


def test_a_federate_that_dies_in_a_pause_holds_no_step_up() -> None:
    network = fabric()
    one, two, three = federation(network, "S1", "S2", "S3")
    timed(network, one, two, three)
    steer(network, one, "pause")
    ask(network, 1.0, one, two)
    assert steer(network, two, "step")["paused"]["waits_for"] == ["f3"]
    away(network, "S3", 5.0)
    at_peace(network)
    assert grants(one) == grants(two) == [1.0]
