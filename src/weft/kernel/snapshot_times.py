"""Logical time as plain data and back (`weft.kernel.snapshot`): what all nodes know of a member, and what its own node does."""

from __future__ import annotations

from typing import Any

from weft.kernel.plain import callback_from_plain, callback_to_plain
from weft.kernel.state import Condemned, Member
from weft.kernel.timing import Retractable, Timing
from weft.model.handles import AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle
from weft.ordering.stamped import Stamped

_FLAGS = (
    "regulating",
    "constrained",
    "regulation_pending",
    "constrained_pending",
    "asked_lookahead",
)
_PLAIN = (
    "time",
    "exclusive",
    "mode",
    "requested",
    "lookahead",
    "asynchronous",
    "sent",
    "patience",
)


def flags_data(timing: Timing) -> list[Any]:
    return [getattr(timing, name) for name in _FLAGS]


def add_flags(member: Member, data: list[Any]) -> None:
    for name, value in zip(_FLAGS, data, strict=True):
        setattr(member.timing, name, value)
    member.holds = member.timing.constrained


def clock_data(timing: Timing) -> dict[str, Any]:
    return {
        "plain": [getattr(timing, name) for name in _PLAIN],
        "flushing": timing.flushing,
        "floor": list(timing.floor),
        "reached": list(timing.reached),
        "held": [callback_to_plain(method, arguments) for method, arguments in timing.held],
        "queue": [
            [list(message.key), callback_to_plain(*message.content), message.retraction]
            for message in timing.queue.messages()
        ],
        "retractable": [
            [bytes(handle), one.time, list(one.nodes), one.deleted]
            for handle, one in timing.retractable.items()
        ],
        "delivered": [[bytes(handle), time] for handle, time in timing.delivered.items()],
        "gone": [handle.number for handle in timing.gone],
    }


def add_clock(timing: Timing, data: dict[str, Any]) -> None:
    for name, value in zip(_PLAIN, data["plain"], strict=True):
        setattr(timing, name, value)
    timing.flushing = data.get("flushing")
    timing.floor = (data["floor"][0], data["floor"][1])
    timing.reached = (data["reached"][0], data["reached"][1])
    timing.held = [callback_from_plain(one) for one in data["held"]]
    for key, content, retraction in data["queue"]:
        time, sender, number, part = key
        timing.queue.add(Stamped((time, sender, number, part), callback_from_plain(content), retraction))
    for handle, time, nodes, deleted in data["retractable"]:
        timing.may_retract(handle, Retractable(time, tuple(nodes), deleted))
    timing.delivered = dict(data["delivered"])
    timing.gone = {ObjectInstanceHandle.of(number): None for number in data["gone"]}


def condemned_data(condemned: Condemned | None) -> list[Any] | None:
    if condemned is None:
        return None
    known = condemned.known_class
    return [
        condemned.deleter.number,
        bytes(condemned.retraction),
        [attribute.number for attribute in condemned.owned],
        None if known is None else known.number,
        [handle.number for handle in condemned.waiting],
    ]


def condemned_from(data: list[Any] | None) -> Condemned | None:
    if data is None:
        return None
    deleter, retraction, owned, known, waiting = data
    made = Condemned(FederateHandle.of(deleter), retraction, [AttributeHandle.of(number) for number in owned])
    made.known_class = None if known is None else ObjectClassHandle.of(known)
    made.waiting = {FederateHandle.of(number): None for number in waiting}
    return made
