"""Nodes that die, come back from their journals, or are only cut off: who is told what, and what goes on.

S2 is the router between S1 (the directory) and S3; whoever cannot be reached for a second is taken for gone.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.fabric_federations import THREE, check_causality, fabric
from support.federation_digest import check_agreement, digest
from support.simulated_federates import NAME, Seat, federation, handles, instances, outcome, seats
from support.small_fom import fom
from weft.host.mesh import federations
from weft.host.simulated.fabric import FabricNetwork
from weft.model.errors import NotConnected, RTIinternalError

NODES = THREE.servers


def away(network: FabricNetwork, node: str, seconds: float) -> None:
    """The node crashes now and is back after so long; the clock goes on when the test does."""
    network.crash(node)
    network.clock.at(network.clock.now + seconds, lambda: network.restart(node))


def cut_for(network: FabricNetwork, one: str, other: str, seconds: float) -> None:
    network.cut(one, other)
    network.clock.at(network.clock.now + seconds, lambda: network.heal(one, other))


def at_peace(network: FabricNetwork) -> None:
    network.settle()
    check_agreement(network, *NODES)
    checker = check_causality(network)
    assert not checker.faults, checker.faults


def subscribe_call(seat: Seat) -> tuple[Any, ...]:
    return ("subscribe_object_class_attributes", handles().classes["Building"], handles().set_of("Height"))


def newcomer(network: FabricNetwork, node: str, name: str) -> Seat:
    (seat,) = seats(network, node)
    seat.name = name
    return seat


# --- a node with members ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.3, 5.0])
@pytest.mark.parametrize(
    ("directive", "removed"), [("DeleteObjects", True), ("UnconditionallyDivestAttributes", False)]
)
def test_a_node_that_dies_takes_its_federates_with_it(seconds: float, directive: str, removed: bool) -> None:
    """By their directive, whether it comes back in time or not; who was lost, and why, is told through the MOM."""
    network = fabric()
    one, two, three = federation(network, "S1", "S2", "S3", fom=fom(resign=directive))
    report = one.call(
        "get_interaction_class_handle",
        "HLAinteractionRoot.HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost",
    )
    one.call("subscribe_interaction_class", report)
    three.publish("Building", "Height")
    one.subscribe("Building", "Height")
    instance = three.register("Building")
    network.settle()
    assert one.heard("discover_object_instance")
    away(network, "S3", seconds)
    at_peace(network)
    assert one.members() == two.members() == {"f1", "f2"}
    told = [arguments for _, (method, arguments) in one.trace if method == "remove_object_instance"]
    assert [arguments[0] for arguments in told] == ([instance] if removed else [])
    assert list(instances(network, "S2")) == ([] if removed else [instance])
    (lost,) = [arguments for _, (method, arguments) in one.trace if method == "receive_interaction"]
    assert "its node 'S3' w".encode("utf-16-be") in b"".join(lost[1].values())
    back = newcomer(network, "S3", "f3")
    back.join()
    at_peace(network)
    assert one.members() == {"f1", "f2", "f3"}


def test_a_restart_is_not_taken_for_the_process_before() -> None:
    """Answers to calls of a process that died do not end calls of the next, whose sessions and calls look alike."""
    network = fabric()
    one, three = federation(network, "S1", "S3")
    three.begin(*subscribe_call(three))
    network.crash("S3")
    network.restart("S3")
    back = newcomer(network, "S3", "again")
    calls = [back.begin("list_federation_executions") for _ in range(5)]
    back.join()
    at_peace(network)
    assert all(call.has_come() and outcome(call.result) is None for call in calls)
    assert one.members() == {"f1", "again"}


# --- a home -----------------------------------------------------------------------------------------------------


def test_a_home_comes_back_from_its_journal() -> None:
    """Members elsewhere stay joined, their calls made meanwhile are answered after, and its own members have resigned."""
    network = fabric()
    home, two, three = federation(network, "S3", "S1", "S2")
    two.publish("Building", "Height")
    instance = two.register("Building", *[])
    two.call("register_federation_synchronization_point", "ready", b"tag")
    network.settle()
    for seat in (two, three):
        seat.heard()
    network.crash("S3")
    waiting = three.begin(*subscribe_call(three))
    two.begin("synchronization_point_achieved", "ready")
    assert not network.run_until(lambda: waiting.has_come(), network.clock.now + 0.5)
    network.restart("S3")
    at_peace(network)
    assert outcome(waiting.result) is None
    assert [method for method, _ in three.heard()] == ["discover_object_instance"]
    assert not two.heard("connection_lost")
    assert two.members() == {"f2", "f3"}
    two.update(instance, b"1", "Height")
    three.call("synchronization_point_achieved", "ready")
    at_peace(network)
    assert [m for m, _ in three.heard()] == ["reflect_attribute_values", "federation_synchronized"]
    assert home.heard("connection_lost")


def test_a_home_that_stays_away_is_given_up() -> None:
    """Its federates elsewhere are told which node and federation; when it is back it knows that they have gone."""
    network = fabric()
    _, two = federation(network, "S3", "S1")
    pending = two.begin(*subscribe_call(two))
    away(network, "S3", 5.0)
    at_peace(network)
    with pytest.raises(NotConnected, match=r"'S3' went away before it answered \(not reached for 1 s\)"):
        pending.result()
    (fault,) = [arguments[0] for _, arguments in two.heard("connection_lost")]
    assert "'S3'" in fault
    assert f"'{NAME}'" in fault
    assert "not reached for 1 s" in fault
    assert two.federations() == {NAME}  # it came back with the federation, which nobody else has taken
    two.join()
    at_peace(network)
    assert two.members() == {"f2"}


def test_a_name_that_was_taken_meanwhile_ends_the_federation_of_before() -> None:
    """The directory gave the name away while its home was taken for gone; the home ends its own when it is back."""
    network = fabric()
    _, two = federation(network, "S3", "S2")
    network.cut("S1", "S2")  # S2 and S3 go on; only the directory takes them for gone
    network.run_until(lambda: False, network.clock.now + 2.0)
    other = newcomer(network, "S1", "other")
    other.create()
    other.join()
    assert two.call("get_federate_handle", "f2")
    network.heal("S1", "S2")
    at_peace(network)
    (fault,) = [arguments[0] for _, arguments in two.heard("connection_lost")]
    assert "given to a federation at node 'S1'" in fault
    assert other.members() == {"other"}


@pytest.mark.parametrize("commits", [1, 3, 256])
def test_what_is_kept_is_bounded_and_equal(commits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot takes the place of the commits; a home made of either is the one that was, but for its own members."""
    monkeypatch.setattr(federations, "COMMITS", commits)
    network = fabric()
    (home, two) = federation(network, "S1", "S3")
    two.publish("Building", "Height")
    for _ in range(5):
        two.register("Building")
    two.call("reserve_object_instance_name", "Rhino")
    two.call("register_federation_synchronization_point", "ready", b"tag")
    network.settle()
    kept = network._disks["S1"].kept
    many = len(network.node("S1").federations[NAME].instances)
    assert len([key for key in kept if key.startswith("federation/")]) <= 1 + max(commits, many)
    before = digest(network.node("S3").federations[NAME])
    home.resign()
    network.settle()
    network.crash("S1")
    network.restart("S1")
    at_peace(network)
    after = digest(network.node("S1").federations[NAME])
    assert after == digest(network.node("S3").federations[NAME])
    assert after["reserved"] == before["reserved"]
    assert after["points"][0][:2] == ("ready", b"tag")
    two.resign()
    two.destroy()
    network.settle()
    assert not [key for key in kept if key.startswith(("federation/", "name/"))]


