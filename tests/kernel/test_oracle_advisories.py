"""Random runs against the oracle with all advisories on, and with auto-provide (rule 10 of `support.oracle`)."""

from __future__ import annotations

import pytest
from support.machine import Advised, AutoProviding, FederationMachine, run

MACHINES = [Advised, AutoProviding]


@pytest.mark.parametrize("machine", MACHINES)
def test_random_calls_are_advised_as_the_oracle_says(machine: type[FederationMachine]) -> None:
    """Clauses 5.14 to 5.17, 6.19, 6.20, 6.22 to 6.24, 10.34 to 10.41 and 10.52."""
    run(machine, examples=120, steps=30)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("machine", MACHINES)
def test_many_random_calls_are_advised_as_the_oracle_says(machine: type[FederationMachine]) -> None:
    """As above, for longer and with a new seed each time."""
    run(machine, examples=2500, steps=60, same_every_time=False)
