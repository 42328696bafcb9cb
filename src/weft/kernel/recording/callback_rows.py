"""What federates here are told, as rows (`recording.message_rows` has messages on their way)."""

from __future__ import annotations

from typing import Any, Final

from weft.kernel.recording.message_rows import MESSAGES, note, number_of
from weft.kernel.recording.order_rows import callback_items
from weft.kernel.recording.row_shapes import delivery, plain, sent_items, transport_of
from weft.kernel.state.effects import Callback, UrgentCallback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import FederateHandle, ObjectInstanceHandle
from weft.model.recording import NO_OBJECT, Pattern, Recorder

GRANTS: Final = frozenset(
    ["time_advance_grant", "flush_queue_grant", "time_regulation_enabled", "time_constrained_enabled"]
)


def given(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    """A callback is handed to a federate here."""
    try:
        _given_rows(step, recorder, member, effect)
    except Exception as error:
        recorder.fail(error)


def _given_rows(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    turn = step.turn
    method = effect.method
    if method in MESSAGES:
        _delivered(step, recorder, member, effect)
    elif method in GRANTS:
        _granted(turn, recorder, member, effect)
    elif method == "request_retraction":
        retraction = effect.arguments[0]
        row = plain("retract", method, member, ("source", FederateHandle(retraction[:4]).number))
        note(turn, recorder, row, number_of(retraction))
    elif method == "remove_object_instance" and effect.number > 0:
        _removed(step, recorder, member, effect)
    else:
        _told(step, recorder, member, effect)


def _delivered(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    federation = step.federation
    method, arguments = effect.method, effect.arguments
    directed = method == "receive_directed_interaction"
    producer = arguments[5 if directed else 4]
    number = effect.number
    time: Any = None
    order = "RO"
    if isinstance(effect, UrgentCallback) and effect.order is OrderType.PRIORITY:
        order = "PO"
    if len(arguments) > 6:
        time = arguments[-4].value
        if arguments[-1] is not None:
            number = number_of(arguments[-1])
        if arguments[-2] is OrderType.TIMESTAMP:
            order = "TSO"
    values = arguments[2 if directed else 1]
    key = (
        member.handle,
        method,
        _kind_of(federation, method, arguments),
        producer,
        order,
        sent_items(values),
    )
    shape = recorder.shapes.get(key, -1)
    if shape < recorder.first:
        name, items, _, transportation = callback_items(federation, method, arguments)
        transport = transport_of(federation, transportation)
        source = producer.number
        rows = [delivery("deliver", method, member, source, name, items, order, transport)]
        if order == "TSO":
            rows.insert(0, delivery("release", method, member, source, name, items, order, transport))
        shape = recorder.learn(key, tuple(rows))
    if method == "receive_interaction":
        thing = NO_OBJECT
    else:
        thing = arguments[1 if directed else 0].number
    recorder.enter(shape, step.now, number, thing, None, b"")
    if time is not None:
        recorder.add(0, 0, time, 0, None)


def _removed(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    """A deletion in causal or total order is a message: whoever looks for its delivery finds it."""
    name, items, thing, _ = callback_items(step.federation, effect.method, effect.arguments)
    producer = effect.arguments[2]
    row = delivery("deliver", effect.method, member, producer.number, name, items, "RO", "reliable")
    note(step.turn, recorder, row, effect.number, thing=thing)


def _kind_of(federation: Federation, method: str, arguments: tuple[Any, ...]) -> Any:
    """What tells the shapes of callbacks apart: class and transportation."""
    if method == "reflect_attribute_values":
        of = federation.class_of(arguments[0])
        return (None if of is None else of.handle), arguments[3]
    return arguments[0], arguments[4 if method == "receive_directed_interaction" else 3]


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
    try:
        _dispatched_rows(
            turn, recorder, member, kind, class_name, source, priority, sub_priority, due, waiting
        )
    except Exception as error:
        recorder.fail(error)


def _dispatched_rows(
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
    time = effect.arguments[0].value
    more = lookahead(timing.lookahead_from(time)) if timing.regulating else None
    note(turn, recorder, plain("grant", effect.method, member), time=time, more=more)


def lookahead(value: Any) -> dict[str, Any]:
    return {"lookahead_float" if isinstance(value, float) else "lookahead_int": value}


def _told(step: Step, recorder: Recorder, member: Member, effect: Callback) -> None:
    """Any other callback."""
    federation = step.federation
    arguments = effect.arguments
    thing = NO_OBJECT
    row = plain("callback", effect.method, member)
    more: dict[str, Any] | None = None
    if arguments and isinstance(arguments[0], ObjectInstanceHandle):
        thing = arguments[0].number
        instance = federation.instances.get(arguments[0])
        of = federation.class_of(arguments[0])
        if of is not None:
            row = (*row, ("class", of.name))
        if instance is not None and effect.method == "discover_object_instance":
            more = {"object_name": instance.name}
    note(step.turn, recorder, row, thing=thing, more=more)
