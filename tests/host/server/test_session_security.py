"""A session belongs to whoever knows its id: ids cannot be guessed and are never shown, and a resume that must fail
fails with its status code (FEDPRO section 3.3) and does not disturb the session it was aimed at."""

from __future__ import annotations

import logging
import secrets
import time
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from host.server.test_serving import FAST, _certificate, _free_port, _password
from support import raw_client
from support.raw_client import Gunner, Raw, connected, frame, ints
from support.server_in_thread import Cutter, Running, Talker, eventually, serving
from weft import ResignAction
from weft.host.client.streams import Stream
from weft.host.server.guard import hash_password, read_password_file
from weft.host.settings import ServeSettings
from weft.model.errors import RTIexception

OK, INVALID, NOT_ENOUGH, OTHER = 0, 1, 2, 99


def port(running: Running) -> int:
    return running.ports["tcp"]


def works(client: Raw) -> bool:
    """A call on this connection is answered, as always."""
    return client.call(raw_client.LIST) == bytes.fromhex("7200")


def test_ids_come_from_the_system_and_are_never_0_or_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [5, 0, 5, 7]
    asked: list[int] = []

    def next_id(bits: int) -> int:
        asked.append(bits)
        return given.pop(0)

    monkeypatch.setattr(secrets, "randbits", next_id)
    with serving() as running:
        one, two = connected(port(running)), connected(port(running))
        assert (one.session, two.session) == (5, 7)
    assert asked == [64] * 4


def test_ids_look_like_chance() -> None:
    """Every bit is as often 0 as 1, within five deviations."""
    with serving() as running:
        ids = []
        for _ in range(400):
            with Raw(port(running)) as client:
                ids.append(client.greet().session)
        assert len(set(ids)) == 400
        for bit in range(64):
            assert 150 <= sum(one >> bit & 1 for one in ids) <= 250


def test_a_resume_drops_the_old_connection() -> None:
    """Also when that one still looks open; and again, when the second does."""
    with serving() as running:
        first = connected(port(running))
        session, last, number = first.session, first.last, first.number
        for _ in range(3):
            second = Raw(port(running))
            assert second.resume(session, last) == (OK, number)
            assert first.is_closed()
            second.number, second.last = number, last
            assert works(second)
            number, last = second.number, second.callback().number
            first = second
        assert running.ask(lambda server: len(server.sessions)) == 1


def test_who_loses_a_race_to_resume_loses_nothing() -> None:
    """A federate whose session is taken over by itself, again and again, hears everything once."""
    with serving() as running:
        steady = Talker(running.address())
        cutter = Cutter(port(running), [], [])
        shaky = Talker(f"127.0.0.1:{cutter.port}", FAST)
        left: list[Stream] = []
        for number in range(30):
            steady.say(b"%d" % number)
            # It believes its connection to be broken, while the server still sends on it.
            left.append(shaky.rti.connection._stream)  # type: ignore[attr-defined]
            shaky.rti.connection._session.connection_lost(time.monotonic())  # type: ignore[attr-defined]
            assert shaky.listen(number + 1) == [b"%d" % n for n in range(number + 1)]
        for stream in left:
            stream.close()
        shaky.leave()
        steady.leave()
        cutter.close()


def test_a_guessed_id_is_refused() -> None:
    """Status 1; the real session does not notice, nor does the one that guesses get another try on that connection."""
    with serving() as running:
        real = connected(port(running))
        for guess in (0, 1, real.session ^ 1, real.session ^ 1 << 63, 2**64 - 1, *range(2, 50)):
            with Raw(port(running)) as thief:
                assert thief.resume(guess, raw_client.NONE) == (INVALID, raw_client.NONE)
                assert thief.is_closed()
        assert works(real)


@pytest.mark.parametrize(
    ("last", "oldest", "status"),
    [(50, raw_client.NONE, OTHER), (-1, raw_client.NONE, OTHER), (0, -7, OTHER), (0, 1000, NOT_ENOUGH)],
)
def test_a_resume_that_must_fail_leaves_a_live_session_alone(last: int, oldest: int, status: int) -> None:
    """The id is right and the rest is not: the connection there is may be the true one."""
    with serving() as running:
        real = connected(port(running))
        with Raw(port(running)) as other:
            assert other.resume(real.session, last, oldest)[0] == status
            assert other.is_closed()
        assert works(real)


def test_a_session_that_is_over_cannot_be_resumed() -> None:
    """Terminated, broken, expired, or of a federate that did not connect: status 1, as if it had never been."""
    with serving(reconnect_seconds=0.05) as running:
        ended = connected(port(running))
        ended.send(frame(5, 2, ended.session, ended.last))
        assert ended.receive().kind == 6
        broken = connected(port(running))
        broken.send(frame(77, 2, broken.session, broken.last))
        assert broken.is_closed()
        expired = connected(port(running))
        expired.close()
        assert eventually(lambda: running.ask(lambda server: not server.sessions))
        for client in (ended, broken, expired):
            with Raw(port(running)) as again:
                assert again.resume(client.session, client.last) == (INVALID, raw_client.NONE)


