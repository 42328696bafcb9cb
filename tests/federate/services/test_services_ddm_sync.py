"""Regions and subscriptions as of a logical time (9.3, 9.8 to 9.11; paper 004; S4-1, S4-2, S4-12, S4-13): each effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.placement import Placement
from support.saves import restore, save
from support.small_fom import DIMENSION
from support.timed_federation import EVENT, Timed, short
from weft import OrderType
from weft.model.errors import (
    InvalidLogicalTime,
    RegionInUseForUpdateOrSubscription,
    RTIexception,
    TimeRegulationIsNotEnabled,
)
from weft.model.handles import RegionHandle
from weft.model.records import RangeBounds
from weft.model.time import HLAfloat64Time

TANK = "Vehicle.GroundVehicle.Tank"
HERE, THERE = (4, 6), (10, 12)
REFLECT, DISCOVER = "reflect_attribute_values", "discover_object_instance"


@contextmanager
def says(error: type[RTIexception], words: str = "") -> Iterator[None]:
    with pytest.raises(error) as caught:
        yield
    assert words in str(caught.value)


class Regions(Timed):
    """Federate 0 sends; all have regions, and nobody subscribes without."""

    def __init__(self, n: int = 2, lookahead: int = 1, **more: Any) -> None:
        super().__init__(n, **more)
        for i in sorted(self.present):
            self.rti[i].unsubscribe_interaction_class(self.interaction(EVENT))
        self.all_timed(lookahead)
        for i in sorted(self.present):
            self.take(i)

    def region(self, i: int, bounds: tuple[int, int] = HERE, commit: bool = True) -> RegionHandle:
        made = self.rti[i].create_region({self.lane})
        self.rti[i].set_range_bounds(made, self.lane, RangeBounds(*bounds))
        if commit:
            self.rti[i].commit_region_modifications({made})
        return made

    @property
    def lane(self) -> Any:
        return self._asked.get_dimension_handle(DIMENSION)

    def move(self, i: int, region: RegionHandle, bounds: tuple[int, int], time: int | None = None) -> None:
        self.rti[i].set_range_bounds(region, self.lane, RangeBounds(*bounds))
        as_of = {} if time is None else {"time": self.time(time)}
        self.rti[i].commit_region_modifications({region}, **as_of)

    def hear(self, i: int, region: RegionHandle, time: int | None = None) -> None:
        as_of = {} if time is None else {"time": self.time(time)}
        self.rti[i].subscribe_interaction_class_with_regions(self.interaction(EVENT), {region}, **as_of)

    def deafen(self, i: int, region: RegionHandle, time: int | None = None) -> None:
        as_of = {} if time is None else {"time": self.time(time)}
        self.rti[i].unsubscribe_interaction_class_with_regions(self.interaction(EVENT), {region}, **as_of)

    def say(self, i: int, time: int, tag: bytes, region: RegionHandle | None = None) -> Any:
        if region is None:
            return self.stamp(i, time, tag)
        event = self.interaction(EVENT)
        returned = self.rti[i].send_interaction_with_regions(event, {}, {region}, tag, self.time(time))
        assert returned is not None
        return returned.handle

    def step(self, time: int, *who: int, kind: str = "TAR") -> None:
        for i in who or sorted(self.present):
            self.ask(i, kind, time)

    def tags(self, i: int) -> list[Any]:
        """What it heard: tags and grants."""
        return [one[0].decode() if isinstance(one, tuple) else one for one in self.told(i)]


# --- the point of it ------------------------------------------------------------------------------------------------


def test_what_was_sent_before_a_subscription_as_of_an_earlier_time_comes_all_the_same(
    placement: Placement,
) -> None:
    """Figures 3 and 4 (S4-13): red is at 10 and updates first; blue, later, subscribes as of 10."""
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.say(0, 9, b"before", red)
    f.say(0, 10, b"red is here", red)
    f.say(0, 11, b"red is there", f.region(0, THERE))
    f.hear(1, blue, 10)
    f.step(20)
    assert f.tags(1) == ["red is here", 20]


def test_by_wall_clock_it_is_lost(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.say(0, 10, b"red is here", red)
    f.hear(1, blue)
    f.step(20)
    assert f.tags(1) == [20]


def test_a_region_that_moves_as_of_a_time_is_elsewhere_before_it(placement: Placement) -> None:
    """Whatever the order of sends and moves (S4-2, S4-16)."""
    f = Regions(placement=placement)
    here, there, blue = f.region(0), f.region(0, THERE), f.region(1)
    f.hear(1, blue)
    for time in (5, 10, 15):
        f.say(0, time, b"here %d" % time, here)
        f.say(0, time, b"there %d" % time, there)
    f.move(1, blue, THERE, 10)
    for time in (6, 12):
        f.say(0, time, b"here %d" % time, here)
        f.say(0, time, b"there %d" % time, there)
    f.step(30)
    assert f.tags(1) == ["here 5", "here 6", "there 10", "there 12", "there 15", 30]


def test_changes_come_in_any_order_of_their_times(placement: Placement) -> None:
    f = Regions(placement=placement)
    here, there, blue = f.region(0), f.region(0, THERE), f.region(1, THERE)
    f.hear(1, blue)
    for time in (5, 10, 15, 20):
        f.say(0, time, b"here %d" % time, here)
        f.say(0, time, b"there %d" % time, there)
    f.move(1, blue, THERE, 20)
    f.move(1, blue, HERE, 10)  # until 20
    f.step(30)
    assert f.tags(1) == ["there 5", "here 10", "here 15", "there 20", 30]


def test_a_subscription_that_ends_as_of_a_time(placement: Placement) -> None:
    """Also what is sent without regions."""
    f = Regions(placement=placement)
    blue = f.region(1)
    f.hear(1, blue)
    for time in (5, 10, 15):
        f.say(0, time, b"%d" % time)
    f.deafen(1, blue, 10)
    f.say(0, 7, b"7")
    f.say(0, 17, b"17")
    f.hear(1, blue, 16)
    f.step(30)
    assert f.tags(1) == ["5", "7", "17", 30]


def test_the_update_region_counts_as_of_the_time_of_the_message(placement: Placement) -> None:
    """S4-4: the sender's own change is known to it when it sends."""
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.hear(1, blue)
    f.move(0, red, THERE, 10)
    for time in (5, 10, 15):
        f.say(0, time, b"%d" % time, red)
    f.step(30)
    assert f.tags(1) == ["5", 30]


