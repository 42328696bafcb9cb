"""Who listens to which channels, under one strategy, and by which channels something goes.

Worked out from declarations and regions, which every node knows of all members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest.regions import DEFAULT_REGION, Region
from weft.interest.spaces import Space, Spaces
from weft.interest.strategy import Strategy
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.region_state import Extents
from weft.kernel.state.traffic import EVERYBODY
from weft.model.handles import AttributeHandle, FederateHandle, Handle, RegionHandle


class ChannelListening:
    def __init__(self, spaces: Spaces, strategy: Strategy) -> None:
        self.spaces = spaces
        self.strategy = strategy
        self.own: dict[FederateHandle, frozenset[int]] = {}
        self.nodes: dict[int, dict[str, None]] = {}
        self._known: dict[tuple[Handle, ...], tuple[int, ...]] = {}

    def refresh(self, federation: Federation) -> None:
        self._known.clear()
        self.nodes.clear()
        self.own.clear()
        for member in federation.members.values():
            channels = self._wanted(federation, member)
            self.own[member.handle] = channels
            for channel in channels:
                self.nodes.setdefault(channel, {})[member.node] = None

    def channels_at(self, node: str) -> list[int]:
        return [channel for channel, nodes in sorted(self.nodes.items()) if node in nodes]

    # --- by which channels ------------------------------------------------------------------------------------

    def of_attribute(
        self, entry: ObjectClassEntry, attribute: AttributeHandle, extents: Extents | None
    ) -> tuple[int, ...]:
        key = (entry.handle, attribute)
        found = self._known.get(key) if extents is None else None
        if found is None:
            space = self.spaces.of_attribute(entry.name, entry.attributes[attribute].name)
            found = self.channels(space, extents)
            if extents is None:
                self._known[key] = found
        return found

    def of_interaction(self, entry: InteractionClassEntry, extents: Extents | None) -> tuple[int, ...]:
        found = self._known.get((entry.handle,)) if extents is None else None
        if found is None:
            found = self.channels(self.spaces.of_interaction(entry.name), extents)
            if extents is None:
                self._known[entry.handle,] = found
        return found

    def channels(self, space: Space | None, extents: Extents | None) -> tuple[int, ...]:
        region = DEFAULT_REGION if extents is None else Region(extents)
        return tuple(sorted(self.strategy.update_channels(space, region)))

    # --- who listens ------------------------------------------------------------------------------------------

    def _wanted(self, federation: Federation, member: Member) -> frozenset[int]:
        """The channels of what the member subscribes to, and those of what is in no space."""
        found = {EVERYBODY, *self.channels(None, None)}
        for entry, attribute, extents in subscriptions(federation, member):
            if attribute is None:
                assert isinstance(entry, InteractionClassEntry)
                found.update(self.of_interaction(entry, extents))
            else:
                assert isinstance(entry, ObjectClassEntry)
                found.update(self.of_attribute(entry, attribute, extents))
        return frozenset(found)

    def wishes(self, federation: Federation) -> Iterator[tuple[str, Space, Extents | None]]:
        """Of all members: the node, the space and where in it."""
        for member in federation.members.values():
            for entry, attribute, extents in subscriptions(federation, member):
                space: Space | None
                if attribute is None:
                    space = self.spaces.of_interaction(entry.name)
                else:
                    assert isinstance(entry, ObjectClassEntry)
                    space = self.spaces.of_attribute(entry.name, entry.attributes[attribute].name)
                if space is not None:
                    yield member.node, space, extents


Subscription = tuple[ObjectClassEntry | InteractionClassEntry, AttributeHandle | None, Extents | None]
"""A class with an attribute, or an interaction class; and where, if not everywhere."""


def subscriptions(federation: Federation, member: Member) -> Iterator[Subscription]:
    """What the member subscribes to; also of classes below, which may be in other spaces."""
    declared = member.declared
    catalog = federation.catalog
    for object_class, attributes in declared.subscribed.items():
        for entry in catalog.object_classes[object_class].family():
            for attribute in attributes:
                yield entry, attribute, None
    for object_class, held in declared.subscribed_at.items():
        for entry in catalog.object_classes[object_class].family():
            for attribute, regions in held.items():
                yield entry, attribute, _extents(federation, regions)
    for interaction_class in declared.receives:
        for below in catalog.interaction_classes[interaction_class].family():
            yield below, None, None
    for interaction_class, at in declared.receives_at.items():
        for below in catalog.interaction_classes[interaction_class].family():
            yield below, None, _extents(federation, at)


def _extents(federation: Federation, regions: Iterable[RegionHandle]) -> Extents:
    found = [federation.ddm.regions[handle].extent for handle in regions]
    return tuple([extent for extent in found if extent is not None])
