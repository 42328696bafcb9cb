"""Why an operation has its priority, and what its response time is made of: for people who read a schedule."""

from __future__ import annotations

from dataclasses import dataclass

from weft.channel.scheduling.analysis import NANO, Delay, class_delay, fixed_delay
from weft.channel.scheduling.rt_info import LEVELS, After, AfterAll, Every, Trigger, did_you_mean
from weft.channel.scheduling.schedule import (
    BUSY_PERIODS,
    EARLIEST_DEADLINE_FIRST,
    MAXIMUM_URGENCY_FIRST,
    PROCESSOR_DEMAND,
    RATE_MONOTONIC,
    RESPONSE_TIMES,
    Scheduled,
    SchedulePlan,
    analysis_of,
    any_order,
    tasks_of,
)
from weft.model.errors import ScheduleError


@dataclass(frozen=True, slots=True)
class Explanation:
    """`delay` is None where nothing triggers the operation, or the analysis has no response times."""

    operation: Scheduled
    triggers: str
    ranks: tuple[str, ...]
    delay: Delay | None
    verdict: str


def explained(made: SchedulePlan, name: str, in_order: bool = True) -> Explanation:
    """Of a schedule that was analysed, an operation."""
    known = {one.info.name: one for one in made.operations}
    one = known.get(name)
    if one is None:
        raise ScheduleError(f"the schedule has no operation {name}{did_you_mean(name, known)}")
    delay = _delay(made, one, in_order) if one.period else None
    return Explanation(one, triggered_by(one), _ranks(made, one), delay, verdict_of(made, one, delay))


def analysis_text(made: SchedulePlan, in_order: bool = True) -> str:
    """By what it was found out, for which kind of dispatcher."""
    if not in_order:
        return "busy periods: an upper bound, for threads in any order"
    kind = (
        "which interrupts what is less urgent" if made.preemptive else "where what has begun runs to its end"
    )
    words = {
        RESPONSE_TIMES: "response times (Joseph and Pandya)",
        PROCESSOR_DEMAND: "processor demand (Baruah, George)",
        BUSY_PERIODS: "busy periods: an upper bound",
    }
    return f"{words[analysis_of(made)]}, for a dispatcher {kind}"


def triggered_by(one: Scheduled) -> str:
    if one.info.period:
        return "by its own period"
    if not one.info.dependencies:
        return "by nothing"
    return "after " + " or ".join(trigger_text(part) for part in one.info.dependencies)


def trigger_text(trigger: Trigger) -> str:
    if isinstance(trigger, After):
        return trigger.operation if trigger.calls == 1 else f"{trigger.operation} ({trigger.calls} times)"
    if isinstance(trigger, Every):
        return f"every {duration(trigger.seconds)}"
    word = " and " if isinstance(trigger, AfterAll) else " or "
    text = word.join(trigger_text(part) for part in trigger.parts)
    return text if len(trigger.parts) == 1 else f"({text})"


def _ranks(made: SchedulePlan, one: Scheduled) -> tuple[str, ...]:
    """Why this priority, and why this place in it."""
    if not one.period:
        return (
            f"priority {one.priority}: nothing triggers it, so it comes after all that something triggers",
        )
    same = [other for other in made.operations if other.priority == one.priority]
    lines = [f"priority {one.priority}: {_because(made, one)}"]
    before = [other.info.name for other in same if other.sub_priority < one.sub_priority]
    after = [other.info.name for other in same if other.sub_priority > one.sub_priority]
    place = f"sub-priority {one.sub_priority} of {len(same)}: what is depended on first, then by importance "
    place += f"({LEVELS[one.info.importance]}), then by name"
    lines.append(place)
    lines += [f"before it: {', '.join(before)}"] if before else []
    lines += [f"after it: {', '.join(after)}"] if after else []
    if one.lead is not None:
        key = "deadline" if one.lead == one.period else "last moment to begin"
        lines.append(f"in the queue by {key}, {duration(one.lead)} after each trigger")
    return tuple(lines)


def _because(made: SchedulePlan, one: Scheduled) -> str:
    if made.policy == RATE_MONOTONIC:
        faster = {other.priority for other in made.operations if other.priority < one.priority}
        count = f"{len(faster)} rates are faster" if len(faster) != 1 else "one rate is faster"
        return f"{1 / one.period:.6g} Hz; {count if faster else 'no rate is faster'}"
    if made.policy == EARLIEST_DEADLINE_FIRST:
        return "all share it; who goes first is decided by deadlines at run time"
    if made.policy == MAXIMUM_URGENCY_FIRST:
        return f"criticality {one.info.criticality} ({LEVELS[one.info.criticality]})"
    return f"as the policy {made.policy} says"


def _delay(made: SchedulePlan, one: Scheduled, in_order: bool) -> Delay | None:
    tasks = tasks_of(made)
    kind = analysis_of(made)
    if not in_order:
        tasks, kind = any_order(tasks), BUSY_PERIODS
    if kind == PROCESSOR_DEMAND:
        return None
    task = next(task for task in tasks if task.name == one.info.name)
    measure = fixed_delay if kind == RESPONSE_TIMES else class_delay
    return measure(task, tasks, made.preemptive or not in_order)


def verdict_of(made: SchedulePlan, one: Scheduled, delay: Delay | None) -> str:
    if not one.period:
        return "nothing triggers it, so it has no deadline"
    allowed = duration(one.period)
    if delay is None:
        if one.meets_deadline:
            return f"ends within {allowed}, before it is triggered again"
        if made.utilisation > 1:
            return f"can end after {allowed}: {made.utilisation:.1%} of the processor are asked for"
        ran = duration(one.info.worst)
        return f"deadlines can be missed on its account: it runs {ran} without a break, or too much is due at once"
    if delay.response is None:
        return f"no bound was found on how late it ends, for those that go first leave it too little; {allowed} are allowed"
    took = duration(delay.response / NANO)
    if one.meets_deadline:
        return f"ends within {took}; {allowed} are allowed, before it is triggered again"
    return f"can take {took}; only {allowed} are allowed, before it is triggered again"


def duration(seconds: float) -> str:
    """In the unit that fits."""
    for bound, unit, factor in ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (0.0, "µs", 1e6)):
        if seconds >= bound or not bound:
            return f"{seconds * factor:.4g} {unit}"
    raise AssertionError
