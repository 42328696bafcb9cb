"""Boxes for tests, and which of them overlap by comparing all with all."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

Box = tuple[tuple[int, int], ...]  # lower and upper bound in each dimension

FAR = 1 << 62


def boxes(dimensions: int, most: int = 12, empty: bool = True) -> st.SearchStrategy[list[Box]]:
    """Small numbers, so that many touch; a few very large ones; where asked also boxes without any number in them."""
    number = st.integers(-3, 9) | st.sampled_from([-FAR, FAR, (1 << 32) - 1, 1 << 32])
    pair = st.tuples(number, number)
    if not empty:
        pair = pair.map(lambda bounds: (min(bounds), max(bounds) + 1))
    return st.lists(st.tuples(*[pair] * dimensions), max_size=most)


def overlap(one: Box, other: Box, closed: bool) -> bool:
    """Is there a number in both, in every dimension?"""
    more = 1 if closed else 0
    return all(
        max(a, c) < min(b, d) + more and a < b + more and c < d + more
        for (a, b), (c, d) in zip(one, other, strict=True)
    )


def all_pairs(updates: Sequence[Box], subscriptions: Sequence[Box], closed: bool) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, update in enumerate(updates)
        for j, subscription in enumerate(subscriptions)
        if overlap(update, subscription, closed)
    ]
