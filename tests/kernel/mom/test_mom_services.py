"""Adjustments, and services that the MOM invokes on a federate's behalf (clause 11)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.federation import Federation, federation, refused
from support.mom_federation import FEDERATE, FEDERATION, THE_FEDERATION, Mom, Raw
from weft import EmbeddedNode
from weft.kernel import SERVICES
from weft.kernel.mom.mom_services import _INDICATED, ADJUSTMENTS, is_judged_by_its_node
from weft.kernel.mom.mom_services import SERVICES as INVOKED
from weft.model.errors import FederateNotExecutionMember, ObjectInstanceNotKnown
from weft.model.handles import ObjectInstanceHandle

TANK = "Vehicle.GroundVehicle.Tank"


@pytest.fixture
def f(tmp_path: Path) -> Iterator[Federation]:
    with federation(2, node=EmbeddedNode(run_directory=str(tmp_path))) as made:
        Mom(made).hear("HLAreportMOMexception")
        yield made


def errors(mom: Mom) -> list[dict[str, Any]]:
    return [found for name, found in mom.reports() if name == "HLAreportMOMexception"]


def test_every_order_of_the_mim_is_known() -> None:
    with federation(1) as f:
        classes = Mom(f).model.interaction_classes
    for kind, known in (("HLAservice", {*INVOKED, *_INDICATED}), ("HLAadjust", set(ADJUSTMENTS))):
        parent = f"HLAinteractionRoot.{FEDERATE}.{kind}"
        assert {name.rpartition(".")[2] for name, c in classes.items() if c.parent == parent} == known
    for service in (name for name, _ in INVOKED.values()):
        assert service in SERVICES


def test_the_node_of_a_federate_takes_exactly_the_orders_that_it_alone_can_judge() -> None:
    """11.4: so that whoever ordered it hears of its refusal, wherever the two are."""
    for name, (service, _) in INVOKED.items():
        assert is_judged_by_its_node(name) is not SERVICES[service].control


# --- services -------------------------------------------------------------------------------------------------


def test_declarations(f: Federation) -> None:
    mom = Mom(f)
    tank, ammo, hit = f.object_class(TANK), f.attribute(TANK, "Ammo"), f.interaction("Event.Hit")
    declared = f.node._node.federations["range"].members[f.handle(1)].declared
    classes: dict[str, Any] = {"HLAobjectClass": tank, "HLAattributeList": [ammo]}
    directed: dict[str, Any] = {"HLAobjectClass": tank, "HLAinteractionClassList": [f.interaction("Command")]}
    mom.send("HLAservice.HLApublishObjectClassAttributes", 1, **classes)
    mom.send("HLAservice.HLAsubscribeObjectClassAttributes", 1, **classes, HLAactive=False)
    mom.send("HLAservice.HLApublishInteractionClass", 1, HLAinteractionClass=hit)
    mom.send("HLAservice.HLAsubscribeInteractionClass", 1, HLAinteractionClass=hit, HLAactive=True)
    mom.send("HLAservice.HLApublishObjectClassDirectedInteractions", 1, **directed)
    mom.send("HLAservice.HLAsubscribeObjectClassDirectedInteractions", 1, **directed)
    assert ammo in declared.published[tank]
    assert declared.subscribed[tank][ammo] == (False, "")
    assert hit in declared.sends
    assert declared.receives == {hit: True}
    assert declared.directs == {tank: {f.interaction("Command"): None}}
    assert declared.directed == {tank: {f.interaction("Command"): False}}
    mom.send("HLAservice.HLAunpublishObjectClassAttributes", 1, **classes)
    mom.send("HLAservice.HLAunsubscribeObjectClassAttributes", 1, **classes)
    mom.send("HLAservice.HLAunpublishInteractionClass", 1, HLAinteractionClass=hit)
    mom.send("HLAservice.HLAunsubscribeInteractionClass", 1, HLAinteractionClass=hit)
    mom.send("HLAservice.HLAunpublishObjectClassDirectedInteractions", 1, **directed)
    mom.send("HLAservice.HLAunsubscribeObjectClassDirectedInteractions", 1, **directed)
    assert (declared.published, declared.subscribed, declared.sends, declared.receives) == ({}, {}, {}, {})
    assert (declared.directs, declared.directed) == ({}, {})
    assert errors(mom) == []


def test_deleting(f: Federation) -> None:
    mom = Mom(f)
    f.publish(1, TANK, "Ammo", "Name")
    f.subscribe(0, TANK, "Ammo")
    first, second = f.register(1, TANK), f.register(1, TANK)
    f.quiet()
    mom.send("HLAservice.HLAdeleteObjectInstance", 1, HLAobjectInstance=first, HLAtag=b"bye")
    assert f.take(0, "remove_object_instance") == [("remove_object_instance", (first, b"bye", f.handle(1)))]
    mom.send("HLAservice.HLAlocalDeleteObjectInstance", 0, HLAobjectInstance=second)
    with refused(ObjectInstanceNotKnown):
        f.rti[0].get_object_instance_name(second)
    assert errors(mom) == []


def test_transportation_and_order(f: Federation) -> None:
    mom = Mom(f)
    f.publish(1, TANK, "Ammo", "Name")
    tank = f.register(1, TANK)
    f.rti[1].publish_interaction_class(f.interaction("Event"))
    way = f.rti[1].get_transportation_type_handle("HLAbestEffort")
    attributes: dict[str, Any] = {"HLAobjectInstance": tank, "HLAattributeList": [f.attribute(TANK, "Ammo")]}
    event: dict[str, Any] = {"HLAinteractionClass": f.interaction("Event")}
    mom.send("HLAservice.HLArequestAttributeTransportationTypeChange", 1, **attributes, HLAtransportation=way)
    mom.send("HLAservice.HLArequestInteractionTransportationTypeChange", 1, **event, HLAtransportation=way)
    assert [m for m, _ in f.take(1)] == [
        "confirm_attribute_transportation_type_change",
        "confirm_interaction_transportation_type_change",
    ]
    mom.send("HLAservice.HLAchangeAttributeOrderType", 1, **attributes, HLAsendOrder="TimeStamp")
    mom.send("HLAservice.HLAchangeInteractionOrderType", 1, **event, HLAsendOrder="TimeStamp")
    assert errors(mom) == []


def test_a_point_is_achieved_for_another(f: Federation) -> None:
    mom = Mom(f)
    f.rti[0].register_federation_synchronization_point("go", b"")
    f.rti[0].synchronization_point_achieved("go")
    mom.send("HLAservice.HLAsynchronizationPointAchieved", 1, HLAlabel="go")
    assert f.take(1, "federation_synchronized") == [("federation_synchronized", ("go", frozenset()))]


def test_a_federate_is_made_to_resign(f: Federation) -> None:
    mom = Mom(f)
    f.subscribe(0, FEDERATE, "HLAfederateName")
    f.publish(1, TANK, "Ammo")
    f.register(1, TANK)
    f.quiet()
    mom.send("HLAservice.HLAresignFederationExecution", 1, HLAresignAction="NoAction")
    (refusal,) = errors(mom)
    assert "FederateOwnsAttributes" in refusal["HLAexception"]
    assert refusal["HLAparameterError"] is False
    assert f.take(1) == []
    gone = mom.instance(1)
    mom.send("HLAservice.HLAresignFederationExecution", 1, HLAresignAction="DeleteObjectInstances")
    assert [m for m, _ in f.take(1)] == ["federate_resigned"]
    assert [a[0] for _, a in f.take(0, "remove_object_instance")] == [gone]
    with refused(FederateNotExecutionMember):
        f.rti[1].get_federate_handle("federate 0")
    f.rti[1].join_federation_execution("federate 1", "test", "range")


@pytest.mark.parametrize(
    ("name", "values", "parameter", "says"),
    [
        ("HLAservice.HLApublishInteractionClass", {}, True, "HLAinteractionClass is missing"),
        (
            "HLAservice.HLApublishInteractionClass",
            {"HLAinteractionClass": b"?"},
            False,
            "InteractionClassNotDefined",
        ),
        ("HLAservice.HLApublishInteractionClass", {"HLAinteractionClass": Raw(b"?")}, True, "is no HLA"),
        ("HLAservice.HLAdeleteObjectInstance", {"HLAobjectInstance": b"?"}, False, "ObjectInstanceNotKnown"),
        ("HLAservice.HLAresignFederationExecution", {"HLAresignAction": 17}, True, "HLAresignAction is 17"),
        ("HLAservice.HLAtimeAdvanceRequest", {"HLAtimeStamp": b"?"}, True, "no logical time"),
        ("HLAadjust.HLAsetTiming", {"HLAreportPeriod": -1}, True, "HLAreportPeriod is -1"),
        ("HLAadjust.HLAsetTiming", {}, True, "HLAreportPeriod is missing"),
        ("HLAadjust.HLAsetSwitches", {"HLAserviceReporting": 9}, True, "HLAserviceReporting is 9"),
        ("HLAadjust.HLAmodifyAttributeState", {}, True, "is missing"),
    ],
)
def test_an_order_that_cannot_be_followed_is_reported(
    f: Federation, name: str, values: dict[str, Any], parameter: bool, says: str
) -> None:
    mom = Mom(f)
    mom.send(name, 1, **values)
    (found,) = errors(mom)
    assert says in found["HLAexception"]
    assert found["HLAparameterError"] is parameter
    assert found["HLAservice"] == f"HLAinteractionRoot.{FEDERATE}.{name}"


# --- adjustments ----------------------------------------------------------------------------------------------


def test_switches_of_a_federate(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE)
    f.quiet()
    switches = dict.fromkeys(
        (
            "HLAobjectClassRelevanceAdvisory",
            "HLAattributeRelevanceAdvisory",
            "HLAattributeScopeAdvisory",
            "HLAinteractionRelevanceAdvisory",
            "HLAconveyRegionDesignatorSets",
            "HLAserviceReporting",
            "HLAexceptionReporting",
            "HLAsendServiceReportsToFile",
        ),
        "Enabled",
    )
    mom.send("HLAadjust.HLAsetSwitches", 1, **switches, HLAautomaticResignAction="NoAction")
    told = mom.values(mom.instance(1), FEDERATE)
    assert told.pop("HLAreportServiceFile").endswith(".services.jsonl")
    assert told == {**switches, "HLAautomaticResignAction": "NoAction"}
    assert f.rti[1].get_attribute_scope_advisory_switch()
    mom.send("HLAadjust.HLAsetSwitches", 1, HLAattributeScopeAdvisory="Disabled")
    assert mom.values(mom.instance(1), FEDERATE) == {"HLAattributeScopeAdvisory": "Disabled"}


def test_auto_provide(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATION)
    f.quiet()
    mom.send("HLAadjust.HLAsetSwitches", about=FEDERATION, HLAautoProvide="Enabled")
    assert mom.values(THE_FEDERATION, FEDERATION) == {"HLAautoProvide": "Enabled"}
    assert f.rti[1].get_auto_provide_switch()
    f.publish(1, TANK, "Ammo")
    f.subscribe(0, TANK, "Ammo")
    tank = f.register(1, TANK)
    assert [a[0] for _, a in f.take(1, "provide_attribute_value_update")] == [tank]
    mom.send("HLAadjust.HLAsetSwitches", about=FEDERATION, HLAautoProvide="Enabled")
    assert mom.values(THE_FEDERATION, FEDERATION) == {}


def test_the_state_of_an_attribute(f: Federation) -> None:
    """Ownership moves without a word to either, if the one who gains publishes it."""
    mom = Mom(f)
    f.publish(0, TANK, "Ammo", "Name")
    f.subscribe(1, TANK, "Ammo", "Name")
    tank, ammo = f.register(0, TANK), f.attribute(TANK, "Ammo")
    f.quiet()
    state: dict[str, Any] = {"HLAobjectInstance": tank, "HLAattribute": ammo}
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **state, HLAattributeState="Owned")
    assert "AttributeNotPublished" in errors(mom)[0]["HLAexception"]
    f.publish(1, TANK, "Ammo")
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **state, HLAattributeState="Owned")
    f.rti[1].update_attribute_values(tank, {ammo: b""}, b"")
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **state, HLAattributeState="Unowned")
    assert f.take(1) == []
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **state, HLAattributeState="Unowned")
    assert "AttributeNotOwned" in errors(mom)[0]["HLAexception"]
    unknown: dict[str, Any] = {**state, "HLAobjectInstance": ObjectInstanceHandle.of(77)}
    mom.send("HLAadjust.HLAmodifyAttributeState", 1, **unknown, HLAattributeState="Owned")
    assert "ObjectInstanceNotKnown" in errors(mom)[0]["HLAexception"]
    f.subscribe(0, FEDERATE, "HLAfederateName")
    his: dict[str, Any] = {
        "HLAobjectInstance": mom.instance(1),
        "HLAattribute": f.attribute(FEDERATE, "HLAfederateName"),
    }
    f.publish(0, FEDERATE, "HLAfederateName")
    mom.send("HLAadjust.HLAmodifyAttributeState", 0, **his, HLAattributeState="Owned")
    assert "belongs to the RTI" in errors(mom)[0]["HLAexception"]
