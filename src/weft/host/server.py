"""`weft serve`: a node that federates join over the Federate Protocol.

One thread, one event loop (uvloop where it is installed).  Whatever a turn of the loop brings is handled at once, and
what it gives rise to is written at its end: coalescing writes is worth more than anything else on this path.

A connection greets first: a new session, or one that goes on.  One that does not greet in time, or speaks out of turn,
is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.host.guard import Guard, OpenGuard, read_password_file
from weft.host.line import Line
from weft.host.saves import SaveDirectory, fetch, store
from weft.host.serving import Served, Switchboard
from weft.host.settings import Settings
from weft.host.unpacking import ModuleLimits
from weft.kernel import Fetch, Node, Store
from weft.model.errors import SettingsError
from weft.wire.frames import ProtocolError, messages
from weft.wire.session_greeting import Greeting, refuse_new_session, refuse_resume
from weft.wire.session_server import ServerSession
from weft.wire.session_state import (
    ACCEPTED,
    INVALID_SESSION,
    OUT_OF_RESOURCES,
    RESUMED,
    Action,
    SessionSettings,
    State,
)
from weft.wire.websocket import Handshake, WebSocketReader, wrap

_READ = 256 << 10
_TICK = 1.0


class Server:
    def __init__(self, settings: Settings, report: Callable[[str], None], guard: Guard | None = None) -> None:
        self.settings = settings
        self.report = report
        limits = settings.limits
        self.board = Switchboard(
            Node("server"),
            guard or _guard_of(settings),
            ModuleLimits(limits.module_bytes, limits.modules),
            report,
            self._keep,
        )
        self.saves = SaveDirectory(settings.serve.saves, limits.saves)
        self._keeping: set[asyncio.Future[Any]] = set()
        self.sessions: dict[int, Served] = {}
        # One buffer serves all connections: each read is taken out of it before the next begins.
        self.buffer = bytearray(_READ)
        self._session_settings = SessionSettings(
            max_frame=limits.frame_bytes,
            history_bytes=limits.history_bytes,
            silence=limits.silence_seconds,
            reconnect=limits.reconnect_seconds,
        )
        self._numbered = 0
        self._listeners: list[asyncio.AbstractServer] = []
        self._connections: set[SocketLine] = set()
        self._flush_due = False
        self._ticker: asyncio.TimerHandle | None = None
        self._closing = False

    # --- listening --------------------------------------------------------------------------------------------

    async def start(self) -> list[tuple[str, str, int]]:
        """Listen; returns (kind, host, port) of each listener."""
        serve = self.settings.serve
        # Before anything listens: a server that cannot do all it was asked to does not start.
        context = tls_context(self.settings) if serve.tls_port or serve.wss_port else None
        wanted: list[tuple[str, type[SocketLine], int, ssl.SSLContext | None]] = [
            ("tcp", SocketLine, serve.port, None)
        ]
        if serve.tls_port:
            wanted.append(("tls", SocketLine, serve.tls_port, context))
        if serve.ws_port:
            wanted.append(("ws", WebSocketLine, serve.ws_port, None))
        if serve.wss_port:
            wanted.append(("wss", WebSocketLine, serve.wss_port, context))
        try:
            found = [(name, await self._listen(kind, port, tls)) for name, kind, port, tls in wanted]
        except SettingsError:
            for listener in self._listeners:
                listener.close()
            raise
        self._tick()
        return [(kind, serve.host, port) for kind, port in found]

    async def _listen(self, kind: type[SocketLine], port: int, context: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        host = self.settings.serve.host
        try:
            listener = await loop.create_server(
                lambda: kind(self, context is not None), host, port, ssl=context, backlog=1024
            )
        except OSError as error:
            raise SettingsError(
                f"cannot listen on {host}:{port}: {error.strerror or error}; "
                "choose another port (--port) or stop what uses it"
            ) from error
        self._listeners.append(listener)
        port_given: int = listener.sockets[0].getsockname()[1]
        return port_given

    async def stop(self, patience: float = 5.0) -> None:
        """Take nothing new, resign who is still joined, send what is queued, close."""
        self._closing = True
        for listener in self._listeners:
            listener.close()
        now = time.monotonic()
        for served in list(self.sessions.values()):
            self._end(served, "the server is shutting down", now)
        self.flush()
        deadline = now + patience
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=patience)
        while time.monotonic() < deadline and any(line.queued() for line in self._connections):
            await asyncio.sleep(0.01)
        for line in list(self._connections):
            line.close()
        if self._ticker is not None:
            self._ticker.cancel()

    # --- sessions ---------------------------------------------------------------------------------------------

    def greeted(self, line: SocketLine, greeting: Greeting, now: float) -> Served | None:
        """The session for a connection, new or resumed; None if it was refused."""
        if greeting.is_resume:
            return self._resume(line, greeting, now)
        if len(self.sessions) >= self.settings.limits.sessions or self._closing:
            self.report(f"a new session was refused: there are {len(self.sessions)} (limits.sessions)")
            line.send([refuse_new_session(OUT_OF_RESOURCES)])
            return None
        session_id = 0
        while session_id == 0 or session_id in self.sessions:
            session_id = secrets.randbits(64)
        wire = ServerSession(session_id, now, self._session_settings)
        accepted = wire.accept(greeting, now) == ACCEPTED
        line.send(wire.take_outgoing(now))
        if not accepted:
            self.report(f"a new session was refused: {wire.ending}")
            return None
        self._numbered += 1
        served = Served(wire, line, self._numbered)
        self.sessions[session_id] = served
        return served

    def _resume(self, line: SocketLine, greeting: Greeting, now: float) -> Served | None:
        served = self.sessions.get(greeting.session_id)
        if served is None:
            self.report("a resume was refused: there is no such session")
            line.send([refuse_resume(greeting.session_id, INVALID_SESSION)])
            return None
        old, served.line = served.line, line
        if isinstance(old, SocketLine):
            old.abandon()
        status = served.wire.resume(greeting, now)
        line.send(served.wire.take_outgoing(now))
        if status != RESUMED:
            served.line = None
            self._forget(served, now)
            return None
        self.report(f"session {served.number} resumed")
        return served

    def lost(self, served: Served, line: SocketLine, now: float) -> None:
        """The connection is gone; the session waits to be resumed, unless it is over."""
        if served.line is not line:
            return
        served.line = None
        if served.wire.state is State.TERMINATED:
            self._forget(served, now)
        else:
            served.wire.connection_lost(now)
            self.report(f"session {served.number} lost its connection; it can resume it")

    def broken(self, served: Served, error: ProtocolError, now: float) -> None:
        self.report(f"session {served.number} broke the protocol: {error}")
        self._forget(served, now)

    def _end(self, served: Served, why: str, now: float) -> None:
        kernel_session = self.board.node.sessions.get(served.kernel_session)
        if kernel_session is not None and kernel_session.member is not None:
            served.wire.send_callback(served.codec.encode_callback("federate_resigned", (why,)))
        parts = served.wire.take_outgoing(now)
        if served.line is not None and parts:
            served.line.send(parts)
        served.wire.discard(why)
        self._forget(served, now)

    def _forget(self, served: Served, now: float) -> None:
        self.sessions.pop(served.wire.session_id, None)
        self.board.ended(served, now)
        self.flush_soon()

    def drop(self, served: Served, why: str, now: float) -> None:
        """A federate that does not keep up, or has gone silent for too long."""
        self.report(f"session {served.number} is dropped: {why}")
        line = served.line
        served.line = None
        served.wire.discard(why)
        self._forget(served, now)
        if isinstance(line, SocketLine):
            line.abandon()

    # --- saves ------------------------------------------------------------------------------------------------

    def _keep(self, effect: Store | Fetch) -> None:
        """In a thread of its own: a disk may take its time, and others are not to wait for it."""
        if isinstance(effect, Store):
            done = asyncio.get_running_loop().run_in_executor(None, store, self.saves, effect, self.report)
        else:
            done = asyncio.get_running_loop().run_in_executor(None, fetch, self.saves, effect, self.report)
        self._keeping.add(done)
        done.add_done_callback(lambda future: self._kept(effect, future))

    def _kept(self, effect: Store | Fetch, future: asyncio.Future[Any]) -> None:
        self._keeping.discard(future)
        if future.cancelled():
            return
        node = self.board.node
        where = (effect.federation, effect.execution, effect.label)
        error = future.exception()
        if error is not None:
            self.report(f"the save {effect.label!r} of federation {effect.federation!r} failed: {error!r}")
        now = time.monotonic()
        if isinstance(effect, Store):
            self.board.perform(node.stored(*where, error is None and future.result(), now))
        else:
            self.board.perform(node.fetched(*where, None if error else future.result(), now))
        self.flush_soon()

    # --- turns ------------------------------------------------------------------------------------------------

    def flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        self._flush_due = False
        now = time.monotonic()
        limits = self.settings.limits
        for served in self.board.flush(now):
            line = served.line
            if line is None:
                continue
            queued = line.queued()
            if queued > limits.queue_bytes:
                self.drop(served, f"it left {queued} bytes unread (limits.queue_bytes)", now)
            elif queued > limits.slow_bytes and not served.slow:
                served.slow = True
                self.report(f"session {served.number} ({served.federation}) is slow: {queued} bytes unread")
            elif served.slow and queued == 0:
                served.slow = False
                self.report(f"session {served.number} ({served.federation}) has caught up")

    def _tick(self) -> None:
        now = time.monotonic()
        for served in list(self.sessions.values()):
            if now >= served.wire.next_deadline():
                for action in served.wire.tick(now):
                    if action is Action.CLOSE and isinstance(served.line, SocketLine):
                        served.line.abandon()
                        served.line = None
                    elif action is Action.END:
                        self._forget(served, now)
        for line in list(self._connections):
            line.check_greeting(now)
        due = self.board.node.next_tick()
        if due is not None and now >= due:
            self.board.perform(self.board.node.tick(now))
            self.flush_soon()
        self._ticker = asyncio.get_running_loop().call_later(_TICK, self._tick)

    def opened(self, line: SocketLine) -> None:
        self._connections.add(line)

    def closed(self, line: SocketLine) -> None:
        self._connections.discard(line)


class SocketLine(asyncio.BufferedProtocol, Line):
    """A TCP or TLS connection."""

    def __init__(self, server: Server, secure: bool) -> None:
        self.secure = secure
        self._server = server
        self._board = server.board
        self._view = memoryview(server.buffer)
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._greeting: Greeting | None = Greeting()
        self._served: Served | None = None
        self._opened_at = time.monotonic()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "writelines")
        self._transport = transport  # type: ignore[assignment]
        found = transport.get_extra_info("socket")
        if found is not None and not self.secure:
            self._socket = found
        self._server.opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self._read(bytes(self._view[:nbytes]))

    def _read(self, data: bytes) -> None:
        now = time.monotonic()
        served = self._served
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
                self._board.received(served, data, now)
                if served.wire.state is State.TERMINATED:
                    self._finish(served, now)
        except ProtocolError as error:
            if served is not None:
                self._server.broken(served, error, now)
            else:
                self._server.report(f"a connection was closed: {error}")
            self.close()
        if self._board.has_outgoing:
            self._server.flush_soon()

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

    def check_greeting(self, now: float) -> None:
        if self._served is None and now - self._opened_at > self._server.settings.limits.greeting_seconds:
            self._server.report("a connection was closed: it did not greet")
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.closed(self)
        self._transport = None
        self._socket = None
        served, self._served = self._served, None
        if served is not None:
            self._server.lost(served, self, time.monotonic())

    def abandon(self) -> None:
        """The session goes on elsewhere, or not at all: nothing more from here."""
        self._served = None
        if self._transport is not None:
            self._transport.abort()

    # --- as a line --------------------------------------------------------------------------------------------

    def send(self, parts: list[bytes]) -> None:
        if self._transport is not None:
            self._transport.writelines(parts)

    def queued(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def acknowledge_soon(self) -> None:
        # A client without TCP_NODELAY holds its next call back until we acknowledge, and Linux would take 40 ms for that.
        if self._socket is not None:
            with contextlib.suppress(OSError, AttributeError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class WebSocketLine(SocketLine):
    """A WebSocket connection: the same, with each session frame as one binary message."""

    def __init__(self, server: Server, secure: bool) -> None:
        super().__init__(server, secure)
        self._handshake: Handshake | None = Handshake()
        self._reader = WebSocketReader(True, server.settings.limits.frame_bytes)

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._view[:nbytes])
        try:
            if self._handshake is not None:
                if not self._handshake.feed(data):
                    return
                super().send([self._handshake.answer()])
                data = self._handshake.rest
                self._handshake = None
            found = self._reader.feed(data)
        except ProtocolError as error:
            self._server.report(f"a WebSocket connection was closed: {error}")
            self.close()
            return
        if found:
            self._read(b"".join(found))
        if self._reader.replies:
            super().send([wrap(payload, opcode) for opcode, payload in self._reader.replies])
            self._reader.replies.clear()
        if self._reader.closed:
            self.close()

    def send(self, parts: list[bytes]) -> None:
        if len(parts) % 2:  # a refusal, which is one frame in one piece
            parts = [*parts, b""]
        super().send([wrap(message) for message in messages(parts)])


def tls_context(settings: Settings) -> ssl.SSLContext:
    serve = settings.serve
    if not serve.cert or not serve.key:
        raise SettingsError(
            "TLS needs a certificate and its key: give --cert and --key (serve.cert, serve.key)"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(serve.cert, serve.key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"the certificate {serve.cert} or its key {serve.key} cannot be used: {error}"
        ) from error
    return context


def _guard_of(settings: Settings) -> Guard:
    name = settings.security.password_file
    if not name:
        return OpenGuard()
    try:
        text = Path(name).read_text()
    except OSError as error:
        raise SettingsError(f"{name}: {error.strerror or error} (security.password_file)") from error
    return read_password_file(text, name, settings.security.clear_text_passwords)


def run_loop(main: Any) -> Any:
    """Run a coroutine on uvloop where it is installed, on asyncio elsewhere."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)
