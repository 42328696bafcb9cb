"""The links of a node: one to each server that it shares a domain with.

Of two neighbours the one that comes first in the domains file dials; the other listens at its address in that file.  Over the
connection goes a session of the Federate Protocol, as between a federate and an RTI, in which both sides first say who they are:
name, fingerprint of the domains, and a number for the process.  Who is not in the file, not a neighbour, has other domains, or
shows a certificate that is not that server's, is refused, and both sides log why.

Who asks by domains that this node has left (`left`) is told so.  A node that finishes old domains (`asks`, `weft.fabric.change`)
also dials neighbours that should dial: one that has left those domains does not, and this is how it is asked.  No such connection
becomes a link.

With certificates in the domains file all goes over TLS 1.3, and best-effort messages take the same way as reliable ones:
datagrams would be clear text.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol, TypedDict, TypeGuard, cast

from weft.fabric import Domains
from weft.host.carrier import STOPPED
from weft.host.files.cbor import CborError, decode, encode
from weft.host.links.items import BYE, DATAGRAM, HELLO, LEFT, PING, REFUSED, ItemReader, write_item
from weft.host.links.lines import READ, Datagrams, LinkLine, Stranger, link_context
from weft.host.links.link import Link
from weft.host.pulse import GONE, QUIET
from weft.host.settings import FabricSettings
from weft.model.errors import FabricError, SettingsError
from weft.model.log_text import WARNING, LogText
from weft.wire.errors import ProtocolError
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import LAST_NUMBER
from weft.wire.session.greeting import Greeting, refuse_resume
from weft.wire.session.server import ServerSession
from weft.wire.session.state import ACCEPTED, INVALID_SESSION, RESUMED, Action, SessionSettings, State

VERSION = 4  # of what is said over links
GREETING_SECONDS = 10.0
GREETING_BYTES = 64 << 10  # a stranger gets no more memory than this
FAREWELL_SECONDS = 3.0  # for a neighbour to take what is still under way when this node stops
STRANGERS = 64  # connections of which it is not known whose they are
DATAGRAM_BYTES = 1200  # what passes any network in one piece
_TOKEN = 8
_NUMBERS = ("version", "boot", "way", "token")


class LinkHello(TypedDict):
    """The first that is said on a link."""

    version: int
    name: str
    fingerprint: str
    boot: int
    way: int
    token: int
    packets: list[list[int]]  # port, sent, known, of each channel


class LinkHost(Protocol):
    """What the links tell: the mesh."""

    def counts(self, link: Link) -> dict[int, tuple[int, int]]:
        """Causal packets so far, for each channel: sent to this neighbour, and known to have been sent by it."""

    def link_up(self, link: Link, boot: int) -> None: ...

    def link_down(self, link: Link, why: str, for_good: bool) -> None: ...

    def item(self, link: Link, kind: int, body: bytes) -> None:
        """May raise FabricError: then the link is cut."""

    def turn_soon(self) -> None: ...


async def _close_listener(listener: asyncio.AbstractServer) -> None:
    """What was just accepted is still made: asyncio would leave its socket open if the listener were closed before."""
    loop = asyncio.get_running_loop()
    for one in getattr(listener, "sockets", ()):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.remove_reader(one.fileno())
    for _ in range(2):
        await asyncio.sleep(0)
    listener.close()


class Links:
    def __init__(
        self,
        domains: Domains,
        node: str,
        settings: FabricSettings,
        host: LinkHost,
        report: Callable[[str], None],
        folder: Path = Path(),
        asks: bool = False,
    ) -> None:
        topology = domains.topology
        self.node = node
        self.left: frozenset[str] = frozenset()  # fingerprints of domains that this node has finished with
        self.on_left: Callable[[int], None] | None = None  # a neighbour has finished with these domains
        self._asks = asks
        self.boot = secrets.randbits(53)
        self.links: dict[int, Link] = {}
        self._domains = domains
        self._settings = settings
        self._host = host
        self._report = report
        own = topology.numbers[node]
        for name in topology.neighbours(node):
            peer = topology.numbers[name]
            link = Link(peer, name, split_address(domains.addresses[name]), own < peer)
            link.since = time.monotonic()
            self.links[peer] = link
        self._by_name = {link.name: link for link in self.links.values()}
        self._by_token: dict[int, Link] = {}
        self._listening_context = link_context(domains, node, folder, server_side=True)
        self._dialing_context = link_context(domains, node, folder, server_side=False)
        self._heartbeat = settings.lost_seconds / 4
        # Without an answer of the other machine: sooner than it counts as silent, so that this time counts as time of the loss.
        self.patience = min(GONE, settings.lost_seconds / 2)
        self._answer_bytes = settings.queue_bytes // 16  # so much comes, until it is acknowledged by itself
        self._session_settings = SessionSettings(
            max_frame=LAST_NUMBER,  # a frame is what a turn has for a neighbour, and the queue bounds that
            history_frames=1 << 20,
            history_bytes=4 * settings.queue_bytes,
            heartbeat=self._heartbeat,
            silence=settings.lost_seconds,
            reconnect=settings.lost_seconds,
            calls_are_answered=False,
        )
        # One for all lines of a node, in one thread at a time: each read is taken out of it before the next begins.
        self.buffer = bytearray(READ)
        self._touched: set[Link] = set()
        self._lines: set[LinkLine] = set()
        self._doorstep: set[LinkLine] = set()  # connections on which no certificate was shown yet
        self._listener: asyncio.AbstractServer | None = None
        self._datagrams: Datagrams | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False

    # --- starting and stopping ------------------------------------------------------------------------------------

    def _maker(self, link: Link | None, context: ssl.SSLContext | None) -> Callable[[], asyncio.BaseProtocol]:
        """Of lines, which are protocols by their methods, not by their class."""
        return cast("Callable[[], asyncio.BaseProtocol]", partial(LinkLine, self, link, context))

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        host, port = split_address(self._domains.addresses[self.node])
        context = self._listening_context
        try:
            self._listener = await loop.create_server(self._maker(None, context), host, port, backlog=1024)
            if context is None:
                # By its methods a protocol, not by its class.
                datagrams = cast("Callable[[], asyncio.DatagramProtocol]", partial(Datagrams, self))
                _, made = await loop.create_datagram_endpoint(datagrams, local_addr=(host, port))
                self._datagrams = cast(Datagrams, made)
        except OSError as error:
            if self._listener is not None:
                self._listener.close()
            raise SettingsError(
                f"node {self.node} cannot listen on {host}:{port}, its address in the domains file: "
                f"{error.strerror or error}; does it run already?"
            ) from error
        self._tasks = [loop.create_task(self._dial(link)) for link in self.links.values() if link.dials]
        if self._asks:
            self._tasks += [
                loop.create_task(self._ask(link)) for link in self.links.values() if not link.dials
            ]
        self._tasks.append(loop.create_task(self._tick()))

    async def stop(self) -> None:
        self._closing = True
        if self._listener is not None:
            await _close_listener(self._listener)
        if self._datagrams is not None:
            self._datagrams.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for link in self.links.values():
            if link.up:
                link.put(BYE, b"")
                link.flush(time.monotonic())
        for _ in range(3):
            await asyncio.sleep(0)  # a connection that was just being accepted is made now, and aborted
        lines = [*self._lines, *self._doorstep]
        for line in lines:
            line.finish()
        if lines:
            _, late = await asyncio.wait([line.closed for line in lines], timeout=FAREWELL_SECONDS)
            if late:
                for line in lines:
                    line.abort()
                await asyncio.wait(late, timeout=FAREWELL_SECONDS)

    # --- sending ----------------------------------------------------------------------------------------------------

    def touch(self, link: Link) -> None:
        """There is something for it, to go out with the next `flush`."""
        self._touched.add(link)

    def flush(self, now: float) -> None:
        touched, self._touched = self._touched, set()
        for link in touched:
            link.flush(now)
            session = link.session
            if session is not None and session.unacknowledged_bytes > self._settings.queue_bytes:
                waits = session.unacknowledged_bytes
                self.cut(link, f"it has left {waits} bytes unread (fabric.queue_bytes)")

    def send_datagram(self, link: Link, body: bytes) -> bool:
        """False if it has to go another way."""
        if self._datagrams is None or len(body) + _TOKEN > DATAGRAM_BYTES or not link.up or link.line is None:
            return False
        link.bytes_out += _TOKEN + len(body)
        self._datagrams.send(
            link.peer_token.to_bytes(_TOKEN, "big") + body, (link.line.peer_host, link.address[1])
        )
        return True

    # --- dialing ----------------------------------------------------------------------------------------------------

    async def _dial(self, link: Link) -> None:
        """Connect, again and again, each time a little later, up to a limit."""
        first, most = self._settings.retry_seconds, self._settings.retry_most_seconds
        delay = first
        while not self._closing:
            line = await self._connect(link)
            if line is not None:
                await line.closed
            if line is not None and not link.is_refused and link.complaint == "":
                delay = first
            await asyncio.sleep(random.uniform(delay / 2, delay))
            delay = most if link.is_refused else min(2 * delay, most)
            link.is_refused = False

    async def _ask(self, link: Link) -> None:
        """Now and then, as long as the neighbour that should dial does not."""
        most = self._settings.retry_most_seconds
        while not self._closing:
            await asyncio.sleep(random.uniform(most / 2, most))
            if link.session is None:
                line = await self._connect(link)
                if line is not None:
                    await line.closed

    async def _connect(self, link: Link) -> LinkLine | None:
        loop = asyncio.get_running_loop()
        host, port = link.address
        context = self._dialing_context
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                _, made = await loop.create_connection(self._maker(link, context), host, port)
        except (OSError, TimeoutError) as error:
            why = str(error) or "no answer"
            self._complain(link, f"cannot connect to {link.name} at {host}:{port} ({why}); trying again")
            return None
        line: object = made
        assert isinstance(line, LinkLine)
        return line

    def _complain(self, link: Link, text: str) -> None:
        """Once for each reason, not for each attempt."""
        if link.complaint != text and not self._closing:
            link.complaint = text
            self._report(LogText(text, "link-trouble", WARNING, peer=link.name))

    def _dialed(self, line: LinkLine, link: Link) -> None:
        now = time.monotonic()
        if not link.dials and link.session is not None:  # it has dialled in the meantime
            line.link = None
            line.abort()
            return
        if self._dialing_context is not None and link.name not in line.names:
            link.is_refused = True
            self._complain(
                link,
                f"{line.where} shows a certificate of {_list(line.names)}, and not of {link.name}; "
                "check [certificates] and the address in the domains file",
            )
            line.link = None
            line.abort()
            return
        if link.line is not None:
            link.line.abort()
        link.line = line
        session = link.session
        if isinstance(session, ClientSession) and session.state is State.DROPPED:
            session.resume(now)
        else:
            link.session = ClientSession(now, self._session_settings)
            link.begin()
        link.flush(now)

    # --- connections --------------------------------------------------------------------------------------------------

    def knocked(self, line: LinkLine) -> bool:
        """A connection that is to be TLS: the certificates first.  May it stay?"""
        self._doorstep.add(line)
        if line.link is None and sum(one.link is None for one in self._doorstep) > STRANGERS:
            self.refused(line, "too many connections that have not shown a certificate", shook_hands=False)
            line.abort()
            return False
        return not self._closing

    def refused(self, line: LinkLine, why: str, shook_hands: bool) -> None:
        """By one side's TLS, at the handshake or, where the peer refuses this side's certificate, right after it."""
        self._doorstep.discard(line)
        if line.refusal or self._closing:
            return
        line.refusal = why
        link = line.link
        if link is None:
            text = (
                f"a connection from {line.where} was refused: {why}; "
                "servers need a certificate from the authority in [certificates]"
            )
            self._report(LogText(text, "stranger", WARNING, address=line.where))
            return
        where = f"{link.name} at {link.address[0]}:{link.address[1]}"
        what = f"{where} broke off" if shook_hands else f"cannot connect to {where}"
        whose = "this node's" if shook_hands else "its"
        self._complain(
            link,
            f"{what} ({why}; is {whose} certificate from the authority in [certificates]?); trying again",
        )

    def opened(self, line: LinkLine) -> None:
        if self._closing:
            line.abort()
            return
        self._doorstep.discard(line)
        self._lines.add(line)
        if line.link is not None:
            self._dialed(line, line.link)
            return
        line.stranger = Stranger()
        if sum(one.stranger is not None for one in self._lines) > STRANGERS:
            self._turn_away(line, "too many have not said who they are")

    def _turn_away(self, line: LinkLine, why: str) -> None:
        text = f"a connection from {line.where} was closed: {why}"
        self._report(LogText(text, "stranger", WARNING, address=line.where))
        line.abort()

    def closed(self, line: LinkLine) -> None:
        self._lines.discard(line)
        link = line.link
        if link is None or link.line is not line:
            return
        link.line = None
        session = link.session
        if session is None:
            return
        if session.state is not State.TERMINATED:
            session.connection_lost(time.monotonic(), line.gone)
        if session.state is State.TERMINATED:
            self._ended(link, session.ending or "the session ended")

    def received(self, line: LinkLine, data: bytes) -> None:
        now = time.monotonic()
        try:
            if line.link is None:
                self._stranger_says(line, data, now)
            else:
                self._take(line, line.link, data, now)
        except (ProtocolError, FabricError, CborError) as error:
            link = line.link
            if link is None:
                self._turn_away(line, str(error))
            else:
                self.cut(link, f"{link.name} sends what it should not: {error}", misbehaves=True)
        self._host.turn_soon()

    def _take(self, line: LinkLine, link: Link, data: bytes, now: float) -> None:
        session = link.session
        if session is None or link.line is not line:
            return
        before = session.state
        link.unanswered += len(data)
        link.bytes_in += len(data)
        session.feed(data, now)
        while link.session is session and session.next():
            self._frame(line, link, session.frame.payload)
        if link.session is not session:
            return
        if session.state is State.TERMINATED:
            self._ended(link, session.ending)
            line.close()
        elif before is not session.state and session.state is State.RUNNING:
            if before is State.NEW:
                self._say_hello(link)
            link.flush(now)
        elif link.up and link.unanswered > self._answer_bytes:
            link.put(PING, b"")  # who only listens, too, has to say what has come, lest it pass for unread
            self._touched.add(link)
        elif link.waiting:
            self._touched.add(link)  # there may be room for it now
        else:
            link.answer(now)

    def _frame(self, line: LinkLine, link: Link, payload: bytes) -> None:
        reader = ItemReader(payload)
        while reader.next() and link.line is line:
            kind = reader.kind
            if link.up:
                if kind == BYE:
                    self._end(link, STOPPED, for_good=True)
                elif kind != PING:
                    self._host.item(link, kind, reader.body)
            elif kind == HELLO:
                self._heard_hello(line, link, reader.body)
            elif kind in (REFUSED, LEFT):
                link.is_refused = True
                why = reader.body[:1000].decode("utf-8", "replace")
                if kind == LEFT and self.on_left is not None:
                    self.on_left(link.peer)
                elif link.dials:
                    self._complain(link, f"{link.name} refuses this node: {why}")
                self._end(link, "refused")
            else:
                raise FabricError("it did not say who it is")

    # --- who is there -----------------------------------------------------------------------------------------------

    def _stranger_says(self, line: LinkLine, data: bytes, now: float) -> None:
        stranger = line.stranger
        if stranger is None:
            return
        stranger.taken += len(data)
        if stranger.taken > GREETING_BYTES:
            raise FabricError("it did not say who it is")
        session = stranger.session
        if session is None:
            if not stranger.greeting.feed(data):
                return
            if stranger.greeting.is_resume:
                self._resume(line, stranger.greeting, now)
                return
            session = ServerSession(secrets.randbits(64) or 1, now, self._session_settings)
            if session.accept(stranger.greeting, now) != ACCEPTED:
                line.send(session.take_outgoing(now))
                raise FabricError(session.ending)
            stranger.session = session
            line.send(session.take_outgoing(now))
            data = stranger.greeting.rest
        session.feed(data, now)
        while line.link is None and session.next():
            reader = ItemReader(session.frame.payload)
            if not reader.next() or reader.kind != HELLO:
                raise FabricError("it did not say who it is")
            self._introduced(line, session, reader.body, now)
        if line.link is not None:
            self._take(line, line.link, b"", now)

    def _introduced(self, line: LinkLine, session: ServerSession, body: bytes, now: float) -> None:
        """A stranger says who it is."""
        hello = decode(body)
        refusal = self._refusal(hello, line)
        if refusal:
            name = hello.get("name") if isinstance(hello, dict) else None
            if not self._is_asked(name):
                text = f"{line.where} ({name!r}) was refused: {refusal}"
                self._report(LogText(text, "peer-refused", WARNING, peer=str(name or ""), address=line.where))
            out = bytearray()
            write_item(out, LEFT if self._has_left(hello) else REFUSED, refusal.encode())
            session.send_callback(bytes(out))
            line.send(session.take_outgoing(now))
            line.stranger = None
            line.close()
            return
        link = self._by_name[hello["name"]]
        if link.session is not None:
            self._end(link, "its process is another one, or has begun anew")
        line.stranger = None
        line.link = link
        link.line = line
        link.session = session
        link.begin()
        link.way = hello["way"]
        self._say_hello(link)
        self._touched.add(link)
        self._is_up(link, hello)

    def _refusal(self, hello: object, line: LinkLine) -> str:
        """Why not; empty if it may come in."""
        if not isinstance(hello, dict) or not _is_hello(hello):
            return "it does not say who it is as this Weft expects; use the same version on all servers"
        name = hello["name"]
        if hello["version"] != VERSION:
            return f"it speaks version {hello['version']} of links and this is {VERSION}; use the same Weft on all servers"
        if self._has_left(hello):
            return f"{self.node} has left these domains; start {name!r} with the new domains file"
        if name not in self._domains.topology.numbers:
            return f"there is no server {name!r} in the domains file of {self.node}"
        if hello["fingerprint"] != self._domains.topology.fingerprint:
            if self._asks:
                return f"{self.node} still finishes its old domains; it changes over by itself"
            return f"the domains of {name!r} and {self.node} differ; give both the same domains file"
        if name not in self._by_name:
            return f"{name!r} shares no domain with {self.node}"
        if self._is_asked(name) and line.link is None:
            return f"{self.node} is in these domains, and dials itself"
        if hello["boot"] == self.boot:
            return f"{name!r} has the same number as {self.node}: is it connected to itself?"
        if self._listening_context is not None and name not in line.names:
            return f"its certificate is of {_list(line.names)}, and not of {name}; check [certificates]"
        return self._forgotten(self._by_name[name], hello)

    def _has_left(self, hello: object) -> bool:
        """The domains that the peer is in."""
        return isinstance(hello, dict) and hello.get("fingerprint") in self.left

    def _is_asked(self, name: object) -> bool:
        """A neighbour that this node dials does not dial to be linked: it asks whether this node is still in its domains."""
        link = self._by_name.get(name) if isinstance(name, str) else None
        return link is not None and link.dials

    def _forgotten(self, link: Link, hello: LinkHello) -> str:
        """Has one of the two forgotten what it sent?  What it sends next would pass for repeated, and be dropped."""
        here = self._host.counts(link)
        there = {port: (sent, known) for port, sent, known in hello["packets"]}
        forgetful = ""
        for port in {*here, *there}:
            sent, known = here.get(port, (0, 0))
            sent_there, known_there = there.get(port, (0, 0))
            if known > sent_there:
                forgetful = link.name
            elif known_there > sent:
                forgetful = self.node
        if not forgetful:
            return ""
        return (
            f"{forgetful} has forgotten packets that it sent: its journal was lost, or an older one put in its place; "
            "start all servers with empty journals"
        )

    def _say_hello(self, link: Link) -> None:
        if link.dials:
            link.way = secrets.randbits(53)
        self._by_token.pop(link.token, None)
        link.token = secrets.randbits(63)
        self._by_token[link.token] = link
        hello = {
            "version": VERSION,
            "name": self.node,
            "fingerprint": self._domains.topology.fingerprint,
            "boot": self.boot,
            "way": link.way,
            "token": link.token,
            "packets": [[port, *counts] for port, counts in self._host.counts(link).items()],
        }
        link.put(HELLO, encode(hello))

    def _heard_hello(self, line: LinkLine, link: Link, body: bytes) -> None:
        hello = decode(body)
        refusal = self._refusal(hello, line)
        if not refusal and hello["name"] != link.name:
            refusal = f"it is {hello['name']!r}, where {link.name} should be; check the addresses in the domains file"
        if refusal:
            raise FabricError(refusal)
        self._is_up(link, hello)

    def _is_up(self, link: Link, hello: LinkHello) -> None:
        link.peer_token = hello["token"]
        link.up = True
        link.since = time.monotonic()
        link.complaint = ""
        self._host.link_up(link, hello["boot"])

    def _resume(self, line: LinkLine, greeting: Greeting, now: float) -> None:
        for link in self.links.values():
            session = link.session
            if isinstance(session, ServerSession) and session.session_id == greeting.session_id:
                if self._listening_context is not None and link.name not in line.names:
                    break
                old, link.line = link.line, line
                if old is not None:
                    old.abort()
                line.stranger = None
                line.link = link
                status = session.resume(greeting, now)
                line.send(session.take_outgoing(now))
                if status != RESUMED:
                    self._ended(link, session.ending)
                    line.close()
                else:
                    self._take(line, link, greeting.rest, now)
                    link.flush(now)
                return
        line.send([refuse_resume(greeting.session_id, INVALID_SESSION)])
        line.close()

    # --- the end of a session ----------------------------------------------------------------------------------------

    def cut(self, link: Link, why: str, misbehaves: bool = False) -> None:
        """It does not take what is sent to it, or `misbehaves`; a new session may begin, in the latter case not soon."""
        self._report(LogText(f"the link to {link.name} is cut: {why}", "link-cut", WARNING, peer=link.name))
        link.is_refused = misbehaves
        self._end(link, why, for_good=True)

    def _end(self, link: Link, why: str, for_good: bool = False) -> None:
        """Of the present session; the next connection begins another."""
        line, link.line = link.line, None
        if link.session is not None and link.session.state is not State.TERMINATED:
            link.session.discard(why)
        if line is not None:
            line.link = None
            line.abort()
        self._ended(link, why, for_good)

    def _ended(self, link: Link, why: str, for_good: bool = False) -> None:
        link.session = None
        self._by_token.pop(link.token, None)
        link.begin()
        if link.up:
            link.up = False
            link.since = time.monotonic()
            link.why = why
            self._host.link_down(link, why, for_good)
            self._host.turn_soon()

    # --- time -------------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(min(0.25, self._heartbeat / 2))
            now = time.monotonic()
            for link in self.links.values():
                if link.session is not None:
                    self._tick_link(link, link.session, now)
            for line in list(self._lines):
                if line.stranger is not None and now - line.opened_at > GREETING_SECONDS:
                    self._turn_away(line, "it did not say who it is")
            for line in list(self._doorstep):
                if now - line.opened_at > GREETING_SECONDS:
                    self.refused(line, f"no handshake within {GREETING_SECONDS:g} s", shook_hands=False)
                    line.abort()

    def _tick_link(self, link: Link, session: ClientSession | ServerSession, now: float) -> None:
        for action in session.tick(now):
            if action is Action.CLOSE and link.line is not None:
                line, link.line = link.line, None
                line.link = None
                line.abort()
            elif action is Action.END:
                self._ended(
                    link, f"there was no connection for {self._settings.lost_seconds:g} s", for_good=True
                )
                return
        if link.line is not None and now - session.heard_at > QUIET:
            link.line.check(now)
        if link.up and link.line is not None and now - link.said_at >= self._heartbeat:
            link.put(PING, b"")
        link.flush(now)

    # --- datagrams ----------------------------------------------------------------------------------------------------

    def datagram(self, data: bytes) -> None:
        link = self._by_token.get(int.from_bytes(data[:_TOKEN], "big"))
        if link is None or not link.up:
            return
        link.bytes_in += len(data)
        try:
            self._host.item(link, DATAGRAM, data[_TOKEN:])
        except FabricError as error:
            text = f"a datagram from {link.name} was dropped: {error}"
            self._report(LogText(text, "datagram-dropped", WARNING, peer=link.name))
        self._host.turn_soon()


def split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _is_hello(hello: dict[object, object]) -> TypeGuard[LinkHello]:
    texts = all(isinstance(hello.get(key), str) for key in ("name", "fingerprint"))
    numbers = all(type(hello.get(key)) is int for key in _NUMBERS)
    packets = hello.get("packets")
    rows = packets if isinstance(packets, list) else [None]  # port, sent, known, of each channel
    return (
        texts
        and numbers
        and all(isinstance(row, list) and [type(one) for one in row] == [int, int, int] for row in rows)
    )


def _list(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"
