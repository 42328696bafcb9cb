"""The causal channel of a server: reliable, exactly-once, causally ordered messages to any server (S1-1, S1-5 … S1-8).

A message goes hop by hop.  Each hop is within one domain and is stamped with that domain's clock; a router that delivers a packet
for somebody else stamps and sends it on at once, in the order of delivery, before anything else happens.  If the topology
is a forest, causal order within each domain is causal order everywhere (S1-9).

How a host drives it
--------------------
The channel decides, the host does.  Servers and domains are numbers, their places in the `Topology`.

    channel = Channel(topology, own, saved)     saved: the tables of the journal, or None on the first start

    1  stimuli, any number       channel.send(destinations, payload)              from an agent or the kernel
                                 channel.receive(peer, packet)                     a packet came over the link from peer
                                 channel.acknowledged(peer, domain, number)        an acknowledgement came
                                 channel.reconnected(peer)                         the link to peer is there (again)
    2  deliveries                for delivery in channel.take_deliveries(): react, perhaps channel.send(…), and
                                 channel.consumed(delivery.number) when its effects are part of the next commit
    3  commit                    batch = channel.take_batch(); write batch.changes and the agents' state in ONE transaction
    4  transmit, acknowledge     only when 3 is durable: batch.transmit, batch.acknowledge

1 and 2 may go round many times before 3 (group commit).  Nothing of a batch may leave the machine before its changes are durable:
an acknowledged packet is the receiver's to keep, and a transmitted one tells what the sender's clock knows.  A crash anywhere
is a restart from the tables: what was not committed never happened, what was committed but not transmitted is transmitted
again when `reconnected` is called for each neighbour, and what comes twice is acknowledged twice and delivered once.

Links may lose, repeat and reorder; `reconnected` sends again all that a peer has not acknowledged, so a host over a lossy link
calls it by a timer too.  `consumed` may come much later than the delivery, also after a restart: `take_deliveries` gives
what is left over once more.  A host without a journal says durable=False, and gets no changes.

Servers that are lost
---------------------
A message waits for those that caused it, and if one of these never left a server that died it would wait for ever.  A host that
has given a server up, and whose residents go on without it, says `lost`: what others tell of packets from that server is not
waited for from then on, and what waited for nothing else is delivered or sent on at once, in an order that is causal for
all servers that are not lost.  `found` ends that.  Nothing is lost or doubled by it: what the server had sent and is late
is delivered once and in its own order, whenever it comes.  What was once not waited for is not waited for again.  Each
server decides for itself; only servers that share a domain matter to one another.  A restarted channel knows of no lost
server: its host has to say it again.  A host that never says `lost` gets causal order whatever the outage.

Long queues
-----------
With `in_memory` only so many packets to each neighbour are in memory; those behind them are in the journal alone until there is
room (half of it).  After a commit the host reads what `wanted` names and gives it to `loaded`.

An error (FabricError) names the peer and leaves the channel as it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.fabric.clock import DELIVER, DUPLICATE
from weft.fabric.domain_state import (
    Acknowledgement,
    Arrived,
    Batch,
    CausalDelivery,
    DomainState,
    FabricCounts,
    Portion,
    Transmission,
)
from weft.fabric.journal import Changes, Saved
from weft.fabric.server_routes import UNREACHABLE, ServerRoutes
from weft.fabric.stamps import Packet, encode_stamp
from weft.fabric.topology import Topology
from weft.model.errors import FabricError


class Channel(ServerRoutes):
    """See the head of this file."""

    def __init__(
        self,
        topology: Topology,
        own: int,
        saved: Saved | None = None,
        durable: bool = True,
        in_memory: int = 0,
    ) -> None:
        """`in_memory`: packets to one neighbour, 0 for all of them; needs a journal."""
        super().__init__(topology, own)
        self.fingerprint = topology.fingerprint
        self.durable = durable
        self.in_memory = in_memory if durable else 0
        self.counts = FabricCounts()
        self._changes = Changes(self.fingerprint)
        self._transmit: list[Transmission] = []
        self._acknowledge: list[Acknowledgement] = []
        self._deliveries: list[CausalDelivery] = []
        self._inbox: dict[int, CausalDelivery] = {}
        self._last = 0  # the number of the last delivery
        if saved is not None:
            self._restore(saved)

    # Stimuli

    def send(self, destinations: Iterable[int], payload: object) -> None:
        """To one server or several, this one included; all or, with an error, none."""
        wanted = sorted(set(destinations))
        for destination in wanted:
            if not 0 <= destination < len(self.names):
                raise FabricError(f"there is no server with the number {destination}")
            if destination != self.own and self.next_domain[destination] == UNREACHABLE:
                me, there = self.names[self.own], self.names[destination]
                raise FabricError(f"{me} cannot reach {there}: no chain of domains joins them")
        self._spread(self.own, wanted, payload)

    def receive(self, peer: int, packet: Packet) -> None:
        """Keep the packet, deliver or forward what has become deliverable, and acknowledge."""
        state = self._state_of(peer, packet.domain)
        sender = state.place[peer]
        arrived = self._read(state, peer, packet)
        self.counts.received += 1
        self._acknowledge.append(Acknowledgement(peer, packet.domain, packet.number))
        verdict = state.clock.judge(sender, packet.number, arrived.rows, arrived.counts)
        if verdict == DUPLICATE or packet.number in state.waiting[sender]:
            self.counts.duplicates += 1
        elif verdict == DELIVER:
            self._deliver(state, arrived)
            self._release(state)
        else:
            self.counts.waited += 1
            state.waiting[sender][packet.number] = arrived
            state.waiting_count += 1
            if self.durable:
                self._changes.waiting[state.domain, sender, packet.number] = packet
            if state.lost_count:
                self._release(state)

    def acknowledged(self, peer: int, domain: int, number: int) -> None:
        """The peer has saved this packet; said twice is said once."""
        state = self._state_of(peer, domain)
        place = state.place[peer]
        packet = state.out[place].pop(number, None)
        if packet is None:
            return
        state.out_bytes[place] -= _size(packet.payload)
        if not state.out[place] and not state.beyond[place]:
            state.out_bytes[place] = 0  # what a journal said of packets that it did not give is a little more
        if not self.durable:
            return
        key = (domain, place, number)
        if key in self._changes.out:
            del self._changes.out[key]
        else:
            self._changes.out_removed.append(key)

    def reconnected(self, peer: int) -> None:
        """Transmit again, in order, all that the peer has not acknowledged."""
        self._transmit = [one for one in self._transmit if one.peer != peer]
        for state in self.states.values():
            place = state.place.get(peer, -1)
            if place >= 0:
                for packet in state.out[place].values():
                    self._transmit.append(Transmission(peer, packet))

    def lost(self, server: int) -> None:
        """It has been given up: packets from it are no longer waited for."""
        for state in self.states.values():
            place = state.place.get(server, -1)
            if place >= 0 and server != self.own and not state.lost[place]:
                state.lost[place] = True
                state.lost_count += 1
                self._release(state)

    def found(self, server: int) -> None:
        """It is there again: packets from it are waited for."""
        for state in self.states.values():
            place = state.place.get(server, -1)
            if place >= 0 and state.lost[place]:
                state.lost[place] = False
                state.lost_count -= 1

    def loaded(self, portion: Portion, packets: list[Packet]) -> None:
        """What the journal has of a portion."""
        state, place = self.states[portion.domain], portion.place
        for packet in packets:
            state.out[place][packet.number] = packet
            state.reached[place] = packet.number
            self._transmit.append(Transmission(state.members[place], packet))
        found = len(packets) if packets else state.beyond[place]
        state.beyond[place] -= found
        self.beyond -= found

    def consumed(self, number: int) -> None:
        """A delivery has had its effect, which the next commit makes durable."""
        if self._inbox.pop(number, None) is None or not self.durable:
            return
        if number in self._changes.inbox:
            del self._changes.inbox[number]
        else:
            self._changes.inbox_removed.append(number)

    # Effects

    def take_deliveries(self) -> list[CausalDelivery]:
        """In causal order, each once (and once more after a restart, if it was not consumed)."""
        taken, self._deliveries = self._deliveries, []
        return taken

    def has_news(self) -> bool:
        """Is there anything to take: deliveries, or a batch that is not empty?"""
        if self._deliveries or self._transmit or self._acknowledge or self._changes:
            return True
        if self.durable:
            for state in self.states.values():
                if state.clock.unsaved:
                    return True
        return False

    def take_batch(self) -> Batch:
        """All since the last batch."""
        changes = self._changes
        if self.durable:
            for state in self.states.values():
                self._save_clock(state, changes)
        batch = Batch(changes, self._transmit, self._acknowledge)
        self._changes = Changes(self.fingerprint)
        self._transmit = []
        self._acknowledge = []
        return batch

    def _save_clock(self, state: DomainState, changes: Changes) -> None:
        clock, domain = state.clock, state.domain
        for peer in clock.unsaved_missing:
            changes.missing.append((domain, peer, clock.missing(peer)))
        clock.unsaved_missing.clear()
        if not clock.unsaved:
            return
        for cell in clock.unsaved:
            changes.cells.append((domain, cell, clock.value[cell], clock.changed[cell], clock.source[cell]))
        for peer in clock.unsaved_told:
            changes.told.append((domain, peer, clock.told[peer]))
        changes.clocks.append((domain, clock.now))
        self.counts.cells_saved += len(clock.unsaved)
        clock.saved()

    # Inside

    def _spread(self, origin: int, destinations: list[int], payload: object) -> None:
        """One packet for each next hop, all counted before the first is stamped; then the copy for this server."""
        if len(destinations) == 1:
            self._spread_to_one(origin, destinations, payload)
            return
        here = False
        hops: dict[tuple[int, int], list[int]] = {}
        for destination in destinations:
            if destination == self.own:
                here = True
            else:
                hop = (self.next_domain[destination], self.next_server[destination])
                hops.setdefault(hop, []).append(destination)
        numbers: dict[tuple[int, int], int] = {}
        for hop in hops:
            state = self.states[hop[0]]
            numbers[hop] = state.clock.count(state.place[hop[1]])
        stamped: dict[int, None] = {}
        for hop, beyond in hops.items():
            self._stamp(self.states[hop[0]], hop[1], numbers[hop], origin, beyond, payload)
            stamped[hop[0]] = None
        for domain in stamped:
            self.states[domain].clock.sent()
        if here:
            self._keep(origin, payload)

    def _spread_to_one(self, origin: int, destinations: list[int], payload: object) -> None:
        """As most messages are."""
        destination = destinations[0]
        if destination == self.own:
            self._keep(origin, payload)
            return
        state = self.states[self.next_domain[destination]]
        peer = self.next_server[destination]
        number = state.clock.count(state.place[peer])
        self._stamp(state, peer, number, origin, destinations, payload)
        state.clock.sent()

    def _stamp(
        self, state: DomainState, peer: int, number: int, origin: int, beyond: list[int], payload: object
    ) -> None:
        clock = state.clock
        place = state.place[peer]
        cells = clock.updates(place)
        value = clock.value
        stamp = encode_stamp(number, cells, [value[cell] for cell in cells])
        packet = Packet(state.domain, origin, beyond, number, stamp, payload)
        state.out_bytes[place] += _size(payload)
        if self.durable:
            self._changes.out[state.domain, place, number] = packet
        if self.in_memory and (state.beyond[place] or len(state.out[place]) >= self.in_memory):
            state.beyond[place] += 1
            self.beyond += 1
        else:
            state.out[place][number] = packet
            state.reached[place] = number
            self._transmit.append(Transmission(peer, packet))
        self.counts.stamped += 1
        self.counts.stamp_entries += len(cells) + 1
        self.counts.stamp_bytes += len(stamp)

    def _deliver(self, state: DomainState, arrived: Arrived) -> None:
        packet = arrived.packet
        state.clock.deliver(arrived.sender, packet.number, arrived.cells, arrived.values)
        if len(packet.destinations) > 1 or packet.destinations[0] != self.own:
            self.counts.forwarded += 1
        self._spread(packet.origin, packet.destinations, packet.payload)

    def _release(self, state: DomainState) -> None:
        """Deliver what waited, until nothing more can be; what has to do without a lost server only if nothing else can."""
        progress = True
        while progress and state.waiting_count:
            progress = False
            for sender in range(len(state.members)):
                queue = state.waiting[sender]
                while queue:
                    number = state.clock.received[sender] + 1
                    arrived = queue.get(number)
                    if (
                        arrived is None
                        or state.clock.judge(sender, number, arrived.rows, arrived.counts) != DELIVER
                    ):
                        break
                    self._let_go(state, arrived)
                    progress = True
            if state.lost_count and not progress:
                progress = self._release_without_lost(state)

    def _release_without_lost(self, state: DomainState) -> bool:
        """One packet that waits only for lost servers; one of theirs first, since others may wait for it."""
        clock = state.clock
        for lost in (True, False):
            for sender in range(len(state.members)):
                if state.lost[sender] != lost:
                    continue
                number = clock.received[sender] + 1
                arrived = state.waiting[sender].get(number)
                if arrived is not None and clock.passes(
                    sender, number, arrived.rows, arrived.counts, state.lost
                ):
                    self.counts.unwaited += 1
                    self._let_go(state, arrived)
                    clock.went_without(arrived.rows)
                    return True
        return False

    def _let_go(self, state: DomainState, arrived: Arrived) -> None:
        number = arrived.packet.number
        del state.waiting[arrived.sender][number]
        state.waiting_count -= 1
        if self.durable:
            key = (state.domain, arrived.sender, number)
            if key in self._changes.waiting:
                del self._changes.waiting[key]
            else:
                self._changes.waiting_removed.append(key)
        self._deliver(state, arrived)

    def _keep(self, origin: int, payload: object) -> None:
        self._last += 1
        delivery = CausalDelivery(self._last, origin, payload)
        self._deliveries.append(delivery)
        self._inbox[delivery.number] = delivery
        if self.durable:
            self._changes.inbox[delivery.number] = (origin, payload)
        self.counts.delivered += 1

    def _restore(self, saved: Saved) -> None:
        if saved.fingerprint and saved.fingerprint != self.fingerprint:
            raise FabricError(
                f"the journal of {self.names[self.own]} was written under other domains; finish those first"
                " (`weft.fabric.change`), or start with an empty journal on all servers"
            )
        for state in self.states.values():
            told = {peer: when for (domain, peer), when in saved.told.items() if domain == state.domain}
            cells = [
                (cell, row[0], row[1], row[2])
                for (domain, cell), row in saved.cells.items()
                if domain == state.domain
            ]
            missing = {
                peer: count for (domain, peer), count in saved.missing.items() if domain == state.domain
            }
            state.clock.restore(saved.clocks.get(state.domain, 1), told, cells, missing)
        self._restore_out(saved)
        for key in sorted(saved.waiting):
            state = self.states[key[0]]
            state.waiting[key[1]][key[2]] = self._read(state, state.members[key[1]], saved.waiting[key])
            state.waiting_count += 1
        for number in sorted(saved.inbox):
            origin, payload = saved.inbox[number]
            delivery = CausalDelivery(number, origin, payload)
            self._inbox[number] = delivery
            self._deliveries.append(delivery)
            self._last = number

    def _restore_out(self, saved: Saved) -> None:
        for domain, place, number in sorted(saved.out):
            state = self.states[domain]
            packet = saved.out[domain, place, number]
            state.out_bytes[place] += _size(packet.payload)
            if self.in_memory and len(state.out[place]) >= self.in_memory:
                state.beyond[place] += 1
                self.beyond += 1
            else:
                state.out[place][number] = packet
                state.reached[place] = number
        for (domain, place), beyond in saved.beyond.items():
            self.states[domain].beyond[place] += beyond.packets
            self.states[domain].out_bytes[place] += beyond.size
            self.beyond += beyond.packets


def _size(payload: object) -> int:
    return len(payload) if isinstance(payload, bytes) else 0
