"""The report (issue 8, Build 5): what its diagrams show, against the rows; that it stands alone; and in a real browser, from a
violation to its space-time diagram."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.timeline.test_timeline_page import parsed
from review.checks import faulty_run
from review.plain import plain_review, witnesses_of
from review.simulation import FAULTS, Row, Simulation, number, plant
from support.browser import WHY_NOT, Browser, find_browser
from weft.review import Review
from weft.review.audits.context import Result
from weft.review.kernels.records import Violation
from weft.review.report import Evidence, html_report
from weft.review.report.diagram import AFTER, LATE, WAY, Diagram
from weft.review.report.evidence import MOST_DRAWN, ShownTraffic, bounded
from weft.review.report.witness import draw

ADVICE: dict[str, Any] = {
    "grid": {
        "file": "weft.rid", "saved": 90,
        "old": {"setting": "Simple", "partitions": 1, "sent": 9, "copies": 180, "received": 180, "wanted": 90, "unwanted": 90},
        "new": {"setting": "Exact", "partitions": 0, "sent": 9, "copies": 90, "received": 90, "wanted": 90, "unwanted": 0},
        "tried": [
            {"setting": "Exact", "partitions": 0, "sent": 9, "copies": 90, "received": 90, "wanted": 90, "unwanted": 0},
            {"setting": "Grid, 4", "partitions": 16, "sent": 9, "copies": 120, "received": 120, "wanted": 90, "unwanted": 30},
        ],
    },
    "domains": {
        "file": "domains.toml", "servers": 3, "messages": 9, "commands": 56, "saved": 313, "routers": ["n"],
        "costs": {"flat": 585, "bus": 272, "daisy": 272, "tree": 585, "old": 585, "new": 272}, "domains": {"D1": ["a", "b"]},
    },
    "schedule": {"none_because": "it failed: <b>no</b>"},
    "orders": [
        {"class": "R.<i>Note", "order": "CO", "messages": 3, "control_bytes_per_message": 24.67,
         "payload_bytes_per_message": 18.0, "held": 1, "held_ms": 2.0, "could_use_RO": True, "saved_bytes": 74,
         "pairs": [{"cause": "A", "effect": "B", "times": 1}]}
    ],
}  # fmt: skip


def diagrams_of(found: Review) -> Iterator[tuple[str, Violation, Diagram]]:
    assert found.evidence is not None
    for name, result in found.audits.items():
        for place, witness in enumerate(result.witnesses[:MOST_DRAWN]):
            rows = found.evidence.near[name, place]
            yield name, witness, draw(name, witness, rows, found.evidence.federates)


# Diagrams


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_a_diagram_tells_what_its_witness_says(seed: int) -> None:
    """Whatever is wrong: arrows go from sends to later deliveries of the same message, every process has its own order, what
    is wrong is marked, and deliveries are numbered in the order of the rows."""
    rows = Simulation(seed, steps=80).rows
    chance = random.Random(seed)
    for fault in FAULTS:
        plant(rows, fault, chance)
    found = plain_review(number(sorted(rows, key=lambda row: row["epoch_ns"])))
    for audit, witness, diagram in diagrams_of(found):
        assert [point.column for point in diagram.points] == list(range(diagram.columns))
        for arrow in diagram.arrows:
            assert arrow.first < arrow.last
            assert diagram.points[arrow.first].kind in ("send", "nothing")
            assert diagram.points[arrow.last].kind in ("deliver", "nothing")
        assert any(point.tone == LATE for point in diagram.points), (audit, witness)
        numbers = [point.number for point in diagram.points if point.number]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(diagram.words) == len(diagram.points)
        if audit == "causal":
            _check_causal(diagram, witness)


def _check_causal(diagram: Diagram, witness: Violation) -> None:
    """At the federate the one comes before the other; between the two sends there is a way by arrows and lines."""
    places = {process.label: place for place, process in enumerate(diagram.processes)}
    to = places[f"f{witness['federate']}"]
    got = {point.tone: point.column for point in diagram.points if point.process == to and point.kind == "deliver" and
           point.tone in (LATE, AFTER)}  # fmt: skip
    assert got[AFTER] < got[LATE]
    first = next(point for point in diagram.points if point.kind == "send" and point.tone == LATE)
    second = next(point for point in diagram.points if point.kind == "send" and point.tone == AFTER)
    if diagram.notes:
        return  # the way is longer than the rows around it
    reached = {first.column}
    ends = {arrow.last: arrow.first for arrow in diagram.arrows}
    last = {first.process: first.column}
    for point in diagram.points:
        by_line = point.process in last and point.column > last[point.process]
        by_arrow = ends.get(point.column) in reached
        if by_line or by_arrow:
            reached.add(point.column)
            last.setdefault(point.process, point.column)
    assert second.column in reached


def test_clocks_that_differ_do_not_turn_arrows_round() -> None:
    """A receiver whose clock is behind seems to get a message before it was sent; it is drawn the right way."""
    rows = [
        row | {"epoch_ns": row["epoch_ns"] - (3 * 10**9 if row["node"] == "node 1" else 0)}
        for row in faulty_run(seed=1, steps=150, times=1)
    ]
    for _, _, diagram in diagrams_of(plain_review(rows)):
        assert all(arrow.first < arrow.last for arrow in diagram.arrows)


def fire_and_hit() -> list[Row]:
    """S0-20: the shot goes to tank (2) and observer (3), who gets the hit first."""
    made: list[Row] = []
    blank = dict.fromkeys(Simulation(0, steps=0).rows[0])

    def add(kind: str, federate: int, at: int, source: int, message: int, name: str, **more: Any) -> None:
        made.append({**blank, "kind": kind, "federate": federate, "node": f"n{federate}", "epoch_ns": at * 1_000_000,
                     "mono_ns": at * 1_000_000, "source": source, "message": message, "class": f"R.{name}", "order": "RO",
                     "seq": len(made) + 1, "transport": "reliable", **more})  # fmt: skip

    for federate in (1, 2, 3):
        add("join", federate, -9_000, 0, 0, "")
    for federate, name in ((2, "Fire"), (3, "Fire"), (3, "Hit")):
        add("declare", federate, -5_000, 0, 0, name, service="subscribe_interaction_class")
    add("send", 1, 10, 1, 1, "Fire", destinations=[2, 3])
    add("deliver", 2, 15, 1, 1, "Fire")
    add("send", 2, 17, 2, 1, "Hit", destinations=[3])
    add("deliver", 3, 22, 2, 1, "Hit")
    add("deliver", 3, 90, 1, 1, "Fire")
    return number(made)


NAMES = {1: "aircraft", 2: "tank", 3: "observer"}


def test_the_shot_and_the_hit() -> None:
    found = plain_review(fire_and_hit(), NAMES)
    ((_, _, diagram),) = diagrams_of(found)
    assert diagram.title == (
        "observer got Hit 1 of tank before Fire 1 of aircraft, which had happened before it: "
        "tank had got Fire 1 when it sent Hit 1."
    )
    assert [process.label for process in diagram.processes] == ["aircraft", "tank", "observer"]
    assert [(arrow.label, arrow.tone) for arrow in sorted(diagram.arrows)] == [
        ("Fire 1", WAY), ("Fire 1", LATE), ("Hit 1", AFTER),
    ]  # fmt: skip
    assert diagram.words[-1] == "+80.000 ms: observer got Fire 1 of aircraft"


def test_without_rows_a_diagram_says_so() -> None:
    witness: Violation = {"federate": 3, "source": 1, "message": 1, "after_source": 2, "after": 1}
    diagram = draw("causal", witness, [], {})
    assert not diagram.points
    assert "not found in the record" in " ".join(diagram.notes)
    assert "federate 3 got message 1" in diagram.title


# The page


def whole_review(rows: list[Row], names: dict[int, str] | None = None) -> Review:
    found = plain_review(rows, names, advice=ADVICE)
    return replace(found, notes=("7 rows were dropped when the run was recorded",), dropped_rows=7)


def check_page(page: str) -> None:
    """Balanced, nothing from outside, links lead somewhere, pictures are well-formed."""
    seen = parsed(page).seen
    ids = [attrs["id"] for _, attrs in seen if attrs.get("id")]
    assert len(ids) == len(set(ids))
    for tag, attrs in seen:
        href = attrs.get("href")
        assert tag not in ("link", "img", "iframe", "object")
        assert "src" not in attrs
        assert not [name for name in attrs if name.startswith("on")]
        assert href is None or (href.startswith("#") and href[1:] in ids)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    for picture in re.finditer(r"<svg .*?</svg>", page, re.S):
        ElementTree.fromstring(picture[0])


def test_the_page_stands_alone_and_says_all() -> None:
    """Dropped rows first, every audit with its verdict, every witness with its diagram, traffic, time line, advice."""
    found = whole_review(faulty_run(seed=1, steps=250, times=1))
    page = html_report(found)
    check_page(page)
    assert page.index("7 rows were dropped") < page.index("violations.")
    for name, result in found.audits.items():
        assert f"<b>{name}</b>" in page
        assert page.count(f'<details class="witness" id="{name}-') == min(len(result.witnesses), MOST_DRAWN)
    for text in ('id="chart"', "R.Note.Below", "180 → 90 messages between nodes", "585 → 272 (54% less)", "Grid, 4",
                 "could use RO", "it failed: &lt;b&gt;no&lt;/b&gt;"):  # fmt: skip
        assert text in page


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=30))
def test_names_are_text(name: str) -> None:
    """Class names, federates' names and nodes come from users: the page has the same elements whatever they are."""
    rows = fire_and_hit()
    strange = [row | {"class": f"{row['class']}{name}", "node": f"{row['node']}{name}"} for row in rows]
    pages = [
        html_report(whole_review(rows, NAMES)),
        html_report(whole_review(strange, dict.fromkeys(NAMES, name))),
    ]
    first, second = ([tag for tag, _ in parsed(page).seen] for page in pages)
    assert first == second
    check_page(pages[1])


