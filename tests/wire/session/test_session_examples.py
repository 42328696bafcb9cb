"""The recorded sessions of FEDPRO.md, section 7, byte by byte."""

from __future__ import annotations

from support.recorded_exchanges import (
    CALLBACK,
    CALLBACK_ANSWER,
    CONNECT,
    CONNECT_ANSWER,
    DESTROY,
    DESTROY_ANSWER,
    DISCONNECT,
    DISCONNECT_ANSWER,
    FIRST,
    HEARTBEAT,
    HEARTBEAT_RESPONSE,
    JOIN,
    JOIN_ANSWER,
    NEW_SESSION,
    NEW_STATUS,
    REPLAY_6,
    REPLAY_7,
    REPORT,
    RESUME,
    RESUME_STATUS,
    SECOND,
    TERMINATE,
    TERMINATED,
    THIRD,
)
from weft.wire.session import frames
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import NONE
from weft.wire.session.greeting import Greeting, refuse_new_session, refuse_resume
from weft.wire.session.server import ServerSession
from weft.wire.session.state import INVALID_SESSION, OUT_OF_RESOURCES, RESUMED, State


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


def test_a_client_whose_session_is_forgotten_hears_why_and_what_to_do() -> None:
    session = client(THIRD)
    session.connection_lost(0.0)
    session.resume(0.0)
    sent(session)
    assert hear(session, refuse_resume(THIRD, INVALID_SESSION).hex()) == []
    assert session.state is State.TERMINATED
    assert "limits.greeting_seconds" in session.ending
    assert "connect again" in session.ending


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
