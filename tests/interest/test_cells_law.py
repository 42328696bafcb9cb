"""Interest over cells against its definition: random changes of regions and updates, in any order of their times (S4-2 … S4-6).

By definition a federate gets an update if one of its regions, as of the update's time, overlaps the update region as of that
time; and before the receiver has filtered, one copy for each cell that both touch.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft.interest
from interest.mutants import CELL_MUTANTS, Module
from interest.receiving import Receiver, overlap
from weft.interest import CellAxis, CellInterest, CellUpdate, DistributionLists, Grid, Subscribed

FEDERATES = ("a", "b", "c")


class Run:
    """One run: an interest, the receivers, and all that was said, to judge by."""

    def __init__(
        self,
        rng: random.Random,
        module: Any = weft.interest,
        dimensions: int = 2,
        bounds: tuple[int, ...] = (3, 6, 9),
    ) -> None:
        self.rng = rng
        self.bounds = bounds
        cut: Any = 4 if bounds == (3, 6, 9) else bounds
        self.grid = module.Grid([module.Axis(name, 0, 12, cut) for name in "xyz"[:dimensions]])
        self.interest = module.CellInterest(self.grid)
        self.receivers = {federate: Receiver[str]() for federate in FEDERATES}
        self.said: dict[tuple[str, int], dict[int, Any]] = {}  # subscription regions, by time
        self.updates: list[Any] = []
        self.once: dict[str, dict[Any, None]] = {federate: {} for federate in FEDERATES}
        self.bound: tuple[Any, int] = (-1, 0)

    def region(self) -> Any:
        """None, one or two boxes, mostly small."""
        boxes = []
        for _ in range(self.rng.choice((0, 1, 1, 1, 2))):
            lows = [self.rng.randrange(12) for _ in self.grid.axes]
            boxes.append(tuple([(low, min(12, low + 1 + self.rng.randrange(5))) for low in lows]))
        return tuple(boxes)

    def time(self) -> int | None:
        time = self.rng.randrange(12)
        return time if (time, 0) >= self.bound else None

    def step(self) -> None:
        time = self.time()
        if time is None:
            return
        federate = self.rng.choice(FEDERATES)
        what = self.rng.random()
        if what < 0.5:
            self.modify((federate, self.rng.randrange(2)), self.region(), time)
        elif what < 0.6:
            self.interest.modify_update((federate, 9), self.region(), time)
        else:
            self.update((federate, 9), time)

    def modify(self, member: tuple[str, int], region: Any, time: int) -> None:
        federate = member[0]
        before = [self.common(federate, update) for update in self.updates]
        made = self.interest.modify_subscription(member, region, time)
        self.said.setdefault(member, {})[time] = region
        self.receivers[federate].modify(member[1], region, time)
        after = [self.common(federate, update) for update in self.updates]
        assert len(made.sends) == sum(len(new - old) for old, new in zip(before, after, strict=True))
        assert len(made.retractions) == sum(len(old - new) for old, new in zip(before, after, strict=True))
        for update in made.sends:
            self.receivers[federate].arrive(update)
        for update in made.retractions:
            self.receivers[federate].retract(update)
        sends, retractions = self.interest.once(federate, made)
        for update in sends:
            assert update not in self.once[federate]
            self.once[federate][update] = None
        for update in retractions:
            assert self.once[federate].pop(update, True) is None

    def update(self, member: tuple[str, int], time: int) -> None:
        update, copies = self.interest.update(member, len(self.updates), time)
        self.updates.append(update)
        for federate, count in copies.items():
            self.receivers[federate].arrive(update, count)
            self.once[federate][update] = None

    # --- by definition ----------------------------------------------------------------------------------------------

    def regions_of(self, federate: str, time: int) -> list[Any]:
        found = []
        for member, versions in self.said.items():
            times = [when for when in versions if when <= time]
            if member[0] == federate and times:
                found.append(versions[max(times)])
        return found

    def common(self, federate: str, update: Any) -> set[tuple[int, ...]]:
        """The cells by which the federate gets it."""
        if update.sender == federate:
            return set()
        touched = [self.touched(region) for region in self.regions_of(federate, update.time)]
        return self.touched(update.placed.boxes) & set().union(*touched)

    def touched(self, region: Any) -> set[tuple[int, ...]]:
        """Cells by their points: all bounds are whole numbers."""
        points: set[tuple[int, ...]] = set()
        for box in region:
            cells: list[tuple[int, ...]] = [()]
            for low, high in box:
                places = {bisect_right(self.bounds, one) for one in range(low, high)}
                cells = [(*cell, place) for cell in cells for place in places]
            points.update(cells)
        return points

    def wants(self, federate: str, update: Any) -> bool:
        mine = self.regions_of(federate, update.time)
        return update.sender != federate and any(overlap(one, update.placed.boxes) for one in mine)

    def check(self) -> None:
        for federate, receiver in self.receivers.items():
            expected = {update: len(self.common(federate, update)) for update in self.updates}
            held = {update: count for update, count in expected.items() if count}
            assert receiver.copies == held
            assert set(self.once[federate]) == set(held)

    def end(self) -> None:
        """Each federate is given, by time and once, what lies in its regions."""
        for federate, receiver in self.receivers.items():
            taken = receiver.take((99, 0))
            assert [update.time for update in taken] == sorted(update.time for update in taken)
            assert len(set(taken)) == len(taken)
            assert set(taken) == {update for update in self.updates if self.wants(federate, update)}


def check_run(
    rng: random.Random,
    module: Any = weft.interest,
    every: bool = False,
    length: int = 25,
    bounds: tuple[int, ...] = (3, 6, 9),
) -> None:
    run = Run(rng, module, rng.choice((1, 2)), bounds)
    for _ in range(length):
        run.step()
        if every:
            run.check()
    run.check()
    run.end()


def test_random_runs_end_right() -> None:
    """S4-2: every update of interest and, after the receiver's filter, no other."""
    for seed in range(1000):
        check_run(random.Random(seed))


