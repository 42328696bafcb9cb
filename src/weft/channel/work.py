"""Work: a push that has been decided and is to be carried out; and queues of it (S3-8, S3-21).

A consumer may take its work in steps, so that something more urgent can come between (see `dispatchers`): its push either
returns MORE, and is called again with the same events, or is a generator, which is resumed after each `yield`.

A queue holds the work of one preemption priority.  Its order: first the work that was begun and interrupted, then by the dynamic
key, then by sub-priority, then first come, first served.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from weft.channel.event import Events
from weft.channel.record import DISPATCH, DONE, DROP, MISS, OVERRUN
from weft.channel.scheduling.urgency import Urgency

MORE: Final = object()
"""What a consumer's push returns that has not finished and wants to be called again."""

WAIT: Final = "wait"
DISCARD_OLDEST: Final = "discard oldest"
DISCARD_NEWEST: Final = "discard newest"


class WaterMarks(NamedTuple):
    """`high`: a queue that has so much work is full.  What then: the supplier waits until there is no more than `low`, or
    the oldest or the newest work is discarded, and counted."""

    high: int
    low: int = 0
    when_full: str = WAIT


class Receiver:
    """For whom a work is; what is reported of it, is reported here."""

    name: str
    connected: bool

    def call(self, events: Events) -> object:
        """The consumer's push."""
        raise NotImplementedError

    def failed(self, events: Events, error: Exception) -> None:
        raise NotImplementedError

    def overran(self, spent: float, worst: float) -> None:
        raise NotImplementedError

    def missed(self, events: Events, late: float) -> None:
        """It ended so many seconds after its deadline."""

    def discarded(self, events: Events) -> None:
        raise NotImplementedError

    def hangs(self, events: Events, seconds: float) -> None:
        """It has not come back for so long."""

    def happened(self, kind: str, work: PushWork, at: float, queue: int, detail: str) -> None:
        """For the record, if there is one (see `record`)."""


class PushWork:
    __slots__ = (
        "begun",
        "due",
        "error",
        "events",
        "gone",
        "key",
        "number",
        "operation",
        "preemption",
        "pushed",
        "receiver",
        "rest",
        "spent",
        "stopped",
        "sub",
        "worst",
    )

    def __init__(self, receiver: Receiver, events: Events, urgency: Urgency, now: float) -> None:
        """`now`: when it was pushed; of a timeout, when that was due."""
        self.receiver = receiver
        self.events = events
        self.preemption = urgency.preemption
        self.key = urgency.key(now)
        self.sub = urgency.sub
        self.worst = urgency.worst
        self.operation = urgency.operation
        self.pushed = now
        self.due = now + urgency.within if urgency.within else 0.0
        self.number = 0  # in the order of arrival at the dispatcher
        self.rest: Iterator[object] | None = None  # the generator of a consumer that has begun
        self.begun = False
        self.spent = 0.0
        self.stopped = 0.0  # when it ended or was interrupted
        self.error: Exception | None = None
        self.gone = False  # discarded; its place in the queue is cleared later

    def advance(self) -> bool:
        """One step; is it finished?  A consumer that raises has finished, and nobody else is hurt by it."""
        self.begun = True
        try:
            if self.rest is None:
                answer = self.receiver.call(self.events)
                if answer is None:
                    return True
                if answer is MORE:
                    return False
                if not isinstance(answer, Iterator):
                    return True
                self.rest = answer
            for _ in self.rest:
                return False
            return True
        except Exception as error:
            self.error = error
            self.receiver.failed(self.events, error)
            return True

    def complete(self) -> None:
        while not self.advance():
            pass

    # What whoever has a clock tells of it

    def starts(self, at: float, queue: int) -> None:
        """Its first step comes; so much of its priority waits behind it."""
        self.receiver.happened(DISPATCH, self, at, queue, "")

    def account(self, begin: float, end: float) -> None:
        """It ran from then to then, and has finished or was interrupted."""
        self.spent += end - begin
        self.stopped = end

    def finished(self) -> None:
        receiver = self.receiver
        at = self.stopped
        receiver.happened(DONE, self, at, 0, "" if self.error is None else repr(self.error))
        if self.worst and self.spent > self.worst:
            receiver.happened(OVERRUN, self, at, 0, f"ran {self.spent:.6f} s, at most {self.worst:.6f}")
            receiver.overran(self.spent, self.worst)
        if self.due and at > self.due:
            receiver.happened(MISS, self, at, 0, f"{at - self.due:.6f} s late")
            receiver.missed(self.events, at - self.due)

    def discard(self, at: float, why: str) -> None:
        """It is given up, and its receiver told."""
        self.receiver.happened(DROP, self, at, 0, why)
        self.receiver.discarded(self.events)


class WorkQueue:
    """The work of one preemption priority.  Ages are kept only where the oldest may be discarded."""

    def __init__(self, ages: bool = True) -> None:
        self._aged = ages
        self.begun: PushWork | None = None  # at most one: within a priority nothing interrupts
        self._heap: list[tuple[float, int, int, PushWork]] = []
        self._ages: deque[PushWork] = deque()
        self.length = 0

    def put(self, work: PushWork) -> None:
        work.gone = False
        heapq.heappush(self._heap, (work.key, work.sub, work.number, work))
        if self._aged:
            self._ages.append(work)
        self.length += 1

    def put_back(self, work: PushWork) -> None:
        """It was interrupted, and is the first to go on."""
        self.begun = work
        self.length += 1

    def take(self) -> PushWork:
        """The first; there must be one."""
        self.length -= 1
        if self.begun is not None:
            work = self.begun
            self.begun = None
            return work
        while True:
            work = heapq.heappop(self._heap)[3]
            if not work.gone:
                work.gone = True  # for the list of ages
                if len(self._ages) > 2 * len(self._heap) + 16:
                    self._tidy()
                return work

    def discard_oldest(self) -> PushWork | None:
        """Of what has not begun, what came first."""
        while self._ages:
            work = self._ages.popleft()
            if not work.gone:
                work.gone = True
                self.length -= 1
                if len(self._heap) > 2 * self.length + 16:
                    self._heap = [entry for entry in self._heap if not entry[3].gone]
                    heapq.heapify(self._heap)
                return work
        return None

    def _tidy(self) -> None:
        self._ages = deque(work for work in self._ages if not work.gone)
