"""An error of the RTI's own costs the call it is in, at most the federates of the node that made it, and nothing else.

Every call is answered, whatever goes wrong at another node: with an RTIinternalError that says where (IEEE 1516.1-2025, 4 to 10:
the exceptions of each service).  The log of that node has it as an internal error, and its links and its other federates go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.mesh_of_servers import serving_mesh
from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, Running, Talker, eventually
from support.small_fom import fom
from weft import CallbackModel, ResignAction, RTIambassador
from weft.cli.data import object_model
from weft.host.in_process.embedded import EmbeddedNode
from weft.kernel.message import pipeline
from weft.kernel.node import command_log, directory, pausing
from weft.model.errors import RTIexception, RTIinternalError

pytestmark = pytest.mark.plants
NAME = "F"


class Planted(Exception):
    """What no part of the RTI expects."""


class Plant:
    """Makes functions fail, at one node or at all, until it is told to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.grows = True
        self.hits = 0

    def into(self, owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
        real = getattr(owner, name)

        def planted(*arguments: Any, **more: Any) -> Any:
            if self.grows and when(*arguments):
                self.hits += 1
                raise Planted("planted")
            return real(*arguments, **more)

        self._monkeypatch.setattr(owner, name, planted)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    return Plant(monkeypatch)


@pytest.fixture
def nodes() -> Iterator[dict[str, Running]]:
    with serving_mesh() as found:
        yield found


def answer(call: Callable[[], Any]) -> Any:
    """The value or the exception of a call; it comes, that is the law."""
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(WAIT)
    assert found, "the call is not answered"
    return found[0]


def connected(server: Running) -> tuple[RTIambassador, Recorder]:
    rti, ears = RTIambassador(), Recorder()
    rti.connect(ears, CallbackModel.EVOKED, server.address())
    return rti, ears


def until(rti: RTIambassador, ears: Recorder, method: str) -> None:
    """Until this federate has heard that."""

    def heard() -> bool:
        if not ears.of(method):
            rti.evoke_callback(0.05)
        return bool(ears.of(method))

    assert eventually(heard), method


def told(server: Running) -> list[str]:
    return [line for line in server.reports if "Planted" in line]


def goes_on(nodes: dict[str, Running]) -> None:
    """A federation over both nodes, as if nothing had been."""
    made = [
        Talker(nodes[name].address(), federation="after", fom=object_model("range.xml"))
        for name in ("S2", "S1")
    ]
    made[0].say(b"still there")
    assert made[1].listen(1) == [b"still there"]
    for one in made:
        one.leave()


CASES = [
    ("at the home", directory.Executions, "_members_report", "list_federation_execution_members", (NAME,)),
    ("at the directory", directory.Directory, "locate", "join_federation_execution", ("kind", "other")),
    ("at the directory", directory.Directory, "grant", "create_federation_execution", ("new", [fom()])),
    ("while a snapshot is made", command_log, "snapshot", "join_federation_execution", ("kind", NAME)),
    ("while it joins", command_log, "join", "join_federation_execution", ("kind", NAME)),
    ("while a snapshot is read", directory, "restored", "join_federation_execution", ("kind", NAME)),
]


@pytest.mark.parametrize(("what", "owner", "function", "service", "arguments"), CASES)
def test_a_call_that_fails_at_another_node_is_answered(
    nodes: dict[str, Running],
    plant: Plant,
    what: str,
    owner: Any,
    function: str,
    service: str,
    arguments: tuple[Any, ...],
) -> None:
    """4.5 to 4.12: the caller hears which node erred, the log there says where, and the next call goes well."""
    first, _ = connected(nodes["S1"])
    first.create_federation_execution(NAME, [fom()])
    first.join_federation_execution("first", NAME)
    second, _ = connected(nodes["S2"])
    plant.into(owner, function)
    found = answer(lambda: getattr(second, service)(*arguments))
    assert isinstance(found, RTIinternalError), (what, found)
    assert "node 'S" in str(found)
    assert "Planted" in str(found)
    plant.grows = False
    assert plant.hits
    assert any("internal error" in line for line in told(nodes["S1"]) + told(nodes["S2"]))
    if service == "join_federation_execution" and arguments[1] == NAME:
        assert eventually(lambda: nodes["S1"].ask(members) == ["first"])
        second.join_federation_execution("second", NAME)
        assert eventually(lambda: nodes["S1"].ask(members) == ["first", "second"])
        second.resign_federation_execution(ResignAction.NO_ACTION)
    first.resign_federation_execution(ResignAction.NO_ACTION)
    goes_on(nodes)
    for rti in (first, second):
        rti.disconnect()


def members(server: Any) -> list[str]:
    return sorted(member.kind for member in server.board.node.federations[NAME].members.values())


def test_a_node_that_cannot_carry_out_what_all_do_loses_that_federation_only(
    nodes: dict[str, Running], plant: Plant
) -> None:
    """4.4 Connection Lost: its federates are told, the others go on without them, and they may join again."""
    first, _ = connected(nodes["S1"])
    first.create_federation_execution(NAME, [fom()])
    first.join_federation_execution("first", "first", NAME)
    second, ears = connected(nodes["S2"])
    second.join_federation_execution("second", "second", NAME)
    kind = second.get_object_class_handle("Vehicle")
    there = nodes["S2"].server.board.node.commands
    plant.into(
        command_log.Commands,
        "carry_out",
        lambda at, step, asked, *_: at is there and asked.service == "publish_interaction_class",
    )
    found = answer(lambda: second.publish_interaction_class(second.get_interaction_class_handle("Event")))
    assert isinstance(found, RTIinternalError), found
    assert "node 'S2'" in str(found)
    assert told(nodes["S2"])
    until(second, ears, "connection_lost")
    assert "S2" in ears.of("connection_lost")[0][0]
    assert eventually(lambda: nodes["S1"].ask(members) == ["first"])
    plant.grows = False
    second.connect(ears, CallbackModel.EVOKED, nodes["S2"].address())
    second.join_federation_execution("second", "second", NAME)
    second.publish_object_class_attributes(kind, {second.get_attribute_handle(kind, "Name")})
    for rti in (first, second):
        rti.resign_federation_execution(ResignAction.NO_ACTION)
    goes_on(nodes)
    for rti in (first, second):
        rti.disconnect()


@pytest.mark.parametrize(("function", "where"), [("_share", "S1"), ("_share", "S2"), ("_written", "S1")])
def test_a_save_that_cannot_be_made_fails_and_everybody_is_told(
    nodes: dict[str, Running], plant: Plant, function: str, where: str
) -> None:
    """4.23 Federation Not Saved: not a federation that is being saved for ever."""
    made = [connected(nodes[name]) for name in ("S1", "S2")]
    made[0][0].create_federation_execution(NAME, [fom()])
    for rti, _ in made:
        rti.join_federation_execution("one", NAME)
    plant.into(pausing, function, lambda *a: function == "_written" or a[0].node == where)
    made[0][0].request_federation_save("noon")
    for rti, ears in made:
        until(rti, ears, "initiate_federate_save")
        assert answer(rti.federate_save_begun) is None
    for rti, _ in made:
        found = answer(rti.federate_save_complete)
        assert found is None or isinstance(found, RTIexception)  # it may be over by then
    for rti, ears in made:
        until(rti, ears, "federation_not_saved")
    assert told(nodes[where])
    plant.grows = False
    for rti, _ in made:
        rti.resign_federation_execution(ResignAction.NO_ACTION)
        rti.disconnect()


def test_an_error_in_a_message_costs_that_message(nodes: dict[str, Running], plant: Plant) -> None:
    """6.13 Receive Interaction: what comes after it is heard, over the same link."""
    made = [
        Talker(nodes[name].address(), federation=NAME, fom=object_model("range.xml")) for name in ("S1", "S2")
    ]
    plant.into(pipeline, "arrive", lambda *_: plant.hits < 1)
    made[0].say(b"lost")
    made[0].say(b"heard")
    assert made[1].listen(1) == [b"heard"]
    assert told(nodes["S2"])
    for one in made:
        one.leave()


def test_an_error_in_an_embedded_call_is_an_rti_exception(plant: Plant) -> None:
    """Clauses 4 to 10: what a service raises is one of the exceptions that the standard lists for it."""
    rti = RTIambassador(EmbeddedNode())
    rti.connect(Recorder(), CallbackModel.EVOKED)
    rti.create_federation_execution(NAME, [fom()])
    plant.into(command_log, "join")
    found = answer(lambda: rti.join_federation_execution("one", NAME))
    assert isinstance(found, RTIinternalError)
    plant.grows = False
    rti.join_federation_execution("one", NAME)
