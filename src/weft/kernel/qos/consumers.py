"""A federate as a consumer with QoS: how urgent its classes are, by when it should have dealt with them, and which messages it
wants in groups (docs/explanation/urgency.md).

Kept at the federate's own node; a member that has asked for nothing has none (`Member.qos`), and its messages do not come here.
A class stands for itself and all below it, and what is said of the nearest class counts: first what the federate has said, then
what the node's schedule says.

A deadline runs from the moment the callback is issued, which is when the order of the message lets it be handed over, until
whoever hands it over says that the federate is done (`Node.done`).  A miss is told of once for each message, when its time
has passed and somebody looks (`Node.tick`) or when it is done too late: to the federate, the MOM and the record of the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from weft.channel.scheduling.urgency import Urgency
from weft.channel.timers import Timer, Timers
from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.kernel.mom import mom_reports
from weft.kernel.qos.correlation import Group, class_handle
from weft.kernel.recording import callback_rows
from weft.kernel.recording.callback_rows import UNSCHEDULED
from weft.kernel.state.callback_queue import CORRELATED, MISSED
from weft.kernel.state.effects import LEAST_URGENT, Alarm, Callback, UrgentCallback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.deliveries import (
    DeliveredDirectedInteraction,
    DeliveredInteraction,
    Delivery,
    Removal,
    delivery_from,
    values_of,
)
from weft.model.enums import OrderType
from weft.model.handles import FederateHandle, Handle, InteractionClassHandle, ObjectClassHandle
from weft.model.json_types import Json, JsonObject
from weft.model.packed import PackedValues
from weft.model.records import CorrelatedEvent

REPORT = f"{mom_reports.FEDERATE}.WeftReportDeadlineMisses"
NOT_URGENT = Urgency(LEAST_URGENT)
RECENT = 100
"""So many of the last callbacks with a deadline are kept for whoever looks (`survey.survey`)."""


class Wish:
    """What is wanted of a class."""

    def __init__(self, urgency: Urgency | None, deadline: float) -> None:
        self.urgency = NOT_URGENT if urgency is None else urgency
        self.deadline = deadline  # 0: none
        self.said = urgency  # None: nothing

    def data(self) -> tuple[list[int | float | None] | None, float]:
        """The urgency that was said, as `urgency_from` takes it, and the deadline."""
        said = self.said
        if said is None:
            return None, self.deadline
        return [said.preemption, said.sub, said.lead if said.dynamic else None], self.deadline


NOTHING = Wish(None, 0.0)

ClassSchedule = Mapping[str, Wish]
"""What a node's schedule says: by the name of a class, in full or its end, or by `federate:class` with the name or the type of a
federate."""


class Ticket:
    """A callback with a deadline that is not dealt with yet."""

    def __init__(self, number: int, class_name: str, source: FederateHandle | None, wish: Wish) -> None:
        self.number = number
        self.class_name = class_name
        self.source = source  # who sent it
        self.wish = wish
        self.issued = 0.0
        self.begun = 0.0  # when the federate began with it; 0: not yet, or nobody says so
        self.due = 0.0
        self.timer: Timer | None = None
        self.missed = False


class ClassRecord:
    """What became of callbacks with a deadline, of one class."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.handed = 0
        self.dealt = 0  # with
        self.laxity = 0.0  # seconds that were left when the last one was; negative: it was late


