"""Federations over several nodes: whatever node a federate sits at, the federation is the same."""

from __future__ import annotations

import pytest

from support.federation_digest import check_agreement
from support.simulated_federates import FOM, NAME, Seat, federation, handles, instances, mesh, outcome, seats
from support.small_fom import extra_module
from weft import EmbeddedNode, HLAfloat64Time, ResignAction
from weft.host.effects import PendingCall
from weft.host.simulated.simulated import LinkProfile, SimulatedConnection
from weft.model.errors import (
    FederateAlreadyExecutionMember,
    FederateNameAlreadyInUse,
    FederatesCurrentlyJoined,
    FederationExecutionAlreadyExists,
    FederationExecutionDoesNotExist,
    NotConnected,
)

EXTRA = extra_module(
    "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Boat</name><sharing>PublishSubscribe</sharing>"
    "<attribute><name>Draught</name><dataType>HLAASCIIstring</dataType><sharing>PublishSubscribe</sharing>"
    "<transportation>HLAreliable</transportation><order>Receive</order></attribute>"
    "</objectClass></objectClass></objects>"
)
CREATE = ("create_federation_execution", NAME, (FOM,), None, "")
SLOW = LinkProfile(delay=0.5)


def begin_join(seat: Seat) -> PendingCall:
    return seat.begin("join_federation_execution", NAME, "test", seat.name, ())


@pytest.mark.parametrize("creator", ["S1", "S2", "S3"])
@pytest.mark.parametrize("other", ["S1", "S2", "S3"])
def test_a_federation_is_found_from_any_node(creator: str, other: str) -> None:
    """Clauses 4.5 to 4.11: create, list, join, resign and destroy, each from any node."""
    network = mesh()
    one, two = seats(network, creator, other)
    assert outcome(two.join)[0] == "FederationExecutionDoesNotExist"
    one.create()
    assert two.federations() == {NAME}
    two.join()
    one.join()
    assert one.members() == two.members() == {"f1", "f2"}
    assert outcome(two.create)[0] == "FederationExecutionAlreadyExists"
    assert outcome(two.destroy)[0] == "FederatesCurrentlyJoined"
    one.resign()
    two.resign()
    two.destroy()
    assert one.federations() == set()
    assert one.members() == set()
    assert outcome(one.destroy)[0] == "FederationExecutionDoesNotExist"


@pytest.mark.parametrize("seed", range(10))
def test_of_two_that_create_one_name_at_once_one_wins(seed: int) -> None:
    """Clause 4.5: a name belongs to one federation, whoever races for it."""
    network = mesh(4, seed, jitter=0.01)
    racers = seats(network, "S1", "S2", "S3", "S4", "S4")
    calls = [racer.begin(*CREATE) for racer in racers]
    network.settle()
    won = [number for number, call in enumerate(calls) if outcome(call.result) is None]
    assert len(won) == 1
    for number, call in enumerate(calls):
        if number not in won:
            with pytest.raises(FederationExecutionAlreadyExists):
                call.result()
    assert racers[0].federations() == {NAME}


def test_a_join_right_behind_a_creation_finds_the_federation() -> None:
    """A federation that the directory has granted exists for everybody, also where the grant is still under way."""
    network = mesh()
    network.set_link("S1", "S2", SLOW)
    creator, joiner = seats(network, "S2", "S3")
    created = creator.begin(*CREATE)
    network.run_until(lambda: NAME in network.node("S1").homes)
    joiner.join()
    assert created.has_come()
    assert joiner.members() == {"f2"}


def test_calls_that_follow_one_another_without_waiting() -> None:
    """A node keeps the order of its federates' calls: creation first, then joins, and a refusal for the third."""
    network = mesh()
    one, two, three = seats(network, "S2", "S2", "S2")
    three.name = "f1"
    calls = [
        one.begin(*CREATE),
        begin_join(one),
        begin_join(two),
        begin_join(three),
    ]
    network.settle()
    assert [call.has_come() for call in calls] == [True] * 4
    with pytest.raises(FederateNameAlreadyInUse):
        calls[3].result()
    assert one.members() == {"f1", "f2"}
    check_agreement(network, "S1", "S2", "S3")


