"""What a causal channel knows of the topology, and what is asked of it: the part of `weft.fabric.channel` that decides nothing.

`ServerRoutes` has the states of the domains of a server and the next hop to every other server.  It refuses what no neighbour
can have sent.
"""

from __future__ import annotations

from typing import Final

from weft.fabric.domain_state import Arrived, DomainState, Portion
from weft.fabric.stamps import Packet, decode_stamp
from weft.fabric.topology import Topology
from weft.model.errors import FabricError

UNREACHABLE: Final = -1
BYTES_PER_CELL: Final = 24  # value, changed and source, at eight bytes each


class ServerRoutes:
    def __init__(self, topology: Topology, own: int) -> None:
        self.names = list(topology.servers)
        self.domain_names = list(topology.domains)
        self.own = own
        self.in_memory = 0
        self.beyond = 0  # packets that are in the journal alone
        self.states: dict[int, DomainState] = {}
        name_here = topology.servers[own]
        domain_numbers = {name: number for number, name in enumerate(topology.domains)}
        for name in topology.memberships[name_here]:
            members = [topology.numbers[server] for server in topology.domains[name]]
            self.states[domain_numbers[name]] = DomainState(domain_numbers[name], members, self.own)
        self.next_domain = [UNREACHABLE] * len(topology.servers)
        self.next_server = [UNREACHABLE] * len(topology.servers)
        for destination, hop in topology.next_hops(name_here).items():
            number = topology.numbers[destination]
            self.next_domain[number] = domain_numbers[hop.domain]
            self.next_server[number] = topology.numbers[hop.receiver]

    # Questions

    def backlog(self, peer: int) -> int:
        """How many packets the peer has not acknowledged."""
        found = 0
        for state in self.states.values():
            place = state.place.get(peer, -1)
            if place >= 0:
                found += len(state.out[place]) + state.beyond[place]
        return found

    def backlog_bytes(self, peer: int) -> int:
        """The payloads of those packets."""
        found = 0
        for state in self.states.values():
            place = state.place.get(peer, -1)
            if place >= 0:
                found += state.out_bytes[place]
        return found

    def wanted(self) -> list[Portion]:
        """What is to be read from the journal, where it is committed by now, and given to `loaded`."""
        found: list[Portion] = []
        for state in self.states.values() if self.beyond else ():
            for place in range(len(state.members)):
                room = self.in_memory - len(state.out[place])
                if state.beyond[place] and 2 * room >= self.in_memory:
                    found.append(Portion(state.domain, place, state.reached[place], max(1, room)))
        return found

    def waiting(self) -> int:
        """How many packets wait for others; not those of lost servers, which may wait until these are back."""
        return sum([state.waiting_of(False) for state in self.states.values()])

    def held(self, peer: int) -> int:
        """How many packets of that neighbour wait for others."""
        places = [(state, state.place.get(peer, -1)) for state in self.states.values()]
        return sum([len(state.waiting[place]) for state, place in places if place >= 0])

    def stranded(self) -> int:
        """How many packets of lost servers wait for earlier ones, which are still with these."""
        return sum([state.waiting_of(True) for state in self.states.values()])

    def clock_bytes(self) -> int:
        """The size of the saved clocks when every cell has changed."""
        return sum([len(state.clock.value) for state in self.states.values()]) * BYTES_PER_CELL

    def _read(self, state: DomainState, peer: int, packet: Packet) -> Arrived:
        """The packet with its stamp decoded, refused if a peer with the same domains and whole journals cannot have sent it."""
        clock = state.clock
        size, own = clock.size, clock.own
        try:
            stamp = decode_stamp(packet.stamp, size * size)
        except FabricError as error:
            raise self._misfit(peer, f"sends a packet that cannot be read: {error}") from None
        self._check_destinations(peer, packet)
        arrived = Arrived(packet, state.place[peer], stamp.cells, stamp.values)
        for index in range(len(stamp.cells)):
            cell = stamp.cells[index]
            count = stamp.values[index]
            if cell // size == own and count > clock.value[cell]:
                me = self.names[self.own]
                raise self._misfit(
                    peer,
                    f"knows of more packets from {me} than {me}; was a journal lost, or an older one put in its place?",
                )
            if cell % size == own:
                arrived.rows.append(cell // size)
                arrived.counts.append(count)
        return arrived

    def _check_destinations(self, peer: int, packet: Packet) -> None:
        """A packet never leaves by the domain it came by: that would be a loop."""
        if not packet.destinations:
            raise self._misfit(peer, "sends a packet for nobody")
        for destination in packet.destinations:
            if destination != self.own and (
                not 0 <= destination < len(self.names)
                or self.next_domain[destination] in (UNREACHABLE, packet.domain)
            ):
                raise self._misfit(
                    peer,
                    f"sends a packet for server number {destination}, which is not this way; are the domains files equal?",
                )

    def _state_of(self, peer: int, domain: int) -> DomainState:
        state = self.states.get(domain)
        if state is None or peer not in state.place or peer == self.own:
            name = self.domain_names[domain] if 0 <= domain < len(self.domain_names) else f"number {domain}"
            raise self._misfit(
                peer, f"speaks of domain {name}, which the two do not share; are the domains files equal?"
            )
        return state

    def _misfit(self, peer: int, what: str) -> FabricError:
        name = self.names[peer] if 0 <= peer < len(self.names) else f"server number {peer}"
        return FabricError(f"{self.names[self.own]}: {name} {what}")
