"""A space-time diagram as SVG.  It needs no script; with one, marks tell of themselves under the pointer or the arrow keys."""

from __future__ import annotations

import math
from collections.abc import Iterator

from weft.recorder.timeline import page_text
from weft.recorder.timeline.page import shortened
from weft.review.report.diagram import AFTER, LATE, OTHER, WAY, Arrow, Diagram, Point, ProcessLine, Stretch

LABELS = 136  # pixels for the names of processes
NARROW, BROAD, ENOUGH = 52, 120, 900
"""Pixels of a column, at least and at most, and of all together if they have room."""
ROW = 86
TOP = 42
BOTTOM = 44
RIGHT = 40
RADIUS = 9
BENDS = (0, 44, -44, 76, -76)  # pixels by which an arrow may be drawn aside
CLEAR = 17  # pixels around an event that an arrow keeps from

Spot = tuple[float, float]
Bend = tuple[Spot, Spot, Spot]
"""Where a curve begins, what it is drawn towards, where it ends."""
SHAPES = {
    "deliver": f'<circle r="{RADIUS}"/>',
    "send": '<rect x="-6" y="-6" width="12" height="12"/>',
    "nothing": '<circle class="gone" r="7"/>',
    "grant": '<path d="M0 -9L8 6H-8Z"/>',
    "request": '<path d="M0 9L8 -6H-8Z"/>',
    "deadline": '<path d="M0 -20V20"/>',
    "done": f'<circle r="{RADIUS}"/>',
    "dispatch": '<rect x="-6" y="-6" width="12" height="12"/>',
}
LEGEND = (
    ("late", "what is wrong"),
    ("after", "what it is wrong beside"),
    ("way", "how the one led to the other"),
    ("other", "what else happened there"),
)


