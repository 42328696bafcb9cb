"""Time management (clauses 8.2 to 8.26), also with federates on three nodes: who waits for whom, and corner cases by name."""

from __future__ import annotations

import pytest

from support.federation import refused
from support.placement import Placement
from support.timed_federation import Timed
from weft import OrderType
from weft.model.errors import (
    AsynchronousDeliveryAlreadyDisabled,
    AsynchronousDeliveryAlreadyEnabled,
    InTimeAdvancingState,
    InvalidLogicalTime,
    InvalidLookahead,
    InvalidMessageRetractionHandle,
    LogicalTimeAlreadyPassed,
    MessageCanNoLongerBeRetracted,
    TimeConstrainedAlreadyEnabled,
    TimeConstrainedIsNotEnabled,
    TimeRegulationAlreadyEnabled,
    TimeRegulationIsNotEnabled,
)
from weft.model.handles import MessageRetractionHandle
from weft.model.time import HLAfloat64Interval, HLAfloat64Time

TS, RO = "TIMESTAMP", "RECEIVE"


def test_nobody_is_granted_before_all_have_asked(placement: Placement) -> None:
    f = Timed(3, placement=placement)
    f.all_timed(1)
    f.ask(0, "TAR", 1)
    f.ask(1, "TAR", 1)
    assert f.told(0) == f.told(1) == []
    f.ask(2, "TAR", 1)
    assert [f.told(i) for i in range(3)] == [[1], [1], [1]]


def test_messages_come_in_the_order_of_their_times_and_before_the_grant(placement: Placement) -> None:
    f = Timed(3, placement=placement)
    f.all_timed(1)
    f.stamp(1, 5, b"late")
    f.stamp(2, 2, b"early")
    f.stamp(1, 3, b"middle")
    assert f.told(0) == []
    for i in (1, 2):
        f.ask(i, "TAR", 10)
    f.ask(0, "TAR", 4)
    assert f.told(0) == [(b"early", 2, TS), (b"middle", 3, TS), 4]
    assert f.told(1) == [(b"early", 2, TS)]  # federate 0 might still send at 5
    f.ask(0, "TAR", 10)
    assert f.told(0) == [(b"late", 5, TS), 10]
    assert f.told(1) == [10]


def test_equal_times_come_by_the_name_of_the_sender_and_then_as_it_sent_them(placement: Placement) -> None:
    f = Timed(4, placement=placement)
    f.all_timed(1)
    for sender, tag in ((3, b"a"), (2, b"b"), (1, b"c"), (3, b"d"), (1, b"e")):
        f.stamp(sender, 7, tag)
    for i in range(4):
        f.ask(i, "TAR", 7)
    assert f.told(0) == [(tag, 7, TS) for tag in (b"c", b"e", b"b", b"a", b"d")] + [7]


