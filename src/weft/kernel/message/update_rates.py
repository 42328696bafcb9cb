"""Update rates: a subscriber that named a rate is handed no value of an attribute sooner than that after the last one.

Each subscriber is paced on its own, at its own node, for each instance and attribute:

* A value whose time has come is handed over at once.  One that comes too soon waits; the newest replaces what waits, so
  whatever was sent last always arrives, an interval after the one before at the latest.
* Attributes of one update that go out together stay one callback.  Those that waited come with the tag, producer and time
  stamp of the update they are from.
* What waits is given up when the instance is removed, or the subscriber unsubscribes or forgets the instance, not when regions
  move; it comes at once when the rate is taken back, and by the new rate when that is changed.

The kernel has no clock: an `Alarm` asks the host to call `Node.tick` by the time the first value is due.  Only legs with a
rate (`Route.paced`) lead here, so a federation that names no rate pays nothing for them.
"""

from __future__ import annotations

import heapq
from typing import Final

from weft.kernel.ddm.recipient import count, interval
from weft.kernel.recording import order_rows
from weft.kernel.state.effects import Alarm
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import Recipient, Update
from weft.kernel.state.rate_state import Held, Pace, Paces
from weft.kernel.state.step import Step
from weft.kernel.time import tso_queue
from weft.model.deliveries import Delivery
from weft.model.enums import OrderType
from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle

REPLACED: Final = "rate: a newer value came first"
UNSUBSCRIBED: Final = "rate: unsubscribed while it waited"
REMOVED: Final = "rate: the instance was removed while it waited"
FORGOTTEN: Final = "rate: it deleted the instance locally while it waited"
RESIGNED: Final = "rate: it resigned while it waited"
ACQUIRED: Final = "rate: it acquired the attribute while it waited"


def pace(step: Step, message: Update, recipients: list[Recipient], number: int) -> None:
    """An update goes to these, each with a rate; `number`: as callbacks have it."""
    federation = step.federation
    instance = federation.instances[message.instance]
    paces = _paces(federation)
    for recipient in recipients:
        member = recipient.member
        kept = paces.of.setdefault(member.handle, {}).setdefault(instance.handle, Pace())
        held = Held(message, recipient, number)
        ready = []
        passed: list[tuple[AttributeHandle, Held]] = []  # what waited and is replaced by this
        for attribute, seconds in zip(recipient.attributes or (), recipient.intervals, strict=True):
            if attribute in kept.held:
                passed.append((attribute, kept.held[attribute]))
            if attribute not in kept.last or step.now >= kept.last[attribute] + seconds:
                ready.append(attribute)
            else:
                message.own()
                kept.held[attribute] = held
        if passed and federation.recorder is not None:
            _record_end(step, instance, member, passed, "filter", REPLACED)
        if ready:
            delivery = _take(step, instance, kept, held, ready)
            if message.urgent:
                tso_queue.hand(step, member, delivery, OrderType.PRIORITY, message, number)
            else:
                tso_queue.hand_late(step, member, delivery, None, number)
        if kept.held:
            _arm(step, instance, member, kept)


def _record_end(
    step: Step,
    instance: Instance,
    member: Member,
    gone: list[tuple[AttributeHandle, Held]],
    kind: str,
    why: str,
) -> None:
    """Values that waited and that the member never gets, update by update."""
    federation = step.federation
    recorder = federation.recorder
    if recorder is None:
        return
    for update, attributes in _together(gone):
        rate = max([_rate_of(federation, instance, member, attribute) for attribute in attributes])
        order_rows.given_up(step, recorder, member, instance, update, attributes, kind, why, rate)


def _rate_of(federation: Federation, instance: Instance, member: Member, attribute: AttributeHandle) -> float:
    seconds = _interval_of(federation, instance, member, attribute)
    return 1.0 / seconds if seconds else 0.0


def _paces(federation: Federation) -> Paces:
    if federation.paces is None:
        federation.paces = Paces()
    return federation.paces


def _together(waiting: list[tuple[AttributeHandle, Held]]) -> list[tuple[Held, list[AttributeHandle]]]:
    """Attributes of one update stay together."""
    found: list[tuple[Held, list[AttributeHandle]]] = []
    for attribute, update in waiting:
        for other, attributes in found:
            if other is update:
                attributes.append(attribute)
                break
        else:
            found.append((update, [attribute]))
    return found


def _take(
    step: Step, instance: Instance, kept: Pace, update: Held, attributes: list[AttributeHandle]
) -> Delivery:
    """What of the update is handed over now."""
    for attribute in attributes:
        kept.last[attribute] = step.now
        kept.held.pop(attribute, None)
    asked = update.recipient
    recipient = Recipient(asked.member, None, tuple(attributes), asked.transportation, asked.regions)
    count(step.federation, update.message, recipient, instance)
    return update.message.delivery(recipient)


