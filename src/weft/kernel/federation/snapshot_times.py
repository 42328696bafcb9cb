"""Logical time as plain data and back (`federation.snapshot`): what all nodes know of a member, and what its own node does."""

from __future__ import annotations

from typing import Any

from weft.kernel.ddm import matching
from weft.kernel.federation.plain import callback_from_plain, callback_to_plain, from_plain, to_plain
from weft.kernel.message.deliver_as_of import NEVER, Condition, log_again
from weft.kernel.state.federation import Condemned, Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import Retractable, Timing
from weft.kernel.state.topics import Sent
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
)
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
    member.holds = member.timing.constrained or member.qos is not None


def clock_data(timing: Timing) -> dict[str, Any]:
    return {
        "plain": [getattr(timing, name) for name in _PLAIN],
        "flushing": timing.flushing,
        "stalled": timing.stalled,
        "floor": list(timing.floor),
        "reached": list(timing.reached),
        "held": [callback_to_plain(method, arguments) for method, arguments, _ in timing.held],
        "queue": [
            [
                list(message.key),
                callback_to_plain(*message.content),
                message.retraction,
                _condition_data(message, timing),
            ]
            for message in timing.queue.messages()
        ],
        "retractable": [
            [bytes(handle), one.time, list(one.nodes), one.deleted]
            for handle, one in timing.retractable.items()
        ],
        "delivered": [[bytes(handle), time] for handle, time in timing.delivered.items()],
        "given": [
            [bytes(handle), one.time, [AttributeHandle(a).number for a in one.attributes]]
            for handle, one in timing.given.items()
        ],
        "gone": [handle.number for handle in timing.gone],
    }


def add_clock(timing: Timing, data: dict[str, Any]) -> None:
    for name, value in zip(_PLAIN, data["plain"], strict=True):
        setattr(timing, name, value)
    timing.flushing = data.get("flushing")
    timing.stalled = bool(data.get("stalled"))
    timing.floor = (data["floor"][0], data["floor"][1])
    timing.reached = (data["reached"][0], data["reached"][1])
    timing.held = [(*callback_from_plain(one), 0) for one in data["held"]]
    for key, content, retraction, *condition in data["queue"]:
        time, sender, number, part = key
        message = Stamped((time, sender, number, part), callback_from_plain(content), retraction)
        message.condition = _condition_from(condition[0]) if condition else None
        timing.queue.add(message)
    timing.saved_log = list(data.get("log", ()))
    for handle, time, nodes, deleted in data["retractable"]:
        timing.may_retract(handle, Retractable(time, tuple(nodes), deleted))
    timing.delivered = dict(data["delivered"])
    for handle, time, attributes in data.get("given", ()):
        timing.give(handle, time, [AttributeHandle.of(number) for number in attributes])
    timing.gone = {ObjectInstanceHandle.of(number): None for number in data["gone"]}


def _condition_data(message: Stamped, timing: Timing) -> list[Any] | None:
    """None: it waits on none.  The last of it says whether that is still asked, and for which attributes it is not."""
    condition = message.condition
    if condition is None:
        return None
    asked = condition.untimed == timing.untimed
    if message.content[0] == "receive_interaction":
        sent_class, at = condition.where
        return [sent_class.number, where_data(at), asked]
    kept = [AttributeHandle(attribute).number for attribute in sorted(condition.kept)]
    return [None, where_data(condition.where), asked, kept]


def _condition_from(data: list[Any] | None) -> Condition | None:
    if data is None:
        return None
    number, placed, *rest = data
    where = where_from(placed)
    if number is not None:
        where = InteractionClassHandle.of(number), where
    kept = rest[1] if len(rest) > 1 else ()  # what was saved by an earlier version has none
    attributes = frozenset([AttributeHandle.of(one) for one in kept])
    return Condition(where, NEVER if rest[:1] == [False] else 0, attributes)


def where_data(where: Any) -> list[Any] | None:
    """Of an interaction its extents, of an update those of its attributes."""
    if where is None:
        return None
    if isinstance(where, dict):
        return [
            1,
            [[AttributeHandle(a).number, [list(box) for box in b]] for a, b in matching.carried(where)],
        ]
    return [0, [list(box) for box in matching.boxes(where)]]


def where_from(data: list[Any] | None) -> Any:
    if data is None:
        return None
    update, rows = data
    if not update:
        return matching.from_boxes(tuple([tuple(box) for box in rows]))
    return {
        AttributeHandle.of(number): matching.from_boxes(tuple([tuple(box) for box in boxes]))
        for number, boxes in rows
    }


def log_data(federation: Federation, member: Member) -> list[Any]:
    """What the member has sent and others may come to want; who has it follows from what they want."""
    return [
        [
            to_plain(sent.target),
            callback_to_plain(_METHODS[sent.transportation is None], (sent.values,))[1][0],
            sent.tag,
            to_plain(sent.transportation),
            where_data(sent.where),
            to_plain(sent.stamp),
        ]
        for sent in federation.distribution.log.values()
        if sent.sender == member.handle
    ]


_METHODS = {True: "reflect_attribute_values", False: "receive_interaction"}


def _sent_from(member: Member, row: list[Any]) -> Sent:
    target, values, tag, transportation, where, stamp = row
    return Sent(
        member.handle,
        from_plain(target),
        from_plain(values),
        tag,
        from_plain(transportation),
        where_from(where),
        from_plain(stamp),
    )


def restore_log(step: Step) -> None:
    """The federation is another, made of a save: each node has in its log again what its members had sent."""
    federation = step.federation
    for member in federation.members.values():
        rows, member.timing.saved_log = member.timing.saved_log, []
        for row in rows if member.node == step.node else ():
            log_again(federation, _sent_from(member, row))


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
