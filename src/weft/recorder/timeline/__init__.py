"""The time line of a recorded run: who pushed and ran when, with laxity and misses (docs/timeline.md)."""

from weft.recorder.timeline.figures import (
    Figures,
    Laxity,
    Window,
    busy,
    cut,
    extent,
    figures,
    figures_by_priority,
    laxity,
)
from weft.recorder.timeline.lanes import (
    Activation,
    Ended,
    Lane,
    Lost,
    Miss,
    Push,
    endings,
    lanes,
    share_processor,
)
from weft.recorder.timeline.layout import Picture, picture
from weft.recorder.timeline.page import html_page
from weft.recorder.timeline.rows import KINDS, Row, rows_of

__all__ = [
    "KINDS",
    "Activation",
    "Ended",
    "Figures",
    "Lane",
    "Laxity",
    "Lost",
    "Miss",
    "Picture",
    "Push",
    "Row",
    "Window",
    "busy",
    "cut",
    "endings",
    "extent",
    "figures",
    "figures_by_priority",
    "html_page",
    "lanes",
    "laxity",
    "picture",
    "rows_of",
    "share_processor",
]
