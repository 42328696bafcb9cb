"""Figures 12 to 14 of paper 003: time lines of three rates, preemptive and with one thread, and the graph of their schedule
(S3-14).

All processes are on one core and ask for SCHED_FIFO.  What is drawn are the rows of the channel's record, as `weft timeline` has
them; a consumer's deadline is that of the supplier which woke it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.channel import After, AfterAll, Every, RtInfo, Schedule, SchedulePlan, Urgency, plan
from weft.channel.scheduling.graph import schedule_graph
from weft.drawing import Graphic
from weft.host.dispatch import OneThread, Preemptive, realtime_standing
from weft.host.simulated.rates import pair_rows
from weft.model.json_types import Json
from weft.recorder.timeline import (
    Figures,
    Row,
    TimelineLane,
    TimeWindow,
    cut,
    extent,
    figures,
    lanes,
    picture,
    share_processor,
    timeline_graphic,
)
from weft_benchmarks.papers.events.child import found_by
from weft_benchmarks.papers.figures import Claim, Figure, Table
from weft_benchmarks.utilisation import RATES, on_one_core, pairs_of_rates, run_pairs

PREEMPTIVE, ONE_THREAD = "preemptive", "one thread"
MILLI = 10**6  # nanoseconds
WARM = 150 * MILLI  # in which processes are born
SHOWN = 200 * MILLI
FAST, SLOW = (f"{rate} Hz" for rate in (max(RATES), min(RATES)))
LOOKED_UP = (10, 10_000)


class TimeLine(NamedTuple):
    """The last of some attempts: the first without a miss, if there was one."""

    rows: list[Row]
    fifo: bool
    attempts: int


# --- in a process of its own --------------------------------------------------------------------------------------


def measure(dispatch: str, seconds: float) -> Iterator[Json]:
    on_one_core()
    pairs = pairs_of_rates()
    if dispatch == PREEMPTIVE:
        record = run_pairs(Preemptive(patience=None), pairs, seconds)
    else:
        record = run_pairs(OneThread(realtime=True), pairs, seconds)
    rows = pair_rows(record, "channel")
    # They burn just what they said, so that each run is longer than that by a hair.
    yield [[list(row) for row in rows if row.kind != "overrun"], realtime_standing().fifo]


# --- what is asked for --------------------------------------------------------------------------------------------


def time_line(dispatch: str, seconds: float, most: int) -> TimeLine:
    """On a shared machine a miss may be another's doing, so a preemptive run has some attempts."""
    for attempt in range(1, most + 1):
        rows, fifo = next(found_by(_read, f"{__name__}:measure", dispatch, seconds))
        line = TimeLine(rows, fifo, attempt)
        if not misses(line):
            break
    return line


def _read(rows: list[list[str | int | None]], fifo: bool) -> tuple[list[Row], bool]:
    return [Row(*values) for values in rows], fifo  # type: ignore[arg-type]


def lookups(turns: int) -> dict[int, float]:
    """Nanoseconds to find the priority of an operation, by the number of operations."""
    found = {}
    for count in LOOKED_UP:
        schedule = Schedule({f"operation {number}": Urgency(number) for number in range(count)})
        taken = []
        for _ in range(5):
            before = time.thread_time_ns()
            for _ in range(turns):
                schedule.urgency("operation 7")
            taken.append((time.thread_time_ns() - before) / turns)
        found[count] = min(taken)
    return found


# --- the rows -----------------------------------------------------------------------------------------------------


def _known(line: TimeLine) -> tuple[list[TimelineLane], TimeWindow]:
    found = lanes(line.rows)
    share_processor(found)
    whole = extent(found) or TimeWindow(0, 0)
    return found, TimeWindow(min(whole.begin + WARM, whole.end), whole.end)


def of_lanes(line: TimeLine) -> dict[str, Figures]:
    found, window = _known(line)
    return {lane.name: figures(cut(lane, window), window) for lane in found}


def misses(line: TimeLine) -> int:
    """Who never ran has missed, too."""
    found = of_lanes(line)
    absent = [rate for rate in RATES if f"consumer {rate} Hz" not in found]
    return sum(one.misses for one in found.values()) + len(absent)


def interruptions(line: TimeLine, rate: str) -> int:
    """How often the consumer of a rate was interrupted."""
    found, window = _known(line)
    chosen = [cut(lane, window) for lane in found if lane.name == f"consumer {rate}"]
    return sum(max(0, len(one.parts) - 1) for lane in chosen for one in lane.activations)