def test_a_run_with_nothing_wrong_and_nothing_in_it() -> None:
    page = html_report(Review("runs/x/y", 0, 0, (), {"causal": Result(0, [])}))
    check_page(page)
    for text in (
        "Nothing is violated",
        "None was found",
        "Nothing was pushed",
        "No message was sent",
        "--no-advice",
    ):
        assert text in page


def test_many_violations_are_bounded_and_what_is_left_out_is_said() -> None:
    rows = fire_and_hit()
    (witness,) = witnesses_of(rows)["causal"]
    found = plain_review(rows)
    assert found.evidence is not None
    found.audits["causal"] = Result(1_000_000, [witness] * 500)
    found.evidence.near.update({("causal", place): found.evidence.near["causal", 0] for place in range(500)})
    page = html_report(found)
    check_page(page)
    assert page.count('<svg class="st"') == MOST_DRAWN
    assert "999,500 more, counted and not shown" in page
    assert "causal 500, not drawn" in page
    assert len(page) < 400_000


def test_the_busiest_classes_are_kept_apart() -> None:
    many = [ShownTraffic(f"c{place}", "RO", 100 - place, 1, 0, 10, 0) for place in range(60)]
    kept = bounded(many, 50)
    assert kept[:50] == many[:50]
    assert kept[50] == ShownTraffic("10 others", "", sum(one.messages for one in many[50:]), 10, 0, 100, 0)
    page = html_report(replace(plain_review(fire_and_hit()), evidence=Evidence(classes=kept)))
    assert "11 more with less traffic are not shown" in page


