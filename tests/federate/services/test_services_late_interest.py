"""Delay Subscription Evaluation for messages that wait for logical time, at one node and over three (10.53;
docs/explanation/time.md)."""

from __future__ import annotations

import pytest

from support.placement import Placement
from support.small_fom import fom
from support.timed_federation import EVENT, Timed
from weft import OrderType

TS = "TIMESTAMP"
SWITCH = "delaySubscriptionEvaluation"
both = pytest.mark.parametrize("on", [False, True])


def timed(on: bool, n: int = 2, *, placement: Placement) -> Timed:
    """All regulate and are constrained; the last ones do not subscribe."""
    f = Timed(n, model=fom(*[SWITCH] if on else []), placement=placement)
    f.all_timed(1)
    return f


def advance(f: Timed, time: int) -> None:
    for i in sorted(f.present):
        f.ask(i, "TAR", time)


@both
def test_interactions_are_for_those_who_subscribe_when_their_time_comes(
    on: bool, placement: Placement
) -> None:
    f = timed(on, 3, placement=placement)
    event = f.interaction(EVENT)
    f.rti[2].unsubscribe_interaction_class(event)
    f.stamp(0, 5, b"m")
    f.rti[1].unsubscribe_interaction_class(event)
    f.rti[2].subscribe_interaction_class(event)
    advance(f, 10)
    assert f.told(1) == ([10] if on else [(b"m", 5, TS), 10])
    assert f.told(2) == ([(b"m", 5, TS), 10] if on else [10])
    assert f.told(0) == [10]


@both
def test_the_class_at_which_it_is_received_is_that_of_then(on: bool, placement: Placement) -> None:
    f = timed(on, placement=placement)
    hit = f.interaction(EVENT)
    f.stamp(0, 5)
    f.rti[1].unsubscribe_interaction_class(hit)
    f.rti[1].subscribe_interaction_class(f.interaction("Event"))
    advance(f, 10)
    ((_, arguments),) = f.take(1, "receive_interaction")
    assert arguments[0] == (f.interaction("Event") if on else hit)


@both
def test_updates_are_for_those_who_subscribe_when_their_time_comes(on: bool, placement: Placement) -> None:
    """Also of instances that were not known when the update was made."""
    f = timed(on, 3, placement=placement)
    tank = "Vehicle.GroundVehicle.Tank"
    f.publish(0, tank, "Position", "Ammo")
    f.rti[0].change_default_attribute_order_type(
        f.object_class(tank), f.attributes(tank, "Position", "Ammo"), OrderType.TIMESTAMP
    )
    f.subscribe(1, tank, "Position")
    thing = f.register(0, tank)
    values = {f.attribute(tank, "Position"): b"p", f.attribute(tank, "Ammo"): b"a"}
    f.rti[0].update_attribute_values(thing, values, b"", f.time(5))
    f.rti[1].unsubscribe_object_class_attributes(f.object_class(tank), f.attributes(tank, "Position"))
    f.subscribe(1, tank, "Ammo")
    f.subscribe(2, tank, "Ammo", "Position")
    advance(f, 10)
    got = [
        {
            handle: value
            for _, arguments in f.take(i, "reflect_attribute_values")
            for handle, value in arguments[1].items()
        }
        for i in (1, 2)
    ]
    ammo, position = {f.attribute(tank, "Ammo"): b"a"}, {f.attribute(tank, "Position"): b"p"}
    assert got == ([ammo, ammo | position] if on else [position, {}])


@both
def test_directed_interactions_are_for_those_who_subscribe_when_their_time_comes(
    on: bool, placement: Placement
) -> None:
    f = timed(on, placement=placement)
    command = f.interaction("Command")
    f.publish(0, "Vehicle", "Name")
    f.subscribe(1, "Vehicle", "Name")
    thing = f.register(0, "Vehicle")
    f.rti[0].publish_interaction_class(command)
    f.rti[0].publish_object_class_directed_interactions(f.object_class("Vehicle"), {command})
    f.rti[0].change_interaction_order_type(command, OrderType.TIMESTAMP)
    f.quiet()
    f.rti[0].send_directed_interaction(command, thing, {}, b"d", f.time(5))
    f.rti[1].subscribe_object_class_directed_interactions_universally(f.object_class("Vehicle"), {command})
    advance(f, 10)
    assert len(f.take(1, "receive_directed_interaction")) == on


def test_the_next_message_is_one_that_is_wanted(placement: Placement) -> None:
    f = timed(True, placement=placement)
    event = f.interaction(EVENT)
    f.stamp(0, 5, b"unwanted")
    f.stamp(0, 20, b"later")
    f.rti[1].unsubscribe_interaction_class(event)
    f.ask(1, "NMR", 10)
    f.ask(0, "TAR", 15)
    assert f.told(1) == [10]
    f.rti[1].subscribe_interaction_class(event)
    f.ask(1, "NMR", 30)
    f.ask(0, "TAR", 40)
    assert f.told(1) == [(b"later", 20, TS), 20]


def test_who_subscribes_while_it_asks_for_the_next_message_gets_it(placement: Placement) -> None:
    f = timed(True, placement=placement)
    event = f.interaction(EVENT)
    f.stamp(0, 5, b"m")
    f.rti[1].unsubscribe_interaction_class(event)
    f.ask(1, "NMR", 10)
    f.rti[1].subscribe_interaction_class(event)
    f.ask(0, "TAR", 15)
    assert f.told(1) == [(b"m", 5, TS), 5]


def test_a_flush_is_granted_by_what_is_wanted(placement: Placement) -> None:
    f = timed(True, placement=placement)
    f.stamp(0, 5, b"unwanted")
    f.rti[1].unsubscribe_interaction_class(f.interaction(EVENT))
    f.ask(0, "TAR", 15)
    f.ask(1, "FQR", 10)
    assert f.told(1) == [("flushed", 10, 10)]


def test_who_is_not_constrained_any_more_gets_what_it_wants_by_then(placement: Placement) -> None:
    f = timed(True, 3, placement=placement)
    event = f.interaction(EVENT)
    f.rti[2].unsubscribe_interaction_class(event)
    f.stamp(0, 5, b"m")
    f.rti[1].unsubscribe_interaction_class(event)
    f.rti[2].subscribe_interaction_class(event)
    for i in (1, 2):
        f.rti[i].disable_time_constrained()
    assert f.told(1) == []
    assert f.told(2) == [(b"m", 5, "RECEIVE")]


def test_what_was_retracted_is_for_nobody(placement: Placement) -> None:
    f = timed(True, placement=placement)
    handle = f.stamp(0, 5, b"m")
    assert handle is not None
    f.rti[0].retract(handle)
    advance(f, 10)
    assert f.told(1) == [10]


@pytest.mark.one_node
def test_what_is_counted_is_what_was_delivered(placement: Placement) -> None:
    f = timed(True, 3, placement=placement)
    event = f.interaction(EVENT)
    f.rti[2].unsubscribe_interaction_class(event)
    f.stamp(0, 5, b"m")
    f.rti[1].unsubscribe_interaction_class(event)
    f.rti[2].subscribe_interaction_class(event)
    advance(f, 10)
    found = f.node._node.federations["range"]
    found.count_up()
    counts = [sum(m.tally.interactions_received.values()) for m in found.members.values()]
    assert counts == [0, 0, 1]
