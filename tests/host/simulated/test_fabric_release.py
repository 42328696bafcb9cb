"""Release control: what a rule keeps back never crosses the link, shown by looking at all that does."""

from __future__ import annotations

from typing import Any

from support.fabric_federations import THREE
from support.simulated_federates import federation, handles
from weft.fabric import ReleaseRule
from weft.host.simulated.fabric import FabricNetwork

SECRET, OPEN = b"kept within the site", b"may be known to all"
TANK = "Vehicle.GroundVehicle.Tank"


def network_with(*rules: ReleaseRule) -> FabricNetwork:
    network = FabricNetwork(THREE, 1, rules=rules)
    network.watched = True
    return network


def crossed(network: FabricNetwork, sender: str, receiver: str, what: bytes) -> bool:
    return any(what in data for one, other, data in network.crossed if (one, other) == (sender, receiver))


def update(seat: Any, instance: Any, **values: bytes) -> None:
    known = handles().attributes
    seat.call(
        "update_attribute_values", instance, {known[name]: value for name, value in values.items()}, b""
    )


def test_an_attribute_stays_in_its_domain() -> None:
    """Kept between A and B: S1 and S2 share it, S3 gets the rest of the same update; also what only passes S2."""
    network = network_with(
        ReleaseRule(frozenset(["HLAobjectRoot.Vehicle.Position"]), from_domain="A", to_domain="B")
    )
    one, two, three = federation(network, "S1", "S2", "S3")
    one.publish(TANK, "Name", "Position")
    for seat in (two, three):
        seat.subscribe("Vehicle", "Name", "Position")
    instance = one.register(TANK)
    network.settle()
    assert three.heard("discover_object_instance")
    update(one, instance, Name=OPEN, Position=SECRET)
    network.settle()
    known = handles().attributes
    heard_two = {
        k: v for _, arguments in two.heard("reflect_attribute_values") for k, v in arguments[1].items()
    }
    heard_three = {
        k: v for _, arguments in three.heard("reflect_attribute_values") for k, v in arguments[1].items()
    }
    assert heard_two == {known["Name"]: OPEN, known["Position"]: SECRET}
    assert heard_three == {known["Name"]: OPEN}
    assert crossed(network, "S1", "S2", SECRET)
    assert crossed(network, "S2", "S3", OPEN)
    assert not crossed(network, "S2", "S3", SECRET)


def test_an_interaction_class_and_all_below_it_stay() -> None:
    """A rule for a link: nothing of the class is sent that way, in the other direction it is."""
    network = network_with(
        ReleaseRule(frozenset(["HLAinteractionRoot.Command"]), from_server="S2", to_server="S3")
    )
    one, _, three = federation(network, "S1", "S2", "S3")
    for seat in (one, three):
        for cls in ("Command.Halt", "Event"):
            seat.publish_interaction(cls)
            seat.subscribe_interaction(cls)
    network.settle()
    one.send("Command.Halt", SECRET)
    one.send("Event", OPEN)
    network.settle()
    assert three.tags("receive_interaction") == [OPEN]
    assert not crossed(network, "S2", "S3", SECRET)
    three.send("Command.Halt", b"back")
    network.settle()
    assert one.tags("receive_interaction") == [b"back"]


def test_a_whole_object_class_is_kept_but_known_of() -> None:
    """No value of it leaves; that the instance exists is the same at all nodes."""
    network = network_with(ReleaseRule(frozenset(["HLAobjectRoot.Vehicle"]), from_domain="A", to_domain="B"))
    one, _, three = federation(network, "S1", "S2", "S3")
    one.publish(TANK, "Name")
    three.subscribe("Vehicle", "Name")
    instance = one.register(TANK)
    network.settle()
    update(one, instance, Name=SECRET)
    network.settle()
    assert [method for method, _ in three.heard()] == ["discover_object_instance"]
    assert not crossed(network, "S2", "S3", SECRET)


def test_what_a_save_gathers_is_kept_back_too() -> None:
    """Callbacks that a federate has not taken are part of a save; on their way to the home they lack what is kept back."""
    network = network_with(
        ReleaseRule(frozenset(["HLAobjectRoot.Vehicle.Position"]), from_domain="A", to_domain="B")
    )
    home, one, two = federation(network, "S3", "S1", "S2")
    one.publish(TANK, "Name", "Position")
    two.subscribe("Vehicle", "Name", "Position")
    instance = one.register(TANK)
    network.settle()
    home.call("request_federation_save", "point")
    network.settle()
    update(one, instance, Name=OPEN, Position=SECRET)  # held for two, which has been told to save
    network.settle()
    for seat in (home, one, two):
        assert seat.heard("initiate_federate_save")
        seat.call("federate_save_begun")
    for seat in (home, one, two):
        seat.call("federate_save_complete")
    network.settle()
    assert home.heard("federation_saved")
    assert two.heard("reflect_attribute_values")
    assert crossed(network, "S2", "S3", OPEN)
    assert not crossed(network, "S2", "S3", SECRET)
