"""Logical time over nodes and wires: who blocks, as told embedded, over a mesh and over the Federate Protocol (issue 5)."""

from __future__ import annotations

import json
from time import monotonic
from typing import Any

import pytest

from fabric.topologies import of
from support.fabric_federations import fabric
from support.federation import refused
from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, serving
from support.simulated_federates import FOM, NAME
from weft import (
    CallbackModel,
    EmbeddedNode,
    HLAfloat64Interval,
    HLAfloat64Time,
    OrderType,
    RTIambassador,
    RtiConfiguration,
)
from weft.cli import main
from weft.cli.observe.status import lines
from weft.host.simulated.fabric import FabricProfile
from weft.model.errors import LogicalTimeAlreadyPassed, RequestForTimeRegulationPending

pytestmark = pytest.mark.over_nodes

ONE = HLAfloat64Interval(1.0)


class Pair:
    """A fast federate that waits for a slow one."""

    def __init__(self, *connected: tuple[RTIambassador, Recorder]) -> None:
        self.rti = [rti for rti, _ in connected]
        self.log = [log for _, log in connected]
        self.rti[0].create_federation_execution(NAME, [FOM])
        for rti, name in zip(self.rti, ("fast", "slow"), strict=True):
            rti.join_federation_execution(name, "test", NAME)

    def wait(self, i: int, method: str) -> tuple[Any, ...]:
        deadline = monotonic() + WAIT
        while not self.log[i].count(method) and monotonic() < deadline:
            self.rti[i].evoke_callback(0.05)
        return self.log[i].of(method)[-1]

    def timed(self) -> None:
        for i, rti in enumerate(self.rti):
            rti.enable_time_regulation(ONE)
            self.wait(i, "time_regulation_enabled")
            rti.enable_time_constrained()
            self.wait(i, "time_constrained_enabled")


def connected(*arguments: Any) -> tuple[RTIambassador, Recorder]:
    host, *configuration = arguments
    rti, log = RTIambassador(host), Recorder()
    rti.connect(log, CallbackModel.EVOKED, *configuration)
    return rti, log


def evoke_all(rti: RTIambassador) -> None:
    while rti.evoke_callback(0.0):
        pass


def check_blocking(pair: Pair, node: str) -> None:
    fast, slow = pair.rti
    assert str(fast.query_blocking()) == "'fast' is granted 0 and waits for nobody"
    fast.set_time_advance_patience(0.01)
    fast.time_advance_request(HLAfloat64Time(5.0))
    (told,) = pair.wait(0, "time_advance_blocked")
    for blocking in (told, fast.query_blocking()):
        assert (blocking.federate, blocking.state, blocking.requested, blocking.galt) == (
            "fast",
            "TAR",
            5.0,
            1.0,
        )
        (blocker,) = blocking.blocked_by
        assert blocker[:4] == ("slow", node, "granted", 0.0)
        assert blocker.lookahead == 1.0
        assert "'slow'" in str(blocking)
        assert "has not asked to advance" in str(blocking)
    assert told.seconds >= 0.01
    slow.time_advance_request(HLAfloat64Time(7.0))
    assert pair.wait(0, "time_advance_grant") == (HLAfloat64Time(5.0),)
    assert fast.query_blocking().blocked_by == ()
    pair.log[0].take()
    fast.set_time_advance_patience(0.0)


def test_who_blocks_at_an_embedded_node() -> None:
    node = EmbeddedNode()
    pair = Pair(connected(node), connected(node))
    pair.timed()
    check_blocking(pair, "embedded")
    status = pair.rti[0].query_status()
    assert [one["name"] for one in status[0]["federates"]] == ["fast", "slow"]


def test_who_blocks_over_a_mesh() -> None:
    """Asked at a node that is not the home: the home has said who is behind."""
    network = fabric(of("AB", "BC"))
    pair = Pair(connected(network.at("A")), connected(network.at("C")))
    pair.timed()
    network.settle()
    fast, slow = pair.rti
    slow.time_advance_request(HLAfloat64Time(5.0))
    network.settle()
    (blocker,) = slow.query_blocking().blocked_by
    assert blocker[:4] == ("fast", "A", "granted", 0.0)
    fast.time_advance_request(HLAfloat64Time(5.0))
    network.settle()
    assert slow.query_blocking().requested is None


