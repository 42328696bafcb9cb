"""Nanoseconds as people read them, and round numbers for axes."""

from __future__ import annotations

import math
from typing import NamedTuple

MINUS = "\N{MINUS SIGN}"


class Unit(NamedTuple):
    name: str
    size: int  # nanoseconds


UNITS = (Unit("µs", 1_000), Unit("ms", 1_000_000), Unit("s", 1_000_000_000))


def unit_for(longest: float) -> Unit:
    """In which something of this length is a number that one can read."""
    if longest < 2_000_000:
        return UNITS[0]
    return UNITS[1] if longest < 10_000_000_000 else UNITS[2]


def number(value: float, digits: int) -> str:
    """With a real minus sign, and none before a zero."""
    text = f"{abs(value):.{digits}f}"
    return MINUS + text if value < 0 and float(text) else text


def span(value: float, unit: Unit, digits: int = 3) -> str:
    return f"{number(value / unit.size, digits)} {unit.name}"


def ticks(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, at most so many (and at least one), from low to high."""
    length = high - low
    if length <= 0:
        return [low]
    rough = length / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 5) if power * factor >= rough), power * 10)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)] or [low]


def digits_for(values: list[float]) -> int:
    """How many decimals tell neighbouring ticks apart."""
    if len(values) < 2:
        return 3
    step = values[1] - values[0]
    return max(0, min(9, -math.floor(math.log10(step) + 1e-9)))
