"""Data distribution management by the standard's ambassadors (9.2 to 9.13; S2-1 to S2-3, S2-20): a test for each effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.federation import Federation, federation, names_of
from support.mom_federation import FEDERATE, Mom
from support.placement import Placement
from support.saves import restore, save
from support.small_fom import DIMENSION, LANES, RATES, fom
from support.timed_federation import EVENT, HEARD, Timed
from weft import OrderType, ResignAction
from weft.model.handles import DimensionHandle, RegionHandle
from weft.model.records import RangeBounds

TANK = "Vehicle.GroundVehicle.Tank"
DISCOVER, REFLECT = "discover_object_instance", "reflect_attribute_values"
IN, OUT = "attributes_in_scope", "attributes_out_of_scope"
ON, OFF = "turn_updates_on_for_object_instance", "turn_updates_off_for_object_instance"


@pytest.fixture
def f(placement: Placement) -> Iterator[Federation]:
    with federation(3, placement=placement) as made:
        yield made


def lane(f: Federation) -> DimensionHandle:
    return f._asked.get_dimension_handle(DIMENSION)


def region(f: Federation, i: int, lower: int = 0, upper: int = LANES) -> RegionHandle:
    made = f.rti[i].create_region({lane(f)})
    move(f, i, made, lower, upper)
    return made


def move(f: Federation, i: int, moved: RegionHandle, lower: int, upper: int) -> None:
    f.rti[i].set_range_bounds(moved, lane(f), RangeBounds(lower, upper))
    f.rti[i].commit_region_modifications({moved})


def pairs(f: Federation, *named: Any, cls: str = TANK) -> list[Any]:
    """Of attribute names, each followed by its region."""
    return [(f.attributes(cls, name), {one}) for name, one in zip(named[::2], named[1::2], strict=True)]


def subscribe_at(f: Federation, i: int, cls: str, name: str, at: RegionHandle, *rate: str) -> None:
    f.rti[i].subscribe_object_class_attributes_with_regions(
        f.object_class(cls), pairs(f, name, at, cls=cls), *rate
    )


def register_at(f: Federation, i: int, *named: Any) -> Any:
    f.publish(i, TANK, "Position", "Name", "Ammo")
    return f.rti[i].register_object_instance_with_regions(f.object_class(TANK), pairs(f, *named))


def conveyed(f: Federation, i: int, regions: Any) -> set[tuple[int, ...]]:
    """The ranges of conveyed regions, as the RTI says them."""
    for one in regions:
        assert f.rti[i].get_dimension_handle_set(one) == {lane(f)}
    return {tuple(f.rti[i].get_range_bounds(one, lane(f))) for one in regions}


# --- regions ----------------------------------------------------------------------------------------------------


def test_a_region_begins_with_all_of_its_dimensions(f: Federation) -> None:
    """And what was set is what it says, committed or not."""
    made = f.rti[0].create_region({lane(f)})
    assert f.rti[0].get_dimension_handle_set(made) == {lane(f)}
    assert f.rti[0].get_range_bounds(made, lane(f)) == RangeBounds(0, LANES)
    f.rti[0].set_range_bounds(made, lane(f), RangeBounds(3, 5))
    assert f.rti[0].get_range_bounds(made, lane(f)) == RangeBounds(3, 5)
    f.rti[0].delete_region(made)


def test_what_was_set_counts_only_when_committed(f: Federation) -> None:
    update, wanted = region(f, 0, 0, 4), region(f, 1, 8, 12)
    subscribe_at(f, 1, TANK, "Name", wanted)
    register_at(f, 0, "Name", update)
    f.rti[1].set_range_bounds(wanted, lane(f), RangeBounds(0, 4))
    assert f.take(1) == []
    f.rti[1].commit_region_modifications({wanted})
    assert f.heard(1) == [DISCOVER]


def test_ranges_are_half_open(f: Federation) -> None:
    """S2-20: [0, 4) and [4, 8) touch and do not overlap."""
    update, wanted = region(f, 0, 0, 4), region(f, 1, 4, 8)
    subscribe_at(f, 1, TANK, "Name", wanted)
    tank = register_at(f, 0, "Name", update)
    assert f.take(1) == []
    move(f, 1, wanted, 3, 8)
    assert f.heard(1) == [DISCOVER]
    f.update(0, tank, TANK, "Name")
    assert f.heard(1) == [REFLECT]


def test_regions_end_with_their_federate(f: Federation) -> None:
    """Also when it is lost: what it subscribed with them is over, and others cannot use them."""
    wanted = region(f, 1, 0, 4)
    subscribe_at(f, 1, TANK, "Name", wanted)
    f.rti[1]._lose_connection()
    f.present.discard(1)
    f.drain(0)
    assert wanted not in f.state().ddm.regions
    tank = register_at(f, 0, "Name", region(f, 0, 0, 4))
    f.update(0, tank, TANK, "Name")
    assert f.state().ddm.created == 2


# --- updates ----------------------------------------------------------------------------------------------------


def test_only_attributes_that_overlap_are_reflected(f: Federation) -> None:
    near, far = region(f, 0, 0, 4), region(f, 0, 8, 12)
    here = region(f, 1, 2, 6)
    f.rti[1].subscribe_object_class_attributes_with_regions(
        f.object_class(TANK), pairs(f, "Name", here, "Ammo", here)
    )
    tank = register_at(f, 0, "Name", near, "Ammo", far)
    assert f.heard(1) == [DISCOVER]
    f.update(0, tank, TANK, "Name", "Ammo")
    ((_, arguments),) = f.take(1)
    assert set(arguments[1]) == f.attributes(TANK, "Name")
    assert arguments[5] is None, "regions are conveyed only to who asks for them"


def test_what_is_updated_without_regions_reaches_every_region(f: Federation) -> None:
    """The default region overlaps all; so does a subscription without regions."""
    subscribe_at(f, 1, TANK, "Name", region(f, 1, 15, 16))
    f.subscribe(2, TANK, "Ammo")
    tank = register_at(f, 0, "Ammo", region(f, 0, 0, 1))
    f.update(0, tank, TANK, "Name", "Ammo")
    assert [set(a[1]) for m, a in f.take(1) if m == REFLECT] == [f.attributes(TANK, "Name")]
    assert [set(a[1]) for m, a in f.take(2) if m == REFLECT] == [f.attributes(TANK, "Ammo")]


def test_an_update_region_that_moves(f: Federation) -> None:
    """Clause 9.3: discovered when it comes near, and no more updates when it goes away; the instance stays known."""
    update = region(f, 0, 0, 1)
    subscribe_at(f, 1, TANK, "Name", region(f, 1, 8, 12))
    tank = register_at(f, 0, "Name", update)
    heard = []
    for at in (4, 8, 11, 12, 9):
        move(f, 0, update, at, at + 1)
        f.update(0, tank, TANK, "Name")
        heard.append(f.heard(1))
    assert heard == [[], [DISCOVER, REFLECT], [REFLECT], [], [REFLECT]]


def test_an_association_that_ends_leaves_the_default_region(f: Federation) -> None:
    update = region(f, 0, 0, 1)
    subscribe_at(f, 1, TANK, "Name", region(f, 1, 8, 12))
    tank = register_at(f, 0, "Name", update)
    f.update(0, tank, TANK, "Name")
    assert f.take(1) == []
    f.rti[0].unassociate_regions_for_updates(tank, pairs(f, "Name", update))
    f.update(0, tank, TANK, "Name")
    assert f.heard(1) == [DISCOVER, REFLECT]
    f.rti[0].delete_region(update)


def test_associations_go_with_ownership(f: Federation) -> None:
    """Those of the former owner end; a new owner's count from when it owns the attribute."""
    update = region(f, 0, 0, 1)
    subscribe_at(f, 2, TANK, "Name", region(f, 2, 0, 4))
    f.subscribe(1, TANK, "Name")
    tank = register_at(f, 0, "Name", update)
    f.publish(1, TANK, "Name")
    far = region(f, 1, 8, 12)
    f.rti[1].associate_regions_for_updates(tank, pairs(f, "Name", far))
    f.update(0, tank, TANK, "Name")
    assert f.take(2, REFLECT)
    f.rti[0].unconditional_attribute_ownership_divestiture(tank, f.attributes(TANK, "Name"), b"")
    f.rti[0].delete_region(update)
    f.rti[1].attribute_ownership_acquisition_if_available(tank, f.attributes(TANK, "Name"), b"")
    f.drain(1)
    f.update(1, tank, TANK, "Name")
    assert f.take(2, REFLECT) == []
    move(f, 1, far, 3, 4)
    f.update(1, tank, TANK, "Name")
    assert len(f.take(2, REFLECT)) == 1


