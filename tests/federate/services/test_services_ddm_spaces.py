"""Routing spaces above the standard's services: regions of extents, closed bounds, default regions (9.2; S2-1, S2-2, S2-20)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.federation import Federation, federation, refused
from support.placement import Placement
from support.small_fom import fom
from weft import RoutingRegion, RoutingSpaces, Source
from weft.model.errors import (
    InvalidRangeBound,
    InvalidRegion,
    InvalidRegionContext,
    NameNotFound,
    RegionDoesNotContainSpecifiedDimension,
    RegionInUseForUpdateOrSubscription,
)

FED = Source(
    "spaces.fed",
    b"""
(FED (Federation spaces) (FEDversion v1.3)
  (spaces
    (space Line (dimension x))
    (space Plane (dimension x) (dimension y)))
  (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
    (class Tank (attribute at reliable receive Plane) (attribute gun reliable receive Plane)
                (attribute road reliable receive Line) (attribute name reliable receive))))
  (interactions (class InteractionRoot reliable receive
    (class Shot reliable receive Plane (parameter how))
    (class Toll reliable receive Line)
    (class News reliable receive))))
""",
)
MAX = 0xFFFFFFFF
DISCOVER, REFLECT, RECEIVE = "discover_object_instance", "reflect_attribute_values", "receive_interaction"
Ranges = dict[str, tuple[int, int]]


@pytest.fixture
def f(placement: Placement) -> Iterator[Federation]:
    with federation(3, model=FED, placement=placement) as made:
        yield made


def views(f: Federation, fom: Any = FED) -> list[RoutingSpaces]:
    return [RoutingSpaces(rti, fom) for rti in f.rti]


def bound(spaces: RoutingSpaces, region: RoutingRegion, *extents: Ranges) -> None:
    """These closed ranges, one dict for each extent."""
    for extent, ranges in enumerate(extents):
        for name, (lower, upper) in ranges.items():
            dimension = spaces.get_dimension_handle(name, region.get_space_handle())
            region.set_range_lower_bound(extent, dimension, lower)
            region.set_range_upper_bound(extent, dimension, upper)
    spaces.notify_about_region_modification(region)


def region(spaces: RoutingSpaces, space: str, *extents: Ranges) -> RoutingRegion:
    made = spaces.create_region(spaces.get_routing_space_handle(space), len(extents))
    bound(spaces, made, *extents)
    return made


def register(f: Federation, spaces: RoutingSpaces, i: int, **regions: RoutingRegion) -> Any:
    f.publish(i, "Tank", "at", "gun", "road", "name")
    placed = {f.attribute("Tank", name): one for name, one in regions.items()}
    return spaces.register_object_instance_with_region(f.object_class("Tank"), placed)


def subscribe(f: Federation, spaces: RoutingSpaces, at: RoutingRegion, *names: str) -> None:
    spaces.subscribe_object_class_attributes_with_region(
        f.object_class("Tank"), at, f.attributes("Tank", *names)
    )


# --- names ------------------------------------------------------------------------------------------------------


def test_spaces_and_dimensions_have_names_and_numbers(f: Federation) -> None:
    """S2-1: from the FED file, and, but for attributes, from what the RTI tells."""
    for spaces in (RoutingSpaces(f.rti[1], FED), RoutingSpaces(f.rti[1])):
        plane = spaces.get_routing_space_handle("Plane")
        assert spaces.get_routing_space_name(plane) == "Plane"
        assert spaces.get_routing_space_handle("defaultRoutingSpace") == 0
        assert [spaces.get_dimension_handle(name, plane) for name in ("x", "y")] == [1, 2]
        assert spaces.get_dimension_name(2, plane) == "y"
        told = [
            spaces.get_interaction_routing_space_handle(f.interaction(name))
            for name in ("Shot", "Toll", "News")
        ]
        assert told == [plane, spaces.get_routing_space_handle("Line"), 0]


def test_the_space_of_an_attribute_is_in_the_object_model(f: Federation) -> None:
    spaces, asked = RoutingSpaces(f.rti[1], FED), RoutingSpaces(f.rti[1])
    tank = f.object_class("Tank")
    told = [
        spaces.get_routing_space_name(
            spaces.get_attribute_routing_space_handle(f.attribute("Tank", name), tank)
        )
        for name in ("at", "road", "name", "HLAprivilegeToDeleteObject")
    ]
    assert told == ["Plane", "Line", "defaultRoutingSpace", "defaultRoutingSpace"]
    with pytest.raises(NameNotFound, match=r"does not tell in which routing space at of .*RoutingSpaces"):
        asked.get_attribute_routing_space_handle(f.attribute("Tank", "at"), tank)


def test_sets_of_dimensions_are_spaces_of_a_fom(placement: Placement) -> None:
    """Whose bounds are those of the dimension."""
    with federation(2, model=fom(), placement=placement) as f:
        one, two = views(f, fom())
        lane = one.get_routing_space_handle("Lane")
        near, far = region(one, "Lane", {"Lane": (0, 7)}), region(two, "Lane", {"Lane": (8, 15)})
        assert (far.get_range_lower_bound(0, 1), far.get_range_upper_bound(0, 1)) == (8, 15)
        with refused(InvalidRangeBound):
            far.set_range_upper_bound(0, 1, 16)
        event = f.interaction("Event")
        f.rti[0].publish_interaction_class(event)
        two.subscribe_interaction_class_with_region(event, far)
        one.send_interaction_with_region(event, {}, near)
        assert f.take(1) == []
        bound(two, far, {"Lane": (7, 15)})
        one.send_interaction_with_region(event, {}, near)
        assert f.heard(1) == [RECEIVE]
        assert one.get_interaction_routing_space_handle(event) == lane


# --- regions ----------------------------------------------------------------------------------------------------


def test_bounds_are_what_was_set(f: Federation) -> None:
    """S2-20: over [0, 0xffffffff], both of which belong to the range; and nothing counts before it is notified."""
    spaces, other, _ = views(f)
    made = spaces.create_region(spaces.get_routing_space_handle("Plane"), 2)
    assert (made.get_number_of_extents(), made.get_space_handle()) == (2, 2)
    assert [made.get_range_lower_bound(1, 2), made.get_range_upper_bound(1, 2)] == [0, MAX]
    toll = f.interaction("Toll")
    here = region(other, "Line", {"x": (5, 5)})
    f.rti[0].publish_interaction_class(toll)
    other.subscribe_interaction_class_with_region(toll, here)
    at = region(spaces, "Line", {"x": (6, 6)})
    at.set_range_lower_bound(0, 1, 5)
    spaces.send_interaction_with_region(toll, {}, at)
    assert f.take(1) == []
    spaces.notify_about_region_modification(at)
    spaces.send_interaction_with_region(toll, {}, at)
    assert f.heard(1) == [RECEIVE]


@pytest.mark.one_node
@pytest.mark.parametrize("point", [0, 1, 0xFFFFFFFD, 0xFFFFFFFE, MAX])
def test_a_range_may_be_one_number(f: Federation, point: int) -> None:
    """S2-20: the last number of HLA 1.3 too; it and the one before are taken as one."""
    one, two, _ = views(f)
    toll = f.interaction("Toll")
    f.rti[0].publish_interaction_class(toll)
    at = region(one, "Line", {"x": (point, point)})
    here = region(two, "Line", {"x": (point, point)})
    assert here.get_range_lower_bound(0, 1) == here.get_range_upper_bound(0, 1) == point
    two.subscribe_interaction_class_with_region(toll, here)
    one.send_interaction_with_region(toll, {}, at)
    assert f.heard(1) == [RECEIVE]
    bound(two, here, {"x": (0, point - 1)} if point > 1 else {"x": (point + 1, MAX)})
    one.send_interaction_with_region(toll, {}, at)
    assert f.heard(1) == ([RECEIVE] if point == MAX else [])


def test_extents_are_alternatives(f: Federation) -> None:
    """S2-2: any extent of the one with any of the other, in every dimension; all move together."""
    one, two, _ = views(f)
    here = region(two, "Plane", {"x": (0, 9), "y": (0, 9)}, {"x": (20, 29), "y": (20, 29)})
    subscribe(f, two, here, "at")
    at = region(one, "Plane", {"x": (9, 20), "y": (10, 19)}, {"x": (30, 30), "y": (25, 25)})
    tank = register(f, one, 0, at=at)
    assert f.take(1) == []
    bound(two, here, {"x": (0, 9), "y": (0, 9)}, {"x": (20, 30), "y": (25, 25)})
    assert f.heard(1) == [DISCOVER]
    f.update(0, tank, "Tank", "at")
    assert f.heard(1) == [REFLECT], "once, however many extents overlap"


def test_a_region_in_use_stays(f: Federation) -> None:
    one, _, _ = views(f)
    made = region(one, "Plane", {"x": (0, 1)}, {"x": (3, 4)})
    subscribe(f, one, made, "at")
    with refused(RegionInUseForUpdateOrSubscription):
        one.delete_region(made)
    one.unsubscribe_object_class_with_region(f.object_class("Tank"), made)
    one.delete_region(made)
    with refused(InvalidRegion):
        one.notify_about_region_modification(made)


# --- default regions --------------------------------------------------------------------------------------------


def test_the_default_region_of_a_space_overlaps_all_of_it(f: Federation) -> None:
    """S2-1: it is the whole space, and what services without regions stand for."""
    one, two, three = views(f)
    whole = one.default_region(one.get_routing_space_handle("Plane"))
    assert whole is one.default_region(2)
    assert [whole.get_number_of_extents(), whole.get_range_lower_bound(0, 2)] == [1, 0]
    assert whole.get_range_upper_bound(0, 2) == MAX
    subscribe(f, two, region(two, "Plane", {"x": (MAX, MAX), "y": (7, 7)}), "at")
    subscribe(f, three, three.default_region(2), "at")
    tank = register(f, one, 0, at=whole, road=region(one, "Line", {"x": (0, 0)}))
    f.update(0, tank, "Tank", "at", "road")
    for i in (1, 2):
        assert [set(a[1]) for m, a in f.take(i) if m == REFLECT] == [f.attributes("Tank", "at")]
    three.unsubscribe_object_class_with_region(f.object_class("Tank"), three.default_region(2))
    f.update(0, tank, "Tank", "at")
    assert f.take(2) == []


def test_what_has_no_space_is_in_the_overall_default_region(f: Federation) -> None:
    """S2-1: no extents; everybody who subscribes gets it."""
    one, two, _ = views(f)
    everywhere = one.default_region()
    assert (everywhere.get_number_of_extents(), everywhere.get_space_handle()) == (0, 0)
    f.rti[0].publish_interaction_class(f.interaction("News"))
    two.subscribe_interaction_class_with_region(f.interaction("News"), two.default_region(), active=False)
    one.send_interaction_with_region(f.interaction("News"), {}, everywhere, b"tag")
    assert f.heard(1) == [RECEIVE]
    two.unsubscribe_interaction_class_with_region(f.interaction("News"), two.default_region())
    one.send_interaction_with_region(f.interaction("News"), {}, everywhere)
    assert f.take(1) == []


@pytest.mark.one_node
@pytest.mark.parametrize(
    "attempt",
    [
        lambda s, r: r.set_range_lower_bound(0, 1, 1),
        lambda s, r: s.notify_about_region_modification(r),
        lambda s, r: s.delete_region(r),
    ],
)
def test_a_default_region_cannot_be_changed(f: Federation, attempt: Any) -> None:
    spaces = RoutingSpaces(f.rti[0], FED)
    with refused(InvalidRegion):
        attempt(spaces, spaces.default_region(1))


# --- updates ----------------------------------------------------------------------------------------------------


def test_another_association_takes_the_place_of_the_former(f: Federation) -> None:
    """An attribute is updated with one region at a time; without any it is in the default region."""
    one, two, _ = views(f)
    near, far = region(one, "Plane", {"x": (0, 9)}), region(one, "Plane", {"x": (50, 59)})
    subscribe(f, two, region(two, "Plane", {"x": (5, 5)}), "at", "gun")
    tank = register(f, one, 0, at=near, gun=near)
    f.update(0, tank, "Tank", "at", "gun")
    assert [len(a[1]) for m, a in f.take(1) if m == REFLECT] == [2]
    one.associate_region_for_updates(far, tank, f.attributes("Tank", "at"))
    f.update(0, tank, "Tank", "at", "gun")
    assert [set(a[1]) for m, a in f.take(1)] == [f.attributes("Tank", "gun")]
    one.unassociate_region_for_updates(near, tank)
    one.delete_region(near)
    one.unassociate_region_for_updates(far, tank)
    one.delete_region(far)
    f.update(0, tank, "Tank", "at", "gun")
    assert [len(a[1]) for m, a in f.take(1)] == [2]


def test_an_association_with_the_default_region_ends_the_former(f: Federation) -> None:
    one, two, _ = views(f)
    far = region(one, "Plane", {"x": (50, 59)})
    subscribe(f, two, region(two, "Plane", {"x": (5, 5)}), "at")
    tank = register(f, one, 0, at=far)
    assert f.take(1) == []
    one.associate_region_for_updates(one.default_region(2), tank, f.attributes("Tank", "at"))
    assert f.heard(1) == [DISCOVER]
    one.delete_region(far)


def test_subscribing_again_takes_the_place_of_the_former(f: Federation) -> None:
    one, two, _ = views(f)
    here = region(two, "Plane", {"x": (0, 9)}, {"x": (20, 29)})
    subscribe(f, two, here, "at", "gun")
    subscribe(f, two, here, "gun")
    tank = register(f, one, 0, at=region(one, "Plane", {"x": (25, 25)}))
    f.update(0, tank, "Tank", "at", "gun")
    assert [set(a[1]) for m, a in f.take(1) if m == REFLECT] == [f.attributes("Tank", "gun")]


def test_requests_go_where_the_region_is(f: Federation) -> None:
    one, two, _ = views(f)
    near = register(f, one, 0, at=region(one, "Plane", {"x": (0, 9)}))
    register(f, one, 0, at=region(one, "Plane", {"x": (50, 59)}))
    f.quiet()
    tank, at = f.object_class("Tank"), f.attributes("Tank", "at")
    asked = region(two, "Plane", {"x": (9, 20)}, {"x": (60, 60)})
    two.request_class_attribute_value_update_with_region(tank, at, asked, b"?")
    assert f.take(0) == [("provide_attribute_value_update", (near, at, b"?"))]
    two.request_class_attribute_value_update_with_region(tank, at, two.default_region(2))
    assert len(f.take(0)) == 2


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.one_node
@pytest.mark.parametrize(
    ("error", "said", "attempt"),
    [
        (NameNotFound, "no routing space 'Air'; there are: .*Line, Plane", lambda s: s.get_routing_space_handle("Air")),
        (NameNotFound, "Plane has no dimension 'z'; it has: x, y", lambda s: s.get_dimension_handle("z", 2)),
        (NameNotFound, "3 is no dimension of routing space Plane", lambda s: s.get_dimension_name(3, 2)),
        (NameNotFound, "7 is no routing space", lambda s: s.create_region(7, 1)),
        (InvalidRegion, "one extent or more, not 0", lambda s: s.create_region(1, 0)),
        (InvalidRegionContext, "has no dimensions", lambda s: s.create_region(0, 1)),
        (InvalidRangeBound, "numbers from 0 to 0xffffffff", lambda s: s.create_region(2, 1).set_range_upper_bound(0, 2, MAX + 1)),
        (InvalidRangeBound, "-1 is no bound in dimension x", lambda s: s.create_region(2, 1).set_range_lower_bound(0, 1, -1)),
        (InvalidRegion, "no extent 2 in a region of 2", lambda s: s.create_region(2, 2).get_range_lower_bound(2, 1)),
        (RegionDoesNotContainSpecifiedDimension, "3 is no", lambda s: s.create_region(2, 1).get_range_upper_bound(0, 3)),
    ],
)  # fmt: skip
def test_mistakes_are_told(f: Federation, error: Any, said: str, attempt: Any) -> None:
    spaces = RoutingSpaces(f.rti[0], FED)
    with pytest.raises(error, match=said):
        attempt(spaces)


def test_a_range_upside_down_changes_nothing(f: Federation) -> None:
    """Bounds are set one at a time, so it shows when they are to count; then all of the region stays as it was."""
    one, two, _ = views(f)
    toll = f.interaction("Toll")
    f.rti[0].publish_interaction_class(toll)
    here = region(two, "Line", {"x": (5, 9)}, {"x": (20, 20)})
    two.subscribe_interaction_class_with_region(toll, here)
    at = region(one, "Line", {"x": (7, 7)})
    with pytest.raises(InvalidRangeBound, match=r"\[30, 20\] is no range: extent 1 .* in Line, dimension x"):
        bound(two, here, {"x": (50, 60)}, {"x": (30, 20)})
    one.send_interaction_with_region(toll, {}, at)
    assert f.heard(1) == [RECEIVE]


def test_a_region_is_for_what_travels_in_its_space(f: Federation) -> None:
    one = RoutingSpaces(f.rti[0], FED)
    line = region(one, "Line", {"x": (0, 1)})
    for attempt in (
        lambda: subscribe(f, one, line, "at"),
        lambda: subscribe(f, one, one.default_region(), "at"),
        lambda: register(f, one, 0, name=line),
        lambda: one.subscribe_interaction_class_with_region(f.interaction("Shot"), line),
        lambda: one.send_interaction_with_region(f.interaction("Shot"), {}, one.default_region(1)),
    ):
        with pytest.raises(InvalidRegionContext, match=r"is not for .*, which travels in (Plane|default)"):
            attempt()
    asked = RoutingSpaces(f.rti[0])
    with refused(InvalidRegionContext):
        subscribe(f, asked, line, "at")


# --- the law ----------------------------------------------------------------------------------------------------

# Small numbers meet often; the last ones are where closed and half-open bounds differ most.
numbers = st.one_of(st.integers(0, 6), st.sampled_from([0x7FFFFFFF, 0x80000000, 0xFFFFFFFD, MAX]))
ranges = st.tuples(numbers, numbers).map(lambda two: (min(two), max(two)))
boxes = st.fixed_dictionaries({"x": ranges, "y": ranges})
extents = st.lists(boxes, min_size=1, max_size=3)


def overlap(one: list[Ranges], other: list[Ranges]) -> bool:
    """S2-2 by closed bounds, said anew."""
    return any(
        all(mine[name][0] <= theirs[name][1] and theirs[name][0] <= mine[name][1] for name in "xy")
        for mine in one
        for theirs in other
    )


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(moves=st.lists(st.tuples(extents, extents), min_size=1, max_size=6))
def test_callbacks_come_if_closed_extents_overlap(moves: list[tuple[Any, Any]], placement: Placement) -> None:
    """S2-2, S2-20: whatever the extents, and as they move; updates and interactions alike."""
    with federation(2, model=FED, placement=placement) as f:
        one, two = views(f)
        plane = one.get_routing_space_handle("Plane")
        at, here = one.create_region(plane, 3), two.create_region(plane, 3)
        f.rti[0].publish_interaction_class(f.interaction("Shot"))
        tank, known, before = None, False, None
        for sent, wanted in moves:
            bound(one, at, *_three(sent))
            bound(two, here, *_three(wanted))
            if tank is None:
                subscribe(f, two, here, "at")
                two.subscribe_interaction_class_with_region(f.interaction("Shot"), here)
                tank = register(f, one, 0, at=at)
            f.update(0, tank, "Tank", "at")
            one.send_interaction_with_region(f.interaction("Shot"), {}, at)
            # They may also have met when the one had moved and the other not yet.
            meet = overlap(sent, wanted) or (before is not None and overlap(sent, before))
            expected = [DISCOVER] if meet and not known else []
            expected += [REFLECT, RECEIVE] if overlap(sent, wanted) else []
            assert f.heard(1) == expected
            known, before = known or meet, wanted


def _three(extents: list[Ranges]) -> list[Ranges]:
    """The same region with three extents."""
    return (extents * 3)[:3]