class Qos:
    """Of one member, at its node."""

    def __init__(self, federation: Federation, member: Member, schedule: ClassSchedule) -> None:
        self.federation = federation
        self.member = member
        self.classes: dict[Handle, Wish] = {}  # as the federate said
        self.listens = False  # it knows of this, so it is told of misses
        self.groups: dict[int, Group] = {}
        self.open: dict[int, Ticket] = {}
        self.missed: dict[str, int] = {}  # by class
        self.handed = 0  # callbacks with a deadline
        self.records: dict[str, ClassRecord] = {}  # of these, by class
        self.recent: deque[tuple[float, float, str, bool]] = deque(maxlen=RECENT)
        self._ended = 0.0  # when the federate was last done with one
        self._schedule = schedule
        self._wishes: dict[Handle, Wish] = {}  # worked out
        self._lineages: dict[Handle, list[Handle]] = {}
        self._timers = Timers()
        self._tickets = 0
        self._grouped = 0
        self._turn: Turn | None = None
        self._priority = LEAST_URGENT  # of the message that is being issued, if it is in priority order
        self._alarm = 0.0  # for when the host was last asked to look

    # --- what is wanted ---------------------------------------------------------------------------------------

    def say(self, kind: Handle, wish: Wish) -> None:
        if wish.said is None and not wish.deadline:
            self.classes.pop(kind, None)
        else:
            self.classes[kind] = wish
        self._wishes.clear()

    def wish(self, entry: InteractionClassEntry | ObjectClassEntry) -> Wish:
        """For a class, by what was said of it or the nearest above it."""
        found = self._wishes.get(entry.handle)
        if found is None:
            found = self._wishes[entry.handle] = self._find(entry)
        return found

    def _find(self, entry: InteractionClassEntry | ObjectClassEntry) -> Wish:
        for one in entry.lineage:
            said = self.classes.get(one.handle)
            if said is not None:
                return said
        for one in entry.lineage:
            planned = scheduled(self._schedule, self.member, one.name) if self._schedule else None
            if planned is not None:
                return planned
        return NOTHING

    def class_of(self, delivery: Delivery) -> InteractionClassEntry | ObjectClassEntry | None:
        """The class that a message is received at, or its object is known as; None if that is gone."""
        federation = self.federation
        if isinstance(delivery, (DeliveredInteraction, DeliveredDirectedInteraction)):
            return federation.catalog.interaction_classes.get(delivery.interaction_class)
        about = delivery.object_instance()
        if about is None:
            return None
        instance = federation.instances.get(about)
        if instance is None:
            ghost = federation.orders.ghosts.get(about)
            instance = None if ghost is None else ghost.instance
        known = None if instance is None else federation.known_class(self.member, instance)
        return None if known is None else federation.catalog.object_classes[known]

    # --- a message for the federate ---------------------------------------------------------------------------

    def issue(
        self,
        step: Step,
        delivery: Delivery,
        order: OrderType | None,
        number: int,
        said: OrderType | None = None,
        priority: int = LEAST_URGENT,
    ) -> None:
        """`order` None: not known, if there are other orders than the standard's.

        A message in priority order says so (`said`), and how urgent it is where its receiver has said nothing of its own.
        """
        turn = step.turn
        if isinstance(delivery, Removal):
            turn.effects.append(Callback(self.member.session, delivery.method, (), number, delivery))
            return
        if order is None and not self.federation.ordered:
            order = OrderType.RECEIVE
        entry = self.class_of(delivery)
        wish = NOTHING if entry is None else self.wish(entry)
        before = len(turn.effects)
        self._priority = priority
        if self.groups and entry is not None and not self._offer(turn, entry, delivery, order):
            recorder = self.federation.recorder
            if recorder is not None and number >= 0:  # it has no callback of its own that would be recorded
                taken = Callback(self.member.session, delivery.method, (), number, delivery)
                callback_rows.given(step, recorder, self.member, taken)
            self._priority = LEAST_URGENT
            return
        name = "" if entry is None else entry.name
        source = delivery.producer
        self._send(turn, delivery.method, (), said or order, wish, name, source, number, delivery)
        self._priority = LEAST_URGENT
        turn.effects.insert(before, turn.effects.pop())  # a message goes before the groups that it completes

    def _send(
        self,
        turn: Turn,
        method: str,
        arguments: tuple[object, ...],
        order: OrderType | None,
        wish: Wish,
        class_name: str,
        source: FederateHandle | None,
        number: int = 0,
        delivery: Delivery | None = None,
    ) -> None:
        urgency = wish.urgency
        priority = urgency.preemption
        if priority == LEAST_URGENT:  # the receiver has said nothing of its own about it
            priority = self._priority
        ticket = self._watch(turn, wish, class_name, source) if wish.deadline else 0
        turn.effects.append(
            UrgentCallback(
                self.member.session,
                method,
                arguments,
                priority,
                order,
                urgency.key(turn.now),
                urgency.sub,
                ticket,
                number,
                delivery,
            )
        )

    # --- groups (qos.correlation) ---------------------------------------------------------------------

    def correlate(self, turn: Turn, asked: Sequence[Json], singly: bool, number: int = 0) -> int:
        self._grouped = max(self._grouped + 1, number)
        made = Group(number or self._grouped, asked, singly, self._timers, self._fired)
        self.groups[made.number] = made
        made.start(turn.now)
        self._arm(turn)
        return made.number

    def _offer(
        self,
        turn: Turn,
        entry: InteractionClassEntry | ObjectClassEntry,
        delivery: Delivery,
        order: OrderType | None,
    ) -> bool:
        """To all groups; is it handed over by itself, too?"""
        if self._timers.is_due(turn.now):
            self._expire(turn)  # lest a watchdog that nobody looked at be armed anew unheard
        lineage = self._lineages.get(entry.handle)
        if lineage is None:
            lineage = self._lineages[entry.handle] = [one.handle for one in entry.lineage]
        values = values_of(delivery)
        handles: list[Handle] = []
        if values is not None:
            handles += values.handles if isinstance(values, PackedValues) else list(values)
        sender = self._name(delivery.producer)
        event = CorrelatedEvent(delivery.method, entry.handle, delivery.arguments(), order)
        taken = singly = False
        self._turn = turn
        for group in list(self.groups.values()):
            if group.offer(lineage, event, handles, sender, turn.now):
                taken = True
                singly = singly or group.singly
        self._turn = None
        self._arm(turn)
        return singly or not taken

    def _fired(self, number: int, events: tuple[CorrelatedEvent, ...], now: float) -> None:
        """As urgent as the most urgent of its messages, and to be dealt with as soon as the most pressing."""
        turn = self._turn
        assert turn is not None
        urgency, pressing, who = NOT_URGENT, NOTHING, events[0]
        for event in events:
            entry = None if event.class_handle is None else self.entry(event.class_handle)
            wish = NOTHING if entry is None else self.wish(entry)
            if wish.urgency.before(urgency):
                urgency = wish.urgency
            if wish.deadline and (not pressing.deadline or wish.deadline < pressing.deadline):
                pressing, who = wish, event
        wish = Wish(urgency, pressing.deadline)
        entry = None if who.class_handle is None else self.entry(who.class_handle)
        delivery = delivery_from(who.method, who.arguments)
        source = None if entry is None or delivery is None else delivery.producer
        self._send(
            turn, CORRELATED, (number, events), None, wish, "" if entry is None else entry.name, source
        )

    def entry(self, handle: Handle) -> InteractionClassEntry | ObjectClassEntry | None:
        catalog = self.federation.catalog
        if isinstance(handle, InteractionClassHandle):
            return catalog.interaction_classes.get(handle)
        return catalog.object_classes.get(handle) if isinstance(handle, ObjectClassHandle) else None

    # --- deadlines --------------------------------------------------------------------------------------------

    def _watch(self, turn: Turn, wish: Wish, class_name: str, source: FederateHandle | None) -> int:
        self._tickets += 1
        self.handed += 1
        record = self.records.get(class_name)
        if record is None:
            record = self.records[class_name] = ClassRecord(wish)
        record.wish = wish
        record.handed += 1
        ticket = self.open[self._tickets] = Ticket(self._tickets, class_name, source, wish)
        self._start(turn, ticket)
        self._record(turn, "push", ticket)
        return ticket.number

    def _start(self, turn: Turn, ticket: Ticket) -> None:
        ticket.issued = turn.now
        ticket.due = turn.now + ticket.wish.deadline
        ticket.timer = self._timers.schedule(ticket.due, lambda timer, now: self._late(ticket, now))
        self._arm(turn)

    def suspend(self, callback: UrgentCallback) -> None:
        """It is held, because the federation is saved or restored."""
        ticket = self.open.get(callback.ticket)
        if ticket is not None and ticket.timer is not None:
            self._timers.cancel(ticket.timer)

    def resume(self, turn: Turn, callback: UrgentCallback) -> None:
        ticket = self.open.get(callback.ticket)
        if ticket is not None:
            self._start(turn, ticket)

    def began(self, turn: Turn, number: int) -> None:
        ticket = self.open.get(number)
        if ticket is not None:
            ticket.begun = turn.now
            self._record(turn, "dispatch", ticket)

    def done(self, turn: Turn, number: int) -> None:
        """The federate has dealt with it."""
        ticket = self.open.pop(number, None)
        if ticket is None:
            return
        if ticket.timer is not None:
            self._timers.cancel(ticket.timer)
        self._record(turn, "done", ticket)
        if turn.now > ticket.due and not ticket.missed:
            self._miss(turn, ticket, True)
        self._note(turn.now, ticket)

    def _note(self, now: float, ticket: Ticket) -> None:
        """It began when its host says so; else no sooner than it was issued, and the one before was done with."""
        record = self.records[ticket.class_name]
        record.dealt += 1
        record.laxity = ticket.due - now
        begun = ticket.begun or max(ticket.issued, self._ended)
        self.recent.append((begun, now, ticket.class_name, ticket.missed))
        self._ended = now

    def _late(self, ticket: Ticket, now: float) -> None:
        turn = self._turn
        assert turn is not None
        self._miss(turn, ticket, False)

    def _miss(self, turn: Turn, ticket: Ticket, taken: bool) -> None:
        ticket.missed = True
        name = ticket.class_name
        misses = self.missed[name] = self.missed.get(name, 0) + 1
        self._record(turn, "miss", ticket)
        late = max(0.0, turn.now - ticket.due)
        sender = self._name(ticket.source)
        if self.listens:
            urgency = ticket.wish.urgency
            told = {
                "class_name": name,
                "sender": sender,
                "deadline": ticket.wish.deadline,
                "late": late,
                "taken": taken,
                "misses": misses,
            }
            turn.effects.append(
                UrgentCallback(
                    self.member.session,
                    MISSED,
                    (told,),
                    urgency.preemption,
                    OrderType.RECEIVE,
                    urgency.key(turn.now),
                    urgency.sub,
                )
            )
        self.report(turn, name, sender, ticket.wish.deadline, late)

    def report(self, turn: Turn, class_name: str, sender: str, deadline: float, late: float) -> None:
        """To those who hear of it by the MOM."""
        mom_reports.report(
            Step(turn, self.federation, self.federation.rti),
            REPORT,
            HLAfederate=self.member.handle,
            WeftClass=class_name,
            WeftSender=sender,
            WeftDeadline=_microseconds(deadline),
            WeftLate=_microseconds(late),
            WeftMisses=self.missed.get(class_name, 0),
            WeftMissesInAll=sum(self.missed.values()),
        )

    def _name(self, source: FederateHandle | None) -> str:
        found = None if source is None else self.federation.members.get(source)
        return "" if found is None else found.name

    def _record(self, turn: Turn, kind: str, ticket: Ticket) -> None:
        recorder = self.federation.recorder
        if recorder is None:
            return
        urgency = ticket.wish.urgency
        callback_rows.dispatched(
            turn,
            recorder,
            self.member,
            kind,
            ticket.class_name,
            0 if ticket.source is None else ticket.source.number,
            urgency.preemption if urgency.preemption < LEAST_URGENT else UNSCHEDULED,
            urgency.sub,
            ticket.due,
            len(self.open),
        )

    # --- time -------------------------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        return self._timers.next_due()

    def tick(self, turn: Turn) -> None:
        if self._timers.is_due(turn.now):
            self._expire(turn)

    def _expire(self, turn: Turn) -> None:
        before, self._turn = self._turn, turn
        try:
            self._timers.expire(turn.now)
        finally:
            self._turn = before
        self._arm(turn)

    def _arm(self, turn: Turn) -> None:
        """Watchdogs and intervals: in a simulated network, time does not pass for their sake alone."""
        due = self._timers.next_due()
        if due is not None and (self._alarm <= turn.now or due < self._alarm):
            self._alarm = due
            turn.effects.append(Alarm(self.member.session, due, True))

    # --- as plain data ----------------------------------------------------------------------------------------

    def data(self) -> JsonObject:
        """What the federate has asked for.  Groups begin anew, and nothing is late."""
        return {
            "classes": [[_word(kind), kind.number, *wish.data()] for kind, wish in self.classes.items()],
            "groups": [[group.number, group.asked, group.singly] for group in self.groups.values()],
            "listens": self.listens,
        }

    def take_data(self, turn: Turn, data: dict[str, Any]) -> None:
        for word, number, urgency, deadline in data["classes"]:
            self.say(class_handle(word, number), Wish(urgency_from(urgency), deadline))
        for number, asked, singly in data["groups"]:
            self.correlate(turn, asked, singly, number)
        self.listens = data["listens"]


