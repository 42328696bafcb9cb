"""What `weft top` shows: a picture and a view in, lines of a screen out (pure)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from weft.cli.terminal.cells import cell_len
from weft.cli.terminal.facts import blocks
from weft.cli.terminal.facts_lines import (
    ScreenLine,
    Span,
    federation_lines,
    fit,
    headline,
    line,
    node_lines,
    plural,
    recording_texts,
)
from weft.console.surveys import FederateFacts, SurveyPicture

HELP = (
    "q         quit",
    "up, down  choose a federate (also k, j, page up, page down, home, end)",
    "s         sort by the next column: name, waits, time, node, calls, unread",
    "f         show the next federation",
    "b         jump to who blocks: the chosen federate if it waits, else anybody",
    "?         this help; any key closes it",
)
_FAR = 10  # lines of a page


def _number(key: str) -> Callable[[FederateFacts], float]:
    def value(one: FederateFacts) -> float:
        try:
            return -float(str(one.get(key) or 0))
        except ValueError:
            return 0.0

    return value


_SORTS: dict[str, Callable[[FederateFacts], object]] = {
    "name": lambda one: 0,
    "waits": lambda one: (not one.get("asks"), -float(one.get("seconds", 0.0))),
    "time": lambda one: -_number("time")(one),
    "node": lambda one: str(one.get("node", "")),
    "calls": _number("calls_rate"),
    "unread": _number("backlog_bytes"),
}
SORTS = tuple(_SORTS)


@dataclass(frozen=True)
class TopView:
    federation: str = ""
    selected: str = ""  # a federate; by its name, so that it stays chosen whatever is sorted
    sort: str = "name"
    help: bool = False
    quit: bool = False

    def press(self, key: str, picture: SurveyPicture) -> TopView:
        """The view after a key."""
        if key in ("q", "\x03"):
            return replace(self, quit=True)
        if self.help:
            return replace(self, help=False)
        now = self.settled(picture)
        if key == "?":
            return replace(now, help=True)
        if key == "s":
            return replace(now, sort=SORTS[(SORTS.index(now.sort) + 1) % len(SORTS)])
        if key == "f":
            return now._next_federation(picture)
        if key == "b":
            return now._to_blocker(picture)
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -_FAR, "page down": _FAR,
                 "home": -(1 << 30), "end": 1 << 30}  # fmt: skip
        return now._moved(picture, steps[key]) if key in steps else now

    def settled(self, picture: SurveyPicture) -> TopView:
        """With a federation and a federate that are there."""
        federations = list(picture["federations"])
        federation = self.federation if self.federation in federations else (federations or [""])[0]
        now = self if federation == self.federation else replace(self, federation=federation, selected="")
        order = now.order(picture)
        return now if now.selected in order else replace(now, selected=order[0] if order else "")

    def order(self, picture: SurveyPicture) -> list[str]:
        """The federates of the federation shown, as they are sorted."""
        federates = self._federates(picture)
        by: Callable[[str], object] = lambda name: (_SORTS[self.sort](federates[name]), name)  # noqa: E731
        return sorted(federates, key=by)  # type: ignore[arg-type]

    def _federates(self, picture: SurveyPicture) -> dict[str, FederateFacts]:
        found = picture["federations"].get(self.federation)
        return {} if found is None else found["federates"]

    def _next_federation(self, picture: SurveyPicture) -> TopView:
        federations = list(picture["federations"])
        if not federations:
            return self
        at = (federations.index(self.federation) + 1) % len(federations)
        return replace(self, federation=federations[at], selected="").settled(picture)

    def _to_blocker(self, picture: SurveyPicture) -> TopView:
        federates = self._federates(picture)
        chosen = federates.get(self.selected)
        if chosen and chosen.get("asks"):
            for blocker in chosen.get("blocked_by", ()):
                if blocker in federates:
                    return replace(self, selected=blocker)
        for block in blocks(picture):
            if block.blocker in picture["federations"][block.federation]["federates"]:
                return replace(self, federation=block.federation, selected=block.blocker)
        return self

    def _moved(self, picture: SurveyPicture, by: int) -> TopView:
        order = self.order(picture)
        if not order:
            return self
        at = max(0, min(len(order) - 1, order.index(self.selected) + by))
        return replace(self, selected=order[at])


def frame(
    picture: SurveyPicture, view: TopView, width: int, height: int, clock: str = ""
) -> list[ScreenLine]:
    """The screen: at most `height` lines of at most `width` cells."""
    view = view.settled(picture)
    federates = sum(len(one["federates"]) for one in picture["federations"].values())
    counts = (f"{plural(len(picture['nodes']), 'node')}, {plural(len(picture['federations']), 'federation')}, "
              f"{plural(federates, 'federate')}")  # fmt: skip
    title = fit(f"weft top  {counts}", max(0, width - len(clock) - 1)) + " " + clock
    said = [line(text, "bold") for text in textwrap.wrap(headline(picture), max(1, width))]
    top = [line(title, "reverse"), *said[:3]]
    foot = [line(fit(_foot(picture, view), width), "reverse")]
    if view.help:
        middle = [line(""), *[line(text) for text in HELP]]
    else:
        middle = _middle(picture, view, width, height - len(top) - len(foot))
    room = height - len(top) - len(foot)
    if room < 0:
        return [cut(one, width) for one in top[: max(0, height)]]
    middle = [*middle[:room], *[line("")] * (room - len(middle))]
    return [cut(one, width) for one in (*top, *middle, *foot)]


def _middle(picture: SurveyPicture, view: TopView, width: int, room: int) -> list[ScreenLine]:
    nodes = _shortened(node_lines(picture, width), max(2, room // 3), "node")
    recorded = [line(text, "dim") for text in recording_texts(picture)][:1] if room > 16 else []
    if not view.federation:
        return [*nodes, line("no federations"), *recorded]
    federation = picture["federations"][view.federation]
    shown = federation_lines(view.federation, federation, width, view.order(picture))
    first = next((at for at, one in enumerate(shown) if one.subject[1]), len(shown))
    head, rows = shown[:first], shown[first:]
    below = room - len(nodes) - len(recorded) - len(head)
    return [*nodes, *head, *_around(rows, view, max(1, below)), *recorded]


def _around(rows: Sequence[ScreenLine], view: TopView, room: int) -> list[ScreenLine]:
    """As many rows as there is room for, the chosen one among them and marked."""
    at = next((place for place, row in enumerate(rows) if row.subject == (view.federation, view.selected)), 0)
    start = max(0, min(at - room // 2, len(rows) - room))
    found = []
    for place in range(start, min(len(rows), start + room)):
        row = rows[place]
        if place == at:
            row = ScreenLine([(text, f"{style} reverse".strip()) for text, style in row.spans], row.subject)
        found.append(row)
    return found


def _shortened(lines: list[ScreenLine], most: int, word: str) -> list[ScreenLine]:
    """Those that are down come first if not all can be shown."""
    if len(lines) <= most:
        return lines
    head, *rows = lines
    rows.sort(key=lambda one: "bold red" not in [style for _, style in one.spans])
    left = len(rows) - (most - 2)
    return [head, *rows[: most - 2], line(f"… and {plural(left, f'more {word}')}", "dim")]


def _foot(picture: SurveyPicture, view: TopView) -> str:
    federations = list(picture["federations"])
    which = (
        f" {federations.index(view.federation) + 1}/{len(federations)}"
        if view.federation in federations
        else ""
    )
    return f"q quit  ? help  s sort: {view.sort}  f federation{which}  b who blocks"


def cut(one: ScreenLine, width: int) -> ScreenLine:
    """No wider than the screen."""
    left = width
    spans: list[Span] = []
    for text, style in one.spans:
        if left <= 0:
            break
        if cell_len(text) > left:
            text = fit(text, left)
        left -= cell_len(text)
        spans.append((text, style))
    return ScreenLine(spans, one.subject)