# In a browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "review.html"
    path.write_text(html_report(whole_review(faulty_run(seed=1, steps=250, times=1))), encoding="utf-8")
    return path


def browser_or_skip() -> str:
    command = find_browser()
    if command is None:
        pytest.skip(WHY_NOT)
    return command


def test_from_a_violation_to_its_diagram(report: Path, tmp_path: Path) -> None:
    """In Chromium, with the mouse and with the keys: the link of the last violation in time opens and shows its diagram, whose
    marks tell of themselves; scripts have nothing to complain of, and nothing but the file was asked for."""
    with Browser(browser_or_skip(), tmp_path) as browser:
        browser.open(report)
        assert browser.ask("document.querySelectorAll('details.witness').length") > 10
        last = browser.ask(
            "[...document.querySelectorAll('details.witness')].filter(one => !one.open).pop().id"
        )
        assert not browser.ask(f"document.getElementById('{last}').open")
        browser.click(f'a[href="#{last}"]')
        browser.wait_for(f"document.getElementById('{last}').open")
        browser.wait_for(
            f"(() => {{ const box = document.querySelector('#{last} svg.st').getBoundingClientRect(); "
            "return box.height > 60 && box.top >= 0 && box.bottom <= innerHeight; })()"
        )
        assert browser.ask("location.hash") == f"#{last}"
        assert browser.ask(f"document.activeElement === document.querySelector('#{last} svg.st')")
        assert browser.ask(f"document.querySelectorAll('#{last} .pt.late').length") >= 1
        browser.press("ArrowRight", 39)
        browser.wait_for("!document.getElementById('tip').hidden")
        by_keys = browser.ask("document.getElementById('tip').textContent")
        assert by_keys == browser.ask(f"document.querySelector('#{last} .pt.on').dataset.tip")
        browser.press("Escape", 27)
        browser.wait_for("document.getElementById('tip').hidden")
        browser.move_to(f"#{last} .pt.late")
        browser.wait_for("!document.getElementById('tip').hidden")
        assert browser.ask(f"document.querySelector('#{last} .pt.late').dataset.tip") == browser.ask(
            "document.getElementById('tip').textContent"
        )
        assert not browser.complaints
        assert browser.asked == [report.as_uri()]


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_small_screen_nothing_is_cut_off(report: Path, tmp_path: Path, dark: bool) -> None:
    """The page is as wide as the screen (wide parts scroll in themselves), and letters stand out from the ground."""
    with Browser(browser_or_skip(), tmp_path, (390, 800), dark) as browser:
        browser.open(report)
        assert browser.ask("document.documentElement.scrollWidth") <= 390
        colours = browser.ask(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
        text, ground = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
        assert (text > ground) == dark
        assert abs(text - ground) > 380
        assert not browser.complaints
