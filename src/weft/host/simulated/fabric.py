"""A simulated network whose nodes are servers in domains of causality (docs/explanation/domains.md), with real causal channels.

As `simulated.simulated`, of which this has clock, seed, sites and connections.  What differs:

* Nodes have links only to those they share a domain with; everything else goes by routers, hop by hop.
* A causal packet may be lost, repeated and overtaken on each link; the channels see to it that messages arrive once and in causal
  order.  What a node has decided is committed a little later, and only then leaves it; a crash undoes what was not.
* Reliable messages arrive in order and once as long as the nodes on their way live; a link that is cut keeps them, and drops
  them if it is not healed in time.  Best-effort messages may be lost, and may overtake.
* A node that cannot be reached for `lost_seconds` is taken for gone by those who cannot reach it.  One that is started again has
  its journal: what was committed, and no session.

`trace` is what happened to causal messages, for a checker, in the order of the commits: what, which message, by which node, for
which node, by whose channel.  "sent", "got" (for nobody), and, without a message, "lost" and "found": the node gave that other
up, or has it back.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from weft.fabric import Packet, ReleaseRule, Saved, Topology, decode_packet, encode_packet
from weft.host.carrier import Port, Resident, ServiceClass
from weft.host.mesh.causal_channels import CausalChannels
from weft.host.mesh.federations import MeshedNode, meshed_node
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.kernel import Carried
from weft.model.records import Source

_MESSAGE = struct.Struct(">Q")  # which message, for the trace
Happened = tuple[str, int, str, str, Port]
_Routed = tuple[str, str, Port, ServiceClass, bytes]
_LATE = 4  # how much later than others a packet may come, in jitters and delays, so that it is overtaken


@dataclass(frozen=True, slots=True)
class FabricProfile(LinkProfile):
    """A link that also repeats causal packets, and lets them overtake one another."""

    repeat: float = 0.0
    commit: float = 0.0  # up to so many seconds pass between a decision and its commit


@dataclass
class _Disk:
    """What outlives a crash."""

    tables: dict[int, Saved] = field(default_factory=lambda: {port: Saved() for port in Port})
    kept: dict[str, bytes] = field(default_factory=dict)


class SimulatedCarrier:
    """The carrier of one process of a node."""

    def __init__(self, network: FabricNetwork, name: str, disk: _Disk) -> None:
        self.name = name
        self.nodes = network.topology.servers
        self.network = network
        self.channels = CausalChannels(
            network.topology, network.topology.numbers[name], lambda port: disk.tables[port]
        )
        self.residents: dict[Port, Resident] = {}
        self.groups: frozenset[str] = frozenset()
        self.life = network.incarnations[name]
        self._disk = disk
        self._kept: dict[str, bytes | None] = {}  # since the last commit
        self._happened: list[Happened] = []
        self._due = False

    # --- what residents use -----------------------------------------------------------------------------------

    def settle(self, port: Port, resident: Resident) -> None:
        self.residents[port] = resident

    def send(self, node: str, port: Port, kind: ServiceClass, payload: bytes) -> bool:
        network = self.network
        if kind is ServiceClass.CAUSAL:
            network.messages += 1
            self._happened.append(("sent", network.messages, self.name, node, port))
            whole = _MESSAGE.pack(network.messages) + payload
            self.channels.of(port).send([network.topology.numbers[node]], whole)
            self.commit_soon()
            return True
        return network.forward(self.name, self.name, node, port, kind, payload)

    def cast(self, nodes: tuple[str, ...], groups: tuple[str, ...], port: Port, payload: bytes) -> None:
        """A datagram for each group; whoever listens to several takes one of those that come."""
        self.network.casts += len(groups)
        for node in self.nodes:
            there = self.network.carriers.get(node)
            if there is None or node == self.name:
                continue
            copies = len(there.groups.intersection(groups))
            lost = [self.network.random.random() < self.network.loss for _ in range(copies)]
            if not all(lost):
                self.network.forward(self.name, self.name, node, port, ServiceClass.BEST_EFFORT, payload)

    def listen(self, groups: frozenset[str]) -> None:
        self.groups = groups

    def keep(self, key: str, value: bytes | None) -> None:
        self._kept[key] = value
        self.commit_soon()

    def kept(self, prefix: str) -> dict[str, bytes]:
        return {key: self._disk.kept[key] for key in sorted(self._disk.kept) if key.startswith(prefix)}

    # --- what the network does --------------------------------------------------------------------------------

    def handle(self) -> None:
        """Hand over what the channels have delivered."""
        for port in Port:
            channel = self.channels.made.get(port)
            while channel is not None and (deliveries := channel.take_deliveries()):
                for delivery in deliveries:
                    (message,) = _MESSAGE.unpack_from(delivery.payload)
                    self._happened.append(("got", message, self.name, "", port))
                    resident = self.residents.get(port)
                    if resident is not None:
                        origin = self.nodes[delivery.origin]
                        resident.received(origin, delivery.payload[_MESSAGE.size :], self.network.clock.now)
                    channel.consumed(delivery.number)
        self.commit_soon()

    def lost(self, node: str, why: str) -> None:
        """The federations' channel first, then the residents, then what that has released."""
        self._happened.append(("lost", 0, self.name, node, Port.FEDERATIONS))
        self.channels.lost(self.network.topology.numbers[node])
        for resident in self.residents.values():
            resident.lost(node, why, self.network.clock.now)
        self.handle()

    def found(self, node: str, restarted: bool) -> None:
        self._happened.append(("found", 0, self.name, node, Port.FEDERATIONS))
        self.channels.found(self.network.topology.numbers[node])
        for resident in self.residents.values():
            resident.found(node, restarted, self.network.clock.now)

    def commit_soon(self) -> None:
        if not self._due:
            self._due = True
            wait = self.network.random.random() * self.network.commit_within
            self.network.later(self.name, wait, self.commit)

    def commit(self) -> None:
        self._due = False
        batches = self.channels.take_batches()
        for port, batch in batches.items():
            self._disk.tables[port].apply(batch.changes)
        for key, value in self._kept.items():
            if value is None:
                self._disk.kept.pop(key, None)
            else:
                self._disk.kept[key] = value
        self._kept.clear()
        self.network.trace += self._happened
        self._happened.clear()
        for port, batch in batches.items():
            for one in batch.transmit:
                self.network.transmit_packet(self.name, self.nodes[one.peer], port, one.packet)
            for ack in batch.acknowledge:
                self.network.acknowledge(self.name, self.nodes[ack.peer], port, ack.domain, ack.number)


