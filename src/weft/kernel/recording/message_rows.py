"""What of a node's doings is recorded, and where (docs/recording.md).

    send, arrive    where a message begins its way at a node: `message.pipeline`, `message.causal_order`,
                    `message.deliver_as_of`.  If it is handed on as it is, the deliveries are entered with it, as one shape;
                    that is found once for all messages that are alike
    hold, release   where a message begins to wait (`time.tso_queue`, `message.causal_order`), and where that ends
    deliver, grant  at the end of a turn, from the callbacks that come of it (`given`)
    call, declare   where a call has been carried out, at the node of its federate (`called`)

A message is named by its source and its number among all messages of that source.  Messages of the RTI itself come from several
nodes; their numbers begin elsewhere at each.

Without a recorder (`Federation.recorder` is None) all this is one test for each message.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

from weft._build import mypyc_attr
from weft.kernel.recording.row_shapes import (
    first_of,
    interaction_bounds,
    interaction_place,
    interaction_rows,
    is_stamped,
    known,
    order_of,
    sent_items,
    transport_of,
    update_bounds,
    update_place,
    update_rows,
    with_cells,
    with_way,
)
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Audience, Federation, Instance, Member, Route
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.recording import NO_OBJECT, Pattern, Recorder

if TYPE_CHECKING:
    from weft.fom.catalog import InteractionClassEntry

_OWN_NUMBERS: Final = 31  # bits for the numbers of the RTI's messages at one node


@mypyc_attr(allow_interpreted_subclasses=True)
class Recordings:
    """Whoever keeps the books of a node (`weft.host.recording.recording`), which is not compiled."""

    def begin(self, federation: Federation, node: str) -> Recorder | None:
        """A federation has come to this node; None: it is not to be recorded."""
        raise NotImplementedError

    def end(self, federation: Federation) -> None:
        """It is not here any more."""
        raise NotImplementedError


def next_number(step: Step) -> int:
    """Of a message that is about to be sent."""
    member = step.member
    timing = member.timing
    timing.sent += 1
    if member is step.federation.rti:
        return timing.sent + ((zlib.crc32(step.node.encode()) & 0x3FFFFFFF) << _OWN_NUMBERS)
    return timing.sent


def number_of(retraction: bytes) -> int:
    return int.from_bytes(retraction[4:], "big")


def number_for(step: Step, stamp: tuple[Any, ...]) -> int:
    """The same where it may have been stamped already, which gives it one."""
    if stamp and stamp[3] is not None:
        return number_of(stamp[3])
    return next_number(step)


def carried(number: int, stamp: tuple[Any, ...]) -> int:
    """What a parcel says of the number: nothing, if it is in the stamp."""
    return 0 if stamp and stamp[3] is not None else number


def arrived(number: int, stamp: tuple[Any, ...]) -> int:
    """The number of a message that came in a parcel."""
    return number_of(stamp[3]) if stamp and stamp[3] is not None else number


MESSAGES: Final = frozenset(
    ["receive_interaction", "reflect_attribute_values", "receive_directed_interaction"]
)


def message_of(callback: Callback) -> tuple[int, int]:
    """Source and number of the message that a callback brings; (0, 0): it is none."""
    if callback.method not in MESSAGES:
        return 0, 0
    arguments = callback.arguments
    producer = arguments[5 if callback.method == "receive_directed_interaction" else 4]
    number = abs(callback.number)
    if len(arguments) > 6 and arguments[-1] is not None:
        number = number_of(arguments[-1])
    return (producer.number, number) if number else (0, 0)


def cause_of(member: Member) -> tuple[int, int]:
    """The message that the member is handling just now, as far as its node can tell."""
    handling = member.handling
    if handling is None or handling.handled:
        return member.cause_source, member.cause
    return message_of(handling)


# --- the usual ways -------------------------------------------------------------------------------------------


def _is_straight(step: Step, holding: bool, stamp: tuple[Any, ...]) -> bool:
    """Is it handed on as it is?  While callbacks may be held back, nothing is taken for delivered before the end of the turn."""
    federation = step.federation
    if holding or federation.saving is not None or federation.restoring is not None:
        return False
    return not stamp or not is_stamped(stamp)


def _are_keys(items: tuple[Any, ...], values: dict[Any, bytes]) -> bool:
    """In this order, and the very same objects: a federate that keeps its handles is spared a tuple and its hash."""
    if len(items) != len(values):
        return False
    for place, key in enumerate(values):  # noqa: SIM110 - compiled, a loop makes no generator
        if key is not items[place]:
            return False
    return True


def interaction(
    step: Step,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
    number: int,
) -> bool:
    """It is sent, or has arrived; True if its deliveries are entered with it."""
    try:
        return _interaction_rows(step, recorder, sender, entry, audience, values, tag, stamp, number)
    except Exception as error:
        recorder.fail(error)
        return True  # nor are its deliveries recorded


def _interaction_rows(
    step: Step,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
    number: int,
) -> bool:
    turn = step.turn
    straight = _is_straight(step, audience.holding, stamp)
    usual = straight and not turn.urgent
    shape = -1
    if usual and isinstance(values, dict) and _are_keys(audience.latest_items, values):
        shape = audience.latest
    if shape < recorder.first:
        items = sent_items(values)
        key: Any = items if usual else (items, straight, order_of(turn, stamp))
        shape = audience.shapes.get(key, -1)
        if shape < recorder.first:
            order = order_of(turn, stamp)
            rows = interaction_rows(step, sender, entry, audience, items, order, straight)
            shape = audience.shapes[key] = known(recorder, rows)
        if usual:
            audience.latest = shape
            audience.latest_items = items
    more: dict[str, Any] | None = None
    if audience.at is not None:
        more = interaction_place(step.federation, entry, audience.at, sender.node == step.node)
    enter(turn, recorder, shape, number, NO_OBJECT, sender, stamp, values, tag, 0, more)
    return straight


def update(
    step: Step,
    recorder: Recorder,
    sender: Member,
    instance: Instance,
    route: Route,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
    number: int,
) -> bool:
    """The same for updates; a route is that of certain attributes."""
    try:
        return _update_rows(step, recorder, sender, instance, route, values, tag, stamp, number)
    except Exception as error:
        recorder.fail(error)
        return True  # nor are its deliveries recorded


def _update_rows(
    step: Step,
    recorder: Recorder,
    sender: Member,
    instance: Instance,
    route: Route,
    values: Any,
    tag: bytes,
    stamp: tuple[Any, ...],
    number: int,
) -> bool:
    turn = step.turn
    straight = _is_straight(step, route.holding or len(route.paced) > 0, stamp)
    usual = straight and not turn.urgent
    shape = route.shape if usual else -1
    if shape < recorder.first:
        order = order_of(turn, stamp)
        rows = update_rows(step, sender, instance, route, sent_items(values), order, straight)
        shape = known(recorder, rows)
        if usual:
            route.shape = shape
    more: dict[str, Any] | None = None
    if route.where is not None:
        more = update_place(
            step.federation, instance, route.where, sent_items(values), sender.node == step.node
        )
    enter(turn, recorder, shape, number, instance.number, sender, stamp, values, tag, 0, more)
    return straight


def enter(
    turn: Turn,
    recorder: Recorder,
    shape: int,
    number: int,
    instance: int,
    sender: Member,
    stamp: tuple[Any, ...],
    values: Any,
    tag: bytes,
    control: int,
    more: dict[str, Any] | None,
) -> None:
    """What was sent here has a cause and values; of what has arrived, its sender's node has written them."""
    cause_source = 0
    cause = 0
    if sender.node == turn.node:
        recorder.enter(shape, turn.now, number, instance, values, tag)
        if sender.cause or sender.handling is not None:
            cause_source, cause = cause_of(sender)
    else:
        recorder.enter(shape, turn.now, number, instance, None, b"")
    if cause or stamp or control or more is not None:
        recorder.add(cause_source, cause, stamp[0].value if stamp else None, control, more)


