"""Object management (clauses 6.2 to 6.33): names, instances, updates, interactions, transportation."""

from __future__ import annotations

from typing import Any

import pytest

from support.federation import Federation, federation, refused
from support.placement import Placement
from support.refusals import NOBODY, TANK, tank
from support.small_fom import BEST_EFFORT, PRIVILEGE, RELIABLE
from weft import OrderType, ResignAction
from weft.model.errors import (
    InteractionClassNotPublished,
    ObjectInstanceNameInUse,
    ObjectInstanceNotKnown,
    RTIinternalError,
)
from weft.model.handles import ObjectInstanceHandle
from weft.model.records import MessageRetractionReturn
from weft.model.time import HLAfloat64Time, HLAinteger64Time

SUCCEEDED, FAILED = "object_instance_name_reservation_succeeded", "object_instance_name_reservation_failed"


def way(f: Federation, name: str) -> Any:
    return f.rti[0].get_transportation_type_handle(name)


# --- names --------------------------------------------------------------------------------------------------------


def test_a_name_is_reserved_once(placement: Placement) -> None:
    """Clauses 6.2 to 6.4: until it is released, used up by an instance, or its federate resigns."""
    with federation(2, placement=placement) as f:
        f.rti[0].reserve_object_instance_name("Leopard")
        f.rti[0].reserve_object_instance_name("Leopard")
        f.rti[1].reserve_object_instance_name("Leopard")
        assert f.heard(0) == [SUCCEEDED, FAILED]
        assert f.take(1) == [(FAILED, ("Leopard",))]
        f.rti[0].release_object_instance_name("Leopard")
        f.rti[1].reserve_object_instance_name("Leopard")
        assert f.take(1) == [(SUCCEEDED, ("Leopard",))]


def test_several_names_are_reserved_all_or_none(placement: Placement) -> None:
    """Clauses 6.5 to 6.7."""
    with federation(2, placement=placement) as f:
        f.rti[0].reserve_multiple_object_instance_names({"a", "b"})
        f.rti[1].reserve_multiple_object_instance_names({"b", "c"})
        f.rti[1].reserve_object_instance_name("c")
        assert f.take(0) == [(f"multiple_{SUCCEEDED}", ({"a", "b"},))]
        assert f.take(1) == [(f"multiple_{FAILED}", ({"b", "c"},)), (SUCCEEDED, ("c",))]
        f.rti[0].release_multiple_object_instance_names({"a", "b"})
        f.rti[1].reserve_multiple_object_instance_names({"a", "b"})
        assert f.heard(1) == [f"multiple_{SUCCEEDED}"]


def test_a_named_instance_has_its_name_as_long_as_it_lives(placement: Placement) -> None:
    """Clauses 6.8 and 6.16: nobody can reserve or use it meanwhile; after deletion it is free."""
    with federation(2, placement=placement) as f:
        f.publish(0, TANK, "Name")
        f.subscribe(1, TANK, "Name")
        f.rti[0].reserve_object_instance_name("Leopard")
        instance = f.register(0, TANK, "Leopard")
        assert f.take(1)[0][1][2] == "Leopard"
        assert f.rti[1].get_object_instance_handle("Leopard") == instance
        f.rti[1].reserve_object_instance_name("Leopard")
        with refused(ObjectInstanceNameInUse):
            f.register(0, TANK, "Leopard")
        f.rti[0].delete_object_instance(instance, b"")
        f.rti[1].reserve_object_instance_name("Leopard")
        assert f.heard(1) == [FAILED, "remove_object_instance", SUCCEEDED]


def test_unnamed_instances_get_names_of_their_own(placement: Placement) -> None:
    """Clause 6.8: and no federate can reserve such a name, since it begins with HLA."""
    with federation(1, placement=placement) as f:
        f.publish(0, TANK, "Name")
        names = {f.rti[0].get_object_instance_name(f.register(0, TANK)) for _ in range(5)}
        assert len(names) == 5
        assert all(name.startswith("HLA") for name in names)


# --- updates ------------------------------------------------------------------------------------------------------


