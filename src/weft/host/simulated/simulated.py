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
from functools import partial

from weft.host.effects import EffectRunner, Inbox, PendingCall
from weft.host.files.saves import MemorySaves, carry_out
from weft.kernel import (
    Alarm,
    Callback,
    Carried,
    Cast,
    Effect,
    Fetch,
    Node,
    Notice,
    Record,
    Refuse,
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

MAX_EVENTS = 10_000_000  # far beyond any test: an endless exchange ends with an error, not a hang


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
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._noted = 0

    def at(self, when: float, action: Callable[[], object]) -> None:
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
        self.waiting: deque[Callable[[], None]] = deque()  # what is to be sent reliably when it is healed
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
        self.incarnations: dict[str, int] = {}  # how often each node has crashed
        self._hosts = {name: SimulatedHost(self, name) for name in nodes}
        self._links: dict[tuple[str, str], _Link] = {}
        # Up to when the parcels of a crashed node (and its incarnation) still arrive at another.
        self._crashes: dict[tuple[str, int, str], float] = {}
        for name in nodes:
            self.incarnations[name] = 0
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
        if node not in self.incarnations:
            raise KeyError(f"there is no node {node!r}; there are {', '.join(self.incarnations)}")
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
                link.waiting.popleft()()

    def _end(self, name: str) -> int:
        """Which of its incarnations that was."""
        if name not in self._nodes:
            raise ValueError(f"node {name!r} is not running")
        del self._nodes[name]
        self.incarnations[name] += 1
        self._hosts[name].crash()
        return self.incarnations[name] - 1

    def crash(self, name: str) -> None:
        """The node is gone at once; the others notice a little later."""
        incarnation = self._end(name)
        for other in self.incarnations:
            if other == name:
                continue
            for link in (self._links[name, other], self._links[other, name]):
                link.waiting.clear()
                link.last_arrival = 0.0
            if other in self._nodes:
                # Nothing of it arrives once the others have noticed.
                under_way = min(self._links[name, other].profile.delay, self.detection)
                self._crashes[name, incarnation, other] = self.clock.now + self.random.random() * under_way
                self.later(other, self.detection, partial(self._notice, other, name))

    def _notice(self, at: str, gone: str) -> None:
        self._perform(at, self._nodes[at].peer_lost(gone, self.clock.now))

    def restart(self, name: str) -> None:
        """The node begins anew, after the others have noticed that it was gone."""
        if name in self._nodes:
            raise ValueError(f"node {name!r} is running")
        self.clock.at(self.clock.now + self.detection, lambda: self._return(name))
        self.run_until(lambda: name in self._nodes)

    def _return(self, name: str) -> None:
        self._start(name)
        for other in self.incarnations:
            if other not in self._nodes:
                self._notice(name, other)
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

    def host(self, name: str) -> SimulatedHost:
        return self._hosts[name]

    def _perform(self, name: str, effects: list[Effect]) -> None:
        self._hosts[name].perform(effects)

    def later(self, name: str, delay: float, action: Callable[[], None]) -> None:
        """Something a node does later, if it lives that long."""
        incarnation = self.incarnations[name]

        def act() -> None:
            if name in self._nodes and self.incarnations[name] == incarnation:
                action()

        self.clock.at(self.clock.now + delay, act)

    def carry(self, name: str, effect: Carried) -> None:
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
                link.waiting.append(lambda: self._send_reliably(sender, link, effect))
            else:
                self._send_reliably(sender, link, effect)
        elif link.cut or self.random.random() < link.profile.loss:
            self.parcels_lost += 1
            self._record_loss(sender, effect)
        else:
            self._arrive_at(self.clock.now + self._delay(link), sender, effect)

    def _record_loss(self, sender: str, effect: Transmit) -> None:
        node = self._nodes.get(sender)
        parcel = effect.parcel
        if node is not None and isinstance(parcel, Data):
            federation = node.federations.get(parcel.federation)
            if federation is not None:
                step = Step(Turn(sender, self.clock.now), federation, federation.rti)
                why = "the network lost it"
                order_rows.lost(step, parcel.message, effect.node, effect.reliable, why)

    def _delay(self, link: _Link) -> float:
        return link.profile.delay + self.random.random() * link.profile.jitter

    def _reliable_arrival(self, link: _Link) -> float:
        """When something arrives that is sent now, and again if it is lost, behind what was sent before."""
        took = self._delay(link)
        while self.random.random() < link.profile.loss:
            took += link.profile.retry
        link.last_arrival = max(link.last_arrival, self.clock.now + took)
        return link.last_arrival

    def _send_reliably(self, sender: str, link: _Link, effect: Transmit) -> None:
        self._arrive_at(self._reliable_arrival(link), sender, effect)

    def _arrive_at(self, when: float, sender: str, effect: Transmit) -> None:
        receiver = effect.node
        ours = (self.incarnations[sender], self.incarnations[receiver])

        def arrive() -> None:
            here = self._nodes.get(receiver)
            if here is None or self.incarnations[receiver] != ours[1]:
                return
            # Of what a crashed node had under way, only what was far enough along still arrives.
            if self.incarnations[sender] != ours[0] and when >= self._crashes[sender, ours[0], receiver]:
                return
            self._perform(receiver, here.receive(sender, effect.parcel, self.clock.now))

        self.clock.at(when, arrive)


class SimulatedHost:
    """Does what the kernels of one node decide, one process after the other."""

    def __init__(self, network: SimulatedNetwork, name: str) -> None:
        self.effects = EffectRunner(self)
        self._network = network
        self._name = name
        self._calls = 0

    def perform(self, effects: list[Effect]) -> None:
        self.effects.perform(effects, self._network.clock.now)

    def number(self, call: PendingCall) -> int:
        """The number of a call from now on."""
        self._calls += 1
        self.effects.calls[self._calls] = call
        return self._calls

    def end(self, session: int, why: str) -> None:
        """That session is over; its calls that wait are refused."""
        self.effects.inboxes.pop(session).closed = True
        calls = self.effects.calls
        for number in [number for number, call in calls.items() if call.session == session]:
            call = calls.pop(number)
            error = RTIinternalError(f"{call.service} was never answered: {why}")
            call.answer = Refuse(session, number, error)

    def crash(self) -> None:
        """The node is gone; federates hear of it as of any lost connection."""
        fault = f"node {self._name!r} has crashed"
        for session, inbox in list(self.effects.inboxes.items()):
            self.end(session, fault)
            inbox.put(Callback(session, "connection_lost", (fault,)))

    # --- what a kernel decided (host.effects) -----------------------------------------------------------------

    def carry(self, effect: Carried) -> None:
        self._network.carry(self._name, effect)

    def alarm(self, effect: Alarm) -> None:
        if not effect.recurring:
            self._later(effect.when - self._network.clock.now, lambda node, now: node.tick(now))

    def write_report(self, effect: Record) -> None:
        self._network.reports.setdefault(effect.file, []).append(effect.line)

    def keep(self, effect: Store | Fetch) -> None:
        network = self._network

        def act(node: Node, now: float) -> list[Effect]:
            return carry_out(network.saves[self._name], effect, network.notices.append)(node, now)

        self._later(network.writing, act)

    def tell(self, effect: Notice) -> None:
        self._network.notices.append(effect.text)
        if not self._network.tolerates_faults and getattr(effect.text, "event", "") == INTERNAL_ERROR:
            raise RuntimeError(effect.text)

    def _later(self, delay: float, act: Callable[[Node, float], list[Effect]]) -> None:
        network = self._network
        network.later(
            self._name, delay, lambda: self.perform(act(network.node(self._name), network.clock.now))
        )


class SimulatedSite:
    """A node of a simulated network, as something to connect to."""

    def __init__(self, network: SimulatedNetwork, node: str) -> None:
        self._network = network
        self._node = node

    def connect(self) -> SimulatedConnection:
        session = self._network.node(self._node).open_session()
        return SimulatedConnection(self._network, self._node, session)


class SimulatedConnection:
    """A federate's session at a node of the network.  Waiting for an answer lets virtual time pass."""

    def __init__(self, network: SimulatedNetwork, node: str, session: int) -> None:
        self._network = network
        self.session = session
        self.inbox = Inbox(network.node(node), session, clock=self.now)
        self._host = network.host(node)
        self.node = node
        self._host.effects.inboxes[session] = self.inbox

    def begin(self, service: str, arguments: tuple[object, ...]) -> PendingCall:
        """Make a call without waiting for its end."""
        if self.inbox.closed:
            raise NotConnected(f"the session at node {self.node!r} is gone")
        node = self._network.node(self.node)
        made = PendingCall(self.session, service)
        number = self._host.number(made)
        self._host.perform(node.call(self.session, number, service, arguments, self.now()))
        return made

    def call(self, service: str, arguments: tuple[object, ...]) -> object:
        made = self.begin(service, arguments)
        if not self._network.run_until(made.has_come):
            raise RTIinternalError(
                f"{service} at node {self.node!r} was never answered: nothing more happens in the network"
            )
        return made.result()

    def now(self) -> float:
        return self._network.clock.now

    def take(self) -> Callback | None:
        return self.inbox.take()

    def pending(self) -> bool:
        return self.inbox.pending()

    def forget_federation(self) -> None:
        self.inbox.forget_federation()

    def finished(self, callback: UrgentCallback) -> None:
        if not self.inbox.closed:
            node = self._network.node(self.node)
            self._host.perform(node.done(self.session, callback.ticket, self.now()))

    def wait(self, seconds: float | None) -> bool:
        deadline = None if seconds is None else self.now() + seconds
        self._network.run_until(lambda: self.inbox.pending() or self.inbox.closed, deadline)
        return self.inbox.pending()

    def close(self) -> None:
        if not self.inbox.closed:
            self._network.node(self.node).close_session(self.session)
            self._host.end(self.session, "the connection was closed")

    def leave(self) -> None:
        self.lose()

    def lose(self) -> None:
        if not self.inbox.closed:
            self._host.end(self.session, "the connection was broken off")
            self._host.perform(self._network.node(self.node).session_lost(self.session, self.now()))
