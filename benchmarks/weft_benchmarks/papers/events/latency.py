"""Tables 1 and 2 of paper 003: how long an event takes from its supplier to its consumers (S3-16).

Table 1.  One process.  In each round all suppliers push, one right after the other, so that events wait for one another; the
next round begins when all have been consumed.  An event carries the time of its push.

Table 2.  Two processes with consumers each, joined by gateways, on one core as in the paper; suppliers are in the first, and one
event is under way at a time (`weft_benchmarks.channel_remote`).  The same is measured where there is no second process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.channel import Event, Events, on
from weft.drawing import Chart, ChartPoint, Series
from weft.host.dispatch import realtime_standing
from weft.host.dispatch.standing import raised
from weft.model.json_types import Json
from weft_benchmarks import channel_remote
from weft_benchmarks.channel import CONSUMERS, KIND, SUPPLIERS
from weft_benchmarks.papers.events.child import found_by
from weft_benchmarks.papers.figures import Claim, Figure, Table
from weft_benchmarks.realtime import ALL, BOUND, Stamps
from weft_benchmarks.timetables import line

WARM = 5  # rounds
DISPATCHERS = {"none": "supplier's thread", "single": "one thread", "preemptive": "processes"}
SHOWN = "single"
REMOTE = "single"
_WORDS = ("min", "max", "avg")


class LeastMostMean(NamedTuple):
    """Of microseconds, in the paper's order."""

    least: float
    most: float
    mean: float


class LatencyCell(NamedTuple):
    """A row of a table: to the first and to the last consumer, or to consumers here and in the other process."""

    suppliers: int
    consumers: int
    one: LeastMostMean
    other: LeastMostMean


class Latencies(NamedTuple):
    """Table 1 by dispatcher; table 2, and its part that needs only one process."""

    here: dict[str, list[LatencyCell]]
    apart: list[LatencyCell]
    alone: list[LatencyCell]


def _cell(row: Sequence[float]) -> LatencyCell:
    return LatencyCell(int(row[0]), int(row[1]), LeastMostMean(*row[2:5]), LeastMostMean(*row[5:]))


def _cells(text: str) -> list[LatencyCell]:
    return [_cell([float(word) for word in line.split()]) for line in text.strip().splitlines()]


PRINTED_1 = _cells("""
1 1 53 93 58 53 93 58
1 5 107 189 114 197 284 206
1 10 171 230 183 379 451 393
1 20 291 340 300 741 817 760
2 1 49 67 51 49 67 51
2 5 95 124 100 180 213 187
2 10 159 281 170 360 498 374
2 20 283 333 299 758 828 781
10 1 51 303 72 51 303 72
10 5 100 211 113 187 1210 284
10 10 167 222 176 369 2545 576
10 20 211 310 290 741 4895 1137
""")
PRINTED_2 = _cells("""
1 1 57 71 63 772 1078 820
1 5 108 207 155 765 1995 1283
1 10 170 598 289 795 5853 3544
1 20 303 819 534 756 6047 3084
2 1 50 95 57 1226 2329 1297
2 5 101 214 152 1274 4577 2330
2 10 167 421 274 1226 6676 3448
2 20 280 821 519 1225 20727 6038
10 1 49 218 60 1406 3969 3102
10 5 100 1170 172 1477 12773 6282
10 10 158 2379 310 1258 19153 7904
10 20 209 4900 596 1266 65449 24345
""")


# --- in a process of its own --------------------------------------------------------------------------------------


class EventAges(Stamps):
    """A consumer that notes how old events are when they come, where all processes can see it."""

    def push(self, events: Events) -> None:
        now = time.perf_counter_ns()
        for event in events:
            self.times[0] += 1
            self.times[self.times[0]] = now - event.payload


def measure_here(dispatchers: Sequence[str], rounds: int) -> Iterator[Json]:
    fifo = realtime_standing().fifo
    for dispatch in dispatchers:
        for suppliers, consumers in _cases():
            first, last = _ages(dispatch, suppliers, consumers, rounds, fifo)
            yield [dispatch, [suppliers, consumers, *_spread(first), *_spread(last)]]