def test_an_update_is_reflected_as_subscribed_and_by_transportation(placement: Placement) -> None:
    """Clause 6.11: the subscribed attributes only, those of one transportation together."""
    with federation(2, placement=placement) as f:
        f.publish(0, TANK, "Position", "Name", "Speed", "Ammo")
        f.subscribe(1, "Vehicle.GroundVehicle", "Position", "Name", "Speed", "Crew")
        instance = f.register(0, TANK)
        f.quiet()
        f.update(0, instance, TANK, "Position", "Name", "Speed", "Ammo", tag=b"tag")
        heard = {args[3]: args for _, args in f.take(1)}
        assert heard == {
            way(f, transportation): (
                instance,
                {f.attribute(TANK, name): name.encode() for name in names},
                b"tag",
                way(f, transportation),
                f.handle(0),
                None,
            )
            for transportation, names in {BEST_EFFORT: ["Position", "Speed"], RELIABLE: ["Name"]}.items()
        }


def test_receivers_do_not_share_values(placement: Placement) -> None:
    """A receiver that changes what it was given changes it for itself only; nor does the sender's map matter later."""
    with federation(3, placement=placement) as f:
        f.publish(0, TANK, "Name")
        for i in (1, 2):
            f.subscribe(i, TANK, "Name")
        values = {f.attribute(TANK, "Name"): b"first"}
        f.rti[0].update_attribute_values(f.register(0, TANK), values, b"")
        values.clear()
        f.drain(1, 2)
        [first], [second] = f.log[1].of("reflect_attribute_values"), f.log[2].of("reflect_attribute_values")
        first[1].clear()
        assert list(second[1].values()) == [b"first"]


def test_an_empty_update_reaches_nobody(placement: Placement) -> None:
    """Clause 6.10: no value, no reflection."""
    with federation(2, placement=placement) as f:
        instance = tank(f)
        f.quiet()
        f.rti[0].update_attribute_values(instance, {}, b"")
        assert f.take(1) == []


@pytest.mark.parametrize(
    ("implementation", "time"),
    [("HLAfloat64Time", HLAfloat64Time(2.5)), ("HLAinteger64Time", HLAinteger64Time(7))],
)
def test_a_time_stamp_is_carried_along(implementation: str, time: Any, placement: Placement) -> None:
    """Clauses 6.10 to 6.17: messages with a time of who does not regulate are delivered in receive order, and say so."""
    with federation(2, time=implementation, placement=placement) as f:
        instance = tank(f)
        f.rti[0].publish_interaction_class(f.interaction("Event"))
        f.rti[1].subscribe_interaction_class(f.interaction("Event"))
        f.quiet()
        no_retraction = MessageRetractionReturn(False, None)
        position = {f.attribute(TANK, "Position"): b"here"}
        assert f.rti[0].update_attribute_values(instance, position, b"", time) == no_retraction
        assert f.rti[0].send_interaction(f.interaction("Event"), {}, b"", time) == no_retraction
        assert f.rti[0].delete_object_instance(instance, b"", time) == no_retraction
        heard = f.take(1)
        assert [method for method, _ in heard] == [
            "reflect_attribute_values",
            "receive_interaction",
            "remove_object_instance",
        ]
        assert {args[-4:] for _, args in heard} == {(time, OrderType.RECEIVE, OrderType.RECEIVE, None)}


# --- the end of instances -----------------------------------------------------------------------------------------


def test_deletion_removes_the_instance_from_all_who_know_it(placement: Placement) -> None:
    """Clauses 6.16 and 6.17: with the tag and who did it; others hear nothing."""
    with federation(3, placement=placement) as f:
        instance = tank(f)
        f.quiet()
        f.rti[0].delete_object_instance(instance, b"gone")
        assert f.take(1) == [("remove_object_instance", (instance, b"gone", f.handle(0)))]
        assert f.take(0) + f.take(2) == []
        with refused(ObjectInstanceNotKnown):
            f.update(0, instance, TANK, "Position")


def test_local_deletion_is_forgetting(placement: Placement) -> None:
    """Clause 6.18: nothing is reflected any more; a new subscription discovers the instance anew, perhaps otherwise."""
    with federation(2, placement=placement) as f:
        instance = tank(f)
        f.rti[1].local_delete_object_instance(instance)
        f.quiet()
        f.update(0, instance, TANK, "Position")
        assert f.take(1) == []
        with refused(ObjectInstanceNotKnown):
            f.rti[1].get_known_object_class_handle(instance)
        f.subscribe(1, TANK, "Ammo")
        assert [args[1] for _, args in f.take(1)] == [f.object_class(TANK)]


