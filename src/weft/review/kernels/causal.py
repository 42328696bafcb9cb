"""Late deliveries, found by the vector times that messages were stamped with.

VT(m)[p] says how many messages of p are in the past of m; VT(m)[source of m] is the number of m itself.  m1 happened before
m2 exactly if VT(m2)[source of m1] ≥ VT(m1)[source of m1].  So a delivery of m1 is late exactly if the greatest of that one
component over all that was delivered before it, at the same destination, is at least m1's own: a running maximum and one
comparison, however many messages there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.review.kernels.pieces import Array, first_of_each

CELLS = 1 << 22  # numbers of vectors that are looked at together


class Late(NamedTuple):
    """Places of late deliveries, and for each the place of one before it that it should have come before."""

    places: Array
    after: Array


class Carry(NamedTuple):
    """What the deliveries of one destination in one piece mean for others, for each process."""

    most: Array
    """The greatest component for that process."""
    by: Array
    """Where it was delivered."""
    least: Array
    """The least own number among messages of that process; the greatest number there is, where there is none."""


def dense(process: Array, values: Array, lengths: Array, processes: Array) -> Array:
    """Vectors written as lists, as a matrix: a row for each message, a column for each of the (sorted) processes."""
    made = np.zeros((len(lengths), len(processes)), np.int64)
    made[np.repeat(np.arange(len(lengths)), lengths), np.searchsorted(processes, process)] = values
    return made


def late_deliveries(source: Array, own: Array, vectors: Array) -> tuple[Late, Carry]:
    """Of one destination, in the order of delivery; source is a column of the matrix.

    A message that is delivered again is no late one: that is for the audit of deliveries.
    """
    count, processes = vectors.shape
    step = max(1, CELLS // max(1, processes))
    before = np.zeros(processes, np.int64)
    late = np.zeros(count, bool)
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        running = np.maximum.accumulate(np.vstack((before, vectors[part])), axis=0)
        rows = np.arange(len(running) - 1)
        late[part] = running[rows, source[part]] >= own[part]
        before = running[-1]
    late &= first_of_each(source, own)
    places = np.flatnonzero(late)
    after = [int(np.argmax(vectors[:place, source[place]] >= own[place])) for place in places]
    return Late(places, np.array(after, np.int64)), _carry(source, own, vectors, before)


def _carry(source: Array, own: Array, vectors: Array, most: Array) -> Carry:
    least = np.full(vectors.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(least, source, own)
    by = np.argmax(vectors, axis=0) if len(vectors) else np.zeros(vectors.shape[1], np.int64)
    return Carry(most, by, least)


def greatest_before(values: Array, begins: Array) -> Array:
    """For each place the greatest value before it in its stretch, -1 where there is none; values are not negative."""
    count = len(values)
    before = np.full(count, -1, np.int64)
    group = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, count)))
    span = int(values.max(initial=0)) + 1
    if span * (len(begins) + 1) < 1 << 62:
        running = np.maximum.accumulate(values + group * span) - group * span
        before[1:] = running[:-1]
    else:
        for begin, end in zip(begins, np.append(begins[1:], count), strict=True):
            before[begin + 1 : end] = np.maximum.accumulate(values[begin:end])[:-1]
    before[begins] = -1
    return before
