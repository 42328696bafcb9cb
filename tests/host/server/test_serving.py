"""The server and the Python client over loopback: transports, resuming, slow and hostile peers."""

from __future__ import annotations

import random
import socket
import struct
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from support.server_in_thread import WAIT, Cutter, Listener, Talker, eventually, serving
from weft import (
    CallbackModel,
    Federate,
    HLAfloat64Time,
    HLAinteger64Time,
    ResignAction,
    RTIambassador,
    Source,
)
from weft.cli.data import object_model
from weft.host.server.guard import Guard, User, hash_password, read_password_file
from weft.host.settings import ServeSettings
from weft.model.errors import (
    ConnectionFailed,
    CouldNotOpenFOM,
    ErrorReadingFOM,
    FederateNotExecutionMember,
    InteractionClassNotPublished,
    InvalidCredentials,
    InvalidLogicalTime,
    NameNotFound,
    NotConnected,
    RTIinternalError,
    Unauthorized,
)
from weft.model.records import Credentials, RtiConfiguration
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import pack_header

CLEAR = "FedPro.connect.clearTextPassword=true"
FAST = "FedPro.resume.retryDelayMillis=20"


def test_two_federates_talk_over_a_server() -> None:
    """The same federate code as in one process, with an address."""
    with serving() as running:
        one, two = Talker(running.address()), Talker(running.address())
        for number in range(50):
            one.say(b"one %d" % number)
            two.say(b"two %d" % number)
        assert two.listen(50) == [b"one %d" % n for n in range(50)]
        assert one.listen(50) == [b"two %d" % n for n in range(50)]
        one.leave()
        two.leave()
        assert running.ask(lambda server: len(server.sessions)) == 0


def test_a_federate_of_the_python_kind_takes_an_address() -> None:
    """weft.join(…, rti=address), with typed values."""
    with serving() as running:
        heard: list[object] = []
        options = {"fom": object_model("range.xml"), "rti": running.address()}
        with Federate("F", "a", **options) as a, Federate("F", "b", **options) as b:  # type: ignore[arg-type]
            b.on_interaction("Fire")(heard.append)
            b.on_update("Vehicle")(lambda vehicle, changes: heard.append(changes))
            a.send("Fire", Target="b", Round=3)
            a.register("Tank", "Rhino").update(Position={"X": 1.0, "Y": 2.0, "Z": 3.0})
            assert b.run_until(lambda: len(heard) == 2)
        assert heard[0]["Round"] == 3  # type: ignore[index]
        assert heard[1] == {"Position": {"X": 1.0, "Y": 2.0, "Z": 3.0}}


def test_exceptions_keep_their_names_and_words() -> None:
    with serving() as running:
        talker = Talker(running.address())
        with pytest.raises(NameNotFound, match="no object class 'Tugg'"):
            talker.rti.get_object_class_handle("Tugg")
        talker.rti.resign_federation_execution(ResignAction.NO_ACTION)
        with pytest.raises(FederateNotExecutionMember):
            talker.say(b"")
        talker.rti.disconnect()
        with pytest.raises(NotConnected):
            talker.say(b"")


def test_updates_sent_without_waiting_complain_at_the_next_call() -> None:
    """asyncUpdates: a refusal is never silent."""
    with serving() as running:
        talker = Talker(running.address(), "FedPro.asyncUpdates=true")
        other = Talker(running.address())
        for number in range(1000):
            talker.say(b"%d" % number)
        talker.rti.get_order_type("HLAreceive")
        assert other.listen(1000) == [b"%d" % n for n in range(1000)]
        talker.rti.unpublish_interaction_class(talker.fire)
        talker.say(b"refused")
        with pytest.raises(InteractionClassNotPublished, match="does not publish"):
            _ask_until_refused(talker)
        talker.leave()
        other.leave()


def _ask_until_refused(talker: Talker) -> None:
    """The refusal of an earlier message comes with the answer to one of the next calls."""
    for _ in range(1000):
        talker.rti.get_order_type("HLAreceive")


@pytest.mark.parametrize("kind", ["ws", "tls", "wss"])
def test_other_transports(kind: str, tmp_path: Path) -> None:
    """WebSocket, TLS 1.3 and both: the same talk, also with large messages."""
    cert, key = _certificate(tmp_path)
    serve = replace(ServeSettings(cert=cert, key=key), **{f"{kind}_port": _free_port()})  # type: ignore[arg-type]
    with serving(serve=serve) as running:
        settings = f"FedPro.keystore.path={cert}" if kind != "ws" else ""
        one, two = Talker(running.address(kind), settings), Talker(running.address())
        for size in (0, 1, 200, 70_000, 300_000):
            one.say(bytes(size))
            two.say(bytes(size))
        assert [len(v) for v in two.listen(5)] == [0, 1, 200, 70_000, 300_000]
        assert [len(v) for v in one.listen(5)] == [0, 1, 200, 70_000, 300_000]
        one.leave()
        two.leave()