# --- who has QoS ----------------------------------------------------------------------------------------------


def begin(federation: Federation, member: Member, schedule: ClassSchedule) -> Qos:
    """From now on, what is for this member goes by its QoS."""
    found: Qos | None = member.qos
    if found is None:
        found = member.qos = Qos(federation, member, schedule)
        federation.qos.attended[member.handle] = found
        member.holds = True
        federation.changed()  # lanes to it end here
    return found


def concerns(schedule: ClassSchedule, federation: Federation, member: Member) -> bool:
    """Does the schedule say anything of what this member may receive?"""
    names = [*federation.catalog.interaction_class_names, *federation.catalog.object_class_names]
    return any(scheduled(schedule, member, name) is not None for name in names)


def scheduled(schedule: ClassSchedule, member: Member, name: str) -> Wish | None:
    for who in (f"{member.name}:", f"{member.kind}:", ""):
        end = name
        while end:
            found = schedule.get(who + end)
            if found is not None:
                return found
            end = end.partition(".")[2]
    return None


def left(federation: Federation, member: Member) -> None:
    federation.qos.attended.pop(member.handle, None)
    member.qos = None


def restored(step: Step, schedule: ClassSchedule) -> None:
    """The federation is another, made of a save: its members here have the QoS of then."""
    federation = step.federation
    for member in list(federation.members.values()):
        if member.node == step.node:
            asked = member.saved_qos
            if asked is not None or (schedule and concerns(schedule, federation, member)):
                made = begin(federation, member, schedule)
                if asked is not None:
                    made.take_data(step.turn, asked)
                    member.saved_qos = None


def next_due(federation: Federation) -> float | None:
    due: float | None = None
    for one in federation.qos.attended.values():
        soon = one.next_due()
        if soon is not None and (due is None or soon < due):
            due = soon
    return due


# --- small things ---------------------------------------------------------------------------------------------


def _word(kind: Handle) -> str:
    return "interaction" if isinstance(kind, InteractionClassHandle) else "object"


def urgency_from(data: Any) -> Urgency | None:
    """From [preemption priority, sub-priority, lead]."""
    return None if data is None else Urgency(data[0], data[1], data[2])


def _microseconds(seconds: float) -> int:
    return min(round(seconds * 1e6), (1 << 31) - 1)
