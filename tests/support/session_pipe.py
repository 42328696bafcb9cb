"""A client and a server session joined in memory, by connections that can be cut at any byte: the fake for the session layer.

Nothing moves by itself.  `carry_up` and `carry_down` bring bytes to the server and to the client, `settle` all there are; `cut`
loses what is under way, `reconnect` opens the next connection.  Greetings and deadlines are dealt with as a real host does.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.wire.session.client import DEFAULTS, ClientSession
from weft.wire.session.greeting import Greeting
from weft.wire.session.server import ServerSession
from weft.wire.session.state import Action, SessionSettings, State


class PipedFrame:
    """One HLA frame as it was given to a host."""

    def __init__(self, kind: int, sequence: int, answers: int, payload: bytes) -> None:
        self.type = kind
        self.sequence = sequence
        self.answers = answers
        self.payload = payload


class SessionPipe:
    def __init__(
        self,
        client: SessionSettings = DEFAULTS,
        server: SessionSettings = DEFAULTS,
        client_first: int = 0,
        server_first: int = 0,
        session_id: int = 0x27DA309FE4D03A9E,
    ) -> None:
        self.now = 0.0
        self.client = ClientSession(self.now, client, client_first)
        self.server = ServerSession(session_id, self.now, server, server_first)
        self.at_client: list[PipedFrame] = []
        self.at_server: list[PipedFrame] = []
        self.on_client: Callable[[PipedFrame], None] | None = None
        self.on_server: Callable[[PipedFrame], None] | None = None
        self.connected = True
        self.status = 0
        """What the server answered to the last greeting."""
        self._greeting: Greeting | None = Greeting()
        self._up = b""
        self._down = b""

    def start(self) -> None:
        """The new session is accepted."""
        self.settle()
        assert self.client.state is State.RUNNING

    def collect(self) -> None:
        """Both hosts hand over to the network what they have to send."""
        if not self.connected:
            return
        self._up += b"".join(self.client.take_outgoing(self.now))
        outgoing = self.server.take_outgoing(self.now)
        if self._greeting is None:  # else it goes to the connection before this one, which only looks open
            self._down += b"".join(outgoing)

    @property
    def under_way(self) -> int:
        return len(self._up) + len(self._down)

    def carry_up(self, count: int) -> int:
        """Bring up to `count` bytes to the server; returns how many there were."""
        data, self._up = self._up[:count], self._up[count:]
        if data:
            self._server_hears(data)
        return len(data)

    def carry_down(self, count: int) -> int:
        data, self._down = self._down[:count], self._down[count:]
        if data:
            self.client.feed(data, self.now)
            while self.client.next():
                frame = self.client.frame
                delivery = PipedFrame(frame.type, frame.sequence, frame.answers, frame.payload)
                self.at_client.append(delivery)
                if self.on_client is not None:
                    self.on_client(delivery)
        return len(data)

    def settle(self, budget: int = 1 << 60) -> int:
        """Bring everything everywhere, or `budget` bytes; returns what is left of the budget."""
        self.collect()
        while self.under_way and budget > 0:
            budget -= self.carry_up(budget)
            budget -= self.carry_down(budget)
            self.collect()
        return budget

    def cut(self, server_notices: bool = True) -> None:
        """The connection breaks.  A server may go on believing in it until the client resumes on the next one."""
        self._up = self._down = b""
        self.connected = False
        self.client.connection_lost(self.now)
        if server_notices:
            self.server.connection_lost(self.now)

    def reconnect(self) -> None:
        """A new connection, as soon as the client asks for one."""
        if Action.CONNECT not in self.client.tick(self.now):
            self.now = self.client.next_deadline()
            assert Action.CONNECT in self.client.tick(self.now)
        self.reopen()

    def tick(self) -> None:
        """The client's deadlines: one on which nothing was heard for too long gives up its connection for a new one."""
        if Action.CONNECT in self.client.tick(self.now):
            self._up = self._down = b""
            self.reopen()

    def reopen(self) -> None:
        """The connection that the client has just asked for."""
        self._greeting = Greeting()
        self.connected = True
        self.client.resume(self.now)

    def _server_hears(self, data: bytes) -> None:
        greeting = self._greeting
        if greeting is not None:
            if not greeting.feed(data):
                return
            self._greeting = None
            if greeting.is_resume:
                self.status = self.server.resume(greeting, self.now)
            else:
                self.status = self.server.accept(greeting, self.now)
            data = greeting.rest
        self.server.feed(data, self.now)
        while self.server.next():
            frame = self.server.frame
            delivery = PipedFrame(frame.type, frame.sequence, frame.answers, frame.payload)
            self.at_server.append(delivery)
            if self.on_server is not None:
                self.on_server(delivery)
