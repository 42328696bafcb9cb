"""Messages that wait for others or for time, as rows (`recording.message_rows` has those that are handed on as they are)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.kernel.recording.message_rows import enter_message, note
from weft.kernel.recording.row_shapes import (
    first_of,
    known,
    names_of,
    place_of,
    plain,
    transport_of,
    what,
    with_way,
)
from weft.kernel.state.federation import Instance, Member
from weft.kernel.state.messages import Message, Update, WithParameters
from weft.kernel.state.rate_state import Held
from weft.kernel.state.step import Step
from weft.model.deliveries import AttributeValues, Delivery, ParameterValues
from weft.model.handles import AttributeHandle, FederateHandle
from weft.model.recording import Pattern, Recorder

if TYPE_CHECKING:
    from weft.ordering import Tag
    from weft.ordering.stamped import Stamped


def _vector(tag: Tag) -> dict[str, object]:
    more: dict[str, object] = {"vector_of": list(range(len(tag.time))), "vector": list(tag.time)}
    if tag.view:
        more["detail"] = f"view {tag.view}"
    return more


def ordered(
    step: Step,
    recorder: Recorder,
    message: Message,
    sender: Member,
    tag: Tag,
    destinations: list[int],
    total: bool,
    control: int,
) -> None:
    """A message in causal or total order leaves its federate, stamped."""
    with recorder:
        federation = step.federation
        name, items, thing = names_of(federation, message)
        order = "CT" if total else "CO"
        first = first_of(step, message.service, sender, name, items, order, "reliable")
        shape = known(recorder, (with_way(first, tuple(sorted(destinations))),))
        more = {**_vector(tag), **(place_of(federation, message, False) or {})}
        values: ParameterValues | AttributeValues | None = None
        if isinstance(message, (WithParameters, Update)):
            values = message.values
        enter_message(step, recorder, shape, thing, sender, message, values, control, more)


def waits(
    step: Step,
    recorder: Recorder,
    kind: str,
    member: Member | None,
    message: Message,
    tag: Tag | None,
    link: str = "",
) -> None:
    """A message in causal or total order has arrived, waits, is released or turns out not to be wanted."""
    with recorder:
        name, items, thing = names_of(step.federation, message)
        number = 0 if member is None else member.handle.number
        order = "CT" if tag is not None and tag.source == 0 else "CO"
        rows: Pattern = (
            ("kind", kind),
            ("service", message.service),
            ("federate", number),
            *what(message.sender.number, name, items, order, "reliable"),
        )
        if member is not None:
            rows = (*rows, ("name", member.name))
        if link:
            rows = (*rows, ("link", link))
        more = None if tag is None or kind == "filter" else _waiting(tag, member)
        note(step.turn, recorder, rows, message.number, None, thing, more)


def _waiting(tag: Tag, member: Member | None) -> dict[str, object]:
    """Its vector and, of who waits, which messages it depends on."""
    more = _vector(tag)
    if member is not None:
        row = tag.row(member.handle.number)
        causal = [0] * len(tag.time)
        for at in range(0, len(row), 2):
            if row[at] < len(causal):
                causal[row[at]] = row[at + 1]
        more["causal"] = causal
    return more


def queued(
    step: Step, recorder: Recorder, member: Member, sender: Member, content: Message | Delivery, number: int
) -> None:
    """A message in time stamp order waits for a time-constrained member."""
    with recorder:
        stamp = content.stamp
        assert stamp is not None
        _in_queue(step, recorder, "hold", member, sender.handle, content, number, stamp.time.value)


def unwanted(step: Step, member: Member, message: Stamped) -> None:
    """A message in time stamp order has waited for a member that does not want it, or does not know the instance any more."""
    recorder = step.federation.recorder
    if recorder is None:
        return
    with recorder:
        sender = FederateHandle(message.retraction[:4])
        _in_queue(step, recorder, "filter", member, sender, message.content, message.key[2], message.key[0])


def of_no_instance(step: Step, member: Member, message: Update, number: int, time: int | float) -> None:
    """What a member has come to want is about an instance that is gone: it is not sent late (`services.timed_changes`)."""
    recorder = step.federation.recorder
    if recorder is not None:
        with recorder:
            _in_queue(step, recorder, "filter", member, message.sender, message, number, time)


def _in_queue(
    step: Step,
    recorder: Recorder,
    kind: str,
    member: Member,
    sender: FederateHandle,
    content: Message | Delivery,
    number: int,
    time: int | float,
) -> None:
    name, items, thing = names_of(step.federation, content)
    service = content.method if isinstance(content, Delivery) else content.service
    source = ("source", sender.number)
    row = plain(kind, service, member, source, ("class", name), ("items", items), ("order", "TSO"))
    note(step.turn, recorder, row, number, time, thing)


def given_up(
    step: Step,
    recorder: Recorder,
    member: Member,
    instance: Instance,
    update: Held,
    attributes: list[AttributeHandle],
    kind: str,
    why: str,
    rate: float,
) -> None:
    """Attributes of an update that waited for the member's update rate, and that it never gets (`message.update_rates`)."""
    with recorder:
        entry = instance.entry
        message = update.message
        transportation = update.recipient.transportation
        assert transportation is not None
        names = tuple([entry.attributes[attribute].name for attribute in attributes])
        transport = transport_of(step.federation, transportation)
        told = what(message.sender.number, entry.name, names, "RO", transport)
        row = plain(kind, "reflect_attribute_values", member, *told)
        more: dict[str, object] = {"detail": why}
        if rate:
            more["rate"] = rate
        time = None if message.stamp is None else message.stamp.time.value
        note(step.turn, recorder, row, message.number, time, instance.number, more)


def lost(step: Step, message: Message, link: str, reliable: bool, why: str) -> None:
    """A message that did not leave for another node, or not whole: its host has seen that."""
    _given_up_for_all(step, message, "drop", link, "reliable" if reliable else "best-effort", why)


def too_late(step: Step, message: Message, link: str) -> None:
    """A message has come whose object instance is not there any more."""
    _given_up_for_all(step, message, "filter", link, None, "its instance is deleted")


def _given_up_for_all(
    step: Step, message: Message, kind: str, link: str, transport: str | None, why: str
) -> None:
    recorder = step.federation.recorder
    if recorder is None:
        return
    with recorder:
        name, items, thing = names_of(step.federation, message)
        row: Pattern = (
            ("kind", kind),
            ("service", message.service),
            ("federate", 0),
            ("source", message.sender.number),
            ("class", name),
            ("items", items),
            ("transport", transport),
            ("link", link),
        )
        time = None if message.stamp is None else message.stamp.time.value
        note(step.turn, recorder, row, message.number, time, thing, {"detail": why})
