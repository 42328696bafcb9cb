"""What of a node's doings is recorded, and where (docs/how-to/recording.md).

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
from typing import Final, Protocol

from weft.kernel.recording.row_shapes import (
    first_of,
    interaction_rows,
    known,
    names_of,
    order_of,
    place_of,
    transport_of,
    update_rows,
    with_cells,
    with_way,
)
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.messages import DirectedInteraction, Interaction, Message, Update
from weft.kernel.state.recipients import Items, Recipients
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.deliveries import AttributeValues, ParameterValues, Removal, message_number
from weft.model.packed import PackedValues
from weft.model.recording import NO_OBJECT, Pattern, Recorder

_OWN_NUMBERS: Final = 31  # bits for the numbers of the RTI's messages at one node


class Recordings(Protocol):
    """Whoever keeps the books of a node (`weft.host.recording.recording`), which is not compiled."""

    def begin(self, federation: Federation, node: str) -> Recorder | None:
        """A federation has come to this node; None: it is not to be recorded."""

    def end(self, federation: Federation) -> None:
        """It is not here any more."""


def next_number(step: Step) -> int:
    """Of a message that is about to be sent."""
    member = step.member
    timing = member.timing
    timing.sent += 1
    if member is step.federation.rti:
        return timing.sent + ((zlib.crc32(step.node.encode()) & 0x3FFFFFFF) << _OWN_NUMBERS)
    return timing.sent


def message_of(callback: Callback) -> tuple[int, int]:
    """Source and number of the message that a callback brings; (0, 0): it is none."""
    delivery = callback.delivery
    if delivery is None or isinstance(delivery, Removal):
        return 0, 0
    number = abs(callback.number)
    stamp = delivery.stamp
    if stamp is not None and stamp.retraction is not None:
        number = message_number(stamp.retraction)
    return (delivery.producer.number, number) if number else (0, 0)


def cause_of(member: Member) -> tuple[int, int]:
    """The message that the member is handling just now, as far as its node can tell."""
    handling = member.handling
    if handling is None or handling.handled:
        return member.cause_source, member.cause
    return message_of(handling)


# --- the way of a message -----------------------------------------------------------------------------------------


def passes(step: Step, recorder: Recorder, message: Message, recipients: Recipients) -> bool:
    """It is sent, or has arrived, and goes to these; True if its deliveries are entered with it."""
    try:
        if isinstance(message, Update):
            return _update(step, recorder, message, recipients)
        if isinstance(message, Interaction):
            return _interaction(step, recorder, message, recipients)
        if isinstance(message, DirectedInteraction):
            _directed(step, recorder, message, recipients)
        return False
    except Exception as error:
        recorder.fail(error)
        return True  # nor are its deliveries recorded


def _is_straight(step: Step, message: Message, holding: bool) -> bool:
    """Is it handed on as it is?  While callbacks may be held back, nothing is taken for delivered before the end of the turn."""
    federation = step.federation
    if holding or federation.saves.saving is not None or federation.saves.restoring is not None:
        return False
    return not message.in_time_stamp_order()


def _are_keys(items: Items, values: ParameterValues) -> bool:
    """In this order, and the very same objects: a federate that keeps its handles is spared a tuple and its hash."""
    if isinstance(values, PackedValues) or len(items) != len(values):
        return False
    for place, key in enumerate(values):  # noqa: SIM110 - compiled, a loop makes no generator
        if key is not items[place]:
            return False
    return True


def _interaction(step: Step, recorder: Recorder, message: Interaction, recipients: Recipients) -> bool:
    straight = _is_straight(step, message, recipients.holding)
    usual = straight and not message.urgent
    shape = recipients.shape if usual and _are_keys(recipients.items, message.values) else -1
    if shape < recorder.first:
        items = tuple(message.parameters())
        order = order_of(message)
        key = (items, straight, order)
        shape = recipients.shapes.get(key, -1)
        if shape < recorder.first:
            entry = step.federation.catalog.interaction_classes[message.interaction_class]
            rows = interaction_rows(step, entry, recipients, items, order, straight)
            shape = recipients.shapes[key] = known(recorder, rows)
        if usual:
            recipients.shape, recipients.items = shape, items
    more: dict[str, object] | None = None
    if message.at is not None:
        more = place_of(step.federation, message, recipients.sender.node == step.node)
    enter_message(step, recorder, shape, NO_OBJECT, recipients.sender, message, message.values, 0, more)
    return straight


def _update(step: Step, recorder: Recorder, message: Update, recipients: Recipients) -> bool:
    """Recipients are those of certain attributes."""
    instance = step.federation.instances[message.instance]
    straight = _is_straight(step, message, recipients.holding or len(recipients.paced) > 0)
    usual = straight and not message.urgent
    shape = recipients.shape if usual else -1
    if shape < recorder.first:
        items = tuple(message.attributes())
        rows = update_rows(step, instance.entry, recipients, items, order_of(message), straight)
        shape = known(recorder, rows)
        if usual:
            recipients.shape = shape
    more: dict[str, object] | None = None
    if message.where is not None:
        more = place_of(step.federation, message, recipients.sender.node == step.node)
    enter_message(step, recorder, shape, instance.number, recipients.sender, message, message.values, 0, more)
    return straight


def _directed(step: Step, recorder: Recorder, message: DirectedInteraction, recipients: Recipients) -> None:
    """Its deliveries are entered one by one: who gets it is found for each anew."""
    entry = step.federation.catalog.interaction_classes[message.interaction_class]
    items = tuple(message.parameters())
    rows = interaction_rows(step, entry, recipients, items, order_of(message), False)
    thing = message.target.number
    sender = recipients.sender
    enter_message(step, recorder, known(recorder, rows), thing, sender, message, message.values, 0, None)


def enter_message(
    step: Step,
    recorder: Recorder,
    shape: int,
    instance: int,
    sender: Member,
    message: Message,
    values: ParameterValues | AttributeValues | None,
    control: int,
    more: dict[str, object] | None,
) -> None:
    """What was sent here has a cause and values; of what has arrived, its sender's node has written them."""
    cause_source = 0
    cause = 0
    stamp = message.stamp
    if sender.node == step.node:
        recorder.enter(shape, step.now, message.number, instance, values, message.tag)
        if sender.cause or sender.handling is not None:
            cause_source, cause = cause_of(sender)
    else:
        recorder.enter(shape, step.now, message.number, instance, None, b"")
    if cause or stamp is not None or control or more is not None:
        time = None if stamp is None else stamp.time.value
        recorder.add(cause_source, cause, time, control, more)


