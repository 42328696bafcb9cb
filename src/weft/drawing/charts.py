"""Charts: lines with their spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from weft.drawing.shapes import SERIES, Dot, Graphic, Spot, Stroke, Text

WIDTH: Final = 640.0
HEIGHT: Final = 340.0
_LEFT: Final = 62.0
_RIGHT: Final = 132.0  # for the names of lines, at their ends
_TOP: Final = 34.0
_BOTTOM: Final = 52.0
_APART: Final = 14.0  # pixels between two names


class ChartPoint(NamedTuple):
    """A mean, or a median, with the smallest and the largest it was taken from."""

    x: float
    y: float
    low: float
    high: float


class Series(NamedTuple):
    name: str
    points: list[ChartPoint]
    # Not measured: what a paper prints, or a bound.
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    title: str
    x: str
    y: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = True


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from at most `low` to at least `high`."""
    if high - low <= max(abs(low), abs(high), 1e-100) * 1e-9:
        high = low + max(abs(low), 1.0)
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def decade_ticks(low: float, high: float) -> list[float]:
    first = math.floor(math.log10(low) + 1e-9)
    last = math.ceil(math.log10(high) - 1e-9)
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


class _Axis:
    def __init__(self, values: Iterable[float], begin: float, end: float, log: bool, from_zero: bool) -> None:
        known = [value for value in values if math.isfinite(value) and (value > 1e-100 or not log)] or [1.0]
        low, high = min(known), max(known)
        self.ticks = decade_ticks(low, high) if log else nice_ticks(min(low, 0.0) if from_zero else low, high)
        self._scale: Callable[[float], float] = math.log10 if log else float
        self._log = log
        self._begin, self._end = begin, end
        self._low, self._high = self._scale(self.ticks[0]), self._scale(self.ticks[-1])

    def at(self, value: float) -> float:
        if self._log:
            value = max(value, self.ticks[0])
        share = (self._scale(value) - self._low) / ((self._high - self._low) or 1.0)
        return self._begin + share * (self._end - self._begin)


def line_chart(chart: Chart) -> Graphic:
    picture = Graphic(WIDTH, HEIGHT, chart.title)
    points = [point for series in chart.series for point in series.points]
    spread = [end for point in points for end in (point.low, point.high)]
    x = _Axis([point.x for point in points], _LEFT, WIDTH - _RIGHT, chart.log_x, False)
    y = _Axis(spread, HEIGHT - _BOTTOM, _TOP, chart.log_y, chart.from_zero)
    _frame(picture, y, chart.y)
    whole = all(float(point.x).is_integer() for point in points)  # there is no half federate
    for tick, text in labels(x.ticks):
        if whole and not tick.is_integer():
            continue
        at = x.at(tick)
        picture.add(
            Stroke(((at, HEIGHT - _BOTTOM), (at, HEIGHT - _BOTTOM + 4))),
            Text(at, HEIGHT - _BOTTOM + 18, text, "muted", "middle"),
        )
    picture.add(Text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 10, chart.x, "text", "middle"))
    names: list[tuple[float, str, str]] = []
    for number, series in enumerate(chart.series):
        tone = SERIES[number % len(SERIES)]
        _one_line(picture, series, tone, x, y)
        if series.points:
            names.append((y.at(series.points[-1].y), series.name, tone))
    for at, name, tone in _apart(names):
        picture.add(Text(WIDTH - _RIGHT + 10, at + 4, name, tone, bold=True))
    return picture


def _one_line(picture: Graphic, series: Series, tone: str, x: _Axis, y: _Axis) -> None:
    way: list[Spot] = [(x.at(point.x), y.at(point.y)) for point in series.points]
    if len(way) > 1:
        picture.add(Stroke(tuple(way), tone, 2.0, series.dashed))
    for point, (px, py) in zip(series.points, way, strict=True):
        low, high = y.at(point.low), y.at(point.high)
        if abs(low - high) > 1:
            picture.add(Stroke(((px, low), (px, high)), tone))
            picture.add(
                Stroke(((px - 3, low), (px + 3, low)), tone), Stroke(((px - 3, high), (px + 3, high)), tone)
            )
        tip = f"{series.name}: {short_number(point.y)} at {short_number(point.x)}"
        if point.low != point.high:
            tip += f" ({short_number(point.low)} to {short_number(point.high)})"
        picture.add(Dot(px, py, tone, hollow=series.dashed, tip=tip))


def _frame(picture: Graphic, y: _Axis, label: str) -> None:
    for tick, text in labels(y.ticks):
        at = y.at(tick)
        picture.add(Stroke(((_LEFT, at), (WIDTH - _RIGHT, at)), "grid"))
        picture.add(Text(_LEFT - 8, at + 4, text, "muted", "end"))
    picture.add(Stroke(((_LEFT, HEIGHT - _BOTTOM), (WIDTH - _RIGHT, HEIGHT - _BOTTOM))))
    picture.add(Text(_LEFT - 50, _TOP - 14, label))


def _apart(names: list[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """The names of lines, moved so that none hides another."""
    placed: list[tuple[float, str, str]] = []
    lowest = -math.inf
    for at, name, tone in sorted(names):
        lowest = max(at, lowest + _APART)
        placed.append((lowest, name, tone))
    over = lowest - (HEIGHT - _BOTTOM + 6)
    return [(at - max(0.0, over), name, tone) for at, name, tone in placed]


def labels(ticks: Sequence[float]) -> list[tuple[float, str]]:
    """Each as short as may be, but no two alike."""
    texts = [short_number(tick) for tick in ticks]
    for digits in range(4, 16):
        if len(set(texts)) == len(texts):
            break
        texts = [f"{tick:.{digits}g}" for tick in ticks]
    return list(zip(ticks, texts, strict=True))


def short_number(value: float) -> str:
    """As few digits as tell it, with a letter for thousands and millions."""
    size = abs(value)
    for bound, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= bound:
            return f"{value / (1e3 if letter == 'k' else bound):.3g}{letter}"
    return f"{value:.3g}" if size < 1000 else f"{value:.0f}"
