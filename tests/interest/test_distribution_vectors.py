"""Distribution lists: the vectors of S4, and what a list does besides."""

from __future__ import annotations

from collections.abc import Callable

from weft.interest import DistributionList, DistributionLists, Logged, SpaceTime

F = ("F", 1)


def intervals(one: DistributionList[str, str], last: int = 50) -> list[tuple[int, int]]:
    """Where F is on the list, in whole numbers."""
    on = [time for time in range(last) if "F" in one.read(time)]
    starts = [time for time in on if time - 1 not in on]
    return [(start, next(t for t in range(start, last + 1) if t not in on)) for start in starts]


def figure_9() -> DistributionList[str, str]:
    one = DistributionList[str, str]()
    for time in (30, 25, 5, 15):
        one.add(F, time)
    for time in (35, 10, 30):
        one.delete(F, time)
    return one


def test_figure_9() -> None:
    """S4-11: [5, 10) and [15, 35); the pair at 30 is cancelled."""
    assert intervals(figure_9()) == [(5, 10), (15, 35)]


def test_figure_9_and_the_late_delete() -> None:
    """S4-11: Delete @ 20 retracts the log of [20, 25) and nothing else."""
    one = figure_9()
    for time in range(40):
        one.update(Logged(time, f"v{time}"))
    outcome = one.delete(F, 20)
    assert [entry.time for entry in outcome.retractions] == [20, 21, 22, 23, 24]
    assert outcome.sends == []
    assert intervals(one) == [(5, 10), (15, 20), (25, 35)]


def test_figures_3_and_4_the_red_tank_is_ahead() -> None:
    """S4-13: red updates @ 10 first; blue subscribes @ 10 later, and gets it from the log."""
    lists = DistributionLists[str, str]()
    update = Logged(10, "red is here")
    assert lists.update(["cell"], update) == {}
    assert lists.add(("blue", 1), "cell", 10).sends == [update]


def test_figure_10_the_four_cases() -> None:
    """S4-9: of the four only Add after Delete sends, and only Delete after Add retracts, in [T, T2)."""
    for first, second, late in (("add", "add", "sends"), ("delete", "add", "sends"),
                                ("add", "delete", "retractions"), ("delete", "delete", "retractions")):  # fmt: skip
        for then in ("add", "delete"):
            one = DistributionList[str, int]()
            getattr(one, first)(F, 10)
            getattr(one, then)(F, 30)
            for time in (15, 20, 25, 30, 35):
                one.update(Logged(time, time))
            outcome = getattr(one, second)(F, 20)
            expected = [20, 25] if first != second else []
            assert [entry.time for entry in getattr(outcome, late)] == expected
            assert len(outcome.sends) + len(outcome.retractions) == len(expected)


def test_equal_operations_cancel() -> None:
    """S4-7, S4-10: Add and Delete with the same member and time, in either order; the net count decides."""
    one = DistributionList[str, str]()
    one.update(Logged(5, "v"))
    assert len(one.add(F, 5).sends) == 1
    assert len(one.delete(F, 5).retractions) == 1
    assert one.net(F, 5) == 0
    assert not one.members
    one.delete(F, 5)
    one.delete(F, 5)
    one.add(F, 5)
    assert one.net(F, 5) == -1
    assert one.read(5) == ()
    one.add(F, 5)
    assert len(one.add(F, 5).sends) == 1


def test_a_federate_with_two_regions_in_a_cell() -> None:
    """S4-18: it leaves the list with the last of them, and gets each update once."""
    one = DistributionList[str, str]()
    update = Logged(10, "v")
    one.update(update)
    assert one.add(("F", 1), 5).sends == [update]
    assert one.add(("F", 2), 8).sends == []
    assert one.delete(("F", 1), 9).retractions == []
    assert one.read(10) == ("F",)
    assert one.delete(("F", 2), 10).retractions == [update]
    assert one.read(9) == ("F",)


