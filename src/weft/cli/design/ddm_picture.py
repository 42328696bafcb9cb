"""A picture of a routing space: its partitions with their channels, and regions (figures 2 to 4 of paper 002, S2-22).

A space of one dimension is a line, of two a plane, and of more a plane for each piece of the others.
Bounds of a FED file are hexadecimal and belong to the range, as in that file; those of OMT files are decimal and do not.
A region that would be too small to see is drawn larger; its tip has its true bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Final, NamedTuple

from weft.cli.design.ddm_channel_map import ChannelMap
from weft.cli.design.ddm_regions import RegionsFile
from weft.drawing import Box, Graphic, Stroke, Text
from weft.drawing.shapes import SERIES, Anchor
from weft.interest import (
    Bounds,
    Extent,
    Region,
    Space,
    SpaceDimension,
    StaticGridPartitioned,
    Strategy,
)

WIDTH: Final = 640.0
_LEFT: Final = 84.0
_SMALLEST: Final = 7.0  # pixels of a region that would be smaller
_ROW: Final = 22.0
_MOST_REGIONS: Final = 40
_MOST_SLICES: Final = 12
_SLICE_TEXT: Final = 24  # letters above a slice
_NARROW: Final = 20.0  # pixels of a cell below which its channel is only in its tip


class DrawnRegion(NamedTuple):
    name: str
    region: Region
    channels: tuple[int, ...]
    tone: str


class PictureArea(NamedTuple):
    """Where on the picture two dimensions are."""

    left: float
    bottom: float
    width: float
    height: float

    def across(self, bounds: Bounds, size: int) -> tuple[float, float]:
        return _span(bounds, size, self.left, self.width)

    def up(self, bounds: Bounds, size: int) -> tuple[float, float]:
        """Its top and its height: numbers grow upwards."""
        begin, length = _span(bounds, size, 0.0, self.height)
        return self.bottom - begin - length, length


def _span(bounds: Bounds, size: int, begin: float, length: float) -> tuple[float, float]:
    """Begin and length in pixels; at least so long that one sees it."""
    low, high = bounds[0] / size * length, bounds[1] / size * length
    if high - low < _SMALLEST:
        low = min(low, length - _SMALLEST)
        high = low + _SMALLEST
    return begin + low, high - low


def drawn_regions(strategy: Strategy, found: RegionsFile) -> list[DrawnRegion]:
    return [
        DrawnRegion(
            one.name,
            one.region,
            tuple(sorted(strategy.update_channels(one.space, one.region))),
            SERIES[place % len(SERIES)],
        )
        for place, one in enumerate(found.regions.values())
    ]


# One space


def space_picture(strategy: Strategy, space: Space, regions: Sequence[DrawnRegion]) -> Graphic:
    where = ChannelMap(strategy, space)
    parts = " × ".join(
        f"{dimension.name} {count}" for dimension, count in zip(space.dimensions, where.pieces, strict=True)
    )
    title = f"space {space.name} under {strategy.name}"
    picture = Graphic(WIDTH, 60.0, title)
    picture.add(Text(8, 20, f"space {space.name}", bold=True, size=14))
    partitions = f"{parts} · " if isinstance(strategy, StaticGridPartitioned) and parts else ""
    picture.add(Text(8, 38, f"{partitions}{channels_text(where.whole, 'channel')}", "muted"))
    shown = regions[:_MOST_REGIONS]
    if len(space.dimensions) < 2:
        bottom = _line(picture, where, shown)
    elif len(space.dimensions) == 2:
        bottom = max(_one_plane(picture, where, shown), _legend(picture, shown, 420.0, 70.0))
    else:
        bottom = _legend(picture, shown, 420.0, 70.0) if shown else 50.0
        bottom = max(bottom, _slices(picture, where, shown, 2 if shown else 4))
    if len(regions) > len(shown):
        bottom += _ROW
        picture.add(Text(8, bottom, f"and {len(regions) - len(shown)} more regions", "muted"))
    if any(where.left_off):
        bottom += _ROW
        picture.add(Text(8, bottom, "more pieces than can be drawn are drawn as one", "muted"))
    picture.height = bottom + 14
    return picture


def channels_text(channels: Sequence[int], word: str = "") -> str:
    """`channels 3 to 6`: neighbours are put together."""
    runs: list[list[int]] = []
    for one in channels:
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    text = ", ".join(
        str(low) if low == high else f"{low}, {high}" if high == low + 1 else f"{low} to {high}"
        for low, high in runs
    )
    if not word:
        return text or "none"
    return f"{word if len(channels) == 1 else word + 's'} {text or 'none'}"


def _line(picture: Graphic, where: ChannelMap, regions: Sequence[DrawnRegion]) -> float:
    """A space of one dimension, or of none: its pieces side by side, and below each region a row."""
    line = PictureArea(_LEFT, 96.0, 400.0, 32.0)
    for cell in where.cells():
        bounds, size = (cell.bounds[0], where.space.dimensions[0].size) if cell.bounds else ((0, 1), 1)
        left, width = line.left + bounds[0] / size * line.width, (bounds[1] - bounds[0]) / size * line.width
        tip = f"{_box_text(where.space, cell.bounds)}: {channels_text(cell.channels, 'channel')}"
        picture.add(Box(left, 64, width, 32, "frame", 0.06, tip))
        if width >= _NARROW:
            picture.add(Text(left + width / 2, 85, channels_text(cell.channels), "text", "middle", bold=True))
    bottom = 96.0
    if where.space.dimensions:
        dimension = where.space.dimensions[0]
        picture.add(Text(line.left - 10, 85, shortened(dimension.name, 11), "muted", "end"))
        _ticks_across(picture, where, 0, line)
        bottom = 118.0
    for row, one in enumerate(regions):
        top = bottom + 8 + row * _ROW
        picture.add(Stroke(((line.left, top + 7), (line.left + line.width, top + 7)), "grid"))
        for extent in one.region.extents:
            if where.space.dimensions:
                dimension = where.space.dimensions[0]
                left, width = line.across(where.space.bounds(extent, dimension), dimension.size)
            else:
                left, width = line.left, line.width
            picture.add(Box(left, top + 1, width, 12, one.tone, 0.45, _region_tip(where.space, one, extent)))
        picture.add(Text(line.left - 10, top + 11, shortened(one.name, 9), one.tone, "end", bold=True))
        picture.add(Text(line.left + line.width + 12, top + 11, channels_text(one.channels, "channel")))
    return bottom + 8 + len(regions) * _ROW


def _one_plane(picture: Graphic, where: ChannelMap, regions: Sequence[DrawnRegion]) -> float:
    plane = PictureArea(_LEFT, 374.0, 310.0, 300.0)
    _cells(picture, where, (), plane)
    _ticks_across(picture, where, 0, plane)
    _ticks_up(picture, where, 1, plane)
    across, up = where.space.dimensions[:2]
    picture.add(Text(plane.left + plane.width / 2, plane.bottom + 36, across.name, "muted", "middle"))
    picture.add(Text(plane.left - 8, plane.bottom - plane.height - 8, up.name, "muted", "end"))
    _boxes(picture, where, regions, (), plane, True)
    return plane.bottom + 40


def _slices(picture: Graphic, where: ChannelMap, regions: Sequence[DrawnRegion], columns: int) -> float:
    """The first two dimensions for each piece of the others."""
    others = where.space.dimensions[2:]
    all_of = list(product(*(pairwise(cuts) for cuts in where.cuts[2:])))
    side, left = 120.0, 40.0
    bottom = 60.0
    for number, fixed in enumerate(all_of[:_MOST_SLICES]):
        column, row = number % columns, number // columns
        plane = PictureArea(left + column * (side + 26), 94.0 + row * (side + 36) + side, side, side)
        picture.add(Text(plane.left, plane.bottom - side - 6, _slice_text(where, fixed), "muted", size=10.5))
        _cells(picture, where, fixed, plane)
        _boxes(picture, where, regions, fixed, plane, False)
        bottom = plane.bottom + 8
        if column == 0:
            picture.add(
                Text(
                    plane.left - 8,
                    plane.bottom - side / 2 + 4,
                    where.space.dimensions[1].name,
                    "muted",
                    "end",
                )
            )
            picture.add(
                Text(
                    plane.left + side / 2,
                    plane.bottom + 13,
                    where.space.dimensions[0].name,
                    "muted",
                    "middle",
                )
            )
            bottom += 8
    if len(all_of) > _MOST_SLICES:
        bottom += _ROW
        picture.add(
            Text(
                8,
                bottom,
                f"and {len(all_of) - _MOST_SLICES} more pieces of {', '.join(one.name for one in others)}",
                "muted",
            )
        )
    return bottom + 6


def _slice_text(where: ChannelMap, fixed: tuple[Bounds, ...]) -> str:
    """Which piece of the other dimensions: its bounds where there is room for them, else its number."""
    others = list(zip(where.space.dimensions[2:], where.cuts[2:], fixed, strict=True))
    bounds = ", ".join(
        f"{dimension.name} {_range(dimension, pair, where.space)}" for dimension, _, pair in others
    )
    if len(bounds) <= _SLICE_TEXT:
        return bounds
    numbers = [
        f"{dimension.name} {cuts.index(pair[0]) + 1}/{len(cuts) - 1}" for dimension, cuts, pair in others
    ]
    return shortened(", ".join(numbers), _SLICE_TEXT)


def _cells(picture: Graphic, where: ChannelMap, fixed: tuple[Bounds, ...], plane: PictureArea) -> None:
    across, up = where.space.dimensions[:2]
    for x in pairwise(where.cuts[0]):
        for y in pairwise(where.cuts[1]):
            channels = where.channels((x, y, *fixed))
            left, right = (at / across.size * plane.width + plane.left for at in x)
            low, high = (plane.bottom - at / up.size * plane.height for at in y)
            tip = f"{_box_text(where.space, (x, y, *fixed))}: {channels_text(channels, 'channel')}"
            picture.add(Box(left, high, right - left, low - high, "frame", 0.05, tip))
            if right - left >= _NARROW and low - high >= 15:
                middle = (left + right) / 2, (low + high) / 2 + 5
                picture.add(Text(*middle, channels_text(channels), "muted", "middle", bold=True))


def _boxes(
    picture: Graphic,
    where: ChannelMap,
    regions: Sequence[DrawnRegion],
    fixed: tuple[Bounds, ...],
    plane: PictureArea,
    named: bool,
) -> None:
    across, up = where.space.dimensions[:2]
    taken: list[tuple[float, float]] = []
    largest_first = sorted(
        regions, key=lambda one: -max(map(_area(where.space), one.region.extents), default=0)
    )
    for one in largest_first:
        for extent in one.region.extents:
            if not _crosses(where.space, extent, fixed):
                continue
            left, width = plane.across(where.space.bounds(extent, across), across.size)
            top, height = plane.up(where.space.bounds(extent, up), up.size)
            picture.add(Box(left, top, width, height, one.tone, 0.16, _region_tip(where.space, one, extent)))
            small = width < 60 or height < 18
            spot = (left + width + 3, top + height) if small else (left + 5, top + 14)
            while any(abs(spot[0] - x) < 50 and abs(spot[1] - y) < 13 for x, y in taken):
                spot = (spot[0], spot[1] + (-13 if small else 13))
            # Of very many in one place those are named for which there is room; the legend has all.
            if named and plane.bottom - plane.height <= spot[1] <= plane.bottom + 14:
                taken.append(spot)
                anchored = spot[0] + 46 > plane.left + plane.width and small
                at = left - 3 if anchored else spot[0]
                picture.add(Text(at, spot[1], one.name, one.tone, "end" if anchored else "start", bold=True))


def _area(space: Space) -> Callable[[Extent], float]:
    def of(extent: Extent) -> float:
        found = 1.0
        for dimension in space.dimensions:
            low, high = space.bounds(extent, dimension)
            found *= (high - low) / dimension.size
        return found

    return of


def _crosses(space: Space, extent: Extent, fixed: tuple[Bounds, ...]) -> bool:
    """Does it reach into that piece of the dimensions beyond the second?"""
    for dimension, (low, high) in zip(space.dimensions[2:], fixed, strict=True):
        begin, end = space.bounds(extent, dimension)
        if begin >= high or low >= end:
            return False
    return True


def _legend(picture: Graphic, regions: Sequence[DrawnRegion], left: float, top: float) -> float:
    for one in regions:
        picture.add(Box(left, top - 9, 10, 10, one.tone, 0.45))
        picture.add(Text(left + 16, top, shortened(one.name, 28), one.tone, bold=True))
        picture.add(Text(left + 16, top + 15, shortened(channels_text(one.channels, "channel"), 32)))
        top += 36
    return top


def _ticks_across(picture: Graphic, where: ChannelMap, place: int, plane: PictureArea) -> None:
    dimension = where.space.dimensions[place]
    for cut in _told(where.cuts[place], plane.width, 74.0):
        at = plane.left + cut / dimension.size * plane.width
        anchor: Anchor = "start" if cut == 0 else "end" if cut == dimension.size else "middle"
        picture.add(Stroke(((at, plane.bottom), (at, plane.bottom + 4))))
        mark = _mark(cut, dimension, where.space)
        picture.add(Text(at, plane.bottom + 17, mark, "muted", anchor, 10.5))


def _ticks_up(picture: Graphic, where: ChannelMap, place: int, plane: PictureArea) -> None:
    dimension = where.space.dimensions[place]
    for cut in _told(where.cuts[place], plane.height, 16.0):
        at = plane.bottom - cut / dimension.size * plane.height
        picture.add(Stroke(((plane.left - 4, at), (plane.left, at))))
        lowered = 0 if cut == 0 else 9 if cut == dimension.size else 4
        picture.add(
            Text(plane.left - 7, at + lowered, _mark(cut, dimension, where.space), "muted", "end", 10.5)
        )


def _told(cuts: Sequence[int], length: float, apart: float) -> list[int]:
    """As many as there is room for: the first, the last, and some between."""
    room = max(2, int(length / apart))
    if len(cuts) <= room:
        return list(cuts)
    pieces = len(cuts) - 1
    each = next(n for n in range(-(-pieces // (room - 1)), pieces + 1) if pieces % n == 0)
    return [*cuts[::each]]


# Words


def _bound(value: int, space: Space) -> str:
    return f"0x{value:x}" if space.named and value > 9 else str(value)


def _mark(cut: int, dimension: SpaceDimension, space: Space) -> str:
    """At an axis: where a piece begins, and the last number of a FED's dimension."""
    return _bound(cut - 1 if space.named and cut == dimension.size else cut, space)


def _range(dimension: SpaceDimension, bounds: Bounds, space: Space) -> str:
    low, high = bounds
    return f"{_bound(low, space)}..{_bound(high - 1 if space.named else high, space)}"


def _box_text(space: Space, bounds: Sequence[Bounds]) -> str:
    return ", ".join(
        f"{dimension.name}={_range(dimension, pair, space)}"
        for dimension, pair in zip(space.dimensions, bounds, strict=False)
    )


def _region_tip(space: Space, one: DrawnRegion, extent: Extent) -> str:
    box = _box_text(space, [space.bounds(extent, dimension) for dimension in space.dimensions])
    return f"{one.name}: {box}; {channels_text(one.channels, 'channel')}"


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
