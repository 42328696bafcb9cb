"""Issue 21: what crosses the cuts of a log, of what pieces tell; and clocks that are put right."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.logs import Entry, columns, random_log
from weft.review.kernels.crossing import Crossed, Crossing, offsets
from weft.review.kernels.log_scan import LateMessage, LogScan
from weft.review.kernels.overtaking import Overtaking
from weft.review.kernels.stretches import starts, summarise

Log = Sequence[Entry]


def cut(log: Log, seed: int) -> list[Log]:
    chance = random.Random(seed)
    places = sorted(chance.randint(0, len(log)) for _ in range(chance.randint(0, 5)))
    return [log[begin:end] for begin, end in itertools.pairwise([0, *places, len(log)])]


def looked_at(parts: Sequence[Log], step: int, whole: Log) -> Crossing:
    """Each piece by itself, some rows at a time."""
    looks = []
    to = {
        row[2:]: sum(not one.is_send and one[2:] == row[2:] for one in whole) for row in whole if row.is_send
    }
    for part in parts:
        look = Overtaking()
        for begin in range(0, len(part), step):
            rows = part[begin : begin + step]
            many = np.array([to[row[2:]] if row.is_send else 0 for row in rows], np.int64)
            is_send, federate, source, message = columns(rows)[:4]
            look.feed(is_send, federate, source, message, many)
        looks.append(look.report())
    return Crossing(looks)


def in_pieces(parts: Sequence[Log], crossed: Crossed) -> list[LateMessage]:
    """As the audit does it: only the spans, each piece by itself."""
    rows = [
        [row for place, row in enumerate(part) if any(a <= place <= b for a, b in spans)]
        for part, spans in zip(parts, crossed.spans, strict=True)
    ]
    found: list[LateMessage] = []
    for group in crossed.groups():
        asked = [crossed.asked[piece] if piece > group[0] else () for piece in group]
        effects = []
        for piece, keys in zip(group[:-1], asked, strict=False):
            wanted = {key for later in group if later > piece for key in crossed.asked[later]}
            effects.append(summarise(crossed.processes, keys, wanted, [columns(rows[piece])]))
        got: set[tuple[int, int, int]] = set()
        for piece, keys, start in zip(group, asked, starts(crossed.processes, effects, asked), strict=True):
            start = start._replace(got={one for one in got if one[1:] in keys})
            found += LogScan(start=start).feed(*columns(rows[piece]))
            got |= {row[1:] for row in rows[piece] if not row.is_send} | crossed.got[piece]
    return found


def in_order_of_causes(log: Log) -> list[Entry]:
    """Without what stands before its send."""
    sends = {row[2:]: place for place, row in enumerate(log) if row.is_send}
    return [row for place, row in enumerate(log) if sends.get(row[2:], -1) <= place]


@pytest.mark.parametrize("seeds", range(6))
def test_pieces_find_what_the_scan_of_the_whole_finds(seeds: int) -> None:
    """Item 3: with the same message named before each, though little of the log is scanned."""
    looked = late = scanned = every = 0
    for seed in range(seeds * 200, seeds * 200 + 200):
        log = in_order_of_causes(random_log(seed, 80, order=1 - 0.2 * (seed % 4)))
        parts = cut(log, seed)
        crossing = looked_at(parts, 1 + seed % 30, log)
        assert crossing.is_countable
        if crossing.is_forward:  # somebody got a number that nobody sent, among others that were sent later
            continue
        looked += 1
        crossed = crossing.crossed()
        expected = LogScan().feed(*columns(log))
        assert in_pieces(parts, crossed) == expected, seed
        late += len(expected)
        scanned += sum(end - begin + 1 for spans in crossed.spans for begin, end in spans)
        every += len(log)
    assert looked > 150
    assert late > 100
    assert scanned < 0.97 * every


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_what_stands_before_its_send_is_seen(seed: int, step: int) -> None:
    """However the log is cut; a hole in the numbers that were sent later may look the same."""
    log = random_log(seed, 40)
    sends = {row[2:]: place for place, row in enumerate(log) if row.is_send}
    early = any(sends.get(row[2:], -1) > place for place, row in enumerate(log))
    assert looked_at(cut(log, seed), step, log).is_forward >= early
    assert looked_at([log], step, log).is_forward == early


def test_a_number_that_is_sent_twice_is_seen_across_a_cut() -> None:
    log = [Entry(True, 1, 1, 2), Entry(True, 1, 1, 1)]
    assert not looked_at([log[:1], log[1:]], 1, log).is_countable
    assert not looked_at([log], 2, log).is_countable


DIFFERENCES = st.lists(st.integers(-(10**10), 10**10), min_size=1, max_size=6)


@given(DIFFERENCES, st.integers(0, 2**32))
def test_clocks_that_differ_are_put_right(wrong: list[int], seed: int) -> None:
    """By amounts such that nothing is delivered before it is sent, if there are such."""
    chance = random.Random(seed)
    nodes = range(len(wrong))
    pairs = [(one, other) for one in nodes for other in nodes if one != other and chance.random() < 0.7]
    delays = {(to, sent): chance.randint(1, 10**6) + wrong[to] - wrong[sent] for to, sent in pairs}
    right = offsets(delays, len(wrong))
    assert right is not None
    assert all(least + right[to] - right[sent] > 0 for (to, sent), least in delays.items())


def test_clocks_that_nothing_puts_right() -> None:
    assert offsets({(0, 1): -5, (1, 0): 4}, 2) is None
    assert offsets({(0, 0): -1}, 1) is None
    assert offsets({(0, 1): -5, (1, 0): 7}, 2) is not None