def note(
    turn: Turn,
    recorder: Recorder,
    row: Pattern,
    number: int = 0,
    time: Any = None,
    thing: int = NO_OBJECT,
    more: dict[str, Any] | None = None,
    member: Member | None = None,
) -> None:
    """One row of its own; `member`: whose call it is, which has a cause."""
    recorder.enter(known(recorder, (row,)), turn.now, number, thing, None, b"")
    cause_source, cause = (0, 0) if member is None else cause_of(member)
    if cause or time is not None or more is not None:
        recorder.add(cause_source, cause, time, 0, more)


# --- lanes ----------------------------------------------------------------------------------------------------


def interaction_shape(
    step: Step,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    audience: Audience,
    handles: list[Any],
) -> int:
    """Of interactions that take a lane."""
    return known(recorder, interaction_rows(step, sender, entry, audience, tuple(handles), "RO", True))


def update_shape(
    step: Step,
    recorder: Recorder,
    sender: Member,
    instance: Instance,
    route: Route,
    handles: list[Any],
) -> int:
    """Of updates that take a lane."""
    return known(recorder, update_rows(step, sender, instance, route, tuple(handles), "RO", True))


# --- other ways -----------------------------------------------------------------------------------------------


def directed(
    step: Step,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    message: tuple[Any, ...],
    destinations: list[int] | None,
    number: int,
) -> None:
    """A directed interaction is sent, or has arrived."""
    try:
        _directed_rows(step, recorder, sender, entry, message, destinations, number)
    except Exception as error:
        recorder.fail(error)


