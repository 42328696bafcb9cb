"""Federations over real nodes: processes, two domains, a router between, and what becomes of them when one is killed.

Issue 4: the federation over nodes; a node that dies takes its federates with it, one that comes back from its journal goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.node_processes import LOST, PATIENCE, NodeProcess, ended, wait_until, write_file
from support.server_in_thread import WAIT, Listener, Talker
from weft import CallbackModel, ResignAction, RTIambassador
from weft.fabric import Topology

PLACES = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})


class Ears(Listener):
    """Everything that the tests below ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.discovered: list[Any] = []
        self.values: list[bytes] = []
        self.removed: list[Any] = []
        self.announced: list[str] = []
        self.synchronized: list[str] = []
        self.acquired: list[Any] = []

    def discover_object_instance(self, instance: Any, object_class: Any, name: str, producer: Any) -> None:
        self.discovered.append(instance)

    def reflect_attribute_values(self, instance: Any, values: Any, *rest: Any) -> None:
        self.values += values.values()

    def remove_object_instance(self, instance: Any, *rest: Any) -> None:
        self.removed.append(instance)

    def announce_synchronization_point(self, label: str, tag: bytes) -> None:
        self.announced.append(label)

    def federation_synchronized(self, label: str, failed: Any) -> None:
        self.synchronized.append(label)

    def attribute_ownership_acquisition_notification(
        self, instance: Any, attributes: Any, tag: bytes
    ) -> None:
        self.acquired.append(instance)


class Tanker(Talker):
    """A federate that also has to do with tanks."""

    def __init__(self, address: str) -> None:
        self.all = Ears()
        super().__init__(address, ears=self.all)
        rti = self.rti
        self.tank = rti.get_object_class_handle("HLAobjectRoot.Vehicle.Tank")
        self.damage = rti.get_attribute_handle(self.tank, "Position")
        rti.publish_object_class_attributes(self.tank, {self.damage})
        rti.subscribe_object_class_attributes(self.tank, {self.damage})

    def until(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < deadline, f"not in time: {what}"
            assert not self.all.lost, self.all.lost
            self.rti.evoke_callback(0.1)


@pytest.fixture(params=[LOST])
def nodes(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, NodeProcess]]:
    """The parameter: after how many seconds a node that says nothing is given up."""
    write_file(tmp_path, PLACES, lost=request.param)
    made = {name: NodeProcess(tmp_path, name) for name in PLACES.servers}
    with ended(list(made.values())):
        for node in made.values():
            node.start()
        for node in made.values():
            settled(node)
        yield made


def settled(node: NodeProcess) -> str:
    """Until its links are up; where its federates connect."""

    def up() -> bool:
        return bool(node.status) and node.status["links"] == node.status["neighbours"]

    wait_until(up, f"the links of {node.name} are up: {node.log[-2000:]}")
    address: str = node.status["federates"]
    return address


