"""Links within one process: the fake beside those of the host, and enough for channels that share a process.

Messages are handed over in the order in which they were sent, all links taken together; what a message causes comes after
what was sent before it, so that news spread in widening circles."""

from __future__ import annotations

from collections import deque

from weft.channel.channel import EventChannel
from weft.channel.gateway import Border, Gateway, Message
from weft.model.errors import ChannelError


class LocalLink:
    """Joins two channels until it is cut."""

    def __init__(self, left: Gateway | None = None, right: Gateway | None = None) -> None:
        self.left = left
        self.right = right
        self.is_up = True


class LocalLinks:
    def __init__(self) -> None:
        self._borders: dict[str, Border] = {}
        self._under_way: deque[tuple[LocalLink, bool, Message]] = deque()
        self.carried = 0  # messages

    def border(self, channel: EventChannel) -> Border:
        known = self._borders.get(channel.name)
        if known is None:
            known = Border(channel)
            self._borders[channel.name] = known
        elif known.channel is not channel:
            raise ChannelError(f"there are two channels {channel.name}; in a federation names differ")
        return known

    def join(self, one: EventChannel, other: EventChannel, now: float) -> LocalLink:
        """News are exchanged at once; events go when `deliver` is called."""
        left, right = self.border(one), self.border(other)
        link = LocalLink()
        link.left = left.open(other.name, lambda message: self._under_way.append((link, True, message)), now)
        try:
            link.right = right.open(
                one.name, lambda message: self._under_way.append((link, False, message)), now
            )
        except ChannelError:
            left.close(link.left, now)
            raise
        self.deliver(now)
        return link

    def cut(self, link: LocalLink, now: float) -> None:
        """What is under way on it is lost; both ends know."""
        link.is_up = False
        for gateway in (link.left, link.right):
            if gateway is not None:
                gateway.border.close(gateway, now)
        self.deliver(now)

    def deliver(self, now: float) -> int:
        """Until nothing is under way; how many messages."""
        count = 0
        while self._under_way:
            link, rightward, message = self._under_way.popleft()
            gateway = link.right if rightward else link.left
            if link.is_up and gateway is not None:
                count += 1
                gateway.receive(message, now)
        self.carried += count
        return count