def test_requests_ask_only_where_the_regions_are(f: Federation) -> None:
    """Clause 9.13."""
    near, far = region(f, 0, 0, 4), region(f, 0, 8, 12)
    one, other = register_at(f, 0, "Name", near), register_at(f, 0, "Name", far)
    f.quiet()
    asked = region(f, 1, 3, 5)
    f.rti[1].request_attribute_value_update_with_regions(
        f.object_class("Vehicle"), pairs(f, "Name", asked), b"?"
    )
    assert f.take(0) == [("provide_attribute_value_update", (one, f.attributes(TANK, "Name"), b"?"))]
    move(f, 1, asked, 8, 9)
    f.rti[1].request_attribute_value_update_with_regions(f.object_class(TANK), pairs(f, "Name", asked), b"?")
    assert f.take(0) == [("provide_attribute_value_update", (other, f.attributes(TANK, "Name"), b"?"))]


# --- subscriptions ----------------------------------------------------------------------------------------------


def test_subscriptions_with_and_without_regions_do_not_touch_each_other(f: Federation) -> None:
    """Clauses 5.9 and 9.9: each service ends what its counterpart began."""
    here = region(f, 1, 0, 4)
    tank = register_at(f, 0, "Name", region(f, 0, 8, 12))
    subscribe_at(f, 1, TANK, "Name", here)
    f.subscribe(1, TANK, "Name")
    f.rti[1].unsubscribe_object_class_attributes_with_regions(f.object_class(TANK), pairs(f, "Name", here))
    f.update(0, tank, TANK, "Name")
    assert f.heard(1) == [DISCOVER, REFLECT]
    subscribe_at(f, 1, TANK, "Name", here)
    f.rti[1].unsubscribe_object_class(f.object_class(TANK))
    f.update(0, tank, TANK, "Name")
    assert f.take(1) == []
    move(f, 1, here, 8, 9)
    f.update(0, tank, TANK, "Name")
    assert f.heard(1) == [REFLECT]


