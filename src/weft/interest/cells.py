"""Interest over cells, as of a logical time (S4-1, S4-3 … S4-6): regions above, distribution lists below.

A routing space is cut into cells.  Each cell has a distribution list, and a region is the cells that it touches.

* A subscriber changes its region H to R as of T.  That makes Adds and Deletes on the cells that R has more or less than H
  had, and, because changes come in any order, it looks at the one before (t1) and the one after (t2) in logical time.  What is
  done for a cell is Table 1, in which 1 means that the region touches it:

      t1 T t2    0 0 *  nothing    0 1 0  Add @ T, Delete @ t2     1 0 0  Delete @ T
                 1 1 *  nothing    0 1 1  Add @ T                  1 0 1  Delete @ T, Add @ t2

  The one at t2 goes first: otherwise the one at T would for a moment hold beyond t2, and send or retract for nothing.
* A publisher changes its update region: that is written down and nothing else happens.
* An update goes to the list of each cell of its update region as of its time.  A federate that is on several of these lists
  is on them once for each: a copy.  What was sent stays sent, wherever the publisher's region goes later.

A federate thus may get updates that touch one of its cells and not its region, and several copies of one; whoever delivers them
removes both (`weft.kernel.message.deliver_as_of`).

A range is half-open, [lower, upper), so that every point is in one cell; None is the full range.  An extent has a range for each
dimension, a region is any number of extents, and none at all is the region of who is not interested.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from itertools import product
from typing import Generic, NamedTuple

from weft.interest.distribution import Federate, Logged, Member, Value
from weft.interest.distribution_lists import DistributionLists
from weft.interest.spacetime import Bound, SpaceTime
from weft.model.errors import InterestError
from weft.model.time import TimeValue

Coordinate = int | float
Range = tuple[Coordinate, Coordinate]
Box = tuple[Range | None, ...]
"""An extent: one range for each dimension."""

Boxes = tuple[Box, ...]
"""A region: its extents."""


class CellAxis:
    """One dimension, [lower, upper), in cells of one size; the last may be smaller where whole numbers do not divide.

    Or in cells of any size (S4-22): `cells` then says where each but the first begins.
    """

    def __init__(
        self, name: str, lower: Coordinate, upper: Coordinate, cells: int | Sequence[Coordinate]
    ) -> None:
        if not lower < upper or (isinstance(cells, int) and cells < 1):
            raise InterestError(
                f"dimension {name}: cannot cut [{lower}, {upper}) into {cells} cells; give lower < upper and at least one cell"
            )
        self.name = name
        self.lower = lower
        self.upper = upper
        # Where each cell begins.  Comparing with these, rather than dividing, has no rounding in it: regions that
        # overlap have a cell in common.
        self.starts: list[Coordinate] = (
            _starts(lower, upper, cells) if isinstance(cells, int) else [lower, *cells]
        )
        if not all(one < other for one, other in zip(self.starts, [*self.starts[1:], upper], strict=True)):
            raise InterestError(
                f"dimension {name}: cells that begin at {self.starts} do not cut [{lower}, {upper}): each begins above the "
                "one before, and below the upper bound"
            )

    def cells(self, range_: Range | None) -> range:
        if range_ is None:
            return range(len(self.starts))
        low, high = range_
        if not self.lower <= low < high <= self.upper:
            raise InterestError(
                f"dimension {self.name}: [{low}, {high}) is not a range in [{self.lower}, {self.upper}); "
                "the lower bound is below the upper one, and both are in the dimension"
            )
        return range(bisect_right(self.starts, low) - 1, bisect_left(self.starts, high))


def _starts(lower: Coordinate, upper: Coordinate, cells: int) -> list[Coordinate]:
    if isinstance(lower, int) and isinstance(upper, int):
        size = -((lower - upper) // cells)  # as the grid of S2-10
        return list(range(lower, upper, size))
    span = upper - lower
    return [lower + span * place / cells for place in range(cells)]


class Grid:
    """A routing space in cells, numbered from 0, the first dimension fastest."""

    def __init__(self, axes: Sequence[CellAxis]) -> None:
        self.axes = list(axes)
        self.steps: list[int] = []
        total = 1
        for axis in self.axes:
            self.steps.append(total)
            total *= len(axis.starts)
        self.total = total

    def cells(self, region: Boxes) -> frozenset[int]:
        """The cells that the region touches."""
        found: set[int] = set()
        for box in region:
            if len(box) != len(self.axes):
                names = ", ".join([axis.name for axis in self.axes])
                raise InterestError(
                    f"an extent of {len(box)} ranges in a space of {len(self.axes)} dimensions ({names})"
                )
            rows = [
                [step * number for number in axis.cells(range_)]
                for axis, step, range_ in zip(self.axes, self.steps, box, strict=True)
            ]
            found.update([sum(one) for one in product(*rows)])
        return frozenset(found)


class Placed(NamedTuple):
    """A region, and the cells that it touches."""

    boxes: Boxes
    cells: frozenset[int]


NOWHERE = Placed((), frozenset())


class Subscribed(NamedTuple, Generic[Federate]):
    """The history of a subscription region, for who joins later: the lists follow from it."""

    member: Member[Federate]
    first: Boxes  # before all times
    changes: list[tuple[TimeValue, Boxes]]  # by time


class CellUpdate(Logged[Value], Generic[Federate, Value]):
    """An update with what the receivers' filter needs, and by which cells it went."""

    def __init__(self, time: TimeValue, value: Value, sender: Federate, placed: Placed) -> None:
        super().__init__(time, value)
        self.sender: Federate = sender
        self.placed = placed


