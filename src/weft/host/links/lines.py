"""The connections that carry links, as the event loop has them: a stream for each link, and datagrams for all.

TLS is done here, between the event loop's plain TCP and the link, so that it is the same on every event loop and each refusal can
be reported with its reason.  It is TLS 1.3 with certificates on both sides.  The authority of the domains file vouches for them;
the name in one (subject CN, or a DNS name among the alternatives) says which server it belongs to.

Every packet passes through here, so this module is compiled; event loops take any object with the methods of a protocol.  A node
that drives its own loop (`loop.drive`) has its sockets read and written here, without a transport in between.  As soon as
there is anything but data to take or to give, a broken connection or a full one, the transport sees to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.fabric import Domains
from weft.host.loop.drive_loop import DrivenLoop
from weft.host.pulse import Probed, Pulse, gone_by, keep_alive
from weft.model.errors import SettingsError
from weft.wire.session.greeting import Greeting
from weft.wire.session.server import ServerSession

if TYPE_CHECKING:
    from weft.host.links.link import Link
    from weft.host.links.links import Links

READ = 256 << 10


class Stranger:
    """What is known of a peer that has not said who it is."""

    def __init__(self) -> None:
        self.greeting = Greeting()
        self.session: ServerSession | None = None
        self.taken = 0


class LinkLine:
    """One TCP or TLS connection; `link` is whose it is, once that is known."""

    def __init__(self, links: Links, link: Link | None, context: ssl.SSLContext | None) -> None:
        self.links = links
        self.link = link
        self.names: frozenset[str] = frozenset()  # in the peer's certificate
        self.peer_host = ""
        self.where = ""
        self.opened_at = time.monotonic()
        self.stranger: Stranger | None = None  # what is known of a peer that has not said who it is
        self.closed = asyncio.get_running_loop().create_future()
        self.refusal = ""  # why it was not to be, by TLS
        self.gone = 0.0  # for how long the other machine had answered nothing when it was given up
        self._pulse = Pulse(links.patience)
        self._probed: Probed | None = None
        self._transport: asyncio.Transport | None = None
        self._fd = -1  # the socket, if it is read and written here
        self._tls = None if context is None else Tls(context, server_side=link is None)
        self._open = False  # the certificates were shown
        self._finishing = False
        self._view = memoryview(links.buffer)

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        found = transport.get_extra_info("peername")
        if found:
            self.peer_host = found[0]
            self.where = f"{found[0]}:{found[1]}"
        plain = transport.get_extra_info("socket")
        if plain is not None:
            with contextlib.suppress(OSError):
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._probed = plain
            keep_alive(plain)
        if self._tls is None:
            self._opened()
        elif self.links.knocked(self):
            self._secure(self._tls, b"")

    def _opened(self) -> None:
        self._open = True
        self.links.opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self._view[:nbytes]))

    def data_received(self, data: bytes) -> None:
        if self._finishing:
            return
        if self._tls is not None:
            self._secure(self._tls, data)
            return
        if self._fd < 0:
            self._take_over()
        self.links.received(self, data)

    def eof_received(self) -> None:
        """Close, as a protocol does that returns nothing."""

    def pause_writing(self) -> None:
        """What a neighbour leaves unread is looked at after each flush."""

    def resume_writing(self) -> None:
        pass

    def _take_over(self) -> None:
        """From the transport, which has begun to read by now; where the loop lets one."""
        loop = asyncio.get_running_loop()
        transport = self._transport
        plain = None if transport is None else transport.get_extra_info("socket")
        if transport is None or plain is None or not isinstance(loop, DrivenLoop):
            return
        self._fd = plain.fileno()
        transport.pause_reading()
        loop.read_directly(self._fd, self._readable)

    def _readable(self) -> None:
        if self._fd < 0:
            return
        try:
            size = os.readv(self._fd, [self._view])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.gone = gone_by(error)
            size = 0
        if size:
            self.links.received(self, bytes(self._view[:size]))
        else:
            self._fd = -1
            assert self._transport is not None
            self._transport.resume_reading()  # it finds the same, and does what is to be done

    def _secure(self, tls: Tls, data: bytes) -> None:
        """Take what came; the end of the handshake may bring the first of what the peer says."""
        try:
            clear = tls.feed(data)
        except ssl.SSLError as error:
            self._write(tls.outgoing())  # the peer is told why
            self._refuse(str(error))
            return
        self._write(tls.outgoing())
        if tls.ready and not self._open:
            self.names = tls.names()
            self._opened()
        if clear and self._transport is not None:
            self.links.received(self, clear)
        if tls.ended:
            self.close()

    def _refuse(self, why: str) -> None:
        self.links.refused(self, why, shook_hands=self._open)
        if self._transport is not None:
            self._transport.close()  # what the peer is told goes out first
            self._forget()

    def check(self, now: float) -> None:
        """Nothing has come for a while: a machine that is gone, or behind a pulled cable, closes nothing."""
        gone = 0.0 if self._probed is None else self._pulse.gone(self._probed, now)
        if gone:
            self.gone = gone
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is None:
            return
        self.gone = self.gone or gone_by(error)
        if self._tls is not None and not self._open:
            self.links.refused(self, str(error or "it was closed"), shook_hands=False)
        self._forget()

    def _forget(self) -> None:
        self._fd = -1
        self._transport = None
        self._probed = None
        if not self.closed.done():
            self.closed.set_result(None)
        self.links.closed(self)

    def send(self, parts: list[bytes]) -> None:
        if self._transport is None or not parts:
            return
        if self._tls is None:
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            if self._fd >= 0 and not self._transport.get_write_buffer_size():
                try:
                    sent = os.write(self._fd, data)
                except OSError:
                    sent = 0  # full, or gone
                if sent == len(data):
                    return
                data = data[sent:]
            self._transport.write(data)
        else:
            self._tls.write(b"".join(parts))
            self._write(self._tls.outgoing())

    def _write(self, data: bytes) -> None:
        if self._transport is not None and data:
            self._transport.write(data)

    def finish(self) -> None:
        """Say that no more comes, and wait for the peer to close.

        To close at once would break the connection if something has come that was not read, and take from the peer what it has
        not read yet.
        """
        if self._transport is None or self._finishing:
            return
        if self._tls is not None and not self._open:
            self._transport.abort()
            return
        self._finishing = True
        if self._tls is not None:
            self._write(self._tls.end())
        self._fd = -1
        self._transport.resume_reading()
        if self._transport.is_closing() or not self._transport.can_write_eof():
            self._transport.close()
        else:
            try:
                self._transport.write_eof()
            except OSError:  # the peer has gone already
                self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            if self._tls is not None and self._open:
                self._write(self._tls.end())
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def link_context(domains: Domains, node: str, folder: Path, server_side: bool) -> ssl.SSLContext | None:
    """None where the domains file has no certificates.  File names in it are relative to its folder."""
    if not domains.ca:
        return None
    own = domains.certificates[node]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # servers go by their names in the domains file, not by those of hosts
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(folder / domains.ca)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"{folder / domains.ca}: the authority of [certificates] cannot be used: {error}"
        ) from error
    try:
        context.load_cert_chain(folder / own.cert, folder / own.key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"{folder / own.cert}, {folder / own.key}: the certificate of {node} or its key cannot be used: {error}"
        ) from error
    return context


class Tls:
    """One side of a TLS connection without its socket: bytes in, bytes out."""

    def __init__(self, context: ssl.SSLContext, server_side: bool) -> None:
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._in, self._out, server_side)
        self.ready = False  # both have shown what they have to
        self.ended = False  # by the peer

    def names(self) -> frozenset[str]:
        """The servers that the peer's certificate can belong to."""
        certificate: dict[str, Any] = self._object.getpeercert() or {}
        found = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
        for parts in certificate.get("subject", ()):
            found |= {value for key, value in parts if key == "commonName"}
        return frozenset(found)

    def feed(self, data: bytes) -> bytes:
        """What came over the network; returns what it says.  Look at `outgoing` after, also if it raises SSLError."""
        self._in.write(data)
        found = []
        try:
            if not self.ready:
                self._object.do_handshake()
                self.ready = True
            while (clear := self._object.read(READ)) != b"":
                found.append(clear)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        return b"".join(found)

    def write(self, data: bytes) -> None:
        self._object.write(data)

    def end(self) -> bytes:
        """What tells the peer that no more comes."""
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()
        return self.outgoing()

    def outgoing(self) -> bytes:
        return self._out.read()


class Datagrams:
    """Best-effort messages between neighbours."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        pass

    def pause_writing(self) -> None:
        """Best effort: what a full network does not take is lost."""

    def resume_writing(self) -> None:
        pass

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        self._links.datagram(data)

    def error_received(self, error: Exception) -> None:
        """Nobody listens there (yet): best effort."""

    def send(self, data: bytes, address: tuple[str, int]) -> None:
        if self._transport is not None:
            self._transport.sendto(data, address)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
