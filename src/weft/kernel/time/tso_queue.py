"""What waits for a federate: messages in time stamp order, in its queue, and what comes in receive order while it is granted.

`time.grants` says when it is delivered.
"""

from __future__ import annotations

from typing import Final

from weft.kernel.ddm.recipient import count, for_member
from weft.kernel.recording import order_rows
from weft.kernel.state.effects import Callback, UrgentCallback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.messages import Message
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import NMR, NMRA, TARA, HeldDelivery
from weft.kernel.state.topics import Condition
from weft.model.deliveries import Delivery, Reflection, Removal, message_number
from weft.model.enums import OrderType
from weft.model.handles import AttributeHandle, ObjectInstanceHandle
from weft.model.packed import PackedValues
from weft.model.time import HLAinteger64TimeFactory, LogicalTime, TimeValue
from weft.ordering.galt import Bound
from weft.ordering.stamped import Key, Stamped

_RECEIVE: Final = OrderType.RECEIVE
_TIMESTAMP: Final = OrderType.TIMESTAMP
Content = Delivery | Message
"""What waits in a queue: a message cut to what the member gets, or as it was sent, if interest is asked when it is delivered."""


def wrapped(federation: Federation, value: TimeValue) -> LogicalTime:
    """A number as the federation's logical time, which ends somewhere."""
    factory = federation.time
    if value >= factory.final:
        return factory.make_final()
    if isinstance(factory, HLAinteger64TimeFactory):
        return factory.make_time(int(value))
    return factory.make_time(value)


def hand(
    step: Step, member: Member, delivery: Delivery, order: OrderType, message: Message, number: int
) -> None:
    """In receive order or one of Weft's own, to a member that may be time-constrained."""
    if member.timing.gone and member.timing.is_gone(delivery.object_instance()):
        return
    if not message.urgent or member.timing.is_holding():
        hand_late(step, member, delivery, order, number)
    elif member.qos is not None:
        member.qos.issue(step, delivery, OrderType.RECEIVE, number, OrderType.PRIORITY, message.priority)
    else:
        session, method, priority = member.session, delivery.method, message.priority
        urgent = UrgentCallback(session, method, (), priority, number=number, delivery=delivery)
        step.effects.append(urgent)


def hand_late(step: Step, member: Member, delivery: Delivery, order: OrderType | None, number: int) -> None:
    """At once, unless it has to wait until the member advances; never about an instance that was removed."""
    if member.timing.gone and member.timing.is_gone(delivery.object_instance()):
        return
    if member.timing.is_holding():
        member.timing.held.append(HeldDelivery(delivery, number))
    else:
        issue(step, member, delivery, order, number)


def forget(member: Member, instance: ObjectInstanceHandle) -> None:
    """What waits in receive order about an instance that the member has deleted locally is not for it any more."""
    member.timing.held = [
        held
        for held in member.timing.held
        if isinstance(held.delivery, Removal) or held.delivery.object_instance() != instance
    ]


def issue(step: Step, member: Member, delivery: Delivery, order: OrderType | None, number: int = 0) -> None:
    """`number` 0: its stamp says it."""
    if member.qos is None:
        step.effects.append(Callback(member.session, delivery.method, (), number, delivery))
    else:
        member.qos.issue(step, delivery, order, number)


def arrived(
    step: Step,
    member: Member,
    sender: Member,
    content: Content,
    part: int = 0,
    condition: Condition | None = None,
) -> None:
    """In time stamp order, to any member; all who get the same may share it."""
    federation = step.federation
    timing = member.timing
    stamp = content.stamp
    assert stamp is not None
    assert stamp.retraction is not None
    retraction = stamp.retraction
    value = stamp.time.value
    if not timing.constrained:
        timing.delivered[retraction] = value
        assert isinstance(content, Delivery)
        issue(step, member, content.at_once(), _RECEIVE)
    elif (value, 0) < timing.reached:
        # Its sender was taken for lost, and time went on without it.
        for delivery in wanted(step, member, content):
            hand_late(step, member, delivery.at_once(), _RECEIVE, message_number(retraction))
            _note_removal(step, member, delivery)
    else:
        number = message_number(retraction)
        key: Key = (value, sender.name, number, part)
        message = Stamped(key, content, retraction)
        message.condition = condition
        timing.queue.add(message)
        if federation.recorder is not None:
            order_rows.queued(step, federation.recorder, member, sender, content, number)
        if timing.mode in (NMR, NMRA):
            step.turn.queued = True
            federation.clock.horizon.waiting[member.handle] = None


