"""Regions for a `Federate`: ranges by the names of dimensions, that move, and come again with the federate.

A region's ranges are half-open and count as soon as it is made or moved; within `Federate.moving` all that moves does so
at once, at the end.  If something goes wrong in between, or in a move, the ranges are what they were.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, overload

from weft.model.conveyed import conveyed_bounds
from weft.model.errors import (
    InvalidRangeBound,
    InvalidRegion,
    InvalidRegionContext,
    RegionNotCreatedByThisFederate,
    RTIexception,
)
from weft.model.handles import AttributeHandle, ObjectInstanceHandle, RegionHandle
from weft.model.records import RangeBounds
from weft.model.time import AnyTime

if TYPE_CHECKING:
    from weft.federate.federate import Federate

Ranges = dict[str, tuple[int, int]]
"""Half-open, by the full names of dimensions."""


class LocalRegion:
    """A region this federate made with `region`; `area.move(lane=(5, 15))`."""

    def __init__(self, regions: Regions, space: str, ranges: Ranges) -> None:
        self.ranges = ranges  # what counts for others
        self._regions = regions
        self._space = space
        self._handle: RegionHandle | None = None

    @property
    def handle(self) -> RegionHandle:
        """For the services of `Federate.rti`."""
        if self._handle is None:
            raise InvalidRegion(
                f"{self!r} was deleted, or made after the save that was restored; make another"
            )
        return self._handle

    def move(self, **ranges: tuple[int, int]) -> None:
        """Other ranges for some of its dimensions."""
        self._regions.move(self, self._regions.named(self._space, ranges))

    def delete(self) -> None:
        """It must not be in use: neither for subscriptions nor for where objects are."""
        self._regions.delete(self)

    def __repr__(self) -> str:
        ranges = ", ".join(f"{name}: [{lower}, {upper})" for name, (lower, upper) in self.ranges.items())
        return f"<region {ranges}>"


Where = LocalRegion | Iterable[LocalRegion]
"""One region, or several: then each of them counts."""

Chosen = frozenset[LocalRegion]
Placed = dict[tuple[ObjectInstanceHandle, AttributeHandle], Chosen]


def handles(regions: Chosen) -> frozenset[RegionHandle]:
    return frozenset(region.handle for region in regions)


class Regions:
    """The regions of one federate, and which of its objects are where."""

    def __init__(self, federate: Federate) -> None:
        self._federate = federate
        self._all: dict[LocalRegion, None] = {}
        self._placed: Placed = {}
        self._moved: dict[LocalRegion, Ranges] | None = None  # within `moving`

    # --- making and moving ------------------------------------------------------------------------------------

    def make(self, space: str, given: Mapping[str, object]) -> LocalRegion:
        vocabulary = self._federate._vocabulary
        ranges = self.named(space, given) or {
            name: (0, vocabulary.model.dimensions[name].upper_bound) for name in vocabulary.space(space)
        }
        made = LocalRegion(self, space, ranges)
        self._create(made)
        self._all[made] = None
        return made

    def named(self, space: str, given: Mapping[str, object]) -> Ranges:
        """The same ranges under the full names of their dimensions."""
        vocabulary = self._federate._vocabulary
        if space:
            vocabulary.space(space)
        found = {}
        for name, bounds in given.items():
            full = vocabulary.dimension(f"{space}.{name}" if space else name)
            if not isinstance(bounds, tuple) or len(bounds) != 2:
                raise InvalidRangeBound(f"dimension {full}: expected (lower, upper), got {bounds!r}")
            found[full] = bounds
        return found

    def _create(self, region: LocalRegion) -> None:
        rti = self._federate.rti
        handle = rti.create_region({rti.get_dimension_handle(name) for name in region.ranges})
        try:
            self._set(handle, region.ranges)
            self._commit({handle})
        except BaseException:
            with contextlib.suppress(RTIexception):
                rti.delete_region(handle)
            raise
        region._handle = handle

    def move(self, region: LocalRegion, ranges: Ranges) -> None:
        absent = [name for name in ranges if name not in region.ranges]
        if absent:
            raise InvalidRegionContext(f"{region!r} does not have the dimension {absent[0]}; make another")
        before = region.ranges if self._moved is None else self._moved.get(region, region.ranges)
        after = {**before, **ranges}
        try:
            self._set(region.handle, ranges)
            if self._moved is None:
                self._commit({region.handle})
        except BaseException:
            self._set_back(region, before)
            raise
        if self._moved is None:
            region.ranges = after
        else:
            self._moved[region] = after

    @contextlib.contextmanager
    def moving(self, time: AnyTime | None) -> Iterator[None]:
        if self._moved is not None:
            if time is not None:
                raise InvalidRegion(f"moving as of {time} inside another such block; its end says when")
            yield  # inside another such block, at whose end all of it counts
            return
        self._moved = {}
        try:
            yield
            if self._moved:
                self._commit({region.handle for region in self._moved}, time)
                for region, ranges in self._moved.items():
                    region.ranges = ranges
        except BaseException:
            for region in self._moved:
                self._set_back(region, region.ranges)
            raise
        finally:
            self._moved = None

    def _set(self, handle: RegionHandle, ranges: Ranges) -> None:
        rti = self._federate.rti
        for name, bounds in ranges.items():
            rti.set_range_bounds(handle, rti.get_dimension_handle(name), RangeBounds(*bounds))

    def _set_back(self, region: LocalRegion, ranges: Ranges) -> None:
        with contextlib.suppress(RTIexception):  # the error that led here is the one to report
            self._set(region.handle, ranges)

    def _commit(self, handles: set[RegionHandle], time: AnyTime | None = None) -> None:
        self._federate.rti.commit_region_modifications(handles, time=time)

    def delete(self, region: LocalRegion) -> None:
        self._federate.rti.delete_region(region.handle)
        region._handle = None
        self._all.pop(region, None)
        if self._moved is not None:
            self._moved.pop(region, None)

    # --- using ------------------------------------------------------------------------------------------------

    @overload
    def chosen(self, where: None) -> None: ...

    @overload
    def chosen(self, where: Where) -> Chosen: ...

    @overload
    def chosen(self, where: Where | None) -> Chosen | None: ...

    def chosen(self, where: object) -> Chosen | None:
        """What `where=` says; None: everywhere."""
        if where is None:
            return None
        given = [where] if isinstance(where, LocalRegion) or not isinstance(where, Iterable) else where
        found = set()
        for one in given:
            if not isinstance(one, LocalRegion):
                raise InvalidRegion(f"where= takes regions that `region` made, not {where!r}")
            if one._regions is not self:
                name = self._federate.name
                raise RegionNotCreatedByThisFederate(f"{one!r} is a region of another federate than {name}")
            found.add(one)
        if not found:
            raise InvalidRegion("where= names no region; leave it out to mean everywhere")
        return frozenset(found)

    def attributes(self, object_class: str, where: Chosen, among: Iterable[str] = ()) -> list[str]:
        """Those of these attributes of a class, or of all, that have all dimensions of the regions."""
        dimensions = {name for region in where for name in region.ranges}
        vocabulary = self._federate._vocabulary
        available = vocabulary.model.attribute_dimensions
        found = [
            name
            for name in vocabulary.attributes(object_class, among)
            if dimensions.issubset(available(object_class, name))
        ]
        if not found:
            wanted = ", ".join(sorted(dimensions))
            raise InvalidRegionContext(f"no attribute of {object_class} has the dimensions {wanted}")
        return found

    def place(
        self, instance: ObjectInstanceHandle, attributes: Iterable[AttributeHandle], where: Chosen | None
    ) -> None:
        """First to the new regions, then out of the former: between the two in both, never everywhere."""
        rti = self._federate.rti
        new = where or frozenset()
        chosen = list(attributes)
        if new:
            rti.associate_regions_for_updates(instance, [(set(chosen), handles(new))])
        ended = []
        for attribute in chosen:
            former = self._placed.pop((instance, attribute), frozenset()) - new
            live = former & self._all.keys()  # those given up with the attribute may have been deleted
            if live:
                ended.append(({attribute}, handles(live)))
        self.placed(instance, chosen, new)
        if ended:
            rti.unassociate_regions_for_updates(instance, ended)

    def placed(
        self, instance: ObjectInstanceHandle, attributes: Iterable[AttributeHandle], where: Chosen
    ) -> None:
        if where:
            self._placed.update({(instance, attribute): where for attribute in attributes})

    def gone(self, instance: ObjectInstanceHandle) -> None:
        for key in [key for key in self._placed if key[0] == instance]:
            del self._placed[key]

    def told(self, conveyed: Iterable[RegionHandle] | None) -> tuple[Ranges, ...] | None:
        """Regions that came with a message, by value; None: none were told."""
        if conveyed is None:
            return None
        federate = self._federate
        found = []
        for handle in sorted(conveyed):
            bounds = conveyed_bounds(handle) or {}
            name = federate.rti.get_dimension_name
            found.append({federate._name(name, each): (low, up) for each, (low, up) in bounds.items()})
        return tuple(found)

    # --- staying ----------------------------------------------------------------------------------------------

    def come_again(self) -> None:
        """The federate has joined anew: as they were, and used for nothing yet."""
        self._placed.clear()
        for region in self._all:
            self._create(region)

    def kept(self) -> tuple[dict[LocalRegion, tuple[RegionHandle, Ranges]], Placed]:
        """What is to be known again after a restore."""
        known = {region: (region.handle, dict(region.ranges)) for region in self._all}
        return known, dict(self._placed)

    def restored(self, known: Mapping[LocalRegion, tuple[RegionHandle, Ranges]], placed: Placed) -> None:
        """What was made since the save is no more."""
        for region in self._all:
            region._handle = None
        self._all = dict.fromkeys(known)
        for region, (handle, ranges) in known.items():
            region._handle, region.ranges = handle, dict(ranges)
        self._placed = dict(placed)
