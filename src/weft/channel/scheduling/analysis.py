"""Schedulability: do all operations finish within their periods?  In whole nanoseconds, so that nothing is rounded.

Fixed priorities.  The response time of an operation is the smallest R with

    R = B + C + Σ ceil(R / T) × C'   over all that are ranked before it

(Joseph and Pandya): its own worst case C, the work C' of everything more urgent that can arrive meanwhile, and the blocking B
by one that is less urgent, has begun and cannot be interrupted.  Within a preemption priority nothing interrupts, so B is the
longest of those of the same priority that are ranked after it; without preemption, of all that are ranked after it.  For
different priorities B is 0 and R is exact: it happens when all are triggered at the same time.  Otherwise it is an upper bound.

Earliest deadline first.  All deadlines are met if at every moment t at which one falls, the work h(t) of all whose deadline is
not after t fits into t (Baruah), and, where nothing interrupts, also with the longest that was begun just before and has its
deadline after t (Jeffay, George).  Both are exact.  An operation with several series of triggers has its deadline before the
next trigger of all of them together, which is sooner than the period of any.  The moments are looked at from the last of a busy
period down, with leaps (Zhang and Burns: QPA).

Maximum urgency first.  Within a class the order changes from moment to moment; whatever it is, work that arrives at an idle
processor, and all that follows without a gap, is over after the busy period L = B + Σ ceil(L / T) × C of the class and those
above it.  An operation is safe if L is not longer than its period.  The same, with all operations in one class, holds for every
dispatcher that never idles while there is work: threads that share an interpreter, in whatever order.

The utilisation bounds are quicker and coarser: Liu and Layland's n(2^(1/n) - 1), and the hyperbolic Π(U + 1) ≤ 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod

NANO = 10**9
FURTHEST = 1000  # so many times its deadline, a response time is looked for
MOST_MOMENTS = 100_000  # deadlines that are looked at before a schedule counts as not shown to fit


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


def is_overloaded(tasks: list[Task]) -> bool:
    """More than 100 %, without rounding."""
    return sum(Fraction(task.worst, period) for task in tasks for period in task.streams) > 1


def meets_deadlines_first(tasks: list[Task], preemptive: bool = False) -> dict[str, bool]:
    """For each task: no deadline is missed on its account.

    Where they do not all fit, those are at fault whose deadlines fall into the time that is too short; where they would if
    they could be interrupted, the one that blocks the others for too long."""
    if is_overloaded(tasks):
        return {task.name: False for task in tasks}
    short = _too_short(tasks)
    verdict = {task.name: short is None or task.deadline > short for task in tasks}
    if not preemptive:
        for task in tasks:
            if not _blocks_harmlessly(task, tasks):
                verdict[task.name] = False
    return verdict


def work_until(moment: int, tasks: list[Task]) -> int:
    """What has to be done by then if all are triggered at 0, as early and as often as can be."""
    return sum(
        ((moment - task.deadline) // period + 1) * task.worst
        for task in tasks
        if task.deadline <= moment
        for period in task.streams
    )


def _too_short(tasks: list[Task]) -> int | None:
    """A time that does not suffice for the work that has to be done in it, though nothing blocks; None if there is none."""
    if all(task.deadline >= max(task.streams) for task in tasks):
        return None  # 100 % is enough then
    first = min(task.deadline for task in tasks)
    busy = _busy(tasks)
    if busy is None:
        return max(task.deadline for task in tasks)  # not shown to be enough
    moment = _last_deadline(busy + 1, tasks)
    for _ in range(MOST_MOMENTS):
        work = work_until(moment, tasks)
        if work > moment:
            return moment
        if work <= first:
            return None
        moment = work if work < moment else _last_deadline(moment, tasks)
    return max(task.deadline for task in tasks)


def _busy(tasks: list[Task]) -> int | None:
    """How long the processor is busy at most without a gap; None if that was not found out."""
    length = sum(task.worst * len(task.streams) for task in tasks)
    for _ in range(MOST_MOMENTS):
        longer = sum(task.demand(length) for task in tasks)
        if longer == length:
            return length
        length = longer
    return None


def _last_deadline(before: int, tasks: list[Task]) -> int:
    found = [
        task.deadline + (before - 1 - task.deadline) // period * period
        for task in tasks
        if task.deadline < before
        for period in task.streams
    ]
    return max(found, default=0)


def _blocks_harmlessly(task: Task, tasks: list[Task]) -> bool:
    """At each moment before its own deadline at which another's deadline falls.  It began one unit of time before."""
    moments = {
        moment
        for one in tasks
        if one.deadline < task.deadline
        for period in one.streams
        for moment in range(one.deadline, min(task.deadline, one.deadline + MOST_MOMENTS * period), period)
    }
    return all(task.worst - 1 + work_until(moment, tasks) <= moment for moment in moments)


@dataclass(frozen=True, slots=True)
class Interference:
    """What an operation waits for in its worst case: `times` runs of another, of `nanoseconds` altogether."""

    name: str
    times: int
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Delay:
    """A response time, taken apart: own + blocked + all interferences.  `response` is None if no bound was found."""

    response: int | None
    own: int
    blocked: int
    blocker: str
    interferences: tuple[Interference, ...]


def fixed_delay(task: Task, tasks: list[Task], preemptive: bool) -> Delay:
    """Why it takes as long as `response_time` says; also beyond its deadline."""
    before = [one for one in tasks if one.rank < task.rank]
    own = task.worst * len(task.streams)
    return _delay(own, before, _blocker(task, tasks, preemptive), FURTHEST * task.deadline)


def class_delay(task: Task, tasks: list[Task], preemptive: bool) -> Delay:
    """The same for `busy_period`."""
    level = [one for one in tasks if one.priority <= task.priority]
    lower = [one for one in tasks if one.priority > task.priority]
    blocker = None if preemptive else max(lower, key=lambda one: one.worst, default=None)
    return _delay(0, level, blocker, FURTHEST * task.deadline)


def _delay(own: int, before: list[Task], blocker: Task | None, limit: int) -> Delay:
    """Until the work of those before is done, which can be after the deadline, or never."""
    blocked = 0 if blocker is None else blocker.worst
    start = blocked + own + sum(one.worst for one in before if not own)
    used = sum(Fraction(one.worst, period) for one in before for period in one.streams)
    length: int | None = None
    if used < 1 or (used == 1 and not blocked + own):
        length = _least(
            lambda length: blocked + own + sum(one.demand(length) for one in before), start, limit
        )
    parts = () if length is None else tuple(_interference(one, length) for one in before)
    return Delay(length, own, blocked, "" if blocker is None else blocker.name, parts)


def _interference(one: Task, length: int) -> Interference:
    times = sum(-(-length // period) for period in one.streams)
    return Interference(one.name, times, times * one.worst)


def _blocking(task: Task, tasks: list[Task], preemptive: bool) -> int:
    blocker = _blocker(task, tasks, preemptive)
    return 0 if blocker is None else blocker.worst


def _blocker(task: Task, tasks: list[Task], preemptive: bool) -> Task | None:
    """The longest of those after it that it cannot interrupt."""
    after = [one for one in tasks if one.rank > task.rank]
    longest = [one for one in after if not preemptive or one.priority == task.priority]
    return max(longest, key=lambda one: one.worst, default=None)


def _least(step: Callable[[int], int], start: int, limit: int) -> int | None:
    """The least fixed point from a start up, or None if it lies above the limit."""
    length = start
    while length <= limit:
        longer = step(length)
        if longer == length:
            return length
        length = longer
    return None
