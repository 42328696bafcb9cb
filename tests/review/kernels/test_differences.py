"""The statistics of comparisons (issue 21, item 6), against brute force and by their laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.review.kernels.differences import adjusted, contrast, independent, outliers, steps

FIGURES = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=9)
SEED = 20261118


@given(FIGURES, FIGURES)
def test_delta_and_shift_are_those_of_all_pairs(before: list[float], after: list[float]) -> None:
    """Cliff's delta: pairs that are greater less those that are smaller; Hodges and Lehmann: the median of all differences."""
    told = contrast(np.array(before), np.array(after))
    differences = [b - a for a in before for b in after]
    wanted = sum((d > 0) - (d < 0) for d in differences) / len(differences)
    assert told.delta == pytest.approx(wanted)
    assert told.shift == pytest.approx(float(np.median(differences)))
    assert told.low <= told.shift <= told.high
    assert 0.0 <= told.p <= 1.0


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32))
def test_few_figures_are_tested_exactly(many: int, more: int, seed: int) -> None:
    """Of figures that are all different: the share of ways to deal them out that are as far from the middle."""
    values = np.random.default_rng(seed).permutation(many + more).astype(float)
    before, after = values[:many], values[many:]

    def wins(one: np.ndarray, other: np.ndarray) -> int:
        return int(sum((other[:, None] > one[None, :]).ravel()))

    middle = many * more / 2
    far = abs(wins(before, after) - middle)
    ways = list(itertools.combinations(range(many + more), more))
    hits = 0
    for way in ways:
        chosen = values[list(way)]
        rest = np.delete(values, list(way))
        hits += abs(wins(rest, chosen) - middle) >= far
    assert contrast(before, after).p == pytest.approx(min(1.0, hits / len(ways)))


@given(FIGURES, FIGURES)
def test_before_and_after_are_mirrored(before: list[float], after: list[float]) -> None:
    there, back = contrast(np.array(before), np.array(after)), contrast(np.array(after), np.array(before))
    assert there.p == pytest.approx(back.p)
    assert there.delta == pytest.approx(-back.delta)
    assert there.shift == pytest.approx(-back.shift)


def test_noise_is_rarely_taken_for_a_difference() -> None:
    """As often as p says, of figures with long tails."""
    random = np.random.default_rng(SEED)
    found = [contrast(random.exponential(size=30), random.exponential(size=25)).p for _ in range(2000)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.02)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_many_questions_make_each_answer_less_sure(p: list[float]) -> None:
    """Benjamini and Hochberg: the least, over all that are not smaller, of p times the number of questions by its rank."""
    ranked = sorted(p)
    for one, made in zip(p, adjusted(p), strict=True):
        wanted = min(ranked[k] * len(p) / (k + 1) for k in range(len(p)) if ranked[k] >= one)
        assert made == pytest.approx(min(1.0, wanted))


def test_a_step_is_found_where_it_is() -> None:
    random = np.random.default_rng(SEED)
    values = random.normal(10, 1, 200)
    values[70:] += 12
    values[150:] -= 3
    assert [step.place for step in steps(values)] == [70, 150]
    assert steps(values)[0].contrast.shift == pytest.approx(12, abs=0.6)


def test_a_step_in_few_figures_is_found() -> None:
    """Of two dozen runs; the exact test is sure of what the normal curve is not."""
    random = np.random.default_rng(SEED)
    values = random.normal(10, 0.2, 24)
    values[14:] += 10
    assert [step.place for step in steps(values, alpha=0.001 / 16)] == [14]
    values[13] = values[:14].max() + 0.1
    assert [step.place for step in steps(values, alpha=0.001 / 16)] == [14], "ranks alone would say 13"


def test_there_are_no_steps_in_noise() -> None:
    """Rows with long tails, and rows that are all alike."""
    random = np.random.default_rng(SEED)
    assert not any(steps(random.exponential(size=120)) for _ in range(60))
    assert not steps(np.ones(50))
    assert not steps(np.empty(0))


def test_one_that_stands_out_is_found_and_tails_are_not() -> None:
    random = np.random.default_rng(SEED)
    values = random.normal(10, 1, 100)
    values[40] = 40
    assert outliers(values) == [40]
    assert sum(bool(outliers(random.lognormal(0, 0.5, 200))) for _ in range(100)) <= 2
    assert outliers(np.ones(30)) == []
    values[60:] = 40
    assert outliers(values) == [], "they are too many to be outliers"


def test_neighbours_that_tell_of_one_another_count_as_one() -> None:
    """Figures that wander are few independent ones; those that do not stay as many as they are."""
    random = np.random.default_rng(SEED)
    assert len(independent(np.cumsum(random.normal(size=512)))) < 64
    assert len(independent(random.normal(size=512))) == 512