def _arm(step: Step, instance: Instance, member: Member, kept: Pace) -> None:
    """See to it that somebody looks when the first of what waits is due."""
    federation = step.federation
    due = min(kept.last[a] + _interval_of(federation, instance, member, a) for a in kept.held)
    if not kept.alarm or due < kept.alarm:
        kept.alarm = due
        heapq.heappush(_paces(federation).alarms, (due, member.handle, instance.handle))
        step.effects.append(Alarm(member.session, due))


def _interval_of(
    federation: Federation, instance: Instance, member: Member, attribute: AttributeHandle
) -> float:
    """By the fastest of its subscriptions, wherever their regions are by now."""
    known_class = federation.known_class(member, instance)
    if known_class is None:
        return 0.0
    found = [
        interval(federation, wish.rate)
        for wanted, _, wish in member.declared.all_wishes(known_class)
        if wanted == attribute
    ]
    return min(found, default=0.0)


# --- as time passes -------------------------------------------------------------------------------------------


def next_due(federation: Federation) -> float | None:
    paces = federation.paces
    if paces is None:
        return None
    alarms = paces.alarms
    while alarms and not _still_meant(paces, alarms[0]):
        heapq.heappop(alarms)
    return alarms[0][0] if alarms else None


def _still_meant(paces: Paces, alarm: tuple[float, FederateHandle, ObjectInstanceHandle]) -> bool:
    when, federate, instance = alarm
    kept = paces.of.get(federate, {}).get(instance)
    return kept is not None and kept.alarm == when


def release(step: Step) -> None:
    """Hand over what is due by now."""
    federation = step.federation
    due = next_due(federation)
    while due is not None and due <= step.now:
        paces = _paces(federation)
        _, federate, handle = heapq.heappop(paces.alarms)
        kept = paces.of[federate][handle]
        kept.alarm = 0.0
        _release(step, federation.instances[handle], federation.members[federate], kept)
        due = next_due(federation)


def _release(step: Step, instance: Instance, member: Member, kept: Pace) -> None:
    federation = step.federation
    own = [(a, kept.held.pop(a)) for a in list(kept.held) if instance.owners.get(a) is member]
    if own and federation.recorder is not None:
        _record_end(step, instance, member, own, "drop", ACQUIRED)
    due = [
        (attribute, update)
        for attribute, update in kept.held.items()
        if step.now >= kept.last[attribute] + _interval_of(federation, instance, member, attribute)
    ]
    for update, attributes in _together(due):
        delivery = _take(step, instance, kept, update, attributes)
        tso_queue.hand_late(step, member, delivery, None, update.number)
    if kept.held:
        _arm(step, instance, member, kept)


# --- as the federation changes --------------------------------------------------------------------------------


def redeclared(step: Step) -> None:
    """The member's subscriptions have changed: what it no longer wants is given up, what is due now is handed over."""
    federation = step.federation
    member = step.member
    if federation.paces is None or member.handle not in federation.paces.of:
        return
    for handle, kept in list(federation.paces.of[member.handle].items()):
        instance = federation.instances[handle]
        known_class = federation.known_class(member, instance)
        wanted = [] if known_class is None else [a for a, _, _ in member.declared.all_wishes(known_class)]
        gone = [(a, kept.held.pop(a)) for a in list(kept.held) if a not in wanted]
        if gone and federation.recorder is not None:
            _record_end(step, instance, member, gone, "drop", UNSUBSCRIBED)
        kept.alarm = 0.0
        _release(step, instance, member, kept)


def forget_instance(step: Step, instance: Instance) -> None:
    """It is removed."""
    federation = step.federation
    if federation.paces is not None:
        for who in list(federation.paces.of):
            member = federation.members.get(who)
            if member is not None:
                give_up(step, member, REMOVED, instance.handle)
            federation.paces.of[who].pop(instance.handle, None)


def forget(step: Step, member: Member, why: str, handle: ObjectInstanceHandle | None = None) -> None:
    """The member has forgotten this instance, or leaves."""
    federation = step.federation
    if federation.paces is not None:
        give_up(step, member, why, handle)
        if handle is None:
            federation.paces.of.pop(member.handle, None)
        else:
            federation.paces.of.get(member.handle, {}).pop(handle, None)


def give_up(step: Step, member: Member, why: str, handle: ObjectInstanceHandle | None = None) -> None:
    """For the record: what waits for the member, of that instance or of all, is never handed to it."""
    federation = step.federation
    if federation.recorder is None or federation.paces is None:
        return
    paces = federation.paces.of.get(member.handle, {})
    for known, kept in paces.items():
        if kept.held and (handle is None or known == handle):
            gone = list(kept.held.items())
            _record_end(step, federation.instances[known], member, gone, "drop", why)
