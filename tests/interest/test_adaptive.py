"""Plans of partitions that fit the traffic (S2-19, S2-23): the law, what is predicted beside brute force, and what is found."""

from __future__ import annotations

from random import Random

import pytest

from interest.paper import spaces_of
from kernel.ddm.test_adapting import random_plan
from weft.interest import WHOLE, DdmSettings, Extent, Region, Space, Spaces
from weft.interest.adaptive import (
    NO_PLAN,
    AdaptivePartitioned,
    Part,
    Plan,
    SentTraffic,
    arrivals,
    cells,
    propose,
)
from weft.interest.strategy import ADAPTIVE
from weft.model.errors import SettingsError

SPACES = spaces_of()
FULL = 1 << 32
SETTINGS = DdmSettings(strategy=ADAPTIVE)
NODES = ("S1", "S2", "S3", "S4")


def region(random: Random, space: Space, longest: int = FULL) -> Region:
    extents = []
    for _ in range(random.choice((1, 1, 2))):
        ranges = {}
        for dimension in space.dimensions:
            lower = random.choice(
                (0, FULL // 2, FULL // 2 - 1, random.randrange(FULL), FULL // 64 * random.randrange(64))
            )
            ranges[dimension.number] = (lower, min(lower + random.randint(1, longest), FULL))
        extents.append(Extent(ranges))
    return Region(extents)


@pytest.mark.parametrize("seed", range(20))
def test_every_plan_keeps_the_law(seed: int) -> None:
    """S2-23: channels of overlapping regions meet under any plan, also where channels are used again."""
    random = Random(seed)
    settings = DdmSettings(strategy=ADAPTIVE, max_channels=random.choice((2, 64)))
    strategy = AdaptivePartitioned(SPACES, settings, random_plan(random))
    for _ in range(300):
        space = random.choice(SPACES.all)
        one, other = region(random, space), region(random, space)
        sent, heard = strategy.update_channels(space, one), strategy.update_channels(space, other)
        assert sent
        assert sent | heard <= set(range(1, strategy.channels + 1))
        assert sent & heard or not one.overlaps(other)


class Sent:
    """Random messages and wishes, as they are and as they are told."""

    def __init__(self, seed: int, cast: bool, longest: int) -> None:
        random = Random(seed)
        self.cast = cast
        self.messages = [self._one(random, longest) for _ in range(60)]
        self.wishes = [self._one(random, longest) for _ in range(12)]
        self.traffic = [
            SentTraffic(node, cast, ((space.name, cells(space, where.extents)),), 1)
            for node, space, where in self.messages
        ]

    @staticmethod
    def _one(random: Random, longest: int) -> tuple[str, Space, Region]:
        space = random.choice(SPACES.all)
        return random.choice(NODES), space, region(random, space, longest)

    def told_wishes(self) -> dict[str, list[Part]]:
        found: dict[str, list[Part]] = {}
        for node, space, where in self.wishes:
            found.setdefault(node, []).append((space.name, cells(space, where.extents)))
        return found

    def listeners(self, strategy: AdaptivePartitioned) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        for node, space, where in self.wishes:
            for channel in strategy.update_channels(space, where):
                found.setdefault(channel, set()).add(node)
        return found

    def counted(self, plan: Plan) -> int:
        """By brute force, from the regions themselves."""
        strategy = AdaptivePartitioned(SPACES, SETTINGS, plan)
        listeners = self.listeners(strategy)
        total = 0
        for node, space, where in self.messages:
            there = [
                n for c in strategy.update_channels(space, where) for n in listeners.get(c, ()) if n != node
            ]
            total += len(there) if self.cast else len(set(there))
        return total

    def predicted(self, plan: Plan) -> int:
        strategy = AdaptivePartitioned(SPACES, SETTINGS, plan)
        return arrivals(strategy, SPACES, self.traffic, self.listeners(strategy))


@pytest.mark.parametrize("cast", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_predicted_of_a_plan_is_what_comes(seed: int, cast: bool) -> None:
    """S2-19: cells tell no less than the regions, for any plan."""
    sent = Sent(seed, cast, FULL)
    for plan in (
        NO_PLAN,
        random_plan(Random(seed)),
        propose(SPACES, SETTINGS, sent.traffic, sent.told_wishes()),
    ):
        assert sent.predicted(plan) == sent.counted(plan)


@pytest.mark.parametrize("cast", [False, True])
def test_a_proposal_saves_and_uses_no_more_channels_than_there_are(cast: bool) -> None:
    """S2-9, S2-19: small regions: less arrives than with a partition for each space; never above the most channels."""
    gains = []
    for seed in range(20):
        sent = Sent(seed, cast, FULL // 50)
        for channels in (3, 8, 64):
            settings = DdmSettings(strategy=ADAPTIVE, max_channels=channels)
            plan = propose(SPACES, settings, sent.traffic, sent.told_wishes())
            assert AdaptivePartitioned(SPACES, settings, plan).partitions <= channels
        before, after = sent.counted(NO_PLAN), sent.counted(plan)
        assert after <= before
        gains.append(1 - after / before)
    assert min(gains) > 0.3


def test_it_beats_a_grid_of_as_many_channels_where_all_happens_in_a_corner() -> None:
    """S2-19: a grid of 64 cells has one of them where everybody is; cuts lie where they keep federates apart."""
    (space,) = [one for one in SPACES.all if one.name == "2D"]
    side = FULL // 8
    spots = {}
    for number, node in enumerate(NODES):
        x, y = divmod(number, 2)
        ranges = zip(space.dimensions, (x, y), strict=True)
        spots[node] = Extent(
            {d.number: (n * side // 2 + 5, n * side // 2 + side // 2 - 5) for d, n in ranges}
        )
    traffic = [SentTraffic(node, False, (("2D", cells(space, (spots[node],))),), 10) for node in NODES]
    plan = propose(SPACES, SETTINGS, traffic, {n: [("2D", cells(space, (spots[n],)))] for n in NODES})
    strategy = AdaptivePartitioned(SPACES, SETTINGS, plan)
    assert len({strategy.update_channels(space, Region((spots[node],))) for node in NODES}) == 4
    assert strategy.partitions == 6


def test_cuts_that_pay_only_together() -> None:
    """S2-19: two nodes listen on the fields of a chess board, one on the white ones: no first cut saves anything, all do."""
    (space,) = [one for one in SPACES.all if one.name == "2D"]
    side = FULL // 4
    fields: dict[str, list[Extent]] = {"S1": [], "S2": []}
    for x in range(4):
        for y in range(4):
            places = zip(space.dimensions, (x, y), strict=True)
            extent = Extent({d.number: (n * side + 5, (n + 1) * side - 5) for d, n in places})
            fields["S1" if (x + y) % 2 else "S2"].append(extent)
    parts = {
        node: [("2D", cells(space, (extent,))) for extent in extents] for node, extents in fields.items()
    }
    traffic = [SentTraffic(node, False, (part,), 1) for node, mine in parts.items() for part in mine]
    plan = propose(SPACES, SETTINGS, traffic, parts)
    strategy = AdaptivePartitioned(SPACES, SETTINGS, plan)
    assert strategy.partitions == 2 + 16
    listeners: dict[int, set[str]] = {}
    for node, extents in fields.items():
        for channel in strategy.update_channels(space, Region(extents)):
            listeners.setdefault(channel, set()).add(node)
    assert arrivals(strategy, SPACES, traffic, listeners) == 0


def test_the_default_space_and_what_is_not_divided() -> None:
    """S2-1: the default space has channel 0 under every plan; spaces that a plan does not name are one partition."""
    strategy = AdaptivePartitioned(SPACES, SETTINGS, (("2D", (0, FULL // 2, -1, -1)),))
    whole = Region((WHOLE,))
    assert strategy.update_channels(None, whole) == {0}
    assert [sorted(strategy.update_channels(space, whole)) for space in SPACES.all] == [[1], [2, 3], [4]]
    assert strategy.lines() == {SPACES.by_name["2D"].dimensions[0].number: {0, FULL // 2, FULL}}


def test_settings_that_mean_nothing() -> None:
    """The form and what is wrong in it."""
    with pytest.raises(SettingsError, match="AdaptivePartitionedStrategyOptions knows no 'reports'"):
        AdaptivePartitioned(SPACES, DdmSettings(strategy=ADAPTIVE, options={"reports": "1"}))
    with pytest.raises(SettingsError, match="minimumgain must be a number above 0, not 'much'"):
        AdaptivePartitioned(SPACES, DdmSettings(strategy=ADAPTIVE, options={"minimumgain": "much"}))
    assert isinstance(SPACES, Spaces)
