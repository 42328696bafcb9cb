"""The connections that carry links, as the event loop has them: a stream for each link, and datagrams for all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from typing import TYPE_CHECKING, Any

from weft.host.link_security import names_of

if TYPE_CHECKING:
    from weft.host.link import Link
    from weft.host.links import Links

_READ = 256 << 10


class LinkLine(asyncio.BufferedProtocol):
    """One TCP or TLS connection; `link` is whose it is, once that is known."""

    buffer = bytearray(_READ)  # Each read is taken out of it before the next begins.

    def __init__(self, links: Links, link: Link | None) -> None:
        self.links = links
        self.link = link
        self.names: frozenset[str] = frozenset()  # in the peer's certificate
        self.peer_host = ""
        self.where = ""
        self.opened_at = time.monotonic()
        self.stranger: Any = None  # what is known of a peer that has not said who it is
        self.closed = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._early = b""  # what came along with the end of the handshake, before the connection was ours
        self._view = memoryview(LinkLine.buffer)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        found = transport.get_extra_info("peername")
        if found:
            self.peer_host = found[0]
            self.where = f"{found[0]}:{found[1]}"
        secure = transport.get_extra_info("ssl_object")
        if secure is not None:
            self.names = names_of(secure.getpeercert())
        plain = transport.get_extra_info("socket")
        if plain is not None:
            with contextlib.suppress(OSError):
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.links.opened(self)
        early, self._early = self._early, b""
        if early and self._transport is not None:
            self.links.received(self, early)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._view[:nbytes])
        if self._transport is None:
            self._early += data
        else:
            self.links.received(self, data)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if not self.closed.done():
            self.closed.set_result(None)
        self.links.closed(self)

    def send(self, parts: list[bytes]) -> None:
        if self._transport is not None and parts:
            self._transport.writelines(parts)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Doorstep(asyncio.Protocol):
    """A connection that came in and has to show a certificate; then a `LinkLine` takes its place."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        plain: asyncio.Transport = transport  # type: ignore[assignment]
        plain.pause_reading()
        self._task = asyncio.get_running_loop().create_task(self._links.secure(plain))


class Datagrams(asyncio.DatagramProtocol):
    """Best-effort messages between neighbours."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def datagram_received(self, data: bytes, address: tuple[Any, ...]) -> None:
        self._links.datagram(data)

    def error_received(self, error: Exception) -> None:
        """Nobody listens there (yet): best effort."""

    def send(self, data: bytes, address: tuple[str, int]) -> None:
        if self._transport is not None:
            self._transport.sendto(data, address)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
