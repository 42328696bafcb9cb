"""Channels: which nodes a message is sent to, by the strategy that the federation was created with (docs/explanation/ddm.md).

`ddm.matching` says who gets a message.  That is the same under every strategy; what differs is which *other nodes* it is
sent to, and so what has to be dropped there:

    Exact                      to the nodes of those who get it: nothing is dropped
    Simple                     to all nodes that have members
    StaticSpacePartitioned     to the nodes that listen to the channel of its routing space
    StaticGridPartitioned      … to one of the channels of the partitions that its update regions touch

A node listens to the channels of what its members subscribe to.  Declarations and regions are known everywhere, so every node
knows who listens to what; nothing more is said between them.  A node that listens to several channels of a message gets it once.
Best-effort messages may go to multicast groups instead, one for each channel (`Cast`): then there is a copy for each.
They may also go over the links, like reliable ones; the callback still names their own transportation.

Messages in causal or total order go to exactly those who get them under any strategy, because their stamps say who these are; so
do directed interactions and what the RTI itself sends.

Counted are, for each federate and channel (S2-3):

    sent                 messages of the federate that were put on the channel
    copies               … and what left the node for it; a message for several channels is counted on the first
    received             messages of others that came over the network by a channel the federate listens to
    wanted               … and led to a callback
    filtered_receiver    … and did not
    filtered_sender      messages of the federate that were kept from another federate, because it listens to none of the channels
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from weft.fom import ObjectModel, parse_rid
from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest.ddm_settings import EXACT, MULTICAST, SIMPLE, TCP, DdmSettings, read_ddm_settings
from weft.interest.regions import DEFAULT_REGION, Region
from weft.interest.spaces import Space, Spaces
from weft.interest.strategies import StaticGridPartitioned, make_strategy
from weft.kernel.state.effects import Listen
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.kernel.state.traffic import EVERYBODY, Footprint
from weft.model.handles import AttributeHandle, FederateHandle, Handle, RegionHandle
from weft.model.records import Source

_SHOWN: Final = 1000  # partitions of one dimension that are told in full


class Channels:
    """Of one federation, at one node.  What it knows of who listens is worked out again when declarations or regions change."""

    def __init__(self, model: ObjectModel, rid: Source | None) -> None:
        """Without a RID file nothing is sent that nobody wants."""
        self._rid = None if rid is None else parse_rid(rid)
        self._spaces = Spaces(model)
        self._settings = DdmSettings(strategy=EXACT)
        if self._rid is not None:
            self._settings = read_ddm_settings(self._rid, self._spaces)
        self._strategy = make_strategy(self._spaces, self._settings)
        self.name = self._strategy.name
        self.exact = self._strategy.matches_at_sender
        self.multicast = self._settings.best_effort == MULTICAST
        self.over_links = (
            self._settings.best_effort == TCP
        )  # also best-effort messages, whose loss is not wanted
        self.tbound = self._settings.tbound  # of regions as of a time (`state.topics`)
        self._valid = (-1, -1)
        self._listeners: dict[int, dict[str, None]] = {}
        self._own: dict[FederateHandle, frozenset[int]] = {}
        self._known: dict[tuple[Handle, ...], tuple[int, ...]] = {}
        self._groups: tuple[str, ...] = ()

    # --- by which channels ------------------------------------------------------------------------------------

    def of_attribute(
        self, entry: ObjectClassEntry, attribute: AttributeHandle, extents: Extents | None
    ) -> tuple[int, ...]:
        key = (entry.handle, attribute)
        found = self._known.get(key) if extents is None else None
        if found is None:
            space = self._spaces.of_attribute(entry.name, entry.attributes[attribute].name)
            found = self._channels(space, extents)
            if extents is None:
                self._known[key] = found
        return found

    def of_interaction(self, entry: InteractionClassEntry, extents: Extents | None) -> tuple[int, ...]:
        found = self._known.get((entry.handle,)) if extents is None else None
        if found is None:
            found = self._channels(self._spaces.of_interaction(entry.name), extents)
            if extents is None:
                self._known[entry.handle,] = found
        return found

    def _channels(self, space: Space | None, extents: Extents | None) -> tuple[int, ...]:
        region = DEFAULT_REGION if extents is None else Region(extents)
        return tuple(sorted(self._strategy.update_channels(space, region)))

    # --- for the recorder: which partitions of a grid a message with regions touches ------------------------------

    def interaction_cells(self, entry: InteractionClassEntry, extents: Extents) -> tuple[int, ...]:
        return tuple(sorted(self._cells(self._spaces.of_interaction(entry.name), extents)))

    def update_cells(self, entry: ObjectClassEntry, where: Where) -> tuple[int, ...]:
        found: set[int] = set()
        for attribute, extents in where.items():
            space = self._spaces.of_attribute(entry.name, entry.attributes[attribute].name)
            found.update(self._cells(space, extents))
        return tuple(sorted(found))

    def _cells(self, space: Space | None, extents: Extents) -> frozenset[int]:
        if not isinstance(self._strategy, StaticGridPartitioned):
            return frozenset()
        return self._strategy.update_partitions(space, Region(extents))

    def partitions(self, federation: Federation) -> dict[int, list[int]]:
        """A dimension of several spaces has the bounds of all; one with very many is left out, since nobody could see them."""
        if not isinstance(self._strategy, StaticGridPartitioned):
            return {}
        self._refresh(federation)
        assert isinstance(self._strategy, StaticGridPartitioned)
        found: dict[int, set[int]] = {}
        for grid in self._strategy.grids.values():
            for dimension, count, size in zip(grid.space.dimensions, grid.counts, grid.sizes, strict=True):
                if count <= _SHOWN:
                    bounds = [min(place * size, dimension.size) for place in range(count)]
                    found.setdefault(dimension.number, {dimension.size}).update(bounds)
        return {number: sorted(bounds) for number, bounds in found.items()}

    # --- who listens ------------------------------------------------------------------------------------------

    def _refresh(self, federation: Federation) -> None:
        valid = (federation.generation, federation.ddm.changes)
        if valid == self._valid:
            return
        if federation.catalog.model is not self._spaces.model:  # a joining federate has brought more
            self._spaces = Spaces(federation.catalog.model)
            self._strategy = make_strategy(self._spaces, self._settings)
        self._valid = valid
        self._known.clear()
        self._listeners.clear()
        self._own.clear()
        for member in federation.members.values():
            channels = self._wanted(federation, member)
            self._own[member.handle] = channels
            for channel in channels:
                self._listeners.setdefault(channel, {})[member.node] = None

    def _wanted(self, federation: Federation, member: Member) -> frozenset[int]:
        """The channels of what the member subscribes to; also those of classes below, which may be in other spaces."""
        found = {EVERYBODY}
        if self.name == SIMPLE:
            found.update(self._channels(None, None))
        declared = member.declared
        catalog = federation.catalog
        for object_class, attributes in declared.subscribed.items():
            for entry in catalog.object_classes[object_class].family():
                for attribute in attributes:
                    found.update(self.of_attribute(entry, attribute, None))
        for object_class, held in declared.subscribed_at.items():
            for entry in catalog.object_classes[object_class].family():
                for attribute, regions in held.items():
                    found.update(self.of_attribute(entry, attribute, _extents(federation, regions)))
        for interaction_class in declared.receives:
            for below in catalog.interaction_classes[interaction_class].family():
                found.update(self.of_interaction(below, None))
        for interaction_class, at in declared.receives_at.items():
            for below in catalog.interaction_classes[interaction_class].family():
                found.update(self.of_interaction(below, _extents(federation, at)))
        return frozenset(found)

    def updates(
        self,
        federation: Federation,
        entry: ObjectClassEntry,
        sent: tuple[AttributeHandle, ...],
        where: Where | None,
        here: str,
    ) -> tuple[tuple[int, ...], dict[str, dict[AttributeHandle, None]]]:
        """By which channels an update goes, and which of its attributes to which other node."""
        all_channels: dict[int, None] = {}
        away: dict[str, dict[AttributeHandle, None]] = {}
        for attribute in sent:
            channels = self.of_attribute(entry, attribute, None if where is None else where.get(attribute))
            all_channels.update(dict.fromkeys(channels))
            for node in self.nodes(federation, channels, here):
                away.setdefault(node, {})[attribute] = None
        return tuple(sorted(all_channels)), away

    def nodes(self, federation: Federation, channels: tuple[int, ...], here: str) -> dict[str, None]:
        """The other nodes that listen to one of the channels."""
        self._refresh(federation)
        found: dict[str, None] = {}
        for channel in channels:
            found.update(self._listeners.get(channel, {}))
        found.pop(here, None)
        return found

    def groups(self, channels: tuple[int, ...]) -> tuple[str, ...]:
        """The multicast groups of the channels; none if there are no groups."""
        return tuple(dict.fromkeys([str(self._settings.group(channel)) for channel in channels]))

    def listen(self, step: Step) -> None:
        """After a command: which groups this node is to listen to from now on."""
        federation = step.federation
        if not self.multicast:
            return
        self._refresh(federation)
        here = [c for c, nodes in sorted(self._listeners.items()) if step.node in nodes]
        groups = self.groups(tuple(here))
        if groups != self._groups:
            self._groups = groups
            step.effects.append(Listen(federation.name, groups))

    # --- counting ---------------------------------------------------------------------------------------------

    def sent(
        self,
        federation: Federation,
        sender: Member,
        channels: tuple[int, ...],
        nodes: Collection[str],
        here: str,
    ) -> Footprint:
        """A message that goes to these other nodes, by these channels."""
        made = Footprint()
        made.sender = sender
        made.channels = channels
        made.copies = len(nodes)
        self._refresh(federation)
        among = frozenset(channels)
        made.kept_from = sum(
            1
            for member in federation.members.values()
            if member.node != here
            and (member.node not in nodes or (not self.exact and among.isdisjoint(self._own[member.handle])))
        )
        return made

    def came(
        self, federation: Federation, channels: tuple[int, ...], heard: list[Member], here: str
    ) -> Footprint:
        """A message that came from another node, and that these members here get."""
        made = Footprint()
        wanted = frozenset([member.handle for member in heard])
        self._refresh(federation)
        for member in federation.members.values():
            if member.node != here:
                continue
            if self.exact:
                if member.handle in wanted:
                    made.receivers.append((member.traffic, EVERYBODY, True))
                continue
            own = self._own[member.handle]
            common = [channel for channel in channels if channel in own]
            if common:
                made.receivers.append((member.traffic, common[0], member.handle in wanted))
        return made


def _extents(federation: Federation, regions: Iterable[RegionHandle]) -> Extents:
    found = [federation.ddm.regions[handle].extent for handle in regions]
    return tuple([extent for extent in found if extent is not None])
