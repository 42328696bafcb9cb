"""Distribution lists against their definition, in any order of arrival (S4-7 … S4-10, S4-14, S4-15, S4-17, S4-18)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft.interest
from interest.mutants import LIST_MUTANTS, RECLAIM_MUTANTS, Module, Printed
from interest.runs import (
    MIXED,
    ONE,
    UPDATE,
    Load,
    Operation,
    carry_out,
    on_at,
    random_operations,
    signs,
    wanted,
    wrong_runs,
)
from weft.interest import DistributionList, DistributionLists, Logged
from weft.model.errors import InterestError

TIMES = {
    "integers": st.integers(-5, 10),
    "floats": st.floats(-1.0, 1.0),
    "bounds": st.tuples(st.integers(0, 4), st.integers(0, 1)),
}


def check_every_point(operations: list[Operation]) -> None:
    """Sends and retractions add up to what is wanted, after each single operation."""
    faults: list[str] = []
    target = DistributionList[str, object]()
    for number, held in enumerate(carry_out(target, operations, faults)):
        assert held == wanted(operations[: number + 1]), operations[: number + 1]
    assert faults == []
    found = signs(operations)
    for time in {one.time for one in operations}:
        assert set(target.read(time)) == on_at(found, time)
    assert len(target.times) <= len({one.time for one in operations})


@pytest.mark.parametrize("times", TIMES)
@given(st.data())
def test_everybody_holds_what_it_should_at_every_point(times: str, data: st.DataObject) -> None:
    """S4-8, S4-9, S4-10, S4-18; times of any kind."""
    members = st.tuples(st.sampled_from(["f0", "f1"]), st.integers(0, 1))
    operations = st.builds(Operation, st.integers(-1, 1), members, TIMES[times])
    check_every_point(data.draw(st.lists(operations, max_size=16)))


def test_twenty_thousand_random_runs_end_right() -> None:
    """S4-10: corrected, none of 20,000."""
    assert wrong_runs(DistributionList, 20_000) == 0


def test_random_runs_are_right_at_every_point() -> None:
    for seed in range(1500):
        check_every_point(random_operations(random.Random(seed), MIXED))


@pytest.mark.soak
def test_long_random_runs_are_right_at_every_point() -> None:
    for seed in range(3000):
        check_every_point(random_operations(random.Random(seed), Load(80, 40, 4, 3)))


def test_the_printed_rules_are_wrong() -> None:
    """S4-10: as printed, 72 % of 5,000 random runs with one federate end wrong (of another load; here about as many)."""
    wrong = wrong_runs(Printed, 5000, ONE)
    assert 0.6 * 5000 < wrong < 0.85 * 5000
    assert wrong_runs(DistributionList, 5000, ONE) == 0


@pytest.mark.parametrize("name", LIST_MUTANTS)
def test_the_checks_notice_a_defect(name: str) -> None:
    assert wrong_runs(Module(name).DistributionList, 400) > 0


def test_the_control_has_no_defect() -> None:
    assert wrong_runs(Module().DistributionList, 400) == 0


# --- reclaiming -------------------------------------------------------------------------------------------------


def check_reclaiming(rng: random.Random, load: Load, module: Any = weft.interest) -> None:
    """What is dropped below a bound changes no later outcome, and the group is who can still get something."""
    lists, control = module.DistributionLists(), DistributionList[str, object]()
    bound: tuple[Any, int] = (-1, 0)
    before: list[Operation] = []
    for number, one in enumerate(random_operations(rng, load)):
        kind, member, time = one
        if (time, 0) < bound:
            continue
        before.append(one)
        if kind == UPDATE:
            found = lists.update(["cell"], module.Logged(time, number))
            assert tuple(sorted(found)) == control.update(Logged(time, number))
        else:
            operate = lists.add if kind > 0 else lists.delete
            made = operate(member, "cell", time)
            expected = control.add(member, time) if kind > 0 else control.delete(member, time)
            assert [one.value for one in made.sends] == [one.value for one in expected.sends]
            assert [one.value for one in made.retractions] == [one.value for one in expected.retractions]
        if rng.random() < 0.3:
            bound = max(bound, (rng.randrange(load.times), rng.randrange(2)))
            groups = set(lists.group("cell"))
            left = lists.reclaim(bound)
            assert {federate for _, federate in left} == groups - set(lists.group("cell"))
        check_group(lists, before, bound)
    check_emptied(lists, load)


def check_group(
    lists: DistributionLists[str, object], operations: list[Operation], bound: tuple[Any, int]
) -> None:
    """S4-17: all who are on the list at any time at which an update may still come."""
    found = signs(operations)
    # Whatever the operations, nothing changes between two whole numbers: halves stand for all times between.
    times = [one / 2 for one in range(-2, 24) if (one / 2, 0) >= bound]
    assert set(lists.group("cell")) == set().union(*(on_at(found, time) for time in times))


def check_emptied(lists: DistributionLists[str, object], load: Load) -> None:
    """S4-14: after the last operation nothing is kept but who is on the list."""
    lists.reclaim((load.times, 0))
    assert lists.logged() == 0
    for one in lists.lists.values():
        assert not one.times
        assert len(one.versions) == 1
        histories = [history for regions in one.members.values() for history in regions.values()]
        assert all(history.first and not history.times for history in histories)


def test_reclaiming_changes_nothing_that_comes_later() -> None:
    """S4-14."""
    for seed in range(1000):
        check_reclaiming(random.Random(seed), MIXED)


@given(st.randoms(use_true_random=False))
def test_reclaiming_changes_nothing_whatever_comes(rng: random.Random) -> None:
    check_reclaiming(rng, Load(30, 8, 2, 2, 0.3))


@pytest.mark.parametrize("name", RECLAIM_MUTANTS)
def test_the_checks_notice_what_should_have_been_kept(name: str) -> None:
    mutant = Module(name)

    def check() -> None:
        for seed in range(200):
            check_reclaiming(random.Random(seed), MIXED, mutant)

    with pytest.raises(AssertionError):
        check()


def test_what_comes_below_what_was_reclaimed_is_refused() -> None:
    lists = DistributionLists[str, object]()
    lists.add(("f", 1), "cell", 5)
    lists.reclaim((5, 0))
    lists.delete(("f", 1), "cell", 5)
    for refused in (
        lambda: lists.add(("f", 1), "cell", 4),
        lambda: lists.delete(("f", 1), "cell", 4),
        lambda: lists.update(["cell"], Logged(4, "v")),
        lambda: lists.read("cell", 4),
    ):
        with pytest.raises(InterestError, match="before 5"):
            refused()
    lists.reclaim((5, 1))
    with pytest.raises(InterestError, match="up to and including 5"):
        lists.add(("f", 1), "cell", 5)
    assert lists.reclaim((4, 0)) == []  # a bound never goes back
    lists.add(("f", 1), "cell", 6)


# --- Tbound -----------------------------------------------------------------------------------------------------


def check_tbound(rng: random.Random, equal: bool = False) -> bool:
    """Updates below a rising Tbound, operations not below it: is a log never needed?  `equal`: both may be at Tbound."""
    control = DistributionList[str, int]()
    lists = DistributionLists[str, int](tbound=(0, 0))
    late = False
    tbound: tuple[Any, int] = (0, 0)
    for number in range(25):
        if rng.random() < 0.3:
            tbound = max(tbound, (rng.randrange(12), rng.randrange(2)))
            lists.raise_tbound(tbound)
        time, member = rng.randrange(12), (f"f{rng.randrange(2)}", rng.randrange(2))
        below = (time, 0) < tbound
        at = equal and time == tbound[0]
        if rng.random() < 0.5 and (below or at):
            update = Logged(time, number)
            expected = control.update(update)
            if below:
                assert tuple(sorted(lists.update(["cell"], update))) == expected
        elif not below or at:
            kind = rng.choice((1, -1))
            outcome = control.add(member, time) if kind > 0 else control.delete(member, time)
            late = late or bool(outcome.sends or outcome.retractions)
            if not below:
                found = (lists.add if kind > 0 else lists.delete)(member, "cell", time)
                assert not found.sends
                assert not found.retractions
    assert lists.logged() == 0
    return not late


def test_below_tbound_nothing_is_late() -> None:
    """S4-15: with the equality on one side; with it on both sides a log would be needed."""
    assert all(check_tbound(random.Random(seed)) for seed in range(2000))
    assert not all(check_tbound(random.Random(seed), equal=True) for seed in range(2000))


def test_tbound_is_strict_on_one_side() -> None:
    """S4-15: Add @ Tbound covers updates @ Tbound."""
    for bound, update, operation in (((10, 0), 9, 10), ((10, 1), 10, 11)):
        lists = DistributionLists[str, object](tbound=bound)
        lists.add(("f", 1), "cell", operation)
        lists.update(["cell"], Logged(update, "v"))
        with pytest.raises(InterestError, match="Tbound"):
            lists.add(("f", 1), "cell", update)
        with pytest.raises(InterestError, match="Tbound"):
            lists.update(["cell"], Logged(operation, "v"))
        with pytest.raises(InterestError, match="cannot go back"):
            lists.raise_tbound((bound[0] - 1, 1))
    with pytest.raises(InterestError, match="no Tbound"):
        DistributionLists[str, object]().raise_tbound((1, 0))
