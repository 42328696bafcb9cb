"""Interest over cells: the vectors of S4, grids, and the receiving end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interest.receiving import Receiver, overlap
from weft.interest import CellAxis, CellInterest, CellUpdate, Grid, Placed
from weft.interest.cells import Boxes
from weft.model.errors import InterestError

BLUE, RED = ("blue", 1), ("red", 1)


def box(*ranges: tuple[float, float] | None) -> Boxes:
    return (ranges,)


def squares(cells: int = 10) -> Grid:
    """Two dimensions of whole numbers, cells of one by one."""
    return Grid([CellAxis("x", 0, cells, cells), CellAxis("y", 0, cells, cells)])


def normalised(dimensions: int, cells: int) -> Grid:
    """[0, 1) in each dimension (S4-3)."""
    return Grid([CellAxis(str(number), 0.0, 1.0, cells) for number in range(dimensions)])


def test_the_left_half() -> None:
    """S4-3: [0, 0.5][0, 1] of a normalised space is its left half."""
    grid = normalised(2, 4)
    assert grid.cells(box((0.0, 0.5), (0.0, 1.0))) == {0, 1, 4, 5, 8, 9, 12, 13}
    assert grid.cells(box((0.0, 1.0), (0.0, 1.0))) == set(range(16)) == grid.cells(box(None, None))


def test_figure_1() -> None:
    """S4-3: U1 overlaps S2 and not S3, so F2 gets the update of F1 and F3 does not."""
    u1, s2, s3 = box((0.3, 0.6), (0.4, 0.8)), box((0.5, 0.9), (0.6, 0.9)), box((0.6, 0.9), (0.1, 0.4))
    assert overlap(u1, s2)
    assert not overlap(u1, s3)
    interest = CellInterest[str, object](normalised(2, 10))
    interest.modify_subscription(("F2", 1), s2, 0)
    interest.modify_subscription(("F3", 1), s3, 0)
    interest.modify_update(("F1", 1), u1, 0)
    _, copies = interest.update(("F1", 1), "v", 1)
    assert copies == {"F2": 2}  # by the two cells in common


def test_figure_7() -> None:
    """S4-5: three by three cells moved by (1, 1): five Adds, five Deletes, four cells as they were."""
    interest = CellInterest[str, object](squares())
    interest.modify_subscription(BLUE, box((2, 5), (2, 5)), 0)
    steps = interest.modify_subscription(BLUE, box((3, 6), (3, 6)), 10).steps
    assert sorted(step.change for step in steps) == [-1] * 5 + [1] * 5
    assert {step.time for step in steps} == {10}


@pytest.mark.parametrize(
    "row, actions",
    [
        ("000", []),
        ("001", []),
        ("010", [("Add", "T"), ("Delete", "t2")]),
        ("011", [("Add", "T")]),
        ("100", [("Delete", "T")]),
        ("101", [("Add", "t2"), ("Delete", "T")]),
        ("110", []),
        ("111", []),
    ],
)
def test_table_1(row: str, actions: list[tuple[str, str]]) -> None:
    """S4-6: what a change at T does to a cell, by whether the region touches it at t1, T and t2."""
    cell, nowhere = box((0, 1)), ()
    interest = CellInterest[str, object](Grid([CellAxis("x", 0, 2, 2)]))
    at_t1, at_t, at_t2 = (cell if digit == "1" else nowhere for digit in row)
    interest.modify_subscription(BLUE, at_t1, 10)
    interest.modify_subscription(BLUE, at_t2, 30)
    steps = interest.modify_subscription(BLUE, at_t, 20).steps
    names: dict[float, str] = {20: "T", 30: "t2"}
    assert sorted(("Add" if s.change > 0 else "Delete", names[s.time]) for s in steps) == sorted(actions)


def test_figures_3_and_4_red_moves_in_time() -> None:
    """S4-13: blue hears late of what red said at 10, once, though they have four cells in common."""
    interest = CellInterest[str, object](squares())
    interest.modify_update(RED, box((4, 6), (4, 6)), 0)
    update, copies = interest.update(RED, "here", 10)
    assert copies == {}
    made = interest.modify_subscription(BLUE, box((3, 8), (3, 8)), 10)
    assert made.sends == [update] * 4
    assert interest.once("blue", made) == ([update], [])
    assert interest.once("blue", interest.modify_subscription(BLUE, box((5, 8), (5, 8)), 10)) == ([], [])
    assert interest.once("blue", interest.modify_subscription(BLUE, (), 10)) == ([], [update])


def test_a_publisher_changes_only_its_own_record() -> None:
    """S4-4: nothing happens to the lists; what is sent goes by the region as of its time."""
    interest = CellInterest[str, object](squares())
    interest.modify_subscription(BLUE, box((0, 1), (0, 1)), 0)
    lists = {cell: one.times for cell, one in interest.lists.lists.items()}
    interest.modify_update(RED, box((5, 6), (5, 6)), 20)
    interest.modify_update(RED, box((0, 1), (0, 1)), 10)
    assert {cell: one.times for cell, one in interest.lists.lists.items()} == lists
    assert [interest.update(RED, "v", time)[1] for time in (9, 10, 19, 20)] == [
        {},
        {"blue": 1},
        {"blue": 1},
        {},
    ]


def test_a_change_below_time_and_lookahead_is_refused() -> None:
    """S4-12: for both kinds of region; the error says from when on."""
    interest = CellInterest[str, object](squares())
    here = box((0, 1), (0, 1))
    for modify in (interest.modify_subscription, interest.modify_update):
        with pytest.raises(InterestError, match=r"region 1 of federate blue .* 6 or later"):
            modify(BLUE, here, 5, (6, 0))
        with pytest.raises(InterestError, match="later than 6"):
            modify(BLUE, here, 6, (6, 1))
        modify(BLUE, here, 6, (6, 0))
    interest.reclaim((7, 0))
    with pytest.raises(InterestError, match="before 7"):
        interest.modify_subscription(BLUE, here, 6)


def test_nobody_gets_its_own_updates() -> None:
    """Neither at once nor late, and it does not take them back."""
    interest = CellInterest[str, object](squares())
    here = box((0, 1), (0, 1))
    interest.modify_update(BLUE, here, 0)
    update, _ = interest.update(BLUE, "v", 5)
    assert interest.modify_subscription(BLUE, here, 1).sends == []
    assert interest.update(BLUE, "v", 6)[1] == {}
    assert interest.modify_subscription(BLUE, (), 1).retractions == []
    assert interest.modify_subscription(("green", 1), here, 1).sends[0] is update
    assert interest.withdraw(update) == {"green": 1}


def test_the_receiver_filters_and_removes_copies() -> None:
    """S4-4: overlap of cells without overlap of regions, and several cells in common; retractions count copies."""
    receiver = Receiver[str]()
    receiver.modify("region", box((0.0, 0.4)), 0)
    receiver.modify("region", box((0.6, 0.9)), 10)
    near = Placed(box((0.3, 0.7)), frozenset({0, 1}))
    beside = Placed(box((0.41, 0.5)), frozenset({0}))
    first, extra, gone, later = (
        CellUpdate[str, object](time, "v", "red", placed)
        for time, placed in ((5, near), (6, beside), (7, near), (12, near))
    )
    receiver.retract(gone)  # overtakes what it takes back
    for update, copies in ((later, 1), (first, 2), (extra, 1), (gone, 1)):
        receiver.arrive(update, copies)
    assert receiver.take((10, 0)) == [first]
    assert (receiver.extra, receiver.doubled) == (1, 1)
    assert receiver.take((12, 0)) == []
    assert receiver.take((12, 1)) == [later]
    assert not receiver.copies


def test_what_is_not_a_region_is_refused() -> None:
    grid = squares()
    for boxes, complaint in (
        (box((0, 1)), "1 ranges in a space of 2 dimensions"),
        (box((3, 3), (0, 1)), r"dimension x: \[3, 3\)"),
        (box((0, 1), (5, 11)), r"dimension y: \[5, 11\) is not a range in \[0, 10\)"),
        (box((-1, 1), (0, 1)), "dimension x"),
    ):
        with pytest.raises(InterestError, match=complaint):
            grid.cells(boxes)
    with pytest.raises(InterestError, match="cannot cut"):
        CellAxis("x", 1, 1, 4)
    with pytest.raises(InterestError, match="at least one cell"):
        CellAxis("x", 0, 1, 0)


def test_whole_numbers_are_cut_as_a_static_grid_is() -> None:
    """S2-10: size = ceil(span / n), the first dimension fastest."""
    top = 1 << 32
    grid = Grid([CellAxis("x", 0, top, 2), CellAxis("y", 0, top, 2)])
    assert grid.cells(box((0, 0x80000000), (0, 1))) == {0}
    assert grid.cells(box((0x7FFFFFFF, 0x80000001), (top - 1, top))) == {2, 3}
    assert [len(CellAxis("x", 0, top, n).starts) for n in (1, 3, 10)] == [1, 3, 10]
    assert CellAxis("x", 0, top, 10).starts[1] == 429496730


BOUNDS = st.one_of(
    st.tuples(st.integers(0, 1000), st.integers(0, 1000)),
    st.tuples(st.floats(0.0, 1000.0), st.floats(0.0, 1000.0)),
).filter(lambda pair: pair[0] != pair[1])


@given(BOUNDS, BOUNDS, st.integers(1, 40), st.booleans())
def test_who_overlaps_has_a_cell_in_common(
    one: tuple[float, float], other: tuple[float, float], cells: int, whole: bool
) -> None:
    """Also where cells do not divide evenly and numbers are rounded."""
    axis = CellAxis("x", 0, 1000, cells) if whole else CellAxis("x", 0.0, 1000.0, cells)
    here, there = (min(one), max(one)), (min(other), max(other))
    common = set(axis.cells(here)) & set(axis.cells(there))
    if overlap(box(here), box(there)):
        assert common
    for low, high in (here, there):
        starts = axis.starts
        touched = [
            n
            for n in range(len(starts))
            if starts[n] < high and (n + 1 == len(starts) or low < starts[n + 1])
        ]
        assert list(axis.cells((low, high))) == touched