class CellStep(NamedTuple):
    """An Add (1) or Delete (-1) on a cell."""

    cell: int
    time: TimeValue
    change: int


class Modified(NamedTuple, Generic[Federate, Value]):
    """What the change of a subscription region leads to, for its federate: one entry for each copy."""

    steps: list[CellStep]
    sends: list[CellUpdate[Federate, Value]]
    retractions: list[CellUpdate[Federate, Value]]
    joined: list[int]  # the multicast groups of these cells
    left: list[int]


def require_later(who: str, time: TimeValue, bound: Bound | None) -> None:
    """A federate changes nothing before its time plus lookahead (S4-12), its promise."""
    if bound is not None and (time, 0) < bound:
        wanted = f"later than {bound[0]}" if bound[1] else f"{bound[0]} or later"
        raise InterestError(
            f"{who} cannot change as of {time}: the federate's logical time and lookahead allow {wanted}"
        )


class CellInterest(Generic[Federate, Value]):
    """All regions of one routing space that have a history in logical time, and the lists of its cells."""

    def __init__(self, grid: Grid, lists: DistributionLists[Federate, Value] | None = None) -> None:
        self.grid = grid
        self.lists: DistributionLists[Federate, Value] = DistributionLists() if lists is None else lists
        self.subscriptions: dict[Member[Federate], SpaceTime[Placed]] = {}
        self.updates: dict[Member[Federate], SpaceTime[Placed]] = {}

    # --- regions --------------------------------------------------------------------------------------------------

    def modify_subscription(
        self, member: Member[Federate], region: Boxes, time: TimeValue, bound: Bound | None = None
    ) -> Modified[Federate, Value]:
        """As of that time the federate subscribes in this region; `bound`: what it has promised."""
        require_later(f"subscription region {member[1]} of federate {member[0]}", time, bound)
        self.lists.limits.check_operation(time, "Modify_Region", member)
        new = Placed(region, self.grid.cells(region))
        history = self.subscriptions.get(member)
        if history is None:
            history = SpaceTime(NOWHERE)
            self.subscriptions[member] = history
        steps = self._steps(member, history, new.cells, time)
        history.write(time, new)
        return self._carry_out(member, steps)

    def _steps(
        self, member: Member[Federate], history: SpaceTime[Placed], new: frozenset[int], time: TimeValue
    ) -> list[CellStep]:
        """Table 1.  Only cells whose status at that time changes come into question."""
        old = history.read(time).cells
        before = history.before(time).cells
        following = history.following(time)
        replaced = history.is_written(time)
        steps: list[CellStep] = []
        for cell in sorted(old ^ new):
            now = cell in new
            if following is not None and (cell in following[1].cells) != now:
                steps.append(CellStep(cell, following[0], -1 if now else 1))
            if replaced:
                steps.extend(self._replace(member, cell, time, cell in before, now))
            else:
                steps.append(CellStep(cell, time, 1 if now else -1))
        return steps

    def _replace(
        self, member: Member[Federate], cell: int, time: TimeValue, before: bool, now: bool
    ) -> list[CellStep]:
        """A second change at the same time: what stands there is brought to what there should be."""
        wanted = int(now) - int(before)
        missing = wanted - self.lists.net(member, cell, time)
        return [CellStep(cell, time, 1 if missing > 0 else -1)] * abs(missing)

    def _carry_out(self, member: Member[Federate], steps: list[CellStep]) -> Modified[Federate, Value]:
        made: Modified[Federate, Value] = Modified(steps, [], [], [], [])
        for cell, time, change in steps:
            if change > 0:
                outcome = self.lists.add(member, cell, time)
            else:
                outcome = self.lists.delete(member, cell, time)
            made.sends.extend(_from_others(outcome.sends, member[0]))
            made.retractions.extend(_from_others(outcome.retractions, member[0]))
            if outcome.joined:
                made.joined.append(cell)
            if outcome.left:
                made.left.append(cell)
        return made

    def subscribed(self) -> list[Subscribed[Federate]]:
        """All subscription regions with what is known of their histories."""
        return [
            Subscribed(
                member,
                history.first.boxes,
                [(time, placed.boxes) for time, placed in zip(history.times, history.values, strict=True)],
            )
            for member, history in self.subscriptions.items()
        ]

    def take_over(self, subscribed: Iterable[Subscribed[Federate]], reclaimed: Bound | None) -> None:
        """Into an empty interest: the regions of others, and up to where they have reclaimed."""
        self.lists.limits.reclaimed = reclaimed
        for member, first, changes in subscribed:
            history = SpaceTime(Placed(first, self.grid.cells(first)))
            self.subscriptions[member] = history
            for cell in sorted(history.first.cells):
                self.lists.begin(member, cell)
            for time, region in changes:
                self.modify_subscription(member, region, time)

    def replace(self, subscribed: Subscribed[Federate]) -> frozenset[int]:
        """The whole history of a region is another from now on; nobody makes anything good.  The cells it had at any time."""
        member, first, changes = subscribed
        cells: frozenset[int] = frozenset()
        history = self.subscriptions.pop(member, None)
        if history is not None:
            cells = history.first.cells.union(*[placed.cells for placed in history.values])
            self.lists.drop(member, cells)
        reclaimed = self.lists.limits.reclaimed
        over = [] if reclaimed is None else [boxes for time, boxes in changes if (time, 0) < reclaimed]
        if first or changes:
            kept = Subscribed(member, over[-1] if over else first, changes[len(over) :])
            self.take_over([kept], reclaimed)
        return cells

    def modify_update(
        self, member: Member[Federate], region: Boxes, time: TimeValue, bound: Bound | None = None
    ) -> None:
        """As of that time updates by this region go there."""
        require_later(f"update region {member[1]} of federate {member[0]}", time, bound)
        history = self.updates.get(member)
        if history is None:
            history = SpaceTime(NOWHERE)
            self.updates[member] = history
        history.write(time, Placed(region, self.grid.cells(region)))

    # --- updates --------------------------------------------------------------------------------------------------

    def update(
        self, member: Member[Federate], value: Value, time: TimeValue
    ) -> tuple[CellUpdate[Federate, Value], dict[Federate, int]]:
        """By the update region as of that time: the update, and how many copies go to each federate."""
        history = self.updates.get(member)
        placed = NOWHERE if history is None else history.read(time)
        update = CellUpdate(time, value, member[0], placed)
        copies = self.lists.update(sorted(placed.cells), update)
        copies.pop(update.sender, None)
        return update, copies

    def withdraw(self, update: CellUpdate[Federate, Value]) -> dict[Federate, int]:
        """Its sender takes it back: how many copies each federate had got."""
        copies = self.lists.withdraw(update.placed.cells, update)
        copies.pop(update.sender, None)
        return copies

    def once(
        self, federate: Federate, made: Modified[Federate, Value]
    ) -> tuple[list[CellUpdate[Federate, Value]], list[CellUpdate[Federate, Value]]]:
        """Late sends and retractions where a sender looks at all cells together and sends each update once."""
        changes: dict[CellUpdate[Federate, Value], int] = {}
        for update in made.sends:
            changes[update] = changes.get(update, 0) + 1
        for update in made.retractions:
            changes[update] = changes.get(update, 0) - 1
        sends, retractions = [], []
        for update, change in changes.items():
            copies = self.lists.copies(update.placed.cells, federate, update.time)
            if copies and copies == change:
                sends.append(update)
            elif not copies and change:
                retractions.append(update)
        return sends, retractions

    # --- the end of things ----------------------------------------------------------------------------------------

    def reclaim(self, bound: Bound) -> list[tuple[Hashable, Federate]]:
        """Nothing changes or is sent below the bound any more: who leaves which multicast group by that."""
        for histories in (self.subscriptions, self.updates):
            for member, history in list(histories.items()):
                history.reclaim(bound)
                if not history.times and not history.first.boxes:
                    del histories[member]
        return self.lists.reclaim(bound)

    def remove(self, federate: Federate) -> None:
        """It has resigned.  What it sent stays sent, also to who subscribes late."""
        for histories in (self.subscriptions, self.updates):
            for member in [one for one in histories if one[0] == federate]:
                del histories[member]
        self.lists.remove(federate)


def _from_others(updates: Iterable[Logged[Value]], federate: Federate) -> list[CellUpdate[Federate, Value]]:
    """Nobody gets its own updates."""
    return [one for one in updates if isinstance(one, CellUpdate) and one.sender != federate]
