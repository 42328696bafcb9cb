"""Messages that wait for others or for time, as rows (`recording.message_rows` has those that are handed on as they are)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.kernel.ddm import matching
from weft.kernel.recording.message_rows import arrived, enter
from weft.kernel.recording.row_shapes import (
    delivery,
    first_of,
    interaction_bounds,
    known,
    plain,
    sent_items,
    transport_of,
    update_bounds,
    with_way,
)
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.parcels import Data, Ordered
from weft.kernel.state.rate_state import Held
from weft.kernel.state.step import Step
from weft.model.handles import FederateHandle
from weft.model.recording import NO_OBJECT, Pattern, Recorder

if TYPE_CHECKING:
    from weft.ordering import Tag
    from weft.ordering.stamped import Stamped


def _ordered_items(
    federation: Federation, service: str, arguments: tuple[Any, ...]
) -> tuple[str, tuple[str, ...], int, Any, bytes]:
    """Of a message by what was called: class, items, instance, values and tag."""
    values: Any
    if service == "delete_object_instance":
        gone = federation.class_of(arguments[0])
        return ("" if gone is None else gone.name), (), arguments[0].number, None, b""
    if service == "update_attribute_values":
        of = federation.class_of(arguments[0])
        values = arguments[1]
        thing: int = arguments[0].number
        if of is None:
            return "", (), thing, values, arguments[2]
        return (
            of.name,
            tuple([of.attributes[item].name for item in sent_items(values)]),
            thing,
            values,
            arguments[2],
        )
    entry = federation.catalog.interaction_classes[arguments[0]]
    if service == "send_directed_interaction":
        thing = arguments[1].number
        values, tag = arguments[2], arguments[3]
    else:
        thing = NO_OBJECT
        values, tag = arguments[1], arguments[2]
    return (
        entry.name,
        tuple([entry.parameters[item].name for item in sent_items(values)]),
        thing,
        values,
        tag,
    )


def _vector(tag: Tag) -> dict[str, Any]:
    more: dict[str, Any] = {"vector_of": list(range(len(tag.time))), "vector": list(tag.time)}
    if tag.view:
        more["detail"] = f"view {tag.view}"
    return more


def ordered(
    step: Step,
    recorder: Recorder,
    said: Ordered,
    sender: Member,
    tag: Tag,
    destinations: list[int],
    total: bool,
    control: int,
) -> None:
    """A message in causal or total order leaves its federate, stamped."""
    try:
        _ordered_rows(step, recorder, said, sender, tag, destinations, total, control)
    except Exception as error:
        recorder.fail(error)


def _ordered_rows(
    step: Step,
    recorder: Recorder,
    said: Ordered,
    sender: Member,
    tag: Tag,
    destinations: list[int],
    total: bool,
    control: int,
) -> None:
    turn = step.turn
    federation = step.federation
    name, items, thing, values, user_tag = _ordered_items(federation, said.service, said.arguments)
    order = "CT" if total else "CO"
    first = first_of(turn, said.service, sender, name, items, order, "reliable")
    shape = known(recorder, (with_way(first, destinations, ()),))
    stamp = said.arguments[-1]
    if not isinstance(stamp, tuple):
        stamp = ()
    more = _vector(tag)
    if len(said.arguments) > 5 and said.service == "send_interaction":
        entry = federation.catalog.interaction_classes[said.arguments[0]]
        more.update(interaction_bounds(federation, entry, matching.from_boxes(said.arguments[4])))
    elif len(said.arguments) > 4 and said.service == "update_attribute_values":
        instance = federation.instances[said.arguments[0]]
        where = matching.from_carried(said.arguments[3])
        more.update(update_bounds(federation, instance, where, sent_items(said.arguments[1])))
    enter(turn, recorder, shape, said.number, thing, sender, stamp, values, user_tag, control, more)


def waits(
    step: Step,
    recorder: Recorder,
    kind: str,
    member: Member | None,
    said: Ordered,
    tag: Tag | None,
    link: str = "",
) -> None:
    """A message in causal or total order has arrived, waits, is released or turns out not to be wanted."""
    try:
        _waits_rows(step, recorder, kind, member, said, tag, link)
    except Exception as error:
        recorder.fail(error)


def _waits_rows(
    step: Step,
    recorder: Recorder,
    kind: str,
    member: Member | None,
    said: Ordered,
    tag: Tag | None,
    link: str = "",
) -> None:
    name, items, thing, _, _ = _ordered_items(step.federation, said.service, said.arguments)
    number = 0 if member is None else member.handle.number
    rows: Pattern = (
        ("kind", kind),
        ("service", said.service),
        ("federate", number),
        ("source", said.sender.number),
        ("class", name),
        ("items", items),
        ("order", "CT" if tag is not None and tag.source == 0 else "CO"),
        ("transport", "reliable"),
    )
    if member is not None:
        rows = (*rows, ("name", member.name))
    if link:
        rows = (*rows, ("link", link))
    more: dict[str, Any] | None = None
    if tag is not None and kind != "filter":
        more = _vector(tag)
        if member is not None:
            row = tag.row(number)
            causal = [0] * len(tag.time)
            for at in range(0, len(row), 2):
                if row[at] < len(causal):
                    causal[row[at]] = row[at + 1]
            more["causal"] = causal
    shape = known(recorder, (rows,))
    recorder.enter(shape, step.now, said.number, thing, None, b"")
    if more is not None:
        recorder.add(0, 0, None, 0, more)


def queued(
    step: Step,
    recorder: Recorder,
    member: Member,
    sender: Member,
    method: str,
    arguments: tuple[Any, ...],
    number: int,
) -> None:
    """A message in time stamp order waits for a time-constrained member."""
    try:
        _queued_rows(step, recorder, member, sender, method, arguments, number)
    except Exception as error:
        recorder.fail(error)


def _queued_rows(
    step: Step,
    recorder: Recorder,
    member: Member,
    sender: Member,
    method: str,
    arguments: tuple[Any, ...],
    number: int,
) -> None:
    name, items, thing, _ = callback_items(step.federation, method, arguments)
    row = plain(
        "hold",
        method,
        member,
        ("source", sender.handle.number),
        ("class", name),
        ("items", items),
        ("order", "TSO"),
    )
    recorder.enter(known(recorder, (row,)), step.now, number, thing, None, b"")
    recorder.add(0, 0, arguments[-4].value, 0, None)


def unwanted(step: Step, member: Member, message: Stamped) -> None:
    """A message in time stamp order has waited for a member that does not want it, or does not know the instance any more."""
    recorder = step.federation.recorder
    if recorder is None:
        return
    try:
        _unwanted_rows(step, recorder, member, message)
    except Exception as error:
        recorder.fail(error)


def _unwanted_rows(step: Step, recorder: Recorder, member: Member, message: Stamped) -> None:
    method, arguments = message.content
    name, items, thing, _ = callback_items(step.federation, method, arguments)
    row = plain(
        "filter",
        method,
        member,
        ("source", FederateHandle(message.retraction[:4]).number),
        ("class", name),
        ("items", items),
        ("order", "TSO"),
    )
    recorder.enter(known(recorder, (row,)), step.now, message.key[2], thing, None, b"")
    recorder.add(0, 0, message.key[0], 0, None)


def given_up(
    step: Step,
    recorder: Recorder,
    member: Member,
    instance: Instance,
    update: Held,
    attributes: list[Any],
    kind: str,
    why: str,
    rate: float,
) -> None:
    """Attributes of an update that waited for the member's update rate, and that it never gets (`message.update_rates`)."""
    try:
        _given_up_rows(step, recorder, member, instance, update, attributes, kind, why, rate)
    except Exception as error:
        recorder.fail(error)


