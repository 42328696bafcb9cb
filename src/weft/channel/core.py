"""What the proxies of one channel share: tables, timers, the dispatcher, and who is told of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from weft.channel.event import ANY, Event, stamped
from weft.channel.qos import Dependency, Publication
from weft.channel.scheduling.urgency import UNSCHEDULED, Urgency
from weft.channel.subscriptions import Pattern, Subscriptions, Wants
from weft.channel.timers import Timers
from weft.model.errors import ScheduleError

if TYPE_CHECKING:
    from weft.channel.configuration import Configuration
    from weft.channel.protocols import ChannelObserver, Dispatcher, Scheduler, SubscriptionObserver
    from weft.channel.proxies import ProxyPushConsumer, ProxyPushSupplier
    from weft.channel.record import Record

Judge = Callable[[str, str, tuple[Dependency, ...], tuple[Publication, ...]], None]
"""Given its name, its RT_Info, and what it asks for or publishes."""

Key = TypeVar("Key", int, Pattern)


class Offer:
    """A supplier that wants to hear which of its publications are wanted."""

    def __init__(
        self, publications: tuple[Publication, ...], tell: Callable[[frozenset[Publication]], None]
    ) -> None:
        self.publications = publications
        self.tell = tell
        self.told: frozenset[Publication] | None = None


class Offers:
    """Finds the offers that a pattern concerns without looking at the others."""

    def __init__(self) -> None:
        self._all: dict[Offer, None] = {}
        self._exact: dict[Pattern, dict[Offer, None]] = {}
        self._sources: dict[int, dict[Offer, None]] = {}
        self._types: dict[int, dict[Offer, None]] = {}

    def add(self, offer: Offer) -> None:
        self._all[offer] = None
        for one in offer.publications:
            self._exact.setdefault((one.source, one.type), {})[offer] = None
            self._sources.setdefault(one.source, {})[offer] = None
            self._types.setdefault(one.type, {})[offer] = None

    def remove(self, offer: Offer) -> None:
        del self._all[offer]
        for one in offer.publications:
            _take_out(self._exact, (one.source, one.type), offer)
            _take_out(self._sources, one.source, offer)
            _take_out(self._types, one.type, offer)

    def concerned(self, pattern: Pattern) -> list[Offer]:
        source, type = pattern
        found: dict[Offer, None] = {}
        if source != ANY and type != ANY:
            for key in ((source, type), (source, ANY), (ANY, type), (ANY, ANY)):
                found.update(self._exact.get(key, {}))
        elif source != ANY:
            found.update(self._sources.get(source, {}))
            found.update(self._sources.get(ANY, {}))
        elif type != ANY:
            found.update(self._types.get(type, {}))
            found.update(self._types.get(ANY, {}))
        else:
            found.update(self._all)
        return list(found)


class Core:
    def __init__(
        self,
        name: str,
        boot: int,
        configuration: Configuration,
        dispatcher: Dispatcher,
        direct: bool,
        schedule: Scheduler | None,
        observer: ChannelObserver | None,
        record: Record | None,
    ) -> None:
        self.name = name
        self.boot = boot
        self.configuration = configuration
        self.dispatcher = dispatcher
        self.direct = direct  # pushes run in the supplier's call, and nobody measures them
        self.schedule = schedule
        self._urgencies: dict[str, Urgency] = {}  # what was looked up
        self.pollers: list[
            Callable[[float], None]
        ] = []  # pull suppliers that are asked when there is nothing
        self.judge: Judge | None = None  # says whether somebody may connect: raises, if not
        self.observer = observer
        self.record = record
        self.subscriptions = Subscriptions()
        self.timers = Timers()
        self.wanted = Wants()  # by all
        self.wanted_here = Wants()  # by consumers that are no gateways
        self.observers: list[SubscriptionObserver] = []
        self.offers = Offers()
        self.pushing = 0
        self.deferred: list[Callable[[], None]] = []
        self.sent = 0  # events that left through gateways
        self.numbered = 0  # consumers so far
        self.consumers: dict[ProxyPushSupplier, None] = {}  # the proxies that are connected, in order
        self.suppliers: dict[ProxyPushConsumer, None] = {}
        self.destroyed = False
        self._changed: dict[Pattern, int] = {}
        self._changed_here: dict[Pattern, int] = {}

    def stamp(self, event: Event, best_effort: bool) -> Event:
        self.sent += 1
        return stamped(event, self.name, self.boot, self.sent, best_effort)

    def urgency(self, rt_info: str) -> Urgency:
        if not rt_info:
            return UNSCHEDULED
        found = self._urgencies.get(rt_info)
        if found is None:
            if self.schedule is None:
                found = UNSCHEDULED.named("", rt_info)
            else:
                found = self.schedule.urgency(rt_info).named(rt_info, rt_info)
            self._urgencies[rt_info] = found
        return found

    def admit(
        self,
        name: str,
        rt_info: str,
        registrations: tuple[Dependency, ...],
        publications: tuple[Publication, ...],
    ) -> None:
        """Before anything is changed."""
        if self.judge is not None:
            self.judge(name, rt_info, registrations, publications)

    def reschedule(self, schedule: Scheduler | None) -> None:
        self.schedule = schedule
        self._urgencies = {}

    def urgency_now(self, rt_info: str) -> Urgency:
        """Of what was decided under an earlier schedule; what the present one does not know comes last."""
        try:
            return self.urgency(rt_info)
        except ScheduleError:
            return UNSCHEDULED

    # What is wanted

    def want(self, pattern: Pattern, gateway: bool) -> None:
        if self.wanted.add(pattern):
            _net(self._changed, pattern, 1)
        if not gateway and self.wanted_here.add(pattern):
            _net(self._changed_here, pattern, 1)

    def unwant(self, pattern: Pattern, gateway: bool) -> None:
        if self.wanted.remove(pattern):
            _net(self._changed, pattern, -1)
        if not gateway and self.wanted_here.remove(pattern):
            _net(self._changed_here, pattern, -1)

    def settle(self) -> None:
        """Tells of all that has changed since the last time, at once."""
        if self._changed:
            changed = self._changed
            self._changed = {}
            for offer in {offer: None for pattern in changed for offer in self.offers.concerned(pattern)}:
                self.tell(offer)
        if self._changed_here:
            here = self._changed_here
            self._changed_here = {}
            added = frozenset([pattern for pattern, change in here.items() if change > 0])
            removed = frozenset([pattern for pattern, change in here.items() if change < 0])
            for observer in list(self.observers):
                observer.wants_changed(added, removed)

    def tell(self, offer: Offer) -> None:
        wanted = frozenset([one for one in offer.publications if self.wanted.overlaps(one.source, one.type)])
        if wanted != offer.told:
            offer.told = wanted
            offer.tell(wanted)

    # Pushes under way

    def expire(self, now: float) -> int:
        """Timeouts that are due, as one push."""
        self.pushing += 1
        try:
            return self.timers.expire(now)
        finally:
            self.end_push()

    def end_push(self) -> None:
        """What had to wait for the end of the push is done."""
        self.pushing -= 1
        while self.pushing == 0 and self.deferred:
            change = self.deferred.pop(0)
            self.pushing = 1  # what is pushed meanwhile does not begin the next change
            try:
                change()
            finally:
                self.pushing = 0

    def later(self, change: Callable[[], None]) -> None:
        """At once, or after the push that is under way."""
        self.deferred.append(change)
        self.pushing += 1
        self.end_push()


def _take_out(index: dict[Key, dict[Offer, None]], key: Key, offer: Offer) -> None:
    offers = index.get(key)
    if offers is not None:
        offers.pop(offer, None)
        if not offers:
            del index[key]


def _net(changes: dict[Pattern, int], pattern: Pattern, change: int) -> None:
    total = changes.get(pattern, 0) + change
    if total:
        changes[pattern] = total
    else:
        changes.pop(pattern, None)
