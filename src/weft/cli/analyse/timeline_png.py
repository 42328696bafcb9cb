"""A time line as a PNG, drawn with Pillow from the same layout as the page.  Pillow is imported here and nowhere else."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from weft.model.extras import require
from weft.recorder.timeline import Picture, look
from weft.recorder.timeline.figures import Table
from weft.recorder.timeline.layout import LaxityRow, TimeAxis
from weft.recorder.timeline.look import LABELS, LANE_HEIGHT, LAXITY_HEIGHT, LIGHT, MIDDLE, RIGHT
from weft.recorder.timeline.marks import LaneRow, TimelineMark

if TYPE_CHECKING:
    from PIL import ImageFont

WIDTH = 1400
SCALE = 2  # pixels for each unit of the layout, so that small print is sharp
MARGIN = 24
LINE = 20


def png(picture: Picture) -> bytes:
    require("a PNG", "plot", "PIL", otherwise="let the name of the file end with .html")
    from PIL import Image, ImageDraw

    height = _Sheet(None).draw(picture)  # once without a pen, to know how long it gets
    image = Image.new("RGB", (WIDTH * SCALE, round(height) * SCALE), LIGHT["back"])
    _Sheet(ImageDraw.Draw(image)).draw(picture)
    written = io.BytesIO()
    image.quantize(256).save(
        written, "PNG", optimize=True
    )  # flat colours: half the size, and nothing to see of it
    return written.getvalue()


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """One with many scripts where the machine has it; else the one that Pillow brings along."""
    from PIL import ImageFont

    for name in ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf"):
        try:
            return ImageFont.truetype(name, size * SCALE)
        except OSError:
            continue
    return ImageFont.load_default(size * SCALE)


class _Sheet:
    """Draws from the top down; `pen` None only counts the height."""

    def __init__(self, pen: Any) -> None:
        self.pen = pen
        self.fonts: dict[int, Any] = {size: _font(size) for size in (11, 12, 13, 16, 20)}
        self.y = float(MARGIN)

    def draw(self, picture: Picture) -> float:
        self.line(picture.title, 20, "text", 30)
        self.line(picture.subtitle, 13, "miss" if picture.misses else "muted", 26)
        self.legend()
        self.chart(picture)
        self.line("Laxity", 16, "text", 28)
        self.laxities(picture.laxity, picture.laxities)
        for table in picture.tables:
            self.table(table)
        self.line("Notes", 16, "text", 28)
        for note in picture.notes:
            for part in self.wrapped(f"· {note}", 12):
                self.line(part, 12, "muted", LINE)
        return self.y + MARGIN

    # The pen

    def text(self, x: float, y: float, text: str, size: int, colour: str, anchor: str = "ls") -> None:
        if self.pen is not None and text:
            shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
            at = (x * SCALE, y * SCALE)
            self.pen.text(at, shown, fill=LIGHT[colour], font=self.fonts[size], anchor=anchor)

    def width(self, text: str, size: int) -> float:
        shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
        length: float = self.fonts[size].getlength(shown)
        return length / SCALE

    def rect(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        if self.pen is not None and height > 0:
            right, bottom = (x + max(width, 0.5)) * SCALE - 1, (y + height) * SCALE - 1
            self.pen.rectangle((x * SCALE, y * SCALE, max(right, x * SCALE), bottom), fill=LIGHT[colour])

    def stroke(self, points: list[tuple[float, float]], colour: str, width: float) -> None:
        if self.pen is not None:
            scaled = [(x * SCALE, y * SCALE) for x, y in points]
            self.pen.line(scaled, fill=LIGHT[colour], width=max(1, round(width * SCALE)))

    def dashes(self, x: float, y: float, end: float, colour: str) -> None:
        while x < end:
            self.stroke([(x, y), (min(x + 4, end), y)], colour, 1.5)
            x += 7

    def polygon(self, points: list[tuple[float, float]], colour: str, filled: bool) -> None:
        if filled and self.pen is not None:
            self.pen.polygon([(x * SCALE, y * SCALE) for x, y in points], fill=LIGHT[colour])
        elif not filled:
            self.stroke([*points, points[0]], colour, 2)

    def circle(self, x: float, y: float, radius: float, colour: str, filled: bool) -> None:
        if self.pen is not None:
            box = ((x - radius) * SCALE, (y - radius) * SCALE, (x + radius) * SCALE, (y + radius) * SCALE)
            fill = LIGHT[colour] if filled else None
            self.pen.ellipse(box, fill=fill, outline=LIGHT["back" if filled else colour], width=2 * SCALE)

    def line(self, text: str, size: int, colour: str, height: float) -> None:
        self.y += height
        self.text(MARGIN, self.y - 8, self.fitting(text, size, WIDTH - 2 * MARGIN), size, colour)

    def fitting(self, text: str, size: int, most: float) -> str:
        if self.width(text, size) <= most:
            return text
        while text and self.width(text + "…", size) > most:
            text = text[:-1]
        return text + "…"

    def wrapped(self, text: str, size: int) -> list[str]:
        lines = [""]
        for word in text.split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if self.width(longer, size) > WIDTH - 2 * MARGIN:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    # Parts of the picture

    def legend(self) -> None:
        x, self.y = float(MARGIN), self.y + 22
        for kind, text in look.LEGEND:
            length = 34 + self.width(text, 12) + 18
            if x + length > WIDTH - MARGIN:
                x, self.y = float(MARGIN), self.y + 26
            wide = kind in ("run", "wait", "open")
            shift = {"push": 12, "overrun": -12}.get(kind, 0)
            self.mark(
                TimelineMark(kind, 0, 0, ""),
                0,
                x + (2 if wide else 14),
                x + (26 if wide else 14),
                self.y + shift,
            )
            self.text(x + 34, self.y + 4, text, 12, "text")
            x += length
        self.y += 22

    def x(self, place: float) -> float:
        return MARGIN + LABELS + place * (WIDTH - 2 * MARGIN - LABELS - RIGHT)

    def axis(self, axis: TimeAxis, top: float, height: float) -> None:
        for place, text in axis.ticks:
            self.stroke([(self.x(place), top), (self.x(place), top + height + 5)], "grid", 1)
            self.text(self.x(place), top + height + 19, text, 12, "muted", "ms")
        self.text(self.x(0.5), top + height + 38, axis.title, 12, "muted", "ms")

    def stripes(self, count: int, height: int) -> None:
        for at in range(0, count, 2):
            self.rect(MARGIN, self.y + at * height, WIDTH - 2 * MARGIN, height, "stripe")

    def chart(self, picture: Picture) -> None:
        self.stripes(len(picture.lanes), LANE_HEIGHT)
        self.axis(picture.time, self.y, len(picture.lanes) * LANE_HEIGHT)
        for lane in picture.lanes:
            self.rect(MARGIN + 4, self.y + 9, 4, LANE_HEIGHT - 18, f"p{lane.colour}")
            self.text(MARGIN + 16, self.y + 23, self.fitting(lane.label, 13, LABELS - 20), 13, "text")
            self.text(MARGIN + 16, self.y + 39, self.fitting(lane.note, 11, LABELS - 20), 11, "muted")
            self.marks(lane, self.y + MIDDLE)
            self.y += LANE_HEIGHT
        self.y += look.AXIS

    def marks(self, lane: LaneRow, middle: float) -> None:
        labelled = 0.0
        for mark in sorted(lane.marks, key=lambda mark: (look.ORDER.index(mark.kind), mark.begin)):
            begin, end = self.x(mark.begin), self.x(mark.end)
            self.mark(mark, lane.colour, begin, end, middle)
            text = mark.label or (f"×{mark.many}" if mark.kind == "miss" and mark.many > 1 else "")
            if text and begin >= labelled:  # only those that have room
                self.text(begin - 2, middle - look.LABEL, text, 11, "miss")
                labelled = begin + 6 + self.width(text, 11)

    def mark(self, mark: TimelineMark, colour: int, begin: float, end: float, middle: float) -> None:
        own, half, long = f"p{colour}", look.BAR / 2, max(1.0, end - begin)
        if mark.kind == "run":
            self.rect(begin, middle - half, long, look.BAR, own)
        elif mark.kind == "wait":
            self.rect(begin, middle - 1, long, 2, "wait")
        elif mark.kind == "open":
            for y in (middle - half, middle + half):
                self.dashes(begin, y, begin + max(long, 4), own)
            self.stroke([(begin, middle - half), (begin, middle + half)], own, 1.5)
        elif mark.kind == "busy":
            height = max(1.5, mark.level * (look.BAR + 8))
            self.rect(begin, middle + half + 4 - height, long, height, own)
        elif mark.kind == "late":
            self.rect(begin, middle + look.LATE, long, 3, "miss")
        elif mark.kind == "miss":
            c = look.CROSS
            for colour_name, width in (("back", 6.0), ("miss", 2.6)):
                self.stroke([(begin - c, middle - c), (begin + c, middle + c)], colour_name, width)
                self.stroke([(begin - c, middle + c), (begin + c, middle - c)], colour_name, width)
        elif mark.kind == "drop":
            self.circle(begin, middle, look.RING, "overrun", filled=False)
        elif mark.kind in look.GLYPHS:
            points = [(begin + x, middle + y) for x, y in look.GLYPHS[mark.kind]]
            self.polygon(points, own if mark.kind == "push" else "overrun", mark.kind == "push")
        else:
            half = look.DEADLINE / 2
            name = "deadline" if mark.kind == "deadline" else "miss"
            self.stroke([(begin, middle - half), (begin, middle + half)], name, 1.5)

    def laxities(self, axis: TimeAxis, rows: tuple[LaxityRow, ...]) -> None:
        if not rows:
            self.line("No run of this window has a deadline and an end.", 13, "text", LINE)
            return
        height = len(rows) * LAXITY_HEIGHT
        zero = axis.zero or 0.0
        self.stripes(len(rows), LAXITY_HEIGHT)
        self.rect(self.x(0), self.y, self.x(zero) - self.x(0), height, "missback")
        self.axis(axis, self.y, height)
        self.stroke([(self.x(zero), self.y), (self.x(zero), self.y + height + 5)], "text", 1.5)
        for row in rows:
            middle = self.y + LAXITY_HEIGHT / 2
            self.text(MARGIN + 16, middle + 4, self.fitting(row.label, 13, LABELS - 20), 13, "text")
            self.rect(self.x(row.low), middle - 2, self.x(row.high) - self.x(row.low), 4, f"p{row.colour}")
            for place in (row.low, row.high):
                colour = "miss" if place < zero else f"p{row.colour}"
                self.stroke([(self.x(place), middle - 7), (self.x(place), middle + 7)], colour, 2)
            average = "miss" if row.average < zero else f"p{row.colour}"
            self.circle(self.x(row.average), middle, 5, average, filled=True)
            self.y += LAXITY_HEIGHT
        self.y += look.AXIS

    def table(self, table: Table) -> None:
        self.line(table.title, 16, "text", 30)
        cells = [table.header, *table.rows]
        widths = [
            min(260.0, max(self.width(row[at], 11) for row in cells)) for at in range(len(table.header))
        ]
        spare = (WIDTH - 2 * MARGIN - sum(widths)) / max(1, len(widths))
        gap = min(20.0, max(4.0, spare))
        for number, row in enumerate(cells):
            self.y += LINE
            x = float(MARGIN)
            for column, text in enumerate(row):
                shown = self.fitting(text, 11, widths[column])
                right = column >= table.texts
                bad = number > 0 and (number - 1, column) in table.bad
                colour = "miss" if bad else "muted" if number == 0 else "text"
                at = x + widths[column] if right else x
                self.text(at, self.y - 6, shown, 11, colour, "rs" if right else "ls")
                x += widths[column] + gap
            self.stroke([(MARGIN, self.y), (min(x, WIDTH - MARGIN), self.y)], "grid", 1)
