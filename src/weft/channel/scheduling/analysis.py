"""Schedulability: do all operations finish within their periods?  In whole nanoseconds, so that nothing is rounded.

Fixed priorities.  The response time of an operation is the smallest R with

    R = B + C + Σ ceil(R / T) × C'   over all that are ranked before it

(Joseph and Pandya): its own worst case C, the work C' of everything more urgent that can arrive meanwhile, and the blocking B
by one that is less urgent, has begun and cannot be interrupted.  Within a preemption priority nothing interrupts, so B is the
longest of those of the same priority that are ranked after it; without preemption, of all that are ranked after it.  For
different priorities B is 0 and R is exact: it happens when all are triggered at the same time.  Otherwise it is an upper bound.

Earliest deadline first.  All share one priority, so nothing interrupts: Jeffay's conditions, which are exact.

Maximum urgency first.  Within a class the order changes from moment to moment; whatever it is, work that arrives at an idle
processor, and all that follows without a gap, is over after the busy period L = B + Σ ceil(L / T) × C of the class and those
above it.  An operation is safe if L is not longer than its period.

The utilisation bounds are quicker and coarser: Liu and Layland's n(2^(1/n) - 1), and the hyperbolic Π(U + 1) ≤ 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

NANO = 10**9


@dataclass(frozen=True, slots=True)
class Task:
    """An operation as the analysis sees it; times in nanoseconds, `deadline` is its period."""

    name: str
    worst: int
    streams: tuple[int, ...]
    deadline: int
    priority: int
    sub: int

    @property
    def rank(self) -> tuple[int, int]:
        return self.priority, self.sub

    def utilisation(self) -> float:
        return sum(self.worst / period for period in self.streams)

    def demand(self, length: int) -> int:
        """The most work that can arrive in a time of this length."""
        return sum(-(-length // period) * self.worst for period in self.streams)


def utilisation(tasks: list[Task]) -> float:
    return sum(task.utilisation() for task in tasks)


def within_liu_layland(tasks: list[Task]) -> bool:
    count = len(tasks)
    return not count or utilisation(tasks) <= count * (2 ** (1 / count) - 1)


def within_hyperbolic(tasks: list[Task]) -> bool:
    return prod(task.utilisation() + 1 for task in tasks) <= 2


def response_time(task: Task, tasks: list[Task], preemptive: bool) -> int | None:
    """The longest it takes from its trigger to its end; None if that can be longer than its period."""
    before = [one for one in tasks if one.rank < task.rank]
    own = task.worst * len(task.streams)
    blocked = _blocking(task, tasks, preemptive)
    return _least(
        lambda length: blocked + own + sum(one.demand(length) for one in before), blocked + own, task.deadline
    )


def busy_period(task: Task, tasks: list[Task], preemptive: bool) -> int | None:
    """How long the processor can be busy with the class of a task and those above it; None if longer than its period."""
    level = [one for one in tasks if one.priority <= task.priority]
    lower = [one.worst for one in tasks if one.priority > task.priority]
    blocked = 0 if preemptive else max(lower, default=0)
    start = blocked + sum(one.worst for one in level)
    return _least(lambda length: blocked + sum(one.demand(length) for one in level), start, task.deadline)


def meets_deadlines_first(tasks: list[Task]) -> dict[str, bool]:
    """Jeffay's conditions, for each task: it can block those of shorter periods without their missing a deadline."""
    if utilisation(tasks) > 1:
        return {task.name: False for task in tasks}
    series = sorted((period, task.worst, task.name) for task in tasks for period in task.streams)
    verdict = {task.name: True for task in tasks}
    for place, (period, worst, name) in enumerate(series):
        shorter = series[:place]
        if shorter and not _blocks_harmlessly(worst, period, shorter):
            verdict[name] = False
    return verdict


def _blocks_harmlessly(worst: int, period: int, shorter: list[tuple[int, int, str]]) -> bool:
    """At each moment before its own deadline at which another's deadline falls."""
    for other in {one[0] for one in shorter}:
        for moment in range(other + 1, period, other):
            if moment < worst + sum((moment - 1) // one[0] * one[1] for one in shorter):
                return False
    return True


def _blocking(task: Task, tasks: list[Task], preemptive: bool) -> int:
    after = [one for one in tasks if one.rank > task.rank]
    return max((one.worst for one in after if not preemptive or one.priority == task.priority), default=0)


def _least(step: Callable[[int], int], start: int, limit: int) -> int | None:
    """The least fixed point from a start up, or None if it lies above the limit."""
    length = start
    while length <= limit:
        longer = step(length)
        if longer == length:
            return length
        length = longer
    return None
