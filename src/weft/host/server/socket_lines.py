"""Connections of the Federate Protocol: TCP, TLS and WebSocket, as the event loop has them.

What a connection brings is carried out at once, but not without end: after `limits.calls` calls of one federate the others
have their turn, and what those calls gave rise to is written, or found to be more than a federate may leave unread.
Until then nothing more is read from it.

Each read passes through here, so this module is compiled.  The event loops take any object with the methods of a protocol: uvloop
reads into the buffer that `get_buffer` gives; asyncio, which wants a subclass for that, calls `data_received`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from typing import TYPE_CHECKING

from weft.host.addresses import address_of, is_local
from weft.host.pulse import QUIET, Probed, Pulse, gone_by, keep_alive
from weft.host.server.session import Served
from weft.wire.errors import ProtocolError
from weft.wire.session.frames import split
from weft.wire.session.greeting import MAX_GREETING, Greeting
from weft.wire.session.state import State
from weft.wire.session.websocket import BROKEN, GOING_AWAY, NORMAL, Handshake, WebSocketReader, farewell, wrap

if TYPE_CHECKING:
    from weft.host.server.server import Server


_FAREWELL = 2.0  # seconds that a WebSocket client has to say farewell, too


class SocketLine:
    """A TCP or TLS connection."""

    def __init__(self, server: Server, secure: bool) -> None:
        self.secure = secure
        self.local = False
        self.address = ""
        self._pulse = Pulse()
        self._probed: Probed | None = None
        self._server = server
        self._board = server.board
        self._view = memoryview(server.buffer)
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._greeting: Greeting | None = Greeting()
        self._served: Served | None = None
        self._opened_at = time.monotonic()
        self._closed_at = 0.0  # 0: it is open
        self._resting = False  # something it sent has still to be carried out
        self._gone = 0.0  # for how long its machine had answered nothing when it was given up

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self.local = is_local(peer)
        self.address = address_of(peer)
        found = transport.get_extra_info("socket")
        if found is not None:
            self._probed = found
            keep_alive(found)
        if found is not None and not self.secure:
            self._socket = found
        if not self._server.opened(self):
            self.abandon()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._view[:nbytes]))

    def data_received(self, data: bytes) -> None:
        self._read(data)

    def eof_received(self) -> None:
        """Close, as a protocol does that returns nothing."""

    def pause_writing(self) -> None:
        """What waits to be written is looked at after each flush."""

    def resume_writing(self) -> None:
        """There is room again: what could be sorted, or was held, has waited for it."""
        served = self._served
        if served is not None and (served.held or served.backlog is not None):
            self._board.release(served)
            self._board.drain(served)
            self._server.flush_soon()

    def _read(self, data: bytes) -> None:
        now = time.monotonic()
        served = self._served
        more = False
        try:
            if served is None:
                served = self._greet(data, now)
                if served is None:
                    return
                data = b""
                greeting, self._greeting = self._greeting, None
                if greeting is not None:
                    data = greeting.rest
            if served.line is self:
                more = self._board.received(served, data, now)
                if served.wire.state is State.TERMINATED:
                    more = False
                    self._finish(served, now)
        except ProtocolError as error:
            if served is not None:
                self._server.broken(served, error, now)
            else:
                self._server.report_stranger(f"a connection was closed: {error}")
            self.close_broken()
        if self._board.gathers:
            self._server.flush_soon()
        else:
            busy = self._board.flush(now)
            if busy or self._board.is_restless:
                self._server.attend(busy, now)
        if more:
            # It has had its turn; the rest of what it sent comes after the others', and after a flush.
            self._resting = True
            if self._transport is not None:
                self._transport.pause_reading()
                asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._transport is not None and self._served is not None and not self._closed_at:
            self._resting = False
            self._transport.resume_reading()
            self._read(b"")

    def _greet(self, data: bytes, now: float) -> Served | None:
        greeting = self._greeting
        if greeting is None or not greeting.feed(data):
            return None
        self._served = self._server.greeted(self, greeting, now)
        if self._served is None:
            self._greeting = None
            self.close()
        return self._served

    def _finish(self, served: Served, now: float) -> None:
        """The client has terminated the session: say so, and close."""
        self.send(served.wire.take_outgoing(now))
        served.line = None
        self._served = None
        self._server._forget(served, now)
        self.close()

    def check(self, now: float) -> None:
        """Once a tick: it has to greet in time, and once closed to take in time what was still to be sent."""
        patience = self._server.settings.limits.greeting_seconds
        if self._closed_at:
            if now - self._closed_at > patience:
                self.abandon()
        elif self._served is None and now - self._opened_at > patience:
            self._server.report_stranger(
                "a connection was closed: it did not greet (limits.greeting_seconds)"
            )
            self.abandon()
        elif self._served is not None and now - self._served.wire.heard_at > QUIET:
            gone = 0.0 if self._probed is None else self._pulse.gone(self._probed, now)
            if gone:
                self._gone = gone
                self.abandon_session()

    @property
    def has_greeted(self) -> bool:
        return self._greeting is None

    def connection_lost(self, error: Exception | None) -> None:
        self._server.closed(self)
        self._transport = None
        self._socket = None
        self._probed = None
        while self._resting and self._served is not None:
            # It may have said goodbye in what has been read already, and not waited for an answer.
            self._resting = False
            self._read(b"")
            self._server.flush()
        served, self._served = self._served, None
        if served is not None:
            self._server.lost(served, self, time.monotonic(), self._gone or gone_by(error))

    def abandon(self) -> None:
        """The session goes on elsewhere, or not at all: nothing more from here."""
        self._served = None
        if self._transport is not None:
            self._transport.abort()

    def abandon_session(self) -> None:
        """Break off; the session, if there is one, may go on on another connection."""
        if self._transport is not None:
            self._transport.abort()

    # --- as a line --------------------------------------------------------------------------------------------

    def send(self, parts: list[bytes]) -> int:
        transport = self._transport
        if transport is None:
            return 0
        if self._socket is not None and len(parts) == 1 and not transport.get_write_buffer_size():
            # Nothing waits to be written: straight to the socket, which spares the transport's own queue.
            data = parts[0]
            try:
                sent = os.write(self._socket.fileno(), data)
            except OSError:
                sent = 0  # full, or gone: the transport sees to it
            if sent == len(data):
                return 0
            parts = [data[sent:]]
        if transport.is_closing():  # asyncio's of Python 3.12 and later fail then
            return 0
        transport.writelines(parts)
        waiting: int = transport.get_write_buffer_size()
        return waiting

    def queued(self) -> int:
        if self._transport is None:
            return 0
        waiting: int = self._transport.get_write_buffer_size()
        return waiting

    def peer(self) -> str:
        """Where it comes from."""
        found = None if self._transport is None else self._transport.get_extra_info("peername")
        return f"{found[0]}:{found[1]}" if isinstance(found, tuple) and len(found) > 1 else str(found or "")

    def acknowledge_soon(self) -> None:
        # A client without TCP_NODELAY holds its next call back until we acknowledge, and Linux would take 40 ms for that.
        if self._socket is not None:
            with contextlib.suppress(OSError, AttributeError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def close_broken(self) -> None:
        """The peer broke the protocol."""
        self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._closed_at = self._closed_at or time.monotonic()
            self._transport.close()


class WebSocketLine(SocketLine):
    """A WebSocket connection: the same, with each session frame as one binary message."""

    def __init__(self, server: Server, secure: bool) -> None:
        super().__init__(server, secure)
        self._handshake: Handshake | None = Handshake()
        self._reader = WebSocketReader(True, MAX_GREETING)  # a stranger gets no more memory than on TCP
        self._said_farewell = False
        self._why = NORMAL

    def data_received(self, data: bytes) -> None:
        if self._said_farewell:
            self._hear_farewell(data)
            return
        try:
            if self._handshake is not None:
                if not self._handshake.feed(data):
                    return
                super().send([self._handshake.answer()])
                data = self._handshake.rest
                self._handshake = None
            found = self._reader.feed(data)
        except ProtocolError as error:
            self._server.report_stranger(f"a WebSocket connection was closed: {error}")
            self._why = BROKEN
            self.close()
            return
        if found:
            self._read(b"".join(found))
            if self._served is not None:
                self._reader.max_message = self._server.most.size
                self._reader.passes_large = True
        if self._has_said_farewell():  # while that was read
            self._reader.replies.clear()
        elif self._reader.closed:
            self._said_farewell = True  # the answer to that of the client, which is among the replies
        if self._reader.replies:
            super().send([wrap(payload, opcode) for opcode, payload in self._reader.replies])
            self._reader.replies.clear()
            if self.queued() > self._server.settings.limits.queue_bytes:
                self._server.report_stranger(
                    "a WebSocket connection was closed: it read no answers to its pings"
                )
                self.abandon_session()
        if self._reader.closed:
            super().close()

    def _has_said_farewell(self) -> bool:
        return self._said_farewell

    def close_broken(self) -> None:
        self._why = BROKEN
        self.close()

    def _hear_farewell(self, data: bytes) -> None:
        """Only whether the client says farewell, too, is of interest now."""
        try:
            self._reader.feed(data)
        except ProtocolError:
            self.abandon()
        if self._reader.closed:
            super().close()

    def close(self) -> None:
        """RFC 6455, 7.1: each side says farewell, and the server closes the connection then; it does not wait for long."""
        if self._server.is_closing and self._why == NORMAL:
            self._why = GOING_AWAY
        if self._handshake is None and not self._said_farewell and self._transport is not None:
            super().send([farewell(self._why)])
            self._said_farewell = True
            self._closed_at = self._closed_at or time.monotonic()
            asyncio.get_running_loop().call_later(_FAREWELL, self.abandon)
        elif not self._said_farewell or self._reader.closed:
            super().close()

    def send(self, parts: list[bytes]) -> int:
        if self._said_farewell:
            return 0
        return super().send([wrap(message) for message in split(b"".join(parts))])
