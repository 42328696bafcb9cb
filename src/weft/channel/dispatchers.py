"""Three of the four dispatchers (S3-9): those that need no thread of their own.  The fourth, preemptive, belongs to the host.

* Immediate: a push runs in the supplier's call, without regard to priority.
* SingleThreaded: work waits in priority queues for `run_one`, which whoever owns the thread calls.  A consumer that has begun
  runs to its end.
* Cooperative: the same, but a consumer may be interrupted where it allows it.  It asks `must_yield()`, and if something of a
  higher preemption priority waits, it returns MORE (and is called again with the same events) or yields (and is resumed there).
  Interrupted work is the first of its own priority to go on, so within a priority nothing overtakes what has begun, unless the
  schedule says so (earliest deadline first, maximum urgency first): then an earlier key does.
  A consumer that yields though nothing more urgent waits goes on at once.

A consumer that returns MORE or is a generator works with all of them; Immediate and SingleThreaded run it to its end.

With a clock, each measures how long consumers run, reports those that exceed the worst case of their RT_Info or end after their
deadline, and tells the record of the channel, if it has one (see `record`).

When a queue is full and the water marks say "wait", the supplier that pushes waits: since it is its thread, or one that the
thread depends on, that has to do the work, it does so itself, most urgent first, until no more than the low mark is left.
A consumer that pushes while it runs cannot wait for itself: its work is admitted above the mark, and counted as overfull.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.channel.record import DROP
from weft.channel.scheduling.urgency import Urgency
from weft.channel.work import DISCARD_NEWEST, DISCARD_OLDEST, WAIT, PushWork, WaterMarks, WorkQueue
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import Clock, Dispatcher


class Immediate:
    """In the supplier's call."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock

    def dispatch(self, work: PushWork) -> None:
        if self.clock is None:
            work.complete()
            return
        before = self.clock()
        work.starts(before, 0)
        work.complete()
        work.account(before, self.clock())
        work.finished()

    def must_yield(self) -> bool:
        return False

    def pending(self) -> int:
        return 0

    def run_one(self) -> bool:
        return False

    def hand_over(self, successor: Dispatcher) -> list[PushWork]:
        return []

    def take_over(self, work: list[PushWork]) -> None:
        for one in work:
            if one.receiver.connected:
                self.dispatch(one)

    def rerank(self, urgency: Callable[[PushWork], Urgency]) -> None:
        """Nothing waits."""


