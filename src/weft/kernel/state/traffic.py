"""What crosses the network, counted for each federate and channel (S2-3; `ddm.channels` says what is counted when)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from weft.kernel.state.region_state import Extents, Where

if TYPE_CHECKING:
    from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
    from weft.kernel.state.federation import Federation, Member
    from weft.kernel.state.step import Step
    from weft.model.handles import AttributeHandle

EVERYBODY: Final = 0
"""The channel of what is in no routing space, and of what takes no channel; everybody listens to it."""


class Spread:
    """To which other nodes messages go.  The methods are those of `ddm.channels.Channels`, which every federation has."""

    def __init__(self, name: str, exact: bool, multicast: bool) -> None:
        self.name = name  # of the strategy
        self.tbound: Any = 0  # of regions as of a time (`state.topics`)
        self.exact = exact
        self.multicast = multicast
        self.over_links = False  # also best-effort messages, whose loss the federation does not want

    def of_interaction(self, entry: InteractionClassEntry, extents: Extents | None) -> tuple[int, ...]:
        raise NotImplementedError

    def updates(
        self,
        federation: Federation,
        entry: ObjectClassEntry,
        sent: tuple[AttributeHandle, ...],
        where: Where | None,
        here: str,
    ) -> tuple[tuple[int, ...], dict[str, dict[AttributeHandle, None]]]:
        raise NotImplementedError

    def nodes(self, federation: Federation, channels: tuple[int, ...], here: str) -> dict[str, None]:
        raise NotImplementedError

    def interaction_cells(self, entry: InteractionClassEntry, extents: Extents) -> tuple[int, ...]:
        raise NotImplementedError

    def update_cells(self, entry: ObjectClassEntry, where: Where) -> tuple[int, ...]:
        raise NotImplementedError

    def groups(self, channels: tuple[int, ...]) -> tuple[str, ...]:
        raise NotImplementedError

    def partitions(self, federation: Federation) -> dict[int, list[int]]:
        """For each dimension that the strategy divides, by its number: where the partitions begin, and where the last ends."""
        return {}

    def listen(self, step: Step) -> None:
        raise NotImplementedError

    def sent(
        self, federation: Federation, sender: Member, channels: tuple[int, ...], nodes: Any, here: str
    ) -> Footprint:
        raise NotImplementedError

    def came(
        self, federation: Federation, channels: tuple[int, ...], heard: list[Member], here: str
    ) -> Footprint:
        raise NotImplementedError


class ChannelCounts:
    def __init__(self) -> None:
        self.sent = 0
        self.copies = 0
        self.received = 0
        self.wanted = 0
        self.filtered_receiver = 0
        self.filtered_sender = 0

    def add(self, other: ChannelCounts) -> None:
        self.sent += other.sent
        self.copies += other.copies
        self.received += other.received
        self.wanted += other.wanted
        self.filtered_receiver += other.filtered_receiver
        self.filtered_sender += other.filtered_sender

    def data(self) -> dict[str, int]:
        return {
            "sent": self.sent,
            "copies": self.copies,
            "received": self.received,
            "wanted": self.wanted,
            "filtered_receiver": self.filtered_receiver,
            "filtered_sender": self.filtered_sender,
        }


class Traffic:
    """Of one federate; true at its own node."""

    def __init__(self) -> None:
        self.channels: dict[int, ChannelCounts] = {}

    def of(self, channel: int) -> ChannelCounts:
        found = self.channels.get(channel)
        if found is None:
            found = self.channels[channel] = ChannelCounts()
        return found

    def add(self, other: Traffic) -> None:
        for channel, counts in other.channels.items():
            self.of(channel).add(counts)

    def data(self) -> dict[str, dict[str, int]]:
        return {str(channel): self.channels[channel].data() for channel in sorted(self.channels)}


class Footprint:
    """What one message, and all that are alike, do to the counts: those of its sender, or those of receivers here."""

    def __init__(self) -> None:
        self.sender: Any = None
        self.channels: tuple[int, ...] = ()
        self.copies = 0
        self.kept_from = 0
        self.receivers: list[tuple[Traffic, int, bool]] = []

    def count(self, times: int) -> None:
        if self.sender is not None:
            traffic: Traffic = self.sender.traffic
            for channel in self.channels:
                traffic.of(channel).sent += times
            first = traffic.of(self.channels[0] if self.channels else EVERYBODY)
            first.copies += self.copies * times
            first.filtered_sender += self.kept_from * times
        for there, channel, wanted in self.receivers:
            counts = there.of(channel)
            counts.received += times
            if wanted:
                counts.wanted += times
            else:
                counts.filtered_receiver += times