def test_a_region_is_nowhere_before_its_first_commit_as_of_a_time(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1, commit=False)
    f.rti[1].commit_region_modifications({blue}, time=f.time(8))
    f.hear(1, blue)
    f.say(0, 7, b"7", red)
    f.say(0, 8, b"8", red)
    f.step(30)
    assert f.tags(1) == ["8", 30]


def test_in_receive_order_the_last_commit_counts(placement: Placement) -> None:
    f = Regions(placement=placement)
    f.rti[0].change_interaction_order_type(f.interaction(EVENT), OrderType.RECEIVE)
    there, blue = f.region(0, THERE), f.region(1)
    f.hear(1, blue)
    f.move(1, blue, THERE, 10)
    f.say(0, 5, b"now", there)
    f.step(6)
    assert f.tags(1) == ["now", 6]


def test_a_commit_without_a_time_replaces_what_was_to_come(placement: Placement) -> None:
    f = Regions(placement=placement)
    here, there, blue = f.region(0), f.region(0, THERE), f.region(1)
    f.hear(1, blue)
    f.move(1, blue, THERE, 10)
    f.move(1, blue, HERE)
    f.say(0, 15, b"here", here)
    f.say(0, 15, b"there", there)
    f.step(30)
    assert f.tags(1) == ["here", 30]


