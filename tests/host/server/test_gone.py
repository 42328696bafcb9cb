"""Who is gone is missed within 15 s, and told by name; who only computes, is debugged or was stopped is left alone."""

from __future__ import annotations

import errno
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.server.test_serving import _certificate
from support.federate_process import Process
from support.server_in_thread import WAIT, Cutter, Talker, eventually, serving
from support.session_pipe import SessionPipe
from weft import HLAfloat64Time, ResignAction
from weft.cli.terminal.facts import SurveyAnswer, picture_of
from weft.cli.terminal.facts_lines import headline, state_texts
from weft.host.client.settings import ClientSettings
from weft.host.client.streams import open_stream
from weft.host.pulse import GONE, Pulse, gone_by, is_unanswered
from weft.host.server import server as server_module
from weft.host.settings import LimitSettings
from weft.model.errors import ConnectionFailed, FederateNameAlreadyInUse, NotConnected
from weft.wire.session.state import Action, SessionSettings, State

SOON = "FED_TIMEOUT_RECONNECT=1,FED_TIMEOUT_HEART=1,FED_INT_HEART=0.2,FedPro.resume.retryDelayMillis=100"


# --- the defaults -----------------------------------------------------------------------------------------------


def test_by_default_both_sides_know_within_15_seconds() -> None:
    """A killed process closes its connections at once, a lost machine is found out in GONE; a tick is left for the rest."""
    assert LimitSettings().reconnect_seconds + 1.0 < 15.0
    assert ClientSettings().reconnect + 1.0 < 15.0
    assert LimitSettings().reconnect_seconds > GONE
    assert ClientSettings().reconnect > GONE  # there is still time to resume when the machine comes back


def test_the_time_in_which_a_machine_answered_nothing_counts() -> None:
    pipe = SessionPipe(SessionSettings(reconnect=12.0), SessionSettings(reconnect=12.0))
    pipe.start()
    for session in (pipe.server, pipe.client):
        session.connection_lost(100.0, GONE)
        assert session.dropped_at == 100.0 - GONE
    assert pipe.server.next_deadline() == 112.0 - GONE
    assert pipe.server.tick(112.0 - GONE) == [Action.END]
    while pipe.client.state is not State.TERMINATED:
        now = pipe.client.next_deadline()
        assert now <= 112.0 - GONE
        if Action.CONNECT in pipe.client.tick(now):
            pipe.client.connection_lost(now + 0.1)


# --- silence is not absence -------------------------------------------------------------------------------------


@given(st.floats(0.0, 10_000.0), st.floats(0.0, 59.0))
def test_a_federate_that_computes_for_long_does_not_drop_its_server(gap: float, first: float) -> None:
    """It sent no heartbeats meanwhile, so nothing was to be heard; when it waits again, the server has its time to answer."""
    pipe = SessionPipe(SessionSettings(heartbeat=5.0, silence=30.0))
    pipe.start()
    pipe.now = first
    pipe.client.send_call_request(b"")
    pipe.settle()
    pipe.server.send_callback(b"")
    pipe.settle()
    pipe.now += gap
    now = max(pipe.now, pipe.client.next_deadline())
    assert pipe.client.tick(now) == [Action.FLUSH]
    asked = now
    pipe.client.take_outgoing(now)
    while True:  # nobody answers
        now = pipe.client.next_deadline()
        actions = pipe.client.tick(now)
        if actions != [Action.FLUSH]:
            break
        pipe.client.take_outgoing(now)
    assert actions == [Action.CLOSE, Action.CONNECT]
    assert asked + 25.0 <= now <= asked + 30.0


def info(retransmits: int = 0, probes: int = 0, sent: int = 0, received: int = 0) -> bytes:
    """As Linux tells it: `sent` and `received` are milliseconds since."""
    words = [0] * 13
    words[9], words[12] = sent, received
    return struct.pack("=8B13I", 0, 0, retransmits, probes, 0, 0, 0, 0, *words) + bytes(100)


def test_a_machine_that_answers_is_there_whatever_its_process_does() -> None:
    assert not is_unanswered(info())
    assert not is_unanswered(
        info(retransmits=9, sent=20_000, received=19_990)
    )  # it takes nothing, but says so
    assert is_unanswered(info(retransmits=1, sent=300, received=5_000))
    assert is_unanswered(info(probes=1))
    assert not is_unanswered(b"\x00" * 20)  # a system that tells less


