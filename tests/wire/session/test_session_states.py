"""States: what leads where, what is refused, and by whose fault."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from support.session_pipe import SessionPipe
from weft.model.errors import SettingsError
from weft.wire.errors import ProtocolError
from weft.wire.session import frames
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import NONE, pack_two
from weft.wire.session.greeting import Greeting
from weft.wire.session.server import ServerSession
from weft.wire.session.state import (
    CLIENT_STEPS,
    INVALID_SESSION,
    NOT_ENOUGH_BUFFERED,
    OTHER,
    RESUMED,
    SERVER_STEPS,
    UNSUPPORTED_VERSION,
    SessionMisuse,
    SessionSettings,
    SessionStep,
    State,
)

ID = 0x27DA309FE4D03A9E


def frame(kind: int, payload: bytes = b"", number: int = 1, session_id: int = ID, last: int = NONE) -> bytes:
    return struct.pack(">IiQii", 24 + len(payload), number, session_id, last, kind) + payload


def greet(data: bytes) -> Greeting:
    greeting = Greeting()
    assert greeting.feed(data)
    return greeting


def resume_request(last_received: int, oldest: int) -> Greeting:
    return greet(frame(frames.RESUME_REQUEST, pack_two(last_received, oldest), NONE))


@pytest.fixture
def pipe() -> SessionPipe:
    pipe = SessionPipe(session_id=ID)
    pipe.start()
    return pipe


@pytest.mark.parametrize("steps", [CLIENT_STEPS, SERVER_STEPS])
def test_the_tables_lead_from_new_to_terminated(steps: dict[State, dict[SessionStep, State]]) -> None:
    reached = {State.NEW}
    while more := {to for state in reached for to in steps[state].values()} - reached:
        reached |= more
    assert reached == set(steps)
    assert set(steps[State.TERMINATED].values()) == {State.TERMINATED}
    for state in steps:
        assert {SessionStep.FAULT, SessionStep.DISCARD, SessionStep.LOSE} <= set(steps[state])


def test_another_version_is_refused() -> None:
    session = ServerSession(ID, 0.0)
    greeting = greet(frame(frames.NEW_SESSION, b"\0\0\0\2 and more", 0, 0))
    assert session.accept(greeting, 0.0) == UNSUPPORTED_VERSION
    client = ClientSession(0.0)
    client.feed(b"".join(session.take_outgoing(0.0)), 0.0)
    assert not client.next()
    assert (client.state, client.refusal) == (State.TERMINATED, UNSUPPORTED_VERSION)
    assert "unsupported protocol version" in client.ending
    assert "version 2 instead of 1" in session.ending


@pytest.mark.parametrize(
    "raw, told",
    [
        (frame(frames.CALL_REQUEST), "began with HLA_CALL_REQUEST; expected CTRL_NEW_SESSION or CTRL_RESUME"),
        (frame(frames.HEARTBEAT), "began with CTRL_HEARTBEAT"),
        (frame(frames.NEW_SESSION, bytes(4), 0, 9), "with a session id; expected 0"),
        (frame(frames.NEW_SESSION, bytes(4), -3, 0), "number -3"),
        (frame(frames.NEW_SESSION, bytes(400), 0, 0), "max_frame allows 256"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "unknown type"),
    ],
)
def test_a_bad_greeting(raw: bytes, told: str) -> None:
    with pytest.raises(ProtocolError, match=told):
        greet(raw)


def test_a_greeting_in_pieces_and_what_follows_it() -> None:
    raw = frame(frames.RESUME_REQUEST, pack_two(5, 1), NONE) + b"following"
    for cut in range(len(raw)):
        greeting = Greeting()
        assert greeting.feed(raw[:cut]) == (cut >= 32)
        assert greeting.feed(raw[cut:])
        assert (greeting.session_id, greeting.last_received, greeting.oldest_available) == (ID, 5, 1)
        assert greeting.rest == b"following"


@pytest.mark.parametrize(
    "raw, told",
    [
        (frame(frames.CALL_REQUEST, session_id=ID + 1), "HLA_CALL_REQUEST with another session's id"),
        (
            frame(frames.HEARTBEAT, session_id=0),
            "CTRL_HEARTBEAT with another session's id",
        ),
        (frame(frames.CALL_REQUEST, number=-7), "HLA_CALL_REQUEST with number -7; expected 0 to 2147483647"),
        (frame(frames.HEARTBEAT, number=NONE), "CTRL_HEARTBEAT with number -2147483648"),
        (
            frame(frames.NEW_SESSION, bytes(4)),
            "CTRL_NEW_SESSION in a running session; it begins a connection",
        ),
        (frame(frames.RESUME_REQUEST, bytes(8)), "CTRL_RESUME_REQUEST in a running session"),
        (frame(frames.CALL_RESPONSE, bytes(4)), "which only the server sends"),
    ],
)
def test_what_a_client_may_not_send(pipe: SessionPipe, raw: bytes, told: str) -> None:
    pipe.server.feed(raw, 0.0)
    with pytest.raises(ProtocolError, match=told):
        pipe.server.next()
    assert pipe.server.state is State.TERMINATED
    assert told.split()[0] in pipe.server.ending
    pipe.server.feed(raw, 0.0)
    assert not pipe.server.next()


@pytest.mark.parametrize(
    "raw, told",
    [
        (frame(frames.CALLBACK_REQUEST, session_id=1), "HLA_CALLBACK_REQUEST with another session's id"),
        (frame(frames.CALLBACK_REQUEST, number=-1), "with number -1"),
        (frame(frames.NEW_SESSION_STATUS, bytes(4)), "CTRL_NEW_SESSION_STATUS while the session was running"),
        (frame(frames.RESUME_STATUS, bytes(8)), "CTRL_RESUME_STATUS while the session was running"),
        (frame(frames.HEARTBEAT), "CTRL_HEARTBEAT, which only the client sends"),
    ],
)
def test_what_a_server_may_not_send(pipe: SessionPipe, raw: bytes, told: str) -> None:
    """The client tells the server, as the C++ client does, and ends the session."""
    pipe.client.feed(raw, 0.0)
    with pytest.raises(ProtocolError, match=told):
        pipe.client.next()
    assert pipe.client.state is State.TERMINATED
    assert pipe.client.take_outgoing(0.0)[0][20:24] == b"\0\0\0\5"


def test_a_server_may_not_skip_the_status() -> None:
    client = ClientSession(0.0)
    client.feed(frame(frames.CALLBACK_REQUEST, session_id=0), 0.0)
    with pytest.raises(ProtocolError, match="HLA_CALLBACK_REQUEST while the session was new"):
        client.next()
    client = ClientSession(0.0)
    client.feed(frame(frames.NEW_SESSION_STATUS, bytes(4), 0, 0), 0.0)
    with pytest.raises(ProtocolError, match="expected an id other than 0"):
        client.next()


def test_acknowledgements_nobody_can_mean_are_ignored(pipe: SessionPipe) -> None:
    for _ in range(3):
        pipe.server.send_callback(b"")
        pipe.server.take_outgoing(0.0)
    for last in (4, 2**31 - 1, -5, 2, 1, NONE):
        pipe.server.feed(frame(frames.HEARTBEAT, last=last), 0.0)
        assert not pipe.server.next()
    pipe.server.feed(frame(frames.CALLBACK_RESPONSE, b"\x7f\xff\xff\xff", 2), 0.0)
    assert pipe.server.next()
    assert len(pipe.server._history) == 1


@pytest.mark.parametrize(
    "last_received, oldest, status",
    [
        (NONE, NONE, RESUMED),
        (3, 1, RESUMED),
        (2, 3, RESUMED),
        (3, 4, NOT_ENOUGH_BUFFERED),
        (4, 1, OTHER),
        (-2, 1, OTHER),
        (2, -9, OTHER),
    ],
)
def test_statuses_of_a_resume(pipe: SessionPipe, last_received: int, oldest: int, status: int) -> None:
    """Three callbacks sent, two calls received: the server misses 3, so OAF may be 3 at most."""
    for _ in range(3):
        pipe.server.send_callback(b"")
    for _ in range(2):
        pipe.client.send_call_request(b"")
    pipe.settle()
    pipe.cut()
    assert pipe.server.resume(resume_request(last_received, oldest), 0.0) == status
    assert pipe.server.state is (State.RUNNING if status == RESUMED else State.TERMINATED)
    out = pipe.server.take_outgoing(0.0)
    assert out[0][24:] == pack_two(status, 2)


def test_control_frames_are_no_gap_for_oaf(pipe: SessionPipe) -> None:
    """The server saw heartbeat 1, so a client whose first call is 2 has nothing to hide."""
    pipe.server.feed(frame(frames.HEARTBEAT), 0.0)
    pipe.server.next()
    assert pipe.server.resume(resume_request(NONE, 2), 0.0) == RESUMED
    pipe.server.feed(frame(frames.CALL_REQUEST, number=2) + frame(frames.HEARTBEAT, number=3), 0.0)
    assert pipe.server.next()
    assert not pipe.server.next()
    assert pipe.server.resume(resume_request(NONE, 4), 0.0) == RESUMED
    assert pipe.server.resume(resume_request(NONE, 5), 0.0) == NOT_ENOUGH_BUFFERED


def test_a_resume_is_an_acknowledgement(pipe: SessionPipe) -> None:
    for _ in range(3):
        pipe.server.send_callback(b"")
        pipe.server.take_outgoing(0.0)
    assert pipe.server.resume(resume_request(2, NONE), 0.0) == RESUMED
    assert len(pipe.server._history) == 1


def test_a_client_that_counts_control_frames_gets_nothing_twice(pipe: SessionPipe) -> None:
    for _ in range(3):
        pipe.server.send_callback(b"")
    pipe.server.feed(frame(frames.HEARTBEAT), 0.0)
    assert not pipe.server.next()
    pipe.server.take_outgoing(0.0)
    assert pipe.server.resume(resume_request(4, NONE), 0.0) == RESUMED
    assert len(frames.split(b"".join(pipe.server.take_outgoing(0.0)))) == 1


def test_a_terminated_session_cannot_be_resumed(pipe: SessionPipe) -> None:
    pipe.server.discard("the operator said so")
    assert pipe.server.resume(resume_request(NONE, NONE), 0.0) == INVALID_SESSION
    assert pipe.server.take_outgoing(0.0)[0][24:] == pack_two(INVALID_SESSION, NONE)
    assert pipe.server.ending == "the operator said so"


@pytest.mark.parametrize("received", [5, -4])
def test_a_server_may_not_have_received_what_was_never_sent(pipe: SessionPipe, received: int) -> None:
    pipe.client.send_call_request(b"")
    pipe.cut()
    pipe.reconnect()
    pipe.client.feed(frame(frames.RESUME_STATUS, pack_two(0, received)), pipe.now)
    with pytest.raises(ProtocolError, match=f"received {received}; the last sent was 1"):
        pipe.client.next()


def test_a_server_may_not_resume_before_the_history() -> None:
    pipe = SessionPipe(client=SessionSettings(history_frames=2))
    pipe.start()
    for _ in range(4):
        pipe.client.send_call_request(b"")
    pipe.cut()
    pipe.reconnect()
    pipe.client.feed(frame(frames.RESUME_STATUS, pack_two(0, 1)), pipe.now)
    with pytest.raises(ProtocolError, match="resumes after 1; frames up to 2 are not kept"):
        pipe.client.next()
    assert pipe.client.take_outgoing(0.0)[-1][20:24] == b"\0\0\0\5"


@pytest.mark.parametrize(
    "misuse",
    [
        lambda pipe: ClientSession(0.0).send_call_request(b""),
        lambda pipe: ServerSession(ID, 0.0).send_callback(b""),
        lambda pipe: ServerSession(0, 0.0),
        lambda pipe: ServerSession(2**64, 0.0),
        lambda pipe: pipe.server.accept(resume_request(NONE, NONE), 0.0),
        lambda pipe: pipe.server.resume(greet(frame(10, bytes(8), NONE, 7)), 0.0),
        lambda pipe: ServerSession(ID, 0.0).resume(resume_request(NONE, NONE), 0.0),
        lambda pipe: pipe.client.resume(0.0),
    ],
)
def test_misuse_is_not_the_peers_fault(pipe: SessionPipe, misuse: Callable[[SessionPipe], object]) -> None:
    with pytest.raises(SessionMisuse):
        misuse(pipe)


def test_after_the_end_nothing_is_sent_or_kept(pipe: SessionPipe) -> None:
    pipe.client.send_call_request(b"")
    pipe.settle()
    pipe.server.send_callback(b"never acknowledged")
    pipe.client.send_call_request(b"never acknowledged")
    pipe.client.terminate()
    pipe.client.send_callback_response(1, b"")
    pipe.settle()
    assert pipe.server.send_callback(b"") == NONE
    assert pipe.server.send_call_response(1, b"") == NONE
    assert pipe.server.take_outgoing(0.0) == pipe.client.take_outgoing(0.0) == []
    assert len(pipe.server._history) == len(pipe.client._history) == 0
    pipe.cut()
    assert (pipe.client.state, pipe.server.state) == (State.TERMINATED, State.TERMINATED)


def test_a_dropped_session_is_not_resumed_to_terminate_it(pipe: SessionPipe) -> None:
    pipe.cut()
    pipe.client.terminate()
    assert pipe.client.state is State.TERMINATED
    assert pipe.client.take_outgoing(0.0) == []


def test_what_is_left_of_a_dropped_connection_is_ignored(pipe: SessionPipe) -> None:
    pipe.client.send_call_request(b"")
    raw = b"".join(pipe.client.take_outgoing(0.0))
    pipe.cut()
    pipe.server.feed(raw, 0.0)
    assert not pipe.server.next()
    assert pipe.server.state is State.DROPPED


@pytest.mark.parametrize(
    "wrong",
    [{"max_frame": 8}, {"max_frame": 2**31}, {"history_frames": 0}, {"history_bytes": 0}, {"retry": 0}],
)
def test_settings_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError):
        SessionSettings(**wrong)  # type: ignore[arg-type]
