"""What federates here are told, as rows (`recording.message_rows` has messages on their way)."""

from __future__ import annotations

from typing import Final

from weft.kernel.recording.message_rows import note
from weft.kernel.recording.row_shapes import names_of, plain, transport_of, what
from weft.kernel.state.effects import Callback, UrgentCallback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.deliveries import (
    AttributeValues,
    DeliveredDirectedInteraction,
    DeliveredInteraction,
    Delivery,
    ParameterValues,
    Reflection,
    Removal,
    checked,
    message_number,
)
from weft.model.enums import OrderType
from weft.model.handles import (
    FederateHandle,
    Handle,
    MessageRetractionHandle,
    ObjectInstanceHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues
from weft.model.recording import NO_OBJECT, Pattern, Recorder
from weft.model.time import HLAfloat64Time, HLAinteger64Time

GRANTS: Final = frozenset(
    ["time_advance_grant", "flush_queue_grant", "time_regulation_enabled", "time_constrained_enabled"]
)


def given(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    """A callback is handed to a federate here."""
    with recorder:
        delivery = effect.delivery
        if isinstance(delivery, Removal):
            if effect.number > 0:
                _removed(step, recorder, member, delivery, effect.number)
            else:
                _told(step, recorder, member, effect)
        elif delivery is not None:
            _delivered(step, recorder, member, effect, delivery)
        elif effect.method in GRANTS:
            _granted(step.turn, recorder, member, effect)
        elif effect.method == "request_retraction":
            retraction = checked(MessageRetractionHandle, effect.arguments[0])
            source = ("source", FederateHandle(retraction[:4]).number)
            row = plain("retract", effect.method, member, source)
            note(step.turn, recorder, row, message_number(retraction))
        else:
            _told(step, recorder, member, effect)


def _delivered(step: Step, recorder: Recorder, member: Member, effect: Callback, delivery: Delivery) -> None:
    federation = step.federation
    number = effect.number
    time: int | float | None = None
    order = "RO"
    if isinstance(effect, UrgentCallback) and effect.order is OrderType.PRIORITY:
        order = "PO"
    stamp = delivery.stamp
    if stamp is not None:
        time = stamp.time.value
        if stamp.retraction is not None:
            number = message_number(stamp.retraction)
        if stamp.received is OrderType.TIMESTAMP:
            order = "TSO"
    key = (member.handle, delivery.method, *_kind_of(federation, delivery), delivery.producer, order)
    shape = recorder.shapes.get(key, -1)
    if shape < recorder.first:
        name, items, _ = names_of(federation, delivery)
        transport = transport_of(federation, _transportation_of(delivery))
        message = what(delivery.producer.number, name, items, order, transport)
        rows = [plain("deliver", delivery.method, member, *message)]
        if order == "TSO":
            rows.insert(0, plain("release", delivery.method, member, *message))
        shape = recorder.learn(key, tuple(rows))
    about = delivery.object_instance()
    thing = NO_OBJECT if about is None else about.number
    recorder.enter(shape, step.now, number, thing, None, b"")
    if time is not None:
        recorder.add(0, 0, time, 0, None)


def _removed(step: Step, recorder: Recorder, member: Member, removal: Removal, number: int) -> None:
    """A deletion in causal or total order is a message: whoever looks for its delivery finds it."""
    name, items, thing = names_of(step.federation, removal)
    message = what(removal.producer.number, name, items, "RO", "reliable")
    row = plain("deliver", removal.method, member, *message)
    note(step.turn, recorder, row, number, thing=thing)


def _transportation_of(delivery: Delivery) -> TransportationTypeHandle:
    if isinstance(delivery, (DeliveredInteraction, DeliveredDirectedInteraction, Reflection)):
        return delivery.transportation
    raise TypeError(f"{delivery!r} has no transportation")


def _kind_of(federation: Federation, delivery: Delivery) -> tuple[object, ...]:
    """What tells the shapes of callbacks apart: class, transportation and items."""
    if isinstance(delivery, Reflection):
        of = federation.class_of(delivery.instance)
        return (None if of is None else of.handle), delivery.transportation, *_items(delivery.values)
    if isinstance(delivery, (DeliveredInteraction, DeliveredDirectedInteraction)):
        return delivery.interaction_class, delivery.transportation, *_items(delivery.values)
    return ()


def _items(values: ParameterValues | AttributeValues) -> tuple[Handle, ...]:
    return tuple(values.handles) if isinstance(values, PackedValues) else tuple(values)


UNSCHEDULED: Final = 255  # of the row schema: nobody has said how urgent it is


def dispatched(
    turn: Turn,
    recorder: Recorder,
    member: Member,
    kind: str,
    class_name: str,
    source: int,
    priority: int,
    sub_priority: int,
    due: float,
    waiting: int,
) -> None:
    """What a federate did with a callback that has a deadline (`qos.consumers`)."""
    with recorder:
        row: Pattern = (
            ("kind", kind),
            ("federate", member.handle.number),
            ("name", member.name),
            ("source", source),
            ("class", class_name),
            ("operation", f"{member.name}:{class_name}"),
            ("priority", priority),
            ("sub_priority", sub_priority),
        )
        note(turn, recorder, row, more={"deadline_ns": round(due * 1e9), "queue": waiting})


def _granted(turn: Turn, recorder: Recorder, member: Member, effect: Callback) -> None:
    timing = member.timing
    granted = effect.arguments[0]
    assert isinstance(granted, (HLAinteger64Time, HLAfloat64Time))
    time = granted.value
    more = lookahead(timing.lookahead_from(time)) if timing.regulating else None
    note(turn, recorder, plain("grant", effect.method, member), time=time, more=more)


def lookahead(value: int | float) -> dict[str, object]:
    return {"lookahead_float" if isinstance(value, float) else "lookahead_int": value}


def _told(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    """Any other callback."""
    federation = step.federation
    arguments = effect.arguments
    thing = NO_OBJECT
    row = plain("callback", effect.method, member)
    more: dict[str, object] | None = None
    if arguments and isinstance(arguments[0], ObjectInstanceHandle):
        thing = arguments[0].number
        instance = federation.instances.get(arguments[0])
        of = federation.class_of(arguments[0])
        if of is not None:
            row = (*row, ("class", of.name))
        if instance is not None and effect.method == "discover_object_instance":
            more = {"object_name": instance.name}
    note(step.turn, recorder, row, thing=thing, more=more)
