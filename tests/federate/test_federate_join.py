"""`weft.join` as a context manager: who creates, joins, resigns and destroys, and when."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import weft
from support.node_processes import write_file
from support.server_in_thread import serving
from weft import EmbeddedNode, Federate, FederateAmbassador, RTIambassador
from weft.cli.data import object_model
from weft.fabric import Topology
from weft.host import NodeHost
from weft.host.simulated.simulated import SimulatedConnection, SimulatedNetwork
from weft.model.errors import (
    AlreadyConnected,
    CouldNotOpenFOM,
    FederateNameAlreadyInUse,
    FederationExecutionDoesNotExist,
    InconsistentFOM,
    NotConnected,
    ObjectInstanceNameInUse,
)
from weft.model.handles import FederateHandle

RANGE = object_model("range.xml")


class Reporter(FederateAmbassador):
    def __init__(self) -> None:
        self.members: set[str] | None = set()
        self.federations: set[str] = set()

    def report_federation_executions(self, report: object) -> None:
        assert isinstance(report, frozenset)
        self.federations = {one.federation_execution_name for one in report}

    def report_federation_execution_members(self, federation_name: str, report: object) -> None:
        assert isinstance(report, frozenset)
        self.members = {one.federate_name for one in report}

    def report_federation_execution_does_not_exist(self, federation_name: str) -> None:
        self.members = None


def members(host: NodeHost, federation: str = "Range") -> set[str] | None:
    """Who is in the federation, as anybody may ask; None if there is none."""
    rti = RTIambassador(host)
    ears = Reporter()
    rti.connect(ears, weft.CallbackModel.EVOKED)
    rti.list_federation_execution_members(federation)
    rti.evoke_multiple_callbacks(0.0, 1.0)
    rti.disconnect()
    return ears.members


def arrive(federate: Federate) -> None:
    """Let the federate handle all that was sent to it."""
    if isinstance(federate.rti.connection, SimulatedConnection):
        federate.run(1.0)
    while federate.poll():
        pass


@pytest.fixture(params=["embedded", "simulated"])
def host(request: pytest.FixtureRequest) -> NodeHost:
    if request.param == "embedded":
        return EmbeddedNode()
    return SimulatedNetwork(["S1", "S2"], seed=3).at("S2")


def test_the_block_creates_joins_resigns_and_destroys(host: NodeHost) -> None:
    """Entering creates the federation and joins; leaving resigns and destroys what nobody needs."""
    with weft.join("Range", "one", fom=RANGE, host=host) as one:
        assert isinstance(one, Federate)
        assert (one.name, one.federation) == ("one", "Range")
        assert members(host) == {"one"}
    assert members(host) is None
    with pytest.raises(NotConnected):
        one.poll()


def test_a_second_federate_joins_what_is_there(host: NodeHost) -> None:
    """The federation lives until the last one leaves, whoever created it."""
    with weft.join("Range", "one", fom=RANGE, host=host):
        two = weft.join("Range", "two", fom=RANGE, host=host)
        two.join()
        assert members(host) == {"one", "two"}
    assert members(host) == {"two"}
    two.resign()
    assert members(host) is None


def test_a_federate_without_a_name_is_given_one(host: NodeHost) -> None:
    """Clause 4.11: the RTI makes up a name, and the federate knows it."""
    with (
        weft.join("Range", fom=RANGE, kind="observer", host=host) as one,
        weft.join("Range", fom=RANGE, host=host) as two,
    ):
        assert one.name
        assert one.name != two.name
        assert members(host) == {one.name, two.name}


def test_an_error_in_the_block_still_resigns(host: NodeHost) -> None:
    """The error comes out, and nothing is left behind."""
    with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117
        with weft.join("Range", "one", fom=RANGE, host=host) as one:
            one.register("Tank")
            1 / 0
    assert members(host) is None


def test_the_error_in_the_block_is_the_one_reported(host: NodeHost) -> None:
    """When resigning fails as well, the first error is what the user must see."""
    with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117
        with weft.join("Range", "one", fom=RANGE, host=host) as one:
            one.rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
            1 / 0
    with pytest.raises(NotConnected):
        one.poll()


def test_leaving_is_quiet_when_the_server_has_ended() -> None:
    """A body that ended well is not turned into an error because there is nothing left to resign from."""
    with contextlib.ExitStack() as server:
        running = server.enter_context(serving())
        with weft.join("Range", "one", fom=RANGE, rti=running.address()) as one:
            one.register("Tank")
            server.close()
    with pytest.raises(NotConnected):
        one.poll()


def test_leaving_is_quiet_when_the_node_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same at a node of a mesh inside the process, which is the home of the federation."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    file = write_file(tmp_path, Topology(("S1", "S2"), {"A": ("S1", "S2")}))
    with weft.join("Range", "one", fom=RANGE, rti=f"mesh://S1@{file}"):
        weft.stop_node()


def test_leaving_is_quiet_when_the_rti_has_resigned_the_federate(host: NodeHost) -> None:
    """So it is for one that an operator has resigned."""
    with weft.join("Range", "one", fom=RANGE, host=host) as one:
        one.rti.steer("resign", "Range", "one")
    assert members(host) == set()


def test_a_name_that_is_taken(host: NodeHost) -> None:
    """A refused join disconnects; the federation of the others is not touched."""
    with weft.join("Range", "one", fom=RANGE, host=host):
        with pytest.raises(FederateNameAlreadyInUse), weft.join("Range", "one", fom=RANGE, host=host):
            pytest.fail("joined twice under one name")
        assert members(host) == {"one"}


def test_leaving_removes_what_was_registered(host: NodeHost) -> None:
    """Objects go with their federate."""
    with weft.join("Range", "one", fom=RANGE, host=host) as one:
        gone: list[str] = []
        one.on_discovery("Tank")(lambda tank: None)
        one.on_removal("Tank")(lambda tank: gone.append(tank.name))
        with weft.join("Range", "two", fom=RANGE, host=host) as two:
            two.register("Tank", "Rhino")
            arrive(one)
            assert [tank.name for tank in one.objects.values()] == ["Rhino"]
        arrive(one)
        assert gone == ["Rhino"]
        assert not one.objects


def test_a_file_that_is_not_there() -> None:
    """The file is read before anything is connected."""
    with pytest.raises(CouldNotOpenFOM, match=r"nowhere\.xml"):
        weft.join("Range", "one", fom="nowhere.xml")


def test_the_object_model_may_be_a_path_or_several(tmp_path: Path) -> None:
    """`fom` takes a path, a `Source`, or several of them."""
    path = tmp_path / "my range.xml"
    path.write_bytes(RANGE.data)
    for fom in (path, str(path), [path], path.as_uri(), [RANGE]):
        with weft.join("Range", "one", fom=fom, host=EmbeddedNode()) as one:
            one.publish("Fire")


def test_a_contradicting_object_model_does_not_join() -> None:
    """Clause 4.11: the modules of a joining federate must fit those of the federation."""
    node = EmbeddedNode()
    other = weft.Source("other.xml", RANGE.data.replace(b"HLAfloat64BE", b"HLAfloat32BE"))
    with weft.join("Range", "one", fom=RANGE, host=node):
        with pytest.raises(InconsistentFOM), weft.join("Range", "two", fom=other, host=node):
            pytest.fail("joined with another object model")
        assert members(node) == {"one"}


def test_nobody_named_a_host() -> None:
    """Without a host federates meet at the node of the process."""
    with weft.join("by default", "one", fom=RANGE) as one, weft.join("by default", "two", fom=RANGE) as two:
        heard: list[int] = []
        two.on_interaction("Fire")(lambda shot: heard.append(shot["Round"]))
        one.send("Fire", Target="two", Round=7)
        two.poll()
        assert heard == [7]


def test_joining_twice_is_refused_and_changes_nothing(host: NodeHost) -> None:
    """A federate that is joined stays as it is."""
    with weft.join("Range", "one", fom=RANGE, host=host) as one:
        one.publish("Fire")
        with pytest.raises(AlreadyConnected):
            one.join()
        one.send("Fire", Target="x", Round=1)
        assert members(host) == {"one"}


def test_a_federate_may_come_back(host: NodeHost) -> None:
    """A second stay begins afresh: handlers hear again, objects and names of the first are forgotten."""
    with weft.join("Range", "other", fom=RANGE, host=host) as other:
        one = weft.join("Range", "one", fom=RANGE, host=host)
        with one:
            heard: list[tuple[str, int]] = []
            one.on_interaction("Fire")(lambda shot: heard.append((shot.sender, shot["Round"])))
            one.subscribe("Tank")
            other.register("Tank")
            other.send("Fire", Target="x", Round=1)
            arrive(one)
            one.send("Hit", Target="x", Round=1, Result="Intact")
            assert len(one.objects) == 1
        with one:
            assert not one.objects
            other.send("Fire", Target="x", Round=2)
            arrive(one)
            one.send("Hit", Target="x", Round=2, Result="Intact")
        assert heard == [("other", 1), ("other", 2)]


def test_a_federation_destroyed_between_creating_and_joining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody leaves as the last and destroys the federation just when another wants to join it: it is created again."""
    node = EmbeddedNode()
    first = weft.join("Range", "first", fom=RANGE, host=node)
    first.join()
    second = weft.join("Range", "second", fom=RANGE, host=node)
    really_join = second._join

    def leave_first() -> FederateHandle:
        monkeypatch.undo()
        first.resign()
        return really_join()

    monkeypatch.setattr(second, "_join", leave_first)
    with second:
        assert members(node) == {"second"}


