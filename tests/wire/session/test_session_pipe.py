"""A client and a server, and connections that break: each side gets what the other sent, in order, once."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.session_pipe import PipedFrame, SessionPipe
from weft.wire.session.frames import CALL_REQUEST, CALL_RESPONSE, CALLBACK_REQUEST, HEADER_SIZE, NONE
from weft.wire.session.state import NOT_ENOUGH_BUFFERED, RESUMED, SessionSettings, State

NEAR_THE_WRAP = 2**31 - 4


class Ledger:
    """Two chatty hosts: a call is answered and causes a callback, a callback is answered.  All that is sent is written down."""

    def __init__(self, pipe: SessionPipe) -> None:
        self.pipe = pipe
        self.from_client: list[tuple[int, bytes]] = []
        self.from_server: list[tuple[int, bytes]] = []
        pipe.on_server = self.on_server
        pipe.on_client = self.on_client

    def call(self, payload: bytes) -> None:
        self.from_client.append((self.pipe.client.send_call_request(payload), payload))

    def callback(self, payload: bytes) -> None:
        self.from_server.append((self.pipe.server.send_callback(payload), payload))

    def on_server(self, frame: PipedFrame) -> None:
        if frame.type == CALL_REQUEST:
            answer = b"answer to " + frame.payload
            self.from_server.append((self.pipe.server.send_call_response(frame.sequence, answer), answer))
            self.callback(b"callback of " + frame.payload)

    def on_client(self, frame: PipedFrame) -> None:
        if frame.type == CALLBACK_REQUEST:
            payload = b"done " + frame.payload
            number = self.pipe.client.send_callback_response(frame.sequence, payload)
            self.from_client.append((number, payload))
        else:
            assert frame.type == CALL_RESPONSE
            assert (frame.answers, frame.payload.removeprefix(b"answer to ")) in self.from_client

    def check(self) -> None:
        assert [(each.sequence, each.payload) for each in self.pipe.at_server] == self.from_client
        assert [(each.sequence, each.payload) for each in self.pipe.at_client] == self.from_server


def script(cuts: list[int], first: int = 0, server_notices: bool = True) -> tuple[Ledger, int]:
    """A short conversation, cut after so many bytes of each connection; returns how many the last one carried."""
    pipe = SessionPipe(client_first=first, server_first=first)
    pipe.start()
    ledger = Ledger(pipe)
    ledger.call(b"one")
    ledger.callback(b"spontaneous")
    ledger.call(b"")
    for turn, cut in enumerate(cuts):
        if pipe.settle(cut) > 0:
            break
        pipe.cut(server_notices)
        ledger.callback(b"while dropped")
        ledger.call(b"%d" % turn)
        pipe.reconnect()
    left = pipe.settle(1 << 30)
    assert pipe.status == RESUMED
    ledger.check()
    assert (pipe.client.state, pipe.server.state) == (State.RUNNING, State.RUNNING)
    return ledger, (1 << 30) - left


@pytest.mark.parametrize("first", [0, NEAR_THE_WRAP])
@pytest.mark.parametrize("server_notices", [True, False])
def test_a_cut_at_every_byte(first: int, server_notices: bool) -> None:
    _, whole = script([], first)
    assert whole > 200
    for cut in range(whole):
        script([cut], first, server_notices)


def test_two_cuts_at_every_pair_of_bytes_of_the_resume() -> None:
    """The second connection is cut while the greeting, its answer and the replay are under way."""
    _, whole = script([])
    for first_cut in range(0, whole, 7):
        _, again = script([first_cut])
        for second_cut in range(0, again, 5):
            script([first_cut, second_cut])


def test_a_cut_at_every_frame_boundary_over_and_over() -> None:
    """One more header on each connection: the sessions must come through in spite of many resumes."""
    for step in range(1, 40):
        ledger, _ = script([step * HEADER_SIZE] * 12, NEAR_THE_WRAP)
        assert len(ledger.from_client) >= 2


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0, NEAR_THE_WRAP, 2**31 - 40]), st.booleans())
@example(17281645, 0, False)  # silent for so long that the client gives its connection up
def test_random_cuts_pieces_and_loads(seed: int, first: int, server_notices: bool) -> None:
    rng = random.Random(seed)
    pipe = SessionPipe(client_first=first, server_first=first)
    pipe.start()
    ledger = Ledger(pipe)
    for turn in range(rng.randrange(20, 120)):
        choice = rng.random()
        if choice < 0.3:
            ledger.call(rng.randbytes(rng.randrange(60)))
        elif choice < 0.55:
            ledger.callback(b"%d" % turn)
        elif choice < 0.62:
            if pipe.connected:
                pipe.cut(server_notices)
        elif not pipe.connected:
            pipe.reconnect()
        elif choice < 0.66:
            pipe.now += 61.0
            pipe.tick()
        pipe.collect()
        for _ in range(rng.randrange(6)):
            pipe.carry_up(rng.randrange(90))
            pipe.carry_down(rng.randrange(90))
    if not pipe.connected:
        pipe.reconnect()
    pipe.settle()
    assert pipe.status == RESUMED
    ledger.check()


@given(st.integers(0, 12), st.integers(1, 6), st.integers(0, 6), st.sampled_from([0, NEAR_THE_WRAP]))
def test_the_server_resumes_exactly_if_its_history_suffices(
    arrived: int, capacity: int, dropped: int, first: int
) -> None:
    pipe = SessionPipe(server=SessionSettings(history_frames=capacity), server_first=first)
    pipe.start()
    ledger = Ledger(pipe)
    pipe.on_client = None
    for number in range(12):
        ledger.callback(b"%d" % number)
    pipe.collect()
    pipe.carry_down(sum(HEADER_SIZE + len(b"%d" % number) for number in range(arrived)))
    pipe.cut()
    for number in range(dropped):
        ledger.callback(b"late %d" % number)
    pipe.reconnect()
    pipe.settle()
    if 12 + dropped - arrived <= capacity:
        assert (pipe.status, pipe.client.state) == (RESUMED, State.RUNNING)
        ledger.check()
    else:
        assert (pipe.status, pipe.client.refusal) == (NOT_ENOUGH_BUFFERED, NOT_ENOUGH_BUFFERED)
        assert (pipe.client.state, pipe.server.state) == (State.TERMINATED, State.TERMINATED)
        assert "not enough buffered messages" in pipe.client.ending
        assert "not enough buffered messages" in pipe.server.ending


@given(st.integers(0, 12), st.integers(1, 6), st.integers(0, 6), st.sampled_from([0, NEAR_THE_WRAP]))
def test_the_client_resumes_exactly_if_its_history_suffices(
    arrived: int, capacity: int, dropped: int, first: int
) -> None:
    """The server finds out, by OAF; it refuses before it would miss a call."""
    pipe = SessionPipe(client=SessionSettings(history_frames=capacity), client_first=first)
    pipe.start()
    ledger = Ledger(pipe)
    pipe.on_server = None
    for number in range(12):
        ledger.call(b"%d" % number)
    raw = b"".join(pipe.client.take_outgoing(pipe.now))
    pipe.server.feed(raw[: sum(HEADER_SIZE + len(b"%d" % number) for number in range(arrived))], pipe.now)
    received = 0
    while pipe.server.next():
        received += 1
    assert received == arrived
    pipe.cut()
    for number in range(dropped):
        ledger.call(b"late %d" % number)
    pipe.reconnect()
    pipe.settle()
    if 12 + dropped - arrived <= capacity:
        assert (pipe.status, pipe.client.state) == (RESUMED, State.RUNNING)
        assert [(each.sequence, each.payload) for each in pipe.at_server] == ledger.from_client[arrived:]
    else:
        assert pipe.client.refusal == NOT_ENOUGH_BUFFERED
        assert (pipe.client.state, pipe.server.state) == (State.TERMINATED, State.TERMINATED)


def test_the_history_is_bounded_in_bytes_too() -> None:
    pipe = SessionPipe(server=SessionSettings(history_bytes=1000))
    pipe.start()
    for _ in range(20):
        pipe.server.send_callback(bytes(100))
    pipe.cut()
    pipe.reconnect()
    pipe.settle()
    assert pipe.status == NOT_ENOUGH_BUFFERED


@pytest.mark.parametrize("upwards", [True, False])
def test_a_one_way_flow_is_acknowledged_by_early_heartbeats(upwards: bool) -> None:
    """Nothing comes back, and yet the history neither grows beyond its bounds nor loses anything."""
    link = SessionSettings(
        history_frames=64, history_bytes=4000, acknowledge_bytes=500, calls_are_answered=False
    )
    pipe = SessionPipe(link, link)
    pipe.start()
    cut = False
    for number in range(1000):
        if upwards:
            pipe.client.send_call_request(b"%d" % number)
        else:
            pipe.server.send_callback(b"%d" % number)
        pipe.collect()
        pipe.carry_down(1000)
        pipe.collect()
        if number > 100 and pipe.client._asked and not cut:  # the answer to this heartbeat never comes
            cut = True
            pipe.cut()
            pipe.reconnect()
        pipe.settle()
    assert cut
    assert pipe.status == RESUMED
    assert (pipe.client._history.lost, pipe.server._history.lost) == (NONE, NONE)
    arrived = pipe.at_server if upwards else pipe.at_client
    assert [each.payload for each in arrived] == [b"%d" % number for number in range(1000)]
