"""One neighbour of a node: the session with it, and what is to be sent to it.

The session outlives connections: what was sent and not received when one broke is sent again on the next.  It ends when
there was no connection for too long (`fabric.lost_seconds`), when the neighbour's process is another one, or when it has
left too much unread (`fabric.queue_bytes`); with it end the reliable messages under way, and the residents are told.

Queues are bounded.  Of causal packets, at most a window is under way; the others wait in the channel, whose journal holds them in
any case.  Reliable messages have no other place to wait: one neighbour that does not take them must not take the node's memory,
so its session is cut.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from weft.host.carrier import Port
from weft.host.links.items import ACKS, AGENT_ACKS, AGENT_PACKET, PACKET, encode_acks, write_item
from weft.wire.session.client import ClientSession
from weft.wire.session.server import ServerSession
from weft.wire.session.state import State

if TYPE_CHECKING:
    from weft.host.links.lines import LinkLine

WINDOW = 4096  # causal packets under way …
WINDOW_BYTES = 4 << 20  # … and their bytes
FRAME_BYTES = 512 << 10  # a frame is closed when it has grown to this

_DROPPED: Final = State.DROPPED
PACKETS: dict[int, int] = {Port.FEDERATIONS: PACKET, Port.AGENTS: AGENT_PACKET}
_ACKS: dict[int, int] = {Port.FEDERATIONS: ACKS, Port.AGENTS: AGENT_ACKS}
PORTS_OF_PACKETS: dict[int, int] = {kind: port for port, kind in PACKETS.items()}
PORTS_OF_ACKS: dict[int, int] = {kind: port for port, kind in _ACKS.items()}


class Link:
    def __init__(self, peer: int, name: str, address: tuple[str, int], dials: bool) -> None:
        self.peer = peer
        self.name = name
        self.address = address
        self.dials = dials  # this node connects, the other listens
        self.session: ClientSession | ServerSession | None = None
        self.line: LinkLine | None = None
        self.up = False  # both have said who they are
        self.way = 0
        self.token = 0  # which datagrams from the neighbour carry …
        self.peer_token = 0  # … and those to it
        self.is_refused = False
        self.complaint = ""  # the last thing reported about attempts to connect
        self.said_at = 0.0
        self.dropped = 0  # reliable messages that were lost because the link was down
        self.owed = 0  # acknowledgements that have not gone out yet …
        self.overdue = False  # … and have waited for a while
        # For surveys (`observing.survey`).
        self.since = 0.0  # when it last went up or down
        self.why = ""  # it last went down
        self.sent = 0  # messages that went over it, whoever's they are …
        self.received = 0
        self.packets = 0  # … of these the causal packets, and their stamps
        self.stamp_bytes = 0
        self.bytes_out = 0
        self.bytes_in = 0
        self.unanswered = 0  # bytes that have come since something last went there, and with it word of them
        self._items = bytearray()
        self._pending: deque[tuple[int, bytes]] = deque()  # with the kind of item
        self._under_way: dict[int, deque[int]] = {kind: deque() for kind in PORTS_OF_PACKETS}  # sizes
        self._under_way_count = 0
        self._under_way_bytes = 0

    @property
    def waiting(self) -> int:
        """Packets that wait for room in the window."""
        return len(self._pending)

    def begin(self) -> None:
        """A new session: nothing of the old one is under way."""
        self._items = bytearray()
        self._pending.clear()
        for sizes in self._under_way.values():
            sizes.clear()
        self._under_way_count = 0
        self._under_way_bytes = 0

    def put(self, kind: int, body: bytes) -> None:
        write_item(self._items, kind, body)
        if len(self._items) > FRAME_BYTES:
            self._frame()

    def put_packet(self, kind: int, packet: bytes) -> None:
        self._pending.append((kind, packet))

    def put_acks(self, port: int, pairs: list[tuple[int, int]]) -> None:
        self.put(_ACKS[port], encode_acks(pairs))
        self.owed += len(pairs)

    def acknowledged(self, port: int, count: int) -> None:
        """So many packets of a channel have arrived; they come in the order in which they were sent."""
        sizes = self._under_way[PACKETS[port]]
        for _ in range(min(count, len(sizes))):
            self._under_way_bytes -= sizes.popleft()
            self._under_way_count -= 1

    def flush(self, now: float) -> None:
        """Hand over to the session what there is room for, and to the connection what there is one for."""
        session = self.session
        if session is None:
            return
        if self.up:
            pending, under_way = self._pending, self._under_way
            while pending and self._under_way_count < WINDOW and self._under_way_bytes < WINDOW_BYTES:
                kind, packet = pending.popleft()
                under_way[kind].append(len(packet))
                self._under_way_count += 1
                self._under_way_bytes += len(packet)
                self.put(kind, packet)
        if self._items:
            self._frame()
            self.said_at = now
            self.unanswered = 0
        self.owed = 0
        self.overdue = False
        self.answer(now)

    def answer(self, now: float) -> None:
        """What the session itself has to say to what came.  Acknowledgements of packets go on waiting for company."""
        session = self.session
        if session is not None and self.line is not None and session.state is not _DROPPED:
            parts = session.take_outgoing(now)
            if parts:
                for part in parts:
                    self.bytes_out += len(part)
                self.line.send(parts)

    def _frame(self) -> None:
        payload = bytes(self._items)
        self._items = bytearray()
        session = self.session
        if isinstance(session, ClientSession):
            session.send_call_request(payload)
        elif session is not None:
            session.send_callback(payload)
            session.last_callback = b""  # nobody asks, and it may be long
