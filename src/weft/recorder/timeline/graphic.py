"""A time line as a picture of `weft.drawing`, for pages that have other pictures, too: the marks are those of `layout`."""

from __future__ import annotations

from typing import Final

from weft.drawing import Box, Dot, Graphic, Stroke, Text
from weft.recorder.timeline.layout import Picture
from weft.recorder.timeline.look import ORDER
from weft.recorder.timeline.marks import LaneRow, TimelineMark
from weft.recorder.timeline.page import UNPRINTABLE

WIDTH: Final = 660.0
_LEFT: Final = 148.0  # for the names of lanes
_RIGHT: Final = 30.0
_TOP: Final = 8.0
_LANE: Final = 46.0
_AXIS: Final = 40.0
_BAR: Final = 12.0
_TONES: Final = (
    "s0",
    "s1",
    "s2",
    "s3",
    "s6",
    "s5",
)  # by the colours of `layout`; none of them is that of a miss


def timeline_graphic(picture: Picture, title: str = "") -> Graphic:
    bottom = _TOP + len(picture.lanes) * _LANE
    drawn = Graphic(WIDTH, bottom + _AXIS, title or picture.title)
    for number in range(0, len(picture.lanes), 2):
        drawn.add(Box(0, _TOP + number * _LANE, WIDTH, _LANE, "stripe", 1.0))
    for place, text in picture.time.ticks:
        x = _x(place)
        drawn.add(Stroke(((x, _TOP), (x, bottom + 4)), "grid"))
        drawn.add(Text(x, bottom + 17, text, "muted", "middle"))
    drawn.add(Text(_x(0.5), bottom + 34, picture.time.title, "text", "middle"))
    for number, lane in enumerate(picture.lanes):
        _lane(drawn, lane, _TOP + number * _LANE)
    return drawn


def _x(place: float) -> float:
    return _LEFT + place * (WIDTH - _LEFT - _RIGHT)


def _lane(drawn: Graphic, lane: LaneRow, top: float) -> None:
    tone = _TONES[lane.colour]
    drawn.add(Text(8, top + 20, _printable(lane.label), "text", bold=True))
    drawn.add(Text(8, top + 35, lane.note, "muted", size=10.0))
    middle = top + 29
    for mark in sorted(lane.marks, key=lambda mark: ORDER.index(mark.kind)):
        _mark(drawn, mark._replace(tip=_printable(mark.tip)), tone, middle)


def _printable(text: str) -> str:
    return UNPRINTABLE.sub("\ufffd", text)


def _mark(drawn: Graphic, mark: TimelineMark, tone: str, middle: float) -> None:
    begin, end = _x(mark.begin), _x(mark.end)
    width = max(1.0, end - begin)
    if mark.kind in ("run", "open"):
        dashed = mark.kind == "open"
        drawn.add(Box(begin, middle - _BAR / 2, width, _BAR, tone, 0.0 if dashed else 1.0, mark.tip, dashed))
    elif mark.kind == "busy":
        height = max(1.5, mark.level * _BAR)
        drawn.add(Box(begin, middle + _BAR / 2 - height, width, height, tone, 0.75, mark.tip))
    elif mark.kind == "wait":
        drawn.add(Stroke(((begin, middle), (end, middle)), "muted", 1.5, tip=mark.tip))
    elif mark.kind == "late":
        drawn.add(Stroke(((begin, middle + 10), (end, middle + 10)), "bad", 2.5, tip=mark.tip))
    elif mark.kind in ("deadline", "overdue"):
        late = "bad" if mark.kind == "overdue" else "text"
        drawn.add(Stroke(((begin, middle - 11), (begin, middle + 11)), late, 1.2, tip=mark.tip))
    elif mark.kind == "miss":
        for slope in (-4, 4):
            drawn.add(
                Stroke(((begin - 4, middle - slope), (begin + 4, middle + slope)), "bad", 2.0, tip=mark.tip)
            )
        label = mark.label or (f"×{mark.many}" if mark.many > 1 else "")
        drawn.add(Text(begin, middle - 13, label, "bad", "middle", 10.0))
    else:  # push, overrun, drop
        drawn.add(Dot(begin, middle - 9, tone, 2.0, mark.kind == "drop", mark.tip))
