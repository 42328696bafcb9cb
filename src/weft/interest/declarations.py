"""Declarations: what each federate publishes and subscribes, and the questions one may ask of them.

The rules, for a class C and its lineage (C itself, its parent, … the root):

* An object instance of class C is discovered by a federate at its *candidate class*: the first class in C's lineage at which the
  federate subscribes at least one attribute.  An interaction of class C is received at the first class in C's
  lineage to which the federate subscribes.  (Class promotion.)
* A subscription with regions counts for both as one without does; whether the regions overlap is asked afterwards, at that class.
  The two kinds are kept apart, and neither changes the other.
* A publisher is *relevant* when another federate subscribes actively, anywhere in the lineage of the published class, to
  something it publishes there.  Passive subscriptions receive but do not make anybody relevant.

Everything here is keyed by handles and kept in insertion order, never in a set that is iterated: two nodes that hear the same
declarations in the same order give the same answers in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest.spacetime import Bound
from weft.interest.timed import How, TimedDeclarations
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    RegionHandle,
)
from weft.model.time import TimeValue


class AttributeWish(NamedTuple):
    """How an attribute is subscribed."""

    active: bool
    rate: str  # an update rate designator, "" for every update


def stronger(one: AttributeWish, other: AttributeWish, rates: Mapping[str, float]) -> AttributeWish:
    """Both at once: active if one of them is, and at the faster rate."""
    rate = ""
    if one.rate and other.rate:
        rate = one.rate if rates[one.rate] >= rates[other.rate] else other.rate
    return AttributeWish(one.active or other.active, rate)


class Declared:
    """The declarations of one federate."""

    def __init__(self) -> None:
        self.published: dict[ObjectClassHandle, dict[AttributeHandle, None]] = {}
        self.subscribed: dict[ObjectClassHandle, dict[AttributeHandle, AttributeWish]] = {}
        self.sends: dict[InteractionClassHandle, None] = {}
        self.receives: dict[InteractionClassHandle, bool] = {}  # True where the subscription is active
        self.directs: dict[ObjectClassHandle, dict[InteractionClassHandle, None]] = {}
        self.directed: dict[ObjectClassHandle, dict[InteractionClassHandle, bool]] = {}  # True: universally
        # With regions; a class, or an attribute of it, is here only while it has some.
        self.subscribed_at: dict[
            ObjectClassHandle, dict[AttributeHandle, dict[RegionHandle, AttributeWish]]
        ] = {}
        self.receives_at: dict[InteractionClassHandle, dict[RegionHandle, bool]] = {}
        # For each region, how many of these there are at which class.
        self._users: dict[RegionHandle, dict[ObjectClassHandle | InteractionClassHandle, int]] = {}
        # Those that begin or end as of a logical time (`weft.kernel.ddm.matching_at_time`).
        self.timed: TimedDeclarations[ObjectClassHandle, AttributeHandle, AttributeWish] = TimedDeclarations()
        self.timed_receives: TimedDeclarations[InteractionClassHandle, None, bool] = TimedDeclarations()
        # Publications likewise; what was published last is what holds until its time has come (`services.publications`).
        self.timed_published: TimedDeclarations[ObjectClassHandle, AttributeHandle, bool] = (
            TimedDeclarations()
        )
        self.timed_sends: TimedDeclarations[InteractionClassHandle, None, bool] = TimedDeclarations()

    def publish(self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle]) -> None:
        self.published.setdefault(object_class, {}).update(dict.fromkeys(attributes))
        if not self.published[object_class]:
            del self.published[object_class]

    def unpublish(self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle]) -> None:
        _withdraw(self.published, object_class, attributes)

    def subscribe(
        self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle], wish: AttributeWish
    ) -> None:
        held = self.subscribed.setdefault(object_class, {})
        held.update(dict.fromkeys(attributes, wish))
        if not held:
            del self.subscribed[object_class]

    def unsubscribe(self, object_class: ObjectClassHandle, attributes: Iterable[AttributeHandle]) -> None:
        _withdraw(self.subscribed, object_class, attributes)

    def subscribe_at(
        self,
        object_class: ObjectClassHandle,
        attributes: Iterable[AttributeHandle],
        regions: Iterable[RegionHandle],
        wish: AttributeWish,
    ) -> None:
        held = self.subscribed_at.setdefault(object_class, {})
        for attribute in attributes:
            for region in regions:
                at = held.setdefault(attribute, {})
                if region not in at:
                    self._use(region, object_class, 1)
                at[region] = wish
        if not held:
            del self.subscribed_at[object_class]

    def _use(
        self, region: RegionHandle, used_at: ObjectClassHandle | InteractionClassHandle, more: int
    ) -> None:
        users = self._users.setdefault(region, {})
        users[used_at] = users.get(used_at, 0) + more
        if not users[used_at]:
            del users[used_at]
            if not users:
                del self._users[region]

    def unsubscribe_at(
        self,
        object_class: ObjectClassHandle,
        attributes: Iterable[AttributeHandle],
        regions: Iterable[RegionHandle],
    ) -> None:
        held = self.subscribed_at.get(object_class, {})
        for attribute in attributes:
            at = held.get(attribute, {})
            for region in regions:
                if at.pop(region, None) is not None:
                    self._use(region, object_class, -1)
            if not at:
                held.pop(attribute, None)
        if not held:
            self.subscribed_at.pop(object_class, None)

    def receive_at(
        self, interaction_class: InteractionClassHandle, regions: Iterable[RegionHandle], active: bool
    ) -> None:
        held = self.receives_at.setdefault(interaction_class, {})
        for region in regions:
            if region not in held:
                self._use(region, interaction_class, 1)
            held[region] = active
        if not held:
            del self.receives_at[interaction_class]

    def stop_receiving_at(
        self, interaction_class: InteractionClassHandle, regions: Iterable[RegionHandle]
    ) -> None:
        held = self.receives_at.get(interaction_class, {})
        for region in regions:
            if held.pop(region, None) is not None:
                self._use(region, interaction_class, -1)
        if not held:
            self.receives_at.pop(interaction_class, None)

    def uses(self, region: RegionHandle) -> bool:
        """Is there a subscription with that region, or will there be, or was there as of a time that may still matter?"""
        return region in self._users or self.timed.uses(region) or self.timed_receives.uses(region)

    def regions_used(self) -> Iterable[RegionHandle]:
        """By subscriptions as they are."""
        return self._users

    def uses_now(self, region: RegionHandle) -> bool:
        return region in self._users

    def used_at(self, region: RegionHandle) -> list[ObjectClassHandle | InteractionClassHandle]:
        """The classes that are subscribed with that region."""
        return list(self._users.get(region, ()))

    def reclaim(self, bound: Bound) -> bool:
        """Nothing is asked of times below the bound any more: is anything less subscribed to at any time?"""
        subscribed = self.timed.reclaim(bound, self._subscribed_now)
        received = self.timed_receives.reclaim(bound, self._received_now)
        return subscribed or received

    def _subscribed_now(
        self, kind: ObjectClassHandle, key: tuple[AttributeHandle, RegionHandle | None]
    ) -> AttributeWish | None:
        attribute, region = key
        if region is None:
            return self.subscribed.get(kind, {}).get(attribute)
        return self.subscribed_at.get(kind, {}).get(attribute, {}).get(region)

    def _received_now(
        self, kind: InteractionClassHandle, key: tuple[None, RegionHandle | None]
    ) -> bool | None:
        region = key[1]
        return self.receives.get(kind) if region is None else self.receives_at.get(kind, {}).get(region)

    def publishes_by(self, time: TimeValue) -> bool:
        """Is there a change of what it publishes as of that time or before, or one that could not be made then?"""
        lines = [line for held in self.timed_published.of.values() for line in held.values()]
        lines += [line for held in self.timed_sends.of.values() for line in held.values()]
        return any(not line.times or line.times[0] <= time for line in lines)

    def published_now(
        self, kind: ObjectClassHandle, key: tuple[AttributeHandle, RegionHandle | None]
    ) -> bool | None:
        """How it is published, for `timed_published`."""
        return True if key[0] in self.published.get(kind, {}) else None

    def sent_now(self, kind: InteractionClassHandle, key: tuple[None, RegionHandle | None]) -> bool | None:
        return True if kind in self.sends else None

    def all_wishes(
        self, object_class: ObjectClassHandle
    ) -> Iterable[tuple[AttributeHandle, RegionHandle | None, AttributeWish]]:
        """What is subscribed at that class, wherever: attribute, region (None: without) and wish."""
        for attribute, wish in self.subscribed.get(object_class, {}).items():
            yield attribute, None, wish
        for attribute, held in self.subscribed_at.get(object_class, {}).items():
            for region, wish in held.items():
                yield attribute, region, wish

    def candidate_class(self, entry: ObjectClassEntry) -> ObjectClassHandle | None:
        """The class at which an instance of the given class would be discovered."""
        subscribed, at, timed = self.subscribed, self.subscribed_at, self.timed.of
        if subscribed or at or timed:
            for ancestor in entry.lineage:
                handle = ancestor.handle
                if handle in subscribed or handle in at or (handle in timed and self.timed.ever(handle)):
                    return handle
        return None

    def received_class(self, entry: InteractionClassEntry) -> InteractionClassEntry | None:
        """The class at which an interaction of the given class would be received."""
        receives, at = self.receives, self.receives_at
        if receives or at:
            for ancestor in entry.lineage:
                if ancestor.handle in receives or ancestor.handle in at:
                    return ancestor
        return None

    def directed_class(
        self, target: ObjectClassEntry, entry: InteractionClassEntry
    ) -> tuple[InteractionClassEntry, bool] | None:
        """The class at which a directed interaction to such a target would be received, and whether universally."""
        for ancestor in target.lineage:
            wanted = self.directed.get(ancestor.handle)
            if wanted is not None:
                for interaction_class in entry.lineage:
                    universally = wanted.get(interaction_class.handle)
                    if universally is not None:
                        return interaction_class, universally
        return None

    def may_direct(self, target: ObjectClassEntry, interaction_class: InteractionClassHandle) -> bool:
        """Does this federate publish the directed interaction for the target's class or one above it?"""
        return any(interaction_class in self.directs.get(ancestor.handle, {}) for ancestor in target.lineage)


