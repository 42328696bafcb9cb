"""Time: heartbeats, silence, attempts to reconnect, and the end of waiting.  All by a clock that only the test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.session_pipe import SessionPipe
from weft.wire.session import frames
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import HEARTBEAT, HEARTBEAT_RESPONSE
from weft.wire.session.server import ServerSession
from weft.wire.session.state import FOREVER, Action, SessionSettings, State


@pytest.fixture
def pipe() -> SessionPipe:
    pipe = SessionPipe()
    pipe.start()
    return pipe


def types(parts: list[bytes]) -> list[int]:
    return [int.from_bytes(head[20:24], "big") for head in frames.split(b"".join(parts))]


def test_the_client_sends_a_heartbeat_after_60_seconds_of_sending_nothing(pipe: SessionPipe) -> None:
    client = pipe.client
    assert client.next_deadline() == 60.0
    client.send_call_request(b"")
    client.take_outgoing(40.0)
    client.take_outgoing(50.0)
    assert client.next_deadline() == 100.0
    assert client.tick(99.9) == []
    assert client.tick(100.0) == [Action.FLUSH]
    assert types(client.take_outgoing(100.0)) == [HEARTBEAT]
    assert client.tick(100.0) == []
    assert client.next_deadline() == 160.0


def test_receiving_does_not_put_off_the_heartbeat(pipe: SessionPipe) -> None:
    pipe.now = 59.0
    pipe.server.send_callback(b"")
    pipe.settle()
    assert pipe.client.next_deadline() == 60.0


def test_heartbeats_keep_an_idle_session_alive_on_both_sides(pipe: SessionPipe) -> None:
    while pipe.now < 10_000:
        pipe.now = min(pipe.client.next_deadline(), pipe.server.next_deadline())
        assert pipe.server.tick(pipe.now) == []
        assert pipe.client.tick(pipe.now) == [Action.FLUSH]
        pipe.collect()
        pipe.carry_up(1000)
        answer = pipe.server.take_outgoing(pipe.now)
        assert types(answer) == [HEARTBEAT_RESPONSE]
        pipe.client.feed(b"".join(answer), pipe.now)
        assert not pipe.client.next()
    assert (pipe.client.state, pipe.server.state) == (State.RUNNING, State.RUNNING)


def test_the_server_drops_a_silent_connection_and_keeps_the_session(pipe: SessionPipe) -> None:
    server = pipe.server
    assert server.next_deadline() == 180.0
    assert server.tick(179.0) == []
    assert server.tick(180.0) == [Action.CLOSE]
    assert server.state is State.DROPPED
    server.connection_lost(181.0)
    assert server.next_deadline() == 780.0
    assert server.tick(779.0) == []
    assert server.tick(780.0) == [Action.END]
    assert "did not resume it within 600 s" in server.ending
    assert server.next_deadline() == FOREVER
    assert server.tick(1e9) == []


def test_a_resume_in_time_saves_the_session(pipe: SessionPipe) -> None:
    pipe.cut()
    pipe.now = 599.0
    assert pipe.server.tick(pipe.now) == []
    pipe.reconnect()
    pipe.settle()
    assert pipe.server.next_deadline() == 599.0 + 180.0


def test_a_greeting_that_nobody_accepts(pipe: SessionPipe) -> None:
    server = ServerSession(5, 0.0)
    assert server.tick(180.0) == [Action.CLOSE, Action.END]
    assert server.state is State.TERMINATED


def test_the_client_drops_a_silent_connection_and_connects_at_once(pipe: SessionPipe) -> None:
    client = pipe.client
    for now in (60.0, 120.0):
        assert client.tick(now) == [Action.FLUSH]
        client.take_outgoing(now)
    assert client.next_deadline() == 180.0
    assert client.tick(180.0) == [Action.CLOSE, Action.CONNECT]
    assert client.state is State.DROPPED
    assert client.take_outgoing(180.0) == []


def test_attempts_come_at_once_and_then_every_5_seconds_for_600(pipe: SessionPipe) -> None:
    pipe.now = 7.0
    pipe.cut()
    client = pipe.client
    attempts = []
    while client.state is not State.TERMINATED:
        now = client.next_deadline()
        actions = client.tick(now)
        if Action.CONNECT in actions:
            attempts.append(now)
            client.connection_lost(now + 0.2)
    assert attempts == [7.0 + 5 * turn for turn in range(120)]
    assert actions == [Action.END]
    assert "no connection lasted within 600 s" in client.ending
    assert client.next_deadline() == FOREVER


def test_a_slow_attempt_is_not_doubled_and_the_next_one_follows_its_failure(pipe: SessionPipe) -> None:
    pipe.cut()
    client = pipe.client
    assert client.tick(0.0) == [Action.CONNECT]
    assert client.next_deadline() == 600.0
    assert client.tick(90.0) == []
    client.connection_lost(100.0)
    assert client.next_deadline() == 100.0
    assert client.tick(100.0) == [Action.CONNECT]


def test_a_resume_that_is_not_answered_is_an_attempt_that_failed(pipe: SessionPipe) -> None:
    pipe.cut()
    client = pipe.client
    client.tick(0.0)
    client.resume(1.0)
    assert client.state is State.RESUMING
    client.connection_lost(3.0)
    assert client.next_deadline() == 5.0
    assert client.tick(5.0) == [Action.CONNECT]
    client.resume(6.0)
    assert client.next_deadline() == 186.0
    assert client.tick(186.0) == [Action.CLOSE, Action.CONNECT]
    client.resume(599.0)
    assert client.tick(600.0) == [Action.CLOSE, Action.END]
    assert client.ending.endswith("600 s")


def test_a_connection_that_ends_after_each_resume_does_not_keep_calls_waiting(pipe: SessionPipe) -> None:
    """Something on the way ends every connection at the same frame: attempts keep their distance, and the session its end."""
    client = pipe.client
    client.send_call_request(b"what nobody lets through")
    pipe.cut()
    attempts = []
    while client.state is not State.TERMINATED:
        pipe.now = client.next_deadline()
        if Action.CONNECT in client.tick(pipe.now):
            attempts.append(pipe.now)
            pipe.reopen()
            pipe.collect()
            pipe.carry_up(
                1 << 20
            )  # the greeting and what follows it; the answer is only that to the greeting
            pipe.collect()
            pipe.carry_down(1 << 20)
            assert client.state is State.RUNNING
            pipe.cut()
    assert attempts == [5.0 * turn for turn in range(120)]
    assert client.ending == "no connection lasted within 600 s"


@given(st.integers(1, 40))
def test_a_session_that_brings_something_between_two_losses_lives_on(losses: int) -> None:
    """Its time to resume begins anew, and the next attempt is made at once."""
    pipe = SessionPipe()
    pipe.start()
    for loss in range(losses):
        pipe.now += 100.0
        pipe.cut()
        pipe.now += 400.0
        pipe.reconnect()
        pipe.server.send_callback(b"%d" % loss)
        pipe.settle()
        pipe.cut()
        assert pipe.client.next_deadline() == pipe.now
        pipe.reconnect()
        pipe.settle()
        pipe.now += 5.0
    assert [frame.payload for frame in pipe.at_client] == [b"%d" % loss for loss in range(losses)]


def test_the_first_answer_and_the_last_one_are_waited_for_no_longer_than_180_seconds(
    pipe: SessionPipe,
) -> None:
    client = ClientSession(10.0)
    assert client.next_deadline() == 190.0
    assert client.tick(190.0) == [Action.CLOSE, Action.END]
    assert "silent for 180 s" in client.ending
    pipe.client.terminate()
    assert pipe.client.next_deadline() == 180.0
    assert pipe.client.tick(180.0) == [Action.CLOSE, Action.END]


def test_a_new_session_is_not_tried_again_by_itself() -> None:
    client = ClientSession(0.0)
    client.connection_lost(1.0)
    assert (client.state, client.next_deadline()) == (State.TERMINATED, FOREVER)


@given(st.lists(st.floats(0.01, 300.0), min_size=1, max_size=40), st.booleans())
def test_a_tick_at_any_time_leaves_no_deadline_in_the_past(steps: list[float], cut: bool) -> None:
    """So a host that sleeps until `next_deadline` never spins."""
    settings = SessionSettings(heartbeat=6.0, silence=18.0, reconnect=60.0, retry=0.5)
    pipe = SessionPipe(settings, settings)
    pipe.start()
    if cut:
        pipe.cut()
    for step in steps:
        pipe.now += step
        pipe.client.tick(pipe.now)
        pipe.server.tick(pipe.now)
        assert pipe.client.next_deadline() > pipe.now
        assert pipe.server.next_deadline() > pipe.now
