"""Periodic reports on a virtual clock, and the MOM over a mesh (clause 11)."""

from __future__ import annotations

from support.federation import Federation, refused
from support.mom_federation import FEDERATE, FEDERATION, THE_FEDERATION, Mom, whole_model
from support.recording_ambassador import Recorder
from support.simulated_federates import DELETE, FOM, NAME
from weft import CallbackModel, ResignAction, RTIambassador
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.model.errors import FederateOwnsAttributes


class Simulated(Federation):
    """The test federation over the nodes of a simulated network."""

    def __init__(self, network: SimulatedNetwork, *nodes: str) -> None:
        self.network = network
        self.log = [Recorder() for _ in nodes]
        self.rti = [RTIambassador(network.at(node)) for node in nodes]
        self.handles = [None] * len(nodes)
        self.present = set()
        for rti, log in zip(self.rti, self.log, strict=True):
            rti.connect(log, CallbackModel.EVOKED)
        self.rti[0].create_federation_execution(NAME, [FOM])
        for i in range(len(nodes)):
            self.join(i)

    def drain(self, *which: int) -> None:
        self.network.settle()
        super().drain(*which)

    def pass_time(self, seconds: float) -> None:
        network = self.network
        network.run_until(lambda: False, network.clock.now + seconds)


def simulated(*nodes: str, names: tuple[str, ...] = ("S1",)) -> tuple[Simulated, Mom]:
    f = Simulated(SimulatedNetwork(names, profile=LinkProfile(jitter=0.01)), *nodes)
    return f, Mom(f, whole_model(FOM))


def test_periodic_attributes_come_as_often_as_asked_for() -> None:
    f, mom = simulated("S1", "S1")
    mom.watch(FEDERATE, "HLAupdatesSent", "HLAtimeGrantedTime", "HLAfederateName")
    f.quiet()
    f.pass_time(100.0)
    assert f.take(0, "reflect_attribute_values") == []
    mom.send("HLAadjust.HLAsetTiming", 1, HLAreportPeriod=3)
    f.pass_time(10.0)
    told = f.take(0, "reflect_attribute_values")
    assert [args[0] for _, args in told] == [mom.instance(1)] * 3
    values = [mom.read(FEDERATE, args[1]) for _, args in told]
    assert [set(v) for v in values] == [{"HLAupdatesSent", "HLAtimeGrantedTime"}] * 3
    assert [v["HLAtimeGrantedTime"] for v in values][1:] == [3000, 3000]
    node = f.network.node("S1")
    assert node.next_tick() is not None
    mom.send("HLAadjust.HLAsetTiming", 1, HLAreportPeriod=0)
    f.pass_time(10.0)
    assert f.take(0, "reflect_attribute_values") == []
    assert node.next_tick() is None


def test_after_a_pause_there_is_one_report() -> None:
    f, mom = simulated("S1")
    mom.watch(FEDERATE, "HLAROlength")
    mom.send("HLAadjust.HLAsetTiming", 0, HLAreportPeriod=2)
    node = f.network.node("S1")
    now = f.network.clock.now
    assert node.next_tick() == now + 2
    assert len(node.tick(now + 1.9)) == 0
    assert len(node.tick(now + 9)) == 1
    assert node.next_tick() == now + 10
    f.resign(0, DELETE)
    assert node.next_tick() is None


def test_the_values_of_a_federate_come_from_its_own_node() -> None:
    """Wherever it is asked: counters are kept where the federate is."""
    names = ("S1", "S2", "S3")
    f, mom = simulated("S3", "S2", "S1", names=names)
    mom.watch(FEDERATE)
    mom.watch(FEDERATION, "HLAfederatesInFederation")
    f.publish(1, "Vehicle", "Name")
    f.subscribe(2, "Vehicle", "Name")
    car = f.register(1, "Vehicle")
    for _ in range(5):
        f.update(1, car, "Vehicle", "Name")
    f.network.settle()
    one = mom.request(mom.instance(1), FEDERATE)
    two = mom.request(mom.instance(2), FEDERATE)
    assert (one["HLAupdatesSent"], one["HLAreflectionsReceived"], one["HLAobjectInstancesUpdated"]) == (
        5,
        0,
        1,
    )
    assert (two["HLAupdatesSent"], two["HLAreflectionsReceived"], two["HLAobjectInstancesReflected"]) == (
        0,
        5,
        1,
    )
    assert (one["HLAfederateHost"], two["HLAfederateHost"]) == ("S2", "S1")
    assert one["HLAobjectInstancesRegistered"] == 1
    assert two["HLAobjectInstancesDiscovered"] == 1
    assert mom.request(THE_FEDERATION, FEDERATION, ["HLAfederatesInFederation"]) == {
        "HLAfederatesInFederation": f.handles
    }


def test_requests_and_orders_cross_the_mesh() -> None:
    names = ("S1", "S2", "S3")
    f, mom = simulated("S3", "S2", "S1", names=names)
    mom.hear(
        "HLAreportUpdatesSent", "HLAreportMOMexception", "HLAreportServiceInvocation", "HLAreportException"
    )
    f.publish(1, "Vehicle", "Name")
    car = f.register(1, "Vehicle")
    f.update(1, car, "Vehicle", "Name")
    reports = mom.ask("HLArequestUpdatesSent", 1)
    assert sum(row["HLAcount"] for r in reports for row in r["HLAupdateCounts"]) == 1
    mom.send("HLAadjust.HLAsetSwitches", 1, HLAserviceReporting="Enabled", HLAexceptionReporting="Enabled")
    f.network.settle()
    assert f.rti[1].get_service_reporting_switch()
    f.publish(1, "Building", "Height")
    with refused(FederateOwnsAttributes):
        f.rti[1].resign_federation_execution(ResignAction.NO_ACTION)
    told = mom.reports()
    assert ("publishObjectClassAttributes", True) in [
        (r["HLAservice"], r["HLAsuccessIndicator"])
        for name, r in told
        if name == "HLAreportServiceInvocation"
    ]
    assert [r["HLAservice"] for name, r in told if name == "HLAreportException"] == [
        "resignFederationExecution"
    ]
    mom.send("HLAservice.HLAdeleteObjectInstance", 2, HLAobjectInstance=car)
    assert [name for name, _ in mom.reports()] == ["HLAreportMOMexception"]
    mom.send("HLAservice.HLAresignFederationExecution", 2, HLAresignAction="NoAction")
    f.network.settle()
    assert [m for m, _ in f.take(2)] == ["federate_resigned"]


def test_periodic_reports_cross_the_mesh() -> None:
    f, mom = simulated("S1", "S2", names=("S1", "S2"))
    mom.watch(FEDERATE, "HLAROlength")
    f.quiet()
    mom.send("HLAadjust.HLAsetTiming", 1, HLAreportPeriod=5)
    f.network.settle()
    assert f.network.node("S1").next_tick() is None
    f.pass_time(11.0)
    assert [args[0] for _, args in f.take(0, "reflect_attribute_values")] == [mom.instance(1)] * 2


def test_a_lost_node_loses_its_federates() -> None:
    f, mom = simulated("S1", "S2", names=("S1", "S2"))
    mom.hear("HLAreportFederateLost")
    f.quiet()
    f.network.crash("S2")
    f.network.settle()
    while f.rti[0].evoke_callback(0.0):
        pass
    ((_, found),) = [mom.decoded(args) for m, args in f.log[0].take() if m == "receive_interaction"]
    assert found["HLAfederateName"] == "federate 1"
    assert found["HLAfaultDescription"] == "its node 'S2' went away"
