"""Every vector of S2-9 … S2-16, with the corrections; docs/explanation/ddm.md lists where the paper itself is wrong."""

from __future__ import annotations

import pytest

from interest.listeners import Listeners
from interest.paper import (
    FED,
    GRID_OF_TWO,
    REGIONS,
    Closed,
    paper_region,
    region_in,
    settings_of,
    spaces_of,
    strategy_of,
)
from weft.interest import DEFAULT_REGION, Extent, Region, StaticGridPartitioned, closed
from weft.interest.strategies import PartitionGrid

SPACES = spaces_of()


def grid_of(rid: bytes) -> StaticGridPartitioned:
    made = strategy_of(rid, SPACES)
    assert isinstance(made, StaticGridPartitioned)
    return made


def channels(name: str) -> list[int]:
    return sorted(grid_of(GRID_OF_TWO).update_channels(*paper_region(SPACES, name)))


def test_two_partitions_meet_at_the_middle() -> None:
    """S2-10: partitions are 0x80000000 wide, so the prose of the paper is off by one against its code."""
    space = SPACES.by_name["1D"]
    grid = PartitionGrid(space, (2,), 1)
    assert grid.sizes == (0x80000000,)
    number = space.dimensions[0].number
    assert grid.ranges(closed({number: (0x7FFFFFFF, 0x7FFFFFFF)})) == [range(1)]
    assert grid.ranges(closed({number: (0x80000000, 0x80000000)})) == [range(1, 2)]
    assert grid.ranges(closed({number: (0, 0xFFFFFFFF)})) == [range(2)]


def test_partitions_need_not_be_square() -> None:
    """S2-9, S2-10: ten along x and three along y, and what is not named has the general number."""
    rid = b"""(DataDistribution (StrategyToUse StaticGridPartitioned) (Options (StaticGridPartitionedStrategyOptions
        (MaxPartitionsPerDimension 2)
        (SpaceOptions (2D (DimensionOptions (x (NumPartitions 10)) (y (NumPartitions 3))))))))"""
    made = grid_of(rid)
    grid = made.grids[SPACES.by_name["2D"].number]
    assert grid.sizes == (429496730, 1431655766)
    assert grid.count == 30
    assert made.partitions == 2 + 30 + 8
    assert made.channels == 40


def test_partitions_are_numbered_through_with_x_fastest() -> None:
    """S2-11: {1, 2}, {3 … 6}, {7 … 14}; fourteen reliable and fourteen best-effort channels; 0 is reserved."""
    made = grid_of(GRID_OF_TWO)
    assert (made.partitions, made.channels) == (14, 14)
    for name, numbers in (("1D", [1, 2]), ("2D", [3, 4, 5, 6]), ("3D", [7, 8, 9, 10, 11, 12, 13, 14])):
        assert sorted(made.update_channels(SPACES.by_name[name], DEFAULT_REGION)) == numbers
    right_below = [{"x": (0x80000000, 0x80000000), "y": (0, 0)}]
    left_above = [{"x": (0, 0), "y": (0x80000000, 0x80000000)}]
    space = SPACES.by_name["2D"]
    assert made.update_channels(space, region_in(space, right_below)) == {4}
    assert made.update_channels(space, region_in(space, left_above)) == {5}
    assert made.update_channels(None, DEFAULT_REGION) == {0}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("R1D-1", [1]), ("R1D-2", [2]), ("R1D-3", [1, 2]), ("R2D-1", [3]), ("R2D-2", [5, 6]), ("R2D-3", [3, 6]),
        ("R2D-4", [3, 4, 5, 6]), ("R2D-5", [5]),
    ],
)  # fmt: skip
def test_the_table_of_regions(name: str, expected: list[int]) -> None:
    """S2-12, with the hexadecimal numbers repaired to eight digits."""
    assert channels(name) == expected


def test_the_table_of_regions_as_printed() -> None:
    """S2-12: with seven digits R1D-2 is inverted, R1D-3 lies in the first half, and R2D-5 crosses the middle."""
    made = grid_of(GRID_OF_TWO)
    line, plane = SPACES.by_name["1D"], SPACES.by_name["2D"]
    with pytest.raises(ValueError, match="nothing lies in"):
        region_in(line, [{"x": (0x80001111, 0xFFFF000)}])
    third = region_in(line, [{"x": (0xF, 0x8FFF000)}])
    assert made.update_channels(line, third) == {1}
    fifth = region_in(plane, [{"x": (0x0, 0x09), "y": (0x8FFF000, 0xFFFF0000)}])
    assert made.update_channels(plane, fifth) == {3, 5}


