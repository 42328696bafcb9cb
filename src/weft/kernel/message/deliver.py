"""To the members here that get a message: at once, or when they may have it.

in time stamp order   it waits for a time-constrained member until its time comes (`time.tso_queue`)
in another order      it waits while a constrained member is granted
with an update rate   it waits until the interval since the last value is over (`message.update_rates`)
delayed evaluation    in time stamp order it waits for every time-constrained member as it was sent, and who wants it is asked
                      when its time has come (Delay Subscription Evaluation)
"""

from __future__ import annotations

from typing import Final

from weft.kernel.ddm.recipient import count, for_member
from weft.kernel.message import update_rates
from weft.kernel.message.recipients import DELAYED
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Instance, Member
from weft.kernel.state.messages import Message, Recipient, Update
from weft.kernel.state.recipients import Recipients, count_received
from weft.kernel.state.step import Step
from weft.kernel.time import tso_queue
from weft.model.deliveries import Delivery
from weft.model.enums import OrderType

# Kept at hand: a member of an enumeration is slow to look up, and these are asked for with each message.
_PRIORITY: Final = OrderType.PRIORITY
_RECEIVE: Final = OrderType.RECEIVE


def deliver(step: Step, message: Message, recipients: Recipients, number: int) -> None:
    """To all members here that get it; `number`: as callbacks have it.

    Packed values cannot be changed, so all who get the same share one delivery, and the host encodes it once.
    """
    if message.stamp is not None and message.in_time_stamp_order():
        _in_time(step, message, recipients)
        return
    waits = recipients.holding or message.urgent
    effects = step.effects
    last: Recipient | None = None
    delivery: Delivery | None = None
    for recipient in recipients.here:
        if delivery is None or not message.packed or last is None or not recipient.gets_the_same(last):
            delivery = message.delivery(recipient)
            last = recipient
        if waits:
            order = _PRIORITY if message.urgent else _RECEIVE
            tso_queue.hand(step, recipient.member, delivery, order, message, number)
        else:
            effects.append(Callback(recipient.member.session, delivery.method, (), number, delivery))
    if recipients.paced and isinstance(message, Update):
        update_rates.pace(step, message, recipients.paced, number)


def _in_time(step: Step, message: Message, recipients: Recipients) -> None:
    """Update rates do not apply to what comes in time stamp order."""
    sender = recipients.sender
    delayed = step.federation.switch(DELAYED)
    if delayed:
        message.own()
        for member in step.federation.members.values():
            if member.node == step.node and member.timing.constrained and member is not sender:
                tso_queue.arrived(step, member, sender, message)
    last: Recipient | None = None
    delivery: Delivery | None = None
    for part, recipient in enumerate(recipients.here + recipients.paced):
        member = recipient.member
        if delayed and member.timing.constrained:
            if not recipient.intervals:
                way = recipient.transportation or recipients.transportations[0]
                count_received(member, recipients.kind, way, -1, recipients.directed)  # not yet
        else:
            if delivery is None or not message.packed or last is None or not recipient.gets_the_same(last):
                delivery = message.delivery(recipient)
                last = recipient
            tso_queue.arrived(step, member, sender, delivery, part)


# --- to one member ----------------------------------------------------------------------------------------------


def to_member(
    step: Step, member: Member, message: Message, order: OrderType, instance: Instance | None = None
) -> None:
    """What an order of Weft's own has kept back until now, as far as the member still wants it (`message.causal_order`).

    At its rate; at once if the `instance` it is about has been deleted, and the member is told of that next.
    """
    for recipient in for_member(step.federation, member, message, instance):
        if recipient.intervals and instance is None and isinstance(message, Update):
            update_rates.pace(step, message, [recipient], message.number)
        else:
            count(step.federation, message, recipient, instance)
            tso_queue.hand(step, member, message.delivery(recipient), order, message, message.number)
