"""A time line among other pictures (S3-14): every mark of the layout is drawn, where it belongs."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings

from recorder.timeline.rows import random_rows, run_of
from weft.drawing import Box, Dot, Stroke, Text, svg
from weft.recorder.timeline import Picture, Row, extent, lanes, picture, timeline_graphic
from weft.recorder.timeline.graphic import WIDTH


def _layout(rows: list[Row]) -> Picture:
    found = lanes(rows)
    whole = extent(found)
    assert whole is not None
    return picture("a line of <a> & b", found, whole, whole.begin)


@settings(max_examples=100)
@given(rows=random_rows())
def test_every_mark_is_drawn_inside_the_picture(rows: list[Row]) -> None:
    """S3-14: runs, misses and deadlines as many as the layout has; all of it well-formed, whatever the names."""
    layout = _layout(rows)
    drawn = timeline_graphic(layout)
    ElementTree.fromstring(svg(drawn, standing_alone=True))
    marks = [mark for lane in layout.lanes for mark in lane.marks]
    strokes = [shape for shape in drawn.shapes if isinstance(shape, Stroke)]
    assert sum(shape.tone == "bad" and shape.width == 2.0 for shape in strokes) == 2 * sum(
        mark.kind == "miss" for mark in marks
    )
    bars = [shape for shape in drawn.shapes if isinstance(shape, Box) and shape.tone != "stripe"]
    assert len(bars) == sum(mark.kind in ("run", "open", "busy") for mark in marks)
    points = [point for shape in strokes for point in shape.points]
    points += [(shape.x, shape.y) for shape in drawn.shapes if isinstance(shape, Dot | Text)]
    points += [(shape.x + shape.width, shape.y + shape.height) for shape in bars]
    assert all(0 <= x <= WIDTH and 0 <= y <= drawn.height for x, y in points)


def test_a_miss_has_its_laxity_beside_it() -> None:
    """S3-14, figure 13."""
    late = timeline_graphic(_layout(run_of("fast", 0, 30_000_000, 25_000_000)))
    assert any(isinstance(shape, Text) and shape.text == "−5.0 ms" for shape in late.shapes)
    in_time = timeline_graphic(_layout(run_of("fast", 0, 20_000_000, 25_000_000)))
    assert not any(shape.tone == "bad" for shape in in_time.shapes)