# Federates

SUBSCRIPTIONS = {
    "Fed1": [("A.x", "R1D-1"), ("B.x", "R2D-1"), ("B.y", "R2D-4")],
    "Fed2": [("A.x", "R1D-3"), ("B.y", "R2D-2")],
    "Fed3": [("A.x", "R1D-1"), ("A.x", "R1D-3"), ("B.x", "R2D-1"), ("B.y", "R2D-3"), ("B.y", "R2D-4")],
}


def listeners(subscriptions: dict[str, list[tuple[str, str]]], rid: bytes = GRID_OF_TWO) -> Listeners:
    made = Listeners(strategy_of(rid, SPACES))
    for federate, wishes in subscriptions.items():
        made.join(federate)
        for wish in wishes:
            made.set_subscription(federate, wish, *paper_region(SPACES, wish[1]))
    return made


def heard(made: Listeners, region: str, sender: str = "") -> set[object]:
    made.set_update("update", *paper_region(SPACES, region))
    return made.receivers("update") - {sender}


def wanted(subscriptions: dict[str, list[tuple[str, str]]], attribute: str, region: str) -> set[object]:
    space, sent = paper_region(SPACES, region)
    return {
        federate
        for federate, wishes in subscriptions.items()
        for wish, name in wishes
        if wish == attribute
        and REGIONS[name][0] == space.name
        and paper_region(SPACES, name)[1].overlaps(sent)
    }


@pytest.mark.parametrize(
    ("attribute", "region", "network", "callback"),
    [
        ("A.x", "R1D-1", {"Fed1", "Fed2"}, {"Fed1", "Fed2"}),
        ("A.x", "R1D-2", {"Fed2"}, {"Fed2"}),
        ("B.x", "R2D-3", {"Fed1", "Fed2"}, {"Fed1"}),  # the paper has a callback at Fed2, which wants no B.x
        ("B.x", "R2D-5", {"Fed1", "Fed2"}, set()),
        ("B.y", "R2D-1", {"Fed1"}, {"Fed1"}),  # the paper has none, but R2D-4 is the whole space
        ("B.y", "R2D-5", {"Fed1", "Fed2"}, {"Fed1"}),  # likewise
    ],
)
def test_the_tables_of_federates(attribute: str, region: str, network: set[str], callback: set[str]) -> None:
    """S2-13, with the corrected values; Fed3 sends and hears nothing of itself."""
    assert heard(listeners(SUBSCRIPTIONS), region, "Fed3") == network
    assert wanted(SUBSCRIPTIONS, attribute, region) - {"Fed3"} == callback


def test_exact_sends_what_overlaps_and_no_more() -> None:
    """S2-13 by the fourth strategy: of B.x with R2D-5 only who subscribes to any attribute there hears."""
    made = listeners(SUBSCRIPTIONS, b"(DataDistribution (StrategyToUse Exact))")
    assert heard(made, "R1D-2", "Fed3") == {"Fed2"}
    assert heard(made, "R2D-1", "Fed3") == {"Fed1"}
    assert heard(made, "R2D-5", "Fed3") == {"Fed1"}
    assert made.copies("update") == 2  # Fed1 and Fed3


def test_unwanted_traffic_within_a_space() -> None:
    """S2-14."""
    two = {"Fed": [("B.x", "R2D-1"), ("B.x", "R2D-5")]}
    made = listeners(two)
    made.set_update("update", *paper_region(SPACES, "R2D-2"))
    assert made.channels("update") & {3, 5} == {5}
    assert made.receivers("update") == {"Fed"}
    assert wanted(two, "B.y", "R2D-2") == set()


@pytest.mark.parametrize("region", [name for name in REGIONS if name.startswith("R2D")])
def test_an_update_everywhere_reaches_everybody_in_the_space(region: str) -> None:
    """S2-14."""
    assert heard(listeners({"Fed": [("B.x", region)]}), "R2D-4") == {"Fed"}
    assert heard(listeners({"Fed": [("A.x", "R1D-3")]}), "R2D-4") == set()


def test_the_default_region_is_sent_once_for_each_channel() -> None:
    """S2-14: four times, and a receiver that listens to all four hears it four times."""
    made = listeners({"All": [("B.y", "R2D-4")], "One": [("B.y", "R2D-1")]})
    made.set_update("update", SPACES.by_name["2D"], DEFAULT_REGION)
    assert sorted(made.channels("update")) == [3, 4, 5, 6]
    assert made.receivers("update") == {"All", "One"}
    assert made.copies("update") == 4 + 1