@given(st.integers(0, 10**9), st.sets(st.integers(1, 11)))
def test_whatever_the_cells(seed: int, bounds: set[int]) -> None:
    """S4-22: cells of any size, from one to as many as there are numbers, end right by the same definition."""
    check_run(random.Random(seed), bounds=tuple(sorted(bounds)))


@given(st.randoms(use_true_random=False))
def test_random_runs_are_right_at_every_point(rng: random.Random) -> None:
    check_run(rng, every=True)


@pytest.mark.soak
def test_long_random_runs_are_right_at_every_point() -> None:
    for seed in range(2000):
        check_run(random.Random(seed), every=True, length=80)


@pytest.mark.parametrize("name", CELL_MUTANTS)
def test_the_checks_notice_a_defect(name: str) -> None:
    module = Module(name)

    def check() -> None:
        for seed in range(300):
            check_run(random.Random(seed), module)

    with pytest.raises(AssertionError):
        check()


def check_reclaiming(rng: random.Random) -> None:
    """S4-14: dropping what is below a bound changes nothing that comes later, and in the end nothing is left over."""
    run, control = Run(rng), Run(rng)
    for _ in range(30):
        state = rng.getstate()
        control.bound = run.bound
        control.step()
        rng.setstate(state)
        run.step()
        if rng.random() < 0.2:
            run.bound = max(run.bound, (rng.randrange(13), rng.randrange(2)))
            run.interest.reclaim(run.bound)
        for federate in FEDERATES:
            found = {update.value: n for update, n in run.receivers[federate].copies.items()}
            assert found == {update.value: n for update, n in control.receivers[federate].copies.items()}
    run.interest.reclaim((99, 0))
    assert run.interest.lists.logged() == 0
    for history in run.interest.subscriptions.values():
        assert not history.times
    on = {cell for history in run.interest.subscriptions.values() for cell in history.first.cells}
    assert set(run.interest.lists.lists) == on


def test_reclaiming_changes_nothing_that_comes_later() -> None:
    for seed in range(400):
        check_reclaiming(random.Random(seed))


