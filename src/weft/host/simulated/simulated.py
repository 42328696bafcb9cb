"""A whole mesh in one process, on a virtual clock, from a seed.

The kernels are the real ones.  Time passes only when something waits for it, and jumps from one event to the next;
everything that is left to chance in a real network (how long a parcel takes, what is lost, how far a crash got) is drawn from one
random generator, so a run can be repeated exactly by its seed.

What the links promise is what real ones do:

* A reliable parcel arrives once and in order with the others between the same two nodes.  Loss shows as delay, because the
  link sends again.  While a link is cut, parcels wait for it to heal.
* A best-effort parcel may be lost, and may overtake or be overtaken.
* When a node crashes, what it had sent may still arrive, up to a point; then the others learn that it is gone.  A node that is
  started again under the same name begins with nothing, and never hears what was meant for the one before.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.host.connection import drop_federation
from weft.host.files.saves import MemorySaves, fetch, store
from weft.kernel import (
    PAUSES,
    Alarm,
    Callback,
    Carried,
    Cast,
    Effect,
    Fetch,
    LastMile,
    Node,
    Notice,
    Record,
    Refuse,
    Reply,
    Store,
    Transmit,
    UrgentCallback,
)
from weft.kernel.node.faults import INTERNAL_ERROR
from weft.kernel.recording import order_rows
from weft.kernel.state.parcels import Data
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.errors import NotConnected, RTIinternalError
from weft.model.records import Source

MAX_EVENTS = (
    10_000_000  # far beyond any test: an endless exchange between nodes ends with an error, not a hang
)


@dataclass(frozen=True, slots=True)
class LinkProfile:
    """How a link behaves; times in seconds."""

    delay: float = 0.001
    jitter: float = 0.0  # up to so much is added to the delay of each parcel
    loss: float = 0.0  # how likely one transmission is lost
    retry: float = 0.01  # after how long a reliable link sends again


class VirtualClock:
    """Now, and what is to happen later."""

    def __init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._noted = 0

    def at(self, when: float, action: Callable[[], None]) -> None:
        # The count keeps events of equal time in the order in which they were noted.
        self._noted += 1
        heapq.heappush(self._agenda, (when, self._noted, action))

    def next_time(self) -> float | None:
        return self._agenda[0][0] if self._agenda else None

    def step(self) -> bool:
        """Let the next thing happen; False if nothing is left to happen."""
        if not self._agenda:
            return False
        self.now, _, action = heapq.heappop(self._agenda)
        action()
        return True


class _Link:
    """One direction between two nodes."""

    def __init__(self, profile: LinkProfile) -> None:
        self.profile = profile
        self.cut = False
        self.waiting: deque[Any] = deque()  # reliable parcels sent while the link is cut
        self.last_arrival = 0.0


class SimulatedNetwork:
    """Nodes and the links between all of them; the first node is the directory."""

    def __init__(
        self,
        nodes: Sequence[str],
        seed: int = 0,
        profile: LinkProfile | None = None,
        rid: Source | None = None,
    ) -> None:
        self.rid = rid
        self.clock = VirtualClock()
        self.random = random.Random(seed)
        self.seed = seed
        self.parcels_sent = 0
        self.parcels_lost = 0
        self.reports: dict[str, list[str]] = {}  # by file, what a real host would have written there
        self.detection = 1.0  # how long the others need to notice a crash
        self.writing = 0.01  # how long a save takes to write or to read
        self.saves = {name: MemorySaves() for name in nodes}  # each node's disk; it outlives a crash
        self.notices: list[str] = []  # what the nodes report
        self.tolerates_faults = False  # an error of the RTI's own does not end the run
        self._profile = profile or LinkProfile()
        self._directory = nodes[0]
        self._nodes: dict[str, Node] = {}
        self._incarnations: dict[str, int] = {}
        self._connections: dict[tuple[str, int], SimulatedConnection] = {}
        self._links: dict[tuple[str, str], _Link] = {}
        # Up to when the parcels of a crashed node (and its incarnation) still arrive at another.
        self._crashes: dict[tuple[str, int, str], float] = {}
        for name in nodes:
            self._incarnations[name] = 0
            self._start(name)
            for other in self._nodes:
                if other != name:
                    self._links[name, other] = _Link(self._profile)
                    self._links[other, name] = _Link(self._profile)

    def _start(self, name: str) -> None:
        self._nodes[name] = Node(name, self._directory, f"runs/{name}", rid=self.rid)

    # --- what a test does -------------------------------------------------------------------------------------

    def at(self, node: str) -> SimulatedSite:
        """Where federates connect: `RTIambassador(network.at("S1"))`."""
        if node not in self._incarnations:
            raise KeyError(f"there is no node {node!r}; there are {', '.join(self._incarnations)}")
        return SimulatedSite(self, node)

    def set_link(self, one: str, other: str, profile: LinkProfile) -> None:
        """Make the link between two nodes different from the rest, in both directions."""
        self._links[one, other].profile = profile
        self._links[other, one].profile = profile

    def cut(self, one: str, other: str) -> None:
        self._links[one, other].cut = True
        self._links[other, one].cut = True

    def heal(self, one: str, other: str) -> None:
        for sender, receiver in ((one, other), (other, one)):
            link = self._links[sender, receiver]
            link.cut = False
            while link.waiting:
                self._send_reliably(sender, receiver, link, link.waiting.popleft())

    def crash(self, name: str) -> None:
        """The node is gone at once; the others notice a little later."""
        if name not in self._nodes:
            raise ValueError(f"node {name!r} is not running")
        del self._nodes[name]
        incarnation = self._incarnations[name]
        self._incarnations[name] += 1
        for key in [k for k in self._connections if k[0] == name]:
            self._connections.pop(key).crashed()
        for other in self._incarnations:
            if other == name:
                continue
            for link in (self._links[name, other], self._links[other, name]):
                link.waiting.clear()
                link.last_arrival = 0.0
            if other in self._nodes:
                # Nothing of it arrives once the others have noticed.
                under_way = min(self._links[name, other].profile.delay, self.detection)
                self._crashes[name, incarnation, other] = self.clock.now + self.random.random() * under_way
                self.clock.at(
                    self.clock.now + self.detection, self._noticed(other, self._incarnations[other], name)
                )

    def _noticed(self, at: str, incarnation: int, gone: str) -> Callable[[], None]:
        def tell() -> None:
            if self._incarnations[at] == incarnation and at in self._nodes:
                self._perform(at, self._nodes[at].peer_lost(gone, self.clock.now))

        return tell

    def restart(self, name: str) -> None:
        """The node begins anew, after the others have noticed that it was gone."""
        if name in self._nodes:
            raise ValueError(f"node {name!r} is running")
        self.clock.at(self.clock.now + self.detection, lambda: self._return(name))
        self.run_until(lambda: name in self._nodes)

    def _return(self, name: str) -> None:
        self._start(name)
        for other in self._incarnations:
            if other not in self._nodes:
                self._perform(name, self._nodes[name].peer_lost(other, self.clock.now))
            elif other != name:
                self._perform(other, self._nodes[other].peer_found(name, self.clock.now))

    def settle(self) -> None:
        """Let everything that is under way arrive."""
        self.run_until(lambda: False)

    def run_until(self, condition: Callable[[], bool], deadline: float | None = None) -> bool:
        """Let events happen until the condition holds, time is up, or nothing more can happen."""
        for _ in range(MAX_EVENTS):
            if condition():
                return True
            upcoming = self.clock.next_time()
            if self._tick(deadline if upcoming is None else upcoming, deadline):
                continue
            if deadline is not None and (upcoming is None or upcoming > deadline):
                self.clock.now = max(self.clock.now, deadline)
                return False
            if not self.clock.step():
                return False
        raise RuntimeError(
            f"seed {self.seed}: {MAX_EVENTS} events and no end; nodes answer one another in a circle"
        )

    def _tick(self, upcoming: float | None, deadline: float | None) -> bool:
        """Let one node do what is due before the next event; alone, what comes again and again never keeps a network going."""
        due = [(when, name) for name, node in self._nodes.items() if (when := node.next_tick()) is not None]
        if not due or upcoming is None:
            return False
        when, name = min(due)
        if when > (upcoming if deadline is None else min(upcoming, deadline)):
            return False
        self.clock.now = max(self.clock.now, when)
        self._perform(name, self._nodes[name].tick(self.clock.now))
        return True

    # --- what connections and kernels do ----------------------------------------------------------------------

    def node(self, name: str) -> Node:
        found = self._nodes.get(name)
        if found is None:
            raise NotConnected(f"node {name!r} has crashed")
        return found

    def open(self, name: str) -> SimulatedConnection:
        session = self.node(name).open_session()
        made = SimulatedConnection(self, name, session)
        self.adopt(made)
        return made

    def adopt(self, made: SimulatedConnection) -> None:
        """What is for its session goes there."""
        self._connections[made.node, made.session] = made

    def forget(self, name: str, session: int) -> None:
        self._connections.pop((name, session), None)

    def perform(self, name: str, effects: list[Effect]) -> None:
        self._perform(name, effects)

    def _perform(self, name: str, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Carried):
                self._carry(name, effect)
            elif isinstance(effect, (Callback, Reply, Refuse)):
                connection = self._connections.get((name, effect.session))
                if connection is not None:
                    connection.handle(effect)
            elif isinstance(effect, Alarm) and not effect.recurring:
                self.clock.at(effect.when, self._woken(name, self._incarnations[name]))
            elif isinstance(effect, Record):
                self.reports.setdefault(effect.file, []).append(effect.line)
            elif isinstance(effect, (Store, Fetch)):
                self._keep(name, self._incarnations[name], effect)
            elif isinstance(effect, Notice):
                self.notices.append(effect.text)
                if not self.tolerates_faults and getattr(effect.text, "event", "") == INTERNAL_ERROR:
                    raise RuntimeError(effect.text)

    def _woken(self, name: str, incarnation: int) -> Callable[[], None]:
        def tick() -> None:
            if self._incarnations[name] == incarnation and name in self._nodes:
                self._perform(name, self._nodes[name].tick(self.clock.now))

        return tick

    def _keep(self, name: str, incarnation: int, effect: Store | Fetch) -> None:
        def act() -> None:
            node = self._nodes.get(name)
            if node is None or self._incarnations[name] != incarnation:
                return
            saves, report = self.saves[name], self.notices.append
            where = (effect.federation, effect.execution, effect.label)
            if isinstance(effect, Store):
                done = node.stored(*where, store(saves, effect, report), self.clock.now)
            else:
                done = node.fetched(*where, fetch(saves, effect, report), self.clock.now)
            self._perform(name, done)

        self.clock.at(self.clock.now + self.writing, act)

    def _carry(self, name: str, effect: Carried) -> None:
        """Nodes of this network begin with nothing, so nothing is remembered."""
        if isinstance(effect, Transmit):
            self._transmit(name, effect)
        elif isinstance(effect, Cast):
            for node in effect.nodes:
                self._transmit(name, Transmit(node, effect.parcel, reliable=False))

    def _transmit(self, sender: str, effect: Transmit) -> None:
        receiver = effect.node
        link = self._links[sender, receiver]
        self.parcels_sent += 1
        if receiver not in self._nodes:
            self._record_loss(sender, effect)
            return
        if effect.reliable:
            if link.cut:
                link.waiting.append(effect.parcel)
            else:
                self._send_reliably(sender, receiver, link, effect.parcel)
        elif link.cut or self.random.random() < link.profile.loss:
            self.parcels_lost += 1
            self._record_loss(sender, effect)
        else:
            self._arrive_at(self.clock.now + self._delay(link), sender, receiver, effect.parcel)

    def _record_loss(self, sender: str, effect: Transmit) -> None:
        node = self._nodes.get(sender)
        parcel = effect.parcel
        if node is not None and isinstance(parcel, Data):
            federation = node.federations.get(parcel.federation)
            if federation is not None:
                step = Step(Turn(sender, self.clock.now), federation, federation.rti)
                why = "the network lost it"
                order_rows.lost(step, parcel, effect.node, effect.reliable, why)

    def _delay(self, link: _Link) -> float:
        return link.profile.delay + self.random.random() * link.profile.jitter

    def _send_reliably(self, sender: str, receiver: str, link: _Link, parcel: Any) -> None:
        took = self._delay(link)
        while self.random.random() < link.profile.loss:
            took += link.profile.retry
        link.last_arrival = max(link.last_arrival, self.clock.now + took)
        self._arrive_at(link.last_arrival, sender, receiver, parcel)

    def _arrive_at(self, when: float, sender: str, receiver: str, parcel: Any) -> None:
        ours = (self._incarnations[sender], self._incarnations[receiver])

        def arrive() -> None:
            here = self._nodes.get(receiver)
            if here is None or self._incarnations[receiver] != ours[1]:
                return
            # Of what a crashed node had under way, only what was far enough along still arrives.
            if self._incarnations[sender] != ours[0] and when >= self._crashes[sender, ours[0], receiver]:
                return
            self._perform(receiver, here.receive(sender, parcel, self.clock.now))

        self.clock.at(when, arrive)


class SimulatedSite:
    """A node of a simulated network, as something to connect to."""

    def __init__(self, network: SimulatedNetwork, node: str) -> None:
        self._network = network
        self._node = node

    def connect(self) -> SimulatedConnection:
        return self._network.open(self._node)


class PendingCall:
    """A call that has been made and may not have ended yet."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.done = False
        self._value: Any = None
        self._error: Exception | None = None

    def end(self, effect: Reply | Refuse) -> None:
        self.done = True
        if isinstance(effect, Reply):
            self._value = effect.value
        else:
            self._error = effect.error

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


