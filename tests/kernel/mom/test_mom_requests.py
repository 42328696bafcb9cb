"""Every HLArequest and the reports that answer it (clause 11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.federation import NAME, Federation, federation
from support.mom_federation import FEDERATE, FEDERATION, Mom, Raw
from support.small_fom import extra_module, fom
from weft.fom import standard_mim
from weft.kernel.mom.mom_requests import OF_FEDERATE, OF_FEDERATION
from weft.wire.codec.hot import write_values
from weft.wire.codec.packed import WireValues

TANK = "Vehicle.GroundVehicle.Tank"
EXTRA = extra_module("", "more")


@pytest.fixture
def f() -> Iterator[Federation]:
    with federation(3, joined=2) as made:
        yield made


def test_every_request_of_the_mim_is_answered(f: Federation) -> None:
    classes = Mom(f).model.interaction_classes
    for about, answered in ((FEDERATE, OF_FEDERATE), (FEDERATION, OF_FEDERATION)):
        parent = f"HLAinteractionRoot.{about}.HLArequest"
        standard = {name for name in answered if not name.startswith("Weft")}
        assert {name.rpartition(".")[2] for name, c in classes.items() if c.parent == parent} == standard


def test_publications(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportObjectClassPublication", "HLAreportInteractionPublication")
    mom.hear("HLAreportDirectedInteractionPublication")
    none = {"HLAfederate": f.handle(1), "HLAnumberOfClasses": 0}
    empty = {"HLAfederate": f.handle(1), "HLAinteractionClassList": []}
    assert mom.ask("HLArequestPublications", 1) == [none, empty, none]
    f.publish(1, TANK, "Ammo")
    f.publish(1, "Building", "Height")
    f.rti[1].publish_interaction_class(f.interaction("Event.Hit"))
    f.rti[1].publish_object_class_directed_interactions(f.object_class("Vehicle"), {f.interaction("Command")})
    privilege = f.attribute("Building", "HLAprivilegeToDeleteObject")
    two = {"HLAfederate": f.handle(1), "HLAnumberOfClasses": 2}
    assert mom.ask("HLArequestPublications", 1) == [
        {
            **two,
            "HLAobjectClass": f.object_class(TANK),
            "HLAattributeList": [f.attribute(TANK, "Ammo"), privilege],
        },
        {
            **two,
            "HLAobjectClass": f.object_class("Building"),
            "HLAattributeList": [f.attribute("Building", "Height"), privilege],
        },
        {"HLAfederate": f.handle(1), "HLAinteractionClassList": [f.interaction("Event.Hit")]},
        {
            "HLAfederate": f.handle(1),
            "HLAnumberOfClasses": 1,
            "HLAobjectClass": f.object_class("Vehicle"),
            "HLAinteractionClassList": [f.interaction("Command")],
        },
    ]


def test_subscriptions(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportObjectClassSubscription", "HLAreportInteractionSubscription")
    mom.hear("HLAreportDirectedInteractionSubscription")
    none = {"HLAfederate": f.handle(1), "HLAnumberOfClasses": 0}
    empty = {"HLAfederate": f.handle(1), "HLAinteractionClassList": []}
    assert mom.ask("HLArequestSubscriptions", 1) == [none, empty, none]
    f.subscribe(1, "Vehicle", "Position", rate="Low")
    f.subscribe(1, "Vehicle", "Name", active=False)
    f.rti[1].subscribe_interaction_class(f.interaction("Event"))
    f.rti[1].subscribe_interaction_class_passively(f.interaction("Command"))
    f.rti[1].subscribe_object_class_directed_interactions(
        f.object_class("Vehicle"), {f.interaction("Command")}
    )
    row = {"HLAfederate": f.handle(1), "HLAnumberOfClasses": 2, "HLAobjectClass": f.object_class("Vehicle")}
    assert mom.ask("HLArequestSubscriptions", 1) == [
        {
            **row,
            "HLAactive": True,
            "HLAmaxUpdateRate": "Low",
            "HLAattributeList": [f.attribute("Vehicle", "Position")],
        },
        {
            **row,
            "HLAactive": False,
            "HLAmaxUpdateRate": "",
            "HLAattributeList": [f.attribute("Vehicle", "Name")],
        },
        {
            "HLAfederate": f.handle(1),
            "HLAinteractionClassList": [
                {"HLAinteractionClass": f.interaction("Event"), "HLAactive": True},
                {"HLAinteractionClass": f.interaction("Command"), "HLAactive": False},
            ],
        },
        {
            "HLAfederate": f.handle(1),
            "HLAnumberOfClasses": 1,
            "HLAobjectClass": f.object_class("Vehicle"),
            "HLAinteractionClassList": [f.interaction("Command")],
        },
    ]


def test_the_information_on_an_instance(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportObjectInstanceInformation")
    f.publish(1, TANK, "Ammo")
    f.subscribe(0, "Vehicle", "HLAprivilegeToDeleteObject")
    tank = f.register(1, TANK)
    mine = mom.ask("HLArequestObjectInstanceInformation", 1, HLAobjectInstance=tank)
    privilege = f.attribute(TANK, "HLAprivilegeToDeleteObject")
    assert mine == [
        {
            "HLAfederate": f.handle(1),
            "HLAobjectInstance": tank,
            "HLAownedInstanceAttributeList": [f.attribute(TANK, "Ammo"), privilege],
            "HLAregisteredClass": f.object_class(TANK),
            "HLAknownClass": f.object_class(TANK),
        }
    ]
    (his,) = mom.ask("HLArequestObjectInstanceInformation", 0, HLAobjectInstance=tank)
    assert his["HLAownedInstanceAttributeList"] == []
    assert his["HLAknownClass"] == f.object_class("Vehicle")
    f.join(2)
    assert mom.ask("HLArequestObjectInstanceInformation", 2, HLAobjectInstance=tank) == [
        {"HLAfederate": f.handle(2), "HLAobjectInstance": tank, "HLAownedInstanceAttributeList": []}
    ]


def test_the_modules_of_a_federate_and_of_the_federation(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportFOMmoduleData")
    mom.hear("HLAreportFOMmoduleData", "HLAreportMIMdata", about=FEDERATION)
    f.rti[2].join_federation_execution("late", "tanker", NAME, [EXTRA])
    f.handles[2] = f.rti[0].get_federate_handle("late")
    assert mom.ask("HLArequestFOMmoduleData", 2, HLAFOMmoduleIndicator=0) == [
        {"HLAfederate": f.handle(2), "HLAFOMmoduleIndicator": 0, "HLAFOMmoduleData": EXTRA.data.decode()}
    ]
    for index, source in enumerate((fom(), EXTRA)):
        assert mom.ask("HLArequestFOMmoduleData", about=FEDERATION, HLAFOMmoduleIndicator=index) == [
            {"HLAFOMmoduleIndicator": index, "HLAFOMmoduleData": source.data.decode()}
        ]
    (mim,) = mom.ask("HLArequestMIMdata", about=FEDERATION)
    assert mim == {"HLAMIMdata": standard_mim().source.data.decode()}


def test_synchronization_points(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportSynchronizationPoints", "HLAreportSynchronizationPointStatus", about=FEDERATION)
    f.join(2)
    assert mom.ask("HLArequestSynchronizationPoints", about=FEDERATION) == [{"HLAsyncPoints": []}]
    f.rti[1].register_federation_synchronization_point("go", b"", {f.handle(0), f.handle(1)})
    f.rti[1].register_federation_synchronization_point("stop", b"")
    f.rti[1].synchronization_point_achieved("go")
    assert mom.ask("HLArequestSynchronizationPoints", about=FEDERATION) == [{"HLAsyncPoints": ["go", "stop"]}]
    (status,) = mom.ask("HLArequestSynchronizationPointStatus", about=FEDERATION, HLAsyncPointName="go")
    assert status["HLAsyncPointName"] == "go"
    assert {s["HLAfederate"]: s["HLAfederateSyncStatus"] for s in status["HLAsyncPointFederates"]} == {
        f.handle(0): "MovingToSyncPoint",
        f.handle(1): "WaitingForRestOfFederation",
        f.handle(2): "NoActivity",
    }
    assert mom.ask("HLArequestSynchronizationPointStatus", about=FEDERATION, HLAsyncPointName="none") == [
        {"HLAsyncPointName": "none", "HLAsyncPointFederates": []}
    ]


# --- what is wrong with a request -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "federate", "values", "says"),
    [
        ("HLArequestPublications", None, {}, "HLAfederate is missing"),
        ("HLArequestPublications", None, {"HLAfederate": b"nobody"}, "HLAfederate is no joined federate"),
        (
            "HLArequestPublications",
            None,
            {"HLAfederate": Raw(b"\xff")},
            "HLAfederate is no HLAfederateReference",
        ),
        ("HLArequestObjectInstanceInformation", 1, {}, "HLAobjectInstance is missing"),
        ("HLArequestFOMmoduleData", 1, {"HLAFOMmoduleIndicator": 7}, "there are 0 modules"),
    ],
)
def test_a_parameter_that_is_missing_or_wrong_is_reported(
    f: Federation, name: str, federate: int | None, values: dict[str, Any], says: str
) -> None:
    mom = Mom(f)
    mom.hear("HLAreportMOMexception")
    (found,) = mom.ask(name, federate, **values)
    assert says in found.pop("HLAexception")
    assert found == {
        "HLAfederate": f.handle(0),
        "HLAservice": f"HLAinteractionRoot.HLAmanager.HLAfederate.HLArequest.{name}",
        "HLAparameterError": True,
    }


def test_a_request_is_an_ordinary_interaction_too(f: Federation) -> None:
    """Others may listen to what is asked; the request needs to be published like any other."""
    mom = Mom(f)
    request = f.interaction("HLAmanager.HLAfederate.HLArequest.HLArequestPublications")
    f.rti[1].subscribe_interaction_class(request)
    mom.hear("HLAreportInteractionPublication")
    mom.send("HLArequest.HLArequestPublications", 1)
    assert [m for m, _ in f.take(1)] == ["receive_interaction"]
    assert [name for name, _ in mom.reports()] == ["HLAreportInteractionPublication"]


def test_a_class_below_a_request_is_taken_as_the_request() -> None:
    mine = extra_module(
        "<interactions><interactionClass><name>HLAinteractionRoot</name><interactionClass><name>HLAmanager</name>"
        "<interactionClass><name>HLAfederate</name><interactionClass><name>HLArequest</name><interactionClass>"
        "<name>HLArequestPublications</name><interactionClass><name>Mine</name><sharing>PublishSubscribe</sharing>"
        "<transportation>HLAreliable</transportation><order>Receive</order></interactionClass></interactionClass>"
        "</interactionClass></interactionClass></interactionClass></interactionClass></interactions>"
    )
    with federation(1, model=mine) as f:
        mom = Mom(f)
        mom.hear("HLAreportInteractionPublication")
        mom.send("HLArequest.HLArequestPublications.Mine", 0)
        assert [name for name, _ in mom.reports()] == ["HLAreportInteractionPublication"]


def test_a_request_that_came_over_the_wire_is_unpacked(f: Federation) -> None:
    mom = Mom(f)
    mom.hear("HLAreportInteractionPublication")
    request = f.interaction("HLAmanager.HLAfederate.HLArequest.HLArequestPublications")
    parameter = f.rti[0].get_parameter_handle(request, "HLAfederate")
    f.rti[0].publish_interaction_class(request)
    value = mom.model.encode("HLAfederateReference", f.handle(1))
    given = WireValues([parameter], write_values({parameter: value}), request, b"")
    connection = f.rti[0]._connection
    assert connection is not None
    connection.call("send_interaction", (request, given, b""))
    assert [found["HLAfederate"] for _, found in mom.reports()] == [f.handle(1)]