def _ages(
    dispatch: str, suppliers: int, consumers: int, rounds: int, fifo: bool
) -> tuple[list[int], list[int]]:
    channel = ALL[dispatch]()
    crowd = [EventAges(suppliers * (rounds + WARM)) for _ in range(consumers)]
    for consumer in crowd:
        channel.consume(consumer, on(KIND))
    pushes = [channel.supply((source, KIND)).push for source in range(1, suppliers + 1)]
    with channel, raised(fifo):
        for _ in range(rounds + WARM):
            for source, push in enumerate(pushes, 1):
                push(Event(KIND, source, time.perf_counter_ns()))
            if not channel.wait_idle(BOUND):
                raise RuntimeError("not all events were consumed")
    warm = suppliers * WARM
    return crowd[0].all()[warm:], crowd[-1].all()[warm:]


def _spread(taken: Sequence[int]) -> list[float]:
    return [min(taken) / 1000, max(taken) / 1000, statistics.fmean(taken) / 1000]


# --- what is asked for --------------------------------------------------------------------------------------------


def in_one_process(rounds: int) -> Iterator[tuple[str, LatencyCell]]:
    """Table 1, row by row, for each dispatcher."""
    return found_by(
        lambda dispatch, row: (dispatch, _cell(row)),
        f"{__name__}:measure_here",
        list(DISPATCHERS),
        rounds,
    )


def in_two_processes(folder: str, events: int) -> list[LatencyCell]:
    """Of all consumers here and of all in the other process: from the first one's least to the last one's most."""
    found = channel_remote.measure("", folder, True, (REMOTE,), events)
    return [
        LatencyCell(*case, _both(found, *case, "local"), _both(found, *case, "remote")) for case in _cases()
    ]


def without_the_other(folder: str, events: int) -> list[LatencyCell]:
    found = channel_remote.measure_alone("", folder, REMOTE, events, True)
    both = [_both(found, *case, "local") for case in _cases()]
    return [LatencyCell(*case, one, one) for case, one in zip(_cases(), both, strict=True)]


def _cases() -> list[tuple[int, int]]:
    return [(suppliers, consumers) for suppliers in SUPPLIERS for consumers in CONSUMERS]


def _both(found: dict[str, float], suppliers: int, consumers: int, where: str) -> LeastMostMean:
    name = f"{suppliers} {consumers} {REMOTE} {where}"
    first, last = (
        LeastMostMean(*(found[f"{name} {which} {word}"] for word in _WORDS)) for which in ("first", "last")
    )
    return LeastMostMean(first.least, last.most, (first.mean + last.mean) / 2)


# --- what comes out -----------------------------------------------------------------------------------------------


def table_1(found: Latencies) -> Figure:
    shown = found.here[SHOWN]
    lines = [
        Series(DISPATCHERS[name], _by_consumers([(cell.consumers, cell.other) for cell in _alone(cells)]))
        for name, cells in found.here.items()
    ]
    lines.append(_printed(PRINTED_1, "the paper"))
    return Figure(
        "Table 1",
        "latency through the event channel, µs",
        [
            _table(shown, "first", "last"),
            Chart("to the last consumer, one supplier", "consumers", "µs", lines, log_y=True),
        ],
        [grows_with_consumers(shown), grows_with_suppliers(shown)],
        printed=_table(PRINTED_1, "first", "last"),
        notes=[
            (
                f"Ours by {DISPATCHERS[SHOWN]}. In each round all suppliers push, one right after the other: with ten of them "
                "the last event waits for nine others."
            ),
            "The paper's machine had one processor of 300 MHz, and its channel is C++.",
        ],
    )


