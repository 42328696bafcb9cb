"""Who hears an update under a strategy, counted by itself: the kernel has its own way (`weft.kernel.ddm.channels`).

Listeners are whatever the caller counts by: federates in a federation, nodes in a mesh.  A subscription and an update
region have names of the caller's choice; setting one again moves it, and NOWHERE takes it away.
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.interest.matching.overlaps import Overlaps
from weft.interest.regions import Region
from weft.interest.spaces import Space
from weft.interest.strategy import DEFAULT_CHANNEL, NO_CHANNELS, Channels, Strategy

Name = Hashable


class Listeners:
    """Subscriptions and update regions under one strategy."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.everybody: dict[Name, None] = {}  # all who hear channel 0
        self._by_channel: dict[int, dict[Name, int]] = {}  # how many subscriptions of each want the channel
        self._subscribed: dict[tuple[Name, Name], tuple[Space | None, Channels]] = {}
        self._updates: dict[Name, tuple[Space | None, Channels]] = {}
        self._overlaps: dict[int, Overlaps] = {}

    def join(self, listener: Name) -> None:
        """From now on it hears channel 0."""
        self.everybody[listener] = None

    def leave(self, listener: Name) -> None:
        for owner, name in [key for key in self._subscribed if key[0] == listener]:
            self._drop(owner, name)
        self.everybody.pop(listener, None)

    def set_subscription(self, listener: Name, name: Name, space: Space | None, region: Region) -> None:
        """The listener's subscription of that name is to this region."""
        self._drop(listener, name, but=space)
        if not region.extents:
            self._place(space, (listener, name), region, update=False)
            return
        channels = self.strategy.update_channels(space, region)
        self._subscribed[listener, name] = (space, channels)
        for channel in channels:
            counts = self._by_channel.setdefault(channel, {})
            counts[listener] = counts.get(listener, 0) + 1
        self._place(space, (listener, name), region, update=False)

    def set_update(self, name: Name, space: Space | None, region: Region) -> None:
        """Updates under that name are sent with this region."""
        before = self._updates.pop(name, None)
        if before is not None and before[0] != space:
            self._place(before[0], name, _NOWHERE, update=True)
        if region.extents:
            self._updates[name] = (space, self.strategy.update_channels(space, region))
        self._place(space, name, region, update=True)

    def channels(self, name: Name) -> Channels:
        """The channels that an update under that name is sent on, once on each."""
        return self._updates[name][1] if name in self._updates else NO_CHANNELS

    def hearing(self, channel: int) -> set[Name]:
        """Who listens to a channel."""
        if channel == DEFAULT_CHANNEL:
            return set(self.everybody)
        return set(self._by_channel.get(channel, ()))

    def receivers(self, name: Name) -> set[Name]:
        """Who gets an update under that name over the network, wanted or not."""
        found: set[Name] = set()
        for channel in self.channels(name):
            found |= self.hearing(channel)
        space = self._updates[name][0] if name in self._updates else None
        if space is not None and self.strategy.matches_at_sender:
            matched = self._overlaps[space.number].of_update(name)
            return {key[0] for key in matched if isinstance(key, tuple)}
        return found

    def copies(self, name: Name) -> int:
        """How many messages that takes where each listener of each channel is sent its own."""
        space = self._updates[name][0] if name in self._updates else None
        if space is not None and self.strategy.matches_at_sender:
            return len(self.receivers(name))
        return sum(len(self.hearing(channel)) for channel in self.channels(name))

    def _drop(self, listener: Name, name: Name, but: Space | None = None) -> None:
        """Forget a subscription; where it goes on in the same space its boxes are moved later, not taken out now."""
        before = self._subscribed.pop((listener, name), None)
        if before is None:
            return
        space, channels = before
        for channel in channels:
            counts = self._by_channel[channel]
            counts[listener] -= 1
            if not counts[listener]:
                del counts[listener]
        if space != but:
            self._place(space, (listener, name), _NOWHERE, update=False)

    def _place(self, space: Space | None, name: Name, region: Region, update: bool) -> None:
        if space is None or not self.strategy.matches_at_sender:
            return
        if space.number not in self._overlaps:
            self._overlaps[space.number] = Overlaps(len(space.dimensions))
        overlaps = self._overlaps[space.number]
        boxes = boxes_of(space, region)
        if update:
            overlaps.set_update(name, boxes)
        else:
            overlaps.set_subscription(name, boxes)


def boxes_of(space: Space, region: Region) -> list[tuple[int, ...]]:
    """The extents of a region as boxes of a space: all lower bounds, then all upper bounds."""
    found = []
    for extent in region.extents:
        bounds = [space.bounds(extent, dimension) for dimension in space.dimensions]
        found.append((*(lower for lower, _ in bounds), *(upper for _, upper in bounds)))
    return found


_NOWHERE = Region(())
