"""A node of the fabric in a real process: the causal channel, its journal and the links, in one event loop.

A turn ------ Whatever the links bring is taken at once: packets go into the channel, what has become deliverable goes to the
residents, and what those send and keep is gathered.  At the end of the loop's turn all of it is one transaction, and only
then anything leaves: packets, acknowledgements, reliable messages, datagrams.  While a commit takes its time more arrives,
and the next commit is for all of that: under load commits grow instead of queueing (group commit).

A commit that fails (a full disk) ends the node: nothing of it has left, so the node can be started again where it was.

Who runs the loop pass by pass (`loop.drive`) sets `by_hand` and looks at `turn_due` after each: a turn then costs no pass.

Residents must not raise; one that does is reported, and its message counts as handled.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from weft.fabric import Batch, CausalDelivery, Channel, Domains, decode_packet, encode_packet
from weft.host.carrier import Port, Resident, ServiceClass
from weft.host.files.cbor import encode
from weft.host.links.items import DATA, DATAGRAM, REACH, DataItem, decode_acks, decode_data, encode_data
from weft.host.links.link import PACKETS, PORTS_OF_ACKS, PORTS_OF_PACKETS, Link
from weft.host.links.links import Links, split_address
from weft.host.mesh.causal_channels import CausalChannels
from weft.host.mesh.journal import Journal
from weft.host.mesh.limits import Room
from weft.host.mesh.multicast import Casting, GroupSettings
from weft.host.mesh.reach import Reach, read_table
from weft.host.settings import FabricSettings, MeshDdmSettings
from weft.model.errors import FabricError, SettingsError
from weft.model.log_text import ERROR, WARNING, LogText

PAYLOAD_BYTES = 48 << 20  # the largest message
AGENTS: Final = int(Port.AGENTS)
FEDERATIONS: Final = int(Port.FEDERATIONS)
_CAUSAL: Final = ServiceClass.CAUSAL
_BEST_EFFORT: Final = ServiceClass.BEST_EFFORT
DELIVERIES = 512  # handed over in one turn
BACKLOG = 100_000  # packets that wait for one neighbour, when it is reported
ACKS_AT_ONCE = 32  # so many acknowledgements do not wait for company
ACKS_SECONDS = 0.01  # nor does any for longer than twice this


class Mesh:
    """The Carrier of a real process; see there."""

    def __init__(
        self,
        domains: Domains,
        name: str,
        report: Callable[[str], None],
        settings: FabricSettings | None = None,
        journal: Path | None = None,
        folder: Path = Path(),
        ddm: MeshDdmSettings | None = None,
        finishing: bool = False,
    ) -> None:
        """`journal`: its file; without one nothing survives the process.  `folder`: where the domains file is.

        `finishing`: only what is left under domains that are about to change (`mesh.change`); nobody is given up for that.
        """
        topology = domains.topology
        if name not in topology.numbers:
            raise SettingsError(
                f"there is no server {name!r} in the domains file; there are {', '.join(topology.servers)}"
            )
        self.name = name
        self.nodes = topology.servers
        self.topology = topology
        self._report = report
        self.settings = settings or FabricSettings()
        self._own = topology.numbers[name]
        self._reach = Reach(topology, self._own)
        self._finishing = finishing
        self.links = Links(domains, name, self.settings, self, report, folder, finishing)
        groups = _groups(ddm or MeshDdmSettings(), domains.addresses[name])
        self._casting = Casting(groups, topology, name, bool(domains.ca), self._was_cast, report)
        self.journal = opened = None if journal is None else self._open(journal)
        in_memory = self.settings.packets_in_memory
        self.channels = CausalChannels(
            topology,
            self._own,
            None if opened is None else lambda port: opened.saved(port, in_memory),
            in_memory,
        )
        # What every packet asks of them is asked here: their module is not compiled, since tests put channels of their own there.
        self._made: dict[int, Channel] = self.channels.made
        self._room = Room(self.channels, topology.servers, self.settings, journal is not None)
        self.sent = 0  # messages of this node's residents
        self.received = 0  # … and for them
        self.failed: asyncio.Future[str] | None = None
        self._residents: dict[int, Resident] = {}
        self._deliveries: dict[int, deque[CausalDelivery]] = {port: deque() for port in Port}
        self._kept: dict[str, bytes | None] = {}
        self._memory: dict[str, bytes] = {}  # in place of a journal's
        self._outbox: list[tuple[int, DataItem]] = []
        self.turn_due = False
        self.by_hand = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._doubts: dict[int, asyncio.TimerHandle] = {}  # nodes that are away, and not told to be lost yet
        self._paying: asyncio.TimerHandle | None = None  # acknowledgements that wait for company
        self._unseen: set[int] = set()  # … those that were never there since this process began
        self._started = False
        self._backlogged: set[int] = set()

    def _open(self, path: Path) -> Journal:
        topology = self.topology
        synchronous = self.settings.synchronous
        made = Journal(path, self.name, topology.fingerprint, synchronous, topology, self._finishing)
        self.links.left = made.left
        return made

    # --- as a Carrier -----------------------------------------------------------------------------------------------

    def settle(self, port: Port, resident: Resident) -> None:
        self._residents[port] = resident
        if self._started:
            now = time.monotonic()
            for node in range(len(self.nodes)):
                if self._reach.is_reachable(node):
                    resident.found(self.nodes[node], False, now)
            self.turn_soon()

    def send(self, node: str, port: Port, kind: ServiceClass, payload: bytes) -> bool:
        if kind is _CAUSAL:
            self.spread((node,), port, payload)
            return True
        there = self._number(node)
        self._check_size(payload)
        self.sent += 1
        hop = self._reach.next_hop(there)
        if hop < 0 or not self._reach.is_reachable(there):
            return False
        self._outbox.append((hop, DataItem(self._own, there, port, kind, payload)))
        self.turn_soon()
        return True

    def spread(self, nodes: Iterable[str], port: Port, payload: bytes) -> None:
        """One causal message to several nodes, this one too if it is among them."""
        self._check_size(payload)
        numbers = [self._number(node) for node in nodes]
        if port == AGENTS:
            self._room.check(numbers)
        self._channel(port).send(numbers, payload)
        self.sent += 1
        self.turn_soon()

    def cast(self, nodes: tuple[str, ...], groups: tuple[str, ...], port: Port, payload: bytes) -> None:
        if self._casting.cast(groups, bytes([port]) + payload, self._loop):
            self.sent += 1
        else:
            for node in nodes:
                self.send(node, port, _BEST_EFFORT, payload)

    def listen(self, groups: frozenset[str]) -> None:
        self._casting.listen(groups, self._loop)

    def sent_to_groups(self) -> tuple[int, int]:
        """Datagrams to multicast groups, and their bytes."""
        return self._casting.sent()

    def _was_cast(self, origin: int, body: bytes) -> None:
        resident = self._residents.get(body[0]) if body and origin < len(self.nodes) else None
        if resident is not None:
            self.received += 1
            self._hand_over(resident, origin, body[1:])
            self.turn_soon()

    def _channel(self, port: int) -> Channel:
        found = self._made.get(port)
        return self.channels.of(port) if found is None else found

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
        number = self.topology.numbers.get(node)
        if number is None:
            raise FabricError(f"there is no node {node!r}; there are {', '.join(self.nodes)}")
        return number

    def check_room(self, nodes: Iterable[str]) -> None:
        """Agents may fill a queue to a neighbour that is away up to a limit; beyond it their messages are refused."""
        self._room.check([self._number(node) for node in nodes])

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
        if self.channels.restored:
            # Whoever was lost to the process before is unknown to this one: it waits for all, but not for ever.
            for node in self._away():
                self._unseen.add(node)
                self._doubt(node, "not reached since this node was started again")
        self.turn_soon()

    async def stop(self) -> None:
        """Commit and send what there is, then close."""
        if self._started:
            self.turn()
        self._started = False
        for doubt in self._doubts.values():
            doubt.cancel()
        if self._paying is not None:
            self._paying.cancel()
        self._casting.stop()
        await self.links.stop()
        if self.journal is not None:
            self.journal.close()

    def is_reachable(self, node: str) -> bool:
        """Is there a way to it just now?"""
        return self._reach.is_reachable(self._number(node))

    @property
    def has_data(self) -> bool:
        """Do messages wait that go by another class than the causal one?"""
        return bool(self._outbox)

    def _away(self) -> list[int]:
        """The nodes to which there is no way just now; not those to which no chain of domains leads."""
        reach = self._reach
        return [n for n in range(len(self.nodes)) if reach.next_hop(n) >= 0 and not reach.is_reachable(n)]

    def unreachable(self) -> dict[str, str]:
        """The nodes to which there is no way just now, and why."""
        return {self.nodes[node]: self._reach.why(node) for node in self._away()}

    def status(self) -> dict[str, str | int]:
        """For the table of `weft run`."""
        counts = self.channels.counts()
        return {
            "node": self.name,
            "links": sum(link.up for link in self.links.links.values()),
            "neighbours": len(self.links.links),
            "sent": self.sent,
            "received": self.received,
            "packets": counts.stamped,
            "stamp_entries": counts.stamp_entries,
            "stamp_bytes": counts.stamp_bytes,
            "clock_bytes": self.channels.clock_bytes(),
            "backlog": sum(self.channels.backlog(peer) for peer in self.links.links),
            "waiting": self.channels.waiting(),
            "stranded": self.channels.stranded(),
            "commits": 0 if self.journal is None else self.journal.commits,
        }

    # --- what the links tell ----------------------------------------------------------------------------------------

    def counts(self, link: Link) -> dict[int, tuple[int, int]]:
        return self.channels.known(link.peer)

    def link_up(self, link: Link, boot: int) -> None:
        self._report(LogText(f"link to {link.name}: up", "link-up", peer=link.name))
        self._backlogged.discard(link.peer)
        self._reach.link_up(link.peer, boot, link.way)
        self.channels.reconnected(link.peer)
        self._room.link_up(link.peer)
        self._tell_reach()
        self.turn_soon()

    def link_down(self, link: Link, why: str, for_good: bool) -> None:
        """`for_good`: it was away for `fabric.lost_seconds`, has said that it stops, or left too much unread."""
        self._report(LogText(f"link to {link.name}: down ({why})", "link-down", WARNING, peer=link.name))
        self._reach.link_down(link.peer, f"there is no link to {link.name}: {why}")
        self._tell_reach(link.peer if for_good else -1)

    def item(self, link: Link, kind: int, body: bytes) -> None:
        port = PORTS_OF_PACKETS.get(kind)
        if port is not None:
            channel = self._channel(port)
            link.received += 1
            channel.receive(link.peer, decode_packet(body))
            self._deliveries[port].extend(channel.take_deliveries())
        elif kind in PORTS_OF_ACKS:
            port = PORTS_OF_ACKS[kind]
            channel = self._channel(port)
            pairs = decode_acks(body)
            for domain, number in pairs:
                channel.acknowledged(link.peer, domain, number)
            link.acknowledged(port, len(pairs))
        elif kind in (DATA, DATAGRAM):
            self._data(link, decode_data(body))
        elif kind == REACH:
            self._reach.told(link.peer, read_table(body))
            self._tell_reach()
        else:
            raise FabricError(f"there is no item of kind {kind}; use the same Weft on all servers")

    def _data(self, link: Link, data: DataItem) -> None:
        link.received += 1
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
            text = f"internal error, please report it: {traceback.format_exc()}"
            self._report(LogText(text, "internal-error", ERROR))

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
                if doubt is not None and not change.restarted and change.node not in self._unseen:
                    text = f"the way to {node} was broken: reliable messages may have been lost on it"
                    self._report(LogText(text, "way-broken", WARNING, peer=node))
                self._unseen.discard(change.node)
                self.channels.found(change.node)
                for resident in list(self._residents.values()):
                    resident.found(node, change.restarted, now)
            elif change.node == gone:
                self._is_lost(change.node, change.lost)
            else:
                self._doubt(change.node, change.lost)

    def _doubt(self, node: int, why: str) -> None:
        assert self._loop is not None
        self._doubts[node] = self._loop.call_later(self.settings.lost_seconds, self._is_lost, node, why)

    def _is_lost(self, node: int, why: str) -> None:
        """The federations go on without it, and so does their channel; the agents' channel waits for it."""
        self._doubts.pop(node, None)
        if not self._finishing:
            self.channels.lost(node)
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
        if (
            self._kept
            or any(channel.has_news() for channel in self._made.values())
            or any(self._deliveries.values())
        ):
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
        if any(self._deliveries[port] for port in self._residents):
            self.turn_soon()

    def _deliver(self) -> None:
        """To those who have settled; what comes for others waits for them."""
        for port, channel in list(self._made.items()):
            deliveries = self._deliveries[port]
            deliveries.extend(channel.take_deliveries())
            resident = self._residents.get(port)
            if resident is None:
                continue
            for _ in range(min(DELIVERIES, len(deliveries))):
                delivery = deliveries.popleft()
                self.received += 1
                self._hand_over(resident, delivery.origin, delivery.payload)
                channel.consumed(delivery.number)
            deliveries.extend(channel.take_deliveries())

    def _commit(self) -> None:
        """Save, then hand over to the links."""
        batches = {port: channel.take_batch() for port, channel in self._made.items()}
        encoded: dict[int, bytes] = {}
        if self.journal is None:
            for key, value in self._kept.items():
                if value is None:
                    self._memory.pop(key, None)
                else:
                    self._memory[key] = value
        else:
            changes = {port: batch.changes for port, batch in batches.items() if batch.changes}
            if changes or self._kept:
                self.journal.commit(changes, self._kept, encoded)
        self._kept = {}
        for port, batch in batches.items():
            self._transmit(port, batch, encoded)
        if FEDERATIONS in batches:
            self._check_allowed(batches[FEDERATIONS])
        if self.journal is not None:
            self._load(self.journal)

    def _transmit(self, port: int, batch: Batch, encoded: dict[int, bytes]) -> None:
        links = self.links.links
        kind = PACKETS[port]
        for one in batch.transmit:
            peer, packet = one.peer, one.packet
            link = links[peer]
            if link.up:
                link.put_packet(kind, encoded.get(id(packet)) or encode_packet(packet))
                link.sent += 1
                link.packets += 1
                link.stamp_bytes += len(packet.stamp)
                self.links.touch(link)
            elif peer not in self._backlogged and self.channels.backlog(peer) > BACKLOG:
                self._backlogged.add(peer)
                text = f"more than {BACKLOG} packets wait for {link.name}, which is away"
                self._report(LogText(text, "backlog", WARNING, peer=link.name))
        acks: dict[int, list[tuple[int, int]]] = {}
        for ack in batch.acknowledge:
            acks.setdefault(ack.peer, []).append((ack.domain, ack.number))
        for peer, pairs in acks.items():
            link = links[peer]
            if link.up:
                link.put_acks(port, pairs)
                # They go with what else is sent there; alone only when there are many, or a little later.
                if link.owed >= ACKS_AT_ONCE:
                    self.links.touch(link)
                elif self._paying is None:
                    self._pay_later()

    def _pay(self) -> None:
        """Those that have waited since the last time; in a federation that steps something else has taken them along."""
        self._paying = None
        waits = False
        for link in self.links.links.values():
            if link.owed and link.overdue:
                self.links.touch(link)
            elif link.owed:
                link.overdue = waits = True
        self.links.flush(time.monotonic())
        if waits:
            self._pay_later()

    def _pay_later(self) -> None:
        assert self._loop is not None
        self._paying = self._loop.call_later(ACKS_SECONDS, self._pay)

    def _check_allowed(self, batch: Batch) -> None:
        last = -1
        for one in batch.transmit:
            if one.peer == last:
                continue
            last = one.peer
            link = self.links.links[last]
            why = self._room.overdue(last) if link.up else ""
            if why:
                self.links.cut(link, why)

    def _load(self, journal: Journal) -> None:
        """The next of a queue that is too long for the memory, when the neighbour has taken what was before it."""
        for port, channel in self._made.items():
            if channel.beyond:
                for portion in channel.wanted():
                    channel.loaded(portion, journal.portion(port, portion))
                    self.turn_soon()

    def _send_outbox(self) -> None:
        outbox, self._outbox = self._outbox, []
        for hop, data in outbox:
            link = self.links.links[hop]
            if not link.up:
                continue
            body = encode_data(data)
            link.sent += 1
            if data.kind == _BEST_EFFORT and self.links.send_datagram(link, body):
                continue
            link.put(DATA, body)
            self.links.touch(link)

    def _fail(self, why: str) -> None:
        self._started = False
        self._report(LogText(f"node {self.name} stops: {why}", "node-stops", ERROR))
        if self.failed is not None and not self.failed.done():
            self.failed.set_result(why)


def _groups(ddm: MeshDdmSettings, address: str) -> GroupSettings:
    host, port = split_address(address)
    return GroupSettings(ddm.multicast_port or port, ddm.multicast_interface or host, ddm.multicast_hops)
