"""How a time line looks: colours for light and dark, and where the parts of a lane are; for the page and the PNG alike.

Colours are told apart also by people who do not see red and green as different; a miss has a shape of its own besides.
"""

from __future__ import annotations

from typing import Final

LIGHT: Final = {
    "back": "#ffffff", "stripe": "#f5f7f9", "text": "#1b2733", "muted": "#5b6875", "grid": "#dde3e9", "frame": "#aeb9c4",
    "deadline": "#3d4a57", "wait": "#8b97a3", "miss": "#c8102e", "missback": "#fbe9ec", "overrun": "#b35900",
    "p0": "#0067a8", "p1": "#b87a00", "p2": "#00785a", "p3": "#8a4fa3", "p4": "#3f92c4", "p5": "#7a6a4f",
}  # fmt: skip
DARK: Final = {
    "back": "#12181f", "stripe": "#192129", "text": "#e3e9ef", "muted": "#9aa7b4", "grid": "#2b3640", "frame": "#51606e",
    "deadline": "#c3ced8", "wait": "#7c8a97", "miss": "#ff5c72", "missback": "#3a1a22", "overrun": "#ffae57",
    "p0": "#4aa8e8", "p1": "#e0a83a", "p2": "#35b891", "p3": "#c08ad6", "p4": "#8ccbf0", "p5": "#b8a888",
}  # fmt: skip

LANE_HEIGHT: Final = 52
LAXITY_HEIGHT: Final = 30
LABELS: Final = 244  # pixels for the names of lanes
RIGHT: Final = 56  # so that the last label of a miss has room
AXIS: Final = 46

MIDDLE: Final = 32  # of a lane, from its top: the bars
BAR: Final = 14
DEADLINE: Final = 26  # height of a deadline's tick
LATE: Final = 10  # below the middle: from deadline to end
LABEL: Final = 18  # above the middle: how late

ORDER: Final = (
    "wait", "open", "busy", "run", "late", "deadline", "overdue", "push", "drop", "overrun", "miss",
)  # fmt: skip
"""Kinds of marks from the lowest to what nothing may hide."""

GLYPHS: Final = {
    "push": ((0.0, -8.5), (-4.0, -15.0), (4.0, -15.0)),
    "overrun": ((0.0, 8.0), (4.5, 12.5), (0.0, 17.0), (-4.5, 12.5)),
}
"""Polygons around the place of the mark."""
CROSS: Final = 5.0  # half the size of a miss
RING: Final = 4.0  # radius of what was given up

LEGEND: Final = (
    ("run", "runs (colour: priority)"),
    ("wait", "interrupted"),
    ("open", "no end known"),
    ("push", "pushes"),
    ("deadline", "deadline"),
    ("miss", "deadline missed (laxity)"),
    ("overrun", "longer than its worst case"),
    ("drop", "push given up"),
)
