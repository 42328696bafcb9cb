"""Random runs against the oracle in which attributes change hands all the time (clause 7; rule 11 of `support.oracle`).

After every call, what `support.ownership_invariants` says holds at every node.
"""

from __future__ import annotations

import random

import pytest

from support.oracle_runs import Kind, check

KINDS = [
    Kind(trade=True),
    Kind(trade=True, advisories=True),
    Kind(trade=True, advisories=True, auto_provide=True),
]
MESH = Kind(trade=True, nodes=3)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_random_transfers_are_answered_as_the_oracle_says(kind: Kind) -> None:
    """Clause 7: every call is refused or heard exactly as the rules say."""
    check(kind, range(60), steps=100)


def test_random_transfers_over_a_mesh_are_answered_as_the_oracle_says() -> None:
    """Federates at three nodes: the same callbacks, and the same owners and transfers at all nodes."""
    check(MESH, range(30), steps=100)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", [*KINDS, MESH], ids=str)
def test_many_random_transfers_are_answered_as_the_oracle_says(kind: Kind) -> None:
    """As above, for longer and with new seeds each time."""
    first = random.randrange(1 << 30)
    check(kind, range(first, first + 400), steps=140)
