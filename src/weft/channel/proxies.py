"""The channel's two ends (S3-2): a supplier pushes to a ProxyPushConsumer, a ProxyPushSupplier pushes to a consumer.

Who is served: a push goes to the consumers that wanted the event when it began and still do when their turn comes.  So whoever
connects, resumes or registers during a push, in a consumer say, gets the next event; whoever disconnects or is suspended before
his turn gets nothing; nobody is skipped or served twice on account of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from weft.channel.core import Core, Offer
from weft.channel.correlation import Arrival, Owner, Registration, TimerLeaf, in_order, most_urgent
from weft.channel.event import ANY, FIRST_TYPE, Event, Events
from weft.channel.qos import (
    ConsumerQos,
    Dependency,
    Publication,
    SupplierQos,
    check,
    check_publication,
    leaves,
)
from weft.channel.record import PUSH, Happening, nanoseconds
from weft.channel.scheduling.urgency import Urgency
from weft.channel.subscriptions import PushRoute, Target
from weft.channel.work import MORE, PullBuffer, PushWork
from weft.model.errors import ChannelError

if TYPE_CHECKING:
    from weft.channel.protocols import PushConsumer, PushSupplier


class ProxyPushSupplier(Owner):
    """The channel's end of a consumer."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._push: Callable[[Events], object] = _nobody
        self._registrations: dict[int, Registration] = {}
        self._registered = 0
        self._arrived = 0
        self.buffer: PullBuffer | None = None  # of a consumer that pulls
        self.rt_info = ""
        self.number = 0
        self.name = ""
        self.clears = False
        self.is_gateway = False
        self.connected = False
        self.suspended = False
        self.pushes = 0
        self.failures = 0
        self.overruns = 0
        self.misses = 0
        self.hung = 0
        self.discards = 0
        self.last_error: Exception | None = None

    def connect_push_consumer(
        self, consumer: PushConsumer | Callable[[Events], object], qos: ConsumerQos, now: float
    ) -> None:
        """From now on; timeouts count from here."""
        core = self._core
        if core.destroyed:
            raise ChannelError(
                f"channel {core.name} was destroyed; {qos.name or 'a consumer'} cannot connect to it"
            )
        if self.number:
            raise ChannelError(
                f"{self.name} has been connected through this proxy; obtain another one for {qos.name or 'another'}"
            )
        push = getattr(consumer, "push", consumer)
        if not callable(push):
            raise ChannelError(
                f"{qos.name or 'the consumer'} is no consumer: it has no push and cannot be called"
            )
        for dependency in qos.registrations:
            check(dependency)
        core.admit(qos.name or "a consumer", qos.rt_info, qos.registrations, ())
        for dependency in qos.registrations:
            self._check(dependency, qos.rt_info)
        core.numbered += 1
        self.number = core.numbered
        self.name = qos.name or f"consumer {self.number}"
        self.clears = qos.clear_all
        self.is_gateway = qos.is_gateway
        self.rt_info = qos.rt_info
        self._push = push
        self.connected = True
        core.consumers[self] = None
        for dependency in qos.registrations:
            self._register(dependency, now)
        core.settle()

    def disconnect_push_supplier(self) -> None:
        """No push begins after this.  Work that waits for the consumer is dropped."""
        if not self.connected:
            return
        for registration in self._registrations.values():
            if registration.active:
                self._deactivate(registration)
        self._registrations = {}
        self.connected = False
        self._push = _nobody
        del self._core.consumers[self]
        self._core.settle()

    def register(self, dependency: Dependency, now: float) -> int:
        """One more registration; its number, for `cancel`."""
        self._require_connected()
        check(dependency)
        self._core.admit(self.name, self.rt_info, (dependency,), ())
        self._check(dependency, self.rt_info)
        number = self._register(dependency, now)
        self._core.settle()
        return number

    def cancel(self, number: int) -> None:
        """Ends a registration; those of the QoS have the numbers 1, 2, …"""
        self._require_connected()
        registration = self._registrations.pop(number, None)
        if registration is None:
            raise ChannelError(f"{self.name} has no registration {number}")
        if registration.active:
            self._deactivate(registration)
        self._core.settle()

    def suspend(self) -> None:
        """As if it had disconnected, but ready to be resumed (S3-7): it costs nothing while it lasts.

        Groups lose what they have, and timers stop.  Work that waits in a queue is still carried out."""
        self._require_connected()
        if not self.suspended:
            self.suspended = True
            for registration in self._registrations.values():
                self._deactivate(registration)
            self._core.settle()

    def resume(self, now: float) -> None:
        """Registrations begin anew, timers count from here."""
        self._require_connected()
        if self.suspended:
            self.suspended = False
            for registration in self._registrations.values():
                self._activate(registration, now)
            self._core.settle()

    def asked(self) -> list[Dependency]:
        """What it is registered for, as it was written."""
        return [registration.asked for registration in self._registrations.values()]

    def held(self) -> Events:
        """What its groups wait with, in the order of arrival."""
        return _events(in_order(self._held()))

    # What a push does

    def offer(self, target: Target, event: Event, now: float) -> None:
        """An event that may make something fire."""
        self._arrived += 1
        found: list[Arrival] | None = None
        for place in range(len(target.steps)):
            registration = target.registrations[place]
            if registration.active:
                step = target.steps[place]
                got = step.node.offer(step, self._arrived, event)
                if got is not None:
                    registration.rearm(self._core.timers, now)
                    found = got if found is None else found + got
        if found is not None:
            self._fire(found, now, now)

    def timed_out(self, leaf: TimerLeaf, event: Event, now: float) -> None:
        step = leaf.step
        if step is None or not leaf.registration.active:
            return
        self._arrived += 1
        got = step.node.offer(step, self._arrived, event)
        if got is not None:
            leaf.registration.rearm(self._core.timers, now)
            self._fire(got, now, event.created)

    def _fire(self, found: list[Arrival], now: float, since: float) -> None:
        """`since`: from when on its deadline counts."""
        if self.clears:
            for registration in self._registrations.values():
                registration.clear()
                registration.rearm(self._core.timers, now)
        self.deliver(_events(in_order(found)), most_urgent(found), since)

    def deliver(self, events: Events, urgency: Urgency, now: float) -> None:
        core = self._core
        if self.buffer is not None:
            self.pushes += 1
            self.buffer.put(PushWork(self, events, urgency, now))
        elif core.direct:
            self.run(events)
        else:
            self.pushes += 1
            core.dispatcher.dispatch(PushWork(self, events, urgency, now))

    def run(self, events: Events) -> None:
        """Push at once, and to the end."""
        self.pushes += 1
        try:
            answer = self._push(events)
            if answer is not None:
                self._complete(answer, events)
        except Exception as error:
            self.failed(events, error)

    def _complete(self, answer: object, events: Events) -> None:
        while answer is MORE:
            answer = self._push(events)
        if isinstance(answer, Iterator):
            for _ in answer:
                pass

    # What becomes of its work

    @property
    def consumer(self) -> Callable[[Events], object]:
        """What is called, for hosts that call it elsewhere."""
        return self._push

    def call(self, events: Events) -> object:
        return self._push(events)

    def failed(self, events: Events, error: Exception) -> None:
        self.failures += 1
        self.last_error = error
        observer = self._core.observer
        if observer is not None:
            observer.consumer_failed(self.name, events, error)

    def overran(self, spent: float, worst: float) -> None:
        self.overruns += 1
        observer = self._core.observer
        if observer is not None:
            observer.overran(self.name, spent, worst)

    def missed(self, events: Events, late: float) -> None:
        self.misses += 1
        observer = self._core.observer
        if observer is not None:
            observer.missed(self.name, events, late)

    def hangs(self, events: Events, seconds: float) -> None:
        self.hung += 1
        observer = self._core.observer
        if observer is not None:
            observer.hanging(self.name, events, seconds)

    def happened(self, kind: str, work: PushWork, at: float, queue: int, detail: str) -> None:
        record = self._core.record
        if record is not None:
            at_ns, due_ns = nanoseconds(at), nanoseconds(work.due)
            record(
                Happening(
                    kind, at_ns, self.name, work.operation, work.preemption, work.sub, due_ns, queue, detail
                )
            )

    def discarded(self, events: Events) -> None:
        self.discards += 1
        observer = self._core.observer
        if observer is not None:
            observer.discarded(self.name, events)

    # Registrations

    def _require_connected(self) -> None:
        if not self.connected:
            raise ChannelError(f"{self.name or 'this proxy'} is not connected to channel {self._core.name}")

    def _check(self, dependency: Dependency, rt_info: str) -> None:
        """All that can be wrong is found before anything is changed."""
        check(dependency)
        for leaf in leaves(dependency):
            self._core.urgency(leaf.rt_info or rt_info)

    def _register(self, dependency: Dependency, now: float) -> int:
        self._registered += 1
        registration = Registration(self, self._registered, dependency)
        self._registrations[self._registered] = registration
        self._compile(registration)
        if not self.suspended:
            self._activate(registration, now)
        return self._registered

    def _compile(self, registration: Registration) -> None:
        core = self._core
        asked = registration.asked
        urgencies = {leaf.rt_info: core.urgency(leaf.rt_info or self.rt_info) for leaf in leaves(asked)}
        urgencies.setdefault("", core.urgency(self.rt_info))
        registration.compile(core.configuration.meaning(asked), urgencies)

    def _activate(self, registration: Registration, now: float) -> None:
        registration.active = True
        self._enter(registration)
        registration.start(self._core.timers, now)

    def _deactivate(self, registration: Registration) -> None:
        registration.active = False
        self._leave(registration)
        registration.stop(self._core.timers)
        registration.clear()

    def _enter(self, registration: Registration) -> None:
        for leaf in registration.leaves:
            self._core.subscriptions.add(leaf)
            self._core.want((leaf.source, leaf.type), self.is_gateway)

    def _leave(self, registration: Registration) -> None:
        for leaf in registration.leaves:
            self._core.subscriptions.remove(leaf)
            self._core.unwant((leaf.source, leaf.type), self.is_gateway)

    def _held(self) -> list[Arrival]:
        return [one for registration in self._registrations.values() for one in registration.held()]

    def recompile(self) -> list[Arrival]:
        """The channel has another configuration.  Timers run on; what groups waited with is returned, to be pushed."""
        held = self._held()
        for registration in self._registrations.values():
            timers = [leaf.timer for leaf in registration.timers]
            if registration.active:
                self._leave(registration)
            self._compile(registration)
            for place, timer in enumerate(timers):
                leaf = registration.timers[place]
                leaf.timer = timer
                if timer is not None:
                    timer.action = leaf.expired
            if registration.active:
                self._enter(registration)
        return held

    def rerank(self) -> None:
        """The channel has another schedule.  Groups keep what they wait with, and timers run on."""
        for registration in self._registrations.values():
            registration.rerank(self._core.urgency_now)
        if self.buffer is not None:
            self.buffer.rerank(self._core.urgency_now)

    def rt_infos(self) -> set[str]:
        """All that it is registered as."""
        named = {leaf.rt_info or self.rt_info for one in self.asked() for leaf in leaves(one)}
        return {name for name in named if name}

    def release(self, held: list[Arrival], now: float) -> None:
        """In one push, as urgent as the most urgent of them."""
        self.deliver(_events(in_order(held)), most_urgent(held), now)


