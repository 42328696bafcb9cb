"""Admission control (S3-11): whoever connects is judged first, by the off-line scheduler's analysis.

The paper trusts suppliers and consumers to have been scheduled before the run.  Here a channel may be given, as its schedule, all
that is known of operations; which of them run follows from who is connected.  Each connection, and each further registration, is
planned together with those that are there.  If all deadlines are met, it is admitted, and the channel goes by the new plan from
then on.  If not, it is refused, with the reasons, and nothing has changed; or admitted all the same, and the observer told.
Whoever names no operation runs after all others and is not judged; where nothing interrupts, it can make others late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weft.channel.scheduling.analysis import NANO, Delay
from weft.channel.scheduling.explanation import duration, explained
from weft.channel.scheduling.rt_info import RtInfo, did_you_mean, triggers
from weft.channel.scheduling.schedule import RATE_MONOTONIC, Policy, SchedulePlan, plan
from weft.channel.scheduling.urgency import Urgency
from weft.model.errors import ScheduleError

WORST = 3  # of those that would be late, so many are explained


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """`made`: the plan with whoever asks; `before`: the utilisation without."""

    who: str
    made: SchedulePlan
    before: float

    @property
    def fits(self) -> bool:
        return self.made.schedulable

    def reasons(self) -> list[str]:
        """Of those that can be late, the most urgent first."""
        late = [one.info.name for one in self.made.operations if not one.meets_deadline]
        found = []
        for name in late[:WORST]:
            why = explained(self.made, name)
            parts = "" if why.delay is None or why.delay.response is None else f" ({_parts(why.delay)})"
            found.append(f"{name}: {why.verdict}{parts}")
        more = len(late) - WORST
        return [*found, f"and {more} more"] if more > 0 else found

    def __str__(self) -> str:
        used = f"{self.before:.1%} of the processor were used, with it {self.made.utilisation:.1%}"
        if self.fits:
            return f"{self.who} fits: {used}, all deadlines are met"
        return f"{self.who} does not fit: {used}; {'; '.join(self.reasons())}"


class AdmissionControl:
    """The schedule of a channel that admits.  `refuse=False`: who does not fit is admitted, and the observer is told."""

    def __init__(
        self,
        infos: Iterable[RtInfo],
        policy: str | Policy = RATE_MONOTONIC,
        preemptive: bool = True,
        refuse: bool = True,
    ) -> None:
        known = list(infos)
        plan(known, policy, preemptive)  # what cannot be scheduled at all is refused here
        self.infos = {info.name: info for info in known}
        self.policy = policy
        self.preemptive = preemptive
        self.refuse = refuse
        self.made = plan((), policy, preemptive)
        self._table = self.made.table()

    def urgency(self, rt_info: str) -> Urgency:
        return self._table.urgency(rt_info)

    def judge(self, who: str, connected: Iterable[RtInfo]) -> AdmissionVerdict:
        """`connected`: all that would run, with what triggers them."""
        return AdmissionVerdict(who, plan(connected, self.policy, self.preemptive), self.made.utilisation)

    def adopt(self, verdict: AdmissionVerdict) -> None:
        self.made = verdict.made
        self._table = verdict.made.table()

    def needed(self, names: Iterable[str], who: str) -> list[RtInfo]:
        """The operations of these names, and those that they depend on by themselves."""
        found: dict[str, RtInfo] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            info = self.infos.get(name)
            if info is None:
                raise ScheduleError(
                    f"{who} names the operation {name}, of which there is no RT_Info{did_you_mean(name, self.infos)}"
                )
            found[name] = info
            waiting += [one.operation for one in triggers(info.dependencies)]
        return [info for name, info in self.infos.items() if name in found]


def _parts(delay: Delay) -> str:
    """The largest first."""
    parts = [(delay.own, "of its own"), (delay.blocked, f"of {delay.blocker}, which is not interrupted")]
    parts += [(one.nanoseconds, f"of {one.times} × {one.name}") for one in delay.interferences]
    parts.sort(key=lambda part: -part[0])
    return ", ".join(f"{duration(nanoseconds / NANO)} {what}" for nanoseconds, what in parts if nanoseconds)
