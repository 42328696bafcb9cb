"""What crosses the network, counted for each federate and channel (S2-3; `ddm.channels` says what is counted when)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from weft.interest.adaptive import TrafficKind

if TYPE_CHECKING:
    from weft.kernel.state.federation import Member

EVERYBODY: Final = 0
"""The channel of what is in no routing space, and of what takes no channel; everybody listens to it."""


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


class TrafficBook:
    """What members here have sent of late, for a strategy that learns from it (`ddm.adapting`)."""

    MOST: Final = 200
    """Kinds that are told apart.  Of others only the number is known: what is learnt is learnt from a sample."""

    def __init__(self) -> None:
        self.messages = 0
        self.arrivals = 0  # of them at other nodes
        self.kinds: dict[TrafficKind, int] = {}

    def note(self, kind: TrafficKind, arrivals: int, times: int) -> None:
        self.messages += times
        self.arrivals += arrivals * times
        if kind in self.kinds or len(self.kinds) < self.MOST:
            self.kinds[kind] = self.kinds.get(kind, 0) + times


class Footprint:
    """What one message, and all that are alike, do to the counts: those of its sender, or those of receivers here."""

    def __init__(self) -> None:
        self.sender: Member | None = None
        self.channels: tuple[int, ...] = ()
        self.copies = 0
        self.kept_from = 0
        self.receivers: list[tuple[Traffic, int, bool]] = []
        # Of a strategy that learns: where it is noted, as what, and how often one arrives at other nodes.
        self.book: TrafficBook | None = None
        self.kinds: list[tuple[TrafficKind, int]] = []

    def count(self, times: int) -> None:
        if self.sender is not None:
            traffic = self.sender.traffic
            for channel in self.channels:
                traffic.of(channel).sent += times
            first = traffic.of(self.channels[0] if self.channels else EVERYBODY)
            first.copies += self.copies * times
            first.filtered_sender += self.kept_from * times
        if self.book is not None:
            for kind, arrivals in self.kinds:
                self.book.note(kind, arrivals, times)
        for there, channel, wanted in self.receivers:
            counts = there.of(channel)
            counts.received += times
            if wanted:
                counts.wanted += times
            else:
                counts.filtered_receiver += times
