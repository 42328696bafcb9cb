"""What the RTI reports unasked: service invocations, exceptions, lost federates (clause 11; the switches: 10.46 to 10.51)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.federation import Federation, federation, refused
from support.mom_federation import FEDERATE, Mom
from support.small_fom import fom
from support.standard_services import snake, standard
from weft import ResignAction
from weft.kernel import SERVICES
from weft.kernel.mom.mom_reports import argument, group_of, text_of_service
from weft.model.errors import (
    FederateServiceInvocationsAreBeingReportedViaMOM,
    NameNotFound,
    ReportServiceInvocationsAreSubscribed,
    RTIexception,
    SynchronizationPointLabelNotAnnounced,
)
from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle
from weft.model.records import MessageRetractionReturn, RangeBounds
from weft.model.time import HLAfloat64Time

TANK = "Vehicle.GroundVehicle.Tank"
INVOCATION = f"{FEDERATE}.HLAreport.HLAreportServiceInvocation"


@pytest.fixture
def f() -> Iterator[Federation]:
    with federation(3) as made:
        yield made


# --- services -------------------------------------------------------------------------------------------------


def test_services_and_callbacks_of_a_federate_are_reported(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportServiceInvocation")
    f.rti[1].set_service_reporting_switch(True)
    f.publish(1, TANK, "Ammo", "Name")
    f.rti[1].get_object_class_handle("Vehicle")
    with refused(NameNotFound):
        f.rti[1].get_object_class_handle("Submarine")
    tank = f.register(1, TANK)
    f.rti[1].subscribe_interaction_class_passively(f.interaction("Event"))
    f.rti[0].publish_interaction_class(f.interaction("Event"))
    f.send(0, "Event", "When", tag=b"\x07")
    f.rti[1].set_service_reporting_switch(False)
    f.rti[1].get_object_class_handle("Vehicle")
    reports = [found for _, found in mom.reports()]
    assert [r["HLAserialNumber"] for r in reports] == list(range(8))
    assert {r["HLAfederate"] for r in reports} == {f.handle(1)}
    assert [(r["HLAservice"], r["HLAserviceType"], r["HLAsuccessIndicator"]) for r in reports] == [
        ("setServiceReportingSwitch", "SupportServices", True),
        ("publishObjectClassAttributes", "DeclarationManagement", True),
        ("getObjectClassHandle", "SupportServices", True),
        ("getObjectClassHandle", "SupportServices", False),
        ("registerObjectInstance", "ObjectManagement", True),
        ("subscribeInteractionClassPassively", "DeclarationManagement", True),
        ("receiveInteraction", "ObjectManagement", True),
        ("setServiceReportingSwitch", "SupportServices", True),
    ]
    published, looked_up, failed, registered, *_, received, _ = reports[1:]
    assert published["HLAsuppliedArguments"] == [
        {
            "HLAargumentType": "ObjectClassHandle",
            "HLAargumentName": "objectClass",
            "HLAargumentValue": str(f.object_class(TANK).number),
        },
        {
            "HLAargumentType": "AttributeHandleSet",
            "HLAargumentName": "attributes",
            "HLAargumentValue": "["
            + ", ".join(sorted(str(a.number) for a in f.attributes(TANK, "Ammo", "Name")))
            + "]",
        },
    ]
    assert published["HLAreturnedArgument"]["HLAargumentType"] == "Null"
    assert looked_up["HLAreturnedArgument"]["HLAargumentValue"] == str(f.object_class("Vehicle").number)
    assert looked_up["HLAexception"] == ""
    assert "NameNotFound" in failed["HLAexception"]
    assert registered["HLAreturnedArgument"]["HLAargumentValue"] == str(tank.number)
    when = f.parameter("Event", "When").number
    assert [a["HLAargumentValue"] for a in received["HLAsuppliedArguments"]][:3] == [
        str(f.interaction("Event").number),
        f"{{{when}: {b'When'.hex()}}}",
        "07",
    ]


def test_one_whose_services_are_reported_cannot_hear_the_reports(f: Federation) -> None:
    f.rti[1].set_service_reporting_switch(True)
    for subscribe in (f.rti[1].subscribe_interaction_class, f.rti[1].subscribe_interaction_class_passively):
        with refused(FederateServiceInvocationsAreBeingReportedViaMOM):
            subscribe(f.interaction(INVOCATION))
    f.rti[1].set_service_reporting_switch(False)
    f.rti[1].subscribe_interaction_class(f.interaction(INVOCATION))
    with refused(ReportServiceInvocationsAreSubscribed):
        f.rti[1].set_service_reporting_switch(True)
    f.rti[1].set_service_reporting_switch(False)
    f.rti[1].unsubscribe_interaction_class(f.interaction(INVOCATION))
    f.rti[1].set_service_reporting_switch(True)


def test_nor_by_the_mom(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportMOMexception")
    f.rti[1].subscribe_interaction_class(f.interaction(INVOCATION))
    mom.send("HLAadjust.HLAsetSwitches", 1, HLAserviceReporting="Enabled")
    ((_, found),) = mom.reports()
    assert "ReportServiceInvocationsAreSubscribed" in found["HLAexception"]


def test_reports_heard_at_a_class_above_do_not_breed(f: Federation) -> None:
    f.rti[0].subscribe_interaction_class(f.interaction("HLAinteractionRoot"))
    for i in (0, 1):
        f.rti[i].set_service_reporting_switch(True)
    f.quiet()
    f.rti[1].get_object_class_handle("Vehicle")
    assert [m for m, _ in f.take(0)] == ["receive_interaction"]


def test_the_object_model_can_have_it_on_from_the_start() -> None:
    with federation(2, model=fom("serviceReporting", "exceptionReporting")) as f:
        f.rti[0].set_service_reporting_switch(False)
        mom = Mom(f)
        mom.hear("HLAreportServiceInvocation", "HLAreportException")
        with refused(NameNotFound):
            f.rti[1].get_object_class_handle("Submarine")
        assert [name for name, _ in mom.reports()] == ["HLAreportServiceInvocation", "HLAreportException"]


@pytest.mark.parametrize(
    ("service", "arguments", "text"),
    [
        ("set_switch", ("attribute_scope", True), "setAttributeScopeAdvisorySwitch"),
        ("get_switch", ("service_reporting",), "getServiceReportingSwitch"),
        ("get_federation_switch", ("autoProvide",), "getAutoProvideSwitch"),
        ("change_interaction_order_type", (), "changeInteractionOrderType"),
        ("resign_federation_execution", (), "resignFederationExecution"),
        ("turn_interactions_on", (), "turnInteractionsOn"),
    ],
)
def test_names(service: str, arguments: tuple[object, ...], text: str) -> None:
    assert text_of_service(service, arguments) == text


def test_the_group_of_every_service_and_callback_is_that_of_its_clause() -> None:
    """Clauses 4 to 10; HLAserviceType of 11.4."""
    told = 0
    for part in ("services", "callbacks"):
        for one in standard(part):
            name = snake(one.name)
            known = SERVICES.get(name)
            if one.callback or known is not None:
                found = group_of(name) if known is None else known.group
                assert found.value == int(one.clause.partition(".")[0]) - 4, one.name
                told += 1
    assert told > 150


# --- exceptions -----------------------------------------------------------------------------------------------


def test_exceptions_are_reported_while_the_switch_is_on(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportException")
    for on in (False, True):
        f.rti[1].set_exception_reporting_switch(on)
        with refused(NameNotFound):
            f.rti[1].get_object_class_handle("Submarine")
    with refused(SynchronizationPointLabelNotAnnounced):
        f.rti[1].synchronization_point_achieved("x")
    first, second = [found for _, found in mom.reports()]
    assert first["HLAfederate"] == f.handle(1)
    assert first["HLAservice"] == "getObjectClassHandle"
    assert first["HLAexception"].startswith("NameNotFound: ")
    assert second["HLAservice"] == "synchronizationPointAchieved"


@pytest.mark.parametrize("target", ["tank", 5, None, b"?"])
def test_arguments_of_any_type_can_be_reported(f: Federation, target: object) -> None:
    mom = Mom(f)
    mom.hear("HLAreportServiceInvocation", "HLAreportException")
    f.rti[1].set_service_reporting_switch(True)
    f.rti[1].set_exception_reporting_switch(True)
    mom.reports()
    with pytest.raises(RTIexception):
        f.rti[1].update_attribute_values(target, {}, b"")  # type: ignore[arg-type]
    assert [name for name, _ in mom.reports()] == ["HLAreportServiceInvocation", "HLAreportException"]


# --- loss -----------------------------------------------------------------------------------------------------


def test_a_lost_federate_is_reported(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportFederateLost")
    gone = f.handle(1)
    f.rti[1]._lose_connection()
    assert mom.reports() == [
        (
            "HLAreportFederateLost",
            {
                "HLAfederate": gone,
                "HLAfederateName": "federate 1",
                "HLAtimeStamp": bytes(8),
                "HLAfaultDescription": "its connection was lost",
            },
        )
    ]
    f.resign(2)
    assert mom.reports() == []


# --- what does not fit ----------------------------------------------------------------------------------------


def test_a_value_that_cannot_be_told_exactly_is_told_nearly(f: Federation) -> None:
    """No count is too high and no name too odd to go on."""
    mom = Mom(f)
    mom.watch(FEDERATE, "HLAfederateName", "HLAupdatesSent")
    f.resign(2)
    f.rti[2].join_federation_execution("far \U0001f6f0", "test", "range")
    f.handles[2] = f.rti[2].get_federate_handle("far \U0001f6f0")
    member = f.node._node.federations["range"].members[f.handle(2)]
    member.tally.updates = 1 << 40
    found = mom.request(mom.instance(2), FEDERATE, ["HLAfederateName", "HLAupdatesSent"])
    assert found == {"HLAfederateName": "far \U0001f6f0", "HLAupdatesSent": (1 << 31) - 1}


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, "Null", ""),
        (True, "Boolean", "true"),
        (2.5, "Number", "2.5"),
        ("label", "String", "label"),
        (b"\x0a", "UserSuppliedTag", "0a"),
        (frozenset({"a", "b"}), "StringSet", "[a, b]"),
        (frozenset(), "String", "[]"),
        (ResignAction.NO_ACTION, "ResignAction", "NO_ACTION"),
        (HLAfloat64Time(1.5), "LogicalTime", "1.5"),
        (RangeBounds(1, 2), "RangeBounds", "[1, 2]"),
        (MessageRetractionReturn(False, None), "MessageRetractionReturn", "[false, ]"),
        ({AttributeHandle.of(3): b"\x01"}, "AttributeHandleValueMap", "{3: 01}"),
        ({}, "String", "{}"),
        (frozenset({FederateHandle.of(2), FederateHandle.of(1)}), "FederateHandleSet", "[1, 2]"),
        (frozenset({ObjectInstanceHandle.of(2)}), "String", "[2]"),
    ],
)
def test_arguments_in_words(f: Federation, value: object, kind: str, text: str) -> None:
    told = argument(value)
    assert (told["HLAargumentType"], told["HLAargumentValue"]) == (kind, text)
    Mom(f).model.encode("HLAargument", told)