@given(st.lists(st.tuples(st.floats(0.5, 3.0), st.booleans()), max_size=60))
def test_a_machine_is_gone_after_so_long_without_any_answer(looks: list[tuple[float, bool]]) -> None:
    pulse, now, since, seen = Pulse(), 0.0, None, 0
    for step, answered in looks:
        now += step
        found = pulse.look(info() if answered else info(probes=2), now)
        if answered:
            since, seen = None, 0
            assert found == 0
            continue
        since, seen = (now, 1) if since is None else (since, seen + 1)
        assert (found > 0) == (now - since >= GONE and seen >= 4)
        assert found in (0.0, now - since)


def test_a_program_that_was_itself_stopped_blames_nobody() -> None:
    pulse = Pulse()
    assert pulse.look(info(probes=1), 0.0) == 0
    assert pulse.look(info(probes=1), 3600.0) == 0
    assert gone_by(TimeoutError(errno.ETIMEDOUT, "")) == GONE
    assert gone_by(ConnectionResetError()) == gone_by(None) == 0


def test_both_ends_let_the_system_ask() -> None:
    with serving() as running:
        talker = Talker(running.address())
        ends = [talker.rti.connection._stream.socket]  # type: ignore[attr-defined]
        ends += running.ask(lambda server: [line._probed for line in server._connections])
        for end in ends:
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            idle, interval, count = (end.getsockopt(socket.IPPROTO_TCP, one) for one in options)
            assert idle + interval * count == GONE
        talker.leave()


# --- a federate is killed ---------------------------------------------------------------------------------------


class Waiter(Talker):
    """It asks for a time that the other one keeps from it."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.take_part_in_time()

    def granted(self) -> bool:
        self.rti.evoke_callback(0.05)
        return self.rti.query_blocking().requested is None

    def blocker(self) -> str:
        blocking = self.rti.query_blocking()
        return str(blocking.blocked_by[0]) if blocking.blocked_by else ""


def test_those_who_wait_are_told_who_is_gone_since_when_and_until_when() -> None:
    """In query_blocking, in the refusal of its name, in the survey and `weft status`, and in the log; then it is over."""
    with serving(reconnect_seconds=10.0) as running:
        waiter = Waiter(running.address())
        other = Talker(running.address())
        with Process("regulate", running.address(), "Rhino") as process:
            process.says("ready")
            waiter.rti.register_federation_synchronization_point("go", b"")
            waiter.rti.time_advance_request(HLAfloat64Time(50.0))
            assert "'Rhino'" in waiter.blocker()
            assert "lost" not in waiter.blocker()
            process.kill()
            assert eventually(lambda: "it lost its connection" in waiter.blocker())
            assert "s unless it comes back" in waiter.blocker()
            other.rti.resign_federation_execution(ResignAction.NO_ACTION)
            with pytest.raises(
                FederateNameAlreadyInUse, match=r"'Rhino' of 'F' lost its connection .* resigns in"
            ):
                other.rti.join_federation_execution("Rhino", "tank", "F")
            picture = picture_of([SurveyAnswer("here", waiter.rti.query_survey())])
            one = picture["federations"]["F"]["federates"]["Rhino"]
            away = one["absence"]
            assert away["why"] == "lost"
            assert away["seconds"] + away["left"] == pytest.approx(10, abs=0.5)
            assert "Rhino blocks talker" in headline(picture)
            assert "Rhino lost its connection" in headline(picture)
            assert any(
                line.startswith("Rhino lost its connection")
                for line in state_texts(picture["federations"]["F"])
            )
            assert eventually(
                lambda: any("lost its connection; it is over at" in line for line in running.reports)
            )
            assert eventually(waiter.granted)
            other.rti.join_federation_execution("Rhino", "tank", "F")
            assert any("federate 'Rhino' of 'F' is gone" in line for line in running.reports)
        other.leave()
        waiter.leave()


def test_a_federate_that_lost_only_its_connection_resumes(request: pytest.FixtureRequest) -> None:
    """Within that time; nobody waits for it any more, and nobody is told that it is away."""
    with serving() as running:
        cutter = Cutter(running.ports["tcp"], [], [])
        request.addfinalizer(cutter.close)
        shaky = Talker(f"127.0.0.1:{cutter.port}")
        other = Talker(running.address())
        session = running.ask(lambda server: next(iter(server.sessions.values())))
        running.ask(lambda server: session.line.abandon_session())
        assert eventually(lambda: running.ask(lambda server: session.line) is None)
        federates = other.rti.query_survey()["federations"]["F"]["federates"]
        assert [one["absence"]["why"] for one in federates.values() if "absence" in one] == ["lost"]
        other.say(b"meanwhile")
        assert shaky.listen(1) == [b"meanwhile"]
        federates = other.rti.query_survey()["federations"]["F"]["federates"]
        assert not [one for one in federates.values() if "absence" in one]
        assert any("resumed" in line for line in running.reports)
        shaky.leave()
        other.leave()


def test_a_stopped_federate_is_told_of_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP, a debugger, a long computation: its machine answers for it, so it stays; those who wait are told."""
    monkeypatch.setattr(server_module, "_SILENT", 1.5)
    monkeypatch.setenv("FEDPRO_CLIENT_SETTINGS", "FED_INT_HEART=0.1")
    with serving(reconnect_seconds=0.2) as running:
        waiter = Waiter(running.address())
        with Process("regulate", running.address(), "Rhino") as process:
            process.says("ready")
            waiter.rti.time_advance_request(HLAfloat64Time(50.0))
            process.stop()
            assert eventually(lambda: "it is connected but has said nothing for" in waiter.blocker())
            for _ in range(30):  # it takes nothing, and far more is sent to it than fits
                waiter.say(bytes(100_000))
                assert not waiter.granted()
            process.go_on()
            assert eventually(lambda: "'Rhino'" in waiter.blocker() and "nothing" not in waiter.blocker())
        assert eventually(waiter.granted)
        waiter.leave()