class SimulatedConnection:
    """A federate's session at a node of the network.  Waiting for an answer lets virtual time pass."""

    def __init__(self, network: SimulatedNetwork, node: str, session: int) -> None:
        self._network = network
        self._node = node
        self._session = session
        self._numbers = 0
        self._pending: dict[int, PendingCall] = {}
        self._inbox: deque[Callback] = deque()
        self._urgent = LastMile()
        self._gone = False

    @property
    def node(self) -> str:
        return self._node

    @property
    def session(self) -> int:
        return self._session

    def begin(self, service: str, arguments: tuple[Any, ...]) -> PendingCall:
        """Make a call without waiting for its end."""
        if self._gone:
            raise NotConnected(f"the session at node {self._node!r} is gone")
        self._numbers += 1
        pending = PendingCall(service)
        self._pending[self._numbers] = pending
        node = self._network.node(self._node)
        effects = node.call(self._session, self._numbers, service, arguments, self._network.clock.now)
        self._network.perform(self._node, effects)
        return pending

    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        pending = self.begin(service, arguments)
        if not self._network.run_until(lambda: pending.done):
            raise RTIinternalError(
                f"{service} at node {self._node!r} was never answered: nothing more happens in the network"
            )
        return pending.result()

    def handle(self, effect: Callback | Reply | Refuse) -> None:
        if isinstance(effect, Callback):
            self._inbox.append(effect)
        else:
            self._pending.pop(effect.number).end(effect)

    def now(self) -> float:
        return self._network.clock.now

    def take(self) -> Callback | None:
        callback = self._urgent.take(self._inbox)
        if callback is not None and not self._gone:
            self._network.node(self._node).handles(self._session, callback)
        if callback is not None and callback.method in PAUSES and not self._gone:
            self._network.node(self._node).took(self._session, callback.method)
        if isinstance(callback, UrgentCallback) and not self._gone:
            node = self._network.node(self._node)
            if node.watched and callback.ticket:
                node.began(self._session, callback.ticket, self._network.clock.now)
        return callback

    def finished(self, callback: UrgentCallback) -> None:
        if not self._gone:
            node = self._network.node(self._node)
            effects = node.done(self._session, callback.ticket, self._network.clock.now)
            self._network.perform(self._node, effects)

    def pending(self) -> bool:
        return bool(self._inbox) or self._urgent.waiting > 0

    def wait(self, seconds: float | None) -> bool:
        deadline = None if seconds is None else self._network.clock.now + seconds
        self._network.run_until(lambda: self.pending() or self._gone, deadline)
        return self.pending()

    def forget_federation(self) -> None:
        drop_federation(self._inbox)
        self._urgent.clear()

    def close(self) -> None:
        if not self._gone:
            self._network.node(self._node).close_session(self._session)
            self._end("the connection was closed")

    def leave(self) -> None:
        self.lose()

    def lose(self) -> None:
        if not self._gone:
            self._end("the connection was broken off")
            effects = self._network.node(self._node).session_lost(self._session, self._network.clock.now)
            self._network.perform(self._node, effects)

    def crashed(self) -> None:
        """The node is gone; the federate hears of it as of any lost connection."""
        fault = f"node {self._node!r} has crashed"
        self._end(fault)
        self._inbox.append(Callback(self._session, "connection_lost", (fault,)))

    def _end(self, why: str) -> None:
        self._gone = True
        self._network.forget(self._node, self._session)
        for number, pending in self._pending.items():
            error = RTIinternalError(f"{pending.service} was never answered: {why}")
            pending.end(Refuse(self._session, number, error))
        self._pending.clear()
