"""Paper 003, the real-time event channel: tables 1 to 3, figures 8 and 9, and 12 to 17 (S3-14 … S3-18, S3-22)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from weft._build import is_compiled
from weft.host.dispatch import realtime_standing
from weft_benchmarks.papers.events import calls, central, latency, load, rates, spacing
from weft_benchmarks.papers.events.load import PAIRS, THREE_RATES
from weft_benchmarks.papers.events.rates import ONE_THREAD, PREEMPTIVE
from weft_benchmarks.papers.figures import Chapter, Effort, Figure
from weft_benchmarks.realtime import PERIODS_US

T = TypeVar("T")


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    rounds: int  # of table 1
    events: int  # of each row of table 2
    batches: int  # of table 3
    turns: int
    line_seconds: float  # of each time line
    trial_seconds: float  # of each level of utilisation
    attempts: int
    levels: list[float]  # of figures 15 and 16, and of three rates where they are preemptive
    brief_levels: list[float]  # of figures 15 and 16, in shorter runs
    low_levels: list[float]  # of three rates in one thread
    periods: list[int]  # of figure 17, in microseconds
    spaced: int  # events of each
    shares: list[float]  # of events that are for the supplier's own board, figure 8
    pushed: int  # events of each board


QUICK = Extent(20, 40, 10, 20_000, 0.6, 0.6, 2, [0.6, 0.9, 0.97], [], [0.5, 0.9],
               [1000, 100, 20], 100, [0.5, 0.9], 100)  # fmt: skip
FULL = Extent(300, 300, 40, 200_000, 1.5, 2.0, 3, [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99],
              [0.5, 0.7, 0.9, 0.95, 0.97, 0.99],
              [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95], list(PERIODS_US), 500, [0.0, 0.25, 0.5, 0.75, 0.9, 1.0],
              500)  # fmt: skip


@dataclass(frozen=True)
class ChannelFindings:
    """All that was measured."""

    latencies: latency.Latencies
    calls: calls.CallCosts
    preemptive_line: rates.TimeLine
    single_line: rates.TimeLine
    lookups: dict[int, float]
    preemptive: list[load.LaxityLevel]
    preemptive_brief: list[load.LaxityLevel]
    preemptive_rates: list[load.LaxityLevel]
    single_rates: list[load.LaxityLevel]
    federated: list[load.LaxityLevel]
    federated_brief: list[load.LaxityLevel]
    trial_seconds: float
    spacing: dict[str, spacing.Ratios]
    spaced: int
    boards: list[central.BoardsOutcome]


def run(effort: Effort) -> Chapter:
    much = QUICK if effort.quick else FULL
    found = measure(effort, much)
    chapter = Chapter(
        "003",
        "a real-time event channel",
        "Suppliers and consumers of the event channel, in threads and processes of this machine: how long events take, how much "
        "of a processor can be used before deadlines are missed, and what one channel for all boards costs.",
        {
            "modules": "compiled" if is_compiled() else "pure Python",
            "scheduling": f"{realtime_standing()} for the most urgent consumers",
            "a level of utilisation": f"{much.trial_seconds:g} s, tried {much.attempts} times at most",
            "the paper": "one UltraSPARC 30 of 300 MHz, Solaris in its real-time class, C++",
        },
    )
    chapter.figures += figures(found)
    return chapter


def figures(found: ChannelFindings) -> list[Figure]:
    return [
        central.figure_8(found.boards),
        rates.figure_12(found.preemptive_line),
        rates.figure_13(found.single_line),
        rates.figure_14(found.lookups),
        load.figure_15(found.preemptive, found.preemptive_brief, found.trial_seconds),
        load.three_rates(found.preemptive_rates, found.single_rates, found.trial_seconds),
        load.figure_16(
            found.federated,
            found.federated_brief,
            found.preemptive_brief or found.preemptive,
            found.trial_seconds,
        ),
        latency.table_1(found.latencies),
        latency.table_2(found.latencies),
        spacing.figure_17(found.spacing, found.spaced),
        calls.table_3(found.calls),
    ]


_WEIGHTS = {"boards": 1.0, "line": 1.5, "level": 1.0, "cell": 0.1, "pair": 1.5}
"""About how long parts take, compared."""


class _Steps:
    """Counts what is done, and tells of it."""

    def __init__(self, effort: Effort, much: Extent) -> None:
        self._effort = effort
        counts = {
            "boards": 2 * len(much.shares),
            "line": 2,
            "level": 3 * len(much.levels) + 2 * len(much.brief_levels) + len(much.low_levels),
            "cell": len(latency.DISPATCHERS) * (len(latency.PRINTED_1) + len(much.periods)),
            "pair": 3,
        }
        self._all = sum(_WEIGHTS[kind] * count for kind, count in counts.items())
        self._done = 0.0

    def begin(self, what: str) -> None:
        self._effort.progress(what, min(1.0, self._done / self._all))

    def end(self, kind: str) -> None:
        self._done += _WEIGHTS[kind]

    def each(self, what: str, kind: str, found: Iterable[T]) -> Iterator[T]:
        """Tells as parts come."""
        self.begin(what)
        for one in found:
            self.end(kind)
            self.begin(what)
            yield one


def measure(effort: Effort, much: Extent) -> ChannelFindings:
    steps = _Steps(effort, much)
    with tempfile.TemporaryDirectory() as folder:
        boards = _boards(steps, much, folder)
        steps.begin("time line, preemptive")
        preemptive_line = rates.time_line(PREEMPTIVE, much.line_seconds, much.attempts)
        steps.end("line")
        steps.begin("time line, one thread")
        single_line = rates.time_line(ONE_THREAD, much.line_seconds, 1)
        steps.end("line")
        how, brief = ((seconds, much.attempts) for seconds in (much.trial_seconds, load.BRIEF))
        in_pairs = load.one_channel(PAIRS, PREEMPTIVE, much.levels, *how)
        in_brief = load.one_channel(PAIRS, PREEMPTIVE, much.brief_levels, *brief)
        in_rates = load.one_channel(THREE_RATES, PREEMPTIVE, much.levels, *how)
        in_thread = load.one_channel(THREE_RATES, ONE_THREAD, much.low_levels, *how)
        apart = load.two_channels(folder, much.levels, *how)
        apart_brief = load.two_channels(folder, much.brief_levels, *brief)
        return ChannelFindings(
            preemptive_line=preemptive_line,
            single_line=single_line,
            lookups=rates.lookups(much.turns),
            boards=boards,
            preemptive=list(steps.each("utilisation, one channel", "level", in_pairs)),
            preemptive_brief=list(steps.each("utilisation, one channel, shorter", "level", in_brief)),
            preemptive_rates=list(steps.each("utilisation, three rates", "level", in_rates)),
            single_rates=list(steps.each("utilisation, three rates in one thread", "level", in_thread)),
            federated=list(steps.each("utilisation, two processes", "level", apart)),
            federated_brief=list(steps.each("utilisation, two processes, shorter", "level", apart_brief)),
            trial_seconds=much.trial_seconds,
            latencies=_latencies(steps, much, folder),
            spacing=_spacing(steps, much),
            spaced=much.spaced,
            calls=_calls(steps, much),
        )


def _boards(steps: _Steps, much: Extent, folder: str) -> list[central.BoardsOutcome]:
    found = []
    for share in much.shares:
        for layout in (central.CENTRAL, central.FEDERATED):
            steps.begin(f"{layout} channel, {share:.0%} of events for the own board")
            found.append(central.boards(folder, layout, share, much.pushed))
            steps.end("boards")
    return found


def _latencies(steps: _Steps, much: Extent, folder: str) -> latency.Latencies:
    here: dict[str, list[latency.LatencyCell]] = {}
    for dispatch, cell in steps.each("latency in one process", "cell", latency.in_one_process(much.rounds)):
        here.setdefault(dispatch, []).append(cell)
    steps.begin("latency between two processes")
    apart = latency.in_two_processes(folder, much.events)
    steps.end("pair")
    steps.begin("latency without a second process")
    alone = latency.without_the_other(folder, much.events)
    steps.end("pair")
    return latency.Latencies(here, apart, alone)


def _spacing(steps: _Steps, much: Extent) -> dict[str, spacing.Ratios]:
    found: dict[str, spacing.Ratios] = {}
    taken = spacing.ratios(much.periods, much.spaced)
    for one in steps.each("minimum event spacing", "cell", taken):
        found.setdefault(one.dispatch, {})[one.period] = one.ratio
    return found


def _calls(steps: _Steps, much: Extent) -> calls.CallCosts:
    steps.begin("calls of methods")
    found = calls.call_costs(much.batches, much.turns)
    steps.end("pair")
    return found