def test_an_orphan_stays_known_and_is_discovered_by_nobody_new(placement: Placement) -> None:
    """Clauses 4.12 and 6.9: after its owner divested and resigned nobody owns an attribute that could be subscribed to."""
    with federation(3, placement=placement) as f:
        instance = tank(f)
        f.resign(0, ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
        f.subscribe(2, "Vehicle", "Position")
        assert f.take(2) == []
        assert f.rti[1].get_object_instance_name(instance)
        f.rti[1].local_delete_object_instance(instance)
        with refused(ObjectInstanceNotKnown):
            f.rti[1].get_object_instance_name(instance)


# --- requests -----------------------------------------------------------------------------------------------------


def test_values_are_requested_from_their_owners(placement: Placement) -> None:
    """Clauses 6.21 and 6.22: of one instance or of a class and those below; never from the one who asks."""
    provide = "provide_attribute_value_update"
    with federation(2, placement=placement) as f:
        instance = tank(f)
        f.publish(1, "Vehicle", "Position")
        own = f.register(1, "Vehicle")
        f.quiet()
        position = f.attributes("Vehicle", "Position", "Name")
        f.rti[1].request_attribute_value_update(instance, position, b"one")
        assert f.take(0) == [(provide, (instance, position, b"one"))]
        f.rti[1].request_attribute_value_update(f.object_class("Vehicle"), position, b"all")
        assert f.take(0) == [(provide, (instance, position, b"all"))]
        f.rti[0].request_attribute_value_update(f.object_class("Vehicle"), position, b"")
        assert f.take(1) == [(provide, (own, f.attributes("Vehicle", "Position"), b""))]
        f.rti[1].request_attribute_value_update(f.object_class("Building"), frozenset(), b"")
        assert f.take(0) == []


# --- directed interactions ----------------------------------------------------------------------------------------


def directed(f: Federation, universally: bool) -> ObjectInstanceHandle:
    """Federate 0 may command vehicles; 1 owns a tank, 2 knows it; both subscribe to commands."""
    f.publish(1, TANK, "Position")
    f.subscribe(0, TANK, "Position")
    f.subscribe(2, "Vehicle", "Position")
    vehicle, command, halt = (
        f.object_class("Vehicle"),
        f.interaction("Command"),
        f.interaction("Command.Halt"),
    )
    f.rti[0].publish_object_class_directed_interactions(vehicle, {halt})
    for i in (1, 2):
        subscribe = f.rti[i].subscribe_object_class_directed_interactions
        if universally:
            subscribe = f.rti[i].subscribe_object_class_directed_interactions_universally
        subscribe(vehicle, {command})
    target = f.register(1, TANK)
    f.quiet()
    return target


def halt(f: Federation, target: ObjectInstanceHandle) -> None:
    values = {f.parameter("Command.Halt", n): n.encode() for n in ("Text", "Until")}
    f.rti[0].send_directed_interaction(f.interaction("Command.Halt"), target, values, b"tag")


def test_a_directed_interaction_goes_to_the_owner_of_its_target(placement: Placement) -> None:
    """Clauses 5.12 and 6.15: at the subscribed class, with its parameters."""
    with federation(3, placement=placement) as f:
        target = directed(f, universally=False)
        halt(f, target)
        text = {f.parameter("Command", "Text"): b"Text"}
        expected = (f.interaction("Command"), target, text, b"tag", way(f, RELIABLE), f.handle(0))
        assert f.take(1) == [("receive_directed_interaction", expected)]
        assert f.take(0) + f.take(2) == []


def test_a_universal_subscriber_hears_all_directed_interactions(placement: Placement) -> None:
    """Clause 5.12: also of targets it owns nothing of, if it knows them."""
    with federation(3, placement=placement) as f:
        target = directed(f, universally=True)
        halt(f, target)
        assert f.heard(1) == f.heard(2) == ["receive_directed_interaction"]
        f.rti[2].local_delete_object_instance(target)
        halt(f, target)
        assert f.heard(2) == []


def test_directed_interactions_end_with_their_declarations(placement: Placement) -> None:
    """Clauses 5.7 and 5.13: one class of them, or all at once."""
    with federation(3, placement=placement) as f:
        target = directed(f, universally=True)
        vehicle = f.object_class("Vehicle")
        f.rti[1].unsubscribe_object_class_directed_interactions(vehicle, {f.interaction("Command")})
        f.rti[2].unsubscribe_object_class_directed_interactions(vehicle)
        halt(f, target)
        assert f.take(1) + f.take(2) == []
        f.rti[0].unpublish_object_class_directed_interactions(vehicle)
        with refused(InteractionClassNotPublished):
            halt(f, target)


# --- transportation and order -------------------------------------------------------------------------------------


def test_the_transportation_of_an_instances_attributes_can_be_changed(placement: Placement) -> None:
    """Clauses 6.25, 6.26, 6.28, 6.29: confirmed to the owner, for that instance only, and used from then on."""
    with federation(2, placement=placement) as f:
        instance, other = tank(f), f.register(0, TANK)
        position = f.attributes(TANK, "Position")
        f.quiet()
        f.rti[0].request_attribute_transportation_type_change(instance, position, way(f, RELIABLE))
        assert f.take(0) == [
            ("confirm_attribute_transportation_type_change", (instance, position, way(f, RELIABLE)))
        ]
        for which, expected in ((instance, RELIABLE), (other, BEST_EFFORT)):
            f.update(0, which, TANK, "Position")
            assert [args[3] for _, args in f.take(1)] == [way(f, expected)]
            f.rti[1].query_attribute_transportation_type(which, *position)
            report = (which, *position, way(f, expected))
            assert f.take(1) == [("report_attribute_transportation_type", report)]


def test_the_default_transportation_holds_for_later_instances(placement: Placement) -> None:
    """Clause 6.27: for those this federate registers from then on."""
    with federation(2, placement=placement) as f:
        before = tank(f)
        position = f.attributes(TANK, "Position")
        f.rti[0].change_default_attribute_transportation_type(
            f.object_class(TANK), position, way(f, RELIABLE)
        )
        after = f.register(0, TANK)
        f.quiet()
        for instance in (before, after):
            f.update(0, instance, TANK, "Position")
        assert [args[3] for _, args in f.take(1)] == [way(f, BEST_EFFORT), way(f, RELIABLE)]


def test_the_transportation_of_an_interaction_can_be_changed(placement: Placement) -> None:
    """Clauses 6.30 to 6.33: for what this federate sends, whoever asks."""
    with federation(2, placement=placement) as f:
        event = f.interaction("Event")
        for i in (0, 1):
            f.rti[i].publish_interaction_class(event)
            f.rti[i].subscribe_interaction_class(event)
        f.rti[0].request_interaction_transportation_type_change(event, way(f, BEST_EFFORT))
        assert f.take(0) == [("confirm_interaction_transportation_type_change", (event, way(f, BEST_EFFORT)))]
        for sender, expected in ((0, BEST_EFFORT), (1, RELIABLE)):
            f.send(sender, "Event")
            assert [args[3] for _, args in f.take(1 - sender)] == [way(f, expected)]
            f.rti[0].query_interaction_transportation_type(f.handle(sender), event)
            report = (f.handle(sender), event, way(f, expected))
            assert f.take(0) == [("report_interaction_transportation_type", report)]


def test_asking_for_the_transportation_of_nobody(placement: Placement) -> None:
    """Clause 6.32: a federate that never was, or is no longer; the service has only RTIinternalError to say so."""
    with federation(2, placement=placement) as f:
        f.resign(1)
        for federate in (NOBODY, f.handle(1)):
            with refused(RTIinternalError):
                f.rti[0].query_interaction_transportation_type(federate, f.interaction("Event"))


def test_orders_can_be_changed(placement: Placement) -> None:
    """Clauses 8.24 to 8.26: taken; of who does not regulate all is delivered in receive order all the same."""
    with federation(2, placement=placement) as f:
        instance = tank(f)
        f.rti[0].publish_interaction_class(f.interaction("Event"))
        for order in OrderType:
            f.rti[0].change_attribute_order_type(instance, f.attributes(TANK, "Position", PRIVILEGE), order)
            f.rti[0].change_default_attribute_order_type(
                f.object_class(TANK), f.attributes(TANK, "Name"), order
            )
            f.rti[0].change_interaction_order_type(f.interaction("Event"), order)
        f.quiet()
        f.update(0, instance, TANK, "Position")
        f.update(0, f.register(0, TANK), TANK, "Position")
        assert f.heard(1) == [
            "reflect_attribute_values",
            "discover_object_instance",
            "reflect_attribute_values",
        ]
