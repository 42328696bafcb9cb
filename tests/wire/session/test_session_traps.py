"""The traps of FEDPRO.md, section 8, that concern the session layer.  Numbers 1, 4, 5 and 7 concern services."""

from __future__ import annotations

import pytest

from support.session_pipe import SessionPipe
from weft.wire.errors import ProtocolError
from weft.wire.session import frames
from weft.wire.session.frames import NONE, pack_header, pack_one, pack_two, signed
from weft.wire.session.greeting import Greeting
from weft.wire.session.server import ServerSession
from weft.wire.session.state import (
    NEW_SESSION_REASONS,
    RESUME_STATUSES,
    RESUMED,
    SessionMisuse,
    SessionSettings,
    State,
)


@pytest.fixture
def pipe() -> SessionPipe:
    pipe = SessionPipe()
    pipe.start()
    return pipe


def types(parts: list[bytes]) -> list[int]:
    return [int.from_bytes(head[20:24], "big") for head in frames.split(b"".join(parts))]


def numbers(parts: list[bytes]) -> list[int]:
    return [int.from_bytes(head[4:8], "big") for head in frames.split(b"".join(parts))]


def resume(pipe: SessionPipe, last_received: int, oldest: int) -> list[bytes]:
    """A resume request of whatever content; the parts of the server's answer."""
    head = pack_header(32, NONE, signed(pipe.server.session_id), last_received, frames.RESUME_REQUEST)
    greeting = Greeting()
    assert greeting.feed(head + pack_two(last_received, oldest))
    pipe.status = pipe.server.resume(greeting, pipe.now)
    return pipe.server.take_outgoing(pipe.now)


def heartbeat(pipe: SessionPipe) -> None:
    pipe.now = pipe.client.next_deadline()
    pipe.client.tick(pipe.now)
    pipe.settle()


def test_trap_2_lrf_must_not_count_control_frames(pipe: SessionPipe) -> None:
    answer = resume(pipe, NONE, NONE)
    assert answer[0][24:] == pack_two(RESUMED, NONE)
    pipe.client.send_call_request(b"call 1")
    pipe.settle()
    heartbeat(pipe)
    heartbeat(pipe)
    assert pipe.server.last_received == 1
    answer = resume(pipe, NONE, 1)
    assert answer[0][24:] == pack_two(RESUMED, 1)
    assert int.from_bytes(answer[0][16:20], "big") == 1


def test_trap_2_the_client_counts_no_control_frames_either(pipe: SessionPipe) -> None:
    pipe.server.send_callback(b"")
    pipe.settle()
    heartbeat(pipe)
    pipe.cut()
    pipe.reconnect()
    assert pipe.client.take_outgoing(pipe.now)[0][24:] == pack_two(1, NONE)


def test_trap_3_never_answer_twice(pipe: SessionPipe) -> None:
    call = pipe.client.send_call_request(b"")
    pipe.settle()
    with pytest.raises(SessionMisuse, match="never made"):
        pipe.server.send_call_response(call + 1, b"")
    pipe.server.send_call_response(call, b"")
    with pytest.raises(SessionMisuse, match="call 1 has been answered"):
        pipe.server.send_call_response(call, b"")
    assert types(pipe.server.take_outgoing(pipe.now)) == [frames.CALL_RESPONSE]


def test_trap_3_a_call_sent_twice_is_executed_once(pipe: SessionPipe) -> None:
    pipe.client.send_call_request(b"call")
    raw = b"".join(pipe.client.take_outgoing(pipe.now))
    pipe.server.feed(raw + raw, pipe.now)
    assert [pipe.server.next(), pipe.server.next()] == [True, False]
    resume(pipe, NONE, 1)
    pipe.server.feed(raw, pipe.now)
    assert not pipe.server.next()
    assert pipe.server.state is State.RUNNING


@pytest.mark.parametrize("last_received", [NONE, 1, 2, 3, 4, 5])
def test_trap_3_never_replay_what_the_client_has(pipe: SessionPipe, last_received: int) -> None:
    for _ in range(5):
        pipe.server.send_callback(b"")
    expected = [number for number in range(1, 6) if last_received in (NONE, *range(number))]
    assert numbers(resume(pipe, last_received, NONE)) == [6, *expected]


