"""How urgent a push is, as the schedule says (S3-8, S3-10)."""

from __future__ import annotations

from typing import Final

UNSCHEDULED_PRIORITY: Final = 255  # after all that is scheduled


class Urgency:
    """Lower numbers are more urgent.

    `preemption` chooses the queue: what is more urgent there may interrupt.  Within a queue nothing interrupts; order is by the
    dynamic key, which is the time of the push plus `lead` (its deadline, or its last moment to begin), then by `sub`, then first
    come, first served.  Without a lead the key is the same for all.  `worst` is the longest a push should take, 0.0 if unknown;
    `within` is how long after the push it is to be done, 0.0 if that does not matter.  `operation` is the RT_Info.
    """

    __slots__ = ("dynamic", "lead", "operation", "preemption", "sub", "within", "worst")

    def __init__(
        self,
        preemption: int = UNSCHEDULED_PRIORITY,
        sub: int = 0,
        lead: float | None = None,
        worst: float = 0.0,
        within: float = 0.0,
        operation: str = "",
    ) -> None:
        self.preemption = preemption
        self.sub = sub
        self.dynamic = lead is not None
        self.lead = 0.0 if lead is None else lead
        self.worst = worst
        self.within = within
        self.operation = operation

    def key(self, now: float) -> float:
        return now + self.lead if self.dynamic else 0.0

    def named(self, operation: str) -> Urgency:
        """The same, for an operation, unless it names one already."""
        lead = self.lead if self.dynamic else None
        return Urgency(self.preemption, self.sub, lead, self.worst, self.within, self.operation or operation)

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
