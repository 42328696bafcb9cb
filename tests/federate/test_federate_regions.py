"""Regions in `weft.join`: what is wanted, sent and updated where (S2-1, S2-2; issue 6, part 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from support.small_fom import DIMENSION, LANES, fom
from weft import EmbeddedNode, Federate, HLAfloat64Interval, HLAfloat64Time
from weft.host import NodeHost
from weft.host.simulated.simulated import SimulatedConnection, SimulatedNetwork
from weft.model.errors import (
    InvalidRangeBound,
    InvalidRegion,
    InvalidRegionContext,
    NameNotFound,
    RegionInUseForUpdateOrSubscription,
    RegionNotCreatedByThisFederate,
    WeftError,
)

FED = weft.Source(
    "air.fed",
    b"""(FED (Federation air) (FEDversion v1.3)
  (spaces (space Ground (dimension x) (dimension y)) (space Air (dimension x) (dimension alt)))
  (objects (class ObjectRoot (attribute privilegeToDelete reliable timestamp)
    (class Tank (attribute at reliable receive Ground) (attribute name reliable receive))))
  (interactions (class InteractionRoot reliable receive
    (class Shot reliable receive Air (parameter who)))))""",
)
FOM = fom()


@pytest.fixture(params=["embedded", "simulated"])
def host(request: pytest.FixtureRequest) -> NodeHost:
    if request.param == "embedded":
        return EmbeddedNode()
    return SimulatedNetwork(["S1", "S2"], seed=3).at("S2")


def joined(host: NodeHost, name: str, model: Any = FOM) -> Federate:
    return weft.join("Range", name, fom=model, host=host)


def arrive(federate: Federate) -> None:
    if isinstance(federate.rti.connection, SimulatedConnection):
        federate.run(1.0)
    while federate.poll():
        pass


def test_what_is_elsewhere_is_not_heard(host: NodeHost) -> None:
    """Subscriptions by decorators, objects that are registered and placed, interactions that are sent somewhere."""
    with joined(host, "one") as one, joined(host, "two") as two:
        heard: list[Any] = []
        near = two.region(Lane=(4, 8))
        two.on_discovery("Tank", where=near)(lambda tank: heard.append(tank.name))
        two.on_update("Tank", "Name", where=near)(lambda tank, values: heard.append(values["Name"]))
        two.on_interaction("Event", where=near)(lambda event: heard.append(event["When"]))
        area = one.region(Lane=(0, 1))
        tank = one.register("Tank", "Rhino", where=area)
        for at in (2, 3, 4, 7, 8, 5):
            area.move(Lane=(at, at + 1))
            tank.update(Name=str(at))
            one.send("Event", When=f"event {at}", where=area)
            arrive(two)
        expected = ["Rhino", "4", "event 4", "7", "event 7", "5", "event 5"]
        assert heard == expected
        one.send("Event", When="for all")
        arrive(two)
        assert heard == [*expected, "for all"]


def test_several_regions_are_alternatives(host: NodeHost) -> None:
    """S2-2; any iterable names them."""
    with joined(host, "one") as one, joined(host, "two") as two:
        heard: list[Any] = []
        ends = (two.region(Lane=bounds) for bounds in [(0, 2), (14, LANES)])
        two.on_interaction("Event", where=ends)(lambda event: heard.append(event["When"]))
        for at in (1, 2, 13, 14):
            one.send("Event", When=str(at), where=one.region(Lane=(at, at + 1)))
        one.send("Event", When="both", where=[one.region(Lane=(5, 6)), one.region(Lane=(15, 16))])
        arrive(two)
        assert heard == ["1", "14", "both"]


def test_an_object_is_placed_anew(host: NodeHost) -> None:
    """Instead of where it was; an attribute by itself; and everywhere."""
    with joined(host, "one") as one, joined(host, "two") as two:
        heard: list[Any] = []
        two.on_update("Tank", "Name", "Ammo", where=two.region(Lane=(4, 8)))(
            lambda _, values: heard.append(sorted(values))
        )
        near, far = one.region(Lane=(5, 6)), one.region(Lane=(0, 1))
        tank = one.register("Tank", where=near)

        def updated() -> Any:
            heard.clear()
            tank.update(Name="n", Ammo="a")
            arrive(two)
            return heard

        assert updated() == [["Ammo", "Name"]]
        tank.place(far, "Name")
        assert updated() == [["Ammo"]]
        tank.place(far)
        near.delete()
        assert updated() == []
        tank.place(None)
        far.delete()
        assert updated() == [["Ammo", "Name"]]


def test_regions_move_together_or_not_at_all(host: NodeHost) -> None:
    with joined(host, "one") as one, joined(host, "two") as two:
        heard: list[Any] = []
        a, b = two.region(Lane=(0, 2)), two.region(Lane=(2, 4))
        two.on_interaction("Event", where=[a, b])(lambda event: heard.append(event["When"]))

        def reached() -> list[int]:
            heard.clear()
            for at in range(LANES):
                one.send("Event", When=str(at), where=one.region(Lane=(at, at + 1)))
            arrive(two)
            return list(map(int, heard))

        assert reached() == [0, 1, 2, 3]
        with two.moving():
            a.move(Lane=(8, 9))
            assert a.ranges == {DIMENSION: (0, 2)}, "not yet"
            with two.moving():
                b.move(Lane=(9, 10))
            assert reached() == [0, 1, 2, 3]
        assert reached() == [8, 9]
        with pytest.raises(ZeroDivisionError), two.moving():  # noqa: PT012
            a.move(Lane=(1, 2))
            1 / 0
        with pytest.raises(InvalidRangeBound), two.moving():  # noqa: PT012
            a.move(Lane=(1, 2))
            b.move(Lane=(2, LANES + 1))
        assert (a.ranges, b.ranges) == ({DIMENSION: (8, 9)}, {DIMENSION: (9, 10)})
        b.move(Lane=(10, 11))
        two.rti.commit_region_modifications({a.handle})
        assert reached() == [8, 10], "nor does what failed count later"


def test_regions_of_a_fed_file(host: NodeHost) -> None:
    """Dimensions by their names in a space, or by any ending that fits only one; an attribute without a space is left out."""
    with joined(host, "one", FED) as one, joined(host, "two", FED) as two:
        heard: list[Any] = []
        two.on_update("Tank", where=two.region("Ground", x=(0, 10), y=(5, 6)))(
            lambda _, values: heard.append(values)
        )
        area = one.region(y=(0, 5))
        tank = one.register("Tank", where=area)
        tank.update(at=b"here", name=b"x")
        arrive(two)
        assert heard == []
        area.move(y=(5, 10))
        tank.update(at=b"there", name=b"x")
        arrive(two)
        assert heard == [{"at": b"there"}]
        whole = one.region("Air")
        assert whole.ranges == {"Air.x": (0, 0xFFFFFFFF), "Air.alt": (0, 0xFFFFFFFF)}
        whole.move(alt=(3, 4))
        assert whole.ranges["Air.alt"] == (3, 4)


def test_regions_are_conveyed_if_asked_for(host: NodeHost) -> None:
    """Clause 10.43: by value, on what is received."""
    with joined(host, "one") as one, joined(host, "two") as two:
        heard: list[Any] = []
        two.on_interaction("Event")(lambda event: heard.append(event.regions))
        two.on_update("Tank", "Name")(lambda tank, _: heard.append(tank.regions))
        area = one.region(Lane=(2, 5))
        tank = one.register("Tank", where=area)

        def told() -> list[Any]:
            heard.clear()
            one.send("Event", When="", where=[area, one.region(Lane=(9, 10))])
            one.send("Event", When="")
            tank.update(Name="")
            arrive(two)
            return heard

        assert told() == [None, None, None]
        two.rti.set_convey_region_designator_sets_switch(True)
        assert told() == [({DIMENSION: (2, 5)}, {DIMENSION: (9, 10)}), None, ({DIMENSION: (2, 5)},)]


def test_regions_come_again_with_the_federate(host: NodeHost) -> None:
    """Who joins again has its regions, as they were last, and its handlers hear what is there."""
    one, two = joined(host, "one"), joined(host, "two")
    heard: list[Any] = []
    with one:
        with two:
            near = two.region(Lane=(4, 8))
            two.on_interaction("Event", where=near)(lambda event: heard.append(event["When"]))
            near.move(Lane=(10, 12))
        with two:
            for at in (5, 11):
                one.send("Event", When=str(at), where=one.region(Lane=(at, at + 1)))
            arrive(two)
            assert heard == ["11"]
            near.move(Lane=(5, 6))
            one.send("Event", When="moved", where=one.region(Lane=(5, 6)))
            arrive(two)
            assert heard == ["11", "moved"]


def test_regions_come_back_with_a_save(tmp_path: Path) -> None:
    """As they were then, with what was placed there; what was made since is no more."""
    with weft.join("Range", "alone", fom=FOM, host=EmbeddedNode(save_directory=tmp_path)) as alone:
        area, other = alone.region(Lane=(0, 1)), alone.region(Lane=(3, 4))
        tank = alone.register("Tank", where=area)
        assert alone.save("noon")
        area.move(Lane=(8, 9))
        late = alone.region(Lane=(1, 2))
        tank.place(late)
        area.delete()
        assert alone.restore("noon")
        assert area.ranges == {DIMENSION: (0, 1)}
        with pytest.raises(InvalidRegion, match="after the save"):
            late.move(Lane=(0, 1))
        with pytest.raises(RegionInUseForUpdateOrSubscription):
            area.delete()
        tank.place(other)
        area.delete()
        other.move(Lane=(0, 9))
        assert alone.rti.get_range_bounds(other.handle, alone.rti.get_dimension_handle(DIMENSION)) == (0, 9)


@pytest.mark.parametrize(
    ("error", "said", "attempt"),
    [
        (
            NameNotFound,
            "no dimension 'Lnae' in the object model; did you mean 'Lane'",
            lambda one, _: one.region(Lnae=(0, 1)),
        ),
        (NameNotFound, "name the ranges of a region", lambda one, _: one.region()),
        (NameNotFound, "no routing space 'Ground'", lambda one, _: one.region("Ground", x=(0, 1))),
        (
            InvalidRangeBound,
            r"dimension Lane: expected \(lower, upper\), got 3",
            lambda one, _: one.region(Lane=3),
        ),
        (
            InvalidRangeBound,
            r"\[5, 5\) is no range of dimension Lane",
            lambda one, _: one.region(Lane=(5, 5)),
        ),
        (
            InvalidRegionContext,
            "does not have the dimension HLAfederate",
            lambda one, _: one.region(Lane=(0, 1)).move(HLAfederate=(0, 1)),
        ),
        (
            InvalidRegion,
            "takes regions that `region` made, not 'here'",
            lambda one, _: one.send("Event", where="here"),
        ),
        (
            InvalidRegion,
            "takes regions that `region` made, not 5",
            lambda one, _: one.register("Tank", where=5),
        ),
        (InvalidRegion, "where= names no region", lambda one, _: one.subscribe("Event", where=[])),
        (
            RegionNotCreatedByThisFederate,
            "of another federate than one",
            lambda one, two: one.subscribe("Tank", where=two.region(Lane=(0, 1))),
        ),
        (
            InvalidRegionContext,
            r"no attribute of HLAobjectRoot.Vehicle has the dimensions HLAfederate",
            lambda one, _: one.subscribe("Vehicle", where=one.region(HLAfederate=(0, 1))),
        ),
    ],
)
def test_mistakes_are_told(error: type[WeftError], said: str, attempt: Any) -> None:
    node = EmbeddedNode()
    with joined(node, "one") as one, joined(node, "two") as two, pytest.raises(error, match=said):
        attempt(one, two)


def test_an_ambiguous_dimension_is_told() -> None:
    with weft.join("Range", "one", fom=FED, host=EmbeddedNode()) as one:
        with pytest.raises(NameNotFound, match=r"'x' may mean Ground.x or Air.x; give more of the name"):
            one.region(x=(0, 1))
        with pytest.raises(NameNotFound, match=r"no dimension 'Air.y'"):
            one.region("Air", y=(0, 1))


def test_a_region_that_was_refused_is_not_there() -> None:
    """Nor does a move that was refused in part change anything."""
    node = EmbeddedNode()
    with weft.join("Range", "one", fom=FED, host=node) as one:
        with pytest.raises(InvalidRangeBound):
            one.region("Ground", x=(0, 5), y=(5, 0))
        assert not node._node.federations["Range"].ddm.regions
        area = one.region("Ground", x=(0, 5), y=(0, 5))
        with pytest.raises(InvalidRangeBound):
            area.move(x=(7, 9), y=(5, 0))
        one.rti.commit_region_modifications({area.handle})
        assert one.rti.get_range_bounds(area.handle, one.rti.get_dimension_handle("Ground.x")) == (0, 5)


def test_a_save_at_a_time_is_not_waited_for(tmp_path: Path) -> None:
    """The federate has to get there first; `on_save` hears of it."""
    saved: list[str] = []
    with weft.join("Range", "one", fom=FOM, host=EmbeddedNode(save_directory=tmp_path)) as one:
        one.on_save(saved.append)
        one.rti.enable_time_regulation(HLAfloat64Interval(1.0))
        one.rti.enable_time_constrained()
        arrive(one)
        assert one.save("noon", time=HLAfloat64Time(10.0)) is False
        one.rti.time_advance_request(HLAfloat64Time(9.0))
        arrive(one)
        assert saved == []
        one.rti.time_advance_request(HLAfloat64Time(15.0))
        arrive(one)
        assert saved == ["noon"]
        assert one.save("later", 5.0) is True


Lanes = st.tuples(st.integers(0, LANES - 1), st.integers(1, LANES)).map(
    lambda two: (min(two), max(two[0] + 1, two[1]))
)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), Lanes), max_size=20))
def test_who_overlaps_hears(moves: list[tuple[int, tuple[int, int]]]) -> None:
    """S2-2: after any moves of two regions of each, a message is heard if any of the one's overlaps any of the other's."""
    node = EmbeddedNode()
    with joined(node, "one") as one, joined(node, "two") as two:
        regions = [federate.region(Lane=(0, 1)) for federate in (one, one, two, two)]
        heard: list[Any] = []
        two.on_interaction("Event", where=regions[2:])(lambda event: heard.append("event"))
        two.on_update("Tank", "Name", where=regions[2:])(lambda *_: heard.append("update"))
        tank = one.register("Tank", where=regions[:2])
        at = [(0, 1)] * 4
        for which, bounds in moves:
            regions[which].move(Lane=bounds)
            at[which] = bounds
            heard.clear()
            one.send("Event", When="", where=regions[:2])
            tank.update(Name="")
            arrive(two)
            meet = any(a[0] < b[1] and b[0] < a[1] for a in at[:2] for b in at[2:])
            assert heard == (["event", "update"] if meet else [])


def test_as_of_a_time() -> None:
    """S4-2, S4-13: blue looks there from 10 on, and hears what red had sent for then; before it hears nothing."""
    host = EmbeddedNode()
    with joined(host, "red") as red, joined(host, "blue") as blue:
        heard: list[Any] = []
        for one in (red, blue):
            one.rti.enable_time_regulation(HLAfloat64Interval(1.0))
            one.rti.enable_time_constrained()
            arrive(one)
        place = {DIMENSION.rpartition(".")[2]: (4, 6)}
        mouth, ear = red.region(**place), blue.region(**dict.fromkeys(place, (10, 12)))

        @blue.on_interaction("Event.Hit", where=ear)
        def hit(event: Any) -> None:
            heard.append(event.tag)

        red.publish("Event.Hit")
        event = red.rti.get_interaction_class_handle("Event.Hit")
        red.rti.change_interaction_order_type(event, weft.OrderType.TIMESTAMP)
        for time in (9.0, 10.0):
            red.rti.send_interaction_with_regions(
                event, {}, {mouth.handle}, b"%d" % time, HLAfloat64Time(time)
            )
        with blue.moving(time=HLAfloat64Time(10.0)):
            ear.move(**place)
        blue.subscribe("Event.Hit", where=ear, time=HLAfloat64Time(10.0))
        for one in (red, blue):
            one.rti.time_advance_request(HLAfloat64Time(20.0))
        for one in (red, blue):
            arrive(one)
        assert heard == [b"10"]
        red.rti.send_interaction(event, {}, b"35", HLAfloat64Time(35.0))
        red.rti.send_interaction_with_regions(
            event, {}, {red.region(**dict.fromkeys(place, (0, 2))).handle}, b"36", HLAfloat64Time(36.0)
        )
        blue.subscribe("Event.Hit", time=HLAfloat64Time(36.0))  # wherever it is
        for one in (red, blue):
            one.rti.time_advance_request(HLAfloat64Time(40.0))
        for one in (red, blue):
            arrive(one)
        assert heard == [b"10", b"35", b"36"]
        with (
            pytest.raises(InvalidRegion, match="inside another"),
            blue.moving(),
            blue.moving(time=HLAfloat64Time(30.0)),
        ):
            pass
