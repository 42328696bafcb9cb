"""Saves at a logical time over nodes: what the home does not know must not be passed over, and crashes end nothing (issue 5)."""

from __future__ import annotations

from typing import Any

import pytest

from fabric.topologies import of
from support.fabric_federations import fabric
from support.federation_digest import check_agreement
from support.simulated_federates import FOM, NAME, Seat, handles
from weft.host.simulated.fabric import FabricNetwork
from weft.model.enums import OrderType, SaveFailureReason
from weft.model.errors import LogicalTimeAlreadyPassed, RTIexception
from weft.model.time import HLAinteger64Interval, HLAinteger64Time

pytestmark = pytest.mark.over_nodes

LABEL = "noon"
TEN = HLAinteger64Time(10)
WHY = SaveFailureReason.RTI_UNABLE_TO_SAVE


def timed(lookahead: int = 1, *domains: str) -> tuple[FabricNetwork, list[Seat]]:
    """At A, the home, at B and at C: all regulate and are constrained."""
    network = fabric(of(*domains or ("AB", "BC")))
    made = [Seat(network.at(node), f"f{node}") for node in "ABC"]
    made[0].call("create_federation_execution", NAME, (FOM,), None, "HLAinteger64Time")
    event = handles().interactions["Event.Hit"]
    for seat in made:
        seat.join()
        seat.publish_interaction("Event.Hit")
        seat.subscribe_interaction("Event.Hit")
        seat.call("change_interaction_order_type", event, OrderType.TIMESTAMP)
        seat.call("enable_time_regulation", HLAinteger64Interval(lookahead))
        seat.call("enable_time_constrained")
    network.settle()
    for seat in made:
        seat.heard()
    return network, made


def ask(seat: Seat, time: int) -> None:
    seat.call("time_advance_request", HLAinteger64Time(time))


def methods(seat: Seat) -> list[str]:
    return [method for method, _ in seat.heard() if not method.startswith(("discover", "remove"))]


def complete(network: FabricNetwork, made: list[Seat]) -> None:
    for service in ("federate_save_begun", "federate_save_complete"):
        for seat in made:
            seat.call(service)
        network.settle()


def held(network: FabricNetwork, node: str) -> Any:
    return network.node(node).federations[NAME].saves.limit


def test_a_grant_that_the_home_has_not_heard_of_is_not_passed_over() -> None:
    """C has been granted 12 by its own node, and its report is under way, when A asks for a save at 10."""
    network, (a, b, c) = timed(lookahead=20)
    c.begin("time_advance_request", HLAinteger64Time(12))
    asked = a.begin("request_federation_save", LABEL, TEN)
    network.settle()
    assert methods(c) == ["time_advance_grant"]
    with pytest.raises(LogicalTimeAlreadyPassed, match="'fC'"):
        asked.result()
    assert [held(network, node) for node in "ABC"] == [None] * 3
    ask(b, 12)
    network.settle()
    assert methods(b) == ["time_advance_grant"]


def test_nobody_goes_beyond_the_time_while_it_is_asked_for() -> None:
    network, (a, b, c) = timed(lookahead=20)
    asked = c.begin("request_federation_save", LABEL, TEN)
    b.begin("time_advance_request", HLAinteger64Time(12))
    network.settle()
    try:
        asked.result()
    except LogicalTimeAlreadyPassed:
        assert methods(b) == ["time_advance_grant"]
    else:
        assert methods(b) == []
        assert held(network, "B") == (10, 1)
        for seat in (a, c):
            ask(seat, 12)
        network.settle()
        assert all(methods(seat)[0] == "initiate_federate_save" for seat in (a, b, c))