def _directed_rows(
    step: Step,
    recorder: Recorder,
    sender: Member,
    entry: InteractionClassEntry,
    message: tuple[Any, ...],
    destinations: list[int] | None,
    number: int,
) -> None:
    turn = step.turn
    _, instance, values, tag, transportation, stamp = message
    names = tuple([entry.parameters[item].name for item in values])
    transport = transport_of(step.federation, transportation)
    order = order_of(turn, stamp)
    first = first_of(turn, "send_directed_interaction", sender, entry.name, names, order, transport)
    shape = known(recorder, (with_way(first, destinations, ()),))
    enter(turn, recorder, shape, number, instance.number, sender, stamp, values, tag, 0, None)


def stamped(
    step: Step,
    sender: Member,
    target: Any,
    values: Any,
    tag: bytes,
    transportation: Any,
    where: Any,
    stamp: tuple[Any, ...],
    destinations: list[int] | None,
    cells: tuple[int, ...] = (),
) -> None:
    """In time stamp order and by regions (`message.deliver_as_of`): `where` as of its time, `cells` of its distribution lists."""
    recorder = step.federation.recorder
    if recorder is None:
        return
    try:
        _stamped_rows(
            step,
            recorder,
            sender,
            target,
            values,
            tag,
            transportation,
            where,
            stamp,
            destinations,
            cells,
        )
    except Exception as error:
        recorder.fail(error)


def _stamped_rows(
    step: Step,
    recorder: Recorder,
    sender: Member,
    target: Any,
    values: Any,
    tag: bytes,
    transportation: Any,
    where: Any,
    stamp: tuple[Any, ...],
    destinations: list[int] | None,
    cells: tuple[int, ...] = (),
) -> None:
    turn = step.turn
    federation = step.federation
    order = order_of(turn, stamp)
    items = sent_items(values)
    more: dict[str, Any] | None = None
    thing = NO_OBJECT
    if transportation is not None:
        entry = federation.catalog.interaction_classes[target]
        names = tuple([entry.parameters[item].name for item in items])
        transport = transport_of(federation, transportation)
        first = first_of(turn, "send_interaction", sender, entry.name, names, order, transport)
        if where is not None:
            more = interaction_bounds(federation, entry, where)
    else:
        instance = federation.instances[target]
        thing = target.number
        names = tuple([instance.entry.attributes[item].name for item in items])
        kind = instance.entry.name
        first = first_of(turn, "update_attribute_values", sender, kind, names, order, "reliable")
        if where is not None:
            more = update_bounds(federation, instance, where, items)
    if cells:
        more = with_cells({} if more is None else more, cells)
    shape = known(recorder, (with_way(first, destinations, ()),))
    enter(turn, recorder, shape, number_of(stamp[3]), thing, sender, stamp, values, tag, 0, more)
