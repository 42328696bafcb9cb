"""Cells as a setting (S4-3, S4-22): what a RID file says of them, what is wrong, and that they are cells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interest.paper import settings_of, spaces_of
from weft.fom import parse_rid
from weft.interest import CellAxis, DdmSettings, Grid
from weft.interest.cell_settings import MAX_CELLS, CellSettings, read_cell_settings, write_cell_settings
from weft.model.errors import InterestError, SettingsError
from weft.model.records import Source

SPACES = spaces_of()
NAMES = ("1D.x", "2D.x", "2D.y")


def read(text: str) -> CellSettings:
    return settings_of(f"(RTI (DataDistribution (Options\n{text})))".encode(), SPACES).cells


def test_in_all_and_by_dimension() -> None:
    """S4-22: a number for all, a number for one dimension, and bounds for another."""
    found = read(
        "(CellOptions (NumCells 100) (DimensionOptions (2D.X (NumCells 20)) (2d.y (CellBounds 0x10 32 99))))"
    )
    assert found == CellSettings(100, {"2d.x": 20, "2d.y": (16, 32, 99)})
    x, y = found.axes([("2D.x", 2, 1000), ("2D.y", 3, 200)])
    assert x.starts == list(range(0, 1000, 50))
    assert y.starts == [0, 16, 32, 99]
    (alone,) = found.axes([("1D.x", 1, 1000)])
    assert len(alone.starts) == 100


def test_what_is_not_said() -> None:
    """About 64 in all, whatever the number of dimensions; no more than a dimension has numbers; and one if one is asked for."""
    assert read("") == CellSettings() == DdmSettings().cells
    for names, each in ((NAMES[:1], 64), (NAMES[1:], 8), (NAMES, 4)):
        assert [len(axis.starts) for axis in read("").axes([(name, 1, 1 << 32) for name in names])] == [
            each
        ] * len(names)
    assert [len(axis.starts) for axis in read("").axes([("x", 1, 3), ("y", 2, 100)])] == [3, 8]
    assert [len(axis.starts) for axis in CellSettings(1).axes([("x", 1, 9), ("y", 2, 9)])] == [1, 1]
    assert CellSettings().axes([]) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(NumCells 0)", r"NumCells must be a whole number from 1 to 65536, not '0'"),
        ("(NumCells 1 2)", r"NumCells must be a whole number .* not '1 2'"),
        ("(NumCells)", r"NumCells must be .* not 'nothing'"),
        ("(NumCells many)", r"NumCells must be .* not 'many'"),
        ("(NumCells 4) (NumCells 5)", r"has NumCells twice"),
        ("(Size 4)", r"knows no 'Size'; there are: NumCells, DimensionOptions"),
        ("(DimensionOptions (z (NumCells 2)))", r"knows no dimension 'z'; there are: 1D.x, 2D.x, 2D.y, 3D.x"),
        ("(DimensionOptions (1D.x))", r"of 1D.x needs either \(NumCells N\) or \(CellBounds B …\)"),
        ("(DimensionOptions (1D.x (NumCells 2) (CellBounds 5)))", r"of 1D.x needs either"),
        ("(DimensionOptions (1D.x (NumCells 2)) (1d.X (NumCells 3)))", r"has 1d.X a second time"),
        ("(DimensionOptions (1D.x (CellBounds)))", r"CellBounds of 1D.x must be .* not nothing"),
        ("(DimensionOptions (1D.x (CellBounds 5 5)))", r"CellBounds of 1D.x must be .* above the one before, not 5 5"),
        ("(DimensionOptions (1D.x (CellBounds 0 5)))", r"CellBounds of 1D.x must be whole numbers above 0"),
        ("(DimensionOptions (1D.x (CellBounds 0xffffffff)))", r"CellBounds of 1D.x must be .* below 4294967295"),
        ("(DimensionOptions (1D.x (CellBounds one)))", r"CellBounds of 1D.x must be"),
        ("(DimensionOptions (2D.x (NumCells 1000)) (2D.y (NumCells 100)))", r"cuts 2D into 100000 cells, and 65536 are"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=rf"^paper\.rid:2: CellOptions {message}"):
        read(f"(CellOptions {text})")


def test_two_forms_contradict() -> None:
    with pytest.raises(
        SettingsError, match=r"^paper\.rid:3: CellOptions stands here a second time, after paper\.rid:2"
    ):
        read("(CellOptions (NumCells 4))\n(CellOptions (NumCells 5))")


CUTS = st.one_of(
    st.integers(1, 40),
    st.sets(st.integers(1, 999), min_size=1, max_size=12).map(lambda some: tuple(sorted(some))),
)


@given(st.integers(1, MAX_CELLS), st.dictionaries(st.sampled_from([name.lower() for name in NAMES]), CUTS))
def test_what_is_written_is_read_again(total: int, dimensions: dict[str, Any]) -> None:
    made = CellSettings(total, dimensions)
    if made.count(("3D.x", "3D.y", "3D.z")) > MAX_CELLS or made.count(NAMES[1:]) > MAX_CELLS:
        return
    text = " ".join(write_cell_settings(made)) or "(Nothing)"
    forms = [
        form for form in parse_rid(Source("paper.rid", text.encode())).children if form.name == "CellOptions"
    ]
    assert read_cell_settings(forms, SPACES) == made


@given(st.lists(CUTS, min_size=1, max_size=3), st.data())
def test_every_point_is_in_one_cell_and_what_overlaps_has_one_in_common(
    cuts: list[Any], data: st.DataObject
) -> None:
    """S4-3, S4-22: the law that cells of any kind must keep, or something would be lost."""
    settings = CellSettings(64, {str(number): cut for number, cut in enumerate(cuts)})
    grid = Grid(settings.axes([(str(number), number, 1000) for number in range(len(cuts))]))
    numbers = st.integers(0, 999)
    point = [data.draw(numbers) for _ in cuts]
    assert len(grid.cells((tuple([(at, at + 1) for at in point]),))) == 1
    one, other = (
        tuple([(max(0, at - data.draw(numbers)), min(1000, at + 1 + data.draw(numbers))) for at in point])
        for _ in range(2)
    )
    assert grid.cells((one,)) & grid.cells((other,))
    assert grid.cells((tuple([None for _ in cuts]),)) == set(range(grid.total))


@pytest.mark.parametrize("bounds", [(5, 5), (0, 5), (5, 12), (7, 3)])
def test_bounds_that_do_not_cut(bounds: tuple[int, ...]) -> None:
    with pytest.raises(InterestError, match=r"dimension x: cells that begin at \[0, .*do not cut \[0, 12\)"):
        CellAxis("x", 0, 12, bounds)
