"""A picture of all routing spaces: what travels in them, by which channels, and who listens (figure 1 of paper 002, S2-22)."""

from __future__ import annotations

from typing import NamedTuple

from weft.cli.design.ddm_picture import WIDTH, channels_text, drawn_regions, shortened, space_picture
from weft.cli.design.ddm_regions import SUBSCRIBES, RegionsFile
from weft.drawing import Box, Graphic, Stroke, Text
from weft.drawing.shapes import SERIES
from weft.interest import DEFAULT_REGION, Spaces, Strategy


def pictures(spaces: Spaces, strategy: Strategy, found: RegionsFile) -> list[Graphic]:
    """The overview, and then each space."""
    made = [overview(spaces, strategy, found)]
    for space in spaces.all:
        drawn = [one for one in drawn_regions(strategy, found) if found.regions[one.name].space == space]
        made.append(space_picture(strategy, space, drawn))
    return made


class _Lane(NamedTuple):
    """A space, what travels in it, and the channels it has."""

    name: str
    users: list[str]
    channels: tuple[int, ...]


def overview(spaces: Spaces, strategy: Strategy, found: RegionsFile) -> Graphic:
    """What travels in which space, by which channels; and who listens, where that is known."""
    lanes = _lanes(spaces, strategy)
    listeners = _listeners(spaces, strategy, found)
    picture = Graphic(WIDTH, 60.0, f"spaces and channels under {strategy.name}")
    counted = "1 channel" if strategy.channels == 1 else f"{strategy.channels} channels"
    picture.add(Text(8, 20, strategy.name, bold=True, size=14))
    without = channels_text(lanes[-1].channels, "channel")
    about = f"{counted}, each reliable and best effort; what has no space takes {without}"
    picture.add(Text(8, 38, about, "muted"))
    heads = [(8.0, "travels"), (230.0, "in the space"), (370.0, "by channels")]
    for at, head in [*heads, *([(505.0, "heard by")] if listeners else [])]:
        picture.add(Text(at, 62, head, "muted"))
    boxes: dict[tuple[int, ...], tuple[float, float]] = {}
    top = 74.0
    for place, lane in enumerate(lanes):
        tone = SERIES[place % len(SERIES)] if place < len(lanes) - 1 else "frame"
        shown = lane.users if len(lane.users) <= 7 else [*lane.users[:6], f"and {len(lane.users) - 6} more"]
        height = max(26.0, 16.0 * len(shown) + 6)
        middle = top + height / 2
        for row, name in enumerate(shown):
            picture.add(Text(8, top + 16 + 16 * row, shortened(name, 27)))
        if shown:
            picture.add(Stroke(((190, middle), (228, middle)), tone, 1.5, arrow=True))
        picture.add(Box(230, top, 100, height, tone, 0.12, round=4))
        picture.add(
            Text(
                280,
                middle + 4,
                shortened(lane.name, 15),
                tone if tone != "frame" else "muted",
                "middle",
                bold=True,
            )
        )
        there = boxes.setdefault(lane.channels, (top, top + height))
        picture.add(Stroke(((330, middle), (368, (there[0] + there[1]) / 2)), tone, 1.5, arrow=True))
        top += height + 10
    for channels, (begin, end) in boxes.items():
        picture.add(Box(370, begin, 92, end - begin, "frame", 0.06, round=4))
        picture.add(Text(416, (begin + end) / 2 + 4, channels_text(channels), "text", "middle", bold=True))
    bottom = max(top, _heard_by(picture, listeners, boxes))
    picture.height = bottom + 8
    return picture


def _lanes(spaces: Spaces, strategy: Strategy) -> list[_Lane]:
    users: dict[int, list[str]] = {}
    for name, space, _ in spaces.users():
        users.setdefault(0 if space is None else space.number, []).append(_plain(name))
    lanes = [
        _Lane(
            space.name,
            users.get(space.number, []),
            tuple(sorted(strategy.update_channels(space, DEFAULT_REGION))),
        )
        for space in spaces.all
    ]
    without = tuple(sorted(strategy.update_channels(None, DEFAULT_REGION)))
    return [*lanes, _Lane("(no space)", users.get(0, []), without)]


def _plain(name: str) -> str:
    for root in ("HLAobjectRoot.", "HLAinteractionRoot.", "ObjectRoot.", "InteractionRoot."):
        name = name.removeprefix(root)
    return name


def _listeners(spaces: Spaces, strategy: Strategy, found: RegionsFile) -> dict[str, tuple[int, ...]]:
    """The channels that each federate of the regions file listens to, besides that of what has no space."""
    heard: dict[str, set[int]] = {}
    for use in found.uses:
        channels = heard.setdefault(use.federate, set())
        if use.does == SUBSCRIBES:
            space = spaces.of_attribute(use.object_class, use.attribute)
            channels |= strategy.update_channels(space, found.region_of(use))
    return {name: tuple(sorted(channels)) for name, channels in heard.items()}


def _heard_by(
    picture: Graphic,
    listeners: dict[str, tuple[int, ...]],
    boxes: dict[tuple[int, ...], tuple[float, float]],
) -> float:
    top = 74.0
    for name, channels in listeners.items():
        for whole, (begin, end) in boxes.items():
            if set(channels) & set(whole):
                picture.add(Stroke(((462, (begin + end) / 2), (503, top + 16)), "frame", arrow=True))
        picture.add(Box(505, top, 127, 34, "frame", round=4))
        picture.add(Text(512, top + 14, shortened(name, 17), bold=True))
        heard = channels_text(channels, "channel") if channels else "no subscription"
        picture.add(Text(512, top + 28, shortened(heard, 22), "muted", size=11))
        top += 44
    return top
