"""Issue 21, 8: boxes matched tile by tile give the pairs that one process finds, whatever the boxes; each pair once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interest.boxes import Box, all_pairs, boxes
from weft.host.box_files import BoxSource, open_boxes
from weft.interest.matching.sweep import Boxes
from weft.review.matching.tasks import own_pairs
from weft.review.matching.tiling import (
    TaskLimits,
    Tiling,
    by_work,
    sampled,
    starts_inside,
    tile_of,
    tiles,
    tiling_of,
)

SMALL = TaskLimits(boxes=6, pairs=10)


def as_boxes(found: list[Box], dimensions: int) -> Boxes:
    bounds = np.array(found, dtype=np.int64).reshape(len(found), dimensions, 2)
    return Boxes(bounds[:, :, 0].T, bounds[:, :, 1].T)


def by_tiles(
    sides: tuple[Boxes, Boxes], closed: bool, limits: TaskLimits, share: int = 1
) -> list[tuple[int, int]]:
    """As tasks do it; `share`: the sample has every so manieth box."""
    samples = [sampled(Boxes(one.lowers[:, ::share], one.uppers[:, ::share]), closed, share) for one in sides]
    return swept(tiling_of(samples[0], samples[1], limits), sides, closed)


def swept(tiling: Tiling, sides: tuple[Boxes, Boxes], closed: bool) -> list[tuple[int, int]]:
    works: dict[int, list[np.ndarray]] = {}
    for side, given_boxes in enumerate(sides):
        full = np.flatnonzero(
            (given_boxes.lowers <= (given_boxes.uppers if closed else given_boxes.uppers - 1)).all(axis=0)
        )
        for work, places in by_work(tiling, sampled(given_boxes, closed), full, side):
            works.setdefault(work, [np.empty(0, np.int64)] * 2)[side] = full[places]
    found: list[tuple[int, int]] = []
    every = tiles(tiling)
    for work, chosen in works.items():
        tile = tile_of(every, work)
        mine = [
            Boxes(one.lowers[:, places], one.uppers[:, places])
            for one, places in zip(sides, chosen, strict=True)
        ]
        bits = [starts_inside(tile, one.lowers) for one in mine]
        for pairs in own_pairs(tile, mine, bits, closed):
            found += zip(
                chosen[0][pairs.updates].tolist(), chosen[1][pairs.subscriptions].tolist(), strict=True
            )
    return sorted(found)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@given(data=st.data())
@settings(max_examples=60)
def test_every_pair_once(dimensions: int, closed: bool, data: st.DataObject) -> None:
    """Touching, degenerate, empty, identical and very large boxes; tiles of a few boxes, and a sample of one of three."""
    updates, subscriptions = (data.draw(boxes(dimensions, most=30)) for _ in range(2))
    share = data.draw(st.sampled_from([1, 3]))
    sides = as_boxes(updates, dimensions), as_boxes(subscriptions, dimensions)
    assert by_tiles(sides, closed, SMALL, share) == all_pairs(updates, subscriptions, closed)


def even(count: int, seed: int) -> Boxes:
    draw = np.random.default_rng(seed)
    lowers = draw.integers(0, 10_000, (2, count))
    return Boxes(lowers, lowers + draw.integers(1, 300, (2, count)))


def skewed(shape: str, count: int = 600) -> tuple[Boxes, Boxes]:
    one, other = even(count, 1), even(count, 2)
    if shape == "one over all":
        one.lowers[:, 7], one.uppers[:, 7] = -5, 20_000
    elif shape == "all in one place":
        one, other = (Boxes(side.lowers // 500, side.lowers // 500 + 3) for side in (one, other))
    elif shape == "identical":
        one, other = (Boxes(np.zeros((2, count // 4), np.int64), np.full((2, count // 4), 9)) for _ in (0, 1))
    elif shape == "stripes":  # as long as the space in one dimension
        one.lowers[0], one.uppers[0] = 0, 10_000
    elif shape == "one against many":
        one = Boxes(one.lowers[:, :1] * 0, one.uppers[:, :1] * 0 + 10_000)
    return one, other


SHAPES = ("even", "one over all", "all in one place", "identical", "stripes", "one against many")


@pytest.mark.parametrize("shape", SHAPES)
def test_skewed_boxes_are_dealt_out(shape: str) -> None:
    """The same pairs, and no task has much more than it should: neither of boxes nor of pairs."""
    sides = skewed(shape)
    limits = TaskLimits(boxes=100, pairs=2_000)
    tiling = tiling_of(sampled(sides[0], False), sampled(sides[1], False), limits)
    full = (sides[0].lowers[:, :, None] < sides[1].uppers[:, None, :]) & (
        sides[1].lowers[:, None, :] < sides[0].uppers[:, :, None]
    )
    pairs = np.argwhere(full.all(axis=0))
    assert swept(tiling, sides, False) == sorted(map(tuple, pairs.tolist()))
    given_boxes: dict[int, int] = {}
    for side, one in enumerate(sides):
        for work, places in by_work(tiling, sampled(one, False), np.arange(len(one)), side):
            given_boxes[work] = given_boxes.get(work, 0) + len(places)
    assert max(given_boxes.values()) <= 3 * limits.boxes
    assert sum(tile.works for tile in tiles(tiling)) >= len(pairs) / limits.pairs / 4


def test_a_cut_does_not_multiply_long_boxes() -> None:
    """Boxes as long as the space in one dimension are cut in the other one only: each has about one copy."""
    sides = skewed("stripes")
    tiling = tiling_of(sampled(sides[0], False), sampled(sides[1], False), TaskLimits(100, 10**9))
    assert {dimension for tile in tiles(tiling) for dimension, _ in tile.begins} == {1}


# Files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of 10 boxes each, in row groups of four, beside a draft of somebody else."""
    below = tmp_path / "boxes"
    below.mkdir()
    for number in range(3):
        lowers = list(range(number * 10, number * 10 + 10))
        table = pa.table({"x_upper": [one + 2 for one in lowers], "x_lower": lowers, "note": ["?"] * 10})
        pq.write_table(table, below / f"{'abc'[number]}.parquet", row_group_size=4)
    (below / "_draft").mkdir()
    (below / "_draft" / "x.parquet").write_bytes(b"no file")
    return below


def read(source: BoxSource) -> list[tuple[int, int, int]]:
    return [
        row
        for part in source.parts
        for batch in source.batches(part)
        for row in zip(
            batch.ids.to_pylist(), batch.boxes.lowers[0].tolist(), batch.boxes.uppers[0].tolist(), strict=True
        )
    ]


def test_a_folder_is_numbered_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.host.box_files.ROWS_AT_ONCE", 3)
    source = open_boxes(str(folder))
    assert len(source.parts) == 6
    assert read(source) == [(number, number, number + 2) for number in range(30)]
    assert source.read().ids.to_pylist() == list(range(30))
