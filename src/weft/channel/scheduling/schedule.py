"""The off-line scheduler and what it leaves for the run: a table (S3-10).

Policies, with lower numbers more urgent:

* rate monotonic: one preemption priority for each rate, the fastest first (30 Hz above 15 Hz).
* earliest deadline first: one priority for all; in its queue, the push whose period ends first.
* maximum urgency first: one priority for each criticality, the most critical first; in its queue, the push with the least time
  left before it has to begin.

Where the dispatcher interrupts (`preemptive`), the two dynamic policies interrupt within a queue as well: what has the earlier
key goes before what runs.  A policy of your own is a `Policy`: it says which operations share a preemption priority, and whether
there is a dynamic key in it.

In all of them the sub-priority puts those that are depended on before those that depend on them, then the more important, then
by name, so that no two are equal.  Operations that nothing triggers come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
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
from weft.channel.scheduling.rt_info import RtInfo, depths, did_you_mean, rate, streams
from weft.channel.scheduling.urgency import Urgency
from weft.model.errors import ScheduleError

RATE_MONOTONIC: Final = "rate monotonic"
EARLIEST_DEADLINE_FIRST: Final = "earliest deadline first"
MAXIMUM_URGENCY_FIRST: Final = "maximum urgency first"
POLICIES = (RATE_MONOTONIC, EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST)

RESPONSE_TIMES: Final = "response times"
PROCESSOR_DEMAND: Final = "processor demand"
BUSY_PERIODS: Final = "busy periods"
"""How it was found out whether deadlines are met (see `analysis`)."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How operations that something triggers are ranked.  Both functions are given the RT_Info and its period.

    group: operations with the same number share a preemption priority, the lowest number is the most urgent.
    lead: what is added to the time of a push for its dynamic key; None where priorities are fixed."""

    name: str
    group: Callable[[RtInfo, float], float]
    lead: Callable[[RtInfo, float], float] | None = None


_BUILT_IN = {
    one.name: one
    for one in (
        Policy(RATE_MONOTONIC, lambda info, period: round(period * NANO)),
        Policy(EARLIEST_DEADLINE_FIRST, lambda info, period: 0.0, lambda info, period: period),
        Policy(
            MAXIMUM_URGENCY_FIRST,
            lambda info, period: -info.criticality,
            lambda info, period: period - info.worst,
        ),
    )
}


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

    def urgency(self, preemptive: bool = False) -> Urgency:
        """To be done before it is triggered again.  `preemptive`: an earlier dynamic key interrupts it."""
        interrupts = preemptive and self.lead is not None
        return Urgency(
            self.priority,
            self.sub_priority,
            self.lead,
            self.info.worst,
            self.period,
            self.info.name,
            interrupts,
        )


class Schedule:
    """The run-time scheduler: a name's urgency in O(1)."""

    def __init__(self, table: Mapping[str, Urgency]) -> None:
        self._table = {name: urgency.named(name) for name, urgency in table.items()}

    def urgency(self, rt_info: str) -> Urgency:
        found = self._table.get(rt_info)
        if found is None:
            raise ScheduleError(
                f"the schedule has no operation {rt_info}{did_you_mean(rt_info, self._table)}"
            )
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
        return Schedule({one.info.name: one.urgency(self.preemptive) for one in self.operations})

    def __getitem__(self, name: str) -> Scheduled:
        return next(one for one in self.operations if one.info.name == name)


