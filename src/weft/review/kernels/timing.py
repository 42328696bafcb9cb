"""Time stamp order and grants.

A federate's deliveries in time stamp order must not decrease, and none may lie before what it was granted.  Flush Queue Request
hands over what is there, later messages may well be earlier; so its grant begins a new count.

A grant must not be greater than the LBTS: the least that any other regulating federate may still send.  From the log one
knows what each has promised at most: the time that it asked for or was granted last, plus its lookahead.

A grant rests on what its node was told by the federation's home, and rows tell how much that can have been.  The home tells
with the number of the last command that it had carried out, and a node takes that in only when it has carried out the command,
too.  So nothing that was asked for by a node that was ahead by two commands or more is behind a grant; at the federate's own
node the order of the rows says what is; and the clock decides where neither does.

Who has resigned or was lost sends nothing any more.  All nodes carry that out as a command, the federation's home first and the
federate's own node perhaps last; so whether it had left when somebody was granted is told by the number of that command, and not
by the clock, which only tells it where rows have no numbers.  What the home tells of logical time because of a command may reach
a node just before the command: with the number before it, a grant counts as behind it from the time on at which the home can
have carried it out (`Departed.since`).  At the home itself such a grant was before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weft.review.kernels.pieces import Array, Number

DELIVER, GRANT, FLUSH_GRANT = 0, 1, 2  # kinds of rows, in the order of one federate
DECREASING, PAST = "decreasing", "past"
NEAR = 1_000_000_000  # ns
UNNUMBERED = -1  # the command of a row that has none
BEFORE_ALL = np.iinfo(np.int64).min
AHEAD = 1  # commands by which a node may be ahead of a grant that rests on what it said
_HISTORY = 64  # commands for which it is known what a federate promised then


class Departed(NamedTuple):
    """Of a federate that resigned or was lost."""

    command: int
    """The number of the command by which it did."""
    since: int
    """Wall clock: the home cannot have carried it out before."""


Gone = Mapping[int, Departed]
_STAYS = Departed(np.iinfo(np.int64).max, np.iinfo(np.int64).max)


class GrantSteps(NamedTuple):
    """Rows that change what a federate promises, or (is_check) are grants to be compared with what the others do."""

    federate: Array
    promise: Array
    regulates: Array
    is_check: Array
    time: Array
    command: Array
    """The number of the last command that a row's node had carried out."""
    since: Array
    """Of grants: wall clock, or `BEFORE_ALL` at the home."""
    node: Array
    """A number for it."""
    own: Array
    """Of grants: are only federates of the same node to be compared with, or (if clocks differ) only those of others?  0: all."""

    def part(self, rows: slice) -> GrantSteps:
        return GrantSteps(*(column[rows] for column in self))


class Found(NamedTuple):
    place: int
    what: str
    bound: Number
    """What its time stamp should at least have been."""


def check_order(kind: Array, time: Array) -> list[Found]:
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
    return sorted(found)


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
    bound: Number
    by: int


OWN_NODE, OTHER_NODES = 1, -1
PromiseHistory = list[tuple[int, Number]]
"""The last promise of a federate at each of the last commands, in order."""


class Promised(NamedTuple):
    """What a stretch of the log changes, or (of one from the beginning) what is known at its end.

    By federate: who is not in it promises as before.  One stretch behind another is `after`, which is associative; so stretches
    can be summarised side by side, and each be judged with what is true where it begins.
    """

    history: dict[int, PromiseHistory]
    """The last one is what it promises now."""
    nodes: dict[int, int]
    """Of its first row."""
    constrained: dict[int, bool]

    def after(self, before: Promised) -> Promised:
        history = before.history | {
            who: joined_history(before.history.get(who, []), mine) for who, mine in self.history.items()
        }
        return Promised(history, self.nodes | before.nodes, before.constrained | self.constrained)


NOTHING_PROMISED = Promised({}, {}, {})


def joined_history(before: PromiseHistory, then: PromiseHistory) -> PromiseHistory:
    """At one command what was promised last counts."""
    same = bool(before and then and before[-1][0] == then[0][0])
    return [*(before[:-1] if same else before), *then][-_HISTORY:]


