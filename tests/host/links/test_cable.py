"""A cable is pulled: no connection is closed, nobody says anything.  Real connections between network namespaces.

docs/how-to/serving.md, "If the connection breaks": who is gone is found out, and told by name to those who wait; what it
held is free again in the end.  If the cable is plugged in before, nothing is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from host.server.test_gone import Waiter
from support.federate_process import Process
from support.own_node_process import OwnProcess
from support.server_in_thread import Listener, Talker, eventually, free_port, serving
from support.two_machines import Cable, cable
from weft import HLAfloat64Time, ResignAction
from weft.host.in_process import mesh_nodes
from weft.host.settings import FabricSettings, LimitSettings, ServeSettings
from weft.model.errors import FederateNameAlreadyInUse, NotConnected

LONG = "FED_TIMEOUT_RECONNECT=600,FED_INT_HEART=0.2,FED_TIMEOUT_HEART=2,FedPro.resume.retryDelayMillis=100"


@pytest.fixture
def net() -> Iterator[Cable]:
    with cable() as made:
        yield made


def served(net: Cable, **limits: Any) -> Any:
    return serving(serve=ServeSettings(host=net.ADDRESSES["a"], port=0), **limits)


def address_of(net: Cable, running: Any) -> str:
    return f"{net.ADDRESSES['a']}:{running.ports['tcp']}"


class Meeting(Listener):
    def __init__(self) -> None:
        super().__init__()
        self.synchronized: list[str] = []
        self.saves: list[str] = []

    def federation_synchronized(self, label: str, *rest: Any) -> None:
        self.synchronized.append(label)

    def federation_not_saved(self, *reason: Any) -> None:
        self.saves.append("not saved")

    def initiate_federate_save(self, *label: Any) -> None:
        self.saves.append("begun")


def until(talker: Talker, condition: Any) -> None:
    def looked() -> bool:
        talker.rti.evoke_callback(0.01)
        return bool(condition())

    assert eventually(looked)


def test_a_federate_behind_a_pulled_cable_frees_time_name_and_point(net: Cable) -> None:
    """By default: those who wait are told who, since when and until when; after `limits.reconnect_seconds` all of it is free."""
    with net.at("a"), served(net) as running:
        address = address_of(net, running)
        waiter, other = Waiter(address), Talker(address, ears=Meeting())
        with net.at("b"):
            process = Process("regulate", address, "Rhino")
        with process:
            process.says("ready")
            waiter.rti.register_federation_synchronization_point("go", b"")
            until(other, lambda: True)
            waiter.rti.synchronization_point_achieved("go")
            assert eventually(lambda: _achieved(other, "go"))
            waiter.rti.time_advance_request(HLAfloat64Time(50.0))
            assert "'Rhino'" in waiter.blocker()
            net.pull()
            assert eventually(lambda: "it lost its connection" in waiter.blocker())
            assert "'Rhino'" in waiter.blocker()
            assert "s unless it comes back" in waiter.blocker()
            federates = other.rti.query_survey()["federations"]["F"]["federates"]
            (away,) = [one["absence"] for one in federates.values() if "absence" in one]
            assert away["why"] == "lost"
            assert away["seconds"] + away["left"] == pytest.approx(LimitSettings().reconnect_seconds, abs=0.5)
            third = Talker(address, federation="G")
            third.rti.resign_federation_execution(ResignAction.NO_ACTION)
            with pytest.raises(FederateNameAlreadyInUse, match="'Rhino' of 'F' lost its connection"):
                third.rti.join_federation_execution("Rhino", "tank", "F")
            assert eventually(waiter.granted)
            until(other, lambda: other.ears.synchronized == ["go"])  # type: ignore[attr-defined]
            third.rti.join_federation_execution("Rhino", "tank", "F")
            third.rti.resign_federation_execution(ResignAction.NO_ACTION)
            third.rti.disconnect()
            assert any("federate 'Rhino' of 'F' is gone" in line for line in running.reports)
        other.leave()
        waiter.leave()


def _achieved(talker: Talker, label: str) -> bool:
    talker.rti.evoke_callback(0.01)
    try:
        talker.rti.synchronization_point_achieved(label)
    except weft.errors.SynchronizationPointLabelNotAnnounced:
        return False
    return True


def test_a_save_does_not_wait_for_ever_for_one_behind_a_pulled_cable(net: Cable) -> None:
    with net.at("a"), served(net) as running:
        address = address_of(net, running)
        other = Talker(address, ears=Meeting())
        with net.at("b"):
            process = Process("listen", address, "Rhino")
        with process:
            process.says("ready")
            net.pull()
            other.rti.request_federation_save("one")
            until(other, lambda: other.ears.saves)  # type: ignore[attr-defined]
            other.rti.federate_save_begun()
            other.rti.federate_save_complete()
            until(other, lambda: other.ears.saves == ["begun", "not saved"])  # type: ignore[attr-defined]
            assert any("federate 'Rhino' of 'F' is gone" in line for line in running.reports)
        other.leave()


@pytest.mark.parametrize("how", [pytest.param("pull", marks=pytest.mark.soak), "unplug"])
def test_calls_from_behind_a_pulled_cable_end(net: Cable, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """By default: NotConnected, with why, for who calls; connection_lost for who waits; those who remain hear of it, too."""
    with net.at("a"), served(net) as running:
        address = address_of(net, running)
        other = Talker(address)
        with net.at("b"):
            calling, listening = Talker(address), Talker(address)
            getattr(net, how)()
            with pytest.raises(
                NotConnected, match=r"was not answered, since the session with .* is over: no connection"
            ):
                calling.rti.list_federation_executions()
            with pytest.raises(NotConnected):
                calling.say(b"more")
            listening.listen(1)
        assert "no connection lasted within 12 s" in listening.ears.lost[0]
        # TCP's probes have found it out, not the patience for a server that is stopped.
        assert not any("FED_TIMEOUT_HEART" in line for line in caplog.messages)
        until(other, lambda: len(other.rti.query_survey()["federations"]["F"]["federates"]) == 1)
        assert sum("of 'F' is gone" in line for line in running.reports) == 2
        other.leave()


def test_a_cable_that_is_plugged_in_again_loses_nothing(net: Cable) -> None:
    """Once noticed and once not: the federate resumes, and hears what was sent meanwhile, once and in order."""
    with net.at("a"), served(net, reconnect_seconds=600.0) as running:
        address = address_of(net, running)
        other = Talker(address)
        with net.at("b"):
            shaky = Talker(address, LONG)
        sent = [b"%d" % number for number in range(300)]
        for place, message in enumerate(sent):
            if place in (100, 200):
                net.pull()
            other.say(message)
            if place == 150:
                net.plug_in()  # before anybody noticed
            if place == 250:
                session = running.ask(lambda server: list(server.sessions.values())[1])
                assert eventually(lambda: running.ask(lambda _: session.line) is None)  # noqa: B023
        net.plug_in()
        with net.at("b"):
            assert shaky.listen(len(sent)) == sent
            shaky.say(b"here again")
        assert other.listen(1) == [b"here again"]
        assert any("resumed" in line for line in running.reports)
        with net.at("b"):
            shaky.leave()
        other.leave()


# --- between nodes ----------------------------------------------------------------------------------------------


class Watcher(Meeting):
    def __init__(self) -> None:
        super().__init__()
        self.discovered: list[Any] = []
        self.removed: list[Any] = []

    def discover_object_instance(self, instance: Any, *rest: Any) -> None:
        self.discovered.append(instance)

    def remove_object_instance(self, instance: Any, *rest: Any) -> None:
        self.removed.append(instance)


@pytest.fixture
def file(net: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    monkeypatch.setenv("WEFT_FABRIC_RETRY_MOST_SECONDS", "0.2")
    path = tmp_path / "domains.toml"
    ports = free_port(), free_port()
    servers = [
        f'S{n} = "{net.ADDRESSES[place]}:{port}"' for n, place, port in zip((1, 2), "ab", ports, strict=True)
    ]
    path.write_text("\n".join(["[servers]", *servers, "[domains]", 'A = ["S1", "S2"]', ""]))
    yield path
    with net.at("a"):
        weft.stop_node()


def test_a_node_behind_a_pulled_cable_is_given_up(
    net: Cable, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After `fabric.lost_seconds`, by default: its members resign by their directives, and the log names the node."""
    with net.at("a"):
        ears = Watcher()
        here = Talker(f"mesh://S1@{file}", ears=ears)
        kind = here.rti.get_object_class_handle("Vehicle.Tank")
        here.rti.subscribe_object_class_attributes(kind, {here.rti.get_attribute_handle(kind, "Position")})
        with net.at("b"):
            process = OwnProcess(f"mesh://S2@{file}", "S2")
        with process as there:
            there.says("ready")
            there.tell("own")
            until(here, lambda: ears.discovered)
            (link,) = mesh_nodes._nodes[str(file.resolve()), "S1"][1]._mesh.links.links.values()
            net.pull()
            until(here, lambda: link.line is None)
            if link.session is not None:  # its time runs since it last answered, not since that was found out
                assert time.monotonic() - link.session.dropped_at >= FabricSettings().lost_seconds / 2
            until(here, lambda: ears.removed)
            assert ears.removed == ears.discovered
            assert not ears.lost
            assert any("S2" in line and "down" in line for line in caplog.messages)
        here.leave()


def test_nodes_lose_nothing_if_the_cable_is_plugged_in_in_time(
    net: Cable, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_FABRIC_LOST_SECONDS", "600")
    with net.at("a"):
        here = Talker(f"mesh://S1@{file}")
        with net.at("b"):
            process = OwnProcess(f"mesh://S2@{file}", "S2")
        with process as there:
            there.says("ready")
            here.say(b"a:0")
            there.tell("hear 1")
            assert there.says("heard") == [1, 0]
            net.pull()
            for number in range(1, 200):
                here.say(b"a:%d" % number)
            there.tell("say 100")
            assert there.says("said") == 100
            net.plug_in()
            there.tell("hear 200")
            assert len(here.listen(100)) == 100
            assert there.says("heard") == [200, 0]
        here.leave()