def test_an_update_rate_is_of_one_subscription(f: Federation) -> None:
    """Of those that overlap the fastest counts."""
    assert RATES["Low"] < RATES["High"]
    near, far = region(f, 1, 0, 4), region(f, 1, 4, 8)
    update = region(f, 0, 0, 1)
    tank = register_at(f, 0, "Name", update)
    subscribe_at(f, 1, TANK, "Name", near, "Low")
    subscribe_at(f, 1, TANK, "Name", far, "High")
    f.drain(1)

    def rate() -> float:
        return f.rti[1].get_update_rate_value_for_attribute(tank, f.attribute(TANK, "Name"))

    assert rate() == RATES["Low"]
    move(f, 0, update, 3, 5)
    assert rate() == RATES["High"]
    move(f, 0, update, 9, 10)
    assert rate() == 0.0


# --- advisories -------------------------------------------------------------------------------------------------


def test_scope_follows_the_regions(placement: Placement) -> None:
    """Clauses 6.17 and 6.18, by whichever of the two moves."""
    with federation(2, model=fom("attributeScopeAdvisory"), placement=placement) as f:
        update, wanted = region(f, 0, 0, 4), region(f, 1, 0, 4)
        subscribe_at(f, 1, TANK, "Name", wanted)
        register_at(f, 0, "Name", update)
        assert f.heard(1) == [DISCOVER, IN]
        move(f, 0, update, 4, 8)
        assert f.heard(1) == [OUT]
        move(f, 1, wanted, 6, 9)
        assert f.heard(1) == [IN]
        move(f, 1, wanted, 5, 7)
        assert f.take(1) == [], "still in scope"