def wanted(step: Step, member: Member, content: Content, counts: bool = True) -> list[Delivery]:
    """The callbacks by which a member gets what has waited for it, if it still wants it."""
    federation = step.federation
    about = content.object_instance()
    if about is not None:
        instance = federation.instances.get(about)
        # Its deletion may have an earlier time than what was sent of it before.
        if instance is None or not instance.knowledge.mask & member.bit or member.timing.is_gone(about):
            return []
    if isinstance(content, Delivery):
        return [content]
    found = []
    for recipient in for_member(federation, member, content):
        found.append(content.delivery(recipient))
        if counts:
            count(federation, content, recipient)
    return found


def is_wanted(step: Step, member: Member, message: Stamped) -> bool:
    return bool(wanted(step, member, message.content, counts=False))


def pass_over(step: Step, member: Member, message: Stamped) -> None:
    """Its time has come, and the member does not want it, or cannot have it, by now."""
    order_rows.unwanted(step, member, message)
    content = message.content
    if isinstance(content, Removal):  # of an instance that it has deleted locally
        member.tally.removed -= 1
        step.order(member, "instance_removed", (content.instance.number,))


def deliver(step: Step, member: Member, messages: list[Stamped], at_once: bool = False) -> None:
    """What waited in its queue, but for what it does not want, or cannot, by now; `at_once`: as in receive order."""
    for message in messages:
        deliveries = wanted(step, member, message.content)
        if not deliveries:
            pass_over(step, member, message)
        for delivery in deliveries:
            issue(step, member, delivery.at_once() if at_once else delivery, _TIMESTAMP)
            _note_removal(step, member, delivery)


def _note_removal(step: Step, member: Member, delivery: Delivery) -> None:
    """From here on nothing about the instance is for it; all nodes are to hear that it has had the removal."""
    if isinstance(delivery, Removal):
        member.timing.gone[delivery.instance] = None
        step.order(member, "instance_removed", (delivery.instance.number,))


def deliver_until(step: Step, member: Member, limit: Bound) -> None:
    member.timing.reached = max(member.timing.reached, limit)
    taken = member.timing.queue.take(limit)
    remember_open(member, taken, limit[0])
    deliver(step, member, taken)


def deliver_rest(step: Step) -> None:
    """It is not constrained any more: what waits is delivered as to anybody who is not."""
    member = step.member
    for message in member.timing.queue.take_all():
        member.timing.delivered[message.retraction] = message.key[0]
        remember(member, message)
        deliver(step, member, [message], at_once=True)


def remember(member: Member, message: Stamped) -> None:
    """It is delivered while its time may still be changed: some or all of it may be sent again (`message.deliver_as_of`)."""
    if message.condition is None:
        return  # it goes by no regions
    content = message.content
    attributes: list[AttributeHandle] = []
    if isinstance(content, Reflection):
        values = content.values
        attributes = values.handles if isinstance(values, PackedValues) else list(values)
    member.timing.give(message.retraction, message.key[0], attributes)


def remember_open(member: Member, messages: list[Stamped], time: TimeValue) -> None:
    """Who is granted an "available" time may, without lookahead, still change something as of that time."""
    if member.timing.mode in (TARA, NMRA):
        for message in reversed(messages):
            if message.key[0] < time:
                break
            remember(member, message)


def release_held(step: Step) -> None:
    """Where there are orders of Weft's own, it is not known any more which of them were in receive order."""
    member = step.member
    held, member.timing.held = member.timing.held, []
    order = None if step.federation.ordered else _RECEIVE
    for one in held:
        issue(step, member, one.delivery, order, one.number)
