"""Federates that send in all orders over a simulated network, and happened-before by brute force.

The oracle sees only what federates do: that they send, and which callbacks they take, each at the moment it is there.  Of every
message it keeps the past of its sender as a bit mask:

    seen     messages in causal order that the sender had sent, and all that it had taken, with all that these had seen
    asked    messages in total order that it, or one of those, had sent.  They get their place at the home, so only another
             message in total order comes after them; one in causal order may overtake
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from support.simulated_federates import NAME, Seat, handles
from weft import OrderType
from weft.host.effects import PendingCall
from weft.host.simulated.simulated import SimulatedNetwork
from weft.kernel.federation import founding
from weft.kernel.state.messages import Interaction, Update
from weft.kernel.state.step import Step
from weft.model.errors import NotConnected, RTIexception
from weft.ordering import TaggedMessage

CAUSAL, TOTAL, RECEIVE = OrderType.CAUSAL, OrderType.TOTAL, OrderType.RECEIVE
HEARD = ("receive_interaction", "reflect_attribute_values")


class Arrivals:
    """Tells somebody of each message that comes to a process."""

    def __init__(self) -> None:
        self.tell: Callable[[int, Any], None] = lambda number, said: None


def noting(patch: pytest.MonkeyPatch) -> Arrivals:
    """Federations founded from now on tell of what comes to their processes, until the patch is undone."""
    arrivals = Arrivals()
    base: Any = vars(founding)["CausalOrder"]  # or a mutant of it

    class Noting(base):  # type: ignore[misc]
        def _admit(self, step: Step, number: int, message: TaggedMessage, forwarded: bool = False) -> None:
            arrivals.tell(number, message.payload)
            super()._admit(step, number, message, forwarded)

    patch.setattr(founding, "CausalOrder", Noting)
    return arrivals


class Sent:
    def __init__(
        self, by: int, order: OrderType, past: int, seen: int, asked: int, to: frozenset[int]
    ) -> None:
        self.by = by
        self.order = order
        self.past = past
        self.seen = seen
        self.asked = asked
        self.to = to  # whom it is for, as far as the run can say


class History:
    """What happened, and what of it should not have."""

    def __init__(self, federates: int) -> None:
        self.sent: list[Sent] = []
        self.seen = [0] * federates
        self.asked = [0] * federates
        self.heard = [0] * federates
        self.orders: list[list[int]] = [[] for _ in range(federates)]  # messages taken, one after the other
        self.faults: list[str] = []

    def joins(self) -> None:
        for table in (self.seen, self.asked, self.heard):
            table.append(0)
        self.orders.append([])

    def sends(self, federate: int, order: OrderType, to: frozenset[int]) -> int:
        name = len(self.sent)
        seen, asked = self.seen[federate], self.asked[federate]
        total = order is TOTAL
        self.sent.append(Sent(federate, order, seen | asked if total else seen, seen, asked, to))
        if total:
            self.asked[federate] |= 1 << name
        elif order is CAUSAL:
            self.seen[federate] |= 1 << name
        return name

    def takes(self, federate: int, name: int) -> None:
        bit = 1 << name
        if self.heard[federate] & bit:
            if self.sent[name].order is RECEIVE:
                return  # attributes of one update with two transportations
            self.faults.append(f"federate {federate} heard {name} twice")
        self.heard[federate] |= bit
        self.orders[federate].append(name)
        sent = self.sent[name]
        if sent.order is not RECEIVE:
            self.seen[federate] |= sent.past | bit
            self.asked[federate] |= sent.asked

    def missing(self, federate: int, name: int) -> int:
        """The causes of a message that are for the federate as well and that it has not heard."""
        found = self.sent[name].past & ~self.heard[federate]
        return sum(1 << cause for cause in bits(found) if federate in self.sent[cause].to)

    def check_order(self) -> None:
        """No effect before its cause, at anybody who hears both; and total order is one order."""
        for federate, taken in enumerate(self.orders):
            before = 0
            for name in taken:
                sent = self.sent[name]
                if sent.order is RECEIVE:
                    continue
                late = sent.past & self.heard[federate] & ~before
                if late:
                    self.faults.append(f"federate {federate} heard {name} before its cause {bits(late)[0]}")
                before |= 1 << name
        totals = [[n for n in taken if self.sent[n].order is TOTAL] for taken in self.orders]
        for one, left in enumerate(totals):
            for other, right in enumerate(totals[:one]):
                common = set(left) & set(right)
                if [n for n in left if n in common] != [n for n in right if n in common]:
                    self.faults.append(f"federates {other} and {one} heard messages in two total orders")

    def check_survivors(self, gone: set[int]) -> None:
        """What those who are left have sent to one another was not lost, where only nodes that died can lose anything."""
        for name, sent in enumerate(self.sent):
            for federate in sent.to - gone:
                if sent.by not in gone and not self.heard[federate] >> name & 1:
                    self.faults.append(
                        f"federate {federate} never heard {name} ({sent.order.name} of {sent.by})"
                    )

    def check_complete(self, federates: set[int]) -> None:
        for name, sent in enumerate(self.sent):
            for federate in sent.to & federates:
                if not self.heard[federate] >> name & 1:
                    self.faults.append(f"federate {federate} never heard {name} ({sent.order.name})")


def _failed(call: PendingCall) -> bool:
    try:
        call.result()
    except RTIexception:
        return True
    return False


def bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


CLASSES = ("Event.Hit", "Event.Fire.BigFire", "Command.Halt")
ATTRIBUTES = ("Position", "Name")


class Town:
    """Federates that hear and send at random; each has an object, and hears of others what it subscribes to."""

    def __init__(
        self,
        network: SimulatedNetwork,
        random: Random,
        made: list[Seat],
        orders: tuple[OrderType, ...] = (CAUSAL, CAUSAL, CAUSAL, TOTAL, RECEIVE),
    ) -> None:
        self.orders = orders
        self.network = network
        self.random = random
        self.seats = made
        self.history = History(len(made))
        self.hears: list[set[str]] = []
        self.wants: list[set[str]] = []
        self.objects: list[Any] = []
        self.gone: set[int] = set()
        self.arrived: list[tuple[int, int]] = []  # messages at their node, by federate
        self.pending: list[PendingCall] = []
        self.numbers: dict[int, int] = {}
        self.comers: dict[int, tuple[list[tuple[Any, ...]], PendingCall | None]] = {}
        for number, seat in enumerate(made):
            self.numbers[number + 1] = number  # federates have the numbers in which they joined
            self._declare(seat)
        network.settle()
        for number, seat in enumerate(made):
            self.objects.append(seat.register("Vehicle"))
            self.history.asked[number] = 0
        network.settle()
        self.poll()

    def _declare(self, seat: Seat) -> None:
        random = self.random
        hears = {cls for cls in CLASSES if random.random() < 0.7}
        wants = {name for name in ATTRIBUTES if random.random() < 0.6}
        self.hears.append(hears)
        self.wants.append(wants)
        for cls in CLASSES:
            seat.publish_interaction(cls)
        for cls in sorted(hears):
            seat.subscribe_interaction(cls)
        seat.publish("Vehicle", *ATTRIBUTES)
        if wants:
            seat.subscribe("Vehicle", *sorted(wants))

    # --- who comes later ----------------------------------------------------------------------------------------

    def comes(self, seat: Seat) -> None:
        """It joins while the others talk.  Nobody can say from when on it is addressed, so it is in nobody's `to`."""
        number = len(self.seats)
        cls = handles().interactions
        steps: list[tuple[Any, ...]] = [("join_federation_execution", NAME, "test", seat.name, ())]
        steps += [("publish_interaction_class", cls[name]) for name in CLASSES]
        steps += [("subscribe_interaction_class", cls[name]) for name in CLASSES]
        self.seats.append(seat)
        self.history.joins()
        self.hears.append(set())
        self.wants.append(set())
        self.objects.append(None)
        self.gone.add(number)
        self.comers[number] = (steps, None)

    def _come_on(self) -> None:
        """Whoever is joining takes its next step once the one before has ended."""
        for number, (steps, last) in list(self.comers.items()):
            if last is not None and not last.has_come():
                continue
            if last is not None and _failed(last):
                del self.comers[number]
            elif not steps:
                del self.comers[number]
                self.gone.discard(number)
            else:
                try:
                    begun = self.seats[number].begin(*steps.pop(0))
                except NotConnected:
                    del self.comers[number]
                    continue
                self.pending.append(begun)
                self.comers[number] = (steps, begun)

    # --- what federates do ------------------------------------------------------------------------------------

    def act(self, federate: int, order: OrderType | None = None) -> None:
        """Send something, if one still can."""
        if federate in self.gone:
            return
        random = self.random
        order = order or random.choice(self.orders)
        others = [n for n in range(len(self.seats)) if n != federate and n not in self.gone]
        if random.random() < 0.6 or self.objects[federate] is None:
            cls = random.choice(CLASSES)
            to = frozenset(n for n in others if cls in self.hears[n])
            service, target = "send_interaction", handles().interactions[cls]
            values: dict[Any, bytes] = {}
        else:
            names = random.choice((ATTRIBUTES[:1], ATTRIBUTES[1:], ATTRIBUTES))
            to = frozenset(n for n in others if self.wants[n] & set(names))
            service, target = "update_attribute_values", self.objects[federate]
            values = {handles().attributes[name]: b"v" for name in names}
        name = self.history.sends(federate, order, to)
        try:
            self.pending.append(
                self.seats[federate].begin(service, target, values, b"%d" % name, None, order)
            )
        except NotConnected:
            self.gone.add(federate)

    def poll(self) -> bool:
        """Every federate takes each callback at the moment it is there."""
        self._come_on()
        for federate, seat in enumerate(self.seats):
            heard: set[int] = set()  # by one look
            for method, arguments in seat.heard():
                if method in HEARD and arguments[2]:
                    name = int(arguments[2])
                    if method == HEARD[1] and name in heard:
                        continue  # attributes of one update with two transportations
                    heard.add(name)
                    self.history.takes(federate, name)
                elif method in ("connection_lost", "federate_resigned"):
                    self.gone.add(federate)
                    self.comers.pop(federate, None)
        return False

    def run(self, check: Callable[[], Any] = lambda: None) -> None:
        def look() -> bool:
            self.poll()
            check()
            return False

        self.network.run_until(look)
        self.poll()

    def plan(self, count: int, over: float) -> None:
        for _ in range(count):
            when = self.network.clock.now + self.random.random() * over
            self.network.clock.at(when, self._act)

    def _act(self) -> None:
        self.poll()
        self.act(self.random.randrange(len(self.seats)))

    # --- what is checked --------------------------------------------------------------------------------------

    def watch_arrivals(self, arrivals: Arrivals) -> None:
        """Note what comes to which federate's process; the federation was founded with `noting` these."""
        arrivals.tell = self._noted

    def _noted(self, number: int, said: Any) -> None:
        message = said.message
        if number in self.numbers and isinstance(message, (Interaction, Update)):
            self.arrived.append((self.numbers[number], int(message.tag)))

    def check_no_needless_wait(self) -> None:
        """Whatever has come and is not heard waits for a cause that has not come.  (Total order has more reasons.)"""
        history = self.history
        for federate, name in self.arrived:
            if not history.heard[federate] >> name & 1 and not history.missing(federate, name):
                history.faults.append(f"federate {federate} waits for {name} without need")
        self.arrived = [(f, n) for f, n in self.arrived if not history.heard[f] >> n & 1]

    def check_nothing_left(self) -> None:
        """Of a settled network: no view is being ended, nobody holds anything, all are in the same view."""
        views = set()
        for name in self.network._nodes:
            federation = self.network.node(name).federations.get(NAME)
            if federation is None:
                continue
            orders = federation.orders
            views.add((orders.view, orders.settled))
            if orders.flush is not None:
                self.history.faults.append(f"node {name} still ends view {orders.settled}")
            if orders.ghosts:
                self.history.faults.append(f"node {name} still keeps ghosts")
            for number, process in orders.processes.items():
                if process.current.held or process.later:
                    self.history.faults.append(f"process {number} at {name} still holds messages")
        if len(views) > 1:
            self.history.faults.append(f"nodes are in several views: {views}")

    def check_all_ended(self) -> None:
        for call in self.pending:
            assert call.has_come(), f"{call.service} is still under way"
            _failed(call)
