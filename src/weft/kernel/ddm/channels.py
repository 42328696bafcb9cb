"""Channels: which nodes a message is sent to, by the strategy that the federation was created with (docs/explanation/ddm.md).

`ddm.matching` says who gets a message.  That is the same under every strategy; what differs is which *other nodes* it is
sent to, and so what has to be dropped there:

    Exact                      to the nodes of those who get it: nothing is dropped
    Simple                     to all nodes that have members
    StaticSpacePartitioned     to the nodes that listen to the channel of its routing space
    StaticGridPartitioned      … to one of the channels of the partitions that its update regions touch
    AdaptivePartitioned        likewise; which partitions there are changes while it runs (`ddm.adapting`)
    one of another package     to the nodes that listen to one of the channels that it says.  Should these miss a node that wants
                               the message, it goes there all the same, and the strategy is blamed (`message.other_nodes`)

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

from collections.abc import Collection
from typing import Final

from weft.fom import ObjectModel, parse_rid
from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.interest.adaptive import AdaptivePartitioned, Part, adaptive_options, arrivals_of, cells
from weft.interest.ddm_settings import (
    EXACT,
    MULTICAST,
    OFF,
    REGULATING,
    TCP,
    DdmSettings,
    read_ddm_settings,
)
from weft.interest.guarded import GuardedStrategy
from weft.interest.regions import WHOLE, Region
from weft.interest.spaces import Space, Spaces
from weft.interest.strategies import StaticGridPartitioned, make_strategy
from weft.interest.strategy import Strategy, origin
from weft.kernel.ddm.adapting import Adapting
from weft.kernel.ddm.listening import ChannelListening
from weft.kernel.state.effects import Listen, Notice
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.kernel.state.traffic import EVERYBODY, Footprint
from weft.model.errors import SettingsError
from weft.model.handles import AttributeHandle
from weft.model.log_text import ERROR, LogText
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
        made = make_strategy(self._spaces, self._settings)
        self.name = made.name
        self.exact = made.matches_at_sender
        self.guarded = made if isinstance(made, GuardedStrategy) else None
        self.adapting: Adapting | None = None
        if isinstance(made, AdaptivePartitioned):
            self.adapting = Adapting(self._settings, adaptive_options(self._settings))
        self._now = ChannelListening(self._spaces, made)
        self.multicast = self._settings.best_effort == MULTICAST
        # Also best-effort messages, whose loss is not wanted.
        self.over_links = self._settings.best_effort == TCP
        self.tbound = self._settings.tbound  # of regions as of a time (`state.topics`)
        self.cells = self._settings.cells  # … too
        self.attended = (
            self.multicast or self.adapting is not None
        )  # is there something to do after each command?
        # All messages in time stamp order go by subscriptions as of their time, not only those with dimensions.
        self.as_of = self._settings.declarations != OFF
        # What regulating federates declare without a time counts as of their time plus lookahead.
        self.synchronized = self._settings.declarations == REGULATING
        self._valid = (-1, -1)
        self._groups: tuple[str, ...] = ()
        self._told = ""  # what the strategy was blamed for, and that was told

    @property
    def strategy(self) -> Strategy:
        return self._now.strategy

    # --- by which channels ------------------------------------------------------------------------------------

    def of_interaction(
        self, federation: Federation, entry: InteractionClassEntry, extents: Extents | None
    ) -> tuple[int, ...]:
        self._refresh(federation)
        return self._now.of_interaction(entry, extents)

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
        strategy = self.strategy
        if not isinstance(strategy, StaticGridPartitioned):
            return frozenset()
        return strategy.update_partitions(space, Region(extents))

    def partitions(self, federation: Federation) -> dict[int, list[int]]:
        """A dimension of several spaces has the bounds of all; one with very many is left out, since nobody could see them."""
        self._refresh(federation)
        strategy = self.strategy
        if isinstance(strategy, AdaptivePartitioned):
            return {number: sorted(lines) for number, lines in strategy.lines().items()}
        if not isinstance(strategy, StaticGridPartitioned):
            return {}
        found: dict[int, set[int]] = {}
        for grid in strategy.grids.values():
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
            self._now = ChannelListening(self._spaces, self._made_again())
        elif self.adapting is not None and self.adapting.plan != self._plan():
            self._now = ChannelListening(self._spaces, self.planned())
        self._valid = valid
        self._now.refresh(federation)

    def _made_again(self) -> Strategy:
        """For more spaces.  Should a strategy of another package fail now, it goes on with those that it knew."""
        if self.adapting is not None:
            return self.planned()
        try:
            made = make_strategy(self._spaces, self._settings)
        except SettingsError as error:
            if self.guarded is None:
                raise
            self.guarded.blame(f"failed when a federate brought more of the object model: {error}")
            return self.guarded
        if isinstance(made, GuardedStrategy):
            self.guarded = made
        return made

    def _plan(self) -> object:
        strategy = self.strategy
        return strategy.plan if isinstance(strategy, AdaptivePartitioned) else None

    def planned(self) -> AdaptivePartitioned:
        assert self.adapting is not None
        return AdaptivePartitioned(self._spaces, self._settings, self.adapting.plan)

    def listeners(self, federation: Federation) -> ChannelListening:
        """Who listens to what."""
        self._refresh(federation)
        return self._now

    def updates(
        self,
        federation: Federation,
        entry: ObjectClassEntry,
        sent: tuple[AttributeHandle, ...],
        where: Where | None,
        here: str,
    ) -> tuple[tuple[int, ...], dict[str, dict[AttributeHandle, None]]]:
        """By which channels an update goes, and which of its attributes to which other node."""
        self._refresh(federation)
        all_channels: dict[int, None] = {}
        away: dict[str, dict[AttributeHandle, None]] = {}
        for attribute in sent:
            channels = self._now.of_attribute(
                entry, attribute, None if where is None else where.get(attribute)
            )
            all_channels.update(dict.fromkeys(channels))
            for node in self.nodes(federation, channels, here):
                away.setdefault(node, {})[attribute] = None
        return tuple(sorted(all_channels)), away

    def nodes(self, federation: Federation, channels: tuple[int, ...], here: str) -> dict[str, None]:
        """The other nodes that listen to one of the channels."""
        self._refresh(federation)
        found: dict[str, None] = {}
        for channel in channels:
            found.update(self._now.nodes.get(channel, {}))
        found.pop(here, None)
        return found

    def groups(self, channels: tuple[int, ...]) -> tuple[str, ...]:
        """The multicast groups of the channels; none if there are no groups."""
        return tuple(dict.fromkeys([str(self._settings.group(channel)) for channel in channels]))

    def attend(self, step: Step) -> None:
        """After a command: which groups this node is to listen to from now on."""
        federation = step.federation
        if self.adapting is not None:
            self.adapting.wake(step)
        if not self.multicast:
            return
        self._refresh(federation)
        here = dict.fromkeys(self._now.channels_at(step.node))
        if self.adapting is not None:  # some still send by the plan before, or will soon by the next
            for plan in self.adapting.other_plans():
                other = ChannelListening(
                    self._spaces, AdaptivePartitioned(self._spaces, self._settings, plan)
                )
                other.refresh(federation)
                here.update(dict.fromkeys(other.channels_at(step.node)))
        groups = self.groups(tuple(sorted(here)))
        if groups != self._groups:
            self._groups = groups
            step.effects.append(Listen(federation.name, groups))

    # --- strategies of other packages ---------------------------------------------------------------------------

    def origin(self) -> list[str]:
        """The name of the strategy and the package that it comes from; nothing of Weft's own."""
        return [] if self.guarded is None else [self.name, self.guarded.origin]

    def fault(self) -> str:
        """What the strategy did wrong first; nothing else is known of it."""
        return "" if self.guarded is None else self.guarded.fault

    def missed(self, step: Step, what: str, nodes: list[str]) -> None:
        """The channels did not meet those of nodes that want it: it goes there all the same."""
        if self.guarded is not None:
            self.guarded.blame(
                f"broke the law of all strategies for {what}: its channels do not meet those of overlapping regions at "
                f"{', '.join(nodes)}; `weft.prove.check_strategy` shows more"
            )

    def complain(self, step: Step) -> None:
        """Say once what a strategy of another package did wrong."""
        fault = self.fault()
        if fault and fault != self._told:
            self._told = fault
            about = {"federation": step.federation.name, "strategy": self.name}
            text = f"federation {step.federation.name!r} at node {step.node!r}: {fault}"
            step.effects.append(Notice(LogText(text, "strategy-fault", ERROR, **about)))

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
            and (
                member.node not in nodes
                or (not self.exact and among.isdisjoint(self._now.own[member.handle]))
            )
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
            own = self._now.own[member.handle]
            common = [channel for channel in channels if channel in own]
            if common:
                made.receivers.append((member.traffic, common[0], member.handle in wanted))
        return made

    # --- learning (ddm.adapting) --------------------------------------------------------------------------------

    def learn_interaction(
        self, made: Footprint, here: str, entry: InteractionClassEntry, at: Extents | None, cast: bool
    ) -> None:
        """What is to be noted of a message like this, each time."""
        space = self._spaces.of_interaction(entry.name)
        self._learn(made, here, cast, [(space, at, self._now.of_interaction(entry, at))])

    def learn_update(
        self,
        made: Footprint,
        here: str,
        entry: ObjectClassEntry,
        sent: Collection[AttributeHandle],
        where: Where | None,
        cast: bool,
    ) -> None:
        parts = []
        for attribute in sent:
            extents = None if where is None else where.get(attribute)
            space = self._spaces.of_attribute(entry.name, entry.attributes[attribute].name)
            parts.append((space, extents, self._now.of_attribute(entry, attribute, extents)))
        self._learn(made, here, cast, parts)

    def _learn(
        self,
        made: Footprint,
        here: str,
        cast: bool,
        parts: list[tuple[Space | None, Extents | None, tuple[int, ...]]],
    ) -> None:
        if self.adapting is None or all(space is None for space, _, _ in parts):
            return
        where: dict[Part, None] = {}
        channels: dict[int, None] = {}
        for space, extents, by in parts:
            channels.update(dict.fromkeys(by))
            boxes = () if space is None else cells(space, (WHOLE,) if extents is None else extents)
            where["" if space is None else space.name, boxes] = None
        made.book = self.adapting.book
        kind = (cast, tuple(sorted(where)))
        made.kinds.append((kind, arrivals_of(channels, self._now.nodes, here, cast)))


def lacking(told: object, node: str, federation: str, newer: bool = False) -> str:
    """Why a node cannot take part in a federation with that strategy (`Channels.origin`), if it cannot.

    `newer`: another version will do, since the node is the home and was started again.
    """
    if not isinstance(told, (list, tuple)) or len(told) != 2:
        return ""
    name, package = str(told[0]), str(told[1])
    here = origin(name)
    if here == package or (here and newer):
        return ""
    has = f"has it from {here}" if here else "does not have it"
    return (
        f"node {node!r} cannot take part in federation {federation!r}: that distributes data by strategy {name!r} of {package}, "
        f"and the node {has}; install {package} there, start it again and join again"
    )