def test_updates_are_turned_on_and_off_as_regions_meet_and_part(placement: Placement) -> None:
    with federation(2, model=fom("attributeRelevanceAdvisory"), placement=placement) as f:
        update, wanted = region(f, 0, 0, 4), region(f, 1, 0, 4)
        subscribe_at(f, 1, TANK, "Name", wanted)
        register_at(f, 0, "Name", update)
        assert f.heard(0) == [ON]
        move(f, 1, wanted, 4, 8)
        assert f.heard(0) == [OFF]
        move(f, 0, update, 7, 8)
        assert f.heard(0) == [ON]


def test_subscriptions_with_regions_make_publishers_relevant(placement: Placement) -> None:
    """Active ones, wherever their regions are: where it will be sent nobody knows yet."""
    with federation(
        2, model=fom("objectClassRelevanceAdvisory", "interactionRelevanceAdvisory"), placement=placement
    ) as f:
        f.publish(0, TANK, "Name")
        f.rti[0].publish_interaction_class(f.interaction("Event"))
        here = region(f, 1, 0, 4)
        f.rti[1].subscribe_object_class_attributes_passively_with_regions(
            f.object_class(TANK), pairs(f, "Name", here)
        )
        f.rti[1].subscribe_interaction_class_passively_with_regions(f.interaction("Event"), {here})
        assert f.take(0) == []
        subscribe_at(f, 1, TANK, "Name", here)
        f.rti[1].subscribe_interaction_class_with_regions(f.interaction("Event"), {here})
        assert f.heard(0) == ["start_registration_for_object_class", "turn_interactions_on"]
        f.rti[1].unsubscribe_object_class_attributes_with_regions(
            f.object_class(TANK), pairs(f, "Name", here)
        )
        f.rti[1].unsubscribe_interaction_class_with_regions(f.interaction("Event"), {here})
        assert f.heard(0) == ["stop_registration_for_object_class", "turn_interactions_off"]


# --- interactions -----------------------------------------------------------------------------------------------


def test_interactions_reach_the_regions_they_are_sent_with(f: Federation) -> None:
    """Clause 9.12, with promotion: a region at the class above counts if nothing is subscribed below."""
    event, hit = f.interaction("Event"), f.interaction(EVENT)
    f.rti[0].publish_interaction_class(hit)
    f.rti[1].subscribe_interaction_class_with_regions(event, {region(f, 1, 0, 4)})
    f.rti[2].subscribe_interaction_class(hit)
    for bounds, reached in (((2, 6), True), ((4, 6), False)):
        f.rti[0].send_interaction_with_regions(hit, {}, {region(f, 0, *bounds)}, b"")
        assert [a[0] for _, a in f.take(1)] == ([event] if reached else [])
        assert [a[0] for _, a in f.take(2)] == [hit]
    f.rti[0].send_interaction(hit, {}, b"")
    assert f.heard(1) == f.heard(2) == [HEARD]


