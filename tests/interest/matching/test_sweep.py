"""One-off matching against all with all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interest.boxes import Box, all_pairs, boxes
from weft.interest.matching import match, sweep
from weft.interest.matching.sweep import Boxes


def made(found: list[Box], dimensions: int) -> Boxes:
    bounds = np.array(found, dtype=np.int64).reshape(len(found), dimensions, 2)
    return Boxes(bounds[:, :, 0].T, bounds[:, :, 1].T)


def matched(updates: Boxes, subscriptions: Boxes, closed: bool) -> list[tuple[int, int]]:
    found = match(updates, subscriptions, closed)
    return sorted(zip(found.updates.tolist(), found.subscriptions.tolist(), strict=True))


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@given(data=st.data())
@settings(max_examples=40)
def test_every_overlapping_pair_once(dimensions: int, closed: bool, data: st.DataObject) -> None:
    """Touching, degenerate and empty boxes, and numbers of 62 bits, included."""
    updates, subscriptions = data.draw(boxes(dimensions)), data.draw(boxes(dimensions))
    found = matched(made(updates, dimensions), made(subscriptions, dimensions), closed)
    assert found == all_pairs(updates, subscriptions, closed)


def random_boxes(seed: int, count: int, dimensions: int, span: int, long: float) -> Boxes:
    """Of very unequal sizes: some points, some as long as the whole span."""
    draw = np.random.default_rng(seed)
    lowers = draw.integers(0, span, (dimensions, count))
    lengths = draw.integers(0, np.where(draw.random((dimensions, count)) < long, span, span // 50))
    return Boxes(lowers, lowers + lengths)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("span", [60, 1 << 31, 1 << 60])
def test_many_cells_and_pieces(
    seed: int, closed: bool, dimensions: int, span: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large enough for several strips in each dimension and for candidates in several pieces."""
    monkeypatch.setattr(sweep, "PIECE", 1000)
    updates = random_boxes(seed, 400, dimensions, span, 0.1)
    subscriptions = random_boxes(seed + 1000, 300, dimensions, span, 0.02 * seed)
    lower = updates.lowers[:, :, None], subscriptions.lowers[:, None, :]
    upper = updates.uppers[:, :, None], subscriptions.uppers[:, None, :]
    least, most = np.maximum(*lower), np.minimum(*upper)
    full = least <= most if closed else least < most
    assert matched(updates, subscriptions, closed) == sorted(
        map(tuple, np.argwhere(full.all(axis=0)).tolist())
    )


def test_long_boxes_do_not_multiply() -> None:
    """One in a hundred is as large as the space, in three dimensions: copies stay few, and so does the memory."""
    draw = np.random.default_rng(1)
    lowers = draw.integers(0, 1 << 31, (3, 20_000))
    uppers = lowers + 1000
    lowers[:, ::100], uppers[:, ::100] = 0, 1 << 32
    updates = Boxes(lowers, uppers)
    found = match(updates, Boxes(lowers[:, 1::2], uppers[:, 1::2]))
    assert len(found.updates) >= 200 * 10_000
    assert (found.updates % 100 == 0).sum() == 200 * 10_000


def test_boxes_must_have_the_same_dimensions() -> None:
    with pytest.raises(ValueError, match="boxes of 1 and of 2 dimensions"):
        match(made([], 1), made([], 2))
    with pytest.raises(ValueError, match="one row per dimension"):
        Boxes(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="one row per dimension"):
        Boxes(np.zeros((0, 3)), np.zeros((0, 3)))
