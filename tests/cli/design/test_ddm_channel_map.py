"""Where in a space which channel is: what a picture shows is what the strategy does (S2-10, S2-22)."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from interest.paper import spaces_of
from weft.cli.design.ddm_channel_map import MOST, ChannelMap
from weft.interest import STRATEGIES, DdmSettings, Extent, Region, Space, Strategy, make_strategy
from weft.interest.spaces import SpaceDimension
from weft.interest.strategy import Channels

SPACES = spaces_of()


class Strips:
    """A strategy that somebody has added: strips of any width along the first dimension, and of another along the second."""

    name = "Strips"
    matches_at_sender = False

    def __init__(self, cuts: Sequence[Sequence[int]]) -> None:
        self.cuts = cuts
        self.partitions = self.channels = len(cuts[0]) * len(cuts[-1])

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        assert space is not None
        found = set()
        for extent in region.extents:
            touched = []
            for dimension, cuts in zip(space.dimensions, self.cuts, strict=True):
                low, high = space.bounds(extent, dimension)
                ends = [*cuts[1:], dimension.size]
                touched.append([n for n, at in enumerate(cuts) if at < high and low < ends[n]])
            found |= {1 + x + len(self.cuts[0]) * y for x in touched[0] for y in touched[-1]}
        return frozenset(found)


def at(strategy: Strategy, space: Space, point: Sequence[int]) -> tuple[int, ...]:
    box = {one.number: (value, value + 1) for one, value in zip(space.dimensions, point, strict=True)}
    return tuple(sorted(strategy.update_channels(space, Region((Extent(box),)))))


@given(data=st.data(), name=st.sampled_from(STRATEGIES), grid=st.integers(1, 9))
def test_every_point_has_the_channels_of_its_cell(data: st.DataObject, name: str, grid: int) -> None:
    strategy = make_strategy(SPACES, DdmSettings(strategy=name, partitions=grid, max_channels=20))
    space = data.draw(st.sampled_from(SPACES.all))
    point = [data.draw(st.integers(0, one.size - 1)) for one in space.dimensions]
    cells = [
        cell
        for cell in ChannelMap(strategy, space).cells()
        if all(low <= value < high for (low, high), value in zip(cell.bounds, point, strict=True))
    ]
    assert [cell.channels for cell in cells] == [at(strategy, space, point)]


sizes = st.integers(1, 1 << 32)


@settings(deadline=None)
@given(data=st.data(), size=st.tuples(sizes, sizes))
def test_the_cells_of_any_strategy_are_found(data: st.DataObject, size: tuple[int, int]) -> None:
    """Also of one that nobody knew of when the picture was written."""
    space = Space("any", 1, (SpaceDimension("x", 1, size[0]), SpaceDimension("y", 2, size[1])))
    cuts = [sorted({0, *data.draw(st.lists(st.integers(0, one - 1), max_size=6))}) for one in size]
    found = ChannelMap(Strips(cuts), space)
    assert found.cuts == [[*some, one] for some, one in zip(cuts, size, strict=True)]


def test_more_pieces_than_can_be_drawn_are_one() -> None:
    strategy = make_strategy(SPACES, DdmSettings(overrides={("1d", "x"): MOST + 1}))
    found = ChannelMap(strategy, SPACES.by_name["1D"])
    assert found.pieces == (MOST + 1,)
    assert found.left_off == (True,)
    assert len(list(found.cells())) == 1
