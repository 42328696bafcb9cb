"""Issue 21: a log that is scanned in stretches, side by side, gives exactly what the scan of the whole gives."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.logs import Entry, by_force, columns, processes_of, random_log
from weft.review.kernels.log_scan import Key, LateMessage, LogScan
from weft.review.kernels.stretches import StretchEffect, compose, nothing, starts, summarise

SEEDS = st.integers(0, 2**32)


def plain(log: Sequence[Entry]) -> list[LateMessage]:
    return LogScan().feed(*columns(log))


def cut(log: Sequence[Entry], seed: int) -> list[Sequence[Entry]]:
    chance = random.Random(seed)
    places = sorted(chance.randint(0, len(log)) for _ in range(chance.randint(0, 6)))
    return [log[begin:end] for begin, end in itertools.pairwise([0, *places, len(log)])]


def crossing(parts: Sequence[Sequence[Entry]]) -> list[list[Key]]:
    """Of each part what is delivered in it before, or without, a send in it."""
    found = []
    for part in parts:
        sent: set[Key] = set()
        asked: list[Key] = []
        for row in part:
            if row.is_send:
                sent.add(row[2:])
            elif row[2:] not in sent and row[2:] not in asked:
                asked.append(row[2:])
        found.append(asked)
    return found


def effects_of(log: Sequence[Entry], parts: Sequence[Sequence[Entry]]) -> list[StretchEffect]:
    processes, asked = processes_of(log), crossing(parts)
    every = {key for keys in asked for key in keys}
    return [
        summarise(processes, keys, {row[2:] for row in part if row.is_send} & every, [columns(part)])
        for keys, part in zip(asked, parts, strict=True)
    ]


def in_stretches(log: Sequence[Entry], parts: Sequence[Sequence[Entry]]) -> list[LateMessage]:
    """Each part by itself, begun with what those before it tell."""
    asked = crossing(parts)
    found: list[LateMessage] = []
    sent: set[Key] = set()
    got: set[tuple[int, int, int]] = set()
    begun = starts(processes_of(log), effects_of(log, parts)[:-1], asked)
    for part, keys, start in zip(parts, asked, begun, strict=True):
        before = {one for one in got if one[1:] in keys}
        found += LogScan(start=start._replace(got=before)).feed(*columns(part))
        for row in part:
            if row.is_send:
                sent.add(row[2:])
            elif row[2:] in sent:
                got.add(row[1:])
    return found


@pytest.mark.parametrize("seeds", range(8))
def test_a_log_cut_anywhere_gives_what_the_whole_gives(seeds: int) -> None:
    """Item 3: with the same message named before each, in the same order."""
    many = 0
    for seed in range(seeds * 400, seeds * 400 + 400):
        log = random_log(seed)
        expected = plain(log)
        many += len(expected)
        assert in_stretches(log, cut(log, seed)) == expected, seed
    assert many > 1000


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 25))
def test_the_scan_finds_what_brute_force_finds(seed: int, rows: int) -> None:
    log = random_log(seed, rows)
    assert {late[:3] for late in plain(log)} == by_force(log)
    assert {late[:3] for late in in_stretches(log, cut(log, seed))} == by_force(log)


def same(one: StretchEffect, other: StretchEffect) -> bool:
    return (one.asked, one.sent) == (other.asked, other.sent) and all(
        np.array_equal(*pair) for pair in zip(one[2:], other[2:], strict=True)
    )


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(0, 60))
def test_effects_compose_associatively(seed: int, rows: int) -> None:
    """And an empty log changes nothing."""
    log = random_log(seed, rows)
    one, other, third = effects_of(log, (cut(log, seed) * 3)[:3])
    assert same(compose(compose(one, other), third), compose(one, compose(other, third)))
    empty = nothing(len(processes_of(log)))
    assert same(compose(empty, one), one)
    assert same(compose(one, empty), one)


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.integers(0, 60))
def test_the_effect_of_two_is_that_of_both(seed: int, rows: int) -> None:
    """To summarise a stretch is to summarise its parts and put them together."""
    log = random_log(seed, rows)
    middle = len(log) // 2
    one, other = effects_of(log, [log[:middle], log[middle:]])
    both = compose(one, other)
    processes = processes_of(log)
    whole = summarise(processes, both.asked, both.sent, [columns(log)])
    many = len(processes)
    assert np.array_equal(both.vectors[:, :many], whole.vectors[:, :many])
    names = [[[tuple(e.brought[n]) if n >= 0 else None for n in row] for row in e.by] for e in (both, whole)]
    assert names[0] == names[1]
    assert np.array_equal(both.vectors, whole.vectors)