def note(
    turn: Turn,
    recorder: Recorder,
    row: Pattern,
    number: int = 0,
    time: int | float | None = None,
    thing: int = NO_OBJECT,
    more: dict[str, object] | None = None,
    member: Member | None = None,
) -> None:
    """One row of its own; `member`: whose call it is, which has a cause."""
    recorder.enter(known(recorder, (row,)), turn.now, number, thing, None, b"")
    cause_source, cause = (0, 0) if member is None else cause_of(member)
    if cause or time is not None or more is not None:
        recorder.add(cause_source, cause, time, 0, more)


# --- in time stamp order, by regions ------------------------------------------------------------------------------


def stamped(
    step: Step,
    sender: Member,
    message: Interaction | Update,
    destinations: list[int] | None,
    cells: tuple[int, ...] = (),
) -> None:
    """As of its time (`message.deliver_as_of`): where it is then, and of which `cells` of the distribution lists."""
    recorder = step.federation.recorder
    if recorder is None:
        return
    with recorder:
        name, items, thing = names_of(step.federation, message)
        transport = "reliable"
        if isinstance(message, Interaction):
            transport = transport_of(step.federation, message.transportation)
        first = first_of(step, message.service, sender, name, items, order_of(message), transport)
        more = place_of(step.federation, message, False)
        if cells:
            more = with_cells({} if more is None else more, cells)
        numbers = None if destinations is None else tuple(sorted(destinations))
        shape = known(recorder, (with_way(first, numbers),))
        enter_message(step, recorder, shape, thing, sender, message, message.values, 0, more)