def test_space_time_memory() -> None:
    """S4-16: read(T) is the latest version up to T; a later write at the same time replaces it."""
    memory = SpaceTime("first")
    for time, value in ((20, "c"), (10, "a"), (10, "b"), (30, "d")):
        memory.write(time, value)
    assert [memory.read(time) for time in (9, 10, 19, 20, 29, 30, 99)] == [
        "first",
        "b",
        "b",
        "c",
        "c",
        "d",
        "d",
    ]
    assert memory.before(10) == "first"
    assert memory.following(10) == (20, "c")
    assert memory.following(30) is None
    memory.reclaim((20, 0))
    assert memory.times == [20, 30]
    assert memory.before(20) == "b"
    memory.reclaim((20, 1))
    assert memory.times == [30]
    assert memory.read(25) == "c"


def test_multicast_groups() -> None:
    """S4-17: join at once, leave when reclaiming has come to the Delete."""
    lists = DistributionLists[str, str]()
    assert lists.add(F, "cell", 10).joined
    assert lists.group("cell") == ("F",)
    outcome = lists.delete(F, "cell", 20)
    assert not outcome.left
    assert lists.reclaim((19, 1)) == []
    assert lists.group("cell") == ("F",)
    assert lists.reclaim((20, 0)) == [("cell", "F")]
    assert lists.group("cell") == ()
    lists.reclaim((20, 1))
    assert lists.lists == {}


def test_a_delete_at_the_bound_leaves_at_once() -> None:
    """S4-17: nothing can come any more for which it would have to stay."""
    lists = DistributionLists[str, str]()
    lists.add(F, "cell", 10)
    lists.reclaim((15, 0))
    assert lists.delete(F, "cell", 15).left


def test_an_update_that_its_sender_takes_back() -> None:
    """Who had got it is told; who subscribes late does not get it."""
    lists = DistributionLists[str, str]()
    lists.add(F, "a", 5)
    lists.add(F, "b", 5)
    update, other = Logged(7, "v"), Logged(7, "w")
    lists.update(["a", "b"], update)
    lists.update(["a"], other)
    assert lists.withdraw(["a", "b"], update) == {"F": 2}
    assert lists.add(("G", 1), "a", 6).sends == [other]
    assert lists.add(("G", 1), "b", 6).sends == []


def test_a_federate_that_resigns() -> None:
    lists = DistributionLists[str, str]()
    for federate in ("F", "G"):
        lists.add((federate, 1), "a", 5)
    lists.add(F, "b", 5)
    lists.delete(F, "b", 9)
    assert set(lists.remove("F")) == {"a", "b"}
    assert lists.read("a", 6) == ("G",)
    assert list(lists.lists) == ["a"]
    assert lists.remove("F") == []


class Counted(int):
    """A time that counts how often times are compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Counted.compared += 1
        return int(self) < int(other)

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, int) and int(self) == int(other)

    __hash__ = int.__hash__


def comparisons(versions: int) -> list[int]:
    """Of one Update, Add and Delete in the middle of a list with so many versions, and as many updates in its log."""
    one = DistributionList[str, int]()
    for number in range(versions):
        operate = one.delete if number % 2 else one.add
        operate(F, Counted(10 * number))
        one.update(Logged(Counted(10 * number + 5), number))
    assert len(one.versions) == versions + 1
    middle = 10 * (versions // 2) + 1
    calls: list[Callable[[], object]] = [
        lambda: one.update(Logged(Counted(middle), 0)),
        lambda: one.delete(F, Counted(middle)),
        lambda: one.add(F, Counted(middle + 1)),
    ]
    found = []
    for call in calls:
        Counted.compared = 0
        call()
        found.append(Counted.compared)
    return found


def test_operations_cost_a_few_bisections() -> None:
    """Ten times as many versions: not ten times as many comparisons, but a few more."""
    few, many = comparisons(400), comparisons(4000)
    assert many[0] <= few[0] + 12  # an update: three bisections of four steps more
    assert all(later <= earlier + 40 for earlier, later in zip(few, many, strict=True))
