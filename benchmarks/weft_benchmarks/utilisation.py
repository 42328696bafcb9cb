"""How much of one core consumers get before deadlines are missed (S3-15), and paper 003's time line for real (S3-14).

All processes share one core, and everything asks for SCHED_FIFO.  A consumer's work is CPU time that it burns, so what is counted
is what consumers got; the rest is what the channel, the machine and whoever else is on it took.

The experiment is made of *trials*: one run at a certain level, the part of the core that a high-priority and a low-priority pair
ask for together, whose outcome is the laxities of both.  `search` finds the highest level that is met, whatever channels a trial
is made of: one here, or several in several processes (`channel_utilisation`).  On a shared machine a miss may be another's doing:
a level counts as met if one of several trials had none, and how many were needed is part of the result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weft.channel import DispatchRecord, Event, RtInfo, interval, on, plan
from weft.host.dispatch import HostDispatcher, OneThread, Preemptive, RealTimeChannel, realtime_standing
from weft.host.dispatch.desks import D
from weft_benchmarks.runner import say

PERIODS = {"high": 0.050, "low": 0.100}
LOW_WORK = 0.020
TRIAL = 2.0
ATTEMPTS = 3
LEVELS = tuple(number / 100 for number in range(80, 100))

RATES = (40, 20, 10)
SUPPLIER_WORK = 0.0005
WORK = {40: 0.006, 20: 0.010, 10: 0.034}

Works = dict[str, tuple[float, float, float]]
"""For each pair its period, the supplier's work and the consumer's, in seconds."""


def burn(seconds: float) -> None:
    """So much CPU time, however long that takes."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@dataclass
class Trial:
    """Laxities in nanoseconds, by name; negative: missed.  `fifo`: had everybody SCHED_FIFO?"""

    laxities: dict[str, list[int]] = field(default_factory=dict)
    fifo: bool = True

    def misses(self) -> int:
        return sum(laxity < 0 for taken in self.laxities.values() for laxity in taken)

    def spread(self, name: str) -> dict[str, float]:
        """Milliseconds."""
        taken = self.laxities[name]
        figures = {"min": min(taken), "mean": sum(taken) / len(taken), "max": max(taken)}
        return {word: round(value / 1e6, 3) for word, value in figures.items()}


def works(level: float) -> dict[str, float]:
    """Of one event of each pair, so that both together use this part of the core."""
    return {"high": (level - LOW_WORK / PERIODS["low"]) * PERIODS["high"], "low": LOW_WORK}


def search(trial: Callable[[float], Trial], channels: str) -> dict[str, Any]:
    """The highest level without a miss, by halving, and the laxities of every level that was tried.  `channels`: what the
    trials are made of."""
    row: dict[str, Any] = {"channels": channels, "fifo": True, "utilisation": 0.0}
    tried: list[dict[str, Any]] = []
    low, high = 0, len(LEVELS)  # levels below `low` were met, those from `high` on were not
    while low < high:
        middle = (low + high) // 2
        say(f"utilisation, {channels}, {LEVELS[middle]:.0%}")
        outcome, attempts = attempt(trial, LEVELS[middle])
        row["fifo"] = row["fifo"] and outcome.fifo
        figures = {f"{name}_laxity_ms": outcome.spread(name) for name in PERIODS}
        tried.append({"level": LEVELS[middle], "misses": outcome.misses(), "attempts": attempts, **figures})
        if outcome.misses():
            high = middle
        else:
            row["utilisation"] = LEVELS[middle]
            low = middle + 1
    row["levels"] = sorted(tried, key=lambda one: float(one["level"]))
    return row


def attempt(trial: Callable[[float], Trial], level: float, most: int = ATTEMPTS) -> tuple[Trial, int]:
    """Until one has no miss; how many there were."""
    number, outcome = 1, trial(level)
    while outcome.misses() and number < most:
        number, outcome = number + 1, trial(level)
    return outcome, number


def on_one_core() -> None:
    """The last one: the first often has the machine's interrupts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run_pairs(dispatcher: HostDispatcher[D], works: Works, seconds: float) -> DispatchRecord:
    """Suppliers that get timeouts and push, and a consumer for each; works: name → period, supplier's and consumer's work."""
    infos = []
    for name, (period, supplying, consuming) in works.items():
        infos.append(RtInfo(f"supplier {name}", worst=supplying, period=period))
        infos.append(RtInfo(f"consumer {name}", worst=consuming, period=period))
    record = DispatchRecord()
    channel = RealTimeChannel("bench", dispatcher, schedule=plan(infos).table(), record=record)
    for number, (name, (period, supplying, consuming)) in enumerate(works.items(), 1):
        push = channel.supply((number, 16), name=f"supplier {name}", rt_info=f"supplier {name}").push

        def supply(events: Any, push: Any = push, work: float = supplying, number: int = number) -> None:
            burn(work)
            push(Event(16, number))

        def consume(events: Any, work: float = consuming) -> None:
            burn(work)

        channel.consume(supply, interval(period), name=f"supplier {name}", rt_info=f"supplier {name}")
        channel.consume(consume, on(16, number), name=f"consumer {name}", rt_info=f"consumer {name}")
    with channel, channel.urgently():
        time.sleep(seconds)
    return record


def end_to_end(record: DispatchRecord, name: str) -> list[int]:
    """Laxity of consumers within the period of their supplier; the first two, in which processes are born, left out."""
    due = [one.deadline_ns for one in record.of("dispatch", name=f"supplier {name}")]
    ended = [one.mono_ns for one in record.of("done", name=f"consumer {name}")]
    return [deadline - end for deadline, end in zip(due, ended, strict=False)][2:]


def run_trial(dispatcher: HostDispatcher[D], works: Works, seconds: float = TRIAL) -> Trial:
    record = run_pairs(dispatcher, works, seconds)
    return Trial({name: end_to_end(record, name) for name in works}, realtime_standing().fifo)


def pairs_at(level: float) -> Works:
    return {name: (PERIODS[name], 0.0, work) for name, work in works(level).items()}


def single_channel(level: float) -> Trial:
    return run_trial(Preemptive(patience=None), pairs_at(level))


def utilisation() -> dict[str, Any]:
    on_one_core()
    return search(single_channel, "single")


def pairs_of_rates() -> Works:
    return {f"{rate} Hz": (1 / rate, SUPPLIER_WORK, WORK[rate]) for rate in RATES}


def time_line() -> dict[str, Any]:
    """40, 20 and 10 Hz: how many deadlines were missed, and the laxities, with one thread and with processes."""
    on_one_core()
    pairs = pairs_of_rates()
    found = {"single": _figures(run_trial(OneThread(realtime=True), pairs), 1)}
    for attempt in range(1, ATTEMPTS + 1):
        trial = run_trial(Preemptive(patience=None), pairs)
        found["preemptive"] = _figures(trial, attempt)
        if not trial.misses():
            break
    return found


def _figures(trial: Trial, attempts: int) -> dict[str, Any]:
    return {
        "fifo": trial.fifo,
        "misses": trial.misses(),
        "attempts": attempts,
        "laxity_ms": {name: trial.spread(name) for name in trial.laxities},
    }
