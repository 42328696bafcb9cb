"""What messages cost in a topology (S1-14): a hop in a domain of s servers costs s², the size of its clock.

Flat, every message costs n².  A tree of domains costs (2d+1)s² at most for depth d; on a bus of √n domains of √n servers that
is 3n, so the cost grows with n and no longer with its square.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.fabric.topology import Hop, Topology


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
