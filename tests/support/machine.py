"""The oracle tests' state machine: random calls by random federates, checked call by call."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from support.bench import Bench
from support.operations import SEATS, operations, perform


class FederationMachine(RuleBasedStateMachine):
    """Three of four federates join and declare something; then anything may happen."""

    advisories = False
    auto_provide = False

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(SEATS, self.advisories, self.auto_provide)

    @initialize(
        declarations=st.lists(
            operations("publish", "subscribe", "publish_interaction", "subscribe_interaction"),
            min_size=4,
            max_size=8,
        )
    )
    def declare(self, declarations: list[tuple[Any, ...]]) -> None:
        for seat in (1, 2):
            perform(self.bench, "join", seat)
        for declaration in declarations:
            perform(self.bench, *declaration)

    @rule(operation=operations())
    def call(self, operation: tuple[Any, ...]) -> None:
        perform(self.bench, *operation)

    def teardown(self) -> None:
        try:
            self.bench.evoke_all()
        finally:
            self.bench.real.close()


class Advised(FederationMachine):
    advisories = True


class AutoProviding(FederationMachine):
    advisories = True
    auto_provide = True


def run(machine: type[FederationMachine], examples: int, steps: int, same_every_time: bool = True) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=same_every_time,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
