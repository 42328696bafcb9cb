"""The time line as an HTML page that stands alone: inline SVG, a style for light and dark, and a small script.

Without the script the page shows all there is; with it, one can zoom and pan, and the picture takes the width of the window.
All that comes from the rows is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from weft.recorder.timeline import look
from weft.recorder.timeline.figures import Table
from weft.recorder.timeline.layout import Picture
from weft.recorder.timeline.look import LANE_HEIGHT, LAXITY_HEIGHT
from weft.recorder.timeline.marks import LaneRow, TimelineMark
from weft.recorder.timeline.page_texts import SCRIPT, STYLE, TIPS
from weft.recorder.timeline.units import MINUS

WIDTH = 1200
HINT = (
    f"drag to move · Ctrl and wheel, double click or + and {MINUS} to zoom · point at a mark for its figures"
)
LAXITY_HINT = "from the least to the most of each consumer; the dot is the average"
TIP = '<div id="tip" role="status" hidden="hidden"></div>'
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def html_page(picture: Picture) -> str:
    notes = ("<h2>Notes</h2><ul>", *(f"<li>{page_text(note)}</li>" for note in picture.notes), "</ul>")
    return html_document(picture.title, page_style(), [*html_parts(picture), *notes], f"{SCRIPT}{TIPS}")


def html_document(title: str, style: str, body: Iterable[str], script: str) -> str:
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{page_text(title)}</title>",
        f"<style>{style}</style></head><body>",
        f"<h1>{page_text(title)}</h1>",
        *body,
        TIP,
        f"<script>{script}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def html_parts(picture: Picture) -> list[str]:
    """What the page shows of a picture, for a page of somebody else that has its style, `TIP` and scripts."""
    return [
        f'<p class="{"sub bad" if picture.misses else "sub"}">{page_text(picture.subtitle)}</p>',
        *_legend(),
        *_chart(picture),
        *_laxities(picture),
        *(line for table in picture.tables for line in html_table(table)),
    ]


def page_text(text: str) -> str:
    """Escaped, and without what XML cannot hold."""
    return escape(UNPRINTABLE.sub("\ufffd", text))


def page_style() -> str:
    """With colours for light and dark."""
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in theme.items()) for theme in (look.LIGHT, look.DARK)
    )
    return (
        f":root{{color-scheme:light dark;{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}{STYLE}"
    )


# The chart


def _chart(picture: Picture) -> Iterator[str]:
    height = len(picture.lanes) * LANE_HEIGHT
    window = picture.window
    size = picture.unit.size
    yield '<div class="bar"><h2>Time line</h2><span class="tools">'
    for action, text, title in (
        ("in", "+", "zoom in"),
        ("out", MINUS, "zoom out"),
        ("all", "all", "all of it"),
    ):
        yield f'<button type="button" data-do="{action}" title="{title}">{text}</button>'
    yield f'</span><span class="hint">{HINT}</span></div>'
    yield (
        f'<svg id="chart" class="wide" tabindex="0" role="img" aria-label="{page_text(picture.subtitle)}" '
        f'width="{WIDTH}" height="{height + look.AXIS}" viewBox="0 0 {WIDTH} {height + look.AXIS}" '
        f'data-left="{look.LABELS}" data-right="{look.RIGHT}" data-height="{height}" '
        f'data-begin="{(window.begin - picture.origin) / size:.9g}" data-length="{window.length / size:.9g}">'
    )
    yield from _stripes(len(picture.lanes), LANE_HEIGHT)
    yield (
        f'<defs><clipPath id="plot"><rect class="plot" x="{look.LABELS - 8}" y="-4" width="{_plot() + look.RIGHT + 8}" '
        f'height="{height + 8}"/></clipPath></defs>'
    )
    yield '<g id="axis">'
    for place, text in picture.time.ticks:
        yield _tick(_x(place), height, text)
    yield "</g>"
    yield f'<text class="axis title" x="{_x(0.5):.2f}" y="{height + 38}">{page_text(picture.time.title)}</text>'
    for at, lane in enumerate(picture.lanes):
        yield from _names(lane, at * LANE_HEIGHT)
    yield '<g clip-path="url(#plot)">'
    for at, lane in enumerate(picture.lanes):
        yield from _marks(lane, at * LANE_HEIGHT)
    yield "</g></svg>"


def _stripes(count: int, height: int) -> Iterator[str]:
    for at in range(0, count, 2):
        yield f'<rect class="stripe" x="0" y="{at * height}" width="{WIDTH}" height="{height}"/>'


def _plot() -> int:
    return WIDTH - look.LABELS - look.RIGHT


def _x(place: float) -> float:
    return look.LABELS + place * _plot()


def _tick(x: float, height: int, text: str) -> str:
    return (
        f'<g class="tick" transform="translate({x:.2f} 0)"><line y2="{height + 5}"/>'
        f'<text y="{height + 19}">{page_text(text)}</text></g>'
    )


def _names(lane: LaneRow, top: int) -> Iterator[str]:
    yield (
        f"<g><title>{page_text(lane.tip)}</title>"
        f'<rect class="p{lane.colour}" x="4" y="{top + 9}" width="4" height="{LANE_HEIGHT - 18}"/>'
        f'<text class="name" x="16" y="{top + 23}">{page_text(shortened(lane.label, 29))}</text>'
        f'<text class="note" x="16" y="{top + 39}">{page_text(shortened(lane.note, 37))}</text></g>'
    )


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


RECTS = ("run", "wait", "open", "busy", "late")


def _marks(lane: LaneRow, top: int) -> Iterator[str]:
    """Bars below, then deadlines, then what must not be hidden."""
    middle = top + look.MIDDLE
    for mark in sorted(lane.marks, key=lambda mark: look.ORDER.index(mark.kind)):
        yield _rect(mark, lane, middle) if mark.kind in RECTS else _glyph(mark, lane, middle)


def _rect(mark: TimelineMark, lane: LaneRow, middle: int) -> str:
    height = {"wait": 2.0, "late": 3.0, "busy": max(1.5, mark.level * (look.BAR + 8))}.get(
        mark.kind, look.BAR
    )
    y = middle + look.LATE if mark.kind == "late" else middle - height / 2
    if mark.kind == "busy":
        y = middle + (look.BAR + 8) / 2 - height
    x = _x(mark.begin)
    width = max(1.0, _x(mark.end) - x)
    colour = "" if mark.kind in ("wait", "late") else f" p{lane.colour}"
    return (
        f'<rect class="t {mark.kind}{colour}" data-a="{mark.begin:.9g}" data-b="{mark.end:.9g}" data-n="{mark.many}" '
        f'x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}"><title>{page_text(mark.tip)}</title></rect>'
    )


def _glyph(mark: TimelineMark, lane: LaneRow, middle: int) -> str:
    colour = f" p{lane.colour}" if mark.kind == "push" else ""
    label = ""
    if mark.kind == "miss":
        text = mark.label or (f"×{mark.many}" if mark.many > 1 else "")
        label = f'<text x="-2" y="{-look.LABEL}">{page_text(text)}</text>' if text else ""
    return (
        f'<g class="t {mark.kind}{colour}" data-a="{mark.begin:.9g}" data-n="{mark.many}" '
        f'transform="translate({_x(mark.begin):.2f} {middle})"><title>{page_text(mark.tip)}</title>{_shape(mark.kind)}{label}</g>'
    )


def _shape(kind: str) -> str:
    if kind == "miss":
        c = look.CROSS
        path = f"M{-c:g} {-c:g}L{c:g} {c:g}M{-c:g} {c:g}L{c:g} {-c:g}"
        return f'<path class="halo" d="{path}"/><path d="{path}"/>'
    if kind == "drop":
        return f'<circle r="{look.RING:g}"/>'
    if kind in look.GLYPHS:
        return f'<path d="M{"L".join(f"{x:g} {y:g}" for x, y in look.GLYPHS[kind])}Z"/>'
    return f'<line y1="{-look.DEADLINE / 2:g}" y2="{look.DEADLINE / 2:g}"/>'


def _legend() -> Iterator[str]:
    yield '<p class="legend">'
    for kind, text in look.LEGEND:
        if kind in RECTS:
            height = 2 if kind == "wait" else look.BAR
            colour = "" if kind == "wait" else " p0"
            shape = (
                f'<rect class="{kind}{colour}" x="3" y="{17 - height / 2:g}" width="22" height="{height}"/>'
            )
        else:
            colour = " p0" if kind == "push" else ""
            middle = {"push": 29, "overrun": 5}.get(kind, 17)
            shape = f'<g class="{kind}{colour}" transform="translate(14 {middle})">{_shape(kind)}</g>'
        yield f'<span><svg width="28" height="34" aria-hidden="true">{shape}</svg>{page_text(text)}</span>'
    yield "</p>"


# Laxity


def _laxities(picture: Picture) -> Iterator[str]:
    yield f'<div class="bar"><h2>Laxity</h2><span class="hint">{LAXITY_HINT}</span></div>'
    if not picture.laxities:
        yield "<p>No run of this window has a deadline and an end.</p>"
        return
    height = len(picture.laxities) * LAXITY_HEIGHT
    axis = picture.laxity
    zero = axis.zero or 0.0
    yield (
        f'<svg id="laxity" class="wide" role="img" aria-label="laxity" width="{WIDTH}" height="{height + look.AXIS}" '
        f'viewBox="0 0 {WIDTH} {height + look.AXIS}" data-left="{look.LABELS}" data-right="{look.RIGHT}">'
    )
    yield from _stripes(len(picture.laxities), LAXITY_HEIGHT)
    yield (
        f'<rect class="t under" data-a="0" data-b="{zero:.9g}" x="{look.LABELS}" y="0" width="{zero * _plot():.2f}" '
        f'height="{height}"/>'
    )
    for place, text in axis.ticks:
        tick = _tick(_x(place), height, text)
        yield tick.replace('class="tick"', f'class="t tick" data-a="{place:.9g}"', 1)
    yield (
        f'<g class="t zero" data-a="{zero:.9g}" transform="translate({_x(zero):.2f} 0)"><line y2="{height + 5}"/></g>'
    )
    yield f'<text class="axis title" x="{_x(0.5):.2f}" y="{height + 38}">{page_text(axis.title)}</text>'
    for at, row in enumerate(picture.laxities):
        middle = at * LAXITY_HEIGHT + LAXITY_HEIGHT / 2
        x, width = _x(row.low), max(1.0, (row.high - row.low) * _plot())
        yield f'<text class="name" x="16" y="{middle + 4:g}">{page_text(shortened(row.label, 29))}</text>'
        yield (
            f'<rect class="t range p{row.colour}" data-a="{row.low:.9g}" data-b="{row.high:.9g}" x="{x:.2f}" y="{middle - 2:g}" '
            f'width="{width:.2f}" height="4"><title>{page_text(row.tip)}</title></rect>'
        )
        for place, shape in ((row.low, '<line y1="-7" y2="7"/>'), (row.high, '<line y1="-7" y2="7"/>'),
                             (row.average, '<circle r="5"/>')):  # fmt: skip
            kind = "end miss" if place < zero else f"end p{row.colour}"
            yield (
                f'<g class="t {kind}" data-a="{place:.9g}" transform="translate({_x(place):.2f} {middle:g})">'
                f"<title>{page_text(row.tip)}</title>{shape}</g>"
            )
    yield "</svg>"


# Tables


def html_table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"<h2>{page_text(table.title)}</h2>"
    yield '<div class="scroll"><table><thead><tr>'
    for column, title in enumerate(table.header):
        yield f"<th{_number(table, column)}>{page_text(title)}</th>"
    yield "</tr></thead><tbody>"
    for at, row in enumerate(table.rows):
        cells = []
        for column, text in enumerate(row):
            bad = ' class="n bad"' if (at, column) in table.bad else _number(table, column)
            whole = "" if column else f' title="{page_text(text)}"'  # the first may be cut
            cells.append(f"<td{bad}{whole}>{page_text(text)}</td>")
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _number(table: Table, column: int) -> str:
    return "" if column < table.texts else ' class="n"'