class FabricNetwork(SimulatedNetwork):
    """Servers and domains as a domains file has them; the first server is the directory."""

    def __init__(
        self,
        topology: Topology,
        seed: int = 0,
        profile: FabricProfile | None = None,
        rules: Iterable[ReleaseRule] = (),
        lost_seconds: float = 1.0,
        rid: Source | None = None,
    ) -> None:
        self.topology = topology
        self.rules = tuple(rules)
        self.lost_seconds = lost_seconds
        self.messages = 0
        self.casts = 0  # datagrams to multicast groups
        self.trace: list[Happened] = []
        self.crossed: list[tuple[str, str, bytes]] = []  # what crossed each link, if `watched`
        self.watched = False
        self.carriers: dict[str, SimulatedCarrier] = {}
        self.meshed: dict[str, MeshedNode] = {}
        self._lodgers: dict[Port, Callable[[SimulatedCarrier], Resident]] = {}
        self._fabric_profile = profile or FabricProfile()
        self.commit_within = self._fabric_profile.commit
        self.loss = self._fabric_profile.loss  # of datagrams to groups, which take no link
        self._disks = {name: _Disk() for name in topology.servers}
        self._retrying: set[tuple[str, str]] = set()
        self._outages: dict[tuple[str, str], int] = {}  # who cannot reach whom, and which outage it is
        self._told: dict[tuple[str, str], bool] = {}  # who was told that whom is gone
        self._outage = 0
        self._cut_at: dict[tuple[str, str], float] = {}
        self._routes = {
            (one, other): [hop.receiver for hop in topology.route(one, other)]
            for one in topology.servers
            for other in topology.next_hops(one)
        }
        super().__init__(topology.servers, seed, self._fabric_profile, rid)
        for name in topology.servers:
            self._begin(name)

    # --- nodes ------------------------------------------------------------------------------------------------

    def _start(self, name: str) -> None:
        carrier = SimulatedCarrier(self, name, self._disks[name])
        runner = self._hosts[name].effects
        made = meshed_node(carrier, runner.perform, self.topology, self.rules, f"runs/{name}", self.rid)
        self.carriers[name] = carrier
        self.meshed[name] = made
        self._nodes[name] = made.node

    def lodge(self, made: Callable[[SimulatedCarrier], Resident], port: Port = Port.AGENTS) -> None:
        """Let something of the test's own live on every node, now and after each restart, at this port."""
        self._lodgers[port] = made
        for carrier in self.carriers.values():
            carrier.settle(port, made(carrier))

    def _begin(self, name: str) -> None:
        for port, made in self._lodgers.items():
            self.carriers[name].settle(port, made(self.carriers[name]))
        self.meshed[name].recover(self.clock.now)
        self.carriers[name].handle()

    def carry(self, name: str, effect: Carried) -> None:
        meshed = self.meshed[name]
        meshed.now = self.clock.now
        meshed.carry(effect)

    # --- what a test does -------------------------------------------------------------------------------------

    def crash(self, name: str) -> None:
        self._end(name)
        del self.carriers[name]
        del self.meshed[name]
        for (one, other), link in self._links.items():
            if name in (one, other):
                link.waiting.clear()
                link.last_arrival = 0.0
        self._look()

    def _return(self, name: str) -> None:
        for key in [k for k in self._told if k[0] == name]:
            del self._told[key]
        self._start(name)
        self._begin(name)
        for peer in self.topology.neighbours(name):
            self._reconnect(name, peer)
        self._look(name)

    def restart(self, name: str) -> None:
        """The node begins anew, from its journal."""
        if name in self._nodes:
            raise ValueError(f"node {name!r} is running")
        self._return(name)

    def cut(self, one: str, other: str) -> None:
        super().cut(one, other)
        self._cut_at[one, other] = self._cut_at[other, one] = self.clock.now
        self._look()

    def heal(self, one: str, other: str) -> None:
        for sender, receiver in ((one, other), (other, one)):
            if self.clock.now - self._cut_at.get((sender, receiver), 0.0) >= self.lost_seconds:
                self._links[sender, receiver].waiting.clear()
        super().heal(one, other)
        self._reconnect(one, other)
        self._look()

    # --- who reaches whom -------------------------------------------------------------------------------------

    def _reaches(self, one: str, other: str) -> bool:
        at = one
        for step in self._routes.get((one, other), ()):
            if step not in self._nodes or self._links[at, step].cut:
                return False
            at = step
        return at == other

    def _look(self, restarted: str = "") -> None:
        """Something has changed: note who is cut off from whom, and say who can be reached again."""
        for one in list(self._nodes):
            for other in self.topology.servers:
                key = (one, other)
                if one == other or key not in self._routes:
                    continue
                if not self._reaches(one, other):
                    if key not in self._outages:
                        self._outage += 1
                        self._outages[key] = self._outage
                        self.later(one, self.lost_seconds, self._give_up(key, self._outage))
                elif self._outages.pop(key, None) is not None or self._told.get(key):
                    if self._told.pop(key, False) or restarted in self._routes[key]:
                        self.carriers[one].found(other, other == restarted)
        for key in [k for k in self._outages if k[0] not in self._nodes]:
            del self._outages[key]

    def _give_up(self, key: tuple[str, str], outage: int) -> Callable[[], None]:
        one, other = key

        def tell() -> None:
            if self._outages.get(key) == outage:
                self._told[key] = True
                self.carriers[one].lost(other, f"not reached for {self.lost_seconds:g} s")

        return tell

    # --- causal packets ---------------------------------------------------------------------------------------

    def transmit_packet(self, sender: str, receiver: str, port: int, packet: Packet) -> None:
        data = encode_packet(packet)
        self._watch(sender, receiver, data)
        own = self.topology.numbers[sender]
        self._hurl(sender, receiver, lambda there: there.channels.of(port).receive(own, decode_packet(data)))
        self._retry_later(sender, receiver)

    def acknowledge(self, sender: str, receiver: str, port: int, domain: int, number: int) -> None:
        own = self.topology.numbers[sender]
        self._hurl(sender, receiver, lambda there: there.channels.of(port).acknowledged(own, domain, number))

    def _hurl(self, sender: str, receiver: str, act: Callable[[SimulatedCarrier], None]) -> None:
        """Once, twice or not at all, and in any order."""
        link = self._links[sender, receiver]
        profile = self._fabric_profile
        for _ in range(1 + (self.random.random() < profile.repeat)):
            if link.cut or receiver not in self._nodes:
                continue
            if self.random.random() < link.profile.loss:
                self.parcels_lost += 1
                continue
            delay = self._delay(link) + self.random.random() ** 4 * _LATE * link.profile.jitter

            def arrive() -> None:
                there = self.carriers.get(receiver)
                if there is not None and not self._links[sender, receiver].cut:
                    act(there)
                    there.handle()

            self.clock.at(self.clock.now + delay, arrive)

    def _retry_later(self, sender: str, receiver: str) -> None:
        """A packet that is not acknowledged is sent again; not while nobody can get it, or the clock would never rest."""
        key = (sender, receiver)
        if key not in self._retrying:
            self._retrying.add(key)
            link = self._links[key].profile
            wait = link.retry + 3 * (link.delay + (1 + _LATE) * link.jitter) + self.commit_within

            def retry() -> None:
                self._retrying.discard(key)
                self._reconnect(sender, receiver, both=False)

            self.clock.at(self.clock.now + wait, retry)

    def _reconnect(self, one: str, other: str, both: bool = True) -> None:
        for sender, receiver in ((one, other), (other, one)) if both else ((one, other),):
            carrier = self.carriers.get(sender)
            if carrier is None or receiver not in self._nodes or self._links[sender, receiver].cut:
                continue
            number = self.topology.numbers[receiver]
            if carrier.channels.backlog(number):
                carrier.channels.reconnected(number)
                carrier.commit_soon()

    # --- the other classes ------------------------------------------------------------------------------------

    def forward(self, at: str, origin: str, to: str, port: Port, kind: ServiceClass, payload: bytes) -> bool:
        """One hop; whoever is not the one it is for sends it on.  False: it is lost, as far as can be seen here."""
        route = self._routes.get((at, to))
        if not route:
            return False
        self.parcels_sent += 1
        receiver = route[0]
        link = self._links[at, receiver]
        message = (origin, to, port, kind, payload)
        if receiver not in self._nodes:
            return False
        if kind is ServiceClass.RELIABLE:
            if link.cut:
                link.waiting.append(lambda: self._send_whole(at, receiver, message))
            else:
                self._send_whole(at, receiver, message)
        elif link.cut or self.random.random() < link.profile.loss:
            self.parcels_lost += 1
            return False
        else:
            self._watch(at, receiver, payload)
            self._come(self.clock.now + self._delay(link), receiver, message)
        return True

    def _send_whole(self, sender: str, receiver: str, message: _Routed) -> None:
        when = self._reliable_arrival(self._links[sender, receiver])
        self._watch(sender, receiver, message[4])
        self._come(when, receiver, message)

    def _come(self, when: float, at: str, message: _Routed) -> None:
        life = self.incarnations[at]
        origin, to, port, kind, payload = message

        def arrive() -> None:
            carrier = self.carriers.get(at)
            if carrier is None or self.incarnations[at] != life:
                return
            if at != to:
                self.forward(at, origin, to, port, kind, payload)
            elif port in carrier.residents:
                carrier.residents[port].received(origin, payload, self.clock.now)
                carrier.commit_soon()

        self.clock.at(when, arrive)

    def _watch(self, sender: str, receiver: str, data: bytes) -> None:
        if self.watched:
            self.crossed.append((sender, receiver, data))