def test_the_session_of_an_authenticated_federate() -> None:
    """Another who is authenticated too cannot speak in it, nor resume it without the id; who breaks off loses his own."""
    text = "".join(f'[users.{name}]\npassword = "{hash_password(name)}"\n' for name in ("alice", "bob"))
    with serving(read_password_file(text, "users.toml", True)) as running:
        clients = {}
        for name in ("alice", "bob"):
            client = clients[name] = Raw(port(running)).greet()
            credentials = _password(f"{name}:{name}")
            given = raw_client.field(
                1, raw_client.field(1, credentials.type), raw_client.field(2, credentials.data)
            )
            assert client.call(raw_client.field(2, given))[:1] == b"\x1a"
        alice, bob = clients["alice"], clients["bob"]
        assert alice.call(raw_client.create("F")) == raw_client.field(10)
        # On a connection of his own, in her name: with the id, which he cannot know, and with a wrong one.
        for session in (alice.session, alice.session + 1):
            thief = Raw(port(running)).greet()
            thief.send(frame(20, 1, session, raw_client.NONE, raw_client.destroy("F")))
            assert thief.is_closed()
        with Raw(port(running)) as stranger:
            stranger.send(frame(20, 2, alice.session, raw_client.NONE, raw_client.destroy("F")))
            assert stranger.is_closed()
        bob.send(
            frame(10, raw_client.NONE, alice.session, raw_client.NONE, ints(raw_client.NONE, raw_client.NONE))
        )
        assert bob.is_closed()  # a resume begins a connection
        assert works(alice)
        assert running.ask(lambda server: list(server.board.node.federations)) == ["F"]
        # A new session does not inherit anything: without a password there is no call.
        with Raw(port(running)).greet() as nobody:
            assert b"NotConnected" in nobody.call(raw_client.destroy("F"))
            assert b"InvalidCredentials" in nobody.call(raw_client.CONNECT)


def test_what_began_encrypted_does_not_go_on_in_the_clear(tmp_path: Path) -> None:
    cert, key = _certificate(tmp_path)
    serve = replace(ServeSettings(cert=cert, key=key), tls_port=_free_port())
    with serving(serve=serve) as running:
        talker = Talker(running.address("tls"), f"FedPro.keystore.path={cert}")
        other = Talker(running.address())
        session = running.ask(lambda server: next(i for i, s in server.sessions.items() if s.secure))
        with Raw(port(running)) as thief:
            assert thief.resume(session, raw_client.NONE) == (INVALID, raw_client.NONE)
        talker.say(b"still here")
        assert other.listen(1) == [b"still here"]
        talker.leave()
        other.leave()


def test_a_session_in_which_nobody_connects_is_over_soon() -> None:
    """limits.greeting_seconds: strangers take no federate's place, whether they keep their connection or not."""
    with serving(greeting_seconds=3.0) as running:
        kept = Raw(port(running)).greet()
        gone = Raw(port(running)).greet()
        gone.close()
        federate = connected(port(running))
        assert eventually(lambda: running.ask(lambda server: list(server.sessions)) == [federate.session])
        assert kept.is_closed()
        assert works(federate)
        assert any("no federate connected" in line for line in running.reports)


def test_no_id_is_ever_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A run with everything that is reported: whatever is logged, printed or raised, here or at the server."""
    ids: list[int] = []
    draw = secrets.randbits

    def note_id(bits: int) -> int:
        ids.append(draw(bits))
        return ids[-1]

    monkeypatch.setattr(secrets, "randbits", note_id)
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    with serving(
        queue_bytes=300_000, slow_bytes=50_000, reconnect_seconds=1.0, greeting_seconds=3.0
    ) as running:
        steady = Talker(running.address())
        cutter = Cutter(port(running), [900, 300], [])
        shaky = Talker(f"127.0.0.1:{cutter.port}", FAST)
        for number in range(40):
            shaky.say(b"%d" % number)
        with pytest.raises(RTIexception) as refused:
            shaky.rti.get_object_class_handle("Nothing")
        said += traceback.format_exception(refused.value)
        for kind, session in ((77, 0), (20, 1), (3, 2), (10, 3), (6, 0)):
            hostile = connected(port(running))
            hostile.send(frame(kind, 2, hostile.session ^ session, 0, bytes(4)))
            assert hostile.is_closed()
            with Raw(port(running)) as again:
                again.resume(hostile.session, raw_client.NONE)
        stuck = Gunner(port(running), receive_buffer=4096)
        for _ in range(150):
            steady.say(bytes(60_000))
            steady.ears.heard.clear()
        assert eventually(lambda: any("is dropped" in line for line in running.reports))
        with Raw(port(running)) as again:
            assert again.resume(stuck.raw.session, stuck.raw.last)[0] in (INVALID, NOT_ENOUGH)
        lost = Talker(running.address())
        lost.rti.connection.lose()
        with pytest.raises(RTIexception) as over:
            lost.say(b"")
        said += traceback.format_exception(over.value)
        assert eventually(lambda: any("is gone" in line for line in running.reports))
        silent = Raw(port(running)).greet()
        assert eventually(lambda: any("no federate connected" in line for line in running.reports))
        silent.close()
        said += [repr(vars(steady.ears)), repr(steady.rti), repr(steady.rti.connection)]
        steady.rti.resign_federation_execution(ResignAction.NO_ACTION)
        shaky.rti.connection.lose()
        steady.rti.connection.lose()
        cutter.close()
        said += running.reports
        kinds = "resumed", "broke the protocol", "refused", "slow", "dropped", "gone", "lost its connection"
        for word in kinds:
            assert any(word in line for line in running.reports), word
    out = capfd.readouterr()
    text = "\n".join([*said, caplog.text, out.out, out.err]).lower()
    assert len(ids) > 9
    for one in ids:
        for form in (str(one), str(one - 2**64), f"{one:x}", one.to_bytes(8, "big").hex(" ")):
            assert form not in text
        assert repr(one.to_bytes(8, "big"))[2:-1].lower() not in text
