"""`weft ddm draw`: figures 1 to 4 of paper 002, and pictures of any files (S2-22)."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.design.test_cli_ddm import EXPECTED, FOM
from interest.paper import FED, GRID_OF_TWO, spaces_of
from weft.cli import main
from weft.cli.design.ddm_overview import pictures
from weft.cli.design.ddm_regions import RegionsFile, read_lines
from weft.drawing import Box, Dot, Graphic, Stroke, Text
from weft.interest import STRATEGIES, DdmSettings, make_strategy

Capture = pytest.CaptureFixture[str]
REGIONS = """\
# who is where
near = 2D: x=0..0xff, y=0..0xff     # a corner
two = 2D: x=0..9; x=0x80000000..0x90000000, y=0..9
all = 1D
tower subscribes B.x near two
field updates B.x near 10 times
field updates A.x
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.fed").write_bytes(FED)
    (tmp_path / "my.rid").write_bytes(GRID_OF_TWO)
    (tmp_path / "a.xml").write_text(FOM.format("A"))
    (tmp_path / "b.xml").write_text(FOM.format("B"))
    (tmp_path / "my.regions").write_text(REGIONS)
    return tmp_path


def draw(*words: str) -> int:
    return main(["ddm", "draw", *words])


def rows(page: str) -> list[list[str]]:
    return [
        re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page) if "<td>" in row
    ]


def test_figure_2_has_the_regions_of_the_paper_on_their_channels(folder: Path, capsys: Capture) -> None:
    """S2-12."""
    assert draw("--example", "2", "--out", "two.html") == 0
    assert capsys.readouterr().out == "wrote two.html\n"
    page = (folder / "two.html").read_text()
    shown = {name: channels for name, _, channels, _ in rows(page)}
    lists = {
        name: [*map(int, text.replace("3 to 6", "3, 4, 5, 6").split(", "))] for name, text in shown.items()
    }
    assert lists == EXPECTED
    assert page.count("<svg") == 4  # the overview, and each space
    assert "http" not in page


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (1, {"Ground", "Air", "tank.lat", "plane.alt", "tanks", "planes", "1", "2", "0"}),
        (2, {"R1D-1", "R2D-5", "Fed1", "channels 5, 6", *map(str, range(7, 15))}),
        (3, {*map(str, range(3, 33)), "x 10 × y 3 · channels 3 to 32"}),
        (4, {*(f"R{n}" for n in range(1, 17)), *(f"channel {n}" for n in range(1, 17))}),
    ],
)
def test_figures_of_the_paper_as_svg(number: int, texts: set[str], folder: Path) -> None:
    """S2-7, S2-11, S2-16, S2-22."""
    assert draw("--example", str(number), "--out", "figure.svg") == 0
    root = ElementTree.parse(folder / "figure.svg").getroot()
    shown = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert texts <= shown


def test_any_fed_with_its_rid_and_regions(folder: Path) -> None:
    assert draw("my.fed", "my.rid", "--regions", "my.regions", "--region", "more=2D:y=5..9") == 0
    page = (folder / "ddm.html").read_text()
    assert rows(page) == [
        ["near", "2D", "3", "tower subscribes B.x; field updates B.x"],
        ["two", "2D", "3 to 5", "tower subscribes B.x"],
        ["all", "1D", "1, 2", ""],
        ["more", "2D", "3, 4", ""],
    ]
    assert "near: x=0..0xff, y=0..0xff; channel 3" in page


def test_an_object_model_of_hla_4_in_two_modules(folder: Path) -> None:
    """Sets of dimensions are spaces; bounds are decimal, and do not belong to the range."""
    assert (
        draw("a.xml", "my.rid", "--fom", "b.xml", "--region", "R=X+Y:X=0..500,Y=0..1000", "-o", "f.svg") == 0
    )
    text = (folder / "f.svg").read_text()
    for expected in ("space X+Y", "R: X=0..500, Y=0..1000; channels 1, 3", "A.Place", "B.Place"):
        assert expected in text


