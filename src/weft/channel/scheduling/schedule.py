"""The off-line scheduler and what it leaves for the run: a table (S3-10).

Policies, with lower numbers more urgent:

* rate monotonic: one preemption priority for each rate, the fastest first (30 Hz above 15 Hz).
* earliest deadline first: one priority for all; in its queue, the push whose period ends first.
* maximum urgency first: one priority for each criticality, the most critical first; in its queue, the push with the least time
  left before it has to begin.

In all of them the sub-priority puts those that are depended on before those that depend on them, then the more important, then
by name, so that no two are equal.  Operations that nothing triggers come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from weft.channel.scheduling.analysis import (
    NANO,
    Task,
    busy_period,
    meets_deadlines_first,
    response_time,
    utilisation,
    within_hyperbolic,
    within_liu_layland,
)
from weft.channel.scheduling.rt_info import RtInfo, depths, rate, streams
from weft.channel.scheduling.urgency import Urgency
from weft.model.errors import ScheduleError

RATE_MONOTONIC: Final = "rate monotonic"
EARLIEST_DEADLINE_FIRST: Final = "earliest deadline first"
MAXIMUM_URGENCY_FIRST: Final = "maximum urgency first"
POLICIES = (RATE_MONOTONIC, EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An operation with what the scheduler decided.

    period: of all its triggers together; 0.0 if nothing triggers it.
    lead: what is added to the time of a push for its dynamic key; None where priorities are fixed.
    response: the longest from trigger to end, as far as the analysis can say; None if that is more than the period, or if
    the policy knows no such figure.
    """

    info: RtInfo
    period: float
    priority: int
    sub_priority: int
    lead: float | None = None
    response: float | None = None
    meets_deadline: bool = True

    def urgency(self) -> Urgency:
        """To be done before it is triggered again."""
        return Urgency(
            self.priority, self.sub_priority, self.lead, self.info.worst, self.period, self.info.name
        )


class Schedule:
    """The run-time scheduler: a name's urgency in O(1)."""

    def __init__(self, table: Mapping[str, Urgency]) -> None:
        self._table = {name: urgency.named(name) for name, urgency in table.items()}

    def urgency(self, rt_info: str) -> Urgency:
        found = self._table.get(rt_info)
        if found is None:
            close = get_close_matches(rt_info, self._table, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ScheduleError(f"the schedule has no operation {rt_info}{hint}")
        return found


@dataclass(frozen=True)
class SchedulePlan:
    """What the off-line scheduler found out; `operations` from the most urgent to the least.

    The utilisation bounds are not kept in a schedule file, and are None in a plan that was read from one."""

    policy: str
    preemptive: bool
    operations: tuple[Scheduled, ...]
    utilisation: float
    within_liu_layland: bool | None = None
    within_hyperbolic: bool | None = None

    @property
    def schedulable(self) -> bool:
        return all(one.meets_deadline for one in self.operations)

    def table(self) -> Schedule:
        return Schedule({one.info.name: one.urgency() for one in self.operations})

    def __getitem__(self, name: str) -> Scheduled:
        return next(one for one in self.operations if one.info.name == name)


def plan(infos: Iterable[RtInfo], policy: str = RATE_MONOTONIC, preemptive: bool = True) -> SchedulePlan:
    """Priorities for all operations, and whether they fit.  `preemptive`: does the dispatcher interrupt lower priorities?"""
    if policy not in POLICIES:
        raise ScheduleError(f"there is no policy {policy!r}; there are {', '.join(POLICIES)}")
    known = list(infos)
    runs = streams(known)
    periods = {name: 1 / rate(series) if series else 0.0 for name, series in runs.items()}
    deep = depths(known)
    ranked = sorted(known, key=lambda info: (deep[info.name], -info.importance, info.name))
    numbers = _priorities(known, periods, policy)
    subs: dict[int, int] = {}
    decided: list[Scheduled] = []
    for info in ranked:
        priority = numbers[info.name]
        sub = subs.get(priority, 0)
        subs[priority] = sub + 1
        period = periods[info.name]
        decided.append(Scheduled(info, period, priority, sub, _lead(info, period, policy)))
    decided.sort(key=lambda one: (one.priority, one.sub_priority))
    return _analysed(decided, runs, policy, preemptive)


def _priorities(infos: list[RtInfo], periods: dict[str, float], policy: str) -> dict[str, int]:
    classes = {info.name: _class(info, periods[info.name], policy) for info in infos}
    order = {key: number for number, key in enumerate(sorted(set(classes.values())))}
    return {name: order[key] for name, key in classes.items()}


def _class(info: RtInfo, period: float, policy: str) -> tuple[bool, float]:
    if not period:
        return True, 0.0
    if policy == RATE_MONOTONIC:
        return False, round(period * NANO)
    return False, -info.criticality if policy == MAXIMUM_URGENCY_FIRST else 0.0


def _lead(info: RtInfo, period: float, policy: str) -> float | None:
    if policy == RATE_MONOTONIC or not period:
        return None
    return period if policy == EARLIEST_DEADLINE_FIRST else period - info.worst


def _analysed(
    decided: list[Scheduled], runs: dict[str, tuple[float, ...]], policy: str, preemptive: bool
) -> SchedulePlan:
    tasks = [
        Task(
            one.info.name,
            round(one.info.worst * NANO),
            tuple(max(1, round(period * NANO)) for period in runs[one.info.name]),
            max(1, round(one.period * NANO)),
            one.priority,
            one.sub_priority,
        )
        for one in decided
        if one.period
    ]
    verdicts = _verdicts(tasks, policy, preemptive)
    operations = []
    for one in decided:
        response, meets = verdicts.get(one.info.name, (None, True))
        operations.append(
            Scheduled(
                one.info, one.period, one.priority, one.sub_priority, one.lead,
                None if response is None else response / NANO, meets,
            )
        )  # fmt: skip
    used = utilisation(tasks)
    return SchedulePlan(
        policy, preemptive, tuple(operations), used, within_liu_layland(tasks), within_hyperbolic(tasks)
    )


def _verdicts(tasks: list[Task], policy: str, preemptive: bool) -> dict[str, tuple[int | None, bool]]:
    if policy == EARLIEST_DEADLINE_FIRST:
        return {name: (None, meets) for name, meets in meets_deadlines_first(tasks).items()}
    measure = response_time if policy == RATE_MONOTONIC else busy_period
    found = {}
    for task in tasks:
        response = measure(task, tasks, preemptive)
        found[task.name] = (response, response is not None)
    return found
