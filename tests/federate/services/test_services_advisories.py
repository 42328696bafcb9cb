"""Advisories (clauses 5.14 to 5.17, 6.19, 6.20, 6.23, 6.24) and their switches (clauses 10.34 to 10.41)."""

from __future__ import annotations

from typing import Any

import pytest

from support.federation import Federation, federation
from support.placement import Placement
from support.refusals import TANK
from support.small_fom import ADVISORIES, fom
from weft import ResignAction

ALL_ON = fom(*ADVISORIES)
START, STOP = "start_registration_for_object_class", "stop_registration_for_object_class"
ON, OFF = "turn_updates_on_for_object_instance", "turn_updates_off_for_object_instance"
IN, OUT = "attributes_in_scope", "attributes_out_of_scope"


def advised(*, placement: Placement, **more: Any) -> Any:
    return federation(2, model=ALL_ON, **more, placement=placement)


def unsubscribe(f: Federation, i: int, object_class: str, *names: str) -> None:
    f.rti[i].unsubscribe_object_class_attributes(
        f.object_class(object_class), f.attributes(object_class, *names)
    )


def test_registration_starts_and_stops_with_the_first_and_the_last_subscriber(placement: Placement) -> None:
    """Clauses 5.14 and 5.15: told once each way, whichever comes first, publication or subscription."""
    with federation(3, model=ALL_ON, placement=placement) as f:
        tank = f.object_class(TANK)
        f.publish(0, TANK, "Name")
        f.subscribe(1, "Vehicle", "Name")  # a superclass counts
        f.subscribe(2, TANK, "Name")
        f.publish(0, TANK, "Ammo")
        assert f.take(0) == [(START, (tank,))]
        unsubscribe(f, 1, "Vehicle", "Name")
        assert f.take(0) == []
        f.resign(2)
        assert f.take(0) == [(STOP, (tank,))]
        f.subscribe(1, TANK, "Ammo")
        assert f.take(0) == [(START, (tank,))]


@pytest.mark.parametrize(
    ("object_class", "attribute", "active"),
    [(TANK, "Ammo", True), (TANK, "Name", False), ("Vehicle.Aircraft", "Name", True)],
    ids=["another attribute", "passive", "another class"],
)
def test_who_does_not_count_for_registration(
    object_class: str, attribute: str, active: bool, placement: Placement
) -> None:
    """Clause 5.14: only active subscriptions, to a published attribute, in the lineage of the published class."""
    with advised(placement=placement) as f:
        f.publish(0, TANK, "Name")
        f.subscribe(0, TANK, "Name")  # one's own does not count either
        f.subscribe(1, object_class, attribute, active=active)
        assert f.heard(0) == []


def test_unpublishing_a_part_stops_registration_only_if_nothing_wanted_is_left(placement: Placement) -> None:
    """Clauses 5.3 and 5.15: the class stays published, so the federate is told; without any change it is not."""
    with advised(placement=placement) as f:
        tank = f.object_class(TANK)
        f.publish(0, TANK, "Name", "Ammo", "Crew")
        f.subscribe(1, TANK, "Name")
        f.quiet()
        f.rti[0].unpublish_object_class_attributes(tank, f.attributes(TANK, "Crew"))
        assert f.take(0) == []
        f.rti[0].unpublish_object_class_attributes(tank, f.attributes(TANK, "Name"))
        assert f.take(0) == [(STOP, (tank,))]
        f.publish(0, TANK, "Name")
        f.rti[0].unpublish_object_class(tank)
        assert f.take(0) == [(START, (tank,))]  # what is not published needs no stopping


def test_interactions_are_turned_on_and_off(placement: Placement) -> None:
    """Clauses 5.16 and 5.17: by active subscriptions anywhere in the lineage."""
    with advised(placement=placement) as f:
        fire = f.interaction("Event.Fire")
        f.rti[0].publish_interaction_class(fire)
        f.rti[1].subscribe_interaction_class_passively(fire)
        f.rti[1].subscribe_interaction_class(f.interaction("Event.Hit"))
        assert f.take(0) == []
        f.rti[1].subscribe_interaction_class(f.interaction("Event"))
        f.rti[1].subscribe_interaction_class(fire)
        assert f.take(0) == [("turn_interactions_on", (fire,))]
        f.rti[1].unsubscribe_interaction_class(f.interaction("Event"))
        f.rti[1].subscribe_interaction_class_passively(fire)
        assert f.take(0) == [("turn_interactions_off", (fire,))]


def test_updates_are_turned_on_and_off(placement: Placement) -> None:
    """Clauses 6.23 and 6.24: to the owner, for what another federate that knows the instance wants actively."""
    with advised(placement=placement) as f:
        f.publish(0, TANK, "Name", "Ammo")
        instance = f.register(0, TANK)
        f.quiet()
        f.subscribe(1, TANK, "Name", "Crew")
        assert f.take(0, ON, OFF) == [(ON, (instance, f.attributes(TANK, "Name")))]
        f.subscribe(1, TANK, "Ammo", active=False)
        assert f.take(0, ON, OFF) == []
        f.subscribe(1, TANK, "Ammo")
        assert f.take(0, ON, OFF) == [(ON, (instance, f.attributes(TANK, "Ammo")))]
        f.subscribe(1, TANK, "Name", active=False)
        assert f.take(0, ON, OFF) == [(OFF, (instance, f.attributes(TANK, "Name")))]
        f.rti[1].local_delete_object_instance(instance)
        assert f.take(0, ON, OFF) == [(OFF, (instance, f.attributes(TANK, "Ammo")))]


