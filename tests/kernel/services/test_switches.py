"""All switches of HLA 4 (clauses 10.34 to 10.56, 11): from the object model, by service, through the MOM, and what each does.

What the advisory, auto-provide and reporting switches do is held by the random runs and by the tests of the MOM.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import federation as embedded
from support.mom_federation import FEDERATE, FEDERATION, THE_FEDERATION, Mom
from support.server_in_thread import serving
from support.simulated_federates import federation, handles
from support.small_fom import extra_module, fom
from weft import (
    CallbackModel,
    EmbeddedNode,
    FederateAmbassador,
    ResignAction,
    RTIambassador,
    RtiConfiguration,
)
from weft.fom.schema import SWITCHES
from weft.host.observing.service_reports import ReportFiles
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork

TANK = "Vehicle.GroundVehicle.Tank"

# In the object model -> the service's name, and what the MOM calls it.
OF_A_FEDERATE = {
    "objectClassRelevanceAdvisory": ("object_class_relevance_advisory", "HLAobjectClassRelevanceAdvisory"),
    "attributeRelevanceAdvisory": ("attribute_relevance_advisory", "HLAattributeRelevanceAdvisory"),
    "attributeScopeAdvisory": ("attribute_scope_advisory", "HLAattributeScopeAdvisory"),
    "interactionRelevanceAdvisory": ("interaction_relevance_advisory", "HLAinteractionRelevanceAdvisory"),
    "conveyRegionDesignatorSets": ("convey_region_designator_sets", "HLAconveyRegionDesignatorSets"),
    "serviceReporting": ("service_reporting", "HLAserviceReporting"),
    "exceptionReporting": ("exception_reporting", "HLAexceptionReporting"),
    "sendServiceReportsToFile": ("send_service_reports_to_file", "HLAsendServiceReportsToFile"),
}
OF_THE_FEDERATION = {
    "autoProvide": ("auto_provide", "HLAautoProvide"),
    "delaySubscriptionEvaluation": ("delay_subscription_evaluation", "HLAdelaySubscriptionEvaluation"),
    "advisoriesUseKnownClass": ("advisories_use_known_class", "HLAadvisoriesUseKnownClass"),
    "allowRelaxedDDM": ("allow_relaxed_ddm", "HLAallowRelaxedDDM"),
    "nonRegulatedGrant": ("non_regulated_grant", "HLAnonRegulatedGrant"),
}
OTHERS = {
    "automaticResignAction": "no Boolean; `test_the_resign_directive_has_all_ways`",
    "conveyProducingFederate": "of 2010 alone: since 2025 the producing federate is always conveyed",
}


def test_no_switch_of_the_object_model_is_forgotten() -> None:
    assert {*OF_A_FEDERATE, *OF_THE_FEDERATION, *OTHERS} == set(SWITCHES)


@pytest.mark.parametrize("tag", OF_A_FEDERATE)
def test_a_federates_switch_has_all_ways(tag: str) -> None:
    """Initially as in the object model; set by its own service, or by another federate through the MOM; seen in the MOM."""
    service, attribute = OF_A_FEDERATE[tag]
    for initially in (False, True):
        with embedded.federation(2, model=fom(*[tag] if initially else [])) as f:
            mom = Mom(f)
            mom.watch(FEDERATE, attribute)
            get = getattr(f.rti[1], f"get_{service}_switch")
            assert get() is initially
            assert mom.request(mom.instance(1), FEDERATE, [attribute])[attribute] == _word(initially)
            mom.send("HLAadjust.HLAsetSwitches", 1, **{attribute: _word(not initially)})
            assert get() is not initially
            assert mom.values(mom.instance(1), FEDERATE)[attribute] == _word(not initially)
            getattr(f.rti[1], f"set_{service}_switch")(initially)
            assert get() is initially
            assert mom.values(mom.instance(1), FEDERATE)[attribute] == _word(initially)


@pytest.mark.parametrize("tag", OF_THE_FEDERATION)
def test_a_switch_of_the_federation_has_all_ways(tag: str) -> None:
    """As in the object model with which the federation was created; only auto-provide can be changed, through the MOM."""
    service, attribute = OF_THE_FEDERATION[tag]
    late = extra_module(f'<switches><{tag} isEnabled="true"/></switches>')
    for initially in (False, True):
        with embedded.federation(2, joined=1, model=fom(*[tag] if initially else [])) as f:
            f.rti[1].join_federation_execution("late", "test", embedded.NAME, [late])
            mom = Mom(f)
            mom.watch(FEDERATION, attribute)
            assert [getattr(rti, f"get_{service}_switch")() for rti in f.rti] == [initially] * 2
            assert mom.request(THE_FEDERATION, FEDERATION, [attribute])[attribute] == _word(initially)
            if tag == "autoProvide":
                mom.send("HLAadjust.HLAsetSwitches", about=FEDERATION, HLAautoProvide=_word(not initially))
                assert f.rti[1].get_auto_provide_switch() is not initially
                assert mom.values(THE_FEDERATION, FEDERATION)[attribute] == _word(not initially)


def _word(on: bool) -> str:
    return "Enabled" if on else "Disabled"


def test_the_resign_directive_has_all_ways() -> None:
    with embedded.federation(2, model=fom(resign="DeleteObjects")) as f:
        mom = Mom(f)
        mom.watch(FEDERATE, "HLAautomaticResignAction")
        f.quiet()
        assert f.rti[1].get_automatic_resign_directive() is ResignAction.DELETE_OBJECTS
        mom.send("HLAadjust.HLAsetSwitches", 1, HLAautomaticResignAction="NoAction")
        assert f.rti[1].get_automatic_resign_directive() is ResignAction.NO_ACTION
        f.rti[1].set_automatic_resign_directive(ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
        told = mom.values(mom.instance(1), FEDERATE)
        assert told == {"HLAautomaticResignAction": "DivestOwnership"}


# --- effects --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", [False, True])
def test_advisories_use_the_known_class_or_the_registered_one(on: bool) -> None:
    """A federate knows a tank as a vehicle, and then subscribes to tanks: it gets nothing more, but may be said to want it."""
    with embedded.federation(2, model=fom(*["advisoriesUseKnownClass"] if on else [])) as f:
        f.rti[0].set_attribute_relevance_advisory_switch(True)
        f.publish(0, TANK, "Position", "Ammo")
        f.subscribe(1, "Vehicle", "Position")
        tank = f.register(0, TANK)
        f.quiet()
        f.subscribe(1, TANK, "Ammo")
        told = f.take(0, "turn_updates_on_for_object_instance")
        assert [args for _, args in told] == ([] if on else [(tank, f.attributes(TANK, "Ammo"))])
        f.update(0, tank, TANK, "Ammo")
        assert f.take(1, "reflect_attribute_values") == []


@pytest.mark.parametrize("on", [False, True])
def test_who_subscribes_while_a_message_is_under_way(on: bool) -> None:
    """With Delay Subscription Evaluation it gets the message; without it, none was sent to its node."""
    network = SimulatedNetwork(["S1", "S2"], 1, LinkProfile(delay=0.1))
    ear, sender = federation(
        network, "S2", "S1", fom=fom(*["delaySubscriptionEvaluation"] if on else [])
    )  # the ear is at home
    sender.publish_interaction("Event")
    sender.publish("Vehicle", "Position", "Name")
    ear.subscribe("Vehicle", "Name")
    thing = sender.register("Vehicle")
    sender.call(
        "publish_object_class_directed_interactions",
        handles().classes["Vehicle"],
        {handles().interactions["Command"]},
    )
    network.settle()
    ear.heard()
    sender.send("Event", b"on the way")
    sender.update(thing, b"too", "Position")
    sender.call("send_directed_interaction", handles().interactions["Command"], thing, {}, b"and this")
    ear.subscribe_interaction("Event")
    ear.subscribe("Vehicle", "Position")
    ear.call(
        "subscribe_object_class_directed_interactions",
        handles().classes["Vehicle"],
        {handles().interactions["Command"]},
        True,
    )
    network.settle()
    heard = [method for method, _ in ear.heard() if method.startswith(("receive", "reflect"))]
    everything = ["receive_interaction", "reflect_attribute_values", "receive_directed_interaction"]
    assert sorted(heard) == (sorted(everything) if on else [])


# --- service reports in a file --------------------------------------------------------------------------------


def _begin(rti: RTIambassador) -> None:
    rti.set_send_service_reports_to_file_switch(True)
    rti.set_service_reporting_switch(True)
    rti.get_object_class_handle("Vehicle")
    with pytest.raises(Exception, match="Submarine"):
        rti.get_object_class_handle("Submarine")
    rti.set_service_reporting_switch(False)
    rti.get_object_class_handle("Vehicle")


def _check(lines: list[str], federate: str) -> None:
    about, *reports = [json.loads(line) for line in lines]
    assert about["federate"] == federate
    assert [(r["HLAserialNumber"], r["HLAservice"], r["HLAsuccessIndicator"]) for r in reports] == [
        (0, "setServiceReportingSwitch", True),
        (1, "getObjectClassHandle", True),
        (2, "getObjectClassHandle", False),
        (3, "setServiceReportingSwitch", True),
    ]
    assert reports[1]["HLAsuppliedArguments"][0]["HLAargumentValue"] == "Vehicle"
    assert reports[2]["HLAexception"].startswith("NameNotFound")


def test_service_reports_go_to_a_file_of_the_run_directory(tmp_path: Path) -> None:
    """The MOM says which; nobody need subscribe to the reports.  A name cannot lead out of the directory."""
    name = "../../etc/passwd \u00e9"
    with embedded.federation(1, node=EmbeddedNode(run_directory=str(tmp_path))) as f:
        other = RTIambassador(f.node)
        other.connect(FederateAmbassador(), CallbackModel.EVOKED)
        f.handles.append(other.join_federation_execution(name, "test", embedded.NAME))
        mom = Mom(f)
        mom.watch(FEDERATE, "HLAreportServiceFile")
        f.quiet()
        assert not list(tmp_path.iterdir())
        _begin(other)
        file = mom.values(mom.instance(1), FEDERATE)["HLAreportServiceFile"]
        assert tmp_path in Path(file).parents
        assert ".." not in file
        _check(Path(file).read_text().splitlines(), name)
        other.set_send_service_reports_to_file_switch(False)
        assert mom.values(mom.instance(1), FEDERATE)["HLAreportServiceFile"] == ""
        other.leave()


def test_a_server_and_a_simulated_node_write_the_same(tmp_path: Path) -> None:
    with serving(run_directory=str(tmp_path)) as server:
        rti = RTIambassador()
        address = RtiConfiguration(rti_address=server.address("tcp"))
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED, address)
        rti.create_federation_execution("F", [fom()])
        rti.join_federation_execution("reported", "test", "F")
        _begin(rti)
        rti.leave()
    (file,) = tmp_path.glob("*.services.jsonl")
    _check(file.read_text().splitlines(), "reported")
    network = SimulatedNetwork(["S1", "S2"])
    sites = [network.at("S1"), network.at("S2")]
    with embedded.federation(2, nodes=sites) as f:
        _begin(f.rti[1])
        ((name, lines),) = network.reports.items()
    assert name.startswith("runs/S2/")  # the federate's own node writes
    _check(lines, "federate 1")


def test_a_report_file_is_bounded_and_a_full_disk_stops_only_it(tmp_path: Path) -> None:
    said: list[str] = []
    files = ReportFiles(said.append, limit=100)
    file = str(tmp_path / "a" / "reports")
    for number in range(50):
        files.write(file, json.dumps({"number": number}))
    files.close()
    *lines, last = Path(file).read_text().splitlines()
    assert [json.loads(line)["number"] for line in lines] == list(range(len(lines)))
    assert 0 < len("\n".join(lines)) <= 100
    assert "limit" in last
    (tmp_path / "taken").write_text("")
    for _ in range(2):
        files.write(str(tmp_path / "taken" / "reports"), "{}")  # a file where a folder should be
    assert len(said) == 2
    assert "no more service reports" in said[1]
