"""Topologies for the tests: those of the paper, ready-made ones, random forests, and some that are none."""

from __future__ import annotations

from random import Random

from weft.fabric import Hop, Topology, plan

FIGURE_2 = Topology(
    tuple(f"S{number}" for number in range(1, 9)),
    {
        "A": ("S1", "S2", "S3"),
        "B": ("S4", "S5"),
        "C": ("S6", "S7", "S8"),
        "D": ("S3", "S6"),
        "E": ("S1", "S4"),
    },
)


def of(*groups: str) -> Topology:
    """One letter for each server: of("pq", "pr")."""
    servers = tuple(dict.fromkeys("".join(groups)))
    return Topology(servers, {f"D{at}": tuple(group) for at, group in enumerate(groups, 1)})


CHAIN = of("ab", "bcd", "de", "efg", "gh")
CYCLIC = {
    "ring of three": of("pq", "qr", "rp"),
    "ring of four": of("pq", "qr", "rs", "sp"),
    "two shared servers": of("pqr", "pqs"),
}


def random_forest(random: Random) -> Topology:
    """One tree: each new domain shares one server with what is there."""
    servers = [f"S{number}" for number in range(random.randint(2, 4))]
    domains = {"D0": tuple(servers)}
    for number in range(1, random.randint(1, 5)):
        new = [f"S{len(servers) + at}" for at in range(random.randint(1, 3))]
        domains[f"D{number}"] = (random.choice(servers), *new)
        servers += new
    return Topology(tuple(servers), domains)


def some(seed: int) -> Topology:
    """All kinds in turn, of varying size."""
    kind, size = seed % 7, seed // 7
    if kind == 0:
        return FIGURE_2
    if kind == 1:
        return CHAIN
    if kind == 2:
        return random_forest(Random(seed))
    topology = ("flat", "bus", "daisy", "tree")[kind - 3]
    return plan(3 + size % 8, topology)


def is_forest(topology: Topology) -> bool:
    """Is there no cycle?  Servers and domains that hang by one thread are taken away until there are none of these."""
    held = {
        ("domain", name): {("server", one) for one in members} for name, members in topology.domains.items()
    }
    for name, members in topology.domains.items():
        for one in members:
            held.setdefault(("server", one), set()).add(("domain", name))
    while loose := [vertex for vertex, others in held.items() if len(others) < 2]:
        for vertex in loose:
            for other in held.pop(vertex):
                held.get(other, set()).discard(vertex)
    return not held


def route_cost(topology: Topology, hops: list[Hop]) -> int:
    return sum(len(topology.domains[hop.domain]) ** 2 for hop in hops)


def tree_servers(size: int, branches: int, depth: int) -> int:
    """The servers of a full tree of domains: `size` in each, `branches` sub-domains below each, `depth` levels below the root."""
    domains = sum([int(branches**level) for level in range(depth + 1)])
    return 1 + (size - 1) * domains


def tree_cost(size: int, depth: int) -> int:
    """The most a message costs there: up to the root, through it, and down."""
    return (2 * depth + 1) * size**2
