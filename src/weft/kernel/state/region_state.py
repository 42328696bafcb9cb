"""Regions as a federation holds them, and where instances are: the state of data distribution management.

A region belongs to the federate that created it.  Its *template* is what that federate last set, known at its own node only; its
*extent* is what was last committed, the same at all nodes, and the only thing that matters to anybody else.

A *placement* says with which regions the attributes of an instance are updated.  Each federate has associations of its own: those
of the attribute's owner count, those of others wait until they own it, and who gives the attribute up gives its own up too.  An
attribute without any is updated in the default region, which overlaps every region.

A region may change as of a logical time.  Then it has a *timeline* too: its extent at every time, which is what counts for
messages in time stamp order (`ddm.matching_at_time`); for everything else the last commit does, whatever its time.  A commit
without
a time ends the timeline: the region is the same at all times again.

*Where* is what follows from both: for each attribute that is updated with regions, their extents.  It is worked out when it is
asked for and kept until an association, an owner or one of the extents changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.interest import Extent, SpaceTime
from weft.kernel.state.region_index import RegionIndex
from weft.model.handles import (
    AttributeHandle,
    DimensionHandle,
    FederateHandle,
    ObjectInstanceHandle,
    RegionHandle,
)
from weft.model.time import TimeValue

if TYPE_CHECKING:
    from weft.kernel.state.federation import Knowledge, Member
    from weft.kernel.state.recipients import Recipients

Extents = tuple[Extent, ...]
Where = dict[AttributeHandle, Extents]
"""Attributes that are not in it are in the default region."""


class OwnedRegion:
    def __init__(
        self,
        handle: RegionHandle,
        owner: FederateHandle,
        dimensions: tuple[DimensionHandle, ...],
        template: dict[DimensionHandle, tuple[int, int]],
    ) -> None:
        self.handle = handle
        self.owner = owner
        self.dimensions = dimensions
        self.template = template
        self.extent: Extent | None = None  # None until the first commit
        self.completed: dict[frozenset[DimensionHandle], Extent] = {}  # where the object model adds ranges
        self.instances: dict[ObjectInstanceHandle, int] = {}  # updated with it: for how many attributes
        self.timeline: SpaceTime[Extent | None] | None = None  # None: the extent at all times

    def commit(self, bounds: tuple[tuple[int, int], ...]) -> bool:
        """The bounds in the order of the dimensions; was anything changed?"""
        changed = self.timeline is not None
        self.timeline = None
        return self._take(self._made(bounds)) or changed

    def commit_at(self, bounds: tuple[tuple[int, int], ...], time: TimeValue) -> None:
        """As of that time."""
        extent = self._made(bounds)
        if self.timeline is None:
            self.timeline = SpaceTime(self.extent)
        self.timeline.write(time, extent)
        self._take(extent)

    def _made(self, bounds: tuple[tuple[int, int], ...]) -> Extent:
        numbers = [dimension.number for dimension in self.dimensions]
        return Extent(dict(zip(numbers, bounds, strict=True)))

    def _take(self, extent: Extent) -> bool:
        changed = extent != self.extent
        self.extent = extent
        self.completed.clear()
        return changed

    def at(self, time: TimeValue) -> Extent | None:
        """None: it is nowhere at that time."""
        return self.extent if self.timeline is None else self.timeline.read(time)

    def ever(self) -> list[Extent]:
        """What it is at any time that may still matter, and now."""
        found = [] if self.timeline is None else [self.timeline.first, *self.timeline.values]
        return [extent for extent in (*found, self.extent) if extent is not None]

    def reclaim(self, bound: tuple[TimeValue, int]) -> None:
        """Nothing is asked of times below the bound any more."""
        if self.timeline is not None:
            self.timeline.reclaim(bound)
            if not self.timeline.times and self.timeline.first == self.extent:
                self.timeline = None


class Placement:
    def __init__(self) -> None:
        self.of: dict[AttributeHandle, dict[FederateHandle, dict[RegionHandle, None]]] = {}
        # The MOM's instances: the RTI has no regions, but says where they are.
        self.fixed: Extents | None = None
        # Worked out (`ddm.matching`).
        self.where: Where | None = None
        # The table of owners that it was worked out from.
        self.owners: dict[AttributeHandle, Member] | None = None
        self.recipients: dict[tuple[AttributeHandle, ...], Recipients] = {}
        # What they were worked out from: generation, changes of regions, who knows the instance.
        self.valid: tuple[int, int, Knowledge] | None = None

    def forget(self) -> None:
        """Something that it was worked out from has changed."""
        self.where = None
        self.recipients.clear()


class RegionState:
    """The regions of a federation."""

    def __init__(self) -> None:
        self.regions: dict[RegionHandle, OwnedRegion] = {}
        self.created = 0  # so far
        self.subscribed = RegionIndex()  # of regions that are subscribed with …
        self.updated = RegionIndex()  # … and of those that instances are updated with
        self.changes = 0  # of what is subscribed with regions, for what was worked out from it
        self.timed = False  # somebody has changed a region or subscription as of a logical time
        self.reclaimed: TimeValue | None = (
            None  # below which nothing of that is known any more, as commands have said
        )
