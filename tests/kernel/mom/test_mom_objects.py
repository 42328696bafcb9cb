"""The MOM's instances: discovered, reflected and removed like any other, and right (clause 11)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import weft
from support.federation import NAME, Federation, federation, refused
from support.mom_federation import FEDERATE, FEDERATION, THE_FEDERATION, Mom
from support.small_fom import extra_module, fom
from weft import ResignAction
from weft.fom import parse_module
from weft.model.errors import AttributeNotOwned, DeletePrivilegeNotHeld, InvalidObjectClassHandle
from weft.model.handles import ObjectClassHandle
from weft.model.records import Source

EXTRA = extra_module(
    "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Ship</name><sharing>PublishSubscribe</sharing>"
    "</objectClass></objectClass></objects>",
    "ships",
)


@pytest.fixture
def f() -> Iterator[Federation]:
    with federation(3, joined=2) as made:
        yield made


def test_there_is_one_for_each_federate_and_one_for_the_federation(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE, "HLAfederateName")
    mom.watch(FEDERATION, "HLAfederationName")
    found = f.take(0, "discover_object_instance")
    assert {args[0] for _, args in found} == {mom.instance(0), mom.instance(1), THE_FEDERATION}
    assert {args[2] for _, args in found} == {
        "HLAfederate federate 0",
        "HLAfederate federate 1",
        f"HLAfederation {NAME}",
    }


def test_who_joins_is_discovered_and_told_of_and_who_resigns_is_removed(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE)
    mom.watch(FEDERATION, "HLAfederatesInFederation")
    f.quiet()
    f.join(2)
    calls = f.take(0)
    assert [(m, a[0]) for m, a in calls] == [
        ("discover_object_instance", mom.instance(2)),
        ("reflect_attribute_values", mom.instance(2)),
        ("reflect_attribute_values", THE_FEDERATION),
    ]
    told = mom.read(FEDERATE, calls[1][1][1])
    assert told["HLAfederateName"] == "federate 2"
    assert "HLAupdatesSent" not in told  # periodic
    assert set(mom.read(FEDERATION, calls[2][1][1])["HLAfederatesInFederation"]) == set(f.handles)
    f.resign(2)
    calls = f.take(0)
    assert [(m, a[0]) for m, a in calls] == [
        ("remove_object_instance", mom.instance(2)),
        ("reflect_attribute_values", THE_FEDERATION),
    ]
    assert mom.read(FEDERATION, calls[1][1][1])["HLAfederatesInFederation"] == f.handles[:2]


def test_the_values_of_a_federate(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE)
    f.rti[2].join_federation_execution("late", "tanker", NAME, [EXTRA])
    f.handles[2] = f.rti[0].get_federate_handle("late")
    found = mom.request(mom.instance(2), FEDERATE)
    assert set(found) == set(mom.names(FEDERATE))
    assert found.pop("HLAtimeGrantedTime") >= 0
    counts = {name: value for name, value in found.items() if value == 0 and not isinstance(value, bool)}
    assert len(counts) == 16
    assert {name: value for name, value in found.items() if name not in counts} == {
        "HLAfederateHandle": f.handle(2),
        "HLAfederateName": "late",
        "HLAfederateType": "tanker",
        "HLAfederateHost": "embedded",
        "HLARTIversion": f"Weft {weft.__version__}",
        "HLAFOMmoduleDesignatorList": ["ships"],
        "HLAtimeConstrained": False,
        "HLAtimeRegulating": False,
        "HLAasynchronousDelivery": False,
        "HLAfederateState": "ActiveFederate",
        "HLAtimeManagerState": "TimeGranted",
        "HLAlogicalTime": bytes(8),
        "HLAlookahead": b"",
        "HLAGALT": b"",
        "HLALITS": b"",
        "HLAobjectClassRelevanceAdvisory": "Disabled",
        "HLAattributeRelevanceAdvisory": "Disabled",
        "HLAattributeScopeAdvisory": "Disabled",
        "HLAinteractionRelevanceAdvisory": "Disabled",
        "HLAconveyRegionDesignatorSets": "Disabled",
        "HLAautomaticResignAction": "CancelPendingAcquisitionsThenDeleteObjectInstancesThenDivestOwnership",
        "HLAserviceReporting": "Disabled",
        "HLAexceptionReporting": "Disabled",
        "HLAsendServiceReportsToFile": "Disabled",
        "HLAreportServiceFile": "",
    }


def test_the_values_of_the_federation(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATION)
    found = mom.request(THE_FEDERATION, FEDERATION)
    assert set(found) == set(mom.names(FEDERATION))
    document = parse_module(Source("current FDD", found.pop("HLAcurrentFDD").encode()))
    assert "HLAobjectRoot.Vehicle.Aircraft" in document.object_classes
    assert found == {
        "HLAfederationName": NAME,
        "HLAfederatesInFederation": f.handles[:2],
        "HLARTIversion": f"Weft {weft.__version__}",
        "HLAMIMdesignator": "HLAstandardMIM",
        "HLAFOMmoduleDesignatorList": ["test range"],
        "HLAtimeImplementationName": "HLAfloat64Time",
        "HLAlastSaveName": "",
        "HLAlastSaveTime": b"",
        "HLAnextSaveName": "",
        "HLAnextSaveTime": b"",
        "HLAautoProvide": "Disabled",
        "HLAadvisoriesUseKnownClass": "Disabled",
        "HLAdelaySubscriptionEvaluation": "Disabled",
        "HLAnonRegulatedGrant": "Disabled",
        "HLAallowRelaxedDDM": "Disabled",
    }


def test_modules_that_come_with_a_federate_are_told_of(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATION, "HLAFOMmoduleDesignatorList", "HLAcurrentFDD")
    f.quiet()
    f.rti[2].join_federation_execution("late", "tanker", NAME, [EXTRA])
    found = mom.values(THE_FEDERATION, FEDERATION)
    assert found["HLAFOMmoduleDesignatorList"] == ["test range", "ships"]
    assert "Ship" in found["HLAcurrentFDD"]


@pytest.mark.parametrize(
    ("switch", "attribute"),
    [
        ("object_class_relevance_advisory", "HLAobjectClassRelevanceAdvisory"),
        ("attribute_relevance_advisory", "HLAattributeRelevanceAdvisory"),
        ("attribute_scope_advisory", "HLAattributeScopeAdvisory"),
        ("interaction_relevance_advisory", "HLAinteractionRelevanceAdvisory"),
        ("convey_region_designator_sets", "HLAconveyRegionDesignatorSets"),
        ("service_reporting", "HLAserviceReporting"),
        ("exception_reporting", "HLAexceptionReporting"),
        ("send_service_reports_to_file", "HLAsendServiceReportsToFile"),
    ],
)
def test_a_switch_is_told_of_when_it_changes(f: Federation, switch: str, attribute: str) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE)
    f.quiet()
    for value, told in ((True, {attribute: "Enabled"}), (True, {}), (False, {attribute: "Disabled"})):
        getattr(f.rti[1], f"set_{switch}_switch")(value)
        found = mom.values(mom.instance(1), FEDERATE)
        file = found.pop("HLAreportServiceFile", None)  # it comes and goes with its switch
        assert (file is not None) == (switch == "send_service_reports_to_file" and bool(told))
        assert found == told


def test_the_resign_directive_is_told_of(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE)
    f.quiet()
    f.rti[1].set_automatic_resign_directive(ResignAction.NO_ACTION)
    assert mom.values(mom.instance(1), FEDERATE) == {"HLAautomaticResignAction": "NoAction"}


def test_values_are_asked_for_by_class_and_reach_all_who_subscribe(f: Federation) -> None:
    mom = Mom(f)
    for i in (0, 1):
        f.subscribe(i, FEDERATE, "HLAfederateName")
    f.quiet()
    f.rti[1].request_attribute_value_update(
        f.object_class(FEDERATE), f.attributes(FEDERATE, "HLAfederateName", "HLAfederateType"), b""
    )
    for i in (0, 1):
        told = [args for _, args in f.take(i, "reflect_attribute_values")]
        assert [args[0] for args in told] == [mom.instance(0), mom.instance(1)]
        assert [len(args[1]) for args in told] == [1, 1]  # the type is not subscribed to


def test_auto_provide_brings_the_values_with_the_discovery() -> None:
    with federation(1, model=fom("autoProvide")) as f:
        mom = Mom(f)
        mom.watch(FEDERATE, "HLAfederateName", "HLAROlength")
        assert mom.values(mom.instance(0), FEDERATE) == {"HLAfederateName": "federate 0", "HLAROlength": 0}


def test_they_belong_to_the_rti(f: Federation) -> None:
    mom = Mom(f)
    mom.watch(FEDERATE, "HLAfederateName")
    mine = mom.instance(0)
    with refused(DeletePrivilegeNotHeld):
        f.rti[0].delete_object_instance(mine, b"")
    with refused(AttributeNotOwned):
        f.rti[0].update_attribute_values(mine, {f.attribute(FEDERATE, "HLAfederateName"): b""}, b"")
    f.rti[0].local_delete_object_instance(mine)


def test_nobody_subscribed_nothing_sent(f: Federation) -> None:
    """The RTI makes no value and sends no report that nobody hears."""
    f.quiet()
    f.join(2)
    f.rti[1].set_exception_reporting_switch(True)
    f.rti[1].set_service_reporting_switch(True)
    with refused(InvalidObjectClassHandle):
        f.rti[1].get_object_class_name(ObjectClassHandle.of(9999))
    mom = Mom(f)
    mom.send("HLArequest.HLArequestPublications", 1)
    mom.send("HLAadjust.HLAsetTiming", 1, HLAreportPeriod=1)
    node = f.node._node
    assert node.tick(1e9) == []
    f.resign(2)
    assert [f.take(i) for i in range(3)] == [[], [], []]


def test_the_owner_is_the_rti_but_of_what_a_fom_adds_it_is_nobody() -> None:
    """Clause 7.18, and the extension of the MOM."""
    mood = extra_module(
        "<objects><objectClass><name>HLAobjectRoot</name><objectClass><name>HLAmanager</name><objectClass>"
        "<name>HLAfederate</name><attribute><name>Mood</name><dataType>HLAunicodeString</dataType>"
        "<updateType>Conditional</updateType><updateCondition>any</updateCondition><ownership>DivestAcquire</ownership>"
        "<sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>Receive</order>"
        "</attribute></objectClass></objectClass></objectClass></objects>"
    )
    with federation(1, model=mood) as f:
        mom = Mom(f)
        f.subscribe(0, FEDERATE, "HLAfederateName", "Mood")
        mine = mom.instance(0)
        name, extra = f.attribute(FEDERATE, "HLAfederateName"), f.attribute(FEDERATE, "Mood")
        f.quiet()
        f.rti[0].query_attribute_ownership(mine, {name, extra})
        assert sorted(f.take(0)) == [
            ("attribute_is_not_owned", (mine, frozenset({extra}))),
            ("attribute_is_owned_by_rti", (mine, frozenset({name}))),
        ]
        assert set(mom.request(mine, FEDERATE, ["HLAfederateName"])) == {"HLAfederateName"}
        f.publish(0, FEDERATE, "HLAfederateName", "Mood")
        f.rti[0].attribute_ownership_acquisition(mine, {name, extra}, b"")
        assert sorted(f.take(0)) == [
            ("attribute_ownership_acquisition_notification", (mine, frozenset({extra}), b"")),
            ("attribute_ownership_unavailable", (mine, frozenset({name}), b"")),
        ]
