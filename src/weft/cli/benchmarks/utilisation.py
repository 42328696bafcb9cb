"""How much of one core consumers get before deadlines are missed (S3-15), and paper 003's time line for real (S3-14).

All processes share one core, and everything asks for SCHED_FIFO.  A consumer's work is CPU time that it burns, so what is counted
is what consumers got; the rest is what the channel, the machine and whoever else is on it took.

The experiment is made of *trials*: one run with a certain amount of high-priority work, whose outcome is the laxities of both
pairs.  `search` raises the work until the low-priority pair misses, whatever channels a trial is made of: one here, or several in
several processes.  On a shared machine a miss may be another's doing: a level counts as met if one of several trials had none,
and how many were needed is part of the result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weft.channel import DispatchRecord, Event, RtInfo, interval, on, plan
from weft.host.dispatch import HostDispatcher, OneThread, Preemptive, RealTimeChannel, realtime_standing

HIGH_PERIOD = 0.050
LOW_PERIOD = 0.100
LOW_WORK = 0.020
TRIAL = 2.0
ATTEMPTS = 3
LEVELS = tuple(number / 100 for number in range(80, 100))

RATES = (40, 20, 10)
SUPPLIER_WORK = 0.0005
WORK = {40: 0.006, 20: 0.010, 10: 0.034}


def burn(seconds: float) -> None:
    """So much CPU time, however long that takes."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@dataclass
class Trial:
    """Laxities in nanoseconds, by name; negative: missed."""

    laxities: dict[str, list[int]] = field(default_factory=dict)

    def misses(self) -> int:
        return sum(laxity < 0 for taken in self.laxities.values() for laxity in taken)

    def spread(self, name: str) -> dict[str, float]:
        """Milliseconds."""
        taken = self.laxities[name]
        average = sum(taken) / len(taken)
        return {
            f"{name} min": min(taken) / 1e6,
            f"{name} mean": average / 1e6,
            f"{name} max": max(taken) / 1e6,
        }


def high_work(level: float) -> float:
    """Of one high-priority event, so that both pairs together use this part of the core."""
    return (level - LOW_WORK / LOW_PERIOD) * HIGH_PERIOD


def search(
    trial: Callable[[float], Trial], levels: tuple[float, ...] = LEVELS, attempts: int = ATTEMPTS
) -> dict[str, float]:
    """The highest level without a miss, by halving; flat figures: the laxities of every level that was tried."""
    found: dict[str, float] = {"utilisation": 0.0}
    low, high = 0, len(levels)  # levels below `low` were met, those from `high` on were not
    while low < high:
        middle = (low + high) // 2
        level = levels[middle]
        met = False
        for attempt in range(1, attempts + 1):
            outcome = trial(high_work(level))
            name = f"level {level:.2f}"
            found |= {f"{name} {word}": value for word, value in outcome.spread("high").items()}
            found |= {f"{name} {word}": value for word, value in outcome.spread("low").items()}
            found |= {f"{name} misses": float(outcome.misses()), f"{name} attempts": float(attempt)}
            met = outcome.misses() == 0
            if met:
                break
        if met:
            found["utilisation"] = max(found["utilisation"], level)
            low = middle + 1
        else:
            high = middle
    return found


def on_one_core() -> None:
    """The last one: the first often has the machine's interrupts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run_pairs(
    dispatcher: HostDispatcher, works: dict[str, tuple[float, float, float]], seconds: float
) -> DispatchRecord:
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


def run_trial(dispatcher: HostDispatcher, works: dict[str, tuple[float, float, float]]) -> Trial:
    record = run_pairs(dispatcher, works, TRIAL)
    return Trial({name: end_to_end(record, name) for name in works})


def single_channel(work: float) -> Trial:
    works = {"high": (HIGH_PERIOD, 0.0, work), "low": (LOW_PERIOD, 0.0, LOW_WORK)}
    return run_trial(Preemptive(patience=None), works)


def utilisation() -> dict[str, float]:
    on_one_core()
    return {"fifo": float(realtime_standing().fifo), **search(single_channel)}


def time_line() -> dict[str, float]:
    """40, 20 and 10 Hz: how many deadlines were missed, and the least laxity, with one thread and with processes."""
    on_one_core()
    found: dict[str, float] = {"fifo": float(realtime_standing().fifo)}
    works = {f"{rate} Hz": (1 / rate, SUPPLIER_WORK, WORK[rate]) for rate in RATES}
    for attempt in range(1, ATTEMPTS + 1):
        trial = run_trial(Preemptive(patience=None), works)
        found |= {f"time line preemptive {word}": value for word, value in _figures(trial).items()}
        found["time line preemptive attempts"] = float(attempt)
        if not trial.misses():
            break
    trial = run_trial(OneThread(realtime=True), works)
    return found | {f"time line single {word}": value for word, value in _figures(trial).items()}


def _figures(trial: Trial) -> dict[str, float]:
    found = {"misses": float(trial.misses())}
    for name in trial.laxities:
        found |= trial.spread(name)
    return found