def test_a_federation_that_is_always_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trying again has an end."""
    one = weft.join("Range", "one", fom=RANGE, host=EmbeddedNode())
    tried = []

    def never() -> None:
        tried.append(1)
        raise FederationExecutionDoesNotExist("gone again")

    monkeypatch.setattr(one, "_join", never)
    with pytest.raises(FederationExecutionDoesNotExist):
        one.join()
    assert 1 < len(tried) < 100


def test_an_object_gets_its_name_at_once_also_within_a_handler(host: NodeHost) -> None:
    """Clauses 6.2 and 6.8: `register` reserves the name itself, and waits for no callback."""
    with (
        weft.join("Range", "tank", fom=RANGE, host=host) as tank,
        weft.join("Range", "aircraft", fom=RANGE, host=host) as aircraft,
    ):
        wrecks: list[str] = []

        @tank.on_interaction("Fire")
        def fired_at(shot: weft.Interaction) -> None:
            wrecks.append(tank.register("Tank", "Wreck").name)

        assert aircraft.register("Aircraft", "Falcon").name == "Falcon"
        arrive(tank)
        aircraft.publish("Fire")
        aircraft.send("Fire", Target="Rhino", Round=1)
        arrive(tank)
        assert wrecks == ["Wreck"]
        with pytest.raises(ObjectInstanceNameInUse, match="Wreck"):
            aircraft.register("Tank", "Wreck")
