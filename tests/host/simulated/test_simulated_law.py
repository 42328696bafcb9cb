"""The key law: where federates sit does not matter.

The same calls, each settled before the next, give every federate the same results, the same exceptions and the same
callbacks in the same order, at one embedded node and over a mesh whose links delay and lose.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.federation_digest import check_agreement
from support.random_kernel_calls import LOST, Call, Draw, draws, script
from support.simulated_federates import Seat, mesh, outcome
from weft import EmbeddedNode
from weft.host import NodeHost

SEATS = 4
NODES = ("S1", "S2", "S3")


def transcript(hosts: list[NodeHost], todo: list[Call], settle: Callable[[], None]) -> list[Any]:
    """What each call ended with, and what each federate then heard."""
    made = [Seat(host, f"f{number}") for number, host in enumerate(hosts, 1)]
    made[0].create()
    said: list[Any] = [outcome(seat.join) for seat in made[:3]]
    for call in todo:
        if call.service == LOST:
            made[call.seat].connection.lose()
            made[call.seat] = Seat(hosts[call.seat], made[call.seat].name)
            ended: Any = None
        else:
            ended = outcome(partial(made[call.seat].call, call.service, *call.arguments))
        settle()
        said.append((call, ended, [one.heard() for one in made]))
    return said


def check(drawn: list[Draw], places: list[str], seed: int) -> None:
    todo = script(drawn, SEATS, 3)
    network = mesh(3, seed, delay=0.01, jitter=0.03, loss=0.2)
    alone = EmbeddedNode()
    near = transcript([alone] * SEATS, todo, lambda: None)
    far = transcript([network.at(place) for place in places], todo, network.settle)
    for expected, found in zip(near, far, strict=True):
        assert found == expected
    check_agreement(network, *NODES)


CASES = given(
    drawn=st.lists(draws(SEATS), min_size=20, max_size=60),
    places=st.lists(st.sampled_from(NODES), min_size=SEATS, max_size=SEATS),
    seed=st.integers(0, 1000),
)


@settings(
    max_examples=80,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@CASES
def test_where_federates_sit_does_not_matter(drawn: list[Draw], places: list[str], seed: int) -> None:
    """Same callbacks, same exceptions, same handles on one node and on three, whatever node a federate sits at."""
    check(drawn, places, seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=1000, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@CASES
def test_where_federates_sit_does_not_matter_for_long(
    drawn: list[Draw], places: list[str], seed: int
) -> None:
    """As above, for longer and with new cases each time."""
    check(drawn, places, seed)