def test_updates_are_turned_on_with_the_fastest_rate(placement: Placement) -> None:
    """Clause 6.23: the designator of the fastest rate asked for; none where somebody wants every update."""
    with federation(3, model=ALL_ON, placement=placement) as f:
        f.publish(0, TANK, "Name")
        instance = f.register(0, TANK)
        name = f.attributes(TANK, "Name")
        told = []
        f.subscribe(1, TANK, "Name", rate="Low")
        told += f.take(0, ON, OFF)
        f.subscribe(2, TANK, "Name", rate="High")
        told += f.take(0, ON, OFF)
        f.subscribe(1, TANK, "Name")
        told += f.take(0, ON, OFF)
        f.resign(1)
        told += f.take(0, ON, OFF)
        f.resign(2)
        told += f.take(0, ON, OFF)
        assert told == [
            (ON, (instance, name, "Low")),
            (ON, (instance, name, "High")),
            (ON, (instance, name)),
            (ON, (instance, name, "High")),
            (OFF, (instance, name)),
        ]


def test_losing_one_attribute_does_not_tell_of_the_others_again(placement: Placement) -> None:
    """Clauses 5.3 and 6.23: what is no longer owned goes without a word, what is still owned stays as told."""
    with advised(placement=placement) as f:
        f.publish(0, TANK, "Name", "Ammo")
        instance = f.register(0, TANK)
        f.subscribe(1, TANK, "Name", "Ammo")
        f.quiet()
        f.rti[0].unpublish_object_class_attributes(f.object_class(TANK), f.attributes(TANK, "Ammo"))
        assert f.take(0, ON, OFF) == []
        assert f.take(1, IN, OUT) == [(OUT, (instance, f.attributes(TANK, "Ammo")))]


def test_attributes_come_into_scope_and_go_out_of_it(placement: Placement) -> None:
    """Clauses 6.19 and 6.20: to the subscriber, after discovery; also passive subscriptions count."""
    with advised(placement=placement) as f:
        f.publish(0, TANK, "Name", "Ammo")
        f.subscribe(1, TANK, "Name", "Crew", active=False)
        instance = f.register(0, TANK)
        assert [method for method, _ in f.take(1)] == ["discover_object_instance", IN]
        f.subscribe(1, TANK, "Ammo")
        assert f.take(1) == [(IN, (instance, f.attributes(TANK, "Ammo")))]
        unsubscribe(f, 1, TANK, "Name")
        assert f.take(1) == [(OUT, (instance, f.attributes(TANK, "Name")))]
        f.rti[0].delete_object_instance(instance, b"")
        assert f.heard(1) == ["remove_object_instance"]


def test_an_orphan_is_out_of_scope(placement: Placement) -> None:
    """Clause 6.20: when the owner resigns and leaves the instance, nobody owns what was in scope."""
    with advised(placement=placement) as f:
        f.publish(0, TANK, "Name")
        f.subscribe(1, TANK, "Name")
        instance = f.register(0, TANK)
        f.quiet()
        f.resign(0, ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
        assert f.take(1) == [(OUT, (instance, f.attributes(TANK, "Name")))]


SWITCHES = {
    "object_class_relevance_advisory": (0, START),
    "interaction_relevance_advisory": (0, "turn_interactions_on"),
    "attribute_relevance_advisory": (0, ON),
    "attribute_scope_advisory": (1, IN),
}


def everything_relevant(f: Federation) -> None:
    f.publish(0, TANK, "Name")
    f.subscribe(1, TANK, "Name")
    f.register(0, TANK)
    f.rti[0].publish_interaction_class(f.interaction("Event"))
    f.rti[1].subscribe_interaction_class(f.interaction("Event"))
    f.quiet()


@pytest.mark.parametrize("switch", SWITCHES)
def test_switching_an_advisory(switch: str, placement: Placement) -> None:
    """Clauses 10.34 to 10.41: off is silent; on tells what holds then; on again tells nothing more."""
    i, method = SWITCHES[switch]
    with federation(2, placement=placement) as f:
        everything_relevant(f)
        turn, state = getattr(f.rti[i], f"set_{switch}_switch"), getattr(f.rti[i], f"get_{switch}_switch")
        assert state() is False
        turn(True)
        assert f.heard(i) == [method]
        turn(True)
        assert f.heard(i) == []
        turn(False)
        f.resign(1 - i)
        assert not {START, STOP, ON, OFF, IN, OUT, "turn_interactions_off"} & set(f.heard(i))
        assert state() is False


def test_the_object_model_sets_the_switches(placement: Placement) -> None:
    """Clauses 10.34 to 10.41: each federate starts with the object model's switches, and changes its own only."""
    with advised(placement=placement) as f:
        f.rti[0].set_attribute_scope_advisory_switch(False)
        assert f.rti[1].get_attribute_scope_advisory_switch() is True
        assert all(getattr(f.rti[1], f"get_{switch}_switch")() for switch in SWITCHES)


def test_auto_provide_asks_the_owner_for_the_newcomer(placement: Placement) -> None:
    """Clauses 6.22 and 10.52: whoever discovers an instance has the owners asked for what it subscribes to."""
    provide = "provide_attribute_value_update"
    with federation(2, model=fom("autoProvide"), placement=placement) as f:
        assert f.rti[0].get_auto_provide_switch() is True
        f.publish(0, TANK, "Name", "Ammo")
        first = f.register(0, TANK)
        f.subscribe(1, "Vehicle", "Name")
        second = f.register(0, TANK)
        name = f.attributes(TANK, "Name")
        assert f.take(0) == [(provide, (first, name, b"")), (provide, (second, name, b""))]
        f.subscribe(1, "Vehicle", "Position")  # nothing new is discovered
        assert f.take(0) == []