@pytest.mark.parametrize("order", [OrderType.CAUSAL, OrderType.TOTAL, OrderType.PRIORITY])
def test_regions_in_every_order(f: Federation, order: OrderType) -> None:
    """S0: the destinations of a message in causal order are those whose regions overlap, and no others."""
    event = f.interaction("Event")
    f.rti[0].publish_interaction_class(event)
    f.rti[1].set_convey_region_designator_sets_switch(True)
    near, far = region(f, 1, 0, 4), region(f, 2, 8, 12)
    update = region(f, 0, 2, 6)
    f.rti[1].subscribe_interaction_class_with_regions(event, {near})
    f.rti[2].subscribe_interaction_class_with_regions(event, {far})
    subscribe_at(f, 1, TANK, "Name", near)
    subscribe_at(f, 2, TANK, "Name", far)
    tank = register_at(f, 0, "Name", update)
    f.quiet()
    f.rti[0].send_interaction_with_regions(event, {}, {update}, b"", order=order)
    f.rti[0].update_attribute_values(tank, {f.attribute(TANK, "Name"): b"x"}, b"", order=order)
    heard = f.take(1)
    assert names_of(heard) == [HEARD, REFLECT]
    assert [conveyed(f, 1, arguments[5]) for _, arguments in heard] == [{(2, 6)}, {(2, 6)}]
    assert f.take(2) == []


# --- conveyed regions -------------------------------------------------------------------------------------------


def test_regions_are_conveyed_to_who_asks_for_them(f: Federation) -> None:
    """Clauses 6.11 and 6.13; attributes of different regions come in separate callbacks."""
    f.rti[1].set_convey_region_designator_sets_switch(True)
    for i in (1, 2):
        f.subscribe(i, TANK, "Name", "Ammo")
        f.rti[i].subscribe_interaction_class(f.interaction("Event"))
    one, two = region(f, 0, 0, 4), region(f, 0, 6, 7)
    tank = register_at(f, 0, "Name", one, "Name", two, "Ammo", two)
    f.rti[0].publish_interaction_class(f.interaction("Event"))
    f.quiet()
    f.update(0, tank, TANK, "Name", "Ammo")
    f.rti[0].send_interaction_with_regions(f.interaction("Event"), {}, {one}, b"")
    heard = f.take(1)
    assert names_of(heard) == [REFLECT, REFLECT, HEARD]
    found = {min(a[1]) if m == REFLECT else m: conveyed(f, 1, a[5]) for m, a in heard}
    assert found == {
        f.attribute(TANK, "Name"): {(0, 4), (6, 7)},
        f.attribute(TANK, "Ammo"): {(6, 7)},
        HEARD: {(0, 4)},
    }
    assert [arguments[5] for _, arguments in f.take(2)] == [None, None]


# --- time, saves, the MOM ---------------------------------------------------------------------------------------


def test_messages_in_time_stamp_order_with_regions(placement: Placement) -> None:
    """Where the regions were when it was sent decides, not where they are when its time comes."""
    f = Timed(2, placement=placement)
    try:
        f.rti[1].unsubscribe_interaction_class(f.interaction(EVENT))
        f.rti[1].set_convey_region_designator_sets_switch(True)
        update, wanted = region(f, 0, 0, 4), region(f, 1, 0, 4)
        f.rti[1].subscribe_interaction_class_with_regions(f.interaction(EVENT), {wanted})
        f.all_timed()
        send = f.rti[0].send_interaction_with_regions
        send(f.interaction(EVENT), {}, {update}, b"first", f.time(5))
        move(f, 0, update, 8, 9)
        send(f.interaction(EVENT), {}, {update}, b"second", f.time(6))
        for i in (0, 1):
            f.rti[i].time_advance_request(f.time(9))
        heard = f.take(1, HEARD)
        assert [arguments[2] for _, arguments in heard] == [b"first"]
        assert conveyed(f, 1, heard[0][1][5]) == {(0, 4)}
        assert heard[0][1][7:9] == (OrderType.TIMESTAMP, OrderType.TIMESTAMP)
    finally:
        f.close()