def table_2(found: Latencies) -> Figure:
    here = [(cell.consumers, cell.one) for cell in _alone(found.apart)]
    there = [(cell.consumers, cell.other) for cell in _alone(found.apart)]
    lines = [
        Series("local", _by_consumers(here)),
        Series("remote", _by_consumers(there)),
        _printed(PRINTED_2, "paper, remote"),
        Series(
            "paper, local", _by_consumers([(cell.consumers, cell.one) for cell in _alone(PRINTED_2)]), True
        ),
    ]
    return Figure(
        "Table 2",
        "latency of local and remote events, µs",
        [
            _table(found.apart, "local", "remote"),
            Chart("local and remote, one supplier", "consumers", "µs", lines, log_y=True),
        ],
        [local_as_alone(found.apart, found.alone), remote_above_local(found.apart)],
        printed=_table(PRINTED_2, "local", "remote"),
        notes=[
            (
                "One event is under way at a time, so suppliers do not get in one another's way: with more of them the paper's "
                "remote events wait, ours do not."
            ),
            "Min is that of the first consumer, max that of the last, avg the mean of both.",
            (
                "A gateway is served like any consumer, in the order of connecting. Here it had connected first, so local "
                f"consumers wait until the event has left: {_later(found):.0f} µs on average."
            ),
        ],
    )


def _later(found: Latencies) -> float:
    """By how many microseconds local consumers are later than where there is no second process."""
    pairs = zip(found.apart, found.alone, strict=True)
    return statistics.fmean(cell.one.mean - other.one.mean for cell, other in pairs)


def _alone(cells: Sequence[LatencyCell]) -> list[LatencyCell]:
    return [cell for cell in cells if cell.suppliers == 1]


def _by_consumers(taken: Sequence[tuple[int, LeastMostMean]]) -> list[ChartPoint]:
    return [ChartPoint(count, one.mean, one.least, one.most) for count, one in taken]


def _printed(cells: Sequence[LatencyCell], name: str) -> Series:
    return Series(name, _by_consumers([(cell.consumers, cell.other) for cell in _alone(cells)]), dashed=True)


def _table(cells: Sequence[LatencyCell], one: str, other: str) -> Table:
    heads = ["sup.", "con.", *(f"{which} {word}" for which in (one, other) for word in _WORDS)]
    rows = [
        [str(cell.suppliers), str(cell.consumers), *(f"{value:,.0f}" for value in (*cell.one, *cell.other))]
        for cell in cells
    ]
    return Table(heads, rows)


def grows_with_consumers(cells: Sequence[LatencyCell]) -> Claim:
    each, fit = _straight(cells)
    printed, printed_fit = _straight(PRINTED_1)
    return Claim(
        "latency grows with the number of consumers (by its numbers in a straight line)",
        each > 0 and fit > 0.95,
        f"{each:.1f} µs for each consumer, R² {fit:.3f} (paper: {printed:.1f} µs, {printed_fit:.3f})",
    )


def _straight(cells: Sequence[LatencyCell]) -> tuple[float, float]:
    """Microseconds for each consumer, and how straight the line is."""
    taken = _alone(cells)
    each, _, fit = line([float(cell.consumers) for cell in taken], [cell.other.mean for cell in taken])
    return each, fit


def grows_with_suppliers(cells: Sequence[LatencyCell]) -> Claim:
    most = max(cell.consumers for cell in cells)
    of, printed = (
        {cell.suppliers: cell.other.mean for cell in one if cell.consumers == most}
        for one in (cells, PRINTED_1)
    )
    few, many = min(of), max(of)
    return Claim(
        "latency grows with the number of suppliers",
        of[many] > of[few],
        f"to the last of {most} consumers {of[few]:.0f} µs with {few} supplier, {of[many]:.0f} µs with {many} "
        f"(paper: {printed[few]:,.0f} and {printed[many]:,.0f})",
    )


def local_as_alone(apart: Sequence[LatencyCell], alone: Sequence[LatencyCell]) -> Claim:
    ratios = [cell.one.mean / other.one.mean for cell, other in zip(apart, alone, strict=True)]
    middle = statistics.median(ratios)
    return Claim(
        "local events take as long as where there is no second process",
        middle < 1.25,
        f"{middle:.2f} times as long in the median of {len(ratios)} rows, {min(ratios):.2f} to {max(ratios):.2f}",
    )


def remote_above_local(apart: Sequence[LatencyCell]) -> Claim:
    ratios, printed = ([cell.other.mean / cell.one.mean for cell in cells] for cells in (apart, PRINTED_2))
    return Claim(
        "remote events take several times as long as local ones",
        min(ratios) > 2,
        f"{min(ratios):.1f} to {max(ratios):.1f} times as long (paper: {min(printed):.1f} to {max(printed):.1f})",
    )
