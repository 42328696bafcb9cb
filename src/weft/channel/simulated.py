"""A processor on virtual time, as a dispatcher: every push takes as long as `cost` says, and nothing else takes any time.

Preemptive, what is more urgent interrupts at any moment, as processes under fixed priorities do on one real processor; otherwise
a consumer that has begun runs to its end.  Within a priority nothing interrupts, unless the schedule says that an earlier key
does.  Consumers are called when their time is up, so what they push comes then.  With it a schedule can be tried without a clock,
and the same run is the same every time.

Time is counted in whole nanoseconds: what takes exactly its worst case overruns nothing, and what ends exactly at its deadline
misses nothing, however the seconds of timers, costs and deadlines were rounded.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.channel.record import DROP, NANO, nanoseconds
from weft.channel.scheduling.urgency import Urgency
from weft.channel.work import PushWork, WorkQueue

if TYPE_CHECKING:
    from weft.channel.channel import EventChannel
    from weft.channel.protocols import Dispatcher


class _Job:
    def __init__(self, work: PushWork, cost: float) -> None:
        self.work = work
        self.cost = cost
        self.left = nanoseconds(cost)


class SimulatedProcessor:
    """`cost`: the seconds of a push.  `run` lets time pass."""

    def __init__(self, cost: Callable[[PushWork], float], preemptive: bool) -> None:
        self.cost = cost
        self.preemptive = preemptive
        self._at = 0  # nanoseconds
        self._timer = 0.0  # the timer that was due last, whose float is not always that of the nanoseconds
        self._idle = 0
        self._queues: dict[int, WorkQueue] = {}
        self._priorities: list[int] = []
        self._begun: dict[int, _Job] = {}  # at most one of each priority
        self._interrupted: dict[PushWork, _Job] = {}  # by others of their priority; they are in its queue
        self._arrived = 0
        self._completing = False

    @property
    def now(self) -> float:
        """The virtual time; never before a timer that is due at this nanosecond."""
        return max(self._at / NANO, self._timer)

    @property
    def idle(self) -> float:
        """For how long there was nothing to do."""
        return self._idle / NANO

    def clock(self) -> float:
        return self.now

    def run(self, channel: EventChannel, until: float) -> None:
        """Timers and consumers of a channel that dispatches here, as time passes."""
        last = nanoseconds(until)
        while True:
            exact = channel.next_due()
            due = last + 1 if exact is None else nanoseconds(exact)
            job = self._chosen() if due > self._at else None
            end = last + 1 if job is None else self._at + job.left
            self._pass(job, max(self._at, min(due, end, last)))
            if exact is not None and due == self._at:
                self._timer = max(self._timer, exact)
            if job is not None and end <= min(due, last):
                self._complete(job)
            elif due <= last:
                channel.expire(self.now)
            else:
                return

    # As a dispatcher

    def dispatch(self, work: PushWork) -> None:
        self._arrived += 1
        work.number = self._arrived
        self._queue(work.preemption).put(work)

    def must_yield(self) -> bool:
        return False

    def pending(self) -> int:
        return sum(queue.length for queue in self._queues.values()) + len(self._begun)

    def run_one(self) -> bool:
        """What comes first, to its end."""
        job = None if self._completing else self._chosen()
        if job is None:
            return False
        self._pass(job, self._at + job.left)
        self._complete(job)
        return True

    def hand_over(self, successor: Dispatcher) -> list[PushWork]:
        found: list[PushWork] = []
        for priority in self._priorities:
            if priority in self._begun:
                found.append(self._begun.pop(priority).work)
            queue = self._queues[priority]
            found.extend(queue.drain())
        self._interrupted = {}
        return found

    def take_over(self, work: list[PushWork]) -> None:
        for one in work:
            self.dispatch(one)

    def rerank(self, urgency: Callable[[PushWork], Urgency]) -> None:
        """What has begun goes on with what is left of its time; at most one of a priority, the others wait in its queue."""
        begun = [self._begun[priority] for priority in self._priorities if priority in self._begun]
        waiting = [work for priority in self._priorities for work in self._queues[priority].drain()]
        self._begun = {}
        for job in begun:
            job.work.rank(urgency(job.work))
            self._queue(job.work.preemption)  # so that its priority is among those that are looked at
            if self._begun.setdefault(job.work.preemption, job) is not job:
                self._set_aside(job)
        for work in waiting:
            work.rank(urgency(work))
            self._queue(work.preemption).put(work)

    # Inside

    def _chosen(self) -> _Job | None:
        if not self.preemptive and self._begun:
            return next(iter(self._begun.values()))
        for priority in list(self._priorities):
            queue = self._queue(priority)
            job = self._begun.get(priority)
            if job is not None and queue.overtakes(job.work):
                self._set_aside(self._begun.pop(priority))
                job = None
            job = job or self._start(queue)
            if job is not None:
                self._begun[priority] = job
                return job
        return None

    def _queue(self, priority: int) -> WorkQueue:
        queue = self._queues.get(priority)
        if queue is None:
            queue = WorkQueue(ages=False)
            self._queues[priority] = queue
            insort(self._priorities, priority)
        return queue

    def _set_aside(self, job: _Job) -> None:
        self._interrupted[job.work] = job
        self._queue(job.work.preemption).put(job.work)

    def _start(self, queue: WorkQueue) -> _Job | None:
        while queue.length:
            work = queue.take()
            if work in self._interrupted:
                return self._interrupted.pop(work)
            if work.receiver.connected:
                work.starts(self.now, queue.length)
                return _Job(work, self.cost(work))
            work.receiver.happened(DROP, work, self.now, 0, "disconnected")
        return None

    def _pass(self, job: _Job | None, until: int) -> None:
        if job is None:
            self._idle += until - self._at
        else:
            job.left -= until - self._at
        self._at = until

    def _complete(self, job: _Job) -> None:
        work = job.work
        del self._begun[work.preemption]
        self._completing = True
        try:
            work.complete()
        finally:
            self._completing = False
        ended = self.now
        if work.due and nanoseconds(work.due) >= self._at:
            ended = min(ended, work.due)
        work.account(ended, ended)
        work.spent = job.cost
        work.finished()
