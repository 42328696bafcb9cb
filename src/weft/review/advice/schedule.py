"""A schedule from what operations really took: RT_Info, rate-monotonic priorities, response times (S3-10, S3-14).

Of each operation a run tells how long it took, typically and at worst, how often it ran, and which other operation
had caused it.  Causes become dependencies only where they explain the rate: if an operation ran k times for each run
of the one before it.  A circle of causes cannot be planned; operations in one keep the period that was measured.

The period is the mean one.  What was measured includes what interrupted it, so times are upper bounds; record with a
dispatcher that lets consumers run to their end, and they are exact.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from weft.channel import After, RtInfo, SchedulePlan, plan
from weft.channel.scheduling.analysis import NANO, Task, response_time


@dataclass(frozen=True)
class Measured:
    """One operation as a run had it; times in nanoseconds."""

    operation: str
    runs: int
    typical_ns: float
    worst_ns: int
    first_ns: int
    last_ns: int
    priority: int | None = None
    sub_priority: int = 0
    misses: int = 0

    @property
    def period_ns(self) -> float:
        """The mean time from one run to the next; 0 if there was one run only."""
        return (self.last_ns - self.first_ns) / (self.runs - 1) if self.runs > 1 else 0.0


Dependencies = Mapping[str, tuple[After, ...]]
"""For each operation what triggers it; nothing: it has a period of its own."""


def dependencies(measured: Sequence[Measured], causes: Mapping[tuple[str, str], int]) -> Dependencies:
    """`causes`: how often the second operation was caused by the first."""
    known = {one.operation: one for one in measured}
    return without_circles({name: _dependencies(one, known, causes) for name, one in known.items()})


def without_circles(after: Dependencies) -> Dependencies:
    circles = _in_circles(after)
    return {name: () if name in circles else triggers for name, triggers in after.items()}


def rt_infos(measured: Sequence[Measured], after: Dependencies) -> list[RtInfo]:
    return [
        RtInfo(
            one.operation,
            worst=one.worst_ns / NANO,
            typical=one.typical_ns / NANO,
            period=0.0 if after[one.operation] else one.period_ns / NANO,
            dependencies=after[one.operation],
        )
        for one in sorted(measured, key=lambda one: one.operation)
    ]


def _dependencies(
    one: Measured, known: Mapping[str, Measured], causes: Mapping[tuple[str, str], int]
) -> tuple[After, ...]:
    """All of its runs must have a cause, and the same number for each run of what caused it."""
    found = {
        first: times
        for (first, second), times in causes.items()
        if second == one.operation and first in known and first != second
    }
    if not found or sum(found.values()) < one.runs:
        return ()
    made = []
    for first, times in sorted(found.items()):
        calls = round(times / known[first].runs)
        if calls < 1 or abs(times / known[first].runs - calls) > 0.05 * calls:
            return ()
        made.append(After(first, calls))
    return tuple(made)


def _in_circles(after: Mapping[str, tuple[After, ...]]) -> set[str]:
    """Operations that depend on themselves, by whatever way."""
    found = set()
    for start in after:
        waiting, seen = [one.operation for one in after[start]], set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [one.operation for one in after[name]]
        if start in seen:
            found.add(start)
    return found


def advise(
    measured: Sequence[Measured], causes: Mapping[tuple[str, str], int], preemptive: bool = True
) -> SchedulePlan:
    return plan(rt_infos(measured, dependencies(measured, causes)), preemptive=preemptive)


def as_recorded(
    measured: Sequence[Measured], made: SchedulePlan, preemptive: bool = True
) -> dict[str, tuple[float | None, bool]]:
    """For each operation its response time under the priorities that the run had, and whether it meets its period.

    Rates are those of the plan, so that only the priorities differ.
    """
    tasks = [
        Task(
            one.operation,
            one.worst_ns,
            (max(1, round(made[one.operation].period * NANO)),),
            max(1, round(made[one.operation].period * NANO)),
            NO_PRIORITY if one.priority is None else one.priority,
            one.sub_priority,
        )
        for one in measured
        if made[one.operation].period
    ]
    # Equal ranks are served in the order of arrival: each is taken for the last of its equals, the worst for it.
    ordered = sorted(tasks, key=lambda task: (task.rank, task.deadline, task.name))
    ranked = [replace(task, sub=at) for at, task in enumerate(ordered)]
    found: dict[str, tuple[float | None, bool]] = {}
    for task in ranked:
        response = response_time(task, ranked, preemptive)
        found[task.name] = (None if response is None else response / NANO, response is not None)
    return found


NO_PRIORITY = 255  # what nothing was said of comes last


# --- what a plan does to recorded work --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One run of an operation: when it could begin, and how long it takes; nanoseconds."""

    operation: str
    release_ns: int
    work_ns: int


def simulate(
    jobs: Sequence[Job], ranks: Mapping[str, tuple[int, int]], preemptive: bool = True
) -> dict[str, int]:
    """The longest response of each operation on one processor: the lowest rank first; only other priorities interrupt."""
    waiting = sorted(jobs, key=lambda job: job.release_ns)
    ready: list[tuple[tuple[int, int], int, int, Job]] = []
    left = {number: job.work_ns for number, job in enumerate(waiting)}
    running: tuple[tuple[int, int], int, int, Job] | None = None
    found: dict[str, int] = {}
    now, at = 0, 0
    while at < len(waiting) or ready or running is not None:
        while at < len(waiting) and waiting[at].release_ns <= now:
            heapq.heappush(ready, (ranks[waiting[at].operation], waiting[at].release_ns, at, waiting[at]))
            at += 1
        if running is not None and preemptive and ready and ready[0][0][0] < running[0][0]:
            heapq.heappush(ready, running)
            running = None
        if running is None:
            if not ready:
                now = waiting[at].release_ns
                continue
            running = heapq.heappop(ready)
        number, job = running[2], running[3]
        end = now + left[number]
        until = min(end, waiting[at].release_ns) if at < len(waiting) else end
        left[number] -= until - now
        now = until
        if not left[number]:
            found[job.operation] = max(found.get(job.operation, 0), now - job.release_ns)
            running = None
    return found
