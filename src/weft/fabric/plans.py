"""Ready-made topologies for a number of servers (S1-13).

    flat    one domain
    bus     leaf domains, and a backbone of the first server of each
    daisy   domains that all share one server, the first
    tree    every domain has sub-domains, each sharing one server with it

Without a domain size, bus and daisy have domains of about the square root of the number of servers, which makes the cost of a
message linear in their number (S1-14); the domains of a tree have about its cube root, which gives a depth of two.
"""

from __future__ import annotations

from collections import deque
from math import isqrt

from weft.fabric.topology import Topology
from weft.model.errors import SettingsError

TOPOLOGIES = ("flat", "bus", "daisy", "tree")
FIRST_PORT = 9001
LAST_PORT = 65535
LEAST_SIZE = {"bus": 2, "daisy": 2, "tree": 3}


def plan(servers: int, topology: str, domain_size: int | None = None) -> Topology:
    """S1 … Sn in domains of at most `domain_size` servers; the backbone of a bus has as many as there are leaves."""
    if topology not in TOPOLOGIES:
        raise SettingsError(f"there is no topology {topology!r}; there are {', '.join(TOPOLOGIES)}")
    if servers < 1:
        raise SettingsError(f"{servers} servers cannot be planned for; one is the least")
    names = tuple(f"S{number}" for number in range(1, servers + 1))
    if topology == "flat":
        if domain_size is not None and domain_size < servers:
            raise SettingsError(
                f"flat is one domain of all {servers} servers; a domain size of {domain_size} needs bus, daisy or tree"
            )
        return Topology(names, {"D1": names})
    root = round(servers ** (1 / 3)) if topology == "tree" else isqrt(servers)
    size = max(LEAST_SIZE[topology], root) if domain_size is None else domain_size
    if size < LEAST_SIZE[topology]:
        raise SettingsError(f"the domain size of a {topology} is at least {LEAST_SIZE[topology]}, not {size}")
    groups = {"bus": _bus, "daisy": _daisy, "tree": _tree}[topology](names, size)
    return Topology(names, {f"D{number}": group for number, group in enumerate(groups, 1)})


def _chunks(names: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


def _bus(names: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    leaves = _chunks(names, size)
    backbone = tuple(leaf[0] for leaf in leaves)
    if len(leaves) == 1:
        return leaves
    return [backbone, *(leaf for leaf in leaves if len(leaf) > 1)]


def _daisy(names: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    return [(names[0], *petal) for petal in _chunks(names[1:], size - 1)] or [names]


def _tree(names: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    """Breadth first; every server but the first of the root heads one sub-domain, as long as there are servers."""
    groups = [names[:size]]
    heads = deque(names[1:size])
    at = size
    while at < len(names):
        added = names[at : at + size - 1]
        groups.append((heads.popleft(), *added))
        heads.extend(added)
        at += size - 1
    return groups


def write_domains(topology: Topology, comment: str = "") -> str:
    """The domains file of a topology, all on this machine."""
    count = len(topology.servers)
    if FIRST_PORT + count - 1 > LAST_PORT:
        raise SettingsError(f"{count} servers need more ports than one machine has above {FIRST_PORT}")
    lines = [f"# {comment}", ""] if comment else []
    lines.append("[servers]")
    lines += [f'{name} = "127.0.0.1:{FIRST_PORT + at}"' for at, name in enumerate(topology.servers)]
    lines += ["", "[domains]"]
    for domain, members in topology.domains.items():
        quoted = ", ".join(f'"{name}"' for name in members)
        lines.append(f"{domain} = [{quoted}]")
    return "\n".join(lines) + "\n"
