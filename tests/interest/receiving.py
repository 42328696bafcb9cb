"""The receiving end of interest over cells (S4-4): extra updates and copies are removed.

What comes for a federate waits until its time.  A federate changes its regions at or after its time plus lookahead only, so
when time has come to an update all changes up to it are known, and whether it lies in a region of the federate as of that
time is certain: that is when it is filtered.  Copies of an update and retractions of copies may come in any order; the
update is there as long as more copies have come than were taken back.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic

from weft.interest.cells import Box, Boxes, CellUpdate
from weft.interest.distribution import Federate
from weft.interest.spacetime import Bound, SpaceTime


def overlap(one: Boxes, other: Boxes) -> bool:
    """Do two regions have a point in common?"""
    for here in one:
        for there in other:
            if _meet(here, there):
                return True
    return False


def _meet(one: Box, other: Box) -> bool:
    for here, there in zip(one, other, strict=True):
        if here is not None and there is not None and (here[0] >= there[1] or there[0] >= here[1]):
            return False
    return True


class Receiver(Generic[Federate]):
    """Of one federate."""

    def __init__(self) -> None:
        self.regions: dict[Hashable, SpaceTime[Boxes]] = {}
        self.copies: dict[CellUpdate[Federate, object], int] = {}  # what waits
        self.extra = 0  # updates that touched a cell and no region
        self.doubled = 0  # copies beyond the first

    def modify(self, region: Hashable, boxes: Boxes, time: Any) -> None:
        """Its own subscription region, as of that time."""
        nowhere: Boxes = ()
        history = self.regions.get(region)
        if history is None:
            history = SpaceTime(nowhere)
            self.regions[region] = history
        history.write(time, boxes)

    def wants(self, update: CellUpdate[Federate, object]) -> bool:
        """Does it lie in a region of this federate, as of its time?"""
        boxes, time = update.placed.boxes, update.time
        return any(overlap(history.read(time), boxes) for history in self.regions.values())

    def arrive(self, update: CellUpdate[Federate, object], copies: int = 1) -> None:
        self._count(update, copies)

    def retract(self, update: CellUpdate[Federate, object], copies: int = 1) -> None:
        self._count(update, -copies)

    def _count(self, update: CellUpdate[Federate, object], change: int) -> None:
        count = self.copies.get(update, 0) + change
        if count:
            self.copies[update] = count
        else:
            del self.copies[update]

    def take(self, bound: Bound) -> list[CellUpdate[Federate, object]]:
        """What the federate is given when its time goes as far as the bound: by time, of equals the first that came."""
        due = [update for update in self.copies if (update.time, 0) < bound]
        due.sort(key=_time)
        taken = []
        for update in due:
            copies = self.copies.pop(update)
            self.doubled += max(copies - 1, 0)
            if copies > 0 and self.wants(update):
                taken.append(update)
            else:
                self.extra += 1
        for history in self.regions.values():
            history.reclaim(bound)
        return taken


def _time(update: CellUpdate[Federate, object]) -> Any:
    return update.time