class Queued:
    """Work in priority queues, and who may interrupt whom."""

    def __init__(self, marks: WaterMarks | None, clock: Clock | None, cooperative: bool) -> None:
        if marks is not None:
            check_marks(marks)
        self.clock = clock
        self.marks = marks
        self.cooperative = cooperative
        self.discarded = 0
        self.overfull = 0
        self.withdrawn = 0  # work of consumers that have disconnected
        self._queues: dict[int, WorkQueue] = {}
        self._priorities: list[int] = []  # rising: the most urgent first
        self._arrived = 0
        self._pending = 0
        self._running: PushWork | None = None
        self._successor: Dispatcher | None = None

    def dispatch(self, work: PushWork) -> None:
        if self._successor is not None:
            self._successor.dispatch(work)
            return
        queue = self._queue(work.preemption)
        marks = self.marks
        if marks is not None and queue.length >= marks.high and not self._make_room(queue, marks):
            self.discarded += 1
            work.discard(work.pushed, "the queue is full")
            return
        self._arrived += 1
        work.number = self._arrived
        queue.put(work)
        self._pending += 1

    def must_yield(self) -> bool:
        running = self._running
        return self.cooperative and running is not None and self._is_overtaken(running)

    def pending(self) -> int:
        return self._pending

    def run_one(self) -> bool:
        """Carry out what comes first, until it has finished or is interrupted."""
        if self._running is not None:
            return False  # asked by a consumer, which has to finish or to yield first
        work = self._take()
        if work is None:
            return False
        self._running = work
        try:
            finished = self._run(work)
        finally:
            self._running = None
        if finished:
            if self.clock is not None:
                work.finished()
        elif self._successor is not None:
            self._successor.take_over([work])
        else:
            self._queue(work.preemption).put_back(work)
            self._pending += 1
        return True

    def hand_over(self, successor: Dispatcher) -> list[PushWork]:
        self._successor = successor
        found: list[PushWork] = []
        while True:
            work = self._take()
            if work is None:
                return found
            found.append(work)

    def take_over(self, work: list[PushWork]) -> None:
        self._successor = None
        for one in work:
            queue = self._queue(one.preemption)
            self._arrived += 1
            one.number = self._arrived
            self._pending += 1
            if one.begun and queue.begun is None:
                queue.put_back(one)
            else:
                queue.put(one)

    def rerank(self, urgency: Callable[[PushWork], Urgency]) -> None:
        found: list[PushWork] = []
        for priority in self._priorities:
            found.extend(self._queues[priority].drain())
        if self._running is not None:
            self._running.rank(urgency(self._running))
        for work in found:
            work.rank(urgency(work))
            queue = self._queue(work.preemption)
            if work.begun:
                queue.put_back(work)
            else:
                queue.put(work)

    def _run(self, work: PushWork) -> bool:
        clock = self.clock
        before = 0.0
        if clock is not None:
            before = clock()
            if not work.begun:
                work.starts(before, self._queue(work.preemption).length)
        finished = work.advance()
        while not finished and not self._interrupts(work):
            finished = work.advance()
        if clock is not None:
            work.account(before, clock())
        return finished

    def _interrupts(self, work: PushWork) -> bool:
        return self.cooperative and (self._successor is not None or self._is_overtaken(work))

    def _is_overtaken(self, work: PushWork) -> bool:
        return self._first(work.preemption) is not None or self._queue(work.preemption).overtakes(work)

    def _queue(self, priority: int) -> WorkQueue:
        queue = self._queues.get(priority)
        if queue is None:
            queue = WorkQueue(self.marks is not None and self.marks.when_full == DISCARD_OLDEST)
            self._queues[priority] = queue
            insort(self._priorities, priority)
        return queue

    def _first(self, below: int) -> WorkQueue | None:
        """The most urgent queue that has work, of those more urgent than a priority."""
        for priority in self._priorities:
            if priority >= below:
                return None
            queue = self._queues[priority]
            if queue.length:
                return queue
        return None

    def _take(self) -> PushWork | None:
        while self._pending:
            for priority in self._priorities:
                queue = self._queues[priority]
                if queue.length:
                    work = queue.take()
                    self._pending -= 1
                    if work.receiver.connected:
                        return work
                    self.withdrawn += 1
                    at = work.pushed if self.clock is None else self.clock()
                    work.receiver.happened(DROP, work, at, 0, "disconnected")
                    break
        return None

    def _make_room(self, queue: WorkQueue, marks: WaterMarks) -> bool:
        """Is there room for one more?"""
        if marks.when_full == DISCARD_NEWEST:
            return False
        if marks.when_full == DISCARD_OLDEST:
            oldest = queue.discard_oldest()
            if oldest is None:
                return False
            self._pending -= 1
            self.discarded += 1
            oldest.discard(oldest.pushed if self.clock is None else self.clock(), "the queue is full")
            return True
        if self._running is not None:
            self.overfull += 1
            return True
        while queue.length > marks.low and self.run_one():
            pass
        return True


class SingleThreaded(Queued):
    """By priority; a consumer that has begun runs to its end."""

    def __init__(self, marks: WaterMarks | None = None, clock: Clock | None = None) -> None:
        super().__init__(marks, clock, cooperative=False)


class Cooperative(Queued):
    """By priority; a consumer may be interrupted where it allows it."""

    def __init__(self, marks: WaterMarks | None = None, clock: Clock | None = None) -> None:
        super().__init__(marks, clock, cooperative=True)


def check_marks(marks: WaterMarks) -> None:
    if marks.when_full not in (WAIT, DISCARD_OLDEST, DISCARD_NEWEST):
        raise ChannelError(
            f"when_full is {marks.when_full!r}; it must be {WAIT!r}, {DISCARD_OLDEST!r} or {DISCARD_NEWEST!r}"
        )
    if marks.high < 1 or not 0 <= marks.low < marks.high:
        raise ChannelError(f"water marks must have 0 ≤ low < high, not low {marks.low} and high {marks.high}")
