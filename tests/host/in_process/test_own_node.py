"""A node of the fabric inside a federate's process: how one connects, what is shared, and what becomes of it at the end."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from support.federation import federation
from support.node_processes import write_file
from support.own_nodes import OwnNodes, OwnSite
from support.server_in_thread import WAIT, Listener, Talker, eventually
from support.small_fom import RATES, fom
from weft import CallbackModel, Credentials, ResignAction, RTIambassador, RtiConfiguration, Source
from weft.fabric import Topology
from weft.host.in_process import mesh_nodes
from weft.host.in_process.mesh_node import OwnNode
from weft.host.loop import drive as driving
from weft.model.errors import (
    ConnectionFailed,
    FabricError,
    InvalidCredentials,
    NotConnected,
    RTIexception,
    RTIinternalError,
)

PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
TANK = "Vehicle.GroundVehicle.Tank"
EVOKED, IMMEDIATE = CallbackModel.EVOKED, CallbackModel.IMMEDIATE


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A domains file of two servers; whatever runs is stopped, and nothing is left of it."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
    gc.collect()  # what tests before this one left to the collector is not closed in the middle of it
    threads, files = threading.active_count(), _open_files()
    yield write_file(tmp_path, PAIR)
    weft.stop_node()
    assert threading.active_count() == threads
    gc.collect()
    assert _open_files() <= files, "something was opened and not closed"


def _open_files() -> set[tuple[str, str]]:
    """Which, not how many: others may be closed meanwhile, but none of them opened.  A socket has a number of its own."""
    found = set()
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with contextlib.suppress(OSError):  # that of the list itself
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found


def address(file: Path, server: str) -> str:
    return f"mesh://{server}@{file}"


def running(file: Path, server: str) -> OwnNode:
    return mesh_nodes._nodes[str(file.resolve()), server][1]


def linked(file: Path, server: str, other: str) -> None:
    """Wait until there is a way."""
    assert eventually(lambda: running(file, server)._mesh.is_reachable(other))


# --- connecting ---------------------------------------------------------------------------------------------------


def test_two_nodes_of_one_process_are_one_federation(file: Path) -> None:
    """Named by the file and the server, in the two forms of the address."""
    one = Talker(f"mesh:S1@{file}")
    two = Talker(address(file, "S2"))
    one.say(b"from one")
    assert two.listen(1) == [b"from one"]
    two.say(b"from two")
    assert one.listen(1) == [b"from two"]
    two.leave()
    one.leave()


def test_who_names_the_same_server_shares_its_node(file: Path) -> None:
    """However the file is written; the last to disconnect leaves the node running."""
    other = file.parent / "." / file.name
    first, second = Talker(address(file, "S1")), Talker(f"mesh://S1@{other}")
    first.say(b"next door")
    assert second.listen(1) == [b"next door"]
    node = running(file, "S1")
    assert node._mesh.sent == 1  # its greeting, and nothing else: neighbours in a process need no link
    first.leave()
    second.leave()
    assert running(file, "S1") is node
    Talker(address(file, "S1")).leave()
    assert running(file, "S1") is node


def test_a_federate_in_the_python_way(file: Path) -> None:
    """`weft.join` takes the address, or a configuration with settings."""
    fom = Path(weft.__file__).parent / "cli" / "data"
    model = next(fom.glob("**/*.xml"))
    where = RtiConfiguration(rti_address=address(file, "S1"), additional_settings="Weft.journal=none")
    with weft.join("G", "alone", fom=str(model), rti=where) as alone:
        assert alone.name == "alone"
    assert running(file, "S1").journal is None
    with pytest.raises(ConnectionFailed, match=r"S1 of .* already, with other settings.*weft.stop_node"):
        RTIambassador().connect(Listener(), EVOKED, address(file, "S1"))


WRONG = [
    ("mesh://S1", "", r"write mesh://SERVER@path/to/domains.toml"),
    ("mesh://S1@nowhere.toml", "", r"nowhere.toml: No such file"),
    ("mesh://S7@{file}", "", r"there is no server 'S7' in it; there are S1, S2"),
    ("mesh://S1@{file}", "Weft.jurnal=x", r"there is no setting 'Weft.jurnal'.*Weft.journal, Weft.settings"),
    ("mesh://S1@{file}", "Weft.journal", r"write key=value"),
    ("mesh://S1@{file}", "Weft.settings=nowhere", r"nowhere: No such file"),
    ("mesh://S1@{file}", "Weft.journal={file}", r"the journal cannot be opened"),
]


@pytest.mark.parametrize("where, settings, why", WRONG, ids=[one[2] for one in WRONG])
def test_what_is_wrong_is_said(file: Path, where: str, settings: str, why: str) -> None:
    """As ConnectionFailed, with what to do; and nothing is left running (the fixture looks)."""
    given = RtiConfiguration("", where.format(file=file), settings.format(file=file))
    with pytest.raises(ConnectionFailed, match=why):
        RTIambassador().connect(Listener(), EVOKED, given)
    assert mesh_nodes._nodes == {}


def test_a_domains_file_with_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "domains.toml"
    file.write_text("[servers]\nS1 = 7\n[domains]\n")
    with pytest.raises(ConnectionFailed, match=r"domains.toml:2"):
        RTIambassador().connect(Listener(), EVOKED, address(file, "S1"))


def test_no_credentials(file: Path) -> None:
    with pytest.raises(InvalidCredentials):
        RTIambassador().connect(
            Listener(), EVOKED, address(file, "S1"), Credentials("HLAplainTextPassword", b"x:y")
        )


def test_an_address_in_use_is_named(file: Path) -> None:
    """Another process is this node already, or something else has its port."""
    port = int(file.read_text().split('S1 = "127.0.0.1:')[1].split('"')[0])
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        why = rf"127.0.0.1:{port}, the address of S1 .* stop it or name a server of its own for this one"
        with pytest.raises(ConnectionFailed, match=why):
            RTIambassador().connect(Listener(), EVOKED, address(file, "S1"))
    Talker(address(file, "S1")).leave()


def test_only_a_mesh_address_can_be_stopped(file: Path) -> None:
    with pytest.raises(ConnectionFailed, match="those begin with mesh://"):
        weft.stop_node("localhost:15164")
    weft.stop_node(address(file, "S1"))  # nothing runs: nothing happens


# --- the end ------------------------------------------------------------------------------------------------------


def test_a_stopped_node_tells_its_federates_and_its_neighbours(file: Path) -> None:
    """All hear why, at once, also those whose home it was; calls raise; and the process may be that node again."""
    one, two = Talker(address(file, "S1")), Talker(address(file, "S2"))
    again = one.rti
    weft.stop_node(address(file, "S1"))
    with pytest.raises(RTIexception, match="was stopped"):
        one.say(b"to nobody")
    assert again.evoke_callback(WAIT) is False
    assert one.ears.lost == ["the node of this process was stopped"]
    with pytest.raises(NotConnected, match="was stopped; connect again"):
        one.say(b"to nobody")
    assert two.listen(1) == []
    assert (
        "the home of federation 'F', went away (there is no link to S1: it was stopped)" in two.ears.lost[0]
    )
    one = Talker(address(file, "S1"))
    linked(file, "S2", "S1")
    two = Talker(address(file, "S2"))
    one.say(b"back again")
    assert two.listen(1) == [b"back again"]
    two.leave()
    one.leave()


def test_a_call_that_waits_is_refused_when_the_node_stops(file: Path) -> None:
    """S2 asks the directory, S1, which does not run."""
    errors: list[Exception] = []
    rti = RTIambassador()
    rti.connect(Listener(), EVOKED, address(file, "S2"))

    def create() -> None:
        try:
            rti.create_federation_execution("F", [])
        except Exception as error:
            errors.append(error)

    asking = threading.Thread(target=create)
    asking.start()
    node = running(file, "S2")
    assert eventually(lambda: bool(node._effects.calls))
    weft.stop_node()
    asking.join(WAIT)
    assert [type(error) for error in errors] == [NotConnected]
    assert "was stopped" in str(errors[0])
    rti.disconnect()


def test_a_node_that_cannot_go_on_is_lost(file: Path) -> None:
    """A full disk: `connection_lost` says so, and who connects again begins with what was written."""
    one, two = Talker(address(file, "S1")), Talker(address(file, "S2"))
    journal: Any = running(file, "S1")._mesh.journal

    def full(*_: object) -> None:
        raise FabricError("S1.journal: the journal cannot be written: database or disk is full")

    journal.commit = full
    with contextlib.suppress(RTIexception):
        one.rti.register_federation_synchronization_point("x", b"")
    while not one.ears.lost:
        one.rti.evoke_callback(WAIT)
    with pytest.raises(NotConnected, match="disk is full"):
        one.say(b"to nobody")
    assert "disk is full" in one.ears.lost[0]
    one = Talker(address(file, "S1"))
    two.listen(1)
    assert "went away" in two.ears.lost[0]
    linked(file, "S2", "S1")
    two = Talker(address(file, "S2"))
    two.say(b"back again")
    assert one.listen(1) == [b"back again"]
    two.leave()
    one.leave()


# --- threads ------------------------------------------------------------------------------------------------------


def test_immediate_callbacks_come_while_nobody_calls(file: Path) -> None:
    """In order, from a burst, with calls in both directions and from both threads meanwhile."""
    one = Talker(address(file, "S1"), model=IMMEDIATE)
    two = Talker(address(file, "S2"), model=IMMEDIATE)
    sent = [b"%d" % number for number in range(2000)]
    for number, value in enumerate(sent):
        one.say(value)
        if number % 100 == 0:
            two.say(value)
            two.rti.get_order_type("HLAreceive")
    assert eventually(lambda: len(two.ears.heard) == len(sent))
    assert two.ears.heard == sent
    assert eventually(lambda: one.ears.heard == sent[::100])
    two.leave()
    one.leave()


@pytest.mark.parametrize("servers", [("S1", "S1"), ("S1", "S2")], ids=["one node", "two nodes"])
def test_two_threads_talk(file: Path, servers: tuple[str, str]) -> None:
    """Each waits without looking at the clock, and is woken by the other."""
    talkers = [Talker(address(file, server)) for server in servers]
    faults: list[Any] = []

    def talk(talker: Talker, first: bool) -> None:
        try:
            for number in range(200):
                if first:
                    talker.say(b"%d" % number)
                assert talker.listen(1) == [b"%d" % number]
                talker.ears.heard.clear()
                if not first:
                    talker.say(b"%d" % number)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=talk, args=(talker, talker is talkers[0])) for talker in talkers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert faults == []
    assert not any(thread.is_alive() for thread in threads)
    for talker in talkers:
        talker.leave()


def test_nodes_of_one_process_do_not_disturb_one_another(file: Path) -> None:
    """Two threads send and hear large messages at once, each at a node of its own: what arrives is what was sent."""
    talkers = [Talker(address(file, "S1")), Talker(address(file, "S2"))]
    lines: list[Any] = [next(iter(running(file, s)._mesh.links.links.values())).line for s in ("S1", "S2")]
    assert lines[0]._view.obj is not lines[1]._view.obj  # each reads in a thread of its own
    sent = [[bytes([who]) * 3 + b"%d" % number * 3000 for number in range(300)] for who in range(2)]
    faults: list[Any] = []

    def talk(who: int) -> None:
        try:
            for value in sent[who]:
                talkers[who].say(value)
                talkers[who].rti.evoke_callback(0.0)
            if talkers[who].listen(300) != sent[1 - who]:
                faults.append(f"{who} heard something else")
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=talk, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert faults == []
    for talker in talkers:
        talker.leave()


def test_a_burst_does_not_stay_behind(file: Path) -> None:
    """Who sends and then makes no call any more has sent: the last of a burst, too, and not much later."""
    one, two = Talker(address(file, "S1")), Talker(address(file, "S2"))
    far = running(file, "S2")
    for count in (1, 2, 3, 50):
        before = far._mesh.received
        for number in range(count):
            one.say(b"%d" % number)
        assert eventually(lambda: far._mesh.received - before >= count)  # noqa: B023
        assert two.listen(count) == [b"%d" % number for number in range(count)]
        two.ears.heard.clear()
    two.leave()
    one.leave()


def _waits(node: OwnNode) -> bool:
    """Has a call left something that is still to go?"""
    return node._mesh.turn_due


class _Regulator(Talker):
    """Sends Fire in time stamp order, too."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.rti.change_interaction_order_type(self.fire, weft.OrderType.TIMESTAMP)
        self.rti.enable_time_regulation(weft.HLAfloat64Interval(0.1))
        while self.rti.evoke_callback(0.1):
            pass
        assert self.rti.query_lookahead() == weft.HLAfloat64Interval(0.1)

    def say_at(self, time: float) -> None:
        self.rti.send_interaction(self.fire, {self.target: b"%g" % time}, b"", weft.HLAfloat64Time(time))