def check_taking_over(rng: random.Random) -> None:
    """Who joins late has the same lists as the others, then and ever after."""
    run = Run(rng)
    late: CellInterest[str, object] | None = None
    for number in range(40):
        time, region = run.time(), run.region()
        member = (rng.choice(FEDERATES), rng.randrange(2))
        if time is not None:
            run.modify(member, region, time)
            if late is not None:
                late.modify_subscription(member, region, time)
        if rng.random() < 0.2:
            run.bound = max(run.bound, (rng.randrange(8), rng.randrange(2)))
            left = run.interest.reclaim(run.bound)
            if late is not None:
                assert sorted(late.reclaim(run.bound)) == sorted(left)
        if number == 20:
            late = CellInterest[str, object](run.grid)
            late.take_over(run.interest.subscribed(), run.interest.lists.limits.reclaimed)
        if late is not None:
            for cell in range(run.grid.total):
                assert late.lists.group(cell) == run.interest.lists.group(cell)
                for moment in range(13):
                    if (moment, 0) >= run.bound:
                        assert late.lists.read(cell, moment) == run.interest.lists.read(cell, moment)


def test_who_joins_late_has_the_same_lists() -> None:
    for seed in range(60):
        check_taking_over(random.Random(seed))


def test_with_tbound_there_is_no_log_and_nothing_is_late() -> None:
    """S4-15: changes not below Tbound, updates below it."""
    for seed in range(150):
        rng = random.Random(seed)
        run = Run(rng)
        run.interest = CellInterest[str, object](
            Grid([CellAxis("x", 0, 12, 4), CellAxis("y", 0, 12, 4)]), DistributionLists[str, object]((0, 0))
        )
        for tbound in range(12):
            run.interest.lists.raise_tbound((tbound, 0))
            for _ in range(2):
                run.modify((rng.choice(FEDERATES), rng.randrange(2)), run.region(), tbound + rng.randrange(4))
                run.interest.modify_update(
                    (rng.choice(FEDERATES), 9), run.region(), tbound + rng.randrange(4)
                )
            if tbound:
                run.update((rng.choice(FEDERATES), 9), rng.randrange(max(0, tbound - 2), tbound))
            run.check()
        run.end()
        assert run.interest.lists.logged() == 0


def test_who_resigns_gets_nothing_and_what_it_sent_stays() -> None:
    run = Run(random.Random(0))
    everywhere = (((0, 12), (0, 12)),)
    run.interest.modify_update(("a", 9), everywhere, 0)
    run.modify(("b", 0), everywhere, 0)
    run.update(("a", 9), 5)
    run.interest.remove("a")
    run.interest.remove("b")
    assert run.interest.lists.group(0) == ()
    made = run.interest.modify_subscription(("c", 0), everywhere, 3)
    assert run.interest.once("c", made) == ([run.updates[0]], [])
    assert isinstance(run.updates[0], CellUpdate)


@given(st.integers(0, 10**9))
def test_a_region_whose_history_is_replaced_is_as_if_it_had_come_so(seed: int) -> None:
    """`replace`, which the kernel uses for what changes without a time, against lists that never knew another history (S4-18)."""
    draw = random.Random(seed)
    grid = Grid([CellAxis("x", 0, 12, 4)])
    interest, fresh = CellInterest[str, object](grid), CellInterest[str, object](grid)
    known: dict[tuple[str, int], Subscribed[str]] = {}
    reclaimed = 0
    for _ in range(draw.randrange(1, 25)):
        member = (draw.choice("AB"), draw.randrange(3))
        times = sorted(draw.sample(range(reclaimed, 24), draw.randrange(4)))
        changes: list[tuple[float, Any]] = [(time, _boxes(draw)) for time in times]
        known[member] = Subscribed(member, _boxes(draw), changes)
        interest.replace(known[member])
        if draw.random() < 0.2:
            reclaimed = draw.randrange(reclaimed, 20)
            interest.reclaim((reclaimed, 0))
    fresh.take_over(known.values(), None)
    for time in range(reclaimed, 26):
        for cell in range(grid.total):
            assert interest.lists.read(cell, time) == fresh.lists.read(cell, time)


def _boxes(draw: random.Random) -> Any:
    lower = draw.randrange(12)
    return () if draw.random() < 0.3 else (((lower, draw.randrange(lower + 1, 13)),),)
