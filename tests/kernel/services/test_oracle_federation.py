"""Same callbacks, same exceptions: random runs against the brute-force oracle (4 to 6; rules 1 to 9 of `support.oracle`)."""

from __future__ import annotations

import random

import pytest

from support.oracle_runs import Kind, check

PLAIN = Kind()


def test_random_calls_are_answered_as_the_oracle_says() -> None:
    """Clauses 4.11 to 4.18, 5 and 6: every call is refused or heard exactly as the rules say."""
    check(PLAIN, range(100), steps=80)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_calls_are_answered_as_the_oracle_says() -> None:
    """As above, for longer and with new seeds each time."""
    first = random.randrange(1 << 30)
    check(PLAIN, range(first, first + 1000), steps=120)
