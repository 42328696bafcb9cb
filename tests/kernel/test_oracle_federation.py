"""Same callbacks, same exceptions: random runs against the brute-force oracle (rules 1 to 9 of `support.oracle`)."""

from __future__ import annotations

import pytest
from support.machine import FederationMachine, run


def test_random_calls_are_answered_as_the_oracle_says() -> None:
    """Clauses 4.11 to 4.18, 5 and 6: every call is refused or heard exactly as the rules say."""
    run(FederationMachine, examples=150, steps=30)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_calls_are_answered_as_the_oracle_says() -> None:
    """As above, for longer and with a new seed each time."""
    run(FederationMachine, examples=4000, steps=60, same_every_time=False)
