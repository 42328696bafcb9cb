"""Time stamp order and grants.

A federate's deliveries in time stamp order must not decrease, and none may lie before what it was granted.  Flush Queue Request
hands over what is there, later messages may well be earlier; so its grant begins a new count.

A grant must not be greater than the LBTS: the least that any other regulating federate may still send.  From the log one
knows what each has promised at most: the time that it asked for or was granted last, plus its lookahead.

Who has resigned or was lost sends nothing any more.  All nodes carry that out as a command, the federation's home first and the
federate's own node perhaps last; so whether it had left when somebody was granted is told by the number of that command, and not
by the clock, which only tells it where rows have no numbers.  What the home tells of logical time because of a command may reach
a node just before the command: with the number before it, a grant counts as behind it within a second (`NEAR`) of the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from weft.review.kernels.pieces import Array

DELIVER, GRANT, FLUSH_GRANT = 0, 1, 2  # kinds of rows, in the order of one federate
DECREASING, PAST = "decreasing", "past"
NEAR = 1_000_000_000  # ns
Gone = Mapping[int, tuple[int, int]]
"""Of federates that leave: the number of the command by which they do, and when their rows tell of it."""
_STAYS = (np.iinfo(np.int64).max, 0)


class Found(NamedTuple):
    place: int
    what: str
    bound: Any
    """What its time stamp should at least have been."""


class TimeCarry(NamedTuple):
    """What the rows of one federate in one piece mean for others."""

    granted: Any  # the last grant, or None
    most: Any  # the greatest time stamp since the last flush, or None
    flushed: bool
    least_before_grant: Any  # of deliveries before the first grant of the piece, or None
    least_before_flush: Any
    first_grant: int  # places; the number of rows where there is none
    first_flush: int


def check_order(kind: Array, time: Array) -> tuple[list[Found], TimeCarry]:
    """Of one federate, in order."""
    count = len(kind)
    is_delivery = kind == DELIVER
    places = np.arange(count)
    grant_at = np.maximum.accumulate(np.where(is_delivery, -1, places)) if count else places
    flush_at = np.maximum.accumulate(np.where(kind == FLUSH_GRANT, places, -1)) if count else places
    before, has_before = _greatest_before(time, is_delivery, flush_at)
    past = is_delivery & (grant_at >= 0) & (time < time[np.maximum(grant_at, 0)])
    decreasing = is_delivery & has_before & (time < before) & ~past
    found = [Found(int(place), PAST, time[grant_at[place]]) for place in np.flatnonzero(past)]
    found += [Found(int(place), DECREASING, before[place]) for place in np.flatnonzero(decreasing)]
    grants, flushes = np.flatnonzero(~is_delivery), np.flatnonzero(kind == FLUSH_GRANT)
    first_grant = int(grants[0]) if len(grants) else count
    first_flush = int(flushes[0]) if len(flushes) else count
    since = time[(int(flushes[-1]) + 1 if len(flushes) else 0) :]
    delivered_since = since[is_delivery[count - len(since) :]]
    carry = TimeCarry(
        time[grants[-1]] if len(grants) else None,
        _or_none(np.max, delivered_since),
        bool(len(flushes)),
        _or_none(np.min, time[:first_grant][is_delivery[:first_grant]]),
        _or_none(np.min, time[:first_flush][is_delivery[:first_flush]]),
        first_grant,
        first_flush,
    )
    return sorted(found), carry


def _or_none(function: Any, values: Array) -> Any:
    return function(values) if len(values) else None


def _greatest_before(time: Array, is_delivery: Array, flush_at: Array) -> tuple[Array, Array]:
    """For each row the greatest time stamp delivered before it since the last flush, and whether there is one."""
    before, has = np.zeros_like(time), np.zeros(len(time), bool)
    cuts = np.flatnonzero(flush_at[1:] != flush_at[:-1]) + 1
    for part in np.split(np.arange(len(time)), cuts):
        delivered = part[is_delivery[part]]
        if len(delivered) > 1:
            before[delivered[1:]] = np.maximum.accumulate(time[delivered])[:-1]
            has[delivered[1:]] = True
    return before, has


class Excess(NamedTuple):
    """A grant above the LBTS, and who could still have sent something before it."""

    place: int
    bound: Any
    by: int


class Promises:
    """What all federates promise, through a run; fed with rows in the order of their time."""

    def __init__(self, dtype: Any, gone: Gone) -> None:
        """More may be entered in `gone` as they are known."""
        self._gone = gone
        self._never = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
        self._federates: list[int] = []
        self._places: dict[int, int] = {}
        self._now = np.empty(0, dtype)

    def feed(
        self,
        federate: Array,
        promise: Array,
        regulates: Array,
        is_check: Array,
        time: Array,
        command: Array,
        at: Array,
    ) -> list[Excess]:
        """Rows change what a federate promises, or (is_check) are grants to be compared with what the others do.

        `command`: the number of the last command that a row's node had carried out; `at`: the wall clock.
        """
        for who in np.unique(federate).tolist():
            if who not in self._places:
                self._places[who] = len(self._federates)
                self._federates.append(who)
        missing = len(self._federates) - len(self._now)
        self._now = np.append(self._now, np.full(missing, self._never, self._now.dtype))
        column = np.array([self._places[who] for who in federate.tolist()], np.int64)
        found = []
        step = max(1, (1 << 22) // max(1, len(self._federates)))
        for begin in range(0, len(federate), step):
            part = slice(begin, begin + step)
            given = np.where(regulates[part], promise[part], self._never)
            found += self._block(
                begin, column[part], given, is_check[part], time[part], (command[part], at[part])
            )
        return found

    def _block(
        self,
        begin: int,
        column: Array,
        promise: Array,
        is_check: Array,
        time: Array,
        known: tuple[Array, Array],
    ) -> list[Excess]:
        changes = np.flatnonzero(~is_check)
        last = np.zeros((len(column) + 1, len(self._federates)), np.int64)
        last[changes + 1, column[changes]] = changes + 1
        np.maximum.accumulate(last, axis=0, out=last)
        checks = np.flatnonzero(is_check)
        rows = last[checks + 1]
        promised = np.where(rows > 0, promise[np.maximum(rows - 1, 0)], self._now[None, :])
        promised[np.arange(len(checks)), column[checks]] = self._never
        promised[self._has_left(*(column[checks] for column in known))] = self._never
        least = promised.argmin(axis=1) if len(self._federates) else np.zeros(len(checks), np.int64)
        bounds = promised[np.arange(len(checks)), least]
        self._now = np.where(last[-1] > 0, promise[np.maximum(last[-1] - 1, 0)], self._now)
        wrong = np.flatnonzero(time[checks] > bounds)
        return [
            Excess(begin + int(checks[place]), bounds[place], self._federates[least[place]])
            for place in wrong
        ]

    def _has_left(self, command: Array, at: Array) -> Array:
        """For each grant: who had, of all federates."""
        number, told = np.array([self._gone.get(who, _STAYS) for who in self._federates], np.int64).T
        behind = number[None, :] - command[:, None]
        return np.asarray((behind <= 0) | ((behind == 1) & (told[None, :] - NEAR <= at[:, None])))
