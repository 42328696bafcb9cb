"""BestEffortChannelType of a RID file: by which class of service best-effort messages go between nodes
(docs/explanation/ddm.md, S2-5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.federation import Federation
from support.network_namespace import run_apart
from support.node_processes import write_file
from support.small_fom import BEST_EFFORT, RELIABLE, fom
from support.strategy_federates import rid
from weft.fabric import Topology
from weft.host.carrier import ServiceClass
from weft.host.simulated.fabric import FabricNetwork, FabricProfile, SimulatedCarrier

TANK = "Vehicle.GroundVehicle.Tank"
ROUNDS = 40


class Traffic:
    """Messages that a node has given to the fabric, by class."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: dict[ServiceClass, int] = dict.fromkeys(ServiceClass, 0)
        send = SimulatedCarrier.send

        def counted(
            carrier: SimulatedCarrier, node: str, port: Any, kind: ServiceClass, payload: bytes
        ) -> bool:
            self.sent[kind] += 1
            return send(carrier, node, port, kind, payload)

        monkeypatch.setattr(SimulatedCarrier, "send", counted)

    def take(self) -> tuple[int, int]:
        """Reliable, best effort."""
        found = self.sent[ServiceClass.RELIABLE], self.sent[ServiceClass.BEST_EFFORT]
        self.sent = dict.fromkeys(ServiceClass, 0)
        return found


@pytest.mark.parametrize("strategy", ["Exact", "Simple", "StaticGridPartitioned"])
@pytest.mark.parametrize(("kind", "over_links"), [("UDP", False), ("TCP", True)])
def test_by_which_class_best_effort_messages_go(
    strategy: str, kind: str, over_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Updates, interactions and directed ones, over a network that loses half of what is best effort; the callbacks name the
    transportation of the object model all the same (IEEE 1516.1-2025, 6.11, 6.13, 6.15)."""
    topology = Topology(("S1", "S2"), {"D": ("S1", "S2")})
    made = rid(strategy, 2, BestEffortChannelType=kind)
    network = FabricNetwork(topology, 7, FabricProfile(loss=0.5, delay=0.001), lost_seconds=1000.0, rid=made)
    f = Federation(2, model=fom(), nodes=[network.at("S1"), network.at("S2")])
    fire, halt = f.interaction("Event.Fire"), f.interaction("Command.Halt")
    ways = {name: f.rti[0].get_transportation_type_handle(name) for name in (RELIABLE, BEST_EFFORT)}
    tank = f.object_class(TANK)
    f.publish(0, TANK, "Position", "Ammo")
    f.subscribe(1, TANK, "Position", "Ammo")
    for published in (fire, halt):
        f.rti[0].publish_interaction_class(published)
    f.rti[1].subscribe_interaction_class(fire)
    f.rti[0].publish_object_class_directed_interactions(tank, {halt})
    f.rti[1].subscribe_object_class_directed_interactions_universally(tank, {halt})
    f.rti[0].request_interaction_transportation_type_change(halt, ways[BEST_EFFORT])
    one = f.register(0, TANK)
    network.settle()
    f.quiet()
    traffic = Traffic(monkeypatch)

    def rounds(call: Any, callback: str, place: int) -> tuple[tuple[int, int], dict[str, int]]:
        """What went, and what came, by transportation."""
        for _ in range(ROUNDS):
            call()
        network.settle()
        heard: dict[str, int] = {}
        for _, arguments in f.take(1, callback):
            name = f.rti[1].get_transportation_type_name(arguments[place])
            heard[name] = heard.get(name, 0) + 1
        return traffic.take(), heard

    def check(went: tuple[int, int], heard: dict[str, int]) -> None:
        assert went == ((ROUNDS, 0) if over_links else (0, ROUNDS))
        assert heard.keys() == {BEST_EFFORT}
        assert (heard[BEST_EFFORT] == ROUNDS) == over_links

    check(*rounds(lambda: f.update(0, one, TANK, "Position"), "reflect_attribute_values", 3))
    check(*rounds(lambda: f.send(0, "Event.Fire"), "receive_interaction", 3))
    directed: Any = f.rti[0].send_directed_interaction
    check(*rounds(lambda: directed(halt, one, {}, b""), "receive_directed_interaction", 4))
    # Together with a reliable attribute: one message over the links, and two callbacks.
    went, heard = rounds(lambda: f.update(0, one, TANK, "Position", "Ammo"), "reflect_attribute_values", 3)
    assert went == ((ROUNDS, 0) if over_links else (ROUNDS, ROUNDS))
    assert heard[RELIABLE] == ROUNDS
    assert (heard[BEST_EFFORT] == ROUNDS) == over_links
    f.close()


PROGRAM = """
import json, sys, time
from pathlib import Path
import weft
from weft import CallbackModel, FederateAmbassador, RTIambassador, RtiConfiguration
from support.strategy_federates import FED

folder = Path(sys.argv[1])

class Ears(FederateAmbassador):
    def __init__(self):
        self.heard = []
        self.ways = set()
    def reflect_attribute_values(self, instance, values, tag, transportation, *rest, **more):
        self.heard.append(tag.decode())
        self.ways.add(transportation)

def joined(server):
    rti, ears = RTIambassador(), Ears()
    extra = f"Weft.settings={folder / 'settings.toml'}\\nWeft.journal=none"
    address = f"mesh://{server}@{folder / 'domains.toml'}"
    rti.connect(ears, CallbackModel.EVOKED, RtiConfiguration(rti_address=address, additional_settings=extra))
    if server == "S1":
        rti.create_federation_execution("paper", [FED])
    rti.join_federation_execution(server, "test", "paper")
    return rti, ears

datagrams = []
sys.addaudithook(lambda event, given: datagrams.append(given[1]) if event == "socket.sendto" else None)

(one, ears), (two, _) = made = [joined(server) for server in ("S1", "S2")]
cls = two.get_object_class_handle("C")
attribute = two.get_attribute_handle(cls, "x")
one.subscribe_object_class_attributes(cls, {attribute})
two.publish_object_class_attributes(cls, {attribute})
it = two.register_object_instance(cls)
datagrams.clear()
end = time.monotonic() + 240
for number in range(50):
    tag = b"%d" % number
    while tag.decode() not in ears.heard:  # a datagram may be lost
        assert time.monotonic() < end, number
        two.update_attribute_values(it, {attribute: b"v"}, tag)
        one.evoke_multiple_callbacks(0.05, 0.05)
print(json.dumps({
    "datagrams": len(datagrams),
    "ways": [one.get_transportation_type_name(way) for way in ears.ways],
}))
for rti, _ in made:
    rti.resign_federation_execution(weft.ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
weft.stop_node()
"""


@pytest.mark.parametrize("kind", ["UDP", "TCP"])
def test_datagrams_that_leave_nodes_with_sockets(kind: str, tmp_path: Path) -> None:
    """Counted where the process calls the operating system."""
    write_file(tmp_path, Topology(("S1", "S2"), {"D": ("S1", "S2")}))
    text = f"(RTI (DataDistribution (StrategyToUse Exact) (BestEffortChannelType {kind})))"
    (tmp_path / "some.rid").write_text(text)
    settings = f'[serve]\nrun_directory = "{tmp_path}"\n[ddm]\nrid = "{tmp_path / "some.rid"}"\n'
    (tmp_path / "settings.toml").write_text(settings)
    result = json.loads(run_apart(PROGRAM, str(tmp_path)).splitlines()[-1])
    assert result["ways"] == [BEST_EFFORT]
    assert result["datagrams"] == 0 if kind == "TCP" else result["datagrams"] >= 50
