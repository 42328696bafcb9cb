"""Peers that send anything at all: a ProtocolError or nothing, never another error, never memory without bound."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.session_pipe import SessionPipe
from weft.wire.errors import ProtocolError
from weft.wire.session import frames
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import NONE, TYPES
from weft.wire.session.greeting import MAX_GREETING, Greeting
from weft.wire.session.server import ServerSession
from weft.wire.session.state import SessionSettings, State

LIMITS = SessionSettings(max_frame=2000, history_frames=20, history_bytes=2000)
ID = 77
READ = 700


def listeners() -> list[ClientSession | ServerSession]:
    """A session of each side in each state in which it listens."""
    pipes = [SessionPipe(LIMITS, LIMITS, session_id=ID) for _ in range(4)]
    for pipe in pipes[1:]:
        pipe.start()
        for _ in range(3):
            pipe.client.send_call_request(b"call")
            pipe.server.send_callback(b"callback")
        pipe.client.take_outgoing(0.0)
        pipe.server.take_outgoing(0.0)
    pipes[2].cut()
    pipes[2].reconnect()
    pipes[3].client.terminate()
    return [*(pipe.client for pipe in pipes), *(pipe.server for pipe in pipes)]


def listen(session: ClientSession | ServerSession, data: bytes) -> None:
    for start in range(0, len(data), READ):
        session.feed(data[start : start + READ], 1.0)
        try:
            while session.next():
                pass
        except ProtocolError as error:
            told = str(error)
            if session.state is not State.TERMINATED or told != session.ending:
                pytest.fail(f"{told!r} left the session {session.state.value}, {session.ending!r}")
        assert session.frame.held < LIMITS.max_frame
        assert len(session._history) <= LIMITS.history_frames


SMALL = st.integers(-2, 12) | st.sampled_from([NONE, 2**31 - 1, -(2**31) + 1])


@st.composite
def plausible(draw: st.DrawFn) -> bytes:
    """Frames that are right in most fields."""
    data = b""
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(list(TYPES)) | st.integers(-1, 25))
        least = TYPES[kind][2] if kind in TYPES else 0
        numbers = struct.pack(">ii", draw(SMALL), draw(SMALL))[:least]
        payload = numbers + draw(st.binary(max_size=20) if kind >= 20 else st.just(b""))
        size = 24 + len(payload) + draw(st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1, 5000]))
        session_id = draw(st.sampled_from([ID, ID, ID, ID, 0, 2**64 - 1]))
        data += struct.pack(">IiQii", size, draw(SMALL), session_id, draw(SMALL), kind) + payload
    return data


@settings(max_examples=300, deadline=None)
@given(plausible())
def test_plausible_frames(data: bytes) -> None:
    for session in listeners():
        listen(session, data)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=3000))
def test_noise(data: bytes) -> None:
    for session in listeners():
        listen(session, data)


def recorded() -> tuple[bytes, bytes]:
    """What a good client and a good server say in a good conversation."""
    pipe = SessionPipe(LIMITS, LIMITS, session_id=ID)
    pipe.start()
    up, down = b"", b""
    for turn in range(6):
        pipe.client.send_call_request(b"call %d" % turn)
        raw = b"".join(pipe.client.take_outgoing(0.0))
        up += raw
        pipe.server.feed(raw, 0.0)
        while pipe.server.next():
            pipe.server.send_call_response(pipe.server.frame.sequence, b"answer")
            pipe.server.send_callback(b"callback")
        down += b"".join(pipe.server.take_outgoing(0.0))
    pipe.client.terminate()
    return up + b"".join(pipe.client.take_outgoing(0.0)), down


def test_mutated_conversations() -> None:
    rng = random.Random(1516)
    conversations = recorded()
    for _ in range(1500):
        data = bytearray(rng.choice(conversations))
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(data))
            choice = rng.randrange(4)
            if choice == 0:
                data[place] = rng.randrange(256)
            elif choice == 1:
                data[place] ^= 1 << rng.randrange(8)
            elif choice == 2:
                del data[place : place + rng.randrange(1, 30)]
                data += b"\0"
            else:
                data[place:place] = data[rng.randrange(len(data)) :][: rng.randrange(60)]
        for session in listeners():
            listen(session, bytes(data))


@given(st.binary(max_size=600) | plausible(), st.integers(1, 50))
def test_greetings(data: bytes, piece: int) -> None:
    greeting = Greeting()
    whole = False
    fed = 0
    try:
        for start in range(0, len(data), piece):
            whole = greeting.feed(data[start : start + piece])
            fed += len(data[start : start + piece])
            assert greeting._reader.held < MAX_GREETING
    except ProtocolError:
        return
    if whole:
        size = int.from_bytes(data[:4], "big")
        assert greeting.rest == data[size:fed]
        session = ServerSession(greeting.session_id or 1, 0.0)
        if greeting.is_resume and greeting.session_id:
            session.accept(_new_session(), 0.0)
            session.resume(greeting, 0.0)
        elif not greeting.is_resume:
            session.accept(greeting, 0.0)
        listen(session, greeting.rest)


def _new_session() -> Greeting:
    greeting = Greeting()
    assert greeting.feed(struct.pack(">IiQiii", 28, 0, 0, NONE, frames.NEW_SESSION, 1))
    return greeting
