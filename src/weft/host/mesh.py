"""A node of the fabric in a real process: the causal channel, its journal and the links, in one event loop.

A turn ------ Whatever the links bring is taken at once: packets go into the channel, what has become deliverable goes to the
residents, and what those send and keep is gathered.  At the end of the loop's turn all of it is one transaction, and only
then anything leaves: packets, acknowledgements, reliable messages, datagrams.  While a commit takes its time more arrives,
and the next commit is for all of that: under load commits grow instead of queueing (group commit).

A commit that fails (a full disk) ends the node: nothing of it has left, so the node can be started again where it was.

Who runs the loop pass by pass (`weft.host.drive`) sets `by_hand` and looks at `turn_due` after each: a turn then costs no pass.

Residents must not raise; one that does is reported, and its message counts as handled.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from weft.fabric import Channel, Delivery, Domains, decode_packet, encode_packet
from weft.host.carrier import Port, Resident, ServiceClass
from weft.host.cbor import decode, encode
from weft.host.journal import Journal
from weft.host.link import Link
from weft.host.link_items import (
    ACKS,
    DATA,
    DATAGRAM,
    PACKET,
    REACH,
    Data,
    decode_acks,
    decode_data,
    encode_data,
)
from weft.host.links import Links
from weft.host.reach import Entry, Reach
from weft.host.settings import Fabric
from weft.model.errors import FabricError, SettingsError

PAYLOAD_BYTES = 48 << 20  # the largest message
DELIVERIES = 512  # handed over in one turn
BACKLOG = 100_000  # packets that wait for one neighbour, when it is reported


class Mesh:
    """The Carrier of a real process; see there."""

    def __init__(
        self,
        domains: Domains,
        name: str,
        report: Callable[[str], None],
        settings: Fabric | None = None,
        journal: Path | None = None,
        folder: Path = Path(),
    ) -> None:
        """`journal`: its file; without one nothing survives the process.  `folder`: where the domains file is."""
        topology = domains.topology
        if name not in topology.numbers:
            raise SettingsError(
                f"there is no server {name!r} in the domains file; there are {', '.join(topology.servers)}"
            )
        self._name = name
        self._topology = topology
        self._report = report
        self.settings = settings or Fabric()
        self._own = topology.numbers[name]
        self._reach = Reach(topology, self._own)
        self.links = Links(domains, name, self.settings, self, report, folder)
        self.journal: Journal | None = None
        saved = None
        if journal is not None:
            self.journal = Journal(journal, name, topology.fingerprint, self.settings.synchronous)
            saved = self.journal.saved()
        self.channel = Channel(topology, self._own, saved, durable=journal is not None)
        self.sent = 0  # messages of this node's residents
        self.received = 0  # … and for them
        self.failed: asyncio.Future[str] | None = None
        self._residents: dict[int, Resident] = {}
        self._deliveries: deque[Delivery] = deque()
        self._unclaimed: dict[int, list[Delivery]] = {}  # for ports where nobody has settled yet
        self._kept: dict[str, bytes | None] = {}
        self._memory: dict[str, bytes] = {}  # in place of a journal's
        self._outbox: list[tuple[int, Data]] = []
        self.turn_due = False
        self.by_hand = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._doubts: dict[int, asyncio.TimerHandle] = {}  # nodes that are away, and not told to be lost yet
        self._started = False
        self._backlogged: set[int] = set()

    # --- as a Carrier -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._name

    @property
    def nodes(self) -> tuple[str, ...]:
        return self._topology.servers

    def settle(self, port: Port, resident: Resident) -> None:
        self._residents[port] = resident
        self._deliveries.extend(self._unclaimed.pop(port, []))
        if self._started:
            now = time.monotonic()
            for node in range(len(self.nodes)):
                if self._reach.is_reachable(node):
                    resident.found(self.nodes[node], False, now)
            self.turn_soon()

    def send(self, node: str, port: Port, kind: ServiceClass, payload: bytes) -> None:
        if kind is ServiceClass.CAUSAL:
            self.spread((node,), port, payload)
            return
        there = self._number(node)
        self._check_size(payload)
        self.sent += 1
        hop = self._reach.next_hop(there)
        if hop >= 0 and self._reach.is_reachable(there):
            self._outbox.append((hop, Data(self._own, there, port, kind, payload)))
            self.turn_soon()

    def spread(self, nodes: Iterable[str], port: Port, payload: bytes) -> None:
        """One causal message to several nodes, this one too if it is among them."""
        self._check_size(payload)
        self.channel.send([self._number(node) for node in nodes], bytes([port]) + payload)
        self.sent += 1
        self.turn_soon()

    def keep(self, key: str, value: bytes | None) -> None:
        self._kept[key] = value
        self.turn_soon()

    def kept(self, prefix: str) -> dict[str, bytes]:
        found = dict(self._memory) if self.journal is None else self.journal.kept(prefix)
        for key, value in self._kept.items():
            if value is None:
                found.pop(key, None)
            else:
                found[key] = value
        return {key: found[key] for key in sorted(found) if key.startswith(prefix)}

    def _number(self, node: str) -> int:
        number = self._topology.numbers.get(node)
        if number is None:
            raise FabricError(f"there is no node {node!r}; there are {', '.join(self.nodes)}")
        return number

    def _check_size(self, payload: bytes) -> None:
        if len(payload) > PAYLOAD_BYTES:
            raise FabricError(
                f"a message of {len(payload)} bytes is too large for the fabric ({PAYLOAD_BYTES})"
            )

    # --- its life ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Settle residents first: what an earlier process left over is handed to them now."""
        self._loop = asyncio.get_running_loop()
        self.failed = self._loop.create_future()
        await self.links.start()
        self._started = True
        self.turn_soon()

    async def stop(self) -> None:
        """Commit and send what there is, then close."""
        if self._started:
            self.turn()
        self._started = False
        for doubt in self._doubts.values():
            doubt.cancel()
        await self.links.stop()
        if self.journal is not None:
            self.journal.close()

    def is_reachable(self, node: str) -> bool:
        """Is there a way to it just now?"""
        return self._reach.is_reachable(self._number(node))

    def status(self) -> dict[str, Any]:
        """For the table of `weft run`."""
        counts = self.channel.counts
        return {
            "node": self._name,
            "links": sum(link.up for link in self.links.links.values()),
            "neighbours": len(self.links.links),
            "sent": self.sent,
            "received": self.received,
            "packets": counts.stamped,
            "stamp_entries": counts.stamp_entries,
            "stamp_bytes": counts.stamp_bytes,
            "clock_bytes": self.channel.clock_bytes(),
            "backlog": sum(self.channel.backlog(peer) for peer in self.links.links),
            "waiting": self.channel.waiting(),
            "commits": 0 if self.journal is None else self.journal.commits,
        }

    # --- what the links tell ----------------------------------------------------------------------------------------

    def counts(self, link: Link) -> tuple[int, int]:
        for side in self.channel.sides.values():
            place = side.place.get(link.peer, -1)
            if place >= 0:
                clock = side.clock
                return clock.value[clock.own * clock.size + place], clock.value[
                    place * clock.size + clock.own
                ]
        return 0, 0

    def link_up(self, link: Link, boot: int) -> None:
        self._report(f"link to {link.name}: up")
        self._backlogged.discard(link.peer)
        self._reach.link_up(link.peer, boot, link.way)
        self.channel.reconnected(link.peer)
        self._tell_reach()
        self.turn_soon()

    def link_down(self, link: Link, why: str, for_good: bool) -> None:
        """`for_good`: it was away for `fabric.lost_seconds`, has said that it stops, or left too much unread."""
        self._report(f"link to {link.name}: down ({why})")
        self._reach.link_down(link.peer, f"there is no link to {link.name}: {why}")
        self._tell_reach(link.peer if for_good else -1)

    def item(self, link: Link, kind: int, body: bytes) -> None:
        if kind == PACKET:
            self.channel.receive(link.peer, decode_packet(body))
            self._deliveries.extend(self.channel.take_deliveries())
        elif kind == ACKS:
            pairs = decode_acks(body)
            for domain, number in pairs:
                self.channel.acknowledged(link.peer, domain, number)
            link.acknowledged(len(pairs))
        elif kind in (DATA, DATAGRAM):
            self._data(link, decode_data(body))
        elif kind == REACH:
            self._reach.told(link.peer, _read_table(body))
            self._tell_reach()
        else:
            raise FabricError(f"there is no item of kind {kind}; use the same Weft on all servers")

    def _data(self, link: Link, data: Data) -> None:
        if data.origin >= len(self.nodes) or self._reach.next_hop(data.origin) != link.peer:
            raise FabricError("it passes on a message that does not come this way")
        if data.destination == self._own:
            resident = self._residents.get(data.port)
            if resident is not None:
                self.received += 1
                self._hand_over(resident, data.origin, data.payload)
            return
        hop = self._reach.next_hop(data.destination)
        if hop == link.peer or hop < 0:
            raise FabricError("it passes on a message that does not go this way")
        self._outbox.append((hop, data))

    def _hand_over(self, resident: Resident, origin: int, payload: bytes) -> None:
        try:
            resident.received(self.nodes[origin], payload, time.monotonic())
        except Exception:
            self._report(f"internal error, please report it: {traceback.format_exc()}")

    def _tell_reach(self, gone: int = -1) -> None:
        """To the residents.

        A node that is away may be back soon: started again, or behind a router that was.  Its loss is told only if it is not
        found within `fabric.lost_seconds`, unless these have passed already or it has said that it stops (`gone`).
        """
        now = time.monotonic()
        for change in self._reach.take_changes():
            doubt = self._doubts.pop(change.node, None)
            if doubt is not None:
                doubt.cancel()
            node = self.nodes[change.node]
            if not change.lost:
                if doubt is not None and not change.restarted:
                    self._report(f"the way to {node} was broken: reliable messages may have been lost on it")
                for resident in list(self._residents.values()):
                    resident.found(node, change.restarted, now)
            elif change.node == gone:
                self._is_lost(change.node, change.lost)
            else:
                assert self._loop is not None
                self._doubts[change.node] = self._loop.call_later(
                    self.settings.lost_seconds, self._is_lost, change.node, change.lost
                )

    def _is_lost(self, node: int, why: str) -> None:
        self._doubts.pop(node, None)
        now = time.monotonic()
        for resident in list(self._residents.values()):
            resident.lost(self.nodes[node], why, now)
        self.turn_soon()

    # --- turns ------------------------------------------------------------------------------------------------------

    def turn_soon(self) -> None:
        if not self.turn_due and self._started:
            self.turn_due = True
            if not self.by_hand:
                assert self._loop is not None
                self._loop.call_soon(self.turn)

    def turn(self) -> None:
        """Commit what has gathered, and send it."""
        self.turn_due = False
        if not self._started:
            return
        if self._deliveries or self._kept or self.channel.has_news():
            self._deliver()
            try:
                self._commit()
            except FabricError as error:
                self._fail(str(error))
                return
        if self._reach.has_news:
            for peer, table in self._reach.take_announcements().items():
                link = self.links.links[peer]
                link.put(REACH, encode({n: None if e is None else list(e) for n, e in table.items()}))
                self.links.touch(link)
        if self._outbox:
            self._send_outbox()
        self.links.flush(time.monotonic())
        if self._deliveries:
            self.turn_soon()

    def _deliver(self) -> None:
        channel = self.channel
        deliveries = self._deliveries
        deliveries.extend(channel.take_deliveries())
        for _ in range(min(DELIVERIES, len(deliveries))):
            delivery = deliveries.popleft()
            payload = delivery.payload
            port = payload[0] if payload else 0
            resident = self._residents.get(port)
            if resident is None:
                self._unclaimed.setdefault(port, []).append(delivery)
                continue
            self.received += 1
            self._hand_over(resident, delivery.origin, payload[1:])
            channel.consumed(delivery.number)
        deliveries.extend(channel.take_deliveries())

    def _commit(self) -> None:
        """Save, then hand over to the links."""
        batch = self.channel.take_batch()
        encoded: dict[int, bytes] = {}
        if self.journal is None:
            for key, value in self._kept.items():
                if value is None:
                    self._memory.pop(key, None)
                else:
                    self._memory[key] = value
        elif batch.changes or self._kept:
            self.journal.commit(batch.changes, self._kept, encoded)
        self._kept = {}
        links = self.links.links
        for peer, packet in batch.transmit:
            link = links[peer]
            if link.up:
                link.put_packet(encoded.get(id(packet)) or encode_packet(packet))
                self.links.touch(link)
            elif peer not in self._backlogged and self.channel.backlog(peer) > BACKLOG:
                self._backlogged.add(peer)
                self._report(f"more than {BACKLOG} packets wait for {link.name}, which is away")
        acks: dict[int, list[tuple[int, int]]] = {}
        for peer, domain, number in batch.acknowledge:
            acks.setdefault(peer, []).append((domain, number))
        for peer, pairs in acks.items():
            if links[peer].up:
                links[peer].put_acks(pairs)
                self.links.touch(links[peer])

    def _send_outbox(self) -> None:
        outbox, self._outbox = self._outbox, []
        for hop, data in outbox:
            link = self.links.links[hop]
            body = encode_data(data)
            if not link.up or (
                data.kind == ServiceClass.BEST_EFFORT and self.links.send_datagram(link, body)
            ):
                continue
            link.put(DATA, body)
            self.links.touch(link)

    def _fail(self, why: str) -> None:
        self._started = False
        self._report(f"node {self._name} stops: {why}")
        if self.failed is not None and not self.failed.done():
            self.failed.set_result(why)


def _read_table(body: bytes) -> dict[int, Entry | None]:
    """What a neighbour says that it reaches, looked at before it is believed."""
    table = decode(body)
    found: dict[int, Entry | None] = {}
    for node, entry in table.items() if isinstance(table, dict) else [(None, None)]:
        if type(node) is not int or not (entry is None or _is_pair(entry)):
            raise FabricError("it tells of what it reaches in a way that this Weft does not know")
        found[node] = None if entry is None else Entry(entry[0], entry[1])
    return found


def _is_pair(entry: object) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and all(type(one) is int for one in entry)
