"""Which topologies keep causal order: exactly the forests of the bipartite graph of servers and domains (S1-9, S1-10).

The graph has a vertex for each server and each domain and an edge for each membership.  A cycle in it lets a message go round one
way while its consequence goes round the other, and no clock sees both.  The graph of domains alone will not do: a daisy (many
domains sharing one server) would look like a cycle and is none, two domains sharing two servers would not and are one.
A domain nested in another is a cycle too, as soon as it has two servers.

The smallest repair takes out as few memberships as can be: one for each independent cycle, |edges| - |vertices| + |parts| in all.
Among the many it keeps who can reach whom, and takes from nested and from large domains first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from weft.fabric.topology import Topology

Vertex = tuple[bool, str]  # is it a server, and its name: a server and a domain may have the same


@dataclass(frozen=True)
class Fault:
    """A cycle, in words; `domain` is the one to look at."""

    domain: str
    message: str


@dataclass(frozen=True)
class Repair:
    """Memberships to end, as (server, domain)."""

    removals: tuple[tuple[str, str], ...]
    message: str


def faults(topology: Topology) -> list[Fault]:
    """Nested domains and pairs that share two servers, all of them; if there are none, the shortest cycle."""
    found = list(_pairs(topology))
    if not found:
        cycle = shortest_cycle(topology)
        if cycle:
            found.append(_ring(cycle))
    return found


def _pairs(topology: Topology) -> Iterator[Fault]:
    for one, other in combinations(topology.domains, 2):
        shared = [server for server in topology.domains[one] if server in topology.domains[other]]
        if len(shared) > 1:
            inner, outer = sorted((one, other), key=lambda name: len(topology.domains[name]))
            size = len(topology.domains[inner])
            if len(shared) == len(topology.domains[outer]):
                yield Fault(
                    other, f"domain {other} has the same servers as domain {one}: {', '.join(shared)}"
                )
            elif len(shared) == size:
                yield Fault(
                    inner, f"domain {inner} is nested in domain {outer}: {', '.join(shared)} are in both"
                )
            else:
                cycle = f"{shared[0]} -({one})- {shared[1]} -({other})- {shared[0]}"
                text = f"domains {one} and {other} share {len(shared)} servers, {', '.join(shared)}, where one is the most"
                yield Fault(other, f"{text}: {cycle} is a cycle")


def _ring(cycle: list[str]) -> Fault:
    text = cycle[0]
    for at in range(1, len(cycle), 2):
        text += f" -({cycle[at]})- {cycle[(at + 1) % len(cycle)]}"
    return Fault(cycle[-1], f"the domains form a cycle: {text}")


def shortest_cycle(topology: Topology) -> list[str]:
    """Server, domain, server, domain, …: back to the first server; empty in a forest."""
    best: list[str] = []
    for domain in topology.domains:
        found = _cycle_through(topology, domain)
        if found and (not best or len(found) < len(best)):
            best = found
    return best


def _cycle_through(topology: Topology, start: str) -> list[str]:
    """Breadth first from a domain: where two branches meet is the shortest cycle through it."""
    first = (False, start)
    parent: dict[Vertex, Vertex | None] = {first: None}
    branch: dict[Vertex, Vertex] = {}
    queue = deque([first])
    while queue:
        vertex = queue.popleft()
        for near in _near(topology, vertex):
            if near == parent[vertex]:
                continue
            if near in parent:
                if near != first and vertex != first and branch[near] != branch[vertex]:
                    return _close(parent, vertex, near)
                continue
            parent[near] = vertex
            branch[near] = branch.get(vertex, near)
            queue.append(near)
    return []


def _near(topology: Topology, vertex: Vertex) -> list[Vertex]:
    is_server, name = vertex
    if is_server:
        return [(False, domain) for domain in topology.memberships[name]]
    return [(True, server) for server in topology.domains[name]]


def _close(parent: dict[Vertex, Vertex | None], one: Vertex, other: Vertex) -> list[str]:
    def up(vertex: Vertex | None) -> list[Vertex]:
        way = []
        while vertex is not None:
            way.append(vertex)
            vertex = parent[vertex]
        return way

    # From the start down to one, over to the other, back up to just below the start.
    ring = up(one)[::-1] + up(other)[:-1]
    turned = ring[1:] + ring[:1]  # begins with a server and ends with the domain it began in
    return [name for _, name in turned]


class _Groups:
    """Union-find."""

    def __init__(self) -> None:
        self.above: dict[Vertex, Vertex] = {}

    def top(self, one: Vertex) -> Vertex:
        while (above := self.above.get(one, one)) != one:
            self.above[one] = self.above.get(above, above)
            one = above
        return one

    def join(self, one: Vertex, other: Vertex) -> bool:
        """False if they were together already."""
        top, other_top = self.top(one), self.top(other)
        self.above[top] = other_top
        return top != other_top


def parts(topology: Topology) -> list[tuple[str, ...]]:
    """The servers that can reach one another, part by part."""
    groups = _Groups()
    for domain, members in topology.domains.items():
        for server in members:
            groups.join((True, server), (False, domain))
    found: dict[Vertex, list[str]] = {}
    for server in topology.servers:
        found.setdefault(groups.top((True, server)), []).append(server)
    return [tuple(part) for part in found.values()]


def smallest_repair(topology: Topology) -> Repair:
    """The least number of memberships whose end leaves a forest in which all still reach whom they reached."""
    groups = _Groups()
    removals: list[tuple[str, str]] = []
    for domain in sorted(
        topology.domains, key=lambda name: (_is_nested(topology, name), len(topology.domains[name]))
    ):
        removals += [
            (server, domain)
            for server in topology.domains[domain]
            if not groups.join((True, server), (False, domain))
        ]
    return Repair(tuple(removals), _advice(topology, removals))


def _is_nested(topology: Topology, name: str) -> bool:
    own = set(topology.domains[name])
    before = True  # of two equal domains the later one is nested in the earlier
    for other, members in topology.domains.items():
        if other == name:
            before = False
        elif own <= set(members) and (before or len(members) > len(own)):
            return True
    return False


def _advice(topology: Topology, removals: list[tuple[str, str]]) -> str:
    taken: dict[str, list[str]] = {}
    for server, domain in removals:
        taken.setdefault(domain, []).append(server)
    steps = []
    for domain, servers in taken.items():
        if len(topology.domains[domain]) - len(servers) < 2:
            steps.append(f"remove domain {domain}")
        else:
            steps.append(f"take {' and '.join(servers)} out of domain {domain}")
    return "; ".join(steps)