class ProxyPushConsumer:
    """The channel's end of a supplier."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._publications: dict[tuple[int, int], Publication] = {}
        self._routes: dict[tuple[int, int], PushRoute] = {}
        self._last: PushRoute = PushRoute(ANY, ANY)  # never fresh
        self._offer: Offer | None = None
        self._was_connected = False
        self.name = ""
        self.is_gateway = False
        self.best_effort = False
        self.connected = False
        self.pushes = 0

    def connect_push_supplier(self, supplier: PushSupplier | None, qos: SupplierQos) -> None:
        """A supplier that wants to hear what is wanted of it is told at once, and whenever it changes."""
        core = self._core
        if core.destroyed:
            raise ChannelError(
                f"channel {core.name} was destroyed; {qos.name or 'a supplier'} cannot connect to it"
            )
        if self._was_connected:
            raise ChannelError(f"{self.name} has been connected through this proxy; obtain another one")
        if not qos.publications:
            raise ChannelError(f"{qos.name or 'a supplier'} publishes nothing; name its (source, type) pairs")
        for one in qos.publications:
            check_publication(one)
        core.admit(qos.name or "a supplier", "", (), qos.publications)
        self.name = qos.name or "a supplier without a name"
        self.is_gateway = qos.is_gateway
        self.best_effort = qos.best_effort
        self._publications = {(one.source, one.type): one for one in qos.publications}
        self.connected = True
        core.suppliers[self] = None
        self._was_connected = True
        if supplier is not None:
            self._offer = Offer(qos.publications, supplier.wanted)
            core.offers.add(self._offer)
            core.tell(self._offer)

    def disconnect_push_consumer(self) -> None:
        """What it has pushed is still delivered."""
        if self.connected:
            self.connected = False
            del self._core.suppliers[self]
            self._routes = {}
            self._last = PushRoute(ANY, ANY)
            if self._offer is not None:
                self._core.offers.remove(self._offer)

    def publications(self) -> tuple[Publication, ...]:
        return tuple(self._publications.values())

    def push(self, event: Event, now: float) -> None:
        """To all consumers that want it, after the timeouts that are due by now, lest a watchdog that nobody looked at be
        armed anew unheard.  Raises only for what the supplier did wrong, never for a consumer."""
        core = self._core
        if core.timers.is_due(now):
            core.expire(now)
        route = self._last
        if not route.fresh or event.type != route.type or event.source != route.source:
            route = self._find(event)
        self.pushes += 1
        if core.record is not None:
            self._record(event, now)
        if route.crosses and not self.is_gateway:
            event = core.stamp(event, self.best_effort)
        events = (event,)
        direct = core.direct
        core.pushing += 1
        try:
            for target in route.targets:
                registration = target.registration
                proxy = registration.owner
                assert isinstance(proxy, ProxyPushSupplier)
                if not target.plain:
                    proxy.offer(target, event, now)
                elif registration.active:
                    if direct and proxy.buffer is None:
                        proxy.run(events)
                    else:
                        proxy.deliver(events, target.urgency, now)
        finally:
            core.end_push()

    def _record(self, event: Event, now: float) -> None:
        core = self._core
        record = core.record
        if record is not None:
            rt_info = self._rt_info(event)
            urgency = core.urgency(rt_info)
            waiting = core.dispatcher.pending()
            record(
                Happening(
                    PUSH, nanoseconds(now), self.name, rt_info, urgency.preemption, urgency.sub, 0, waiting
                )
            )

    def _rt_info(self, event: Event) -> str:
        """Of the publication that fits best."""
        source, type = event.source, event.type
        for key in ((source, type), (source, ANY), (ANY, type), (ANY, ANY)):
            found = self._publications.get(key)
            if found is not None:
                return found.rt_info
        return ""

    def _find(self, event: Event) -> PushRoute:
        """The route, which is checked against the publications once and then known."""
        key = (event.source, event.type)
        route = self._routes.get(key)
        if route is None:
            self.check(event)
            if len(self._routes) >= MOST_ROUTES:
                self._routes = {}
        if route is None or not route.fresh:
            route = self._core.subscriptions.route(event.source, event.type)
            self._routes[key] = route
        self._last = route
        return route

    def check(self, event: Event) -> None:
        """Refuses what the supplier may not push."""
        if not self.connected:
            raise ChannelError(f"{self.name or 'a supplier'} is not connected to channel {self._core.name}")
        source, type = event.source, event.type
        if type < FIRST_TYPE or source <= ANY:
            raise ChannelError(
                f"{self.name} pushes an event of type {type} from source {source}; events have a type from {FIRST_TYPE} "
                "and a source from 1 up"
            )
        known = self._publications
        if not (
            (source, type) in known or (source, ANY) in known or (ANY, type) in known or (ANY, ANY) in known
        ):
            raise ChannelError(
                f"{self.name} pushes an event of type {type} from source {source}, which it has not published; add "
                f"({source}, {type}) to its QoS"
            )


MOST_ROUTES = 65_536


def _events(arrivals: list[Arrival]) -> Events:
    return tuple([arrival.event for arrival in arrivals])


def _nobody(events: Events) -> None:
    pass