def test_away_from_the_home_only_the_culprit_is_named() -> None:
    """Who asks to advance changes no bound as long as another is behind; but it blocks nobody any more, and nodes hear that."""
    network = fabric(of("ABCD"))
    made = [connected(network.at(name)) for name in "ABCD"]
    made[0][0].create_federation_execution(NAME, [FOM])
    for (rti, _), name in zip(made, ("culprit", "b", "c", "d"), strict=True):
        rti.join_federation_execution(name, "test", NAME)
        rti.enable_time_regulation(ONE)
        network.settle()
        rti.enable_time_constrained()
        network.settle()
        evoke_all(rti)
    waiting = [rti for rti, _ in made[1:]]
    for step in (5.0, 6.0):
        for rti in waiting:
            rti.time_advance_request(HLAfloat64Time(step))
            network.settle()
        for rti in waiting:
            assert [one.federate for one in rti.query_blocking().blocked_by] == ["culprit"]
        made[0][0].time_advance_request(HLAfloat64Time(step))
        network.settle()
        for rti in waiting:
            assert rti.query_blocking().blocked_by == ()
        for rti, _ in made:
            evoke_all(rti)


def test_regulation_is_pending_until_all_nodes_have_answered() -> None:
    network = fabric(of("AB"))
    pair = Pair(connected(network.at("A")), connected(network.at("B")))
    network.settle()
    pair.rti[1].enable_time_regulation(ONE)
    with refused(RequestForTimeRegulationPending):
        pair.rti[1].enable_time_regulation(ONE)
    with refused(RequestForTimeRegulationPending):
        pair.rti[1].time_advance_request(HLAfloat64Time(5.0))
    network.settle()
    assert pair.wait(1, "time_regulation_enabled") == (HLAfloat64Time(0.0),)


