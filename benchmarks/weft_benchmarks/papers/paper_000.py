"""Paper 000, causal order as middleware: figures 4.1 to 4.5 (S0-18 … S0-25)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from weft.drawing import Chart, Series
from weft_benchmarks.papers.figures import Chapter, Claim, Effort, Figure, Table, mean_of
from weft_benchmarks.steps import BY_TABLES, ORDERS, run_steps
from weft_benchmarks.testbed.hosts import Host, several_hosts

STEP_MS = 10.0
MIDDLEWARE = ("CO-middleware", BY_TABLES)
MEASURED = (*ORDERS, BY_TABLES)
NAMES = {
    "RO": "RO",
    "CO": "CO embedded",
    "CO-middleware": "CO middleware",
    BY_TABLES: "CO by tables",
    "TSO": "TSO",
}
Samples = dict[tuple[str, int], list[float]]
"""By order and by what is varied, of each run: seconds of execution, or hits that the observer saw before their shot."""


class Measurements(NamedTuple):
    seconds: Samples
    early: Samples


def run(effort: Effort) -> Chapter:
    steps = effort.choose(60, 200)
    repeats = effort.choose(1, 5)
    counts = [2, 5] if effort.quick else [2, 3, 4, 5, 6, 7]
    intervals = [10, 50] if effort.quick else [10, 20, 40, 60, 80, 100]
    apart: AbstractContextManager[list[Host]] = several_hosts(counts[-1]) if effort.apart else nullcontext([])
    with apart as hosts:
        measure = _Measurement(effort, steps, repeats, 2 * len(counts) + len(intervals), hosts)
        loose = measure.run("loose", counts, 0).seconds
        close = measure.run("close", counts, len(counts)).seconds
        mixed = measure.run("mixed", intervals, 2 * len(counts))
    chapter = Chapter(
        "000",
        "causal order as middleware",
        "Federates that go on in steps, each in a process and node of its own, joined by TCP. Each step sleeps 10 ms, and "
        "what the order of delivery costs comes on top of that.",
        {
            "steps": steps,
            "sleep in a step": f"{STEP_MS:g} ms, added to each step",
            "runs of each": repeats,
            "each federate": "in a network namespace of its own"
            if effort.apart
            else "at a port of this machine",
            "the paper": "5,000 steps, five runs, one PC for each federate, RTI 1.3NG",
        },
    )
    chapter.figures += [
        _times("4.1", "loosely coupled", loose, counts),
        _times("4.2", "closely coupled", close, counts),
        _mixed(mixed, intervals, steps),
        _ratios("4.4", "loosely coupled", loose, counts),
        _ratios("4.5", "closely coupled", close, counts),
    ]
    return chapter


class _Measurement(NamedTuple):
    effort: Effort
    steps: int
    repeats: int
    parts: int  # of which all runs of one number of federates, or one interval, are one
    hosts: Sequence[Host]

    def run(self, scenario: str, varied: list[int], done: int) -> Measurements:
        """The orders take turns, so that what else the machine does falls on all of them."""
        every_one = [(order, value) for order in MEASURED for value in varied]
        measured = Measurements({one: [] for one in every_one}, {one: [] for one in every_one})
        for place, value in enumerate(varied):
            mixed = scenario == "mixed"
            what = f"fire every {value} steps" if mixed else f"{value} federates"
            federates, every = (3, value) if mixed else (value, 10)
            for number in range(self.repeats):
                for turn, order in enumerate(MEASURED):
                    share = (done + place + (number + turn / len(MEASURED)) / self.repeats) / self.parts
                    which = f"run {number + 1} of {self.repeats}"
                    self.effort.progress(f"{scenario}, {what}, {NAMES[order]}, {which}", share)
                    hosts = self.hosts[:federates]
                    found = run_steps(
                        scenario, order, federates, self.steps, STEP_MS, mesh=True, every=every, hosts=hosts
                    )
                    measured.seconds[order, value].append(found["seconds"])
                    measured.early[order, value].append(found["early_hits"])
        return measured


def _lines(samples: Samples, varied: list[int]) -> list[Series]:
    return [
        Series(NAMES[order], [mean_of(value, samples[order, value]) for value in varied])
        for order in MEASURED
    ]


def _mean(samples: Samples, order: str, value: int) -> float:
    return mean_of(value, samples[order, value]).y


def _worst(samples: Samples, base: str, varied: list[int]) -> float:
    """How much longer the slower of the two middlewares takes, where it is slowest."""
    return max(
        _mean(samples, order, value) / _mean(samples, base, value) for order in MIDDLEWARE for value in varied
    )


def _small_overhead(samples: Samples, varied: list[int]) -> Claim:
    worst = _worst(samples, "RO", varied)
    return Claim(
        "causal order costs only slightly more than receive order",
        worst < 1.2,
        f"at most {worst:.2f} times receive order (as middleware)",
    )


def _costly_time(samples: Samples, varied: list[int], what: str) -> Claim:
    over = [_mean(samples, "TSO", value) / _mean(samples, "CO", value) for value in varied]
    told = ", ".join(f"{ratio:.2f}" for ratio in over)
    return Claim(
        "time stamp order costs much more than causal order", min(over) > 1.1, f"TSO ÷ CO, by {what}: {told}"
    )


def _times(number: str, kind: str, samples: Samples, counts: list[int]) -> Figure:
    growth = [_mean(samples, "TSO", count) - _mean(samples, "RO", count) for count in (counts[0], counts[-1])]
    claims = [_small_overhead(samples, counts), _costly_time(samples, counts, "federates")]
    if number == "4.1":
        claims.append(
            Claim(
                "the overhead of time stamp order grows with the number of federates",
                growth[1] > growth[0] > 0,
                f"{growth[0]:.2f} s above receive order with {counts[0]} federates, {growth[1]:.2f} s with {counts[-1]}",
            )
        )
    chart = Chart(f"execution time of a {kind} federation", "federates", "seconds", _lines(samples, counts))
    return Figure(
        number,
        f"execution time, {kind}",
        [chart],
        claims,
        notes=["All processes share this machine's cores; in the paper each federate has a PC of its own."],
    )


def _mixed(mixed: Measurements, intervals: list[int], steps: int) -> Figure:
    chart = Chart(
        "execution time of aircraft, tank and observer",
        "steps between two shots",
        "seconds",
        _lines(mixed.seconds, intervals),
    )
    seen = {order: sum(sum(mixed.early[order, one]) for one in intervals) for order in MEASURED}
    runs = len(mixed.early[MEASURED[0], intervals[0]])
    shots = sum(steps // one for one in intervals) * runs
    table = Table(
        ["order", "shots", "hits seen before their shot"],
        [[NAMES[order], str(shots), f"{seen[order]:.0f}"] for order in MEASURED],
    )
    in_order = Claim(
        "with causal order the observer never sees a hit before its shot, as with time stamp order",
        not any(seen[order] for order in MEASURED if order != "RO"),
        ", ".join(f"{NAMES[order]} {seen[order]:.0f}" for order in MEASURED) + f" of {shots}",
    )
    claims = [
        _small_overhead(mixed.seconds, intervals),
        _costly_time(mixed.seconds, intervals, "interval"),
        in_order,
    ]
    return Figure("4.3", "execution time, mixed", [chart, table], claims)


def _ratios(number: str, kind: str, samples: Samples, counts: list[int]) -> Figure:
    def ratio(order: str) -> Series:
        base = {count: _mean(samples, "RO", count) for count in counts}
        points = [mean_of(count, [one / base[count] for one in samples[order, count]]) for count in counts]
        return Series(NAMES[order], points)

    worst = _worst(samples, "CO", counts)
    claim = Claim(
        "as middleware, causal order is almost as fast as embedded",
        worst < 1.15,
        f"middleware ÷ embedded at most {worst:.2f}",
    )
    chart = Chart(
        f"causal order over receive order, {kind}",
        "federates",
        "÷ RO",
        [ratio("CO"), *map(ratio, MIDDLEWARE)],
        from_zero=False,
    )
    return Figure(number, f"causal order over receive order, {kind}", [chart], [claim])
