"""Every limit of a server is a setting, has its refusal, and holds over a real socket."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest

from host.server.test_serving import FAST, _free_port
from support import raw_client
from support.raw_client import Closed, Gunner, Raw, connected, field, frame
from support.server_in_thread import Cutter, Talker, eventually, serving
from weft.host.settings import LimitSettings, ServeSettings, load_settings
from weft.model.errors import SettingsError
from weft.wire.session.websocket import BINARY, PING, wrap

MEGA = 1 << 20


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("sessions", 0, "limits.sessions is 0; it must be at least 1"),
        ("calls", -1, "limits.calls is -1"),
        ("reconnect_seconds", 0.0, "limits.reconnect_seconds"),
        ("silence_seconds", float("nan"), "limits.silence_seconds"),
        ("frame_bytes", 100, "from 1024 to"),
        ("frame_bytes", 1 << 31, "from 1024 to"),
        ("slow_bytes", 1 << 30, "not be more than limits.queue_bytes"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(key: str, value: float, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        LimitSettings(**{key: value})  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=said):
        load_settings({}, {f"WEFT_LIMITS_{key.upper()}": str(value)})


# --- messages -------------------------------------------------------------------------------------------------


def test_a_message_may_be_as_large_as_the_limit_and_no_larger() -> None:
    """limits.frame_bytes: refused by its header alone, before a byte of it is kept."""
    with serving(frame_bytes=100_000) as running:
        one, two = Gunner(running.ports["tcp"]), Talker(running.address())
        overhead = len(one.shot(bytes(90_000))) - 90_000
        one.raw.number -= 1
        one.raw.send(one.shot(bytes(100_000 - overhead)))
        assert [len(v) for v in two.listen(1)] == [100_000 - overhead]
        one.raw.receive()
        larger = one.shot(bytes(100_001 - overhead))
        one.raw.send(larger[:32])
        answer = one.raw.receive()  # before the rest has come
        assert b"RTIinternalError" in answer.payload
        assert b"100001 bytes" in answer.payload
        assert b"limits.frame_bytes" in answer.payload
        assert any("100001 bytes" in line and "limits.frame_bytes" in line for line in running.reports)
        one.raw.send(larger[32:] + one.shot(b"on"))
        assert two.listen(2)[1] == b"on"
        two.leave()


def test_the_largest_message_reaches_others_although_it_grows_on_the_way() -> None:
    """A callback says more than the call did; neither a Python federate nor its queue may give up on it."""
    with serving(frame_bytes=8 * MEGA, queue_bytes=16 * MEGA) as running:
        one, two = Talker(running.address()), Talker(running.address())
        for _ in range(3):
            one.say(bytes(8 * MEGA - 100))
            two.listen(1)
            assert len(two.ears.heard.pop()) == 8 * MEGA - 100
        one.leave()
        two.leave()


# --- sessions and strangers -----------------------------------------------------------------------------------


def test_sessions_and_connections() -> None:
    """limits.sessions: the next one is told "out of resources" (2); a place that is given up is free again."""
    with serving(sessions=2) as running:
        port = running.ports["tcp"]
        clients = [connected(port) for _ in range(2)]
        with Raw(port) as third:
            third.send(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)))
            answer = third.receive()
            assert (answer.kind, answer.session, answer.payload) == (2, 0, raw_client.ints(2))
            assert third.is_closed()
        strangers = [Raw(port) for _ in range(40)]
        assert strangers[-1].is_closed()  # more connections than sessions could need
        assert clients[1].call(raw_client.LIST) == bytes.fromhex("7200")
        for stranger in strangers:
            stranger.close()
        clients[0].send(frame(5, 2, clients[0].session, clients[0].last))
        assert clients[0].is_closed()
        assert eventually(lambda: _greets(port))


def _greets(port: int) -> bool:
    try:
        with Raw(port) as client:
            client.send(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)))
            return client.receive().payload == raw_client.ints(0)
    except Closed:
        return False


def test_strangers_do_not_fill_the_log() -> None:
    with serving() as running:
        for _ in range(300):
            with Raw(running.ports["tcp"]) as stranger:
                stranger.send(bytes(24))
                assert stranger.is_closed()
        assert eventually(lambda: any("more connections were refused" in line for line in running.reports))
        assert len(running.reports) < 150


def test_who_neither_greets_nor_takes_its_leave_is_cut_off() -> None:
    """limits.greeting_seconds: a silent connection, half a greeting, and one that is over and does not read the rest."""
    with serving(greeting_seconds=3.0) as running:
        port = running.ports["tcp"]
        silent, half = Raw(port), Raw(port)
        half.send(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1))[:20])
        deaf = Gunner(port, receive_buffer=4096)
        talker = Talker(running.address())
        for _ in range(120):
            talker.say(bytes(60_000))
            talker.ears.heard.clear()
        deaf.raw.send(frame(5, deaf.raw.number + 1, deaf.raw.session, deaf.raw.last))
        assert eventually(lambda: running.ask(lambda server: len(server._connections)) == 1)
        assert silent.is_closed()
        assert half.is_closed()
        talker.leave()


# --- calls in flight ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 7, 100_000])
def test_pipelined_calls_are_all_answered_in_order(calls: int) -> None:
    """limits.calls: in portions or not, each once."""
    with serving(calls=calls) as running:
        client = connected(running.ports["tcp"])
        client.send(
            b"".join(
                client.request(raw_client.LIST if n % 3 else raw_client.destroy("x")) for n in range(2000)
            )
        )
        answers: list[int] = []
        while len(answers) < 2000:
            found = client.receive()
            if found.kind == raw_client.RESPONSE:
                answers.append(found.answers)
        assert answers == list(range(2, 2002))


def test_one_that_calls_without_end_does_not_make_others_wait() -> None:
    """limits.calls: others have their turn in between."""
    with serving(calls=1) as running:
        greedy, other = connected(running.ports["tcp"]), connected(running.ports["tcp"])
        session = running.ask(lambda server: server.sessions[greedy.session])
        for _ in range(5):
            greedy.send(b"".join(greedy.request(raw_client.destroy("x")) for _ in range(3000)))
            other.call(raw_client.destroy("x"))
            if session.wire.last_received < greedy.number:
                break
            _take(greedy, 3000)
        else:
            pytest.fail("the other was never answered before all of the greedy one's calls were")
        greedy.close()


def _take(client: Raw, count: int) -> None:
    for _ in range(count):
        client.receive()


def test_a_farewell_behind_many_calls_counts() -> None:
    """A client that is destroyed sends TERMINATE_SESSION behind its last calls and does not wait (FEDPRO section 3.4)."""
    with serving(calls=10) as running:
        for _ in range(5):
            listener = Talker(running.address())
            gunner = Gunner(running.ports["tcp"])
            shots = b"".join(gunner.shot(b"%d" % n) for n in range(500))
            gunner.raw.send(shots + frame(5, gunner.raw.number + 1, gunner.raw.session, gunner.raw.last))
            gunner.raw.close()
            heard = listener.listen(500)
            assert heard == [b"%d" % n for n in range(len(heard))]
            if len(heard) == 500:  # its packets may be lost with the connection; then it resigns by time
                break
            listener.leave()
        assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 1)
        listener.leave()


def _queue_peak(running_ask: Callable[..., int]) -> int:
    return running_ask(lambda s: max((line.queued() for line in s._connections), default=0))


def test_one_that_calls_and_never_reads_stays_bounded() -> None:
    """A million calls, if it likes: its answers are bounded by limits.queue_bytes, then it is dropped."""
    limit = MEGA
    with serving(queue_bytes=limit, slow_bytes=limit // 2) as running:
        talker, other = Talker(running.address()), Talker(running.address())
        greedy = connected(running.ports["tcp"], receive_buffer=4096)
        tracemalloc.start()
        base = tracemalloc.get_traced_memory()[0]
        peak, sent = 0, 0
        batch, question = 100, raw_client.destroy("x" * 2000)  # the answer says it again
        try:
            for _ in range(1_000_000 // batch):
                greedy.send(b"".join(greedy.request(question) for _ in range(batch)))
                sent += batch
                peak = max(peak, _queue_peak(running.ask))
                talker.say(b"%d" % sent)
        except (ConnectionError, TimeoutError):
            pass
        assert sent < 1_000_000, "it was never dropped"
        memory = tracemalloc.get_traced_memory()[1] - base
        tracemalloc.stop()
        assert peak < limit + 512 * 2500  # what one portion of calls can add
        assert memory < 12 * limit  # many small objects for each byte, but not without bound
        assert any("unread (limits.queue_bytes)" in line for line in running.reports)
        heard = other.listen(len(range(batch, sent + 1, batch)))
        assert heard == [b"%d" % n for n in range(batch, sent + 1, batch)][: len(heard)]
        assert len(heard) >= sent // batch - 1
        talker.leave()
        other.leave()


def test_small_questions_with_large_answers_stay_bounded() -> None:
    """A few bytes of a MOM request bring a whole object model back: the queue is looked at after each portion."""
    with serving(queue_bytes=4 * MEGA, slow_bytes=MEGA, calls=16) as running:
        greedy = Gunner(running.ports["tcp"])
        client = greedy.raw
        root = "HLAinteractionRoot.HLAmanager.HLAfederation"
        ask = client.ask(raw_client.interaction_class(f"{root}.HLArequest.HLArequestMIMdata"))
        answer = client.ask(raw_client.interaction_class(f"{root}.HLAreport.HLAreportMIMdata"))
        client.call(raw_client.publish(ask))
        client.call(raw_client.subscribe(answer))
        tracemalloc.start()
        client.send(
            b"".join(client.request(field(64, field(1, raw_client.handle(ask)))) for _ in range(2000))
        )
        assert eventually(lambda: any("is dropped" in line for line in running.reports))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40 * MEGA  # 2000 answers would be 500 MB


def websocket(port: int, receive_buffer: int = 0) -> Raw:
    client = Raw(port, receive_buffer)
    client.send(
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    return client


def test_a_stranger_on_a_websocket_gets_no_more_memory_than_another() -> None:
    """A message that is no greeting is refused by its size; and one in a million empty pieces is none at all."""
    with serving(serve=ServeSettings(ws_port=_free_port())) as running:
        client = websocket(running.ports["ws"])
        client.send(wrap(bytes(70_000), BINARY, b"mask")[:1000])
        with pytest.raises(ConnectionError):
            client.send_until_refused(bytes(1000))
        assert any("WebSocket message of more than 256 bytes" in line for line in running.reports)
        pieces = websocket(running.ports["ws"])
        pieces.send(b"\x02\x80mask")
        pieces.send(b"\x00\x80mask" * 100_000)
        lines = lambda server: [line._reader for line in server._connections if line._handshake is None]
        assert eventually(lambda: len(running.ask(lines)) == 1)
        assert eventually(lambda: len(running.ask(lines)[0]._data) < 6)
        assert running.ask(lines)[0]._parts == []
        greeting = wrap(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)), BINARY, b"mask")
        pieces.send(b"\x80" + greeting[1:])  # the end of the message
        assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 1)


def test_pings_that_nobody_reads_the_answers_of() -> None:
    """WebSocket: the answers to pings are bounded as everything else is."""
    with serving(
        serve=ServeSettings(ws_port=_free_port()), queue_bytes=200_000, slow_bytes=100_000
    ) as running:
        client = websocket(running.ports["ws"], 4096)
        client.send(wrap(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)), BINARY, b"mask"))
        ping = wrap(bytes(100), PING, b"mask") * 100
        with pytest.raises(ConnectionError):
            client.send(ping * 1000)
        assert any("pings" in line for line in running.reports)


# --- what is kept for a resume --------------------------------------------------------------------------------


def test_what_is_kept_for_a_resume_is_limited() -> None:
    """limits.history_bytes: who misses more is refused with status 2, and hears why."""
    with serving(history_bytes=10_000) as running:
        talker = Talker(running.address())
        cutter = Cutter(running.ports["tcp"], [], [])
        away = Gunner(running.ports["tcp"])
        session, last = away.raw.session, away.raw.last
        away.raw.close()
        away_session = running.ask(lambda server: server.sessions[session])
        for _ in range(30):
            talker.say(bytes(1000))
        assert away_session.wire._history.size <= 10_000
        with Raw(running.ports["tcp"]) as again:
            assert again.resume(session, last)[0] == 2
        assert running.ask(lambda server: session not in server.sessions)
        python = Talker(f"127.0.0.1:{cutter.port}", FAST)
        stream = python.rti.connection._stream  # type: ignore[attr-defined]
        stream.socket.shutdown(2)
        assert eventually(lambda: any("lost its connection" in line for line in running.reports))
        for _ in range(30):
            talker.say(bytes(1000))
        python.listen(1 << 30)
        assert ["not enough buffered messages" in why for why in python.ears.lost] == [True]
        talker.leave()
        cutter.close()


# --- object models --------------------------------------------------------------------------------------------


def zipped(*contents: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"{number}.xml", content)
    return made.getvalue()


def lying(archive: bytes) -> bytes:
    """Says of itself that it unpacks to ten bytes."""
    at = archive.index(b"PK\1\2")
    start = archive[:22] + struct.pack("<I", 10) + archive[26:at]
    return start + archive[at : at + 24] + struct.pack("<I", 10) + archive[at + 28 :]


LAUGHS = b'<!DOCTYPE a [<!ENTITY a "ha">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 20) for n in range(20)
)


@pytest.mark.parametrize(
    ("fom", "said"),
    [
        (lambda: field(1, field(1, "big.xml"), field(2, bytes(3 * MEGA))), b"limits.module_bytes"),
        (lambda: field(2, zipped(bytes(60 * MEGA))), b"limits.module_bytes"),
        (lambda: field(2, lying(zipped(bytes(50 * MEGA)))), b"ErrorReadingFOM"),
        (lambda: field(2, zipped(*[b"x"] * 3000)), b"many files instead of one"),
        (lambda: field(2, zipped(b"x", b"y")), b"2 files instead of one"),
        (lambda: field(2, zipped()), b"0 files instead of one"),
        (lambda: field(2, zipped(bytes(4 * MEGA), method=zipfile.ZIP_LZMA)), b"neither stored nor deflated"),
        (lambda: field(2, b"PK but not a ZIP archive"), b"not a ZIP archive"),
        (lambda: field(2, zipped(b"x" * 900)[:-30] + bytes(8)), b"ErrorReadingFOM"),
        (lambda: field(1, field(1, "laughs.xml"), field(2, LAUGHS)), b"may not declare entities"),
        (lambda: field(3, "file:///etc/passwd"), b"CouldNotOpenFOM"),
    ],
    ids=["large", "bomb", "liar", "many", "two", "none", "lzma", "no zip", "torn", "entities", "address"],
)
def test_hostile_object_models(fom: Callable[[], bytes], said: bytes) -> None:
    """limits.module_bytes: the call is refused and says why, without much memory; the session goes on."""
    with serving(module_bytes=2 * MEGA) as running:
        client = connected(running.ports["tcp"])
        request = client.request(raw_client.create("F", fom=fom()))
        tracemalloc.start()
        client.send(request)
        answer = client.receive().payload
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert said in answer
        assert b"FOM" in answer
        assert peak < 3 * len(request) + 12 * MEGA
        assert client.call(raw_client.create("F")) == field(10)


def test_modules_are_limited_in_number_and_together() -> None:
    """limits.modules; and many small bombs are one large one."""
    with serving(modules=4, module_bytes=2 * MEGA) as running:
        client = connected(running.ports["tcp"])
        one = field(1, raw_client.module())
        many = field(9, field(1, "F"), field(2, one * 5))
        assert b"limits.modules" in client.call(many)
        bombs = field(9, field(1, "F"), field(2, field(1, field(2, zipped(bytes(MEGA)))) * 3))
        assert b"limits.module_bytes" in client.call(bombs)
        assert client.call(field(9, field(1, "F"), field(2, one * 4))) == field(10)


def test_federations_are_limited() -> None:
    """limits.federations: they outlive their creators, so somebody could create them without end."""
    with serving(federations=3) as running:
        client = connected(running.ports["tcp"])
        for name in "ABC":
            assert client.call(raw_client.create(name)) == field(10)
        assert b"limits.federations" in client.call(raw_client.create("D"))
        assert client.call(raw_client.destroy("B")) == field(13)
        assert client.call(raw_client.create("D")) == field(10)


def test_the_size_of_a_frame_is_only_a_claim() -> None:
    """Nothing is set aside for it, and half of it leaves nothing behind."""
    with serving(reconnect_seconds=0.2) as running:
        tracemalloc.start()
        clients = [connected(running.ports["tcp"]) for _ in range(50)]
        for client in clients:
            client.send(
                raw_client.header(60 * MEGA, 2, client.session, client.last, raw_client.CALL) + bytes(1000)
            )
        held = lambda server: min(served.wire.frame.held for served in server.sessions.values())
        assert eventually(lambda: running.ask(held) == 1024)
        assert tracemalloc.get_traced_memory()[1] < 20 * MEGA
        tracemalloc.stop()
        for client in clients:
            client.close()
        assert eventually(lambda: running.ask(lambda server: not server.sessions))
