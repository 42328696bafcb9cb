"""Connections to the console: how many, and how long they may take to ask (uvicorn bounds neither).

At most `MOST` at once.  Beyond, the one that has waited longest without having asked for anything makes room, then one that
has had its answer; if all are being answered, the new one is closed.  A request, with its body, must have come after
`PATIENCE` seconds.  So ten thousand that say nothing, or a letter now and then, cost some descriptors for a moment, and a
person with a browser still gets in.
"""

from __future__ import annotations

import asyncio

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST = 256
PATIENCE = 10.0
HEAD_BYTES = 16 << 10
# Connections that wait to be accepted, so that a flood does not make others wait for a second try.
BACKLOG = 1024


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with these bounds; those of one server share its set of connections."""

    most = MOST
    patience = PATIENCE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._due: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._expect()
        if len(self.connections) > self.most:
            self._make_room()

    def _make_room(self) -> None:
        """For this one, by the best that can be spared; if there is none, it is this one itself."""
        others = [one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self]
        spared = min(others, key=_worth, default=self)
        if _worth(spared) >= BUSY:
            spared = self
        self.connections.discard(spared)
        spared._relax()
        spared.transport.abort()

    def _expect(self) -> None:
        if self._due is None:
            self._due = self.loop.call_later(self.patience, self._give_up)

    def _give_up(self) -> None:
        self._due = None
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # States of the client's side in which it still has something to say; a WebSocket is not ours any more.
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and self in self.connections:
            self._expect()
        else:
            self._relax()

    def _relax(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        super().connection_lost(exc)


IDLE, BUSY = (1, 0.0), (2, 0.0)


def _worth(one: BoundedProtocol) -> tuple[int, float]:
    """Least is one whose request has been due for longest; then one that was answered; most is one that is being answered."""
    if one._due is not None:
        return 0, one._due.when()
    cycle: RequestResponseCycle | None = one.cycle  # None before the first request
    return IDLE if cycle is None or cycle.response_complete else BUSY


def uvicorn_config(application: ASGIApp, cert: str = "", key: str = "") -> uvicorn.Config:
    """What else uvicorn is to bound.  No logs: addresses carry tokens."""
    return uvicorn.Config(
        application,
        http=BoundedProtocol,
        ws="auto",
        ws_max_size=16 << 10,
        ws_max_queue=4,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=1,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        loop="asyncio",
        backlog=BACKLOG,
        ssl_certfile=cert or None,
        ssl_keyfile=key if cert else None,
    )