class Promises:
    """What all federates promise, through a run; fed with rows in the order of their time."""

    def __init__(self, dtype: npt.DTypeLike, gone: Gone, start: Promised = NOTHING_PROMISED) -> None:
        """More may be entered in `gone` as they are known."""
        self._gone = gone
        self._never = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(np.int64).max
        self._federates = list(start.nodes)
        self._places = {who: place for place, who in enumerate(start.nodes)}
        self._nodes = np.array(list(start.nodes.values()), np.int64)
        self._history = [list(start.history.get(who, [])) for who in start.nodes]
        now = [history[-1][1] if history else self._never for history in self._history]
        self._now: Array = np.array(now, dtype)

    def promised(self, constrained: Mapping[int, bool]) -> Promised:
        """Of all that was fed."""
        both = zip(self._federates, self._history, strict=True)
        history = {who: list(told) for who, told in both if told}
        return Promised(
            history, dict(zip(self._federates, self._nodes.tolist(), strict=True)), dict(constrained)
        )

    def feed(self, steps: GrantSteps) -> list[Excess]:
        for who, first in zip(*np.unique(steps.federate, return_index=True), strict=True):
            if int(who) not in self._places:
                self._places[int(who)] = len(self._federates)
                self._federates.append(int(who))
                self._history.append([])
                self._nodes = np.append(self._nodes, steps.node[first])
        missing = len(self._federates) - len(self._now)
        self._now = np.append(self._now, np.full(missing, self._never, self._now.dtype))
        found: list[Excess] = []
        size = max(1, (1 << 22) // max(1, len(self._federates)))
        for begin in range(0, len(steps.federate), size):
            found += self._block(begin, steps.part(slice(begin, begin + size)))
        return found

    def _block(self, begin: int, steps: GrantSteps) -> list[Excess]:
        column = np.array([self._places[who] for who in steps.federate.tolist()], np.int64)
        promise = np.where(steps.regulates, steps.promise, self._never)
        changes, checks = np.flatnonzero(~steps.is_check), np.flatnonzero(steps.is_check)
        last = np.zeros((len(column) + 1, len(self._federates)), np.int64)
        last[changes + 1, column[changes]] = changes + 1
        np.maximum.accumulate(last, axis=0, out=last)
        rows = last[checks + 1]
        promised = np.where(rows > 0, promise[np.maximum(rows - 1, 0)], self._now[None, :])
        self._as_of_command(promised, rows, steps, promise, checks)
        promised[np.arange(len(checks)), column[checks]] = self._never
        promised[self._left_out(steps, checks)] = self._never
        least = self._least(promised)
        bounds = promised[np.arange(len(checks)), least]
        self._now = np.where(last[-1] > 0, promise[np.maximum(last[-1] - 1, 0)], self._now)
        self._remember(column[changes], steps.command[changes], promise[changes])
        return [
            Excess(begin + int(checks[place]), bounds[place], self._federates[least[place]])
            for place in np.flatnonzero(steps.time[checks] > bounds)
        ]

    def _least(self, promised: Array) -> Array:
        """Of several the first federate."""
        order = np.argsort(self._federates)
        return np.asarray(
            order[promised[:, order].argmin(axis=1)] if len(order) else np.zeros(len(promised), np.int64)
        )

    def _as_of_command(
        self, promised: Array, rows: Array, steps: GrantSteps, promise: Array, checks: Array
    ) -> None:
        """What was promised by a node that was too far ahead is not behind a grant: what was promised before is."""
        latest = np.where(
            steps.command[checks] == UNNUMBERED, np.iinfo(np.int64).max, steps.command[checks] + AHEAD
        )
        known = np.array([history[-1][0] if history else UNNUMBERED for history in self._history], np.int64)
        command = np.where(rows > 0, steps.command[np.maximum(rows - 1, 0)], known[None, :])
        for check, who in zip(*np.nonzero(command > latest[:, None]), strict=True):
            mine = np.flatnonzero(
                (steps.federate[: rows[check, who]] == self._federates[who])
                & ~steps.is_check[: rows[check, who]]
                & (steps.command[: rows[check, who]] <= latest[check])
            )
            earlier = [given for number, given in self._history[who] if number <= latest[check]]
            if len(mine):
                promised[check, who] = promise[mine[-1]]
            else:
                promised[check, who] = earlier[-1] if earlier else self._never

    def _remember(self, column: Array, command: Array, promise: Array) -> None:
        """The last promise of each federate at each command."""
        pairs = np.stack((column, command), axis=1)[::-1]
        _, places = np.unique(pairs, axis=0, return_index=True)
        for place in sorted(len(column) - 1 - places):
            history = self._history[column[place]]
            if history and history[-1][0] == command[place]:
                history.pop()
            history.append((int(command[place]), promise[place]))
            del history[:-_HISTORY]

    def _left_out(self, steps: GrantSteps, checks: Array) -> Array:
        """For each grant, of all federates: who had left, or is not to be compared with."""
        command, at, own = (column[checks][:, None] for column in (steps.command, steps.since, steps.own))
        number, since = (
            np.array([self._gone.get(who, _STAYS) for who in self._federates], np.int64).reshape(-1, 2).T
        )
        near = (since[None, :] <= at) & ((number[None, :] - command == AHEAD) | (command == UNNUMBERED))
        left = (number[None, :] <= command) | near
        same = self._nodes[None, :] == steps.node[checks][:, None]
        return np.asarray(left | ((own == OWN_NODE) & ~same) | ((own == OTHER_NODES) & same))
