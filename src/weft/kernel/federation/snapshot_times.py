"""Logical time as plain data and back (`federation.snapshot`): what all nodes know of a member, and what its own node does."""

from __future__ import annotations

from typing import Any

from weft.kernel.ddm import matching
from weft.kernel.federation.plain import (
    callback_from_plain,
    content_from_plain,
    content_to_plain,
    delivery_to_plain,
    from_plain,
    to_plain,
)
from weft.kernel.message.deliver_as_of import find_recipients, log_again
from weft.kernel.state.federation import Condemned, Federation, Member
from weft.kernel.state.messages import Interaction, Update, numbered
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import HeldDelivery, Retractable, Timing
from weft.kernel.state.topics import NEVER, Condition, LoggedMessage
from weft.model.deliveries import delivery_from, stamp_from
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
)
from weft.model.packed import PackedValues
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


def flags_data(timing: Timing) -> list[object]:
    return [getattr(timing, name) for name in _FLAGS]


def add_flags(member: Member, data: list[Any]) -> None:
    for name, value in zip(_FLAGS, data, strict=True):
        setattr(member.timing, name, value)
    member.holds = member.timing.constrained or member.qos is not None


def clock_data(timing: Timing) -> dict[str, object]:
    return {
        "plain": [getattr(timing, name) for name in _PLAIN],
        "flushing": timing.flushing,
        "stalled": timing.stalled,
        "floor": list(timing.floor),
        "reached": list(timing.reached),
        "held": [delivery_to_plain(held.delivery) for held in timing.held],
        "queue": [
            [
                list(message.key),
                content_to_plain(message.content),
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
        "declared": timing.declared,
    }


def add_clock(timing: Timing, data: dict[str, Any]) -> None:
    for name, value in zip(_PLAIN, data["plain"], strict=True):
        setattr(timing, name, value)
    timing.flushing = data.get("flushing")
    timing.stalled = bool(data.get("stalled"))
    timing.floor = (data["floor"][0], data["floor"][1])
    timing.reached = (data["reached"][0], data["reached"][1])
    held = [delivery_from(*callback_from_plain(one)) for one in data["held"]]
    timing.held = [HeldDelivery(delivery, 0) for delivery in held if delivery is not None]
    for key, content, retraction, *condition in data["queue"]:
        time, sender, number, part = key
        message = Stamped((time, sender, number, part), content_from_plain(content), retraction)
        message.condition = _condition_from(condition[0]) if condition else None
        timing.queue.add(message)
    timing.saved_log = list(data.get("log", ()))
    for handle, time, nodes, deleted in data["retractable"]:
        timing.may_retract(handle, Retractable(time, tuple(nodes), deleted))
    timing.delivered = dict(data["delivered"])
    for handle, time, attributes in data.get("given", ()):
        timing.give(handle, time, [AttributeHandle.of(number) for number in attributes])
    timing.gone = {ObjectInstanceHandle.of(number): None for number in data["gone"]}
    timing.declared = data.get("declared")


def _condition_data(message: Stamped, timing: Timing) -> list[object] | None:
    """None: it waits on none.  The last of it says whether that is still asked, and for which attributes it is not."""
    condition = message.condition
    if condition is None:
        return None
    asked = condition.untimed == timing.untimed
    if condition.sent_class is not None:
        return [condition.sent_class.number, where_data(condition.at), asked]
    kept = [AttributeHandle(attribute).number for attribute in sorted(condition.kept)]
    return [None, where_data(condition.where), asked, kept]


def _condition_from(data: list[Any] | None) -> Condition | None:
    if data is None:
        return None
    number, placed, *rest = data
    untimed = NEVER if rest[:1] == [False] else 0
    if number is not None:
        return Condition(None, where_from(placed), InteractionClassHandle.of(number), untimed)
    kept = rest[1] if len(rest) > 1 else ()  # what was saved by an earlier version has none
    attributes = frozenset([AttributeHandle.of(one) for one in kept])
    return Condition(where_from(placed), None, None, untimed, attributes)


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
    found: list[Any] = []
    for logged in federation.distribution.log.values():
        message = logged.message
        if message.sender != member.handle:
            continue
        values = message.values.unpack() if isinstance(message.values, PackedValues) else message.values
        stamp = () if message.stamp is None else message.stamp.arguments()
        if isinstance(message, Interaction):
            target = to_plain(message.interaction_class)
            way, where = to_plain(message.transportation), where_data(message.at)
        else:
            target, way, where = to_plain(message.instance), None, where_data(message.where)
        found.append([target, to_plain(values), message.tag, way, where, to_plain(stamp), _had_by(logged)])
    return found


def _had_by(logged: LoggedMessage) -> list[list[object]]:
    """Who has it: by number, with the class of an interaction or the attributes of an update."""
    found: list[list[object]] = []
    for member, received in logged.classes.items():
        found.append([member.number, received.number])
    for member, had in logged.attributes.items():
        found.append([member.number, [attribute.number for attribute in had]])
    return found


def _logged(federation: Federation, member: Member, row: list[Any]) -> LoggedMessage:
    """An older save does not say who has it; then it is who wants it by now."""
    target, values, tag, way, where, stamp, *had_by = row
    made_stamp = stamp_from(from_plain(stamp))
    kind, given, place = from_plain(target), from_plain(values), where_from(where)
    if way is None:
        logged = LoggedMessage(numbered(Update(member.handle, kind, given, tag, place, made_stamp)))
        for who, had in had_by[0] if had_by else ():
            attributes = [AttributeHandle.of(number) for number in had]
            logged.attributes[FederateHandle.of(who)] = dict.fromkeys(attributes)
    else:
        sent = Interaction(member.handle, kind, given, tag, from_plain(way), place, made_stamp)
        logged = LoggedMessage(numbered(sent))
        for who, number in had_by[0] if had_by else ():
            logged.classes[FederateHandle.of(who)] = InteractionClassHandle.of(number)
    if not had_by:
        find_recipients(federation, logged)
    return logged


def restore_log(step: Step) -> None:
    """The federation is another, made of a save: each node has in its log again what its members had sent."""
    federation = step.federation
    for member in federation.members.values():
        rows, member.timing.saved_log = member.timing.saved_log, []
        for row in rows if member.node == step.node else ():
            log_again(federation, _logged(federation, member, row))


def condemned_data(condemned: Condemned | None) -> list[object] | None:
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
