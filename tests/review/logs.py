"""Random logs of sends and deliveries, for what is scanned in stretches; and what is late in them, by brute force."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.review.kernels.log_scan import Key
from weft.review.kernels.pieces import Array


class Entry(NamedTuple):
    """A row of a log."""

    is_send: bool
    federate: int
    source: int
    message: int


def random_log(seed: int, rows: int = 60, most_processes: int = 5, order: float = 0.5) -> list[Entry]:
    """Anything that may stand in a log: what is late, what comes twice, what was never sent or comes before it was.

    `order`: how often what was sent first comes first; 1: nothing is late because of that.
    """
    chance = random.Random(seed)
    processes = range(1, chance.randint(2, most_processes) + 1)
    under_way: list[Entry] = []
    delivered: list[Entry] = []
    numbers = dict.fromkeys(processes, 0)
    log: list[Entry] = []
    while len(log) < rows:
        what = chance.random()
        if what < 0.4:
            source = chance.choice(processes)
            numbers[source] += chance.choice((1, 1, 1, 3))
            log.append(Entry(True, source, source, numbers[source]))
            under_way += [
                Entry(False, to, source, numbers[source]) for to in processes if chance.random() < 0.6
            ]
        elif what < 0.9 and under_way:  # most of the time the oldest: then little is late
            place = 0 if chance.random() < order else chance.randrange(len(under_way))
            delivered.append(under_way.pop(place))
            log.append(delivered[-1])
        elif what < 0.95 and delivered:
            log.append(chance.choice(delivered))
        else:
            source = chance.choice(processes)
            log.append(Entry(False, chance.choice(processes), source, chance.randint(1, numbers[source] + 2)))
    lost = {place for place, row in enumerate(log) if row.is_send and chance.random() < 0.05}
    return [row for place, row in enumerate(log) if place not in lost]


def columns(rows: Sequence[Entry]) -> list[Array]:
    told: list[Array] = [
        np.array([row[place] for row in rows], kind) for place, kind in enumerate((bool, int, int, int))
    ]
    return [*told, np.full(len(rows), -1), np.arange(len(rows))]


def processes_of(log: Sequence[Entry]) -> list[int]:
    return sorted({row.federate for row in log} | {row.source for row in log})


def by_force(log: Sequence[Entry]) -> set[tuple[int, int, int]]:
    """Late deliveries by what happened before what: everything with everything."""
    known: dict[int, set[Key]] = {}
    past: dict[Key, set[Key]] = {}
    got: dict[int, list[Key]] = {}
    late = set()
    for row in log:
        mine, key = known.setdefault(row.federate, set()), row[2:]
        if row.is_send:
            past[key] = set(mine) | {one for one in past if one[0] == row.source}
            continue
        before = got.setdefault(row.federate, [])
        if key in past and key not in before:
            if any(key in past[other] for other in before):
                late.add(row[1:])
            mine |= past[key] | {key}
            before.append(key)
    return late
