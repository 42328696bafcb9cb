"""Gateways (S3-13): channels joined to a federation, in any topology, each event once to every consumer that wants it.

A link joins two channels; at each end stands a gateway.  Towards its own channel it is a consumer of what is wanted beyond the
link, and a supplier of what comes over it.  How gateways talk to one another is their hosts' business: they hand out messages
and take in those of the other end, in order and without loss.

What is wanted where.  Every channel makes known what its own consumers want, as patterns, and the news pass from channel to
channel with the path they took.  A channel that finds itself in a path ignores that news, so nothing is wanted because it is
wanted because it is wanted: when the last consumer goes, so does the traffic, in rings too.  Of several ways to a channel it
uses the shortest (among equals, through the neighbour whose name comes first), asks for that channel's patterns there, and
passes on that way only.

What may come twice.  An event gets its place when it leaves the channel it was pushed on: that channel's name and boot, and a
number.  Where events for different channels go different ways round a ring, some channel may be reached by both; it remembers the
numbers it has had (WINDOW of them, for each channel) and takes each once.  An event never goes back over the link it came by, nor
into the channel it began in, and its time to live sinks by one with every link: with none left, it stays where it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from weft.channel.channel import EventChannel
from weft.channel.event import Event, Events, forwarded
from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier
from weft.channel.qos import ConsumerQos, On, Publication, SupplierQos
from weft.channel.subscriptions import Pattern
from weft.model.errors import ChannelError

WINDOW = 65_536


@dataclass(frozen=True, slots=True)
class News:
    """What the consumers of a channel want, as seen from the gateway that says so.

    path: the channels between, from the sender to `origin`; empty: there is no way to it any more.
    anew: `added` is all there is, whatever was said before."""

    origin: str
    path: tuple[str, ...]
    added: frozenset[Pattern] = frozenset()
    removed: frozenset[Pattern] = frozenset()
    anew: bool = False


Message = News | Event


class ChannelPath:
    """What a neighbour has said of a channel."""

    def __init__(self, path: tuple[str, ...], patterns: set[Pattern]) -> None:
        self.path = path
        self.patterns = patterns


class Window:
    """The numbers of one channel's events that were here."""

    def __init__(self, boot: int) -> None:
        self.boot = boot
        self.top = 0
        self.seen: set[int] = set()

    def is_new(self, number: int) -> bool:
        """And from now on it is not."""
        if number in self.seen or number <= self.top - WINDOW:
            return False
        self.seen.add(number)
        self.top = max(self.top, number)
        if len(self.seen) > 2 * WINDOW:
            self.seen = {one for one in self.seen if one > self.top - WINDOW}
        return True


class Gateway:
    """One end of a link; made by `Border.open`."""

    def __init__(self, border: Border, neighbour: str, transmit: Callable[[Message], None]) -> None:
        self.border = border
        self.neighbour = neighbour
        self.transmit = transmit
        self.paths: dict[str, ChannelPath] = {}  # by channel, as the other end says
        self.informed: set[str] = set()  # of which channels it was informed
        self.counts: dict[Pattern, int] = {}  # how many channels beyond want it
        self.registered: dict[Pattern, int] = {}
        self.outward: ProxyPushSupplier | None = None
        self.inward: ProxyPushConsumer | None = None
        self.sent = 0
        self.expired = 0

    def push(self, events: Events) -> None:
        """As a consumer: to the other end."""
        for event in events:
            if event.via == self.neighbour:
                continue
            if event.ttl <= 0:
                self.expired += 1
                continue
            self.sent += 1
            self.transmit(forwarded(event, self.border.channel.name))

    def receive(self, message: Message, now: float) -> None:
        """From the other end."""
        if self.inward is None or not self.inward.connected:
            return  # closed meanwhile, or the channel was destroyed
        if isinstance(message, Event):
            if self.border.takes(message):
                self.inward.push(message, now)
        else:
            self.border.heard(self, message, now)

    def ask(self, pattern: Pattern, now: float) -> None:
        count = self.counts.get(pattern, 0)
        self.counts[pattern] = count + 1
        if not count and self.outward is not None:
            self.registered[pattern] = self.outward.register(On(pattern[1], pattern[0]), now)

    def renounce(self, pattern: Pattern) -> None:
        self.counts[pattern] -= 1
        if not self.counts[pattern]:
            del self.counts[pattern]
            number = self.registered.pop(pattern)
            if self.outward is not None:
                self.outward.cancel(number)

    def connect(self, channel: EventChannel, rt_info: str, now: float) -> None:
        qos = ConsumerQos((), f"gateway to {self.neighbour}", rt_info, is_gateway=True)
        self.outward = channel.connect_consumer(self, qos, now)
        self.inward = channel.connect_supplier(
            None, SupplierQos((Publication(),), f"gateway from {self.neighbour}", is_gateway=True)
        )

    def disconnect(self) -> None:
        if self.outward is not None:
            self.outward.disconnect_push_supplier()
        if self.inward is not None:
            self.inward.disconnect_push_consumer()
        self.outward = None
        self.inward = None


