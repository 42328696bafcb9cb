"""Regions as people write them: on the command line, and in a small file that also says who uses them.

    # a comment
    near = Ground: x=0..0xff, y=0..0xff
    two  = Ground: x=0..9,y=0..9; x=0x80000000..0x80000001,y=0..9
    all  = Air
    tower subscribes Tank.place near two
    field updates Tank.place near 10 times
    plane updates Plane.place

A region has its space and then its extents, separated by `;`.  A dimension left out has its full range, and a space alone stands
for its default region.  Numbers are decimal or, with 0x, hexadecimal.  Who subscribes or updates without naming a region does so
in the default region.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final, NamedTuple

from weft.host.files.modules import read_source
from weft.interest import DEFAULT_REGION, Extent, Region, Space, Spaces
from weft.model.errors import SettingsError

FORM: Final = "NAME=SPACE:x=LO..HI,y=LO..HI;…"
SUBSCRIBES: Final = "subscribes"
UPDATES: Final = "updates"
_USE = re.compile(r"(\S+)\s+(subscribes|updates)\s+(\S+)((?:\s+\S+)*?)(?:\s+(\d+)\s+times?)?\s*")


class NamedRegion(NamedTuple):
    name: str
    space: Space
    region: Region


class RegionUse(NamedTuple):
    """Somebody subscribes to an attribute, or updates an instance of its own, with regions; without any: in the whole space."""

    federate: str
    does: str
    # As it is written: `Tank.place`.
    what: str
    object_class: str
    attribute: str
    regions: tuple[str, ...]
    times: int = 1


class RegionsFile(NamedTuple):
    regions: dict[str, NamedRegion]
    uses: list[RegionUse]

    def region_of(self, use: RegionUse) -> Region:
        """All its extents together."""
        if not use.regions:
            return DEFAULT_REGION
        return Region(extent for name in use.regions for extent in self.regions[name].region.extents)


def read_regions(
    file: str | None, given: list[str], spaces: Spaces, bounds: str | None = None
) -> RegionsFile:
    """Of a file, and of `--region` of a command line."""
    found = RegionsFile({}, [])
    if file is not None:
        text = read_source(file).data.decode("utf-8", "replace")
        read_lines(text, file, spaces, bounds, found)
    for text in given:
        one = parse_region(text, spaces, bounds, found.regions, "--region")
        found.regions[one.name] = one
    return found


def read_lines(text: str, file: str, spaces: Spaces, bounds: str | None, found: RegionsFile) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        where = f"{file}:{number}:"
        use = _USE.fullmatch(line)
        if use is None:
            one = parse_region(line, spaces, bounds, found.regions, where)
            found.regions[one.name] = one
        else:
            found.uses.append(_use(use, spaces, found.regions, where))


def _use(use: re.Match[str], spaces: Spaces, regions: dict[str, NamedRegion], where: str) -> RegionUse:
    federate, does, what, names, times = use.groups()
    object_class, _, attribute = what.rpartition(".")
    model = spaces.model
    known = [one for one in model.object_classes if one == object_class or one.endswith(f".{object_class}")]
    if len(known) != 1:
        raise SettingsError(f"{where} {what!r}: there is no object class {object_class!r}, or more than one")
    try:
        space = spaces.of_attribute(known[0], attribute)
    except KeyError:
        raise SettingsError(f"{where} {object_class} has no attribute {attribute!r}") from None
    for name in names.split():
        there = regions.get(name)
        if there is None:
            raise SettingsError(f"{where} no region {name!r} stands above; there are: {', '.join(regions)}")
        if there.space != space:
            own = "no space" if space is None else f"space {space.name}"
            raise SettingsError(
                f"{where} {what} travels in {own}, but {name} is a region of {there.space.name}"
            )
    return RegionUse(federate, does, what, known[0], attribute, tuple(names.split()), int(times or 1))


# One region


def parse_region(
    text: str, spaces: Spaces, bounds: str | None, taken: Container[str], where: str
) -> NamedRegion:
    """`bounds`: is the upper bound part of the range?  "closed" or "half-open"; None: as in the standard of the object model."""
    name, equals, rest = text.partition("=")
    space_name, _, extents = rest.partition(":")
    name, space_name = name.strip(), space_name.strip()
    if not equals or not name or not space_name:
        raise SettingsError(f"{where} {text!r}: expected {FORM}")
    if name in taken:
        raise SettingsError(f"{where} {text!r}: a region called {name!r} was given before")
    space = spaces.by_name.get(space_name)
    if space is None:
        known = ", ".join(spaces.by_name) or "none"
        raise SettingsError(f"{where} {name}: no space {space_name!r}; there are: {known}")
    if not extents.strip():
        return NamedRegion(name, space, DEFAULT_REGION)
    closed = space.named if bounds is None else bounds == "closed"
    found = [_extent(part, space, closed, f"{where} {name}") for part in extents.split(";") if part.strip()]
    return NamedRegion(name, space, Region(found))


def _extent(text: str, space: Space, closed: bool, where: str) -> Extent:
    ranges: dict[int, tuple[int, int]] = {}
    for part in text.split(","):
        dimension_name, equals, numbers = part.partition("=")
        lower, dots, upper = numbers.partition("..")
        if not equals or not dots:
            raise SettingsError(f"{where}: {part.strip()!r} is no range; expected {FORM}")
        dimension = space.dimension(dimension_name.strip())
        if dimension is None:
            known = ", ".join(one.name for one in space.dimensions)
            raise SettingsError(
                f"{where}: space {space.name} has no dimension {dimension_name.strip()!r}; there are: {known}"
            )
        if dimension.number in ranges:
            raise SettingsError(
                f"{where}: two ranges for {dimension.name} in one extent; separate extents by ';'"
            )
        first, end = _number(lower, where), _number(upper, where) + (1 if closed else 0)
        written = f"{where}: {dimension.name}={lower.strip()}..{upper.strip()}"
        if first >= end:
            raise SettingsError(f"{written} holds no number")
        if first < 0 or end > dimension.size:
            last = dimension.size - 1 if closed else dimension.size
            raise SettingsError(f"{written} is not within 0..{last}")
        ranges[dimension.number] = (first, end)
    return Extent(ranges)


def _number(text: str, where: str) -> int:
    try:
        return int(text.strip(), 0)
    except ValueError:
        raise SettingsError(f"{where}: {text.strip()!r} is no whole number") from None
