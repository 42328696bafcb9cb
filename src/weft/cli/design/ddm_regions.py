"""Regions as they are written on a command line: NAME=SPACE:x=LO..HI,y=LO..HI;x=LO..HI,…"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from weft.interest import DEFAULT_REGION, Extent, Region, Space, Spaces
from weft.model.errors import SettingsError

FORM = "NAME=SPACE:x=LO..HI,y=LO..HI;…"


class NamedRegion(NamedTuple):
    name: str
    space: Space
    region: Region


def parse_region(text: str, spaces: Spaces, bounds: str | None, taken: Container[str]) -> NamedRegion:
    """The space alone stands for its default region; numbers are decimal or, with 0x, hexadecimal."""
    name, equals, rest = text.partition("=")
    space_name, _, extents = rest.partition(":")
    name, space_name = name.strip(), space_name.strip()
    if not equals or not name or not space_name:
        raise SettingsError(f"--region {text!r}: expected {FORM}")
    if name in taken:
        raise SettingsError(f"--region {text!r}: a region called {name!r} was given before")
    space = spaces.by_name.get(space_name)
    if space is None:
        known = ", ".join(spaces.by_name) or "none"
        raise SettingsError(f"--region {name}: no space {space_name!r}; there are: {known}")
    if not extents.strip():
        return NamedRegion(name, space, DEFAULT_REGION)
    closed = space.named if bounds is None else bounds == "closed"
    found = [_extent(part, space, closed, name) for part in extents.split(";") if part.strip()]
    return NamedRegion(name, space, Region(found))


def _extent(text: str, space: Space, closed: bool, name: str) -> Extent:
    ranges: dict[int, tuple[int, int]] = {}
    for part in text.split(","):
        dimension_name, equals, numbers = part.partition("=")
        lower, dots, upper = numbers.partition("..")
        if not equals or not dots:
            raise SettingsError(f"--region {name}: {part.strip()!r} is no range; expected {FORM}")
        dimension = space.dimension(dimension_name.strip())
        if dimension is None:
            known = ", ".join(one.name for one in space.dimensions)
            raise SettingsError(
                f"--region {name}: space {space.name} has no dimension {dimension_name.strip()!r}; there are: {known}"
            )
        if dimension.number in ranges:
            raise SettingsError(
                f"--region {name}: two ranges for {dimension.name} in one extent; separate extents by ';'"
            )
        first, end = _number(lower, name), _number(upper, name) + (1 if closed else 0)
        where = f"--region {name}: {dimension.name}={lower.strip()}..{upper.strip()}"
        if first >= end:
            raise SettingsError(f"{where} holds no number")
        if first < 0 or end > dimension.size:
            last = dimension.size - 1 if closed else dimension.size
            raise SettingsError(f"{where} is not within 0..{last}")
        ranges[dimension.number] = (first, end)
    return Extent(ranges)


def _number(text: str, name: str) -> int:
    try:
        return int(text.strip(), 0)
    except ValueError:
        raise SettingsError(f"--region {name}: {text.strip()!r} is no whole number") from None
