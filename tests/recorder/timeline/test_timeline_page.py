"""The page and what is on it: well-formed, everything escaped, every miss drawn and nothing else (issue 7 item 8)."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.timeline.reference import expected
from recorder.timeline.rows import random_rows, run_of
from weft.recorder.timeline import (
    Picture,
    Row,
    TimeWindow,
    extent,
    html_page,
    lanes,
    picture,
    share_processor,
)
from weft.recorder.timeline.layout import MOST_LANES
from weft.recorder.timeline.marks import BINS
from weft.recorder.timeline.units import MINUS, digits_for, number, ticks, unit_for

VOID = ("meta",)


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert not parser.open
    return parser


def drawn(rows: list[Row], window: TimeWindow | None = None) -> Picture:
    found = lanes(rows)
    whole = extent(found)
    assert whole is not None
    return picture("Time line of <a> & b", found, window or whole, whole.begin)


def chart(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(
        page[page.index('<svg id="chart"') : page.index("</svg>", page.index('id="chart"')) + 6]
    )


def of_class(svg: ElementTree.Element, word: str) -> list[ElementTree.Element]:
    return [one for one in svg.iter() if word in one.get("class", "").split()]


def stands_alone(page: str) -> None:
    """Balanced, no address of anything outside, nothing of a name taken for markup, control characters replaced."""
    seen = parsed(page).seen
    assert not [tag for tag, _ in seen if tag in ("b", "link", "img", "iframe", "a")]
    assert not [
        value for _, attrs in seen for key, value in attrs.items() if key in ("src", "href", "onload")
    ]
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)
    for found in re.finditer(r"<svg .*?</svg>", page, re.S):
        ElementTree.fromstring(found[0])


@given(random_rows())
def test_every_miss_is_drawn_and_nothing_else(rows: list[Row]) -> None:
    """Lane by lane: as many as the rules find in the rows, each as a cross; on a page that is well-formed and stands alone."""
    made = drawn(rows)
    page = html_page(made)
    crosses = of_class(chart(page), "miss")
    heights: dict[str, int] = {}
    for cross in crosses:
        height = cross.get("transform", "").split()[1].rstrip(")")
        heights[height] = heights.get(height, 0) + int(cross.get("data-n", "0"))
    found = lanes(rows)
    wanted = [expected(rows, lane.node, lane.name).misses() for lane in found]
    assert len(made.lanes) == len(found)
    counts = [sum(mark.many for mark in lane.marks if mark.kind == "miss") for lane in made.lanes]
    assert counts == wanted
    assert sorted(heights.values()) == sorted(count for count in wanted if count)
    assert made.misses == sum(wanted)
    stands_alone(page)


@settings(max_examples=40)
@given(st.text(max_size=40), st.text(max_size=10))
def test_names_are_text(name: str, node: str) -> None:
    """Whatever they are: the page has as many elements as with a plain name."""
    plain = [*run_of("n", 0, 5, 3), Row("push", 1, "n")]
    strange = [row._replace(name=name, node=node, operation=name, detail=name) for row in plain]
    pages = [html_page(drawn(rows)) for rows in (plain, strange)]
    first, second = ([tag for tag, _ in parsed(page).seen] for page in pages)
    assert first == second


def test_a_script_in_a_name_is_shown_and_not_run() -> None:
    page = html_page(drawn(run_of("</title><script>alert(1)</script>", 0, 5, 3)))
    assert [tag for tag, _ in parsed(page).seen].count("script") == 1
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_many_runs_are_drawn_in_bins_without_losing_a_miss() -> None:
    """Large runs stay usable: marks are bounded, a bin says how busy it was, counts add up, and the page says so."""
    rows: list[Row] = []
    for turn in range(5_000):
        begin = turn * 1000
        rows += run_of("fast", begin, begin + 250 + 500 * (turn % 100 == 0), begin + 700)
        rows.append(Row("push", begin, "clock", priority=0))
    rows += run_of("slow", 0, 4_000_000, 6_000_000, 4)
    made = drawn(rows)
    by_name = {lane.label: lane for lane in made.lanes}
    assert [name for name, lane in by_name.items() if lane.binned] == ["clock", "fast"]
    fast = by_name["fast"].marks
    assert sum(len(lane.marks) for lane in made.lanes) < 4 * BINS
    assert sum(mark.many for mark in fast if mark.kind == "miss") == made.misses == 50
    assert sum(mark.many for mark in fast if mark.kind == "busy") == 5_000
    assert sum(mark.many for mark in by_name["clock"].marks if mark.kind == "push") == 5_000
    busy = [mark.level for mark in fast if mark.kind == "busy"]
    assert sum(busy) / BINS == pytest.approx(0.255, abs=0.002)
    page = html_page(made)
    assert sum(int(one.get("data-n", "0")) for one in of_class(chart(page), "miss")) == 50
    assert f"drawn in {BINS} bins" in page
    assert len(page) < 400_000


def test_too_many_lanes_say_so_and_those_that_missed_are_drawn() -> None:
    rows = [
        row for at in range(MOST_LANES + 40) for row in run_of(f"lane {at:03}", 0, 10, 5 if at == 155 else 20)
    ]
    made = drawn(rows)
    assert len(made.lanes) == MOST_LANES
    assert [lane.label for lane in made.lanes if any(mark.kind == "miss" for mark in lane.marks)] == [
        "lane 155"
    ]
    assert len(made.tables[0].rows) == MOST_LANES + 40
    assert "40 lanes of 160, with 0 misses, are in the table but not drawn" in made.notes[0]


def test_what_a_lane_shows() -> None:
    """Parts, waits, deadlines, lateness, open ends, pushes, overruns and drops each have their mark."""
    rows = [
        *run_of("slow", 0, 100_000, 90_000, 2),
        *run_of("fast", 20_000, 30_000, 45_000),
        Row("overrun", 30_000, "fast", priority=0, deadline_ns=45_000),
        *run_of("stuck", 95_000, None, None, 3),
        Row("push", 10_000, "radar", priority=0),
        Row("drop", 50_000, "fast", priority=0, detail="the queue is full"),
    ]
    found = lanes(rows)
    share_processor(found)
    made = picture("t", found, TimeWindow(0, 100_000), 0, one=True)
    kinds = {lane.label: [mark.kind for mark in lane.marks] for lane in made.lanes}
    assert kinds["slow"] == ["wait", "run", "run", "overdue", "late", "miss"]
    assert kinds["fast"] == ["run", "deadline", "overrun", "drop"]
    assert kinds["stuck"] == ["open"]
    assert kinds["radar"] == ["push"]
    (label,) = [mark.label for lane in made.lanes for mark in lane.marks if mark.label]
    assert label == f"{MINUS}10.0 µs"
    assert [(row.low < made.laxity.zero) for row in made.laxities if made.laxity.zero is not None] == [
        False,
        True,
    ]
    page = html_page(made)
    for text in ("priority 2", "no end known", "the queue is full", "laxity min", "utilisation", "90.0%"):
        assert text in page


def test_a_window_in_which_nothing_happens() -> None:
    """It is drawn all the same, and says so."""
    made = drawn([*run_of("c", 0, 10, 20), *run_of("c", 90, 95, 99)], TimeWindow(30, 60))
    assert (made.lanes, made.laxities, made.misses) == ((), (), 0)
    assert made.notes[0].startswith("Nothing of what was chosen")
    stands_alone(html_page(made))


def test_a_window_shows_what_falls_into_it() -> None:
    """Bars are cut at its edges, and the axis counts from the start of the record."""
    rows = [row for at in range(10) for row in run_of("c", 1_000_000 * at, 1_000_000 * at + 500_000, None)]
    made = drawn(rows, TimeWindow(3_250_000, 5_250_000))
    bars = [(round(mark.begin, 6), round(mark.end, 6)) for mark in made.lanes[0].marks]
    assert bars == [(0.0, 0.125), (0.375, 0.625), (0.875, 1.0)]
    assert made.time.title == "time (ms)"
    assert next(text for _, text in made.time.ticks) == "3.4"


@pytest.mark.parametrize(
    ("low", "high", "most", "wanted"),
    [(0, 100, 10, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]), (0.0, 0.95, 5, [0, 0.2, 0.4, 0.6, 0.8]),
     (-6, 19, 6, [-5, 0, 5, 10, 15]), (7, 7, 5, [7])],
)  # fmt: skip
def test_ticks_are_round(low: float, high: float, most: int, wanted: list[float]) -> None:
    assert ticks(low, high, most) == pytest.approx(wanted)


@given(st.floats(-1e6, 1e6), st.floats(1e-2, 1e6), st.integers(2, 20))
def test_ticks_are_within_and_told_apart(low: float, length: float, most: int) -> None:
    values = ticks(low, low + length, most)
    texts = [number(value, digits_for(values)) for value in values]
    assert len(values) <= most + 1
    assert all(low - length * 1e-6 <= value <= low + length * (1 + 1e-6) for value in values)
    assert len(set(texts)) == len(texts)


def test_units_are_those_one_can_read() -> None:
    assert [unit_for(length).name for length in (0, 1_999_999, 2_000_000, 9_999_999_999, 10**10)] == [
        "µs",
        "µs",
        "ms",
        "ms",
        "s",
    ]
    assert [number(value, 1) for value in (-0.04, -0.06, 1.0)] == ["0.0", f"{MINUS}0.1", "1.0"]


def test_consumers_that_differ_much_have_a_logarithmic_axis() -> None:
    """So that the laxity of a fast one is still seen beside that of a slow one; order and sign are kept."""
    rows = [*run_of("fast", 0, 1_200_000, 1_000_000), *run_of("fast", 2_000_000, 2_100_000, 3_000_000),
            *run_of("slow", 0, 5_000_000, 5_000_000_000, 1)]  # fmt: skip
    made = drawn(rows)
    fast, slow = made.laxities
    assert made.laxity.zero is not None
    assert 0 <= fast.low < made.laxity.zero < fast.average < fast.high < slow.low == slow.high <= 1
    assert fast.high - fast.low > 0.1
    assert made.laxity.title.startswith("laxity (logarithmic)")
    assert [text for _, text in made.laxity.ticks] == ["0", "1 ms", "10 ms", "100 ms", "1 s"]
    places = [place for place, _ in made.laxity.ticks]
    assert places == sorted(places)
