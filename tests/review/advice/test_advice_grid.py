"""The grid's kernels against the strategies themselves, message by message, and against real nodes (issue 8, 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_recorded_rows import FED, NODES, OMT, Story, brute_counts, predicted
from weft.fom import parse_rid
from weft.interest.cell_settings import CellSettings
from weft.interest.ddm_settings import EXACT, GRID, MULTICAST, SIMPLE, SPACE, DdmSettings, read_ddm_settings
from weft.model.records import Source
from weft.review.advice.batches import model_spaces
from weft.review.advice.cells import SIZES, CutAxis
from weft.review.advice.grid import TrafficCounts, mask_of, meets_few, padded, summed, sums_in
from weft.review.advice.replay import KINDS, replay_strategy
from weft.review.advice.rid import Tried, best, better, candidates, one_by_one, shapes, with_shapes, write_rid

SETTINGS = [
    DdmSettings(strategy=EXACT),
    DdmSettings(strategy=SIMPLE),
    DdmSettings(strategy=SPACE),
    DdmSettings(strategy=GRID, partitions=1),
    DdmSettings(strategy=GRID, partitions=2),
    DdmSettings(strategy=GRID, partitions=8, max_channels=65_535),
    DdmSettings(strategy=GRID, partitions=4, max_channels=7),
]


def without_nothing(counts: dict[int, int]) -> dict[int, int]:
    return {who: number for who, number in counts.items() if number}


def check(counts: TrafficCounts, brute: dict[str, dict[int, int]]) -> None:
    for what, numbers in brute.items():
        assert without_nothing(getattr(counts, what)) == without_nothing(numbers), what


@given(st.integers(0, 10**6), st.sampled_from([FED, OMT]))
@settings(max_examples=15, deadline=None)
def test_counts_are_those_of_the_strategies(seed: int, source: Source) -> None:
    """All strategies, channels used again or not, one box or several, regions that move, federates that leave."""
    story = Story(seed, source)
    more = tuple(
        ((space.number, at), (5,)) for space in story.spaces.all for at in range(len(space.dimensions))
    )
    tried = [*SETTINGS, DdmSettings(strategy=GRID, partitions=5, max_channels=1000)]
    for one, counts in zip(tried, predicted(story.rows, source, tried, more), strict=True):
        check(counts, brute_counts(story.rows, story.spaces, one))


@given(st.integers(0, 10**6), st.data())
@settings(max_examples=12, deadline=None)
def test_grids_of_different_numbers_in_each_dimension(seed: int, data: st.DataObject) -> None:
    story = Story(seed, data.draw(st.sampled_from([FED, OMT])))
    base = DdmSettings(strategy=EXACT)
    chosen = {space.number: data.draw(st.sampled_from(shapes(space, 4096))) for space in story.spaces.all}
    setting = with_shapes(base, story.spaces, chosen)
    source = FED if story.interactions else OMT
    (counts,) = predicted(story.rows, source, [setting])
    check(counts, brute_counts(story.rows, story.spaces, setting))


@pytest.mark.parametrize("seed", range(3))
def test_nodes_count_what_was_predicted(seed: int) -> None:
    """The replay runs real kernels under each RID file; their own counters say the same as the prediction."""
    story = Story(seed, FED, steps=50)
    tried = SETTINGS
    for setting, counts in zip(tried, predicted(story.rows, FED, tried), strict=True):
        rid = Source("tried.rid", write_rid(setting, story.spaces).encode())
        told: Any = [row for row in story.rows if row["kind"] in KINDS]
        obtained = replay_strategy(told, (FED,), NODES, "S1", rid, lambda text: None)
        for what in ("sent", "copies", "received", "wanted"):
            assert without_nothing(getattr(counts, what)) == without_nothing(getattr(obtained, what)), what


def test_a_rid_file_for_every_candidate() -> None:
    """What is written is read again as the same settings."""
    for source in (FED, OMT):
        spaces = model_spaces((source,))
        numbers = [space.number for space in spaces.all]
        for base in (
            DdmSettings(strategy=EXACT),
            DdmSettings(strategy=EXACT, best_effort=MULTICAST, tbound=2.5, cells=CellSettings(100)),
        ):
            tried = candidates(spaces, base)
            tried += [one for grids in one_by_one(base, spaces, numbers).values() for _, one in grids[::5]]
            for setting in tried:
                text = write_rid(setting, spaces, ["a comment"])
                again = read_ddm_settings(parse_rid(Source("weft.rid", text.encode())), spaces)
                assert not again.unknown
                assert again.strategy == setting.strategy
                assert again.best_effort == setting.best_effort
                assert again.tbound == setting.tbound
                assert again.cells == setting.cells
                if setting.strategy == GRID:
                    assert again.max_channels == setting.max_channels
                    assert [again.partitions_of(s) for s in spaces.all] == [
                        setting.partitions_of(s) for s in spaces.all
                    ]


@given(st.integers(1, 5000), st.lists(st.integers(0, 4999), min_size=1, max_size=20))
def test_cells_are_whole_parts_of_every_grid(size: int, numbers: list[int]) -> None:
    axis = CutAxis(size, (*SIZES, 5))
    inside = np.array([number % size for number in numbers])
    for count in (*SIZES, 5):
        step = -(-size // count)
        assert (axis.partitions(count)[axis.cells(inside)] == inside // step).all()


@st.composite
def boxes(draw: st.DrawFn, counts: tuple[int, ...], least: int = 0) -> Any:
    def one() -> list[tuple[int, int]]:
        pairs = [sorted((draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1)))) for n in counts]
        return [(low, high) for low, high in pairs]

    made = [one() for _ in range(draw(st.integers(least, 5)))]
    return np.array(made, np.int64).reshape(len(made), len(counts), 2)


@given(st.data(), st.lists(st.integers(1, 6), max_size=3).map(tuple))
def test_summed_area_tables_count_what_lies_in_a_box(data: st.DataObject, counts: tuple[int, ...]) -> None:
    mask = mask_of(data.draw(boxes(counts)), counts)
    asked = data.draw(boxes(counts, 1))
    expected = [int(mask[tuple(slice(low, high + 1) for low, high in box)].sum()) for box in asked]
    assert sums_in(summed(mask), asked).tolist() == expected


@given(st.data(), st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple))
def test_few_boxes_and_tables_agree(data: st.DataObject, counts: tuple[int, ...]) -> None:
    covers = [data.draw(boxes(counts)) for _ in range(3)]
    asked = data.draw(boxes(counts, 1))
    versions = np.array([data.draw(st.integers(-1, 2)) for _ in asked])
    expected = [
        version >= 0 and bool(sums_in(summed(mask_of(covers[version], counts)), box[None])[0])
        for version, box in zip(versions, asked, strict=True)
    ]
    assert meets_few(*padded(covers, len(counts)), versions, [asked]).tolist() == expected


def test_the_coarsest_of_equals_is_advised() -> None:
    def tried(strategy: str, partitions: int, copies: int) -> Tried:
        totals = {"copies": copies, "casts": copies, "unwanted": 0}
        return Tried(DdmSettings(strategy=strategy, partitions=partitions), totals, partitions)

    simple, space, exact = tried(SIMPLE, 1, 1000), tried(SPACE, 1, 900), tried(EXACT, 1, 100)
    two, four, eight = tried(GRID, 2, 500), tried(GRID, 4, 105), tried(GRID, 8, 101)
    assert best([exact, simple, space, two, four, eight]) is four
    assert best([exact, simple, space, two]) is exact
    assert better(exact, four) is exact  # what the run had costs less
    assert better(two, four) is four
    assert better(exact, tried(SPACE, 1, 100)) is exact
    assert best([simple, tried(SPACE, 1, 1000), tried(GRID, 64, 1000), tried(EXACT, 1, 1000)]) is simple
