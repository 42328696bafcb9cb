"""Incremental matching against all with all, and the shape of its index."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interest.boxes import Box, boxes, overlap
from weft.interest.matching import BoxTree, Overlaps
from weft.interest.matching.tree import LEAF, TreeNode


def flat(box: Box) -> tuple[int, ...]:
    return (*(lower for lower, _ in box), *(upper for _, upper in box))


def check(tree: BoxTree) -> int:
    """What a tree must hold at all times; returns its depth."""
    keys: list[Hashable] = []

    def below(node: TreeNode, depth: int) -> tuple[list[tuple[int, ...]], int]:
        d = tree.dimensions
        if node.low is None or node.high is None:
            assert len(node.keys) == node.size
            assert all(tree.leaf_of[key] is node for key in node.keys)
            keys.extend(node.keys)
            found, deepest = [tree.box(key) for key in node.keys], depth
        else:
            assert not node.keys
            assert node.low.parent is node.high.parent is node
            low, one = below(node.low, depth + 1)
            high, other = below(node.high, depth + 1)
            assert low
            assert high
            assert all(box[node.dimension] < node.split for box in low)
            assert all(box[node.dimension] >= node.split for box in high)
            found, deepest = low + high, max(one, other)
            assert node.size == len(found)
        if found:
            assert list(node.reach) == [max(box[d + k] for box in found) for k in range(d)]
        return found, deepest

    _, deepest = below(tree.root, 0)
    assert sorted(map(repr, keys)) == sorted(map(repr, tree.leaf_of))
    assert len(tree) == len(keys)
    return deepest


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@given(data=st.data())
@settings(max_examples=25)
def test_gains_and_losses_are_those_of_comparing_all(dimensions: int, data: st.DataObject) -> None:
    """Regions of several extents come, move and go on both sides."""
    found = Overlaps(dimensions)
    sides: tuple[dict[int, list[Box]], dict[int, list[Box]]] = ({}, {})
    some = boxes(dimensions, most=3, empty=False)
    for side, name, here in data.draw(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 7), some), max_size=40)
    ):
        mine, theirs = sides[side], sides[1 - side]
        before = overlapped(mine.get(name, []), theirs)
        change = (found.set_update, found.set_subscription)[side](name, [flat(box) for box in here])
        mine.pop(name, None)
        if here:
            mine[name] = here
        after = overlapped(here, theirs)
        assert change == (after - before, before - after)
    for name in range(8):
        assert found.of_update(name) == overlapped(sides[0].get(name, []), sides[1])
        assert found.subscriptions.overlaps.get(name, set()) == overlapped(sides[1].get(name, []), sides[0])
    check(found.updates.tree)
    check(found.subscriptions.tree)


def overlapped(here: list[Box], others: dict[int, list[Box]]) -> set[int]:
    return {
        name
        for name, there in others.items()
        if any(overlap(one, other, closed=False) for one in here for other in there)
    }


Plain = tuple[int, ...]


def meet(one: Plain, other: Plain) -> bool:
    d = len(one) // 2
    return all(one[k] < other[d + k] and other[k] < one[d + k] for k in range(d))


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(2))
def test_a_tree_of_many_levels_against_all(dimensions: int, seed: int) -> None:
    """Boxes drift from one corner to the other, with equal corners and equal boxes among them."""
    draw = random.Random(seed)
    tree, there = BoxTree(dimensions), dict[int, Plain]()
    for step in range(3000):
        key = draw.randrange(400)
        middle = step // 3
        lower = [middle + draw.randrange(0, 200, 1 + 20 * (seed % 2)) for _ in range(dimensions)]
        box = (*lower, *(low + draw.choice((1, 7, 60)) for low in lower))
        if key not in there:
            tree.insert(key, box)
        elif draw.random() < 0.2:
            assert tree.remove(key) == there.pop(key)
            continue
        else:
            assert tree.move(key, box) == there[key]
        there[key] = box
        if step % 25 == 0:
            found = tree.overlapping(box)
            assert sorted(map(repr, found)) == sorted(
                repr(k) for k, other in there.items() if meet(box, other)
            )
        if step % 500 == 0:
            check(tree)
    assert check(tree) <= 10
    for key in list(there):
        tree.remove(key)
    assert len(tree) == 0
    assert tree.overlapping((0,) * dimensions + (9999,) * dimensions) == []


def test_the_depth_stays_logarithmic_when_all_move_to_one_corner() -> None:
    draw = random.Random(5)
    tree = BoxTree(2)
    for key in range(4000):
        x, y = draw.randrange(1 << 20), draw.randrange(1 << 20)
        tree.insert(key, (x, y, x + 9, y + 9))
    shallow = check(tree)
    for key in range(4000):
        x, y = draw.randrange(1 << 10), draw.randrange(1 << 10)
        tree.move(key, (x, y, x + 9, y + 9))
    assert check(tree) <= shallow + 5


def test_equal_boxes_stay_together_and_cost_nothing_more() -> None:
    """Default regions are equal: a thousand of them must not be looked through for a way to split them each time."""
    tree = BoxTree(2)
    for key in range(1000):
        tree.insert(key, (0, 0, 99, 99))
    assert tree.root.limit >= 1000
    for key in range(1000, 1000 + 2 * LEAF):
        tree.insert(key, (0, 0, key, key))
    for key in range(2000, 3100):
        tree.insert(key, (key, key, key + 1, key + 1))
    assert check(tree) > 1
    assert len(tree.overlapping((98, 98, 99, 99))) == 1000 + 2 * LEAF
    assert len(tree.overlapping((99, 98, 100, 99))) == 2 * LEAF


def test_what_is_refused() -> None:
    tree = BoxTree(2)
    tree.insert("a", (0, 0, 1, 1))
    assert "a" in tree
    with pytest.raises(KeyError, match="already"):
        tree.insert("a", (0, 0, 1, 1))
    with pytest.raises(ValueError, match="4 bounds, not 2"):
        tree.insert("b", (0, 1))
    with pytest.raises(ValueError, match=r"nothing lies in \[1, 1\)"):
        tree.move("a", (0, 1, 1, 1))
    assert tree.box("a") == (0, 0, 1, 1)
    with pytest.raises(KeyError):
        tree.remove("b")
