"""Do two heaps of figures differ by more than noise?  And where in a row of figures does something change?

Nothing is assumed of how figures are spread: waiting times have long tails, and busy machines make outliers.  So everything goes
by ranks: the rank sum test (Mann, Whitney), the share of pairs in which one heap has the greater figure (Cliff's delta), and the
median of the differences of all pairs (Hodges, Lehmann) with an interval.  Who asks many questions gets some wrong answers;
`adjusted` makes up for that (Benjamini, Hochberg).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

EXACT = 60  # figures in all up to which every way to deal them out is counted
MOST_PAIRS = 1 << 20
ALIKE = 0.2  # correlation of neighbours up to which figures count as independent
FEWEST = 8  # figures that are left when neighbours are put together
NEARLY = 10.0  # times as likely, and as good a place for a step, as far as ranks tell
RARE = 0.05  # of all figures: more than so many that are far from the others are no outliers
SPREAD = 1.4826  # from the median of deviations to the standard deviation, where figures are spread normally
_NORMAL = NormalDist()


class Contrast(NamedTuple):
    """How figures after differ from figures before."""

    p: float
    """How likely noise alone would make as much of a difference, or more."""
    delta: float
    """From -1 (all after are less than all before) to 1."""
    shift: float
    low: float
    high: float
    """By how much greater, and between what it is with 95 %."""


def contrast(before: Values, after: Values, confidence: float = 0.95) -> Contrast:
    greater = _pairs_won(before, after)
    pairs = len(before) * len(after)
    delta = 2 * greater / pairs - 1
    return Contrast(_p_of(before, after, greater), delta, *_shift(before, after, confidence))


def _pairs_won(before: Values, after: Values) -> float:
    """Pairs in which the one after is the greater; equal ones are half."""
    ordered = np.sort(before)
    less = np.searchsorted(ordered, after, side="left").sum()
    up_to = np.searchsorted(ordered, after, side="right").sum()
    return float(less + up_to) / 2


def _p_of(before: Values, after: Values, greater: float) -> float:
    many, more = len(before), len(after)
    whole = np.concatenate((before, after))
    _, ties = np.unique(whole, return_counts=True)
    middle = many * more / 2
    if (ties == 1).all() and many + more <= EXACT:
        ways = _ways(many, more)
        reached = round(abs(greater - middle) + middle)
        return min(1.0, 2 * sum(ways[reached:]) / sum(ways))
    count = many + more
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (count * (count - 1))
    variance = many * more / 12 * (count + 1 - tied)
    if variance <= 0:
        return 1.0
    z = max(0.0, abs(greater - middle) - 0.5) / math.sqrt(variance)
    return 2 * _NORMAL.cdf(-z)


@cache
def _ways(many: int, more: int) -> list[int]:
    """In how many ways so many pairs are won, for each number."""
    counts = [1] + [0] * (many * more)
    for number in range(1, many + 1):
        # Multiplied by (1 - x^(more + number)) and divided by (1 - x^number).
        for place in range(len(counts) - 1, more + number - 1, -1):
            counts[place] -= counts[place - more - number]
        for place in range(number, len(counts)):
            counts[place] += counts[place - number]
    return counts


def _shift(before: Values, after: Values, confidence: float) -> tuple[float, float, float]:
    many, more = (_thinned(one) for one in (before, after))
    differences = np.sort(np.subtract.outer(more, many).ravel())
    count = len(differences)
    z = _NORMAL.inv_cdf(0.5 + confidence / 2)
    outside = count / 2 - z * math.sqrt(count * (len(many) + len(more) + 1) / 12)
    place = min(max(0, math.floor(outside)), count - 1)
    return float(np.median(differences)), float(differences[place]), float(differences[count - 1 - place])


def _thinned(values: Values) -> Values:
    """So few that all pairs can be looked at; spread over all."""
    most = math.isqrt(MOST_PAIRS)
    if len(values) <= most:
        return values
    return np.sort(values)[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def independent(values: Values) -> Values:
    """Figures that follow one another in time, neighbours put together until they do not tell of one another."""
    while len(values) >= 2 * FEWEST and _neighbours_alike(values):
        even = len(values) // 2 * 2
        values = values[:even].reshape(-1, 2).mean(axis=1)
    return values


def _neighbours_alike(values: Values) -> bool:
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    ranks -= ranks.mean()
    whole = float((ranks * ranks).sum())
    return whole > 0 and float((ranks[1:] * ranks[:-1]).sum()) / whole > ALIKE


def adjusted(p: Sequence[float]) -> list[float]:
    """Of many questions asked at once: the share of wrong answers among those up to each p."""
    order = sorted(range(len(p)), key=lambda place: p[place])
    made = [1.0] * len(p)
    least = 1.0
    for rank in range(len(order), 0, -1):
        place = order[rank - 1]
        least = min(least, p[place] * len(p) / rank)
        made[place] = least
    return made


# In a row of figures


class ChangePoint(NamedTuple):
    """From a place on, figures are other ones."""

    place: int
    contrast: Contrast
    """Between the stretch before, up to the step before it, and the stretch behind, up to the next."""


def steps(values: Values, least: int = 5, alpha: float = 0.001) -> list[ChangePoint]:
    """Where a row changes: the place that parts it best, then each part by itself; `least`: figures in a part."""
    cuts = sorted(_cuts(values, 0, least, alpha))
    edges = [0, *cuts, len(values)]
    return [
        ChangePoint(cut, contrast(values[edges[number] : cut], values[cut : edges[number + 2]]))
        for number, cut in enumerate(cuts)
    ]


def _cuts(values: Values, first: int, least: int, alpha: float) -> Iterator[int]:
    places = range(least, len(values) - least + 1)
    found = [(_p_of(values[:at], values[at:], _pairs_won(values[:at], values[at:])), at) for at in places]
    if not found:
        return
    p, _ = min(found)
    if p * len(found) > alpha:  # the best of so many
        return
    cut = _sharpest(values, [at for one, at in found if one <= p * NEARLY])
    yield first + cut
    yield from _cuts(values[:cut], first, least, alpha)
    yield from _cuts(values[cut:], first + cut, least, alpha)


def _sharpest(values: Values, places: Sequence[int]) -> int:
    """Of places that part the ranks about equally well the one with the least spread on both sides."""

    def spread(part: Values) -> float:
        return float(np.abs(part - np.median(part)).sum())

    return min(places, key=lambda at: spread(values[:at]) + spread(values[at:]))


def outliers(values: Values, least: int = 8, far: float = 8.0) -> list[int]:
    """Single figures that are far from all others, by the spread that these have; also if only ratios count."""
    if len(values) < least:
        return []
    found = _away(values) > far
    if (values > 0).all():
        found &= _away(np.log(values)) > far
    places: list[int] = np.flatnonzero(found).tolist()
    return places if len(places) <= max(2, RARE * len(values)) else []


def _away(values: Values) -> Values:
    """How many standard deviations from the median each is; those of a normal spread as wide as that of most figures."""
    away = np.abs(values - np.median(values))
    spread = SPREAD * float(np.median(away)) or SPREAD * float(away.mean())
    return away / spread if spread else away