def test_next_message_request_with_nothing_queued_is_granted_what_it_asked_for(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.ask(0, "NMR", 5)
    assert f.told(0) == []
    f.ask(1, "TAR", 5)
    assert f.told(0) == [5]
    assert f.told(1) == [5]


def test_next_message_requests_do_not_wait_for_one_another(placement: Placement) -> None:
    """Two that both ask for the next message, with any lookahead: nothing can come, so both get what they ask for."""
    for lookahead in (0, 1, 3):
        f = Timed(3, placement=placement)
        f.all_timed(lookahead)
        f.ask(0, "NMR", 50)
        f.ask(1, "NMR", 70)
        assert f.told(0) == f.told(1) == []
        f.ask(2, "NMR", 60)
        assert f.told(0) == [50]
        assert f.told(1) == f.told(2) == []
        f.ask(0, "NMR", 100)
        assert f.told(2) == [60]
        f.ask(2, "NMR", 100)
        assert f.told(1) == [70]


def test_next_message_request_is_granted_the_time_of_the_next_message(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.stamp(1, 3, b"x")
    f.stamp(1, 3, b"y")
    f.stamp(1, 4, b"z")
    f.ask(0, "NMR", 10)
    f.ask(1, "TAR", 10)
    assert f.told(0) == [(b"x", 3, TS), (b"y", 3, TS), 3]
    f.ask(0, "NMR", 10)
    assert f.told(0) == [(b"z", 4, TS), 4]
    f.ask(0, "NMR", 10)
    assert f.told(0) == [10]


def test_zero_lookahead_with_the_available_requests(placement: Placement) -> None:
    """After TAR to t nothing can be sent at t; after TARA it can, and comes with the next request."""
    f = Timed(2, placement=placement)
    f.all_timed(0)
    f.ask(0, "TARA", 5)
    f.ask(1, "TARA", 5)
    assert f.told(0) == [5]
    assert f.told(1) == [5]
    f.stamp(1, 5, b"same time")
    f.ask(1, "TAR", 5)
    f.ask(0, "TARA", 5)
    assert f.told(0) == [(b"same time", 5, TS), 5]
    assert f.told(1) == []  # federate 0 may still send at 5
    f.stamp(0, 5, b"back")
    f.ask(0, "TAR", 5)
    assert f.told(1) == [(b"back", 5, TS), 5]
    assert f.told(0) == [5]
    with refused(InvalidLogicalTime):
        f.stamp(0, 5)
    f.stamp(0, 6)


def test_two_time_advance_requests_with_zero_lookahead_do_not_wait_for_ever(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(0)
    f.ask(0, "TAR", 5)
    f.ask(1, "TAR", 5)
    assert f.told(0) == [5]
    assert f.told(1) == [5]


def test_a_regulator_that_joins_late_begins_where_the_others_are(placement: Placement) -> None:
    f = Timed(3, joined=2, placement=placement)
    f.all_timed(2)
    for step in (10, 20):
        for i in (0, 1):
            f.ask(i, "TAR", step)
    f.quiet()
    f.join(2)
    f.take_part(2)
    f.regulate(2, 5)
    # All messages up to 20 are granted to the others, so it begins there.
    assert f.told(2) == [("regulation", 20)]
    f.constrain(2)
    assert f.told(2) == [("constrained", 20)]
    f.ask(0, "TAR", 30)
    f.ask(1, "TAR", 30)
    assert f.told(0) == []
    with refused(InvalidLogicalTime):
        f.stamp(2, 24)
    f.stamp(2, 25, b"from the new one")
    f.ask(2, "TAR", 30)
    assert f.told(0) == [(b"from the new one", 25, TS), 30]


def test_who_resigns_or_stops_regulating_holds_nobody_up(placement: Placement) -> None:
    f = Timed(4, placement=placement)
    f.all_timed(1)
    for i in (0, 1):
        f.ask(i, "TAR", 9)
    f.resign(2)
    assert f.told(0) == []
    f.rti[3].disable_time_regulation()
    assert f.told(0) == [9]
    assert f.told(1) == [9]


def test_a_lost_regulator_holds_nobody_up(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.stamp(1, 4, b"last words")
    f.ask(0, "TAR", 9)
    assert f.told(0) == []
    f.rti[1]._lose_connection()
    assert f.told(0) == [(b"last words", 4, TS), 9]


def test_who_is_not_constrained_gets_everything_at_once_and_is_granted_at_once(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.regulate(1)
    f.quiet()
    f.stamp(1, 4, b"x")
    assert f.told(0) == [(b"x", 4, RO)]
    f.ask(0, "TAR", 100)
    assert f.told(0) == [100]
    f.ask(1, "NMR", 100)
    assert f.told(1) == [100]


def test_who_does_not_regulate_sends_in_receive_order(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.constrain(0)
    f.rti[0].enable_asynchronous_delivery()
    f.quiet()
    assert f.stamp(1, 4, b"x") is None
    assert f.told(0) == [(b"x", 4, RO)]


def test_receive_order_waits_while_a_constrained_federate_is_granted(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.send(1, "Event.Hit", tag=b"plain")
    assert f.told(0) == []
    f.ask(0, "TAR", 5)
    assert f.told(0) == [b"plain"]
    f.send(1, "Event.Hit", tag=b"while it advances")
    assert f.told(0) == [b"while it advances"]
    f.ask(1, "TAR", 5)
    f.quiet()
    f.send(1, "Event.Hit", tag=b"held")
    assert f.told(0) == []
    f.rti[0].enable_asynchronous_delivery()
    assert f.told(0) == [b"held"]
    f.send(1, "Event.Hit", tag=b"not held")
    assert f.told(0) == [b"not held"]
    with refused(AsynchronousDeliveryAlreadyEnabled):
        f.rti[0].enable_asynchronous_delivery()
    f.rti[0].disable_asynchronous_delivery()
    with refused(AsynchronousDeliveryAlreadyDisabled):
        f.rti[0].disable_asynchronous_delivery()
    f.send(1, "Event.Hit", tag=b"held again")
    assert f.told(0) == []
    f.rti[0].disable_time_constrained()
    assert f.told(0) == [b"held again"]


def test_what_waits_comes_when_a_federate_is_no_longer_constrained(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.stamp(1, 8, b"x")
    f.ask(0, "TAR", 20)
    assert f.told(0) == []
    f.rti[0].disable_time_constrained()
    assert f.told(0) == [(b"x", 8, RO), 20]


def test_flush_queue_request_delivers_all_and_grants_what_is_safe(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(3)
    f.stamp(1, 8, b"b")
    f.stamp(1, 5, b"a")
    f.ask(0, "FQR", 10)
    # Nobody sends below 3; the smallest message is at 5.
    assert f.told(0) == [(b"a", 5, TS), (b"b", 8, TS), ("flushed", 3, 5)]
    f.ask(1, "TAR", 20)
    f.ask(0, "FQR", 10)
    assert f.told(0) == [("flushed", 10, 10)]


def test_galt_and_lits(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    assert not f.rti[0].query_galt().time_is_valid
    assert not f.rti[0].query_lits().time_is_valid
    f.all_timed(4)
    assert f.rti[0].query_galt().time == f.time(4)
    assert f.rti[0].query_logical_time() == f.time(0)
    f.stamp(1, 5)
    f.ask(1, "TAR", 10)
    assert f.rti[0].query_galt().time == f.time(14)
    assert f.rti[0].query_lits().time == f.time(5)
    f.ask(0, "TAR", 7)
    assert f.rti[0].query_logical_time() == f.time(7)
    assert f.rti[0].query_lits().time == f.time(14)


def test_a_larger_lookahead_holds_at_once_a_smaller_one_as_time_advances(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(10)
    interval = f.factory.make_interval
    assert f.rti[1].query_lookahead() == interval(10)
    f.rti[1].modify_lookahead(interval(2))
    assert f.rti[1].query_lookahead() == interval(10)
    assert f.rti[0].query_galt().time == f.time(10)
    f.ask(1, "TAR", 5)
    assert f.told(1) == [5]
    assert f.rti[1].query_lookahead() == interval(5)
    with refused(InvalidLogicalTime):
        f.stamp(1, 9)
    f.stamp(1, 10)
    f.ask(0, "TAR", 9)
    f.ask(1, "TAR", 9)
    assert f.told(1) == [9]
    assert f.rti[1].query_lookahead() == interval(2)
    f.rti[1].modify_lookahead(interval(20))
    assert f.rti[0].query_galt().time == f.time(29)


def test_a_queued_message_is_retracted_in_silence_a_delivered_one_is_told(placement: Placement) -> None:
    f = Timed(3, placement=placement)
    f.all_timed(1)
    f.rti[2].disable_time_constrained()
    f.quiet()
    x, y = f.stamp(1, 5, b"x"), f.stamp(1, 6, b"y")
    assert x is not None
    assert y is not None
    assert x != y
    assert f.told(2) == [(b"x", 5, RO), (b"y", 6, RO)]
    f.rti[1].retract(x)
    assert f.told(2) == [("retract", x)]
    with refused(MessageCanNoLongerBeRetracted):
        f.rti[1].retract(x)
    f.ask(2, "TAR", 10)
    f.ask(1, "TAR", 10)
    f.ask(0, "TAR", 10)
    assert f.told(0) == [(b"y", 6, TS), 10]
    with refused(MessageCanNoLongerBeRetracted):
        f.rti[1].retract(y)
    with refused(InvalidMessageRetractionHandle):
        f.rti[0].retract(y)
    with refused(InvalidMessageRetractionHandle):
        f.rti[1].retract(MessageRetractionHandle(b"nonsense"))


def test_retract_after_a_flushed_delivery(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    x = f.stamp(1, 5, b"x")
    f.ask(0, "FQR", 3)
    assert f.told(0) == [(b"x", 5, TS), ("flushed", 1, 3)]
    assert x is not None
    f.rti[1].retract(x)
    assert f.told(0) == [("retract", x)]


def test_retracting_the_next_message_changes_what_is_granted(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    x = f.stamp(1, 5, b"x")
    f.ask(0, "NMR", 20)
    assert x is not None
    f.rti[1].retract(x)
    f.ask(1, "TAR", 30)
    assert f.told(0) == [20]


def test_attributes_of_different_order_come_apart(placement: Placement) -> None:
    """Clauses 8.24 and 8.25."""
    f = Timed(2, placement=placement)
    f.publish(1, "Building", "Height")
    f.publish(1, "Vehicle.GroundVehicle", "Speed", "Crew")
    f.subscribe(0, "Vehicle.GroundVehicle", "Speed", "Crew")
    speed, crew = f.attribute("Vehicle.GroundVehicle", "Speed"), f.attribute("Vehicle.GroundVehicle", "Crew")
    f.rti[1].change_default_attribute_order_type(
        f.object_class("Vehicle.GroundVehicle"), {crew}, OrderType.TIMESTAMP
    )
    car = f.register(1, "Vehicle.GroundVehicle")
    f.all_timed(1)
    f.rti[0].enable_asynchronous_delivery()
    f.rti[1].update_attribute_values(car, {speed: b"s", crew: b"c"}, b"", f.time(4))
    heard = f.take(0, "reflect_attribute_values")
    assert [(call[1][1], call[1][7:9]) for call in heard] == [
        ({speed: b"s"}, (OrderType.RECEIVE, OrderType.RECEIVE))
    ]
    f.ask(1, "TAR", 9)
    f.ask(0, "TAR", 9)
    heard = f.take(0, "reflect_attribute_values")
    assert [(call[1][1], call[1][7:9]) for call in heard] == [
        ({crew: b"c"}, (OrderType.TIMESTAMP, OrderType.TIMESTAMP))
    ]
    f.rti[1].change_attribute_order_type(car, {crew}, OrderType.RECEIVE)
    f.rti[1].update_attribute_values(car, {crew: b"d"}, b"", f.time(11))
    assert [call[1][1] for call in f.take(0, "reflect_attribute_values")] == [{crew: b"d"}]


def test_a_deletion_at_a_time_waits_for_that_time(placement: Placement) -> None:
    f = Timed(3, placement=placement)
    f.publish(1, "Building", "Height")
    privilege = f.attribute("Building", "HLAprivilegeToDeleteObject")
    f.rti[1].change_default_attribute_order_type(f.object_class("Building"), {privilege}, OrderType.TIMESTAMP)
    for i in (0, 2):
        f.subscribe(i, "Building", "Height")
    house = f.register(1, "Building")
    f.all_timed(1)
    f.rti[2].disable_time_constrained()
    f.quiet()
    name = f.rti[0].get_object_instance_name(house)
    returned = f.rti[1].delete_object_instance(house, b"gone", f.time(5))
    assert returned is not None
    assert returned.retraction_handle_is_valid
    assert [call[0] for call in f.take(2)] == ["remove_object_instance"]
    assert f.take(0) == []
    assert f.rti[0].get_object_instance_name(house) == name
    f.ask(1, "TAR", 9)
    f.ask(2, "TAR", 9)
    f.ask(0, "TAR", 9)
    heard = [call[0] for call in f.take(0)]
    assert heard == ["remove_object_instance", "time_advance_grant"]
    assert house not in f.state().instances
    f.rti[1].reserve_object_instance_name("again")
    assert f.heard(1)[-1] == "object_instance_name_reservation_succeeded"


def test_a_deletion_that_is_retracted_has_not_happened(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.publish(1, "Building", "Height")
    privilege = f.attribute("Building", "HLAprivilegeToDeleteObject")
    f.rti[1].change_default_attribute_order_type(f.object_class("Building"), {privilege}, OrderType.TIMESTAMP)
    f.subscribe(0, "Building", "Height")
    house = f.register(1, "Building")
    f.all_timed(1)
    returned = f.rti[1].delete_object_instance(house, b"gone", f.time(5))
    assert returned is not None
    assert returned.handle is not None
    f.rti[1].retract(returned.handle)
    f.ask(0, "TAR", 9)
    f.update(1, house, "Building", "Height")
    f.ask(1, "TAR", 9)
    assert [call[0] for call in f.take(0)] == ["reflect_attribute_values", "time_advance_grant"]


@pytest.mark.parametrize("what", ["update", "deletion"])
def test_what_was_deleted_locally_is_heard_of_no_more(placement: Placement, what: str) -> None:
    """Clauses 6.18 and 8.10: neither reflected nor removed, and its time is no time of a next message."""
    f = Timed(2, placement=placement)
    f.publish(1, "Building", "Height")
    kind = f.object_class("Building")
    height = f.attribute("Building", "Height")
    privilege = f.attribute("Building", "HLAprivilegeToDeleteObject")
    f.rti[1].change_default_attribute_order_type(kind, {height, privilege}, OrderType.TIMESTAMP)
    f.subscribe(0, "Building", "Height")
    house = f.register(1, "Building")
    f.all_timed(1)
    if what == "update":
        f.rti[1].update_attribute_values(house, {height: b"1"}, b"", f.time(5))
    else:
        f.rti[1].delete_object_instance(house, b"gone", f.time(5))
    f.ask(1, "TAR", 30)
    f.quiet()
    f.rti[0].local_delete_object_instance(house)
    f.ask(0, "NMR", 9)
    assert f.take(0) == [("time_advance_grant", (f.time(9),))]
    assert (house in f.state().instances) is (what == "update")


def test_refusals_of_time(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    rti = f.rti[0]
    interval = f.factory.make_interval
    for call in (rti.disable_time_regulation, rti.query_lookahead):
        with refused(TimeRegulationIsNotEnabled):
            call()
    with refused(TimeRegulationIsNotEnabled):
        rti.modify_lookahead(interval(1))
    with refused(TimeConstrainedIsNotEnabled):
        rti.disable_time_constrained()
    with refused(InvalidLookahead):
        rti.enable_time_regulation(HLAfloat64Interval(1.0))
    with refused(InvalidLogicalTime):
        rti.time_advance_request(HLAfloat64Time(1.0))
    f.all_timed(1)
    with refused(TimeRegulationAlreadyEnabled):
        rti.enable_time_regulation(interval(1))
    with refused(TimeConstrainedAlreadyEnabled):
        rti.enable_time_constrained()
    f.ask(0, "TAR", 5)
    for kind in ("TAR", "TARA", "NMR", "NMRA", "FQR"):
        with refused(InTimeAdvancingState):
            f.ask(0, kind, 6)
    with refused(InTimeAdvancingState):
        rti.modify_lookahead(interval(2))
    f.ask(1, "TAR", 5)
    f.quiet()
    with refused(LogicalTimeAlreadyPassed):
        f.ask(0, "TAR", 4)
    with refused(InvalidLogicalTime):
        f.stamp(0, 5)


@pytest.mark.parametrize("time", ["HLAinteger64Time", "HLAfloat64Time"])
def test_both_standard_times(time: str, placement: Placement) -> None:
    f = Timed(2, time, placement=placement)
    step = 1 if time == "HLAinteger64Time" else 0.5
    f.all_timed(step)
    f.stamp(1, 3 * step, b"x")
    for n in range(1, 6):
        for i in (0, 1):
            f.ask(i, "TAR", n * step)
        heard = f.told(0)
        assert heard[-1] == n * step
        assert heard[:-1] == ([(b"x", 3 * step, TS)] if n == 3 else [])
        f.quiet()


def test_time_ends_somewhere(placement: Placement) -> None:
    """The final time can be asked for; GALT does not go beyond it."""
    f = Timed(2, placement=placement)
    f.all_timed(5)
    final = f.factory.make_final()
    for rti in f.rti:
        rti.time_advance_request(final)
    assert f.told(0) == [final.value]
    assert f.rti[0].query_galt().time == final


def test_without_a_regulator_the_switch_says_if_time_advances(placement: Placement) -> None:
    """Non-Regulated Grant is off in the test model, so nobody advances who is only constrained."""
    f = Timed(2, placement=placement)
    f.constrain(0)
    f.quiet()
    f.ask(0, "TAR", 5)
    assert f.told(0) == []
    f.regulate(1, 1)
    f.ask(1, "TAR", 9)
    assert f.told(0) == [5]
