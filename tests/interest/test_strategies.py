"""One contract for all strategies: channels of overlapping regions meet, and who wants an update gets it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interest.listeners import Listeners
from interest.paper import spaces_of
from weft.interest import (
    DEFAULT_REGION,
    NOWHERE,
    STRATEGIES,
    DdmSettings,
    Extent,
    Region,
    Space,
    Strategy,
    make_strategy,
)
from weft.model.errors import SettingsError

SPACES = spaces_of()
FULL = 1 << 32


def regions(space: Space) -> st.SearchStrategy[Region]:
    """Of the space, with dimensions left out, touching the middle and the ends."""
    edges = [0, 1, FULL // 3, FULL // 2 - 1, FULL // 2, FULL // 2 + 1, FULL - 1, FULL]
    number = st.sampled_from(edges) | st.integers(0, FULL)
    bounds = (
        st.tuples(number, number)
        .filter(lambda pair: pair[0] != pair[1])
        .map(lambda pair: (min(pair), max(pair)))
    )
    ranges = st.dictionaries(st.sampled_from([one.number for one in space.dimensions]), bounds)
    return st.builds(Region, st.lists(st.builds(Extent, ranges), min_size=1, max_size=3))


placed = st.sampled_from(SPACES.all).flatmap(lambda space: st.tuples(st.just(space), regions(space)))
options = st.builds(
    DdmSettings,
    strategy=st.sampled_from(STRATEGIES),
    partitions=st.integers(1, 7),
    overrides=st.dictionaries(st.sampled_from([("2d", "x"), ("3d", "z")]), st.integers(1, 40)),
    max_channels=st.sampled_from([1, 2, 5, 64]),
)


def made(name: str) -> Strategy:
    return make_strategy(SPACES, DdmSettings(strategy=name, partitions=3))


@given(options, placed, placed)
def test_channels_of_overlapping_regions_meet(
    chosen: DdmSettings, one: tuple[Space, Region], other: tuple[Space, Region]
) -> None:
    """The law of all strategies, and: channels are those they say they use."""
    strategy = make_strategy(SPACES, chosen)
    sent, heard = strategy.update_channels(*one), strategy.update_channels(*other)
    if one[0] == other[0] and one[1].overlaps(other[1]):
        assert sent & heard
    assert sent
    assert sent | heard <= set(range(1, strategy.channels + 1))
    assert strategy.channels <= max(1, strategy.partitions)


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_ends_of_the_contract(name: str) -> None:
    """A region without extents goes nowhere; the default space has channel 0, but for Simple's only one (S2-6)."""
    strategy = made(name)
    assert strategy.name == name
    for space in (*SPACES.all, None):
        assert strategy.update_channels(space, NOWHERE) == strategy.update_channels(space, NOWHERE) == set()
        whole = strategy.update_channels(space, DEFAULT_REGION)
        assert whole
        assert whole & strategy.update_channels(space, DEFAULT_REGION)
    assert strategy.update_channels(None, DEFAULT_REGION) == ({1} if name == "Simple" else {0})
    assert strategy.matches_at_sender == (name == "Exact")


FEDERATES = ["one", "two", "three"]
subscription = st.tuples(st.sampled_from(FEDERATES), st.integers(0, 3), placed, st.booleans())


@given(
    options, st.lists(subscription, max_size=12), st.lists(st.tuples(st.integers(0, 2), placed), max_size=8)
)
@settings(max_examples=30)
def test_who_wants_an_update_hears_it(
    chosen: DdmSettings,
    subscriptions: list[tuple[str, int, tuple[Space, Region], bool]],
    updates: list[tuple[int, tuple[Space, Region]]],
) -> None:
    """S2-6 … S2-8: the same wanted deliveries with each strategy; Exact has no others."""
    listeners = Listeners(make_strategy(SPACES, chosen))
    for federate in FEDERATES:
        listeners.join(federate)
    held: dict[tuple[str, int], tuple[Space, Region]] = {}
    for federate, name, where, goes in subscriptions:
        listeners.set_subscription(federate, name, where[0], NOWHERE if goes else where[1])
        held.pop((federate, name), None)
        if not goes:
            held[federate, name] = where
    for name, (space, region) in updates:
        listeners.set_update(name, space, region)
        wanted = {f for (f, _), (at, there) in held.items() if at == space and there.overlaps(region)}
        heard = listeners.receivers(name)
        assert wanted <= heard
        if chosen.strategy == "Exact":
            assert heard == wanted
            assert listeners.copies(name) == len(wanted)
        else:
            assert listeners.copies(name) >= len(heard)
    listeners.leave("one")
    assert all("one" not in listeners.receivers(name) for name in range(3))
    for key in [key for key in held if key[0] != "one"]:
        listeners.set_subscription(key[0], key[1], None, NOWHERE)
    assert all(listeners.receivers(name) == set() for name in range(3))


def test_a_grid_that_is_too_fine_is_refused() -> None:
    """Regions are mapped by going through their partitions, so a typing error must not take for ever."""
    with pytest.raises(SettingsError, match=r"the spaces up to 2D have 1000001000 partitions, .* lower Num"):
        make_strategy(SPACES, DdmSettings(partitions=1000, overrides={("2d", "y"): 1_000_000}))


@pytest.mark.parametrize("name", STRATEGIES)
def test_everybody_hears_the_default_space(name: str) -> None:
    """S2-1: channel 0; under Simple who subscribed to anything."""
    listeners = Listeners(made(name))
    for federate in FEDERATES:
        listeners.join(federate)
        listeners.set_subscription(federate, "s", None, DEFAULT_REGION)
    listeners.set_update("u", None, DEFAULT_REGION)
    assert listeners.receivers("u") == set(FEDERATES)
    listeners.leave("two")
    assert listeners.receivers("u") == {"one", "three"}
    listeners.set_update("u", SPACES.all[0], DEFAULT_REGION)
    listeners.set_update("u", None, NOWHERE)
    assert listeners.receivers("u") == set()