@pytest.mark.parametrize("when", [0, 1, 2])
def test_the_crash_of_the_home_does_not_end_what_waits(when: int) -> None:
    """It comes back with its journal: the save is held to, by those who are left."""
    network, (_, b, c) = timed()
    b.call("request_federation_save", LABEL, TEN)
    network.settle()
    if when == 1:
        ask(b, 15)
        network.settle()
    network.crash("A")
    if when == 2:
        network.restart("A")
        ask(b, 15)
    else:
        network.run_until(lambda: False, network.clock.now + 0.2)
        network.restart("A")
    network.settle()
    assert held(network, "A") == held(network, "B") == held(network, "C") == (10, 1)
    if when == 0:
        ask(b, 15)
    ask(c, 20)
    network.settle()
    assert methods(b) == methods(c) == ["initiate_federate_save"]
    complete(network, [b, c])
    assert methods(b) == ["federation_saved", "time_advance_grant"]
    assert methods(c)[0] == "federation_saved"
    check_agreement(network, "A", "B", "C")


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.02, 0.05])
def test_the_crash_of_the_home_while_it_asks_leaves_no_call_unanswered(delay: float) -> None:
    network, (_, b, c) = timed()
    asked = b.begin("request_federation_save", LABEL, TEN)
    network.run_until(lambda: False, network.clock.now + delay)
    network.crash("A")
    network.run_until(lambda: False, network.clock.now + 0.2)
    network.restart("A")
    network.settle()
    try:
        asked.result()
        accepted = True
    except RTIexception:
        accepted = False
    assert (held(network, "B") == (10, 1)) == accepted
    for seat in (b, c):
        ask(seat, 20)
    network.settle()
    expected = ["initiate_federate_save"] if accepted else ["time_advance_grant"]
    assert methods(b) == methods(c) == expected


def test_the_crash_of_the_home_during_the_save_lets_everybody_go() -> None:
    network, (a, b, c) = timed()
    b.call("request_federation_save", LABEL, TEN)
    for seat in (a, b, c):
        ask(seat, 15)
    network.settle()
    assert methods(b) == methods(c) == ["initiate_federate_save"]
    b.call("federate_save_begun")
    network.crash("A")
    network.run_until(lambda: False, network.clock.now + 0.2)
    network.restart("A")
    network.settle()
    assert (
        b.heard("federation_not_saved")
        == c.heard("federation_not_saved")
        == [("federation_not_saved", (WHY,))]
    )
    assert [held(network, node) for node in "ABC"] == [None] * 3


@pytest.mark.parametrize("lost", ["B", "C"])
def test_the_crash_of_the_requester_or_of_another_leaves_the_save_to_the_others(lost: str) -> None:
    network, made = timed(1, "ABC")
    made[1].call("request_federation_save", LABEL, TEN)
    left = [seat for seat in made if seat.name != f"f{lost}"]
    for seat in left:
        ask(seat, 15)
    network.settle()
    assert all(methods(seat) == [] for seat in left)
    network.crash(lost)
    network.settle()
    for seat in left:
        assert methods(seat)[-1] == "initiate_federate_save"
    complete(network, left)
    for seat in left:
        assert methods(seat)[:2] == ["federation_saved", "time_advance_grant"]


def test_a_node_that_comes_later_holds_to_it_as_well() -> None:
    network = fabric(of("AB", "BC"))
    a, b, late = [Seat(network.at(node), f"f{node}") for node in "ABC"]
    a.call("create_federation_execution", NAME, (FOM,), None, "HLAinteger64Time")
    for seat in (a, b):
        seat.join()
    a.call("enable_time_regulation", HLAinteger64Interval(1))
    b.call("enable_time_constrained")
    network.settle()
    a.call("request_federation_save", LABEL, TEN)
    late.join()
    late.call("enable_time_constrained")
    network.settle()
    for seat in (a, b, late):
        seat.heard()
    ask(late, 20)
    ask(a, 20)
    network.settle()
    assert held(network, "C") == (10, 1)
    assert methods(late) == []
    ask(b, 20)
    network.settle()
    assert methods(late) == ["initiate_federate_save"]
