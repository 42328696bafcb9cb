"""Work: a push that has been decided and is to be carried out; and queues of it (S3-8, S3-21).

A consumer may take its work in steps, so that something more urgent can come between (see `dispatchers`): its push either
returns MORE, and is called again with the same events, or is a generator, which is resumed after each `yield`.

A queue holds the work of one preemption priority.  Its order: first the work that was begun and interrupted, then by the dynamic
key, then by sub-priority, then first come, first served.  Where urgencies say that they `interrupt`, an earlier key goes before
what has begun, too, and what was interrupted keeps the place that its key gives it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from weft.channel.event import Events
from weft.channel.record import DISPATCH, DONE, DROP, MISS, OVERRUN
from weft.channel.scheduling.urgency import Urgency

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushSupplier

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


class PushWork:
    __slots__ = (
        "begun",
        "due",
        "error",
        "events",
        "gone",
        "interrupts",
        "key",
        "number",
        "operation",
        "preemption",
        "pushed",
        "receiver",
        "rest",
        "rt_info",
        "spent",
        "stopped",
        "sub",
        "worst",
    )

    def __init__(self, receiver: ProxyPushSupplier, events: Events, urgency: Urgency, now: float) -> None:
        """For the receiver, which is told what becomes of it.  `now`: when it was pushed; of a timeout, when that was due."""
        self.receiver = receiver
        self.events = events
        self.pushed = now
        self.preemption = urgency.preemption
        self.key = urgency.key(now)
        self.sub = urgency.sub
        self.interrupts = urgency.interrupts
        self.worst = urgency.worst
        self.operation = urgency.operation
        self.rt_info = urgency.rt_info
        self.due = now + urgency.within if urgency.within else 0.0
        self.number = 0  # in the order of arrival at the dispatcher
        self.rest: Iterator[object] | None = None  # the generator of a consumer that has begun
        self.begun = False
        self.spent = 0.0
        self.stopped = 0.0  # when it ended or was interrupted
        self.error: Exception | None = None
        self.gone = False  # discarded; its place in the queue is cleared later

    def rank(self, urgency: Urgency) -> None:
        """As urgent as this from now on, counted from its push; for whoever has taken it out of its queue."""
        self.preemption = urgency.preemption
        self.key = urgency.key(self.pushed)
        self.sub = urgency.sub
        self.interrupts = urgency.interrupts
        self.worst = urgency.worst
        self.operation = urgency.operation
        self.due = self.pushed + urgency.within if urgency.within else 0.0

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
        self.missed_by(at)

    def missed_by(self, at: float) -> None:
        """Is that after its deadline?"""
        if self.due and at > self.due:
            self.receiver.happened(MISS, self, at, 0, f"{at - self.due:.6f} s late")
            self.receiver.missed(self.events, at - self.due)

    def discard(self, at: float, why: str) -> None:
        """It is given up, and its receiver told."""
        self.receiver.happened(DROP, self, at, 0, why)
        self.receiver.discarded(self.events)


class WorkQueue:
    """The work of one preemption priority.  Ages are kept only where the oldest may be discarded."""

    def __init__(self, ages: bool = True) -> None:
        self._aged = ages
        self.begun: PushWork | None = None  # goes on first: within its priority nothing interrupts it
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
        """It was interrupted, and is the first to go on, or the first of those with its key."""
        if work.interrupts or self.begun is not None:
            work.gone = False
            heapq.heappush(self._heap, (work.key, work.sub, work.number, work))
        else:
            self.begun = work
        self.length += 1

    def overtakes(self, work: PushWork) -> bool:
        """Does something here go before work of the same priority that runs?"""
        if not work.interrupts or self.begun is not None:
            return False
        first = self.first()
        return first is not None and first.key < work.key

    def first(self) -> PushWork | None:
        """What `take` would take."""
        if self.begun is not None:
            return self.begun
        heap = self._heap
        while heap and heap[0][3].gone:
            heapq.heappop(heap)
        return heap[0][3] if heap else None

    def drain(self) -> list[PushWork]:
        """All, in order."""
        found: list[PushWork] = []
        while self.length:
            found.append(self.take())
        return found

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
                    self._ages = deque([entry for entry in self._ages if not entry.gone])
                return work

    def discard_oldest(self) -> PushWork | None:
        """Of what has not begun, what came first."""
        while self._ages:
            work = self._ages.popleft()
            if not work.gone and not work.begun:
                work.gone = True
                self.length -= 1
                if len(self._heap) > 2 * self.length + 16:
                    self._heap = [entry for entry in self._heap if not entry[3].gone]
                    heapq.heapify(self._heap)
                return work
        return None


class PullBuffer:
    """Work that is kept until its consumer pulls it, the most urgent first; of more than `capacity`, the oldest is discarded."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._heap: list[tuple[int, float, int, int, PushWork]] = []
        self._ages: deque[PushWork] = deque()
        self._arrived = 0
        self.length = 0
        self.arrived: Callable[[], None] = (
            _nothing  # told when there is something, for hosts whose threads wait
        )

    def put(self, work: PushWork) -> None:
        if self.length >= self._capacity:
            self._discard_oldest(work.pushed)
        self._arrived += 1
        work.number = self._arrived
        heapq.heappush(self._heap, (work.preemption, work.key, work.sub, work.number, work))
        self._ages.append(work)
        self.length += 1
        self.arrived()

    def take(self) -> PushWork | None:
        while self._heap:
            work = heapq.heappop(self._heap)[4]
            if not work.gone:
                work.gone = True  # for the list of ages
                self.length -= 1
                if len(self._ages) > 2 * self.length + 16:
                    self._ages = deque([entry for entry in self._ages if not entry.gone])
                return work
        return None

    def rerank(self, urgency: Callable[[str], Urgency]) -> None:
        """Another schedule."""
        kept = [entry[4] for entry in self._heap if not entry[4].gone]
        for work in kept:
            work.rank(urgency(work.rt_info))
        self._heap = [(work.preemption, work.key, work.sub, work.number, work) for work in kept]
        heapq.heapify(self._heap)

    def clear(self) -> None:
        self._heap = []
        self._ages.clear()
        self.length = 0

    def _discard_oldest(self, at: float) -> None:
        while self._ages:
            work = self._ages.popleft()
            if not work.gone:
                work.gone = True
                self.length -= 1
                if len(self._heap) > 2 * self.length + 16:
                    self._heap = [entry for entry in self._heap if not entry[4].gone]
                    heapq.heapify(self._heap)
                work.discard(at, "nobody pulled it")
                return


def _nothing() -> None:
    pass