def test_a_federate_cannot_join_twice_at_once() -> None:
    """Clause 4.11: one ambassador is one joined federate, even if it does not wait for the first call."""
    network = mesh()
    one, two = seats(network, "S1", "S2")
    one.create()
    calls = [begin_join(two), begin_join(two)]
    network.settle()
    assert calls[0].result()
    with pytest.raises(FederateAlreadyExecutionMember):
        calls[1].result()


def test_a_name_is_free_as_soon_as_its_federation_is_destroyed() -> None:
    """Clause 4.6: who has destroyed a federation may create it again, however slowly the directory hears."""
    network = mesh()
    network.set_link("S1", "S2", SLOW)
    home, other = seats(network, "S2", "S3")
    home.create()
    other.destroy()
    other.create()
    assert home.federations() == {NAME}


def test_a_destroyed_federation_takes_nothing_into_the_next_one() -> None:
    """A federation created anew under an old name begins with nothing."""
    network = mesh()
    one, two = federation(network, "S1", "S2")
    two.publish("Building", "Height")
    two.register("Building")
    two.resign()
    one.resign()
    one.destroy()
    two.create()
    two.join()
    assert network.node("S2").federations[NAME].home == "S2"
    assert network.node("S2").federations[NAME].objects.registered == 0


def test_a_join_brings_its_modules_to_all_nodes() -> None:
    """Clause 4.11: the object model of the federation is extended at every node, with the same handles."""
    network = mesh()
    one, two, three = seats(network, "S1", "S2", "S3")
    one.create()
    one.join()
    three.join(NAME, EXTRA)
    two.join()
    network.settle()
    found = {seat.call("get_object_class_handle", "Boat") for seat in (one, two, three)}
    assert len(found) == 1
    check_agreement(network, "S1", "S2", "S3")


def test_a_bad_module_joins_nobody() -> None:
    """Clause 4.11: a refused join leaves no trace at any node."""
    network = mesh()
    one, two = federation(network, "S1", "S2")
    (three,) = seats(network, "S3")
    name, _ = outcome(lambda: three.join(NAME, extra_module("<objects><objectClass/></objects>")))
    assert name == "InvalidFOM"
    assert one.members() == {"f1", "f2"}
    assert NAME not in network.node("S3").federations
    assert outcome(two.join)[0] == "FederateAlreadyExecutionMember"


def test_a_late_node_knows_what_was_before() -> None:
    """A node that gets its first member is told all that was committed: it discovers earlier objects as it subscribes."""
    network = mesh()
    one, two = federation(network, "S1", "S2")
    two.publish("Vehicle", "Name")
    instance = two.register("Vehicle")
    one.resign()
    (late,) = seats(network, "S3")
    late.name = "late"
    late.join()
    late.subscribe("Vehicle", "Name")
    network.settle()
    assert [(method, arguments[0]) for method, arguments in late.heard()] == [
        ("discover_object_instance", instance)
    ]
    two.update(instance, b"1", "Name")
    network.settle()
    assert late.tags("reflect_attribute_values") == [b"1"]
    check_agreement(network, "S1", "S2", "S3")


def test_a_node_leaves_and_comes_back() -> None:
    """A node without members forgets the federation; with the next member it knows it again, and only that member is told."""
    network = mesh()
    one, two, three = federation(network, "S1", "S2", "S3")
    one.publish("Building", "Height")
    two.subscribe("Building", "Height")
    instance = one.register("Building")
    network.settle()
    assert two.heard("discover_object_instance")
    two.resign()
    network.settle()
    assert NAME not in network.node("S2").federations
    one.update(instance, b"nobody", "Height")
    network.settle()
    two.join()
    two.subscribe("Building", "Height")
    one.update(instance, b"again", "Height")
    network.settle()
    assert [method for method, _ in two.heard()] == ["discover_object_instance", "reflect_attribute_values"]
    assert not three.heard()
    check_agreement(network, "S1", "S2", "S3")


