"""The time line of a recorded run: who pushed and ran when, with laxity and misses (docs/how-to/timeline.md)."""

from weft.recorder.timeline.figures import (
    Figures,
    Laxity,
    Table,
    TimeWindow,
    busy,
    cut,
    extent,
    figures,
    figures_by_priority,
    laxity,
)
from weft.recorder.timeline.graphic import timeline_graphic
from weft.recorder.timeline.lanes import (
    Activation,
    Ended,
    Lost,
    Miss,
    Push,
    TimelineLane,
    endings,
    lanes,
    share_processor,
)
from weft.recorder.timeline.layout import Picture, picture
from weft.recorder.timeline.page import TIP, html_page, html_parts, html_table, page_style, page_text
from weft.recorder.timeline.page_texts import SCRIPT, TIPS
from weft.recorder.timeline.rows import KINDS, Row, rows_of

__all__ = [
    "KINDS",
    "SCRIPT",
    "TIP",
    "TIPS",
    "Activation",
    "Ended",
    "Figures",
    "Laxity",
    "Lost",
    "Miss",
    "Picture",
    "Push",
    "Row",
    "Table",
    "TimeWindow",
    "TimelineLane",
    "busy",
    "cut",
    "endings",
    "extent",
    "figures",
    "figures_by_priority",
    "html_page",
    "html_parts",
    "html_table",
    "lanes",
    "laxity",
    "page_style",
    "page_text",
    "picture",
    "rows_of",
    "share_processor",
    "timeline_graphic",
]