def test_federates_of_three_nodes_are_one_federation(nodes: dict[str, NodeProcess]) -> None:
    one, two, three = (Tanker(settled(node)) for node in nodes.values())
    everybody = (one, two, three)
    for number, talker in enumerate(everybody):
        talker.say(b"from %d" % number)
    for number, talker in enumerate(everybody):
        expected = {b"from %d" % other for other in range(3) if other != number}
        assert set(talker.listen(2)) == expected

    tank = one.rti.register_object_instance(one.tank)
    three.until(lambda: three.all.discovered == [tank], "S3 discovers what S1 registered")
    for number in range(100):
        one.rti.update_attribute_values(tank, {one.damage: b"%d" % number}, b"")
    three.until(lambda: len(three.all.values) == 100, "all updates come from S1 to S3, by the router")
    assert three.all.values == [b"%d" % number for number in range(100)]

    two.rti.register_federation_synchronization_point("ready", b"")
    for talker in everybody:
        talker.until(lambda talker=talker: "ready" in talker.all.announced, "the point is announced")
        talker.rti.synchronization_point_achieved("ready")
    for talker in everybody:
        talker.until(lambda talker=talker: "ready" in talker.all.synchronized, "all are synchronized")

    one.rti.unconditional_attribute_ownership_divestiture(tank, {one.damage}, b"")
    three.rti.attribute_ownership_acquisition_if_available(tank, {three.damage}, b"")
    three.until(lambda: three.all.acquired == [tank], "S3 owns what S1 gave away")
    three.rti.update_attribute_values(tank, {three.damage: b"from its new owner"}, b"")
    one.until(lambda: b"from its new owner" in one.all.values, "the new owner updates it")

    three.rti.resign_federation_execution(ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
    one.rti.delete_object_instance(tank, b"")
    two.until(lambda: two.all.removed == [tank], "S2 hears that it is gone")
    for talker in (one, two):
        talker.rti.resign_federation_execution(ResignAction.NO_ACTION)
    three.rti.destroy_federation_execution("F")
    for talker in everybody:
        talker.rti.disconnect()
    assert [node.stop() for node in nodes.values()] == [0, 0, 0]


def test_a_killed_node_takes_its_federates_with_it_and_may_come_back(nodes: dict[str, NodeProcess]) -> None:
    one, two = Tanker(settled(nodes["S1"])), Tanker(settled(nodes["S2"]))
    three = Tanker(settled(nodes["S3"]))
    three.rti.set_automatic_resign_directive(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
    tank = three.rti.register_object_instance(three.tank)
    one.until(lambda: one.all.discovered == [tank], "it is discovered")
    nodes["S3"].kill()
    three.rti.connection.lose()
    one.until(lambda: one.all.removed == [tank], "by the directive of its federate, what it owned is deleted")
    one.say(b"we two go on")
    assert two.listen(1) == [b"we two go on"]
    nodes["S3"].start()
    again = Tanker(settled(nodes["S3"]))
    again.say(b"here again")
    assert one.listen(1) == [b"here again"]
    one.say(b"welcome")
    assert again.listen(1) == [b"welcome"]
    for talker in (one, two, again):
        talker.leave()


@pytest.mark.parametrize("nodes", [PATIENCE], indirect=True)
def test_a_home_that_comes_back_from_its_journal_goes_on(nodes: dict[str, NodeProcess]) -> None:
    """The federation was created at S1; S1 is killed and started again, and the federates at S2 and S3 stay joined."""
    founder = Tanker(settled(nodes["S1"]))
    two, three = Tanker(settled(nodes["S2"])), Tanker(settled(nodes["S3"]))
    tank = two.rti.register_object_instance(two.tank)
    three.until(lambda: three.all.discovered == [tank], "it is discovered")
    nodes["S1"].kill()
    founder.rti.connection.lose()
    two.say(b"without the home")  # what is no command goes straight from node to node
    assert three.listen(1) == [b"without the home"]
    made: list[Any] = []
    call = threading.Thread(target=lambda: made.append(three.rti.register_object_instance(three.tank)))
    call.start()  # a command waits for the home
    nodes["S1"].start()
    call.join(WAIT)
    assert len(made) == 1
    two.until(lambda: two.all.discovered == made, "the command was carried out")
    two.rti.update_attribute_values(tank, {two.damage: b"still mine"}, b"")
    three.until(lambda: b"still mine" in three.all.values, "what was registered before is still there")
    late = Tanker(settled(nodes["S1"]))
    late.until(lambda: set(late.all.discovered) == {tank, *made}, "who joins now discovers both")
    for talker in (two, three, late):
        assert not talker.all.lost
        talker.leave()


def test_a_home_that_stays_away_is_reported(nodes: dict[str, NodeProcess]) -> None:
    founder, other = Tanker(settled(nodes["S1"])), RTIambassador()
    ears = Ears()
    other.connect(ears, CallbackModel.EVOKED, settled(nodes["S3"]))
    other.join_federation_execution("talker", "F")
    nodes["S1"].kill()
    founder.rti.connection.lose()
    deadline = time.monotonic() + WAIT
    while not ears.lost and time.monotonic() < deadline:
        other.evoke_callback(0.1)
    assert "S1" in ears.lost[0]
