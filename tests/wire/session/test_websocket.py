"""WebSocket without I/O: what one side wraps the other reads, however the bytes are cut; nonsense is a ProtocolError."""

from __future__ import annotations

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.wire.errors import ProtocolError
from weft.wire.session.websocket import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    Handshake,
    WebSocketReader,
    accept_key,
    ask,
    wrap,
)

LIMIT = 1 << 20
messages = st.lists(st.binary(max_size=70_000), max_size=5)


@given(messages, st.booleans(), st.integers(1, 5000))
def test_messages_arrive_whole_and_in_order(sent: list[bytes], from_client: bool, piece: int) -> None:
    mask = b"\x01\x9f\x00\xff" if from_client else b""
    data = b"".join(wrap(message, mask=mask) for message in sent)
    reader = WebSocketReader(from_client, LIMIT)
    found = []
    for at in range(0, len(data), piece):
        found += reader.feed(data[at : at + piece])
    assert found == sent


def test_fragments_pings_and_texts() -> None:
    """RFC 6455 5.4: a message may come in fragments, with pings in between; texts are ignored."""
    reader = WebSocketReader(False, LIMIT)
    first = bytes((BINARY, 3)) + b"abc"
    ping = wrap(b"hi", PING)
    last = bytes((0x80, 2)) + b"de"
    assert reader.feed(wrap(b"ignored", TEXT) + first + ping + last) == [b"abcde"]
    assert reader.replies == [(PONG, b"hi")]
    assert reader.feed(wrap(b"\x03\xe8bye", CLOSE) + wrap(b"late")) == []
    assert reader.closed
    assert reader.replies[-1] == (CLOSE, b"\x03\xe8")


@pytest.mark.parametrize(
    "data",
    [
        b"\xf2\x80",  # reserved bits
        b"\x82\x01a",  # a client must mask
        b"\x80\x80\0\0\0\0",  # goes on without a beginning
        b"\x83\x80\0\0\0\0",  # unknown kind
        b"\x82\xff" + (1 << 40).to_bytes(8, "big"),  # far too long
        b"\x89\xfe\x00\xff" + bytes(300),  # a long control frame
    ],
)
def test_what_a_client_must_not_send(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        WebSocketReader(True, LIMIT).feed(data)


@given(st.binary(max_size=300))
def test_noise_is_an_error_or_nothing(data: bytes) -> None:
    """Nothing longer than was sent, and nothing but a ProtocolError."""
    reader = WebSocketReader(True, 1000)
    found: list[bytes] = []
    with contextlib.suppress(ProtocolError):
        found = reader.feed(data)
    assert sum(map(len, found)) <= len(data)


def test_the_handshake() -> None:
    """RFC 6455 1.3, with its example; in pieces, and with what follows it."""
    assert accept_key(b"dGhlIHNhbXBsZSBub25jZQ==") == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    key = base64.b64encode(bytes(16))
    request = ask("host:1", key) + b"rest"
    server = Handshake()
    assert not server.feed(request[:30])
    assert server.feed(request[30:])
    assert server.rest == b"rest"
    client = Handshake()
    assert client.feed(server.answer())
    client.check(key)
    with pytest.raises(ProtocolError):
        client.check(base64.b64encode(b"other"))


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"]
)
def test_what_is_no_handshake(text: bytes) -> None:
    server = Handshake()
    assert server.feed(text)
    with pytest.raises(ProtocolError):
        server.answer()
    with pytest.raises(ProtocolError):
        Handshake().feed(bytes(20_000))
