"""Random runs against the oracle with all advisories on, and with auto-provide (rule 10 of `support.oracle`).

Clauses 5.14 to 5.17, 6.19 to 6.24, 10.34 to 10.41, 10.52.
"""

from __future__ import annotations

import random

import pytest

from support.oracle_runs import Kind, check

KINDS = [
    Kind(advisories=True),
    Kind(auto_provide=True),
    Kind(advisories=True, auto_provide=True, known_class=True),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_random_calls_are_advised_as_the_oracle_says(kind: Kind) -> None:
    """Clauses 5.14 to 5.17, 6.19, 6.20, 6.22 to 6.24, 10.34 to 10.41 and 10.52."""
    check(kind, range(60), steps=80)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_many_random_calls_are_advised_as_the_oracle_says(kind: Kind) -> None:
    """As above, for longer and with new seeds each time."""
    first = random.randrange(1 << 30)
    check(kind, range(first, first + 600), steps=120)