def _given_up_rows(
    step: Step,
    recorder: Recorder,
    member: Member,
    instance: Instance,
    update: Held,
    attributes: list[Any],
    kind: str,
    why: str,
    rate: float,
) -> None:
    entry = instance.entry
    row = delivery(
        kind,
        "reflect_attribute_values",
        member,
        update.producer.number,
        entry.name,
        tuple([entry.attributes[attribute].name for attribute in attributes]),
        "RO",
        transport_of(step.federation, update.transportation),
    )
    more: dict[str, Any] = {"detail": why}
    if rate:
        more["rate"] = rate
    recorder.enter(known(recorder, (row,)), step.now, abs(update.number), instance.handle.number, None, b"")
    recorder.add(0, 0, update.stamp[0].value if update.stamp else None, 0, more)


def lost(step: Step, parcel: Data, link: str, reliable: bool, why: str) -> None:
    """A message that did not leave for another node, or not whole: its host has seen that."""
    recorder = step.federation.recorder
    if recorder is None:
        return
    try:
        transport = "reliable" if reliable else "best-effort"
        _given_up_for_all(step, recorder, parcel, "drop", link, transport, why)
    except Exception as error:
        recorder.fail(error)


def too_late(step: Step, parcel: Data, link: str) -> None:
    """An update has come whose object instance is not there any more."""
    recorder = step.federation.recorder
    if recorder is None:
        return
    try:
        _given_up_for_all(step, recorder, parcel, "filter", link, None, "its instance is deleted")
    except Exception as error:
        recorder.fail(error)


def _given_up_for_all(
    step: Step,
    recorder: Recorder,
    parcel: Data,
    kind: str,
    link: str,
    transport: str | None,
    why: str,
) -> None:
    stamp = parcel.arguments[-1]
    name, items, thing, _, _ = _ordered_items(step.federation, parcel.service, parcel.arguments)
    row: Pattern = (
        ("kind", kind),
        ("service", parcel.service),
        ("federate", 0),
        ("source", parcel.sender.number),
        ("class", name),
        ("items", items),
        ("transport", transport),
        ("link", link),
    )
    recorder.enter(known(recorder, (row,)), step.now, arrived(parcel.number, stamp), thing, None, b"")
    recorder.add(0, 0, stamp[0].value if stamp else None, 0, {"detail": why})


def callback_items(
    federation: Federation, method: str, arguments: tuple[Any, ...]
) -> tuple[str, tuple[str, ...], int, Any]:
    """Of a message as a callback, or as it waits to be one: class, items, instance and transportation."""
    if method in ("reflect_attribute_values", "update_attribute_values", "remove_object_instance"):
        thing = arguments[0].number
        of = federation.class_of(arguments[0])
        name = "" if of is None else of.name
        if method == "remove_object_instance":
            return name, (), thing, None
        items = () if of is None else tuple([of.attributes[item].name for item in sent_items(arguments[1])])
        return name, items, thing, (arguments[3] if method == "reflect_attribute_values" else None)
    entry = federation.catalog.interaction_classes[arguments[0]]
    at = 2 if "directed" in method else 1
    items = tuple([entry.parameters[item].name for item in sent_items(arguments[at])])
    return entry.name, items, arguments[1].number if at == 2 else NO_OBJECT, arguments[at + 2]
