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
from typing import Any, Final

from weft.kernel.recording import order_rows
from weft.kernel.state.effects import Alarm, Callback
from weft.kernel.state.federation import Federation, Instance, Leg, Member, add
from weft.kernel.state.rate_state import Held, Pace, Paces
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.handles import AttributeHandle, FederateHandle, ObjectInstanceHandle

REPLACED: Final = "rate: a newer value came first"
UNSUBSCRIBED: Final = "rate: unsubscribed while it waited"


def interval(federation: Federation, rate: str) -> float:
    """Seconds between two values; 0 for every update."""
    return 1.0 / federation.catalog.model.update_rates[rate] if rate else 0.0


def part_of(values: Any, attributes: tuple[AttributeHandle, ...]) -> Any:
    """Of a dict always another one: the receiver may change it."""
    if isinstance(values, dict):
        return {a: values[a] for a in attributes}
    return values if len(values.handles) == len(attributes) else values.subset(attributes)


def pace(
    step: Step,
    instance: Instance,
    legs: list[Leg],
    sender: Member,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    """An update goes these ways, each with a rate."""
    turn = step.turn
    federation = step.federation
    paces = _paces(federation)
    for leg in legs:
        member = leg.member
        kept = paces.of.setdefault(member.handle, {}).setdefault(instance.handle, Pace())
        held = Held(values, tag, leg.transportation, sender.handle, stamp, leg.regions, turn.number)
        ready = []
        passed: list[tuple[AttributeHandle, Held]] = []  # what waited and is replaced by this
        for attribute, seconds in zip(leg.attributes or (), leg.intervals, strict=True):
            if attribute not in kept.last or step.now >= kept.last[attribute] + seconds:
                ready.append(attribute)
                if attribute in kept.held:
                    passed.append((attribute, kept.held[attribute]))
            else:
                if attribute in kept.held:
                    passed.append((attribute, kept.held[attribute]))
                if held.values is values and isinstance(values, dict):
                    held.values = dict(values)  # the caller may go on to change its own
                kept.held[attribute] = held
        if passed and federation.recorder is not None:
            _record_end(step, instance, member, passed, "filter", REPLACED)
        if ready:
            _hand_over(turn, instance, member, kept, held, ready)
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
    together: list[tuple[Held, list[AttributeHandle]]] = []
    for attribute, update in gone:
        for other, attributes in together:
            if other is update:
                attributes.append(attribute)
                break
        else:
            together.append((update, [attribute]))
    for update, attributes in together:
        rate = max([_rate_of(federation, instance, member, attribute) for attribute in attributes])
        order_rows.given_up(step, recorder, member, instance, update, attributes, kind, why, rate)


def _rate_of(federation: Federation, instance: Instance, member: Member, attribute: AttributeHandle) -> float:
    seconds = _interval_of(federation, instance, member, attribute)
    return 1.0 / seconds if seconds else 0.0


def _paces(federation: Federation) -> Paces:
    if federation.paces is None:
        federation.paces = Paces()
    return federation.paces


def _hand_over(
    turn: Turn,
    instance: Instance,
    member: Member,
    kept: Pace,
    update: Held,
    attributes: list[AttributeHandle],
) -> None:
    for attribute in attributes:
        kept.last[attribute] = turn.now
        kept.held.pop(attribute, None)
    values = part_of(update.values, tuple(attributes))
    add(member.tally.reflections_received, instance.entry.handle, update.transportation)
    instance.reflected |= member.bit
    arguments = (
        instance.handle,
        values,
        update.tag,
        update.transportation,
        update.producer,
        update.regions,
        *update.stamp,
    )
    if member.timing.is_holding():
        member.timing.held.append(("reflect_attribute_values", arguments, update.number))
    elif member.qos is None:
        turn.effects.append(Callback(member.session, "reflect_attribute_values", arguments, update.number))
    else:
        member.qos.issue(turn, "reflect_attribute_values", arguments, None, update.number)


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
    turn = step.turn
    federation = step.federation
    together: list[tuple[Held, list[AttributeHandle]]] = []
    for attribute in [a for a in kept.held if instance.owners.get(a) is member]:
        del kept.held[attribute]  # it has become its own
    for attribute, update in kept.held.items():
        if step.now < kept.last[attribute] + _interval_of(federation, instance, member, attribute):
            continue
        for other, attributes in together:
            if other is update:
                attributes.append(attribute)
                break
        else:
            together.append((update, [attribute]))
    for update, attributes in together:
        _hand_over(turn, instance, member, kept, update, attributes)
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


def forget_instance(federation: Federation, handle: ObjectInstanceHandle) -> None:
    if federation.paces is not None:
        for paces in federation.paces.of.values():
            paces.pop(handle, None)


def forget(federation: Federation, member: Member, handle: ObjectInstanceHandle | None = None) -> None:
    """The member has forgotten this instance, or has left."""
    if federation.paces is not None:
        if handle is None:
            federation.paces.of.pop(member.handle, None)
        else:
            federation.paces.of.get(member.handle, {}).pop(handle, None)
