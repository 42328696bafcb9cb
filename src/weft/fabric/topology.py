"""Servers, the domains they are in, the way from one to another (S1-5, S1-6), and what messages cost (S1-14).

A topology is plain data and may be anything; whether it keeps causal order is for `forest` to say.  Ways are shortest paths over
the bipartite graph of servers and domains; in a forest there is at most one.

A hop in a domain of s servers costs s², the size of its clock.  Flat, every message costs n².  A tree of domains costs
(2d+1)s² at most for depth d; on a bus of √n domains of √n servers that is 3n, so the cost grows with n and no longer with
its square.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from weft.model.errors import FabricError


class Hop(NamedTuple):
    """One step of a message: within a domain, from one of its servers to another."""

    sender: str
    domain: str
    receiver: str


@dataclass(frozen=True)
class Topology:
    """Names in the order of the domains file; a server's number is its place among `servers`, a domain's likewise."""

    servers: tuple[str, ...]
    domains: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.servers)}

    @cached_property
    def memberships(self) -> dict[str, tuple[str, ...]]:
        """For each server the domains it is in."""
        found: dict[str, list[str]] = {server: [] for server in self.servers}
        for domain, members in self.domains.items():
            for server in members:
                found[server].append(domain)
        return {server: tuple(domains) for server, domains in found.items()}

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal servers and domains in equal order: nodes that are to be linked compare it."""
        text = repr((self.servers, tuple(self.domains.items())))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def routers(self) -> tuple[str, ...]:
        """Servers in two domains or more: they pass messages from one to the other."""
        return tuple(server for server in self.servers if len(self.memberships[server]) > 1)

    def neighbours(self, server: str) -> tuple[str, ...]:
        """The servers it shares a domain with: those it needs links to."""
        found = dict.fromkeys(peer for domain in self.memberships[server] for peer in self.domains[domain])
        return tuple(peer for peer in found if peer != server)

    def arrivals(self, start: str) -> dict[str, Hop]:
        """For each server that can be reached, the last hop of the way to it; breadth first."""
        found: dict[str, Hop] = {}
        seen_domains: set[str] = set()
        queue = deque([start])
        while queue:
            server = queue.popleft()
            for domain in self.memberships[server]:
                if domain not in seen_domains:
                    seen_domains.add(domain)
                    for peer in self.domains[domain]:
                        if peer != start and peer not in found:
                            found[peer] = Hop(server, domain, peer)
                            queue.append(peer)
        return found

    def next_hops(self, start: str) -> dict[str, Hop]:
        """The routing table of a server: for each destination the first hop of the way to it."""
        table: dict[str, Hop] = {}
        for destination, last in self.arrivals(start).items():
            table[destination] = last if last.sender == start else table[last.sender]
        return table

    def route(self, start: str, destination: str) -> list[Hop]:
        """The hops from one server to another; none from a server to itself."""
        for name in (start, destination):
            if name not in self.numbers:
                raise FabricError(f"there is no server {name!r}; there are {', '.join(self.servers)}")
        arrivals = self.arrivals(start)
        hops: list[Hop] = []
        at = destination
        while at != start:
            if at not in arrivals:
                raise FabricError(f"{start} cannot reach {destination}: no chain of domains joins them")
            hops.append(arrivals[at])
            at = arrivals[at].sender
        return hops[::-1]


@dataclass(frozen=True)
class Cost:
    """Costs are in entries of clocks.  `worst` is a route that costs most; means are over all pairs that reach one another."""

    servers: int
    domains: int
    routers: int
    worst: tuple[Hop, ...]
    worst_cost: int
    mean_cost: float
    mean_hops: float
    flat_cost: int
    largest_clock: int  # the entries one server holds, for the server with most
    all_clocks: int
    flat_clocks: int


def cost(topology: Topology) -> Cost:
    count = len(topology.servers)
    size = {domain: len(members) for domain, members in topology.domains.items()}
    clocks = [sum(size[domain] ** 2 for domain in topology.memberships[one]) for one in topology.servers]
    total = hops = pairs = worst_cost = 0
    worst: tuple[str, str] | None = None
    for start in topology.servers:
        spent, steps = {start: 0}, {start: 0}
        for destination, last in topology.arrivals(start).items():
            spent[destination] = spent[last.sender] + size[last.domain] ** 2
            steps[destination] = steps[last.sender] + 1
            if spent[destination] > worst_cost:
                worst_cost, worst = spent[destination], (start, destination)
        total += sum(spent.values())
        hops += sum(steps.values())
        pairs += len(spent) - 1
    return Cost(
        servers=count,
        domains=len(topology.domains),
        routers=len(topology.routers()),
        worst=tuple(topology.route(*worst)) if worst else (),
        worst_cost=worst_cost,
        mean_cost=total / pairs if pairs else 0.0,
        mean_hops=hops / pairs if pairs else 0.0,
        flat_cost=count**2,
        largest_clock=max(clocks, default=0),
        all_clocks=sum(clocks),
        flat_clocks=count**3,
    )
