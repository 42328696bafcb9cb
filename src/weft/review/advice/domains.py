"""Which servers belong together: domains for the traffic that a run had, or is expected to have (S1-16).

A message costs Σ s² over the domains it passes through, s being the servers of each (`weft.fabric.topology`).  Where it is known
how long a message takes from one server to another, each hop costs that besides, in entries of a clock.  Wanted is
the topology in which all traffic of a run costs least.  It has to be a tree of servers and domains: without a cycle,
because a cycle breaks causal order, and connected, because commands of a federation go to all its nodes.

Seen from one domain, the tree falls into a part for each of its servers; what goes from one part to another passes
through it.  So a topology costs Σ s² × (all traffic - the traffic within parts) over its domains; and, for each two servers
of a domain, the traffic between their parts × the latency between the two.

Up to six servers all trees are looked at (4,447 for six).  Beyond, a search goes from several starts, the ready-made
topologies with servers that talk to one another side by side among them, to a better neighbour as long as there is
one.  Neighbours: a server with all that hangs on it is taken out of a domain and joins another, or is joined to one
server by a domain of two; two domains that share a server become one; a domain falls into two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from weft.fabric import Domains, Topology, plan
from weft.fabric.plans import FIRST_PORT
from weft.review.advice.cells import Ints

EXHAUSTIVE = 6  # servers up to which all trees are looked at
PLANS = ("flat", "bus", "daisy", "tree")

Tree = frozenset[frozenset[int]]
"""The domains, each the numbers of its servers."""


@dataclass(frozen=True)
class NodeTraffic:
    """How many messages went from each server to each, by number; what goes back costs the same."""

    servers: tuple[str, ...]
    messages: Ints
    # What a hop costs besides its clock, in entries, the same there and back; None: nothing.
    latency: Ints | None = None

    @classmethod
    def of(
        cls,
        servers: Sequence[str],
        counts: Mapping[tuple[str, str], int],
        latency: Mapping[tuple[str, str], int] | None = None,
        hop: int = 0,
    ) -> NodeTraffic:
        """`latency`: for a pair in either order; where both are given the larger counts.  `hop`: for every pair, besides."""
        numbers = {name: at for at, name in enumerate(servers)}
        made = np.zeros((len(servers), len(servers)), np.int64)
        for (one, other), count in counts.items():
            if one != other and one in numbers and other in numbers:
                made[numbers[one], numbers[other]] += count
        far = np.zeros_like(made)
        for (one, other), entries in (latency or {}).items():
            if one != other and one in numbers and other in numbers:
                there, back = (numbers[one], numbers[other]), (numbers[other], numbers[one])
                far[there] = far[back] = max(int(far[there]), entries)
        return cls(tuple(servers), made, far + hop if latency or hop else None)

    @property
    def both(self) -> Ints:
        """Between each two, in both directions."""
        return self.messages + self.messages.T


def topology_cost(traffic: NodeTraffic, topology: Topology) -> int:
    """Σ traffic × Σ (s² and the latency) over the hops; pairs that do not reach one another are left out."""
    total = 0
    far, numbers = traffic.latency, topology.numbers
    for at, start in enumerate(topology.servers):
        spent = {start: 0}
        for destination, last in topology.arrivals(start).items():
            hop = len(topology.domains[last.domain]) ** 2
            if far is not None:
                hop += int(far[numbers[last.sender], numbers[last.receiver]])
            spent[destination] = spent[last.sender] + hop
            total += int(traffic.messages[at, topology.numbers[destination]]) * spent[destination]
    return total


class Costs:
    """What trees cost for one traffic.  Trees that are alike have most parts in common, so the traffic within each is kept."""

    def __init__(self, both: Ints, latency: Ints | None = None) -> None:
        self.both = both
        self.latency = latency
        self.everything = int(both.sum()) // 2
        self._rows = [[int(number) for number in row] for row in both]
        self._within: dict[int, int] = {0: 0}
        self.asked = 0

    def of(self, tree: Tree) -> int:
        self.asked += 1
        total = 0
        for domain, those in parts_of(tree, len(self.both)).items():
            total += len(domain) ** 2 * (self.everything - sum(self.within(part) for part in those.values()))
            if self.latency is not None:
                total += self._latencies(self.latency, those)
        return total

    def _latencies(self, latency: Ints, those: Mapping[int, int]) -> int:
        """Between each two servers of a domain, for what goes from the part of the one to that of the other."""
        return sum(
            int(latency[one, other])
            * (self.within(those[one] | those[other]) - self.within(those[one]) - self.within(those[other]))
            for one, other in combinations(those, 2)
            if latency[one, other]
        )

    def within(self, part: int) -> int:
        """The traffic among the servers of a part, which is a bit for each."""
        found = self._within.get(part)
        if found is None:
            last = part.bit_length() - 1
            row = self._rows[last]
            rest = part & ~(1 << last)
            found = self.within(rest) + sum(row[one] for one in _bits(rest))
            self._within[part] = found
        return found


def _bits(part: int) -> Iterator[int]:
    while part:
        lowest = part & -part
        yield lowest.bit_length() - 1
        part ^= lowest


def parts_of(tree: Tree, count: int) -> dict[frozenset[int], dict[int, int]]:
    """For each domain what hangs on each of its servers, itself included, as bits."""
    around: list[list[frozenset[int]]] = [[] for _ in range(count)]
    for domain in tree:
        for server in domain:
            around[server].append(domain)
    found: dict[frozenset[int], dict[int, int]] = {}
    above: dict[frozenset[int], int] = {}
    way: list[tuple[int, frozenset[int]]] = []
    waiting = [(0, frozenset[int]())]
    while waiting:
        server, by = waiting.pop()
        way.append((server, by))
        for domain in around[server]:
            if domain != by:
                above[domain] = server
                found[domain] = {}
                waiting += [(other, domain) for other in domain if other != server]
    whole = (1 << count) - 1
    below = [1 << server for server in range(count)]
    for server, by in reversed(way):
        if by:
            found[by][server] = below[server]
            below[above[by]] |= below[server]
    for domain, server in above.items():
        found[domain][server] = whole & ~sum(found[domain].values())
    return found


Say = Callable[[str], None]


def _silent(text: str) -> None:
    pass


def best_tree(traffic: NodeTraffic, say: Say = _silent) -> Tree:
    """`say` hears how far a long search is."""
    count = len(traffic.servers)
    if count <= 2:
        return frozenset([frozenset(range(count))]) if count else frozenset()
    if count <= EXHAUSTIVE:
        costs = Costs(traffic.both, traffic.latency)
        return min(all_trees(count), key=lambda tree: (costs.of(tree), _order(tree)))
    return search(traffic, say=say)


def _order(tree: Tree) -> tuple[int, list[list[int]]]:
    """Among equals the one with fewer domains, then the same one in every run."""
    return len(tree), sorted(sorted(domain) for domain in tree)


# --- all of them ----------------------------------------------------------------------------------------------------


def all_trees(count: int) -> Iterator[Tree]:
    """Every tree of domains over so many servers: set partitions of what hangs on the first server, and so on down."""
    yield from _rooted(0, frozenset(range(1, count)))


def _rooted(root: int, rest: frozenset[int]) -> Iterator[Tree]:
    """All trees over a root and the rest: the domain of the root that has the least of the rest, then what remains."""
    if not rest:
        yield frozenset()
        return
    least = min(rest)
    others = sorted(rest - {least})
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            # The branch of the root that `least` is in: its servers, of which some are in the root's own domain.
            branch = frozenset((least, *more))
            for first in _branches(root, branch):
                for remaining in _rooted(root, rest - branch):
                    yield first | remaining


def _branches(root: int, branch: frozenset[int]) -> Iterator[Tree]:
    """All trees in which one domain of the root leads to the whole branch."""
    servers = sorted(branch)
    for size in range(1, len(servers) + 1):
        for direct in combinations(servers, size):
            domain = frozenset((root, *direct))
            for below in _shared_out(direct, branch - frozenset(direct)):
                yield below | {domain}


def _shared_out(heads: tuple[int, ...], rest: frozenset[int]) -> Iterator[Tree]:
    """The rest divided among the heads, each with any tree over its share."""
    if not heads:
        if not rest:
            yield frozenset()
        return
    servers = sorted(rest)
    for size in range(len(servers) + 1):
        for share in combinations(servers, size):
            for own in _rooted(heads[0], frozenset(share)):
                for others in _shared_out(heads[1:], rest - frozenset(share)):
                    yield own | others


# --- the search -----------------------------------------------------------------------------------------------------


EFFORT = 2_000_000
"""Trees times servers that a search looks at, at most: a minute or so."""


def search(traffic: NodeTraffic, effort: int = EFFORT, say: Say = _silent) -> Tree:
    """The best of what is found from several starts, the best of which come first."""
    costs = Costs(traffic.both, traffic.latency)
    say(f"{len(traffic.servers)} servers: who talks to whom")
    begins = sorted(starts(traffic), key=lambda tree: (costs.of(tree), _order(tree)))
    share = max(1, effort // max(1, len(traffic.servers)) // len(begins))
    best = begins[0]
    for number, start in enumerate(begins, 1):
        say(f"search {number} of {len(begins)}: cost {costs.of(best):,} so far")
        found = _descend(costs, start, share)
        best = min(best, found, key=lambda tree: (costs.of(tree), _order(tree)))
    return best


def starts(traffic: NodeTraffic) -> list[Tree]:
    count = len(traffic.servers)
    order = by_closeness(traffic.both)
    made = {_planned(name, those) for name in PLANS for those in (order, list(range(count)))}
    made.add(_spanning(traffic.both))
    return sorted(made, key=_order)


def by_closeness(both: Ints) -> list[int]:
    """All servers in a row, each beside those that it talks to most: clusters are joined, the closest first."""
    clusters = [[server] for server in range(len(both))]
    ties = both.astype(np.float64)
    sizes = np.ones(len(both))
    while len(clusters) > 1:
        mean = np.where(np.triu(np.ones_like(ties), 1) > 0, ties / np.outer(sizes, sizes), -1.0)
        one, other = (int(at) for at in np.unravel_index(int(mean.argmax()), mean.shape))
        clusters[one] += clusters.pop(other)
        ties[one] += ties[other]
        ties[:, one] += ties[:, other]
        sizes[one] += sizes[other]
        ties, sizes = np.delete(np.delete(ties, other, 0), other, 1), np.delete(sizes, other)
    return clusters[0] if clusters else []


def _planned(name: str, order: Sequence[int]) -> Tree:
    made = plan(len(order), name)
    return frozenset(
        frozenset(order[made.numbers[server]] for server in domain) for domain in made.domains.values()
    )


def _spanning(both: Ints) -> Tree:
    """Domains of two along the strongest ties."""
    group = list(range(len(both)))
    pairs = sorted(combinations(group, 2), key=lambda pair: (-int(both[pair]), pair))
    made = []
    for one, other in pairs:
        if group[one] != group[other]:
            made.append(frozenset((one, other)))
            old, new = group[one], group[other]
            group = [new if mark == old else mark for mark in group]
    return frozenset(made)


def _descend(costs: Costs, tree: Tree, share: int) -> Tree:
    """To any better neighbour, until there is none or so many trees have been looked at."""
    last = costs.asked + share
    least = costs.of(tree)
    while costs.asked < last:
        better = next(
            ((cost, other) for other in neighbours(tree, costs.both) if (cost := costs.of(other)) < least),
            None,
        )
        if better is None:
            break
        least, tree = better
    return tree


NEAR = 6  # of the other side, to how many servers a domain of two is tried


def neighbours(tree: Tree, both: Ints) -> Iterator[Tree]:
    """In the same order in every run."""
    domains = sorted(tree, key=sorted)
    yield from _regrafted(tree, domains, both)
    yield from _split(tree, domains, both)
    yield from _merged(tree, domains)


def _merged(tree: Tree, domains: Sequence[frozenset[int]]) -> Iterator[Tree]:
    for one, other in combinations(domains, 2):
        if one & other:
            yield (tree - {one, other}) | {one | other}


def _split(tree: Tree, domains: Sequence[frozenset[int]], both: Ints) -> Iterator[Tree]:
    """A domain falls into two that share one server: one with who is closer to a server than to the one farthest from it."""
    for domain in domains:
        if len(domain) < 3:
            continue
        for shared in sorted(domain):
            rest = sorted(domain - {shared})
            for one in rest:
                yield (tree - {domain}) | {frozenset((shared, one)), domain - {one}}
                other = min((far for far in rest if far != one), key=lambda far: (int(both[one, far]), far))
                near = {one, *(server for server in rest if both[server, one] >= both[server, other])} - {
                    other
                }
                yield (tree - {domain}) | {frozenset(near | {shared}), frozenset(set(rest) - near | {shared})}


def _regrafted(tree: Tree, domains: Sequence[frozenset[int]], both: Ints) -> Iterator[Tree]:
    """A server, and all that hangs on it away from a domain, leaves the domain and is joined elsewhere."""
    count = len(both)
    parts = parts_of(tree, count)
    for domain in domains:
        for server in sorted(domain):
            rest = tree - {domain}
            if len(domain) > 2:
                rest = rest | {domain - {server}}
            inside = list(_bits(parts[domain][server]))
            outside = [one for one in range(count) if not parts[domain][server] >> one & 1]
            ties = both[np.ix_(inside, outside)].sum(axis=1)
            for hook in dict.fromkeys((server, inside[int(ties.argmax())])):
                for other in sorted(rest, key=sorted):
                    if other.isdisjoint(inside):
                        yield (rest - {other}) | {other | {hook}}
                near = sorted(outside, key=lambda one: (-int(both[hook, one]), one))[:NEAR]
                for one in near:
                    yield rest | {frozenset((hook, one))}


# --- as a topology --------------------------------------------------------------------------------------------------


def as_topology(servers: Sequence[str], tree: Tree) -> Topology:
    """Domains D1, D2, … in the order of their first servers, which are in the order of the file."""
    groups = sorted(sorted(domain) for domain in tree)
    return Topology(
        tuple(servers), {f"D{at}": tuple(servers[one] for one in group) for at, group in enumerate(groups, 1)}
    )


def ready_made(servers: Sequence[str], name: str) -> Topology:
    """Flat, bus, daisy or tree over these servers, in their order."""
    return as_topology(servers, _planned(name, range(len(servers))))


# --- as a file ------------------------------------------------------------------------------------------------------


NOTE = "after a change start every server with the new file: each finishes what its journal holds under the old domains first"


def write_domains_file(topology: Topology, old: Domains | None, comments: Sequence[str] = ()) -> str:
    """As the text of a file that `weft.fabric.parse_domains` takes: with the addresses, certificates and agents of the old one,
    where there was one; release rules do not survive other domains."""
    lines = [*(f"# {comment}" for comment in (*comments, NOTE)), "", "[servers]"]
    lines += [
        f"{_key(name)} = {json.dumps(_address(old, name, at))}" for at, name in enumerate(topology.servers)
    ]
    lines += ["", "[domains]"]
    lines += [f"{_key(name)} = {json.dumps(list(members))}" for name, members in topology.domains.items()]
    return "\n".join(lines + ([] if old is None else _others(old))) + "\n"


def _address(old: Domains | None, name: str, at: int) -> str:
    """All on this machine, where nothing is known."""
    return f"127.0.0.1:{FIRST_PORT + at}" if old is None else old.addresses[name]


def _others(old: Domains) -> list[str]:
    lines: list[str] = []
    if old.ca:
        lines += ["", "[certificates]", f"ca = {json.dumps(old.ca)}", "", "[certificates.servers]"]
        lines += [
            f"{_key(name)} = {{ cert = {json.dumps(one.cert)}, key = {json.dumps(one.key)} }}"
            for name, one in old.certificates.items()
        ]
    if old.agents:
        lines += ["", "[agents]"]
        lines += [
            f"{_key(name)} = {{ server = {json.dumps(one.server)}, class = {json.dumps(one.program)} }}"
            for name, one in old.agents.items()
        ]
    return lines


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
