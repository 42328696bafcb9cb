"""Declaration management (clauses 5.2 to 5.13): what publishing and subscribing lead to."""

from __future__ import annotations

import pytest

from support.federation import Federation, federation, refused
from support.oracle_bench import about_mom
from support.placement import Placement
from support.refusals import TANK
from support.small_fom import PRIVILEGE, ROOT
from weft.model.errors import (
    AttributeNotOwned,
    DeletePrivilegeNotHeld,
    InteractionClassNotPublished,
    ObjectClassNotPublished,
)

GROUND = "Vehicle.GroundVehicle"


def discovered_at(f: Federation, i: int) -> list[str]:
    """The classes at which federate i discovered instances since the last time."""
    return [
        f.rti[i].get_object_class_name(args[1]).removeprefix(f"{ROOT}.")
        for _, args in f.take(i, "discover_object_instance")
        if not about_mom(args)
    ]


@pytest.mark.parametrize(
    ("subscribed", "expected"),
    [
        ({"Vehicle": "Position"}, ["Vehicle"]),
        ({"Vehicle": "Position", GROUND: "Speed"}, [GROUND]),
        ({"Vehicle": "Position", TANK: "Name"}, [TANK]),
        ({ROOT: PRIVILEGE}, [ROOT]),
        ({GROUND: "Crew"}, []),  # not published
        ({"Vehicle": "Position", GROUND: "Crew"}, []),  # the nearest class decides, and nobody owns a crew
        ({"Vehicle.Aircraft": "Position", "Building": "Height"}, []),
        ({}, []),
    ],
)
def test_an_instance_is_discovered_at_the_nearest_subscribed_class(
    subscribed: dict[str, str], expected: list[str], placement: Placement
) -> None:
    """Clauses 5.1.1 and 6.9: at the candidate class, if an attribute subscribed there is owned by another."""
    for subscribe_first in (True, False):
        with federation(2, placement=placement) as f:
            f.publish(0, TANK, "Position", "Name", "Speed")
            if not subscribe_first:
                f.register(0, TANK)
            # From the top down, so that no lower subscription comes too late to count.
            for object_class, attribute in sorted(subscribed.items(), key=lambda item: -len(item[0])):
                f.subscribe(1, object_class, attribute)
            if subscribe_first:
                f.register(0, TANK)
            assert discovered_at(f, 1) == expected


def test_the_known_class_stays(placement: Placement) -> None:
    """Clause 6.9: later subscriptions below do not change the class an instance is known at, nor what is reflected."""
    with federation(2, placement=placement) as f:
        f.publish(0, TANK, "Position", "Ammo")
        f.subscribe(1, "Vehicle", "Position")
        instance = f.register(0, TANK)
        f.subscribe(1, TANK, "Ammo")
        assert discovered_at(f, 1) == ["Vehicle"]
        assert f.rti[1].get_known_object_class_handle(instance) == f.object_class("Vehicle")
        f.update(0, instance, TANK, "Position", "Ammo")
        assert f.heard(1) == ["reflect_attribute_values"]
        f.rti[1].unsubscribe_object_class(f.object_class("Vehicle"))
        f.update(0, instance, TANK, "Position", "Ammo")
        assert f.heard(1) == []


def test_unsubscribing_below_opens_the_class_above(placement: Placement) -> None:
    """Clause 5.9: with the nearest class out of the way, what it hid is discovered higher up."""
    with federation(2, placement=placement) as f:
        f.publish(0, TANK, "Position")
        f.register(0, TANK)
        f.subscribe(1, GROUND, "Crew")  # nobody owns a crew: this hides the tank
        f.subscribe(1, "Vehicle", "Position")
        assert discovered_at(f, 1) == []
        f.rti[1].unsubscribe_object_class_attributes(f.object_class(GROUND), f.attributes(GROUND, "Crew"))
        assert discovered_at(f, 1) == ["Vehicle"]


def test_no_federate_discovers_what_is_all_its_own(placement: Placement) -> None:
    """Clause 6.9: the registrant knows its instance already."""
    with federation(1, placement=placement) as f:
        f.subscribe(0, "Vehicle", "Position")
        f.publish(0, TANK, "Position")
        f.update(0, f.register(0, TANK), TANK, "Position")
        assert f.heard(0) == []


def test_passive_subscribers_receive_all_the_same(placement: Placement) -> None:
    """Clauses 5.8 and 5.10: a passive subscription only differs in that nobody is advised of it."""
    with federation(2, placement=placement) as f:
        f.publish(0, TANK, "Position")
        f.subscribe(1, TANK, "Position", active=False)
        f.update(0, f.register(0, TANK), TANK, "Position")
        f.rti[0].publish_interaction_class(f.interaction("Event"))
        f.rti[1].subscribe_interaction_class_passively(f.interaction("Event"))
        f.send(0, "Event", "When")
        assert f.heard(1) == ["discover_object_instance", "reflect_attribute_values", "receive_interaction"]


def test_declarations_add_up(placement: Placement) -> None:
    """Clauses 5.2, 5.3, 5.8, 5.9: each call adds to or takes from what was declared before; an empty set changes nothing."""
    with federation(2, placement=placement) as f:
        tank = f.object_class(TANK)
        f.publish(0, TANK)
        with refused(ObjectClassNotPublished):
            f.register(0, TANK)
        f.publish(0, TANK, "Name")
        f.publish(0, TANK, "Ammo")
        f.subscribe(1, TANK, "Name")
        f.subscribe(1, TANK, "Ammo")
        instance = f.register(0, TANK)
        f.update(0, instance, TANK, "Name", "Ammo")
        f.rti[1].unsubscribe_object_class_attributes(tank, f.attributes(TANK, "Name"))
        f.rti[1].unsubscribe_object_class_attributes(tank, frozenset())
        f.update(0, instance, TANK, "Name", "Ammo")
        reflected = [set(args[1]) for _, args in f.take(1, "reflect_attribute_values")]
        assert reflected == [f.attributes(TANK, "Name", "Ammo"), f.attributes(TANK, "Ammo")]


