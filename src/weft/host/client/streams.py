"""The byte stream between a federate and an RTI: TCP, TLS 1.3, WebSocket, or WebSocket over TLS.

Nothing waits here without a bound: who opens has so many seconds for all of it, who sends gives up when the other machine is gone
(`weft.host.pulse`) or has taken nothing for too long, and who receives comes back at least once a second.
"""

from __future__ import annotations

import base64
import contextlib
import os
import select
import socket
import ssl
import struct
import time

from weft.host import system
from weft.host.addresses import is_local
from weft.host.client.settings import DEFAULT_PORTS, ClientSettings
from weft.host.pulse import Pulse, gone_by, keep_alive
from weft.model.errors import ConnectionFailed
from weft.wire.errors import ProtocolError
from weft.wire.session.frames import split
from weft.wire.session.websocket import NORMAL, Handshake, WebSocketReader, ask, farewell, wrap

_READ = 128 << 10
_FAREWELL = 2.0  # seconds that a server has to say farewell, too
_NAP = 1.0  # seconds; a thread that waits for long looks up so often
_PIECE = 256 << 10  # so much is sent at once: what comes after it has its own time


class Stream:
    """The byte stream beneath a session: TCP or TLS.

    A `plain` one may be received from while another thread sends.  The others may not: TLS and WebSocket keep state that
    both directions touch.
    """

    plain = False

    def __init__(self, settings: ClientSettings, patience: float = 0.0) -> None:
        """`patience`: seconds for all of it; 0: as the settings say."""
        until = time.monotonic() + (patience or settings.timeout)
        self._patience = settings.silence
        self._pulse = Pulse()
        self.gone = 0.0
        """For how long the other machine had answered nothing when the connection was given up."""
        try:
            self.socket = socket.create_connection((settings.host, settings.port), _left(until))
        except OSError as error:
            raise ConnectionFailed(f"{settings.where}: {unreachable(error)}") from error
        # One buffer for good: a new one for each read would cost a page fault for each page of it.
        self._buffer = memoryview(bytearray(_READ))
        try:
            keep_alive(self.socket)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.secure:
                name = settings.sni or settings.host
                self.socket.settimeout(_left(until))
                self.socket = tls_context(settings).wrap_socket(self.socket, server_hostname=name)
            self.socket.settimeout(_left(until))
            self.open(settings)
            self.plain = type(self) is Stream and not isinstance(self.socket, ssl.SSLSocket)
            self._naps = self.plain and system.SOCKET_NAPS
            if self._naps:
                nap = struct.pack("ll", int(_NAP), 0)  # a `struct timeval`
                self.socket.settimeout(None)
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, nap)
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, nap)
            else:
                self.socket.settimeout(_NAP)
        except (OSError, ProtocolError) as error:
            self.socket.close()
            raise ConnectionFailed(f"{settings.where}: {not_opened(error, settings)}") from error

    @property
    def local(self) -> bool:
        """Is the server on this very machine?"""
        return is_local(self.socket.getpeername())

    def open(self, settings: ClientSettings) -> None:
        """What has to be said before the session can begin."""

    def send(self, parts: list[bytes]) -> None:
        """An OSError if the connection is gone, or the peer takes nothing for too long."""
        data = b"".join(parts)
        sent = self._send_some(data if len(data) <= _PIECE else memoryview(data)[:_PIECE])
        while sent < len(data):
            sent += self._send_some(memoryview(data)[sent : sent + _PIECE])

    def _send_some(self, piece: bytes | memoryview) -> int:
        until = time.monotonic() + self._patience
        while True:
            try:
                return self.socket.send(piece)
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError, InterruptedError):
                pass
            except TimeoutError as error:
                if error.errno:  # the system has given up; without a number it was only the nap
                    self.gone = gone_by(error)
                    raise
            now = time.monotonic()
            if self.is_gone(now) or now >= until:
                raise TimeoutError("the peer takes nothing")

    def is_gone(self, now: float) -> bool:
        """Has the other machine answered nothing for too long?  To be asked about once a second by who waits."""
        self.gone = self._pulse.gone(self.socket, now)
        return self.gone > 0

    def wait(self, patience: float) -> bool:
        """Is there something to receive, or does it come in time?"""
        found = self.socket
        try:
            if isinstance(found, ssl.SSLSocket) and found.pending():
                return True
            return bool(select.select([found], [], [], min(patience, _NAP))[0])
        except (OSError, ValueError):
            return True  # the connection is gone, which `receive` will say

    def receive(self, patience: float) -> bytes | None:
        """What came; nothing (b"") if the connection is gone; None if nothing came in time."""
        try:
            if self._naps and patience == 0:
                count = self.socket.recv_into(self._buffer, 0, socket.MSG_DONTWAIT)
                return bytes(self._buffer[:count])
            # A plain socket comes back after a nap at the latest: one system call where a wait before it would make two.
            if not (self.plain and patience >= _NAP) and not self.wait(patience):
                return None
            count = self.socket.recv_into(self._buffer)
            return bytes(self._buffer[:count])
        except (BlockingIOError, ssl.SSLWantReadError, InterruptedError):
            return None
        except TimeoutError as error:
            self.gone = gone_by(error) if error.errno else 0.0
            return b"" if error.errno else None
        except (OSError, ValueError):
            return b""

    def finish(self) -> None:
        """The session is over: say farewell where that is the custom, before `close`."""

    def close(self) -> None:
        # Shut down first: a thread that reads is woken by it.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class WebSocketStream(Stream):
    """A WebSocket: each frame of the session is one binary message."""

    def open(self, settings: ClientSettings) -> None:
        self._reader = WebSocketReader(False, 1 << 31)
        key = base64.b64encode(os.urandom(16))
        self.socket.sendall(ask(f"{settings.host}:{settings.port}", key))
        handshake = Handshake()
        while True:
            data = self.socket.recv(_READ)
            if not data:
                raise ProtocolError("the server closed the connection during the WebSocket handshake")
            if handshake.feed(data):
                break
        handshake.check(key)
        self._early = b"".join(self._reader.feed(handshake.rest))

    def send(self, parts: list[bytes]) -> None:
        super().send([wrap(message, mask=os.urandom(4)) for message in split(b"".join(parts))])

    def receive(self, patience: float) -> bytes | None:
        if self._early:
            early, self._early = self._early, b""
            return early
        data = super().receive(patience)
        if not data:
            return data
        try:
            found = b"".join(self._reader.feed(data))
            if self._reader.replies:
                super().send([wrap(p, opcode, os.urandom(4)) for opcode, p in self._reader.replies])
                self._reader.replies.clear()
        except (ProtocolError, OSError):
            return b""
        if self._reader.closed and not found:
            return b""
        return found or None

    def finish(self) -> None:
        """RFC 6455, 7.1: both sides send a close frame, and the server closes; it is not waited for long."""
        try:
            if not self._reader.closed:
                super().send([farewell(NORMAL, os.urandom(4))])
            deadline = time.monotonic() + _FAREWELL
            while not self._reader.closed and time.monotonic() < deadline:
                data = super().receive(deadline - time.monotonic())
                if data is None:
                    continue
                if not data:
                    break
                self._reader.feed(data)
        except (OSError, ProtocolError):
            return  # it is gone already