def test_the_past_of_a_federation_does_not_touch_todays_sessions() -> None:
    """A federate that was once in a federation and is now in another stays there when its node comes back to the first."""
    network = mesh()
    one, two = federation(network, "S1", "S2")
    two.resign()
    two.create("other")
    two.join("other")
    (three,) = seats(network, "S2")
    three.name = "f3"
    three.join()
    network.settle()
    assert two.members("other") == {"f2"}
    two.publish_interaction("Event")
    assert one.members() == {"f1", "f3"}
    check_agreement(network, "S1", "S2", "S3")


def test_an_update_never_overtakes_the_registration_of_its_object() -> None:
    """`parcels`: data waits at the receiver for the commit after which it was sent."""
    network = mesh()
    home, sender, receiver = federation(network, "S1", "S2", "S3")
    receiver.subscribe("Vehicle", "Name")
    network.settle()
    network.set_link("S1", "S3", SLOW)  # commits to S3 are slow, data from S2 is fast
    sender.publish("Vehicle", "Name")
    instance = sender.register("Vehicle")
    sender.update(instance, b"1", "Name")
    sender.update(instance, b"2", "Name")
    assert network.clock.now < 0.4
    network.settle()
    assert [method for method, _ in receiver.heard()] == [
        "discover_object_instance",
        "reflect_attribute_values",
        "reflect_attribute_values",
    ]
    assert not home.heard()


def test_an_answer_finds_who_asked() -> None:
    """Who has subscribed and then speaks is heard by federates that know of the subscription: their answer reaches it."""
    network = mesh()
    network.set_link("S1", "S3", SLOW)
    one, asker, other = federation(network, "S1", "S2", "S3")
    other.publish_interaction("Event.Hit")
    other.subscribe_interaction("Command")
    asker.publish_interaction("Command")
    network.settle()
    asker.subscribe_interaction("Event.Hit")
    asker.send("Command", b"who is there?")  # S3 does not know of the subscription yet
    network.run_until(lambda: other.connection.pending())
    assert other.tags("receive_interaction") == [b"who is there?"]
    other.send("Event.Hit", b"me")
    network.settle()
    assert asker.tags("receive_interaction") == [b"me"]
    assert not one.heard()


def test_synchronization_points_hold_over_nodes() -> None:
    """Clauses 4.14 to 4.18, with a federate that joins while the point is pending."""
    network = mesh()
    one, two = federation(network, "S1", "S2")
    two.call("register_federation_synchronization_point", "ready", b"tag")
    (three,) = seats(network, "S3")
    three.name = "f3"
    three.join()
    network.settle()
    assert one.heard() == three.heard() == [("announce_synchronization_point", ("ready", b"tag"))]
    one.call("synchronization_point_achieved", "ready")
    two.call("synchronization_point_achieved", "ready", False)
    network.settle()
    assert not one.heard()
    three.call("synchronization_point_achieved", "ready")
    network.settle()
    ((method, (label, failed)),) = one.heard()
    assert (method, label, len(failed)) == ("federation_synchronized", "ready", 1)
    check_agreement(network, "S1", "S2", "S3")


@pytest.mark.parametrize("seed", range(10))
def test_of_two_that_reserve_one_name_at_once_one_gets_it(seed: int) -> None:
    """Clauses 6.2 and 6.3."""
    network = mesh(3, seed, jitter=0.01)
    made = federation(network, "S1", "S2", "S3")
    for seat in made:
        seat.begin("reserve_object_instance_name", "Rhino")
    network.settle()
    answers = sorted(seat.heard()[0][0] for seat in made)
    assert answers == [
        "object_instance_name_reservation_failed",
        "object_instance_name_reservation_failed",
        "object_instance_name_reservation_succeeded",
    ]
    check_agreement(network, "S1", "S2", "S3")


