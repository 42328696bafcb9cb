"""Which classes could do with receive order, and what causal order costs them.

A class needs causal order where one of its messages, or a message that it is the cause of, could come before its
cause at a federate that gets both.  What a run shows of that: which message was being handled when another was sent
(a *cause*), and what a federate sent before (*its own order*).  Both are taken together class by class: from class A
to class B there is a way if some message of A came before some message of B by steps of either kind.  A way with a
cause in it, between classes that have a receiver in common, is a reason to keep the order; so is the mere order of
one sender, if one of the two classes is best effort, since reliable messages of one sender stay in order anyway.
Classes are taken for all their messages, so the advice errs on the side of order.

Time stamp order is kept where anything of the class had to wait for its time, too: then somebody relied on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from weft.review.advice.told import OrderData, PairData

ORDERED = ("CO", "CT", "TSO")


@dataclass
class ClassTraffic:
    """The messages of one class: `orders` counts by order, `control` and `payload` are bytes, by order too."""

    name: str
    orders: dict[str, int] = field(default_factory=dict)
    control: dict[str, int] = field(default_factory=dict)
    payload: int = 0
    reliable: bool = True
    sources: set[int] = field(default_factory=set)
    destinations: set[int] = field(default_factory=set)
    held: int = 0
    held_ns: int = 0

    def add(self, other: ClassTraffic) -> None:
        for mine, more in ((self.orders, other.orders), (self.control, other.control)):
            for order, number in more.items():
                mine[order] = mine.get(order, 0) + number
        self.payload += other.payload
        self.reliable = self.reliable and other.reliable
        self.sources |= other.sources
        self.destinations |= other.destinations
        self.held += other.held
        self.held_ns += other.held_ns


def advise(classes: Mapping[str, ClassTraffic], causes: Mapping[tuple[str, str], int]) -> list[OrderData]:
    """For each class that has an order, whether it could do without, and what that would save.

    `causes`: how many messages of the second class were sent while one of the first was being handled.
    """
    ways = _ways(classes, causes)
    found = []
    for name, one in sorted(classes.items()):
        pairs: list[PairData] = [
            {"cause": first, "effect": second, "times": causes.get((first, second), 0)}
            for first, second in sorted(_reasons(name, classes, ways))
        ]
        found += [_advice(one, order, pairs) for order in ORDERED if one.orders.get(order)]
    return found


def _advice(one: ClassTraffic, order: str, pairs: list[PairData]) -> OrderData:
    count, control = one.orders[order], one.control.get(order, 0)
    waited = order == "TSO" and one.held > 0
    free = not pairs and not waited
    return {
        "class": one.name,
        "order": order,
        "messages": count,
        "control_bytes_per_message": round(control / count, 2),
        "payload_bytes_per_message": round(one.payload / max(1, sum(one.orders.values())), 2),
        "held": one.held,
        "held_ms": round(one.held_ns / one.held / 1e6, 3) if one.held else 0.0,
        "could_use_RO": free,
        "saved_bytes": control if free else 0,
        "pairs": pairs,
    }


def _reasons(
    name: str, classes: Mapping[str, ClassTraffic], ways: set[tuple[str, str, bool]]
) -> Iterable[tuple[str, str]]:
    found = set()
    for first, second, caused in ways:
        if name not in (first, second):
            continue
        one, other = classes[first], classes[second]
        if one.destinations & other.destinations and (caused or not (one.reliable and other.reliable)):
            found.add((first, second))
    return found


def _ways(
    classes: Mapping[str, ClassTraffic], causes: Mapping[tuple[str, str], int]
) -> set[tuple[str, str, bool]]:
    """(from, to, is a cause among the steps): everything that can be put together of single steps."""
    steps = {(first, second, True) for first, second in causes if first in classes and second in classes}
    names = sorted(classes)
    steps |= {(one, other, False) for one in names for other in names
              if classes[one].sources & classes[other].sources}  # fmt: skip
    after: dict[str, set[tuple[str, bool]]] = {name: set() for name in names}
    for first, second, caused in steps:
        after[first].add((second, caused))
    found: set[tuple[str, str, bool]] = set()
    for start in names:
        waiting = [(second, caused) for second, caused in after[start]]
        seen = set(waiting)
        while waiting:
            at, so_far = waiting.pop()
            found.add((start, at, so_far))
            for second, caused in after[at]:
                step = (second, so_far or caused)
                if step not in seen:
                    seen.add(step)
                    waiting.append(step)
    return found
