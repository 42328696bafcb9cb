"""Who overlaps whom, kept while regions come, move and go; each change says what it gained and what it lost.

Two sides, updates and subscriptions, each with its own index of boxes.  A region may have several extents, and each is a
box of its own in the index; two regions overlap when any of their boxes do.  What a region overlapped before a move is
kept, so gains and losses are the difference of two small sets and cost no second search.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from weft.interest.matching.tree import Box, BoxTree

Name = Hashable


class OverlapChange(NamedTuple):
    """Regions of the other side that a region overlaps since now, and no longer."""

    gained: set[Name]
    lost: set[Name]


class Overlaps:
    """The overlaps between the update regions and the subscription regions of one space."""

    def __init__(self, dimensions: int) -> None:
        self.updates = Side(dimensions)
        self.subscriptions = Side(dimensions)

    def set_update(self, name: Name, boxes: Sequence[Box]) -> OverlapChange:
        """The update region of that name now has these boxes; none at all takes it away."""
        return _set(self.updates, self.subscriptions, name, boxes)

    def set_subscription(self, name: Name, boxes: Sequence[Box]) -> OverlapChange:
        """The subscription region of that name now has these boxes; none at all takes it away."""
        return _set(self.subscriptions, self.updates, name, boxes)

    def of_update(self, name: Name) -> set[Name]:
        """The subscription regions it overlaps; belongs to this object, not to be changed."""
        return self.updates.overlaps.get(name, NOBODY)


NOBODY: set[Name] = set()


class Further(NamedTuple):
    """The key of a box of a region after its first, whose key is the region's name."""

    name: Name
    number: int


class Side:
    """The regions of one side: their boxes, and whom each overlaps."""

    def __init__(self, dimensions: int) -> None:
        self.tree = BoxTree(dimensions)
        self.overlaps: dict[Name, set[Name]] = {}
        self.further: dict[Name, int] = {}  # how many boxes a region has after its first

    def place(self, name: Name, boxes: Sequence[Box]) -> None:
        tree = self.tree
        if not boxes:
            if name in tree:
                tree.remove(name)
        elif name in tree:
            tree.move(name, boxes[0])
        else:
            tree.insert(name, boxes[0])
        if self.further or len(boxes) > 1:
            self._place_further(name, boxes)

    def _place_further(self, name: Name, boxes: Sequence[Box]) -> None:
        had = self.further.pop(name, 0)
        for number in range(1, len(boxes)):
            if number <= had:
                self.tree.move(Further(name, number), boxes[number])
            else:
                self.tree.insert(Further(name, number), boxes[number])
        for number in range(max(1, len(boxes)), had + 1):
            self.tree.remove(Further(name, number))
        if len(boxes) > 1:
            self.further[name] = len(boxes) - 1

    def overlapping(self, boxes: Sequence[Box]) -> set[Name]:
        found: set[Name] = set()
        for box in boxes:
            found.update(self.tree.overlapping(box))
        if self.further:
            return {key.name if isinstance(key, Further) else key for key in found}
        return found


def _set(mine: Side, theirs: Side, name: Name, boxes: Sequence[Box]) -> OverlapChange:
    mine.place(name, boxes)
    before = mine.overlaps.get(name, NOBODY)
    after = theirs.overlapping(boxes)
    gained, lost = after - before, before - after
    for other in gained:
        theirs.overlaps[other].add(name)
    for other in lost:
        theirs.overlaps[other].discard(name)
    if boxes:
        mine.overlaps[name] = after
    else:
        mine.overlaps.pop(name, None)
    return OverlapChange(gained, lost)