def plan(
    infos: Iterable[RtInfo], policy: str | Policy = RATE_MONOTONIC, preemptive: bool = True
) -> SchedulePlan:
    """Priorities for all operations, and whether they fit.  `preemptive`: does the dispatcher interrupt what is less urgent?"""
    chosen = _policy(policy)
    known = list(infos)
    runs = streams(known)
    periods = {name: _period(series) for name, series in runs.items()}
    deep = depths(known)
    ranked = sorted(known, key=lambda info: (deep[info.name], -info.importance, info.name))
    numbers = _priorities(known, periods, chosen)
    subs: dict[int, int] = {}
    decided: list[Scheduled] = []
    for info in ranked:
        priority = numbers[info.name]
        sub = subs.get(priority, 0)
        subs[priority] = sub + 1
        period = periods[info.name]
        lead = chosen.lead(info, period) if chosen.lead is not None and period else None
        decided.append(Scheduled(info, period, priority, sub, lead))
    decided.sort(key=lambda one: (one.priority, one.sub_priority))
    return analysed(SchedulePlan(chosen.name, preemptive, tuple(decided), 0.0))


def _policy(policy: str | Policy) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if policy not in _BUILT_IN:
        raise ScheduleError(
            f"there is no policy {policy!r}{did_you_mean(policy, POLICIES)}; there are {', '.join(POLICIES)}"
        )
    return _BUILT_IN[policy]


def _period(series: tuple[float, ...]) -> float:
    return 1 / rate(series) if series else 0.0


def _priorities(infos: list[RtInfo], periods: dict[str, float], policy: Policy) -> dict[str, int]:
    """What nothing triggers comes last."""
    classes = {
        info.name: (False, policy.group(info, periods[info.name])) if periods[info.name] else (True, 0.0)
        for info in infos
    }
    order = {key: number for number, key in enumerate(sorted(set(classes.values())))}
    return {name: order[key] for name, key in classes.items()}


def tasks_of(made: SchedulePlan) -> list[Task]:
    """Its operations as the analysis sees them; those that nothing triggers are left out."""
    runs = streams([one.info for one in made.operations])
    return [
        Task(
            one.info.name,
            round(one.info.worst * NANO),
            tuple(max(1, round(period * NANO)) for period in runs[one.info.name]),
            max(1, round(one.period * NANO)),
            one.priority,
            one.sub_priority,
        )
        for one in made.operations
        if one.period
    ]


def analysis_of(made: SchedulePlan) -> str:
    """Which analysis fits: that of the keys as they are, whoever chose them."""
    triggered = [one for one in made.operations if one.period]
    if all(one.lead is None for one in triggered):
        return RESPONSE_TIMES
    together = len({one.priority for one in triggered}) == 1
    by_deadline = all(one.lead == one.period for one in triggered)
    return PROCESSOR_DEMAND if together and by_deadline else BUSY_PERIODS


def analysed(made: SchedulePlan, preemptive: bool | None = None, in_order: bool = True) -> SchedulePlan:
    """The same priorities, with what they lead to, where the dispatcher interrupts or does not.

    in_order: False for a dispatcher that keeps no order among priorities, as threads do that share an interpreter."""
    chosen = made.preemptive if preemptive is None else preemptive
    tasks = tasks_of(made)
    if in_order:
        verdicts = _verdicts(tasks, analysis_of(made), chosen)
    else:
        verdicts = _verdicts(any_order(tasks), BUSY_PERIODS, chosen)
    operations = []
    for one in made.operations:
        response, meets = verdicts.get(one.info.name, (None, True))
        seconds = None if response is None else response / NANO
        operations.append(replace(one, response=seconds, meets_deadline=meets))
    return SchedulePlan(
        made.policy,
        chosen,
        tuple(operations),
        utilisation(tasks),
        within_liu_layland(tasks),
        within_hyperbolic(tasks),
    )


def any_order(tasks: list[Task]) -> list[Task]:
    """All in one class."""
    return [replace(task, priority=0) for task in tasks]


def _verdicts(tasks: list[Task], analysis: str, preemptive: bool) -> dict[str, tuple[int | None, bool]]:
    if analysis == PROCESSOR_DEMAND:
        return {name: (None, meets) for name, meets in meets_deadlines_first(tasks, preemptive).items()}
    measure = response_time if analysis == RESPONSE_TIMES else busy_period
    found = {}
    for task in tasks:
        response = measure(task, tasks, preemptive)
        found[task.name] = (response, response is not None)
    return found
