"""Percentiles of many values from what parts tell of theirs.

A part tells its values in order, or where they are many, values at even distances in rank, each of which stands for as many.
The rank of a percentile is then wrong by at most half of such a distance, of all parts together one in 2 × SAMPLES.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.review.kernels.pieces import Array

SAMPLES = 10_000


def sample(values: Array) -> Array:
    ordered = np.sort(values)
    if len(ordered) <= SAMPLES:
        return ordered
    places = (np.arange(SAMPLES) + 0.5) * len(ordered) / SAMPLES
    return ordered[places.astype(np.int64)]


def percentiles(samples: Sequence[tuple[Array, int]], shares: Sequence[float]) -> list[int]:
    """The least value that at least a share of all are not above; samples come with the number of values they stand for."""
    given = [(values, count) for values, count in samples if count]
    if not given:
        return []
    values = np.concatenate([one for one, _ in given])
    weights = np.concatenate([np.full(len(one), count / len(one)) for one, count in given])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, np.array(shares) * reached[-1] - 1e-9)
    return [int(value) for value in values[order][np.minimum(places, len(values) - 1)]]
