"""Timers on a heap (S3-6): schedule, move, cancel and expire cost O(log n), whatever happened before.

Every timer knows its place in the heap, so that one that is cancelled leaves it at once: watchdogs are re-armed with every push
of their consumer, and a heap that only marked them would grow with the rate of events.

A periodic timer does not drift: its k-th time is begin + k × period, however late anybody looked at the ones before.  Periods
that have passed unseen are not made up for one by one; the timer fires once and says how many it missed.
Timers of the same time fire in the order in which they were scheduled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

NOWHERE: Final = -1


class Timer:
    """`action(timer, now)` is called when it is due; `missed` then says how many periods before this one passed unseen."""

    __slots__ = ("action", "begin", "count", "due", "fired", "missed", "number", "period", "place")

    def __init__(
        self, action: Callable[[Timer, float], None], due: float, period: float, number: int
    ) -> None:
        self.action = action
        self.due = due
        self.period = period  # 0.0: fires once
        self.begin = due - period
        self.count = 1  # due = begin + count × period
        self.fired = due  # the time it fired for last
        self.missed = 0
        self.number = number
        self.place = NOWHERE


class Timers:
    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._scheduled = 0

    def __len__(self) -> int:
        return len(self._heap)

    def schedule(self, due: float, action: Callable[[Timer, float], None], period: float = 0.0) -> Timer:
        self._scheduled += 1
        timer = Timer(action, due, period, self._scheduled)
        self._insert(timer)
        return timer

    def move(self, timer: Timer, due: float) -> None:
        """To another time; a timer that has fired or was cancelled is scheduled anew."""
        self._scheduled += 1
        timer.number = self._scheduled
        timer.due = due
        timer.begin = due - timer.period
        timer.count = 1
        if timer.place == NOWHERE:
            self._insert(timer)
        else:
            self._settle(timer)

    def cancel(self, timer: Timer) -> None:
        """Nothing happens if it has fired or was cancelled already."""
        if timer.place != NOWHERE:
            self._remove(timer)

    def next_due(self) -> float | None:
        """When somebody should look again; None if no timer runs."""
        return self._heap[0].due if self._heap else None

    def is_due(self, now: float) -> bool:
        return len(self._heap) > 0 and self._heap[0].due <= now

    def expire(self, now: float) -> int:
        """Fires all that are due, in order; how many."""
        fired = 0
        heap = self._heap
        while heap and heap[0].due <= now:
            timer = heap[0]
            self._advance(timer, now)
            fired += 1
            timer.action(timer, now)
        return fired

    def _advance(self, timer: Timer, now: float) -> None:
        """Before its action, which may cancel or move it."""
        timer.fired = timer.due
        if timer.period == 0.0:
            self._remove(timer)
            return
        before = timer.count
        timer.count = max(before + 1, math.floor((now - timer.begin) / timer.period) + 1)
        while timer.begin + timer.count * timer.period <= now:  # the division may have been rounded down …
            timer.count += 1
        while timer.count - 1 > before and timer.begin + (timer.count - 1) * timer.period > now:  # … or up
            timer.count -= 1
        timer.missed = timer.count - before - 1
        timer.fired = timer.begin + (timer.count - 1) * timer.period
        timer.due = timer.begin + timer.count * timer.period
        self._settle(timer)

    # The heap

    def _insert(self, timer: Timer) -> None:
        timer.place = len(self._heap)
        self._heap.append(timer)
        self._up(timer)

    def _remove(self, timer: Timer) -> None:
        place = timer.place
        timer.place = NOWHERE
        last = self._heap.pop()
        if last is not timer:
            last.place = place
            self._heap[place] = last
            self._settle(last)

    def _settle(self, timer: Timer) -> None:
        self._up(timer)
        self._down(timer)

    def _up(self, timer: Timer) -> None:
        heap = self._heap
        place = timer.place
        while place > 0:
            above = (place - 1) // 2
            other = heap[above]
            if not _before(timer, other):
                break
            heap[place] = other
            other.place = place
            place = above
        heap[place] = timer
        timer.place = place

    def _down(self, timer: Timer) -> None:
        heap = self._heap
        place = timer.place
        size = len(heap)
        while True:
            below = 2 * place + 1
            if below >= size:
                break
            if below + 1 < size and _before(heap[below + 1], heap[below]):
                below += 1
            other = heap[below]
            if not _before(other, timer):
                break
            heap[place] = other
            other.place = place
            place = below
        heap[place] = timer
        timer.place = place


def _before(one: Timer, other: Timer) -> bool:
    return one.due < other.due or (one.due == other.due and one.number < other.number)