def test_all_strategies_beside_one_another(folder: Path) -> None:
    """S2-4."""
    assert draw("my.fed", "my.rid", "--regions", "my.regions", "--strategy", "all") == 0
    page = (folder / "ddm.html").read_text()
    assert re.findall("<h2>(.*?)</h2>", page) == [*STRATEGIES]
    assert page.count("<svg") == 4 * len(STRATEGIES)
    assert page.count("compares regions") == 1  # Exact


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a FED or an OMT file, or --example 1 to 4"),
        (("my.fed", "--example", "1"), "--example 1 brings its own files; leave out my.fed"),
        (("my.fed", "--out", "x.png"), "x.png: a picture is a page or an SVG"),
        (("no.fed",), "no.fed: No such file"),
        (
            ("my.fed", "--strategy", "Clever"),
            "--strategy Clever: there is no such strategy; there are: Simple, ",
        ),
        (("my.fed", "--out", "no/x.svg"), "no/x.svg: cannot be written"),
        (("my.fed", "--region", "R=4D"), "--region R: no space '4D'; there are: 1D, 2D, 3D"),
    ],
)
def test_what_cannot_be_drawn(words: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert draw(*words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("R = 4D: x=0..1", "bad.regions:2: R: no space '4D'"),
        ("R = 1D: x=9..1", "bad.regions:2: R: x=9..1 holds no number"),
        ("known = 1D", "bad.regions:2: 'known = 1D': a region called 'known' was given before"),
        ("somebody looks", "bad.regions:2: 'somebody looks': expected NAME=SPACE:"),
        ("f subscribes Q.x known", "bad.regions:2: 'Q.x': there is no object class 'Q'"),
        ("f subscribes A.q known", "bad.regions:2: A has no attribute 'q'"),
        ("f updates A.x unknown", "bad.regions:2: no region 'unknown' stands above; there are: known"),
        ("f updates B.x known", "bad.regions:2: B.x travels in space 2D, but known is a region of 1D"),
    ],
)
def test_a_regions_file_that_means_nothing(line: str, message: str, folder: Path, capsys: Capture) -> None:
    (folder / "bad.regions").write_text(f"known = 1D: x=0..9\n{line}\n")
    assert draw("my.fed", "--regions", "bad.regions") == 2
    assert message in capsys.readouterr().err


# Everything is within the picture


def ends(shape: Box | Stroke | Dot | Text) -> list[tuple[float, float]]:
    if isinstance(shape, Stroke):
        return list(shape.points)
    if isinstance(shape, Box):
        return [(shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)]
    return [(shape.x, shape.y)]


def check_within(picture: Graphic) -> None:
    for shape in picture.shapes:
        for x, y in ends(shape):
            assert -0.01 <= x <= picture.width + 0.01, shape
            assert -0.01 <= y <= picture.height + 0.01, shape
        if isinstance(shape, Box):
            assert shape.width > 0, shape
            assert shape.height > 0, shape


def test_many_names_in_one_place_do_not_leave_the_picture() -> None:
    """The legend names those for which there is no room."""
    spaces = spaces_of()
    lines = [f"R{number} = 2D: x=0..{number}, y=0..1" for number in range(60)]
    found = RegionsFile({}, [])
    read_lines("\n".join([*lines, "tower subscribes A.x"]), "any", spaces, None, found)
    strategy = make_strategy(spaces, DdmSettings(strategy="Simple", partitions=1, max_channels=100_000))
    for picture in pictures(spaces, strategy, found):
        check_within(picture)


@settings(deadline=None)
@given(data=st.data(), name=st.sampled_from(STRATEGIES), grid=st.integers(1, 40), count=st.integers(0, 45))
def test_nothing_is_drawn_outside(data: st.DataObject, name: str, grid: int, count: int) -> None:
    spaces = spaces_of()
    lines = []
    for number in range(count):
        space = data.draw(st.sampled_from(spaces.all))
        bounds = [sorted(data.draw(st.tuples(*[st.integers(0, 0xFFFFFFFF)] * 2))) for _ in space.dimensions]
        ranges = [
            f"{one.name}={low}..{high}" for one, (low, high) in zip(space.dimensions, bounds, strict=True)
        ]
        lines.append(f"R{number} = {space.name}: {', '.join(ranges)}")
    found = RegionsFile({}, [])
    read_lines("\n".join([*lines, "tower subscribes A.x", "field updates B.x"]), "any", spaces, None, found)
    strategy = make_strategy(spaces, DdmSettings(strategy=name, partitions=grid, max_channels=100_000))
    for picture in pictures(spaces, strategy, found):
        check_within(picture)