def test_a_federate_that_is_lost_while_joining_does_not_stay() -> None:
    """A session that breaks off before its join is answered leaves no member behind."""
    network = mesh()
    one, two, three = seats(network, "S1", "S2", "S3")
    one.create()
    one.join()
    for seat in (two, three):
        begin_join(seat)
    two.connection.lose()
    three.connection.close()
    network.settle()
    assert one.members() == {"f1"}
    check_agreement(network, "S1", "S2", "S3")


def test_the_home_may_have_no_member() -> None:
    """A federation lives at the node where it was created, also when nobody there takes part."""
    network = mesh()
    one, two, three = seats(network, "S1", "S2", "S3")
    one.create()
    two.join()
    three.join()
    two.publish_interaction("Event")
    three.subscribe_interaction("Event")
    network.settle()
    two.send("Event", b"1")
    network.settle()
    assert three.tags("receive_interaction") == [b"1"]
    two.resign()
    assert outcome(two.destroy)[0] == FederatesCurrentlyJoined.__name__
    three.resign()
    two.destroy()
    with pytest.raises(FederationExecutionDoesNotExist):
        three.join()


def test_handles_do_not_depend_on_the_node() -> None:
    """All handles are those that a lone embedded node gives for the same calls."""
    network = mesh()
    alone = EmbeddedNode()
    far = federation(network, "S3", "S1", "S2")
    near = [Seat(alone, f"f{number}") for number in (1, 2, 3)]
    near[0].create()
    joined = [seat.join() for seat in near]
    assert [seat.call("get_federate_handle", seat.name) for seat in far] == joined
    made = []
    for one in (far[2], near[2]):
        one.publish("Building", "Height")
        made.append([one.register("Building"), one.register("Building")])
    assert made[0] == made[1]
    assert far[0].call("get_object_class_handle", "Building") == handles().classes["Building"]


def test_asking_a_node_that_is_not_there() -> None:
    """`SimulatedNetwork.at` names the nodes there are; a crashed one cannot be connected to."""
    network = mesh()
    with pytest.raises(KeyError, match="S1, S2, S3"):
        network.at("S9")
    network.crash("S2")
    with pytest.raises(NotConnected, match="S2"):
        network.at("S2").connect()
    with pytest.raises(ValueError, match="not running"):
        network.crash("S2")
    with pytest.raises(ValueError, match="is running"):
        network.restart("S1")


def test_resigning_divests_or_deletes_at_all_nodes() -> None:
    """Clause 4.12: the resign action means the same everywhere."""
    network = mesh()
    one, two, three = federation(network, "S1", "S2", "S3")
    for seat in (two, three):
        seat.publish("Building", "Height")
    one.subscribe("Building", "Height")
    kept, gone = two.register("Building"), three.register("Building")
    two.resign(ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
    three.resign(ResignAction.DELETE_OBJECTS)
    network.settle()
    assert [arguments[0] for _, arguments in one.heard("remove_object_instance")] == [gone]
    assert list(instances(network, "S1")) == [kept]
    check_agreement(network, "S1", "S2", "S3")


def test_a_federate_of_2010_is_granted_alone_at_any_node() -> None:
    """1516.1-2010, 8.8: every node knows that it is, since its home decides what a save or a step waits for."""
    network = mesh()
    one, two = seats(network, "S1", "S2")
    one.create()
    one.join()
    assert isinstance(two.connection, SimulatedConnection)
    network.node("S2").sessions[two.connection.session].evolved = True
    two.join()
    for seat in (one, two):
        seat.call("enable_time_constrained")
        network.settle()
        assert seat.heard("time_constrained_enabled")
        seat.call("time_advance_request", HLAfloat64Time(5.0))
    network.settle()
    assert two.heard("time_advance_grant") == [("time_advance_grant", (HLAfloat64Time(5.0),))]
    assert one.heard("time_advance_grant") == []
    for node in ("S1", "S2"):
        members = network.node(node).federations[NAME].members.values()
        assert [member.switches.non_regulated_grant for member in members] == [False, True]
