"""The dependency graph of a schedule with its priorities, drawn (figure 14 of the paper).

Operations stand in columns by the length of the longest chain that leads to them, and an arrow leads from each to those that it
triggers.  An arrow that passes a column has a place of its own in it, so that it runs between the boxes.  Within a column, things
are moved next to what they are connected with.  All parts of a conjunction meet in one dot before its operation.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

from weft.channel.scheduling.explanation import duration
from weft.channel.scheduling.rt_info import AfterAll, Every, Trigger, depths, triggers
from weft.channel.scheduling.schedule import Scheduled, SchedulePlan
from weft.drawing import Box, Dot, Graphic, Stroke, Text
from weft.drawing.shapes import SERIES

_HEIGHT: Final = 44.0
_GAP: Final = 20.0
_BETWEEN: Final = 84.0
_EDGE: Final = 24.0
_HEAD: Final = 58.0
_SWEEPS: Final = 6
_TONES: Final = tuple(tone for tone in SERIES if tone != "s4")  # red is for what comes too late


class _Arrow(NamedTuple):
    """An arrow: from an operation to another; `joint` numbers the conjunction it belongs to, 0 is none."""

    start: str
    end: str
    calls: int
    joint: int


class _Middle(NamedTuple):
    x: float
    y: float


def schedule_graph(made: SchedulePlan) -> Graphic:
    known = {one.info.name: one for one in made.operations}
    links = [link for one in made.operations for link in _links(one)]
    ways, columns = _columns(made, links)
    width = max([128.0, *(7.4 * len(name) + 24 for name in known)])
    spots = _spots(columns, width, set(known))
    depth = max((len(column) for column in columns), default=1)
    bottom = _HEAD + depth * (_HEIGHT + _GAP) + 12
    legend = _legend(made, bottom)
    across = 2 * _EDGE + len(columns) * width + (len(columns) - 1) * _BETWEEN
    picture = Graphic(
        max(across, 420.0), legend[-1].y + 18 if legend else bottom, "Operations, and which trigger which"
    )
    _head(picture, made)
    for link, way in zip(links, ways, strict=True):
        _arrow(picture, link, [spots[name] for name in way], width, known[link.start])
    for one in made.operations:
        _operation(picture, one, spots[one.info.name], width)
    picture.add(*legend)
    return picture


def _links(one: Scheduled) -> list[_Arrow]:
    return [
        _Arrow(after.operation, one.info.name, after.calls, number if _joins(part) else 0)
        for number, part in enumerate(one.info.dependencies, 1)
        for after in dict.fromkeys(triggers((part,)))
    ]


def _joins(trigger: Trigger) -> bool:
    return isinstance(trigger, AfterAll) and len(trigger.parts) > 1


def _columns(made: SchedulePlan, links: list[_Arrow]) -> tuple[list[list[str]], list[list[str]]]:
    """The way of each arrow through the columns, and what stands in each, from top to bottom."""
    deep = depths([one.info for one in made.operations])
    columns: list[list[str]] = [[] for _ in range(max(deep.values(), default=0) + 1)]
    for one in made.operations:
        columns[deep[one.info.name]].append(one.info.name)
    ways = []
    for number, link in enumerate(links):
        way = [link.start]
        for depth in range(deep[link.start] + 1, deep[link.end]):
            way.append(f"\n{number}/{depth}")  # no operation's name
            columns[depth].append(way[-1])
        ways.append([*way, link.end])
    near: dict[str, list[str]] = {}
    for way in ways:
        for here, there in pairwise(way):
            near.setdefault(here, []).append(there)
            near.setdefault(there, []).append(here)
    for sweep in range(_SWEEPS):
        _untangle(columns if sweep % 2 else columns[::-1], near)
    return ways, columns


def _untangle(columns: list[list[str]], near: dict[str, list[str]]) -> None:
    """Each column but the first by where its neighbours in the one before stand."""
    for before, column in pairwise(columns):
        row = {name: (at + 0.5) / len(before) for at, name in enumerate(before)}
        own = {name: (at + 0.5) / len(column) for at, name in enumerate(column)}
        wish = {}
        for name in column:
            rows = [row[other] for other in near.get(name, ()) if other in row]
            wish[name] = sum(rows) / len(rows) if rows else own[name]
        column.sort(key=lambda name: (wish[name], own[name]))


def _spots(columns: list[list[str]], width: float, known: set[str]) -> dict[str, _Middle]:
    """The middle of each."""
    tallest = max((len(column) for column in columns), default=1)
    spots = {}
    for number, column in enumerate(columns):
        x = _EDGE + number * (width + _BETWEEN) + width / 2
        top = _HEAD + (tallest - len(column)) * (_HEIGHT + _GAP) / 2 + _HEIGHT / 2
        for at, name in enumerate(column):
            spots[name] = _Middle(x, top + at * (_HEIGHT + _GAP))
    return spots


def _head(picture: Graphic, made: SchedulePlan) -> None:
    kind = "preemptive" if made.preemptive else "not preemptive"
    misses = [one.info.name for one in made.operations if not one.meets_deadline]
    verdict = f"can miss their deadlines: {', '.join(misses)}" if misses else "all deadlines are met"
    picture.add(
        Text(_EDGE, 22, f"{made.policy}, {kind}", bold=True, size=13),
        Text(_EDGE, 40, f"{made.utilisation:.1%} of the processor; {verdict}", "bad" if misses else "muted"),
    )


def _arrow(picture: Graphic, link: _Arrow, way: list[_Middle], width: float, start: Scheduled) -> None:
    """From the right of a box to the left of another, between the boxes of columns in between."""
    tone = tone_of(start.priority)
    points = [(way[0].x + width / 2, way[0].y)]
    for place in way[1:-1]:
        points += [(place.x - width / 2, place.y), (place.x + width / 2, place.y)]
    end = (way[-1].x - width / 2, way[-1].y)
    if link.joint:
        end = (end[0] - 22, end[1])
        picture.add(
            Stroke((end, (end[0] + 22, end[1])), "frame", 1.4, arrow=True),
            Stroke((*points, end), tone, 1.4),
            Dot(*end, "text", 4.0, hollow=True, tip="all of these together"),
            Text(end[0], end[1] - 8, "all", "muted", "middle", 10.0),
        )
    else:
        picture.add(Stroke((*points, end), tone, 1.4, arrow=True, tip=f"{link.start} triggers {link.end}"))
    if link.calls > 1:
        (x0, y0), (x1, y1) = points[-1], end
        picture.add(Text((x0 + x1) / 2, (y0 + y1) / 2 - 4, f"{link.calls} ×", "muted", "middle", 10.0))


def _operation(picture: Graphic, one: Scheduled, at: _Middle, width: float) -> None:
    left, top = at.x - width / 2, at.y - _HEIGHT / 2
    tone = tone_of(one.priority)
    every = [part for part in one.info.dependencies if isinstance(part, Every)]
    period = f"every {duration(one.period)}" if one.period else "never"
    tip = f"{one.info.name}: priority {one.priority}, sub-priority {one.sub_priority}, {period}"
    tip += f", {duration(one.info.worst)} at most"
    if one.response is not None:
        tip += f", ends within {duration(one.response)}"
    if every and not one.info.period:
        tip += f", also every {' and '.join(duration(part.seconds) for part in every)}"
    picture.add(
        Box(left, top, width, _HEIGHT, "back", 1.0),
        Box(left, top, width, _HEIGHT, tone, 0.14, tip, round=5.0, dashed=not one.period),
        Text(at.x, at.y - 4, one.info.name, "text", "middle", bold=True),
        Text(
            at.x, at.y + 13, f"{one.priority}.{one.sub_priority} · {period}",
            "muted" if one.meets_deadline else "bad", "middle", 11.0,
        ),
    )  # fmt: skip
    if not one.meets_deadline:
        picture.add(
            Stroke(
                ((left, top + _HEIGHT + 3), (left + width, top + _HEIGHT + 3)),
                "bad",
                2.5,
                tip="can miss its deadline",
            )
        )


def _legend(made: SchedulePlan, top: float) -> list[Text]:
    """What shares a priority, by the colour of its boxes."""
    lines = []
    for at, priority in enumerate(sorted({one.priority for one in made.operations})):
        mine = [one for one in made.operations if one.priority == priority]
        text = f"priority {priority}: {len(mine)} operation{'s' if len(mine) != 1 else ''}"
        periods = {duration(one.period) for one in mine if one.period}
        text += f", every {periods.pop()}" if len(periods) == 1 else ""
        lines.append(Text(_EDGE, top + 16 * at, text, tone_of(priority), size=11.0, bold=True))
    return lines


def tone_of(priority: int) -> str:
    return _TONES[priority % len(_TONES)]
