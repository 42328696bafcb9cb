"""Causal order as middleware (S0-7 … S0-16, CAUSAL.md 5c): on a mesh with unequal links, whatever federates do.

In every run: no federate gets a message after one it caused, nothing stays held, what the RTI delivers is delivered once, and
tags come back as they were, also those that look like stamps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ordering.middleware import Watched, World
from weft import RTIambassador

DECLARING = ("wish", "delete")
COMING_AND_GOING = ("wish", "join", "resign", "delete")
CRASHING = ("wish", "join", "resign", "crash", "delete")
NODES_CRASHING = ("wish", "join", "node", "delete")


VARIANTS: dict[str, dict[str, Any]] = {
    "all": {},
    "tables": {"destinations": "tables"},
    "tables, text": {"destinations": "tables", "text": True},
    "all, envelope": {"carrier": "envelope"},
    "tables, envelope": {"destinations": "tables", "carrier": "envelope"},
}


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(variant: str, seed: int, changes: tuple[str, ...], steps: int = 90, bare: int = 0) -> World:
    world = World(seed, bare=bare, make=partial(Watched, **VARIANTS[variant]))
    world.run(steps, changes)
    world.check()
    return world


@pytest.mark.parametrize("seed", range(5))
def test_while_subscriptions_change(variant: str, seed: int) -> None:
    """Who does not get a message does not wait for it (S0-16); nothing is refused or late as long as nobody goes."""
    world = run(variant, seed, DECLARING)
    for player in world.players:
        assert player.rti.counts.refused == player.rti.counts.late == 0


@pytest.mark.parametrize("seed", range(7))
def test_while_federates_join_and_resign(variant: str, seed: int) -> None:
    """At different times for different members (S0-13, S0-14)."""
    run(variant, seed, COMING_AND_GOING)


@pytest.mark.parametrize("seed", range(7))
def test_while_federates_crash(variant: str, seed: int) -> None:
    """What waits for a crashed federate is released in the end."""
    run(variant, seed, CRASHING)


@pytest.mark.parametrize("seed", range(3))
def test_while_nodes_crash(variant: str, seed: int) -> None:
    """Then messages of its federates reach some and not others."""
    run(variant, seed, NODES_CRASHING)


@pytest.mark.parametrize("seed", range(3))
def test_with_a_federate_that_does_without(variant: str, seed: int) -> None:
    """It takes part as ever; its messages have no place in the order, and nobody waits for it."""
    run(variant, seed, CRASHING, bare=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 250))
def test_at_length(variant: str, seed: int) -> None:
    run(
        variant,
        seed,
        (DECLARING, COMING_AND_GOING, CRASHING, NODES_CRASHING)[seed % 4],
        250,
        bare=seed % 5 == 0,
    )


def test_messages_wait_and_receive_order_violates(variant: str) -> None:
    """The runs put the order to the test: without the middleware the same ones break it, and with it messages had to wait."""
    broken, waited = 0, 0
    for seed in range(6):
        bare = World(seed, make=RTIambassador)
        bare.run(120)
        broken += any(fault.startswith("unsafe") for fault in bare.oracle.faults)
        waited += sum(player.rti.counts.waited for player in run(variant, seed, ()).players)
    assert broken >= 1
    assert waited >= 10


def test_the_stamps_are_small(variant: str) -> None:
    """A stamp names direct causes only: a few bytes each, however many members."""
    players = [player for seed in range(3) for player in run(variant, seed, ()).players]
    assert all(isinstance(player.rti, Watched) for player in players)
    messages = sum(player.rti.counts.messages for player in players)
    assert sum(player.rti.counts.stamp_bytes for player in players) / messages < 40
