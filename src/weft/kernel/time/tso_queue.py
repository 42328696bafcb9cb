"""What waits for a federate: messages in time stamp order, in its queue, and what comes in receive order while it is granted.

`time.grants` says when it is delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from weft.kernel.recording import order_rows
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import NMR, NMRA, TARA
from weft.kernel.state.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import ObjectInstanceHandle
from weft.model.time import LogicalTime
from weft.ordering.galt import Bound
from weft.ordering.stamped import Key, Stamped

_RECEIVE: Final = OrderType.RECEIVE
_TIMESTAMP: Final = OrderType.TIMESTAMP
# Where the instance stands among the arguments.
_INSTANCE: Final = {
    "reflect_attribute_values": 0,
    "update_attribute_values": 0,
    "receive_directed_interaction": 1,
    "send_directed_interaction": 1,
}
Callbacks = list[tuple[str, tuple[Any, ...]]]
Late = Callable[[Federation, Member, tuple[Any, ...], bool], Callbacks]
LATE: dict[str, Late] = {}
"""What becomes of messages for which interest is asked when they are delivered, by service (`message.delayed_evaluation`)."""


def wrapped(federation: Federation, value: Any) -> LogicalTime:
    """A number as the federation's logical time, which ends somewhere."""
    factory: Any = federation.time
    made: LogicalTime = factory.make_final() if value >= factory.final else factory.make_time(value)
    return made


def hand(
    turn: Turn,
    member: Member,
    method: str,
    arguments: tuple[Any, ...],
    order: OrderType | None = OrderType.RECEIVE,
) -> None:
    """In receive order or one of Weft's own, to a member that may be time-constrained."""
    if member.timing.is_holding():
        member.timing.held.append((method, arguments, turn.number))
    else:
        _issue(turn, member, method, arguments, order, turn.number)


def forget(member: Member, instance: ObjectInstanceHandle) -> None:
    """What waits in receive order about an instance that the member has deleted locally is not for it any more."""
    kept = []
    for method, arguments, number in member.timing.held:
        about = _INSTANCE.get(method)
        if about is None or arguments[about] != instance:
            kept.append((method, arguments, number))
    member.timing.held = kept


def _issue(
    turn: Turn,
    member: Member,
    method: str,
    arguments: tuple[Any, ...],
    order: OrderType | None,
    number: int = 0,  # of a stamped message: what its retraction says
) -> None:
    if member.qos is None:
        turn.effects.append(Callback(member.session, method, arguments, number))
    else:
        member.qos.issue(turn, method, arguments, order, number)


def arrived(
    step: Step,
    member: Member,
    sender: Member,
    method: str,
    arguments: tuple[Any, ...],
    stamp: tuple[Any, ...],
    part: int = 0,
    condition: Any = None,
) -> None:
    """In time stamp order, to any member.  `arguments` end with the stamp; all who get the same may share them."""
    turn = step.turn
    federation = step.federation
    timing = member.timing
    time, _, _, retraction = stamp
    if not timing.constrained:
        timing.delivered[retraction] = time.value
        _issue(turn, member, method, _at_once(arguments), OrderType.RECEIVE)
    elif (time.value, 0) < timing.reached:
        # Its sender was taken for lost, and time went on without it.
        for one, given in wanted(federation, member, method, arguments):
            hand(turn, member, one, _at_once(given))
    else:
        number = int.from_bytes(retraction[4:], "big")
        key: Key = (time.value, sender.name, number, part)
        message = Stamped(key, (method, arguments), retraction)
        message.condition = condition
        timing.queue.add(message)
        if federation.recorder is not None:
            order_rows.queued(step, federation.recorder, member, sender, method, arguments, number)
        if timing.mode in (NMR, NMRA):
            turn.queued = True
            federation.horizon.waiting[member.handle] = None


def wanted(
    federation: Federation, member: Member, method: str, arguments: tuple[Any, ...], count: bool = True
) -> Callbacks:
    """The callbacks by which a member gets what has waited for it, if it still wants it."""
    place = _INSTANCE.get(method)
    if place is not None:
        handle = arguments[place]
        instance = federation.instances.get(handle)
        # Its deletion may have an earlier time than what was sent of it before.
        if instance is None or not instance.knowledge.mask & member.bit or handle in member.timing.gone:
            return []
    late = LATE.get(method)
    return [(method, arguments)] if late is None else late(federation, member, arguments, count)


def is_wanted(federation: Federation, member: Member, message: Stamped) -> bool:
    method, arguments = message.content
    return method not in LATE or bool(wanted(federation, member, method, arguments, count=False))


def _at_once(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same, received in receive order."""
    time, sent, _, retraction = arguments[-4:]
    return (*arguments[:-4], time, sent, OrderType.RECEIVE, retraction)


def deliver(step: Step, member: Member, messages: list[Stamped]) -> None:
    """What waited in its queue, but for what it does not want, or cannot, by now."""
    turn = step.turn
    federation = step.federation
    for message in messages:
        callbacks = wanted(federation, member, *message.content)
        if not callbacks:
            order_rows.unwanted(step, member, message)
        for method, arguments in callbacks:
            if method == "remove_object_instance":
                handle = arguments[0]
                member.timing.gone[handle] = None
                step.order(member, "instance_removed", (handle.number,))
            _issue(turn, member, method, arguments, _TIMESTAMP)


def deliver_until(step: Step, member: Member, limit: Bound) -> None:
    member.timing.reached = max(member.timing.reached, limit)
    taken = member.timing.queue.take(limit)
    remember_open(member, taken, limit[0])
    deliver(step, member, taken)


def deliver_rest(step: Step) -> None:
    """It is not constrained any more: what waits is delivered as to anybody who is not."""
    member = step.member
    for message in member.timing.queue.take_all():
        method, arguments = message.content
        member.timing.delivered[message.retraction] = message.key[0]
        remember(member, message)
        message.content = (method, _at_once(arguments))
        deliver(step, member, [message])


def remember(member: Member, message: Stamped) -> None:
    """It is delivered while its time may still be changed: some or all of it may be sent again (`message.deliver_as_of`)."""
    if message.condition is None:
        return  # it goes by no regions
    method, arguments = message.content
    values = arguments[1] if method == "reflect_attribute_values" else {}
    sent = values if isinstance(values, dict) else values.handles
    member.timing.give(message.retraction, message.key[0], sent)


def remember_open(member: Member, messages: list[Stamped], time: Any) -> None:
    """Who is granted an "available" time may, without lookahead, still change something as of that time."""
    if member.timing.mode in (TARA, NMRA):
        for message in reversed(messages):
            if message.key[0] < time:
                break
            remember(member, message)


def release_held(step: Step) -> None:
    """Where there are orders of Weft's own, it is not known any more which of them were in receive order."""
    turn = step.turn
    member = step.member
    held, member.timing.held = member.timing.held, []
    order = None if step.federation.ordered else _RECEIVE
    for method, arguments, number in held:
        _issue(turn, member, method, arguments, order, number)
