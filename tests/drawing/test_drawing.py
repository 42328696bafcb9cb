"""Pictures and charts: what they show is what they were given."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.drawing import (
    Box,
    Chart,
    ChartPoint,
    Dot,
    Graphic,
    Series,
    Stroke,
    Text,
    line_chart,
    short_number,
    stacked,
    style,
    svg,
)
from weft.drawing.charts import HEIGHT, WIDTH, decade_ticks, labels, nice_ticks
from weft.drawing.shapes import DARK, LIGHT

numbers = st.floats(-1e9, 1e9, allow_nan=False).filter(lambda value: value == 0 or abs(value) > 1e-6)


@given(low=numbers, high=numbers)
def test_ticks_hold_all_values_and_are_few(low: float, high: float) -> None:
    low, high = min(low, high), max(low, high)
    ticks = nice_ticks(low, high)
    unseen = (ticks[1] - ticks[0]) * 1e-6
    assert ticks[0] <= low + unseen
    assert ticks[-1] >= high - unseen
    assert 2 <= len(ticks) <= 9
    steps = {round((b - a) / (ticks[1] - ticks[0]), 6) for a, b in itertools.pairwise(ticks)}
    assert steps == {1.0}


@given(low=numbers, high=numbers)
def test_no_two_ticks_read_alike(low: float, high: float) -> None:
    found = labels(nice_ticks(min(low, high), max(low, high)))
    assert len({text for _, text in found}) == len(found)


@given(low=st.floats(1e-6, 1e6), factor=st.floats(1, 1e6))
def test_decades_hold_all_values(low: float, factor: float) -> None:
    ticks = decade_ticks(low, low * factor)
    assert ticks[0] <= low * (1 + 1e-6)
    assert ticks[-1] >= low * factor * (1 - 1e-6)


points = st.lists(
    st.builds(
        lambda x, y, less, more: ChartPoint(x, y, y - less, y + more),
        st.floats(0, 1e6),
        st.floats(0, 1e6),
        st.floats(0, 10),
        st.floats(0, 10),
    ),
    min_size=1,
    max_size=6,
)


@given(lines=st.lists(points, min_size=1, max_size=8), log=st.booleans())
def test_every_point_is_inside_the_picture_and_can_be_read(lines: list[list[ChartPoint]], log: bool) -> None:
    series = [Series(f"line <{number}> & more", one) for number, one in enumerate(lines)]
    picture = line_chart(Chart("a & b", "x <1>", "y", series, log_y=log))
    dots = [shape for shape in picture.shapes if isinstance(shape, Dot)]
    assert len(dots) == sum(map(len, lines))
    assert all(0 <= dot.x <= WIDTH and 0 <= dot.y <= HEIGHT for dot in dots)
    tree = ElementTree.fromstring(svg(picture, standing_alone=True))
    said = [element.text or "" for element in tree.iter() if element.tag.endswith("text")]
    for one in series:
        assert one.name in said


@given(lines=st.lists(points, min_size=2, max_size=7))
def test_names_of_lines_do_not_hide_one_another(lines: list[list[ChartPoint]]) -> None:
    picture = line_chart(Chart("t", "x", "y", [Series(f"line {n}", one) for n, one in enumerate(lines)]))
    places = sorted(
        shape.y for shape in picture.shapes if isinstance(shape, Text) and shape.text.startswith("line ")
    )
    assert all(b - a > 10 for a, b in itertools.pairwise(places))


@given(st.lists(st.integers(0, 200), min_size=1, max_size=6))
def test_where_all_are_whole_no_half_is_written_below(where: list[int]) -> None:
    drawn = line_chart(
        Chart("t", "federates", "y", [Series("s", [ChartPoint(x, 1.0, 1.0, 1.0) for x in where])])
    )
    below = max(shape.y for shape in drawn.shapes if isinstance(shape, Text) and shape.text != "federates")
    ticks = [shape.text for shape in drawn.shapes if isinstance(shape, Text) and shape.y == below]
    assert ticks
    assert not [text for text in ticks if "." in text]


def test_larger_values_are_higher() -> None:
    picture = line_chart(Chart("t", "x", "y", [Series("s", [ChartPoint(n, n, n, n) for n in (1, 2, 5)])]))
    dots = [shape for shape in picture.shapes if isinstance(shape, Dot)]
    assert [dot.y for dot in dots] == sorted((dot.y for dot in dots), reverse=True)
    assert [dot.x for dot in dots] == sorted(dot.x for dot in dots)


def test_what_a_user_wrote_cannot_break_the_page() -> None:
    mark = '<script>"&'
    picture = Graphic(
        10, 10, mark, [Text(1, 1, mark), Box(0, 0, 1, 1, tip=mark), Stroke(((0, 0), (1, 1)), tip=mark)]
    )
    tree = ElementTree.fromstring(svg(picture, standing_alone=True))
    assert [element.text for element in tree.iter() if element.text == mark] == [mark] * 4


def test_every_tone_has_a_colour_in_light_and_dark() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert all(f".t-{name}{{" in style() for name in LIGHT)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.12345, "0.123"), (999, "999"), (12345, "12.3k"), (2e6, "2M"), (3.2e9, "3.2G")],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert short_number(value) == text


@given(heights=st.lists(st.floats(1, 500), max_size=5))
def test_stacked_pictures_do_not_hide_one_another(heights: list[float]) -> None:
    some = [
        Graphic(
            100,
            height,
            "",
            [Box(0, 0, 10, height), Dot(5, height), Text(0, 0, "a"), Stroke(((0, 0), (9, height)))],
        )
        for height in heights
    ]
    whole = stacked("all", some)
    boxes = [shape for shape in whole.shapes if isinstance(shape, Box)]
    assert [box.height for box in boxes] == heights
    assert all(one.y + one.height <= other.y for one, other in itertools.pairwise(boxes))
    assert all(box.y + box.height <= whole.height for box in boxes)
    for at, box in enumerate(boxes):
        _, dot, text, stroke = whole.shapes[4 * at : 4 * at + 4]
        assert isinstance(dot, Dot)
        assert isinstance(text, Text)
        assert isinstance(stroke, Stroke)
        assert (dot.y, text.y) == (box.y + box.height, box.y)
        assert stroke.points == ((0, box.y), (9, box.y + box.height))