def _picture(line: TimeLine, title: str) -> Graphic:
    """From a beginning of the slowest rate: the one in which the first deadline is missed."""
    found, window = _known(line)
    begins = [row.mono_ns for row in line.rows if row.kind == "dispatch" and row.name == f"supplier {SLOW}"]
    late = [miss.deadline or miss.at for lane in found for miss in lane.misses() if miss.at >= window.begin]
    from_here = min(late, default=window.begin + SHOWN // 2)
    begin = max((at for at in begins if at <= from_here), default=window.begin) - 2 * MILLI
    shown = picture(title, found, TimeWindow(begin, begin + SHOWN), begin, one=True)
    return timeline_graphic(shown)


# --- what comes out -----------------------------------------------------------------------------------------------


def figure_12(line: TimeLine) -> Figure:
    return Figure(
        "12",
        "time line, preemptive dispatching",
        [_picture(line, "40, 20 and 10 Hz, a process for each priority"), _laxities(line)],
        [meets_all(line), is_interrupted(line)],
        notes=[*_notes(line), f"Attempt {line.attempts}; the first without a miss counts."],
    )


def figure_13(line: TimeLine) -> Figure:
    return Figure(
        "13",
        "time line, one thread",
        [_picture(line, "the same work in one thread"), _laxities(line)],
        [misses_the_fast(line)],
        notes=_notes(line),
    )


def _notes(line: TimeLine) -> list[str]:
    return [
        "Bars: on the processor. Thin: interrupted. Upright ticks: deadlines. Crosses: missed, and by how much. Dots: pushes.",
        "With SCHED_FIFO."
        if line.fifo
        else "Without SCHED_FIFO, which is not allowed here: niceness only, so misses may be the machine's doing.",
    ]


def _laxities(line: TimeLine) -> Table:
    rows = []
    for name, one in of_lanes(line).items():
        if one.laxity is not None:
            taken = (
                f"{value / MILLI:.2f}" for value in (one.laxity.least, one.laxity.most, one.laxity.average)
            )
            rows.append([name, str(one.runs), str(one.misses), *taken])
    return Table(["who", "runs", "missed", "laxity min, ms", "max", "avg"], rows)


def meets_all(line: TimeLine) -> Claim:
    missed = misses(line)
    runs = sum(one.runs for one in of_lanes(line).values())
    return Claim("preemptive dispatching meets all deadlines", missed == 0, f"{missed} of {runs} runs missed")


def is_interrupted(line: TimeLine) -> Claim:
    slow, fast = interruptions(line, SLOW), interruptions(line, FAST)
    return Claim(
        "the slowest is interrupted whenever something more urgent can run",
        slow > 0 and fast == 0,
        f"the {SLOW} consumer was interrupted {slow} times, the {FAST} one {fast} times",
    )


def misses_the_fast(line: TimeLine) -> Claim:
    found = of_lanes(line)
    says = "with one thread the fastest miss deadlines, since the slowest hold the processor"
    fast, slow = (found.get(f"consumer {rate}") for rate in (FAST, SLOW))
    if fast is None or slow is None:
        return Claim(says, None, "not all of them ran")
    least = fast.laxity.least / MILLI if fast.laxity is not None else 0.0
    return Claim(
        says,
        fast.misses > 0 and slow.misses == 0,
        f"{FAST}: {fast.misses} of {fast.runs} missed, laxity down to {least:.1f} ms; {SLOW}: {slow.misses} missed",
    )


# --- figure 14 ----------------------------------------------------------------------------------------------------


def operations_of_rates() -> list[RtInfo]:
    """Those of figures 12 and 13: each consumer is called by its supplier."""
    found = []
    for name, (period, supplying, consuming) in pairs_of_rates().items():
        found.append(RtInfo(f"supplier {name}", worst=supplying, period=period))
        found.append(RtInfo(f"consumer {name}", worst=consuming, dependencies=(After(f"supplier {name}"),)))
    return found


def operations_of_avionics() -> list[RtInfo]:
    """Figure 5: sensor proxies push, I/O facades wait for what they need, a watchdog beside them."""
    return [
        RtInfo("radar", worst=0.002, period=1 / 30),
        RtInfo("inertial", worst=0.001, period=1 / 30),
        RtInfo("fuel", worst=0.001, period=1 / 15),
        RtInfo("position", worst=0.003, dependencies=(AfterAll((After("radar"), After("inertial"))),)),
        RtInfo("range", worst=0.004, dependencies=(AfterAll((After("position"), After("fuel"))),)),
        RtInfo("display", worst=0.006, dependencies=(After("range"), Every(0.2))),
    ]


def figure_14(looked_up: dict[int, float]) -> Figure:
    plans = {
        "operations of figures 12 and 13": plan(operations_of_rates()),
        "figure 5: sensors, facades that wait for all they need, a display with a watchdog": plan(
            operations_of_avionics()
        ),
    }
    graphs = []
    for title, made in plans.items():
        graph = schedule_graph(made)
        graph.title = title
        graphs.append(graph)
    return Figure(
        "14",
        "who calls whom, and with which priority",
        graphs,
        [faster_is_more_urgent(list(plans.values())), same_time_to_look_up(looked_up)],
        notes=[
            (
                "Drawn from what the off-line scheduler makes of the operations (rate monotonic). Lower numbers are more "
                "urgent; behind the point the sub-priority. Then rate and worst case, and R, the longest from trigger to end."
            ),
            "An arrow leads from the operation that calls to the one that is called; “all” where it waits for all of them.",
        ],
    )


def faster_is_more_urgent(plans: Sequence[SchedulePlan]) -> Claim:
    wrong = [
        f"{one.info.name} above {other.info.name}"
        for found in plans
        for one in found.operations
        for other in found.operations
        if other.period < one.period * (1 - 1e-6) and one.priority <= other.priority
    ]
    count = sum(len(found.operations) for found in plans)
    return Claim(
        "a higher rate gets a higher priority: 30 Hz above 15 Hz",
        not wrong,
        ", ".join(wrong) or f"so it is for all {count} operations drawn here",
    )


def same_time_to_look_up(looked_up: dict[int, float]) -> Claim:
    few, many = min(looked_up), max(looked_up)
    return Claim(
        "at run time a priority is found in O(1)",
        looked_up[many] < 2 * looked_up[few],
        f"{looked_up[few]:.0f} ns among {few:,} operations, {looked_up[many]:.0f} ns among {many:,}",
    )