GROUND_AND_AIR = b"""(FED (Federation f) (FEDversion v1.3)
 (spaces (space Ground (dimension doesNotMatter)) (space Air (dimension doesNotMatter)))
 (objects (class ObjectRoot
  (class tank (attribute lat reliable receive Ground) (attribute long reliable receive Ground))
  (class plane (attribute lat reliable receive Air) (attribute long reliable receive Air)
   (attribute alt reliable receive Air))))
 (interactions (class InteractionRoot reliable receive)))"""


@pytest.mark.parametrize(
    ("strategy", "unwanted"),
    [("Simple", True), ("StaticSpacePartitioned", False), ("StaticGridPartitioned", False), ("Exact", False)],
)
def test_ground_and_air_without_any_region(strategy: str, unwanted: bool) -> None:
    """S2-15: plane subscribers hear nothing of tanks, by the FED file alone."""
    spaces = spaces_of(GROUND_AND_AIR)
    made = Listeners(strategy_of(f"(DataDistribution (StrategyToUse {strategy}))".encode(), spaces))
    for federate, name, attribute in (("tanks", "tank", "lat"), ("planes", "plane", "alt")):
        made.join(federate)
        space = spaces.of_attribute(f"HLAobjectRoot.{name}", attribute)
        made.set_subscription(federate, attribute, space, DEFAULT_REGION)
    made.set_update("tank", spaces.of_attribute("HLAobjectRoot.tank", "lat"), DEFAULT_REGION)
    assert made.receivers("tank") == ({"tanks", "planes"} if unwanted else {"tanks"})


def test_point_regions_are_channels() -> None:
    """S2-16: sixteen partitions, and a small region in each."""
    spaces = spaces_of(FED.replace(b"(space 1D", b"(space channels (dimension bin)) (space 1D"))
    rid = (
        b"(DataDistribution (Options (StaticGridPartitionedStrategyOptions (NumPartitionsPerDimension 16))))"
    )
    made = strategy_of(rid, spaces)
    space = spaces.by_name["channels"]
    assert space.number == 1
    for i in range(1, 17):
        bounds = ((i - 1) << 28 | 0xFFFE, (i - 1) << 28 | 0xFFFF)
        extents: list[Closed] = [{"bin": bounds}]
        assert made.update_channels(space, region_in(space, extents)) == {i}


def test_channels_are_used_again_beyond_the_maximum() -> None:
    """S2-9: partition p has channel ((p - 1) mod maximum) + 1; 64 without a setting."""
    rid = b"(DataDistribution (Options (NumPartitionsPerDimension 16)))"
    assert (grid_of(rid).partitions, grid_of(rid).channels) == (16 + 256 + 4096, 64)
    few = grid_of(rid.replace(b"16)", b"2) (MaxNumberOfDataChannelsToUse 5)"))
    assert (few.partitions, few.channels) == (14, 5)
    assert few.update_channels(SPACES.by_name["2D"], DEFAULT_REGION) == {3, 4, 5, 1}
    assert few.update_channels(SPACES.by_name["3D"], DEFAULT_REGION) == {1, 2, 3, 4, 5}


def test_half_open_bounds_map_by_their_last_number() -> None:
    """S2-20: an upper bound of 0x80000000 that is not included stays in the first half."""
    space = SPACES.by_name["1D"]
    number = space.dimensions[0].number
    made = grid_of(GRID_OF_TWO)
    assert made.update_channels(space, Region([Extent({number: (0, 0x80000000)})])) == {1}
    assert made.update_channels(space, Region([closed({number: (0, 0x80000000)})])) == {1, 2}


def test_one_partition_is_one_channel_for_each_space() -> None:
    """S2-8: the same as StaticSpacePartitioned."""
    grid, plain = strategy_of(b"(RTI)", SPACES), strategy_of(
        b"(DataDistribution (StrategyToUse StaticSpacePartitioned))", SPACES
    )  # fmt: skip
    assert settings_of(b"(RTI)", SPACES).strategy == "StaticGridPartitioned"
    assert grid.channels == plain.channels == 3
    for name in REGIONS:
        assert grid.update_channels(*paper_region(SPACES, name)) == plain.update_channels(
            *paper_region(SPACES, name)
        )
