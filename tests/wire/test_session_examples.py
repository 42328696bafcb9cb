"""The recorded sessions of FEDPRO.md, section 7, byte by byte."""

from __future__ import annotations

from weft.wire import frames
from weft.wire.frames import NONE
from weft.wire.session_client import ClientSession
from weft.wire.session_greeting import Greeting, refuse_new_session, refuse_resume
from weft.wire.session_server import ServerSession
from weft.wire.session_state import INVALID_SESSION, OUT_OF_RESOURCES, RESUMED, State

FIRST = 0x27DA309FE4D03A9E
SECOND = 0x7B402E959F8F5017
THIRD = 0x50C61C10CB77C9F6

NEW_SESSION = "0000001c 00000000 0000000000000000 80000000 00000001 00000001"
NEW_STATUS = "0000001c 00000000 27da309fe4d03a9e 80000000 00000002 00000000"
CONNECT = "0000001c 00000001 27da309fe4d03a9e 80000000 00000014 1a020a00"
CONNECT_ANSWER = "0000001e 00000001 27da309fe4d03a9e 00000001 00000015 00000001 2200"
JOIN = (
    "00000038 00000004 27da309fe4d03a9e 00000003 00000014"
    "82011d 0a0570726f6265 12124e6f20737563682066656465726174696f6e 1a00"
)
JOIN_ANSWER = (
    "0000003b 00000004 27da309fe4d03a9e 00000004 00000015 00000004"
    "8a011c 0a1a 0a060a0400000001 1210484c41696e7465676572363454696d65"
)
DESTROY = "00000027 0000004c 27da309fe4d03a9e 0000004a 00000014 620d0a0b50726f62652d3236363336"
DESTROY_ANSWER = (
    "00000043 0000004c 27da309fe4d03a9e 0000004c 00000015 0000004c"
    "0a25 0a1f46656465726174696f6e457865637574696f6e446f65734e6f744578697374 12026e6f"
)
REPORT = "1217 0a15 0a13 0a0146 120e484c41666c6f6174363454696d65"
CALLBACK = f"00000031 00000007 27da309fe4d03a9e 00000006 00000016 {REPORT}"
CALLBACK_ANSWER = "0000001e 00000007 27da309fe4d03a9e 00000007 00000017 00000007 0a00"
HEARTBEAT = "00000018 00000007 7b402e959f8f5017 00000006 00000003"
HEARTBEAT_RESPONSE = "0000001c 00000007 7b402e959f8f5017 00000006 00000004 00000007"
RESUME = "00000020 80000000 50c61c10cb77c9f6 00000005 0000000a 00000005 00000001"
RESUME_STATUS = "00000020 00000008 50c61c10cb77c9f6 00000006 0000000b 00000000 00000006"
REPLAY_6 = "0000001e 00000006 50c61c10cb77c9f6 00000006 00000015 00000006 7200"
REPLAY_7 = f"00000031 00000007 50c61c10cb77c9f6 00000006 00000016 {REPORT}"
DISCONNECT = "0000001a 00000025 7b402e959f8f5017 00000024 00000014 2a00"
DISCONNECT_ANSWER = "0000001e 00000025 7b402e959f8f5017 00000025 00000015 00000025 3200"
TERMINATE = "00000018 00000026 7b402e959f8f5017 00000025 00000005"
TERMINATED = "00000018 00000026 7b402e959f8f5017 00000025 00000006"


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


def payload(text: str) -> bytes:
    """What follows the header and, in an answer, the number answered."""
    data = raw(text)
    return data[28:] if data[23] in (frames.CALL_RESPONSE, frames.CALLBACK_RESPONSE) else data[24:]


def sent(session: ClientSession | ServerSession) -> bytes:
    return b"".join(session.take_outgoing(0.0))


def server(session_id: int, first: int = 0) -> ServerSession:
    greeting = Greeting()
    assert greeting.feed(raw(NEW_SESSION))
    session = ServerSession(session_id, 0.0, first_sequence=first)
    assert session.accept(greeting, 0.0) == 0
    return session


def client(session_id: int, first: int = 0) -> ClientSession:
    session = ClientSession(0.0, first_sequence=first)
    sent(session)
    hear(session, NEW_STATUS.replace("27da309fe4d03a9e", f"{session_id:016x}"))
    return session


def hear(session: ClientSession | ServerSession, text: str) -> list[bytes]:
    """Feed frames; the payloads that come out."""
    session.feed(raw(text), 0.0)
    heard = []
    while session.next():
        heard.append(session.frame.payload)
    return heard


def at(session: ClientSession | ServerSession, number: int, last: int = NONE) -> None:
    """Put a session in the middle of the recording: `number` and `last` are those of the last frames sent and received."""
    session._number = number
    session.last_received = last


def test_new_session_at_the_server() -> None:
    assert sent(server(FIRST)) == raw(NEW_STATUS)


def test_new_session_at_the_client() -> None:
    session = ClientSession(0.0)
    assert sent(session) == raw(NEW_SESSION)
    assert session.state is State.NEW
    assert hear(session, NEW_STATUS) == []
    assert (session.state, session.session_id) == (State.RUNNING, FIRST)