def test_trap_3_never_replay_what_the_client_answered(pipe: SessionPipe) -> None:
    """Java counts a callback as received after handing it over: its answer may reach us while LRR does not count it yet."""
    for _ in range(3):
        pipe.server.send_callback(b"")
    pipe.settle()
    pipe.client.last_received = NONE
    pipe.client.send_callback_response(2, b"")
    pipe.settle()
    assert numbers(resume(pipe, 1, 1)) == [4, 3]
    assert pipe.status == RESUMED


def test_trap_6_the_server_sends_no_heartbeats(pipe: SessionPipe) -> None:
    while pipe.server.state is not State.TERMINATED:
        pipe.now = pipe.server.next_deadline()
        pipe.server.tick(pipe.now)
        assert pipe.server.take_outgoing(pipe.now) == []


@pytest.mark.parametrize("code", [-1, 3, 4, 98, 100, NONE])
def test_trap_6_codes_outside_the_lists_are_fatal(code: int) -> None:
    pipe = SessionPipe()
    head = pack_header(28, 0, 5, NONE, frames.NEW_SESSION_STATUS)
    pipe.client.feed(head + pack_one(code), 0.0)
    with pytest.raises(ProtocolError, match="expected 0, 1, 2 or 99"):
        pipe.client.next()
    assert pipe.client.state is State.TERMINATED
    pipe = SessionPipe()
    pipe.start()
    pipe.cut()
    pipe.reconnect()
    head = pack_header(32, 1, signed(pipe.client.session_id), NONE, frames.RESUME_STATUS)
    pipe.client.feed(head + pack_two(code, NONE), pipe.now)
    with pytest.raises(ProtocolError, match="expected 0, 1, 2 or 99"):
        pipe.client.next()
    assert pipe.client.state is State.TERMINATED


def test_trap_6_the_server_knows_no_other_codes() -> None:
    assert set(NEW_SESSION_REASONS) == set(RESUME_STATUSES) == {0, 1, 2, 99}


def test_trap_8_calls_may_come_before_earlier_callbacks_are_answered(pipe: SessionPipe) -> None:
    pipe.server.send_callback(b"")
    pipe.settle()
    call = pipe.client.send_call_request(b"")
    pipe.client.send_callback_response(1, b"")
    pipe.settle()
    assert [each.sequence for each in pipe.at_server] == [call, call + 1]


def test_trap_8_callbacks_may_never_be_answered() -> None:
    """Ten times the history, and no answer: the session runs on, and resumes, since the header acknowledges all the same."""
    pipe = SessionPipe(server=SessionSettings(history_frames=100))
    pipe.start()
    for _ in range(1000):
        pipe.server.send_callback(b"")
    pipe.settle()
    assert len(pipe.at_client) == 1000
    heartbeat(pipe)
    assert len(pipe.server._history) == 0
    pipe.cut()
    pipe.reconnect()
    pipe.settle()
    assert pipe.status == RESUMED


def test_trap_9_a_session_is_not_a_connection(pipe: SessionPipe) -> None:
    session = pipe.server
    for turn in range(5):
        pipe.cut()
        assert (pipe.client.state, session.state) == (State.DROPPED, State.DROPPED)
        session.send_callback(b"%d" % turn)
        assert session.take_outgoing(pipe.now) == []
        pipe.reconnect()
        pipe.settle()
        assert (pipe.client.state, session.state) == (State.RUNNING, State.RUNNING)
    assert [each.payload for each in pipe.at_client] == [b"0", b"1", b"2", b"3", b"4"]


def test_trap_9_half_a_frame_of_the_old_connection_is_discarded(pipe: SessionPipe) -> None:
    pipe.client.send_call_request(b"the whole call")
    pipe.collect()
    pipe.carry_up(30)
    pipe.cut(server_notices=False)
    pipe.reconnect()
    pipe.settle()
    assert [each.payload for each in pipe.at_server] == [b"the whole call"]


def test_trap_10_after_the_end_the_next_ambassador_gets_a_new_session(pipe: SessionPipe) -> None:
    pipe.client.terminate()
    pipe.settle()
    assert (pipe.client.state, pipe.server.state) == (State.TERMINATED, State.TERMINATED)
    again = SessionPipe(session_id=77)
    again.start()
    assert isinstance(again.server, ServerSession)
    assert again.client.session_id == 77
