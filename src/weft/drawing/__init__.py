"""Pictures and charts as SVG, for pages in light and dark."""

from weft.drawing.charts import Chart, ChartPoint, Series, line_chart, short_number
from weft.drawing.shapes import Box, Dot, Graphic, Shape, Stroke, Text, stacked, style, svg

__all__ = [
    "Box",
    "Chart",
    "ChartPoint",
    "Dot",
    "Graphic",
    "Series",
    "Shape",
    "Stroke",
    "Text",
    "line_chart",
    "short_number",
    "stacked",
    "style",
    "svg",
]
