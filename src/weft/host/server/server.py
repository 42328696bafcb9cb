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
import ssl
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

from weft.host.files.saves import Outcome, SaveDirectory, carry_out, failed
from weft.host.files.schedules import read_schedule
from weft.host.memory import Peak, give_back
from weft.host.mesh.federations import MeshedNode, meshed_node
from weft.host.mesh.node import FabricNode
from weft.host.recording.recording import NodeRecordings, recordings_of
from weft.host.server.admission import Admission
from weft.host.server.guard import Guard, OpenGuard, OperatorKey, own_guard, read_password_file
from weft.host.server.outbox import NEVER
from weft.host.server.places import Places
from weft.host.server.serving import Switchboard
from weft.host.server.session import Served
from weft.host.server.socket_lines import SocketLine, WebSocketLine
from weft.host.server.survey import ServerSurroundings
from weft.host.server.unpacking import ModuleLimits
from weft.host.settings import Settings, read_rid
from weft.host.sizes import most_of
from weft.kernel import Absence, Effect, Fetch, Node, Store
from weft.kernel.node.faults import INTERNAL_ERROR, trace_of
from weft.model.errors import SettingsError
from weft.model.log_text import ERROR, INFO, WARNING, LogText
from weft.model.records import LOST, SILENT, Credentials
from weft.wire.errors import ProtocolError
from weft.wire.session.frames import following
from weft.wire.session.greeting import Greeting, refuse_new_session, refuse_resume
from weft.wire.session.server import ServerSession
from weft.wire.session.state import (
    ACCEPTED,
    INVALID_SESSION,
    NOT_ENOUGH_BUFFERED,
    OUT_OF_RESOURCES,
    RESUME_STATUSES,
    RESUMED,
    Action,
    SessionSettings,
    State,
)

_READ = 256 << 10
_TICK = 1.0
_PATIENCE = 0.004  # seconds that answers wait for company, where the client does not wait for them
_UNJOINED = 5.0  # seconds that a session is kept without a connection, if no federate has joined in it
_SILENT = 15.0  # seconds without a word, after which those are told who wait for a federate
_STRANGERS = 20  # so many of them are reported in a tick; they could fill the log otherwise