def test_who_blocks_over_the_federate_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        where = RtiConfiguration(rti_address=server.address())
        pair = Pair(connected(None, where), connected(None, where))
        pair.timed()
        check_blocking(pair, "server")
        pair.rti[0].time_advance_request(HLAfloat64Time(9.0))
        assert main(["status", server.address()]) == 0
        shown = capsys.readouterr().out
        assert "slow blocks fast" in shown
        assert "fast asked for 9.0 by TAR." in shown
        assert main(["status", server.address(), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["federations"]["range"]["federates"]["fast"]["blocked_by"] == ["slow"]
        for rti in pair.rti:
            rti._lose_connection()


def test_a_status_of_nothing() -> None:
    assert lines([])[-1] == "no federations"


def test_a_client_that_does_not_wait_for_answers() -> None:
    """asyncUpdates: messages with a time and requests to advance are not waited for; handles are there when asked for."""
    with serving() as server:
        where = RtiConfiguration(rti_address=server.address(), additional_settings="FedPro.asyncUpdates=true")
        pair = Pair(connected(None, where), connected(None, where))
        pair.timed()
        fast, slow = pair.rti
        event = fast.get_interaction_class_handle("Event.Hit")
        for rti in pair.rti:
            rti.publish_interaction_class(event)
            rti.subscribe_interaction_class(event)
            rti.change_interaction_order_type(event, OrderType.TIMESTAMP)
        sent = [fast.send_interaction(event, {}, b"%d" % n, HLAfloat64Time(2.0 + n)) for n in range(5)]
        forgotten = sent.pop(1)
        del forgotten
        handles = [one.handle for one in sent if one is not None]
        assert len(set(handles)) == 4
        assert all(one is not None and one.retraction_handle_is_valid for one in sent)
        assert handles[0] is not None
        fast.retract(handles[0])
        fast.time_advance_request(HLAfloat64Time(9.0))
        slow.time_advance_request(HLAfloat64Time(9.0))
        assert pair.wait(1, "time_advance_grant") == (HLAfloat64Time(9.0),)
        assert [arguments[2] for arguments in pair.log[1].of("receive_interaction")] == [
            b"1",
            b"2",
            b"3",
            b"4",
        ]
        assert pair.wait(0, "time_advance_grant") == (HLAfloat64Time(9.0),)
        slow.time_advance_request(HLAfloat64Time(3.0))  # too late, which a later call says
        slow.get_hla_version()
        slow.query_galt()  # its answer comes behind the refusal
        with refused(LogicalTimeAlreadyPassed):
            slow.query_logical_time()
        assert slow.query_logical_time() == HLAfloat64Time(9.0)
        for rti in pair.rti:
            rti._lose_connection()


def observed(order: OrderType) -> list[bytes]:
    """S0-20, S0-23: what an observer sees that is far from the aircraft, in receive, causal or time stamp order."""
    network = fabric(of("ABC"))
    network.set_link("A", "C", FabricProfile(delay=0.8))
    members = [connected(network.at(node)) for node in "ABC"]
    members[0][0].create_federation_execution(NAME, [FOM])
    for rti, _ in members:
        rti.join_federation_execution("test", NAME)
        event = rti.get_interaction_class_handle("Event")
        rti.publish_interaction_class(event)
        rti.subscribe_interaction_class(event)
        rti.change_interaction_order_type(event, order)
        if order is OrderType.TIMESTAMP:
            rti.enable_time_regulation(ONE)
            rti.enable_time_constrained()
    (aircraft, _), (tank, tank_log), (observer, log) = members
    network.settle()
    for rti, _ in members:
        evoke_all(rti)

    def say(rti: RTIambassador, tag: bytes, time: float) -> None:
        if order is OrderType.TIMESTAMP:
            rti.send_interaction(event, {}, tag, HLAfloat64Time(time))
        else:
            rti.send_interaction(event, {}, tag)

    say(aircraft, b"fire", 1.0)
    tank_log.on["receive_interaction"] = lambda *_: say(tank, b"hit", 3.0)
    for rti, _ in members:
        if order is OrderType.TIMESTAMP:
            rti.time_advance_request(HLAfloat64Time(1.5))
    for _ in range(100):
        tank.evoke_callback(0.01)
        observer.evoke_callback(0.01)
    if order is OrderType.TIMESTAMP:
        for rti, heard in members:
            while not heard.count("time_advance_grant"):
                rti.evoke_callback(0.05)
            rti.time_advance_request(HLAfloat64Time(4.0))
    for _ in range(300):
        for rti, _ in members:
            rti.evoke_callback(0.01)
    return [arguments[2] for arguments in log.of("receive_interaction")]


def test_the_hit_is_seen_before_the_fire_in_receive_order_alone() -> None:
    assert observed(OrderType.RECEIVE) == [b"hit", b"fire"]
    assert observed(OrderType.CAUSAL) == [b"fire", b"hit"]
    assert observed(OrderType.TIMESTAMP) == [b"fire", b"hit"]


def test_a_save_at_a_time_over_the_federate_protocol() -> None:
    with serving() as server:
        where = RtiConfiguration(rti_address=server.address())
        pair = Pair(connected(None, where), connected(None, where))
        pair.timed()
        fast, slow = pair.rti
        with refused(LogicalTimeAlreadyPassed):
            fast.request_federation_save("noon", HLAfloat64Time(0.0))
        fast.request_federation_save("noon", HLAfloat64Time(3.0))
        fast.time_advance_request(HLAfloat64Time(5.0))
        slow.time_advance_request(HLAfloat64Time(5.0))
        for i, rti in enumerate(pair.rti):
            assert pair.wait(i, "initiate_federate_save") == ("noon", HLAfloat64Time(3.0))
            assert not pair.log[i].count("time_advance_grant")
            rti.federate_save_begun()
        for rti in pair.rti:
            rti.federate_save_complete()
        for i, rti in enumerate(pair.rti):
            assert pair.wait(i, "federation_saved") == ()
            assert pair.wait(i, "time_advance_grant") == (HLAfloat64Time(5.0),)
            rti._lose_connection()