def test_what_had_come_before_a_change_without_a_time_stays(placement: Placement) -> None:
    f = Regions(placement=placement)
    here, blue = f.region(0), f.region(1)
    f.hear(1, blue)
    f.say(0, 15, b"here", here)
    f.move(1, blue, THERE)
    f.move(1, blue, THERE, 12)
    f.step(30)
    assert f.tags(1) == ["here", 30]


def test_an_unsubscription_without_a_time_leaves_what_has_come(placement: Placement) -> None:
    """And a subscription to something else without a time changes nothing of what regions as of a time have decided."""
    f = Regions(placement=placement)
    here, there, blue, green = f.region(0), f.region(0, THERE), f.region(1), f.region(1, THERE)
    f.hear(1, blue)
    f.hear(1, green, 5)
    f.say(0, 15, b"here", here)
    f.say(0, 15, b"there", there)
    f.rti[1].subscribe_interaction_class(f.interaction("Command"))
    f.deafen(1, blue)
    f.deafen(1, green, 12)
    f.step(30)
    assert f.tags(1) == ["here", 30]


# --- updates --------------------------------------------------------------------------------------------------------


def tank(f: Regions, *regions: Any) -> Any:
    """Of federate 0, with Position and Ammo in these regions, in time stamp order."""
    f.publish(0, TANK, "Position", "Ammo")
    named = [
        (f.attributes(TANK, name), {one}) for name, one in zip(("Position", "Ammo"), regions, strict=False)
    ]
    made = f.rti[0].register_object_instance_with_regions(f.object_class(TANK), named)
    f.rti[0].change_attribute_order_type(made, f.attributes(TANK, "Position", "Ammo"), OrderType.TIMESTAMP)
    return made


def look(f: Regions, i: int, region: RegionHandle, time: int | None, *names: str) -> None:
    as_of = {} if time is None else {"time": f.time(time)}
    pairs = [(f.attributes(TANK, *names), {region})]
    f.rti[i].subscribe_object_class_attributes_with_regions(f.object_class(TANK), pairs, **as_of)


def update(f: Regions, instance: Any, time: int, *names: str) -> None:
    values = {f.attribute(TANK, name): name.encode() for name in names}
    f.rti[0].update_attribute_values(instance, values, b"%d" % time, f.time(time))


def reflected(f: Regions, i: int) -> list[Any]:
    """(time, names) of reflections and grants."""
    found: list[Any] = []
    for call in f.take(i):
        method, arguments = call
        if method == REFLECT:
            found.append((arguments[6].value, sorted(value.decode() for value in arguments[1].values())))
        elif short(call) is not None:
            found.append(short(call))
    return found