# --- a server is killed -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("gone")
    _certificate(made)
    return made


@pytest.fixture
def server(folder: Path) -> Iterator[Process]:
    with Process("serve", str(folder)) as process:
        yield process


def address_of(ports: dict[str, int], kind: str) -> str:
    return f"{kind}://127.0.0.1:{ports[kind]}"


@pytest.mark.parametrize("kind", ["tcp", "tls", "ws"])
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_calls_to_a_server_that_is_gone_end(server: Process, folder: Path, kind: str, how: str) -> None:
    """NotConnected, with why; and connection_lost for who waits for callbacks.  A stopped one is given up, too, only later."""
    address = address_of(server.says("ports"), kind)
    settings = f"{SOON},FedPro.keystore.path={folder / 'cert.pem'}"
    talker = Talker(address, settings)
    listening = Talker(address, settings)
    getattr(server, how)()
    with pytest.raises(
        NotConnected, match=r"was not answered, since the session with .* is over: no connection"
    ):
        talker.rti.list_federation_executions()
    with pytest.raises(NotConnected):
        talker.say(b"more")
    listening.listen(1)
    assert "no connection lasted within 1 s" in listening.ears.lost[0]


@pytest.mark.parametrize("kind", ["tcp", "tls", "ws"])
def test_sending_to_a_server_that_takes_nothing_ends(server: Process, folder: Path, kind: str) -> None:
    """More than all buffers hold, with nobody waiting for answers: the send itself must not hang."""
    address = address_of(server.says("ports"), kind)
    settings = f"{SOON},FedPro.asyncUpdates=true,FedPro.keystore.path={folder / 'cert.pem'}"
    talker = Talker(address, settings)
    server.stop()

    def send_all() -> None:
        for _ in range(100_000):
            talker.say(bytes(100_000))

    with pytest.raises(NotConnected):
        send_all()


def test_opening_a_connection_is_bounded_as_a_whole(folder: Path) -> None:
    """A listener that lets one connect and says nothing: neither TLS nor a WebSocket waits longer than for all of it."""
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        port = dumb.getsockname()[1]
        for protocol in ("tls", "websocket"):
            with pytest.raises(ConnectionFailed, match="timed out"):
                open_stream(ClientSettings("127.0.0.1", port, protocol), 0.3)


def test_a_thread_that_waits_is_woken_when_the_session_ends(server: Process, folder: Path) -> None:
    """Of several threads one reads; the others hear of the end as well."""
    talker = Talker(address_of(server.says("ports"), "tcp"), SOON)
    ended: list[Exception] = []

    def call() -> None:
        try:
            while True:
                talker.rti.list_federation_executions()
        except NotConnected as error:
            ended.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    server.kill()
    for thread in threads:
        thread.join(WAIT)
    assert len(ended) == 4
