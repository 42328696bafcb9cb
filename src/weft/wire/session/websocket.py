"""WebSocket (RFC 6455) without I/O: the opening handshake of both sides, and binary messages.

Only what the Federate Protocol needs: binary messages, one session frame in each.  Pings are answered, text messages are
ignored (as clients of other RTIs do), extensions are not offered.  A peer that breaks the protocol raises ProtocolError.

The first two bytes of a WebSocket frame: fin and opcode, mask flag and length; then 2 or 8 more bytes of length, 4 bytes
of mask (always from client to server, never back), and the payload.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from weft.wire.errors import ProtocolError

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_HANDSHAKE: Final = 16 << 10

CONTINUATION: Final = 0
TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10

NORMAL: Final = 1000  # why a connection is closed (RFC 6455, 7.4.1)
GOING_AWAY: Final = 1001
BROKEN: Final = 1002


def accept_key(key: bytes) -> bytes:
    return base64.b64encode(hashlib.sha1(key + _GUID).digest())


class Handshake:
    """Gathers the head of an HTTP message."""

    def __init__(self) -> None:
        self._data = b""
        self.start = b""
        self.headers: dict[bytes, bytes] = {}
        self.rest = b""

    def feed(self, data: bytes) -> bool:
        """Is the head whole?  What follows it is in `rest`."""
        self._data += data
        head, end, rest = self._data.partition(b"\r\n\r\n")
        if not end:
            if len(self._data) > MAX_HANDSHAKE:
                raise ProtocolError(f"the WebSocket handshake is longer than {MAX_HANDSHAKE} bytes")
            return False
        self.start, *lines = head.split(b"\r\n")
        for line in lines:
            name, _, value = line.partition(b":")
            self.headers[name.strip().lower()] = value.strip()
        self.rest = rest
        return True

    def answer(self) -> bytes:
        """At the server: the response that opens the connection."""
        if not self.start.startswith(b"GET ") or self.headers.get(b"upgrade", b"").lower() != b"websocket":
            raise ProtocolError("the client did not ask for a WebSocket")
        key = self.headers.get(b"sec-websocket-key", b"")
        if not key or self.headers.get(b"sec-websocket-version") != b"13":
            raise ProtocolError("the client's WebSocket handshake has no key, or a version other than 13")
        return (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept_key(key) + b"\r\n\r\n"
        )

    def check(self, key: bytes) -> None:
        """At the client: did the server agree?"""
        if b" 101 " not in self.start + b" " or self.headers.get(b"sec-websocket-accept") != accept_key(key):
            raise ProtocolError(f"the server refused the WebSocket: {self.start.decode('latin-1')!r}")


def ask(host: str, key: bytes) -> bytes:
    """The client's request; `key` is 16 random bytes in base64."""
    return (
        b"GET / HTTP/1.1\r\nHost: " + host.encode() + b"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: " + key + b"\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )


def wrap(payload: bytes, opcode: int = BINARY, mask: bytes = b"") -> bytes:
    """One message in one frame; with a mask, as a client has to send it."""
    size = len(payload)
    flag = 0x80 if mask else 0
    if size < 126:
        head = bytes((0x80 | opcode, flag | size))
    elif size < 1 << 16:
        head = bytes((0x80 | opcode, flag | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, flag | 127)) + size.to_bytes(8, "big")
    return head + mask + _masked(payload, mask) if mask else head + payload


def farewell(why: int, mask: bytes = b"") -> bytes:
    """The close frame; whoever has sent it sends nothing more."""
    return wrap(why.to_bytes(2, "big"), CLOSE, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    """XOR with the repeated mask, as one large number: the fastest way without a loop over bytes."""
    size = len(payload)
    if not size:
        return b""
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")


class WebSocketReader:
    """Takes bytes as they come and gives whole binary messages; control frames to send back gather in `replies`.

    With `passes_large` a message that is too large comes in pieces, as they arrive: whoever reads them knows what to do with it.
    """

    def __init__(self, from_client: bool, max_message: int) -> None:
        self.passes_large = False
        self._large = False  # within such a message
        # Bytes of its present frame that are to come; with their mask, and whether it is the last one.
        self._left = 0
        self._mask = b""
        self._fin = False
        self.replies: list[tuple[int, bytes]] = []  # (opcode, payload), for `wrap`
        self.closed = False
        self._from_client = from_client
        self.max_message = max_message
        self._data = bytearray()
        self._parts: list[bytes] = []
        self._opcode = CONTINUATION
        self._gathered = 0

    def feed(self, data: bytes) -> list[bytes]:
        self._data += data
        found: list[bytes] = []
        while not self.closed:
            frame = self._fragment() if self._left else self._frame()
            if frame is None:
                break
            fin, opcode, payload = frame
            if opcode >= CLOSE:
                self._control(opcode, payload)
                continue
            message = self._gather(fin, opcode, payload)
            if message is not None:
                found.append(message)
        return found

    def _frame(self) -> tuple[bool, int, bytes] | None:
        data = self._data
        if len(data) < 2:
            return None
        first, second = data[0], data[1]
        if first & 0x70 or bool(second & 0x80) != self._from_client:
            raise ProtocolError("a WebSocket frame has reserved bits set, or its mask is wrong")
        size = second & 0x7F
        at = 2
        if size >= 126:
            more = 2 if size == 126 else 8
            if len(data) < at + more:
                return None
            size = int.from_bytes(data[at : at + more], "big")
            at += more
        is_large = size + self._gathered > self.max_message
        if is_large and (not self.passes_large or first & 0x0F >= CLOSE):
            raise ProtocolError(
                f"a WebSocket message of more than {self.max_message} bytes (limits.frame_bytes)"
            )
        mask = b""
        if self._from_client:
            mask = bytes(data[at : at + 4])
            at += 4
        if is_large and len(data) >= at:
            self._large = True
            self._left, self._mask, self._fin = size, mask, bool(first & 0x80)
            del data[:at]
            return False, first & 0x0F, b""
        if len(data) < at + size:
            return None
        payload = bytes(data[at : at + size])
        del data[: at + size]
        return bool(first & 0x80), first & 0x0F, _masked(payload, mask) if mask else payload

    def _fragment(self) -> tuple[bool, int, bytes] | None:
        """What has come of a frame that is passed in pieces, as if it were a frame of its own."""
        piece = bytes(self._data[: self._left])
        if not piece:
            return None
        del self._data[: len(piece)]
        self._left -= len(piece)
        mask = self._mask
        if mask:
            turn = len(piece) % 4
            self._mask = mask[turn:] + mask[:turn]
            piece = _masked(piece, mask)
        return self._fin and not self._left, CONTINUATION, piece

    def _control(self, opcode: int, payload: bytes) -> None:
        if len(payload) > 125 or opcode > PONG:
            raise ProtocolError(f"a WebSocket control frame {opcode} of {len(payload)} bytes")
        if opcode == PING:
            self.replies.append((PONG, payload))
        elif opcode == CLOSE:
            self.replies.append((CLOSE, payload[:2]))
            self.closed = True

    def _gather(self, fin: bool, opcode: int, payload: bytes) -> bytes | None:
        if (opcode == CONTINUATION) != bool(self._parts or self._opcode):
            raise ProtocolError("a WebSocket message begins within another, or goes on without a beginning")
        if opcode > BINARY:
            raise ProtocolError(f"a WebSocket frame of unknown kind {opcode}")
        if opcode != CONTINUATION:
            self._opcode = opcode
        if payload:  # empty ones could be sent without end
            self._parts.append(payload)
        self._gathered += len(payload)
        if not fin and not self._large:
            return None
        message, kind = b"".join(self._parts), self._opcode
        self._parts = []
        self._gathered = 0  # of a piece, too, nothing is kept
        if fin:
            self._large = False
            self._opcode = CONTINUATION
        return message if kind == BINARY else None
