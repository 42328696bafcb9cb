"""Space-time memory (S4-16): a value at every logical time, written in any order.

A value written at T holds from T on, until the next later one.  `read(T)` gives the latest that was written at or before T.
Written twice at the same time, the second takes the place of the first.

A bound (time, 0 or 1) says what is over: nothing is read or written before that time any more, with 1 not at that very time
either.  What only mattered before it can then be dropped.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

from weft.model.time import TimeValue

Bound = tuple[TimeValue, int]
"""A time, and 1 if that very time is over."""

Value = TypeVar("Value")


class SpaceTime(Generic[Value]):
    def __init__(self, first: Value) -> None:
        """`first` holds before anything is written."""
        self.first = first
        self.times: list[TimeValue] = []
        self.values: list[Value] = []

    def read(self, time: TimeValue) -> Value:
        found = bisect_right(self.times, time)
        return self.values[found - 1] if found else self.first

    def before(self, time: TimeValue) -> Value:
        """What holds until that time, whatever was written at it."""
        found = bisect_left(self.times, time)
        return self.values[found - 1] if found else self.first

    def is_written(self, time: TimeValue) -> bool:
        """At that very time."""
        found = bisect_left(self.times, time)
        return found < len(self.times) and self.times[found] == time

    def following(self, time: TimeValue) -> tuple[TimeValue, Value] | None:
        """The next later time at which something was written, and what."""
        found = bisect_right(self.times, time)
        return None if found == len(self.times) else (self.times[found], self.values[found])

    def write(self, time: TimeValue, value: Value) -> None:
        found = bisect_left(self.times, time)
        if found < len(self.times) and self.times[found] == time:
            self.values[found] = value
        else:
            self.times.insert(found, time)
            self.values.insert(found, value)

    def reclaim(self, bound: Bound) -> None:
        """Forget what nobody can read any more."""
        over = passed(self.times, bound)
        if over:
            self.first = self.values[over - 1]
            del self.times[:over]
            del self.values[:over]


def passed(times: list[TimeValue], bound: Bound) -> int:
    """How many of the sorted times the bound says to be over."""
    return bisect_right(times, bound[0]) if bound[1] else bisect_left(times, bound[0])
