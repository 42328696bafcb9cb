"""The tests of causal order in the kernel are put to the test: a defect in any step of it is seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from kernel.message.test_ordered import run_one
from kernel.message.test_ordered_cases import (
    delayed_evaluation,
    lost_removal,
    passed_on,
    removal_after_update,
    slow_survivor,
    two_losses,
)
from kernel.message.test_ordered_storm import crashes
from support.causal_order_mutants import MUTANTS, mutated
from weft.kernel.message import causal_views
from weft.kernel.state.step import Step
from weft.model.errors import OrderingError

pytestmark = pytest.mark.over_nodes


def fails(run: Callable[[], object]) -> bool:
    """By the oracle, or because a process refuses what cannot be."""
    try:
        run()
    except (
        AssertionError,
        OrderingError,
        RuntimeError,
    ):  # the last: of the simulated network, an error of the RTI's own
        return True
    return False


def random_run(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        made = run_one(seed, patch)
    assert not made.history.faults


SEEN_BY: dict[str, list[Callable[[], object]]] = {
    "the rows are not carried": [partial(random_run, seed) for seed in range(6)],
    "all nodes get the tag of the first": [partial(random_run, seed) for seed in range(6)],
    "total order goes straight": [partial(random_run, seed) for seed in range(0, 12, 2)],
    "a filtered message does not count": [delayed_evaluation],
    "ghosts are not kept": [removal_after_update],
    "a lost removal is not told": [lost_removal],
    "views in between are forgotten": [two_losses],
    "nothing is passed on for the lost": [passed_on],
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_defect_is_seen(name: str) -> None:
    """S0-3, S0-16: the same runs pass without the defect, in the other tests of this folder."""
    runs = SEEN_BY.get(name, [partial(crashes, seed) for seed in range(100, 140)])
    with mutated(name):
        assert any(fails(run) for run in runs)


@pytest.mark.parametrize("run", [partial(random_run, 1), two_losses, passed_on, lost_removal])
def test_the_control_is_not_seen(run: Callable[[], object]) -> None:
    """The source as it stands, read as the mutants are."""
    with mutated(""):
        assert not fails(run)


def test_a_view_that_does_not_end_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal_views, "ask", lambda federation: False)
    assert any(fails(partial(crashes, seed)) for seed in range(100, 140))


def test_a_flush_without_marks_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What survivors have sent one another is lost if the view ends before it has come."""
    real = causal_views.go_on

    def hasty(step: Step) -> bool:
        flush = step.federation.orders.flush
        if flush is not None:
            flush.marks.update(dict.fromkeys(flush.nodes))
        return real(step)

    monkeypatch.setattr(causal_views, "go_on", hasty)
    assert fails(slow_survivor)