def test_publishing_brings_the_privilege_to_delete(placement: Placement) -> None:
    """Clause 5.2: it is published with any attribute, and goes with the last of them (clause 5.3)."""
    with federation(1, placement=placement) as f:
        f.publish(0, TANK, "Name")
        f.rti[0].delete_object_instance(f.register(0, TANK), b"")
        f.rti[0].unpublish_object_class_attributes(f.object_class(TANK), f.attributes(TANK, "Name"))
        with refused(ObjectClassNotPublished):
            f.register(0, TANK)
        f.publish(0, TANK, PRIVILEGE)
        f.rti[0].unpublish_object_class_attributes(f.object_class(TANK), f.attributes(TANK, "Ammo"))
        f.register(0, TANK)  # published alone it stays, until it is unpublished itself
        f.rti[0].unpublish_object_class_attributes(f.object_class(TANK), f.attributes(TANK, PRIVILEGE))
        with refused(ObjectClassNotPublished):
            f.register(0, TANK)


def test_unpublishing_gives_up_ownership(placement: Placement) -> None:
    """Clause 5.3: at the instances of that class only; they stay known."""
    with federation(1, placement=placement) as f:
        for object_class in (TANK, GROUND):
            f.publish(0, object_class, "Name", "Speed")
        tank, ground = f.register(0, TANK), f.register(0, GROUND)
        f.rti[0].unpublish_object_class_attributes(f.object_class(TANK), f.attributes(TANK, "Name"))
        f.update(0, tank, TANK, "Speed")
        with refused(AttributeNotOwned):
            f.update(0, tank, TANK, "Name")
        f.update(0, ground, GROUND, "Name")
        f.rti[0].unpublish_object_class(f.object_class(TANK))
        with refused(AttributeNotOwned):
            f.update(0, tank, TANK, "Speed")
        with refused(DeletePrivilegeNotHeld):
            f.rti[0].delete_object_instance(tank, b"")
        f.publish(0, TANK, "Speed")
        with refused(AttributeNotOwned):  # publishing anew does not bring it back
            f.update(0, tank, TANK, "Speed")


@pytest.mark.parametrize(
    ("subscribed", "received"),
    [
        (["Event"], "Event"),
        (["Event", "Event.Fire"], "Event.Fire"),
        (["Event", "Event.Fire.BigFire"], "Event.Fire.BigFire"),
        (["HLAinteractionRoot"], "HLAinteractionRoot"),
        (["Event.Hit"], None),
        ([], None),
    ],
)
def test_an_interaction_is_received_at_the_nearest_subscribed_class(
    subscribed: list[str], received: str | None, placement: Placement
) -> None:
    """Clauses 5.1.2 and 6.13: once, with the parameters of that class, by the way of the class that was sent."""
    names = {"HLAinteractionRoot": [], "Event": ["When"], "Event.Fire": ["When", "Who", "Whom"]}
    with federation(2, placement=placement) as f:
        f.rti[0].publish_interaction_class(f.interaction("Event.Fire.BigFire"))
        for interaction in subscribed:
            f.rti[1].subscribe_interaction_class(f.interaction(interaction))
        f.send(0, "Event.Fire.BigFire", "When", "Who", "Whom", "Calibre", tag=b"tag")
        if received is None:
            assert f.take(1) == []
            return
        kept = {
            f.parameter(received, n): n.encode()
            for n in names.get(received, ["When", "Who", "Whom", "Calibre"])
        }
        way = f.rti[1].get_transportation_type_handle("HLAreliable")
        expected = (f.interaction(received), kept, b"tag", way, f.handle(0), None)
        assert f.take(1) == [("receive_interaction", expected)]


def test_the_way_of_an_interaction_is_that_of_the_class_sent(placement: Placement) -> None:
    """Clause 6.13: Fire goes best effort, also to those who receive it as an Event, which itself is reliable."""
    with federation(2, placement=placement) as f:
        f.rti[0].publish_interaction_class(f.interaction("Event.Fire"))
        f.rti[1].subscribe_interaction_class(f.interaction("Event"))
        f.send(0, "Event.Fire", "Who")
        [(_, arguments)] = f.take(1)
        assert f.rti[1].get_transportation_type_name(arguments[3]) == "HLAbestEffort"


def test_nobody_hears_itself(placement: Placement) -> None:
    """Clause 6.13: the sender of an interaction does not receive it, though it subscribes."""
    with federation(1, placement=placement) as f:
        f.rti[0].publish_interaction_class(f.interaction("Event"))
        f.rti[0].subscribe_interaction_class(f.interaction("Event"))
        f.send(0, "Event", "When")
        assert f.take(0) == []


def test_unpublished_and_unsubscribed_interactions(placement: Placement) -> None:
    """Clauses 5.5 and 5.11: sending ends with publication, receiving with subscription."""
    with federation(2, placement=placement) as f:
        event = f.interaction("Event")
        f.rti[0].publish_interaction_class(event)
        f.rti[1].subscribe_interaction_class(event)
        f.send(0, "Event")
        f.rti[1].unsubscribe_interaction_class(event)
        f.send(0, "Event")
        assert f.heard(1) == ["receive_interaction"]
        f.rti[0].unpublish_interaction_class(event)
        with refused(InteractionClassNotPublished):
            f.send(0, "Event")
        with refused(InteractionClassNotPublished):  # a class is not published by those above or below it
            f.rti[0].publish_interaction_class(f.interaction("Event.Fire"))
            f.send(0, "Event")
