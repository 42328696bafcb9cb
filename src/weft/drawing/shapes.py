"""Pictures made of shapes, as SVG.

A picture is a list of shapes in pixels, each with a tone.  `STYLE` gives tones their colours, for light and dark pages, so that
the same picture does in both.  Nothing here needs a script or another file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Final, Literal, TypeAlias

Spot: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]

LIGHT: Final = {
    "back": "#ffffff", "stripe": "#f5f7f9", "text": "#1b2733", "muted": "#5b6875", "grid": "#dde3e9", "frame": "#aeb9c4",
    "bad": "#c8102e", "good": "#00785a",
    "s0": "#0067a8", "s1": "#b87a00", "s2": "#00785a", "s3": "#8a4fa3", "s4": "#c8102e", "s5": "#7a6a4f", "s6": "#3f92c4",
}  # fmt: skip
DARK: Final = {
    "back": "#12181f", "stripe": "#192129", "text": "#e3e9ef", "muted": "#9aa7b4", "grid": "#2b3640", "frame": "#51606e",
    "bad": "#ff5c72", "good": "#35b891",
    "s0": "#4aa8e8", "s1": "#e0a83a", "s2": "#35b891", "s3": "#c08ad6", "s4": "#ff5c72", "s5": "#b8a888", "s6": "#8ccbf0",
}  # fmt: skip
SERIES: Final = tuple(name for name in LIGHT if name[0] == "s" and name[1:].isdigit())
"""Tones of things that are compared; people who do not see red and green as different tell them apart."""


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    tone: str = "frame"
    # How much of the tone fills it: 0 is an outline.
    fill: float = 0.0
    tip: str = ""
    dashed: bool = False
    round: float = 0.0


@dataclass(frozen=True)
class Stroke:
    points: tuple[Spot, ...]
    tone: str = "frame"
    width: float = 1.0
    dashed: bool = False
    arrow: bool = False
    tip: str = ""


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    tone: str = "text"
    radius: float = 3.5
    hollow: bool = False
    tip: str = ""


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    text: str
    tone: str = "text"
    anchor: Anchor = "start"
    size: float = 12.0
    bold: bool = False
    # Degrees, around the place.
    turned: float = 0.0


Shape: TypeAlias = Box | Stroke | Dot | Text


@dataclass
class Graphic:
    width: float
    height: float
    # What it shows, for those who do not see it.
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        self.shapes.extend(shapes)


def stacked(title: str, pictures: Sequence[Graphic], apart: float = 18.0) -> Graphic:
    """One picture of several, below one another."""
    whole = Graphic(max((one.width for one in pictures), default=0.0), 0.0, title)
    for one in pictures:
        whole.add(*(_lowered(shape, whole.height) for shape in one.shapes))
        whole.height += one.height + apart
    return whole


def _lowered(shape: Shape, by: float) -> Shape:
    if isinstance(shape, Stroke):
        return replace(shape, points=tuple((x, y + by) for x, y in shape.points))
    return replace(shape, y=shape.y + by)


def style() -> str:
    """The style sheet that pictures need, once in a page."""
    light = "".join(f"--{name}:{colour};" for name, colour in LIGHT.items())
    dark = "".join(f"--{name}:{colour};" for name, colour in DARK.items())
    tones = "".join(f".t-{name}{{--tone:var(--{name})}}" for name in LIGHT)
    return (
        f":root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{tones}"
        ".picture{font:12px system-ui,sans-serif;max-width:100%;height:auto}"
        ".picture .o{stroke:var(--tone);fill:var(--tone)}"
        ".picture .l{stroke:var(--tone);fill:none;stroke-linejoin:round;stroke-linecap:round}"
        ".picture .h{stroke:var(--tone);fill:var(--back);stroke-width:1.6}"
        ".picture text{fill:var(--tone);paint-order:stroke;stroke:var(--back);stroke-width:3px;stroke-linejoin:round}"
    )


def svg(picture: Graphic, standing_alone: bool = False) -> str:
    """The picture as an SVG element; `standing_alone`: as a file of its own, with its style."""
    width, height = _number(picture.width), _number(picture.height)
    name = ' xmlns="http://www.w3.org/2000/svg"' if standing_alone else ""
    lines = [
        f'<svg class="picture" role="img"{name} viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(picture.title)}</title>",
    ]
    if standing_alone:
        lines.append(f"<style>{style()}svg{{background:var(--back)}}</style>")
    lines += [_drawn(shape) for shape in picture.shapes]
    return "\n".join([*lines, "</svg>"])


def _drawn(shape: Shape) -> str:
    if isinstance(shape, Text):
        return _text(shape)
    tip = f"<title>{escape(shape.tip)}</title>" if shape.tip else ""
    if isinstance(shape, Box):
        dashes = ' stroke-dasharray="5 3"' if shape.dashed else ""
        place = f'x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" height="{_number(shape.height)}"'
        corner = f' rx="{_number(shape.round)}"' if shape.round else ""
        return f'<rect class="o t-{shape.tone}" {place}{corner} fill-opacity="{shape.fill:g}"{dashes}>{tip}</rect>'
    if isinstance(shape, Dot):
        kind = "h" if shape.hollow else "o"
        place = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}" r="{_number(shape.radius)}"'
        return f'<circle class="{kind} t-{shape.tone}" {place}>{tip}</circle>'
    way = "M" + "L".join(f"{_number(x)} {_number(y)}" for x, y in shape.points)
    dashes = ' stroke-dasharray="6 4"' if shape.dashed else ""
    drawn = f'<path class="l t-{shape.tone}" d="{way}" stroke-width="{shape.width:g}"{dashes}>{tip}</path>'
    return drawn + _head(shape) if shape.arrow and len(shape.points) > 1 else drawn


def _head(line: Stroke) -> str:
    (x0, y0), (x, y) = line.points[-2:]
    length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5 or 1.0
    ux, uy = (x - x0) / length, (y - y0) / length
    left = (x - 8 * ux + 4 * uy, y - 8 * uy - 4 * ux)
    right = (x - 8 * ux - 4 * uy, y - 8 * uy + 4 * ux)
    way = "L".join(f"{_number(px)} {_number(py)}" for px, py in ((x, y), left, right))
    return f'<path class="o t-{line.tone}" d="M{way}Z"/>'


def _text(text: Text) -> str:
    x, y = _number(text.x), _number(text.y)
    turned = f' transform="rotate({text.turned:g} {x} {y})"' if text.turned else ""
    bold = ' font-weight="600"' if text.bold else ""
    return (
        f'<text class="t-{text.tone}" x="{x}" y="{y}" text-anchor="{text.anchor}" font-size="{text.size:g}"{bold}{turned}>'
        f"{escape(text.text)}</text>"
    )


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
