"""Data distribution against its definitions: random calls, every callback predicted (9; `support.oracle_regions`; S2-1, S2-2)."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from support import simulated_nodes
from support.oracle_regions_bench import SEATS, Bench


def check(seeds: Iterable[int], steps: int, nodes: bool = False) -> None:
    for seed in seeds:
        bench = Bench(seed, **({"nodes": simulated_nodes.sites(SEATS)} if nodes else {}))
        try:
            for _ in range(steps):
                bench.step()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        finally:
            bench.real.close()


def test_random_calls_with_regions_are_heard_as_the_definitions_say() -> None:
    """Clause 9: discovery, scope, relevance, delivery, conveyed regions, requests and refusals."""
    check(range(30), steps=120)


def test_and_so_they_are_over_three_nodes() -> None:
    """The same with federates at three nodes of two domains."""
    check(range(1000, 1008), steps=80, nodes=True)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_calls_with_regions() -> None:
    first = random.randrange(1 << 30)
    check(range(first, first + 1000), steps=200)
    check(range(first, first + 50), steps=150, nodes=True)