def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    cert, key = _certificate(tmp_path)
    serve = ServeSettings(tls_port=_free_port(), cert=cert, key=key)
    with serving(serve=serve) as running, pytest.raises(ConnectionFailed, match="certificate"):
        Talker(running.address("tls"))


@pytest.mark.parametrize("kind", ["tcp", "tls", "ws"])
def test_callbacks_as_they_come_and_calls_at_the_same_time(kind: str, tmp_path: Path) -> None:
    """IMMEDIATE: one thread reads for all; calls from others neither wait for it in vain nor disturb it."""
    cert, key = _certificate(tmp_path)
    serve = ServeSettings(cert=cert, key=key, tls_port=_free_port(), ws_port=_free_port())
    with serving(serve=serve) as running:
        settings = f"FedPro.keystore.path={cert}"
        one, two = (Talker(running.address(kind), settings, model=CallbackModel.IMMEDIATE) for _ in range(2))

        def talk(talker: Talker) -> None:
            for number in range(100):
                talker.say(b"%d" % number)
                talker.rti.get_order_type("HLAreceive")

        threads = [threading.Thread(target=talk, args=(talker,), daemon=True) for talker in (one, two, one)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
            assert not thread.is_alive()
        assert eventually(lambda: len(two.ears.heard) == 200 and len(one.ears.heard) == 100)
        one.leave()
        two.leave()


@pytest.mark.parametrize("seed", range(12))
def test_a_cut_connection_loses_and_repeats_nothing(seed: int) -> None:
    """Cuts at random bytes, in both directions, several times: the session resumes and all arrives once, in order."""
    rng = random.Random(seed)
    with serving() as running:
        steady = Talker(running.address())
        up = [rng.randrange(60, 6000) for _ in range(3)]
        down = [rng.randrange(60, 6000) for _ in range(3)]
        cutter = Cutter(running.ports["tcp"], up, down)
        shaky = Talker(f"127.0.0.1:{cutter.port}", FAST)
        for number in range(120):
            shaky.say(b"up %d" % number)
            steady.say(b"down %d" % number)
        assert steady.listen(120) == [b"up %d" % n for n in range(120)]
        assert shaky.listen(120) == [b"down %d" % n for n in range(120)]
        assert cutter.cuts >= 1
        shaky.leave()
        steady.leave()
        cutter.close()


def test_a_cut_at_every_byte_of_a_short_talk() -> None:
    """Every message boundary, and everything between."""
    with serving() as running:
        steady = Talker(running.address())
        for place in range(1, 400, 7):
            cutter = Cutter(running.ports["tcp"], [-1, place], [28 + place * 3])
            shaky = Talker(f"127.0.0.1:{cutter.port}", FAST)
            steady.ears.heard.clear()
            for number in range(6):
                shaky.say(b"up %d" % number)
                steady.say(b"down %d" % number)
            assert steady.listen(6) == [b"up %d" % n for n in range(6)], place
            assert shaky.listen(6) == [b"down %d" % n for n in range(6)], place
            shaky.leave()
            cutter.close()
        steady.leave()


def test_a_lost_federate_resigns_by_its_directive() -> None:
    """A session that is not resumed in time is over, and its objects are deleted as its directive says."""
    with serving(reconnect_seconds=0.1) as running:
        steady = Talker(running.address())
        other = Talker(running.address())
        other.rti.connection.lose()
        members = lambda server: len(server.board.node.federations["F"].members)
        assert eventually(lambda: running.ask(members) == 1)
        assert any("is gone" in line for line in running.reports)
        steady.leave()


@pytest.mark.parametrize("kind", ["tcp", "tls", "ws"])
def test_one_that_stops_reading_is_dropped_and_nobody_else_notices(kind: str, tmp_path: Path) -> None:
    """Bytes queued for a federate are bounded (limits.queue_bytes), on every transport."""
    cert, key = _certificate(tmp_path)
    serve = ServeSettings(cert=cert, key=key, tls_port=_free_port(), ws_port=_free_port())
    with serving(serve=serve, queue_bytes=400_000, slow_bytes=100_000) as running:
        talker, fine = (Talker(running.address()) for _ in range(2))
        stuck = Talker(running.address(kind), f"FedPro.keystore.path={cert}")
        for number in range(1000):
            talker.say(b"%04d" % number + bytes(9000))
            if number % 50 == 49:
                fine.listen(number + 1)
        assert len(fine.listen(1000)) == 1000
        assert any("is slow" in line for line in running.reports)
        assert any("is dropped" in line for line in running.reports)
        assert running.ask(lambda server: len(server.sessions)) == 2
        assert stuck.listen(1 << 30) is not None
        assert stuck.ears.lost
        talker.leave()
        fine.leave()


def test_noise_disturbs_nobody() -> None:
    """Random bytes, torn greetings, mutated frames: the connection is closed, others go on."""
    rng = random.Random(7)
    with serving(greeting_seconds=5.0) as running:
        one, two = Talker(running.address()), Talker(running.address())
        greeting = b"".join(ClientSession(0.0).take_outgoing(0.0))
        for number in range(150):
            with socket.create_connection(("127.0.0.1", running.ports["tcp"])) as noise:
                noise.settimeout(WAIT)
                if number % 3 == 0:
                    noise.sendall(rng.randbytes(rng.randrange(1, 400)))
                else:
                    noise.sendall(greeting)
                    answer = noise.recv(4096)
                    frame = bytearray(
                        answer[4:16].join([b"\0\0\0\x40", b"\x80\0\0\0\0\0\0\x14"]) + rng.randbytes(36)
                    )
                    for _ in range(rng.randrange(4)):
                        frame[rng.randrange(len(frame))] = rng.randrange(256)
                    noise.sendall(frame)
            one.say(b"%d" % number)
        assert two.listen(150) == [b"%d" % n for n in range(150)]
        one.leave()
        two.leave()


def test_passwords() -> None:
    """Who is not in the password file stays out; names, federations and rights are kept apart."""
    users = {
        "alice": User(hash_password("secret"), ("F*",), True),
        "bob": User(hash_password("tell"), ("G",), False),
    }
    text = "".join(
        f'[users.{name}]\npassword = "{user.password}"\nfederations = {list(user.federations)!r}\n'
        f"create = {str(user.create).lower()}\n"
        for name, user in users.items()
    )
    guard = read_password_file(text, "users.toml", clear_text_allowed=True)
    with serving(guard) as running:
        rti = RTIambassador()
        where = RtiConfiguration("", running.address(), CLEAR)
        for wrong in (None, _password("alice:wrong"), _password("carol:secret"), _password("alice")):
            with pytest.raises(InvalidCredentials):
                rti.connect(Listener(), CallbackModel.EVOKED, where, wrong)
        rti.connect(Listener(), CallbackModel.EVOKED, where, _password("bob:tell"))
        with pytest.raises(Unauthorized, match="may not create"):
            rti.create_federation_execution("G", object_model("range.xml"))
        with pytest.raises(Unauthorized, match="may not use"):
            rti.join_federation_execution("x", "F1")
        rti.disconnect()
        rti.connect(Listener(), CallbackModel.EVOKED, where, _password("alice:secret"))
        rti.create_federation_execution("F1", object_model("range.xml"))
        rti.disconnect()


def test_a_password_is_refused_without_tls() -> None:
    """… unless the operator says otherwise; the message says how."""
    guard = read_password_file(f'[users.a]\npassword = "{hash_password("x")}"', "users.toml")
    with serving(guard) as running, pytest.raises(InvalidCredentials, match="TLS port"):
        RTIambassador().connect(
            Listener(),
            CallbackModel.EVOKED,
            RtiConfiguration("", running.address(), CLEAR),
            _password("a:x"),
        )


def test_object_models_are_limited() -> None:
    """limits.module_bytes; and a path that cannot be read arrives as a name, which the server does not open."""
    with serving(module_bytes=2000) as running:
        rti = RTIambassador()
        rti.connect(Listener(), CallbackModel.EVOKED, running.address())
        with pytest.raises(ErrorReadingFOM, match=r"limits\.module_bytes"):
            rti.create_federation_execution("F", Source("big.xml", bytes(3000)))
        with pytest.raises(CouldNotOpenFOM):
            rti.create_federation_execution("F", "nowhere.xml")
        rti.disconnect()


def test_sessions_are_limited() -> None:
    with serving(sessions=1) as running:
        talker = Talker(running.address())
        with pytest.raises(ConnectionFailed, match="out of resources"):
            Talker(running.address())
        talker.leave()


DELAYED = 0.04  # the least time for which Linux puts an acknowledgement off


def test_a_client_without_nodelay_is_not_held_back() -> None:
    """FEDPRO section 1: after a callback response, the next call must not wait 40 ms for an acknowledgement.

    Each would; so one that did not says that none has to, however busy the machine is.
    """
    with serving() as running:
        federates = [Talker(running.address()) for _ in range(7)]
        eager = federates[0]
        eager.rti.connection._stream.socket.setsockopt(  # type: ignore[attr-defined]
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 0
        )
        session = eager.rti.connection._session  # type: ignore[attr-defined]
        send = eager.rti.connection._stream.send  # type: ignore[attr-defined]
        steps = []
        for number in range(200):
            before = time.monotonic()
            federates[1].say(b"%d" % number)
            eager.listen(number + 1)
            # As the C++ client does: the answer to the callback in a packet of its own, then the next call.
            send(session.take_outgoing(time.monotonic()))
            eager.rti.get_order_type("HLAreceive")
            steps.append(time.monotonic() - before)
        assert min(steps[100:]) < DELAYED, "each step waited for an acknowledgement"
        for federate in federates:
            federate.leave()


def _password(text: str) -> Credentials:
    return Credentials("HLAplainTextPassword", len(text).to_bytes(4, "big") + text.encode("utf-16-be"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _certificate(folder: Path) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that vouches for itself, made with openssl."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return str(cert), str(key)


@pytest.mark.parametrize("stamp", [b"\xff" * 8, b"\x7f\xf8" + bytes(6)])
def test_a_time_that_is_none_is_refused_and_answered(stamp: bytes) -> None:
    """FEDPRO trap 4: a negative or NaN time never reaches another federate, and the call does not hang."""
    with serving() as running:
        one, two = Talker(running.address()), Talker(running.address())
        time_of_day = HLAfloat64Time(1.0)
        time_of_day.value = struct.unpack(">d", stamp)[0]
        with pytest.raises(InvalidLogicalTime):
            one.rti.send_interaction(one.fire, {one.target: b"x"}, b"", time_of_day)
        one.say(b"after")
        assert two.listen(1) == [b"after"]
        one.leave()
        two.leave()


def test_another_federation_may_have_another_time() -> None:
    """The representation of time is that of the federation joined last."""
    with serving() as running:
        rti, other = RTIambassador(), RTIambassador()
        heard: list[object] = []

        class Clock(Listener):
            def receive_interaction(self, *arguments: object) -> None:
                heard.append(arguments[6])

        rti.connect(Listener(), CallbackModel.EVOKED, running.address())
        other.connect(Clock(), CallbackModel.EVOKED, running.address())
        for name, when in (
            ("HLAfloat64Time", HLAfloat64Time(2.5)),
            ("HLAinteger64Time", HLAinteger64Time(7)),
        ):
            rti.create_federation_execution(name, object_model("range.xml"), name)
            for one in (rti, other):
                one.join_federation_execution("x", name)
            fire = rti.get_interaction_class_handle("Fire")
            rti.publish_interaction_class(fire)
            other.subscribe_interaction_class(fire)
            rti.send_interaction(fire, {}, b"", when)
            other.evoke_callback(WAIT)
            assert heard[-1] == when
            for one in (rti, other):
                one.resign_federation_execution(ResignAction.NO_ACTION)
        rti.disconnect()
        other.disconnect()


def test_leaving_while_joined_resigns_at_once() -> None:
    """RTIambassador.leave: nobody waits for the reconnect time-out."""
    with serving() as running:
        steady, other = Talker(running.address()), Talker(running.address())
        other.rti.leave()
        assert running.ask(lambda server: len(server.board.node.federations["F"].members)) == 1
        steady.leave()


def test_session_ids_are_never_reported() -> None:
    """Who knows the id can take the session over."""
    with serving() as running:
        talker = Talker(running.address())
        session = running.ask(lambda server: next(iter(server.sessions.values())).wire)
        forged = pack_header(24, 99, 12345, 0, 3)
        talker.rti.connection._stream.socket.sendall(forged)  # type: ignore[attr-defined]
        assert eventually(lambda: any("broke the protocol" in line for line in running.reports))
        text = "\n".join(running.reports)
        assert f"{session.session_id:x}" not in text
        assert str(session.session_id) not in text
        talker.rti.connection.lose()


def test_a_mistake_of_the_servers_own_is_answered_and_reported() -> None:
    """The client does not wait for ever, the session goes on, and so does the server; also outside of calls."""

    class Broken(Guard):
        def may_create(self, who: str, federation: str) -> None:
            raise ZeroDivisionError("by nothing")

    with serving(Broken()) as running:
        rti = RTIambassador()
        rti.connect(Listener(), CallbackModel.EVOKED, running.address())
        for _ in range(2):
            with pytest.raises(RTIinternalError, match="ZeroDivisionError"):
                rti.create_federation_execution("F", object_model("range.xml"))
        assert any("internal error" in line and "may_create" in line for line in running.reports)
        running.reports.clear()
        running.loop.call_soon_threadsafe(lambda: 1 / 0)
        assert eventually(lambda: any("division by zero" in line for line in running.reports))
        rti.disconnect()
