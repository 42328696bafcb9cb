"""An index of boxes that move: which of them overlap a given box, in logarithmic time.

Theory.  A k-d tree over the *lower corners* of the boxes, with the boxes in its leaves.  An inner node splits one
dimension: boxes that start below `split` stand on its low side, all others on its high side.  Each node also knows how far
up the boxes below it `reach`, in every dimension (an interval tree does the same in one dimension).  A box that is sought
descends to the high side only if it ends after the split, and to any node only if it starts before the reach of that node.

- A leaf that holds more than LEAF boxes is split at the median of the dimension in which their lower corners lie widest
  apart; boxes with one and the same lower corner are split by an upper bound, and equal boxes stay together.
- A subtree of which one side holds more than HEAVY of it is built anew once enough has changed in it, so the depth stays
  logarithmic however boxes drift; such work is paid by the changes since it was built, O(log² n) each at worst.
- An empty side is taken out at once.

A box that only moves within its leaf, which is the usual case of things that move a little, costs a way down and a way up.
Bounds are half-open, of 64 bits.  Boxes are tuples, all lower bounds and then all upper bounds; keys are chosen by the
caller.  A leaf keeps the bounds of its boxes one after the other in an array: with a hundred thousand boxes the time goes
into waiting for memory, and numbers that are objects of their own lie anywhere.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from typing import TypeAlias

LEAF = 24
HEAVY = 0.72
CHANGED = 0.25  # of its size: so much has changed in a subtree before it is built anew

Box = tuple[int, ...]
Numbers: TypeAlias = "array[int]"


class TreeNode:
    """A leaf has `keys`, and the `bounds` of their boxes in the same order; an inner node has two sides instead."""

    __slots__ = (
        "bounds", "changes", "dimension", "high", "keys", "limit", "low", "parent", "reach", "size", "split",
    )  # fmt: skip

    def __init__(self, parent: TreeNode | None, dimensions: int) -> None:
        self.parent = parent
        self.size = 0
        self.reach: list[int] = [0] * dimensions  # means nothing where the node is empty
        self.keys: list[Hashable] = []
        self.bounds: Numbers = array("q")
        self.limit = LEAF  # of a leaf: more boxes are split
        self.changes = 0  # boxes put and taken since the subtree was built
        self.dimension = -1  # a place in a box: lower bounds come first, then upper bounds
        self.split = 0
        self.low: TreeNode | None = None
        self.high: TreeNode | None = None


class BoxTree:
    """Boxes by key, all of the same number of dimensions."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.root = TreeNode(None, dimensions)
        self.leaf_of: dict[Hashable, TreeNode] = {}

    def __len__(self) -> int:
        return self.root.size

    def __contains__(self, key: object) -> bool:
        return key in self.leaf_of

    def box(self, key: Hashable) -> Box:
        leaf = self.leaf_of[key]
        return _box(leaf, leaf.keys.index(key), 2 * self.dimensions)

    # Searching

    def overlapping(self, box: Box) -> list[Hashable]:
        """The keys of all boxes that overlap the given one, in no particular order."""
        found: list[Hashable] = []
        if not self.root.size:
            return found
        d = self.dimensions
        lowers, uppers = box[:d], box[d:]
        waiting: list[TreeNode] = [self.root]
        while waiting:
            node = waiting.pop()
            low, high = node.low, node.high
            if low is None or high is None:
                _search_leaf(node, box, d, found)
                continue
            reach = low.reach
            for k in range(d):
                if lowers[k] >= reach[k]:
                    break
            else:
                waiting.append(low)
            k = node.dimension
            if k >= d or uppers[k] > node.split:
                reach = high.reach
                for k in range(d):
                    if lowers[k] >= reach[k]:
                        break
                else:
                    waiting.append(high)
        return found

    # Changing

    def insert(self, key: Hashable, box: Box) -> None:
        if key in self.leaf_of:
            raise KeyError(f"{key!r} is in the index already")
        self._put(key, self._checked(box))

    def remove(self, key: Hashable) -> Box:
        """Returns the box that stood there."""
        leaf = self.leaf_of.pop(key)
        box = self._cut_out(leaf, key)
        self._took(leaf, box)
        return box

    def move(self, key: Hashable, box: Box) -> Box:
        """Returns the box that stood there before."""
        self._checked(box)
        leaf = self.leaf_of[key]
        if self._home(box) is leaf:
            width = 2 * self.dimensions
            place = leaf.keys.index(key)
            before = _box(leaf, place, width)
            leaf.bounds[place * width : (place + 1) * width] = array("q", box)
            self._changed(leaf, before, box)
            return before
        before = self._cut_out(leaf, key)
        self._took(leaf, before)
        self._put(key, box)
        return before

    def _cut_out(self, leaf: TreeNode, key: Hashable) -> Box:
        """Take a box from its leaf; the last one of the leaf gets its place."""
        width = 2 * self.dimensions
        keys, bounds = leaf.keys, leaf.bounds
        place, last = keys.index(key), len(keys) - 1
        box = _box(leaf, place, width)
        if place != last:
            keys[place] = keys[last]
            bounds[place * width : (place + 1) * width] = bounds[last * width :]
        keys.pop()
        del bounds[last * width :]
        return box

    def _checked(self, box: Box) -> Box:
        d = self.dimensions
        if len(box) != 2 * d:
            raise ValueError(f"a box of {d} dimensions has {2 * d} bounds, not {len(box)}")
        for k in range(d):
            if box[k] >= box[d + k]:
                raise ValueError(f"nothing lies in [{box[k]}, {box[d + k]})")
        return box

    def _home(self, box: Box) -> TreeNode:
        """The leaf for a box."""
        node = self.root
        while True:
            low, high = node.low, node.high
            if low is None or high is None:
                return node
            node = low if box[node.dimension] < node.split else high

    def _put(self, key: Hashable, box: Box) -> None:
        leaf = self._home(box)
        leaf.keys.append(key)
        leaf.bounds.extend(box)
        self.leaf_of[key] = leaf
        d = self.dimensions
        node: TreeNode | None = leaf
        heavy: TreeNode | None = None
        while node is not None:
            reach = node.reach
            if node.size:
                for k in range(d):
                    if box[d + k] > reach[k]:
                        reach[k] = box[d + k]
            else:
                node.reach = list(box[d:])
            node.size += 1
            node.changes += 1
            if _is_heavy(node):
                heavy = node
            node = node.parent
        if heavy is not None:
            self._rebuild(heavy)
        elif leaf.size > leaf.limit:
            self._split(leaf)

    def _took(self, leaf: TreeNode, box: Box) -> None:
        """A box has been taken from the leaf."""
        node: TreeNode | None = leaf
        heavy: TreeNode | None = None
        shrinks = True
        while node is not None:
            node.size -= 1
            node.changes += 1
            if shrinks and node.size:
                shrinks = self._shrink(node, box)
            if _is_heavy(node):
                heavy = node
            node = node.parent
        if not leaf.size and leaf.parent is not None:
            self._take_out(leaf, leaf.parent)  # what was heavy stands without it, or is no more
            heavy = None
        if heavy is not None:
            self._rebuild(heavy)

    def _changed(self, leaf: TreeNode, before: Box, after: Box) -> None:
        """A box moved within its leaf; only how far nodes reach may change."""
        d = self.dimensions
        if before[d:] == after[d:]:
            return
        node: TreeNode | None = leaf
        while node is not None:
            reach = node.reach
            changed = False
            for k in range(d):
                if after[d + k] > reach[k]:
                    reach[k] = after[d + k]
                    changed = True
            if self._shrink(node, before):
                changed = True
            if not changed:
                return
            node = node.parent

    def _shrink(self, node: TreeNode, gone: Box) -> bool:
        """Take back the reach of a node that no longer holds a box; did it change?"""
        d = self.dimensions
        changed = False
        for k in range(d):
            if gone[d + k] >= node.reach[k]:
                low, high = node.low, node.high
                if low is None or high is None:
                    most = max(node.bounds[d + k :: 2 * d])
                elif not low.size:
                    most = high.reach[k]
                elif not high.size:
                    most = low.reach[k]
                else:
                    most = max(low.reach[k], high.reach[k])
                if most != node.reach[k]:
                    node.reach[k] = most
                    changed = True
        return changed

    # Shape

    def _take_out(self, leaf: TreeNode, parent: TreeNode) -> None:
        """An empty leaf: its parent becomes what the other side is."""
        other = parent.high if parent.low is leaf else parent.low
        assert other is not None
        self._become(parent, other)

    def _become(self, node: TreeNode, other: TreeNode) -> None:
        """Keep the node, which its parent knows, and give it what the other has."""
        node.size, node.reach = other.size, other.reach
        node.changes, node.limit = other.changes, other.limit
        node.dimension, node.split = other.dimension, other.split
        node.low, node.high = other.low, other.high
        node.keys, node.bounds = other.keys, other.bounds
        if node.low is not None and node.high is not None:
            node.low.parent = node.high.parent = node
        for key in node.keys:
            self.leaf_of[key] = node

    def _rebuild(self, node: TreeNode) -> None:
        keys: list[Hashable] = []
        bounds: Numbers = array("q")
        waiting: list[TreeNode] = [node]
        while waiting:
            one = waiting.pop()
            keys += one.keys
            bounds += one.bounds
            if one.low is not None and one.high is not None:
                waiting.append(one.low)
                waiting.append(one.high)
        node.low = node.high = None
        node.keys, node.bounds = keys, bounds
        self._split(node)

    def _split(self, top: TreeNode) -> None:
        """Make a subtree of a leaf that is too large, as balanced as its corners allow."""
        waiting: list[TreeNode] = [top]
        while waiting:
            node = waiting.pop()
            node.changes = 0
            count = len(node.keys)
            if count <= LEAF or not self._cut(node):
                node.limit = LEAF if count <= LEAF else 2 * count
                for key in node.keys:
                    self.leaf_of[key] = node
            else:
                waiting += self._deal(node)

    def _deal(self, node: TreeNode) -> list[TreeNode]:
        """Give the boxes of a node to two new sides of it."""
        d = self.dimensions
        width = 2 * d
        low, high = TreeNode(node, d), TreeNode(node, d)
        split, bounds = node.split, node.bounds
        start = 0
        for key, bound in zip(node.keys, bounds[node.dimension :: width], strict=True):
            side = low if bound < split else high
            side.keys.append(key)
            side.bounds += bounds[start : start + width]
            start += width
        for side in (low, high):
            side.size = len(side.keys)
            side.reach = [max(side.bounds[d + j :: width]) for j in range(d)]
        node.low, node.high, node.keys, node.bounds = low, high, [], array("q")
        return [low, high]

    def _cut(self, node: TreeNode) -> bool:
        """Choose dimension and place of a split; False where all boxes are equal."""
        best, widest = -1, 0
        for k in range(2 * self.dimensions):
            if k == self.dimensions and best >= 0:
                break
            bounds = node.bounds[k :: 2 * self.dimensions]
            width = max(bounds) - min(bounds)
            if width > widest:
                best, widest = k, width
        if best < 0:
            return False
        ordered = sorted(node.bounds[best :: 2 * self.dimensions])
        middle = ordered[len(ordered) // 2]
        # At least one box lies below the split: where the median is the least of all, the next greater one is taken.
        node.split = middle if middle > ordered[0] else next(bound for bound in ordered if bound > middle)
        node.dimension = best
        return True


def _is_heavy(node: TreeNode) -> bool:
    low, high = node.low, node.high
    if low is None or high is None or node.size <= 2 * LEAF or node.changes <= CHANGED * node.size:
        return False
    return max(low.size, high.size) > HEAVY * node.size


def _box(leaf: TreeNode, place: int, width: int) -> Box:
    return tuple(leaf.bounds[place * width : (place + 1) * width])


def _search_leaf(leaf: TreeNode, sought: Box, d: int, found: list[Hashable]) -> None:
    keys, bounds = leaf.keys, leaf.bounds
    if d == 2:  # most routing spaces are maps, and unrolled this is three times as fast
        left, bottom, right, top = sought
        place = 0
        for key in keys:
            if (
                bounds[place] < right
                and left < bounds[place + 2]
                and bounds[place + 1] < top
                and bottom < bounds[place + 3]
            ):
                found.append(key)
            place += 4
        return
    start = 0
    for key in keys:
        for k in range(d):
            if bounds[start + k] >= sought[d + k] or sought[k] >= bounds[start + d + k]:
                break
        else:
            found.append(key)
        start += 2 * d