def test_a_stamped_message_leaves_with_the_request_that_follows(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a federate steps fast; one in receive order waits for nothing, and takes along what was sent before it."""
    one, two = _Regulator(address(file, "S1")), Talker(address(file, "S2"))
    near, far = running(file, "S1"), running(file, "S2")
    monkeypatch.setattr(driving, "IDLE", 2.0)
    for step, follows in enumerate(("request", "message"), 1):
        for _ in range(2):  # it takes its grant, drives, and goes on
            one.rti.evoke_callback(0.0)
        before = far._mesh.received
        one.say_at(step + 1)
        one.say_at(step + 2)
        assert _waits(near)
        if follows == "request":
            one.rti.time_advance_request(weft.HLAfloat64Time(step))
        else:
            one.say(b"now")
        assert not _waits(near)
        assert eventually(lambda: far._mesh.received - before >= 3)  # noqa: B023
    monkeypatch.undo()
    assert sorted(two.listen(5)) == [b"2", b"3", b"3", b"4", b"now"]  # it goes by another class of service
    two.leave()
    one.leave()


def test_a_stamped_message_does_not_stay_behind(file: Path) -> None:
    """Though nothing follows it, from a federate that has stepped fast until then."""
    one, two = _Regulator(address(file, "S1")), Talker(address(file, "S2"))
    far = running(file, "S2")
    for step in range(1, 20):
        one.rti.evoke_callback(0.0)
        before = far._mesh.received
        one.say_at(float(step))
        assert eventually(lambda: far._mesh.received > before)  # noqa: B023
    assert two.listen(19) == [b"%d" % step for step in range(1, 20)]
    two.leave()
    one.leave()


def test_a_signal_handler_may_not_call(file: Path) -> None:
    """The node may be at work in this very thread: refused with what to do, instead of a deadlock or worse."""
    one = Talker(address(file, "S1"))
    refused: list[Exception] = []

    def handler(number: int, frame: Any) -> None:
        try:
            one.say(b"from a handler")
        except RTIinternalError as error:
            refused.append(error)

    drive = running(file, "S1").drive
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with drive.mutex:
            signal.raise_signal(signal.SIGUSR1)
            drive.until(lambda: bool(refused), WAIT)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert "let the handler only take note" in str(refused[0])
    one.leave()


# --- time ---------------------------------------------------------------------------------------------------------


def test_alarms_go_off_while_nobody_calls(tmp_path: Path) -> None:
    """Values that wait for their update rate arrive, by the attendant of a node whose federate does not call."""
    nodes = OwnNodes(tmp_path)
    rate = b"<name>Low</name><rate>%s</rate>"
    slow = fom().data.replace(rate % str(RATES["Low"]).encode(), rate % b"10")
    try:
        with federation(
            2, model=Source("slow.xml", slow), nodes=[OwnSite(nodes, "S1"), OwnSite(nodes, "S3")]
        ) as f:
            f.publish(0, TANK, "Position")
            f.subscribe(1, TANK, "Position", rate="Low")
            tank = f.register(0, TANK)
            f.quiet()
            for tag in (b"1", b"2", b"3"):
                f.update(0, tank, TANK, "Position", tag=tag)
            assert [call[1][2] for call in f.take(1, "reflect_attribute_values")] == [b"1"]
            inbox = f.rti[1].connection
            assert eventually(inbox.pending)
            assert [call[1][2] for call in f.take(1, "reflect_attribute_values")] == [b"3"]
    finally:
        nodes.stop()


def test_links_stay_alive_while_the_federate_computes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer than a node may be silent: nobody is taken for lost.  The two nodes share this process and its lock."""
    monkeypatch.setenv("WEFT_FABRIC_LOST_SECONDS", "0.4")
    one, two = Talker(address(file, "S1")), Talker(address(file, "S2"))
    until = time.monotonic() + 1.2
    while time.monotonic() < until:
        pass  # it computes
    one.say(b"still there")
    assert two.listen(1) == [b"still there"]
    assert (one.ears.lost, two.ears.lost) == ([], [])
    one.rti.resign_federation_execution(ResignAction.NO_ACTION)
    two.leave()
    one.rti.disconnect()
