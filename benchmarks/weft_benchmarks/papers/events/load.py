"""Figures 15 and 16 of paper 003: how busy a processor may be before a deadline is missed (S3-15).

A high-priority and a low-priority pair on one core; the work of the high-priority consumer is raised.  Figure 15: one channel,
preemptive.  Figure 16: two channels in two processes, joined by gateways.  Beside them the three rates of figures 12 and 13, all
of whose work is raised, preemptive and with one thread: in the paper's experiment one thread would do, since the low-priority
work is shorter than what the high-priority period has to spare.

A level counts as met if one of some attempts has no miss: on a shared machine a miss may be another's doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.drawing import Chart, ChartPoint, Series
from weft.host.dispatch import OneThread, Preemptive
from weft.model.json_types import Json
from weft_benchmarks import channel_utilisation
from weft_benchmarks.papers.events.child import found_by
from weft_benchmarks.papers.events.latency import LeastMostMean
from weft_benchmarks.papers.events.rates import ONE_THREAD, PREEMPTIVE
from weft_benchmarks.papers.figures import Claim, Figure, Table
from weft_benchmarks.timetables import line
from weft_benchmarks.utilisation import (
    PERIODS,
    Trial,
    Works,
    attempt,
    on_one_core,
    pairs_at,
    pairs_of_rates,
    run_trial,
)

PAIRS, THREE_RATES = "pairs", "three rates"
BRIEF = 0.8
"""Seconds of a run that Linux does not interrupt, whatever it leaves to others of each second."""
_ROOM = Path("/proc/sys/kernel/sched_rt_runtime_us")


class LaxityLevel(NamedTuple):
    """What came out where both pairs together asked for a part of the core; laxities in nanoseconds."""

    level: float
    laxities: dict[str, list[int]]
    fifo: bool
    attempts: int

    @property
    def misses(self) -> int:
        """Who never ran has missed, too."""
        return sum(sum(laxity < 0 for laxity in taken) if taken else 1 for taken in self.laxities.values())

    def milliseconds(self, name: str) -> LeastMostMean | None:
        taken = [laxity / 1e6 for laxity in self.laxities[name]]
        return LeastMostMean(min(taken), max(taken), sum(taken) / len(taken)) if taken else None


# --- in a process of its own --------------------------------------------------------------------------------------


def rates_at(level: float) -> Works:
    """All work of the three rates longer or shorter, so that they together ask for this part of the core."""
    known = pairs_of_rates()
    asked = sum((supplying + consuming) / period for period, supplying, consuming in known.values())
    scale = level / asked
    return {
        name: (period, supplying * scale, consuming * scale)
        for name, (period, supplying, consuming) in known.items()
    }


def measure(work: str, dispatch: str, levels: list[float], seconds: float, most: int) -> Iterator[Json]:
    on_one_core()

    def trial(level: float) -> Trial:
        pairs = pairs_at(level) if work == PAIRS else rates_at(level)
        if dispatch == PREEMPTIVE:
            return run_trial(Preemptive(patience=None), pairs, seconds)
        return run_trial(OneThread(realtime=True), pairs, seconds)

    for level in levels:
        found, attempts = attempt(trial, level, most)
        yield [level, found.laxities, found.fifo, attempts]


# --- what is asked for --------------------------------------------------------------------------------------------


def one_channel(
    work: str, dispatch: str, levels: list[float], seconds: float, most: int
) -> Iterator[LaxityLevel]:
    if not levels:
        return iter(())
    return found_by(LaxityLevel, f"{__name__}:measure", work, dispatch, levels, seconds, most)


def two_channels(folder: str, levels: list[float], seconds: float, most: int) -> Iterator[LaxityLevel]:
    """`seconds`: together with the events that do not count."""
    counted = seconds - channel_utilisation.WARM * max(PERIODS.values())
    for level in levels:
        found, attempts = attempt(
            lambda level: channel_utilisation.trial("", folder, level, counted), level, most
        )
        yield LaxityLevel(level, found.laxities, found.fifo, attempts)


# --- what comes out -----------------------------------------------------------------------------------------------


def highest(levels: Sequence[LaxityLevel]) -> float:
    """Up to which level none was missed; 0 if the first was."""
    reached = 0.0
    for one in sorted(levels, key=lambda one: one.level):
        if one.misses:
            break
        reached = one.level
    return reached


def figure_15(preemptive: Sequence[LaxityLevel], brief: Sequence[LaxityLevel], seconds: float) -> Figure:
    return Figure(
        "15",
        "utilisation of a processor, one channel",
        _shown("one channel, preemptive", preemptive, brief, seconds),
        [*_utilised(preemptive, brief, 0.99, "one channel"), falls(brief or preemptive)],
        notes=[*_notes(preemptive), "The low-priority pair asks for 20 %.", kept_from_real_time(seconds)],
    )


def three_rates(
    preemptive: Sequence[LaxityLevel], one_thread: Sequence[LaxityLevel], seconds: float
) -> Figure:
    return Figure(
        "section 5.1.3",
        "utilisation by dispatching, with the rates of figures 12 and 13",
        [
            _chart("laxity, preemptive", preemptive),
            _chart("laxity, one thread", one_thread),
            _table({PREEMPTIVE: preemptive, ONE_THREAD: one_thread}, "dispatching"),
        ],
        [more_than_one_thread(preemptive, one_thread)],
        notes=[
            "All work is raised alike. The paper says so of its implementations, without an experiment.",
            *_notes([*preemptive, *one_thread]),
            kept_from_real_time(seconds),
        ],
    )


def figure_16(
    federated: Sequence[LaxityLevel],
    brief: Sequence[LaxityLevel],
    preemptive: Sequence[LaxityLevel],
    seconds: float,
) -> Figure:
    return Figure(
        "16",
        "utilisation of a processor, two channels in two processes",
        _shown("two processes joined by gateways", federated, brief, seconds),
        [
            *_utilised(federated, brief, 0.96, "federated channels"),
            small_loss(brief or federated, preemptive),
        ],
        notes=[*_notes(federated), kept_from_real_time(seconds)],
    )


def _shown(
    what: str, levels: Sequence[LaxityLevel], brief: Sequence[LaxityLevel], seconds: float
) -> list[Chart | Table]:
    named = {f"{seconds:g} s": levels, **({f"{BRIEF:g} s": brief} if brief else {})}
    charts = [_chart(f"laxity, {what}, runs of {name}", one) for name, one in named.items()]
    return [*charts, _table(named, "runs of")]


def _utilised(
    levels: Sequence[LaxityLevel], brief: Sequence[LaxityLevel], least: float, what: str
) -> list[Claim]:
    claims = [utilised(levels, least, what)]
    if brief:
        claims.append(utilised(brief, least, what, " (here in runs that end before Linux takes its part)"))
    return claims


def kept_from_real_time(seconds: float) -> str:
    """What the kernel leaves to SCHED_FIFO."""
    try:
        room = int(_ROOM.read_text())
    except (OSError, ValueError):
        return "How much of a processor the machine leaves to SCHED_FIFO is not known here."
    if room < 0:
        return "Linux leaves all of a processor to SCHED_FIFO here (sched_rt_runtime_us is -1)."
    told = f"Linux leaves {room / 1e4:g} % of each second to SCHED_FIFO here (sched_rt_runtime_us)"
    if seconds < room / 1e6:
        return f"{told}; runs of {seconds:g} s end before it takes the rest."
    return f"{told}: whoever asks for more stands still for the rest of the second, and misses by that."


def _notes(levels: Sequence[LaxityLevel]) -> list[str]:
    how = (
        "With SCHED_FIFO." if all(one.fifo for one in levels) else "Without SCHED_FIFO, which is not allowed."
    )
    most = max(one.attempts for one in levels)
    return [
        f"Work is CPU time that is burnt. {how} No level was tried more often than {_times(most)}.",
        "Laxity is the end of the period less the end of the work; whiskers are min and max. Below 0: missed.",
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _chart(title: str, levels: Sequence[LaxityLevel]) -> Chart:
    lines = []
    for name in levels[0].laxities:
        known = [(one.level * 100, one.milliseconds(name)) for one in levels]
        points = [ChartPoint(level, one.mean, one.least, one.most) for level, one in known if one is not None]
        lines.append(Series(f"{name} priority" if name in PERIODS else name, points))
    return Chart(title, "asked of the processor, %", "laxity, ms", lines)


def _table(found: dict[str, Sequence[LaxityLevel]], what: str) -> Table:
    """The laxities of the most and of the least urgent, in milliseconds."""
    rows = [
        [name, f"{one.level:.0%}", str(one.misses), str(one.attempts), *_spread(one)]
        for name, levels in found.items()
        for one in levels
    ]
    known = list(next(iter(found.values()))[0].laxities)
    words = [f"{name} {word}" for name in (known[0], known[-1]) for word in ("min", "max", "avg")]
    return Table([what, "asked", "missed", "tried", *words], rows)


def _spread(one: LaxityLevel) -> list[str]:
    names = list(one.laxities)
    cells: list[str] = []
    for name in (names[0], names[-1]):
        taken = one.milliseconds(name)
        cells += ["", "", ""] if taken is None else [f"{value:.1f}" for value in taken]
    return cells


def utilised(levels: Sequence[LaxityLevel], least: float, what: str, how: str = "") -> Claim:
    """Not judged where all levels that were tried are met, and none was as high as that."""
    reached = highest(levels)
    is_open = reached == max(one.level for one in levels) < least
    return Claim(
        f"{what}: over {least:.0%} of the processor before deadlines are missed{how}",
        None if is_open else reached >= least,
        f"all deadlines are met up to {reached:.0%}{'; higher ones were not tried' if is_open else ''}",
    )


def more_than_one_thread(preemptive: Sequence[LaxityLevel], one_thread: Sequence[LaxityLevel]) -> Claim:
    reached, other = highest(preemptive), highest(one_thread)
    return Claim(
        "dispatching that preempts uses more of the processor without a miss than one thread does",
        reached > other,
        f"up to {reached:.0%}, with one thread up to {other:.0%}",
    )


def falls(levels: Sequence[LaxityLevel]) -> Claim:
    known = [(one.level * 100, one.milliseconds("high")) for one in levels]
    points = [(level, one.mean) for level, one in known if one is not None]
    says = "the laxity of the high priority falls almost in a straight line"
    if len(points) < 3:
        return Claim(says, None, "fewer than three levels were tried")
    slope, _, fit = line([level for level, _ in points], [mean for _, mean in points])
    return Claim(says, slope < 0 and fit > 0.98, f"{slope:.2f} ms for each percent, R² {fit:.3f}")


def small_loss(federated: Sequence[LaxityLevel], preemptive: Sequence[LaxityLevel]) -> Claim:
    lost = highest(preemptive) - highest(federated)
    return Claim(
        "federated channels lose only about 3 % of the processor",
        lost <= 0.05,
        f"{highest(federated):.0%} against {highest(preemptive):.0%} with one channel",
    )