def test_first_call() -> None:
    here, there = client(FIRST), server(FIRST)
    sent(there)
    assert here.send_call_request(payload(CONNECT)) == 1
    assert sent(here) == raw(CONNECT)
    assert hear(there, CONNECT) == [payload(CONNECT)]
    assert there.frame.sequence == 1
    there.send_call_response(1, payload(CONNECT_ANSWER))
    assert sent(there) == raw(CONNECT_ANSWER)
    assert hear(here, CONNECT_ANSWER) == [payload(CONNECT_ANSWER)]
    assert (here.frame.type, here.frame.answers) == (frames.CALL_RESPONSE, 1)


def test_join_and_destroy() -> None:
    for call, answer, number, acknowledged in (
        (JOIN, JOIN_ANSWER, 4, 3),
        (DESTROY, DESTROY_ANSWER, 0x4C, 0x4A),
    ):
        here, there = client(FIRST), server(FIRST)
        sent(there)
        at(here, number - 1, acknowledged)
        at(there, number - 1)
        assert here.send_call_request(payload(call)) == number
        assert sent(here) == raw(call)
        assert hear(there, call) == [payload(call)]
        there.send_call_response(number, payload(answer))
        assert sent(there) == raw(answer)
        assert hear(here, answer) == [payload(answer)]


def test_callback_and_its_answer() -> None:
    here, there = client(FIRST), server(FIRST)
    sent(there)
    at(here, 6)
    at(there, 6, 6)
    assert there.send_callback(raw(REPORT)) == 7
    assert sent(there) == raw(CALLBACK)
    assert hear(here, CALLBACK) == [raw(REPORT)]
    here.send_callback_response(here.frame.sequence, payload(CALLBACK_ANSWER))
    assert sent(here) == raw(CALLBACK_ANSWER)
    assert hear(there, CALLBACK_ANSWER) == [payload(CALLBACK_ANSWER)]
    assert there.frame.answers == 7


def test_heartbeat() -> None:
    here, there = client(SECOND), server(SECOND)
    sent(there)
    at(here, 6, 6)
    at(there, 6, 6)
    here.tick(60.0)
    assert sent(here) == raw(HEARTBEAT)
    assert hear(there, HEARTBEAT) == []
    assert sent(there) == raw(HEARTBEAT_RESPONSE)
    assert hear(here, HEARTBEAT_RESPONSE) == []


def test_resume_at_the_server() -> None:
    session = server(THIRD)
    for number in range(1, 7):
        hear(session, f"00000018 {number:08x} {THIRD:016x} 80000000 00000014")
        session.send_call_response(number, raw("7200"))
    session.send_callback(raw(REPORT))
    session.connection_lost(0.0)
    greeting = Greeting()
    assert greeting.feed(raw(RESUME))
    assert (greeting.is_resume, greeting.session_id) == (True, THIRD)
    assert (greeting.last_received, greeting.oldest_available) == (5, 1)
    assert session.resume(greeting, 0.0) == RESUMED
    assert sent(session) == raw(RESUME_STATUS + REPLAY_6 + REPLAY_7)


def test_resume_at_the_client() -> None:
    session = client(THIRD)
    for _ in range(6):
        session.send_call_request(b"")
    for number in range(1, 6):
        hear(session, f"0000001e {number:08x} {THIRD:016x} 80000000 00000015 {number:08x} 7200")
    session.connection_lost(0.0)
    session.resume(0.0)
    assert sent(session) == raw(RESUME)
    assert hear(session, RESUME_STATUS + REPLAY_6 + REPLAY_7) == [raw("7200"), raw(REPORT)]
    assert session.state is State.RUNNING
    assert sent(session) == b""


def test_disconnect_and_termination() -> None:
    here, there = client(SECOND), server(SECOND)
    sent(there)
    at(here, 0x24, 0x24)
    at(there, 0x24)
    here.send_call_request(payload(DISCONNECT))
    assert sent(here) == raw(DISCONNECT)
    hear(there, DISCONNECT)
    there.send_call_response(0x25, payload(DISCONNECT_ANSWER))
    assert sent(there) == raw(DISCONNECT_ANSWER)
    hear(here, DISCONNECT_ANSWER)
    here.terminate()
    assert here.state is State.TERMINATING
    assert sent(here) == raw(TERMINATE)
    hear(there, TERMINATE)
    assert there.state is State.TERMINATED
    assert sent(there) == raw(TERMINATED)
    hear(here, TERMINATED)
    assert (here.state, here.ending) == (State.TERMINATED, "this client terminated it")


def test_refusals_without_a_session() -> None:
    """Section 3.1 and 3.3: derived, not recorded."""
    assert refuse_new_session(OUT_OF_RESOURCES) == raw(
        "0000001c 00000000 0000000000000000 80000000 00000002 00000002"
    )
    expected = f"00000020 00000000 {THIRD:016x} 80000000 0000000b 00000001 80000000"
    assert refuse_resume(THIRD, INVALID_SESSION) == raw(expected)
