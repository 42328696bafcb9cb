"""Filtering (S3-4): from the source and the type of an event to who gets it.

Subscriptions stand in tables: source → type → leaves, with 0 for "any" in both.  An event of source s and type t concerns what
stands under (s, t), (s, any), (any, t) and (any, any): four look-ups, however many subscriptions there are.

What they find is kept as a *route*: the targets of one concrete pair, in the order in which the consumers connected.  Suppliers
keep the routes they use, so a push costs one comparison before the first consumer is called.  A change of subscriptions marks
exactly the routes that it concerns as stale; the next push through one of them works it out anew.  The targets of a route are
replaced, never changed, so a push that is under way goes on with those it began with.
"""

from __future__ import annotations

from typing import Final

from weft.channel.correlation import (
    AnyNode,
    CorrelationNode,
    CorrelationStep,
    LeafNode,
    Registration,
    steps_to,
)
from weft.channel.event import ANY
from weft.channel.scheduling.urgency import Urgency

Pattern = tuple[int, int]
"""(source, type); 0 is any."""

ROUTES: Final = 65_536  # more pairs than this are not remembered at the same time


class Target:
    """A consumer that an event of a route concerns.

    plain: the event alone makes it fire, and there is no state to change.  Otherwise `steps` has the way through the tree of each
    registration that the event can reach.
    """

    __slots__ = ("plain", "registration", "registrations", "steps", "urgency")

    def __init__(self, leaves: list[LeafNode]) -> None:
        first = leaves[0]
        self.registration = first.registration
        self.urgency: Urgency = first.urgency
        self.plain = len(leaves) == 1 and _is_plain(first)
        self.registrations: list[Registration] = []
        self.steps: list[CorrelationStep] = []
        if not self.plain:
            mine: dict[int, list[LeafNode]] = {}
            for leaf in leaves:
                mine.setdefault(leaf.registration.number, []).append(leaf)
            for number in sorted(mine):
                self.registrations.append(mine[number][0].registration)
                self.steps.append(steps_to(mine[number]))


class PushRoute:
    """Who gets the events of one source and type."""

    __slots__ = ("crosses", "fresh", "source", "targets", "type")

    def __init__(self, source: int, type: int) -> None:
        self.source = source
        self.type = type
        self.fresh = False
        self.crosses = False  # does a gateway take them further?
        self.targets: list[Target] = []


class Subscriptions:
    def __init__(self) -> None:
        self._tables: dict[int, dict[int, dict[LeafNode, None]]] = {}
        self._routes: dict[int, dict[int, PushRoute]] = {}  # source → type
        self._by_type: dict[int, dict[int, PushRoute]] = {}  # type → source
        self._known = 0
        self.built = 0  # how often a route was worked out

    def add(self, leaf: LeafNode) -> None:
        types = self._tables.setdefault(leaf.source, {})
        types.setdefault(leaf.type, {})[leaf] = None
        self._invalidate(leaf.source, leaf.type)

    def remove(self, leaf: LeafNode) -> None:
        types = self._tables[leaf.source]
        leaves = types[leaf.type]
        del leaves[leaf]
        if not leaves:
            del types[leaf.type]
            if not types:
                del self._tables[leaf.source]
        self._invalidate(leaf.source, leaf.type)

    def match(self, source: int, type: int) -> list[LeafNode]:
        """All leaves that an event of this source and type satisfies, in no order."""
        found: list[LeafNode] = []
        for asked in (source, ANY):
            types = self._tables.get(asked)
            if types is not None:
                for kind in (type, ANY):
                    leaves = types.get(kind)
                    if leaves is not None:
                        found.extend(leaves)
        return found

    def route(self, source: int, type: int) -> PushRoute:
        """The route of a concrete pair, ready for use."""
        types = self._routes.get(source)
        route = types.get(type) if types is not None else None
        if route is None:
            if self._known >= ROUTES:
                self._forget()
            route = PushRoute(source, type)
            self._routes.setdefault(source, {})[type] = route
            self._by_type.setdefault(type, {})[source] = route
            self._known += 1
        if not route.fresh:
            self.refresh(route)
        return route

    def refresh(self, route: PushRoute) -> None:
        self.built += 1
        route.targets = targets(self.match(route.source, route.type))
        route.crosses = any(target.registration.owner.is_gateway for target in route.targets)
        route.fresh = True

    def stale_all(self) -> None:
        for routes in self._routes.values():
            _stale(routes)

    def _forget(self) -> None:
        """Suppliers may keep what is forgotten here; being stale, it is not used again."""
        self.stale_all()
        self._routes = {}
        self._by_type = {}
        self._known = 0

    def _invalidate(self, source: int, type: int) -> None:
        if source != ANY and type != ANY:
            types = self._routes.get(source)
            route = types.get(type) if types is not None else None
            if route is not None:
                route.fresh = False
        elif source != ANY:
            _stale(self._routes.get(source))
        elif type != ANY:
            _stale(self._by_type.get(type))
        else:
            self.stale_all()


def _is_plain(leaf: LeafNode) -> bool:
    """Only disjunctions above it, and nothing that has to hear of its firing."""
    node: CorrelationNode | None = leaf.parent
    while node is not None:
        if not isinstance(node, AnyNode):
            return False
        node = node.parent
    return not leaf.registration.deadlines and not leaf.registration.owner.clears


def targets(leaves: list[LeafNode]) -> list[Target]:
    """By consumer, in the order in which they connected."""
    mine: dict[int, list[LeafNode]] = {}
    for leaf in leaves:
        mine.setdefault(leaf.registration.owner.number, []).append(leaf)
    return [Target(mine[number]) for number in sorted(mine)]


def _stale(routes: dict[int, PushRoute] | None) -> None:
    if routes is not None:
        for route in routes.values():
            route.fresh = False


class Wants:
    """What is wanted: how many want each pattern, and whether anybody wants what a publication offers."""

    def __init__(self) -> None:
        self.counts: dict[Pattern, int] = {}
        self._sources: dict[int, int] = {}
        self._types: dict[int, int] = {}

    def add(self, pattern: Pattern) -> bool:
        """Is this the first?"""
        count = self.counts.get(pattern, 0)
        self.counts[pattern] = count + 1
        if count == 0:
            self._sources[pattern[0]] = self._sources.get(pattern[0], 0) + 1
            self._types[pattern[1]] = self._types.get(pattern[1], 0) + 1
        return count == 0

    def remove(self, pattern: Pattern) -> bool:
        """Was this the last?"""
        count = self.counts[pattern] - 1
        if count:
            self.counts[pattern] = count
            return False
        del self.counts[pattern]
        _less(self._sources, pattern[0])
        _less(self._types, pattern[1])
        return True

    def overlaps(self, source: int, type: int) -> bool:
        """Does anybody want something that fits this, where 0 is any?"""
        if source == ANY and type == ANY:
            return len(self.counts) > 0
        if source == ANY:
            return type in self._types or ANY in self._types
        if type == ANY:
            return source in self._sources or ANY in self._sources
        counts = self.counts
        return (
            (source, type) in counts
            or (source, ANY) in counts
            or (ANY, type) in counts
            or (ANY, ANY) in counts
        )


def _less(counts: dict[int, int], key: int) -> None:
    if counts[key] == 1:
        del counts[key]
    else:
        counts[key] -= 1
