"""What waits for a federate (8.1): time stamp order is delivered once and in order, receive order waits until it advances."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, step_of
from weft.kernel.message import timed_deletion
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import GRANTED, NMR, TAR
from weft.kernel.time import tso_queue
from weft.model.deliveries import DeliveredInteraction, Reflection, Removal, Stamp
from weft.model.enums import OrderType
from weft.model.handles import (
    InteractionClassHandle,
    MessageRetractionHandle,
    ObjectInstanceHandle,
    TransportationTypeHandle,
)
from weft.model.time import HLAinteger64Time

WAY = TransportationTypeHandle.of(1)
TIMES = st.integers(0, 9)


def interaction(sender: Member, time: int | None, number: int) -> DeliveredInteraction:
    stamp = None
    if time is not None:
        retraction = MessageRetractionHandle(sender.handle + number.to_bytes(8, "big"))
        stamp = Stamp(HLAinteger64Time(time), OrderType.TIMESTAMP, OrderType.TIMESTAMP, retraction)
    tag = number.to_bytes(2, "big")
    return DeliveredInteraction(InteractionClassHandle.of(1), {}, tag, WAY, sender.handle, None, stamp)


def handed(step: Step) -> list[bytes]:
    """The tags of what was handed over, in that order."""
    callbacks = [one for one in step.effects if isinstance(one, Callback)]
    return [one.delivery.tag for one in callbacks if one.delivery is not None]


def constrained() -> tuple[Federation, list[Member]]:
    federation, members = bare(HERE, "elsewhere", "elsewhere")
    members[0].timing.constrained = members[0].holds = True
    return federation, members


@given(
    st.lists(st.tuples(TIMES, st.integers(1, 2)), max_size=30), st.lists(st.tuples(TIMES, st.integers(0, 1)))
)
def test_messages_are_delivered_once_and_in_order(
    sent: list[tuple[int, int]], limits: list[tuple[int, int]]
) -> None:
    """However far it is let go, step by step: what it has got is all below the limits, by time, sender and number."""
    federation, members = constrained()
    receiver = members[0]
    receiver.timing.mode = TAR
    step = step_of(federation, receiver)
    for number, (time, who) in enumerate(sent):
        tso_queue.arrived(step, receiver, members[who], interaction(members[who], time, number))
    for limit in sorted(limits):
        tso_queue.deliver_until(step, receiver, limit)
    far = max(limits, default=(0, 0))
    due = [(time, who, number) for number, (time, who) in enumerate(sent) if (time, 0) < far]
    assert handed(step) == [number.to_bytes(2, "big") for _, _, number in sorted(due)]
    assert receiver.timing.reached == max((0, 0), far)
    assert len(receiver.timing.queue) == len(sent) - len(due)


@given(st.lists(TIMES, max_size=20), TIMES)
def test_who_is_no_longer_constrained_gets_all_that_waits(sent: list[int], reached: int) -> None:
    """In receive order (8.7); what is of its past, because its sender was taken for lost, has come before."""
    federation, members = constrained()
    receiver, sender = members[:2]
    receiver.timing.mode = TAR
    receiver.timing.reached = (reached, 0)
    step = step_of(federation, receiver)
    for number, time in enumerate(sent):
        tso_queue.arrived(step, receiver, sender, interaction(sender, time, number))
    past = [number for number, time in enumerate(sent) if time < reached]
    rest = [number for time, number in sorted(zip(sent, range(len(sent)), strict=True)) if time >= reached]
    tso_queue.deliver_rest(step)
    assert handed(step) == [number.to_bytes(2, "big") for number in (*past, *rest)]
    for one in step.effects:
        assert isinstance(one, Callback)
        assert one.delivery is not None
        assert one.delivery.stamp is not None
        assert one.delivery.stamp.received is OrderType.RECEIVE
    assert list(receiver.timing.delivered.values()) == [sent[number] for number in rest]


def test_a_message_for_who_asks_for_the_next_one_is_looked_at_when_the_turn_ends() -> None:
    federation, members = constrained()
    queued = []
    for number, mode in enumerate((GRANTED, TAR, NMR)):
        step = step_of(federation, members[0])
        members[0].timing.mode = mode
        tso_queue.arrived(step, members[0], members[1], interaction(members[1], 3, number))
        queued.append(step.turn.queued)
    assert queued == [False, False, True]
    assert members[0].handle in federation.clock.horizon.waiting


@given(st.lists(st.booleans(), max_size=20))
def test_receive_order_waits_while_it_is_granted(advancing: list[bool]) -> None:
    """And comes in the order in which it was sent, behind nothing that was sent later (8.15)."""
    federation, members = constrained()
    receiver, sender = members[:2]
    step = step_of(federation, receiver)
    for number, on in enumerate(advancing):
        if on:
            receiver.timing.mode = TAR
            tso_queue.release_held(step)
        tso_queue.hand_late(step, receiver, interaction(sender, None, number), OrderType.RECEIVE, number)
    tso_queue.release_held(step)
    assert handed(step) == [number.to_bytes(2, "big") for number in range(len(advancing))]
    assert receiver.timing.held == []


def test_what_is_deleted_locally_is_forgotten_but_for_its_removal() -> None:
    """6.18: of what waits about the instance only that it is gone is still told."""
    federation, members = constrained()
    receiver, sender = members[:2]
    one, other = ObjectInstanceHandle.of(1), ObjectInstanceHandle.of(2)
    step = step_of(federation, receiver)
    waiting = [
        Reflection(one, {}, b"1", WAY, sender.handle, None, None),
        Reflection(other, {}, b"2", WAY, sender.handle, None, None),
        Removal(one, b"3", sender.handle, None),
        interaction(sender, None, 4),
    ]
    for delivery in waiting:
        tso_queue.hand_late(step, receiver, delivery, OrderType.RECEIVE, 0)
    tso_queue.forget(receiver, one)
    assert [held.delivery for held in receiver.timing.held] == waiting[1:]


def test_a_removal_that_is_late_is_the_last_of_its_instance() -> None:
    """6.17: its deleter was taken for lost and comes back; all nodes are to hear of the removal, and no more of it comes here."""
    federation, members = constrained()
    receiver, sender = members[:2]
    one, entry = ObjectInstanceHandle.of(1), next(iter(federation.catalog.object_classes.values()))
    known = federation.knowledge({entry.handle: receiver.bit})
    federation.instances[one] = Instance(one, "it", entry, {}, known, sender.handle)
    receiver.timing.reached = (9, 0)
    step = step_of(federation, receiver)
    retraction = MessageRetractionHandle(sender.handle + bytes(8))
    stamp = Stamp(HLAinteger64Time(3), OrderType.TIMESTAMP, OrderType.TIMESTAMP, retraction)
    tso_queue.arrived(step, receiver, sender, Removal(one, b"3", sender.handle, stamp))
    update = Reflection(one, {}, b"4", WAY, sender.handle, None, None)
    tso_queue.hand_late(step, receiver, update, OrderType.RECEIVE, 4)
    assert [type(held.delivery) for held in receiver.timing.held] == [Removal]
    assert step.turn.orders == [(federation, receiver, timed_deletion.INSTANCE_REMOVED, (1,))]


@pytest.mark.parametrize("name", ["HLAinteger64Time", "HLAfloat64Time"])
@given(value=st.integers(0, 1 << 70))
def test_a_number_as_a_logical_time_ends_where_time_does(name: str, value: int) -> None:
    federation, _ = bare(time=name)
    number = value if name == "HLAinteger64Time" else float(value)
    made = tso_queue.wrapped(federation, number)
    assert made.value == min(number, federation.time.final)
    assert type(made) is type(federation.time.make_final())