def _withdraw(
    declared: dict[ObjectClassHandle, dict[AttributeHandle, How]],
    object_class: ObjectClassHandle,
    attributes: Iterable[AttributeHandle],
) -> None:
    held = declared.get(object_class)
    if held is not None:
        for attribute in attributes:
            held.pop(attribute, None)
        if not held:
            del declared[object_class]


class Declarations:
    """The declarations of all federates of a federation."""

    def __init__(self) -> None:
        self.of: dict[FederateHandle, Declared] = {}

    def add(self, federate: FederateHandle) -> Declared:
        made = Declared()
        self.of[federate] = made
        return made

    def remove(self, federate: FederateHandle) -> None:
        del self.of[federate]

    def wants_registrations(self, publisher: FederateHandle, entry: ObjectClassEntry) -> bool:
        """Is the publisher of this class relevant?"""
        published = self.of[publisher].published.get(entry.handle)
        if not published:
            return False
        for federate, declared in self.of.items():
            if federate is not publisher and (declared.subscribed or declared.subscribed_at):
                for ancestor in entry.lineage:
                    for attribute, _, wish in declared.all_wishes(ancestor.handle):
                        if wish.active and attribute in published:
                            return True
        return False

    def wants_interactions(self, publisher: FederateHandle, entry: InteractionClassEntry) -> bool:
        """Is the publisher of this interaction class relevant?"""
        for federate, declared in self.of.items():
            if federate is not publisher:
                for ancestor in entry.lineage:
                    if declared.receives.get(ancestor.handle):
                        return True
                    if any(declared.receives_at.get(ancestor.handle, {}).values()):
                        return True
        return False