def open_stream(settings: ClientSettings, patience: float = 0.0) -> Stream:
    """`patience`: seconds for all of it; 0: as the settings say."""
    kind = WebSocketStream if settings.protocol.startswith("websocket") else Stream
    return kind(settings, patience)


def _left(until: float) -> float:
    """Seconds left; a little if none are, since 0 means something else to a socket."""
    return max(0.001, until - time.monotonic())


def tls_context(settings: ClientSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ca_file or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if settings.tls_mode == "ENCRYPTED":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


# --- what is wrong, in words of who wants to connect ---------------------------------------------------------------


def unreachable(error: OSError) -> str:
    said = f"{error.strerror or error}"
    if isinstance(error, ConnectionRefusedError):
        ports = ", ".join(f"{DEFAULT_PORTS[kind]} for {kind}" for kind in ("tcp", "tls"))
        return f"{said}: nobody listens there. Is `weft serve` running, and at this port ({ports}, unless it was told otherwise)?"
    if isinstance(error, socket.gaierror):
        return f"{said}: check the name of the host"
    if isinstance(error, TimeoutError):
        return f"{said}: no answer; check the address, and whether a firewall is between"
    return said


def not_opened(error: Exception, settings: ClientSettings) -> str:
    """The connection was made, and TLS or the WebSocket was not."""
    said = f"{getattr(error, 'strerror', None) or error}"
    address = f"{settings.host}:{settings.port}"
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message
        if error.verify_code in _WRONG_NAMES:
            return f"the certificate is not for this name ({why}): connect by the name in it, or set tls.sniHostname"
        return (
            f"the certificate is not from an authority that is trusted here ({why}): name the file of its authority, "
            "FedPro.keystore.path=ca.pem in the additional settings (docs/how-to/tls.md)"
        )
    if isinstance(error, (ssl.SSLError, ConnectionError, TimeoutError)) and settings.secure:
        plain = "ws" if settings.protocol == "websocketsecure" else "tcp"
        return f"{said}: there is no TLS at this port, it seems; try {plain}://{address}, or the port of weft serve --tls-port"
    if settings.protocol == "websocket":
        return (
            f"{said}: is it the port of weft serve --ws-port, and without TLS? There is also wss://{address}"
        )
    return said


def no_session(first: bytes, settings: ClientSettings) -> str:
    """A server that does not greet: what it may be, by the first bytes that it said."""
    address = f"{settings.host}:{settings.port}"
    if first[:2] == b"\x15\x03" or (not first and settings.protocol == "tcp"):
        return f"; if it speaks TLS there, connect to tls://{address}, and to ws://{address} if it is a WebSocket"
    if not first and settings.protocol == "tls":
        return f"; if it is a WebSocket there, connect to wss://{address}"
    if first[:5] == b"HTTP/":
        return f"; it is a web server: connect to ws://{address}, or to the port of weft serve for federates"
    return ""


_WRONG_NAMES = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH
