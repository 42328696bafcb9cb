"""Figure 17 of paper 003: how close events may follow one another (S3-17)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.drawing import Chart, ChartPoint, Series
from weft.host.dispatch import realtime_standing
from weft.model.json_types import Json
from weft_benchmarks.papers.events.child import found_by
from weft_benchmarks.papers.events.latency import DISPATCHERS
from weft_benchmarks.papers.figures import Claim, Figure
from weft_benchmarks.realtime import ALL, spaced

ENOUGH = 0.95
"""From this part of the expected rate on there is no notable overhead."""
PRINTED = 50  # events each second

Ratios = dict[int, float]
"""The effective rate as a part of the expected one, by the period in microseconds."""


class SpacingRatio(NamedTuple):
    dispatch: str
    period: int
    ratio: float


def measure(dispatchers: Sequence[str], periods: Sequence[int], count: int) -> Iterator[Json]:
    """In a process of its own."""
    fifo = realtime_standing().fifo
    for dispatch in dispatchers:
        for period in periods:
            yield [dispatch, period, spaced(ALL[dispatch](), period / 1e6, fifo, count)]


def ratios(periods: Sequence[int], count: int) -> Iterator[SpacingRatio]:
    return found_by(SpacingRatio, f"{__name__}:measure", list(DISPATCHERS), periods, count)


def closest(found: Ratios) -> int:
    """The shortest period at which this and all longer ones have no notable overhead; 0 if there is none."""
    reached = 0
    for period in sorted(found, reverse=True):
        if found[period] < ENOUGH:
            break
        reached = period
    return reached


def figure_17(found: dict[str, Ratios], count: int) -> Figure:
    lines = [
        Series(
            DISPATCHERS[name],
            [ChartPoint(period, ratio, ratio, ratio) for period, ratio in sorted(one.items())],
        )
        for name, one in found.items()
    ]
    return Figure(
        "17",
        "minimum event spacing",
        [Chart("effective rate over expected rate", "period of events, µs", "ratio", lines, log_x=True)],
        [delivers(found)],
        notes=[
            f"{count} events at a fixed period; consumers only count. No notable overhead: at least {ENOUGH:.0%} of the rate.",
            (
                "The figure is missing from the paper's text, and “over 50 messages per second” does not fit its latency of "
                "58 µs: unexplained."
            ),
        ],
    )


def delivers(found: dict[str, Ratios]) -> Claim:
    """Of the dispatcher that does worst."""
    reached = {DISPATCHERS[name]: closest(one) for name, one in found.items()}
    rates = {name: 1e6 / period if period else 0.0 for name, period in reached.items()}
    return Claim(
        f"the channel delivers over {PRINTED} messages a second before there is any notable overhead",
        min(rates.values()) > PRINTED,
        "at least " + ", ".join(f"{rate:,.0f} a second ({name})" for name, rate in rates.items()),
    )
