"""Domains as a picture: servers are dots, domains are boxes, and a line is a membership (figures 2 and 10 of the paper).

A forest is drawn as one: each tree from its middle outwards, ring by ring, a vertex in the midst of what hangs on it.  What is
in more than one domain is a router, and stands out.
"""

from __future__ import annotations

from math import cos, pi, sin

from weft.drawing import Box, Dot, Graphic, Stroke, Text
from weft.fabric.forest import Vertex
from weft.fabric.topology import Topology

RING = 62.0  # pixels from one ring to the next, where there is room
LEAST_GAP = 19.0  # between two servers on the outermost ring
MOST_GAP = 46.0  # … where there would be more room than they need
_MARGIN = 30.0


def domain_picture(topology: Topology, title: str) -> Graphic:
    """Of a topology that keeps causal order."""
    places: dict[Vertex, tuple[float, float]] = {}
    left = height = 0.0
    for around in _trees(topology):
        drawn = _rings(around)
        low_x, low_y = (min(place[axis] for place in drawn.values()) - _MARGIN for axis in (0, 1))
        for vertex, (x, y) in drawn.items():
            places[vertex] = (left + x - low_x, y - low_y)
        left += max(x for x, _ in drawn.values()) + _MARGIN - low_x
        height = max(height, max(y for _, y in drawn.values()) + _MARGIN - low_y)
    picture = Graphic(max(left, 60.0), max(height, 60.0), title)
    for domain, members in topology.domains.items():
        for server in members:
            picture.add(Stroke((places[False, domain], places[True, server]), "frame", 1.4))
    for domain in topology.domains:
        _draw_domain(picture, domain, len(topology.domains[domain]), places[False, domain])
    routers = set(topology.routers())
    small = len(topology.servers) <= 60
    for server in topology.servers:
        x, y = places[True, server]
        is_router = server in routers
        tone = "s1" if is_router else "s0"
        told = ", ".join(topology.memberships[server]) or "no domain"
        picture.add(
            Dot(x, y, tone, 6.0 if is_router else 4.5, tip=f"{server}: {'router, ' * is_router}{told}")
        )
        if small or is_router:
            picture.add(Text(x, y - 8, server, "text", "middle", 11.0, bold=is_router))
    return picture


def _draw_domain(picture: Graphic, name: str, size: int, place: tuple[float, float]) -> None:
    x, y = place
    width = 16.0 + 7.0 * len(name)
    picture.add(
        Box(x - width / 2, y - 9, width, 18, "s2", 0.18, f"domain {name}: {size} servers", round=5),
        Text(x, y + 4, name, "s2", "middle", 12.0, bold=True),
    )


# --- where they go --------------------------------------------------------------------------------------------------

Around = dict[Vertex, list[Vertex]]


def _trees(topology: Topology) -> list[Around]:
    """Who hangs on whom, for each tree of the forest."""
    near: Around = {(True, server): [] for server in topology.servers}
    for domain, members in topology.domains.items():
        near[False, domain] = [(True, server) for server in members]
        for server in members:
            near[True, server].append((False, domain))
    trees: list[Around] = []
    seen: set[Vertex] = set()
    for start in near:
        if start not in seen:
            reached = _reached(near, start)
            seen.update(reached)
            trees.append({vertex: near[vertex] for vertex in reached})
    return trees


def _reached(near: Around, start: Vertex) -> dict[Vertex, Vertex | None]:
    """Breadth first: each vertex with the one that it was reached from."""
    found: dict[Vertex, Vertex | None] = {start: None}
    queue = [start]
    for vertex in queue:
        for other in near[vertex]:
            if other not in found:
                found[other] = vertex
                queue.append(other)
    return found


def _middle(near: Around) -> Vertex:
    """In the midst of the longest way."""
    far = list(_reached(near, next(iter(near))))[-1]
    back = _reached(near, far)
    way: list[Vertex] = []
    at: Vertex | None = list(back)[-1]
    while at is not None:
        way.append(at)
        at = back[at]
    return way[len(way) // 2]


def _rings(near: Around) -> dict[Vertex, tuple[float, float]]:
    root = _middle(near)
    above = _reached(near, root)
    width: dict[Vertex, float] = {}
    ring: dict[Vertex, int] = {}
    for vertex, parent in above.items():
        ring[vertex] = 0 if parent is None else ring[parent] + 1
    for vertex in reversed(above):
        width[vertex] = max(1.0, sum(width[one] for one in near[vertex] if above[one] == vertex))
    deepest = max(ring.values()) or 1
    step = max(RING, width[root] * LEAST_GAP / (2 * pi * deepest))
    places = {root: (0.0, 0.0)}
    middles = {root: pi / 2}
    for vertex in above:
        # As wide as its share of the circle, but not wider than what hangs on it needs.
        whole = 2 * pi * width[vertex] / width[root]
        needed = width[vertex] * MOST_GAP / (step * (ring[vertex] + 1))
        sector = whole if vertex == root else min(whole, needed)
        angle = middles[vertex] - sector / 2
        for one in near[vertex]:
            if above[one] != vertex:
                continue
            share = sector * width[one] / width[vertex]
            distance = step * ring[one]
            middles[one] = angle + share / 2
            places[one] = (distance * cos(middles[one]), distance * sin(middles[one]))
            angle += share
    return places
