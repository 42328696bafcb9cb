"""How far logical time may go: the lower bounds that federates give, and what follows from them for each (GALT).

A *bound* is a pair (time, 0 or 1): no message comes with a smaller time stamp; with 1 none with that very time either.  Pairs
compare as Python compares them, so "no message up to and including t will come" is `bound > (t, 0)`.

A time-regulating federate promises a bound.  While it is granted, or asks for a certain time, its promise is its own.  One
that asks for the next message (`until` it has something or reaches the time) may be granted sooner: at the time of a message
that somebody else is still to send.  Its promise is therefore the smaller of its own and (what all others promise) + its
lookahead.  Such promises refer to one another; the solution that is wanted is the largest.  It needs no iteration: whoever
has the smallest promise of all cannot be held up by the others, and everybody else can be held up only by that one more than
by any other.

    least       the smallest promise of all
    GALT of i   the smallest promise of all but i: `least`, but for the one federate that alone has it

All operations cost little when many federates promise the same, as they do when they advance in step.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import Any

from weft.model.time import TimeValue

Bound = tuple[TimeValue, int]
"""A time as a number, and 1 if that very time is excluded."""

Who = Hashable
"""Whoever promises."""


class Promise:
    def __init__(self, bound: Bound, lookahead: TimeValue, until: bool, floor: Bound) -> None:
        self.bound = bound
        self.lookahead = lookahead
        self.until = until  # it may be granted sooner than its own bound says
        self.floor = floor

    def follow(self, bound: Bound) -> Bound:
        """What it promises where others promise no more than that."""
        if not self.until:
            return self.bound
        return min(self.bound, max((bound[0] + self.lookahead, bound[1]), self.floor))


class LowerBounds:
    """The promises of all time-regulating federates."""

    def __init__(self) -> None:
        self.promises: dict[Who, Promise] = {}
        self._until: dict[Who, Promise] = {}
        self._counts: dict[Bound, int] = {}
        self._sorted: list[Bound] = []  # each bound once

    def promise(
        self, who: Who, bound: Bound, lookahead: TimeValue, until: bool = False, floor: Bound = (0, 0)
    ) -> None:
        """Its promise from now on.  `until`: it asks for the next message; it never sends below `floor` all the same."""
        old = self.promises.get(who)
        if old is not None and old.bound == bound and old.until == until:
            old.lookahead = lookahead
            old.floor = floor
            return
        self.withdraw(who)
        made = Promise(bound, lookahead, until, floor)
        self.promises[who] = made
        if until:
            self._until[who] = made
        count = self._counts.get(bound, 0)
        self._counts[bound] = count + 1
        if not count:
            insort(self._sorted, bound)

    def withdraw(self, who: Who) -> None:
        """It does not regulate any more."""
        old = self.promises.pop(who, None)
        if old is None:
            return
        self._until.pop(who, None)
        count = self._counts[old.bound] - 1
        if count:
            self._counts[old.bound] = count
        else:
            del self._counts[old.bound]
            del self._sorted[bisect_left(self._sorted, old.bound)]

    def least(self) -> Bound | None:
        """What nobody will send less than; None if nobody regulates."""
        return self._sorted[0] if self._sorted else None

    def alone(self) -> Any:
        """The one whose promise is the least, if it is the only one."""
        if not self._sorted or self._counts[self._sorted[0]] > 1:
            return None
        return next(who for who, one in self.promises.items() if one.bound == self._sorted[0])

    def behind(self) -> list[Any]:
        """All who promise no more than the least: those the others wait for."""
        least = self.least()
        return [who for who, one in self.promises.items() if one.bound == least]

    def galt(self, who: Who) -> Bound | None:
        """What nobody else will send less than; None: nobody else regulates."""
        found = self.promises.get(who)
        least = self.least()
        if found is None or least is None or found.bound != least or self._counts[least] > 1:
            return least
        if len(self.promises) == 1:
            return None
        second = self._sorted[1]
        for other, one in self._until.items():
            if other != who:
                second = min(second, one.follow(least))
        return second