class SpaceTimePicture:
    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.column = min(BROAD, max(NARROW, ENOUGH // diagram.columns))
        self.width = LABELS + diagram.columns * self.column + RIGHT
        self.height = TOP + (len(diagram.processes) - 1) * ROW + BOTTOM + TOP // 2

    def x(self, column: int) -> float:
        return LABELS + (column + 0.6) * self.column

    def lines(self, title_id: str) -> Iterator[str]:
        """`title_id`: the element that says what it shows."""
        diagram, size = self.diagram, f"{self.width} {self.height}"
        yield (
            f'<svg class="st" role="group" tabindex="0" aria-labelledby="{title_id}" width="{self.width}" '
            f'height="{self.height}" viewBox="0 0 {size}">'
        )
        for place, process in enumerate(diagram.processes):
            yield self.process(place, process)
        yield from self.times()
        for stretch in diagram.stretches:
            yield self.stretch(stretch)
        for tone in (OTHER, WAY, AFTER, LATE):  # what matters above what does not
            for arrow in diagram.arrows:
                if arrow.tone == tone:
                    yield self.arrow(arrow)
        for point in sorted(diagram.points, key=lambda point: point.tone != OTHER):
            yield self.point(point)
        yield "</svg>"

    def process(self, place: int, process: ProcessLine) -> str:
        y, end = _y(place), self.width - 12
        return (
            f'<g class="process"><line x1="{LABELS}" x2="{end}" y1="{y}" y2="{y}"/>'
            f'<path class="end" d="M{end} {y}l-7 -4v8z"/>'
            f'<text class="name" x="8" y="{y + 1}">{page_text(shortened(process.label, 17))}</text>'
            f'<text class="note" x="8" y="{y + 17}">{page_text(shortened(process.note, 20))}</text>'
            f"<title>{page_text(f'{process.label} {process.note}'.strip())}</title></g>"
        )

    def times(self) -> Iterator[str]:
        """At the columns of what matters, as far as there is room."""
        free = 0.0
        for column, text in self.diagram.times:
            x = self.x(column)
            yield f'<line class="when" x1="{x:g}" x2="{x:g}" y1="{TOP - 18}" y2="{self.height - 30}"/>'
            half = 3.4 * len(text)
            if x - half >= free:
                yield f'<text class="when" x="{x:g}" y="{self.height - 14}">{page_text(text)}</text>'
                free = x + half + 6

    def arrow(self, arrow: Arrow) -> str:
        first, last = self.diagram.points[arrow.first], self.diagram.points[arrow.last]
        bend = self.bend(first, last)
        unsent = arrow.broken and first.kind == "nothing"
        lost = arrow.broken and not unsent
        length = math.dist(bend[0], bend[2]) or 1.0
        begin, end = 0.3 if unsent else (RADIUS - 3) / length, 0.72 if lost else 1 - (RADIUS + 1) / length
        (bx, by), (ex, ey) = _on(bend, begin), _on(bend, end)
        near = _on(bend, end - 0.02)
        ux, uy = _unit(ex - near[0], ey - near[1])
        if lost:
            tip = f'<path class="cross" d="M{ex - 6:.1f} {ey - 6:.1f}l12 12m0 -12l-12 12"/>'
        else:
            tip = f'<path class="head" d="{_head(ex, ey, ux, uy)}"/>'
        middle, half = _on(bend, (begin + end) / 2), _between((bx, by), (ex, ey))
        turn = (2 * middle[0] - half[0], 2 * middle[1] - half[1])
        way = f"M{bx:.1f} {by:.1f}Q{turn[0]:.1f} {turn[1]:.1f} {ex:.1f} {ey:.1f}"
        return (
            f'<g class="msg {arrow.tone}{" broken" if arrow.broken else ""}"><title>{page_text(arrow.tip)}</title>'
            f'<path class="hit" d="{way}"/><path class="line" d="{way}"/>{tip}{_label(arrow, bend)}</g>'
        )

    def bend(self, first: Point, last: Point) -> Bend:
        """Straight, or bent so far that it passes by the events of processes in between, which have nothing to do with it."""
        begin, end = (self.x(first.column), _y(first.process)), (self.x(last.column), _y(last.process))
        low, high = sorted((first.process, last.process))
        others = [
            (self.x(point.column), _y(point.process))
            for point in self.diagram.points
            if low < point.process < high
        ]
        ux, uy = _unit(end[0] - begin[0], end[1] - begin[1])
        middle = _between(begin, end)
        for offset in BENDS if others else (0,):
            made = (begin, (middle[0] + uy * offset, middle[1] - ux * offset), end)
            way = [_on(made, step / 24) for step in range(25)]
            if all(math.dist(place, other) > CLEAR for place in way for other in others):
                return made
        return begin, middle, end

    def point(self, point: Point) -> str:
        shape = SHAPES.get(point.kind, '<path d="M0 -7L7 0L0 7L-7 0Z"/>')
        number = f'<text class="number" y="4">{point.number}</text>' if point.number else ""
        # What is wrong is said above the line, what it is wrong beside below: the two are often neighbours.
        high = 32 if point.tone == AFTER else -18
        label = (
            f'<text class="say" y="{high}">{page_text(shortened(point.label, 22))}</text>'
            if point.label
            else ""
        )
        return (
            f'<g class="pt {point.kind} {point.tone}" data-mark="{point.column}" '
            f'transform="translate({self.x(point.column):g} {_y(point.process):g})">'
            f"<title>{page_text(point.tip)}</title>{shape}{number}{label}</g>"
        )

    def stretch(self, stretch: Stretch) -> str:
        first, last = self.diagram.points[stretch.first], self.diagram.points[stretch.last]
        x, y = self.x(first.column), _y(first.process)
        return (
            f'<g class="stretch {stretch.tone}"><title>{page_text(stretch.tip)}</title>'
            f'<rect x="{x:g}" y="{y - 7:g}" width="{max(1.0, self.x(last.column) - x):g}" height="14"/></g>'
        )


def _y(process: int) -> float:
    return TOP + process * ROW


def _head(x: float, y: float, ux: float, uy: float) -> str:
    size, half = 10.0, 4.5
    bx, by = x - ux * size, y - uy * size
    return f"M{x:.1f} {y:.1f}L{bx - uy * half:.1f} {by + ux * half:.1f}L{bx + uy * half:.1f} {by - ux * half:.1f}Z"


def _label(arrow: Arrow, bend: Bend) -> str:
    if not arrow.label:
        return ""
    (x1, y1), _, (x2, y2) = bend
    x, y = _on(bend, 0.3 if arrow.tone == LATE else 0.5)
    side = 9 if (y2 - y1) * (x2 - x1) >= 0 else -9
    anchor = "start" if side > 0 else "end"
    return f'<text x="{x + side:.1f}" y="{y - 3:.1f}" text-anchor="{anchor}">{page_text(shortened(arrow.label, 26))}</text>'


def _unit(x: float, y: float) -> Spot:
    length = math.hypot(x, y) or 1.0
    return x / length, y / length


def _between(one: Spot, other: Spot) -> Spot:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _on(bend: Bend, share: float) -> Spot:
    """On the curve: a parabola that begins and ends where the bend does, and is drawn towards its middle point."""
    rest = 1 - share
    x, y = (
        rest * rest * begin + 2 * share * rest * turn + share * share * end
        for begin, turn, end in zip(*bend, strict=True)
    )
    return x, y