def test_the_directory_comes_back_with_the_names() -> None:
    """From its journal: a name is not given twice while the homes have not yet said what they have."""
    network = fabric()
    one, _ = federation(network, "S3", "S2")
    network.crash("S1")
    network.restart("S1")
    assert network.node("S1").homes == {NAME: ("S3", "HLAfloat64Time")}
    visitor = newcomer(network, "S1", "visitor")
    assert outcome(visitor.create)[0] == "FederationExecutionAlreadyExists"
    visitor.join()
    at_peace(network)
    assert one.members() == {"f1", "f2", "visitor"}


def test_a_save_under_way_ends_when_its_home_dies() -> None:
    """What the nodes had given it is gone, so the federates are told that the federation is not saved."""
    network = fabric()
    seats_, two, three = federation(network, "S3", "S1", "S2")
    two.call("request_federation_save", "point")
    network.settle()
    for seat in (two, three):
        assert seat.heard("initiate_federate_save")
        seat.call("federate_save_begun")
    network.crash("S3")
    network.restart("S3")
    at_peace(network)
    for seat in (two, three):
        assert [method for method, _ in seat.heard()] == ["federation_not_saved"]
        seat.publish("Building", "Height")
    assert seats_.heard("connection_lost")


# --- cut off ----------------------------------------------------------------------------------------------------


def test_a_short_cut_is_only_a_delay() -> None:
    """What was under way arrives when the link is healed in time, and nobody is taken for gone."""
    network = fabric()
    one, three = federation(network, "S1", "S3")
    one.publish_interaction("Event")
    three.subscribe_interaction("Event")
    network.settle()
    cut_for(network, "S1", "S2", 0.5)
    one.send("Event", b"1")
    pending = three.begin(*subscribe_call(three))
    at_peace(network)
    assert pending.has_come()
    assert three.tags("receive_interaction") == [b"1"]
    assert one.members() == {"f1", "f2"}


def test_who_is_cut_off_for_long_is_resigned_and_told() -> None:
    """Both sides give the other up; the federate hears that its home went away, and can join again."""
    network = fabric()
    one, three = federation(network, "S1", "S3")
    cut_for(network, "S1", "S2", 3.0)
    at_peace(network)
    assert one.members() == {"f1"}
    assert three.heard("connection_lost")
    three.join()
    at_peace(network)
    assert one.members() == {"f1", "f2"}


def test_one_side_alone_gives_up() -> None:
    """A home that gives a node up which has noticed nothing: its federates are resigned, and told so."""
    network = fabric()
    one, three = federation(network, "S1", "S3")
    home = network.meshed["S1"]
    home.lost("S3", "a broken line", network.clock.now)
    at_peace(network)
    assert one.members() == {"f1"}
    (why,) = [arguments[0] for _, arguments in three.heard("federate_resigned")]
    assert "'S3' went away (a broken line)" in why
    home.found("S3", False, network.clock.now)
    three.join()
    at_peace(network)
    assert one.members() == {"f1", "f2"}


def test_an_argument_of_a_wrong_type_is_refused_where_it_was_given() -> None:
    """It cannot go to the home; what the home would have said is said at once."""
    network = fabric()
    _, three = federation(network, "S1", "S3")
    with pytest.raises(RTIinternalError, match="argument of a wrong type"):
        three.call("register_federation_synchronization_point", "label", object())
    at_peace(network)
