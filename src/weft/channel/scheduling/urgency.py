"""How urgent a push is, as the schedule says (S3-8, S3-10)."""

from __future__ import annotations

from typing import Final

UNSCHEDULED_PRIORITY: Final = 255  # after all that is scheduled


class Urgency:
    """Lower numbers are more urgent.

    `preemption` chooses the queue: what is more urgent there may interrupt.  Within a queue order is by the dynamic key, which is
    the time of the push plus `lead` (its deadline, or its last moment to begin), then by `sub`, then first come, first served.
    Without a lead the key is the same for all.  Within a queue nothing interrupts, unless `interrupts`: then an earlier key does.
    `worst` is the longest a push should take, 0.0 if unknown;
    `within` is how long after the push it is to be done, 0.0 if that does not matter.  `operation` is what records call it;
    `rt_info` is what a channel has looked it up by, so that another schedule can be asked for the same.
    """

    __slots__ = (
        "dynamic",
        "interrupts",
        "lead",
        "operation",
        "preemption",
        "rt_info",
        "sub",
        "within",
        "worst",
    )

    def __init__(
        self,
        preemption: int = UNSCHEDULED_PRIORITY,
        sub: int = 0,
        lead: float | None = None,
        worst: float = 0.0,
        within: float = 0.0,
        operation: str = "",
        interrupts: bool = False,
        rt_info: str = "",
    ) -> None:
        self.preemption = preemption
        self.sub = sub
        self.dynamic = lead is not None
        self.lead = 0.0 if lead is None else lead
        self.worst = worst
        self.within = within
        self.operation = operation
        self.interrupts = interrupts
        self.rt_info = rt_info

    def key(self, now: float) -> float:
        return now + self.lead if self.dynamic else 0.0

    def named(self, operation: str, rt_info: str = "") -> Urgency:
        """The same, for an operation, unless it names one already."""
        lead = self.lead if self.dynamic else None
        name = self.operation or operation
        return Urgency(
            self.preemption, self.sub, lead, self.worst, self.within, name, self.interrupts, rt_info
        )

    def before(self, other: Urgency) -> bool:
        if self.preemption != other.preemption:
            return self.preemption < other.preemption
        if self.lead != other.lead:
            return self.lead < other.lead
        return self.sub < other.sub

    def __repr__(self) -> str:
        lead = f", lead {self.lead:g}" if self.dynamic else ""
        return f"Urgency({self.preemption}, {self.sub}{lead})"


UNSCHEDULED: Final = Urgency()