class Border:
    """All gateways of one channel, and what is known of the channels beyond them."""

    def __init__(self, channel: EventChannel) -> None:
        self.channel = channel
        self.gateways: dict[str, Gateway] = {}
        self.repeated = 0  # events that came a second time
        self._best: dict[str, Gateway] = {}  # which way to each channel
        self._windows: dict[str, Window] = {}
        channel.observe(self)

    def open(
        self, neighbour: str, transmit: Callable[[Message], None], now: float, rt_info: str = ""
    ) -> Gateway:
        """A link to another channel has come up.  What crosses it is dispatched as the RT_Info says."""
        own = self.channel.name
        if neighbour == own:
            raise ChannelError(f"channel {own} cannot be linked to a channel of the same name; rename one")
        if neighbour in self.gateways:
            raise ChannelError(f"channel {own} has a link to {neighbour} already")
        gateway = Gateway(self, neighbour, transmit)
        gateway.connect(self.channel, rt_info, now)
        self.gateways[neighbour] = gateway
        self._tell(gateway, News(own, (own,), self.channel.wanted(), anew=True))
        for origin, best in list(self._best.items()):
            self._tell(gateway, self._all_of(origin, best))
        return gateway

    def close(self, gateway: Gateway, now: float) -> None:
        """The link is down."""
        if self.gateways.pop(gateway.neighbour, None) is not gateway:
            raise ChannelError(f"the link from {self.channel.name} to {gateway.neighbour} is not open")
        gateway.disconnect()
        origins = list(gateway.paths)
        gateway.paths = {}
        for origin in origins:
            if self._best.get(origin) is gateway:
                self._choose(origin, now)

    def shut(self, now: float) -> None:
        """All links are down, and there will be no others."""
        for gateway in list(self.gateways.values()):
            self.close(gateway, now)
        self.channel.ignore(self)

    def known(self) -> dict[str, tuple[str, ...]]:
        """The channels that can be reached, and by which path."""
        return {origin: best.paths[origin].path for origin, best in self._best.items()}

    # What is wanted

    def wants_changed(self, added: frozenset[Pattern], removed: frozenset[Pattern]) -> None:
        """Here."""
        own = self.channel.name
        for gateway in list(self.gateways.values()):
            gateway.transmit(News(own, (own,), added, removed))

    def heard(self, gateway: Gateway, news: News, now: float) -> None:
        """Elsewhere."""
        origin = news.origin
        known = gateway.paths.get(origin)
        was_best = self._best.get(origin) is gateway
        if not news.path or self.channel.name in news.path:
            if known is not None:
                if was_best:
                    self._drop(origin)
                del gateway.paths[origin]
                if was_best:
                    self._choose(origin, now)
            return
        if not news.anew and known is not None and known.path == news.path:
            self._amend(gateway, known, news, was_best, now)
            return
        if was_best:
            self._drop(origin)
        gateway.paths[origin] = ChannelPath(news.path, set(news.added))
        self._choose(origin, now)

    def _amend(self, gateway: Gateway, known: ChannelPath, news: News, was_best: bool, now: float) -> None:
        """The same path, other patterns."""
        added = frozenset(news.added - known.patterns)
        removed = frozenset(news.removed & known.patterns)
        known.patterns |= added
        known.patterns -= removed
        if not was_best:
            return
        for pattern in added:
            gateway.ask(pattern, now)
        for pattern in removed:
            gateway.renounce(pattern)
        path = (self.channel.name, *known.path)
        for other in list(self.gateways.values()):
            if news.origin in other.informed:
                other.transmit(News(news.origin, path, added, removed))

    def _choose(self, origin: str, now: float) -> None:
        """The best way to a channel may be another one."""
        offers = [one for one in self.gateways.values() if origin in one.paths]
        best = min(offers, key=lambda one: (len(one.paths[origin].path), one.neighbour), default=None)
        if best is not None and self._best.get(origin) is best:
            return
        self._drop(origin)
        if best is not None:
            self._best[origin] = best
            for pattern in best.paths[origin].patterns:
                best.ask(pattern, now)
        for gateway in list(self.gateways.values()):
            self._tell(gateway, News(origin, ()) if best is None else self._all_of(origin, best))

    def _drop(self, origin: str) -> None:
        """Nothing is asked for a channel any more."""
        old = self._best.pop(origin, None)
        if old is not None and origin in old.paths and old.outward is not None:
            for pattern in old.paths[origin].patterns:
                old.renounce(pattern)

    def _all_of(self, origin: str, best: Gateway) -> News:
        known = best.paths[origin]
        return News(origin, (self.channel.name, *known.path), frozenset(known.patterns), anew=True)

    def _tell(self, gateway: Gateway, news: News) -> None:
        """A neighbour that stands in the path would ignore it: it is informed that there is no path here."""
        if news.path and gateway.neighbour not in news.path:
            gateway.informed.add(news.origin)
            gateway.transmit(news)
        elif news.origin in gateway.informed:
            gateway.informed.discard(news.origin)
            gateway.transmit(News(news.origin, ()))

    # Events

    def takes(self, event: Event) -> bool:
        """Is this the first time that it comes here?"""
        if event.origin == self.channel.name:
            self.repeated += 1
            return False
        window = self._windows.get(event.origin)
        if window is None or event.boot > window.boot:
            window = Window(event.boot)
            self._windows[event.origin] = window
        if event.boot < window.boot or not window.is_new(event.number):
            self.repeated += 1
            return False
        return True


# Links within one process: the fake beside those of the host, and enough for channels that share a process


class LocalLink:
    """Joins two channels until it is cut."""

    def __init__(self) -> None:
        self.left: Gateway | None = None
        self.right: Gateway | None = None
        self.is_up = True


class LocalLinks:
    """Messages are handed over in the order in which they were sent, all links taken together; what a message causes comes
    after what was sent before it, so that news spread in widening circles."""

    def __init__(self) -> None:
        self._borders: dict[str, Border] = {}
        self._under_way: deque[tuple[LocalLink, bool, Message]] = deque()
        self.carried = 0  # messages

    def border(self, channel: EventChannel) -> Border:
        known = self._borders.get(channel.name)
        if known is None:
            known = self._borders[channel.name] = Border(channel)
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