def test_an_instance_is_discovered_before_an_update_that_comes_late(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    made = tank(f, red)
    update(f, made, 9, "Position")
    update(f, made, 10, "Position")
    look(f, 1, blue, 10, "Position")
    f.step(20)
    calls = [call for call in f.take(1) if call[0] in (DISCOVER, REFLECT)]
    assert [method for method, _ in calls] == [DISCOVER, REFLECT]
    assert calls[1][1][6].value == 10


def test_attributes_that_come_to_be_wanted_are_one_message_with_the_others(placement: Placement) -> None:
    """Position at once, Ammo late: the federate hears the same as if it had asked before."""
    for first in (True, False):
        f = Regions(placement=placement)
        red, blue, green = f.region(0), f.region(1), f.region(1)
        made = tank(f, red, red)
        look(f, 1, blue, None, "Position")
        if first:
            update(f, made, 10, "Position", "Ammo")
        look(f, 1, green, 8, "Ammo")
        if not first:
            update(f, made, 10, "Position", "Ammo")
        f.step(20)
        # Of different transportation, so in two callbacks.
        assert reflected(f, 1) == [(10, ["Position"]), (10, ["Ammo"]), 20]


def test_what_waits_goes_by_its_own_region_when_another_attribute_comes_late(placement: Placement) -> None:
    """9.1: Position waits, Ammo of the same update comes late, from elsewhere; then Position is not wanted any more."""
    for late in (True, False):
        f = Regions(placement=placement)
        here, there = f.region(0), f.region(0, THERE)
        blue, green = f.region(1), f.region(1, THERE)
        made = tank(f, here, there)
        look(f, 1, blue, None, "Position")
        f.rti[1].set_convey_region_designator_sets_switch(True)
        if not late:
            look(f, 1, green, 8, "Ammo")
        update(f, made, 10, "Position", "Ammo")
        update(f, made, 12, "Position", "Ammo")
        if late:
            look(f, 1, green, 8, "Ammo")
        f.move(1, blue, (7, 9), 11)
        f.step(20)
        told = [
            (arguments[6].value, f.rti[1].get_range_bounds(min(arguments[5]), f.lane))
            for _, arguments in f.take(1, REFLECT)
        ]
        assert told == [(10, RangeBounds(*HERE)), (10, RangeBounds(*THERE)), (12, RangeBounds(*THERE))]


@pytest.mark.parametrize("saved", [False, True])
def test_what_a_change_without_a_time_left_waiting_comes_also_if_another_attribute_comes_late(
    saved: bool, placement: Placement
) -> None:
    """Position stays, because it waited when it came not to be wanted; Ammo, which came late, is dropped as of a time."""
    f = Regions(placement=placement)
    here, blue, green = f.region(0), f.region(1), f.region(1)
    made = tank(f, here, here)
    look(f, 1, blue, 2, "Position")
    update(f, made, 10, "Position", "Ammo")
    f.move(1, blue, THERE)
    look(f, 1, green, 8, "Ammo")
    if saved:
        save(f, "waits")
        restore(f, "waits")
        f.quiet()
    f.move(1, green, THERE, 9)
    f.step(20)
    assert reflected(f, 1) == [(10, ["Position"]), 20]


def test_of_an_update_that_waits_only_what_a_change_without_a_time_concerns_stays(
    placement: Placement,
) -> None:
    """Of one callback Position stays; Speed is still wanted, until it is not as of a time."""
    f = Regions(placement=placement)
    here, blue, green = f.region(0), f.region(1), f.region(1)
    f.publish(0, TANK, "Position", "Speed")
    both = f.attributes(TANK, "Position", "Speed")
    made = f.rti[0].register_object_instance_with_regions(f.object_class(TANK), [(both, {here})])
    f.rti[0].change_attribute_order_type(made, both, OrderType.TIMESTAMP)
    look(f, 1, blue, 2, "Position")
    look(f, 1, green, 2, "Speed")
    for time in (10, 15):
        update(f, made, time, "Position", "Speed")
    f.move(1, blue, THERE)
    f.move(1, green, THERE, 12)
    f.step(20)
    assert reflected(f, 1) == [(10, ["Position", "Speed"]), (15, ["Position"]), 20]


def test_attributes_that_come_not_to_be_wanted_are_left_out(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue, green = f.region(0), f.region(1), f.region(1)
    made = tank(f, red, red)
    look(f, 1, blue, None, "Position")
    look(f, 1, green, None, "Ammo")
    update(f, made, 10, "Position", "Ammo")
    f.move(1, green, THERE, 9)
    f.step(20)
    assert reflected(f, 1) == [(10, ["Position"]), 20]


def test_an_update_region_that_moves_as_of_a_time_lets_others_discover_at_once(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1, THERE)
    made = tank(f, red)
    look(f, 1, blue, None, "Position")
    f.move(0, red, THERE, 10)
    for time in (5, 10):
        update(f, made, time, "Position")
    f.step(20)
    assert reflected(f, 1) == [(10, ["Position"]), 20]


def test_a_region_that_moves_before_its_subscription_ends_leads_to_discovery(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1, THERE)
    made = tank(f, red)
    look(f, 1, blue, None, "Position")
    pairs = [(f.attributes(TANK, "Position"), {blue})]
    f.rti[1].unsubscribe_object_class_attributes_with_regions(f.object_class(TANK), pairs, time=f.time(20))
    for time in (9, 10, 19, 20):
        update(f, made, time, "Position")
    f.move(1, blue, HERE, 10)
    f.step(30)
    assert reflected(f, 1) == [(10, ["Position"]), (19, ["Position"]), 30]


def test_passive_subscriptions_take_a_time_too_and_unsubscriptions_of_attributes(
    placement: Placement,
) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    made = tank(f, red)
    pairs = [(f.attributes(TANK, "Position"), {blue})]
    for time in (5, 10, 15):
        update(f, made, time, "Position")
    f.rti[1].subscribe_object_class_attributes_passively_with_regions(
        f.object_class(TANK), pairs, "High", time=f.time(6)
    )
    f.rti[1].unsubscribe_object_class_attributes_with_regions(f.object_class(TANK), pairs, time=f.time(12))
    event = f.interaction(EVENT)
    f.rti[1].subscribe_interaction_class_passively_with_regions(event, {blue}, time=f.time(6))
    f.step(20)
    assert reflected(f, 1) == [(10, ["Position"]), 20]


def test_an_interaction_is_received_at_the_nearest_class_as_of_its_time(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue, green = f.region(0), f.region(1), f.region(1)
    f.rti[1].subscribe_interaction_class_with_regions(f.interaction("Event"), {blue})
    for time in (5, 10, 15):
        f.say(0, time, b"%d" % time, red)
    f.hear(1, green, 8)
    f.deafen(1, green, 12)
    f.step(20)
    heard = [f.rti[1].get_interaction_class_name(a[0]) for _, a in f.take(1, "receive_interaction")]
    assert [name.rpartition(".")[2] for name in heard] == ["Event", "Hit", "Event"]


# --- advancing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["TAR", "NMR"])
def test_the_next_message_may_be_one_that_comes_late(kind: str, placement: Placement) -> None:
    f = Regions(3, placement=placement)
    red, blue = f.region(0), f.region(1)
    f.say(0, 10, b"late", red)
    f.hear(1, blue, 10)
    f.ask(0, "TAR", 30)
    f.ask(2, "TAR", 30)
    f.ask(1, kind, 25)
    assert f.tags(1) == ["late", 10 if kind == "NMR" else 25]


def test_the_next_message_is_not_one_that_came_not_to_be_wanted(placement: Placement) -> None:
    f = Regions(3, placement=placement)
    red, blue = f.region(0), f.region(1)
    f.hear(1, blue)
    f.say(0, 10, b"not wanted", red)
    f.say(0, 14, b"wanted", f.region(0, THERE))
    f.move(1, blue, THERE, 8)
    f.ask(0, "TAR", 30)
    f.ask(2, "TAR", 30)
    f.ask(1, "NMR", 25)
    assert f.tags(1) == ["wanted", 14]


def test_a_retracted_message_does_not_come_late(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    gone = f.say(0, 10, b"gone", red)
    late = f.say(0, 11, b"late, and taken back", red)
    f.rti[0].retract(gone)
    f.hear(1, blue, 9)
    f.rti[0].retract(late)
    f.step(20)
    assert f.tags(1) == [20]


def test_who_is_not_constrained_hears_at_once_and_once(placement: Placement) -> None:
    f = Regions(placement=placement)
    f.rti[1].disable_time_constrained()
    red, blue, green = f.region(0), f.region(1), f.region(1)
    f.say(0, 10, b"late", red)
    assert f.tags(1) == []
    f.hear(1, blue, 9)
    assert f.tags(1) == ["late"]
    f.hear(1, green, 8)
    assert f.tags(1) == []


def test_flushing_gives_no_time_that_something_may_come_before(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.hear(1, blue, 9)
    f.say(0, 10, b"10", red)
    f.say(0, 12, b"12", red)
    f.ask(0, "TAR", 15)
    f.ask(1, "FQR", 20)
    assert f.told(1) == [(b"10", 10, "TIMESTAMP"), (b"12", 12, "TIMESTAMP"), ("flushed", 10, 10)]


# --- once -----------------------------------------------------------------------------------------------------------


def away_and_back(f: Regions, region: RegionHandle, time: int) -> None:
    """As of a time: what is sent from here is taken off who has it, and sent again."""
    for bounds in (HERE, THERE, HERE):
        f.move(1, region, bounds, time)


@pytest.mark.parametrize("kind", ["TARA", "NMRA"])
def test_what_was_heard_of_an_available_time_does_not_come_again(kind: str, placement: Placement) -> None:
    """Granted it, a federate without lookahead may still change something as of that time."""
    f = Regions(lookahead=0, placement=placement)
    red, blue, green = f.region(0), f.region(1), f.region(1)
    f.hear(1, blue)
    made = tank(f, red, red)
    look(f, 1, blue, None, "Position")
    f.say(0, 10, b"10", red)
    update(f, made, 10, "Position", "Ammo")
    f.step(10, kind=kind)
    assert [call[0] for call in f.take(1)][-3:] == ["receive_interaction", REFLECT, "time_advance_grant"]
    away_and_back(f, blue, 10)
    look(f, 1, green, 10, "Ammo")
    f.step(20)
    assert reflected(f, 1) == [(10, ["Ammo"]), 20]


def test_what_was_flushed_does_not_come_again(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.hear(1, blue)
    f.say(0, 10, b"10", red)
    f.ask(1, "FQR", 5)
    assert f.told(1)[0] == (b"10", 10, "TIMESTAMP")
    away_and_back(f, blue, 8)
    f.step(20)
    assert f.tags(1) == [20]


def test_nor_if_a_change_without_a_time_had_left_it_in_the_queue(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.hear(1, blue, 2)
    f.say(0, 10, b"10", red)
    f.move(1, blue, THERE)
    f.ask(1, "FQR", 5)
    assert f.told(1)[0] == (b"10", 10, "TIMESTAMP")
    away_and_back(f, blue, 8)
    f.step(20)
    assert f.tags(1) == [20]


def test_nor_if_the_federation_was_saved_in_between(placement: Placement) -> None:
    """Before it was flushed or after that."""
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.hear(1, blue, 2)
    f.say(0, 10, b"10", red)
    f.move(1, blue, THERE)
    save(f, "waits")
    restore(f, "waits")
    f.quiet()
    f.ask(1, "FQR", 5)
    assert f.told(1)[0] == (b"10", 10, "TIMESTAMP")
    save(f, "flushed")
    restore(f, "flushed")
    f.quiet()
    away_and_back(f, blue, 8)
    f.step(20)
    assert f.tags(1) == [20]


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_change_below_time_and_lookahead_is_says(placement: Placement) -> None:
    """S4-12; and nothing is left behind: the federate is not held."""
    f = Regions(lookahead=3, placement=placement)
    blue = f.region(1)
    f.hear(1, blue)
    f.step(10)
    f.take(1)
    with says(InvalidLogicalTime, "may change regions and subscriptions at 13 or later"):
        f.move(1, blue, THERE, 12)
    with says(InvalidLogicalTime, "13 or later"):
        f.hear(1, blue, 12)
    with says(InvalidLogicalTime, "HLAinteger64Time"):
        f.rti[1].commit_region_modifications({blue}, time=HLAfloat64Time(20.0))
    f.move(1, blue, THERE, 13)
    f.step(30)
    assert f.tags(1) == [30]


def test_with_zero_lookahead_the_time_itself_is_over_after_a_grant_that_includes_it(
    placement: Placement,
) -> None:
    f = Regions(lookahead=0, placement=placement)
    blue = f.region(1)
    f.step(10)
    with says(InvalidLogicalTime, "later than 10"):
        f.move(1, blue, THERE, 10)
    f.step(12, kind="TARA")
    f.move(1, blue, THERE, 12)


def test_only_who_regulates_may_change_as_of_a_time(placement: Placement) -> None:
    f = Regions(placement=placement)
    f.rti[1].disable_time_regulation()
    blue = f.region(1)
    with says(TimeRegulationIsNotEnabled, "enable_time_regulation"):
        f.move(1, blue, THERE, 10)
    with says(TimeRegulationIsNotEnabled, "subscribe_interaction_class_with_regions without a time"):
        f.hear(1, blue, 10)


def test_a_region_is_in_use_until_its_subscription_has_ended_for_everybody(placement: Placement) -> None:
    f = Regions(placement=placement)
    blue = f.region(1)
    f.hear(1, blue)
    f.deafen(1, blue, 10)
    with says(RegionInUseForUpdateOrSubscription):
        f.rti[1].delete_region(blue)
    for time in (11, 12):
        f.step(time)
        f.quiet()
    f.rti[1].delete_region(blue)


# --- coming and going -----------------------------------------------------------------------------------------------


def test_who_joins_later_knows_what_regions_are_when(placement: Placement) -> None:
    f = Regions(3, joined=2, placement=placement)
    blue = f.region(1)
    f.hear(1, blue)
    f.move(1, blue, THERE, 10)
    f.join(2)
    f.take_part(2)
    f.regulate(2)
    f.constrain(2)
    f.quiet()
    here, there = f.region(2), f.region(2, THERE)
    for time in (5, 15):
        f.say(2, time, b"here %d" % time, here)
        f.say(2, time, b"there %d" % time, there)
    f.step(30)
    assert f.tags(1) == ["here 5", "there 15", 30]


def test_who_resigns_holds_nobody_and_its_messages_come_late_while_its_node_has_members(
    placement: Placement,
) -> None:
    f = Regions(4, placement=placement)
    red, blue, green = f.region(0), f.region(1), f.region(2)
    f.say(0, 10, b"10", red)
    f.hear(2, green, 9)
    f.resign(2)
    f.resign(3)
    f.hear(1, blue, 9)
    f.step(20, 0, 1)
    assert f.tags(1) == ["10", 20]


def test_a_save_keeps_what_regions_are_when(placement: Placement) -> None:
    f = Regions(placement=placement)
    here, there, blue = f.region(0), f.region(0, THERE), f.region(1)
    f.hear(1, blue)
    f.say(0, 6, b"here 6", here)
    f.say(0, 14, b"here 14", here)
    f.say(0, 15, b"there 15", there)
    f.move(1, blue, THERE, 10)
    f.deafen(1, blue, 20)
    save(f, "moving")
    f.move(1, blue, HERE)
    restore(f, "moving")
    f.quiet()
    for time in (7, 16, 21):
        f.say(0, time, b"here %d" % time, here)
        f.say(0, time, b"there %d" % time, there)
    f.move(
        1, blue, HERE, 14
    )  # what was sent before the save is in the log again, and in the queue on its condition
    f.step(30)
    assert f.tags(1) == ["here 6", "here 7", "here 14", "here 16", 30]


def test_it_can_be_asked_what_it_costs(placement: Placement) -> None:
    f = Regions(placement=placement)
    red, blue = f.region(0), f.region(1)
    f.say(0, 10, b"late", red)
    f.hear(1, blue, 10)
    f.move(1, blue, THERE, 10)
    f.drain()
    (counts,) = [one["regions"] for one in f.rti[0].query_status()]
    assert (counts["changes"], counts["logged"], counts["log"], counts["late"]) == (2, 1, 1, 1)
    (there,) = [one["regions"] for one in f.rti[1].query_status()]
    assert there["dropped"] == 1
