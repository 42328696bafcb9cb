"""What a report shows, read from the rows on Spark, against brute force (issue 8, Build 5); the advice of a review; and the end
of `weft demo` (Build 6)."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest

from review.checks import faulty_run
from review.plain import near_by_force, time_line_of, traffic_of, witnesses_of
from review.simulation import Row, write
from support.browser import WHY_NOT, Browser, find_browser
from weft.cli import main
from weft.cli.analyse.tune import advice_lines
from weft.cli.operate import demo_review
from weft.review import ReviewError
from weft.review.advice import advice
from weft.review.audits.context import Context, Result
from weft.review.report import Evidence, evidence, gather
from weft.review.spark import session as sessions
from weft.review.spark.reading import open_for_review, read_rows

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]


def context_of(run: Path, session: Any) -> Context:
    opened = open_for_review(run)
    return Context(session, opened, read_rows(session, opened))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return faulty_run(seed=1, steps=200, times=1)


@pytest.fixture(scope="module")
def run(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("runs") / "run", rows)


@pytest.fixture(scope="module")
def gathered(spark: Any, rows: list[Row], run: Path) -> Evidence:
    audits = {name: Result(len(found), found) for name, found in witnesses_of(rows).items()}
    return gather(context_of(run, spark), audits)


def test_rows_around_witnesses(gathered: Evidence, rows: list[Row]) -> None:
    """For every kind of violation exactly the rows that brute force finds near it."""
    audits = {name: Result(len(found), found) for name, found in witnesses_of(rows).items()}
    assert all(result.violations for result in audits.values())
    assert not [note for note in gathered.notes if "could not be read" in note]
    assert gathered.near == near_by_force(rows, audits)


def test_traffic_and_time_line(gathered: Evidence, rows: list[Row]) -> None:
    assert gathered.classes == traffic_of(rows)
    assert sorted(gathered.time_line) == sorted(time_line_of(rows))
    assert gathered.time_line_rows == len(gathered.time_line)
    assert {number: one.node for number, one in gathered.federates.items()} == {
        row["federate"]: row["node"] for row in rows if row["kind"] == "join"
    }
    assert gathered.nodes == ("node 0", "node 1")


def test_evidence_that_cannot_be_had_is_said(spark: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings are worth more than the pictures; a long time line is cut, and that is said."""

    def fail(*arguments: Any) -> Any:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(evidence, "of_classes", fail)
    monkeypatch.setattr(evidence, "TIME_LINE_ROWS", 3)
    found = gather(context_of(run, spark), {"causal": Result(30, [])})
    assert len(found.time_line) == 3
    told = " ".join(found.notes)
    assert "The traffic of classes could not be read: the disk is gone" in told
    assert f"the first 3 of {found.time_line_rows}" in told
    assert "0 of 30 violations are drawn" in told


# Advice


def test_advice_that_fails_stops_nothing(spark: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself, and in words."""

    def fail(*arguments: Any) -> Any:
        raise RuntimeError("no such column")

    monkeypatch.setattr(advice, "domains_advice", fail)
    monkeypatch.setattr(advice, "orders_advice", fail)
    context = context_of(run, spark)
    context.opened.run.info["modules"] = [{"name": "gone.xml", "file": "fom/gone.xml"}]
    found: Any = advice.advise_run(context.advice_rows, context.opened.run)
    assert "gone.xml" in found["grid"]["none_because"]
    assert found["domains"] == found["orders"] == {"none_because": "it failed: no such column"}
    assert found["schedule"]["operations"]
    lines = list(advice_lines(found))
    assert len(lines) == 5
    assert "operations that can be late" in lines[3]
    with pytest.raises(RuntimeError):
        advice.advise(context.advice_rows, advice.without_model(context.opened.run))


# The end of the demo


@pytest.fixture(scope="module")
def demo(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, dict[str, Path]]:
    """`weft demo`, once, in the session that is there: its exit code, what it said, and the reports by the order of the run."""
    folder = tmp_path_factory.mktemp("demo")
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(said):
        patched.setattr(sessions, "spark_session", lambda profile: contextlib.nullcontext(spark))
        code = main(["demo", "--steps", "2", "--step-ms", "0", "--fire-every", "1", "--record", str(folder)])
    reports = {order: next(folder.glob(f"Range-{order}/*/{demo_review.REPORT}")) for order in ("RO", "CO")}
    return code, said.getvalue(), reports


def test_the_demo_ends_with_a_review(demo: tuple[int, str, dict[str, Path]]) -> None:
    """The planted violation of receive order is found, causal order has none, and it is said where the reports are."""
    code, said, reports = demo
    assert code == 0, said
    for text in (
        "Receive order: rounds 1, 2, 3 are seen to hit before they are fired",
        "Causal order: every hit is seen after its shot",
        "Receive order: the causal audit finds 3 violations; the other audits find nothing.",
        "observer got Hit (message 1 of tank) before Fire (message 2 of aircraft), which had led to it",
        "Causal order: the causal audit finds no violation; the other audits find nothing.",
        f"receive order: {reports['RO']}",
        f"causal order: {reports['CO']}",
    ):
        assert text in said
    assert "Nothing is violated" in reports["CO"].read_text()


def test_the_report_of_the_demo_in_a_browser(demo: tuple[int, str, dict[str, Path]], tmp_path: Path) -> None:
    """From the second violation to its diagram: aircraft, tank and observer, with the shot late and the hit before it."""
    command = find_browser()
    if command is None:
        pytest.skip(WHY_NOT)
    with Browser(command, tmp_path) as browser:
        browser.open(demo[2]["RO"])
        browser.click('a[href="#causal-2"]')
        browser.wait_for("document.getElementById('causal-2').open")
        names = "[...document.querySelectorAll('#causal-2 .process .name')].map(one => one.textContent)"
        assert browser.ask(names) == ["aircraft", "tank", "observer"]
        for tone, text in (("late", "Fire 4"), ("after", "Hit 2")):
            assert browser.ask(f"document.querySelector('#causal-2 .msg.{tone} text').textContent") == text
        assert not browser.complaints


def test_without_spark_the_demo_says_why_and_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(profile: Any) -> Any:
        raise ReviewError(
            "the review runs on Spark, which needs Java 17 or newer, and there is none; set JAVA_HOME"
        )

    monkeypatch.setattr(sessions, "spark_session", refuse)
    record = str(tmp_path / "runs")
    assert main(["demo", "--steps", "2", "--step-ms", "0", "--fire-every", "1", "--record", record]) == 0
    said = capsys.readouterr().out
    assert "The review did not run: the review runs on Spark, which needs Java 17" in said
    later = [line for line in said.splitlines() if line.startswith("    weft review ")]
    assert len(later) == 2
    assert all(Path(line.split()[2]).is_dir() for line in later)