class Server:
    def __init__(
        self,
        settings: Settings,
        report: Callable[[str], None],
        guard: Guard | None = None,
        run_directory: str = "",
        fabric: FabricNode | None = None,
        record: bool = False,
    ) -> None:
        """Without a run directory there are no files of service reports; `fabric` is what joins it to other nodes.

        `record`: federations are recorded, as the settings say where (`recording.recording`).
        """
        self._record = record
        self.recordings: NodeRecordings | None = None
        self.settings = settings
        self.report = report
        limits = settings.limits
        self._operator_key = OperatorKey(run_directory)
        self._guard = guard or _guard_of(settings)
        self._admission: Admission | None = None
        self.most = most_of(limits.frame_bytes, None if fabric is None else settings.fabric.queue_bytes)
        self._meshed: MeshedNode | None = None
        self.board = self._switchboard(run_directory, fabric)
        self.board.node.schedule = read_schedule(settings.channel.schedule, settings.channel.deadlines)
        self.board.node.surroundings = ServerSurroundings(self, fabric)
        self.address = ""  # where federates connect
        self.saves = SaveDirectory(settings.serve.saves, limits.saves)
        self._keeping: set[asyncio.Future[Outcome]] = set()
        self.sessions: dict[int, Served] = {}
        # Sessions of federates that did not read: until when they are told so.
        self._dropped: dict[int, float] = {}
        # One buffer serves all connections: each read is taken out of it before the next begins.
        self.buffer = bytearray(_READ)
        self._session_settings = SessionSettings(
            max_frame=self.most.size,
            skips_large=True,
            history_bytes=limits.history_bytes,
            silence=limits.silence_seconds,
            reconnect=limits.reconnect_seconds,
        )
        self._unjoined_settings = replace(
            self._session_settings, reconnect=min(_UNJOINED, limits.reconnect_seconds)
        )
        self._places = Places(limits.half_open, limits.unjoined, self._has_joined)
        self._numbered = 0
        self._listeners: list[asyncio.AbstractServer] = []
        self._connections: set[SocketLine] = set()
        self._strangers = 0
        self._peak = Peak()
        self._flush_due = False
        self._ticker: asyncio.TimerHandle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self.is_closing = False

    def _switchboard(self, run_directory: str, fabric: FabricNode | None) -> Switchboard:
        """With the node, which `fabric` joins to others."""
        settings, limits = self.settings, self.settings.limits
        rid = read_rid(settings.ddm)
        if fabric is None:
            node = Node("server", reports=run_directory, rid=rid)
        else:
            domains = fabric.domains
            self._meshed = meshed_node(
                fabric.mesh, self._perform, domains.topology, domains.releases, run_directory, rid
            )
            node = self._meshed.node
        return Switchboard(
            node,
            self._guard,
            ModuleLimits(
                limits.module_bytes, limits.modules, limits.federations, settings.serve.module_directory
            ),
            self.report,
            limits.report_bytes,
            self._keep,
            limits.calls,
            self._meshed,
            limits.queue_bytes,
            settings.channel.window,
            self._operator_key,
            self.most,
        )

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
            self._operator_key.keep()
        except SettingsError:
            for listener in self._listeners:
                listener.close()
            raise
        self.address = f"{serve.host}:{found[0][1]}"
        asyncio.get_running_loop().set_exception_handler(self._unexpected)
        self._tick()
        if type(self._guard).admit not in (Guard.admit, OpenGuard.admit):
            self._admission = Admission(self._guard, self.report_stranger)
            self.board.admission = self._ask_guard
        if self._record:
            self._begin_recording(asyncio.get_running_loop())
        if self._meshed is not None:
            self._meshed.recover(time.monotonic())
        return [(kind, serve.host, port) for kind, port in found]

    async def _listen(self, kind: type[SocketLine], port: int, context: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        host = self.settings.serve.host
        try:
            listener = await loop.create_server(
                # A protocol by its methods, not its class.
                cast(Callable[[], asyncio.BaseProtocol], lambda: kind(self, context is not None)),
                host,
                port,
                ssl=context,
                backlog=1024,
                ssl_handshake_timeout=None if context is None else self.settings.limits.greeting_seconds,
            )
        except OSError as error:
            raise SettingsError(
                f"cannot listen on {host}:{port}: {error.strerror or error}; "
                "choose another port (--port) or stop what uses it"
            ) from error
        self._listeners.append(listener)
        port_given: int = listener.sockets[0].getsockname()[1]
        return port_given

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """A mistake of ours outside of any call: the loop has closed what it concerned, and the others go on."""
        error = context.get("exception")
        where = "" if not isinstance(error, Exception) else f": {error!r} in {trace_of(error)}"
        text = f"internal error, please report it: {context.get('message', '')}{where}"
        self.report(LogText(text, INTERNAL_ERROR, ERROR))

    async def stop(self, patience: float = 5.0) -> None:
        """Take nothing new, resign who is still joined, send what is queued, close."""
        self.is_closing = True
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
        while time.monotonic() < deadline and self._connections:
            await asyncio.sleep(0.01)
        for line in list(self._connections):
            line.abandon()
        if self._admission is not None:
            self._admission.close()
        for timer in (self._ticker, self._alarm):
            if timer is not None:
                timer.cancel()
        self.board.reports.close()
        self._operator_key.remove()
        recordings, self.recordings = self.recordings, None
        if recordings is not None:
            recordings.collect()
            self.board.node.stop_recording()
            await asyncio.get_running_loop().run_in_executor(None, recordings.close)

    def _begin_recording(self, loop: asyncio.AbstractEventLoop) -> None:
        def guard(work: Callable[[], None]) -> None:
            """In the loop's own thread, which the kernel runs in."""
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(work)

        self.recordings = recordings_of(self.settings, self.report, guard)
        self.board.node.record(self.recordings, time.monotonic())

    def _perform(self, effects: list[Effect], now: float) -> None:
        """What another node has brought about."""
        self.board.perform(effects)
        self.flush_soon()

    # --- sessions ---------------------------------------------------------------------------------------------

    def _ask_guard(
        self,
        address: str,
        credentials: Credentials,
        secure: bool,
        answer: Callable[[str, Exception | None], None],
    ) -> None:
        def answered(who: str, error: Exception | None) -> None:
            answer(who, error)
            self.flush_soon()

        if self._admission is not None:
            self._admission.ask(address, credentials, secure, answered)

    def _has_joined(self, served: Served) -> bool:
        session = self.board.node.sessions.get(served.kernel_session)
        return session is not None and session.member is not None

    def greeted(self, line: SocketLine, greeting: Greeting, now: float) -> Served | None:
        """The session for a connection, new or resumed; None if it was refused."""
        self._places.greeted(line.address)
        if greeting.is_resume:
            return self._resume(line, greeting, now)
        limits = self.settings.limits
        if len(self.sessions) >= limits.sessions or self.is_closing:
            self._refuse(line, f"there are {len(self.sessions)} (limits.sessions)")
            return None
        may, oldest = self._places.may_begin(line.address)
        if not may:
            why = f"{line.address} has {limits.unjoined} in which no federate has joined (limits.unjoined)"
            self._refuse(line, why)
            return None
        if oldest is not None:
            oldest.wire.discard("another session of its address took its place (limits.unjoined)")
            self._forget(oldest, now)
        session_id = 0
        while session_id == 0 or session_id in self.sessions:
            session_id = secrets.randbits(64)
        # Numbers start at 0, but for a client that says it has received 0 already: it waits for 1.
        first = following(greeting.acknowledged) if greeting.acknowledged >= 0 else 0
        wire = ServerSession(session_id, now, self._session_settings, first)
        accepted = wire.accept(greeting, now) == ACCEPTED
        line.send(wire.take_outgoing(now))
        if not accepted:
            self.report_stranger(f"a new session was refused: {wire.ending}")
            return None
        self._numbered += 1
        served = Served(wire, line, self._numbered, now)
        self.sessions[session_id] = served
        self._places.began(served)
        return served

    def _refuse(self, line: SocketLine, why: str) -> None:
        self.report_stranger(f"a new session was refused: {why}")
        line.send([refuse_new_session(OUT_OF_RESOURCES)])

    def _resume(self, line: SocketLine, greeting: Greeting, now: float) -> Served | None:
        served = self.sessions.get(greeting.session_id)
        status = self._may_resume(served, line, greeting)
        if served is None or status != RESUMED:
            self.report_stranger(f"a resume was refused: {RESUME_STATUSES[status]}")
            line.send([refuse_resume(greeting.session_id, status)])
            return None
        self.board.release(served)
        old, served.line = served.line, line
        if isinstance(old, SocketLine):
            old.abandon()
        status = served.wire.resume(greeting, now)
        line.send(served.wire.take_outgoing(now))
        if status != RESUMED:
            served.line = None
            self._forget(served, now)
            return None
        self._note_absence(served, None)
        self._report_of(served, "resumed", "session-resumed")
        self.board.drain(served)
        return served

    def _may_resume(self, served: Served | None, line: SocketLine, greeting: Greeting) -> int:
        """A resume that must fail leaves a session alone that has a connection: that one may be the true one.

        Without a connection it is the session that judges, and ends if it cannot go on: its client gives up.
        """
        if served is None:
            return NOT_ENOUGH_BUFFERED if greeting.session_id in self._dropped else INVALID_SESSION
        if served.secure and not line.secure:
            return INVALID_SESSION  # what began encrypted does not go on in the clear
        return served.wire.judge(greeting) if served.line is not None else RESUMED

    def lost(self, served: Served, line: SocketLine, now: float, gone: float = 0.0) -> None:
        """The connection is gone; the session waits to be resumed, unless it is over, or nobody has connected in it.

        `gone`: for how long the federate's machine had answered nothing by then.
        """
        if served.line is not line:
            return
        served.line = None
        self.board.release(served)
        if not served.admitted and not served.connecting:
            served.wire.discard("the connection was lost before a federate connected")
        if served.wire.state is State.TERMINATED:
            self._forget(served, now)
        else:
            served.wire.connection_lost(now, gone)
            self._await_return(served, now, "lost its connection", "connection-lost")

    def _await_return(self, served: Served, now: float, what: str, event: str) -> None:
        """It has no connection: until when it may come back, for the log and for those who wait for it."""
        wire = served.wire
        wire.settings = self._session_settings if self._has_joined(served) else self._unjoined_settings
        until = wire.next_deadline()
        self._note_absence(served, Absence(LOST, wire.dropped_at, until))
        clock = time.strftime("%H:%M:%S", time.localtime(time.time() + until - now))
        text = f"{what}; it is over at {clock} unless it is resumed by then (limits.reconnect_seconds)"
        self._report_of(served, text, event, WARNING)
        asyncio.get_running_loop().call_later(max(0.0, until - now) + 0.001, self._check_session, served)

    def _note_absence(self, served: Served, absence: Absence | None) -> None:
        served.silent = absence is not None
        if served.kernel_session:
            self.board.node.note_absence(served.kernel_session, absence)

    def broken(self, served: Served, error: ProtocolError, now: float) -> None:
        self._report_of(served, f"broke the protocol: {error}", "protocol-broken", ERROR)
        self._forget(served, now)

    def _end(self, served: Served, why: str, now: float) -> None:
        if self._has_joined(served):
            served.wire.send_callback(served.codec.encode_callback("federate_resigned", (why,)))
        parts = served.wire.take_outgoing(now)
        if served.line is not None and parts:
            served.line.send(parts)
        served.wire.discard(why)
        self._forget(served, now)

    def _forget(self, served: Served, now: float) -> None:
        self.sessions.pop(served.wire.session_id, None)
        self._places.ended(served)
        self.board.ended(served, now)
        self.flush_soon()

    def drop(self, served: Served, why: str, now: float) -> None:
        """A federate that does not read.  What it left unread is gone, so it cannot resume, and is told that."""
        self._report_of(served, f"is dropped: {why}", "federate-dropped", ERROR)
        self._dropped[served.wire.session_id] = now + self.settings.limits.reconnect_seconds
        if len(self._dropped) > self.settings.limits.sessions:
            del self._dropped[next(iter(self._dropped))]
        line = served.line
        served.line = None
        served.wire.discard(why)
        self._forget(served, now)
        if isinstance(line, SocketLine):
            line.abandon()

    # --- saves ------------------------------------------------------------------------------------------------

    def _keep(self, effect: Store | Fetch) -> None:
        """In a thread of its own: a disk may take its time, and others are not to wait for it."""
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(None, carry_out, self.saves, effect, self.report)
        self._keeping.add(done)
        done.add_done_callback(lambda future: self._kept(effect, future))

    def _kept(self, effect: Store | Fetch, future: asyncio.Future[Outcome]) -> None:
        self._keeping.discard(future)
        if future.cancelled():
            return
        error = future.exception()
        if error is not None:
            text = f"the save {effect.label!r} of federation {effect.federation!r} failed: {error!r}"
            self.report(LogText(text, "save-failed", ERROR, federation=effect.federation, label=effect.label))
        outcome = future.result() if error is None else failed(effect)
        self.board.perform(outcome(self.board.node, time.monotonic()))
        self.flush_soon()

    # --- turns ------------------------------------------------------------------------------------------------

    def flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Send what has gathered, each session's in one piece."""
        self._flush_due = False
        now = time.monotonic()
        self.attend(self.board.flush(now), now)

    def attend(self, busy: list[Served], now: float) -> None:
        """What is to be done after a flush: now, for those who leave something unread, or soon."""
        if self.board.has_waiting:
            self.board.hurries = True
            asyncio.get_running_loop().call_later(_PATIENCE, self._hurry)
        if self.board.alarm < NEVER:
            self._alarmed(now)
        limits = self.settings.limits
        overfull, self.board.overfull = self.board.overfull, []
        for served in overfull:
            self.drop(served, f"it left {served.unread} bytes unread (limits.queue_bytes)", now)
        for served in busy:
            if served.line is None:
                continue
            queued = served.unread
            if queued > limits.queue_bytes:
                self.drop(served, f"it left {queued} bytes unread (limits.queue_bytes)", now)
            elif queued > limits.slow_bytes and not served.slow:
                served.slow = True
                self._report_of(served, f"is slow: {queued} bytes unread", "federate-slow", WARNING)
                self.board.report_waiting(served, now)
            elif served.slow and queued == 0:
                self._caught_up(served, now)
        if self.board.has_outgoing:
            self.flush_soon()

    def _caught_up(self, served: Served, now: float) -> None:
        served.slow = False
        self._report_of(served, "has caught up", "federate-caught-up")
        self.board.report_waiting(served, now)

    def _hurry(self) -> None:
        self.board.hurry()
        self.flush()

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        # First of all: whatever happens, there is a next one.
        self._ticker = loop.call_later(_TICK, self._tick)
        now = time.monotonic()
        for served in list(self.sessions.values()):
            self._check_session(served)
            if served.slow and served.line is not None and served.unread == 0:
                self._caught_up(served, now)
            self._check_connected(served, now)
            self._check_silence(served, now)
        self.attend(self.board.release_idle(), now)
        if self._peak.is_over(sum(served.wire.unacknowledged_bytes for served in self.sessions.values())):
            loop.run_in_executor(None, give_back)  # it may take a while, and nobody waits for it
        for line in list(self._connections):
            line.check(now)
        for session_id in [one for one, until in self._dropped.items() if now >= until]:
            del self._dropped[session_id]
        self._alarmed(now)
        if self.board.has_outgoing:
            self.flush_soon()
        if self._strangers > _STRANGERS:
            text = f"{self._strangers - _STRANGERS} more connections were refused or closed"
            self.report(LogText(text, "strangers", WARNING))
        self._strangers = 0

    def _check_session(self, served: Served) -> None:
        """Is its time over, to come back or to say something?"""
        now = time.monotonic()
        if now < served.wire.next_deadline():
            return
        for action in served.wire.tick(now):
            if action is Action.CLOSE and isinstance(served.line, SocketLine):
                served.line.abandon()
                served.line = None
                what = f"said nothing for {self.settings.limits.silence_seconds:g} s (limits.silence_seconds)"
                self._await_return(served, now, what, "connection-silent")
            elif action is Action.END:
                self._forget(served, now)

    def _check_silence(self, served: Served, now: float) -> None:
        """A federate that computes, waits in a debugger or was stopped: nothing is done, but others are told who ask."""
        if served.line is None:
            return
        heard = served.wire.heard_at
        if now - heard < _SILENT:
            if served.silent:
                self._note_absence(served, None)
        elif not served.silent:
            self._note_absence(served, Absence(SILENT, heard, heard + self.settings.limits.silence_seconds))

    def _check_connected(self, served: Served, now: float) -> None:
        """A client that begins a session connects at once; one that does not would only take another's place."""
        patience = self.settings.limits.greeting_seconds
        if served.admitted or served.connecting or served.wire.state is State.TERMINATED:
            return
        if now - served.began <= patience:
            return
        line, served.line = served.line, None
        served.wire.discard(f"no federate connected in it within {patience:g} s (limits.greeting_seconds)")
        self.report_stranger(f"session {served.number} is over: {served.wire.ending}")
        self._forget(served, now)
        if isinstance(line, SocketLine):
            line.abandon()

    def report_stranger(self, text: str) -> None:
        """What peers do that are not federates (yet): there may be very many of them."""
        self._strangers += 1
        if self._strangers <= _STRANGERS:
            self.report(text if isinstance(text, LogText) else LogText(text, "stranger", WARNING))

    def _report_of(self, served: Served, text: str, event: str, level: str = INFO) -> None:
        report = self.report if served.admitted else self.report_stranger
        session = self.board.node.sessions.get(served.kernel_session)
        federate = "" if session is None or session.member is None else session.member.name
        about = {"federation": served.federation, "federate": federate, "session": str(served.number)}
        report(LogText(f"{_name(served)} {text}", event, level, **about))

    def _alarmed(self, now: float) -> None:
        """Let the kernel do what is due, and come back when the next is: values that wait for their update rate."""
        node = self.board.node
        due = node.next_tick()
        if due is not None and now >= due:
            for served in self.sessions.values():
                self.board.note_waiting(served)
            self.board.perform(node.tick(now))
            self.flush_soon()
            due = node.next_tick()
        self.board.alarm = NEVER
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due is not None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(max(0.0, due - now), lambda: self._alarmed(time.monotonic()))

    def opened(self, line: SocketLine) -> bool:
        """May it stay?  A session has one connection, or two for a moment; the rest are strangers."""
        self._connections.add(line)
        limits = self.settings.limits
        refusal = ""
        if not self._places.opened(line.address):
            refusal = (
                f"{line.address} has {limits.half_open} in which nobody has connected (limits.half_open)"
            )
        elif len(self._connections) > 2 * limits.sessions + 16:
            refusal = f"there are {len(self._connections)} (limits.sessions)"
        if refusal:
            self.report_stranger(f"a connection was refused: {refusal}")
        return not refusal

    def closed(self, line: SocketLine) -> None:
        self._connections.discard(line)
        if not line.has_greeted:
            self._places.greeted(line.address)


def _name(served: Served) -> str:
    """How the log calls it; names that federates choose are quoted, since they may hold anything."""
    federation = f" ({served.federation!r})" if served.federation else ""
    return f"session {served.number}{federation}"


def tls_context(settings: Settings) -> ssl.SSLContext:
    serve = settings.serve
    if not serve.cert or not serve.key:
        raise SettingsError(
            "TLS needs a certificate and its key: give --cert and --cert-key (serve.cert, serve.key)"
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
    if settings.security.guard:
        if settings.security.password_file:
            raise SettingsError("there is one guard: set either security.guard or security.password_file")
        return own_guard(settings.security.guard)
    name = settings.security.password_file
    if not name:
        return OpenGuard()
    try:
        text = Path(name).read_text()
    except OSError as error:
        raise SettingsError(f"{name}: {error.strerror or error} (security.password_file)") from error
    return read_password_file(text, name, settings.security.clear_text_passwords)


T = TypeVar("T")


def run_loop(main: Coroutine[object, None, T]) -> T:
    """Run a coroutine on uvloop where it is installed, on asyncio elsewhere."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    found: T = uvloop.run(main)
    return found