def test_regions_are_saved_and_restored(f: Federation) -> None:
    """With their handles, what is committed and what is only set; and what they are used for."""
    update, wanted = region(f, 0, 0, 4), region(f, 1, 2, 6)
    f.rti[1].set_range_bounds(wanted, lane(f), RangeBounds(10, 12))
    subscribe_at(f, 1, TANK, "Name", wanted)
    tank = register_at(f, 0, "Name", update)
    f.quiet()
    save(f)
    move(f, 0, update, 8, 9)
    f.rti[1].unsubscribe_object_class_attributes_with_regions(f.object_class(TANK), pairs(f, "Name", wanted))
    restore(f)
    f.quiet()
    assert f.rti[1].get_range_bounds(wanted, lane(f)) == RangeBounds(10, 12)
    f.update(0, tank, TANK, "Name")
    assert f.heard(1) == [REFLECT]
    f.rti[1].commit_region_modifications({wanted})
    f.update(0, tank, TANK, "Name")
    assert f.take(1) == []
    assert region(f, 2).number == 3


def test_reports_of_the_mom_by_federate_and_group_of_services(f: Federation) -> None:
    """Clause 11: the dimensions HLAfederate and HLAserviceGroup of the MIM."""
    Mom(f)
    group, who = (f.rti[0].get_dimension_handle(n) for n in ("HLAserviceGroup", "HLAfederate"))
    reports = f.interaction(f"{FEDERATE}.HLAreport.HLAreportServiceInvocation")
    about = f.rti[0].create_region({group, who})
    number = f.rti[0].normalize_federate_handle(f.handle(1))
    f.rti[0].set_range_bounds(about, who, RangeBounds(number, number + 1))
    f.rti[0].set_range_bounds(about, group, RangeBounds(5, 6))  # data distribution management
    f.rti[0].commit_region_modifications({about})
    f.rti[0].subscribe_interaction_class_with_regions(reports, {about})
    for i in (1, 2):
        f.rti[i].set_service_reporting_switch(True)
    f.quiet()
    f.publish(1, TANK, "Name")
    made = f.rti[1].create_region({lane(f)})
    f.rti[1].commit_region_modifications({made})
    f.rti[2].create_region({lane(f)})
    mom = Mom(f)
    said = [(found["HLAservice"], found["HLAsuppliedArguments"]) for _, found in mom.reports()]
    assert [service for service, _ in said] == ["createRegion", "commitRegionModifications"]
    assert said[1][1][0]["HLAargumentValue"] == f"[{made.number}]"


@pytest.mark.bare(reason="it hears of the instances of other federates by itself")
def test_the_moms_instances_are_where_their_federates_are(f: Federation) -> None:
    """HLAmanager.HLAfederate in the dimension HLAfederate."""
    cls = f"{FEDERATE}"
    who = f.rti[0].get_dimension_handle("HLAfederate")
    about = f.rti[0].create_region({who})
    number = f.rti[0].normalize_federate_handle(f.handle(2))
    f.rti[0].set_range_bounds(about, who, RangeBounds(number, number + 1))
    f.rti[0].commit_region_modifications({about})
    subscribe_at(f, 0, cls, "HLAfederateName", about)
    found = [arguments[0] for method, arguments in f.take(0) if method == DISCOVER]
    assert found == [Mom(f).instance(2)]


def test_resigning_ends_what_regions_were_used_for(f: Federation) -> None:
    """An owner that leaves by divesting leaves the attribute without a place, and the instance to who comes after."""
    subscribe_at(f, 1, TANK, "Name", region(f, 1, 8, 12))
    f.subscribe(2, TANK, "Name")
    tank = register_at(f, 0, "Name", region(f, 0, 0, 4))
    f.drain(2)
    f.resign(0, ResignAction.UNCONDITIONALLY_DIVEST_ATTRIBUTES)
    f.publish(2, TANK, "Name")
    f.rti[2].attribute_ownership_acquisition_if_available(tank, f.attributes(TANK, "Name"), b"")
    f.drain(2)
    assert f.heard(1) == [DISCOVER], "the new owner has no regions"
    f.update(2, tank, TANK, "Name")
    assert f.heard(1) == [REFLECT]
